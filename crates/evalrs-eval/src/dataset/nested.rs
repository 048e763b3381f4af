//! Records inside a JSON or YAML file: the entries of a list or of a mapping somewhere in it.
//!
//! The key of an entry of a mapping stands in its record as `key`, and what `fields` names as `root.PATH` is taken from the
//! file itself, so that what is said once of all records reaches each of them. An entry that is no object is the `value`
//! of its record.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use super::members::{AddedMembers, with_members};
use super::plain_json::PlainJson;
use super::raw_object::{RawObject, raw_at};
use super::raw_record::{
    LineCounter, RECORD_LIMIT, RawRecord, RecordStart, bad_json, line_place, too_long,
};
use evalrs_base::diagnostic::{Diagnostic, Place, clipped};
use evalrs_base::json_syntax::kind_of;
use evalrs_model::spec::FieldMap;

/// The prefix of a path into the file that a record was found in.
const ROOT: &str = "root.";

/// The records at `records` in the JSON `text` of the file at `path`, of which `fields` are read.
pub(super) fn entries<'a>(
    path: &str,
    text: &'a str,
    records: &str,
    fields: &FieldMap,
) -> Result<Vec<RawRecord<'a>>, Diagnostic> {
    let plain = PlainJson::of(text);
    match &plain.text {
        Cow::Borrowed(text) => entries_of(path, text, records, fields),
        Cow::Owned(read) => {
            let found = entries_of(path, read, records, fields)?.into_iter();
            Ok(found.map(|record| plain.written(record)).collect())
        }
    }
}

fn entries_of<'a>(
    path: &str,
    text: &'a str,
    records: &str,
    fields: &FieldMap,
) -> Result<Vec<RawRecord<'a>>, Diagnostic> {
    let root: &RawValue =
        serde_json::from_str(text).map_err(|error| bad_json(path, text, &error))?;
    let found = raw_at(root, records).ok_or_else(|| nothing_at(path, root, records))?;
    let of_root = of_root(root, fields);
    let mut reader = EntryReader { path, text, fields, of_root, lines: LineCounter::default() };
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(found.get()) {
        return items.into_iter().map(|item| reader.record(None, item)).collect();
    }
    match serde_json::from_str::<RawObject<'_>>(found.get()) {
        Ok(object) => {
            object.members().map(|(key, value)| reader.record(Some(key), value)).collect()
        }
        Err(_) => Err(no_records(path, text, records, found)),
    }
}

/// A problem of the whole file, under the path by which `fields` names it.
fn of_root(root: &RawValue, fields: &FieldMap) -> Vec<(String, Box<RawValue>)> {
    let paths = fields.paths.iter().chain(&fields.outputs).map(|(_, path)| path);
    let wanted = paths.filter_map(|path| Some((path, path.strip_prefix(ROOT)?)));
    wanted
        .filter_map(|(path, inside)| Some((path.clone(), raw_at(root, inside)?.to_owned())))
        .collect()
}

struct EntryReader<'t, 'a> {
    path: &'t str,
    text: &'a str,
    fields: &'t FieldMap,
    of_root: Vec<(String, Box<RawValue>)>,
    lines: LineCounter,
}

impl<'a> EntryReader<'_, 'a> {
    fn record(
        &mut self,
        key: Option<&str>,
        value: &'a RawValue,
    ) -> Result<RawRecord<'a>, Diagnostic> {
        let offset = value.get().as_ptr().addr() - self.text.as_ptr().addr();
        let start = self.lines.advance(self.text, offset);
        if value.get().len() > RECORD_LIMIT {
            return Err(too_long(line_place(self.path, self.text, start), value.get().len()));
        }
        let is_object = value.get().starts_with('{');
        let record = if is_object {
            RawRecord { text: Cow::Borrowed(value.get()), start }
        } else {
            let text = Cow::Owned(format!("{{\"value\":{}}}", value.get()));
            RawRecord { text, start: RecordStart { is_converted: true, ..start } }
        };
        let mut members = AddedMembers::of(key.map(str::to_owned));
        if let Some(key) = key {
            members.add("key", &Value::from(key));
        }
        for (path, value) in &self.of_root {
            members.add_raw(path, value.get());
        }
        Ok(with_members(record, &members, self.fields))
    }
}

