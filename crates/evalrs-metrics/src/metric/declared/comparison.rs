//! Who wins: over a baseline, at equal length, and among many.

use std::collections::BTreeMap;

use super::reading::{MetricTable, Reading};
use super::{GroupValue, MetricValue, replicates};
use evalrs_base::exact::mean;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::spec::{Lengths, Players};
use evalrs_statistics::LEVEL;
use evalrs_statistics::bradley_terry::{NoStrengths, Strength, bradley_terry};
use evalrs_statistics::comparison::{PairwiseOutcome, win_rate as rate_of};
use evalrs_statistics::interval::ClusteredValue;
use evalrs_statistics::length_control::{LengthComparison, length_controlled_win_rate};

/// How often the metric's series is above the one it is compared with, a tie counting half; of a grader that compares itself,
/// whose score is the outcome, its mean.
pub(super) fn win_rate(table: &MetricTable) -> MetricValue {
    let outcomes = WonResults::of(table);
    let values = outcomes
        .won
        .iter()
        .map(|(at, value)| ClusteredValue { cluster: table.places[*at].sample, value: *value });
    let values: Vec<ClusteredValue> = values.collect();
    let samples: Vec<u32> = values.iter().map(|item| item.cluster).collect();
    let numbers: Vec<f64> = values.iter().map(|item| item.value).collect();
    let found = rate_of(&values, LEVEL);
    let count = |n: usize| GroupValue { n, ..GroupValue::default() };
    let counts = [("wins", found.wins), ("ties", found.ties), ("losses", found.losses)];
    MetricValue {
        value: found.rate,
        n: found.n,
        errors: outcomes.errors,
        interval: found.interval,
        replicates: replicates::of(table, &samples, &numbers, mean),
        groups: OrderedMap(counts.map(|(name, n)| (name.to_owned(), count(n))).to_vec()),
        ..MetricValue::default()
    }
}

/// The same at equal length.
pub(super) fn length_controlled(lengths: &Lengths, table: &MetricTable) -> MetricValue {
    let WonResults { won, mut errors } = WonResults::of(table);
    let mut comparisons = Vec::new();
    let mut samples = Vec::new();
    for (at, outcome) in won {
        let own = match &lengths.own {
            Some(path) => length_at(table, path, at),
            None => table.lengths.get(at).copied().flatten().map(|length| length as f64),
        };
        let baseline = length_at(table, &lengths.baseline, at);
        let difficulty = lengths.difficulty.as_ref().map(|path| table.field_number(path, at));
        match (own, baseline, difficulty) {
            (Some(own), Some(baseline), None | Some(Some(_))) => {
                samples.push(table.places[at].sample);
                comparisons.push(LengthComparison {
                    outcome,
                    longer: own - baseline,
                    difficulty: difficulty.flatten().unwrap_or(0.0),
                });
            }
            _ => errors += 1,
        }
    }
    let n = comparisons.len();
    match length_controlled_win_rate(&comparisons, LEVEL) {
        Some(found) => MetricValue {
            value: Some(found.rate),
            n,
            errors,
            interval: Some(found.interval),
            replicates: replicates::of_regression(table, &samples, &comparisons, |drawn| {
                Some(length_controlled_win_rate(drawn, LEVEL)?.rate)
            }),
            groups: OrderedMap(vec![(
                "raw".to_owned(),
                GroupValue { value: Some(found.raw), n, ..GroupValue::default() },
            )]),
            ..MetricValue::default()
        },
        None => {
            let problem = "the regression has no maximum: there are too few comparisons, or one side always wins";
            MetricValue { n, errors, ..MetricValue::without(problem) }
        }
    }
}

/// A number as it is; a text, by its characters.
fn length_at(table: &MetricTable, path: &str, at: usize) -> Option<f64> {
    let value = table.fields.get(path)?.get(at)?;
    let number = Some(value.number()).filter(|number| number.is_finite());
    number.or_else(|| Some(value.characters()? as f64))
}

