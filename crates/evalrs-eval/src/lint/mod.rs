//! What is probably not meant in a rubric: warnings by name, each with its place and the likely fix.
//!
//! One rubric and a few facts about the rows in, diagnostics out. A warning that is wrong is worse than one that is missing:
//! what could be meant is never warned of, so that the patterns here are narrow on purpose.

pub mod family;
pub mod linted_rubric;
pub mod placeholders;
mod range;
mod reference;
pub mod rubric_places;
mod words;

pub use linted_rubric::RowFacts;

use evalrs_base::diagnostic::Diagnostic;
use evalrs_model::spec::{GraderKind, GraderSpec, Lint};
use linted_rubric::LintedRubric;
use rubric_places::RubricPlaces;

pub(crate) use reference::speaks_of_unshown_reference;

/// What is probably not meant in the rubric of `grader`.
pub fn rubric_lints(
    grader: &GraderSpec,
    places: &RubricPlaces,
    facts: &RowFacts,
) -> Vec<Diagnostic> {
    let GraderKind::Rubric(rubric) = &grader.kind else { return Vec::new() };
    if rubric.embedding.is_some() {
        return Vec::new();
    }
    let linted = LintedRubric { grader, rubric, places };
    let mut found = placeholders::unknown(linted, facts);
    found.extend(placeholders::doubled(linted));
    found.extend(placeholders::sent_twice(linted));
    found.extend(range::range_not_scale(linted));
    found.extend(reference::reference_not_shown(linted, facts));
    found.extend(threshold(linted));
    found.extend(unfenced(linted));
    found.extend(family::same_family(linted, facts));
    let is_allowed = |name| rubric.allow.iter().any(|lint| lint.name() == name);
    found.retain(|diagnostic| !diagnostic.lint.is_some_and(is_allowed));
    found.sort_by_cached_key(|diagnostic| {
        diagnostic.place.as_ref().map(|place| (place.path.clone(), place.line, place.column))
    });
    found
}

/// Warns of a threshold that every score reaches; one that none does is an error.
fn threshold(linted: LintedRubric<'_>) -> Option<Diagnostic> {
    if linted.grader.pass_threshold > 0.0 {
        return None;
    }
    let message = format!("every answer passes `{}`: no score is below 0", linted.name());
    let place = linted.places.threshold.clone();
    let warning = linted.at(Lint::ThresholdAlwaysMet, place, message);
    Some(warning.hint("write the least score that is good enough, from 0 to 1"))
}

/// Warns of texts without fences: they can pass for words of the rubric.
fn unfenced(linted: LintedRubric<'_>) -> Option<Diagnostic> {
    let rubric = linted.rubric;
    let texts = match &rubric.unfenced[..] {
        _ if !rubric.fence => "every text of a row".to_owned(),
        [] => return None,
        names => names.iter().map(|name| format!("`{{{name}}}`")).collect::<Vec<_>>().join(", "),
    };
    let message = format!(
        "`{}` shows the judge {texts} without fences: the judge can take it for the rubric's own words",
        linted.name()
    );
    let warning = linted.at(Lint::Unfenced, linted.places.unfenced.clone(), message);
    Some(warning.hint("remove `fence` and `unfenced`, or write `allow: [unfenced]`"))
}
