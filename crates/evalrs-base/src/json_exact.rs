//! Reads JSON with every number to its last bit, so that what was read is written as it was.
//!
//! The parser itself may miss the last bit of a number with a fraction. Elsewhere that stays as it is: rows of datasets
//! are keyed by what it reads.

use serde::de::{DeserializeOwned, Error as _};
use serde_json::value::RawValue;
use serde_json::{Number, Value};

use super::ordered_map::OrderedMap;

/// How deep values may stand in each other.
const MAX_DEPTH: usize = 128;

/// The value that `bytes` say.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    let raw: &RawValue = serde_json::from_slice(bytes)?;
    serde_json::from_value(value(raw, 0)?)
}

fn value(raw: &RawValue, depth: usize) -> Result<Value, serde_json::Error> {
    let text = raw.get();
    if depth > MAX_DEPTH {
        return Err(serde_json::Error::custom("it is nested too deeply"));
    }
    match text.as_bytes().first() {
        Some(b'{') => {
            let members: OrderedMap<&RawValue> = serde_json::from_str(text)?;
            let members = members.0.into_iter();
            members.map(|(name, member)| Ok((name, value(member, depth + 1)?))).collect()
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            items.into_iter().map(|item| value(item, depth + 1)).collect()
        }
        Some(b'-' | b'0'..=b'9') => match fraction(text) {
            Some(number) => Ok(Value::Number(number)),
            None => serde_json::from_str(text),
        },
        _ => serde_json::from_str(text),
    }
}

/// The number of a text that is not a whole one. The parser of the standard library is exact.
fn fraction(text: &str) -> Option<Number> {
    text.contains(['.', 'e', 'E']).then(|| text.parse().ok().and_then(Number::from_f64)).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::any;
    use proptest::{prop_assert_eq, proptest};
    use serde_json::Value;

    use super::from_slice;

    #[test]
    fn what_was_written_is_written_again() {
        for text in [
            r#"{"b":1,"a":[0.28867513459481287,1e-7,-0.0,true,null,"\u0000\n\"é"],"c":{}}"#,
            "0.1",
            "[]",
            "18446744073709551615",
            "-9223372036854775808",
        ] {
            let read: Value = from_slice(text.as_bytes()).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        for text in ["", "{", "1e999", "[1,]", "\u{0}", "1 2", &deep] {
            assert!(from_slice::<Value>(text.as_bytes()).is_err());
        }
        assert!(from_slice::<Value>(b"\"\xff\"").is_err());
        assert!(from_slice::<u32>(b"\"1\"").is_err());
    }

    proptest! {
        #[test]
        fn every_float_is_read_as_it_was_written(bits in any::<u64>()) {
            let float = f64::from_bits(bits);
            if float.is_finite() {
                let text = serde_json::to_string(&float).unwrap();
                let read: f64 = from_slice(text.as_bytes()).unwrap();
                prop_assert_eq!(read.to_bits(), bits);
            }
        }
    }
}
