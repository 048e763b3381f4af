//! The pipeline of one case: record → submission → plan → grade.
//!
//! Pure functions of one record; they know nothing of chunks or of the database. Planning and joining with
//! outcomes are apart on purpose: an outcome that arrives renders no prompt again.

pub mod asking;
mod ballots;
mod case_part;
pub mod conversation;
pub mod submission;
pub mod baseline;
pub mod join;
pub mod needs;
mod pairwise;
mod sample_members;
pub mod programs;
pub mod rewards;
mod similarity;
pub mod scope;
pub mod sought;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::json;

use super::action::Action;
use super::dataset::fields::{RowProblem, RowSpec};
use super::dataset::row::{OpenedRow, RowRecord};
use super::dataset::{GroundTruth, Input, Recorded};
use super::extract::{ExtractError, ExtractFrom, Extractor};
use super::grade::ToolGrader;
use super::grade::reference::ReferencePattern;
use super::grade::{
    ConversationCost, EMPTY_SUBMISSION, EMPTY_TRAJECTORY, Grade, NO_OUTPUT, Subject,
    is_bare_mismatch, with_compared,
};
use super::judge::Judge;
use super::program::ProgramIdentity;
use super::votes::GivenVotes;
use evalrs_base::file_text::FileText;
use evalrs_base::path::Row;
use evalrs_model::key::ActionKey;
use evalrs_trajectory::Trajectory;

pub use asking::{action, following};
use baseline::RecordedSubmission;
use case_part::CasePart;
pub use conversation::UnansweredCase;
use rewards::ReadyReward;
use scope::GraderScope;
pub use submission::{HeldSubmission, Submission};

pub use join::{
    FinishedGrade, Outcomes, ballot_scores, cell, each_wanted, extracted, grade, list_cost,
    split_votes,
};

/// A grader ready to grade.
#[derive(Debug)]
pub struct ReadyGrader {
    /// How it grades.
    pub method: Method,
    /// Picks the reference answer out of a longer ground truth.
    pub reference: Option<ReferencePattern>,
    /// Where the reference answer stands in the row, in place of the ground truth.
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

/// What is to be done for one case and grader.
#[derive(Clone, Debug, PartialEq)]
pub enum Planned {
    /// Nothing: it is graded.
    Graded(Grade),
    /// One action.
    Ask(ActionKey),
    /// The action that makes the submission; what comes after it is planned when that is there.
    Extract(ActionKey),
    /// The conversation of the target; what comes after it is planned when it is there.
    Converse(ActionKey),
    /// One action for each ballot.
    Votes(Box<[ActionKey]>),
    /// One action for each ballot, of which the last confirm a verdict that is below the pass threshold.
    Confirmed {
        /// How many ballots every submission gets.
        first: u32,
        /// Those, then the ones that confirm.
        keys: Box<[ActionKey]>,
    },
    /// One plan for each turn.
    Turns(Box<[Planned]>),
    /// Something else must be there first: a file, or the grades that a reward is made of.
    Blocked,
    /// The case is not selected.
    Skipped,
}

/// One of the actions that grade a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BallotId {
    /// The turn of the case, where turns are graded one by one.
    pub turn: usize,
    /// The ballot on that turn; a program has one.
    pub ballot: u32,
}

impl Planned {
    /// The keys of its actions, in order.
    pub fn keys(&self) -> Vec<(BallotId, ActionKey)> {
        let mut keys = Vec::new();
        self.each_key(&mut |ballot, key| keys.push((ballot, key)));
        keys
    }

    /// The key of its first action.
    pub fn first_key(&self) -> Option<ActionKey> {
        self.keys().first().map(|(_, key)| *key)
    }

    /// Visits its actions, in order; also those that may not be wanted, which [`each_wanted`] leaves out.
    pub fn each_key(&self, visit: &mut dyn FnMut(BallotId, ActionKey)) {
        match self {
            Self::Turns(turns) => {
                for (turn, planned) in turns.iter().enumerate() {
                    planned.each_key(&mut |ballot, key| visit(BallotId { turn, ..ballot }, key));
                }
            }
            Self::Ask(key) | Self::Extract(key) | Self::Converse(key) => {
                visit(BallotId::default(), *key);
            }
            Self::Votes(keys) | Self::Confirmed { keys, .. } => each_ballot(keys, visit),
            Self::Graded(_) | Self::Blocked | Self::Skipped => {}
        }
    }

    /// What the action for a turn is for.
    pub fn purpose(&self, turn: usize) -> Purpose {
        match self {
            Self::Extract(_) => Purpose::Submission,
            Self::Converse(_) => Purpose::Answer,
            Self::Turns(turns) => turns.get(turn).map_or(Purpose::Grade, |one| one.purpose(0)),
            _ => Purpose::Grade,
        }
    }

