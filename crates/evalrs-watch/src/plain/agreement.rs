//! How far graders agree with people: the numbers, who passes what, and the disagreements.

use std::fmt::Write as _;

use anstyle::Style;

use super::moved::case;
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
use evalrs_report::terminal_page::{BAD, GOOD, TITLE, faint, title};

/// The most disagreements that are listed.
const MAX_ROWS: usize = 10;

/// The columns of a grader's name in a sentence.
const GRADER: usize = 24;

/// A line a grader with labels: how far it agrees with people, and how that changed. It is read first.
pub(super) fn headlines(overview: &Overview, width: usize) -> Vec<String> {
    let mut shown = Vec::new();
    for metric in &overview.metrics {
        let grader = cut(&metric.label, GRADER);
        if metric.disputed > 0 {
            let told =
                format!("labels of {grader}: people differ on {}", count(metric.disputed, "case"));
            shown.extend(prose(&told, Style::new(), width));
        }
        let Some(labels) = &metric.labels else { continue };
        let last = metric.labels_since_last;
        let style = last.map_or(Style::new(), |change| direction(&change));
        let told = format!("labels of {grader}: {}", sentence(labels));
        shown.extend(prose(&told, Style::new(), width));
        if let Some(held_out) = &metric.held_out {
            let n = count(held_out.n, "label");
            let told = format!("{INDENT}held out: {} on {n}", held_out.shown());
            shown.extend(prose(&told, Style::new(), width));
        }
        if let Some(change) = &last {
            let told = format!("{INDENT}since last: {}", change_sentence(change, labels));
            shown.extend(prose(&told, style, width));
        }
        // After the first save both are the same.
        if let Some(change) = metric.labels_since_start.filter(|start| Some(*start) != last) {
            let told = format!("{INDENT}since start: {}", change_sentence(&change, labels));
            shown.extend(prose(&told, direction(&change), width));
        }
    }
    shown
}

fn direction(change: &AgreementChange) -> Style {
    match change.by() {
        Some(by) if by > 0.0 => GOOD,
        Some(by) if by < 0.0 => BAD,
        _ => Style::new(),
    }
}

/// `agrees less, 60.0% -> 46.7%, kappa 0.10 -> -0.07, false passes +5, false fails -1; 1 now agrees, 5 no longer agree`.
fn change_sentence(change: &AgreementChange, labels: &LabelAgreement) -> String {
    let AgreementChange { before, now, .. } = change;
    let word = match change.by() {
        Some(by) if by > 0.0 => "agrees more",
        Some(by) if by < 0.0 => "agrees less",
        _ => "agrees as much",
    };
    let arrow = |before: String, now: String| format!("{before} → {now}");
    let mut parts = vec![
        word.to_owned(),
        arrow(percent(before.accuracy), percent(now.accuracy)),
        format!("kappa {}", arrow(coefficient(before.kappa), coefficient(now.kappa))),
    ];
    for (name, by) in [
        ("false passes", change.more(|of| of.false_pass)),
        ("false fails", change.more(|of| of.false_fail)),
    ] {
        parts.extend((by != 0).then(|| format!("{name} {by:+}")));
    }
    let agree = |n: usize| if n == 1 { "agrees" } else { "agree" };
    let mut told = format!(
        "{}; {} now {}, {} no longer {}",
        parts.join(", "),
        change.now_agrees,
        agree(change.now_agrees),
        change.no_longer_agrees,
        agree(change.no_longer_agrees)
    );
    let all = labels.n + labels.without_verdict;
    if change.n < all {
        let _ = write!(told, " (of {} of {all} labels: those judged both times)", change.n);
    }
    told
}

/// Who passes what, then where verdicts say something else than people.
pub(super) fn lines(board: &dyn Board, width: usize) -> Vec<String> {
    let overview = board.overview();
    let mut shown = Vec::new();
    for metric in &overview.metrics {
        let Some(labels) = metric.labels.filter(|labels| labels.n > 0) else { continue };
        let is_named = overview.metrics.len() > 1;
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
        let agree = if labels.n == 1 { "agrees" } else { "agree" };
        parts.push(format!("{} of {verdicts} {agree}", percent(labels.accuracy)));
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
        parts.push(format!(
            "{} of earlier answers, which do not count",
            count(labels.stale, "label")
        ));
    }
    if parts.is_empty() { "no verdict has one".to_owned() } else { parts.join(", ") }
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
        vec![words(""), heading("people pass"), heading("people fail")],
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
