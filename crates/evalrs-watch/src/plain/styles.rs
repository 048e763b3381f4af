//! What the lines of `watch` are made of: styles, titles of tables, and what a gate says.
//!
//! Styles are always written; the caller's stream strips them where they are not wanted.

use anstyle::Style;

use evalrs_base::text::table::{TableCell, number, words};
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_report::page::terminal::{BAD, DOUBTFUL, FAINT, GOOD, TITLE};
use evalrs_report::verdict;

/// The text in the style of what matters least.
pub(super) fn faint(text: &str) -> String {
    format!("{FAINT}{text}{FAINT:#}")
}

/// A number of errors, which stands out if there is one.
pub(super) fn error_cell(errors: usize) -> TableCell {
    let style = if errors == 0 { Style::new() } else { DOUBTFUL };
    number(errors.to_string()).styled(style)
}

/// A cell above a column of text.
pub(super) fn title(text: &str) -> TableCell {
    words(text).styled(TITLE)
}

/// Adds a line for each condition, and for the conditions of each, `depth` steps to the right.
pub(super) fn push_conditions(
    conditions: &[GateReport],
    depth: usize,
    width: usize,
    lines: &mut Vec<String>,
) {
    for gate in conditions {
        let style = status_style(gate);
        let word = verdict::word(gate);
        let indent = 2 * depth.min(width / 8);
        let room = width.saturating_sub(indent + word.len() + 2);
        let finding = verdict::finding_within(gate, room);
        lines.push(format!("{:indent$}{style}{word}{style:#}  {finding}", ""));
        push_conditions(&gate.conditions, depth + 1, width, lines);
    }
}

/// The style of what a gate says.
pub(super) fn status_style(gate: &GateReport) -> Style {
    match gate.status {
        Some(GateStatus::Passed) => GOOD,
        Some(GateStatus::Failed) => BAD,
        Some(GateStatus::Undecided) => DOUBTFUL,
        None => TITLE,
    }
}
