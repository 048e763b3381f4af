//! The `gate` section in all its dialects.
//!
//! The oldest form is flat (`metric`, `pass_op`, `pass_value`), the later ones have a `kind`
//! (`aggregation`, `pass_threshold`); either set of names is read in either form.

use strum::{EnumString, VariantNames};

use crate::fields::{Field, FieldSet};
use crate::section::FieldShape::{AnyOf, Choice, ListOf, MapOf, Mapping, Number, Text};
use crate::section::{FINITE, FieldShape, FieldSpec, Section, fields, names, section};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry};
use evalrs_model::spec::{Aggregation, Condition, Gate, Lint, Logic, Op, PassRule};

pub(crate) const GATE: FieldShape =
    AnyOf(&[Mapping(&SIMPLE), Mapping(&WEIGHTED), Mapping(&LOGICAL)]);

/// One aggregate of one grader against a value.
pub(crate) static SIMPLE: Section = Section::new(
    "a gate",
    &[
        fields![
            "kind": Choice(&["simple"]), or "\"simple\"" => "one aggregate of one grader";
            "metric_key": Text => "the grader or declared metric; the first grader if absent";
        ],
        COMPARISON,
        fields![
            "pass_op": Choice(Op::VARIANTS) => "how a score is compared with `pass_value`";
            "pass_threshold": ONE_SCORE => "the least score that passes here";
            "pass_value": ONE_SCORE => "an alias of `pass_threshold`";
        ],
    ],
);

pub(crate) static WEIGHTED: Section = Section::new(
    "a weighted average",
    &[
        &[FieldSpec::kind(&["weighted_average"], "a weighted mean over several graders")],
        COMPARISON,
        fields![
            "weights": MapOf(&WEIGHT), needed "a weighted average needs `weights`", "write `weights: {grader: 0.7, other: 0.3}`" => "grader → weight";
        ],
    ],
);

/// Several gates joined.
pub(crate) static LOGICAL: Section = section!["a logical gate",
    "kind": Choice(&["logical"]), required => "several gates, joined";
    "operator": Choice(Logic::VARIANTS), needed "a logical gate needs an `operator`", "write `operator: and` or `operator: or`" => "how the conditions are joined";
    "conditions": ListOf(&AnyOf(&[Mapping(&SIMPLE), Mapping(&LOGICAL)])), needed "a logical gate needs `conditions`", "" => "the gates to join";
];

/// What a gate compares, and with what.
const COMPARISON: &[FieldSpec] = fields![
    "metric": AGGREGATION, or "\"avg_score\"" => "the aggregate of scores";
    "aggregation": AGGREGATION => "an alias of `metric`";
    "op": Choice(Op::VARIANTS), needed "the gate has no `op`", "for example `op: gte` and `value: 0.8`" => "the comparison";
    "value": FINITE, needed "the gate has no `value`", "for example `op: gte` and `value: 0.8`" => "the bound that the aggregate is compared with";
];

const AGGREGATION: FieldShape = Choice(&names(&AGGREGATIONS));

/// What is compared with one score.
const ONE_SCORE: FieldShape = Number(0.0, 1.0, "between 0 and 1: it is compared with one score");

pub(crate) const WEIGHT: FieldShape = Number(0.0, f64::MAX, "a weight: non-negative and finite");

pub(crate) const AGGREGATIONS: [(&str, Aggregation); 10] = [
    ("avg_score", Aggregation::AvgScore),
    ("accuracy", Aggregation::Accuracy),
    ("min", Aggregation::Min),
    ("max", Aggregation::Max),
    ("median", Aggregation::Median),
    ("p50", Aggregation::Median),
    ("p95", Aggregation::P95),
    ("p99", Aggregation::P99),
    ("agreement", Aggregation::Agreement),
    ("kappa", Aggregation::Kappa),
];

/// Comparisons as people write them elsewhere, for hints.
const SIGNS: [(&str, &str); 6] =
    [(">=", "gte"), (">", "gt"), ("<=", "lte"), ("<", "lt"), ("==", "eq"), ("=", "eq")];

