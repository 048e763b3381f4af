//! Reads a judge's reply.
//!
//! A score outside the range is a fault, not a score to be clamped: clamping hides broken judges. The text
//! around a JSON object and code fences are forgiven, nothing else is.

use serde_json::{Map, Value};

/// A judge's verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The score mapped to 0.0..=1.0.
    pub score: f64,
    /// The score as the judge gave it.
    pub native: f64,
    /// Why; empty if the judge gave no reason.
    pub rationale: String,
}

/// The verdict in `text`, or what is wrong with it as a sentence that can be told to the judge.
pub fn read(text: &str, (min, max): (f64, f64)) -> Result<Verdict, String> {
    let object = object_in(text)?;
    let native = match object.get("score") {
        None | Some(Value::Null) => return Err("the reply has no `score`".to_owned()),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(_) => None,
    };
    let native = native.filter(|score| score.is_finite()).ok_or_else(|| {
        format!("`score` is {}, not a number from {min} to {max}", shown(object.get("score")))
    })?;
    if native < min || native > max {
        return Err(format!("`score` is {native}, outside {min} to {max}"));
    }
    let rationale = match object.get("rationale") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Ok(Verdict { score: (native - min) / (max - min), native, rationale })
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map(ToString::to_string).unwrap_or_default();
    text.chars().take(60).collect()
}

/// The JSON object of the reply: the whole text, else the object in it that has a `score`. Of several with different
/// scores none is believed: a judge may quote one that the submission holds.
fn object_in(text: &str) -> Result<Map<String, Value>, String> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err("the reply is empty".to_owned());
    }
    let whole = match serde_json::from_str(trimmed) {
        Ok(Value::Object(object)) => return Ok(object),
        Ok(_) => return Err("the reply is JSON but no object".to_owned()),
        Err(error) => error,
    };
    let starts = trimmed.match_indices('{').map(|(at, _)| at).take(64);
    let mut found: Option<Map<String, Value>> = None;
    let mut end = 0;
    for start in starts {
        if start < end {
            continue;
        }
        let mut stream = serde_json::Deserializer::from_str(&trimmed[start..]).into_iter::<Value>();
        if let Some(Ok(Value::Object(object))) = stream.next()
            && object.contains_key("score")
        {
            end = start + stream.byte_offset();
            if found.as_ref().is_some_and(|first| first.get("score") != object.get("score")) {
                return Err("the reply holds several verdicts with different scores".to_owned());
            }
            found.get_or_insert(object);
        }
    }
    found.ok_or_else(|| {
        format!("the reply is no JSON object: {}", crate::dataset::syntax::plain_message(&whole))
    })
}

#[cfg(test)]
mod tests {
    use super::{Verdict, read};

    #[test]
    fn replies_are_read_or_refused_with_a_reason() {
        let ok = |score: f64, rationale: &str| {
            Ok(Verdict { score, native: score, rationale: rationale.to_owned() })
        };
        let no = |message: &str| Err(message.to_owned());
        for (text, expected) in [
            (r#"{"score": 0.5, "rationale": "so"}"#, ok(0.5, "so")),
            (r#"{"score": 1}"#, ok(1.0, "")),
            (r#"{"score": "0.25", "rationale": null}"#, ok(0.25, "")),
            (r#"{"score": 0, "rationale": ["a"]}"#, ok(0.0, "[\"a\"]")),
            ("```json\n{\"score\": 1, \"rationale\": \"x\"}\n```", ok(1.0, "x")),
            ("Here {is} it: {\"score\": 0.75, \"rationale\": \"{}\"} Bye.", ok(0.75, "{}")),
            ("A{\"score\": 1, \"sub\": {\"score\": 0}} B{\"score\": 1}", ok(1.0, "")),
            (
                "It says {\"score\": 1}. So: {\"score\": 0}",
                no("the reply holds several verdicts with different scores"),
            ),
            (r#"{"score": 1.5}"#, no("`score` is 1.5, outside 0 to 1")),
            (r#"{"score": -0.1}"#, no("`score` is -0.1, outside 0 to 1")),
            (r#"{"score": true}"#, no("`score` is true, not a number from 0 to 1")),
            (r#"{"score": "NaN"}"#, no("`score` is \"NaN\", not a number from 0 to 1")),
            (r#"{"score": "high"}"#, no("`score` is \"high\", not a number from 0 to 1")),
            (r#"{"rationale": "so"}"#, no("the reply has no `score`")),
            (r#"{"score": null}"#, no("the reply has no `score`")),
            ("[0.5]", no("the reply is JSON but no object")),
            ("  ", no("the reply is empty")),
            ("great!", no("the reply is no JSON object: expected value")),
        ] {
            assert_eq!(read(text, (0.0, 1.0)), expected, "{text}");
        }
    }

    #[test]
    fn a_scale_is_mapped_to_the_unit_range() {
        let read = |text| read(text, (1.0, 5.0)).map(|verdict| (verdict.native, verdict.score));
        assert_eq!(read(r#"{"score": 1}"#), Ok((1.0, 0.0)));
        assert_eq!(read(r#"{"score": 4}"#), Ok((4.0, 0.75)));
        assert_eq!(read(r#"{"score": 0}"#), Err("`score` is 0, outside 1 to 5".to_owned()));
    }
}
