//! What is wrong with something a user wrote, and where.
//!
//! A [`Diagnostic`] carries its own source line, so that it can be shown, stored and compared without
//! the file it speaks of. It knows nothing of suites or datasets. Rendering is done by
//! `annotate-snippets`; no other module draws carets.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde::Serialize;

/// The longest part of a source line that is kept, in bytes: records of megabytes stand on one line. It fits
/// the width at which the renderer would cut lines itself.
const SOURCE_WINDOW: usize = 120;

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing runs.
    Error,
    /// It is reported, and the run goes on.
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
    /// The part of the source line around the column, with `…` where the line is cut.
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
        let start = text.floor_char_boundary(span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line = memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count() + 1;
        let rest = &text[line_start..];
        let line_text = rest.split('\n').next().unwrap_or(rest);
        let end = text.floor_char_boundary(span.end.max(start));
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
        let start = line_text.floor_char_boundary(span.start);
        let end = line_text.floor_char_boundary(span.end).max(start);
        let column = line_text[..start].chars().count() + 1;
        let from = if line_text.len() <= SOURCE_WINDOW {
            0
        } else {
            line_text.floor_char_boundary(start.saturating_sub(SOURCE_WINDOW / 2))
        };
        let to = line_text.floor_char_boundary((from + SOURCE_WINDOW).min(line_text.len()));
        let end = end.min(to);
        let mut source = String::from(if from > 0 { "…" } else { "" });
        push_printable(&mut source, &line_text[from..start]);
        let marked_from = source.len();
        push_printable(&mut source, &line_text[start..end]);
        let marked = marked_from..source.len();
        push_printable(&mut source, &line_text[end..to]);
        if to < line_text.len() {
            source.push('…');
        }
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

fn push_printable(line: &mut String, text: &str) {
    line.extend(text.chars().map(visible));
}

/// Names that a message repeats may hold anything.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { ' ' } else { visible(c) }).collect()
}

/// Control characters could move the cursor of the reader's terminal.
fn visible(c: char) -> char {
    if c.is_control() && c != '\t' { '\u{fffd}' } else { c }
}

/// The start of a name that may be longer than any message should be.
pub fn clipped(name: &str) -> std::borrow::Cow<'_, str> {
    const MOST: usize = 80;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &name[..end]).into(),
        None => name.into(),
    }
}

/// One thing that is wrong, where it is, and a fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Whether anything runs in spite of it.
    pub severity: Severity,
    /// Where it is; none for a problem of the command line.
    pub place: Option<Place>,
    /// What is wrong: a lower-case fragment with names in backticks.
    pub message: String,
    /// The label under the marked text: what was expected there.
    pub label: Option<String>,
    /// The likely fix.
    pub hint: Option<String>,
    /// What it is silenced by; none for what cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lint: Option<&'static str>,
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
            lint: None,
        }
    }

    /// A warning at `place`.
    pub fn warning(place: Place, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(place, message) }
    }

    /// The same with what was expected at the marked text.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// The same with the likely fix.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same under a name by which suites can silence it.
    #[must_use]
    pub fn lint(self, name: &'static str) -> Self {
        Self { lint: Some(name), ..self }
    }

    /// The message in one line, where there is no room for source lines.
    pub fn brief(&self) -> String {
        let name = self.lint.map(|name| format!(" ({name})")).unwrap_or_default();
        match &self.place {
            Some(place) if place.line > 0 => {
                format!("{place}: {}{name}", printable(&self.message))
            }
            _ => format!("{}{name}", printable(&self.message)),
        }
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
        let message = printable(&self.message);
        let label = self.label.as_deref().map(printable);
        let title = level.primary_title(message);
        let mut group = Group::with_title(match self.lint {
            Some(name) => title.id(name),
            None => title,
        });
        match &self.place {
            Some(place) if place.line > 0 => {
                let annotation = AnnotationKind::Primary
                    .span(place.marked.clone())
                    .label(label.unwrap_or_default());
                let snippet = Snippet::source(place.source.as_str())
                    .path(place.path.as_str())
                    .line_start(place.line)
                    .fold(false)
                    .annotation(annotation);
                group = group.element(snippet);
            }
            Some(place) => {
                group = group.element(Origin::path(place.path.as_str()));
            }
            None => {}
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(printable(hint)));
        }
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let rendered = renderer.render(&[group]);
        match &self.place {
            Some(place) if place.line > 0 => with_true_column(rendered, place),
            // As far to the right as beside the number of a line.
            _ => rendered.replace('\n', "\n "),
        }
    }
}

