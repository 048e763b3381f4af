//! Conditions on rows, wherever a suite has one.

use crate::fields::{FieldSet, Findings};
use evalrs_base::yaml::tree::Style;
use evalrs_model::expression::RowCondition;

/// The condition in the field `name`; none if there is none, or if it is wrong, which is reported.
pub(crate) fn condition(
    name: &str,
    fields: &FieldSet<'_>,
    findings: &mut Findings,
) -> Option<RowCondition> {
    let field = fields.take(name)?;
    let text = findings.text(field)?;
    match RowCondition::parse(&text) {
        Ok(condition) => Some(condition),
        // What a variable says is not shown, and what is wrong with it would show some of it.
        Err(_) if field.value.style == Style::Interpolated => {
            let message = format!("`{name}` is set to what is not a condition");
            findings.error(field.value.span, message);
            None
        }
        Err(problem) => {
            let span = findings.sources.inside(field.value.span, &text, problem.at);
            findings.error(span, problem.message).hint = problem.hint;
            None
        }
    }
}
