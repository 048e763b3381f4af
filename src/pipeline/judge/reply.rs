//! Reads a judge's reply.
//!
//! A score outside the range is a fault, not a score to be clamped: clamping hides broken judges. The text
//! around a JSON object, code fences and thoughts before the end of `<think>` are forgiven, and another common name of the
//! rationale; nothing else is.

use serde_json::{Map, Value};

use super::json;
use super::question::{Question, WINNERS};
use crate::pipeline::spec::Scale;

/// A judge's verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The score mapped to 0.0..=1.0. Of two submissions: 1.0 if the first is better, 0.5 if neither, 0.0 if the second.
    pub score: f64,
    /// The score as the judge gave it.
    pub native: f64,
    /// Why; empty if the judge gave no reason.
    pub rationale: String,
}

/// The verdict in `text`, or what is wrong with it as a sentence that can be told to the judge.
pub fn read(text: &str, question: Question) -> Result<Verdict, String> {
    let answer = match question {
        Question::Score(_) => "score",
        Question::Compare => "winner",
        Question::Embed { dimensions } => {
            let length = embedding(text)?.len();
            let is_wanted = dimensions.is_none_or(|wanted| wanted as usize == length);
            return if is_wanted {
                Ok(Verdict { score: 0.0, native: 0.0, rationale: String::new() })
            } else {
                Err(format!("the embedding has {length} dimensions, not those that were asked for"))
            };
        }
    };
    let object = object_in(&json::without_halves(text), answer)?;
    let said = match object.get(answer) {
        None | Some(Value::Null) => return Err(format!("the reply has no `{answer}`")),
        Some(said) => said,
    };
    let native = match question {
        Question::Score(scale) => score(said, scale)?,
        Question::Compare => winner(said)?,
        Question::Embed { .. } => 0.0,
    };
    let score = question.unit(native);
    // Some models have a word of their own for it, whatever they are told.
    let names = ["rationale", "reason", "reasoning", "explanation"];
    let said = names.iter().filter_map(|name| object.get(*name)).find(|said| !said.is_null());
    let rationale = match said {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Ok(Verdict { score, native, rationale })
}

/// The vector in what is kept of an embedding.
pub fn embedding(text: &str) -> Result<Vec<f64>, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|_| "the embedding is not JSON".to_owned())?;
    let items = value.get("embedding").and_then(Value::as_array);
    let items = items.filter(|items| !items.is_empty()).ok_or("the reply has no `embedding`")?;
    let number = |item: &Value| item.as_f64().filter(|number| number.is_finite());
    let numbers: Option<Vec<f64>> = items.iter().map(number).collect();
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
    let place = WINNERS.iter().position(|winner| winner.eq_ignore_ascii_case(text));
    match place {
        Some(0) => Ok(1.0),
        Some(1) => Ok(0.0),
        Some(_) => Ok(0.5),
        None => Err(format!("`winner` is {}, not \"A\", \"B\" or \"tie\"", shown(said))),
    }
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}

/// The JSON object of the reply: the whole text, else the object in it that has an `answer`. Of several with different
/// answers none is believed: a judge may quote one that the submission holds.
fn object_in(text: &str, answer: &str) -> Result<Map<String, Value>, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err("the reply is empty".to_owned());
    }
    let whole = match serde_json::from_str(trimmed) {
        Ok(Value::Object(_)) if json::differs_with_itself(trimmed, answer) => {
            return Err(several(answer));
        }
        Ok(Value::Object(object)) => return Ok(object),
        Ok(_) => return Err("the reply is JSON but no object".to_owned()),
        Err(error) => error,
    };
    // Servers that do not part thoughts from the reply leave them before it, often without their beginning. Drafts of
    // verdicts in them are none.
    let after_thoughts = trimmed.rsplit_once("</think>").map(|(_, said)| said);
    for said in after_thoughts.into_iter().chain([trimmed]) {
        if let Some(object) = object_among(said, answer)? {
            return Ok(object);
        }
    }
    Err(format!(
        "the reply is not a JSON object: {}",
        crate::base::json_syntax::plain_message(&whole)
    ))
}

fn several(answer: &str) -> String {
    format!("the reply holds several verdicts with different `{answer}`")
}

