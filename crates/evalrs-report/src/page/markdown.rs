//! Pages as Markdown, for a comment on a pull request.
//!
//! Whatever a suite, a sample or a judge wrote is shown as code: nobody is mentioned, nothing is linked, no table or HTML is broken.
//! What does not fit into a comment is left out, in whole lines.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::{Block, ColumnKind, Page, Table, Text, TextRole};
use evalrs_base::text::{cut, sanitize};

/// The columns that a quoted text may take.
const QUOTED: usize = 200;

/// The page as a text.
pub(crate) fn shown(page: &Page) -> String {
    let mut text = String::new();
    page.parts.iter().for_each(|part| add(&part.block, &mut text));
    text
}

/// Adds a part after a blank line.
fn add(block: &Block, to: &mut String) {
    if block.is_empty() {
        return;
    }
    if !to.is_empty() {
        to.push('\n');
    }
    match block {
        Block::Heading(text) => push_line(to, &format!("### {}", inline(text))),
        Block::Paragraph(text) | Block::Unbroken(text) => push_line(to, &inline(text)),
        Block::Lines(lines) => {
            let least = lines.iter().map(|(depth, _)| *depth).min().unwrap_or(0);
            for (depth, text) in lines {
                push_line(to, &format!("{}- {}", "  ".repeat(depth - least), inline(text)));
            }
        }
        Block::Table(table) => add_table(table, to),
        Block::Fold(summary, blocks) => {
            push_line(to, &format!("<details><summary>{}</summary>", plain(summary)));
            for block in blocks {
                add(block, to);
            }
            to.push_str("\n</details>\n");
        }
    }
}

fn push_line(to: &mut String, line: &str) {
    to.extend([line, "\n"]);
}

fn add_table(table: &Table, to: &mut String) {
    if !table.rows.is_empty() {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let titles: Vec<String> =
            table.columns.iter().map(|column| inline(&column.title)).collect();
        push_line(to, &line(&titles));
        let sides = table.columns.iter().map(|column| match column.kind {
            ColumnKind::Numbers => "--:|",
            ColumnKind::Names | ColumnKind::Words => ":--|",
        });
        push_line(to, &format!("|{}", sides.collect::<String>()));
        for row in &table.rows {
            let mut cells: Vec<String> = row.cells.iter().map(inline).collect();
            for (after, cell) in row.after.iter().zip(cells.last_mut()) {
                let _ = write!(cell, "<br>{}", inline(after));
            }
            push_line(to, &line(&cells));
        }
    }
    for note in &table.notes {
        to.push_str(if to.is_empty() { "" } else { "\n" });
        push_line(to, &inline(note));
    }
}

/// The text without what would be code: HTML takes no signs of Markdown.
fn plain(text: &Text) -> String {
    text.0.iter().map(|(text, _)| text.replace(['<', '>', '&'], " ")).collect()
}

fn inline(text: &Text) -> String {
    let pieces = text.0.iter().map(|(text, role)| match role {
        TextRole::Quoted => code(&cut(text, QUOTED)),
        TextRole::Command => code(text.trim_start_matches('`').trim_end_matches('`')),
        _ => text.clone(),
    });
    pieces.collect()
}

/// The text as code, on one line. A code span interprets nothing; only a backtick can end it and only a pipe
/// can break a table around it, and with either in the text every sign is written as a reference instead.
pub(crate) fn code(text: &str) -> String {
    let text = sanitize(text);
    if text.trim().is_empty() {
        return "(empty)".to_owned();
    }
    if !text.contains(['`', '|']) {
        return format!("`{text}`");
    }
    let references = text.chars().map(|char| match char {
        _ if char.is_ascii_punctuation() => format!("&#{};", u32::from(char)),
        _ => char.to_string(),
    });
    format!("<code>{}</code>", references.collect::<String>())
}

/// A text for people that must not be longer than something takes.
#[derive(Debug, Default)]
pub(crate) struct LimitedPage {
    room: usize,
}

/// What ends a page on which more does not fit.
pub(crate) const LEFT_OUT: &str = "\nThe rest does not fit and is left out.\n";

impl LimitedPage {
    /// An empty one of at most so many bytes.
    pub(crate) fn new(room: usize) -> Self {
        Self { room }
    }

    /// Adds the text, or as many of its lines as fit.
    pub(crate) fn add(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        let fitting = fitted(text, self.room);
        self.room -= fitting.len();
        out.write_all(fitting.as_bytes())
    }
}

/// What closes what was folded away.
const CLOSE: &str = "\n</details>\n";

/// The first lines of a report, as many as fit into `room` bytes; what they open is closed.
fn fitted(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    let Some(room) = room.checked_sub(LEFT_OUT.len() + CLOSE.len()) else { return String::new() };
    let mut kept = String::new();
    let mut is_open = false;
    for line in text.split_inclusive('\n') {
        if kept.len() + line.len() > room {
            break;
        }
        kept.push_str(line);
        is_open = (is_open || line.starts_with("<details>")) && !line.starts_with("</details>");
    }
    kept.push_str(if is_open { CLOSE } else { "" });
    kept + LEFT_OUT
}

#[cfg(test)]
mod tests {
    use super::{code, fitted, shown};
    use crate::page::{Block, Column, Page, Table, Text, faint, quoted, strong, text};

    #[test]
    fn each_part_stands_after_one_blank_line_and_an_empty_one_nowhere() {
        let mut page = Page::default();
        page.add(Block::Heading(text!["a ", quoted("@b")]));
        page.add(Block::Lines(Vec::new()));
        let mut table = Table::new([Column::names("x"), Column::numbers("n"), Column::words("")]);
        page.add(Block::Table(table.clone()));
        page.add(Block::Fold(strong("0"), vec![Block::Table(table.clone())]));
        table.row([quoted("b|c"), "1".into(), Text::default()]);
        table.below(quoted("why"));
        table.note(faint("note"));
        page.join(Block::Fold(strong("1 item"), vec![Block::Table(table)]));
        page.join(Block::Lines(vec![(1, "one".into()), (2, "two".into())]));
        insta::assert_snapshot!(shown(&page), @r"
        ### a `@b`

        <details><summary>1 item</summary>

        | x | n |  |
        |:--|--:|:--|
        | <code>b&#124;c</code> | 1 | <br>`why` |

        note

        </details>

        - one
          - two
        ");
    }

    #[test]
    fn code_ends_where_it_should() {
        let cases = [
            ("plain @team <b>", "`plain @team <b>`"),
            ("a\n\nb", "`a  b`"),
            ("tail\\", "`tail\\`"),
            ("a`b", "<code>a&#96;b</code>"),
            ("a|@b", "<code>a&#124;&#64;b</code>"),
            (" \n", "(empty)"),
        ];
        for (text, expected) in cases {
            assert_eq!(code(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_in_whole_lines() {
        let text = "### a\n\n<details><summary>2</summary>\n\n- one\n- two\n\n</details>\n";
        let rest = "\nThe rest does not fit and is left out.\n";
        for (room, expected) in [
            (text.len(), text.to_owned()),
            (10, String::new()),
            (61, format!("### a\n\n{rest}")),
            (text.len() - 1, format!("### a\n\n{rest}")),
        ] {
            let fitting = fitted(text, room);
            assert!(fitting.len() <= room);
            assert_eq!(fitting, expected, "{room}");
        }
        let long = text.replace("- two", &"- two\n".repeat(50));
        let fitting = fitted(&long, 150);
        assert!(fitting.ends_with(&format!("- two\n\n</details>\n{rest}")), "{fitting}");
    }
}
