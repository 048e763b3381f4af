//! A grader ready to grade: its function, judge or program, and what it looks at of a case.

use std::sync::Arc;

use super::scope::GraderScope;
use crate::grade::ToolGrader;
use crate::grade::reference::ReferencePattern;
use crate::judge::Judge;
use crate::program::ProgramIdentity;
use evalrs_model::expression::Expression;
use evalrs_model::spec::CriteriaSpec;

/// A grader ready to grade.
#[derive(Debug)]
pub struct ReadyGrader {
    /// How it grades.
    pub method: Method,
    /// Picks the reference answer out of a longer ground truth.
    pub reference: Option<ReferencePattern>,
    /// The place of the reference answer in the row, instead of the ground truth.
    pub ground_truth: Option<String>,
    /// Whether the opposite is wanted.
    pub negated: bool,
    /// The rows that it has something to say of.
    pub scope: GraderScope,
    /// Whether messages of sub-agents are seen.
    pub include_subagents: bool,
}

impl ReadyGrader {
    /// Whether it looks at what a trajectory says of its time and cost, or the conversation of a target.
    pub fn reads_totals(&self) -> bool {
        matches!(&self.method, Method::Tool(tool) if tool.reads_totals)
    }

    /// The score of a submission that is found to have `score`, 0.0..=1.0: of the opposite, where that is wanted.
    pub(super) fn wanted_score(&self, score: f64) -> f64 {
        if self.negated { 1.0 - score } else { score }
    }

    /// The judge that grades, if one does.
    pub fn judge(&self) -> Option<&Judge> {
        match &self.method {
            Method::Judge(judge) => Some(judge),
            _ => None,
        }
    }

    /// Whether it combines votes that others gave.
    pub fn records_votes(&self) -> bool {
        matches!(&self.method, Method::Tool(tool) if tool.records_votes)
    }

    /// The program that grades, if one does.
    pub fn program(&self) -> Option<&Arc<ProgramIdentity>> {
        match &self.method {
            Method::Program(identity) | Method::Reward(ReadyReward::Program(identity)) => {
                Some(identity)
            }
            _ => None,
        }
    }
}

/// A deterministic function, and what it looks at besides the submission.
#[derive(Debug)]
pub struct ReadyTool {
    /// The function with its options.
    pub grader: ToolGrader,
    /// Whether it looks at the trajectory.
    pub reads_trajectory: bool,
    /// Whether it looks at what a trajectory says of its time and cost.
    pub reads_totals: bool,
    /// Whether it looks at the row.
    pub reads_row: bool,
    /// Whether it combines votes that others gave.
    pub records_votes: bool,
}

/// How a grader grades.
#[derive(Debug)]
pub enum Method {
    /// A deterministic function.
    Tool(ReadyTool),
    /// A judge.
    Judge(Box<Judge>),
    /// A program of the user.
    Program(Arc<ProgramIdentity>),
    /// What other graders say.
    Reward(ReadyReward),
    /// A program whose files are not read yet.
    Unread,
    /// It cannot grade: why. Suites with such graders do not run; this keeps queries total.
    Broken(String),
}

/// How a reward is made.
#[derive(Clone, Debug)]
pub enum ReadyReward {
    /// By an expression over scores.
    Expression(Expression),
    /// By a program.
    Program(Arc<ProgramIdentity>),
    /// By what the criteria of the rubric say together.
    Criteria(Arc<CriteriaSpec>),
}
