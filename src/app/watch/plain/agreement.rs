//! How far graders agree with people: the numbers, who passes what, and the disagreements.

use anstyle::Style;

use super::moved::case;
use super::prose;
use crate::app::watch::board::{Board, VerdictDetail, VerdictFilter, VerdictRow};
use crate::base::text::table::{lines as table_lines, number, words};
use crate::base::text::{count, cut, percent, score, score_or_dash};
use crate::pipeline::delta::CellState;
use crate::pipeline::metric::labels::LabelAgreement;
use crate::pipeline::report::terminal::{BAD, TITLE, faint, title};
use crate::pipeline::spec::Label;

/// The most disagreements that are listed.
const MAX_ROWS: usize = 10;

/// The columns of a grader's name in a sentence.
const GRADER: usize = 24;

/// What labels say of each grader that has some, then where verdicts say something else.
pub(super) fn lines(board: &dyn Board, width: usize) -> Vec<String> {
    let mut shown = Vec::new();
    for metric in &board.overview().metrics {
        if let Some(labels) = &metric.labels {
            let grader = cut(&metric.label, GRADER);
            let sentence = format!("labels of {grader}: {}", sentence(labels));
            shown.extend(prose(&sentence, Style::new(), width));
            if labels.n > 0 {
                shown.extend(confusion(labels, width));
            }
        }
    }
    if !shown.is_empty() {
        shown.extend(disagreements(board, width));
    }
    shown
}

/// `95.0% of 40 verdicts agree, kappa 0.90 (0.76 to 1.00), mean distance 0.050, 2 labels without a verdict`.
fn sentence(labels: &LabelAgreement) -> String {
    let mut parts = Vec::new();
    if labels.n > 0 {
        let verdicts = count(labels.n, "verdict");
        let agree = if labels.n == 1 { "agrees" } else { "agree" };
        parts.push(format!("{} of {verdicts} {agree}", percent(labels.accuracy)));
        let kappa = labels
            .kappa
            .map_or_else(|| "not defined".to_owned(), |kappa| format!("{:.2}", kappa + 0.0));
        let interval = labels.kappa_interval.map_or_else(String::new, |(low, high)| {
            format!(" ({:.2} to {:.2})", low + 0.0, high + 0.0)
        });
        parts.push(format!("kappa {kappa}{interval}"));
    }
    if labels.mean_distance.is_some() {
        parts.push(format!("mean distance {}", score_or_dash(labels.mean_distance)));
    }
    if labels.without_verdict > 0 {
        parts.push(format!("{} without a verdict", count(labels.without_verdict, "label")));
    }
    if parts.is_empty() { "no verdict has one".to_owned() } else { parts.join(", ") }
}

/// The four ways in which two can say pass or fail.
fn confusion(labels: &LabelAgreement, width: usize) -> Vec<String> {
    let cell = |number_of: usize| number(number_of.to_string());
    let wrong = |number_of: usize| {
        let cell = cell(number_of);
        if number_of > 0 { cell.styled(BAD) } else { cell }
    };
    let heading = |text: &str| number(text).styled(TITLE);
    let rows = [
        vec![words(""), heading("people pass"), heading("people fail")],
        vec![title("grader passes"), cell(labels.both_pass), wrong(labels.false_pass)],
        vec![title("grader fails"), wrong(labels.false_fail), cell(labels.both_fail)],
    ];
    table_lines(&rows, width)
}

fn disagreements(board: &dyn Board, width: usize) -> Vec<String> {
    let ids = board.rows(VerdictFilter::Disagreeing, "");
    if ids.is_empty() {
        return Vec::new();
    }
    let details: Vec<VerdictDetail> =
        ids.iter().take(MAX_ROWS).filter_map(|id| board.detail(*id)).collect();
    let trials = details.iter().any(|detail| detail.row.trial > 0);
    let mut rows = vec![vec![
        title(&count(ids.len(), "disagreement")),
        title("grader"),
        title("verdict"),
        title("label"),
        title("rationale"),
    ]];
    for VerdictDetail { row, rationale, .. } in &details {
        rows.push(vec![
            words(&case(row, trials)),
            words(&row.grader),
            words(&verdict(row)),
            words(&row.label.map_or_else(String::new, label)),
            words(&cut(rationale.as_deref().unwrap_or_default(), width)),
        ]);
    }
    let mut shown = table_lines(&rows, width);
    if ids.len() > MAX_ROWS {
        shown.push(faint(&format!("… and {} more", ids.len() - MAX_ROWS)));
    }
    shown
}

fn verdict(row: &VerdictRow) -> String {
    let word = match row.now.state {
        CellState::Passed => "pass",
        CellState::Failed => "fail",
        CellState::Errored => return "error".to_owned(),
        CellState::Pending | CellState::Skipped | CellState::NotApplicable => {
            return "-".to_owned();
        }
    };
    format!("{} {word}", score(row.now.score))
}

fn label(label: Label) -> String {
    match label {
        Label::Pass(true) => "pass".to_owned(),
        Label::Pass(false) => "fail".to_owned(),
        Label::Score(value) => score(value),
    }
}
