//! What pages for a terminal are made of: styles, titles of tables, what a gate says, and sections.
//!
//! Styles are always written; the caller's stream strips them where they are not wanted.

use std::io::{self, Write};

use anstyle::Style;

pub use super::page::terminal::{BAD, DOUBTFUL, FAINT, GOOD, TITLE};
use super::verdict;
use evalrs_base::text::table::{TableCell, lines, number, words};
use evalrs_base::text::wrapped;
use evalrs_metrics::gate::{GateReport, GateStatus};

/// The text in the style of what matters least.
pub fn faint(text: &str) -> String {
    format!("{FAINT}{text}{FAINT:#}")
}

/// Writes sections with a blank line between them.
pub(crate) fn write_sections(
    sections: impl IntoIterator<Item = Vec<String>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sections = sections.into_iter().filter(|lines| !lines.is_empty());
    for (at, section) in sections.enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        section.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

/// Sentences, each broken into lines of at most `width` columns.
pub(crate) fn paragraphs(texts: impl IntoIterator<Item = String>, width: usize) -> Vec<String> {
    texts.into_iter().flat_map(|text| wrapped(&text, width)).collect()
}

/// The rows under their titles, if there are any.
pub(crate) fn table(rows: &[Vec<TableCell>], width: usize) -> Vec<String> {
    if rows.len() > 1 { lines(rows, width) } else { Vec::new() }
}

/// The first row of a table: titles of columns of words, then of columns of numbers.
pub(crate) fn titles(words: &[&str], numbers: &[&str]) -> Vec<TableCell> {
    let numbers = numbers.iter().map(|text| title(text).at_right());
    words.iter().map(|text| title(text)).chain(numbers).collect()
}

/// A number of errors, which stands out if there is one.
pub fn error_cell(errors: usize) -> TableCell {
    let style = if errors == 0 { Style::new() } else { DOUBTFUL };
    number(errors.to_string()).styled(style)
}

/// A cell above a column of text.
pub fn title(text: &str) -> TableCell {
    words(text).styled(TITLE)
}

/// Adds a line for each condition, and for the conditions of each, `depth` steps to the right.
pub fn push_conditions(
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
pub fn status_style(gate: &GateReport) -> Style {
    match gate.status {
        Some(GateStatus::Passed) => GOOD,
        Some(GateStatus::Failed) => BAD,
        Some(GateStatus::Undecided) => DOUBTFUL,
        None => TITLE,
    }
}
