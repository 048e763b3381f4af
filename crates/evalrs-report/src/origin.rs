//! Where an evaluation came from: the files that a report for CI points into. No record holds that.

use std::collections::BTreeMap;

use serde_json::Value;

use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::{cut, enumerated};
use evalrs_metrics::gate::GateStatus;

/// The columns of an input that stands for an id.
const INPUT: usize = 24;

/// Whose outcomes of a shared cache an evaluation rests on: writer → how many.
pub(crate) fn shared_outcomes(writers: &OrderedMap<u64>) -> Option<String> {
    let of_writer = |(writer, outcomes): &(String, u64)| format!("{outcomes} of `{writer}`");
    let writers: Vec<String> = writers.0.iter().map(of_writer).collect();
    (!writers.is_empty()).then(|| format!("shared cache: {}", enumerated(&writers, "and")))
}

/// The text that an input begins with.
pub(crate) fn first_text(input: &Value) -> &str {
    match input {
        Value::String(text) => text,
        Value::Array(items) => items.first().map_or("", first_text),
        Value::Object(members) => members.get("content").map_or("", first_text),
        _ => "",
    }
}

/// Where the results of an evaluation came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportOrigin {
    /// The suite as it was named on the command line.
    pub command: String,
    /// The suite file as CI knows it: relative to the repository or the working directory. None outside of both.
    pub suite: Option<String>,
    /// The dataset, likewise.
    pub dataset: Option<String>,
    /// The line of each result's row, in the order of the results.
    pub lines: Vec<u32>,
    /// The graders that the gate looks at; none without a gate.
    pub gated: Option<Vec<String>>,
    /// Rubric grader → the file of its rubric, likewise.
    pub rubrics: BTreeMap<String, String>,
}

impl ReportOrigin {
    /// The file and the line of the row of result `at`.
    pub fn row(&self, at: usize) -> Option<(&str, u32)> {
        let file = self.dataset.as_deref()?;
        self.lines.get(at).filter(|line| **line > 0).map(|line| (file, *line))
    }

    /// The id of the sample of result `at` for people: one that is made of its content says nothing to them, and stands behind the
    /// line of its row, or behind the beginning of its input.
    pub fn named(&self, at: usize, id: &str, input: &str) -> String {
        match self.place(at, id, input) {
            place if place == id => place,
            place => format!("{place} ({id})"),
        }
    }

    /// The same without such an id.
    pub(crate) fn place(&self, at: usize, id: &str, input: &str) -> String {
        match self.lines.get(at) {
            _ if !is_of_content(id) => id.to_owned(),
            Some(line) if *line > 0 => format!("line {line}"),
            _ if input.is_empty() => id.to_owned(),
            _ => format!("“{}”", cut(input, INPUT)),
        }
    }

    /// Whether the gate looks at this grader. Without a gate, every grader counts.
    pub fn counts(&self, grader: &str) -> bool {
        self.gated.as_ref().is_none_or(|gated| gated.iter().any(|name| name == grader))
    }

    /// Whether a grade of this grader that did not pass is a failure of the run: the gate failed or is undecided and looks
    /// at it, or there is no gate and its threshold alone says so.
    pub(crate) fn blames(&self, grader: &str, gate: Option<GateStatus>) -> bool {
        self.counts(grader) && gate != Some(GateStatus::Passed)
    }

    /// The same with graders under the names that people know them by.
    #[must_use]
    pub fn renamed(&self, labels: &OrderedMap<String>) -> Self {
        let rename = |name: &String| labels.get(name).cloned().unwrap_or_else(|| name.clone());
        let gated = self.gated.as_ref().map(|gated| gated.iter().map(rename).collect());
        let rubrics = self.rubrics.iter().map(|(name, file)| (rename(name), file.clone()));
        Self { gated, rubrics: rubrics.collect(), ..self.clone() }
    }
}

/// Whether an id looks like those of rows that have none: twelve digits of a digest, and which of several alike it is. One of
/// decimal digits alone is more likely somebody's own.
fn is_of_content(id: &str) -> bool {
    let (digest, occurrence) = id.split_once('-').unwrap_or((id, "2"));
    digest.len() == 12
        && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && digest.bytes().any(|byte| byte.is_ascii_lowercase())
        && occurrence.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ReportOrigin, first_text};
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_metrics::gate::GateStatus;

    #[test]
    fn only_what_the_gate_looks_at_is_blamed() {
        let gated = Some(vec!["a".to_owned()]);
        let origin = ReportOrigin { gated, ..ReportOrigin::default() };
        let open = ReportOrigin::default();
        for (status, [a, b, without]) in [
            (Some(GateStatus::Failed), [true, false, true]),
            (Some(GateStatus::Undecided), [true, false, true]),
            (Some(GateStatus::Passed), [false, false, false]),
            (None, [true, false, true]),
        ] {
            let found =
                [origin.blames("a", status), origin.blames("b", status), open.blames("b", status)];
            assert_eq!(found, [a, b, without], "{status:?}");
        }
        let labels = OrderedMap(vec![("a".to_owned(), "A".to_owned())]);
        assert!(origin.renamed(&labels).counts("A") && !origin.renamed(&labels).counts("a"));
    }

    #[test]
    fn a_sample_without_an_id_is_known_by_its_line_or_its_input() {
        let origin = ReportOrigin { lines: vec![12, 0], ..ReportOrigin::default() };
        for (at, id, input, expected) in [
            (0, "9e408ad0c61f", "hi", "line 12 (9e408ad0c61f)"),
            (0, "9e408ad0c61f-2", "hi", "line 12 (9e408ad0c61f-2)"),
            (0, "q1", "hi", "q1"),
            (0, "9e408ad0c61g", "hi", "9e408ad0c61g"),
            (1, "9e408ad0c61f", "hi", "“hi” (9e408ad0c61f)"),
            (2, "9e408ad0c61f", "", "9e408ad0c61f"),
        ] {
            assert_eq!(origin.named(at, id, input), expected);
        }
        for (input, expected) in [
            (json!("hi"), "hi"),
            (json!([{"role": "user", "content": "hi"}, {"content": "ho"}]), "hi"),
            (json!({"content": [{"type": "text"}]}), ""),
            (json!(null), ""),
        ] {
            assert_eq!(first_text(&input), expected);
        }
    }

    #[test]
    fn a_row_has_a_line_where_both_are_known() {
        let dataset = Some("d.jsonl".to_owned());
        let origin = ReportOrigin { dataset, lines: vec![3, 0], ..ReportOrigin::default() };
        assert_eq!([0, 1, 2].map(|at| origin.row(at)), [Some(("d.jsonl", 3)), None, None]);
        assert_eq!(ReportOrigin { lines: vec![3], ..ReportOrigin::default() }.row(0), None);
    }
}
