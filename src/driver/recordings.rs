//! Reads what targets left behind: a file of trajectories, a Letta result directory, a folder with one file a sample.
//!
//! Letta directories are read in every layout they have had. A result that is recorded twice in one file counts
//! as it was last: older releases append to the files of the run before.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::dataset::fields::{Fields, RowProblem, RowSpec, deep_problem, parsed_cells};
use crate::dataset::join::{Owner, Recording};
use crate::dataset::row::check_recording;
use crate::dataset::split::{self, Start};
use crate::diagnostic::{Diagnostic, Place};
use crate::suite::{DatasetFormat, FieldMap};
use crate::system::{System, join};
use crate::trajectory::letta_dir;

/// Reads a file and remembers its digest.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>;

/// The files that only Letta's result directories have.
const LETTA_FILES: [&str; 6] =
    ["results.jsonl", "results.json", "suite.json", "header.json", "aggregate_stats.json", "run_1"];

/// The recordings at `path`: a file, or a folder.
pub fn read(
    path: &str,
    system: &dyn System,
    read: ReadFile<'_>,
) -> Result<Vec<Recording>, Vec<Diagnostic>> {
    match system.list(path) {
        None => from_file(path, read),
        Some(names) if names.iter().any(|name| LETTA_FILES.contains(&name.as_str())) => {
            from_letta_folder(path, system, read)
        }
        Some(names) => from_folder(path, &names, read),
    }
}

/// Everything that is wrong with single recordings at `path`, where they stand. Reading them found nothing wrong, but
/// joined rows could not be read.
pub fn problems(
    path: &str,
    system: &dyn System,
    read_file: ReadFile<'_>,
    spec: &RowSpec,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let mut texts: BTreeMap<Arc<str>, String> = BTreeMap::new();
    let mut found = Vec::new();
    for recording in read(path, system, read_file)? {
        let Err(problem) = check_recording(&recording.text, spec) else { continue };
        let file = Arc::clone(&recording.file);
        if !texts.contains_key(&file) {
            texts.insert(Arc::clone(&file), text_of(&file, read_file)?);
        }
        let text = texts.get(&file).map_or("", String::as_str);
        let span = problem.span.clone().filter(|_| recording.verbatim);
        let place = split::record_place(&file, text, recording.start, span);
        found
            .push(Diagnostic { label: problem.label, ..Diagnostic::error(place, problem.message) });
    }
    Ok(found)
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
    system: &dyn System,
    read: ReadFile<'_>,
) -> Result<Vec<Recording>, Vec<Diagnostic>> {
    let mut recordings = Vec::new();
    for (file, trial) in letta_files(path, system, 2, None) {
        let text = text_of(&file, read)?;
        recordings.extend(letta_results(&file, &text, trial)?);
    }
    if recordings.is_empty() {
        return Err(unreadable(
            path,
            "the directory holds no results (results.jsonl, or one file a model)",
        ));
    }
    if system.list(path).is_some_and(|names| names.iter().any(|name| name == "suite.json")) {
        let file = join(path, "suite.json");
        let inputs = sample_inputs(&parsed(&file, &text_of(&file, read)?)?);
        for recording in &mut recordings {
            recording.input = inputs.get(&recording.owner).cloned().or(recording.input.take());
        }
    }
    Ok(recordings)
}

/// The result files below `folder`, each with its trial where the target was run several times:
/// `run_<n>/results.jsonl`, later `<model>/run_<n>.jsonl`.
fn letta_files(
    folder: &str,
    system: &dyn System,
    depth: usize,
    trial: Option<u32>,
) -> Vec<(String, Option<u32>)> {
    let mut names = system.list(folder).unwrap_or_default();
    names.sort_by_key(|name| run_number(name));
    let mut files = Vec::new();
    for name in names {
        let (path, trial) = (join(folder, &name), run_number(&name).or(trial));
        match name.rsplit_once('.') {
            Some((_, "jsonl") | ("results", "json")) => files.push((path, trial)),
            None if depth > 1 => files.extend(letta_files(&path, system, depth - 1, trial)),
            _ => {}
        }
    }
    files
}

/// The trial, from 0, of `run_3` or `run_3.jsonl`.
fn run_number(name: &str) -> Option<u32> {
    let number = name.strip_suffix(".jsonl").unwrap_or(name).strip_prefix("run_")?;
    number.parse::<u32>().ok()?.checked_sub(1)
}

/// What each sample of a `suite.json` was given.
fn sample_inputs(suite: &Value) -> HashMap<Owner, Value> {
    let samples = suite.get("samples").and_then(Value::as_array);
    let input = |sample: &Value| {
        let id = sample.get("id").or_else(|| sample.get("sample_id"))?;
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        Some((id_or_row(id), sample.get("input").filter(|input| !input.is_null())?.clone()))
    };
    samples.into_iter().flatten().filter_map(input).collect()
}

/// Ids are what the dataset says, and row numbers where it says nothing.
fn id_or_row(id: String) -> Owner {
    let number = id.parse().ok().filter(|number: &usize| number.to_string() == id);
    number.map_or(Owner::Id(id), Owner::IdOrRow)
}

