//! How far two sides agree on the same cases: two graders, a grader and people, two models, a grader and a field of the rows.
//!
//! Owns which results are one case and what is computed of which kind of values; knows neither graders nor labels. The first side is what is looked at, the
//! second what it is compared with: precision and recall take the second for the truth.

use std::collections::BTreeMap;

use serde::Serialize;

use super::declared::{MetricTable, Reading, ResultPlace};
use evalrs_base::exact::mean;
use evalrs_model::spec::MetricSpec;
use evalrs_statistics::LEVEL;
use evalrs_statistics::binary::{ScoredOutcome, area_under_curve};
use evalrs_statistics::classes::{
    AverageScores, ClassPair, ClassScores, ConfusionMatrix, compare_classes,
};
use evalrs_statistics::correlation::{kendall_tau_b, pearson, spearman};
use evalrs_statistics::equal_numbers::levelled;
use evalrs_statistics::interval::{ClusteredValue, ConfidenceInterval, ValueRange, mean_interval};
use evalrs_statistics::kappa::{CategoryPair, KappaWeights, ScorePair, cohen_kappa, ranked};
use evalrs_statistics::krippendorff::{MeasurementLevel, krippendorff_alpha};

/// More classes than this are scores: no table of them is made.
const MAX_TABLE: usize = 20;

/// What one side says of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct SideValue {
    /// As a class.
    pub class: String,
    /// As a number, where it is one: a score on the scale of its grader.
    pub number: Option<f64>,
}

/// What both sides say of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct SidePair {
    /// The number of the sample.
    pub sample: u32,
    /// What the first says.
    pub one: Option<SideValue>,
    /// What the second says.
    pub other: Option<SideValue>,
}

/// What both sides say of each case that the results at `places` of a table are of. The sides are what the metric is `of` and the first it is
/// `against`; where they are of two models, the results of both are one case.
pub fn side_pairs(
    spec: &MetricSpec,
    table: &MetricTable,
    places: impl IntoIterator<Item = usize>,
) -> Vec<SidePair> {
    let models = ComparedModels::of(spec);
    let mut cases: BTreeMap<(u32, u32, Option<u32>), SidePair> = BTreeMap::new();
    for at in places {
        let place = &table.places[at];
        let model = table.models.get(place.model as usize).map_or("", String::as_str);
        if !models.has(model) {
            continue;
        }
        let ResultPlace { sample, trial, .. } = *place;
        let model = (!models.are_joined()).then_some(place.model);
        let none = SidePair { sample, one: None, other: None };
        let pair = cases.entry((sample, trial, model)).or_insert(none);
        pair.one = pair.one.take().or_else(|| table.side_value(table.of.get(at)?));
        let other = || table.side_value(table.against.first()?.get(at)?);
        pair.other = pair.other.take().or_else(other);
    }
    cases.into_values().collect()
}

/// The models of both sides, where they are of one.
struct ComparedModels<'a> {
    one: Option<&'a str>,
    other: Option<&'a str>,
}

impl<'a> ComparedModels<'a> {
    fn of(spec: &'a MetricSpec) -> Self {
        let other = spec.against.first().and_then(|series| series.model.as_deref());
        Self { one: spec.of.model.as_deref(), other }
    }

    /// Whether results of the model are looked at. All but one, where a side is of that one and the other side says of none.
    fn has(&self, model: &str) -> bool {
        match (self.one, self.other) {
            (None, None) => true,
            (None, Some(other)) => model != other,
            (Some(one), other) => model == one || Some(model) == other,
        }
    }

    fn are_joined(&self) -> bool {
        self.one.is_some() && self.other.is_some_and(|other| Some(other) != self.one)
    }
}

impl MetricTable {
    fn side_value(&self, reading: &Reading) -> Option<SideValue> {
        let Reading::Is(value) = reading else { return None };
        Some(SideValue { class: self.class(value).to_owned(), number: value.native })
    }
}

/// How far two sides agree.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SideAgreement {
    /// Cases of which both say something.
    pub n: usize,
    /// Cases of which only the first does.
    pub only_one: usize,
    /// Cases of which only the second does.
    pub only_other: usize,
    /// Share of cases of which both say the same, 0..=1: the accuracy of the first.
    pub equal: Option<f64>,
    /// Its interval.
    pub equal_interval: Option<ConfidenceInterval>,
    /// The mean of what the first says, on its own scale; null unless all of it are numbers.
    pub mean_one: Option<f64>,
    /// The mean of what the second says.
    pub mean_other: Option<f64>,
    /// Cohen's kappas.
    pub kappa: Kappas,
    /// Krippendorff's alphas.
    pub alpha: Alphas,
    /// Correlations; null unless all are numbers.
    pub correlation: Correlations,
    /// The area under the curve of the first's numbers, where the second says one of two things: the chance that it is higher
    /// where the second says the greater one.
    pub auc: Option<f64>,
    /// How often which was taken for which, the second in rows; null for more than 20 classes.
    pub confusion: Option<ConfusionMatrix>,
    /// Precision, recall and F1 of each class.
    pub classes: Vec<ClassScores>,
    /// Their mean over classes.
    pub macro_average: Option<AverageScores>,
    /// Their mean over cases.
    pub weighted_average: Option<AverageScores>,
    /// The mean recall of classes that occur.
    pub balanced_accuracy: Option<f64>,
}

