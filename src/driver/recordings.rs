//! Reads what targets left behind: a file of trajectories, a Letta result directory, a folder with one file a sample.

use serde_json::{Map, Value, json};

use crate::dataset::fields::{Fields, RowSpec};
use crate::dataset::join::{Owner, Recording};
use crate::dataset::split;
use crate::diagnostic::{Diagnostic, Place};
use crate::suite::{DatasetFormat, FieldMap};
use crate::system::{System, join};
use crate::trajectory::letta_dir;

/// Reads a file and remembers its digest.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>;

/// The recordings at `path`: a file, or a folder.
pub fn read(
    path: &str,
    system: &dyn System,
    read: ReadFile<'_>,
) -> Result<Vec<Recording>, Vec<Diagnostic>> {
    match system.list(path) {
        None => from_file(path, read),
        Some(names) if is_letta(&names) => from_letta_folder(path, &names, read),
        Some(names) => from_folder(path, &names, read),
    }
}

fn is_letta(names: &[String]) -> bool {
    names.iter().any(|name| matches!(name.as_str(), "results.jsonl" | "suite.json" | "header.json"))
}

fn unreadable(path: &str, reason: &str) -> Vec<Diagnostic> {
    vec![
        Diagnostic::error(Place::file(path), format!("cannot read the trajectories: {reason}"))
            .hint("`target.path` and `--cached` name a file of trajectories or a result directory"),
    ]
}

fn text_of(path: &str, read: ReadFile<'_>) -> Result<String, Vec<Diagnostic>> {
    let bytes = read(path).map_err(|reason| unreadable(path, &reason))?;
    split::decode(path, &bytes).map(str::to_owned).map_err(|diagnostic| vec![diagnostic])
}

fn from_letta_folder(
    path: &str,
    names: &[String],
    read: ReadFile<'_>,
) -> Result<Vec<Recording>, Vec<Diagnostic>> {
    let mut recordings = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(".jsonl")) {
        let file = join(path, name);
        let text = text_of(&file, read)?;
        recordings.extend(letta_results(&file, &text)?);
    }
    if recordings.is_empty() {
        return Err(unreadable(
            path,
            "the directory holds no results (results.jsonl, or one file a model)",
        ));
    }
    Ok(recordings)
}

fn letta_results(file: &str, text: &str) -> Result<Vec<Recording>, Vec<Diagnostic>> {
    let results = letta_dir::read_results(text).map_err(|problem| {
        let line = text.lines().nth(problem.line.saturating_sub(1)).unwrap_or_default();
        vec![Diagnostic::error(
            Place::in_line(file, problem.line, line, 0..line.len().min(40)),
            problem.message.clone(),
        )]
    })?;
    let recording = |result: letta_dir::LettaResult| {
        let mut object = Map::new();
        object.insert("trajectory".to_owned(), result.trajectory);
        if let Some(model) = result.model {
            object.insert("model".to_owned(), Value::from(model));
        }
        if let Some(state) = result.agent_state {
            object.insert("agent_state".to_owned(), state);
        }
        let owner = match result.row_number {
            Some(row) => Owner::Row(row as usize),
            None => Owner::Id(result.sample_id),
        };
        let input = (!result.input.is_null()).then_some(result.input);
        Recording { owner, text: Value::Object(object).to_string(), input }
    };
    Ok(results.into_iter().map(recording).collect())
}

/// One file a sample, named by its id.
fn from_folder(
    path: &str,
    names: &[String],
    read: ReadFile<'_>,
) -> Result<Vec<Recording>, Vec<Diagnostic>> {
    let mut recordings = Vec::new();
    for name in names {
        let Some((id, extension)) = name.rsplit_once('.') else { continue };
        let file = join(path, name);
        let object = match extension {
            "json" => json!({"trajectory": parsed(&file, &text_of(&file, read)?)?}),
            "jsonl" => json!({"trajectory": text_of(&file, read)?}),
            "txt" | "md" => json!({"output": text_of(&file, read)?}),
            _ => continue,
        };
        recordings.push(Recording {
            owner: Owner::Id(id.to_owned()),
            text: object.to_string(),
            input: None,
        });
    }
    if recordings.is_empty() {
        return Err(unreadable(
            path,
            "the folder holds no results.jsonl and no `<id>.json`, `<id>.jsonl` or `<id>.txt`",
        ));
    }
    Ok(recordings)
}

fn parsed(file: &str, text: &str) -> Result<Value, Vec<Diagnostic>> {
    serde_json::from_str(text).map_err(|error| {
        let at = split::offset_of(text, error.line(), error.column());
        let message = format!("bad JSON: {}", split::plain_message(&error));
        vec![Diagnostic::error(Place::in_text(file, text, at..at + 1), message)]
    })
}

/// A file of records with an id each.
fn from_file(path: &str, read: ReadFile<'_>) -> Result<Vec<Recording>, Vec<Diagnostic>> {
    let text = text_of(path, read)?;
    let format =
        match path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).as_deref()
        {
            Some("json") => DatasetFormat::Json,
            Some("csv") => DatasetFormat::Csv,
            _ => DatasetFormat::Jsonl,
        };
    let rows = split::split(path, &text, format)?;
    if rows.first().is_some_and(|row| is_letta_line(&row.text)) {
        return letta_results(path, &text);
    }
    let spec =
        RowSpec { cells: format == DatasetFormat::Csv, fields: FieldMap::default(), format: None };
    let mut problems = Vec::new();
    let mut recordings = Vec::with_capacity(rows.len());
    for row in rows {
        match owner(&row.text, &spec) {
            Ok(owner) => {
                recordings.push(Recording { owner, text: row.text.into_owned(), input: None })
            }
            Err((message, span)) => {
                let place = split::record_place(path, &text, row.start, span);
                problems.push(Diagnostic::error(place, message).hint("every record of a trajectory file names its sample: {\"id\": …, \"trajectory\": […]}"));
            }
        }
    }
    if problems.is_empty() {
        Ok(recordings)
    } else {
        problems.truncate(split::SHOWN_PROBLEMS);
        Err(problems)
    }
}

/// Letta result lines wrap a `result`, or carry both `sample_id` and `submissions`.
fn is_letta_line(row: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(row) else { return false };
    let is_type = |kind: &str| value.get("type").and_then(Value::as_str) == Some(kind);
    ((is_type("result") || is_type("header"))
        && (value.get("result").is_some() || value.get("suite").is_some()))
        || (value.get("sample_id").is_some() && value.get("submissions").is_some())
}

type Wrong = (String, Option<std::ops::Range<usize>>);

fn owner(row: &str, spec: &RowSpec) -> Result<Owner, Wrong> {
    if let Some(at) = split::too_deep(row) {
        return Err(("the JSON is nested more than 128 deep".to_owned(), Some(at..at + 1)));
    }
    let fields = Fields::new(row, spec).map_err(|problem| (problem.message, problem.span))?;
    let id = fields.raw("id").and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    match id {
        Some(Value::String(id)) => Ok(Owner::Id(id)),
        Some(Value::Number(id)) => Ok(Owner::Id(id.to_string())),
        _ => Err(("the record has no `id`".to_owned(), None)),
    }
}
