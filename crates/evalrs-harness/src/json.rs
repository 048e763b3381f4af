//! JSON as JavaScript writes it: compact, and a number without a fraction has no point.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// From here on JavaScript writes a number with an exponent (ECMA-262, `Number::toString`).
const LARGE: f64 = 1e21;
/// Below this it does so too.
const SMALL: f64 = 1e-6;
/// Below this every whole number is a number of its own: 2^53.
const SAFE: f64 = 9_007_199_254_740_992.0;

/// The value as compact JSON.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, AsInJavaScript));
    // Nothing that is written here has keys that are no text, and memory takes every byte.
    written.map(|()| String::from_utf8(bytes).unwrap_or_default()).unwrap_or_default()
}

/// The value as indented JSON.
pub(crate) fn to_pretty_json(value: &impl Serialize) -> String {
    // Nothing that is written here has keys that are no text.
    let value = serde_json::to_value(value).unwrap_or_default();
    serde_json::to_string_pretty(&without_fractions(value)).unwrap_or_default()
}

/// The value with numbers that have no fraction as whole numbers.
fn without_fractions(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(without_fractions).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, without_fractions(value))).collect()
        }
        Value::Number(number) => {
            let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0);
            let whole = float.filter(|float| float.abs() < SAFE).map(|float| float as i64);
            whole.map_or(Value::Number(number), Value::from)
        }
        other => other,
    }
}

/// The number as JavaScript prints it: the fewest digits that read back as the same number.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if (SMALL..LARGE).contains(&size) {
        return value.to_string();
    }
    let text = format!("{value:e}");
    if size >= LARGE { text.replace('e', "e+") } else { text }
}

struct AsInJavaScript;

impl Formatter for AsInJavaScript {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> Result<()> {
        writer.write_all(number(value).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{number, to_json, to_pretty_json};

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        // What `String(n)` gives in node 20.
        for (value, expected) in [
            (1.0, "1"),
            (0.0, "0"),
            (-0.0, "0"),
            (-1.5, "-1.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e16, "10000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (-1.5e300, "-1.5e+300"),
            (0.000_001, "0.000001"),
            (0.000_000_1, "1e-7"),
            (1.25e-9, "1.25e-9"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ] {
            assert_eq!(number(value), expected);
            assert_eq!(expected.parse(), Ok(value), "it reads back");
        }
    }

    #[test]
    fn json_is_compact_and_keeps_the_order_of_keys() {
        let value = json!({"b": [1.0, 2, null], "a": {"\u{1b}é": "x\n"}});
        assert_eq!(to_json(&value), r#"{"b":[1,2,null],"a":{"\u001bé":"x\n"}}"#);
        let text = to_pretty_json(&json!({"b": [1.0, -0.0, 2.5, 1e300], "a": {"c": 3}}));
        assert_eq!(
            text.split_whitespace().collect::<String>(),
            r#"{"b":[1,0,2.5,1e+300],"a":{"c":3}}"#
        );
        assert!(text.starts_with("{\n  \"b\": [\n    1,"), "{text}");
        assert_eq!(to_json(&u64::MAX), "18446744073709551615");
    }
}
