//! Where what a suite says of its rubrics is written, for warnings about them.
//!
//! The text of a rubric is put together of files and scalars, so that a place in it is found again by what stands there: the
//! n-th time that it does in the rubric is the n-th time that it does in the sources.

use super::fields::{FieldSet, Findings};
use super::rubric_file::RubricText;
use super::source::{SourceSpan, Sources};
use super::tree::YamlEntry;
use crate::base::diagnostic::Place;

/// A stretch of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenText {
    path: String,
    /// The line that it begins in, from 1.
    first_line: usize,
    /// Its lines, the first and the last one whole.
    lines: String,
    /// Its bytes in `lines`.
    start: usize,
    end: usize,
}

impl WrittenText {
    fn of(span: SourceSpan, sources: &Sources) -> Option<Self> {
        let text = sources.text(span.file)?;
        let start = span.start as usize;
        let end = span.end as usize;
        let from = text.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
        let to = text.get(end..)?.find('\n').map_or(text.len(), |at| end + at);
        Some(Self {
            path: sources.path(span.file).to_owned(),
            first_line: memchr::memchr_iter(b'\n', &text.as_bytes()[..from]).count() + 1,
            lines: text.get(from..to)?.to_owned(),
            start: start - from,
            end: end - from,
        })
    }

    fn place(&self, at: usize, length: usize) -> Place {
        let place = Place::in_text(self.path.as_str(), &self.lines, at..at + length);
        Place { line: place.line + self.first_line - 1, ..place }
    }
}

/// Where what a suite says of one rubric is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubricPlaces {
    /// Its grader.
    pub(crate) grader: Place,
    /// The model that judges; the panel where there is one, and the grader where neither is written.
    pub(crate) model: Place,
    /// Its threshold, or its grader.
    pub(crate) threshold: Place,
    /// What takes texts out of their fences, or its grader.
    pub(crate) unfenced: Place,
    parts: Vec<WrittenText>,
}

impl RubricPlaces {
    /// The places of a grader's rubric.
    pub(super) fn new(
        entry: &YamlEntry,
        fields: &FieldSet<'_>,
        text: &RubricText,
        findings: &Findings,
    ) -> Self {
        let place = |span: SourceSpan| findings.sources.place(span);
        let panel = fields.take("panel").map(|field| field.key_span);
        let model = panel.or_else(|| fields.take("model").map(|field| field.value.span));
        let threshold = fields.take("pass_threshold").map(|field| field.value.span);
        let unfenced = fields.take("fence").or_else(|| fields.take("unfenced"));
        let unfenced = unfenced.map(|field| field.key_span);
        let parts = text.parts.iter().filter_map(|part| WrittenText::of(*part, &findings.sources));
        Self {
            grader: place(entry.key_span),
            model: place(model.unwrap_or(entry.key_span)),
            threshold: place(threshold.unwrap_or(entry.key_span)),
            unfenced: place(unfenced.unwrap_or(entry.key_span)),
            parts: parts.collect(),
        }
    }

    /// Where the bytes `at..at + length` of the rubric `text` are written; the grader, where they are written otherwise than
    /// they read.
    pub(crate) fn of_text(&self, text: &str, at: usize, length: usize) -> Place {
        self.found(text, at, length).unwrap_or_else(|| self.grader.clone())
    }

    fn found(&self, text: &str, at: usize, length: usize) -> Option<Place> {
        let wanted = text.get(at..at + length).filter(|wanted| !wanted.is_empty())?;
        let mut before = text[..at].matches(wanted).count();
        for part in &self.parts {
            for (found, _) in part.lines.get(part.start..part.end)?.match_indices(wanted) {
                match before.checked_sub(1) {
                    None => return Some(part.place(part.start + found, length)),
                    Some(left) => before = left,
                }
            }
        }
        None
    }
}