/// The strength of each player: those that rows name, or the models, each two of which are compared on each sample.
pub(super) fn strengths(players: Option<&Players>, table: &MetricTable) -> MetricValue {
    let Matches { names, comparisons, errors } = match players {
        Some(players) => Matches::of_rows(players, table),
        None => Matches::of_models(table),
    };
    let n = comparisons.len();
    let found = match bradley_terry(names.len(), &comparisons, LEVEL) {
        Ok(found) => found,
        Err(problem) => {
            let problem = unidentified(&problem, &names);
            return MetricValue { n, errors, ..MetricValue::without(problem) };
        }
    };
    let mut players: Vec<(String, Strength)> = names.into_iter().zip(found).collect();
    players.sort_by(|(_, one), (_, other)| other.strength.total_cmp(&one.strength));
    let ends = players.first().zip(players.last());
    let value = ends.map(|((_, first), (_, last))| first.strength - last.strength);
    let groups = players.into_iter().map(|(name, Strength { n, strength, interval, .. })| {
        let value = Some(strength);
        (name, GroupValue { value, n, interval: Some(interval), ..GroupValue::default() })
    });
    let groups = OrderedMap(groups.collect());
    MetricValue { value, n, errors, groups, ..MetricValue::default() }
}

fn unidentified(problem: &NoStrengths, names: &[String]) -> String {
    match problem {
        NoStrengths::TooFew => "there are fewer than two players".to_owned(),
        NoStrengths::TooMany => "there are too many players".to_owned(),
        NoStrengths::NotConverged => "the fit did not converge".to_owned(),
        NoStrengths::NotConnected { reached } => {
            let reached: Vec<&str> = reached
                .iter()
                .filter_map(|at| names.get(*at))
                .map(String::as_str)
                .take(5)
                .collect();
            format!(
                "no chain of wins and ties leads from {} to all others: a player that never wins or never loses has no strength",
                reached.join(", ")
            )
        }
    }
}

/// Results with an outcome: 1.0 for a win, 0.5 for a tie, 0.0 for a loss.
struct WonResults {
    won: Vec<(usize, f64)>,
    errors: usize,
}

impl WonResults {
    fn of(table: &MetricTable) -> Self {
        let rows = table.compared();
        let mut outcomes = Self { won: Vec::new(), errors: rows.errors };
        for row in &rows.rows {
            let one = row.values.first().and_then(|value| value.number);
            let other = row.values.get(1).map(|value| value.number);
            let outcome = match (one, other) {
                (Some(one), None) => Some(one),
                (Some(one), Some(Some(other))) => Some(outcome(one, other)),
                _ => None,
            };
            match outcome.filter(|outcome| (0.0..=1.0).contains(outcome)) {
                Some(outcome) => outcomes.won.push((row.at, outcome)),
                None => outcomes.errors += 1,
            }
        }
        outcomes
    }
}

fn outcome(one: f64, other: f64) -> f64 {
    match one.total_cmp(&other) {
        std::cmp::Ordering::Greater => 1.0,
        std::cmp::Ordering::Equal => 0.5,
        std::cmp::Ordering::Less => 0.0,
    }
}

/// Who met whom.
struct Matches {
    names: Vec<String>,
    comparisons: Vec<PairwiseOutcome>,
    errors: usize,
}

impl Matches {
    fn of_rows(players: &Players, table: &MetricTable) -> Self {
        let WonResults { won, errors } = WonResults::of(table);
        let mut matches = Self { names: Vec::new(), comparisons: Vec::new(), errors };
        for (at, outcome) in won {
            let [one, other] =
                [&players.one, &players.other].map(|path| table.field_text(path, at));
            let (Some(one), Some(other)) = (one, other) else {
                matches.errors += 1;
                continue;
            };
            let [one, other] = [one, other].map(|name| matches.place_of(name));
            let sample = table.places[at].sample;
            matches.comparisons.push(PairwiseOutcome { sample, one, other, outcome });
        }
        matches
    }

    fn of_models(table: &MetricTable) -> Self {
        let mut matches = Self { names: table.models.clone(), comparisons: Vec::new(), errors: 0 };
        let mut by_sample: BTreeMap<(u32, u32), Vec<(usize, f64)>> = BTreeMap::new();
        for (at, reading) in table.of.iter().enumerate() {
            let place = &table.places[at];
            match reading {
                Reading::Missing => {}
                Reading::Errored => matches.errors += 1,
                Reading::Is(value) => match value.number {
                    Some(number) => {
                        let own = by_sample.entry((place.sample, place.trial)).or_default();
                        own.push((place.model as usize, number));
                    }
                    None => matches.errors += 1,
                },
            }
        }
        for ((sample, _), scores) in by_sample {
            for (at, (one, score)) in scores.iter().enumerate() {
                let pairs = scores[at + 1..].iter().map(|(other, other_score)| PairwiseOutcome {
                    sample,
                    one: *one,
                    other: *other,
                    outcome: outcome(*score, *other_score),
                });
                matches.comparisons.extend(pairs);
            }
        }
        matches
    }

    fn place_of(&mut self, name: String) -> usize {
        let known = self.names.iter().position(|known| *known == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}
