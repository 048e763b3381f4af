//! `evalrs watch --json`: one event a line, for editors and scripts.
//!
//! Says what the other displays show under the names of the suite, not those for people. No time and no path that
//! the user did not write, so that the same edits give the same lines. Every line is written at once and flushed.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

use super::board::{
    ActionCounts, Activity, Board, Display, MetricRow, Overview, VerdictDetail, VerdictFilter,
    VerdictId, VerdictRow, WatchEvent,
};
use super::plain::without_time;
use crate::base::diagnostic::{Diagnostic, Severity};
use crate::base::ordered_map::Ordered;
use crate::base::price::Cost;
use crate::pipeline::delta::{Cell, CellState, Movement, MovementCounts};
use crate::pipeline::gate::GateReport;
use crate::pipeline::outcome::Usage;
use crate::pipeline::spec::Label;

/// The version of the lines.
pub(crate) const FORMAT: u32 = 2;

/// The most verdicts that one line lists. A rubric can move them all, and whoever reads a line holds it in memory.
pub(crate) const MOST_MOVED: usize = 1000;

/// Writes events as JSON.
pub(crate) struct JsonDisplay<'a> {
    out: &'a mut dyn Write,
    waits: BTreeSet<String>,
}

impl<'a> JsonDisplay<'a> {
    /// A display on `out`.
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, waits: BTreeSet::new() }
    }

    fn line(&mut self, event: &str, overview: &Overview, body: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(&with_head(event, overview.save, body)?)?;
        line.push(b'\n');
        self.out.write_all(&line)?;
        self.out.flush()
    }

    /// Says what is waited for and was not said since the last save.
    fn say_waits(&mut self, overview: &Overview) -> io::Result<()> {
        for text in &overview.waiting {
            if self.waits.insert(without_time(text).to_owned()) {
                self.line("waiting", overview, &TextEvent { text })?;
            }
        }
        Ok(())
    }
}

impl Display for JsonDisplay<'_> {
    fn event(&mut self, event: &WatchEvent, board: &dyn Board) -> io::Result<()> {
        let overview = board.overview();
        match event {
            WatchEvent::Saved => {
                self.waits.clear();
                return self.line("saved", overview, &SavedEvent { files: &overview.files });
            }
            WatchEvent::Broken => {
                self.line("broken_files", overview, &BrokenEvent::of(overview))?;
            }
            WatchEvent::Restored => self.line("fixed_files", overview, &EmptyEvent {})?,
            WatchEvent::Planned => {
                self.line("planned", overview, &PlannedEvent::of(&overview.actions))?;
            }
            WatchEvent::Verdict(id) => {
                if let Some(detail) = board.detail(*id) {
                    self.line("verdict", overview, &VerdictEvent::of(&detail, overview))?;
                }
            }
            WatchEvent::Paused => self.line("paused", overview, &PausedEvent::of(overview))?,
            WatchEvent::Evaluated => {
                self.line("evaluated", overview, &EvaluatedEvent::of(board))?;
            }
            WatchEvent::Note(text) => self.line("note", overview, &TextEvent { text })?,
            WatchEvent::Ended => self.line("ended", overview, &EndedEvent::of(overview))?,
        }
        self.say_waits(overview)
    }

    fn refresh(&mut self, board: &dyn Board) -> io::Result<()> {
        self.say_waits(board.overview())
    }
}

/// The event with what every line has before what only its own kind has.
fn with_head(event: &str, save: u32, body: &impl Serialize) -> io::Result<Map<String, Value>> {
    let mut line = Map::new();
    line.insert("format".to_owned(), FORMAT.into());
    line.insert("event".to_owned(), event.into());
    line.insert("save".to_owned(), save.into());
    if let Value::Object(fields) = serde_json::to_value(body)? {
        line.extend(fields);
    }
    Ok(line)
}

#[derive(Serialize)]
struct EmptyEvent {}

#[derive(Serialize)]
struct TextEvent<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct SavedEvent<'a> {
    files: &'a [String],
}

