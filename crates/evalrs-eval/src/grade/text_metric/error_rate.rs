//! Graders of the edits between two texts: as a share of the longer one, and as speech recognition counts its errors.
//!
//! Rates are those of jiwer: edits (Levenshtein 1966) by the length of the reference, so that they may exceed 1.

use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::references::{greatest, in_case, measured, references, too_long};
use crate::grade::edits::edit_distance;
use crate::grade::given::GivenText;
use crate::grade::grader::{GradeResult, GraderInfo, with_options};
use crate::grade::subject::Subject;
use crate::grade::verdict::Grade;
use crate::options::schema;
use evalrs_base::python::{is_space, strip};

/// `edit_similarity`.
pub(crate) const EDIT_SIMILARITY: GraderInfo = GraderInfo {
    id: "edit_similarity",
    aliases: &["edit-similarity"],
    name: "Edit similarity",
    description: "How few characters or words must be edited to make the reference of the submission; of several references the closest counts.",
    needs_ground_truth: true,
    takes_lists: true,
    given_by: &["values"],
    scoring: "1.0 minus the Levenshtein distance as a share of the longer text",
    options: schema::<EditSimilarity>,
    compile: |config| with_options(config, EditSimilarity::grade),
    ..GraderInfo::PLAIN
};

/// `word_error_rate`.
pub(crate) const WORD_ERROR_RATE: GraderInfo = GraderInfo {
    id: "word_error_rate",
    aliases: &["word-error-rate", "wer"],
    name: "Word error rate",
    description: "The word error rate of the submission (WER), as jiwer counts it; of several references the closest counts.",
    needs_ground_truth: true,
    takes_lists: true,
    given_by: &["values"],
    scoring: "1.0 minus the rate, at least 0.0; the rate is substitutions, deletions and insertions by the words of the reference, in the metadata as `rate`",
    options: schema::<ErrorRate>,
    compile: |config| {
        with_options::<ErrorRate>(config, |options, subject| {
            options.grade("WER", EditUnit::Words, subject)
        })
    },
    ..GraderInfo::PLAIN
};

/// `character_error_rate`.
pub(crate) const CHARACTER_ERROR_RATE: GraderInfo = GraderInfo {
    id: "character_error_rate",
    aliases: &["character-error-rate", "cer"],
    name: "Character error rate",
    description: "The character error rate of the submission (CER), as jiwer counts it; of several references the closest counts.",
    needs_ground_truth: true,
    takes_lists: true,
    given_by: &["values"],
    scoring: "1.0 minus the rate, at least 0.0; the rate is substitutions, deletions and insertions by the characters of the reference, in the metadata as `rate`",
    options: schema::<ErrorRate>,
    compile: |config| {
        with_options::<ErrorRate>(config, |options, subject| {
            options.grade("CER", EditUnit::Characters, subject)
        })
    },
    ..GraderInfo::PLAIN
};

/// Options of `edit_similarity`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct EditSimilarity {
    /// The reference texts; without them the ground truth of the row, a text or a list.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// What is edited.
    unit: EditUnit,
    /// Whether upper and lower case differ.
    case_sensitive: bool,
}

/// Options of `word_error_rate` and `character_error_rate`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ErrorRate {
    /// The reference texts; without them the ground truth of the row, a text or a list.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// Whether upper and lower case differ.
    case_sensitive: bool,
}

/// What is edited.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum EditUnit {
    /// Code points.
    #[default]
    Characters,
    /// What stands between spaces.
    Words,
}

impl Default for EditSimilarity {
    fn default() -> Self {
        Self { values: None, unit: EditUnit::Characters, case_sensitive: true }
    }
}

impl Default for ErrorRate {
    fn default() -> Self {
        Self { values: None, case_sensitive: true }
    }
}

/// How far a submission is from one reference.
struct Edits {
    distance: usize,
    submission: usize,
    reference: usize,
}

impl Edits {
    fn similarity(&self) -> f64 {
        let longer = self.submission.max(self.reference).max(1);
        1.0 - self.distance as f64 / longer as f64
    }

    /// Where the reference has nothing in it, whatever is there is an error.
    fn rate(&self) -> f64 {
        self.distance as f64 / self.reference.max(1) as f64
    }
}

impl EditSimilarity {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let references = references(self.values.as_deref(), subject)?;
        let edits = self.unit.all_edits(subject.submission, &references, self.case_sensitive)?;
        let Some(best) = edits.get(greatest(edits.iter().map(Edits::similarity))) else {
            return Err(Grade::without_ground_truth("No ground_truth answer provided"));
        };
        let parts = [("distance", json!(best.distance))];
        Ok(measured("Edit similarity", best.similarity(), parts))
    }
}

impl ErrorRate {
    fn grade(&self, name: &str, unit: EditUnit, subject: &Subject<'_>) -> GradeResult {
        let references = references(self.values.as_deref(), subject)?;
        let edits = unit.all_edits(subject.submission, &references, self.case_sensitive)?;
        let Some(best) = edits.get(greatest(edits.iter().map(|edits| -edits.rate()))) else {
            return Err(Grade::without_ground_truth("No ground_truth answer provided"));
        };
        let rate = best.rate();
        let parts = [
            ("rate", json!(rate)),
            ("edits", json!(best.distance)),
            ("reference_length", json!(best.reference)),
        ];
        let grade = measured(name, 1.0 - rate, parts);
        Ok(Grade { rationale: format!("{name}: {rate:.4}").into(), ..grade })
    }
}

impl EditUnit {
    fn all_edits(
        self,
        submission: &str,
        references: &[std::borrow::Cow<'_, str>],
        is_case_sensitive: bool,
    ) -> Result<Vec<Edits>, Grade> {
        let submission = in_case(submission, is_case_sensitive);
        let count = references.len();
        let references = references.iter().map(|reference| in_case(reference, is_case_sensitive));
        let edits = references.map(|reference| match self {
            Self::Characters => {
                let characters = |text| strip(text).chars().collect::<Vec<char>>();
                edits(&characters(&submission), &characters(&reference), count)
            }
            Self::Words => edits(&words(&submission), &words(&reference), count),
        });
        edits.collect()
    }
}

fn edits<T: PartialEq>(submission: &[T], reference: &[T], count: usize) -> Result<Edits, Grade> {
    let distance = edit_distance(reference, submission, count).ok_or_else(too_long)?;
    Ok(Edits { distance, submission: submission.len(), reference: reference.len() })
}

/// What jiwer takes for words: runs of white space are a space, and spaces divide words. A single tab does not.
fn words(text: &str) -> Vec<String> {
    static RUNS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\s\x1c-\x1f]{2,}").ok());
    let text = match RUNS.as_ref() {
        Some(runs) => runs.replace_all(text, " "),
        None => text.into(),
    };
    let text = text.trim_matches(is_space);
    text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
