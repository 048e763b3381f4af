//! Graders of the edits between two texts: as a share of the longer one, and as speech recognition counts its errors.
//!
//! Rates are those of jiwer: edits (Levenshtein 1966) by the length of the reference, so that they may exceed 1.

use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::references::{best, measured, references, too_long};
use crate::grade::given::{GivenText, in_case, no_reference, yes};
use crate::grade::grader::{GradeResult, GraderInfo, GraderOptions, Subject, with_options};
use crate::grade::lists::edit_distance;
use crate::grade::verdict::Grade;
use evalrs_base::python::{is_space, strip};

pub(crate) const EDIT_SIMILARITY: GraderInfo = GraderInfo {
    id: "edit_similarity",
    name: "Edit similarity",
    description: "The similarity of submission and reference by edits of characters or words; the closest of several references counts.",
    scoring: "1.0 minus the Levenshtein distance as a share of the longer text",
    ..GraderInfo::of::<EditSimilarity>().with_references()
};

pub(crate) const WORD_ERROR_RATE: GraderInfo = GraderInfo {
    id: "word_error_rate",
    aliases: &["wer"],
    name: "Word error rate",
    description: "The word error rate of the submission (WER), as jiwer counts it; the closest of several references counts.",
    scoring: "1.0 minus the rate, at least 0.0; the rate is edits divided by the words of the reference, and the metadata has it as `rate`",
    ..GraderInfo::new::<ErrorRate>(|config| {
        with_options::<ErrorRate>(config, |options, subject| {
            options.grade("WER", EditUnit::Words, subject)
        })
    })
    .with_references()
};

pub(crate) const CHARACTER_ERROR_RATE: GraderInfo = GraderInfo {
    id: "character_error_rate",
    aliases: &["cer"],
    name: "Character error rate",
    description: "The character error rate of the submission (CER), as jiwer counts it; the closest of several references counts.",
    scoring: "1.0 minus the rate, at least 0.0; the rate is edits divided by the characters of the reference, and the metadata has it as `rate`",
    ..GraderInfo::new::<ErrorRate>(|config| {
        with_options::<ErrorRate>(config, |options, subject| {
            options.grade("CER", EditUnit::Characters, subject)
        })
    })
    .with_references()
};

/// Options of `edit_similarity`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditSimilarity {
    /// The references; the row's ground truth, a text or a list, if absent.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// The unit of edits.
    #[serde(default)]
    unit: EditUnit,
    /// Whether case matters.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

/// Options of `word_error_rate` and `character_error_rate`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ErrorRate {
    /// The references; the row's ground truth, a text or a list, if absent.
    #[schemars(length(min = 1))]
    values: Option<Vec<GivenText>>,
    /// Whether case matters.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

/// The unit of edits.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum EditUnit {
    /// Code points.
    #[default]
    Characters,
    /// Parts between spaces.
    Words,
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

impl GraderOptions for EditSimilarity {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let references = references(self.values.as_deref(), subject)?;
        let edits = self.unit.all_edits(subject.submission, &references, self.case_sensitive)?;
        let best = best(&edits, Edits::similarity).ok_or_else(no_reference)?;
        let parts = [("distance", json!(best.distance))];
        Ok(measured("Edit similarity", best.similarity(), parts))
    }
}

impl ErrorRate {
    fn grade(&self, name: &str, unit: EditUnit, subject: &Subject<'_>) -> GradeResult {
        let references = references(self.values.as_deref(), subject)?;
        let edits = unit.all_edits(subject.submission, &references, self.case_sensitive)?;
        let best = best(&edits, |edits| -edits.rate()).ok_or_else(no_reference)?;
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
        let edits = references.iter().map(|reference| {
            let reference = in_case(reference, is_case_sensitive);
            match self {
                Self::Characters => {
                    let characters = |text| strip(text).chars().collect::<Vec<char>>();
                    edits(&characters(&submission), &characters(&reference), references.len())
                }
                Self::Words => edits(&words(&submission), &words(&reference), references.len()),
            }
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
