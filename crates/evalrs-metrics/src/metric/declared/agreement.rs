//! How far two series, or several, agree.

use super::MetricValue;
use super::reading::{ComparedRows, MetricTable, ReadValue, Reading};
use evalrs_model::spec::{AgreementMeasure, AlphaLevel};
use evalrs_statistics::classes::compare_classes;
use evalrs_statistics::correlation::{kendall_tau_b, pearson, spearman};
use evalrs_statistics::equal_numbers::{EqualNumbers, levelled};
use evalrs_statistics::kappa::{
    CategoryPair, KappaWeights, ScorePair, cohen_kappa, fleiss_kappa, ranked,
};
use evalrs_statistics::krippendorff::{MeasurementLevel, RatedUnits};

/// The coefficient, over results that have all it needs.
pub(super) fn of(measure: AgreementMeasure, table: &MetricTable) -> MetricValue {
    match measure {
        AgreementMeasure::Pearson => of_numbers(table, pearson),
        AgreementMeasure::Spearman => of_numbers(table, spearman),
        AgreementMeasure::Kendall => of_numbers(table, kendall_tau_b),
        AgreementMeasure::LinearKappa => {
            of_numbers(table, |pairs| cohen_kappa(&ranked(pairs), KappaWeights::Linear))
        }
        AgreementMeasure::QuadraticKappa => {
            of_numbers(table, |pairs| cohen_kappa(&ranked(pairs), KappaWeights::Quadratic))
        }
        AgreementMeasure::Kappa => of_classes(table),
        AgreementMeasure::Alpha(level) => alpha(level, table),
        AgreementMeasure::Fleiss => fleiss(table),
    }
}

fn of_numbers(table: &MetricTable, estimate: fn(&[ScorePair]) -> Option<f64>) -> MetricValue {
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
        let problem = "it compares texts, not numbers";
        return MetricValue { errors, ..MetricValue::without(problem) };
    }
    coefficient(
        MetricValue::estimated_if_defined(table, &samples, &levelled(&pairs), estimate),
        errors,
    )
}

fn of_classes(table: &MetricTable) -> MetricValue {
    let ComparedRows { rows, errors } = table.compared();
    let classes = classes_of(table, rows.iter().flat_map(|row| row.values.iter().copied()));
    let pairs = rows.iter().filter_map(|row| {
        let [one, other] = [0, 1].map(|at| place_of(&classes, table.class(row.values.get(at)?)));
        Some(CategoryPair { one: one?, other: other? })
    });
    let pairs: Vec<CategoryPair> = pairs.collect();
    let samples: Vec<u32> = rows.iter().map(|row| table.places[row.at].sample).collect();
    let kappa = |pairs: &[CategoryPair]| cohen_kappa(pairs, KappaWeights::Plain);
    coefficient(MetricValue::estimated_if_defined(table, &samples, &pairs, kappa), errors)
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
    let all: Vec<usize> = (0..units.len()).collect();
    let found =
        MetricValue::estimated_if_defined(table, &samples, &all, |drawn| rated.alpha(drawn));
    coefficient(found, ratings.errors_where(|value| rating(value).is_none()))
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
    let counts: Vec<&[usize]> = counts.iter().map(Vec::as_slice).collect();
    let found = MetricValue::estimated_if_defined(table, &samples, &counts, fleiss_kappa);
    let several = counts.iter().filter(|own| own.iter().sum::<usize>() > 1).count();
    coefficient(MetricValue { n: several, ..found }, ratings.errors_where(|_| false))
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

    /// How many results lack a rater's value because of an error. A value is as good as an error if `is_lost`.
    fn errors_where(&self, is_lost: impl Fn(&ReadValue) -> bool) -> usize {
        let is_error = |reading: &Reading| match reading {
            Reading::Errored => true,
            Reading::Is(value) => is_lost(value),
            Reading::Missing => false,
        };
        (0..self.table.places.len()).filter(|at| self.readings(*at).any(is_error)).count()
    }
}

/// The coefficient that was found, or why there is none.
fn coefficient(found: MetricValue, errors: usize) -> MetricValue {
    let problem = match (found.value, found.n) {
        (Some(_), _) => return MetricValue { errors, ..found },
        (None, 0) => "no result has both",
        (None, _) => "one side gives the same value to all: agreement is not defined",
    };
    MetricValue { n: found.n, errors, ..MetricValue::without(problem) }
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
