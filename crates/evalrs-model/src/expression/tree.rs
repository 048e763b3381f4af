//! What an expression computes.
//!
//! Truth is as in Python: zero is false, a comparison gives 1 or 0, `and` and `or` give one of their operands and look
//! at no more of them than they must. It knows nothing of how expressions are written.

use std::cmp::Ordering;

use super::operand::{Operand, TextPattern};
use evalrs_base::exact::mean;

/// Returns the value of a name.
pub(super) type Names<'a> = &'a dyn Fn(&str) -> EvaluatedPart;

/// The result of a part of an expression.
pub(super) type EvaluatedPart = Result<Operand, EvaluationFault>;

/// A part of an expression. Chains are lists, so that no tree is deeper than the brackets of its text.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionNode {
    Number(f64),
    /// A whole number that is none as a float.
    Whole(i128),
    Text(String),
    Nothing,
    List(Vec<ExpressionNode>),
    Name(String),
    Minus(Box<ExpressionNode>),
    Not(Box<ExpressionNode>),
    /// The first, and what is added or subtracted.
    Sum(Box<ExpressionNode>, Vec<(Sign, ExpressionNode)>),
    /// The first, and what it is multiplied with or divided by.
    Product(Box<ExpressionNode>, Vec<(Factor, ExpressionNode)>),
    /// The first, and what each is compared with the next by.
    Compare(Box<ExpressionNode>, Vec<(ComparisonOp, ExpressionNode)>),
    And(Vec<ExpressionNode>),
    Or(Vec<ExpressionNode>),
    Choice {
        condition: Box<ExpressionNode>,
        then: Box<ExpressionNode>,
        otherwise: Box<ExpressionNode>,
    },
    Call(Function, Vec<ExpressionNode>),
    /// Whether the pattern is found in a text.
    Matches(Box<ExpressionNode>, TextPattern),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    Times,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonOp {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Unequal,
    In,
    NotIn,
}

