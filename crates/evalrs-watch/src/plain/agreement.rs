//! How far graders agree with people: the numbers, who passes what, and the disagreements.

use std::fmt::Write as _;

use anstyle::Style;

use super::moved::case;
use super::styles::{faint, title};
use super::words::{INDENT, prose};
use crate::board::{Board, Overview, VerdictDetail, VerdictFilter, VerdictRow};
use crate::list_query::ListQuery;
use evalrs_base::text::table::{lines as table_lines, number, words};
use evalrs_base::text::{count, cut, percent, score, score_or_dash};
use evalrs_metrics::metric::label_change::AgreementChange;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_model::delta::CellState;
use evalrs_model::spec::Label;
use evalrs_report::human::coefficient;
use evalrs_report::page::terminal::{BAD, GOOD, TITLE};

const MAX_ROWS: usize = 10;

/// The columns of a grader's name in a sentence.
const GRADER: usize = 24;

/// A line a grader with labels: how far it agrees with people, and how that changed. It is read first.
pub(super) fn headlines(overview: &Overview, width: usize) -> Vec<String> {
    let mut shown = Vec::new();
    let mut tell = |text: String, style| shown.extend(prose(&text, style, width));
    for metric in &overview.metrics {
        let grader = cut(&metric.label, GRADER);
        if metric.disputed > 0 {
            let cases = count(metric.disputed, "case");
            tell(format!("labels of {grader}: reviewers disagree on {cases}"), Style::new());
        }
        let Some(labels) = &metric.labels else { continue };
        tell(format!("labels of {grader}: {}", sentence(labels)), Style::new());
        if let Some(held_out) = &metric.held_out {
            let n = count(held_out.n, "label");
            tell(format!("{INDENT}held-out labels: {} on {n}", held_out.shown()), Style::new());
        }
        let last = metric.labels_since_last;
        // After the first save both are the same.
        let start = metric.labels_since_start.filter(|start| Some(*start) != last);
        for (since, change) in [("last", last), ("start", start)] {
            if let Some(change) = change {
                let (text, style) = change_sentence(&change, labels);
                tell(format!("{INDENT}since {since}: {text}"), style);
            }
        }
    }
    shown
}

/// `agrees less, 60.0% -> 46.7%, kappa 0.10 -> -0.07, false passes +5, false fails -1; 1 now agrees, 5 no longer agree`.
fn change_sentence(change: &AgreementChange, labels: &LabelAgreement) -> (String, Style) {
    let AgreementChange { before, now, now_agrees, no_longer_agrees, .. } = change;
    let (mut told, style) = match change.by() {
        Some(by) if by > 0.0 => ("agrees more".to_owned(), GOOD),
        Some(by) if by < 0.0 => ("agrees less".to_owned(), BAD),
        _ => ("agrees equally".to_owned(), Style::new()),
    };
    let _ = write!(told, ", {} → {}", percent(before.accuracy), percent(now.accuracy));
    let _ = write!(told, ", kappa {} → {}", coefficient(before.kappa), coefficient(now.kappa));
    for (name, by) in [
        ("false passes", change.more(|of| of.false_pass)),
        ("false fails", change.more(|of| of.false_fail)),
    ] {
        if by != 0 {
            let _ = write!(told, ", {name} {by:+}");
        }
    }
    let [now_agree, agree] = [*now_agrees, *no_longer_agrees].map(agree);
    let _ = write!(told, "; {now_agrees} now {now_agree}, {no_longer_agrees} no longer {agree}");
    let all = labels.n + labels.without_verdict;
    if change.n < all {
        let _ = write!(told, " (of {} of {all} labels: those judged both times)", change.n);
    }
    (told, style)
}

fn agree(n: usize) -> &'static str {
    if n == 1 { "agrees" } else { "agree" }
}

/// Who passes what, then where verdicts say something else than people.
pub(super) fn lines(board: &dyn Board, width: usize) -> Vec<String> {
    let overview = board.overview();
    let is_named = overview.metrics.len() > 1;
    let mut shown = Vec::new();
    for metric in &overview.metrics {
        let Some(labels) = metric.labels.filter(|labels| labels.n > 0) else { continue };
        let grader = if is_named { cut(&metric.label, GRADER) } else { "grader".to_owned() };
        shown.extend(confusion(&grader, &labels, width));
    }
    if overview.has_labels() {
        shown.extend(disagreements(board, width));
    }
    shown
}

/// `95.0% of 40 verdicts agree, kappa 0.90 (0.76 to 1.00), mean distance 0.050, 2 labels without a verdict`.
fn sentence(labels: &LabelAgreement) -> String {
    let mut parts = Vec::new();
    if labels.n > 0 {
        let verdicts = count(labels.n, "verdict");
        parts.push(format!("{} of {verdicts} {}", percent(labels.accuracy), agree(labels.n)));
        let kappa = coefficient(labels.kappa);
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
    if labels.stale > 0 {
        let stale = count(labels.stale, "label");
        parts.push(format!("{stale} stale"));
    }
    if parts.is_empty() { "none has a verdict".to_owned() } else { parts.join(", ") }
}

/// The four ways in which two can say pass or fail.
fn confusion(grader: &str, labels: &LabelAgreement, width: usize) -> Vec<String> {
    let cell = |number_of: usize| number(number_of.to_string());
    let wrong = |number_of: usize| {
        let cell = cell(number_of);
        if number_of > 0 { cell.styled(BAD) } else { cell }
    };
    let heading = |text: &str| number(text).styled(TITLE);
    let rows = [
        vec![words(""), heading("label pass"), heading("label fail")],
        vec![title(&format!("{grader} passes")), cell(labels.both_pass), wrong(labels.false_pass)],
        vec![title(&format!("{grader} fails")), wrong(labels.false_fail), cell(labels.both_fail)],
    ];
    table_lines(&rows, width)
}

fn disagreements(board: &dyn Board, width: usize) -> Vec<String> {
    let ids = board.rows(&ListQuery::of(VerdictFilter::Disagreeing));
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
    match row.now.state {
        CellState::Passed => format!("{} pass", score(row.now.score)),
        CellState::Failed => format!("{} fail", score(row.now.score)),
        CellState::Errored => "error".to_owned(),
        CellState::Pending | CellState::Skipped | CellState::NotApplicable => "-".to_owned(),
    }
}

fn label(label: Label) -> String {
    match label {
        Label::Pass(true) => "pass".to_owned(),
        Label::Pass(false) => "fail".to_owned(),
        Label::Score(value) => score(value),
    }
}
