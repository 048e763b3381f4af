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
    Actions, Board, Detail, Display, Filter, Happened, Overview, Row, RowId, State,
};
use super::plain::without_time;
use crate::base::diagnostic::{Diagnostic, Severity};
use crate::base::ordered_map::Ordered;
use crate::base::price::Cost;
use crate::pipeline::delta::{Cell, CellState, Counts, Movement};
use crate::pipeline::gate::GateReport;
use crate::pipeline::metric::labels::LabelAgreement;
use crate::pipeline::outcome::Usage;
use crate::pipeline::spec::Label;

/// The version of the lines.
pub(crate) const FORMAT: u32 = 1;

/// The most verdicts that one line lists. A rubric can move them all, and whoever reads a line holds it in memory.
pub(crate) const MOST_MOVED: usize = 1000;

/// Writes events as JSON.
pub(crate) struct Json<'a> {
    out: &'a mut dyn Write,
    waits: BTreeSet<String>,
}

impl<'a> Json<'a> {
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
                self.line("waiting", overview, &Text { text })?;
            }
        }
        Ok(())
    }
}

impl Display for Json<'_> {
    fn happened(&mut self, happened: &Happened, board: &dyn Board) -> io::Result<()> {
        let overview = board.overview();
        match happened {
            Happened::Saved => {
                self.waits.clear();
                return self.line("saved", overview, &Saved { files: &overview.files });
            }
            Happened::Broken => self.line("broken", overview, &Broken::of(overview))?,
            Happened::Mended => self.line("mended", overview, &Nothing {})?,
            Happened::Planned => self.line("planned", overview, &Planned::of(&overview.actions))?,
            Happened::Verdict(id) => {
                if let Some(detail) = board.detail(*id) {
                    self.line("verdict", overview, &Verdict::of(&detail, overview))?;
                }
            }
            Happened::Held => self.line("held", overview, &Held::of(overview))?,
            Happened::Evaluated => self.line("evaluated", overview, &Evaluated::of(board))?,
            Happened::Note(text) => self.line("note", overview, &Text { text })?,
            Happened::Ended => self.line("ended", overview, &Ended::of(overview))?,
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
struct Nothing {}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct Saved<'a> {
    files: &'a [String],
}

#[derive(Serialize)]
struct Broken<'a> {
    problems: Vec<Problem<'a>>,
}

/// What is wrong, with its place as editors count: lines and columns from 1, both 0 for a file as a whole.
#[derive(Serialize)]
struct Problem<'a> {
    path: Option<&'a str>,
    line: usize,
    column: usize,
    severity: Severity,
    message: &'a str,
    label: Option<&'a str>,
    hint: Option<&'a str>,
}

impl<'a> Broken<'a> {
    fn of(overview: &'a Overview) -> Self {
        Self { problems: overview.problems.iter().map(Problem::of).collect() }
    }
}

impl<'a> Problem<'a> {
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
struct Planned {
    total: u64,
    cached: u64,
    to_ask: u64,
}

impl Planned {
    fn of(actions: &Actions) -> Self {
        let to_ask = actions.asked + actions.waiting;
        Self { total: actions.total, cached: actions.cached, to_ask }
    }
}

#[derive(Serialize)]
struct Verdict<'a> {
    sample_id: &'a str,
    model: Option<&'a str>,
    trial: u32,
    grader: &'a str,
    before: Option<Grade>,
    now: Grade,
    movement: Movement,
    label: Value,
    disagrees: bool,
    rationale: Option<&'a str>,
    rationale_before: Option<&'a str>,
}

/// A grade. What is no verdict has no score: an error is not a zero.
#[derive(Serialize)]
struct Grade {
    score: Option<f64>,
    state: &'static str,
}

