//! Pages on a terminal: folded so that nothing is wider than the screen, and nothing is left out for its width.
//!
//! Columns of words give way first and go on in further lines, then names between their words. A table that is still too wide
//! becomes several, or a row lines of `title: value`. Only a screen cuts, long names in their middle: what is redirected is whole, at
//! any width. Styles are always written; the caller's stream strips them where they are not wanted.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{Block, Column, ColumnKind, Page, Table, TableFold, TableRow, Text, TextRole};
use evalrs_base::text::flow::flow;
use evalrs_base::text::{columns, cut_middle};

/// What passed.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What failed.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// What is an error or could not be decided.
pub const DOUBTFUL: Style = AnsiColor::Yellow.on_default().bold();
/// What names what stands below it.
pub const TITLE: Style = Style::new().bold();
/// What matters least.
pub const FAINT: Style = Style::new().dimmed();

/// What stands between two columns.
const GAP: &str = "  ";

/// How far a further line of a text stands in, and what stands below something.
const STEP: usize = 2;

/// The columns that words and names keep.
const LEAST_WORDS: usize = 18;
const LEAST_NAME: usize = 12;

/// What a page is written on.
#[derive(Clone, Copy, Debug)]
pub struct PageScreen {
    /// Its width in columns.
    pub width: usize,
    /// Whether long names and words are cut: not where text is redirected.
    pub cuts: bool,
}

/// The pieces of one line.
type StyledLine = Vec<(String, TextRole)>;

/// Writes the page.
pub fn write(page: &Page, screen: PageScreen, out: &mut dyn Write) -> io::Result<()> {
    for (at, part) in page.parts.iter().enumerate() {
        if at > 0 && !part.is_joined {
            writeln!(out)?;
        }
        block_lines(&part.block, screen).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    }
    Ok(())
}

fn block_lines(block: &Block, screen: PageScreen) -> Vec<String> {
    match block {
        Block::Heading(text) | Block::Paragraph(text) => hanging(text, 0, screen.width),
        Block::Unbroken(text) => vec![styled(&text.0)],
        Block::Lines(lines) => {
            let of = |(depth, text): &(usize, Text)| {
                hanging(text, STEP * (*depth).min(screen.width / 8), screen.width)
            };
            lines.iter().flat_map(of).collect()
        }
        Block::Table(table) => table_lines(table, screen),
        Block::Fold(summary, blocks) => {
            let folded = blocks.iter().filter(|block| !block.is_empty());
            let folded = folded.flat_map(|block| block_lines(block, screen));
            hanging(summary, 0, screen.width).into_iter().chain(folded).collect()
        }
    }
}

/// The text as lines that stand in, further ones a step more.
fn hanging(text: &Text, indent: usize, width: usize) -> Vec<String> {
    if text.columns() + indent <= width {
        return vec![format!("{:indent$}{}", "", styled(&text.0))];
    }
    let lines = flow(&text.0, width.saturating_sub(indent + STEP));
    let lines = lines.iter().enumerate().map(|(at, line)| {
        let indent = if at == 0 { indent } else { indent + STEP };
        format!("{:indent$}{}", "", styled(line))
    });
    lines.collect()
}

fn styled(line: &[(String, TextRole)]) -> String {
    let mut shown = String::new();
    for (text, role) in line {
        let style = style_of(*role);
        let _ = write!(shown, "{style}{text}{style:#}");
    }
    shown
}

fn style_of(role: TextRole) -> Style {
    match role {
        TextRole::Plain | TextRole::Quoted | TextRole::Command => Style::new(),
        TextRole::Good => GOOD,
        TextRole::Bad => BAD,
        TextRole::Doubtful => DOUBTFUL,
        TextRole::Strong => TITLE,
        TextRole::Faint => FAINT,
    }
}

fn table_lines(table: &Table, screen: PageScreen) -> Vec<String> {
    let room = PageScreen { width: screen.width.saturating_sub(table.indent), ..screen };
    let mut lines = rows_lines(table, room);
    for note in &table.notes {
        lines.extend(hanging(note, 0, room.width));
    }
    let indent = table.indent;
    lines.iter().map(|line| format!("{:indent$}{line}", "")).collect()
}

