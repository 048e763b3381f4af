//! The kinds of declared metrics by name, and metrics as a suite writes them.

use serde_json::{Map, Value, json};
use strum::{EnumString, VariantNames};

use crate::section::FieldShape::{AnyOf, Choice, MapOf, Text, Texts, Truth, Whole};
use crate::section::{FINITE, Section, names, section};
use crate::written::{extend, without_empty};
use evalrs_model::spec::{
    AgreementMeasure, AlphaLevel, ClassAverage, ClassMeasure, ClassScore, Dimension, GraderValue,
    MetricKind, MetricSpec, Series, SeriesSource, Statistic,
};

/// A number over all results.
pub(crate) static METRIC: Section = section!["a metric",
    "kind": Choice(&names(&KINDS)), needed "the metric has no `kind`", "for example `kind: macro` and `by: tags`" => "the kind of number";
    "of": Text => "the series: a grader, `GRADER.pass`, `GRADER.submission`, `labels.GRADER` or `row.PATH`; the only grader if absent";
    "model": Text => "only results of this model; all if absent";
    "against": Texts => "the other series: the same forms, `labels`, or `model.NAME`";
    "by": Texts => "groups: `tags`, `model`, `sample` or `row.PATH`; a list nests groups, the outermost first";
    "within": Text => "computes the metric in each group, then takes the mean over groups: `row.PATH`, `tags`, `model` or `sample`";
    "groups": MapOf(&Texts) => "group → the values of the innermost dimension that belong to it";
    "metric": Choice(&names(&INNER)), or "\"mean\"" => "the metric that is averaged over groups";
    "weight": Text => "the weight of a result, from its row: `row.PATH`";
    "class": AnyOf(&[Text, FINITE, Truth]) => "the class for `precision`, `recall` and `f1`, or the positive class; passing if absent";
    "average": Choice(WrittenAverage::VARIANTS) => "the mean over all classes: each class alike, each result alike, or by the size of classes";
    "weights": Choice(&names(&KAPPA_WEIGHTS)), or "\"none\"" => "the weight of a disagreement in `kappa`";
    "level": Choice(AlphaLevel::VARIANTS), or "\"interval\"" => "the level of measurement of `krippendorff_alpha`";
    "k": Whole(1, 100_000, "a whole number of at least 1") => "the number of trials of `pass_at` and `pass_hat`";
    "bins": Whole(1, 1_000, "a whole number from 1 to 1000"), or "10" => "the bins of `ece`";
    "scale": Choice(&names(&SCALES)), or "\"unit\"" => "`unit` has scores from 0 to 1, `native` on the scale of their grader";
    "map": MapOf(&AnyOf(&[Text, FINITE, Truth])) => "written value → value of a field of the row, such as `{A: pass, B: fail}`";
    "players": Texts => "the two fields of the row that name the players of `bradley_terry`; the models if absent";
    "length": Text => "the field with the length of the answer, for `length_controlled_win_rate`; the length of the submission if absent";
    "baseline_length": Text => "the field with the baseline's length: a number, or the text";
    "difficulty": Text => "the field with the difficulty of the task";
];

/// The kinds by name. What they need beside is read where they are made.
pub(crate) const KINDS: [(&str, WrittenMetric); 28] = [
    ("mean", WrittenMetric::Of(Statistic::Mean)),
    ("pass_rate", WrittenMetric::Of(Statistic::PassRate)),
    ("min", WrittenMetric::Of(Statistic::Min)),
    ("max", WrittenMetric::Of(Statistic::Max)),
    ("median", WrittenMetric::Of(Statistic::Percentile(50))),
    ("p90", WrittenMetric::Of(Statistic::Percentile(90))),
    ("p95", WrittenMetric::Of(Statistic::Percentile(95))),
    ("p99", WrittenMetric::Of(Statistic::Percentile(99))),
    ("pass_at", WrittenMetric::PassAt),
    ("pass_hat", WrittenMetric::PassHat),
    ("macro", WrittenMetric::Macro),
    ("weighted", WrittenMetric::Weighted),
    ("precision", WrittenMetric::Classes(ClassScore::Precision)),
    ("recall", WrittenMetric::Classes(ClassScore::Recall)),
    ("f1", WrittenMetric::Classes(ClassScore::F1)),
    ("accuracy", WrittenMetric::Classes(ClassScore::Accuracy)),
    ("balanced_accuracy", WrittenMetric::Classes(ClassScore::BalancedAccuracy)),
    ("pearson", WrittenMetric::Agreement(AgreementMeasure::Pearson)),
    ("spearman", WrittenMetric::Agreement(AgreementMeasure::Spearman)),
    ("kendall", WrittenMetric::Agreement(AgreementMeasure::Kendall)),
    ("kappa", WrittenMetric::Kappa),
    ("krippendorff_alpha", WrittenMetric::Alpha),
    ("fleiss_kappa", WrittenMetric::Agreement(AgreementMeasure::Fleiss)),
    ("auc", WrittenMetric::AreaUnderCurve),
    ("ece", WrittenMetric::CalibrationError),
    ("win_rate", WrittenMetric::WinRate),
    ("length_controlled_win_rate", WrittenMetric::LengthControlledWinRate),
    ("bradley_terry", WrittenMetric::BradleyTerry),
];

