//! What a suite says of a grader: what is graded, and how.

use serde_json::{Map, Value};

use super::{CompareTo, CriteriaSpec, JudgedCriterion, ProgramSpec, RubricSpec};
use crate::expression::{Expression, RowCondition};

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
    /// The path of the reference answer in the row, instead of the row's ground truth: a dotted path.
    pub ground_truth: Option<String>,
    /// Whether the opposite is wanted.
    pub negated: bool,
    /// What holds of the rows that it has something to say of; none of a grader that is for all.
    pub only: Option<RowCondition>,
    pub kind: GraderKind,
}

impl GraderSpec {
    /// The path of the recorded run that it compares submissions with, if it does.
    pub fn compared_run(&self) -> Option<&str> {
        match self.rubric()?.compare_to.as_ref()? {
            CompareTo::Run(path) => Some(path),
            CompareTo::Field(_) => None,
        }
    }

    /// How it is judged, if it is a criterion.
    pub fn criterion(&self) -> Option<&JudgedCriterion> {
        self.rubric()?.criterion.as_deref()
    }

    /// The programs that it or its extractor rests on: the extractor's first, then its own or its judges'.
    pub fn programs(&self) -> impl Iterator<Item = &ProgramSpec> {
        let own = match &self.kind {
            GraderKind::Program(spec) | GraderKind::Reward(RewardSpec::Program(spec)) => {
                Some(spec.as_ref())
            }
            GraderKind::Tool(_) | GraderKind::Rubric(_) | GraderKind::Reward(_) => None,
        };
        let judges = self.rubric().into_iter().flat_map(RubricSpec::programs);
        self.extractor.program.as_deref().into_iter().chain(own).chain(judges)
    }

    fn rubric(&self) -> Option<&RubricSpec> {
        match &self.kind {
            GraderKind::Rubric(rubric) => Some(rubric),
            GraderKind::Tool(_) | GraderKind::Program(_) | GraderKind::Reward(_) => None,
        }
    }
}

/// How a grader grades.
#[derive(Clone, Debug, PartialEq)]
pub enum GraderKind {
    /// A deterministic function.
    Tool(ToolSpec),
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
    /// By a program, which gets all grades.
    Program(Box<ProgramSpec>),
    /// By what the criteria of a rubric say together.
    Criteria(Box<CriteriaSpec>),
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
    /// The extractor `name` with its options as JSON text.
    pub fn new(name: impl Into<String>, config: impl Into<String>) -> Self {
        Self { name: name.into(), config: config.into(), include_subagents: false, program: None }
    }

    pub fn options(&self) -> Map<String, Value> {
        serde_json::from_str(&self.config).unwrap_or_default()
    }
}

/// A tool grader as a suite names it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The id of the function.
    pub function: String,
    /// Its options, an object.
    pub config: Map<String, Value>,
}

/// A problem with an option of a grader or extractor, found by `validate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionProblem {
    /// The keys that lead to the option inside `config`; empty for the options as a whole.
    pub at: Vec<String>,
    pub message: String,
    pub hint: Option<String>,
}
