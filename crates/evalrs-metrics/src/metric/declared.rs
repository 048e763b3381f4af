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
pub mod value;
mod weighted;
mod within;

pub use reading::{GroupName, MetricTable, ReadValue, Reading, ResultPlace, class_of, verdict};
pub use replicates::Replicates;
pub use value::{GroupValue, MetricValue, UngroupedResults};

use evalrs_model::spec::{
    AgreementMeasure, ClassScore, MetricKind, MetricSpec, Scale, SeriesSource, Statistic,
};
use evalrs_statistics::interval::ConfidenceInterval;

/// The metric over the results of `table`, which holds what the metric reads.
pub fn measure(spec: &MetricSpec, table: &MetricTable) -> MetricValue {
    let mut told = measured(spec, table);
    let ends = match told.errors {
        0 => [told.value, told.value],
        _ if spec.within => [None, None],
        _ => means::ends(spec, table),
    };
    let problem = told
        .value
        .is_none()
        .then(|| told.problem.clone().unwrap_or_else(|| "no values to compute it from".to_owned()));
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
        return within::of(spec, table, measured);
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
