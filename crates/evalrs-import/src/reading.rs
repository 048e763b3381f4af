//! Shared by importers of logs and records: JSON with its faults, names that suites can use, places in texts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::imported::{ImportError, SourcePlace};
use super::secrets::without_keys;
use super::source::ImportSource;
use evalrs_base::diagnostic::Place;
use evalrs_base::json_syntax::slip;
use evalrs_eval::dataset::without_odd_numbers;

/// The beginning of a source's own file, as text.
pub(super) fn head(source: &ImportSource<'_>) -> String {
    if source.is_folder() {
        String::new()
    } else {
        String::from_utf8_lossy(source.head()).into_owned()
    }
}

/// Whether a path has an extension.
pub(super) fn ends_in(path: &str, extension: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, found)| found == extension)
}

/// Whether a text has all of these as keys of JSON.
pub(super) fn has_keys(text: &str, keys: &[&str]) -> bool {
    keys.iter().all(|key| text.contains(&format!("\"{key}\"")))
}

/// The text of a file that must be there.
pub(super) fn text(source: &ImportSource<'_>, path: &str) -> Result<String, ImportError> {
    source.text(path).map_err(|why| ImportError::unread(path, why, "name a file of JSON"))
}

/// The JSON in a text; `NaN` and `Infinity`, which Python writes, are null.
pub(super) fn json(path: &str, text: &str) -> Result<Value, ImportError> {
    let plain = without_odd_numbers(text);
    serde_json::from_str(&plain).map_err(|error| {
        let slip = slip(&plain, &error);
        let place = Place::in_text(path, &plain, slip.span.clone());
        ImportError::Diagnostics(vec![slip.diagnostic("bad JSON", place)])
    })
}

/// A value and its place.
#[derive(Clone, Debug, Default)]
pub(super) struct PlacedValue {
    pub value: Value,
    pub place: SourcePlace,
}

/// The records of a text: of JSON Lines, of a JSON array, or one value.
pub(super) fn records(path: &str, text: &str) -> Result<Vec<PlacedValue>, ImportError> {
    let placed = |value, line| PlacedValue { value, place: SourcePlace::new(path, line) };
    let is_whole = text.trim_start().starts_with('[');
    if !is_whole && text.lines().filter(|line| !line.trim().is_empty()).nth(1).is_some() {
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        let read = lines.map(|(line, number)| {
            Some(placed(serde_json::from_str(&without_odd_numbers(line)).ok()?, number))
        });
        if let Some(records) = read.collect() {
            return Ok(records);
        }
    }
    Ok(match json(path, text)? {
        Value::Array(items) => items.into_iter().map(|value| placed(value, 0)).collect(),
        value => vec![placed(value, 1)],
    })
}

/// The name of a file without its folder and its ending.
pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The line of the first occurrence, from 1; 0 if there is none.
pub(super) fn line_of(text: &str, needle: &str) -> usize {
    text.find(needle).map_or(0, |at| {
        memchr::memchr_iter(b'\n', text.as_bytes().get(..at).unwrap_or_default()).count() + 1
    })
}

/// Names of graders, files and models, each of which is given once.
#[derive(Default)]
pub(super) struct GivenNames {
    given: BTreeSet<String>,
    /// The last number behind each name.
    last: BTreeMap<String, usize>,
}

impl GivenNames {
    /// `name` with nothing but letters, digits, `_` and `-`, and a number behind it if that was given before.
    pub(super) fn give(&mut self, name: &str) -> String {
        let plain = plain_name(name);
        let mut given = plain.clone();
        while !self.given.insert(given.clone()) {
            let count = self.last.entry(plain.clone()).or_insert(1);
            *count += 1;
            given = format!("{plain}_{count}");
        }
        given
    }
}

/// The beginning of a text, of this many characters, without any part of a key in it.
pub(super) fn beginning(text: &str, length: usize) -> String {
    /// What is looked at: more than any key is long.
    const MOST: usize = 1 << 16;
    let text = text.char_indices().nth(MOST).map_or(text, |(at, _)| &text[..at]);
    without_keys(text).chars().take(length).collect()
}

/// A name with nothing but letters, digits, `_` and `-`, and without what looks like a key: files may be called so.
pub(super) fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = beginning(name, 60).chars().map(plain).collect();
    let name = name.trim_matches('_').to_owned();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// The name of a criterion, unlike those that are `taken`: small letters, digits and `_`, and a letter first.
pub(super) fn criterion_name(name: &str, taken: &Map<String, Value>) -> String {
    /// Names that a suite gives another meaning.
    const RESERVED: [&str; 5] = ["pass", "score", "submission", "pass_rate", "error"];
    let plain = plain_name(name).to_ascii_lowercase().replace('-', "_");
    let is_name = plain.starts_with(|first: char| first.is_ascii_lowercase());
    let plain = if is_name && !RESERVED.contains(&plain.as_str()) {
        plain
    } else {
        format!("criterion_{plain}")
    };
    let numbered = (2..).map(|number| format!("{plain}_{number}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(|name| !taken.contains_key(name)).unwrap_or_default()
}

/// A text as it is, nothing for null, anything else as JSON.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The member `name` of a value, if it is a text.
pub(super) fn text_in<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str()
}

/// The items of the member `name` of a value; none if it is not a list.
pub(super) fn items_in<'v>(value: &'v Value, name: &str) -> std::slice::Iter<'v, Value> {
    value.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter()
}

/// The first text that is not empty at one of several places of a value.
pub(super) fn text_at<'v>(value: &'v Value, pointers: &[&str]) -> Option<&'v str> {
    pointers
        .iter()
        .find_map(|pointer| value.pointer(pointer)?.as_str())
        .filter(|text| !text.is_empty())
}

/// The first value that is there and not null.
pub(super) fn first<'v>(value: &'v Value, pointers: &[&str]) -> Option<&'v Value> {
    pointers.iter().find_map(|pointer| value.pointer(pointer).filter(|found| !found.is_null()))
}

/// Puts a value into an object, if there is one.
pub(super) fn put(object: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object[name] = value.into();
    }
}

/// Adds the members of one object to another.
pub(super) fn extend(object: &mut Value, more: &Value) {
    for (name, value) in more.as_object().into_iter().flatten() {
        object[name] = value.clone();
    }
}

/// The text of a content of messages: of several parts their texts, with `between` in between.
pub(super) fn content_text(content: &Value, between: &str) -> String {
    match content {
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").unwrap_or(part).as_str());
            texts.collect::<Vec<_>>().join(between)
        }
        other => as_text(other),
    }
}

/// The last message of the user.
pub(super) fn last_of_user(messages: &[Value]) -> Option<&Value> {
    messages.iter().rfind(|message| text_at(message, &["/role"]) == Some("user"))
}

#[cfg(test)]
mod tests {
    use super::GivenNames;

    #[test]
    fn no_name_is_given_twice() {
        let mut names = GivenNames::default();
        let long = "x".repeat(70);
        let asked = ["a", "a", "a_2", "a", "a_3", "", "_", &long, &long, &format!("{long}y")];
        let given = asked.map(|name| names.give(name));
        let plain = "x".repeat(60);
        let expected =
            ["a", "a_2", "a_2_2", "a_3", "a_3_2", "unnamed", "unnamed_2"].map(str::to_owned);
        let of_long = [plain.clone(), format!("{plain}_2"), format!("{plain}_3")];
        assert_eq!(given.to_vec(), [&expected[..], &of_long[..]].concat());
    }
}
