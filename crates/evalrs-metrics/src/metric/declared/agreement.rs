//! How far two series, or several, agree.

use super::reading::{ComparedRows, MetricTable, ReadValue, Reading};
use super::{MetricValue, replicates};
use evalrs_model::spec::{AgreementMeasure, AlphaLevel};
use evalrs_statistics::classes::compare_classes;
use evalrs_statistics::correlation::{kendall_tau_b, pearson, spearman};
use evalrs_statistics::equal_numbers::{EqualNumbers, levelled};
use evalrs_statistics::kappa::{
    CategoryPair, KappaWeights, ScorePair, cohen_kappa, fleiss_kappa, ranked,
};
use evalrs_statistics::krippendorff::{MeasurementLevel, RatedUnits};
use evalrs_statistics::percentile_bootstrap::percentile_interval;

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
    if pairs.is_empty() && !rows.is_empty() {
        let problem = "what it compares are texts, and not numbers";
        return MetricValue { errors, ..MetricValue::without(problem) };
    }
    let pairs = levelled(&pairs);
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
    let ratings = Ratings { table };
    let classes = ratings.classes();
    let rating = |value: &ReadValue| match level {
        MeasurementLevel::Nominal => place_of(&classes, table.class(value)).map(|at| at as f64),
        _ => value.native,
    };
    let mut units = Vec::new();
    let mut samples = Vec::new();
    for (at, place) in table.places.iter().enumerate() {
        let unit: Vec<f64> = ratings.of(at).filter_map(rating).collect();
        if unit.len() > 1 {
            units.push(unit);
            samples.push(place.sample);
        }
    }
    let levels = EqualNumbers::of(units.iter().flatten().copied());
    units.iter_mut().flatten().for_each(|value| *value = levels.level(*value));
    let rated = RatedUnits::new(&units, level);
    let drawn = |drawn: &[usize]| rated.alpha(drawn);
    let value = rated.alpha(&(0..units.len()).collect::<Vec<usize>>());
    let errors = ratings.errors_where(|value| rating(value).is_none());
    let found = Coefficient { value, n: units.len(), errors };
    coefficient(table, found, &samples, &drawn)
}

/// Items need not be rated by the same, nor by as many.
fn fleiss(table: &MetricTable) -> MetricValue {
    let ratings = Ratings { table };
    let classes = ratings.classes();
    let mut counts = Vec::new();
    let mut samples = Vec::new();
    for (at, place) in table.places.iter().enumerate() {
        let mut own = vec![0; classes.len()];
        for class in ratings.of(at).filter_map(|value| place_of(&classes, table.class(value))) {
            own[class] += 1;
        }
        if own.iter().sum::<usize>() > 0 {
            counts.push(own);
            samples.push(place.sample);
        }
    }
    let drawn = |drawn: &[usize]| {
        fleiss_kappa(&drawn.iter().map(|at| counts[*at].as_slice()).collect::<Vec<&[usize]>>())
    };
    let value = fleiss_kappa(&counts.iter().map(Vec::as_slice).collect::<Vec<&[usize]>>());
    let several = counts.iter().filter(|own| own.iter().sum::<usize>() > 1).count();
    let found = Coefficient { value, n: several, errors: ratings.errors() };
    coefficient(table, found, &samples, &drawn)
}

/// What several raters say of each result, of which any may lack what some say.
struct Ratings<'t> {
    table: &'t MetricTable,
}

impl<'t> Ratings<'t> {
    fn readings(&self, at: usize) -> impl Iterator<Item = &'t Reading> + use<'t> {
        let series = std::iter::once(&self.table.of).chain(&self.table.against);
        series.filter_map(move |series| series.get(at))
    }

    /// What is said of a result.
    fn of(&self, at: usize) -> impl Iterator<Item = &'t ReadValue> + use<'t> {
        self.readings(at).filter_map(|reading| match reading {
            Reading::Is(value) => Some(value),
            Reading::Missing | Reading::Errored => None,
        })
    }

    /// The classes that occur, in order.
    fn classes(&self) -> Vec<String> {
        classes_of(self.table, (0..self.table.places.len()).flat_map(|at| self.of(at)))
    }

    /// How many results lack what a rater would have said for an error.
    fn errors(&self) -> usize {
        self.errors_where(|_| false)
    }

    /// The same where a value is as good as an error if `is_lost`.
    fn errors_where(&self, is_lost: impl Fn(&ReadValue) -> bool) -> usize {
        let is_error = |reading: &Reading| match reading {
            Reading::Errored => true,
            Reading::Is(value) => is_lost(value),
            Reading::Missing => false,
        };
        let has_error = |at: &usize| self.readings(*at).any(is_error);
        (0..self.table.places.len()).filter(has_error).count()
    }
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
