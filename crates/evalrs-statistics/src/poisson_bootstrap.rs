//! The change of any number between two runs over the same samples: both are computed again over the same resamples.
//!
//! How often a sample counts in a draw follows from its name and the number of the draw alone, as in the Poisson bootstrap of
//! Chamandy, Muralidharan, Najmi and Naidu 2012, "Estimating Uncertainty for Massive Data Streams". So two runs need not know of
//! each other to draw the same samples, and what is hard about a sample cancels in the difference of their draws.

use super::distribution::student_t_quantile;
use super::interval::{ConfidenceInterval, IntervalMethod, ValueRange};
use evalrs_base::exact::{mean, sum};
use evalrs_base::random::SplitMix;

/// Resamples that are enough for a standard error: with a hundred it is known to a fourteenth of
/// itself.
pub const LEAST_DRAWS: usize = 100;

/// Standard errors below this are those of numbers that no draw changes.
const ROUNDING: f64 = 1e-12;

/// The random weight of a sample: follows from its name alone.
pub fn seed_of(name: &str) -> u64 {
    let digest = blake3::hash(name.as_bytes());
    let first = digest.as_bytes().iter().take(8);
    first.fold(0, |seed, byte| (seed << 8) | u64::from(*byte))
}

/// How often the sample of this seed counts in a draw: Poisson with mean 1.
pub fn copies(seed: u64, draw: u64) -> usize {
    const UNIT: f64 = (1u64 << 53) as f64;
    let mixed = seed ^ draw.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let chance = SplitMix::new(mixed).below(1 << 53) as f64 / UNIT;
    let mut term = (-1.0f64).exp();
    let mut below = term;
    let mut count = 0;
    while chance >= below && count < 20 {
        count += 1;
        term /= f64::from(count);
        below += term;
    }
    count as usize
}

/// What a number came to in each draw, of two runs.
#[derive(Clone, Copy, Debug)]
pub struct DrawnTwice<'a> {
    /// In the first run; none where a draw has no such number.
    pub before: &'a [Option<f64>],
    /// In the second.
    pub now: &'a [Option<f64>],
    /// How many samples the one with fewer has.
    pub samples: usize,
    /// Between which values the change can lie.
    pub range: ValueRange,
}

/// The interval of a change: its standard error over the resamples times `sqrt(G / (G - 1))` for G samples, under Student's
/// t distribution with G - 1 degrees of freedom. None for fewer than two samples, for too few draws, and where no draw
/// changes the difference: then nothing is known of its spread.
pub fn change_interval(
    change: f64,
    drawn: DrawnTwice<'_>,
    level: f64,
) -> Option<ConfidenceInterval> {
    let draws = drawn.before.len().min(drawn.now.len());
    let pairs = drawn.before.iter().zip(drawn.now);
    let differences: Vec<f64> =
        pairs.filter_map(|(before, now)| Some((*now)? - (*before)?)).collect();
    if drawn.samples < 2 || draws < LEAST_DRAWS || differences.len() * 2 < draws {
        return None;
    }
    let center = mean(&differences)?;
    let squares = sum(differences.iter().map(|value| (value - center) * (value - center)));
    let stderr = (squares / (differences.len() - 1) as f64).sqrt();
    if stderr <= ROUNDING {
        return None;
    }
    let samples = drawn.samples as f64;
    let expanded = stderr * (samples / (samples - 1.0)).sqrt();
    let half = student_t_quantile(level, samples - 1.0)? * expanded;
    let bounds = [change - half, change + half];
    let [low, high] = bounds.map(|bound| bound.max(drawn.range.least).min(drawn.range.greatest));
    let method = IntervalMethod::PairedBootstrap;
    ConfidenceInterval { low, high, level, method }.rounded().finite()
}

#[cfg(test)]
mod tests {
    use super::{DrawnTwice, change_interval, copies};
    use crate::interval::ValueRange;
    use evalrs_base::random::SplitMix;

    #[test]
    fn a_sample_counts_once_on_average_and_with_the_spread_of_poisson() {
        let counts: Vec<f64> = (0..20_000).map(|draw| copies(77 + draw % 7, draw) as f64).collect();
        let mean = counts.iter().sum::<f64>() / 20_000.0;
        let spread = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!((mean - 1.0).abs() < 0.03 && (spread - 1.0).abs() < 0.05, "{mean} {spread}");
        assert_eq!(copies(5, 9), copies(5, 9));
    }

    /// Scores of two runs of so many samples, half of whose spread they share; the mean of each draw.
    fn drawn(samples: u64, generator: &mut SplitMix) -> (f64, Vec<[Option<f64>; 2]>) {
        let mut uniform = || generator.below(1_000_000) as f64 / 1e6;
        let scores: Vec<[f64; 2]> = (0..samples)
            .map(|_| {
                let common = uniform();
                [common + uniform(), common + uniform()]
            })
            .collect();
        let mean = |side: usize, counts: &[usize]| {
            let total: f64 =
                scores.iter().zip(counts).map(|(score, count)| score[side] * *count as f64).sum();
            let n: usize = counts.iter().sum();
            (n > 0).then(|| total / n as f64)
        };
        let draws = (0..200).map(|draw| {
            let counts: Vec<usize> = (0..samples).map(|seed| copies(seed * 31, draw)).collect();
            [0, 1].map(|side| mean(side, &counts))
        });
        let whole = vec![1; samples as usize];
        let change = mean(1, &whole).unwrap() - mean(0, &whole).unwrap();
        (change, draws.collect())
    }

    #[test]
    fn intervals_hold_a_change_of_nothing_about_as_often_as_they_say() {
        let mut generator = SplitMix::new(3);
        for (samples, least) in [(10, 0.92), (30, 0.93), (100, 0.93)] {
            let mut held = 0;
            for _ in 0..400 {
                let (change, draws) = drawn(samples, &mut generator);
                let side = |at: usize| draws.iter().map(|draw| draw[at]).collect::<Vec<_>>();
                let interval = change_interval(
                    change,
                    DrawnTwice {
                        before: &side(0),
                        now: &side(1),
                        samples: samples as usize,
                        range: ValueRange { least: -9.0, greatest: 9.0 },
                    },
                    0.95,
                )
                .unwrap();
                held += usize::from(interval.low <= 0.0 && interval.high >= 0.0);
            }
            let share = held as f64 / 400.0;
            println!("{samples} samples: {share}");
            assert!(share >= least && share < 0.995, "{samples}: {share}");
        }
    }

    #[test]
    fn what_no_draw_changes_has_no_interval() {
        let same = vec![Some(0.5); 200];
        let few = vec![Some(0.5), Some(0.6)];
        let gone: Vec<Option<f64>> = (0..200).map(|at| (at % 3 == 0).then_some(0.1)).collect();
        for now in [&same, &few, &gone] {
            let drawn =
                DrawnTwice { before: &same, now, samples: 9, range: ValueRange::DIFFERENCE };
            assert_eq!(change_interval(0.0, drawn, 0.95), None);
        }
    }
}
