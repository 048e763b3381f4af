//! Mappings of a suite as they are written back: what the writers of all sections share.

use serde_json::Value;

/// A mapping without what a suite does not say: null, and empty lists and mappings.
pub(crate) fn without_empty(mut mapping: Value) -> Value {
    if let Some(members) = mapping.as_object_mut() {
        members.retain(|_, value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            _ => true,
        });
    }
    mapping
}

/// Adds what the mapping `more` says to the mapping `base`.
pub(crate) fn extend(base: &mut Value, more: Value) {
    if let (Some(members), Value::Object(more)) = (base.as_object_mut(), more) {
        members.extend(more);
    }
}

/// Takes the members with these names out of a mapping.
pub(crate) fn leave_out(mapping: &mut Value, names: &[&str]) {
    if let Some(members) = mapping.as_object_mut() {
        members.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// Calls what a mapping says of `old` by the name `new`, at the same place.
pub(crate) fn rename(mapping: &mut Value, old: &str, new: &str) {
    if let Value::Object(members) = mapping.take() {
        let renamed = members.into_iter().map(|(name, value)| {
            let name = if name == old { new.to_owned() } else { name };
            (name, value)
        });
        *mapping = renamed.collect();
    }
}
