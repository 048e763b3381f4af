//! Expressions over the scores of graders, wherever a suite has one.

use crate::fields::Findings;
use crate::reader::Reader;
use crate::section::FieldShape::{AnyOf, Text};
use crate::section::{FINITE, FieldSpec, fields};
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry};
use evalrs_model::expression::Expression;

pub(crate) const EXPRESSION: &[FieldSpec] = fields![
    "combine": AnyOf(&[Text, FINITE]), needed "what combines graders needs an expression, `combine`", "for example `combine: 0.7*quality + 0.3*policy`" => "the expression, for example `0.7*quality + 0.3*policy if policy > 0 else 0`";
];

pub(crate) const EXAMPLE: &str = "for example `combine: 0.7*quality + 0.3*policy`";

/// An expression, and the field it was read from.
#[derive(Debug)]
pub(crate) struct WrittenExpression {
    pub expression: Expression,
    pub field: YamlEntry,
}

/// The expression that `field` says. Its names are checked when all graders are known.
pub(crate) fn expression(
    field: &YamlEntry,
    expressions: &mut Vec<WrittenExpression>,
    reader: &mut Reader<'_>,
) -> Option<Expression> {
    if let Yaml::Int(_) | Yaml::Float(_) = field.value.value {
        return no_names(field, &mut reader.findings);
    }
    let text = reader.findings.text(field)?;
    let expression = match Expression::parse(&text) {
        Ok(expression) => expression,
        // What a variable says is not shown, and what is wrong with it would show some of it.
        Err(_) if field.value.style == Style::Interpolated => {
            let message = format!("`{}` is set to what is not an expression", field.key);
            reader.findings.error(field.value.span, message).hint = Some(EXAMPLE.to_owned());
            return None;
        }
        Err(problem) => {
            let span = reader.findings.sources.inside(field.value.span, &text, problem.at);
            reader.findings.error(span, problem.message).hint = problem.hint;
            return None;
        }
    };
    if expression.names.is_empty() {
        return no_names(field, &mut reader.findings);
    }
    let written = WrittenExpression { expression: expression.clone(), field: field.clone() };
    expressions.push(written);
    Some(expression)
}

fn no_names(field: &YamlEntry, findings: &mut Findings) -> Option<Expression> {
    let message = "this expression names no grader: every sample would have the same score";
    findings.error(field.value.span, message).hint = Some(EXAMPLE.to_owned());
    None
}
