//! Further facts in the result files of other tools: what the sample supplied, and what the target did.

use serde_json::{Map, Value};

use super::case_input::CaseInput;
use super::inputs::{Chunk, Root};
use super::results::line;
use super::{Database, queries};
use evalrs_eval::dataset::fields::RowProblem;
use evalrs_eval::dataset::row::{OpenedRow, RowRecord};
use evalrs_metrics::letta_results::LettaCase;
use evalrs_metrics::results::ResultLine;

/// A result line, and what a Letta result file says beyond it.
#[derive(Clone, Debug)]
pub struct ExportedResult {
    /// The line.
    pub line: ResultLine,
    /// The rest.
    pub case: LettaCase,
}

/// The results in dataset order. `rows` says which row of the dataset each of its records is of; without it, each is of
/// one of its own.
pub fn results<'a>(
    db: &'a Database,
    root: Root,
    rows: Option<&'a [usize]>,
) -> impl Iterator<Item = ExportedResult> + 'a {
    let mut before = 0;
    root.chunks(db).iter().flat_map(move |chunk| {
        let first = before;
        before += chunk.records(db).len();
        let cases = 0..queries::places(db, *chunk).len();
        cases.filter_map(move |at| {
            let line = line(db, *chunk, at)?;
            let mut case = exported(db, *chunk, at)?;
            let position = first + case.row;
            case.row = rows.and_then(|rows| rows.get(position).copied()).unwrap_or(position);
            Some(ExportedResult { line, case })
        })
    })
}

/// The case, whose row is that in its chunk.
fn exported(db: &Database, chunk: Chunk, at: usize) -> Option<LettaCase> {
    let spec = queries::row_spec(db, chunk.root(db)).as_ref()?;
    let row = at / spec.cases();
    let input = CaseInput::of(db, chunk, at)?;
    let record = input.record();
    let opened = OpenedRow::new(record, spec).ok()?;
    let read = || -> Result<LettaCase, RowProblem> {
        let trajectory = opened.recorded()?.trajectory;
        let mut answer = observed(record);
        let agent_id = answer.get("agent_id").and_then(Value::as_str).map(str::to_owned);
        let turns = answer.remove("trajectory").filter(are_turns);
        Ok(LettaCase {
            row,
            agent_args: opened.object("agent_args")?,
            rubric_vars: opened.object("rubric_vars")?,
            extra_vars: opened.object("extra_vars")?,
            turns: turns.unwrap_or_else(|| trajectory.to_letta(true)),
            agent_id,
            agent_state: trajectory.agent_state,
            usage: input.used(),
        })
    };
    // What cannot be read was graded as such.
    Some(read().unwrap_or_else(|_| LettaCase { row, ..LettaCase::default() }))
}

/// What was noted of a target, as it was noted.
fn observed(record: RowRecord<'_>) -> Map<String, Value> {
    serde_json::from_str(record.recorded).unwrap_or_default()
}

/// Whether these are lists of Letta messages.
fn are_turns(turns: &Value) -> bool {
    let is_message = |message: &Value| message.get("message_type").is_some_and(Value::is_string);
    turns.as_array().is_some_and(|turns| {
        let mut turns = turns.iter().map(Value::as_array);
        turns.all(|turn| turn.is_some_and(|messages| messages.iter().all(is_message)))
    })
}
