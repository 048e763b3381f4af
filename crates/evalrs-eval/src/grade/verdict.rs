//! A grade: how good a submission is and why, or why nobody can say.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use evalrs_base::threshold::reaches;

/// A verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Grade {
    /// From 0.0 (complete failure) to 1.0 (perfect success), finite.
    pub score: f64,
    /// Why.
    pub rationale: Cow<'static, str>,
    /// The grader's own word on passing; it then decides instead of the threshold.
    pub pass: Option<bool>,
    /// Set when the grade could not be made: the score is then 0.0 and not a verdict.
    pub error: Option<Box<GradeError>>,
    /// Whether the grader has anything to say of the sample. Otherwise this is neither a verdict nor an error, and part
    /// of no aggregate.
    pub applies: bool,
    /// Whatever else the grader reports.
    pub metadata: Option<Box<Map<String, Value>>>,
}

/// Why a grade could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradeError {
    /// The class of the failure, for counting.
    pub kind: String,
    /// What happened, in one sentence.
    pub message: String,
}

/// The kind of the error of a row without the reference answer that its grader needs.
pub(crate) const NO_GROUND_TRUTH: &str = "no_ground_truth";
/// The kind of the error of a row that records no answer.
pub(crate) const NO_OUTPUT: &str = "no_output";
/// What a submission was when there was nothing to grade.
pub const EMPTY_SUBMISSION: &str = "Empty submission - extractor found no content";
/// What a trajectory was when there was nothing to grade.
pub(crate) const EMPTY_TRAJECTORY: &str = "Empty trajectory - agent produced no messages";

/// Whether such a rationale is in a text, among other words.
pub fn speaks_of_nothing(text: &str) -> bool {
    // Hardly any text has the word that both begin with.
    memchr::memmem::find(text.as_bytes(), b"Empty").is_some()
        && [EMPTY_SUBMISSION, EMPTY_TRAJECTORY].iter().any(|said| text.contains(said))
}

/// Whether a rationale says that there was nothing to grade.
pub fn is_of_nothing(rationale: &str) -> bool {
    [EMPTY_SUBMISSION, EMPTY_TRAJECTORY].contains(&rationale)
}

impl Grade {
    /// A verdict without metadata.
    pub fn new(score: f64, rationale: impl Into<Cow<'static, str>>) -> Self {
        let rationale = rationale.into();
        Self { score, rationale, pass: None, error: None, applies: true, metadata: None }
    }

    /// That the grader has nothing to say of the sample, and why.
    pub fn not_applicable(why: impl Into<Cow<'static, str>>) -> Self {
        Self { applies: false, ..Self::new(0.0, why) }
    }

    /// A grade that could not be made: 0.0, the message in rationale, error and metadata.
    pub fn failed(kind: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let metadata = Map::from_iter([("error".to_owned(), Value::from(message.clone()))]);
        let rationale = format!("Error during grading: {message}");
        let error = Some(Box::new(GradeError { kind: kind.to_owned(), message }));
        Self { error, ..Self::new(0.0, rationale).with_metadata(metadata) }
    }

    /// The grade of a row without the reference answer that its grader needs. The rationale is that of Letta Evals, the
    /// score is not a verdict.
    pub(crate) fn without_ground_truth(message: &'static str) -> Self {
        Self { rationale: message.into(), ..Self::failed(NO_GROUND_TRUTH, message) }
    }

    /// The same with metadata; an empty map is left out.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Map<String, Value>) -> Self {
        self.metadata = (!metadata.is_empty()).then(|| Box::new(metadata));
        self
    }

    /// The opposite: what is not a verdict stays what it is.
    #[must_use]
    pub fn negated(mut self) -> Self {
        if self.error.is_some() || !self.applies {
            return self;
        }
        self.score = 1.0 - self.score;
        self.pass = self.pass.map(|pass| !pass);
        self.rationale = format!("Not: {}", self.rationale).into();
        self
    }

    /// Whether it is that of an empty submission, for which no judge is called.
    pub fn is_of_empty_submission(&self) -> bool {
        self.error.is_none() && self.rationale == EMPTY_SUBMISSION
    }

    /// Whether it counts as a pass at `threshold`.
    pub fn passes(&self, threshold: f64) -> bool {
        let is_verdict = self.applies && self.error.is_none();
        is_verdict && self.pass.unwrap_or_else(|| reaches(self.score, threshold))
    }
}
