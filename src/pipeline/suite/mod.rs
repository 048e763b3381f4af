//! What a suite file says, as plain data.
//!
//! The submodules read YAML into [`Suite`] plus diagnostics. Nothing here opens a file: a file the suite
//! names (`extends`, `prompt_path`) is asked for through [`Files`], and is missing until the engine has read it.

pub(crate) mod canonical;
mod dataset;
pub(crate) mod fields;
mod gate;
mod graders;
mod headers;
mod interpolate;
mod judges;
mod judging;
mod load;
mod mistakes;
pub(crate) mod programs;
mod read;
mod rewards;
mod rubric;
mod rubric_file;
mod scalar;
pub(crate) mod source;
mod syntax;
mod thresholds;
pub(crate) mod tree;

pub use judging::{
    Combine, CompareTo, HeaderSpec, HeaderValue, JudgeSpec, Patience, ReplyFormat, RubricSpec,
};
pub use programs::ProgramPlaces;
pub use read::{Registry, SuiteReading, read_suite, suite_name};
pub use rubric_file::{RowRubric, row_rubric};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::grade::ToolSpec;
use super::program::ProgramSpec;
use super::reward::Expression;
use super::trajectory::TrajectoryFormat;
use crate::base::threshold;

/// A suite, checked: every name in it is known and every value in range.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// Its name in reports.
    pub name: String,
    /// A line for people.
    pub description: Option<String>,
    /// Where the samples are.
    pub dataset: DatasetSpec,
    /// What is evaluated.
    pub target: TargetSpec,
    /// The graders in the order of the file.
    pub graders: Vec<GraderSpec>,
    /// The rule that decides the exit code.
    pub gate: Option<Gate>,
    /// Only the first so many samples.
    pub max_samples: Option<usize>,
    /// Only samples with one of these tags; empty means all.
    pub sample_tags: Vec<String>,
    /// Trials of the target for each sample, at least 1.
    pub num_runs: u32,
    /// How many actions may be under way at once.
    pub max_concurrent: Option<usize>,
}

/// Where the samples are and how their rows read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DatasetSpec {
    /// The file, joined to the suite's folder.
    pub path: String,
    /// How it is cut into rows.
    pub format: DatasetFormat,
    /// Our names for the row's keys.
    pub fields: FieldMap,
}

/// How a dataset file is cut into rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DatasetFormat {
    /// One JSON object a line.
    Jsonl,
    /// One JSON array of objects.
    Json,
    /// A header line and rows of text.
    Csv,
}

/// The `fields` mapping: our field → a dotted path in the row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldMap {
    /// Single fields, sorted by our name (`id`, `input`, `ground_truth`, `output`, `messages`, …).
    pub paths: Vec<(String, String)>,
    /// `outputs: {NAME: path}`: the answers of several models in one row, in the order of the file.
    pub outputs: Vec<(String, String)>,
}

/// What is evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TargetSpec {
    /// Trajectories already recorded: in the rows, or in `path` joined by id.
    Recorded {
        /// A file of trajectories or a Letta result directory, joined to the suite's folder.
        path: Option<String>,
        /// Its format; detected row by row if absent.
        format: Option<TrajectoryFormat>,
    },
    /// A kind of target that is known but cannot be run by this version: only `--cached DIR` can stand in.
    NotRunnable {
        /// The kind as the suite wrote it.
        kind: String,
    },
}

/// One grader.
#[derive(Clone, Debug, PartialEq)]
pub struct GraderSpec {
    /// Its key in the suite.
    pub name: String,
    /// Its name in reports, if another.
    pub display_name: Option<String>,
    /// What is graded.
    pub extractor: ExtractorSpec,
    /// The least score that counts as a pass, 0..=1.
    pub pass_threshold: f64,
    /// Group 1 of this pattern is the reference answer inside a longer ground truth.
    pub ground_truth_pattern: Option<String>,
    /// How it grades.
    pub kind: GraderKind,
}

impl GraderSpec {
    /// The path of the recorded run that it compares submissions with, if it does.
    pub fn compared_run(&self) -> Option<&str> {
        match &self.kind {
            GraderKind::Rubric(rubric) => match rubric.compare_to.as_ref()? {
                CompareTo::Run(path) => Some(path),
                CompareTo::Field(_) => None,
            },
            GraderKind::Tool(_) | GraderKind::Program(_) | GraderKind::Reward(_) => None,
        }
    }