    /// Whether more is planned, or may be wanted, once those of its actions are there that are `missing`.
    pub fn may_want_more(&self, missing: &dyn Fn(ActionKey) -> bool) -> bool {
        match self {
            Self::Extract(key) | Self::Converse(key) => missing(*key),
            Self::Confirmed { first, keys } => {
                keys.iter().take(*first as usize).any(|key| missing(*key))
            }
            Self::Turns(turns) => turns.iter().any(|turn| turn.may_want_more(missing)),
            Self::Blocked => true,
            Self::Graded(_) | Self::Ask(_) | Self::Votes(_) | Self::Skipped => false,
        }
    }

    /// Whether what is graded must be made first, of any of its turns.
    pub fn waits_for_submission(&self) -> bool {
        match self {
            Self::Extract(_) | Self::Converse(_) => true,
            Self::Turns(turns) => turns.iter().any(Self::waits_for_submission),
            _ => false,
        }
    }

    /// The keys of the ballots on one submission, and how many of them it gets in any case.
    fn ballots(&self) -> Option<(&[ActionKey], usize)> {
        match self {
            Self::Ask(key) => Some((std::slice::from_ref(key), 1)),
            Self::Votes(keys) => Some((keys, keys.len())),
            Self::Confirmed { first, keys } => Some((keys, (*first as usize).min(keys.len()))),
            Self::Graded(_)
            | Self::Extract(_)
            | Self::Converse(_)
            | Self::Turns(_)
            | Self::Blocked
            | Self::Skipped => None,
        }
    }
}

/// What an action is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// It grades.
    #[default]
    Grade,
    /// It extracts what is graded.
    Submission,
    /// The target answers.
    Answer,
}

/// Visits the ballots on one submission.
fn each_ballot(keys: &[ActionKey], visit: &mut dyn FnMut(BallotId, ActionKey)) {
    for (key, ballot) in keys.iter().zip(0..) {
        visit(BallotId { turn: 0, ballot }, *key);
    }
}

/// An extractor made ready, or why it cannot be.
pub(crate) type Picker = Result<Extractor, ExtractError>;

/// Picks the submission of a case.
pub fn submission(record: RowRecord<'_>, spec: &RowSpec, extractor: &Picker) -> Submission {
    match submission_or_problem(record, spec, extractor) {
        Ok(submission) => submission,
        Err(problem) => no_submission(problem),
    }
}

/// What is graded of a case of which nothing can be extracted.
fn no_submission(problem: RowProblem) -> Submission {
    let RowProblem { message, unanswered, .. } = problem;
    if unanswered {
        Submission::Unrecorded(message.into())
    } else {
        Submission::Failed(message.into())
    }
}

fn submission_or_problem(
    record: RowRecord<'_>,
    spec: &RowSpec,
    extractor: &Picker,
) -> Result<Submission, RowProblem> {
    let opened = OpenedRow::new(record, spec)?;
    let recorded = match (opened.recorded(), extractor) {
        (Err(problem), Ok(extractor)) if problem.unanswered && extractor.reads_row() => {
            let trajectory = Trajectory::from_output("");
            return Ok(pick(&Recorded { trajectory, output: None }, opened.row(), Ok(extractor)));
        }
        (recorded, _) => recorded?,
    };
    let extractor = extractor.as_ref();
    if opened.may_be_per_turn()
        && let Some(GroundTruth::Turns(turns)) = opened.ground_truth()?
    {
        let pick_turn = |turn: usize| {
            let one = Recorded { trajectory: recorded.trajectory.turn(turn), output: None };
            pick(&one, opened.row(), extractor)
        };
        return Ok(Submission::Turns((0..turns.len()).map(pick_turn).collect()));
    }
    Ok(pick(&recorded, opened.row(), extractor))
}

fn pick(
    recorded: &Recorded,
    row: Row<'_>,
    extractor: Result<&Extractor, &ExtractError>,
) -> Submission {
    if recorded.trajectory.is_empty() {
        return Submission::NoMessages;
    }
    let from =
        ExtractFrom { trajectory: &recorded.trajectory, output: recorded.output.as_deref(), row };
    match extractor.map(|extractor| extractor.extract(&from)) {
        Ok(Ok(text)) => Submission::Text(text.into()),
        Ok(Err(error)) => Submission::Failed(error.to_string().into()),
        Err(error) => Submission::Failed(error.to_string().into()),
    }
}

/// One case as its graders see it.
#[derive(Debug)]
pub struct Case<'a> {
    /// The record.
    pub record: RowRecord<'a>,
    /// How records are read.
    pub spec: &'a RowSpec,
    /// What the extractor picked.
    pub submission: &'a Submission,
    /// What the recorded run that the grader compares with submitted for it, if it did.
    pub baseline: Option<&'a RecordedSubmission>,
    /// What a file of votes has on it, if the grader reads one.
    pub votes: Option<&'a GivenVotes>,
    /// What its conversation cost, if the grader reads that and its target is run.
    pub cost: Option<&'a ConversationCost>,
}

/// Where a plan finds the text of a row's own rubric file.
pub(crate) type RubricFiles<'a> = &'a dyn Fn(&str) -> FileText;

