//! Columns of text aligned by display width, never wider than the terminal.
//!
//! Knows cells, not what they mean. What does not fit is first cut inside columns of text, then whole
//! columns are left out from the right and the header says so: put what matters least there.

use std::fmt::Write as _;

use anstyle::Style;

use super::{columns, cut, cut_middle, sanitize};

/// A text column is not cut below this many columns.
const NARROWEST: usize = 12;

/// What a last column of text keeps before others are cut.
const PROSE: usize = 24;

/// The gap between two columns.
const GAP: &str = "  ";

/// One cell. Its text is harmless and on one line.
#[derive(Clone, Debug)]
pub struct TableCell {
    text: String,
    style: Style,
    right: bool,
    is_name: bool,
}

/// A cell of text, which may be cut at its end.
pub fn words(text: &str) -> TableCell {
    TableCell { text: sanitize(text), style: Style::new(), right: false, is_name: false }
}

/// A cell with a name, which may be cut in its middle.
pub fn name(text: &str) -> TableCell {
    TableCell { is_name: true, ..words(text) }
}

/// A cell of numbers, which stand to the right and are never cut.
pub fn number(text: impl Into<String>) -> TableCell {
    TableCell { text: text.into(), style: Style::new(), right: true, is_name: false }
}

impl TableCell {
    /// The same cell in a style.
    #[must_use]
    pub fn styled(self, style: Style) -> Self {
        Self { style, ..self }
    }

    /// The same cell at the right, above numbers.
    #[must_use]
    pub fn at_right(self) -> Self {
        Self { right: true, ..self }
    }
}

/// The rows as lines of at most `width` columns. The first row decides how many columns there are.
pub fn lines(rows: &[Vec<TableCell>], width: usize) -> Vec<String> {
    let widths = fitted(rows, width);
    let mut lines: Vec<String> = rows.iter().map(|row| joined(row, &widths)).collect();
    if widths.len() < rows.first().map_or(0, Vec::len) {
        lines[0].push_str(" …");
    }
    lines
}

/// The rows as blocks of lines of at most `width` columns, each with the first `fixed` columns and as many of the others
/// as fit, so that none is left out.
pub fn blocks(rows: &[Vec<TableCell>], fixed: usize, width: usize) -> Vec<Vec<String>> {
    let widths = natural(rows);
    // Names among the fixed columns can be cut.
    let names: usize = widths.iter().take(fixed).map(|width| width.min(&PROSE) + GAP.len()).sum();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut used = usize::MAX;
    for (at, column) in widths.iter().enumerate().skip(fixed) {
        used = used.saturating_add(column + GAP.len());
        if used > width + GAP.len() {
            groups.push(Vec::new());
            used = names + column + GAP.len();
        }
        if let Some(group) = groups.last_mut() {
            group.push(at);
        }
    }
    let block = |group: &Vec<usize>| {
        let of_row = |row: &Vec<TableCell>| -> Vec<TableCell> {
            let columns = (0..fixed).chain(group.iter().copied());
            columns.filter_map(|at| row.get(at).cloned()).collect()
        };
        lines(&rows.iter().map(of_row).collect::<Vec<_>>(), width)
    };
    groups.iter().map(block).collect()
}

/// The width of every column whose cells are all shown whole.
fn natural(rows: &[Vec<TableCell>]) -> Vec<usize> {
    let widest = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| columns(&cell.text)).max().unwrap_or(0)
    };
    (0..rows.first().map_or(0, Vec::len)).map(widest).collect()
}

