//! What makes one score of the scores of others: the `reward` section, and graders of `kind: combine`.
//!
//! Either is a grader after the others, so that reports, gates and labels need not know of rewards. A reward that only
//! names a grader is none of these: that grader's score is the reward, and there is nothing to add.

use strum::{EnumString, VariantNames};

use crate::fields::{Field, FieldSet};
use crate::findings::Findings;
use crate::reader::Reader;
use crate::section::FieldShape::{AnyOf, Choice, Mapping, Text};
use crate::section::{FINITE, FieldShape, FieldSpec, Section, fields, section};
use crate::sections::expressions::{EXPRESSION, WrittenExpression, condition, expression};
use crate::sections::gate::{GateNames, Nesting};
use crate::sections::grader_fields::{Graders, NAME_AND_THRESHOLD, pass_threshold};
use crate::sections::programs::PROGRAM_SETTINGS;
use crate::sections::{gate, program_files, programs};
use evalrs_base::yaml::tree::{Style, Yaml};
use evalrs_model::expression::{Expression, RowCondition};
use evalrs_model::spec::{ExtractorSpec, GraderKind, GraderSpec, RewardSpec, Role};

pub(crate) static COMBINATION: Section = Section::new(
    "a combining grader",
    &[
        &[FieldSpec::kind(&["combine"], "one score made of the scores of other graders")],
        NAME_AND_THRESHOLD,
        EXPRESSION,
    ],
);

pub(crate) const REWARD_SHAPE: FieldShape = AnyOf(&[
    Text,
    FINITE,
    Mapping(&REWARD_METRIC),
    Mapping(&REWARD_CUSTOM),
    Mapping(&REWARD_COMBINE),
]);

/// A reward that is the score of one grader.
pub(crate) static REWARD_METRIC: Section = section!["a reward",
    "kind": Choice(&["metric"]), required => "the score of one grader";
    "metric_key": Text => "the grader; the first one if absent";
];

/// A reward that a Python function composes.
pub(crate) static REWARD_CUSTOM: Section = Section::new(
    "a reward",
    &[
        &[FieldSpec::kind(&["custom"], "a function of a Python file")],
        NAME_AND_THRESHOLD,
        fields![
            "function": Text, needed "a custom reward needs a `function`", "for example `function: rewards.py:compose`" => "the Python function, `file.py:name`";
        ],
        PROGRAM_SETTINGS,
    ],
);

/// A reward that an expression makes.
pub(crate) static REWARD_COMBINE: Section = Section::new(
    "a reward",
    &[
        fields![
            "kind": Choice(&["combine"]) => "an expression over the scores of graders";
        ],
        NAME_AND_THRESHOLD,
        EXPRESSION,
    ],
);

/// The name of the grader that the `reward` section is.
const REWARD: &str = "reward";

/// The kind of graders that combine others.
pub(crate) const COMBINE: &str = "combine";

#[derive(Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
enum RewardKind {
    Metric,
    Custom,
    Combine,
}

/// Reads the `reward` section and adds the grader that it is.
pub(crate) fn reward(fields: &FieldSet<'_>, graders: &mut Graders, reader: &mut Reader<'_>) {
    let has_gate = fields.take("gate").is_some();
    let Some(field) = fields.take("reward") else { return };
    if let Yaml::Str(_) | Yaml::Int(_) | Yaml::Float(_) = &field.value.value {
        let kind = expression(field, &mut graders.expressions).map(RewardSpec::Expression);
        let common = RewardCommon { display_name: None, pass_threshold: Some(1.0), only: None };
        add(field, kind.and_then(|kind| common.grader(REWARD, kind)), graders);
        return;
    }
    if !field.is_mapping() {
        let hint = "for example `reward: 0.7*quality + 0.3*policy`";
        field.wrong_type::<()>("a mapping or an expression", hint);
        return;
    }
    let Some(mut inner) = field.fields(&REWARD_METRIC) else { return };
    let Some(kind) = reward_kind(field, &inner) else {
        // Which fields there may be is not known.
        return;
    };
    if kind == RewardKind::Metric {
        if has_gate {
            let hint = "only a `reward` of `kind: combine` or `custom` can be used with a `gate`";
            field.error_at_key("a suite has a `gate` or a `reward`, not both", hint);
        }
        let names: Vec<&str> = graders.names.iter().map(String::as_str).collect();
        let names = GateNames { graders: &names, metrics: &[] };
        gate::metric_key(&inner, field, names, Nesting::Top);
        inner.finish();
        return;
    }
    let is_custom = kind == RewardKind::Custom;
    inner.read_as(if is_custom { &REWARD_CUSTOM } else { &REWARD_COMBINE });
    let common = RewardCommon::read(&inner);
    let spec = if is_custom {
        composer(field, &inner, reader)
    } else {
        combine(&inner, graders).map(RewardSpec::Expression)
    };
    inner.finish();
    add(field, spec.and_then(|spec| common.grader(REWARD, spec)), graders);
}

