//! Graders that measure how alike two texts are, as the papers of machine translation and speech recognition do.
//!
//! Every number is that of the implementation that is cited: rouge-score, sacreBLEU, jiwer. `tests/text_metrics` holds
//! theirs over hundreds of texts. A text is 1.0 with itself, so that scores of percent are divided by 100 here.

mod bleu;
mod chrf;
pub(super) mod edits;
mod error_rate;
mod porter;
mod rouge;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;

use serde_json::{Map, Value};

use super::given::{GivenText, given_or_references};
use super::{Grade, Subject};
use evalrs_base::python::lower;

pub(super) use bleu::BLEU;
pub(super) use chrf::CHRF;
pub(super) use error_rate::{CHARACTER_ERROR_RATE, EDIT_SIMILARITY, WORD_ERROR_RATE};
pub(super) use rouge::{ROUGE_L, ROUGE_N};

/// The most bytes of the submission, counted for each reference anew, and of all references: chrF of two texts of 1 MB takes
/// about a second.
const MAX_BYTES: usize = 4_000_000;

/// The references of a subject, if nothing is too long to be compared.
fn references<'a>(
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

fn too_long() -> Grade {
    Grade::failed("too_large", "the texts are too long to be compared")
}

fn in_case(text: &str, is_case_sensitive: bool) -> Cow<'_, str> {
    if is_case_sensitive { Cow::Borrowed(text) } else { Cow::Owned(lower(text)) }
}

/// The grade of a score that is 1.0 at most, with what it was made of.
fn measured<const N: usize>(name: &str, score: f64, parts: [(&str, Value); N]) -> Grade {
    let metadata: Map<String, Value> =
        parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    // The last bit of a sum of shares may exceed the whole.
    let score = score.clamp(0.0, 1.0);
    Grade::new(score, format!("{name}: {score:.4}")).with_metadata(metadata)
}

/// The place of the greatest number, the first of several that are equal.
fn greatest(numbers: impl Iterator<Item = f64>) -> usize {
    let mut best = f64::NEG_INFINITY;
    let mut place = 0;
    for (at, number) in numbers.enumerate() {
        if number > best {
            best = number;
            place = at;
        }
    }
    place
}

/// How often each run of `n` neighbours stands in a list.
fn n_grams<T: Eq + Hash>(items: &[T], n: usize) -> HashMap<&[T], usize> {
    let mut counts = HashMap::new();
    for gram in items.windows(n) {
        *counts.entry(gram).or_default() += 1;
    }
    counts
}

/// How many runs of `n` neighbours are in both: each as often as in the one that has it less often.
fn shared<T: Eq + Hash>(items: &[T], n: usize, mut others: HashMap<&[T], usize>) -> usize {
    let mut taken = 0;
    for gram in items.windows(n) {
        if let Some(left) = others.get_mut(gram).filter(|left| **left > 0) {
            *left -= 1;
            taken += 1;
        }
    }
    taken
}

/// How many runs of `n` neighbours a list of this length has.
fn n_gram_count(length: usize, n: usize) -> usize {
    (length + 1).saturating_sub(n)
}