/// The width of every column that is shown.
fn fitted(rows: &[Vec<TableCell>], width: usize) -> Vec<usize> {
    let columns_of = |at: usize| rows.iter().filter_map(move |row| row.get(at));
    let mut widths = natural(rows);
    let textual: Vec<bool> =
        (0..widths.len()).map(|at| columns_of(at).all(|cell| !cell.right)).collect();
    // The last column is prose and gives way first, the names before it only then.
    if textual.last() == Some(&true) {
        let excess = total(&widths).saturating_sub(width);
        if let Some(last) = widths.last_mut() {
            *last = last.saturating_sub(excess).max(PROSE.min(*last));
        }
    }
    while total(&widths) > width {
        let shrinkable = |(width, textual): &(&mut usize, &bool)| **textual && **width > NARROWEST;
        let cells = widths.iter_mut().zip(&textual).filter(shrinkable);
        let Some((widest, _)) = cells.max_by_key(|(width, _)| **width) else { break };
        *widest -= 1;
    }
    if total(&widths) > width {
        // Two columns for the mark that something is missing.
        while widths.len() > 1 && total(&widths) + 2 > width {
            widths.pop();
        }
    }
    widths
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

fn joined(row: &[TableCell], widths: &[usize]) -> String {
    let mut line = String::new();
    let mut pending = 0;
    for (at, (cell, &width)) in row.iter().zip(widths).enumerate() {
        let text =
            if cell.is_name { cut_middle(&cell.text, width) } else { cut(&cell.text, width) };
        let padding = width - columns(&text);
        let (before, after) = if cell.right { (padding, 0) } else { (0, padding) };
        let gap = if at == 0 { 0 } else { GAP.len() };
        // Spaces are owed until the next visible text, so that no line ends in them.
        pending += gap + before;
        if !text.is_empty() {
            let style = cell.style;
            let _ = write!(line, "{:pending$}{style}{text}{style:#}", "");
            pending = 0;
        }
        pending += after;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_what_is_seen() {
        let rows = [
            vec![words("grader"), number("n"), words("why")],
            vec![words("漢字"), number("12"), words("a\nb")],
            vec![words("a"), number(""), words("")],
        ];
        let expected = ["grader   n  why", "漢字    12  a b", "a"];
        assert_eq!(lines(&rows, 80), expected);
        assert!(lines(&[], 80).is_empty());
    }

    #[test]
    fn names_are_cut_in_their_middle() {
        let text = "a rather long text";
        let rows = [
            vec![words("name"), number("n"), words("text"), number("last")],
            vec![name(text), number("1"), words(text), number("1")],
        ];
        let expected =
            ["name            n  text            last", "a rathe…g text  1  a rather long…     1"];
        assert_eq!(lines(&rows, 39), expected);
    }

    #[test]
    fn blocks_leave_no_column_out() {
        let row = |cells: [&str; 5]| -> Vec<TableCell> {
            let [first, rest @ ..] = cells;
            std::iter::once(name(first)).chain(rest.map(number)).collect()
        };
        let rows =
            [row(["tag", "n", "one", "two", "three"]), row(["a", "7", "0.5", "0.25", "1.0"])];
        let shown = |width: usize| blocks(&rows, 2, width).join(&"|".to_owned()).join("\n");
        assert_eq!(shown(25), "tag  n  one   two  three\na    7  0.5  0.25    1.0");
        assert_eq!(
            shown(17),
            "tag  n  one   two\na    7  0.5  0.25\n|\ntag  n  three\na    7    1.0"
        );
        assert_eq!(blocks(&rows, 2, 10).len(), 3);
        assert!(blocks(&[], 2, 10).is_empty());
    }

    #[test]
    fn what_does_not_fit_is_cut_then_left_out() {
        let text = "a rather long text";
        let rows = [
            vec![words("name"), number("n"), words("why"), number("last")],
            vec![words(text), number("1"), words(text), number("1")],
        ];
        let cases: [(usize, &[&str]); 3] = [
            (
                47,
                &[
                    "name                n  why                 last",
                    "a rather long text  1  a rather long text     1",
                ],
            ),
            (
                39,
                &[
                    "name            n  why             last",
                    "a rather long…  1  a rather long…     1",
                ],
            ),
            (30, &["name          n …", "a rather lo…  1"]),
        ];
        for (width, expected) in cases {
            let lines = lines(&rows, width);
            assert!(lines.iter().all(|line| columns(line) <= width), "{lines:#?} in {width}");
            assert_eq!(lines, expected, "in {width}");
        }
    }
}
