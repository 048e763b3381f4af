//! Joins dataset rows with trajectories recorded in another file.
//!
//! By id; by row number where the recording has no ids (Letta results up to 0.16), with a check that the
//! input is the same. Pure: the driver hands in the text of both files.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use super::fields::{Fields, RowSpec};
use super::split::{RawRecord, Start, record_place};
use crate::diagnostic::{Diagnostic, Place};

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

/// Rows with their recordings, one result for each recording of a row, in dataset order. Rows and recordings
/// without a partner are left out with a warning.
pub fn join<'a>(
    rows: Vec<RawRecord<'a>>,
    recordings: Vec<Recording>,
    spec: &RowSpec,
    files: JoinedFiles<'_>,
) -> (Vec<Joined<'a>>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let total = recordings.len();
    let mut by_owner: HashMap<Owner, Vec<Recording>> = HashMap::new();
    for recording in recordings {
        by_owner.entry(recording.owner.clone()).or_default().push(recording);
    }
    let mut joined = Vec::with_capacity(total);
    let mut without = Vec::new();
    let mut used = 0;
    for (at, row) in rows.into_iter().enumerate() {
        let id = row_id(&row.text, spec);
        let found =
            by_owner.remove(&Owner::Row(at)).or_else(|| by_owner.remove(&Owner::Id(id.clone()?)));
        let Some(found) = found else {
            without.push(id.unwrap_or_else(|| format!("row {}", at + 1)));
            continue;
        };
        used += found.len();
        for recording in found {
            if input_differs(&row.text, spec, &recording) {
                diagnostics.push(input_mismatch(&row, files, at));
            }
            joined.push(Joined {
                row: row.text.clone(),
                recorded: Cow::Owned(recording.text),
                start: row.start,
            });
        }
    }
    diagnostics.extend(leftovers(&without, total - used, joined.is_empty(), files));
    (joined, diagnostics)
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
        Some(Value::String(text)) if spec.cells && text.trim_start().starts_with('[') => {
            serde_json::from_str::<Value>(text.trim()).is_ok_and(|list| list != *recorded)
        }
        Some(input) => input != *recorded,
        None => false,
    }
}

fn input_mismatch(row: &RawRecord<'_>, files: JoinedFiles<'_>, at: usize) -> Diagnostic {
    Diagnostic::error(
        record_place(files.dataset, files.text, row.start, None),
        format!("row {at} was recorded with another input in `{}`", files.recordings),
    )
    .hint("the recording joins by row number: the dataset must be the one it was made with")
}

fn leftovers(
    without: &[String],
    unused: usize,
    none: bool,
    files: JoinedFiles<'_>,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let some = without.iter().take(3).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    if none {
        let message =
            format!("no sample of `{}` has a trajectory in `{}`", files.dataset, files.recordings);
        let hint = format!("trajectories join by `id`; the dataset has {some}, …");
        found.push(Diagnostic::error(Place::file(files.recordings), message).hint(hint));
    } else if !without.is_empty() {
        let message = format!(
            "{} samples have no trajectory in `{}` and are left out: {some}{}",
            without.len(),
            files.recordings,
            if without.len() > 3 { ", …" } else { "" }
        );
        found.push(Diagnostic::warning(Place::file(files.dataset), message));
    }
    if unused > 0 && !none {
        let message = format!("{unused} trajectories belong to no sample of `{}`", files.dataset);
        found.push(Diagnostic::warning(Place::file(files.recordings), message));
    }
    found
}
