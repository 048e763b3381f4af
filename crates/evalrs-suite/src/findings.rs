//! Problems found while files are read, and their texts.

use std::cell::{Cell, Ref, RefCell};

use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::yaml::source::{SourceSpan, Sources};
use evalrs_base::yaml::tree::{YamlNode, parse};

/// The most problems that are shown: a generated suite may repeat one slip thousands of times.
const MAX_PROBLEMS: usize = 200;

/// The problems found so far, and their texts. All readers of a file share it: nothing of it is borrowed for
/// longer than one of these calls takes.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    sources: RefCell<Sources>,
    pub diagnostics: RefCell<Vec<Diagnostic>>,
    /// How many problems are not shown, and the file of the last of them.
    unseen: Cell<usize>,
    last_unseen: RefCell<Option<Place>>,
}

impl Findings {
    pub(crate) fn sources(&self) -> Ref<'_, Sources> {
        self.sources.borrow()
    }

    /// Adds a file to the texts and returns its index.
    pub(crate) fn add_source(&self, path: &str, text: &str) -> u32 {
        self.sources.borrow_mut().add(path, text)
    }

    /// Hides the text at `span` from all that is reported after this.
    pub(crate) fn hide(&self, span: SourceSpan) {
        self.sources.borrow_mut().hide(span);
    }

    pub(crate) fn place(&self, span: SourceSpan) -> Place {
        self.sources().place(span)
    }

    /// Reads the YAML of the file at `path`.
    pub(crate) fn parse(&self, path: &str, text: &str) -> Option<YamlNode> {
        parse(path, text, &mut self.sources.borrow_mut(), &mut self.diagnostics.borrow_mut())
    }

    /// Reports an error and the likely fix; an empty hint is none.
    pub(crate) fn error(&self, span: SourceSpan, message: &str, hint: &str) {
        self.report(Diagnostic::error(self.place(span), message), hint);
    }

    /// The same for a reader that then has nothing to give.
    pub(crate) fn refuse<T>(&self, span: SourceSpan, message: &str, hint: &str) -> Option<T> {
        self.error(span, message, hint);
        None
    }

    pub(crate) fn warning(&self, span: SourceSpan, message: &str, hint: &str) {
        self.report(Diagnostic::warning(self.place(span), message), hint);
    }

    /// Adds a diagnostic with the likely fix, unless there are too many already.
    pub(crate) fn report(&self, diagnostic: Diagnostic, hint: &str) {
        if self.diagnostics.borrow().len() >= MAX_PROBLEMS {
            self.unseen.update(|count| count + 1);
            self.last_unseen.replace(diagnostic.place.map(|place| Place::file(place.path)));
            return;
        }
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        self.add(Diagnostic { hint, ..diagnostic });
    }

    /// Adds a diagnostic. One that several parts of a suite run into, as with a shared file, is reported once.
    pub(crate) fn add(&self, diagnostic: Diagnostic) {
        let mut diagnostics = self.diagnostics.borrow_mut();
        let known = diagnostics.iter_mut().find(|known| {
            (known.severity, &known.place, &known.message)
                == (diagnostic.severity, &diagnostic.place, &diagnostic.message)
        });
        match known {
            Some(known) => known.hint = diagnostic.hint.or(known.hint.take()),
            None => diagnostics.push(diagnostic),
        }
    }

    /// The diagnostics in the order of the files, as they were read, and of the lines in them.
    pub(crate) fn finish(self) -> Vec<Diagnostic> {
        let sources = self.sources.into_inner();
        let mut diagnostics = self.diagnostics.into_inner();
        diagnostics.sort_by_key(|diagnostic| {
            let place = diagnostic.place.as_ref();
            place.map(|place| (sources.index(&place.path), place.line, place.column))
        });
        if let Some(place) = self.last_unseen.into_inner() {
            let message = format!("{} further problems are not shown", self.unseen.get());
            diagnostics.push(Diagnostic::error(place, message));
        }
        diagnostics
    }

    /// Whether there is an error, as against warnings.
    pub(crate) fn failed(&self) -> bool {
        self.unseen.get() > 0 || self.diagnostics.borrow().iter().any(Diagnostic::is_error)
    }
}
