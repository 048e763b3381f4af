//! Grades, and the deterministic graders that make them.
//!
//! A grader here is a pure function of a [`Subject`]. One file a family, where each grader is described beside its
//! code, and one line a grader in [`GRADERS`]. Judges are not here: they need an action.

mod calls;
mod edits;
mod expected_calls;
pub(crate) mod combined;
mod fields;
mod given;
mod grader;
mod json;
#[cfg(feature = "json_schema")]
mod json_schema;
mod measure;
mod number;
mod overlap;
mod pairing;
mod parts;
pub mod rationale;
pub mod recorded;
pub mod reference;
pub mod spent;
pub mod subject;
#[cfg(test)]
mod tests;
pub mod text;
#[cfg(feature = "text_metrics")]
mod text_metric;
mod tool_called;
mod tool_errors;
pub mod verdict;
mod written_calls;
pub mod votes;

pub(crate) use grader::ToolGrader;
pub use rationale::with_compared;
pub use recorded::recorded_scale;
pub use subject::{ConversationCost, RowOutput, Subject};
pub use text::is_bare_mismatch;
pub use verdict::{EMPTY_SUBMISSION, Grade, GradeError, is_of_nothing, speaks_of_nothing};
pub(crate) use verdict::{EMPTY_TRAJECTORY, NO_GROUND_TRUTH, NO_OUTPUT};

use self::grader::{CompiledGrader, GraderInfo};
use evalrs_base::diagnostic::suggest;
use evalrs_model::spec::{OptionProblem, ToolSpec};

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
    #[cfg(feature = "text_metrics")]
    text_metric::EDIT_SIMILARITY,
    #[cfg(feature = "text_metrics")]
    text_metric::WORD_ERROR_RATE,
    #[cfg(feature = "text_metrics")]
    text_metric::CHARACTER_ERROR_RATE,
    #[cfg(feature = "text_metrics")]
    text_metric::ROUGE_N,
    #[cfg(feature = "text_metrics")]
    text_metric::ROUGE_L,
    #[cfg(feature = "text_metrics")]
    text_metric::BLEU,
    #[cfg(feature = "text_metrics")]
    text_metric::CHRF,
    measure::LENGTH,
    number::NUMERIC,
    json::JSON_MATCH,
    #[cfg(feature = "json_schema")]
    json_schema::JSON_SCHEMA,
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

/// The names of graders that builds may leave out, with the feature that has them.
const OPTIONAL: &[(&str, &[&str])] = &[
    ("json_schema", &["json_schema", "json-schema"]),
    (
        "text_metrics",
        &[
            "edit_similarity",
            "edit-similarity",
            "word_error_rate",
            "word-error-rate",
            "wer",
            "character_error_rate",
            "character-error-rate",
            "cer",
            "rouge_n",
            "rouge-n",
            "rouge_l",
            "rouge-l",
            "bleu",
            "sentence_bleu",
            "sentence-bleu",
            "chrf",
        ],
    ),
];

/// The names of graders that this build has not.
pub fn names_left_out() -> impl Iterator<Item = &'static str> {
    let names = OPTIONAL.iter().flat_map(|(_, names)| names.iter().copied());
    names.filter(|name| find(name).is_none())
}

/// The feature of a grader that this build has not.
fn left_out(name: &str) -> Option<&'static str> {
    let has = |(_, names): &&(&str, &[&str])| names.contains(&name);
    OPTIONAL.iter().find(has).map(|(feature, _)| *feature).filter(|_| find(name).is_none())
}

/// The grader that a suite calls `name`.
pub fn find(name: &str) -> Option<&'static GraderInfo> {
    GRADERS.iter().find(|info| info.is_called(name))
}

/// Reads the options of the grader that `spec` names, or says everything that is wrong with them.
pub fn compile(spec: &ToolSpec) -> CompiledGrader {
    if let Some(feature) = left_out(&spec.function) {
        let name = &spec.function;
        return Err(vec![OptionProblem {
            at: Vec::new(),
            message: format!("this build of evalrs has no `{name}`"),
            hint: Some(format!("`cargo install` it with `--features {feature}`")),
        }]);
    }
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
