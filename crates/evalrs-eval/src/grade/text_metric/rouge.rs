//! ROUGE (Lin 2004, <https://aclanthology.org/W04-1013>), as the package rouge-score computes it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::porter::stem;
use super::references::{best, measured, n_gram_count, references, too_long};
use crate::grade::given::GivenText;
use crate::grade::grader::{GradeResult, GraderInfo, GraderOptions, Subject};
use crate::grade::lists::{DifferingParts, differing, n_grams, shared};
use crate::grade::verdict::Grade;
use evalrs_base::python::lower;

/// Words shorter than this have no other stem.
const SHORTEST_STEMMED: usize = 4;

pub(crate) const ROUGE_N: GraderInfo = GraderInfo {
    id: "rouge_n",
    name: "ROUGE-N",
    description: "The runs of `n` words that submission and reference share, as rouge-score counts them; of several references the one with the best F1 counts.",
    scoring: "F1, precision or recall over n-grams of words (Lin 2004, https://aclanthology.org/W04-1013)",
    ..GraderInfo::of::<RougeN>().with_references()
};

pub(crate) const ROUGE_L: GraderInfo = GraderInfo {
    id: "rouge_l",
    name: "ROUGE-L",
    description: "The longest common subsequence of words of submission and reference, as rouge-score counts it; of several references the one with the best F1 counts.",
    scoring: "F1, precision or recall over the longest common subsequence (Lin 2004, https://aclanthology.org/W04-1013)",
    ..GraderInfo::of::<RougeL>().with_references()
};

/// Options of `rouge_n`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct RougeN {
    /// The references; the row's ground truth, a text or a list, if absent.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// The length of a run, in words.
    #[schemars(range(min = 1, max = 9))]
    n: u8,
    /// The measure that is the score.
    measure: RougeMeasure,
    /// Whether words of more than three letters are compared by stem.
    stemming: bool,
}

/// Options of `rouge_l`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct RougeL {
    /// The references; the row's ground truth, a text or a list, if absent.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// The measure that is the score.
    measure: RougeMeasure,
    /// Whether words of more than three letters are compared by stem.
    stemming: bool,
}

/// The measure that is the score.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum RougeMeasure {
    /// The harmonic mean of precision and recall.
    #[default]
    F1,
    /// The share of the submission that is in the reference.
    Precision,
    /// The share of the reference that is in the submission.
    Recall,
}

/// What ROUGE says of two texts.
struct Rouge {
    precision: f64,
    recall: f64,
}

impl Default for RougeN {
    fn default() -> Self {
        Self { values: None, n: 1, measure: RougeMeasure::F1, stemming: false }
    }
}

impl GraderOptions for RougeN {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let references = references(self.values.as_deref(), subject)?;
        let n = usize::from(self.n);
        let found = words(subject.submission, self.stemming);
        let scores = references.iter().map(|reference| {
            let expected = words(reference, self.stemming);
            let same = shared(&found, n, n_grams(&expected, n));
            Rouge::of(same, n_gram_count(found.len(), n), n_gram_count(expected.len(), n))
        });
        Ok(graded(&format!("ROUGE-{n}"), self.measure, &scores.collect::<Vec<_>>()))
    }
}

impl GraderOptions for RougeL {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let references = references(self.values.as_deref(), subject)?;
        let found = words(subject.submission, self.stemming);
        let scores = references.iter().map(|reference| {
            let expected = words(reference, self.stemming);
            let same = longest_common(&found, &expected, references.len()).ok_or_else(too_long)?;
            Ok(Rouge::of(same, found.len(), expected.len()))
        });
        Ok(graded("ROUGE-L", self.measure, &scores.collect::<Result<Vec<_>, Grade>>()?))
    }
}

impl Rouge {
    fn of(same: usize, found: usize, expected: usize) -> Self {
        let share = |of: usize| same as f64 / of.max(1) as f64;
        Self { precision: share(found), recall: share(expected) }
    }

    fn f1(&self) -> f64 {
        let sum = self.precision + self.recall;
        if sum > 0.0 { 2.0 * self.precision * self.recall / sum } else { 0.0 }
    }
}

fn graded(name: &str, measure: RougeMeasure, scores: &[Rouge]) -> Grade {
    let best = best(scores, Rouge::f1).unwrap_or(&Rouge { precision: 0.0, recall: 0.0 });
    let (word, score) = match measure {
        RougeMeasure::F1 => ("F1", best.f1()),
        RougeMeasure::Precision => ("precision", best.precision),
        RougeMeasure::Recall => ("recall", best.recall),
    };
    let parts = [
        ("precision", json!(best.precision)),
        ("recall", json!(best.recall)),
        ("f1", json!(best.f1())),
    ];
    measured(&format!("{name} {word}"), score, parts)
}

/// The words of a text: runs of ASCII letters and digits in lower case. Whatever else there is divides them.
fn words(text: &str, stemming: bool) -> Vec<String> {
    let text = lower(text);
    let words = text.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
    words
        .filter(|word| !word.is_empty())
        .map(|word| {
            let is_stemmed = stemming && word.len() >= SHORTEST_STEMMED;
            if is_stemmed { stem(word) } else { word.to_owned() }
        })
        .collect()
}

/// The length of the longest common subsequence, unless this many pairs would take too long.
fn longest_common(left: &[String], right: &[String], tables: usize) -> Option<usize> {
    let DifferingParts { left, right, same } = differing(left, right, tables)?;
    let mut row = vec![0_usize; right.len() + 1];
    for word in left {
        let mut diagonal = 0;
        for (at, other) in right.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if word == other { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    Some(same + row.last().copied().unwrap_or_default())
}
