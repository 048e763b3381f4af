//! A rubric that is looked at, and what of the rows warnings about it depend on.

use super::rubric_places::RubricPlaces;
use evalrs_base::diagnostic::{Diagnostic, Place, clipped};
use evalrs_model::spec::{GraderSpec, Lint, RubricSpec};

/// What of the rows warnings about one rubric depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFacts {
    /// The names in rubrics that stand for something in no row.
    pub missing: Vec<String>,
    /// Those of them that are fields of some row all the same, out of reach of a plain name.
    pub row_fields: Vec<String>,
    /// Whether some row has the reference answer that the rubric speaks of, where it shows none.
    pub has_reference: bool,
    /// The models whose answers are judged, in order of appearance.
    pub models: Vec<String>,
}

/// A rubric, where it is written, and who it is of.
#[derive(Clone, Copy)]
pub(super) struct LintedRubric<'a> {
    pub grader: &'a GraderSpec,
    pub rubric: &'a RubricSpec,
    pub places: &'a RubricPlaces,
}

impl LintedRubric<'_> {
    pub(super) fn name(&self) -> std::borrow::Cow<'_, str> {
        clipped(&self.grader.name)
    }

    /// A warning about the bytes `at..at + length` of the text.
    pub(super) fn at_text(
        &self,
        lint: Lint,
        at: usize,
        length: usize,
        message: String,
    ) -> Diagnostic {
        self.at(lint, self.places.of_text(&self.rubric.prompt, at, length), message)
    }

    #[expect(clippy::unused_self, reason = "it is read as a warning of this rubric")]
    pub(super) fn at(&self, lint: Lint, place: Place, message: String) -> Diagnostic {
        Diagnostic::warning(place, message).lint(lint.name())
    }
}
