//! Joins dataset rows with trajectories recorded in another file.
//!
//! By id; by row number where the recording has no ids (Letta results up to 0.16) or where the rows have none
//! (later ones), with a check that the input is the same. Pure: the driver hands in the text of both files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::fields::{Fields, RowSpec, json_text};
use super::split::{RawRecord, Start, record_place};
use crate::diagnostic::{Diagnostic, Place, clipped};

/// A dataset row with what was recorded for it; several rows of one sample are its trials and models.
#[derive(Clone, Debug)]
pub struct Joined<'a> {
    /// The JSON text of the dataset row.
    pub row: Cow<'a, str>,
    /// The JSON text of the joined recording; empty if the row carries its own.
    pub recorded: Cow<'a, str>,
    /// Where the row starts.
    pub start: Start,
}

/// What a recording says it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The sample with this id.
    Id(String),
    /// The row at this position, from 0.
    Row(usize),
    /// The sample with this number as its id; the row at this position, from 0, if that has no id.
    IdOrRow(usize),
}

/// One recorded trajectory.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Which sample it is of.
    pub owner: Owner,
    /// A JSON object with `trajectory`, `messages` or `output`, and `model` and `trial` where known.
    pub text: String,
    /// The input it was recorded with, to be compared with the row's.
    pub input: Option<Value>,
    /// The file it stands in.
    pub file: Arc<str>,
    /// Where it starts in that file.
    pub start: Start,
    /// Whether `text` is what stands there, and not made of it.
    pub verbatim: bool,
}

/// The two files that are joined, for messages.
#[derive(Clone, Copy, Debug)]
pub struct JoinedFiles<'a> {
    /// The dataset.
    pub dataset: &'a str,
    /// Its text.
    pub text: &'a str,
    /// The recordings.
    pub recordings: &'a str,
}

/// Rows that carry their own recordings.
pub fn alone(rows: Vec<RawRecord<'_>>) -> Vec<Joined<'_>> {
    rows.into_iter()
        .map(|row| Joined { row: row.text, recorded: Cow::Borrowed(""), start: row.start })
        .collect()
}

/// What stands for the recording of a row that has none: its grades are errors, never left out.
pub const NOT_RECORDED: &str = "null";

/// Rows with their recordings, one result for each recording of a row, in dataset order. Rows without a recording
/// are said and stay, recordings without a row are said and left out.
pub fn join<'a>(
    rows: Vec<RawRecord<'a>>,
    recordings: Vec<Recording>,
    spec: &RowSpec,
    files: JoinedFiles<'_>,
) -> (Vec<Joined<'a>>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let total = recordings.len();
    let owned = some_of(recordings.iter().map(|recording| match &recording.owner {
        Owner::Id(id) => id.clone(),
        Owner::Row(row) | Owner::IdOrRow(row) => row.to_string(),
    }));
    let by_row = matches!(recordings.first(), Some(Recording { owner: Owner::Row(_), .. }));
    let mut by_owner: HashMap<Owner, Vec<Recording>> = HashMap::new();
    for recording in recordings {
        by_owner.entry(recording.owner.clone()).or_default().push(recording);
    }
    let mut joined = Vec::with_capacity(total);
    let mut without = Vec::new();
    let mut has_ids = false;
    let mut used = 0;
    for (at, row) in rows.into_iter().enumerate() {
        let id = row_id(&row.text, spec);
        let name = id.clone().unwrap_or_else(|| format!("row {}", at + 1));
        let own = owners(at, id.clone());
        let Some(found) = own.iter().find_map(|owner| by_owner.remove(owner)) else {
            has_ids |= id.is_some();
            without.push(name);
            joined.push(Joined {
                recorded: Cow::Borrowed(NOT_RECORDED),
                row: row.text,
                start: row.start,
            });
            continue;
        };
        used += found.len();
        if let Some(other) =
            found.iter().find(|recording| input_differs(&row.text, spec, recording))
        {
            diagnostics.push(input_mismatch(&row, files, (&name, other)));
        }
        for recording in found {
            joined.push(Joined {
                row: row.text.clone(),
                recorded: Cow::Owned(recording.text),
                start: row.start,
            });
        }
    }
    let leftovers = Leftovers { without: &without, has_ids, owned, by_row, unused: total - used };
    diagnostics.extend(leftovers.diagnostics(used == 0, files));
    (joined, diagnostics)
}

