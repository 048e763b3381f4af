//! Rubrics that speak of a reference answer which the judge is not shown.

use super::linted_rubric::{LintedRubric, RowFacts};
use super::words::{RubricToken, RubricTokenKind, tokens};
use crate::judge::template::{is_arranged, names, open_names};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_model::spec::{Lint, RubricSpec};

const ANSWERS: [&str; 8] =
    ["answer", "answers", "response", "output", "outputs", "solution", "reply", "translation"];
/// What makes "the expected output" no answer.
const SHAPES: [&str; 8] =
    ["format", "structure", "schema", "type", "length", "style", "language", "shape"];
const NEGATIONS: [&str; 10] =
    ["no", "not", "without", "never", "neither", "nor", "don't", "doesn't", "isn't", "lacks"];

/// Whether the rubric speaks of a reference answer, and neither it nor what follows it shows one.
pub(crate) fn speaks_of_unshown_reference(rubric: &RubricSpec) -> bool {
    found(rubric).is_some()
}

/// Warns of it where rows have a reference answer.
pub(super) fn reference_not_shown(
    linted: LintedRubric<'_>,
    facts: &RowFacts,
) -> Option<Diagnostic> {
    if !facts.has_reference {
        return None;
    }
    let found = found(linted.rubric)?;
    let message = format!(
        "the rubric of `{}` mentions a reference answer, but does not show the judge that of the row",
        linted.name()
    );
    let warning = linted.at_text(Lint::ReferenceNotShown, found.start, found.len(), message);
    Some(warning.hint("write `{ground_truth}` where it belongs"))
}

fn found(rubric: &RubricSpec) -> Option<std::ops::Range<usize>> {
    let text = rubric.prompt.as_str();
    let compares = rubric.compare_to.is_some();
    // What a row calls otherwise may hold a reference too.
    let may_be_shown = !is_arranged(text, compares)
        || names(text, "ground_truth")
        || !open_names(text, compares).is_empty();
    if rubric.embedding.is_some() || may_be_shown {
        return None;
    }
    let tokens = tokens(text);
    (0..tokens.len()).find_map(|at| reference(&tokens, at))
}

/// The bytes of what speaks of a reference answer at this token.
fn reference(tokens: &[RubricToken], at: usize) -> Option<std::ops::Range<usize>> {
    let first = tokens.get(at)?;
    let hyphen = usize::from(tokens.get(at + 1)?.is_sign(&['-']));
    let second = tokens.get(at + 1 + hyphen)?;
    let is_reference = first.is_word(&["ground"]) && second.is_word(&["truth"])
        || first.is_word(&["reference", "expected", "gold", "golden"]) && second.is_word(&ANSWERS);
    let follows = tokens.get(at + 2 + hyphen);
    let is_shape = follows.is_some_and(|token| token.is_word(&SHAPES));
    let sentence =
        tokens[..at].iter().rev().take_while(|token| token.kind != RubricTokenKind::Break);
    let is_denied = sentence.take(6).any(|token| token.is_word(&NEGATIONS));
    let is_meant = is_reference && !is_shape && !is_denied;
    is_meant.then_some(first.bytes.start..second.bytes.end)
}