/// Grades the case, or names the actions that will.
pub fn plan(case: &Case<'_>, grader: &ReadyGrader, files: RubricFiles<'_>) -> Planned {
    let opened = match OpenedRow::new(case.record, case.spec) {
        Ok(opened) => opened,
        Err(problem) => return Planned::Graded(unreadable(problem)),
    };
    if let Some(why) = grader.scope.leaves_out(&opened) {
        return Planned::Graded(Grade::not_applicable(why));
    }
    let part = |turn, submission| {
        let part = CasePart::new(case, &opened, turn, submission);
        plan_part(&part, grader, files)
    };
    match case.submission {
        Submission::Turns(turns) => Planned::Turns(
            turns.iter().enumerate().map(|(at, turn)| part(Some(at), turn)).collect(),
        ),
        submission => part(None, submission),
    }
}

/// The grade of a row that cannot be read: suites with such rows do not run, this keeps plans total.
fn unreadable(problem: RowProblem) -> Grade {
    Grade::failed("data", problem.message)
}

/// The text of an input: as it is, or as JSON text if it is a list.
pub(crate) fn input_text(input: &Input) -> String {
    match input {
        Input::Text(text) => text.clone(),
        Input::Turns(turns) => json!(turns).to_string(),
        Input::Messages(messages) => messages.to_string(),
    }
}

fn plan_part(part: &CasePart<'_>, grader: &ReadyGrader, files: RubricFiles<'_>) -> Planned {
    let text: &str = match part.submission {
        Submission::NoMessages if grader.records_votes() => "",
        Submission::NoMessages => return Planned::Graded(Grade::new(0.0, EMPTY_TRAJECTORY)),
        Submission::Failed(message) => {
            return Planned::Graded(Grade::failed("extraction", message.to_string()));
        }
        Submission::Unrecorded(_) if reads_row_alone(grader) => "",
        Submission::Unrecorded(message) => {
            return Planned::Graded(Grade::failed(NO_OUTPUT, message.to_string()));
        }
        Submission::Text(text) if text.is_empty() && !grades_without_text(grader) => {
            return Planned::Graded(Grade::new(0.0, EMPTY_SUBMISSION));
        }
        Submission::Text(text) => text,
        Submission::Turns(_) => return Planned::Skipped,
        Submission::Pending(None) => return Planned::Blocked,
        Submission::Pending(Some(key)) => return Planned::Extract(*key),
        Submission::Unanswered(case) => return case.planned(),
    };
    let planned = match &grader.method {
        Method::Broken(message) => Err(Grade::failed("grader", message.clone())),
        Method::Tool(tool) => grade_with_tool(part, tool, grader, text).map(Planned::Graded),
        Method::Judge(judge) => asking::plan(part, judge, grader, files, text),
        Method::Program(identity) => programs::grading(part, identity, grader, text)
            .map(|action| Planned::Ask(Action::Program(action).key())),
        Method::Unread => Ok(Planned::Blocked),
        // Its plans are made of grades, not of submissions.
        Method::Reward(_) => Ok(Planned::Skipped),
    };
    planned.unwrap_or_else(Planned::Graded)
}

/// Graders of tool calls and of recorded scores look at something else than the submission.
fn grades_without_text(grader: &ReadyGrader) -> bool {
    match &grader.method {
        Method::Tool(tool) => tool.reads_trajectory || tool.reads_row,
        Method::Judge(_)
        | Method::Program(_)
        | Method::Reward(_)
        | Method::Unread
        | Method::Broken(_) => false,
    }
}

/// Recorded scores are of the row, whether or not it holds the answer that they were given for.
fn reads_row_alone(grader: &ReadyGrader) -> bool {
    matches!(&grader.method, Method::Tool(tool) if tool.reads_row && !tool.reads_trajectory)
}

fn grade_with_tool(
    part: &CasePart<'_>,
    tool: &ReadyTool,
    grader: &ReadyGrader,
    text: &str,
) -> Result<Grade, Grade> {
    let ground_truth = part.ground_truth(grader)?;
    let recorded = || match part.row.recorded() {
        Err(problem) if problem.unanswered => Ok(Trajectory::default()),
        recorded => Ok(recorded.map_err(unreadable)?.trajectory),
    };
    let trajectory = match (tool.reads_trajectory || tool.reads_totals, part.turn) {
        (false, _) => Trajectory::default(),
        (true, None) => recorded()?,
        (true, Some(turn)) => recorded()?.turn(turn),
    };
    let subject = Subject {
        submission: text,
        ground_truth: ground_truth.as_deref().filter(|truth| !truth.is_empty()),
        trajectory: &trajectory,
        row: part.row.row(),
        output: part.row.output(),
        include_subagents: grader.include_subagents,
        votes: part.votes,
        cost: part.cost,
    };
    let mut grade =
        if grader.negated { tool.grader.opposite(&subject) } else { tool.grader.grade(&subject) };
    // The row shows another text as its ground truth, or a longer one.
    let has_own = grader.ground_truth.is_some() || grader.reference.is_some();
    if let Some(expected) = &ground_truth
        && has_own
        && is_bare_mismatch(&grade.rationale)
    {
        grade.rationale = with_compared(&grade.rationale, expected, text).into();
    }
    Ok(grade)
}