/// The names that a gate may speak of: graders, the first one by default, and metrics that the suite declares. A roll-up has
/// metrics alone.
#[derive(Clone, Copy)]
pub(crate) struct GateNames<'a> {
    pub graders: &'a [&'a str],
    pub metrics: &'a [&'a str],
}

impl GateNames<'_> {
    /// Whether these are the names of a roll-up. A suite without graders has no metrics either.
    fn has_no_graders(&self) -> bool {
        self.graders.is_empty() && !self.metrics.is_empty()
    }
}

pub(crate) fn gate(fields: &FieldSet<'_>, names: GateNames<'_>) -> Option<Gate> {
    one_gate(fields.take("gate")?, names, Nesting::Top)
}

/// The place of a gate.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Nesting {
    Top,
    Condition,
}

#[derive(Clone, Copy, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case")]
enum GateKind {
    Simple,
    WeightedAverage,
    Logical,
}

fn one_gate(field: Field<'_>, names: GateNames<'_>, nesting: Nesting) -> Option<Gate> {
    let mut fields = field.fields(&SIMPLE)?;
    let kind = match fields.take("kind") {
        Some(kind) => kind.variant()?,
        None => kind_by_fields(field)?,
    };
    fields.read_as(match kind {
        GateKind::Simple => &SIMPLE,
        GateKind::WeightedAverage => &WEIGHTED,
        GateKind::Logical => &LOGICAL,
    });
    match kind {
        GateKind::Simple => simple(field, fields, names, nesting),
        GateKind::WeightedAverage if nesting == Nesting::Condition => field.refuse(
            "a weighted average cannot be a condition",
            "conditions are `simple` or `logical`",
        ),
        GateKind::WeightedAverage if names.has_no_graders() => {
            let message = "a weighted average needs graders, and a roll-up has none";
            field.refuse(message, "declare a metric of `kind: weighted`, and compare that")
        }
        GateKind::WeightedAverage => weighted(fields, names),
        GateKind::Logical => logical(fields, names),
    }
}

/// A gate without a kind is simple; fields of the other kinds show that the kind was forgotten.
fn kind_by_fields(field: Field<'_>) -> Option<GateKind> {
    for (name, kind) in [("weights", "weighted_average"), ("conditions", "logical")] {
        if field.value.get(name).is_some() {
            let message = format!("a gate with `{name}` needs a `kind`");
            return field.refuse_at_key(&message, &format!("write `kind: {kind}`"));
        }
    }
    Some(GateKind::Simple)
}

fn simple(
    field: Field<'_>,
    fields: FieldSet<'_>,
    names: GateNames<'_>,
    nesting: Nesting,
) -> Option<Gate> {
    let metric_key = metric_key(&fields, field, names, nesting);
    let is_declared = metric_key.as_ref().is_some_and(|key| names.metrics.contains(&key.as_str()));
    let aggregation = if is_declared {
        declared(&fields)
    } else {
        aggregation(&fields, metric_key.as_deref().unwrap_or("GRADER"))
    };
    let comparison = comparison(&fields, aggregation);
    let pass_op = fields.take("pass_op");
    let op = pass_op.and_then(read_op);
    let threshold = fields.take_either("pass_threshold", "pass_value");
    if let Some(field) = pass_op.or(threshold)
        && aggregation.is_some_and(Aggregation::needs_labels)
    {
        let hint = "the `pass_threshold` of the grader decides what passes there";
        field.error_at_key(
            &format!(
                "`{}` does not apply to agreement with \
                                     labels",
                field.key
            ),
            hint,
        );
    } else if let (Some(pass_op), None) = (pass_op, threshold) {
        let message = "`pass_op` has no effect without `pass_value`";
        fields.findings.warning(pass_op.key_span, message, "");
    }
    let pass = threshold.and_then(|field| {
        let value = fields.number(&field.key)?;
        // The flat gate compared scores with its own `op` unless told otherwise.
        let flat = if field.key == "pass_value" { comparison?.0 } else { Op::Gte };
        Some(PassRule { op: op.unwrap_or(flat), value })
    });
    fields.finish();
    let (op, value) = comparison?;
    Some(Gate::Simple(Condition {
        metric_key: metric_key?,
        aggregation: aggregation?,
        op,
        value,
        pass,
    }))
}

