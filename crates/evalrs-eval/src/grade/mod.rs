//! Grades, and the deterministic graders that make them.
//!
//! A grader here is a pure function of a [`Subject`]. One file a family, where each grader is described beside its
//! code, and one line a grader in [`GRADERS`]. Judges are not here: they need an action.

mod calls;
mod expected_calls;
pub(crate) mod combined;
mod fields;
mod given;
mod grader;
mod json;
mod measure;
mod number;
mod overlap;
mod pairing;
mod parts;
pub mod recorded;
pub mod reference;
pub mod spent;
#[cfg(test)]
mod tests;
pub mod text;
mod text_metric;
mod tool_called;
mod tool_errors;
mod written_calls;
pub mod votes;

pub(crate) use grader::ToolGrader;
pub use recorded::recorded_scale;
pub use spent::ConversationCost;
pub use text::{is_bare_mismatch, with_compared};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::grader::{Compiled, GraderInfo};
use super::votes::GivenVotes;
use evalrs_base::diagnostic::suggest;
use evalrs_base::path::Row;
use evalrs_base::threshold::reaches;
use evalrs_model::spec::{OptionProblem, ToolSpec};
use evalrs_trajectory::Trajectory;

/// All graders, in the order they are listed.
pub static GRADERS: &[GraderInfo] = &[
    text::EXACT_MATCH,
    text::CONTAINS,
    parts::CONTAINS_ANY,
    parts::CONTAINS_ALL,
    parts::STARTS_WITH,
    parts::ENDS_WITH,
    text::REGEX_MATCH,
    text::ASCII_PRINTABLE_ONLY,
    text::STRING_MATCH,
    text::LEVENSHTEIN,
    text::ONE_OF,
    overlap::F1,
    text_metric::EDIT_SIMILARITY,
    text_metric::WORD_ERROR_RATE,
    text_metric::CHARACTER_ERROR_RATE,
    text_metric::ROUGE_N,
    text_metric::ROUGE_L,
    text_metric::BLEU,
    text_metric::CHRF,
    measure::LENGTH,
    number::NUMERIC,
    json::JSON_MATCH,
    json::JSON_SCHEMA,
    json::IS_JSON,
    measure::COMPARE,
    fields::EQUALS_FIELD,
    spent::MAX_LATENCY,
    spent::MAX_COST,
    tool_called::TOOL_CALLED,
    calls::TOOL_CALLS_MATCH,
    calls::MAX_TOOL_CALLS,
    tool_errors::NO_TOOL_ERRORS,
    measure::MAX_TURNS,
    recorded::RECORDED_SCORE,
    votes::RECORDED_VOTES,
];

/// The grader that a suite calls `name`.
pub fn find(name: &str) -> Option<&'static GraderInfo> {
    GRADERS.iter().find(|info| info.id == name || info.aliases.contains(&name))
}

/// Reads the options of the grader that `spec` names, or says everything that is wrong with them.
pub fn compile(spec: &ToolSpec) -> Compiled {
    let Some(info) = find(&spec.function) else {
        let meant = suggest(&spec.function, GRADERS.iter().map(|info| info.id));
        return Err(vec![OptionProblem {
            at: Vec::new(),
            message: format!("there is no grader `{}`", spec.function),
            hint: meant.map(|meant| format!("did you mean `{meant}`?")),
        }]);
    };
    (info.compile)(&spec.config)
}

/// Whether the grader that `spec` names cannot grade a row without a ground truth.
pub(crate) fn needs_ground_truth(spec: &ToolSpec) -> bool {
    let is_given = |info: &GraderInfo| {
        info.given_by.iter().any(|option| spec.config.get(*option).is_some_and(|it| !it.is_null()))
    };
    find(&spec.function).is_some_and(|info| info.needs_ground_truth && !is_given(info))
}

/// Whether the grader that `spec` names looks at the trajectory, and not at the submission.
pub fn reads_trajectory(spec: &ToolSpec) -> bool {
    find(&spec.function).is_none_or(|info| info.reads_trajectory && !reads_text(info, spec))
}

/// Whether the grader that `spec` names knows failed calls by what the recording says of them alone.
pub fn sees_marked_errors_alone(spec: &ToolSpec) -> bool {
    let has_pattern = spec.config.get("pattern").is_some_and(|pattern| !pattern.is_null());
    find(&spec.function).is_some_and(|info| info.id == "no_tool_errors") && !has_pattern
}

/// Whether its options have a grader read the submission in place of the trajectory.
fn reads_text(info: &GraderInfo, spec: &ToolSpec) -> bool {
    let has = |option: &&str| spec.config.get(*option).is_some_and(|it| !it.is_null());
    info.reads_text_if.iter().any(has)
}

/// Whether the grader that `spec` names may look at the row.
pub fn reads_row(spec: &ToolSpec) -> bool {
    let has = |option: &&str| spec.config.get(*option).is_some_and(|it| !it.is_null());
    find(&spec.function).is_none_or(|info| {
        let may_read = info.reads_row || info.reads_row_if.iter().any(has);
        may_read && !reads_text(info, spec)
    })
}

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

/// Whether such a rationale stands in a text, among other words.
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
        Self {
            score: 0.0,
            rationale: format!("Error during grading: {message}").into(),
            pass: None,
            error: Some(Box::new(GradeError { kind: kind.to_owned(), message })),
            applies: true,
            metadata: Some(Box::new(metadata)),
        }
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

    /// Whether it is that of a submission which is empty, about which nobody is asked.
    pub fn is_of_empty_submission(&self) -> bool {
        self.error.is_none() && self.rationale == EMPTY_SUBMISSION
    }

    /// Whether it counts as a pass at `threshold`.
    pub fn passes(&self, threshold: f64) -> bool {
        let is_verdict = self.applies && self.error.is_none();
        is_verdict && self.pass.unwrap_or_else(|| reaches(self.score, threshold))
    }
}

/// One of several outputs of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOutput<'a> {
    /// Its model.
    pub model: &'a str,
    /// Its place among them, from 0.
    pub at: usize,
    /// How many there are.
    pub of: usize,
}

impl RowOutput<'_> {
    /// What `value` says of this output: the member of its model, or the entry at its place where it is a list with one for
    /// each; anything else is of all of them.
    pub fn own(self, value: Value) -> Option<Value> {
        match value {
            Value::Object(mut members) if members.contains_key(self.model) => {
                members.remove(self.model)
            }
            Value::Array(mut items) if items.len() == self.of => Some(items.swap_remove(self.at)),
            value => Some(value),
        }
    }
}

/// What a deterministic grader sees of one sample.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// What the extractor picked.
    pub submission: &'a str,
    /// The reference answer, after `ground_truth_pattern`.
    pub ground_truth: Option<&'a str>,
    /// Everything the target did.
    pub trajectory: &'a Trajectory,
    /// The dataset row as written.
    pub row: Row<'a>,
    /// Which of the row's outputs is graded, where it has several.
    pub output: Option<RowOutput<'a>>,
    /// Whether calls made by sub-agents count.
    pub include_subagents: bool,
    /// What a file of votes has on the answer; none where the grader reads none, or nobody voted.
    pub votes: Option<&'a GivenVotes>,
    /// What the conversation of a target that is run cost, where the grader asks for it.
    pub cost: Option<&'a ConversationCost>,
}
