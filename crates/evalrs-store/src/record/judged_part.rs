//! Results that an earlier record has with other verdicts, as a moved threshold leaves them: only what says whether a grade
//! passes is written again.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::parts::{PartReader, ResultsPart, write_each};
use evalrs_metrics::results::report::Results;

/// A part of new results which an earlier file has with other verdicts.
pub struct JudgedPart<'a> {
    /// Where it stands there.
    pub part: ResultsPart,
    /// Grader → which of the lines pass.
    pub verdicts: Vec<(&'a str, Vec<bool>)>,
    /// The same lines made from nothing, for an earlier file that somebody has edited.
    pub lines: Results<'a>,
}

impl JudgedPart<'_> {
    /// Writes it, and returns how many lines it has.
    pub(super) fn write(
        self,
        earlier: &mut PartReader<'_>,
        out: &mut dyn Write,
    ) -> io::Result<usize> {
        let mut text = Vec::new();
        earlier.copy(self.part, &mut text)?;
        match judged(&text, self.part.lines, &self.verdicts) {
            Some(judged) => out.write_all(&judged).map(|()| self.part.lines),
            None => write_each(self.lines, out),
        }
    }
}

/// So many lines with these verdicts; none if they are no such results.
fn judged(text: &[u8], lines: usize, verdicts: &[(&str, Vec<bool>)]) -> Option<Vec<u8>> {
    let mut written = Vec::with_capacity(text.len() + text.len() / 64);
    let mut count = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        judge_line(line, verdicts, count, &mut written)?;
        count += 1;
    }
    (count == lines).then_some(written)
}

#[derive(Deserialize)]
struct LineGrades<'a> {
    #[serde(borrow)]
    grades: BTreeMap<Cow<'a, str>, GradePass<'a>>,
}

#[derive(Deserialize)]
struct GradePass<'a> {
    #[serde(borrow)]
    pass: &'a RawValue,
}

fn judge_line(
    line: &[u8],
    verdicts: &[(&str, Vec<bool>)],
    at: usize,
    written: &mut Vec<u8>,
) -> Option<()> {
    let LineGrades { grades } = serde_json::from_slice(line).ok()?;
    let mut passes: Vec<(Range<usize>, bool)> = Vec::new();
    for (grader, GradePass { pass }) in grades {
        let (_, of_lines) = verdicts.iter().find(|(name, _)| *name == grader)?;
        // It is borrowed from the line.
        let start = pass.get().as_ptr().addr().checked_sub(line.as_ptr().addr())?;
        passes.push((start..start + pass.get().len(), *of_lines.get(at)?));
    }
    passes.sort_unstable_by_key(|(place, _)| place.start);
    let mut copied = 0;
    for (place, pass) in passes {
        written.extend_from_slice(line.get(copied..place.start)?);
        written.extend_from_slice(if pass { b"true" } else { b"false" });
        copied = place.end;
    }
    written.extend_from_slice(line.get(copied..)?);
    Some(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::{JudgedPart, judged};
    use crate::record::parts::{PartReader, ResultsPart};
    use crate::record::result_files::ResultsReader;
    use evalrs_metrics::results::ResultLine;
    use evalrs_metrics::results::report::write_line;
    use evalrs_test_runs as fixtures;

    fn written(lines: &[ResultLine]) -> Vec<u8> {
        let mut text = Vec::new();
        for line in lines {
            write_line(line, &mut text).unwrap();
        }
        text
    }

    /// Lines whose answer and rationale speak of what is rewritten.
    fn lines(passes: &[bool]) -> Vec<ResultLine> {
        let all = passes.iter().enumerate().map(|(at, pass)| {
            let mut line = fixtures::graded(at, 0.5);
            line.submission = r#"{"grades": {"g": {"pass": null}}}"#.to_owned();
            for (_, grade) in &mut line.grades.0 {
                grade.pass = *pass;
                grade.rationale = r#""pass":true, "pass":false"#.to_owned();
                grade.metadata.insert("pass".to_owned(), "true".into());
            }
            line
        });
        all.collect()
    }

    fn grader() -> String {
        lines(&[true])[0].grades.0[0].0.clone()
    }

    #[test]
    fn other_verdicts_are_all_that_differs() {
        let then = [true, false, true, false];
        let now = [false, false, true, true];
        let text = written(&lines(&then));
        let verdicts = [(&*grader(), now.to_vec()), ("another", vec![true; 4])];
        assert_eq!(judged(&text, 4, &verdicts).unwrap(), written(&lines(&now)));
    }

    #[test]
    fn what_somebody_has_edited_is_made_again() {
        let now = [false, true];
        let fresh = written(&lines(&now));
        let text = String::from_utf8(written(&lines(&[true, true]))).unwrap();
        let (name, grader) = (grader(), "of nobody".to_owned());
        for (edited, name) in [
            (text.replace("\"grades\":", "\"grads\":"), &name),
            (text.replace("\"pass\":true,", ""), &name),
            (text.replacen('{', "", 1), &name),
            (text.replacen('\n', "", 1), &name),
            (text.clone(), &grader),
        ] {
            let bytes = edited.len() as u64;
            let part = ResultsPart { from: 0, bytes, lines: 2 };
            let lines = Box::new(lines(&now).into_iter());
            let judged = JudgedPart { part, verdicts: vec![(name, now.to_vec())], lines };
            let file = ResultsReader::of(Box::new(Cursor::new(edited.clone().into_bytes())));
            let mut out = Vec::new();
            assert_eq!(judged.write(&mut PartReader::new(file), &mut out).unwrap(), 2);
            assert_eq!(out, fresh, "{edited}");
        }
    }
}
