//! Two submissions compared: where the other one comes from, and what both orders together say.
//!
//! Judges favour places, so each vote is asked in both orders and wins only if both agree. Which place a judge that
//! contradicts itself favours is reported, not corrected.

use std::cmp::Ordering;

use serde_json::{Value, json};

use super::case_part::CasePart;
use crate::grade::Grade;
use crate::judge::question::Decision;
use crate::judge::reply::Verdict;
use evalrs_base::path::lookup;
use evalrs_model::spec::CompareTo;

/// A vote of a judge that did not fail.
pub(super) struct ScoredVote {
    /// The score on the judge's own scale.
    pub native: f64,
    /// Why.
    pub rationale: String,
    /// The verdict in each order, where two submissions are compared.
    pub orders: Option<Orders>,
    /// The answer, where the question was for one.
    pub decision: Option<Decision>,
    /// Whether it says something of the submission.
    pub applies: bool,
}

/// The verdict of a judge in each order, from the view of the submission: 1.0 it wins, 0.5 neither, 0.0 it
/// loses.
pub(super) struct Orders {
    forward: f64,
    reversed: f64,
    is_one_text: bool,
}

impl Orders {
    /// Both orders together: what they agree on, else a tie.
    fn score(&self) -> f64 {
        if self.forward.total_cmp(&self.reversed).is_eq() { self.forward } else { 0.5 }
    }

    /// The place that the judge favoured, if it favoured one: the submission did better there. A text that is
    /// compared with itself has no place.
    fn favoured(&self) -> Option<&'static str> {
        match self.forward.total_cmp(&self.reversed) {
            _ if self.is_one_text => None,
            Ordering::Greater => Some("first"),
            Ordering::Less => Some("second"),
            Ordering::Equal => None,
        }
    }
}

/// What the verdicts in both orders say together; with `is_one_text` they are one verdict, on equal texts.
pub(super) fn said(forward: Verdict, reversed: &Verdict, is_one_text: bool) -> ScoredVote {
    let orders = Orders { forward: forward.score, reversed: 1.0 - reversed.score, is_one_text };
    let rationale = if orders.favoured().is_none() || forward.rationale == reversed.rationale {
        forward.rationale
    } else {
        // The judge contradicts itself: neither reason alone is why.
        format!("As A: {}\nAs B: {}", forward.rationale, reversed.rationale)
    };
    ScoredVote {
        native: orders.score(),
        rationale,
        orders: Some(orders),
        decision: None,
        applies: true,
    }
}

/// The rationale of a single vote: the answer in each order, and the place it favours.
pub(super) fn shown(orders: &[&Orders]) -> Vec<(&'static str, Value)> {
    let [orders] = orders else { return Vec::new() };
    let answers = json!({"forward": name(orders.forward), "reversed": name(orders.reversed)});
    vec![("orders", answers), ("position_bias", json!(orders.favoured()))]
}

/// The rationale of several votes: how many won, how many favoured which place.
pub(super) fn counts(orders: &[&Orders]) -> Vec<(&'static str, Value)> {
    if orders.is_empty() {
        return Vec::new();
    }
    let of = |answer: &str| orders.iter().filter(|orders| name(orders.score()) == answer).count();
    let favouring = |place| orders.iter().filter(|orders| orders.favoured() == Some(place)).count();
    let places = json!({"first": favouring("first"), "second": favouring("second")});
    vec![
        ("wins", json!(of("win"))),
        ("ties", json!(of("tie"))),
        ("losses", json!(of("loss"))),
        ("position_bias_votes", places),
    ]
}

fn name(score: f64) -> &'static str {
    match score {
        score if score > 0.5 => "win",
        score if score < 0.5 => "loss",
        _ => "tie",
    }
}

/// The text that the submission is compared with, or why there is none to be had.
pub(super) fn other_text(part: &CasePart<'_>, compare_to: &CompareTo) -> Result<String, Grade> {
    let failed = |message: String| Err(Grade::failed("compare_to", message));
    match compare_to {
        CompareTo::Field(path) => match field(part, path) {
            None => failed(format!("the row has no `{path}` to compare with")),
            Some(text) if text.is_empty() => {
                failed(format!("`{path}` is empty: there is nothing to compare with"))
            }
            Some(text) => Ok(text),
        },
        CompareTo::Run(_) => {
            let submitted = part.case.baseline.map(|submitted| match part.turn {
                None => Some(submitted.text()),
                Some(turn) => submitted.turn(turn),
            });
            match submitted {
                None => failed("the recorded run has no submission of this sample".to_owned()),
                Some(None) => failed("the recorded run has no such turn of this sample".to_owned()),
                Some(Some("")) => {
                    failed("the submission of the recorded run is empty for this sample".to_owned())
                }
                Some(Some(text)) => Ok(text.to_owned()),
            }
        }
    }
}

/// A field of the row as text; of a list, where turns are graded one by one, the item of the turn.
fn field(part: &CasePart<'_>, path: &str) -> Option<String> {
    let value = part.row.row().value();
    let found = match (lookup(&value, path)?, part.turn) {
        (Value::Array(items), Some(turn)) => items.get(turn)?,
        (found, _) => found,
    };
    match found {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
