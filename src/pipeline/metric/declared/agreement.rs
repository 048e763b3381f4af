//! How far two series, or several, agree.

use super::reading::{ComparedRows, MetricTable, ReadValue, Reading};
use super::{MetricValue, replicates};
use crate::pipeline::spec::{AgreementMeasure, AlphaLevel};
use crate::pipeline::statistics::classes::compare_classes;
use crate::pipeline::statistics::correlation::{kendall_tau_b, pearson, spearman};
use crate::pipeline::statistics::kappa::{
    CategoryPair, KappaWeights, ScorePair, cohen_kappa, fleiss_kappa, ranked,
};
use crate::pipeline::statistics::krippendorff::{MeasurementLevel, krippendorff_alpha};
use crate::pipeline::statistics::percentile_bootstrap::percentile_interval;

/// The coefficient, over results that have all it needs.
pub(super) fn of(measure: AgreementMeasure, table: &MetricTable) -> MetricValue {
    match measure {
        AgreementMeasure::Pearson => of_numbers(table, &pearson),
        AgreementMeasure::Spearman => of_numbers(table, &spearman),
        AgreementMeasure::Kendall => of_numbers(table, &kendall_tau_b),
        AgreementMeasure::LinearKappa => {
            of_numbers(table, &|pairs| weighted(pairs, KappaWeights::Linear))
        }
        AgreementMeasure::QuadraticKappa => {
            of_numbers(table, &|pairs| weighted(pairs, KappaWeights::Quadratic))
        }
        AgreementMeasure::Kappa => of_classes(table),
        AgreementMeasure::Alpha(level) => alpha(level, table),
        AgreementMeasure::Fleiss => fleiss(table),
    }
}

fn weighted(pairs: &[ScorePair], weights: KappaWeights) -> Option<f64> {
    cohen_kappa(&ranked(pairs), weights)
}

fn of_numbers(table: &MetricTable, estimate: &dyn Fn(&[ScorePair]) -> Option<f64>) -> MetricValue {
    let ComparedRows { rows, mut errors } = table.compared();
    let mut pairs = Vec::new();
    let mut samples = Vec::new();
    for row in &rows {
        let [one, other] = [0, 1].map(|at| row.values.get(at).and_then(|value| value.native));
        match (one, other) {
            (Some(one), Some(other)) => {
                pairs.push(ScorePair { one, other });
                samples.push(table.places[row.at].sample);
            }
            // Texts without a number among numbers.
            _ => errors += 1,
        }
    }
    let drawn =
        |drawn: &[usize]| estimate(&drawn.iter().map(|at| pairs[*at]).collect::<Vec<ScorePair>>());
    let value = estimate(&pairs);
    coefficient(table, Coefficient { value, n: pairs.len(), errors }, &samples, &drawn)
}

fn of_classes(table: &MetricTable) -> MetricValue {
    let ComparedRows { rows, errors } = table.compared();
    let classes = classes_of(table, rows.iter().flat_map(|row| row.values.iter().copied()));
    let place = |value: Option<&&ReadValue>| place_of(&classes, table.class(value?));
    let pair = |row: &super::reading::ComparedRow<'_>| {
        let [one, other] = [0, 1].map(|at| place(row.values.get(at)));
        Some(CategoryPair { one: one?, other: other? })
    };
    let pairs: Vec<CategoryPair> = rows.iter().filter_map(pair).collect();
    let samples: Vec<u32> = rows.iter().map(|row| table.places[row.at].sample).collect();
    let drawn = |drawn: &[usize]| {
        let drawn: Vec<CategoryPair> = drawn.iter().map(|at| pairs[*at]).collect();
        cohen_kappa(&drawn, KappaWeights::Plain)
    };
    let value = cohen_kappa(&pairs, KappaWeights::Plain);
    coefficient(table, Coefficient { value, n: pairs.len(), errors }, &samples, &drawn)
}

