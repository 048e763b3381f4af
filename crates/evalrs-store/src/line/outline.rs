//! What is left of a body without its long parts: enough to say what it is of, when it was made and what it used.
//!
//! By size alone, so that nothing here knows what bodies mean. Pure.

use serde_json::{Map, Value};

/// The longest outline, in bytes.
const MAX_OUTLINE: usize = 4 << 10;
/// The longest text in it, in bytes: where the outline would still be too long, the next one of these.
const LONGEST_TEXTS: [usize; 3] = [400, 80, 20];
/// The most elements of an array in it.
const MAX_ELEMENTS: usize = 64;

/// The body without what is long in it, as the text of an object: all of it that is short.
pub(crate) fn outline(body: &str) -> String {
    let Ok(Value::Object(mut members)) = serde_json::from_str(body) else { return "{}".to_owned() };
    // A line has its own member of that name.
    members.shift_remove("blob");
    let outlines = LONGEST_TEXTS.iter().map(|longest| {
        members = short_members(std::mem::take(&mut members), *longest);
        serde_json::to_string(&members).unwrap_or_default()
    });
    let mut fitting = outlines.skip_while(|text| text.len() > MAX_OUTLINE || text.is_empty());
    fitting.next().unwrap_or_else(|| "{}".to_owned())
}

fn short_members(members: Map<String, Value>, longest: usize) -> Map<String, Value> {
    let short = members.into_iter().filter(|(name, _)| name.len() <= longest);
    short.filter_map(|(name, value)| Some((name, short_value(value, longest)?))).collect()
}

fn short_value(value: Value, longest: usize) -> Option<Value> {
    match value {
        Value::String(text) => (text.len() <= longest).then_some(Value::String(text)),
        Value::Array(elements) => {
            let short = elements.into_iter().take(MAX_ELEMENTS);
            Some(short.filter_map(|element| short_value(element, longest)).collect())
        }
        Value::Object(members) => Some(Value::Object(short_members(members, longest))),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_OUTLINE, outline};

    #[test]
    fn what_is_short_stays_and_what_is_long_goes() {
        let long = "x".repeat(500);
        let middle = "y".repeat(300);
        let many = (0..100).map(|at| at.to_string()).collect::<Vec<_>>().join(",");
        let few = (0..64).map(|at| at.to_string()).collect::<Vec<_>>().join(",");
        let cases = [
            ("{}".to_owned(), "{}".to_owned()),
            (
                format!(r#"{{"outcome":{{"reply":{{"text":"{long}","model":"m"}}}},"at":"now"}}"#),
                r#"{"outcome":{"reply":{"model":"m"}},"at":"now"}"#.to_owned(),
            ),
            (format!(r#"{{"a":["{long}",1,null,[true]]}}"#), r#"{"a":[1,null,[true]]}"#.to_owned()),
            (format!(r#"{{"{long}":1,"a":"{middle}"}}"#), format!(r#"{{"a":"{middle}"}}"#)),
            (format!(r#"{{"a":[{many}]}}"#), format!(r#"{{"a":[{few}]}}"#)),
            (r#"{"blob":{"blake3":""},"a":1}"#.to_owned(), r#"{"a":1}"#.to_owned()),
            // Deeper than can be read.
            (format!(r#"{{"a":{}1{}}}"#, "[".repeat(500), "]".repeat(500)), "{}".to_owned()),
        ];
        for (body, expected) in cases {
            assert_eq!(outline(&body), expected, "{body}");
        }
    }

    #[test]
    fn an_outline_is_never_long() {
        let of = |text: &str, count: usize| {
            let members = (0..count).map(|at| format!(r#""{at}":"{text}""#)).collect::<Vec<_>>();
            outline(&format!(r#"{{"kind":"a",{}}}"#, members.join(",")))
        };
        assert_eq!(of(&"x".repeat(300), 20), r#"{"kind":"a"}"#, "shorter texts are kept then");
        assert_eq!(of(&"x".repeat(70), 200), r#"{"kind":"a"}"#);
        assert_eq!(of("x", 2000), "{}");
        assert!(of("x", 300).len() <= MAX_OUTLINE);
    }
}
