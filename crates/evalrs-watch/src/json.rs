//! `evalrs watch --json`: one event a line, for editors and scripts.
//!
//! Says what the other displays show under the names of the suite, not those for people. No time and no path that
//! the user did not write, so that the same edits give the same lines. Every line is written at once and flushed.

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use serde_json::{Value, json};

use super::board::{
    ActionCounts, Activity, Board, DeclaredMetricRow, Display, MetricRow, Overview, Spending,
    VerdictDetail, VerdictFilter, VerdictRow, WatchEvent,
};
use super::list_query::ListQuery;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_metrics::metric::label_change::AgreementMove;
use evalrs_model::delta::{Cell, CellState, Movement};
use evalrs_model::outcome::Usage;
use evalrs_model::spec::Label;

/// The version of the lines.
pub const FORMAT: u32 = 2;

/// The most verdicts that one line lists. A rubric can move them all, and a reader holds a line in memory.
pub(crate) const MOST_MOVED: usize = 1000;

/// Writes events as JSON.
pub struct JsonDisplay<W> {
    out: W,
}

impl<W: Write> JsonDisplay<W> {
    /// A display on `out`.
    pub fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Display for JsonDisplay<W> {
    fn event(&mut self, event: &WatchEvent, board: &dyn Board) -> io::Result<()> {
        let overview = board.overview();
        let (name, body) = match event {
            WatchEvent::Saved => ("saved", json!({ "files": overview.files })),
            WatchEvent::Broken => {
                let problems: Vec<Value> = overview.problems.iter().map(problem).collect();
                ("broken_files", json!({ "problems": problems }))
            }
            WatchEvent::Restored => ("fixed_files", json!({})),
            WatchEvent::Planned => {
                let ActionCounts { total, cached, asked, waiting, .. } = overview.actions;
                let to_ask = asked + waiting;
                ("planned", json!({ "total": total, "cached": cached, "to_ask": to_ask }))
            }
            WatchEvent::Verdict(id) => {
                let Some(detail) = board.detail(*id) else { return Ok(()) };
                ("verdict", verdict(&detail, overview))
            }
            WatchEvent::Paused => ("paused", paused(overview)),
            WatchEvent::Evaluated => ("evaluated", evaluated(board)),
            WatchEvent::Waiting(text) => ("waiting", json!({ "text": text })),
            WatchEvent::Note(text) => ("note", json!({ "text": text })),
            WatchEvent::Ended => {
                let spent = spending(&overview.spent);
                ("ended", json!({ "newest": overview.newest, "spent": spent }))
            }
        };
        // What every line has comes before what only its own kind has.
        let mut line = json!({ "format": FORMAT, "event": name, "save": overview.save });
        if let (Value::Object(line), Value::Object(body)) = (&mut line, body) {
            line.extend(body);
        }
        self.out.write_all(format!("{line}\n").as_bytes())?;
        self.out.flush()
    }
}

/// What is wrong, with its place as editors count: lines and columns from 1, both 0 for a file as a whole.
fn problem(problem: &Diagnostic) -> Value {
    let place = problem.place.as_ref();
    json!({
        "path": place.map(|place| &place.path),
        "line": place.map_or(0, |place| place.line),
        "column": place.map_or(0, |place| place.column),
        "severity": problem.severity,
        "message": problem.message,
        "label": problem.label,
        "hint": problem.hint,
    })
}

fn verdict(detail: &VerdictDetail, overview: &Overview) -> Value {
    let row = &detail.row;
    let verdict = ToldVerdict {
        sample_id: &row.sample_id,
        model: row.model.as_deref(),
        trial: row.trial,
        grader: grader_key(overview, row),
        before: row.before,
        now: row.now,
        movement: row.movement,
        label: row.label,
        disagrees: row.disagrees,
        disputed: !row.dispute.is_empty(),
        agreement: row.agreement,
        rationale: detail.rationale.as_deref(),
        rationale_before: detail.rationale_before.as_deref(),
    };
    verdict.body()
}

/// A verdict as events tell it.
pub struct ToldVerdict<'a> {
    pub sample_id: &'a str,
    pub model: Option<&'a str>,
    pub trial: u32,
    /// The key of the grader in the suite.
    pub grader: &'a str,
    pub before: Option<Cell>,
    pub now: Cell,
    pub movement: Movement,
    /// The human label.
    pub label: Option<Label>,
    pub disagrees: bool,
    /// Whether people differ on it.
    pub disputed: bool,
    /// How it moved against that.
    pub agreement: Option<AgreementMove>,
    pub rationale: Option<&'a str>,
    pub rationale_before: Option<&'a str>,
}