#[derive(Serialize)]
struct BrokenEvent<'a> {
    problems: Vec<ProblemJson<'a>>,
}

/// What is wrong, with its place as editors count: lines and columns from 1, both 0 for a file as a whole.
#[derive(Serialize)]
struct ProblemJson<'a> {
    path: Option<&'a str>,
    line: usize,
    column: usize,
    severity: Severity,
    message: &'a str,
    label: Option<&'a str>,
    hint: Option<&'a str>,
}

impl<'a> BrokenEvent<'a> {
    fn of(overview: &'a Overview) -> Self {
        Self { problems: overview.problems.iter().map(ProblemJson::of).collect() }
    }
}

impl<'a> ProblemJson<'a> {
    fn of(problem: &'a Diagnostic) -> Self {
        let place = problem.place.as_ref();
        Self {
            path: place.map(|place| place.path.as_str()),
            line: place.map_or(0, |place| place.line),
            column: place.map_or(0, |place| place.column),
            severity: problem.severity,
            message: &problem.message,
            label: problem.label.as_deref(),
            hint: problem.hint.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct PlannedEvent {
    total: u64,
    cached: u64,
    to_ask: u64,
}

impl PlannedEvent {
    fn of(actions: &ActionCounts) -> Self {
        let to_ask = actions.asked + actions.waiting;
        Self { total: actions.total, cached: actions.cached, to_ask }
    }
}

#[derive(Serialize)]
struct VerdictEvent<'a> {
    sample_id: &'a str,
    model: Option<&'a str>,
    trial: u32,
    grader: &'a str,
    before: Option<GradeJson>,
    now: GradeJson,
    movement: &'static str,
    label: Value,
    disagrees: bool,
    rationale: Option<&'a str>,
    rationale_before: Option<&'a str>,
}

/// A grade. What is no verdict has no score: an error is not a zero.
#[derive(Serialize)]
struct GradeJson {
    score: Option<f64>,
    state: &'static str,
}

impl<'a> VerdictEvent<'a> {
    fn of(detail: &'a VerdictDetail, overview: &'a Overview) -> Self {
        let row = &detail.row;
        Self {
            sample_id: &row.sample_id,
            model: row.model.as_deref(),
            trial: row.trial,
            grader: grader_key(overview, row),
            before: row.before.map(GradeJson::of),
            now: GradeJson::of(row.now),
            movement: movement_name(row.movement),
            label: match row.label {
                None => Value::Null,
                Some(Label::Pass(pass)) => pass.into(),
                Some(Label::Score(score)) => score.into(),
            },
            disagrees: row.disagrees,
            rationale: detail.rationale.as_deref(),
            rationale_before: detail.rationale_before.as_deref(),
        }
    }
}

impl GradeJson {
    fn of(cell: Cell) -> Self {
        let state = match cell.state {
            CellState::Skipped => "skipped",
            CellState::Pending => "pending",
            CellState::Passed => "passed",
            CellState::Failed => "failed",
            CellState::Errored => "errored",
        };
        Self { score: cell.is_verdict().then_some(cell.score), state }
    }
}

/// A movement by its name in events: records and `diff` keep the names of their own format.
fn movement_name(movement: Movement) -> &'static str {
    match movement {
        Movement::Broken => "broken",
        Movement::Errored => "errored",
        Movement::Fixed => "fixed",
        Movement::Answered => "error_to_fail",
        Movement::Lowered => "lowered",
        Movement::Raised => "raised",
        Movement::New => "new",
        Movement::Same => "unchanged",
        Movement::Pending => "pending",
    }
}

/// The name of the row's grader in the suite.
pub(super) fn grader_key<'a>(overview: &'a Overview, row: &'a VerdictRow) -> &'a str {
    overview.metrics.get(row.id.grader).map_or(&row.grader, |metric| &metric.grader)
}

#[derive(Serialize)]
struct PausedEvent {
    asked: u64,
    waiting: u64,
    expected_cost: Option<Cost>,
}

impl PausedEvent {
    fn of(overview: &Overview) -> Self {
        let (waiting, expected_cost) = match overview.state {
            Activity::Paused { waiting, expected } => (waiting, expected),
            _ => (overview.actions.waiting, None),
        };
        Self { asked: overview.actions.asked, waiting, expected_cost }
    }
}

#[derive(Serialize)]
struct EvaluatedEvent<'a> {
    newest: u32,
    suite: &'a str,
    files: &'a [String],
    metrics: Ordered<&'a MetricRow>,
    gate: &'a GateReport,
    gate_before: &'a GateReport,
    counts: CountsJson,
    moved: Vec<Value>,
    moved_not_listed: usize,
    actions: ActionCounts,
    spent: SpendingJson,
    notes: &'a [String],
    stopped: Option<&'a str>,
}

