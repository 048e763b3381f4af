//! What an expression computes.
//!
//! Truth is as in Python: zero is false, a comparison gives 1 or 0, `and` and `or` give one of their operands and look
//! at no more of them than they must. It knows nothing of texts.

use std::fmt;

use crate::base::exact::mean;
use crate::base::threshold;

/// Tells the score of a grader.
pub(super) type Scores<'a> = &'a dyn Fn(&str) -> f64;

/// A part of an expression. Chains are lists, so that no tree is deeper than the brackets of its text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExpressionNode {
    Number(f64),
    Score(String),
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    Times,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonOp {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Unequal,
}

impl ComparisonOp {
    /// As scores are compared with thresholds. What is no number stands in no relation to anything.
    fn holds(self, left: f64, right: f64) -> bool {
        if left.is_nan() || right.is_nan() {
            return self == Self::Unequal;
        }
        let order = threshold::compare(left, right);
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Min,
    Max,
    Mean,
    Abs,
    Clamp,
}

/// Every function by name, with the least and the most arguments it takes.
pub(super) const FUNCTIONS: [(&str, Function, usize, usize); 5] = [
    ("min", Function::Min, 1, usize::MAX),
    ("max", Function::Max, 1, usize::MAX),
    ("mean", Function::Mean, 1, usize::MAX),
    ("abs", Function::Abs, 1, 1),
    ("clamp", Function::Clamp, 3, 3),
];

/// Why there is no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum EvaluationFault {
    DivisionByZero,
    /// The bounds of a `clamp`.
    Bounds(f64, f64),
}

impl fmt::Display for EvaluationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Bounds(low, high) => {
                write!(f, "`clamp` between {low} and {high}, of which the first is the greater")
            }
        }
    }
}

impl ExpressionNode {
    pub(super) fn value(&self, score: Scores<'_>) -> Result<f64, EvaluationFault> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Score(name) => Ok(score(name)),
            Self::Minus(inner) => Ok(-inner.value(score)?),
            Self::Not(inner) => Ok(f64::from(!inner.holds(score)?)),
            Self::Sum(first, rest) => sum(first, rest, score),
            Self::Product(first, rest) => product(first, rest, score),
            Self::Compare(first, rest) => compare(first, rest, score),
            Self::And(operands) => first_that(false, operands, score),
            Self::Or(operands) => first_that(true, operands, score),
            Self::Choice { condition, then, otherwise } => {
                if condition.holds(score)? { then } else { otherwise }.value(score)
            }
            Self::Call(function, arguments) => {
                let values: Result<Vec<f64>, EvaluationFault> =
                    arguments.iter().map(|argument| argument.value(score)).collect();
                call(*function, &values?)
            }
        }
    }

    fn holds(&self, score: Scores<'_>) -> Result<bool, EvaluationFault> {
        self.value(score).map(is_true)
    }
}

fn is_true(value: f64) -> bool {
    value != 0.0
}

fn sum(
    first: &ExpressionNode,
    rest: &[(Sign, ExpressionNode)],
    score: Scores<'_>,
) -> Result<f64, EvaluationFault> {
    rest.iter().try_fold(first.value(score)?, |sum, (sign, node)| {
        let value = node.value(score)?;
        Ok(if *sign == Sign::Plus { sum + value } else { sum - value })
    })
}

fn product(
    first: &ExpressionNode,
    rest: &[(Factor, ExpressionNode)],
    score: Scores<'_>,
) -> Result<f64, EvaluationFault> {
    rest.iter().try_fold(first.value(score)?, |product, (factor, node)| {
        match (factor, node.value(score)?) {
            (Factor::Times, value) => Ok(product * value),
            (Factor::Over, 0.0) => Err(EvaluationFault::DivisionByZero),
            (Factor::Over, value) => Ok(product / value),
        }
    })
}

fn compare(
    first: &ExpressionNode,
    rest: &[(ComparisonOp, ExpressionNode)],
    score: Scores<'_>,
) -> Result<f64, EvaluationFault> {
    let mut left = first.value(score)?;
    for (comparison, node) in rest {
        let right = node.value(score)?;
        if !comparison.holds(left, right) {
            return Ok(0.0);
        }
        left = right;
    }
    Ok(1.0)
}

/// The first operand that is as true as `wanted`, or else the last.
fn first_that(
    wanted: bool,
    operands: &[ExpressionNode],
    score: Scores<'_>,
) -> Result<f64, EvaluationFault> {
    let mut last = f64::from(!wanted);
    for operand in operands {
        last = operand.value(score)?;
        if is_true(last) == wanted {
            break;
        }
    }
    Ok(last)
}

fn call(function: Function, values: &[f64]) -> Result<f64, EvaluationFault> {
    // What is no number stays so, whatever stands beside it.
    if values.iter().any(|value| value.is_nan()) {
        return Ok(f64::NAN);
    }
    let all = || values.iter().copied();
    match (function, values) {
        (Function::Min, _) => Ok(all().fold(f64::INFINITY, f64::min)),
        (Function::Max, _) => Ok(all().fold(f64::NEG_INFINITY, f64::max)),
        (Function::Mean, _) => Ok(mean(values).unwrap_or(f64::NAN)),
        (Function::Clamp, [value, low, high]) if low <= high => Ok(value.clamp(*low, *high)),
        (Function::Clamp, [_, low, high]) => Err(EvaluationFault::Bounds(*low, *high)),
        (Function::Abs | Function::Clamp, _) => {
            Ok(values.first().copied().map_or(f64::NAN, f64::abs))
        }
    }
}
