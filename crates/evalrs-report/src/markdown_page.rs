//! What pages of Markdown are made of: a heading, paragraphs, tables, lists, parts that are folded away, and code.
//!
//! Whatever a suite, a sample or a judge wrote is shown as code: nobody is mentioned, nothing is linked, no
//! table or HTML is broken. What does not fit into a comment is left out.

pub(crate) use super::page::markdown::code;
use evalrs_base::text::count;

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
}