fn letta_results(
    file: &str,
    text: &str,
    trial: Option<u32>,
) -> Result<Vec<Recording>, Vec<Diagnostic>> {
    let results = letta_dir::read_results(text).map_err(|problem| {
        let line = text.lines().nth(problem.line.saturating_sub(1)).unwrap_or_default();
        vec![Diagnostic::error(
            Place::in_line(file, problem.line, line, 0..line.len().min(40)),
            problem.message.clone(),
        )]
    })?;
    let mut recordings: Vec<Recording> = Vec::with_capacity(results.len());
    let mut places: HashMap<(Owner, Option<String>), usize> = HashMap::new();
    let file_name: Arc<str> = file.into();
    for result in results {
        let model = result.model.clone();
        let recording = letta_recording(result, trial, &file_name);
        let key = (recording.owner.clone(), model);
        match places.get(&key).and_then(|at| recordings.get_mut(*at)) {
            Some(earlier) => *earlier = recording,
            None => {
                places.insert(key, recordings.len());
                recordings.push(recording);
            }
        }
    }
    Ok(recordings)
}

fn letta_recording(
    result: letta_dir::LettaResult,
    trial: Option<u32>,
    file: &Arc<str>,
) -> Recording {
    let start = Start { line: result.line as u32, column: 0 };
    let mut object = Map::new();
    object.insert("trajectory".to_owned(), result.trajectory);
    let members = [
        ("model", result.model.map(Value::from)),
        ("trial", trial.map(Value::from)),
        ("agent_state", result.agent_state),
    ];
    for (name, value) in members {
        object.extend(value.map(|value| (name.to_owned(), value)));
    }
    let owner = match result.row_number {
        Some(row) => Owner::Row(row as usize),
        None => id_or_row(result.sample_id),
    };
    let input = (!result.input.is_null()).then_some(result.input);
    let (text, file) = (Value::Object(object).to_string(), Arc::clone(file));
    Recording { owner, text, input, file, start, verbatim: false }
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
            "jsonl" => json!({"trajectory": parsed_lines(&file, &text_of(&file, read)?)?}),
            "txt" | "md" => json!({"output": text_of(&file, read)?}),
            _ => continue,
        };
        recordings.push(Recording {
            owner: Owner::Id(id.to_owned()),
            text: object.to_string(),
            input: None,
            file: file.into(),
            start: Start { line: 1, column: 0 },
            verbatim: false,
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

/// Messages or events, one a line.
fn parsed_lines(file: &str, text: &str) -> Result<Value, Vec<Diagnostic>> {
    let rows = split::split(file, text, DatasetFormat::Jsonl)?;
    let value = |row: split::RawRecord<'_>| {
        serde_json::from_str::<Value>(&row.text).map_err(|error| {
            let at = split::offset_of(&row.text, error.line(), error.column());
            let message = format!("bad JSON: {}", split::plain_message(&error));
            let place = split::record_place(file, text, row.start, Some(at..at + 1));
            vec![Diagnostic::error(place, message)]
        })
    };
    rows.into_iter().map(value).collect()
}

/// A file of records with an id each.
fn from_file(path: &str, read: ReadFile<'_>) -> Result<Vec<Recording>, Vec<Diagnostic>> {
    let text = text_of(path, read)?;
    if is_letta_file(&text) {
        return letta_results(path, &text, None);
    }
    let format =
        match path.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).as_deref()
        {
            Some("json") => DatasetFormat::Json,
            Some("csv") => DatasetFormat::Csv,
            _ => DatasetFormat::Jsonl,
        };
    let rows = split::split(path, &text, format)?;
    let spec =
        RowSpec { cells: format == DatasetFormat::Csv, fields: FieldMap::default(), format: None };
    let mut problems = Vec::new();
    let mut recordings = Vec::with_capacity(rows.len());
    let file: Arc<str> = path.into();
    for row in rows {
        match recording(&row, &spec, &file) {
            Ok(recording) => recordings.push(recording),
            Err(problem) => {
                let span = problem.span.filter(|_| !spec.cells);
                let place = split::record_place(path, &text, row.start, span);
                problems.push(Diagnostic::error(place, problem.message).hint("every record of a trajectory file names its sample: {\"id\": …, \"trajectory\": […]}"));
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

fn recording(
    row: &split::RawRecord<'_>,
    spec: &RowSpec,
    file: &Arc<str>,
) -> Result<Recording, RowProblem> {
    let owner = owner(&row.text, spec)?;
    let text = if spec.cells { parsed_cells(&row.text, spec)? } else { row.text.to_string() };
    let (file, start) = (Arc::clone(file), row.start);
    Ok(Recording { owner, text, input: None, file, start, verbatim: !spec.cells })
}

/// Letta result lines wrap a `result`, or name sample and model; the oldest files are one object
/// with all `results`.
fn is_letta_file(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if !first.starts_with('{') {
        return false;
    }
    let value = serde_json::from_str(first).or_else(|_| serde_json::from_str(text));
    let Ok(Value::Object(value)) = value else { return false };
    let is_type = |kind: &str| value.get("type").and_then(Value::as_str) == Some(kind);
    let has = |name: &str| value.contains_key(name);
    ((is_type("result") || is_type("header")) && (has("result") || has("suite")))
        || (has("sample_id") && (has("submissions") || has("model_handle")))
        || (has("suite") && value.get("results").is_some_and(Value::is_array))
}

fn owner(row: &str, spec: &RowSpec) -> Result<Owner, RowProblem> {
    if let Some(at) = split::too_deep(row) {
        return Err(deep_problem(at));
    }
    let fields = Fields::new(row, spec)?;
    let id = fields.raw("id").and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    match id {
        Some(Value::String(id)) => Ok(Owner::Id(id)),
        Some(Value::Number(id)) => Ok(Owner::Id(id.to_string())),
        _ => Err(RowProblem::new("the record has no `id`")),
    }
}
