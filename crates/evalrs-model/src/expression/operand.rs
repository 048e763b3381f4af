//! The result of the parts of an expression, and how such values are compared.
//!
//! Scores are numbers. What rows hold may be anything, and cells of CSV are texts that stand for numbers: those are read
//! as the numbers they are, wherever a number is looked for.

use std::cmp::Ordering;
use std::sync::Arc;

use python_re::{Regex, RegexProblem};
use serde_json::Value;

use evalrs_base::exact::is_beyond_floats;
use evalrs_base::{exact, threshold};

/// A value in an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Also what is true, 1, or false, 0.
    Number(f64),
    /// A whole number that is none as a float.
    Whole(i128),
    /// A text; an object as its JSON text.
    Text(String),
    /// Several values.
    List(Vec<Operand>),
    /// Nothing is there.
    Nothing,
}

impl From<Value> for Operand {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::Bool(truth) => Self::truth(truth),
            Value::Number(number) => match number.as_i128().filter(|it| is_beyond_floats(*it)) {
                Some(whole) => Self::Whole(whole),
                None => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            object @ Value::Object(_) => Self::Text(object.to_string()),
        }
    }
}

impl Operand {
    pub fn truth(is_true: bool) -> Self {
        Self::Number(f64::from(is_true))
    }

    /// As in Python, but for a text that says that something is false: cells of CSV have no other way.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Number(number) => *number != 0.0,
            Self::Whole(_) => true,
            Self::Text(text) => !text.is_empty() && number_in(text) != Some(0.0),
            Self::List(items) => !items.is_empty(),
            Self::Nothing => false,
        }
    }

    /// The number that it is, or that its text denotes; else none, as NaN.
    pub fn number(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Whole(whole) => *whole as f64,
            Self::Text(text) => number_in(text).unwrap_or(f64::NAN),
            Self::List(_) | Self::Nothing => f64::NAN,
        }
    }

    /// The whole number that it is, or that its text denotes.
    fn whole(&self) -> Option<i128> {
        match self {
            Self::Number(number) => exact::whole(*number),
            Self::Whole(whole) => Some(*whole),
            Self::Text(text) => text.trim().parse().ok(),
            Self::List(_) | Self::Nothing => None,
        }
    }

    /// Which of two comes first: whole numbers to the last digit, others as scores are compared with thresholds, texts by their
    /// characters unless both stand for numbers. None where they cannot be compared.
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        if let (Some(left), Some(right)) = (self.whole(), other.whole()) {
            return Some(left.cmp(&right));
        }
        let [left, right] = [self.number(), other.number()];
        match (self, other) {
            _ if !left.is_nan() && !right.is_nan() => Some(threshold::compare(left, right)),
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }

    /// Whether both are the same. Two texts are if they are written alike; a text and a number, if the text stands for it.
    pub fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing, Self::Nothing) => true,
            (Self::Text(left), Self::Text(right)) => left == right,
            (Self::List(left), Self::List(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.equals(right))
            }
            (Self::List(_) | Self::Nothing, _) | (_, Self::List(_) | Self::Nothing) => false,
            _ => self.order(other) == Some(Ordering::Equal),
        }
    }

    /// Whether it is one of a list, or part of a text.
    pub fn is_in(&self, whole: &Self) -> bool {
        match (self, whole) {
            (_, Self::List(items)) => items.iter().any(|item| self.equals(item)),
            (Self::Text(part), Self::Text(text)) => text.contains(part.as_str()),
            _ => false,
        }
    }

    /// Characters of a text, or values of a list.
    #[must_use]
    pub fn length(&self) -> Self {
        match self {
            Self::Text(text) => Self::Number(text.chars().count() as f64),
            Self::List(items) => Self::Number(items.len() as f64),
            Self::Number(_) | Self::Whole(_) | Self::Nothing => Self::Nothing,
        }
    }

    /// The characters of a text.
    pub fn characters(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.chars().count()),
            Self::Number(_) | Self::Whole(_) | Self::List(_) | Self::Nothing => None,
        }
    }

    /// With the other sign.
    #[must_use]
    pub fn negated(&self) -> Self {
        match self {
            Self::Whole(whole) => Self::Whole(-whole),
            other => Self::Number(-other.number()),
        }
    }

    #[must_use]
    pub fn lower(&self) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.to_lowercase()),
            other => other.clone(),
        }
    }
}

/// The number that a text denotes; `true` and `false` are 1 and 0.
fn number_in(text: &str) -> Option<f64> {
    let text = text.trim();
    match text {
        "true" | "True" | "TRUE" => Some(1.0),
        "false" | "False" | "FALSE" => Some(0.0),
        // Words such as `nan` and `inf` are texts.
        _ if text.ends_with(|last: char| last.is_ascii_alphabetic()) => None,
        _ => text.parse().ok(),
    }
}

/// A pattern of Python, compiled.
#[derive(Clone, Debug)]
pub struct TextPattern {
    source: String,
    regex: Arc<Regex>,
}

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl TextPattern {
    pub fn new(source: &str) -> Result<Self, RegexProblem> {
        Ok(Self { source: source.to_owned(), regex: Arc::new(Regex::new(source)?) })
    }

    /// Not if the value is not text, or takes more steps than a search may.
    pub(super) fn is_found_in(&self, value: &Operand) -> bool {
        let found = match value {
            Operand::Text(text) => self.regex.is_match(text),
            Operand::Number(number) => self.regex.is_match(&number.to_string()),
            Operand::Whole(whole) => self.regex.is_match(&whole.to_string()),
            Operand::List(_) | Operand::Nothing => return false,
        };
        found.unwrap_or(false)
    }
}
