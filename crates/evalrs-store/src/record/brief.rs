//! Results of a record as a digest reads them: most of a line is skipped, unless the digest shows it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::lines::VersionedLine;
use evalrs_base::json_exact;
use evalrs_eval::grade::is_of_nothing;
use evalrs_metrics::results::report::BriefResult;
use evalrs_metrics::results::{ResultLine, Summary};

/// Reads the lines of a record for a digest that keeps some failures of each grader.
pub(super) struct BriefReader<'a> {
    keep: usize,
    /// Each grader, and how many failures of it were read.
    graders: Vec<(&'a str, usize)>,
}

/// A line, as far as a digest counts it. The other fields are those without which it cannot be read.
#[derive(Deserialize)]
struct BriefLine<'a> {
    format: u32,
    #[serde(borrow, rename = "sample_id")]
    _sample_id: Cow<'a, str>,
    #[serde(rename = "model")]
    _model: Option<IgnoredAny>,
    #[serde(default)]
    trial: u32,
    #[serde(default, borrow)]
    grades: BTreeMap<Cow<'a, str>, BriefGrade<'a>>,
}

#[derive(Deserialize)]
struct BriefGrade<'a> {
    #[serde(rename = "score")]
    _score: f64,
    pass: bool,
    #[serde(default, borrow)]
    rationale: Cow<'a, str>,
    error: Option<IgnoredAny>,
}

impl<'a> BriefReader<'a> {
    pub(super) fn new(summary: &'a Summary, keep: usize) -> Self {
        let graders = summary.metrics.0.iter().map(|(name, _)| (name.as_str(), 0));
        Self { keep, graders: graders.collect() }
    }

    /// What the digest has to know of a line.
    pub(super) fn read(&mut self, line: &[u8]) -> Option<VersionedLine<BriefResult<'a>>> {
        let BriefLine { format, trial, grades, .. } = serde_json::from_slice(line).ok()?;
        let mut is_needed = false;
        let mut failed = Vec::new();
        for (name, grade) in &grades {
            is_needed |= grade.error.is_some() || is_of_nothing(&grade.rationale);
            if grade.error.is_some() || grade.pass {
                continue;
            }
            match self.graders.iter_mut().find(|(known, _)| known == name) {
                Some((known, failures)) => {
                    is_needed |= *failures < self.keep;
                    *failures += 1;
                    failed.push(*known);
                }
                None => is_needed = true,
            }
        }
        if !is_needed {
            let line = BriefResult::Failed { trial, graders: failed };
            return Some(VersionedLine { format, line });
        }
        let line = json_exact::from_slice::<ResultLine>(line).ok()?;
        let line = BriefResult::Whole(Box::new(line.in_newest_format()));
        Some(VersionedLine { format, line })
    }
}

#[cfg(test)]
mod tests {
    use super::BriefReader;
    use evalrs_metrics::results::Summary;
    use evalrs_metrics::results::report::BriefResult;

    const SUMMARY: &str = r#"{"format": 1, "suite": "s", "samples": 9, "results": 9, "metrics": {"g": {"n": 9}, "h": {"n": 9}}}"#;

    fn line(trial: u32, grades: &str) -> String {
        format!(
            r#"{{"format":2,"sample_id":"a","input":"\"pass\":false","trial":{trial},"grades":{{{grades}}}}}"#
        )
    }

    #[test]
    fn only_what_a_digest_shows_is_read_whole() {
        let summary: Summary = serde_json::from_str(SUMMARY).unwrap();
        let mut reader = BriefReader::new(&summary, 1);
        let mut read = |trial: u32, grades: &str| match reader
            .read(line(trial, grades).as_bytes())
            .map(|read| read.line)
        {
            None => "broken".to_owned(),
            Some(BriefResult::Whole(_)) => "whole".to_owned(),
            Some(BriefResult::Failed { trial, graders }) => format!("{trial} {graders:?}"),
        };
        let passes = r#""g":{"score":1,"pass":true}"#;
        let fails = r#""g":{"score":0,"pass":false,"rationale":"no"}"#;
        let both = r#""g":{"score":0,"pass":false},"h":{"score":0,"pass":false}"#;
        for (trial, grades, expected) in [
            (0, passes, "0 []"),
            (3, passes, "3 []"),
            (0, fails, "whole"),
            (0, fails, r#"0 ["g"]"#),
            // The first failure of another grader.
            (0, both, "whole"),
            (0, both, r#"0 ["g", "h"]"#),
            (
                0,
                r#""g":{"score":0,"pass":false,"error":{"kind":"timeout","message":"m"}}"#,
                "whole",
            ),
            (
                0,
                r#""g":{"score":0,"pass":false,"rationale":"Empty submission - extractor found no content"}"#,
                "whole",
            ),
            (0, r#""other":{"score":0,"pass":false}"#, "whole"),
            (0, r#""g":{"score":1}"#, "broken"),
            (0, r#""g":{"score":"1","pass":true}"#, "broken"),
        ] {
            assert_eq!(read(trial, grades), expected, "{grades}");
        }
    }
}
