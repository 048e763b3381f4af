//! The records of one of the files that a dataset is made of, each with the name of its file.
//!
//! A record that is all of a file, or of a folder, is called by its path unless it has an id.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::members::{AddedMembers, with_members};
use super::plain_json::PlainJson;
use super::raw_record::bad_json;
use super::split::{RECORD_LIMIT, RawRecord, RecordStart, too_long};
use super::{nested, split, yaml};
use evalrs_base::compression::Compression;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::json_syntax::slip;
use evalrs_model::spec::{DatasetFormat, DatasetSpec, SampleUnit};
use evalrs_trajectory::is_session_without_events;

/// A file of a dataset.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// As messages name it.
    pub path: &'a str,
    /// What it says, without a byte order mark.
    pub text: &'a str,
    /// What records say of it; none if it is all of the dataset.
    pub name: Option<FileName<'a>>,
    /// Its number among the files of the dataset, from 0.
    pub number: u32,
}

/// What the records of a file say of it.
#[derive(Clone, Copy, Debug)]
pub struct FileName<'a> {
    /// Its path below the folder that the dataset's path begins with.
    pub path: &'a str,
    /// The name of that folder; empty if it is the suite's.
    pub root: &'a str,
}

impl FileName<'_> {
    /// Its name, its path and its folders, the nearest first.
    fn json(&self) -> Value {
        let name = self.path.rsplit('/').next().unwrap_or(self.path);
        let stripped = Compression::stripped(name);
        let stem = stripped.rsplit_once('.').map_or(stripped, |(stem, _)| stem);
        let folders = self.path.rsplit('/').skip(1).chain([self.root]);
        let parents: Vec<&str> = folders.filter(|folder| !folder.is_empty()).collect();
        json!({
            "path": self.path,
            "name": name,
            "stem": if stem.is_empty() { name } else { stem },
            "parent": parents.first().copied().unwrap_or_default(),
            "parents": parents,
        })
    }

    /// Its path without the ending of its name.
    fn id(&self) -> String {
        let start = self.path.rfind('/').map_or(0, |slash| slash + 1);
        let stripped = Compression::stripped(self.path);
        match stripped.rfind('.').filter(|dot| *dot > start) {
            Some(dot) => stripped[..dot].to_owned(),
            None => stripped.to_owned(),
        }
    }
}

/// The format of a file of the dataset, if it is set or its name shows it.
pub fn format_of(path: &str, dataset: &DatasetSpec) -> Option<DatasetFormat> {
    dataset.format.or_else(|| DatasetFormat::of_name(path))
}

/// The records of a file, in order, or everything that is wrong with its shape.
pub fn records<'a>(
    file: &SourceFile<'a>,
    dataset: &DatasetSpec,
) -> Result<Vec<RawRecord<'a>>, Vec<Diagnostic>> {
    let format = format_of(file.path, dataset);
    let is_object = file.name.is_some() && file.text.trim_start().starts_with('{');
    let mut whole = false;
    let mut records = match (dataset.sample, &dataset.records, format) {
        (SampleUnit::Record, Some(records), _) => inside(file, records, format, dataset)?,
        (SampleUnit::Record, None, Some(DatasetFormat::Json)) if is_object => {
            whole = true;
            vec![object(file)?]
        }
        (SampleUnit::Record, None, format) => {
            split::split(file.path, file.text, format.unwrap_or(DatasetFormat::Jsonl))?
        }
        // Claude Code keeps them among its sessions.
        (SampleUnit::File, _, Some(DatasetFormat::Jsonl))
            if is_session_without_events(file.text) =>
        {
            return Ok(Vec::new());
        }
        (SampleUnit::File | SampleUnit::Folder, _, format) => {
            whole = true;
            vec![all_of(file, format)?]
        }
    };
    for record in &mut records {
        record.start.file = file.number;
    }
    let Some(name) = file.name else { return Ok(records) };
    let mut members = AddedMembers::of(whole.then(|| name.id()));
    members.add("file", &name.json());
    Ok(records.into_iter().map(|record| with_members(record, &members, &dataset.fields)).collect())
}

/// The files of one folder as one record: what each says, under its path in that folder.
pub fn folder<'a>(
    name: FileName<'_>,
    files: &[(&str, SourceFile<'_>)],
    dataset: &DatasetSpec,
) -> Result<RawRecord<'a>, Vec<Diagnostic>> {
    let mut text = "{".to_owned();
    for (at, (inside, file)) in files.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let format = DatasetFormat::of_name(file.path);
        let value = value_of(file, format)?;
        text.extend([comma, &Value::from(*inside).to_string(), ":", &value]);
        if text.len() > RECORD_LIMIT {
            return Err(vec![too_long(Place::file(file.path), text.len())]);
        }
    }
    text.push('}');
    let number = files.first().map_or(0, |(_, file)| file.number);
    let start = RecordStart { line: 1, file: number, is_converted: true, ..RecordStart::default() };
    let mut members = AddedMembers::of(Some(name.path.to_owned()));
    members.add("file", &name.json());
    Ok(with_members(RawRecord { text: Cow::Owned(text), start }, &members, &dataset.fields))
}

