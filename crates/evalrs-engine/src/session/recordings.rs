//! Reads what targets left behind: a file of trajectories, a Letta result directory, a folder with one file a sample.
//!
//! Letta directories are read in every layout they have had. A result that is recorded twice in one file counts
//! as it was last: older releases append to the files of the run before.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::files_read::ReadTrace;
use super::shortened::shortened;
use evalrs_base::compression::unpacked;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::file_path::join;
use evalrs_base::json_syntax::slip;
use evalrs_eval::dataset::fields::{RowFields, RowProblem, RowSpec, deep_problem, parsed_cells};
use evalrs_eval::dataset::join::{Owner, RecordedTrajectory, RunIdentity};
use evalrs_eval::dataset::row::check_recording;
use evalrs_eval::dataset::split::{self, RECORD_LIMIT, RecordStart};
use evalrs_model::spec::{DatasetFormat, FieldMap, JoinBy, MissingAnswer, RecordingJoin};
use evalrs_trajectory::letta_dir;

/// The files that only Letta's result directories have.
const LETTA_FILES: [&str; 6] =
    ["results.jsonl", "results.json", "suite.json", "header.json", "aggregate_stats.json", "run_1"];

/// Where recordings are, and which setting names them.
#[derive(Clone, Debug)]
pub struct RecordingSource {
    /// A file or folder.
    pub path: String,
    /// The suite's `target.path`; none if the command line says it.
    pub said: Option<Place>,
    /// How the records of a file read, and which rows they belong to.
    pub join: RecordingJoin,
}

impl RecordingSource {
    /// Nothing can be read there.
    fn unreadable(&self, reason: &str) -> Vec<Diagnostic> {
        let (place, hint) = match &self.said {
            Some(place) => (place.clone(), "paths are relative to the suite's folder"),
            None => (
                Place::file(&self.path),
                "`--cached` names a result directory or a file of trajectories",
            ),
        };
        let message = format!("cannot read the trajectories `{}`: {reason}", self.path);
        vec![Diagnostic::error(place, message).hint(hint)]
    }
}

/// The recordings of `source`: a file, or a folder.
pub(crate) fn read(
    source: &RecordingSource,
    trace: &ReadTrace<'_>,
) -> Result<Vec<RecordedTrajectory>, Vec<Diagnostic>> {
    let path = &source.path;
    let Some(names) = trace.list(path) else {
        let bytes = trace.read(path).and_then(|bytes| unpacked(path, bytes));
        let bytes = bytes.map_err(|reason| source.unreadable(&reason))?;
        return from_file(path, &decoded(path, &bytes)?, &source.join);
    };
    if source.join != RecordingJoin::default() {
        return Err(source.unreadable("`fields` and `by` are about a file, and it is a folder"));
    }
    let (recordings, expected) = if names.iter().any(|name| LETTA_FILES.contains(&name.as_str())) {
        (from_letta_folder(path, trace)?, "results.jsonl, or one file a model")
    } else {
        let expected = "results.jsonl, or `<id>.json`, `<id>.jsonl`, `<id>.txt`";
        (from_folder(path, &names, trace)?, expected)
    };
    if recordings.is_empty() {
        return Err(source.unreadable(&format!("the folder has no results ({expected})")));
    }
    Ok(recordings)
}

/// Everything that is wrong with single recordings of `source`, where they stand. Reading them found nothing wrong,
/// but joined rows could not be read.
pub(crate) fn problems(
    source: &RecordingSource,
    trace: &ReadTrace<'_>,
    spec: &RowSpec,
) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let mut texts: BTreeMap<Arc<str>, String> = BTreeMap::new();
    let mut found = Vec::new();
    for recording in read(source, trace)? {
        let Err(problem) = check_recording(&recording.text, spec) else { continue };
        let file = Arc::clone(&recording.file);
        if !texts.contains_key(&file) {
            texts.insert(Arc::clone(&file), text_of(&file, trace)?);
        }
        let text = texts.get(&file).map_or("", String::as_str);
        let span = problem.span.clone().filter(|_| recording.verbatim);
        let place = split::record_place(&file, text, recording.start, span);
        found.push(problem.diagnostic(place));
    }
    Ok(found)
}

