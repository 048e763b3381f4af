//! Strengths of players from comparisons of two at a time.
//!
//! Owns the maximum likelihood fit and when there is none. Strengths are log odds; only their differences mean anything, so
//! that they are shifted to a mean of 0.

use serde::Serialize;

use super::LEVEL;
use super::comparison::PairwiseOutcome;
use super::distribution::normal_quantile;
use super::interval::{ConfidenceInterval, IntervalMethod};
use super::linear::{maximum, solve};
use evalrs_base::exact::{mean, sum};

/// More players are not fitted: each step solves equations of all of them.
pub const MAX_PLAYERS: usize = 500;

/// The strength of one player.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Strength {
    /// Comparisons it took part in.
    pub n: usize,
    /// Log odds of a win over the mean player.
    pub strength: f64,
    /// Its interval: that of the difference to the mean of all strengths.
    pub interval: ConfidenceInterval,
    /// The same on Elo's scale: `1000 + 400 / ln 10 · strength`. Elo 1978, "The Rating of Chessplayers".
    pub elo: f64,
}

/// Why players have no strengths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoStrengths {
    /// Fewer than two players.
    TooFew,
    /// More than [`MAX_PLAYERS`].
    TooMany,
    /// Of some player no chain of wins and ties leads to another: it would be infinitely strong or weak, or was never met.
    /// The players that it leads to, from the first of them.
    NotConnected {
        /// Those that are reached.
        reached: Vec<usize>,
    },
    /// The fit did not come to an end.
    NotConverged,
}

/// The strengths of `players` players, numbered from 0, with intervals of this level.
///
/// `P(i beats j) = 1 / (1 + exp(s_j - s_i))`, Bradley and Terry 1952, "Rank Analysis of Incomplete Block Designs"; a tie is half a
/// win of each. By Newton's method; the maximum is unique where chains of wins lead from every player to every other one, Ford
/// 1957, "Solution of a Ranking Problem from Binary Comparisons". Intervals are Wald's, from the inverse of the observed
/// information with the mean of strengths held at 0: comparisons count as independent, and with few of them they are too narrow.
///
/// # Errors
/// Where the comparisons do not tell strengths.
pub fn bradley_terry(
    players: usize,
    comparisons: &[PairwiseOutcome],
    level: f64,
) -> Result<Vec<Strength>, NoStrengths> {
    match players {
        ..2 => return Err(NoStrengths::TooFew),
        MAX_PLAYERS.. => return Err(NoStrengths::TooMany),
        _ => {}
    }
    let wins = Wins::of(players, comparisons);
    wins.check_connected()?;
    let strengths = wins.fit().ok_or(NoStrengths::NotConverged)?;
    let errors = wins.errors(&strengths).ok_or(NoStrengths::NotConverged)?;
    let reach = normal_quantile(f64::midpoint(level.clamp(0.0, 1.0), 1.0));
    let strength = |at: usize| Strength {
        n: wins.comparisons[at],
        strength: strengths[at],
        interval: ConfidenceInterval {
            low: strengths[at] - reach * errors[at],
            high: strengths[at] + reach * errors[at],
            level,
            method: IntervalMethod::Wald,
        },
        elo: 1000.0 + 400.0 / std::f64::consts::LN_10 * strengths[at],
    };
    Ok((0..players).map(strength).collect())
}

/// [`bradley_terry`] at the usual level.
///
/// # Errors
/// Where the comparisons do not tell strengths.
pub fn strengths(
    players: usize,
    comparisons: &[PairwiseOutcome],
) -> Result<Vec<Strength>, NoStrengths> {
    bradley_terry(players, comparisons, LEVEL)
}

/// How much each player won over each other.
struct Wins {
    /// A row for the winner, a column for the loser.
    won: Vec<Vec<f64>>,
    comparisons: Vec<usize>,
}

