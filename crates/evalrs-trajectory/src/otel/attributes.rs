//! Attributes of spans and events, however they are written: OTLP's lists of keys with typed values, flat names with dots,
//! or nested objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::content::json_text;

/// The attributes of a span, an event or one message among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes(Map<String, Value>);

impl Attributes {
    /// Reads attributes: a list of `{key, value}`, or an object.
    pub(super) fn read(value: &Value) -> Self {
        match value {
            Value::Array(list) => Self(key_values(list)),
            Value::Object(members) => Self(members.clone()),
            _ => Self::default(),
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the attribute `name`: one of that name, or one inside others that its parts name.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        if let Some(value) = self.0.get(name) {
            return Some(value).filter(|value| !value.is_null());
        }
        let dots = name.match_indices('.').map(|(at, _)| at);
        let inside = |at: usize| Some((self.0.get(&name[..at])?, &name[at + 1..]));
        dots.filter_map(inside).find_map(|(value, rest)| walk(value, rest))
    }

    /// The text of the attribute `name`.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// The first of the attributes of these names that is not empty, as text: JSON if it is none.
    pub(super) fn first_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.get(name)).map(json_text).filter(|text| !text.is_empty())
    }

    /// The number of the attribute `name`, also if it is written as text.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let value = self.get(name)?;
        let number = value.as_f64().or_else(|| value.as_str()?.parse().ok());
        number.filter(|number| number.is_finite() && *number >= 0.0)
    }

    /// A value that is written as JSON text, or as it is.
    pub(super) fn json(&self, name: &str) -> Option<Value> {
        match self.get(name)? {
            Value::String(text) => serde_json::from_str(text).ok(),
            value => Some(value.clone()),
        }
    }

    /// The items of a list that is written as `PREFIX.0.…`, `PREFIX.1.…`, or as a list, in their order.
    pub(super) fn items(&self, prefix: &str) -> Vec<Self> {
        if let Some(Value::Array(items)) = self.get(prefix) {
            return items.iter().map(Self::read).collect();
        }
        let mut items: BTreeMap<u32, Map<String, Value>> = BTreeMap::new();
        if let Some(Value::Object(members)) = self.get(prefix) {
            for (index, value) in members {
                let Ok(index) = index.parse() else { continue };
                let members = value.as_object().cloned().unwrap_or_default();
                items.entry(index).or_default().extend(members);
            }
        }
        for (name, value) in &self.0 {
            let rest = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.'));
            let Some((index, rest)) = rest.and_then(|rest| rest.split_once('.')) else { continue };
            let Ok(index) = index.parse() else { continue };
            items.entry(index).or_default().insert(rest.to_owned(), value.clone());
        }
        items.into_values().map(Self).collect()
    }

    /// The value under `name.…`, if any.
    pub(super) fn inside(&self, name: &str) -> Option<Self> {
        if let Some(Value::Object(members)) = self.0.get(name) {
            return Some(Self(members.clone()));
        }
        let inner = self.0.iter().filter_map(|(key, value)| {
            let rest = key.strip_prefix(name)?.strip_prefix('.')?;
            Some((rest.to_owned(), value.clone()))
        });
        Some(inner.collect::<Map<_, _>>()).filter(|inner| !inner.is_empty()).map(Self)
    }

    /// The same with `name`, unless it has that.
    pub(super) fn with(&self, name: &str, value: &str) -> Self {
        let mut members = self.0.clone();
        members.entry(name).or_insert_with(|| Value::from(value));
        Self(members)
    }
}

/// The value at a path of names that may have dots in them.
fn walk<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = value;
    for part in path.split('.') {
        value = match value {
            Value::Object(members) => members.get(part)?,
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value).filter(|value| !value.is_null())
}

/// The members of OTLP's list of keys and values.
fn key_values(list: &[Value]) -> Map<String, Value> {
    let member = |entry: &Value| {
        let key = entry.get("key")?.as_str()?;
        Some((key.to_owned(), entry.get("value").map(any_value).unwrap_or_default()))
    };
    list.iter().filter_map(member).collect()
}

/// What OTLP writes as an object that names the type.
fn any_value(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    let Some((kind, inner)) = members.iter().next() else { return Value::Null };
    let list = |inner: &Value| inner.get("values").and_then(Value::as_array).cloned();
    match kind.as_str() {
        "intValue" | "int_value" => integer(inner),
        "arrayValue" | "array_value" => {
            list(inner).unwrap_or_default().iter().map(any_value).collect()
        }
        "kvlistValue" | "kvlist_value" => {
            Value::Object(key_values(&list(inner).unwrap_or_default()))
        }
        "stringValue" | "string_value" | "boolValue" | "bool_value" | "doubleValue"
        | "double_value" | "bytesValue" | "bytes_value" => inner.clone(),
        _ => value.clone(),
    }
}

/// Integers of 64 bits are text in OTLP's JSON.
fn integer(value: &Value) -> Value {
    let number = value.as_str().and_then(|text| text.parse::<i64>().ok());
    number.map_or_else(|| value.clone(), Value::from)
}
