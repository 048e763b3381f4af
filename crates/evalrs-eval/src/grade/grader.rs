//! What there is to say of a deterministic grader: its name, what it does, what its score means, its options.
//!
//! Command line, documentation and suite reader all read it here. The list of graders is [`super::GRADERS`].

use std::fmt;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::subject::Subject;
use super::verdict::Grade;
use crate::options::{none, read, schema};
use evalrs_model::spec::OptionProblem;

/// One deterministic grader.
#[derive(Debug)]
pub struct GraderInfo {
    /// What a suite calls it.
    pub id: &'static str,
    /// What else a suite may call it.
    pub aliases: &'static [&'static str],
    /// Its name for people.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub description: &'static str,
    /// Whether it cannot grade without a ground truth, whatever its options.
    pub needs_ground_truth: bool,
    /// Whether a ground truth that is a list means more to it than the list's JSON text.
    pub takes_lists: bool,
    /// The options that give it a reference in place of the ground truth.
    pub given_by: &'static [&'static str],
    /// Whether it looks at the trajectory, and not at the submission.
    pub reads_trajectory: bool,
    /// The options with which it looks at the submission in place of the trajectory.
    pub reads_text_if: &'static [&'static str],
    /// Whether it may look at the row, whatever its options, and not at the submission.
    pub reads_row: bool,
    /// The options with which it looks at the row and not at the submission.
    pub reads_row_if: &'static [&'static str],
    /// Whether it looks at what a trajectory says of the whole: its time and cost.
    pub reads_totals: bool,
    /// What its scores mean.
    pub scoring: &'static str,
    /// The JSON Schema of its options.
    pub options: fn() -> Value,
    /// Reads its options.
    pub compile: fn(&Map<String, Value>) -> CompiledGrader,
}

/// The options of a grader that has none.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

/// A grader, or everything that is wrong with its options.
pub(super) type CompiledGrader = Result<ToolGrader, Vec<OptionProblem>>;

/// A grade, or the grade to give because the question could not even be asked.
pub(super) type GradeResult = Result<Grade, Grade>;

impl GraderInfo {
    /// A grader without anything special, to be completed.
    pub const PLAIN: Self = Self {
        id: "",
        aliases: &[],
        name: "",
        description: "",
        needs_ground_truth: false,
        takes_lists: false,
        given_by: &[],
        reads_trajectory: false,
        reads_text_if: &[],
        reads_row: false,
        reads_row_if: &[],
        reads_totals: false,
        scoring: "1.0 if it holds, 0.0 otherwise",
        options: schema::<NoOptions>,
        compile: |_| Err(Vec::new()),
    };

    /// Whether a suite may call it so.
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.aliases.contains(&name)
    }
}

/// A grader with its options read.
pub struct ToolGrader(Box<dyn Fn(&Subject<'_>) -> GradeResult + Send + Sync>);

impl ToolGrader {
    /// What `grade` makes of each sample with these `options`.
    pub fn new<T: Send + Sync + 'static>(
        options: T,
        grade: fn(&T, &Subject<'_>) -> GradeResult,
    ) -> Self {
        Self(Box::new(move |subject| grade(&options, subject)))
    }

    /// Grades one sample.
    pub fn grade(&self, subject: &Subject<'_>) -> Grade {
        (self.0)(subject).unwrap_or_else(|early| early)
    }

    /// The opposite of that; where the question cannot be asked, so cannot its opposite.
    pub fn opposite(&self, subject: &Subject<'_>) -> Grade {
        (self.0)(subject).map_or_else(|early| early, Grade::negated)
    }
}

impl fmt::Debug for ToolGrader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolGrader")
    }
}

/// A grader whose options are all there is to read.
pub(super) fn with_options<T: JsonSchema + DeserializeOwned + Send + Sync + 'static>(
    config: &Map<String, Value>,
    grade: fn(&T, &Subject<'_>) -> GradeResult,
) -> CompiledGrader {
    Ok(ToolGrader::new(read::<T>(config)?, grade))
}

/// A grader that has no options.
pub(super) fn without_options(
    config: &Map<String, Value>,
    grade: fn(&Subject<'_>) -> GradeResult,
) -> CompiledGrader {
    none(config, "grader")?;
    Ok(ToolGrader::new(grade, |grade, subject| grade(subject)))
}