fn rows_lines(table: &Table, screen: PageScreen) -> Vec<String> {
    if table.rows.is_empty() {
        return Vec::new();
    }
    match fitted(table, screen) {
        Some(widths) => grid(table, &widths, screen),
        None if table.fold == TableFold::Columns => folded(table, screen),
        None => table.rows.iter().flat_map(|row| record(table, row, screen)).collect(),
    }
}

/// The width of every column; none where they do not fit beside each other.
fn fitted(table: &Table, screen: PageScreen) -> Option<Vec<usize>> {
    let widest = |(at, column): (usize, &Column)| {
        let cells = table.rows.iter().filter_map(|row| row.cells.get(at));
        cells.chain([&column.title]).map(Text::columns).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = table.columns.iter().enumerate().map(widest).collect();
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    let longest_word = |at: usize| {
        let cells = table.rows.iter().filter_map(|row| row.cells.get(at));
        let cells = cells.chain([&table.columns[at].title]).map(Text::to_string);
        cells.map(|words| words.split(' ').map(columns).max().unwrap_or(0)).max().unwrap_or(0)
    };
    let of_kind = |kind: ColumnKind, least: &dyn Fn(usize) -> usize| -> Vec<usize> {
        let columns = table.columns.iter().enumerate();
        columns
            .map(|(at, column)| if column.kind == kind { least(at) } else { usize::MAX })
            .collect()
    };
    let mut steps = vec![
        of_kind(ColumnKind::Words, &|_| LEAST_WORDS),
        of_kind(ColumnKind::Names, &longest_word),
    ];
    steps.extend(screen.cuts.then(|| of_kind(ColumnKind::Names, &|_| LEAST_NAME)));
    for least in steps {
        while widths.iter().sum::<usize>() + gaps > screen.width {
            let columns = widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
            let Some((widest, _)) = columns.max_by_key(|(width, _)| **width) else { break };
            *widest -= 1;
        }
    }
    (widths.iter().sum::<usize>() + gaps <= screen.width).then_some(widths)
}

/// The rows below their titles, with cells that may take several lines.
fn grid(table: &Table, widths: &[usize], screen: PageScreen) -> Vec<String> {
    let titles = table.columns.iter().map(|column| in_role(&column.title, TextRole::Strong));
    let titles = TableRow { cells: titles.collect(), after: Vec::new() };
    let has_titles = table.columns.iter().any(|column| !column.title.is_empty());
    let rows = has_titles.then_some(&titles).into_iter().chain(&table.rows);
    let mut lines = Vec::new();
    for row in rows {
        let cells = table.columns.iter().zip(widths).zip(&row.cells);
        let cells: Vec<Vec<StyledLine>> =
            cells.map(|((column, width), cell)| cell_lines(cell, column, *width, screen)).collect();
        for at in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let parts = cells.iter().map(|cell| cell.get(at).map_or(&[][..], Vec::as_slice));
            lines.push(beside(parts, &table.columns, widths));
        }
        lines.extend(row.after.iter().flat_map(|text| hanging(text, STEP, screen.width)));
    }
    lines
}

/// The same text with plain pieces in a role.
fn in_role(text: &Text, role: TextRole) -> Text {
    let pieces = text.0.iter().map(|(text, own)| match own {
        TextRole::Plain | TextRole::Quoted => (text.clone(), role),
        own => (text.clone(), *own),
    });
    Text(pieces.collect())
}

fn cell_lines(cell: &Text, column: &Column, width: usize, screen: PageScreen) -> Vec<StyledLine> {
    if cell.columns() <= width {
        return vec![cell.0.clone()];
    }
    let whole = cell.to_string();
    if column.kind == ColumnKind::Names && whole.split(' ').any(|word| columns(word) > width) {
        let role = cell.0.first().map_or(TextRole::Quoted, |(_, role)| *role);
        return vec![vec![(cut_middle(&whole, width), role)]];
    }
    let mut lines = flow(&cell.0, width);
    if screen.cuts && lines.len() > column.most_lines {
        lines.truncate(column.most_lines);
        // The mark may take the place of the last letter.
        let mut last = lines.pop().unwrap_or_default();
        last.push(("…".to_owned(), TextRole::Plain));
        let mut rows = flow(&last, width).into_iter();
        let row = rows.next().unwrap_or_default();
        lines.push(if rows.next().is_some() { shortened(row) } else { row });
    }
    lines
}

