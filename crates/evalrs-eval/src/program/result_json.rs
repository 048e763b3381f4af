//! The JSON that a program wrote as its result: one value, in which no key stands twice with different values.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The characters of a result that are shown when it is wrong.
pub(super) const SHOWN: usize = 100;

/// The value that a program wrote: one, with nothing around it.
pub(super) fn json(text: &str) -> Result<Value, String> {
    let value = serde_json::from_str(text).map_err(|_| {
        let shown: String = text.chars().take(SHOWN).collect();
        let is_result =
            |line: &str| line.starts_with('{') && serde_json::from_str::<Value>(line).is_ok();
        let hint = if text.lines().any(is_result) { " (write logs to standard error)" } else { "" };
        format!("Grader output is not valid JSON: {shown}{hint}")
    })?;
    match serde_json::from_str(text) {
        Ok(DoubledKey(Some(key))) => {
            Err(format!("Invalid grader result: `{key}` stands there twice, with different values"))
        }
        Ok(DoubledKey(None)) | Err(_) => Ok(value),
    }
}

/// The first key that an object has twice with different values, of which one would be taken and the other lost. What is
/// no object has none.
struct DoubledKey(Option<String>);

impl<'de> Deserialize<'de> for DoubledKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct DoubledKeyVisitor;

        impl<'de> Visitor<'de> for DoubledKeyVisitor {
            type Value = DoubledKey;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DoubledKey, A::Error> {
                let mut members = Map::new();
                let mut doubled = None;
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    match members.get(&key) {
                        Some(before) if !is_same(before, &value) => {
                            doubled.get_or_insert(key);
                        }
                        Some(_) => {}
                        None => drop(members.insert(key, value)),
                    }
                }
                Ok(DoubledKey(doubled))
            }
        }

        from.deserialize_map(DoubledKeyVisitor)
    }
}

/// Whether two values are one, however its number is written.
fn is_same(one: &Value, other: &Value) -> bool {
    let number = |value: &Value| value.as_number().and_then(serde_json::Number::as_f64);
    one == other || number(one).is_some_and(|one| number(other) == Some(one))
}