/// Units need not have all ratings.
fn alpha(level: AlphaLevel, table: &MetricTable) -> MetricValue {
    let level = match level {
        AlphaLevel::Nominal => MeasurementLevel::Nominal,
        AlphaLevel::Ordinal => MeasurementLevel::Ordinal,
        AlphaLevel::Interval => MeasurementLevel::Interval,
        AlphaLevel::Ratio => MeasurementLevel::Ratio,
    };
    let raters = || std::iter::once(&table.of).chain(&table.against);
    let values = |at: usize| {
        raters().filter_map(move |series| match series.get(at)? {
            Reading::Is(value) => Some(value),
            Reading::Missing | Reading::Errored => None,
        })
    };
    let every = (0..table.places.len()).flat_map(values);
    let classes = classes_of(table, every);
    let rating = |value: &ReadValue| match level {
        MeasurementLevel::Nominal => place_of(&classes, table.class(value)).map(|at| at as f64),
        _ => value.native,
    };
    let errors = (0..table.places.len())
        .filter(|at| raters().any(|series| series.get(*at) == Some(&Reading::Errored)))
        .count();
    let mut units = Vec::new();
    let mut samples = Vec::new();
    for (at, place) in table.places.iter().enumerate() {
        let unit: Vec<f64> = values(at).filter_map(rating).collect();
        if unit.len() > 1 {
            units.push(unit);
            samples.push(place.sample);
        }
    }
    let drawn = |drawn: &[usize]| {
        let drawn: Vec<Vec<f64>> = drawn.iter().map(|at| units[*at].clone()).collect();
        krippendorff_alpha(&drawn, level)
    };
    let value = krippendorff_alpha(&units, level);
    coefficient(table, Coefficient { value, n: units.len(), errors }, &samples, &drawn)
}

fn fleiss(table: &MetricTable) -> MetricValue {
    let ComparedRows { rows, errors } = table.compared();
    let classes = classes_of(table, rows.iter().flat_map(|row| row.values.iter().copied()));
    let counts = |row: &super::reading::ComparedRow<'_>| {
        let mut counts = vec![0; classes.len()];
        for at in row.values.iter().filter_map(|value| place_of(&classes, table.class(value))) {
            counts[at] += 1;
        }
        counts
    };
    let rated: Vec<Vec<usize>> = rows.iter().map(counts).collect();
    let samples: Vec<u32> = rows.iter().map(|row| table.places[row.at].sample).collect();
    let drawn = |drawn: &[usize]| {
        fleiss_kappa(&drawn.iter().map(|at| rated[*at].clone()).collect::<Vec<_>>())
    };
    let value = fleiss_kappa(&rated);
    coefficient(table, Coefficient { value, n: rated.len(), errors }, &samples, &drawn)
}

/// A coefficient, the items it is over, and those that it cannot be over.
#[derive(Clone, Copy, Debug)]
struct Coefficient {
    value: Option<f64>,
    n: usize,
    errors: usize,
}

fn coefficient(
    table: &MetricTable,
    found: Coefficient,
    samples: &[u32],
    drawn: &dyn Fn(&[usize]) -> Option<f64>,
) -> MetricValue {
    let Coefficient { value, n, errors } = found;
    let problem = match (value, n) {
        (Some(_), _) => None,
        (None, 0) => Some("no result has both"),
        (None, _) => Some("one side says the same of all: there is nothing to agree about"),
    };
    MetricValue {
        value,
        n,
        errors,
        interval: value.and_then(|_| percentile_interval(samples, drawn)),
        replicates: value.and_then(|_| replicates::of(table, samples, drawn)),
        problem: problem.map(str::to_owned),
        ..MetricValue::default()
    }
}

/// The classes that occur, in order.
fn classes_of<'v>(table: &MetricTable, values: impl Iterator<Item = &'v ReadValue>) -> Vec<String> {
    let mut classes: Vec<String> = values.map(|value| table.class(value).to_owned()).collect();
    classes.sort_by(|one, other| compare_classes(one, other));
    classes.dedup();
    classes
}

fn place_of(classes: &[String], class: &str) -> Option<usize> {
    classes.binary_search_by(|known| compare_classes(known, class)).ok()
}