fn weighted(fields: FieldSet<'_>, names: GateNames<'_>) -> Option<Gate> {
    let aggregation = aggregation(&fields, "GRADER");
    let comparison = comparison(&fields, aggregation);
    let weights = fields.take("weights");
    let weights = weights.and_then(|weights| read_weights(weights, names.graders));
    fields.finish();
    let (op, value) = comparison?;
    Some(Gate::WeightedAverage { aggregation: aggregation?, weights: weights?, op, value })
}

fn read_weights(field: Field<'_>, graders: &[&str]) -> Option<Vec<(String, f64)>> {
    let entries = field.entries()?;
    let mut weights = Vec::with_capacity(entries.len());
    for entry in &entries {
        if !graders.contains(&entry.key.as_str()) {
            let mut at_key = entry.entry.clone();
            at_key.value.span = entry.key_span;
            at_key.value.style = Style::Plain;
            let at_key = Field { entry: &at_key, ..field };
            at_key.unknown::<()>(&entry.key, "grader", graders);
        }
        let weight = entry.number(WEIGHT);
        weights.push((entry.key.clone(), weight));
    }
    if weights.is_empty() {
        field.error("`weights` cannot be empty", "");
    }
    let weights: Option<Vec<_>> =
        weights.into_iter().map(|(name, weight)| Some((name, weight?))).collect();
    let sum: f64 = weights.as_ref()?.iter().map(|(_, weight)| weight).sum();
    if !entries.is_empty() && (sum == 0.0 || !sum.is_finite()) {
        field.error("`weights` must sum to a finite, non-zero value", "");
    }
    weights
}

fn logical(fields: FieldSet<'_>, names: GateNames<'_>) -> Option<Gate> {
    let operator = fields.variant("operator");
    let conditions = fields.take("conditions");
    let conditions = conditions.and_then(|field| read_conditions(field, names));
    fields.finish();
    Some(Gate::Logical { operator: operator?, conditions: conditions? })
}

fn read_conditions(field: Field<'_>, names: GateNames<'_>) -> Option<Vec<Gate>> {
    let Yaml::Seq(items) = &field.value.value else {
        return field.wrong_type("a list of conditions", "");
    };
    if items.is_empty() {
        return field.refuse("`conditions` cannot be empty", "");
    }
    let conditions = items.iter().map(|item| {
        // Messages call an item by a name, as they do a field.
        let entry =
            YamlEntry { key: "condition".to_owned(), key_span: item.span, value: item.clone() };
        one_gate(Field { entry: &entry, ..field }, names, Nesting::Condition)
    });
    conditions.collect::<Vec<_>>().into_iter().collect()
}

/// The grader that a gate or a reward names, the first one by default.
pub(crate) fn metric_key(
    fields: &FieldSet<'_>,
    owner: Field<'_>,
    names: GateNames<'_>,
    nesting: Nesting,
) -> Option<String> {
    let Some(field) = fields.take("metric_key") else {
        let graders = names.graders;
        if let ([], [first, others @ ..]) = (graders, names.metrics) {
            if !others.is_empty() {
                let message = "the gate does not name a metric";
                owner.error_at_key(message, &format!("for example `metric_key: {first}`"));
            }
            return Some((*first).to_owned());
        }
        if graders.is_empty() {
            // The missing graders are reported already.
            return None;
        }
        if let [first, _, ..] = graders
            && nesting == Nesting::Top
        {
            let message = format!(
                "the gate does not name a grader: the first one, `{first}`, is \
                                   used"
            );
            let hint = format!("write `metric_key: {first}`");
            owner.findings.warning(owner.key_span, &message, &hint);
        }
        return graders.first().map(|&first| first.to_owned());
    };
    let name = field.text()?;
    let known = [names.graders, names.metrics].concat();
    if known.is_empty() {
        // The missing graders are reported already.
        return None;
    }
    if !known.contains(&name.as_str()) {
        let what = if names.has_no_graders() { "metric" } else { "grader" };
        return field.unknown(&name, what, &known);
    }
    Some(name)
}