/// The kind that the reward says, or that its fields show.
fn reward_kind(field: Field<'_>, inner: &FieldSet<'_>) -> Option<RewardKind> {
    if let Some(kind) = inner.take("kind") {
        return kind.variant();
    }
    if inner.take("combine").is_some() {
        return Some(RewardKind::Combine);
    }
    let likely = if inner.take("function").is_some() { "custom" } else { "metric" };
    field.error_at_key("the reward has no `kind`", &format!("write `kind: {likely}`"));
    (likely == "metric").then_some(RewardKind::Metric)
}

/// Adds the grader `reward`; its name is known even if it is wrong.
pub(crate) fn add(field: Field<'_>, spec: Option<GraderSpec>, graders: &mut Graders) {
    if graders.names.iter().any(|name| name == REWARD) {
        let message = "a grader is already named `reward`, the name of this section's score";
        field.error_at_key(message, "give the grader another name");
        return;
    }
    graders.names.push(REWARD.to_owned());
    graders.rewards.push(REWARD.to_owned());
    graders.specs.extend(spec);
}

fn composer(field: Field<'_>, inner: &FieldSet<'_>, reader: &mut Reader<'_>) -> Option<RewardSpec> {
    let named = inner.take("function");
    let spec = named.and_then(|function| {
        let text = function.text()?;
        program_files::python(function, &text, Role::Reward)
    });
    let spec = programs::with_sight(spec, inner);
    let spec = programs::with_settings(spec, named.unwrap_or(field), inner, reader)?;
    Some(RewardSpec::Program(Box::new(spec)))
}

pub(crate) fn combined(
    name: &str,
    mut fields: FieldSet<'_>,
    graders: &mut Graders,
) -> Option<GraderSpec> {
    fields.read_as(&COMBINATION);
    let common = RewardCommon::read(&fields);
    let expression = combine(&fields, graders);
    fields.finish();
    common.grader(name, RewardSpec::Expression(expression?))
}

/// What rewards have in common with all graders. They extract nothing.
struct RewardCommon {
    display_name: Option<String>,
    pass_threshold: Option<f64>,
    only: Option<RowCondition>,
}

impl RewardCommon {
    fn read(fields: &FieldSet<'_>) -> Self {
        Self {
            display_name: fields.text("display_name"),
            pass_threshold: pass_threshold(fields),
            only: condition("only", fields),
        }
    }

    fn grader(self, name: &str, spec: RewardSpec) -> Option<GraderSpec> {
        Some(GraderSpec {
            name: name.to_owned(),
            display_name: self.display_name,
            extractor: ExtractorSpec::new("last_assistant", "{}"),
            pass_threshold: self.pass_threshold?,
            ground_truth_pattern: None,
            ground_truth: None,
            negated: false,
            only: self.only,
            kind: GraderKind::Reward(spec),
        })
    }
}

fn combine(fields: &FieldSet<'_>, graders: &mut Graders) -> Option<Expression> {
    expression(fields.take("combine")?, &mut graders.expressions)
}

/// Reports unknown names in expressions, and names of rewards: rewards cannot be made of rewards.
pub(crate) fn check_names(graders: &Graders, findings: &Findings) {
    let is_reward = |name: &str| graders.rewards.iter().any(|reward| reward == name);
    let known: Vec<&str> =
        graders.names.iter().map(String::as_str).filter(|name| !is_reward(name)).collect();
    for WrittenExpression { expression, field } in &graders.expressions {
        for name in expression.names.iter().filter(|name| !known.contains(&name.as_str())) {
            let place = expression.place_of(name).unwrap_or_default();
            let mut entry = field.clone();
            let span = &mut entry.value.span;
            *span = findings.sources().inside(*span, &expression.text, place);
            if *span == field.value.span {
                // Over several lines, its first place in the file is near enough.
                *span = findings.sources().find(*span, name);
            }
            let at = Field { entry: &entry, findings };
            let is_shown = field.value.style != Style::Interpolated;
            if is_shown && is_reward(name) {
                let message = format!("`{name}` is itself combined from other scores");
                at.error(&message, "name the graders that it combines");
            } else if let Some(longer) =
                known.iter().find(|known| is_shown && continues(known, name))
            {
                let hint = format!("put the name in quotes: `'{longer}'`");
                at.error(&format!("unknown grader `{name}`"), &hint);
            } else {
                at.unknown::<()>(name, "grader", &known);
            }
        }
    }
}

/// Whether `known` begins with `name` and goes on with what no name without quotes can have.
fn continues(known: &str, name: &str) -> bool {
    known
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with(|char: char| !char.is_alphanumeric() && char != '_'))
}
