//! What pages of Markdown are made of: a heading, paragraphs, tables, lists, parts that are folded away, and code.
//!
//! Whatever a suite, a sample or a judge wrote is shown as code: nobody is mentioned, nothing is linked, no
//! table or HTML is broken. What does not fit into a comment is left out.

use std::io::{self, Write};

use super::verdict;
use evalrs_base::text::{count, sanitize};
use evalrs_metrics::gate::GateReport;

/// A page that grows at its end. Each part stands after a blank line.
#[derive(Debug, Default)]
pub(crate) struct MarkdownPage {
    text: String,
}

impl MarkdownPage {
    pub(crate) fn under(heading: &str) -> Self {
        Self { text: format!("### {heading}\n") }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Adds lines that belong together, if there are any: a list, say.
    pub(crate) fn lines(&mut self, lines: impl IntoIterator<Item = String>) {
        let mut start = "\n";
        for line in lines {
            self.text.extend([start, &line, "\n"]);
            start = "";
        }
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.lines([text.to_owned()]);
    }

    pub(crate) fn paragraphs(&mut self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.paragraph(&text));
    }

    /// Adds a table with columns of words and then of numbers, if it has rows.
    pub(crate) fn table(
        &mut self,
        words: &[&str],
        numbers: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) {
        let mut rows = rows.into_iter().map(|cells| format!("| {} |", cells.join(" | ")));
        let Some(first) = rows.next() else { return };
        let titles = format!("| {} |", [words, numbers].concat().join(" | "));
        let sides = [":--|".repeat(words.len()), "--:|".repeat(numbers.len())];
        let head = [titles, format!("|{}", sides.concat()), first];
        self.lines(head.into_iter().chain(rows));
    }

    /// Says how many more there are, if there are more than are shown.
    pub(crate) fn rest(&mut self, all: usize, shown: usize, noun: &str) {
        let rest = all.saturating_sub(shown);
        self.paragraphs((rest > 0).then(|| format!("{} not shown", count(rest, noun))));
    }

    /// Adds a list that is folded away under its summary, and how many more items there are.
    pub(crate) fn folded(
        &mut self,
        summary: &str,
        items: impl IntoIterator<Item = String>,
        rest: usize,
        noun: &str,
    ) {
        self.paragraph(&format!("<details><summary>{summary}</summary>"));
        self.lines(items);
        self.rest(rest, 0, noun);
        self.paragraph("</details>");
    }

    /// Adds what a gate says, and a list of its conditions; nothing without a gate.
    pub(crate) fn gate(&mut self, gate: &GateReport) {
        if gate.status.is_some() {
            self.paragraph(&code(&verdict::finding(gate)));
            let mut conditions = Vec::new();
            push_conditions(&gate.conditions, "", &mut conditions);
            self.lines(conditions);
        }
    }
}

fn push_conditions(conditions: &[GateReport], indent: &str, lines: &mut Vec<String>) {
    for gate in conditions {
        let finding = code(&verdict::finding(gate));
        lines.push(format!("{indent}- {}: {finding}", verdict::word(gate)));
        push_conditions(&gate.conditions, &format!("{indent}  "), lines);
    }
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
    use super::{MarkdownPage, code, fitted};

    #[test]
    fn each_part_stands_after_one_blank_line_and_an_empty_one_nowhere() {
        let mut page = MarkdownPage::under("a");
        page.lines([]);
        page.table(&["x"], &["n"], []);
        page.table(&["x"], &["n"], [vec!["b".to_owned(), "1".to_owned()]]);
        page.rest(30, 30, "row");
        page.folded("2", [], 2, "item");
        let folded = "<details><summary>2</summary>\n\n2 items not shown\n\n</details>\n";
        let expected = format!("### a\n\n| x | n |\n|:--|--:|\n| b | 1 |\n\n{folded}");
        assert_eq!(page.into_text(), expected);
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