/// A kind as it is written: what it needs beside its name is in other fields.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum WrittenMetric {
    Of(Statistic),
    PassAt,
    PassHat,
    Macro,
    Weighted,
    Classes(ClassScore),
    Agreement(AgreementMeasure),
    Kappa,
    Alpha,
    AreaUnderCurve,
    CalibrationError,
    WinRate,
    LengthControlledWinRate,
    BradleyTerry,
}

impl WrittenMetric {
    /// What a suite calls a kind.
    fn of(kind: &MetricKind) -> Self {
        match kind {
            MetricKind::Of(Statistic::PassAt(_)) => Self::PassAt,
            MetricKind::Of(Statistic::PassHat(_)) => Self::PassHat,
            MetricKind::Of(statistic) => Self::Of(*statistic),
            MetricKind::Macro(_) => Self::Macro,
            MetricKind::Weighted(_) => Self::Weighted,
            MetricKind::Classes(measure) => Self::Classes(measure.score),
            MetricKind::Agreement(AgreementMeasure::Alpha(_)) => Self::Alpha,
            MetricKind::Agreement(measure) if named(&KAPPA_WEIGHTS, measure).is_some() => {
                Self::Kappa
            }
            MetricKind::Agreement(measure) => Self::Agreement(*measure),
            MetricKind::AreaUnderCurve(_) => Self::AreaUnderCurve,
            MetricKind::CalibrationError { .. } => Self::CalibrationError,
            MetricKind::WinRate => Self::WinRate,
            MetricKind::LengthControlledWinRate(_) => Self::LengthControlledWinRate,
            MetricKind::BradleyTerry(_) => Self::BradleyTerry,
        }
    }
}

/// What means of groups are of.
pub(crate) const INNER: [(&str, Statistic); 2] =
    [("mean", Statistic::Mean), ("pass_rate", Statistic::PassRate)];

pub(crate) const KAPPA_WEIGHTS: [(&str, AgreementMeasure); 3] = [
    ("none", AgreementMeasure::Kappa),
    ("linear", AgreementMeasure::LinearKappa),
    ("quadratic", AgreementMeasure::QuadraticKappa),
];

#[derive(Clone, Copy, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum WrittenAverage {
    Macro,
    Micro,
    Weighted,
}

pub(crate) const SCALES: [(&str, bool); 2] = [("unit", false), ("native", true)];

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

/// The name that a table gives a value.
fn named<T: PartialEq>(table: &[(&'static str, T)], meant: &T) -> Option<&'static str> {
    table.iter().find(|(_, known)| known == meant).map(|(name, _)| *name)
}

/// The kind and what belongs to it alone.
fn kind(kind: &MetricKind) -> Value {
    let row = |path: &String| format!("row.{path}");
    let mut metric = json!({"kind": named(&KINDS, &WrittenMetric::of(kind))});
    let own = match kind {
        MetricKind::Of(Statistic::PassAt(k) | Statistic::PassHat(k)) => json!({"k": k}),
        MetricKind::Macro(statistic) => json!({"metric": statistic}),
        MetricKind::Weighted(path) => json!({"weight": row(path)}),
        MetricKind::Classes(ClassMeasure { average, .. }) => match average {
            ClassAverage::Class(class) => json!({"class": class}),
            average => json!({"average": average}),
        },
        MetricKind::Agreement(AgreementMeasure::Alpha(level)) => json!({"level": level}),
        MetricKind::Agreement(measure) => json!({"weights": named(&KAPPA_WEIGHTS, measure)}),
        MetricKind::AreaUnderCurve(class) => json!({"class": class}),
        MetricKind::CalibrationError { bins, class } => json!({"bins": bins, "class": class}),
        MetricKind::LengthControlledWinRate(lengths) => json!({
            "length": lengths.own.as_ref().map(row),
            "baseline_length": row(&lengths.baseline),
            "difficulty": lengths.difficulty.as_ref().map(row),
        }),
        MetricKind::BradleyTerry(Some(players)) => {
            json!({"players": [row(&players.one), row(&players.other)]})
        }
        MetricKind::Of(_) | MetricKind::WinRate | MetricKind::BradleyTerry(None) => json!({}),
    };
    extend(&mut metric, without_empty(own));
    metric
}
