//! Rubric files.
//!
//! A rubric is part of the suite and kept verbatim, but for a byte-order mark.

use super::Files;
use super::fields::Findings;
use super::load::Looked;
use super::source::Span;

/// The text of a rubric, and where it is from.
#[derive(Debug, Default)]
pub(super) struct RubricText {
    /// The text, a template.
    pub(super) text: String,
    /// Where its parts are written.
    pub(super) parts: Vec<Span>,
}

impl RubricText {
    /// Where `{name}` is written in it, else `otherwise`.
    pub(super) fn find(&self, name: &str, otherwise: Span, findings: &Findings) -> Span {
        let placeholder = format!("{{{name}}}");
        let found =
            self.parts.iter().map(|part| (*part, findings.sources.find(*part, &placeholder)));
        let written = found.into_iter().find(|(part, span)| part != span);
        written.map_or(otherwise, |(_, span)| span)
    }
}

/// Reads the rubric at `path`, which `from` names.
pub(super) fn read(
    path: &str,
    from: Span,
    files: &dyn Files,
    (looked, findings): (&mut Looked, &mut Findings),
) -> Option<RubricText> {
    let text = looked.text(path, Some(from), files, findings)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let file = findings.sources.add(path, text);
    Some(RubricText { text: text.to_owned(), parts: vec![Span::new(file, 0..text.len())] })
}