impl ToldVerdict<'_> {
    /// What its event has beyond what every event has.
    pub fn body(&self) -> Value {
        json!({
            "sample_id": self.sample_id,
            "model": self.model,
            "trial": self.trial,
            "grader": self.grader,
            "before": self.before.map(grade),
            "now": grade(self.now),
            "movement": movement_name(self.movement),
            "label": match self.label {
                None => Value::Null,
                Some(Label::Pass(pass)) => pass.into(),
                Some(Label::Score(score)) => score.into(),
            },
            "disagrees": self.disagrees,
            "disputed": self.disputed,
            "agreement": self.agreement.map(|moved| match moved {
                AgreementMove::NowAgrees => "now_agrees",
                AgreementMove::NoLongerAgrees => "no_longer_agrees",
            }),
            "rationale": self.rationale,
            "rationale_before": self.rationale_before,
        })
    }
}

/// A grade. What is not a verdict has no score: an error is not a zero.
fn grade(cell: Cell) -> Value {
    let state = match cell.state {
        CellState::Skipped => "skipped",
        CellState::Pending => "pending",
        CellState::Passed => "passed",
        CellState::Failed => "failed",
        CellState::Errored => "errored",
        CellState::NotApplicable => "not_applicable",
    };
    json!({ "score": cell.is_verdict().then_some(cell.score), "state": state })
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
        Movement::NotApplicable => "not_applicable",
    }
}

/// The name of the row's grader in the suite.
pub(super) fn grader_key<'a>(overview: &'a Overview, row: &'a VerdictRow) -> &'a str {
    overview.metrics.get(row.id.grader).map_or(&row.grader, |metric| &metric.grader)
}

fn paused(overview: &Overview) -> Value {
    let (waiting, expected_cost) = overview.held();
    let asked = overview.actions.asked;
    json!({ "asked": asked, "waiting": waiting, "expected_cost": expected_cost })
}

fn evaluated(board: &dyn Board) -> Value {
    let overview = board.overview();
    let ids = board.rows(&ListQuery::of(VerdictFilter::Moved));
    let listed = ids.iter().take(MOST_MOVED).filter_map(|id| board.detail(*id));
    let moved: Vec<Value> = listed.map(|detail| verdict(&detail, overview)).collect();
    let metrics = overview.metrics.iter().map(|row| (row.grader.clone(), row)).collect();
    let declared = overview.declared.iter().map(|row| (row.name.clone(), row)).collect();
    json!({
        "newest": overview.newest,
        "suite": overview.suite,
        "files": overview.files,
        "metrics": OrderedMap::<&MetricRow>(metrics),
        "declared": OrderedMap::<&DeclaredMetricRow>(declared),
        "gate": overview.gate,
        "gate_before": overview.gate_before,
        "counts": counts(overview),
        "moved": moved,
        "moved_not_listed": ids.len().saturating_sub(MOST_MOVED),
        "actions": overview.actions,
        "spent": spending(&overview.spent),
        "notes": overview.notes,
        "stopped": match &overview.state {
            Activity::Stopped(why) => Some(why),
            _ => None,
        },
    })
}

/// How many grades moved in which way, by the names of [`movement_name`], and how many against labels.
fn counts(overview: &Overview) -> Value {
    let counts = &overview.counts;
    let agreement = overview.agreement_moves();
    json!({
        "broken": counts.broken,
        "errored": counts.errored,
        "fixed": counts.fixed,
        "error_to_fail": counts.answered,
        "lowered": counts.lowered,
        "raised": counts.raised,
        "new": counts.new,
        "unchanged": counts.unchanged,
        "pending": counts.pending,
        "not_applicable": counts.not_applicable,
        "now_agrees": agreement.now_agree,
        "no_longer_agrees": agreement.no_longer_agree,
    })
}

fn spending(spent: &Spending) -> Value {
    json!({
        "save": usage(spent.save),
        "session": usage(spent.session),
        "saved": usage(spent.saved),
        "calls": spent.calls,
        "budget": spent.budget,
        "max_calls": spent.max_calls,
    })
}

/// Tokens, and US dollars where prices are known.
fn usage(usage: Usage) -> Value {
    json!({ "input_tokens": usage.input, "output_tokens": usage.output, "cost": usage.cost })
}
