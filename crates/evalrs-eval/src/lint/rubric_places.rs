//! Where what a suite says of its rubrics is written, for warnings about them.
//!
//! The text of a rubric is put together of files and scalars, so that a place in it is found again by what stands there: the
//! n-th time that it does in the rubric is the n-th time that it does in the sources.

use evalrs_base::diagnostic::Place;

/// A stretch of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenText {
    /// Its file.
    pub path: String,
    /// The line that it begins in, from 1.
    pub first_line: usize,
    /// Its lines, the first and the last one whole.
    pub lines: String,
    /// Its bytes in `lines`.
    pub start: usize,
    /// Where it ends in them.
    pub end: usize,
}

impl WrittenText {
    fn place(&self, at: usize, length: usize) -> Place {
        let place = Place::in_text(self.path.as_str(), &self.lines, at..at + length);
        Place { line: place.line + self.first_line - 1, ..place }
    }
}

/// Where what a suite says of one rubric is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubricPlaces {
    /// Its grader.
    pub grader: Place,
    /// The model that judges; the panel where there is one, and the grader where neither is written.
    pub model: Place,
    /// Its threshold, or its grader.
    pub threshold: Place,
    /// What takes texts out of their fences, or its grader.
    pub unfenced: Place,
    /// The stretches that its text is put together of.
    pub parts: Vec<WrittenText>,
}

impl RubricPlaces {
    /// Where the bytes `at..at + length` of the rubric `text` are written; the grader, where they are written otherwise than
    /// they read.
    pub fn of_text(&self, text: &str, at: usize, length: usize) -> Place {
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
