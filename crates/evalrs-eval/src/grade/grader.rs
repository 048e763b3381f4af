//! What there is to say of a deterministic grader: its name, what it does, what its score means, its options, and what it
//! sees of a sample.
//!
//! Command line, documentation and suite reader all read it here. The list of graders is [`super::GRADERS`].

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::verdict::Grade;
use crate::options::{read, schema};
use crate::votes::GivenVotes;
use evalrs_base::path::Row;
use evalrs_base::price::Cost;
use evalrs_model::spec::OptionProblem;
use evalrs_trajectory::Trajectory;

/// One deterministic grader.
#[derive(Debug)]
pub struct GraderInfo {
    /// What a suite calls it.
    pub id: &'static str,
    /// What else a suite may call it, beside the spellings with dashes.
    pub aliases: &'static [&'static str],
    /// Its name for people.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub description: &'static str,
    /// Whether it cannot grade without a ground truth, whatever its options.
    pub needs_ground_truth: bool,
    /// Whether a ground truth that is a list means more to it than the list's JSON text.
    pub takes_lists: bool,
    /// The options that give it a reference instead of the ground truth.
    pub given_by: &'static [&'static str],
    /// Whether it looks at the trajectory, and not at the submission.
    pub reads_trajectory: bool,
    /// The options with which it looks at the submission instead of the trajectory.
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
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoOptions {}

/// Options by which a grader grades.
pub(super) trait GraderOptions:
    JsonSchema + DeserializeOwned + Send + Sync + 'static
{
    /// What is wrong with them beyond what their schema says.
    fn problems(&self) -> Vec<OptionProblem> {
        Vec::new()
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult;
}

/// A grader, or everything that is wrong with its options.
pub(super) type CompiledGrader = Result<ToolGrader, Vec<OptionProblem>>;

/// A grade, or the grade to give because it could not be computed.
pub(super) type GradeResult = Result<Grade, Grade>;

impl GraderInfo {
    /// A grader with options of type `T` that `compile` reads, to be completed.
    pub(super) const fn new<T: JsonSchema>(
        compile: fn(&Map<String, Value>) -> CompiledGrader,
    ) -> Self {
        Self {
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
            options: schema::<T>,
            compile,
        }
    }

    /// A grader that grades by options of type `T`, to be completed.
    pub(super) const fn of<T: GraderOptions>() -> Self {
        Self::new::<T>(|config| {
            let options: T = read(config)?;
            match options.problems() {
                problems if problems.is_empty() => Ok(ToolGrader::new(options, T::grade)),
                problems => Err(problems),
            }
        })
    }

    /// A grader that compares with one or several references: a ground truth, or `values` of the suite.
    pub(super) const fn with_references(self) -> Self {
        Self { needs_ground_truth: true, takes_lists: true, given_by: &["values"], ..self }
    }

    /// Whether a suite may call it so: every name may also be written with dashes.
    pub fn is_called(&self, name: &str) -> bool {
        self.aliases.iter().chain([&self.id]).any(|known| is_spelled(known, name))
    }

    /// Everything that a suite may call it.
    pub fn names(&self) -> impl Iterator<Item = String> {
        [self.id].into_iter().chain(self.aliases.iter().copied()).flat_map(spellings)
    }
}

/// Whether `written` is a name, with underscores or with dashes.
pub(super) fn is_spelled(name: &str, written: &str) -> bool {
    name == written || name.split('_').eq(written.split('-'))
}

/// A name, and the same with dashes if it has underscores.
pub(super) fn spellings(name: &str) -> impl Iterator<Item = String> + use<> {
    let with_dashes = name.contains('_').then(|| name.replace('_', "-"));
    [name.to_owned()].into_iter().chain(with_dashes)
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

    /// The opposite of that; where it cannot be computed, neither can its opposite.
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
    /// The cost of the conversation of a target that is run, if the grader needs it.
    pub cost: Option<&'a ConversationCost>,
}

/// What the conversation of a target cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationCost {
    /// So much.
    Known(Cost),
    /// It is not known: why.
    Unknown(String),
}
