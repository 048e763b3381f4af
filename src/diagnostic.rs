//! What is wrong with something a user wrote, and where.
//!
//! A [`Diagnostic`] carries its own source line, so that it can be shown, stored and compared without
//! the file it speaks of. It knows nothing of suites or datasets. Rendering is done by
//! `annotate-snippets`; no other module draws carets.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::Serialize;

/// The longest part of a source line that is kept, in bytes: records of megabytes stand on one line.
const SOURCE_WINDOW: usize = 160;

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing runs.
    Error,
    /// It is said, and the run goes on.
    Warning,
}

/// A place in a text file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file as the user would write it.
    pub path: String,
    /// The line, from 1. 0 speaks of the file as a whole.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The part of the source line around the column.
    pub source: String,
    /// The marked bytes of `source`.
    pub marked: Range<usize>,
}

impl Place {
    /// The file as a whole: it is missing, empty or no text.
    pub fn file(path: impl Into<String>) -> Self {
        Self { path: path.into(), line: 0, column: 0, source: String::new(), marked: 0..0 }
    }

    /// The bytes `span` of the whole file `text`. A span that leaves the text is clipped to it.
    pub fn in_text(path: impl Into<String>, text: &str, span: Range<usize>) -> Self {
        let start = floor_char(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = text[..start].bytes().filter(|&byte| byte == b'\n').count() + 1;
        let rest = &text[line_start..];
        let line_text = rest.split('\n').next().unwrap_or(rest);
        let end = floor_char(text, span.end.max(start));
        Self::in_line(path, line, line_text, start - line_start..end - line_start)
    }

    /// The bytes `span` of `line_text`, which is line `line` (from 1) of the file.
    pub fn in_line(
        path: impl Into<String>,
        line: usize,
        line_text: &str,
        span: Range<usize>,
    ) -> Self {
        let line_text = line_text.trim_end_matches(['\n', '\r']);
        let start = floor_char(line_text, span.start);
        let end = floor_char(line_text, span.end).max(start);
        let column = line_text[..start].chars().count() + 1;
        let from = if line_text.len() <= SOURCE_WINDOW {
            0
        } else {
            floor_char(line_text, start.saturating_sub(SOURCE_WINDOW / 2))
        };
        let to = floor_char(line_text, (from + SOURCE_WINDOW).min(line_text.len()));
        let source = line_text[from..to].replace(|c: char| c.is_control() && c != '\t', "\u{fffd}");
        let marked =
            if source.len() == to - from { start - from..end.min(to) - from } else { 0..0 };
        Self { path: path.into(), line, column, source, marked }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.path),
            line => write!(f, "{}:{}:{}", self.path, line, self.column),
        }
    }
}

fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// One thing that is wrong, where it is, and what would mend it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Whether anything runs in spite of it.
    pub severity: Severity,
    /// Where it is; none for a problem of the command line.
    pub place: Option<Place>,
    /// What is wrong: a lower-case fragment with names in backticks.
    pub message: String,
    /// What stands under the marked text: what was expected there.
    pub label: Option<String>,
    /// The likely fix.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error at `place`.
    pub fn error(place: Place, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            place: Some(place),
            message: message.into(),
            label: None,
            hint: None,
        }
    }

    /// A warning at `place`.
    pub fn warning(place: Place, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(place, message) }
    }

    /// The same with what was expected at the marked text.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The same with the likely fix.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether it stops the run.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Its text as a person reads it, with the source line and a caret; styled with ANSI codes if `color`.
    pub fn render(&self, color: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(self.message.as_str()));
        match &self.place {
            Some(place) if place.line > 0 => {
                let annotation = AnnotationKind::Primary
                    .span(place.marked.clone())
                    .label(self.label.as_deref().unwrap_or_default());
                let snippet = Snippet::source(place.source.as_str())
                    .path(place.path.as_str())
                    .line_start(place.line)
                    .fold(false)
                    .annotation(annotation);
                group = group.element(snippet);
            }
            Some(place) => {
                group = group.element(annotate_snippets::Origin::path(place.path.as_str()));
            }
            None => {}
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

/// The name in `known` that was most likely meant by `name`, if any is near enough.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate)
        })
        .filter(|(distance, candidate)| *distance <= candidate.len().max(lower.len()).div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