fn decoded(path: &str, bytes: &[u8]) -> Result<String, Vec<Diagnostic>> {
    split::decode(path, bytes).map(str::to_owned).map_err(|diagnostic| vec![diagnostic])
}

fn text_of(path: &str, trace: &ReadTrace<'_>) -> Result<String, Vec<Diagnostic>> {
    let unreadable = |reason: String| {
        let message = format!("cannot read the trajectories: {reason}");
        vec![Diagnostic::error(Place::file(path), message)]
    };
    let bytes = trace.read(path).and_then(|bytes| unpacked(path, bytes)).map_err(unreadable)?;
    decoded(path, &bytes)
}

fn from_letta_folder(
    path: &str,
    trace: &ReadTrace<'_>,
) -> Result<Vec<RecordedTrajectory>, Vec<Diagnostic>> {
    let mut recordings = Vec::new();
    for (file, trial) in letta_files(path, trace, 2, None) {
        let text = text_of(&file, trace)?;
        recordings.extend(letta_results(&file, &text, trial)?);
    }
    if trace.list(path).is_some_and(|names| names.iter().any(|name| name == "suite.json")) {
        let file = join(path, "suite.json");
        let inputs = sample_inputs(&parsed(&file, &text_of(&file, trace)?)?);
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
    trace: &ReadTrace<'_>,
    depth: usize,
    trial: Option<u32>,
) -> Vec<(String, Option<u32>)> {
    let mut names = trace.list(folder).unwrap_or_default();
    names.sort_by_key(|name| run_number(name));
    let mut files = Vec::new();
    for name in names {
        let path = join(folder, &name);
        let trial = run_number(&name).or(trial);
        match name.rsplit_once('.') {
            Some((_, "jsonl") | ("results", "json")) => files.push((path, trial)),
            None if depth > 1 => files.extend(letta_files(&path, trace, depth - 1, trial)),
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
    let samples = suite.get("samples").and_then(Value::as_array).into_iter().flatten();
    let inputs = samples.filter_map(|sample| {
        let id = sample.get("id").or_else(|| sample.get("sample_id"))?;
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        Some((id_or_row(id), sample.get("input").filter(|input| !input.is_null())?.clone()))
    });
    inputs.collect()
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
) -> Result<Vec<RecordedTrajectory>, Vec<Diagnostic>> {
    let results = letta_dir::read_results(text)
        .map_err(|problem| vec![letta_problem(file, text, &problem)])?;
    let starts = line_starts(text);
    let too_long = starts.iter().zip(text.split('\n')).find(|(_, line)| line.len() > RECORD_LIMIT);
    if let Some((start, line)) = too_long {
        let place = split::record_place(file, text, *start, Some(0..1));
        return Err(vec![split::too_long(place, line.len())]);
    }
    let mut recordings: Vec<RecordedTrajectory> = Vec::with_capacity(results.len());
    let mut places: HashMap<(Owner, Option<String>), usize> = HashMap::new();
    let file_name: Arc<str> = file.into();
    for result in results {
        let model = result.model.clone();
        let start = starts.get(result.line.saturating_sub(1)).copied().unwrap_or_default();
        let recording = letta_recording(result, trial, &file_name, start);
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

fn letta_problem(file: &str, text: &str, problem: &letta_dir::LettaProblem) -> Diagnostic {
    let line = text.split('\n').nth(problem.line.saturating_sub(1)).unwrap_or_default();
    let place = |span| Place::in_line(file, problem.line, line, span);
    if let Some(at) = split::too_deep(line) {
        return deep_problem(at).diagnostic(place(at..at + 1));
    }
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(line)
        && !line.trim().is_empty()
    {
        let slip = slip(line, &error);
        let place = place(slip.span.clone());
        return slip.diagnostic("bad JSON in a line of results", place);
    }
    let key = "\"trajectory\"";
    let about = line.find(key).filter(|_| problem.message.ends_with("in `trajectory`"));
    let span = about.map_or(0..line.len(), |at| at..at + key.len());
    Diagnostic::error(
        place(span),
        format!("this is not a line of Letta results: {}", problem.message),
    )
}

fn line_starts(text: &str) -> Vec<RecordStart> {
    let breaks = memchr::memchr_iter(b'\n', text.as_bytes());
    let offsets = std::iter::once(0).chain(breaks.map(|at| at + 1)).zip(1..);
    offsets.map(|(offset, line)| RecordStart { line, offset, ..RecordStart::default() }).collect()
}

fn letta_recording(
    result: letta_dir::LettaResult,
    trial: Option<u32>,
    file: &Arc<str>,
    start: RecordStart,
) -> RecordedTrajectory {
    let run = RunIdentity { trial, model: result.model.clone() };
    let mut object = Map::new();
    object.insert("trajectory".to_owned(), result.trajectory);
    let members = [
        ("model", result.model.map(Value::from)),
        ("trial", trial.map(Value::from)),
        ("agent_id", result.agent_id.map(Value::from)),
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
    let text = Value::Object(object).to_string();
    let file = Arc::clone(file);
    RecordedTrajectory { owner, run, text, input, file, start, verbatim: false }
}

/// One file a sample, named by its id.
fn from_folder(
    path: &str,
    names: &[String],
    trace: &ReadTrace<'_>,
) -> Result<Vec<RecordedTrajectory>, Vec<Diagnostic>> {
    let mut recordings = Vec::new();
    for name in names {
        let Some((id, extension)) = name.rsplit_once('.') else { continue };
        if id.is_empty() || !matches!(extension, "json" | "jsonl" | "txt" | "md") {
            continue;
        }
        let file = join(path, name);
        let text = text_of(&file, trace)?;
        if text.len() > RECORD_LIMIT {
            return Err(vec![split::too_long(Place::file(&file), text.len())]);
        }
        let object = match extension {
            "json" => json!({"trajectory": parsed(&file, &text)?}),
            "jsonl" => json!({"trajectory": parsed_lines(&file, &text)?}),
            _ => json!({"output": text}),
        };
        recordings.push(RecordedTrajectory {
            owner: Owner::Id(id.to_owned()),
            run: RunIdentity::default(),
            text: object.to_string(),
            input: None,
            file: file.into(),
            start: RecordStart { line: 1, ..RecordStart::default() },
            verbatim: false,
        });
    }
    Ok(recordings)
}

/// What a JSON text says; `place` is where some of its bytes stand.
fn parsed_at(text: &str, place: impl Fn(Range<usize>) -> Place) -> Result<Value, Vec<Diagnostic>> {
    if let Some(at) = split::too_deep(text) {
        return Err(vec![deep_problem(at).diagnostic(place(at..at + 1))]);
    }
    serde_json::from_str(text).map_err(|error| {
        let slip = slip(text, &error);
        let place = place(slip.span.clone());
        vec![slip.diagnostic("bad JSON", place)]
    })
}

fn parsed(file: &str, text: &str) -> Result<Value, Vec<Diagnostic>> {
    parsed_at(text, |span| Place::in_text(file, text, span))
}

/// Messages or events, one a line.
fn parsed_lines(file: &str, text: &str) -> Result<Value, Vec<Diagnostic>> {
    let rows = split::split(file, text, DatasetFormat::Jsonl).map_err(of_trajectories)?;
    let values = rows.into_iter().map(|row| {
        parsed_at(&row.text, |span| split::record_place(file, text, row.start, Some(span)))
    });
    values.collect()
}

/// A file of records with an id each.
fn from_file(
    path: &str,
    text: &str,
    join: &RecordingJoin,
) -> Result<Vec<RecordedTrajectory>, Vec<Diagnostic>> {
    if *join == RecordingJoin::default() && is_letta_file(text) {
        return letta_results(path, text, None);
    }
    let format = DatasetFormat::of_name(path).filter(|format| *format != DatasetFormat::Yaml);
    let format = format.unwrap_or(DatasetFormat::Jsonl);
    let from = text.len() - text.trim_start().len();
    if format == DatasetFormat::Jsonl && from < text.len() && !text[from..].starts_with(['{', '['])
    {
        let place = Place::in_text(path, text, from..from + 1);
        let problem = Diagnostic::error(place, "this is not a file of trajectories");
        return Err(vec![problem.label("expected `{`").hint(HINT)]);
    }
    let rows = split::split(path, text, format).map_err(of_trajectories)?;
    let spec = RowSpec {
        cells: format.has_cells(),
        fields: join.fields.clone(),
        format: None,
        missing: MissingAnswer::default(),
        live: None,
    };
    let mut problems = Vec::new();
    let mut recordings = Vec::with_capacity(rows.len());
    let file: Arc<str> = path.into();
    for (line, row) in rows.into_iter().enumerate() {
        match recording(&row, line, &join.by, &spec, &file) {
            Ok(recording) => recordings.push(recording),
            Err(problem) => {
                let span = problem.span.clone().filter(|_| !spec.cells);
                let place = split::record_place(path, text, row.start, span);
                problems.push(problem.diagnostic(place));
            }
        }
    }
    if problems.is_empty() { Ok(recordings) } else { Err(shortened(problems)) }
}

/// A wrong shape of a file, reported for trajectories.
fn of_trajectories(mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for problem in &mut problems {
        problem.message = problem.message.replace("the dataset", "the file of trajectories");
        let is_of_file = problem.place.as_ref().is_some_and(|place| place.line == 0);
        if is_of_file && problem.hint.as_ref().is_some_and(|hint| hint.starts_with("write ")) {
            problem.hint = Some(HINT.to_owned());
        }
    }
    problems
}

const HINT: &str =
    "every record of a trajectory file names its sample: {\"id\": …, \"trajectory\": […]}";

fn recording(
    row: &split::RawRecord<'_>,
    line: usize,
    by: &JoinBy,
    spec: &RowSpec,
    file: &Arc<str>,
) -> Result<RecordedTrajectory, RowProblem> {
    let (owner, run) = owner(&row.text, line, by, spec)?;
    let is_written = !spec.cells && spec.fields == FieldMap::default();
    let text = if is_written { row.text.to_string() } else { parsed_cells(&row.text, spec)? };
    let file = Arc::clone(file);
    let start = row.start;
    Ok(RecordedTrajectory { owner, run, text, input: None, file, start, verbatim: is_written })
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

fn owner(
    row: &str,
    line: usize,
    by: &JoinBy,
    spec: &RowSpec,
) -> Result<(Owner, RunIdentity), RowProblem> {
    if let Some(at) = split::too_deep(row) {
        return Err(deep_problem(at));
    }
    let fields = RowFields::new(row, spec)?;
    let (raw, name) = match by {
        JoinBy::Line => return Ok((Owner::Line(line), RunIdentity::of(&fields))),
        JoinBy::Id => (fields.raw("id"), "id"),
        JoinBy::Field(path) => (fields.at_path(path), path.as_str()),
    };
    let message = match raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()) {
        Some(Value::String(id)) => return Ok((Owner::Id(id), RunIdentity::of(&fields))),
        Some(Value::Number(id)) => {
            return Ok((Owner::Id(id.to_string()), RunIdentity::of(&fields)));
        }
        Some(_) => format!("the `{name}` of the record is neither a string nor a number"),
        None => format!("the record has no `{name}`, only {}", fields.some_names()),
    };
    Err(RowProblem { hint: Some(HINT.to_owned()), ..RowProblem::new(message) })
}