/// Cohen's kappas: of classes, and weighted by how many ranks apart numbers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Kappas {
    /// Every disagreement counts the same.
    pub plain: Option<f64>,
    /// By the distance of ranks; null unless all are numbers.
    pub linear: Option<f64>,
    /// By its square.
    pub quadratic: Option<f64>,
}

/// Krippendorff's alphas of two raters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Alphas {
    /// Of classes.
    pub nominal: Option<f64>,
    /// Of the order of numbers; null unless all are numbers.
    pub ordinal: Option<f64>,
    /// Of their differences.
    pub interval: Option<f64>,
    /// Of their ratios.
    pub ratio: Option<f64>,
}

/// Correlations of two series of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Correlations {
    /// Pearson's.
    pub pearson: Option<f64>,
    /// Spearman's, of ranks.
    pub spearman: Option<f64>,
    /// Kendall's tau-b.
    pub kendall: Option<f64>,
}

/// A case of which both sides say something.
#[derive(Clone, Copy)]
struct BothSides<'a> {
    sample: u32,
    one: &'a SideValue,
    other: &'a SideValue,
}

impl SideAgreement {
    /// The agreement of cases in any order.
    pub fn of(pairs: &[SidePair]) -> Self {
        let both: Vec<BothSides<'_>> = pairs
            .iter()
            .filter_map(|pair| {
                let one = pair.one.as_ref()?;
                Some(BothSides { sample: pair.sample, one, other: pair.other.as_ref()? })
            })
            .collect();
        let only = |has: fn(&SidePair) -> bool| pairs.iter().filter(|pair| has(pair)).count();
        let confusion = confusion(&both);
        let equal = both.iter().filter(|both| both.are_equal()).count();
        let scores = numbers(&both);
        let numbers = scores.as_deref().unwrap_or_default();
        Self {
            n: both.len(),
            only_one: only(|pair| pair.one.is_some() && pair.other.is_none()),
            only_other: only(|pair| pair.one.is_none() && pair.other.is_some()),
            equal: (!both.is_empty()).then(|| equal as f64 / both.len() as f64),
            equal_interval: equal_interval(&both),
            mean_one: side_mean(&both, |both| both.one),
            mean_other: side_mean(&both, |both| both.other),
            kappa: Kappas {
                plain: cohen_kappa(&class_pairs(&both), KappaWeights::Plain),
                linear: cohen_kappa(&ranked(numbers), KappaWeights::Linear),
                quadratic: cohen_kappa(&ranked(numbers), KappaWeights::Quadratic),
            },
            alpha: alphas(&both, numbers),
            correlation: Correlations {
                pearson: pearson(numbers),
                spearman: spearman(numbers),
                kendall: kendall_tau_b(numbers),
            },
            auc: area(&both),
            classes: confusion.as_ref().map(ConfusionMatrix::scores).unwrap_or_default(),
            macro_average: confusion.as_ref().and_then(ConfusionMatrix::macro_average),
            weighted_average: confusion.as_ref().and_then(ConfusionMatrix::weighted_average),
            balanced_accuracy: confusion.as_ref().and_then(ConfusionMatrix::balanced_accuracy),
            confusion,
        }
    }
}

impl BothSides<'_> {
    fn are_equal(&self) -> bool {
        self.one.class == self.other.class
    }
}

fn equal_interval(both: &[BothSides<'_>]) -> Option<ConfidenceInterval> {
    let values = both
        .iter()
        .map(|both| ClusteredValue { cluster: both.sample, value: f64::from(both.are_equal()) });
    mean_interval(values.collect(), ValueRange::UNIT, LEVEL)
}

fn side_mean(
    both: &[BothSides<'_>],
    side: for<'a> fn(&BothSides<'a>) -> &'a SideValue,
) -> Option<f64> {
    let values: Option<Vec<f64>> = both.iter().map(|both| side(both).number).collect();
    mean(&values?)
}

/// The scores of both sides; none unless all are numbers.
fn numbers(both: &[BothSides<'_>]) -> Option<Vec<ScorePair>> {
    let pairs = both
        .iter()
        .map(|both| Some(ScorePair { one: both.one.number?, other: both.other.number? }));
    Some(levelled(&pairs.collect::<Option<Vec<_>>>()?))
}

/// All that both sides say, once each, in order.
fn vocabulary<'a>(both: &[BothSides<'a>]) -> Vec<&'a str> {
    distinct(both.iter().flat_map(|both| [both.one, both.other]))
}