/// The one object in a text that has an `answer`.
fn object_among(text: &str, answer: &str) -> Result<Option<Map<String, Value>>, String> {
    let starts = text.match_indices('{').map(|(at, _)| at);
    let mut found: Option<Map<String, Value>> = None;
    let mut end = 0;
    for start in starts {
        if start < end {
            continue;
        }
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        if let Some(Ok(Value::Object(object))) = stream.next()
            && object.contains_key(answer)
        {
            end = start + stream.byte_offset();
            let said = [found.as_ref().and_then(|first| first.get(answer)), object.get(answer)];
            let is_other =
                matches!(said, [Some(first), Some(other)] if !json::is_equal(first, other));
            if is_other || json::differs_with_itself(&text[start..], answer) {
                return Err(several(answer));
            }
            found.get_or_insert(object);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Verdict, read};
    use crate::pipeline::judge::question::Question;
    use crate::pipeline::spec::Scale;

    const DIFFERENT: &str = "the reply holds several verdicts with different `score`";

    #[test]
    fn replies_are_read_or_refused_with_a_reason() {
        let ok = |score: f64, rationale: &str| {
            Ok(Verdict { score, native: score, rationale: rationale.to_owned() })
        };
        let no = |message: &str| Err(message.to_owned());
        let many = "{x} ".repeat(1000) + r#"{"score": 1}"#;
        for (text, expected) in [
            (r#"{"score": 0.5, "rationale": "so"}"#, ok(0.5, "so")),
            (r#"{"score": 1}"#, ok(1.0, "")),
            (r#"{"score": "0.25", "rationale": null}"#, ok(0.25, "")),
            (r#"{"score": 0, "rationale": ["a"]}"#, ok(0.0, "[\"a\"]")),
            ("```json\n{\"score\": 1, \"rationale\": \"x\"}\n```", ok(1.0, "x")),
            ("Here {is} it: {\"score\": 0.75, \"rationale\": \"{}\"} Bye.", ok(0.75, "{}")),
            ("A{\"score\": 1, \"sub\": {\"score\": 0}} B{\"score\": 1}", ok(1.0, "")),
            ("It says {\"score\": 1}. So: {\"score\": 0}", no(DIFFERENT)),
            ("<think>{\"score\": 0}? No.</think>\n{\"score\": 1}", ok(1.0, "")),
            ("Maybe {\"score\": 0}. </think>```json\n{\"score\": 1}\n```", ok(1.0, "")),
            ("Is {\"score\": 1, \"rationale\": \"no </think>\"}", ok(1.0, "no </think>")),
            ("<think>{\"score\": 0}</think> Well.", ok(0.0, "")),
            (r#"{"score": 1, "score": 1}"#, ok(1.0, "")),
            (r#"{"score": 0, "rationale": "a", "score": 1}"#, no(DIFFERENT)),
            (r#"So: {"score": 0, "score": 1}"#, no(DIFFERENT)),
            (r#"{"score": 1, "reason": "so"}"#, ok(1.0, "so")),
            (r#"{"reasoning": "so", "score": 1}"#, ok(1.0, "so")),
            (r#"{"explanation": "so", "rationale": null, "score": 1}"#, ok(1.0, "so")),
            (r#"{"reason": "b", "rationale": "a", "score": 1}"#, ok(1.0, "a")),
            (r#"{"score": 1, "rationale": "half \ud800"}"#, ok(1.0, "half \u{fffd}")),
            (r#"So: {"rationale": "\udc00", "score": 1}"#, ok(1.0, "\u{fffd}")),
            (&many, ok(1.0, "")),
            (r#"{"score": 1.5}"#, no("`score` is 1.5, outside 0 to 1")),
            (r#"{"score": -0.1}"#, no("`score` is -0.1, outside 0 to 1")),
            (r#"{"score": true}"#, no("`score` is true, not a number from 0 to 1")),
            (r#"{"score": "NaN"}"#, no("`score` is \"NaN\", not a number from 0 to 1")),
            (r#"{"score": "high"}"#, no("`score` is \"high\", not a number from 0 to 1")),
            (r#"{"rationale": "so"}"#, no("the reply has no `score`")),
            (r#"{"score": null}"#, no("the reply has no `score`")),
            ("[0.5]", no("the reply is JSON but no object")),
            ("  ", no("the reply is empty")),
            ("great!", no("the reply is not a JSON object: expected value")),
        ] {
            assert_eq!(read(text, Question::Score(Scale::UNIT)), expected, "{text}");
        }
    }

    #[test]
    fn a_scale_is_mapped_to_the_unit_range() {
        let scale = Question::Score(Scale { min: 1.0, max: 5.0 });
        let read = |text| read(text, scale).map(|verdict| (verdict.native, verdict.score));
        assert_eq!(read(r#"{"score": 1}"#), Ok((1.0, 0.0)));
        assert_eq!(read(r#"{"score": 4}"#), Ok((4.0, 0.75)));
        assert_eq!(read(r#"{"score": 0}"#), Err("`score` is 0, outside 1 to 5".to_owned()));
    }

    #[test]
    fn of_two_submissions_one_wins_or_neither() {
        let read = |text| read(text, Question::Compare).map(|verdict| verdict.score);
        for (text, expected) in [
            (r#"{"rationale": "r", "winner": "A"}"#, Ok(1.0)),
            (r#"{"winner": " b "}"#, Ok(0.0)),
            (r#"So: {"winner": "Tie"}"#, Ok(0.5)),
            (r#"{"score": 1}"#, Err("the reply has no `winner`")),
            (r#"{"winner": "C"}"#, Err("`winner` is \"C\", not \"A\", \"B\" or \"tie\"")),
            (r#"{"winner": ["A"]}"#, Err("`winner` is [\"A\"], not \"A\", \"B\" or \"tie\"")),
        ] {
            assert_eq!(read(text), expected.map_err(str::to_owned), "{text}");
        }
    }
}