impl ComparisonOp {
    /// A value without an order, such as a missing one, is only unequal.
    fn holds(self, left: &Operand, right: &Operand) -> bool {
        let order = left.order(right);
        match self {
            Self::Less => order.is_some_and(Ordering::is_lt),
            Self::LessOrEqual => order.is_some_and(Ordering::is_le),
            Self::Greater => order.is_some_and(Ordering::is_gt),
            Self::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
            Self::Equal => left.equals(right),
            Self::Unequal => !left.equals(right),
            Self::In => left.is_in(right),
            Self::NotIn => !left.is_in(right),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Min,
    Max,
    Mean,
    Abs,
    Clamp,
    /// Whether there is something to be had.
    Has,
    Len,
    Lower,
}

/// Every function over scores by name, with the least and the most arguments it takes.
pub(super) const OF_SCORES: &[(&str, Function, usize, usize)] = &[
    ("min", Function::Min, 1, usize::MAX),
    ("max", Function::Max, 1, usize::MAX),
    ("mean", Function::Mean, 1, usize::MAX),
    ("abs", Function::Abs, 1, 1),
    ("clamp", Function::Clamp, 3, 3),
    ("applies", Function::Has, 1, 1),
];

/// The same over rows.
pub(super) const OF_ROWS: &[(&str, Function, usize, usize)] = &[
    ("min", Function::Min, 1, usize::MAX),
    ("max", Function::Max, 1, usize::MAX),
    ("mean", Function::Mean, 1, usize::MAX),
    ("abs", Function::Abs, 1, 1),
    ("clamp", Function::Clamp, 3, 3),
    ("has", Function::Has, 1, 1),
    ("len", Function::Len, 1, 1),
    ("lower", Function::Lower, 1, 1),
];

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum EvaluationFault {
    #[error("division by zero")]
    DivisionByZero,
    /// The bounds of a `clamp`.
    #[error("`clamp` between {0} and {1}: the first is greater")]
    Bounds(f64, f64),
    /// A grader has nothing to say of the case.
    #[error("not applicable")]
    NotApplicable,
}

impl ExpressionNode {
    pub fn value(&self, names: Names<'_>) -> EvaluatedPart {
        match self {
            Self::Number(number) => Ok(Operand::Number(*number)),
            Self::Whole(whole) => Ok(Operand::Whole(*whole)),
            Self::Text(text) => Ok(Operand::Text(text.clone())),
            Self::Nothing => Ok(Operand::Nothing),
            Self::List(items) => Ok(Operand::List(values(items, names)?)),
            Self::Name(name) => names(name),
            Self::Minus(inner) => Ok(inner.value(names)?.negated()),
            Self::Not(inner) => Ok(Operand::truth(!inner.value(names)?.is_true())),
            Self::Sum(first, rest) => sum(first, rest, names),
            Self::Product(first, rest) => product(first, rest, names),
            Self::Compare(first, rest) => compare(first, rest, names),
            Self::And(operands) => first_that(false, operands, names),
            Self::Or(operands) => first_that(true, operands, names),
            Self::Choice { condition, then, otherwise } => {
                let holds = condition.value(names)?.is_true();
                if holds { then } else { otherwise }.value(names)
            }
            Self::Call(function, arguments) => call(*function, arguments, names),
            Self::Matches(text, pattern) => {
                Ok(Operand::truth(pattern.is_found_in(&text.value(names)?)))
            }
        }
    }
}

fn sum(first: &ExpressionNode, rest: &[(Sign, ExpressionNode)], names: Names<'_>) -> EvaluatedPart {
    // What stands alone need not be a number.
    let first = first.value(names)?.number();
    let sum = rest.iter().try_fold(first, |sum, (sign, node)| {
        let value = node.value(names)?.number();
        Ok(if *sign == Sign::Plus { sum + value } else { sum - value })
    })?;
    Ok(Operand::Number(sum))
}

fn product(
    first: &ExpressionNode,
    rest: &[(Factor, ExpressionNode)],
    names: Names<'_>,
) -> EvaluatedPart {
    let first = first.value(names)?.number();
    let product = rest.iter().try_fold(first, |product, (factor, node)| {
        match (factor, node.value(names)?.number()) {
            (Factor::Times, value) => Ok(product * value),
            (Factor::Over, 0.0) => Err(EvaluationFault::DivisionByZero),
            (Factor::Over, value) => Ok(product / value),
        }
    })?;
    Ok(Operand::Number(product))
}

fn compare(
    first: &ExpressionNode,
    rest: &[(ComparisonOp, ExpressionNode)],
    names: Names<'_>,
) -> EvaluatedPart {
    let mut left = first.value(names)?;
    for (comparison, node) in rest {
        let right = node.value(names)?;
        if !comparison.holds(&left, &right) {
            return Ok(Operand::truth(false));
        }
        left = right;
    }
    Ok(Operand::truth(true))
}

/// The first operand that is as true as `wanted`, or else the last.
fn first_that(wanted: bool, operands: &[ExpressionNode], names: Names<'_>) -> EvaluatedPart {
    let mut last = Operand::truth(!wanted);
    for operand in operands {
        last = operand.value(names)?;
        if last.is_true() == wanted {
            break;
        }
    }
    Ok(last)
}

fn call(function: Function, arguments: &[ExpressionNode], names: Names<'_>) -> EvaluatedPart {
    match function {
        Function::Has => match arguments.first().map(|argument| argument.value(names)) {
            Some(Err(EvaluationFault::NotApplicable)) | None => Ok(Operand::truth(false)),
            Some(value) => Ok(Operand::truth(value? != Operand::Nothing)),
        },
        Function::Min | Function::Max | Function::Mean => {
            of_those_there(function, arguments, names)
        }
        Function::Abs | Function::Clamp | Function::Len | Function::Lower => {
            of_values(function, &values(arguments, names)?)
        }
    }
}

fn values(nodes: &[ExpressionNode], names: Names<'_>) -> Result<Vec<Operand>, EvaluationFault> {
    nodes.iter().map(|node| node.value(names)).collect()
}

/// The least, the greatest or the mean of what is there: what is not, or not applicable, is left out.
fn of_those_there(
    function: Function,
    arguments: &[ExpressionNode],
    names: Names<'_>,
) -> EvaluatedPart {
    let mut values = Vec::with_capacity(arguments.len());
    let mut left_out = None;
    for argument in arguments {
        match argument.value(names) {
            Ok(Operand::Nothing) => left_out = Some(Ok(Operand::Nothing)),
            Err(EvaluationFault::NotApplicable) => {
                left_out = Some(Err(EvaluationFault::NotApplicable));
            }
            value => values.push(value?.number()),
        }
    }
    if let (Some(nothing), []) = (left_out, &values[..]) {
        return nothing;
    }
    // What is no number stays so, whatever stands beside it.
    if values.iter().any(|value| value.is_nan()) {
        return Ok(Operand::Number(f64::NAN));
    }
    let all = || values.iter().copied();
    Ok(Operand::Number(match function {
        Function::Min => all().fold(f64::INFINITY, f64::min),
        Function::Max => all().fold(f64::NEG_INFINITY, f64::max),
        _ => mean(&values).unwrap_or(f64::NAN),
    }))
}

fn of_values(function: Function, values: &[Operand]) -> EvaluatedPart {
    let [value, low, high] = [0, 1, 2].map(|at| values.get(at).map_or(f64::NAN, Operand::number));
    Ok(match function {
        Function::Clamp if [value, low, high].iter().any(|one| one.is_nan()) => {
            Operand::Number(f64::NAN)
        }
        Function::Clamp if low > high => return Err(EvaluationFault::Bounds(low, high)),
        Function::Clamp => Operand::Number(value.clamp(low, high)),
        Function::Len => values.first().map_or(Operand::Nothing, Operand::length),
        Function::Lower => values.first().map_or(Operand::Nothing, Operand::lower),
        _ => Operand::Number(value.abs()),
    })
}
