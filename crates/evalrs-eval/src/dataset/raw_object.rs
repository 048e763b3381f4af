//! A JSON object whose members stay texts, in the order they were written, also where a key is there twice.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use evalrs_base::path;

/// The members of a JSON object in order, unread.
#[derive(Debug, Default)]
pub struct RawObject<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> RawObject<'a> {
    /// The member `name`; the last one, as everywhere in JSON, if it appears twice.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The names of its members.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_ref())
    }

    /// Its members in order.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// The value at a dotted path; at each level the longest matching key wins.
    pub fn at_path(&self, path: &str) -> Option<&'a RawValue> {
        let found = |end: usize| raw_at(self.get(path.get(..end)?)?, path.get(end..)?);
        path::key_ends(path).filter_map(found).last()
    }

    /// The first name that was seen before, with its second value.
    pub fn twice(&self) -> Option<(&str, &'a RawValue)> {
        let mut seen = BTreeSet::new();
        let again = self.0.iter().find(|(key, _)| !seen.insert(key.as_ref()))?;
        Some((again.0.as_ref(), again.1))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Members).map(RawObject)
    }
}

#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// [`evalrs_base::path::lookup`] over values that are not read.
pub(super) fn raw_at<'a>(raw: &'a RawValue, path: &str) -> Option<&'a RawValue> {
    let path = path.strip_prefix('.').unwrap_or(path);
    if path.is_empty() {
        return Some(raw);
    }
    if let Ok(object) = serde_json::from_str::<RawObject<'a>>(raw.get()) {
        return object.at_path(path);
    }
    let items: Vec<&'a RawValue> = serde_json::from_str(raw.get()).ok()?;
    let (index, rest) = path::index(path)?;
    raw_at(items.get(index)?, rest)
}