    /// The program that it or its extractor rests on, if one does: the extractor's first.
    pub fn programs(&self) -> impl Iterator<Item = &ProgramSpec> {
        let own = match &self.kind {
            GraderKind::Program(spec) | GraderKind::Reward(RewardSpec::Program(spec)) => {
                Some(spec.as_ref())
            }
            GraderKind::Tool(_) | GraderKind::Rubric(_) | GraderKind::Reward(_) => None,
        };
        self.extractor.program.as_deref().into_iter().chain(own)
    }
}

/// How a grader grades.
#[derive(Clone, Debug, PartialEq)]
pub enum GraderKind {
    /// A deterministic function.
    Tool(ToolSpec),
    /// A judge.
    Rubric(Box<RubricSpec>),
    /// A program of the user.
    Program(Box<ProgramSpec>),
    /// One score of what other graders say of the same case.
    Reward(RewardSpec),
}

/// How the grades of a case become one score.
#[derive(Clone, Debug, PartialEq)]
pub enum RewardSpec {
    /// By an expression over the scores of graders.
    Expression(Expression),
    /// By a program, which is handed all grades.
    Program(Box<ProgramSpec>),
}

/// Which part of a trajectory is graded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExtractorSpec {
    /// Its id in the registry.
    pub name: String,
    /// Its options as compact JSON text of an object, keys in the order written.
    pub config: String,
    /// Whether messages of sub-agents are seen.
    pub include_subagents: bool,
    /// The function that extracts, where `name` is `file.py:name`.
    pub program: Option<Box<ProgramSpec>>,
}

impl ExtractorSpec {
    /// The options as an object.
    pub fn options(&self) -> Map<String, Value> {
        serde_json::from_str(&self.config).unwrap_or_default()
    }
}

/// The rule that decides whether a run passed.
#[derive(Clone, Debug, PartialEq)]
pub enum Gate {
    /// One aggregate of one grader against a value.
    Simple(Condition),
    /// A weighted mean of one aggregate over several graders.
    WeightedAverage {
        /// The aggregate taken of each grader.
        aggregation: Aggregation,
        /// Grader → weight, in the order of the file; not negative, not all zero.
        weights: Vec<(String, f64)>,
        /// The comparison.
        op: Op,
        /// What the weighted mean is compared with.
        value: f64,
    },
    /// Several gates joined by `and` or `or`.
    Logical {
        /// How they are joined.
        operator: Logic,
        /// At least one: simple conditions or further logical gates.
        conditions: Vec<Gate>,
    },
}

/// One aggregate of one grader against a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The grader.
    pub metric_key: String,
    /// The aggregate of its scores.
    pub aggregation: Aggregation,
    /// The comparison.
    pub op: Op,
    /// What it is compared with. Of accuracy, a fraction.
    pub value: f64,
    /// The least score that counts as a pass in accuracy, if not the grader's own.
    pub pass: Option<PassRule>,
}

/// What counts as a pass, where a gate says it itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassRule {
    /// The comparison of a score.
    pub op: Op,
    /// What the score is compared with.
    pub value: f64,
}

/// An aggregate of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// The arithmetic mean.
    AvgScore,
    /// The share of passes, 0..=1.
    Accuracy,
    /// The least score.
    Min,
    /// The greatest score.
    Max,
    /// The 50th percentile.
    Median,
    /// The 95th percentile, linear between closest ranks.
    P95,
    /// The 99th percentile, linear between closest ranks.
    P99,
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Greater.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less.
    Lt,
    /// Less or equal.
    Lte,
    /// Equal.
    Eq,
}

impl Op {
    /// Whether `left` stands in this relation to `right`, as scores are compared with thresholds.
    pub fn holds(self, left: f64, right: f64) -> bool {
        let order = threshold::compare(left, right);
        match self {
            Self::Gt => order.is_gt(),
            Self::Gte => order.is_ge(),
            Self::Lt => order.is_lt(),
            Self::Lte => order.is_le(),
            Self::Eq => order.is_eq(),
        }
    }
}

/// How gates are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Logic {
    /// All of them.
    And,
    /// At least one of them.
    Or,
}

/// The text of a file, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileText {
    /// Nobody has looked yet; the engine will.
    Unread,
    /// There is no such file.
    Missing,
    /// It is there but cannot be read: why.
    Unreadable(String),
    /// It is there but no text: what is wrong with its bytes, and where.
    NoText(Box<crate::base::diagnostic::Diagnostic>),
    /// What it says.
    Text(std::sync::Arc<str>),
}

/// Where the suite reader finds the text of other files and of the environment.
pub trait Files {
    /// The text of the file at `path`.
    fn text(&self, path: &str) -> FileText;
    /// The environment variable `name`.
    fn env(&self, name: &str) -> Option<String>;
}

#[cfg(test)]
mod tests;
