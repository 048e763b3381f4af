//! Joins dataset rows with trajectories recorded in another file.
//!
//! By id, trial and model. Letta results that are numbered join by equal ids first, then by row number, with a check
//! that the input is the same. Pure: the engine hands in the text of both files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::condition::is_left_out;
use super::fields::{RowFields, RowSpec, counted, json_text, some_of};
pub use super::row_record::NOT_RECORDED;
pub use super::run_identity::RunIdentity;

use super::raw_record::{RawRecord, RecordStart};
use super::row_record::RowRecord;
use super::run_identity::Compatibility;
use evalrs_base::diagnostic::{Diagnostic, Place, clipped};
use evalrs_model::expression::RowCondition;
use evalrs_model::spec::JoinBy;

/// A dataset row with what was recorded for it; several rows of one sample are its trials and models.
#[derive(Clone, Debug)]
pub struct JoinedRow<'a> {
    /// The JSON text of the dataset row.
    pub row: Cow<'a, str>,
    /// The JSON text of the joined recording; empty if the row carries its own.
    pub recorded: Cow<'a, str>,
    /// Where the row starts.
    pub start: RecordStart,
}

/// What a recording says it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// The sample with this id.
    Id(String),
    /// The sample with this number as its id, else the row at this position, from 0 (Letta results up to 0.16).
    Row(usize),
    /// The row at this position, from 0, whatever its id.
    Line(usize),
    /// The sample with this number as its id, else the row at this position, from 0, if that has no id or was given the
    /// same input.
    IdOrRow(usize),
}

/// One recorded trajectory.
#[derive(Clone, Debug)]
pub struct RecordedTrajectory {
    /// Which sample it is of.
    pub owner: Owner,
    /// The repetition and the model it says it is of.
    pub run: RunIdentity,
    /// A JSON object with `trajectory`, `messages` or `output`, and `model` and `trial` where known.
    pub text: String,
    /// The input it was recorded with, to be compared with the row's.
    pub input: Option<Value>,
    /// Its file.
    pub file: Arc<str>,
    /// Where it starts in that file.
    pub start: RecordStart,
    /// Whether `text` is the text of that place, and not derived from it.
    pub verbatim: bool,
}

impl RecordedTrajectory {
    /// What it belongs to, for messages.
    fn name(&self) -> String {
        match &self.owner {
            Owner::Id(id) => self.run.named(id),
            Owner::Row(row) | Owner::IdOrRow(row) => self.run.named(&row.to_string()),
            Owner::Line(line) => format!("record {}", line + 1),
        }
    }
}

/// The two files that are joined, for messages.
#[derive(Clone, Copy)]
pub struct JoinedFiles<'a> {
    /// The dataset.
    pub dataset: &'a str,
    /// Where a row of it starts.
    pub place: &'a dyn Fn(RecordStart) -> Place,
    /// The recordings.
    pub recordings: &'a str,
    /// Which row a recording belongs to.
    pub by: &'a JoinBy,
    /// What holds of the rows that count.
    pub condition: Option<&'a RowCondition>,
}

/// Rows that carry their own recordings.
pub fn alone(rows: Vec<RawRecord<'_>>) -> Vec<JoinedRow<'_>> {
    rows.into_iter()
        .map(|row| JoinedRow { row: row.text, recorded: Cow::Borrowed(""), start: row.start })
        .collect()
}

/// Rows with their recordings, one result for each recording of a row, in dataset order. Rows without a recording
/// are said and stay, recordings without a row are said and left out.
pub fn join<'a>(
    rows: Vec<RawRecord<'a>>,
    recordings: Vec<RecordedTrajectory>,
    spec: &RowSpec,
    files: JoinedFiles<'_>,
) -> (Vec<JoinedRow<'a>>, Vec<Diagnostic>) {
    if *files.by == JoinBy::Line && rows.len() != recordings.len() {
        let alone = alone(rows);
        let problem = other_count(alone.len(), recordings.len(), files);
        return (alone, vec![problem]);
    }
    let table = RowIndex::new(&rows, spec, files);
    let assigned = table.assign(&recordings);
    let claims = table.claims;
    let mut left = Leftovers {
        without: Vec::new(),
        has_ids: false,
        owned: some_of(recordings.iter().map(RecordedTrajectory::name), SOME),
        first_unused: None,
        by_row: matches!(recordings.first(), Some(RecordedTrajectory { owner: Owner::Row(_), .. })),
        unused: 0,
    };
    let mut joined = Vec::with_capacity(recordings.len());
    let mut own: Vec<Vec<RecordedTrajectory>> = claims.iter().map(|_| Vec::new()).collect();
    for (recording, row) in recordings.into_iter().zip(assigned) {
        match row.and_then(|row| own.get_mut(row)) {
            Some(own) => own.push(recording),
            None => {
                left.unused += 1;
                left.first_unused.get_or_insert((recording.name(), recording.start.line));
            }
        }
    }
    let mut diagnostics = Vec::new();
    let mut left_out = 0;
    for ((row, claim), found) in rows.into_iter().zip(claims).zip(own) {
        let differs = |recording: &&RecordedTrajectory| input_differs(&row.text, spec, recording);
        if let Some(other) = found.iter().find(differs).filter(|_| !claim.is_left_out) {
            diagnostics.push(input_mismatch(&row, files, &claim.name, other));
        }
        left_out += usize::from(claim.is_left_out) * found.len().max(1);
        if found.is_empty() {
            if !claim.is_left_out {
                left.has_ids |= claim.id.is_some();
                left.without.push(claim.run.named(&claim.name));
            }
            let recorded = Cow::Borrowed(NOT_RECORDED);
            joined.push(JoinedRow { row: row.text, recorded, start: row.start });
            continue;
        }
        for recording in found {
            joined.push(JoinedRow {
                row: row.text.clone(),
                recorded: Cow::Owned(recording.text),
                start: row.start,
            });
        }
    }
    let nothing = left.without.len() + left_out == joined.len();
    let nothing = nothing && (left_out == 0 || !left.without.is_empty());
    diagnostics.extend(left.diagnostics(nothing, files));
    (joined, diagnostics)
}