fn distinct<'a>(values: impl Iterator<Item = &'a SideValue>) -> Vec<&'a str> {
    let mut classes: Vec<&str> = values.map(|value| value.class.as_str()).collect();
    classes.sort_unstable_by(|one, other| compare_classes(one, other));
    classes.dedup();
    classes
}

fn class_pairs(both: &[BothSides<'_>]) -> Vec<CategoryPair> {
    let classes = vocabulary(both);
    let place =
        |class: &str| classes.partition_point(|known| compare_classes(known, class).is_lt());
    both.iter()
        .map(|both| CategoryPair { one: place(&both.one.class), other: place(&both.other.class) })
        .collect()
}

fn confusion(both: &[BothSides<'_>]) -> Option<ConfusionMatrix> {
    if both.is_empty() || vocabulary(both).len() > MAX_TABLE {
        return None;
    }
    let pairs: Vec<ClassPair<'_>> = both
        .iter()
        .map(|both| ClassPair { truth: &both.other.class, predicted: &both.one.class })
        .collect();
    ConfusionMatrix::of(&pairs, &[])
}

fn alphas(both: &[BothSides<'_>], numbers: &[ScorePair]) -> Alphas {
    let places = class_pairs(both);
    let classes: Vec<Vec<f64>> =
        places.iter().map(|pair| vec![pair.one as f64, pair.other as f64]).collect();
    let scores: Vec<Vec<f64>> = numbers.iter().map(|pair| vec![pair.one, pair.other]).collect();
    Alphas {
        nominal: krippendorff_alpha(&classes, MeasurementLevel::Nominal),
        ordinal: krippendorff_alpha(&scores, MeasurementLevel::Ordinal),
        interval: krippendorff_alpha(&scores, MeasurementLevel::Interval),
        ratio: krippendorff_alpha(&scores, MeasurementLevel::Ratio),
    }
}

/// The area under the curve, where the second side says one of two things.
fn area(both: &[BothSides<'_>]) -> Option<f64> {
    let [_, positive] = distinct(both.iter().map(|both| both.other))[..] else { return None };
    let outcomes = both.iter().map(|both| {
        Some(ScoredOutcome { score: both.one.number?, positive: both.other.class == positive })
    });
    area_under_curve(&outcomes.collect::<Option<Vec<_>>>()?)
}

#[cfg(test)]
mod tests {
    use super::{SideAgreement, SidePair, SideValue};

    fn pair(sample: u32, one: &str, other: &str) -> SidePair {
        let value = |text: &str| {
            (text != "-").then(|| SideValue { class: text.to_owned(), number: text.parse().ok() })
        };
        SidePair { sample, one: value(one), other: value(other) }
    }

    #[test]
    fn numbers_have_all_of_it() {
        let said = ["1 1", "2 1", "2 2", "3 3", "3 2", "1 -", "- 2"];
        let pairs: Vec<SidePair> = (0..)
            .zip(said)
            .map(|(at, said)| {
                let both = said.split_once(' ').unwrap();
                pair(at, both.0, both.1)
            })
            .collect();
        let found = SideAgreement::of(&pairs);
        assert_eq!((found.n, found.only_one, found.only_other, found.equal), (5, 1, 1, Some(0.6)));
        assert_eq!((found.mean_one, found.mean_other), (Some(2.2), Some(1.8)));
        // scikit-learn 1.9: `cohen_kappa_score` plain, linear, quadratic.
        for (found, expected) in [
            (found.kappa.plain, 0.411_764_705_882_352_9),
            (found.kappa.linear, 0.545_454_545_454_545_4),
            (found.kappa.quadratic, 0.687_5),
        ] {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?} is not {expected}");
        }
        assert_eq!(found.confusion.unwrap().counts, [[1, 1, 0], [0, 1, 1], [0, 0, 1]]);
        assert_eq!(found.auc, None);
        assert!(found.correlation.kendall.is_some() && found.alpha.ratio.is_some());
    }

    #[test]
    fn classes_have_what_needs_no_numbers() {
        let found = SideAgreement::of(&[
            pair(0, "fail", "fail"),
            pair(1, "pass", "pass"),
            pair(2, "pass", "fail"),
        ]);
        assert_eq!((found.mean_one, found.kappa.linear, found.alpha.ordinal), (None, None, None));
        assert_eq!((found.correlation.pearson, found.auc), (None, None));
        assert_eq!(found.classes.len(), 2);
        assert_eq!(SideAgreement::of(&[]), SideAgreement::default());
    }

    #[test]
    fn scores_have_an_area_against_two_classes() {
        let found = SideAgreement::of(&[
            pair(0, "0.1", "fail"),
            pair(1, "0.9", "pass"),
            pair(2, "0.4", "pass"),
            pair(3, "0.4", "fail"),
        ]);
        assert_eq!(found.auc, Some(0.875));
    }
}
