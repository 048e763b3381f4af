//! What graders of several kinds share: their fields, and the list that they are read into.

use crate::fields::{Field, FieldSet};
use crate::reader::Reader;
use crate::section::FieldShape::{Anything, MapOf, Mapping, Text, Truth};
use crate::section::{FRACTION, FieldSpec, fields};
use crate::sections::expressions::WrittenExpression;
use crate::sections::extractors::EXTRACTOR_OPTIONS;
use evalrs_model::spec::{GraderSpec, Scale};

/// What every grader of scores has.
pub(crate) const NAME_AND_THRESHOLD: &[FieldSpec] = fields![
    "display_name": Text => "the name in reports";
    "pass_threshold": FRACTION, or "1.0" => "the least score that passes";
    "only": Text => "a filter: grades only rows such as `'refund' in tags`, and has no grade for others";
];

/// What every grader of a submission has.
pub(crate) const SUBMISSION: &[FieldSpec] = fields![
    "display_name": Text => "the name in reports";
    "extractor_config": MapOf(&Anything) => "the options of the extractor";
    "extractor": Text, or "\"last_assistant\"" => "the part of the trajectory to grade; `file.py:name` is a Python function";
    "extractor_options": Mapping(&EXTRACTOR_OPTIONS) => "how a Python extractor runs";
    "pass_threshold": FRACTION, or "1.0" => "the least score that passes";
    "ground_truth": Text => "the field of the row with the reference answer, `row.PATH`, which replaces its ground truth";
    "not": Truth, or "false" => "wants the opposite: the score becomes 1 minus itself";
    "only": Text => "a filter: grades only rows such as `'refund' in tags`, and has no grade for others";
    "ground_truth_pattern": Text => "a Python pattern; its group 1 picks the reference answer out of a longer ground truth";
    "include_subagents": Truth, or "false" => "whether the grader sees messages of sub-agents";
];

#[derive(Default)]
pub(crate) struct Graders {
    /// Every name, also of graders that are wrong.
    pub names: Vec<String>,
    /// The names of those that are made of the scores of others.
    pub rewards: Vec<String>,
    /// Those that are right.
    pub specs: Vec<GraderSpec>,
    /// Every expression, whose names are checked at the end.
    pub expressions: Vec<WrittenExpression>,
}

/// The least score that is a pass: 1.0 by default, none if the field is invalid.
pub(crate) fn pass_threshold(fields: &FieldSet<'_>) -> Option<f64> {
    let Some(field) = fields.take("pass_threshold") else { return Some(1.0) };
    let threshold = fields.number("pass_threshold");
    if let (None, Some(fraction)) = (threshold, on_scale(field, fields))
        && let Some(problem) = fields.findings.diagnostics.borrow_mut().last_mut()
    {
        problem.hint = Some(format!(
            "scores are mapped to 0 to 1: on this scale write `pass_threshold: {fraction}`"
        ));
    }
    threshold
}

/// The pattern that picks the reference answer out of a longer ground truth.
pub(crate) fn pattern(fields: &FieldSet<'_>, reader: &Reader<'_>) -> Option<String> {
    let field = fields.take("ground_truth_pattern")?;
    let pattern = field.text()?;
    if let Some(problem) = (reader.registry.check_pattern)(&pattern) {
        field.error(&format!("`ground_truth_pattern` is not a valid pattern: {problem}"), "");
    }
    Some(pattern)
}

/// What a threshold that is written on the scale of its judge is from 0 to 1.
fn on_scale(field: Field<'_>, fields: &FieldSet<'_>) -> Option<f64> {
    let scale = fields.take("scale")?;
    let number = |name: &str| scale.value.get(name)?.to_json().as_f64();
    let scale = Scale { min: number("min")?, max: number("max")? };
    let threshold = field.value.to_json().as_f64().filter(|score| scale.contains(*score))?;
    let fraction = (scale.unit(threshold) * 1000.0).round() / 1000.0;
    (0.0..=1.0).contains(&fraction).then_some(fraction)
}