fn nothing_at(path: &str, root: &RawValue, records: &str) -> Diagnostic {
    let message = format!("nothing at `{}` in the file", clipped(records));
    let names: Option<RawObject<'_>> = serde_json::from_str(root.get()).ok();
    let hint = match &names {
        Some(object) => {
            let names: Vec<String> =
                object.names().take(12).map(|name| format!("`{}`", clipped(name))).collect();
            format!("`records` is a path to a list or mapping; the file has {}", names.join(", "))
        }
        None => "`records` is a path inside an object; a file that is one list does not need \
             it"
        .to_owned(),
    };
    Diagnostic::error(Place::file(path), message).hint(hint)
}

fn no_records(path: &str, text: &str, records: &str, found: &RawValue) -> Diagnostic {
    let offset = found.get().as_ptr().addr() - text.as_ptr().addr();
    let place = Place::in_text(path, text, offset..offset + found.get().len());
    let value: Value = serde_json::from_str(found.get()).unwrap_or_default();
    let message = format!("`{}` is {}", clipped(records), kind_of(&value));
    Diagnostic::error(place, message).label("expected a list or a mapping of records")
}

#[cfg(test)]
mod tests {
    use super::entries;
    use evalrs_model::spec::FieldMap;

    fn fields(paths: &[(&str, &str)]) -> FieldMap {
        let paths = paths.iter().map(|(ours, path)| ((*ours).to_owned(), (*path).to_owned()));
        FieldMap { paths: paths.collect(), ..FieldMap::default() }
    }

    #[test]
    fn records_are_entries_of_lists_and_mappings() {
        let text = "{\"eval\": {\"model\": \"m\"},\n \"a.b\": {\"c\": [{\"x\": 1},\n 2, null]},\n \"by\": {\"q1\": {\"x\": 1}, \"q2\": \"text\"}}";
        for (records, paths, expected) in [
            (
                "a.b.c",
                &[][..],
                &[(2, "{\"x\": 1}"), (3, "{\"value\":2}"), (3, "{\"value\":null}")][..],
            ),
            (
                "by",
                &[],
                &[
                    (4, "{\"x\": 1,\"key\":\"q1\",\"id\":\"q1\"}"),
                    (4, "{\"value\":\"text\",\"key\":\"q2\",\"id\":\"q2\"}"),
                ],
            ),
            (
                "by",
                &[("id", "x"), ("model", "root.eval.model")],
                &[
                    (4, "{\"x\": 1,\"key\":\"q1\",\"root.eval.model\":\"m\"}"),
                    (4, "{\"value\":\"text\",\"key\":\"q2\",\"root.eval.model\":\"m\"}"),
                ],
            ),
            (
                ".",
                &[("model", "root.nothing")],
                &[
                    (1, "{\"model\": \"m\",\"key\":\"eval\",\"id\":\"eval\"}"),
                    (2, "{\"c\": [{\"x\": 1},\n 2, null],\"key\":\"a.b\",\"id\":\"a.b\"}"),
                    (4, "{\"q1\": {\"x\": 1}, \"q2\": \"text\",\"key\":\"by\",\"id\":\"by\"}"),
                ],
            ),
        ] {
            let found = entries("d.json", text, records, &fields(paths)).unwrap();
            let found: Vec<(u32, &str)> =
                found.iter().map(|record| (record.start.line, record.text.as_ref())).collect();
            assert_eq!(found, expected, "{records}");
        }
    }

    #[test]
    fn what_is_no_list_is_said_with_what_there_is() {
        for (text, records, message, help) in [
            ("{\"a\": 1}", "b", "nothing at `b` in the file", "the file has `a`"),
            ("[1]", "b", "nothing at `b` in the file", "a file that is one list does not need it"),
            ("{\"a\": 1}", "a", "`a` is a number", ""),
            ("{\"a\": ", "a", "bad JSON: the text ends inside a value", ""),
        ] {
            let problem = entries("d.json", text, records, &fields(&[])).unwrap_err();
            assert_eq!(problem.message, message);
            assert!(problem.hint.unwrap_or_default().ends_with(help), "{help}");
        }
    }
}
