//! Declared metrics as a suite writes them.

use serde_json::{Map, Value, json};

use super::canonical::{extend, without_empty};
use super::metrics::{
    AVERAGES, INNER, KAPPA_WEIGHTS, KINDS, LEVELS, WrittenAverage, WrittenMetric,
};
use evalrs_model::spec::{
    AgreementMeasure, ClassAverage, Dimension, GraderValue, MetricKind, MetricSpec, Series,
    SeriesSource, Statistic,
};

/// Name → metric.
pub fn metrics(specs: &[MetricSpec]) -> Map<String, Value> {
    specs.iter().map(|spec| (spec.name.clone(), metric(spec))).collect()
}

/// The digest of what a suite says of a metric but its name: 16 hexadecimal digits.
pub fn definition(spec: &MetricSpec) -> String {
    blake3::hash(metric(spec).to_string().as_bytes()).to_hex().chars().take(16).collect()
}

fn metric(spec: &MetricSpec) -> Value {
    let against = spec.against.iter().map(|series| series_text(series, Some(&spec.of)));
    let groups: Map<String, Value> =
        spec.groups.iter().map(|(name, values)| (name.clone(), json!(values))).collect();
    let map: Map<String, Value> =
        spec.map.iter().map(|(written, read)| (written.clone(), json!(read))).collect();
    let by = spec.by.iter().filter(|_| !spec.within).map(dimension).collect::<Vec<String>>();
    let mut metric = kind(&spec.kind);
    let common = json!({
        "of": series_text(&spec.of, None),
        "model": spec.of.model,
        "against": against.collect::<Vec<String>>(),
        "by": by,
        "within": spec.by.first().filter(|_| spec.within).map(dimension),
        "groups": groups,
        "scale": spec.native.then_some("native"),
        "map": map,
    });
    extend(&mut metric, without_empty(common));
    metric
}

fn series_text(series: &Series, of: Option<&Series>) -> String {
    if let (Some(model), Some(_)) = (&series.model, of) {
        return format!("model.{model}");
    }
    match &series.source {
        SeriesSource::Field(path) => format!("row.{path}"),
        SeriesSource::Labels(name) => format!("labels.{name}"),
        SeriesSource::Grader(name, value) => match value {
            GraderValue::Any => name.clone(),
            GraderValue::Score => format!("{name}.score"),
            GraderValue::Pass => format!("{name}.pass"),
            GraderValue::Submission => format!("{name}.submission"),
        },
    }
}

fn dimension(dimension: &Dimension) -> String {
    match dimension {
        Dimension::Tags => "tags".to_owned(),
        Dimension::Model => "model".to_owned(),
        Dimension::Sample => "sample".to_owned(),
        Dimension::Field(path) => format!("row.{path}"),
    }
}

/// The name that a table gives what `is_meant`.
fn named<T>(table: &[(&'static str, T)], is_meant: impl Fn(&T) -> bool) -> Option<&'static str> {
    table.iter().find(|(_, known)| is_meant(known)).map(|(name, _)| *name)
}

fn kind(kind: &MetricKind) -> Value {
    let row = |path: &String| format!("row.{path}");
    let own = match kind {
        MetricKind::Of(statistic) => match statistic {
            Statistic::PassAt(k) => json!({"kind": "pass_at", "k": k}),
            Statistic::PassHat(k) => json!({"kind": "pass_hat", "k": k}),
            _ => {
                let is_it = |written: &WrittenMetric| matches!(written, WrittenMetric::Of(known) if known == statistic);
                json!({"kind": named(&KINDS, is_it)})
            }
        },
        MetricKind::Macro(statistic) => {
            json!({"kind": "macro", "metric": named(&INNER, |known| known == statistic)})
        }
        MetricKind::Weighted(path) => json!({"kind": "weighted", "weight": row(path)}),
        MetricKind::Classes(measure) => {
            let is_it = |written: &WrittenMetric| matches!(written, WrittenMetric::Classes(known) if *known == measure.score);
            let class = match &measure.average {
                ClassAverage::Class(class) => class.clone(),
                _ => None,
            };
            let average = named(&AVERAGES, |average| {
                matches!(
                    (average, &measure.average),
                    (WrittenAverage::Macro, ClassAverage::Macro)
                        | (WrittenAverage::Micro, ClassAverage::Micro)
                        | (WrittenAverage::Weighted, ClassAverage::Weighted)
                )
            });
            json!({"kind": named(&KINDS, is_it), "class": class, "average": average})
        }
        MetricKind::Agreement(AgreementMeasure::Alpha(level)) => {
            json!({"kind": "krippendorff_alpha", "level": named(&LEVELS, |known| known == level)})
        }
        MetricKind::Agreement(measure) => {
            let is_it = |written: &WrittenMetric| matches!(written, WrittenMetric::Agreement(known) if known == measure);
            match named(&KINDS, is_it) {
                Some(kind) => json!({"kind": kind}),
                None => {
                    let weights = named(&KAPPA_WEIGHTS, |known| known == measure);
                    json!({"kind": "kappa", "weights": weights})
                }
            }
        }
        MetricKind::AreaUnderCurve(class) => json!({"kind": "auc", "class": class}),
        MetricKind::CalibrationError { bins, class } => {
            json!({"kind": "ece", "bins": bins, "class": class})
        }
        MetricKind::WinRate => json!({"kind": "win_rate"}),
        MetricKind::LengthControlledWinRate(lengths) => json!({
            "kind": "length_controlled_win_rate",
            "length": lengths.own.as_ref().map(row),
            "baseline_length": row(&lengths.baseline),
            "difficulty": lengths.difficulty.as_ref().map(row),
        }),
        MetricKind::BradleyTerry(players) => json!({
            "kind": "bradley_terry",
            "players": players.as_ref().map(|players| [row(&players.one), row(&players.other)]),
        }),
    };
    without_empty(own)
}
