//! Expressions over the scores of graders and conditions on rows, wherever a suite has one.

use crate::fields::{Field, FieldSet};
use crate::section::FieldShape::{AnyOf, Text};
use crate::section::{FINITE, FieldSpec, fields};
use evalrs_base::yaml::tree::{Style, Yaml, YamlEntry};
use evalrs_model::expression::{Expression, ExpressionProblem, RowCondition};

pub(crate) const EXPRESSION: &[FieldSpec] = fields![
    "combine": AnyOf(&[Text, FINITE]), needed "a combining grader needs an expression, `combine`", "for example `combine: 0.7*quality + 0.3*policy`" => "the expression, for example `0.7*quality + 0.3*policy if policy > 0 else 0`";
];

pub(crate) const EXAMPLE: &str = "for example `combine: 0.7*quality + 0.3*policy`";

/// An expression, and the field it was read from.
#[derive(Debug)]
pub(crate) struct WrittenExpression {
    pub expression: Expression,
    pub field: YamlEntry,
}

/// The condition in the field `name`; none if there is none, or if it is wrong, which is reported.
pub(crate) fn condition(name: &str, fields: &FieldSet<'_>) -> Option<RowCondition> {
    parsed(fields.take(name)?, RowCondition::parse, "a condition", "")
}

/// The value of `field`, which must be `what`.
fn parsed<T>(
    field: Field<'_>,
    parse: fn(&str) -> Result<T, ExpressionProblem>,
    what: &str,
    hint: &str,
) -> Option<T> {
    let text = field.text()?;
    let problem = match parse(&text) {
        Ok(parsed) => return Some(parsed),
        Err(problem) => problem,
    };
    // What a variable says is not shown, and what is wrong with it would show some of it.
    if field.value.style == Style::Interpolated {
        return field.refuse(&format!("`{}` is not {what}", field.key), hint);
    }
    let span = field.findings.sources().inside(field.value.span, &text, problem.at);
    field.findings.refuse(span, &problem.message, &problem.hint.unwrap_or_default())
}

/// The expression that `field` says. Its names are checked when all graders are known.
pub(crate) fn expression(
    field: Field<'_>,
    expressions: &mut Vec<WrittenExpression>,
) -> Option<Expression> {
    if let Yaml::Int(_) | Yaml::Float(_) = field.value.value {
        return no_names(field);
    }
    let expression = parsed(field, Expression::parse, "an expression", EXAMPLE)?;
    if expression.names.is_empty() {
        return no_names(field);
    }
    let written = WrittenExpression { expression: expression.clone(), field: field.entry.clone() };
    expressions.push(written);
    Some(expression)
}

fn no_names(field: Field<'_>) -> Option<Expression> {
    field.refuse(
        "this expression does not name a grader: every sample would have the same \
                  score",
        EXAMPLE,
    )
}