impl<'a> Verdict<'a> {
    fn of(detail: &'a Detail, overview: &'a Overview) -> Self {
        let row = &detail.row;
        Self {
            sample_id: &row.sample_id,
            model: row.model.as_deref(),
            trial: row.trial,
            grader: grader_key(overview, row),
            before: row.before.map(Grade::of),
            now: Grade::of(row.now),
            movement: row.movement,
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

impl Grade {
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

/// The name of the row's grader in the suite.
pub(super) fn grader_key<'a>(overview: &'a Overview, row: &'a Row) -> &'a str {
    overview.metrics.get(row.id.grader as usize).map_or(&row.grader, |metric| &metric.grader)
}

#[derive(Serialize)]
struct Held {
    asked: u64,
    waiting: u64,
    expected_cost: Option<Cost>,
}

impl Held {
    fn of(overview: &Overview) -> Self {
        let (waiting, expected_cost) = match overview.state {
            State::Held { waiting, expected } => (waiting, expected),
            _ => (overview.actions.waiting, None),
        };
        Self { asked: overview.actions.asked, waiting, expected_cost }
    }
}

#[derive(Serialize)]
struct Evaluated<'a> {
    newest: u32,
    suite: &'a str,
    files: &'a [String],
    metrics: Ordered<Metric<'a>>,
    gate: &'a GateReport,
    gate_before: &'a GateReport,
    counts: Counts,
    moved: Vec<Value>,
    moved_not_listed: usize,
    actions: ActionCounts,
    spent: Spending,
    notes: &'a [String],
    stopped: Option<&'a str>,
}

#[derive(Serialize)]
struct Metric<'a> {
    label: &'a str,
    mean: Option<f64>,
    pass_rate: Option<f64>,
    judged: usize,
    errors: usize,
    total: usize,
    since_last: Option<f64>,
    since_start: Option<f64>,
    labels: Option<LabelAgreement>,
}

#[derive(Serialize)]
struct ActionCounts {
    total: u64,
    cached: u64,
    asked: u64,
    under_way: u64,
    failed: u64,
    waiting: u64,
    superseded: u64,
}

#[derive(Serialize)]
struct Spending {
    save: Used,
    session: Used,
    saved: Used,
    calls: u64,
    budget: Option<Cost>,
    max_calls: Option<u64>,
}

/// Tokens, and US dollars where prices are known.
#[derive(Serialize)]
struct Used {
    input_tokens: u64,
    output_tokens: u64,
    cost: Option<Cost>,
}

impl<'a> Evaluated<'a> {
    fn of(board: &'a dyn Board) -> Self {
        let overview = board.overview();
        let ids: Vec<RowId> = board.rows(Filter::Moved, "");
        let value = |id: &RowId| {
            let detail = board.detail(*id)?;
            serde_json::to_value(Verdict::of(&detail, overview)).ok()
        };
        Self {
            newest: overview.newest,
            suite: &overview.suite,
            files: &overview.files,
            metrics: metrics(overview),
            gate: &overview.gate,
            gate_before: &overview.gate_before,
            counts: overview.counts,
            moved: ids.iter().take(MOST_MOVED).filter_map(value).collect(),
            moved_not_listed: ids.len().saturating_sub(MOST_MOVED),
            actions: ActionCounts::of(&overview.actions),
            spent: Spending::of(overview),
            notes: &overview.notes,
            stopped: match &overview.state {
                State::Stopped(why) => Some(why),
                _ => None,
            },
        }
    }
}

fn metrics(overview: &Overview) -> Ordered<Metric<'_>> {
    let metrics = overview.metrics.iter().map(|row| {
        let metric = Metric {
            label: &row.label,
            mean: row.mean,
            pass_rate: row.pass_rate,
            judged: row.judged,
            errors: row.errors,
            total: row.total,
            since_last: row.since_last,
            since_start: row.since_start,
            labels: row.labels,
        };
        (row.grader.clone(), metric)
    });
    Ordered(metrics.collect())
}

impl ActionCounts {
    fn of(actions: &Actions) -> Self {
        let Actions { total, cached, asked, under_way, failed, waiting, superseded } = *actions;
        Self { total, cached, asked, under_way, failed, waiting, superseded }
    }
}

impl Spending {
    fn of(overview: &Overview) -> Self {
        let spent = &overview.spent;
        Self {
            save: Used::of(spent.save),
            session: Used::of(spent.session),
            saved: Used::of(spent.saved),
            calls: spent.calls,
            budget: spent.budget,
            max_calls: spent.max_calls,
        }
    }
}

impl Used {
    fn of(usage: Usage) -> Self {
        Self { input_tokens: usage.input, output_tokens: usage.output, cost: usage.cost }
    }
}

#[derive(Serialize)]
struct Ended {
    newest: u32,
    spent: Spending,
}

impl Ended {
    fn of(overview: &Overview) -> Self {
        Self { newest: overview.newest, spent: Spending::of(overview) }
    }
}