/// What conditions call what a [`RunIdentity`] says.
const RUN: [&str; 2] = ["trial", "model"];

/// The recording that a row needs.
struct RowIdentity {
    /// Its id, or its number where it has none, for messages.
    name: String,
    id: Option<String>,
    run: RunIdentity,
    /// Whether the row does not count.
    is_left_out: bool,
}

impl RowIdentity {
    fn of(at: usize, row: &str, spec: &RowSpec, files: JoinedFiles<'_>) -> Self {
        let fields = RowFields::new(row, spec).ok();
        let id = fields.as_ref().and_then(|fields| row_id(fields, files.by));
        let run = fields.as_ref().map(RunIdentity::of).unwrap_or_default();
        let record = RowRecord { row, recorded: NOT_RECORDED, case: 0 };
        // A recording may say which model and trial the row is of.
        let is_of_rows = |condition: &&RowCondition| {
            !condition.names().iter().any(|name| RUN.contains(&&**name))
        };
        let is_left_out = is_left_out(record, spec, files.condition.filter(is_of_rows));
        let name = id.clone().unwrap_or_else(|| format!("row {}", at + 1));
        Self { name, id, run, is_left_out }
    }
}

/// The rows, to find those that a recording belongs to.
struct RowIndex<'t, 'a> {
    rows: &'t [RawRecord<'a>],
    spec: &'t RowSpec,
    claims: Vec<RowIdentity>,
    by_id: HashMap<String, Vec<usize>>,
}

impl<'t, 'a> RowIndex<'t, 'a> {
    fn new(rows: &'t [RawRecord<'a>], spec: &'t RowSpec, files: JoinedFiles<'_>) -> Self {
        let claims = rows.iter().enumerate();
        let claims: Vec<RowIdentity> =
            claims.map(|(at, row)| RowIdentity::of(at, &row.text, spec, files)).collect();
        let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, claim) in claims.iter().enumerate() {
            if let Some(id) = &claim.id {
                by_id.entry(id.clone()).or_default().push(at);
            }
        }
        Self { rows, spec, claims, by_id }
    }

    /// The row of each recording. Of several rows that it fits, the one that says most, then the first. One that does not
    /// say its trial or model fits a row that does only where no other recording is surely that row's. Rows that do not count
    /// have what is left.
    fn assign(&self, recordings: &[RecordedTrajectory]) -> Vec<Option<usize>> {
        let mut has_own = vec![false; self.claims.len()];
        let mut assigned = Vec::with_capacity(recordings.len());
        for recording in recordings {
            let sure = self.fitting(recording, Compatibility::Yes);
            let row = sure.rev().max_by_key(|row| self.claims[*row].run.said());
            if let Some(row) = row {
                has_own[row] = true;
            }
            assigned.push(row);
        }
        for (recording, row) in recordings.iter().zip(&mut assigned) {
            if row.is_none() {
                *row = self.fitting(recording, Compatibility::Perhaps).find(|row| !has_own[*row]);
            }
            if row.is_none() {
                *row = self.rows_of(recording).into_iter().find(|row| self.is_left_out(*row));
            }
        }
        assigned
    }

    fn fitting(
        &self,
        recording: &RecordedTrajectory,
        fit: Compatibility,
    ) -> impl DoubleEndedIterator<Item = usize> + use<'_, 't, 'a> {
        let run = recording.run.clone();
        let rows = self.rows_of(recording).into_iter();
        rows.filter(move |row| {
            !self.is_left_out(*row)
                && self.claims.get(*row).is_some_and(|claim| claim.run.fit(&run) == fit)
        })
    }

    fn is_left_out(&self, row: usize) -> bool {
        self.claims.get(row).is_some_and(|claim| claim.is_left_out)
    }

    fn rows_of(&self, recording: &RecordedTrajectory) -> Vec<usize> {
        let of_id = |id: &str| self.by_id.get(id).cloned().unwrap_or_default();
        let number = match &recording.owner {
            Owner::Id(id) => return of_id(id),
            Owner::Line(line) => return vec![*line],
            Owner::Row(number) | Owner::IdOrRow(number) => *number,
        };
        let named = of_id(&number.to_string());
        let differs = |row: usize| input_differs(&self.rows[row].text, self.spec, recording);
        if named.first().is_some_and(|row| !differs(*row)) {
            return named;
        }
        let numbered = self.claims.get(number).filter(|claim| {
            let is_number = matches!(recording.owner, Owner::Row(_)) || claim.id.is_none();
            is_number || recording.input.is_some() && !differs(number)
        });
        match numbered {
            Some(_) if named.is_empty() || !differs(number) => vec![number],
            _ => named,
        }
    }
}

