//! The result of a session, once it ended: from its first evaluation to its last.

use super::styles::title;
use super::words::session;
use crate::board::{Board, MetricRow, Overview, SaveRow};
use evalrs_base::text::table::{TableCell, lines as table_lines, number, words};
use evalrs_base::text::{count, percent, score_or_dash};
use evalrs_metrics::gate::GateReport;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_report::intervals::{kappa_or_dash, or_dash};
use evalrs_report::page::terminal::TITLE;
use evalrs_report::verdict;

/// `end: 2 saves, $0.0612 of $1.00, 102 judgments, 298 cached, 55000 tokens`.
pub(super) fn heading(board: &dyn Board) -> String {
    let overview = board.overview();
    let saves = count(overview.newest as usize, "save");
    let cached: u64 = board.saves().iter().map(|save| save.actions.cached).sum();
    let cached = if cached > 0 { format!(", {cached} cached") } else { String::new() };
    let spent = &overview.spent.session;
    let tokens = spent.input + spent.output;
    let tokens = if tokens > 0 { format!(", {tokens} tokens") } else { String::new() };
    format!("end: {saves}, {}{cached}{tokens}", session(&overview.spent))
}

/// How far the graders and the gate came, and the command that says what changed. Of a session without saves it is where they
/// stand beside the labels of people; nothing where there are none.
pub(super) fn lines(board: &dyn Board, width: usize) -> Vec<String> {
    let overview = board.overview();
    let saves = board.saves();
    let has_saves = overview.newest > 0;
    let is_told = has_saves || overview.has_labels();
    let Some(start) = saves.first().filter(|_| is_told) else { return Vec::new() };
    let mut lines = grader_lines(start, overview, width);
    lines.extend(gate_line(start, &overview.gate));
    if has_saves && !overview.diff_command.is_empty() {
        lines.push(format!("what changed: {}", overview.diff_command));
    }
    lines
}

fn grader_lines(start: &SaveRow, overview: &Overview, width: usize) -> Vec<String> {
    let metrics = &overview.metrics;
    if metrics.is_empty() {
        return Vec::new();
    }
    let has_labels = overview.has_labels();
    let titled = |text: &str| number(text).styled(TITLE);
    let mut head = vec![title("grader"), titled("mean")];
    if has_labels {
        head.extend(["agrees", "kappa", "labels"].map(titled));
    }
    head.push(titled("judged"));
    let mut rows = vec![head];
    for metric in metrics {
        let before = start.metrics.iter().find(|then| then.grader == metric.grader);
        let before = before.map(|before| score_or_dash(before.mean));
        let mean = number(change(before, score_or_dash(metric.mean)));
        let mut row = vec![words(&metric.label), mean];
        if has_labels {
            row.extend(agreement(metric));
        }
        row.push(number(format!("{}/{}", metric.judged, metric.total)));
        rows.push(row);
    }
    table_lines(&rows, width)
}

/// The agreement at the start and at the end, both with the labels of now, over the cases judged both times.
fn agreement(metric: &MetricRow) -> [TableCell; 3] {
    let start = metric.labels_since_start;
    let now = start.map(|start| start.now).or(metric.labels);
    let both = |of: fn(&LabelAgreement) -> String| {
        number(change(start.map(|start| of(&start.before)), or_dash(now.as_ref(), of)))
    };
    [
        both(|of| percent(of.accuracy)),
        both(|of| kappa_or_dash(of.kappa)),
        number(or_dash(now, |now| now.n.to_string())),
    ]
}

/// `gate FAILED → PASSED`; nothing without a gate.
fn gate_line(start: &SaveRow, gate: &GateReport) -> Option<String> {
    gate.status?;
    let before = GateReport { status: start.gate, ..GateReport::default() };
    let [before, now] = [&before, gate].map(|gate| verdict::word(gate).to_uppercase());
    Some(format!("gate {}", change(start.gate.map(|_| before), now)))
}

/// `0.720 → 0.830`; an unchanged value is written once.
fn change(before: Option<String>, now: String) -> String {
    match before {
        Some(before) if before != now => format!("{before} → {now}"),
        _ => now,
    }
}
