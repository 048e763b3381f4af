//! An expression that was read: its value, and how that comes about in words.

use std::ops::Range;

use super::operand::Operand;
use super::tree::{EvaluationFault, ExpressionNode};

/// Returns the score of a grader; none where it is not applicable.
type Scores<'a> = &'a dyn Fn(&str) -> Option<f64>;

/// How far a value may be beyond 0 or 1 and still be taken for it: sums of weights like 0.7 and 0.3 are inexact.
const SLACK: f64 = 1e-9;

/// An expression, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// As it was written, without white space around it.
    pub text: String,
    /// The graders it names, each once, in the order of their first places.
    pub names: Vec<String>,
    /// Where the names stand in the text, with their quotes, and the index of each.
    pub places: Vec<(Range<usize>, usize)>,
    /// What it computes.
    pub root: ExpressionNode,
}

impl Expression {
    /// Where the expression first names `name`: bytes of its text, quotes included.
    pub fn place_of(&self, name: &str) -> Option<Range<usize>> {
        let index = self.names.iter().position(|known| known == name)?;
        self.places.iter().find(|(_, named)| *named == index).map(|(at, _)| at.clone())
    }

    /// Its value, 0..=1, where `score` returns the score of a grader; none where it depends on a grader that is not
    /// applicable. Otherwise what is wrong with the value.
    pub fn value(&self, score: Scores<'_>) -> Result<Option<f64>, String> {
        let value = match self.computed(score) {
            Ok(value) => value,
            Err(EvaluationFault::NotApplicable) => return Ok(None),
            Err(fault) => {
                let steps = [one_line(&self.text), self.filled_in(score)];
                return Err(format!("{}: {fault}", equation(&steps)));
            }
        };
        if value.is_nan() {
            return Err(format!("{}, and that is not a number", self.told(score)));
        }
        if (-SLACK..=1.0 + SLACK).contains(&value) {
            // Adding zero makes a negative zero a positive one.
            return Ok(Some(value.clamp(0.0, 1.0) + 0.0));
        }
        Err(format!("{}, and a score is between 0.0 and 1.0", self.told(score)))
    }

    /// How its value comes about: `0.7*quality + 0.3*policy = 0.7*0.8 + 0.3*1 = 0.86`.
    pub fn told(&self, score: Scores<'_>) -> String {
        let mut steps = vec![one_line(&self.text), self.filled_in(score)];
        steps.extend(self.computed(score).ok().map(shown));
        equation(&steps)
    }

    fn computed(&self, score: Scores<'_>) -> Result<f64, EvaluationFault> {
        let names = |name: &str| match score(name) {
            Some(score) => Ok(Operand::Number(score)),
            None => Err(EvaluationFault::NotApplicable),
        };
        Ok(self.root.value(&names)?.number())
    }

    /// The text with scores in the place of names.
    fn filled_in(&self, score: Scores<'_>) -> String {
        let mut filled = String::with_capacity(self.text.len());
        let mut from = 0;
        for (at, index) in &self.places {
            filled.push_str(&self.text[from..at.start]);
            let score = score(&self.names[*index]);
            filled.push_str(&score.map_or_else(|| "n/a".to_owned(), shown));
            from = at.end;
        }
        filled.push_str(&self.text[from..]);
        one_line(&filled)
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The steps with `=` between them; what is the same as the step before is left out.
fn equation(steps: &[String]) -> String {
    let mut steps = steps.to_vec();
    steps.dedup();
    steps.join(" = ")
}

/// A number for people: at most six decimals, unless that would hide that it is not 0 or 1.
fn shown(value: f64) -> String {
    const DIGITS: f64 = 1e6;
    let rounded = (value * DIGITS).round() / DIGITS;
    let hides = |end: f64| (rounded - end).abs() < SLACK && (value - end).abs() > SLACK;
    if !rounded.is_finite() || hides(0.0) || hides(1.0) {
        return value.to_string();
    }
    (rounded + 0.0).to_string()
}
