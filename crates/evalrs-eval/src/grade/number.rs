//! The grader that compares numbers.
//!
//! What is a number is a matter of how people write answers, not of a programming language: `$1,234.50`,
//! `−3`, `50 %` and `1e3` are numbers, `1.2.3` and `inf` are not. A currency or percent sign is dropped, so
//! `50%` is 50. Whole numbers compare exactly, however many digits they have.

use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use super::given::{GivenText, given_or_reference};
use super::grader::{GradeResult, GraderInfo, GraderOptions, Subject};
use super::rationale::{explained, shorten, unusable_reference};
use evalrs_base::python::strip;

/// Digits, in groups parted by commas or not, with decimals and an exponent or not.
const BODY: &str =
    r"(?:(?:[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?";

/// A number read from text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    /// The nearest float; infinite only where `whole` says more.
    value: f64,
    /// The same exactly, if it was written as a whole number.
    whole: Option<WholeNumber>,
}

/// A whole number of any size.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WholeNumber {
    /// Never of zero.
    is_negative: bool,
    /// Decimal digits, the first of them not 0; none of zero.
    digits: String,
}

impl Number {
    /// How far apart two numbers are.
    pub(super) fn distance(&self, other: &Self) -> f64 {
        match (&self.whole, &other.whole) {
            (Some(left), Some(right)) if left == right => 0.0,
            (Some(left), Some(right)) if left.is_negative == right.is_negative => {
                difference(left.digits.as_bytes(), right.digits.as_bytes())
            }
            _ => (self.value - other.value).abs(),
        }
    }
}

/// How far apart two whole numbers are, given as decimal digits: subtracted digit by digit, rounded at the end.
fn difference(left: &[u8], right: &[u8]) -> f64 {
    let is_larger = (left.len(), left) >= (right.len(), right);
    let (larger, smaller) = if is_larger { (left, right) } else { (right, left) };
    let mut digits = Vec::with_capacity(larger.len());
    let mut borrowed = 0;
    for at in 0..larger.len() {
        let digit = |digits: &[u8]| {
            let from_the_end = digits.len().checked_sub(at + 1);
            from_the_end.map_or(0, |place| i16::from(digits[place] - b'0'))
        };
        let rest = digit(larger) - digit(smaller) - borrowed;
        borrowed = i16::from(rest < 0);
        digits.push(char::from(b'0' + rest.rem_euclid(10) as u8));
    }
    let digits: String = digits.into_iter().rev().collect();
    digits.parse().unwrap_or(f64::INFINITY)
}

/// The number that `text` is, if it is one and nothing else.
pub(super) fn parse(text: &str) -> Option<Number> {
    static WHOLE_TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let pattern = format!(r"^([+\-−]?)\s*\p{{Sc}}?\s*([+\-−]?)({BODY})\s*(?:\p{{Sc}}|%)?$");
        Regex::new(&pattern).ok()
    });
    let found = WHOLE_TEXT.as_ref()?.captures(strip(text))?;
    match found.extract().1 {
        [sign, "", body] | ["", sign, body] => read(sign, body),
        _ => None,
    }
}

/// A sign and digits.
fn read(sign: &str, body: &str) -> Option<Number> {
    let is_negative = matches!(sign, "-" | "−");
    let digits = body.replace(',', "");
    let value: f64 = digits.parse().ok()?;
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    let whole = is_whole.then(|| {
        let digits = digits.trim_start_matches('0').to_owned();
        WholeNumber { is_negative: is_negative && !digits.is_empty(), digits }
    });
    let value = if is_negative { -value } else { value };
    (value.is_finite() || whole.is_some()).then_some(Number { value, whole })
}

/// The numbers that stand in `text`, in order. A number glued to the end of a word (`gpt4`) is part of it, and a dash after
/// a word or number (`7-8`, `gpt-4`) is not a sign.
fn all(text: &str) -> impl Iterator<Item = Number> {
    static IN_TEXT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"([+\-−]?)\p{{Sc}}?([+\-−]?)({BODY})")).ok());
    let found = IN_TEXT.as_ref().into_iter().flat_map(move |pattern| pattern.captures_iter(text));
    found.filter_map(move |found| {
        let [first, second, body] = found.extract().1;
        let after_word = text[..found.get(0)?.start()].ends_with(|c: char| c.is_alphanumeric());
        match (after_word, first) {
            (true, "") => None,
            (true, _) | (false, "") => read(second, body),
            (false, first) => read(first, body),
        }
    })
}

/// Which number of a longer text counts.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Find {
    /// The first.
    First,
    /// The last.
    Last,
}

impl Find {
    fn pick(self, text: &str) -> Option<Number> {
        match self {
            Self::First => all(text).next(),
            Self::Last => all(text).last(),
        }
    }
}

pub(super) const NUMERIC: GraderInfo = GraderInfo {
    id: "numeric",
    name: "Numeric match",
    description: "Submission and ground truth are the same number within a tolerance, in any notation.",
    needs_ground_truth: true,
    given_by: &["value"],
    ..GraderInfo::of::<Numeric>()
};

/// Options of `numeric`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Numeric {
    /// The expected number; the row's ground truth if absent.
    value: Option<GivenText>,
    /// The greatest difference.
    #[schemars(range(min = 0))]
    tolerance: f64,
    /// The greatest difference as a share of the reference; the wider of the two tolerances counts.
    #[schemars(range(min = 0))]
    relative_tolerance: f64,
    /// The number to take from a longer submission; if absent, the submission must be one number.
    find: Option<Find>,
}

impl Default for Numeric {
    fn default() -> Self {
        Self { value: None, tolerance: 1e-9, relative_tolerance: 0.0, find: None }
    }
}

impl GraderOptions for Numeric {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let written = given_or_reference(self.value.as_ref(), subject)?;
        let number = |text: &str| parse(text).or_else(|| self.find?.pick(text));
        let expected = number(written).ok_or_else(|| unusable_reference("it is not a number"))?;
        let Some(found) = number(subject.submission) else {
            let why = if self.find.is_some() { "holds no number" } else { "is no number" };
            return Ok(explained("Numeric match", Some(format!("the submission {why}"))));
        };
        let share = Some(self.relative_tolerance * expected.value.abs());
        // A share of what is beyond the floats would be anything.
        let allowed = self.tolerance.max(share.filter(|share| share.is_finite()).unwrap_or(0.0));
        let wrong = (found.distance(&expected) > allowed)
            .then(|| format!("{} expected, {} found", show(&expected), show(&found)));
        Ok(explained("Numeric match", wrong))
    }
}

fn show(number: &Number) -> String {
    match &number.whole {
        None => number.value.to_string(),
        Some(whole) if whole.digits.is_empty() => "0".to_owned(),
        Some(whole) => {
            let sign = if whole.is_negative { "-" } else { "" };
            shorten(&format!("{sign}{}", whole.digits))
        }
    }
}