/// The line with an ellipsis in place of its last letter.
fn shortened(mut line: StyledLine) -> StyledLine {
    if let Some((text, _)) = line.last_mut() {
        text.pop();
        text.push('…');
    }
    line
}

/// One line of a row. Spaces are owed until the next visible text, so that no line ends in them.
fn beside<'l>(
    parts: impl Iterator<Item = &'l [(String, TextRole)]>,
    table: &[Column],
    widths: &[usize],
) -> String {
    let mut line = String::new();
    let mut pending = 0;
    for (at, ((part, column), width)) in parts.zip(table).zip(widths).enumerate() {
        let used = part.iter().map(|(text, _)| columns(text)).sum::<usize>();
        let padding = width.saturating_sub(used);
        let is_right = column.kind == ColumnKind::Numbers;
        let gap = if at == 0 { 0 } else { GAP.len() };
        pending += gap + if is_right { padding } else { 0 };
        if used > 0 {
            let _ = write!(line, "{:pending$}{}", "", styled(part));
            pending = 0;
        }
        pending += if is_right { 0 } else { padding };
    }
    line
}

/// Several tables below each other, each with the first column and as many of the others as fit.
fn folded(table: &Table, screen: PageScreen) -> Vec<String> {
    let mut lines = Vec::new();
    let mut next = 1;
    while next < table.columns.len() {
        let fits = |end: &usize| {
            let places: Vec<usize> = std::iter::once(0).chain(next..*end).collect();
            let part = table.with_columns(&places);
            fitted(&part, screen).map(|widths| (part, widths))
        };
        let Some((part, widths)) =
            (next + 1..=table.columns.len()).rev().find_map(|end| fits(&end))
        else {
            return table.rows.iter().flat_map(|row| record(table, row, screen)).collect();
        };
        lines.extend((next > 1).then(String::new));
        lines.extend(grid(&part, &widths, screen));
        next += part.columns.len() - 1;
    }
    lines
}