fn row_id(fields: &RowFields<'_>, by: &JoinBy) -> Option<String> {
    let raw = match by {
        JoinBy::Field(path) => fields.at_path(path),
        JoinBy::Id | JoinBy::Line => fields.raw("id"),
    };
    let value: Value = serde_json::from_str(raw?.get()).ok()?;
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn input_differs(row: &str, spec: &RowSpec, recording: &RecordedTrajectory) -> bool {
    let Some(recorded) = &recording.input else { return false };
    let Ok(fields) = RowFields::new(row, spec) else { return false };
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

/// Lines that are joined one to one are as many.
fn other_count(rows: usize, recordings: usize, files: JoinedFiles<'_>) -> Diagnostic {
    let message = format!(
        "`{}` has {}, and `{}` has {}",
        files.recordings,
        counted(recordings, ["record", "records"]),
        files.dataset,
        counted(rows, ["row", "rows"]),
    );
    Diagnostic::error(Place::file(files.recordings), message)
        .hint("`by: line` joins the first with the first, to the last; `by: id` joins by ids")
}

fn input_mismatch(
    row: &RawRecord<'_>,
    files: JoinedFiles<'_>,
    name: &str,
    recording: &RecordedTrajectory,
) -> Diagnostic {
    let place = (files.place)(row.start);
    let recorded = recording.input.as_ref().map(json_text).unwrap_or_default();
    let name = clipped(name);
    let file = files.recordings;
    Diagnostic::error(place, format!("`{name}` was recorded with another input in `{file}`"))
        .label(format!("recorded with `{}`", clipped(&recorded)))
        .hint("results belong to the dataset they were made with: they join by equal ids, else by row number")
}

/// Names that a message lists.
const SOME: usize = 3;

/// What found no partner.
struct Leftovers {
    /// The rows without a recording, by id or number.
    without: Vec<String>,
    /// Whether one of them has an id.
    has_ids: bool,
    /// Some owners of recordings.
    owned: String,
    /// Whether those are row numbers.
    by_row: bool,
    /// How many recordings belong to no row.
    unused: usize,
    /// The first of them: what it is of, and its line.
    first_unused: Option<(String, u32)>,
}

impl Leftovers {
    fn diagnostics(&self, none: bool, files: JoinedFiles<'_>) -> Vec<Diagnostic> {
        let some = some_of(self.without.iter().cloned(), SOME);
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
            let message = format!("{belong} to none of the samples of `{}`", files.dataset);
            let warning = Diagnostic::warning(Place::file(files.recordings), message);
            let first = self.first_unused.as_ref();
            found.push(match first.filter(|(_, line)| *line > 0) {
                Some((name, line)) => {
                    warning.hint(format!("the first is of {name}, on line {line}"))
                }
                None => warning,
            });
        }
        found
    }

    fn nothing_joined(&self, some: &str, files: JoinedFiles<'_>) -> Diagnostic {
        let owned = &self.owned;
        let rows = self.without.len();
        let message =
            format!("no sample of `{}` has a trajectory in `{}`", files.dataset, files.recordings);
        let hint = match some {
            _ if self.by_row => format!(
                "they join by id, else by row number, from 0: the dataset has {}, the trajectories are of {owned}",
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

#[cfg(test)]
mod tests;
