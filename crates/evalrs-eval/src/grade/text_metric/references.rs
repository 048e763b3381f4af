//! The references that a text is measured against, within limits, and the grade of what was measured.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::grade::given::{GivenText, given_or_references};
use crate::grade::grader::Subject;
use crate::grade::verdict::Grade;

/// The most bytes of the submission, counted for each reference again, and of all references: chrF of two texts of 1 MB
/// takes about a second.
const MAX_BYTES: usize = 4_000_000;

/// The references of a subject, if nothing is too long to be compared.
pub(super) fn references<'a>(
    given: Option<&'a [GivenText]>,
    subject: &Subject<'a>,
) -> Result<Vec<Cow<'a, str>>, Grade> {
    let references = given_or_references(given, subject)?;
    let bytes = references.iter().map(|reference| reference.len() + subject.submission.len());
    if bytes.sum::<usize>() > MAX_BYTES {
        return Err(too_long());
    }
    Ok(references)
}

pub(super) fn too_long() -> Grade {
    Grade::failed("too_large", "the texts are too long to be compared")
}

/// The grade of a score that is 1.0 at most, with what it was made of.
pub(super) fn measured<const N: usize>(name: &str, score: f64, parts: [(&str, Value); N]) -> Grade {
    let metadata: Map<String, Value> =
        parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    // The last bit of a sum of shares may exceed the whole.
    let score = score.clamp(0.0, 1.0);
    Grade::new(score, format!("{name}: {score:.4}")).with_metadata(metadata)
}

/// The item with the greatest number, the first of several that are equal.
pub(super) fn best<T>(items: &[T], number: impl Fn(&T) -> f64) -> Option<&T> {
    items.iter().reduce(|best, item| if number(item) > number(best) { item } else { best })
}

/// How many runs of `n` neighbours a list of this length has.
pub(super) fn n_gram_count(length: usize, n: usize) -> usize {
    (length + 1).saturating_sub(n)
}