/// The records at a path inside the file.
fn inside<'a>(
    file: &SourceFile<'a>,
    records: &str,
    format: Option<DatasetFormat>,
    dataset: &DatasetSpec,
) -> Result<Vec<RawRecord<'a>>, Vec<Diagnostic>> {
    let one = |problem: Diagnostic| vec![problem];
    match format {
        Some(DatasetFormat::Yaml) => {
            let json = yaml::as_json(file.path, file.text).map_err(one)?;
            let found = nested::entries(file.path, &json, records, &dataset.fields).map_err(one)?;
            let start = RecordStart { line: 1, is_converted: true, ..RecordStart::default() };
            let records = found.into_iter().map(RawRecord::into_owned);
            Ok(records.map(|record| RawRecord { start, ..record }).collect())
        }
        Some(DatasetFormat::Json) => {
            nested::entries(file.path, file.text, records, &dataset.fields).map_err(one)
        }
        _ => {
            let message = "`records` is a path inside a JSON or YAML file, and this is neither";
            Err(one(Diagnostic::error(Place::file(file.path), message)))
        }
    }
}

fn object<'a>(file: &SourceFile<'a>) -> Result<RawRecord<'a>, Vec<Diagnostic>> {
    let text = file.text.trim();
    if text.len() > RECORD_LIMIT {
        return Err(vec![too_long(Place::file(file.path), text.len())]);
    }
    let offset = text.as_ptr().addr() - file.text.as_ptr().addr();
    let line = 1 + memchr::memchr_iter(b'\n', &file.text.as_bytes()[..offset]).count() as u32;
    let text = PlainJson::of(text).text;
    let is_converted = matches!(text, Cow::Owned(_));
    let start = RecordStart { line, offset, is_converted, ..RecordStart::default() };
    Ok(RawRecord { text, start })
}

/// A whole file as one record: an object as it is, a list or lines as what was done, anything else as what was answered.
fn all_of<'a>(
    file: &SourceFile<'a>,
    format: Option<DatasetFormat>,
) -> Result<RawRecord<'a>, Vec<Diagnostic>> {
    if format.is_some_and(DatasetFormat::has_cells) {
        let message = "a table is not a sample: each of its rows is one";
        return Err(vec![
            Diagnostic::error(Place::file(file.path), message).hint("remove `sample: file`"),
        ]);
    }
    let value = value_of(file, format)?;
    let start = RecordStart { line: 1, ..RecordStart::default() };
    if value.starts_with('{') {
        let record = object(file)?;
        let is_converted = record.start.is_converted || record.text != value;
        let start = RecordStart { is_converted, ..record.start };
        return Ok(RawRecord { text: Cow::Owned(value), start });
    }
    let name = if value.starts_with('[') { "trajectory" } else { "output" };
    let text = Cow::Owned(format!("{{\"{name}\":{value}}}"));
    Ok(RawRecord { text, start: RecordStart { is_converted: true, ..start } })
}

/// What a file says, as JSON: the value of a JSON or YAML file, the list of the lines of JSON Lines, else its text.
fn value_of(
    file: &SourceFile<'_>,
    format: Option<DatasetFormat>,
) -> Result<String, Vec<Diagnostic>> {
    if file.text.len() > RECORD_LIMIT {
        return Err(vec![too_long(Place::file(file.path), file.text.len())]);
    }
    match format {
        Some(DatasetFormat::Json) => {
            let text = PlainJson::of(file.text.trim()).text;
            let parsed = serde_json::from_str::<&RawValue>(&text);
            parsed.map_err(|error| vec![bad_json(file.path, file.text, &error)])?;
            Ok(text.into_owned())
        }
        Some(DatasetFormat::Yaml) => {
            yaml::as_json(file.path, file.text).map_err(|problem| vec![problem])
        }
        Some(DatasetFormat::Jsonl) => lines(file),
        Some(DatasetFormat::Csv | DatasetFormat::Tsv) | None => {
            Ok(Value::from(file.text).to_string())
        }
    }
}

/// The lines of a file of JSON Lines as one list.
fn lines(file: &SourceFile<'_>) -> Result<String, Vec<Diagnostic>> {
    let mut text = "[".to_owned();
    for record in split::split(file.path, file.text, DatasetFormat::Jsonl)? {
        if let Err(error) = serde_json::from_str::<&RawValue>(&record.text) {
            let slip = slip(&record.text, &error);
            let span = Some(slip.span.clone());
            let place = split::record_place(file.path, file.text, record.start, span);
            return Err(vec![slip.diagnostic("bad JSON", place)]);
        }
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&record.text);
    }
    text.push(']');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FileName;

    #[test]
    fn records_say_where_their_file_is() {
        for (path, root, id, expected) in [
            (
                "m/a/x.tar.json",
                "runs",
                "m/a/x.tar",
                json!({"path": "m/a/x.tar.json", "name": "x.tar.json", "stem": "x.tar", "parent": "a", "parents": ["a", "m", "runs"]}),
            ),
            (
                "x.jsonl.gz",
                "runs",
                "x",
                json!({"path": "x.jsonl.gz", "name": "x.jsonl.gz", "stem": "x", "parent": "runs", "parents": ["runs"]}),
            ),
            (
                "v1.2/.hidden",
                "",
                "v1.2/.hidden",
                json!({"path": "v1.2/.hidden", "name": ".hidden", "stem": ".hidden", "parent": "v1.2", "parents": ["v1.2"]}),
            ),
        ] {
            let name = FileName { path, root };
            assert_eq!((name.json(), name.id()), (expected, id.to_owned()));
        }
    }
}