/// A metric that the suite declares is a number already: nothing is left to be aggregated.
fn declared(fields: &FieldSet<'_>) -> Option<Aggregation> {
    let said = ["metric", "aggregation", "pass_op", "pass_value", "pass_threshold"];
    let Some(field) = said.into_iter().find_map(|name| fields.take(name)) else {
        return Some(Aggregation::Declared);
    };
    let message = format!(
        "`{}` applies to graders, and this gate names a declared \
                           metric",
        field.key
    );
    field.refuse_at_key(&message, "set it where the metric is declared")
}

/// The kind of declared metric that is meant by `pass_at_k`, `pass@3` and the like.
fn of_trials(field: Field<'_>) -> Option<&'static str> {
    let text = field.value.text()?;
    let kinds = [("pass_at", "pass@"), ("pass_hat", "pass^")];
    let meant =
        kinds.into_iter().find(|(kind, sign)| text.starts_with(kind) || text.starts_with(sign));
    meant.map(|(kind, _)| kind)
}

fn aggregation(fields: &FieldSet<'_>, grader: &str) -> Option<Aggregation> {
    match fields.take_either("metric", "aggregation") {
        Some(field) => {
            if let Some(kind) = of_trials(field) {
                let message = "a gate over trials names a declared metric";
                let hint = format!(
                    "write `metrics: {{any: {{kind: {kind}, of: {grader}, k: 3}}}}` in the suite, and `metric_key: any` here"
                );
                return field.refuse(message, &hint);
            }
            field.choice(&AGGREGATIONS)
        }
        None => Some(Aggregation::AvgScore),
    }
}

fn read_op(field: Field<'_>) -> Option<Op> {
    let text = field.value.text();
    let Some((text, name)) = SIGNS.iter().find(|(sign, _)| text == Some(sign)) else {
        return field.variant();
    };
    let hint = format!("write `{}: {name}`", field.key);
    field.refuse(&format!("unknown {} `{text}`", field.key), &hint)
}

/// The comparison of a gate, its value as a fraction.
fn comparison(fields: &FieldSet<'_>, aggregation: Option<Aggregation>) -> Option<(Op, f64)> {
    let op = fields.take("op").and_then(read_op);
    let field = fields.take("value")?;
    let mut value = field.number(FINITE)?;
    let share = match aggregation {
        Some(Aggregation::Accuracy) => Some("an accuracy"),
        Some(Aggregation::Agreement) => Some("an agreement"),
        _ => None,
    };
    if let Some(what) = share.filter(|_| value > 100.0) {
        return field.refuse(&format!("{what} is at most 1, or 100 as a percentage"), "");
    }
    if let Some(what) = share.filter(|_| value > 1.0) {
        value /= 100.0;
        let message = format!("{what} above 1 is read as a percentage");
        field.findings.warning(field.value.span, &message, &format!("write `value: {value}`"));
    }
    let op = op?;
    if aggregation != Some(Aggregation::Declared) {
        let is_kappa = aggregation == Some(Aggregation::Kappa);
        if let Some((lint, message)) = unreachable(op, value, is_kappa) {
            let hint =
                "scores of other scales are mapped to 0 to 1: 4 on a scale of 1 to 5 is 0.75";
            let warning = Diagnostic::warning(field.findings.place(field.value.span), message);
            field.findings.report(warning.lint(lint.name()), if is_kappa { "" } else { hint });
        }
    }
    Some((op, value))
}

/// Says that a comparison holds for everything that can be compared, or for nothing.
fn unreachable(op: Op, value: f64, is_kappa: bool) -> Option<(Lint, String)> {
    let least = if is_kappa { -1.0 } else { 0.0 };
    let is_inside = (least..=1.0).contains(&value);
    let meet_all = op.holds(least, value) && op.holds(1.0, value);
    let meet_none = !op.holds(least, value) && !op.holds(1.0, value);
    let range = if is_kappa { "kappa is between -1 and 1" } else { "scores are between 0 and 1" };
    // `gte 0` is what people write who want no more than all grades to be there.
    if meet_all && !is_inside {
        let message = format!("{range}: every value passes this gate");
        return Some((Lint::ThresholdAlwaysMet, message));
    }
    let never = meet_none && (op != Op::Eq || !is_inside);
    never.then(|| (Lint::ThresholdOutOfReach, format!("{range}: no value passes this gate")))
}