/// How many grades moved in which way, by the names of [`movement_name`].
#[derive(Serialize)]
struct CountsJson {
    broken: usize,
    errored: usize,
    fixed: usize,
    error_to_fail: usize,
    lowered: usize,
    raised: usize,
    new: usize,
    unchanged: usize,
    pending: usize,
}

impl CountsJson {
    fn of(counts: &MovementCounts) -> Self {
        Self {
            broken: counts.broken,
            errored: counts.errored,
            fixed: counts.fixed,
            error_to_fail: counts.answered,
            lowered: counts.lowered,
            raised: counts.raised,
            new: counts.new,
            unchanged: counts.unchanged,
            pending: counts.pending,
        }
    }
}

#[derive(Serialize)]
struct SpendingJson {
    save: UsageJson,
    session: UsageJson,
    saved: UsageJson,
    calls: u64,
    budget: Option<Cost>,
    max_calls: Option<u64>,
}

/// Tokens, and US dollars where prices are known.
#[derive(Serialize)]
struct UsageJson {
    input_tokens: u64,
    output_tokens: u64,
    cost: Option<Cost>,
}

impl<'a> EvaluatedEvent<'a> {
    fn of(board: &'a dyn Board) -> Self {
        let overview = board.overview();
        let ids: Vec<VerdictId> = board.rows(VerdictFilter::Moved, "");
        let value = |id: &VerdictId| {
            let detail = board.detail(*id)?;
            serde_json::to_value(VerdictEvent::of(&detail, overview)).ok()
        };
        Self {
            newest: overview.newest,
            suite: &overview.suite,
            files: &overview.files,
            metrics: metrics(overview),
            gate: &overview.gate,
            gate_before: &overview.gate_before,
            counts: CountsJson::of(&overview.counts),
            moved: ids.iter().take(MOST_MOVED).filter_map(value).collect(),
            moved_not_listed: ids.len().saturating_sub(MOST_MOVED),
            actions: overview.actions,
            spent: SpendingJson::of(overview),
            notes: &overview.notes,
            stopped: match &overview.state {
                Activity::Stopped(why) => Some(why),
                _ => None,
            },
        }
    }
}

fn metrics(overview: &Overview) -> Ordered<&MetricRow> {
    Ordered(overview.metrics.iter().map(|row| (row.grader.clone(), row)).collect())
}

impl SpendingJson {
    fn of(overview: &Overview) -> Self {
        let spent = &overview.spent;
        Self {
            save: UsageJson::of(spent.save),
            session: UsageJson::of(spent.session),
            saved: UsageJson::of(spent.saved),
            calls: spent.calls,
            budget: spent.budget,
            max_calls: spent.max_calls,
        }
    }
}

impl UsageJson {
    fn of(usage: Usage) -> Self {
        Self { input_tokens: usage.input, output_tokens: usage.output, cost: usage.cost }
    }
}

#[derive(Serialize)]
struct EndedEvent {
    newest: u32,
    spent: SpendingJson,
}

impl EndedEvent {
    fn of(overview: &Overview) -> Self {
        Self { newest: overview.newest, spent: SpendingJson::of(overview) }
    }
}
