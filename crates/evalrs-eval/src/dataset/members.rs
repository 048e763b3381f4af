//! What a record is given beyond what was written: where it was found, and an id that follows from that.
//!
//! Members are added behind those of the record, so that the places of its own stay right. A record keeps what it has: a
//! member of a name that is taken is added part by part under its dotted paths, which paths find as well.

use std::borrow::Cow;

use serde_json::Value;

use super::fields::aliases;
use super::raw_object::RawObject;
use super::raw_record::RawRecord;
use evalrs_model::spec::FieldMap;

/// What is added to records.
#[derive(Clone, Debug, Default)]
pub(super) struct AddedMembers {
    /// Names and JSON texts.
    all: Vec<(String, String)>,
    /// The id of a record that has none.
    id: Option<String>,
}

impl AddedMembers {
    /// None but the id of a record that has none.
    pub(super) fn of(id: Option<String>) -> Self {
        Self { all: Vec::new(), id }
    }

    pub(super) fn add(&mut self, name: &str, value: &Value) {
        self.add_raw(name, &value.to_string());
    }

    /// Adds a value that is JSON text already.
    pub(super) fn add_raw(&mut self, name: &str, json: &str) {
        self.all.push((name.to_owned(), json.to_owned()));
    }
}

/// The record with these members. One that is no object stays as it is: what reads it says so.
pub(super) fn with_members<'a>(
    record: RawRecord<'a>,
    members: &AddedMembers,
    fields: &FieldMap,
) -> RawRecord<'a> {
    let Ok(object) = serde_json::from_str::<RawObject<'_>>(&record.text) else { return record };
    let mut added = Vec::new();
    for (name, json) in &members.all {
        if object.get(name).is_none() {
            added.push((Cow::Borrowed(name.as_str()), Cow::Borrowed(json.as_str())));
        } else if let Ok(Value::Object(parts)) = serde_json::from_str(json) {
            added.extend(parts.into_iter().map(|(part, value)| {
                (Cow::Owned(format!("{name}.{part}")), Cow::Owned(value.to_string()))
            }));
        }
    }
    let is_mapped = fields.paths.iter().any(|(ours, _)| ours == "id");
    let has_id = ["id"].iter().chain(aliases("id")).any(|name| object.get(name).is_some());
    if let Some(id) = members.id.as_ref().filter(|_| !is_mapped && !has_id) {
        added.push((Cow::Borrowed("id"), Cow::Owned(Value::from(id.as_str()).to_string())));
    }
    if added.is_empty() {
        return record;
    }
    let is_empty = object.names().next().is_none();
    let text = record.text.trim_end();
    let mut text = text.strip_suffix('}').unwrap_or(text).to_owned();
    for (at, (name, json)) in added.iter().enumerate() {
        if at > 0 || !is_empty {
            text.push(',');
        }
        text.push_str(&Value::from(name.as_ref()).to_string());
        text.push(':');
        text.push_str(json);
    }
    text.push('}');
    RawRecord { text: Cow::Owned(text), ..record }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::{AddedMembers, with_members};
    use crate::dataset::split::{RawRecord, RecordStart};
    use evalrs_model::spec::FieldMap;

    #[test]
    fn members_are_added_behind_those_that_are_there() {
        let mut members = AddedMembers::of(Some("a\"b".to_owned()));
        members.add("file", &json!({"stem": "x", "parents": ["y"]}));
        members.add("key", &json!("k"));
        let file = r#""file":{"stem":"x","parents":["y"]},"key":"k""#;
        for (record, expected) in [
            ("{}", format!(r#"{{{file},"id":"a\"b"}}"#)),
            ("{ \"n\": 1 } ", format!(r#"{{ "n": 1 ,{file},"id":"a\"b"}}"#)),
            (r#"{"sample_id": 1}"#, format!(r#"{{"sample_id": 1,{file}}}"#)),
            (
                r#"{"id": 1, "key": 2}"#,
                r#"{"id": 1, "key": 2,"file":{"stem":"x","parents":["y"]}}"#.to_owned(),
            ),
            (
                r#"{"id": 1, "file": "own"}"#,
                r#"{"id": 1, "file": "own","file.stem":"x","file.parents":["y"],"key":"k"}"#
                    .to_owned(),
            ),
            ("[1]", "[1]".to_owned()),
            ("{", "{".to_owned()),
        ] {
            let raw = RawRecord { text: Cow::Borrowed(record), start: RecordStart::default() };
            assert_eq!(with_members(raw, &members, &FieldMap::default()).text, expected);
        }
    }

    #[test]
    fn what_the_suite_calls_the_id_goes_before_what_is_added() {
        let members = AddedMembers::of(Some("key".to_owned()));
        let fields =
            FieldMap { paths: vec![("id".to_owned(), "query".to_owned())], ..FieldMap::default() };
        let text = r#"{"query": "q"}"#;
        let raw = RawRecord { text: Cow::Borrowed(text), start: RecordStart::default() };
        assert_eq!(with_members(raw, &members, &fields).text, text);
    }
}
