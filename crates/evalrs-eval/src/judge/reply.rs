//! Reads a judge's reply.
//!
//! A score outside the range is a fault, not a score to be clamped: clamping hides broken judges. The text
//! around a JSON object, code fences and thoughts before the end of `<think>` are forgiven, and another common name of the
//! rationale; nothing else is.
//!
//! `reply_object` finds the object that holds the verdict.

use serde_json::{Map, Value};

use super::json;
use super::question::{Decision, NamedQuestion, Question, WINNERS};
use super::reply_object::{WantedMembers, object_in};
use evalrs_base::json_syntax::as_text;
use evalrs_model::spec::Scale;

/// A judge's verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// The score mapped to 0.0..=1.0. Of two submissions: 1.0 if the first is better, 0.5 if neither, 0.0 if the second.
    pub score: f64,
    /// The score as the judge gave it.
    pub native: f64,
    /// Why; empty if the judge gave no reason.
    pub rationale: String,
    /// The answer, where the question was for one.
    pub decision: Option<Decision>,
}

/// The verdict in a reply that is known to quote nothing, or what is wrong with it.
pub fn read(text: &str, question: &Question) -> Result<Verdict, String> {
    read_beside(text, question, &[])
}

/// The verdict in `text`, or its fault as a sentence that can be sent to the judge. `quotable` are the texts
/// that the judge was shown and may quote. Of an embedding and of several answers it only says that they are right.
pub fn read_beside(text: &str, question: &Question, quotable: &[&str]) -> Result<Verdict, String> {
    let answer = match question {
        Question::Embed { dimensions } => {
            let length = embedding(text)?.len();
            if dimensions.is_some_and(|wanted| wanted as usize != length) {
                let why = "dimensions, not those that were asked for";
                return Err(format!("the embedding has {length} {why}"));
            }
            return Ok(Verdict::default());
        }
        Question::Several(all) => {
            let answers = answers(text, all, quotable)?;
            all.iter().try_for_each(|one| answer_to(one, &answers).map(drop))?;
            return Ok(Verdict::default());
        }
        question => question.answer_name(),
    };
    let text = json::without_halves(text);
    let object = object_in(&text, &WantedMembers::Answer(answer), quotable)?;
    verdict(&object, question)
}

/// The verdict on `one` of the questions in a request, in a reply that is known to quote nothing. `all` may hold more questions
/// than the request did.
pub fn read_one(text: &str, all: &[NamedQuestion], one: &NamedQuestion) -> Result<Verdict, String> {
    answer_to(one, &answers(text, all, &[])?)
}

/// The answers in a reply to several questions: none unknown, none twice.
fn answers(
    text: &str,
    all: &[NamedQuestion],
    quotable: &[&str],
) -> Result<Map<String, Value>, String> {
    let text = json::without_halves(text);
    let object = object_in(&text, &WantedMembers::AnswersTo(all), quotable)?;
    match object.keys().find(|name| all.iter().all(|one| one.name != **name)) {
        Some(unknown) => {
            Err(format!("the reply answers `{}`, which is no question", clipped(unknown)))
        }
        None => Ok(object),
    }
}

fn answer_to(one: &NamedQuestion, answers: &Map<String, Value>) -> Result<Verdict, String> {
    let name = &one.name;
    match answers.get(name) {
        None | Some(Value::Null) => Err(format!("the reply has no answer to `{name}`")),
        Some(Value::Object(answer)) => verdict(answer, &one.question)
            .map_err(|fault| format!("{fault}, in the answer to `{name}`")),
        Some(_) => Err(format!("the answer to `{name}` is not an object")),
    }
}

/// The verdict that an object holds.
fn verdict(object: &Map<String, Value>, question: &Question) -> Result<Verdict, String> {
    let answer = question.answer_name();
    let said = match object.get(answer) {
        None | Some(Value::Null) => return Err(format!("the reply has no `{answer}`")),
        Some(said) => said,
    };
    let mut decision = None;
    let native = match question {
        Question::Score(scale) => score(said, *scale)?,
        Question::Compare => winner(said)?,
        Question::Decide { may_not_apply } => {
            let decided = self::decision(said, Decision::names(*may_not_apply))?;
            decision = Some(decided);
            f64::from(decided == Decision::Yes)
        }
        Question::Embed { .. } | Question::Several(_) => 0.0,
    };
    let score = question.unit(native);
    // Some models have a word of their own for it, whatever they are told.
    let names = ["rationale", "reason", "reasoning", "explanation"];
    let said = names.iter().filter_map(|name| object.get(*name)).find(|said| !said.is_null());
    Ok(Verdict { score, native, rationale: said.map(as_text).unwrap_or_default(), decision })
}

/// The vector in what is kept of an embedding.
pub fn embedding(text: &str) -> Result<Vec<f64>, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|_| "the embedding is not JSON".to_owned())?;
    let items = value.get("embedding").and_then(Value::as_array);
    let items = items.filter(|items| !items.is_empty()).ok_or("the reply has no `embedding`")?;
    let numbers: Option<Vec<f64>> =
        items.iter().map(|item| item.as_f64().filter(|number| number.is_finite())).collect();
    numbers.ok_or_else(|| "the embedding has items that are no numbers".to_owned())
}

fn score(said: &Value, scale: Scale) -> Result<f64, String> {
    let number = match said {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let Scale { min, max } = scale;
    match number.filter(|score| score.is_finite()) {
        None => Err(format!("`score` is {}, not a number from {min} to {max}", shown(said))),
        Some(score) if !scale.contains(score) => {
            Err(format!("`score` is {score}, outside {min} to {max}"))
        }
        Some(score) => Ok(score),
    }
}

fn winner(said: &Value) -> Result<f64, String> {
    let text = said.as_str().unwrap_or_default().trim();
    match WINNERS.iter().position(|winner| winner.eq_ignore_ascii_case(text)) {
        Some(0) => Ok(1.0),
        Some(1) => Ok(0.0),
        Some(_) => Ok(0.5),
        None => Err(format!("`winner` is {}, not \"A\", \"B\" or \"tie\"", shown(said))),
    }
}

/// One of `names`. JSON's own words for yes and no are theirs.
fn decision(said: &Value, names: &[&str]) -> Result<Decision, String> {
    let text = match said {
        Value::Bool(is_so) => {
            if *is_so {
                "yes"
            } else {
                "no"
            }
        }
        said => said.as_str().unwrap_or_default().trim(),
    };
    let known = names.iter().find(|name| name.eq_ignore_ascii_case(text));
    known.and_then(|name| name.parse().ok()).ok_or_else(|| {
        let names = names.join("\" or \"");
        format!("`verdict` is {}, not \"{names}\"", shown(said))
    })
}

fn shown(value: &Value) -> String {
    clipped(&value.to_string())
}

fn clipped(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests;