/// Everything a recording of the row at `at` may call it.
fn owners(at: usize, id: Option<String>) -> Vec<Owner> {
    let Some(id) = id else { return vec![Owner::Row(at), Owner::IdOrRow(at)] };
    let number = id.parse().ok().filter(|number: &usize| number.to_string() == id);
    let mut owners = vec![Owner::Row(at), Owner::Id(id)];
    owners.extend(number.map(Owner::IdOrRow));
    owners
}

fn row_id(row: &str, spec: &RowSpec) -> Option<String> {
    let fields = Fields::new(row, spec).ok()?;
    let value: Value = serde_json::from_str(fields.raw("id")?.get()).ok()?;
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn input_differs(row: &str, spec: &RowSpec, recording: &Recording) -> bool {
    let Some(recorded) = &recording.input else { return false };
    let Ok(fields) = Fields::new(row, spec) else { return false };
    let written: Option<Value> =
        fields.raw("input").and_then(|raw| serde_json::from_str(raw.get()).ok());
    match written {
        Some(Value::String(text)) => {
            let list = spec.cells && text.trim_start().starts_with('[');
            match recorded {
                Value::String(recorded) => text.trim() != recorded.trim(),
                _ if list => {
                    serde_json::from_str(text.trim()).is_ok_and(|list: Value| list != *recorded)
                }
                _ => true,
            }
        }
        Some(input) => input != *recorded,
        None => false,
    }
}

fn input_mismatch(
    row: &RawRecord<'_>,
    files: JoinedFiles<'_>,
    (name, recording): (&str, &Recording),
) -> Diagnostic {
    let place = record_place(files.dataset, files.text, row.start, None);
    let recorded = recording.input.as_ref().map(json_text).unwrap_or_default();
    let (name, file) = (clipped(name), files.recordings);
    Diagnostic::error(place, format!("`{name}` was recorded with another input in `{file}`"))
        .label(format!("recorded with `{}`", clipped(&recorded)))
        .hint("results belong to the dataset they were made with; rows without ids join by their number")
}

/// Names that a message lists.
const SOME: usize = 3;

/// The first few names, and whether there are more.
fn some_of(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len() > SOME;
    let mut some: Vec<String> =
        names.take(SOME).map(|name| format!("`{}`", clipped(&name))).collect();
    if more {
        some.push("…".to_owned());
    }
    some.join(", ")
}

/// What found no partner.
struct Leftovers<'a> {
    /// The rows without a recording, by id or number.
    without: &'a [String],
    /// Whether one of them has an id.
    has_ids: bool,
    /// Some owners of recordings.
    owned: String,
    /// Whether those are row numbers.
    by_row: bool,
    /// How many recordings belong to no row.
    unused: usize,
}

impl Leftovers<'_> {
    fn diagnostics(&self, none: bool, files: JoinedFiles<'_>) -> Vec<Diagnostic> {
        let some = some_of(self.without.iter().cloned());
        if none {
            return vec![self.nothing_joined(&some, files)];
        }
        let mut found = Vec::new();
        if !self.without.is_empty() {
            let message = format!(
                "{} no trajectory in `{}` and cannot be graded: {some}",
                counted(self.without.len(), ["sample has", "samples have"]),
                files.recordings,
            );
            found.push(Diagnostic::warning(Place::file(files.dataset), message));
        }
        if self.unused > 0 {
            let belong = counted(self.unused, ["trajectory belongs", "trajectories belong"]);
            let message = format!("{belong} to no sample of `{}`", files.dataset);
            found.push(Diagnostic::warning(Place::file(files.recordings), message));
        }
        found
    }

    fn nothing_joined(&self, some: &str, files: JoinedFiles<'_>) -> Diagnostic {
        let (owned, rows) = (&self.owned, self.without.len());
        let message =
            format!("no sample of `{}` has a trajectory in `{}`", files.dataset, files.recordings);
        let hint = match some {
            _ if self.by_row => format!(
                "they join by row number, from 0: the dataset has {}, the trajectories are of {owned}",
                counted(rows, ["row", "rows"])
            ),
            _ if !self.has_ids => format!(
                "they join by `id`, and the rows of the dataset have none; the trajectories are of {owned}"
            ),
            some => {
                format!(
                    "they join by `id`: the dataset has {some}; the trajectories are of {owned}"
                )
            }
        };
        Diagnostic::error(Place::file(files.recordings), message).hint(hint)
    }
}

fn counted(count: usize, [one, many]: [&str; 2]) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
