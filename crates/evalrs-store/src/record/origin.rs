//! Where the results of a run came from, as `run.json` keeps it: a report that is written later points into the same files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The most rows whose lines are read back.
const MAX_ROWS: usize = 10_000_000;

/// The files of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedOrigin {
    /// The suite as it was named on the command line.
    pub command: String,
    /// The suite file, from the root of the workspace if it is inside.
    pub suite: String,
    /// The dataset, likewise.
    pub dataset: Option<String>,
    /// The line of each result's row: see [`RowLines`].
    pub lines: RowLines,
    /// The graders that the gate looks at; none without a gate.
    pub gated: Option<Vec<String>>,
    /// Rubric grader → the file of its rubric, from the root of the workspace if it is inside.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rubrics: BTreeMap<String, String>,
}

/// Line numbers of rows in few characters: `2-5*3 9` are the lines 2 to 5, three results of each, and one of line 9.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RowLines(String);

impl RowLines {
    /// Of the lines of all results, in order.
    pub fn new(lines: &[u32]) -> Self {
        let mut spans: Vec<RowSpan> = Vec::new();
        for rows in lines.chunk_by(|left, right| left == right) {
            let line = rows[0];
            match spans.last_mut() {
                Some(span) if span.each == rows.len() && span.last.checked_add(1) == Some(line) => {
                    span.last = line;
                }
                _ => spans.push(RowSpan { first: line, last: line, each: rows.len() }),
            }
        }
        let spans: Vec<String> = spans.iter().map(RowSpan::shown).collect();
        Self(spans.join(" "))
    }

    /// The line of each result. What somebody broke ends them.
    pub fn all(&self) -> Vec<u32> {
        let mut lines = Vec::new();
        for span in self.0.split_whitespace().map_while(RowSpan::parse) {
            let rows =
                (span.first..=span.last).flat_map(|line| std::iter::repeat_n(line, span.each));
            lines.extend(rows.take(MAX_ROWS - lines.len()));
        }
        lines
    }
}

/// Lines that follow each other, with equally many results each.
#[derive(Clone, Copy)]
struct RowSpan {
    first: u32,
    last: u32,
    each: usize,
}

impl RowSpan {
    fn shown(&self) -> String {
        let Self { first, last, each } = *self;
        let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
        if each == 1 { lines } else { format!("{lines}*{each}") }
    }

    fn parse(text: &str) -> Option<Self> {
        let (lines, each) = text.split_once('*').unwrap_or((text, "1"));
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        Some(Self {
            first: first.parse().ok()?,
            last: last.parse().ok()?,
            each: each.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_ROWS, RowLines};

    #[test]
    fn lines_take_few_characters_and_come_back() {
        let many: Vec<u32> = (2..100_002).collect();
        for (lines, shown) in [
            (&[][..], ""),
            (&[7], "7"),
            (&[2, 3, 4], "2-4"),
            (&[2, 2, 3, 3, 9, 9], "2-3*2 9*2"),
            (&[2, 3, 3, 4], "2 3*2 4"),
            (&[5, 4, 3, 3], "5 4 3*2"),
            (&[0, 0, 0], "0*3"),
            (&[1, 3, 5], "1 3 5"),
            (&many, "2-100001"),
        ] {
            let written = RowLines::new(lines);
            assert_eq!(written.0, shown);
            assert_eq!(written.all(), lines);
        }
    }

    #[test]
    fn what_somebody_broke_ends_them() {
        for (text, expected) in
            [("2-3 x 9", 2), ("9-1", 0), ("1-2*0 4", 1), ("-", 0), ("99999999999", 0)]
        {
            assert_eq!(RowLines(text.to_owned()).all().len(), expected, "{text}");
        }
        assert_eq!(RowLines("1-4000000000*9 1-9".to_owned()).all().len(), MAX_ROWS);
    }
}
