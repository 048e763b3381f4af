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
#[cfg(feature = "json_schema")]
mod json_schema;
mod measure;
mod lists;
mod number;
mod parts;
pub mod rationale;
pub mod recorded;
pub mod reference;
pub mod spent;
#[cfg(test)]
mod tests;
pub mod text;
#[cfg(feature = "text_metrics")]
mod text_metric;
mod tools;
pub mod verdict;
mod written_calls;
pub mod votes;

pub(crate) use grader::ToolGrader;
pub use grader::{ConversationCost, RowOutput, Subject};
pub use rationale::with_compared;
pub use text::is_bare_mismatch;
pub use verdict::{EMPTY_SUBMISSION, Grade, GradeError, is_of_nothing, speaks_of_nothing};
pub(crate) use verdict::{EMPTY_TRAJECTORY, NO_GROUND_TRUTH, NO_OUTPUT};
pub use votes::recorded_scale;

use self::grader::{CompiledGrader, GraderInfo, is_spelled};
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
    parts::F1,
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
    tools::TOOL_CALLED,
    calls::TOOL_CALLS_MATCH,
    calls::MAX_TOOL_CALLS,
    tools::NO_TOOL_ERRORS,
    measure::MAX_TURNS,
    recorded::RECORDED_SCORE,
    votes::RECORDED_VOTES,
];

/// The names of graders that builds may leave out, with the feature that has them.
const OPTIONAL: &[(&str, &[&str])] = &[
    ("json_schema", &["json_schema"]),
    (
        "text_metrics",
        &[
            "edit_similarity",
            "word_error_rate",
            "wer",
            "character_error_rate",
            "cer",
            "rouge_n",
            "rouge_l",
            "bleu",
            "sentence_bleu",
            "chrf",
        ],
    ),
];

/// Every name of a grader, also of those that this build has not.
pub fn names() -> impl Iterator<Item = String> {
    let left_out = OPTIONAL.iter().flat_map(|(_, names)| names.iter().copied());
    let left_out = left_out.filter(|name| find(name).is_none()).flat_map(grader::spellings);
    GRADERS.iter().flat_map(GraderInfo::names).chain(left_out)
}

/// The feature of a grader that this build has not.
fn left_out(name: &str) -> Option<&'static str> {
    let mut optional = OPTIONAL.iter().filter(|_| find(name).is_none());
    let of_name = optional.find(|(_, names)| names.iter().any(|known| is_spelled(known, name)));
    of_name.map(|(feature, _)| *feature)
}

/// The grader that a suite calls `name`.
pub fn find(name: &str) -> Option<&'static GraderInfo> {
    GRADERS.iter().find(|info| info.is_called(name))
}

/// Reads the options of the grader that `spec` names, or reports everything that is wrong with
/// them.
pub fn compile(spec: &ToolSpec) -> CompiledGrader {
    let name = &spec.function;
    if let Some(info) = find(name) {
        return (info.compile)(&spec.config);
    }
    let (message, hint) = match left_out(name) {
        Some(feature) => (
            format!("this build of evalrs has no `{name}`"),
            Some(format!("`cargo install` it with `--features {feature}`")),
        ),
        None => {
            let meant = suggest(name, GRADERS.iter().map(|info| info.id));
            let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
            (format!("unknown grader `{name}`"), hint)
        }
    };
    Err(vec![OptionProblem { at: Vec::new(), message, hint }])
}

/// Whether a suite gives one of these options.
fn has_any(spec: &ToolSpec, options: &[&str]) -> bool {
    options.iter().any(|option| spec.config.get(*option).is_some_and(|given| !given.is_null()))
}

/// Whether the grader that `spec` names cannot grade a row without a ground truth.
pub(crate) fn needs_ground_truth(spec: &ToolSpec) -> bool {
    find(&spec.function)
        .is_some_and(|info| info.needs_ground_truth && !has_any(spec, info.given_by))
}

/// Whether the grader that `spec` names looks at the trajectory, and not at the submission.
pub fn reads_trajectory(spec: &ToolSpec) -> bool {
    find(&spec.function)
        .is_none_or(|info| info.reads_trajectory && !has_any(spec, info.reads_text_if))
}

/// Whether the grader that `spec` names knows failed calls by what the recording says of them alone.
pub fn sees_marked_errors_alone(spec: &ToolSpec) -> bool {
    tools::NO_TOOL_ERRORS.is_called(&spec.function) && !has_any(spec, &["pattern"])
}

/// Whether the grader that `spec` names may look at the row.
pub fn reads_row(spec: &ToolSpec) -> bool {
    find(&spec.function).is_none_or(|info| {
        (info.reads_row || has_any(spec, info.reads_row_if)) && !has_any(spec, info.reads_text_if)
    })
}
