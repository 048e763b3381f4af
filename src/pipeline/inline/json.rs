//! JSON as JavaScript writes it: compact, and a number without a fraction has no point.

use std::io::{Result, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// From here on JavaScript writes a number with an exponent (ECMA-262, `Number::toString`).
const LARGE: f64 = 1e21;
/// Below this it does so too.
const SMALL: f64 = 1e-6;

/// The value as compact JSON.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, AsInJavaScript));
    // Nothing that is written here has keys that are no text, and memory takes every byte.
    written.map(|()| String::from_utf8(bytes).unwrap_or_default()).unwrap_or_default()
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

    use super::{number, to_json};

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
        assert_eq!(to_json(&u64::MAX), "18446744073709551615");
    }
}