/// A row as lines: its first cell, and below it what stands in the other columns.
fn record(table: &Table, row: &TableRow, screen: PageScreen) -> Vec<String> {
    let mut cells = table.columns.iter().zip(&row.cells);
    let first = cells.next().map(|(_, cell)| in_role(cell, TextRole::Strong)).unwrap_or_default();
    let mut lines = hanging(&first, 0, screen.width);
    let mut line = Text::default();
    for (column, cell) in cells.filter(|(_, cell)| !cell.is_empty()) {
        let mut pair = in_role(&column.title, TextRole::Faint);
        pair.push(if pair.is_empty() { "" } else { ": " });
        pair.push(cell.clone());
        let used = line.columns();
        if used > 0 && STEP + used + GAP.len() + pair.columns() > screen.width {
            lines.extend(hanging(&std::mem::take(&mut line), STEP, screen.width));
        }
        line.push(if line.is_empty() { "" } else { GAP });
        line.push(pair);
    }
    if !line.is_empty() {
        lines.extend(hanging(&line, STEP, screen.width));
    }
    lines.extend(row.after.iter().flat_map(|text| hanging(text, STEP, screen.width)));
    lines
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::{PageScreen, write};
    use crate::page::{Block, Column, Page, Table, Text, bad, faint, quoted, text};
    use evalrs_base::text::columns;

    fn shown(page: &Page, width: usize, cuts: bool) -> String {
        let mut out = Vec::new();
        write(page, PageScreen { width, cuts }, &mut out).unwrap();
        let text = strip_str(&String::from_utf8(out).unwrap()).to_string();
        assert!(text.lines().all(|line| columns(line) <= width), "{text}");
        assert!(text.lines().all(|line| line.trim_end() == line), "{text:?}");
        text
    }

    fn page(table: Table) -> Page {
        let mut page = Page::default();
        page.add(Block::Table(table));
        page
    }

    fn failures() -> Table {
        let words = Column::words("rationale").of_lines(2);
        let mut table = Table::new([Column::names("sample"), Column::numbers("score"), words]);
        let long = "because the answer names neither the price nor the day it was asked for";
        table.row([quoted("refund-damaged [trial 1]"), bad("0.250"), quoted(long)]);
        table.row([quoted("漢字"), bad("0.000"), quoted("no")]);
        table.below(quoted("below"));
        table.note(faint("2 more"));
        table
    }

    #[test]
    fn words_go_on_in_further_lines_before_names_do() {
        insta::assert_snapshot!(shown(&page(failures()), 60, false), @r"
        sample                    score  rationale
        refund-damaged [trial 1]  0.250  because the answer names
                                         neither the price nor the
                                         day it was asked for
        漢字                      0.000  no
          below
        2 more
        ");
        insta::assert_snapshot!(shown(&page(failures()), 42, false), @r"
        sample           score  rationale
        refund-damaged   0.250  because the answer
        [trial 1]               names neither the
                                price nor the day
                                it was asked for
        漢字             0.000  no
          below
        2 more
        ");
    }

    #[test]
    fn only_a_screen_cuts() {
        insta::assert_snapshot!(shown(&page(failures()), 42, true), @r"
        sample           score  rationale
        refund-damaged   0.250  because the answer
        [trial 1]               names neither the…
        漢字             0.000  no
          below
        2 more
        ");
        for width in [20, 40, 60, 80, 200] {
            let words: Vec<String> = shown(&page(failures()), width, false)
                .split_whitespace()
                .map(str::to_owned)
                .collect();
            for word in ["refund-damaged", "1]", "neither", "asked", "for", "漢字", "below", "more"]
            {
                assert!(words.iter().any(|other| other == word), "{word} in {width}: {words:?}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_beside_each_other_stands_below() {
        let numbers = ["one", "two", "three"].map(Column::numbers);
        let mut table = Table::new([Column::names("grader")].into_iter().chain(numbers));
        for grader in ["accuracy", "quality"] {
            let numbers = ["0.5", "0.25", "1.0"].map(|text| Text::from(format!("{text} [0, 1]")));
            table.row([quoted(grader)].into_iter().chain(numbers));
        }
        insta::assert_snapshot!(shown(&page(table.clone()), 30, false), @r"
        accuracy
          one: 0.5 [0, 1]
          two: 0.25 [0, 1]
          three: 1.0 [0, 1]
        quality
          one: 0.5 [0, 1]
          two: 0.25 [0, 1]
          three: 1.0 [0, 1]
        ");
        insta::assert_snapshot!(shown(&page(table.folding_columns()), 32, false), @r"
        grader           one
        accuracy  0.5 [0, 1]
        quality   0.5 [0, 1]

        grader            two
        accuracy  0.25 [0, 1]
        quality   0.25 [0, 1]

        grader         three
        accuracy  1.0 [0, 1]
        quality   1.0 [0, 1]
        ");
    }

    #[test]
    fn nothing_is_left_out_however_narrow() {
        let mut table = Table::new((0..30).map(|at| Column::numbers(format!("c{at}"))));
        for row in 0..20 {
            table.row((0..30).map(|at| Text::from(format!("r{row}c{at}"))));
        }
        for table in [table.clone(), table.folding_columns()] {
            for width in [16, 40, 60, 80, 120] {
                let text = shown(&page(table.clone()), width, true);
                let all =
                    (0..20).all(|row| (0..30).all(|at| text.contains(&format!("r{row}c{at}"))));
                assert!(all, "{width}: {text}");
            }
        }
    }

    #[test]
    fn lines_are_broken_and_a_command_is_not() {
        let mut page = Page::default();
        page.add(Block::Heading(text!["a heading that is ", bad("rather"), " long"]));
        page.join(Block::Lines(vec![(1, "a line that is rather long".into()), (2, "b".into())]));
        page.add(Block::Fold("2 of".into(), vec![Block::Paragraph("them".into())]));
        let unbroken = "exit code 3: run `evalrs run suite.yaml`";
        let broken = shown(&page, 20, true);
        page.add(Block::Unbroken(quoted(unbroken)));
        let mut out = Vec::new();
        write(&page, PageScreen { width: 20, cuts: true }, &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().ends_with(&format!("\n\n{unbroken}\n")));
        insta::assert_snapshot!(broken, @r"
        a heading that is
          rather long
          a line that is
            rather long
            b

        2 of
        them
        ");
    }
}
