//! Metrics that suites declare: numbers over all results, each with an interval where one is known.
//!
//! Owns what each kind takes of a table of readings, and how it is told that nothing can be said. The formulas are those of
//! [`evalrs_statistics`]; where readings come from is not known here.

mod agreement;
mod classes;
mod comparison;
mod means;
pub mod reading;
pub mod replicates;
#[cfg(test)]
mod tests;
mod weighted;
mod within;

use serde::{Deserialize, Serialize};

pub use reading::{GroupName, MetricTable, ReadValue, Reading, ResultPlace, class_of, verdict};
pub use replicates::Replicates;

use evalrs_base::ordered_map::Ordered;
use evalrs_model::spec::{
    AgreementMeasure, ClassScore, MetricKind, MetricSpec, Scale, SeriesSource, Statistic,
};
use evalrs_statistics::classes::{ClassScores, ConfusionMatrix};
use evalrs_statistics::interval::{ConfidenceInterval, read_interval};

/// A metric that a suite declares, over all results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MetricValue {
    /// Its kind in words for people, such as `macro mean` or `Cohen's kappa`.
    pub kind: String,
    /// The number; null where there is none.
    pub value: Option<f64>,
    /// The same on the grader's own scale, where it has one and the number is a score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<f64>,
    /// What it is over: results, or pairs, groups of trials or comparisons.
    pub n: usize,
    /// Results that could not be graded, or lack what the metric reads.
    pub errors: usize,
    /// Where the true value lies; null where no interval is known.
    #[serde(deserialize_with = "read_interval")]
    pub interval: Option<ConfidenceInterval>,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Why there is no interval, where there is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_problem: Option<String>,
    /// Group → its own number.
    #[serde(skip_serializing_if = "is_empty")]
    pub groups: Ordered<GroupValue>,
    /// Results that no group holds, which are part of nothing here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ungrouped: Option<UngroupedResults>,
    /// How often which class was taken for which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<ConfusionMatrix>,
    /// Precision, recall and F1 of each class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassScores>,
    /// The least that the number can be, whatever grades with errors would have been; null where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest: Option<f64>,
    /// The most it can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest: Option<f64>,
    /// Groups in which a metric within groups is not defined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<String>,
    /// Digest of what the suite says of it: numbers of different digests are not of the same thing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub definition: String,
    /// The number over samples that are drawn again; the record keeps them in a file of their own.
    #[serde(skip)]
    pub replicates: Option<Replicates>,
}

/// The number of one group of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupValue {
    /// The number.
    pub value: Option<f64>,
    /// The same on the grader's own scale, as of the metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<f64>,
    /// What it is over.
    pub n: usize,
    /// Where the true value lies.
    #[serde(deserialize_with = "read_interval")]
    pub interval: Option<ConfidenceInterval>,
    /// How much it counts; absent where groups have no weights of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

/// Results that are in none of the groups of a macro mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UngroupedResults {
    /// How many there are.
    pub n: usize,
    /// What they have where groups are told apart, in order: the first of them. Empty where they have nothing there.
    pub values: Vec<String>,
}

fn is_empty<T>(map: &Ordered<T>) -> bool {
    map.0.is_empty()
}

impl MetricValue {
    fn without(problem: impl Into<String>) -> Self {
        Self { problem: Some(problem.into()), ..Self::default() }
    }
}

/// The metric over the results of `table`, which holds what the metric reads.
pub fn measure(spec: &MetricSpec, table: &MetricTable) -> MetricValue {
    let mut told = measured(spec, table);
    let ends = match told.errors {
        0 => [told.value, told.value],
        _ if spec.within => [None, None],
        _ => means::ends(spec, table),
    };
    let problem = told.value.is_none().then(|| {
        told.problem.clone().unwrap_or_else(|| "there is nothing to compute it from".to_owned())
    });
    let scale = native_scale(spec, table);
    let native = |value: f64| scale.map(|scale| scale.native(value));
    let shown = |value: Option<f64>| match value {
        Some(value) if spec.native => native(value).or(Some(value)),
        value => value,
    };
    let shown_interval = |interval: ConfidenceInterval| ConfidenceInterval {
        low: shown(Some(interval.low)).unwrap_or(interval.low),
        high: shown(Some(interval.high)).unwrap_or(interval.high),
        ..interval
    };
    for (_, group) in &mut told.groups.0 {
        group.native = group.value.and_then(native);
        group.value = shown(group.value);
        group.interval = group.interval.map(shown_interval);
    }
    if let Some(replicates) = &mut told.replicates {
        [replicates.least, replicates.greatest] = replicates::bounds(spec);
        replicates.draws.iter_mut().for_each(|value| *value = shown(*value));
    }
    MetricValue {
        kind: name_of(&spec.kind) + if spec.within { " in groups" } else { "" },
        native: told.value.and_then(native),
        value: shown(told.value),
        interval: told.interval.map(shown_interval),
        problem,
        lowest: shown(ends[0]),
        highest: shown(ends[1]),
        ..told
    }
}