impl Wins {
    /// Comparisons of a player with itself, of unknown players, or without an outcome of 0.0..=1.0 are left out.
    fn of(players: usize, comparisons: &[PairwiseOutcome]) -> Self {
        let mut outcomes: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); players]; players];
        let mut counts = vec![0; players];
        for comparison in comparisons {
            let PairwiseOutcome { one, other, outcome, .. } = *comparison;
            let is_known = one < players && other < players && one != other;
            if is_known && (0.0..=1.0).contains(&outcome) {
                outcomes[one][other].push(outcome);
                outcomes[other][one].push(1.0 - outcome);
                counts[one] += 1;
                counts[other] += 1;
            }
        }
        let total = |outcomes: &Vec<f64>| sum(outcomes.iter().copied());
        Self {
            won: outcomes.iter().map(|row| row.iter().map(total).collect()).collect(),
            comparisons: counts,
        }
    }

    fn players(&self) -> usize {
        self.won.len()
    }

    /// Whether chains of wins lead from the first player to every other one, and back.
    fn check_connected(&self) -> Result<(), NoStrengths> {
        let forward = self.reached(|from, to| self.won[from][to] > 0.0);
        let back = self.reached(|from, to| self.won[to][from] > 0.0);
        for reached in [forward, back] {
            if reached.len() < self.players() {
                return Err(NoStrengths::NotConnected { reached });
            }
        }
        Ok(())
    }

    fn reached(&self, leads: impl Fn(usize, usize) -> bool) -> Vec<usize> {
        let mut reached = vec![false; self.players()];
        let mut open = vec![0];
        while let Some(from) = open.pop() {
            if !std::mem::replace(&mut reached[from], true) {
                open.extend((0..self.players()).filter(|to| leads(from, *to)));
            }
        }
        (0..self.players()).filter(|at| reached[*at]).collect()
    }

    /// From equal strengths. The last player stays at 0 meanwhile.
    fn fit(&self) -> Option<Vec<f64>> {
        let step = |strengths: &[f64]| {
            let slope = self.slope(strengths);
            let mut step = solve(&self.information(strengths), &slope[..self.players() - 1])?;
            step.push(0.0);
            Some(step)
        };
        let start = vec![0.0; self.players()];
        let strengths = maximum(start, step, |strengths| self.likelihood(strengths))?;
        let centre = mean(&strengths).unwrap_or_default();
        Some(strengths.iter().map(|strength| strength - centre).collect())
    }

    fn likelihood(&self, strengths: &[f64]) -> f64 {
        let term = |one: usize, other: usize| {
            // log(1 / (1 + exp(-x))) without overflow.
            let difference = strengths[one] - strengths[other];
            let likelihood = difference.min(0.0) - (-difference.abs()).exp().ln_1p();
            self.won[one][other] * likelihood
        };
        sum((0..self.players()).map(|one| sum((0..self.players()).map(|other| term(one, other)))))
    }

    /// What each player won beyond what its strength lets expect.
    fn slope(&self, strengths: &[f64]) -> Vec<f64> {
        let term = |one: usize, other: usize| {
            let met = self.won[one][other] + self.won[other][one];
            self.won[one][other] - met * chance(strengths[one] - strengths[other])
        };
        let of = |one: usize| {
            let others = (0..self.players()).filter(|other| *other != one);
            sum(others.map(|other| term(one, other)))
        };
        (0..self.players()).map(of).collect()
    }

    /// The observed information of all strengths but the last.
    fn information(&self, strengths: &[f64]) -> Vec<Vec<f64>> {
        let weight = |one: usize, other: usize| {
            let met = self.won[one][other] + self.won[other][one];
            let won = chance(strengths[one] - strengths[other]);
            met * won * (1.0 - won)
        };
        let cell = |one: usize, other: usize| {
            if one == other {
                sum((0..self.players()).filter(|at| *at != one).map(|at| weight(one, at)))
            } else {
                -weight(one, other)
            }
        };
        let size = self.players() - 1;
        (0..size).map(|one| (0..size).map(|other| cell(one, other)).collect()).collect()
    }

    /// The standard error of each strength less the mean of all.
    fn errors(&self, strengths: &[f64]) -> Option<Vec<f64>> {
        let size = self.players() - 1;
        let information = self.information(strengths);
        let inverse: Option<Vec<Vec<f64>>> = (0..size)
            .map(|at| {
                let unit: Vec<f64> = (0..size).map(|row| f64::from(row == at)).collect();
                solve(&information, &unit)
            })
            .collect();
        let inverse = inverse?;
        let players = self.players() as f64;
        let row_sums: Vec<f64> = inverse.iter().map(|row| sum(row.iter().copied())).collect();
        let all = sum(row_sums.iter().copied()) / (players * players);
        let variance = |at: usize| {
            let own = inverse.get(at).map_or(0.0, |row| row[at]);
            let with_mean = row_sums.get(at).copied().unwrap_or(0.0) / players;
            own - 2.0 * with_mean + all
        };
        Some((0..self.players()).map(|at| variance(at).max(0.0).sqrt()).collect())
    }
}

fn chance(difference: f64) -> f64 {
    1.0 / (1.0 + (-difference).exp())
}

#[cfg(test)]
mod tests {
    use super::{NoStrengths, PairwiseOutcome, strengths};

    fn outcome(one: usize, other: usize, outcome: f64) -> PairwiseOutcome {
        PairwiseOutcome { sample: 0, one, other, outcome }
    }

    #[test]
    fn two_players_have_the_odds_of_their_games() {
        let games =
            [outcome(0, 1, 1.0), outcome(0, 1, 1.0), outcome(1, 0, 0.0), outcome(0, 1, 0.0)];
        let found = strengths(2, &games).unwrap();
        // Three of four: log odds of 3, half to each side, with a standard error of sqrt(1 / (4 · 3/16)) / 2.
        assert!((found[0].strength - 3f64.ln() / 2.0).abs() < 1e-9);
        assert!((found[0].strength + found[1].strength).abs() < 1e-12);
        let error = (found[0].interval.high - found[0].strength) / 1.959_963_984_540_054;
        assert!((error - (16f64 / 12.0).sqrt() / 2.0).abs() < 1e-9);
        assert_eq!(found[0].n, 4);
    }

    #[test]
    fn who_never_lost_has_no_strength() {
        for (games, reached) in [
            (&[outcome(0, 1, 1.0), outcome(1, 2, 0.5)][..], &[0][..]),
            (&[outcome(0, 1, 0.5)], &[0, 1]),
            (&[outcome(0, 1, f64::NAN), outcome(2, 9, 1.0)], &[0]),
        ] {
            let found = strengths(3, games).unwrap_err();
            let NoStrengths::NotConnected { reached: found } = found else { panic!("{found:?}") };
            assert_eq!(found, reached);
        }
        assert_eq!(strengths(1, &[]), Err(NoStrengths::TooFew));
        assert_eq!(strengths(100_000, &[]), Err(NoStrengths::TooMany));
    }
}