/// The renderer knows only a part of a long line, and counts columns from the cut.
fn with_true_column(mut rendered: String, place: &Place) -> String {
    let before = place.source.get(..place.marked.start).unwrap_or_default();
    let counted = format!("{}:{}:{}", place.path, place.line, before.chars().count() + 1);
    let header = rendered.find('\n').unwrap_or_default();
    if let Some(at) = rendered[header..].find(&counted) {
        let at = header + at;
        rendered.replace_range(at..at + counted.len(), &place.to_string());
    }
    rendered
}

/// The name in `known` that was most likely meant by `name`, if any is near enough: about one slip in three
/// characters of the longer name, and at least half of the shorter one right.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 100;
    let lower = name.to_lowercase();
    let length = lower.chars().count();
    let most = |other: usize| (other.max(length).div_ceil(3)).min(other.min(length) / 2);
    // Names may be megabytes long, and counting slips takes the product of both lengths.
    let may_be_near = |candidate: &&str| {
        let other = candidate.chars().count();
        other.max(length) <= LONGEST && other.abs_diff(length) <= most(other)
    };
    let near = |(slips, candidate): &(usize, &str)| *slips <= most(candidate.chars().count());
    known
        .into_iter()
        .filter(may_be_near)
        .map(|candidate| {
            (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate)
        })
        .filter(near)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::{Diagnostic, Place, suggest};

    #[test]
    fn suggestions_are_near() {
        for (name, expected) in [
            ("taget", Some("target")),
            ("inptu", Some("input")),
            ("Metric_Key", Some("metric_key")),
            ("idd", Some("id")),
            ("ID", Some("id")),
            ("x", None),
            ("i", None),
            ("no", None),
            ("graders", None),
        ] {
            let known = ["target", "input", "metric_key", "id", "op"];
            assert_eq!(suggest(name, known), expected, "{name}");
        }
    }

    #[test]
    fn what_has_no_line_is_told_as_what_has_one() {
        let lines = |place: Place| {
            let rendered = Diagnostic::warning(place, "odd").hint("mend it").render(false);
            rendered.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let with_line = lines(Place::in_line("s.yaml", 3, "a: b", 0..1));
        let whole = lines(Place::file("s.yaml"));
        assert_eq!(whole, ["warning: odd", " --> s.yaml", "  = help: mend it"]);
        assert_eq!(
            [&with_line[0], &with_line[1], &with_line[6]],
            ["warning: odd", " --> s.yaml:3:1", "  = help: mend it"]
        );
    }

    fn shown(line: &str, marked: &str) -> (usize, String, String) {
        let start = line.find(marked).expect("the marked text is in the line");
        let place = Place::in_line("f", 7, line, start..start + marked.len());
        let text = place.source[place.marked.clone()].to_owned();
        let rendered = Diagnostic::error(place.clone(), "wrong").render(false);
        assert!(rendered.contains(&format!("--> {place}\n")), "{rendered}");
        (place.column, text, place.source)
    }

    #[test]
    fn a_cut_line_keeps_its_column_and_its_mark() {
        let long = format!("{}<here>{}", "é".repeat(100), "z".repeat(300));
        let (column, marked, source) = shown(&long, "<here>");
        assert_eq!((column, marked.as_str()), (101, "<here>"));
        assert!(source.starts_with("…é") && source.ends_with("z…"), "{source}");
        let (column, marked, source) = shown("a\0b\u{1b}<here>\0", "<here>\0");
        assert_eq!((column, marked.as_str()), (5, "<here>\u{fffd}"));
        assert_eq!(source, "a\u{fffd}b\u{fffd}<here>\u{fffd}");
        let (column, marked, source) = shown("short", "short");
        assert_eq!((column, marked.as_str(), source.as_str()), (1, "short", "short"));
    }
}