fn measured(spec: &MetricSpec, table: &MetricTable) -> MetricValue {
    if spec.within {
        return within::of(spec, table);
    }
    match &spec.kind {
        MetricKind::Of(statistic) => means::of(*statistic, spec, table),
        MetricKind::Macro(statistic) => means::over_groups(*statistic, spec, table),
        MetricKind::Weighted(path) => weighted::of(path, table),
        MetricKind::Classes(measure) => classes::of(measure, table),
        MetricKind::Agreement(measure) => agreement::of(*measure, table),
        MetricKind::AreaUnderCurve(class) => classes::area_under_curve(class.as_deref(), table),
        MetricKind::CalibrationError { bins, class } => {
            classes::calibration_error(*bins as usize, class.as_deref(), table)
        }
        MetricKind::WinRate => comparison::win_rate(table),
        MetricKind::LengthControlledWinRate(lengths) => {
            comparison::length_controlled(lengths, table)
        }
        MetricKind::BradleyTerry(players) => comparison::strengths(players.as_ref(), table),
    }
}

/// The scale that the number is on, where it is a score of a grader with a scale of its own.
fn native_scale(spec: &MetricSpec, table: &MetricTable) -> Option<Scale> {
    let is_score = match &spec.kind {
        MetricKind::Of(statistic) => {
            !matches!(statistic, Statistic::PassRate | Statistic::PassAt(_) | Statistic::PassHat(_))
        }
        MetricKind::Macro(statistic) => *statistic == Statistic::Mean,
        MetricKind::Weighted(_) => true,
        _ => false,
    };
    let is_grader = matches!(spec.of.source, SeriesSource::Grader(..) | SeriesSource::Labels(_));
    table.scale.filter(|_| is_score && is_grader)
}

/// What people call the kind.
pub(crate) fn name_of(kind: &MetricKind) -> String {
    let name = match kind {
        MetricKind::Of(statistic) | MetricKind::Macro(statistic) => {
            let own = statistic_name(*statistic);
            return if matches!(kind, MetricKind::Macro(_)) { format!("macro {own}") } else { own };
        }
        MetricKind::Weighted(_) => "weighted mean",
        MetricKind::Classes(measure) => match measure.score {
            ClassScore::Precision => "precision",
            ClassScore::Recall => "recall",
            ClassScore::F1 => "f1",
            ClassScore::Accuracy => "accuracy",
            ClassScore::BalancedAccuracy => "balanced accuracy",
        },
        MetricKind::Agreement(measure) => match measure {
            AgreementMeasure::Pearson => "Pearson r",
            AgreementMeasure::Spearman => "Spearman rho",
            AgreementMeasure::Kendall => "Kendall tau-b",
            AgreementMeasure::Kappa => "Cohen's kappa",
            AgreementMeasure::LinearKappa => "linear kappa",
            AgreementMeasure::QuadraticKappa => "quadratic kappa",
            AgreementMeasure::Alpha(_) => "Krippendorff's alpha",
            AgreementMeasure::Fleiss => "Fleiss' kappa",
        },
        MetricKind::AreaUnderCurve(_) => "AUC",
        MetricKind::CalibrationError { .. } => "ECE",
        MetricKind::WinRate => "win rate",
        MetricKind::LengthControlledWinRate(_) => "length-controlled win rate",
        MetricKind::BradleyTerry(_) => "Bradley-Terry",
    };
    name.to_owned()
}

fn statistic_name(statistic: Statistic) -> String {
    match statistic {
        Statistic::Mean => "mean".to_owned(),
        Statistic::PassRate => "pass rate".to_owned(),
        Statistic::Min => "min".to_owned(),
        Statistic::Max => "max".to_owned(),
        Statistic::Percentile(50) => "median".to_owned(),
        Statistic::Percentile(percent) => format!("p{percent}"),
        Statistic::PassAt(k) => format!("pass@{k}"),
        Statistic::PassHat(k) => format!("pass^{k}"),
    }
}
