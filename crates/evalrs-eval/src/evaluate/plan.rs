//! Plans a case: grades it where that needs nobody, else names the actions that will.

use super::asking;
use super::case::{Case, RubricFiles, unreadable};
use super::case_part::{CasePart, part_of};
use super::planned::GradePlan;
use super::programs;
use super::ready::{Method, ReadyGrader, ReadyTool};
use super::submission::Submission;
use crate::action::Action;
use crate::dataset::row::OpenedRow;
use crate::grade::{
    EMPTY_SUBMISSION, EMPTY_TRAJECTORY, Grade, NO_OUTPUT, Subject, is_bare_mismatch, with_compared,
};
use evalrs_trajectory::Trajectory;

/// Grades the case, or names the actions that will.
pub fn plan(case: &Case<'_>, grader: &ReadyGrader, files: RubricFiles<'_>) -> GradePlan {
    let opened = match OpenedRow::new(case.record, case.spec) {
        Ok(opened) => opened,
        Err(problem) => return GradePlan::Graded(unreadable(problem)),
    };
    if let Some(why) = grader.scope.leaves_out(&opened) {
        return GradePlan::Graded(Grade::not_applicable(why));
    }
    let part = |turn, submission| {
        plan_part(&CasePart { case, row: &opened, turn, submission }, grader, files)
    };
    match case.submission {
        Submission::Turns(turns) => GradePlan::Turns(
            turns.iter().enumerate().map(|(at, turn)| part(Some(at), turn)).collect(),
        ),
        submission => part(None, submission),
    }
}

fn plan_part(part: &CasePart<'_>, grader: &ReadyGrader, files: RubricFiles<'_>) -> GradePlan {
    let text: &str = match part.submission {
        Submission::NoMessages if grader.records_votes() => "",
        Submission::NoMessages => return GradePlan::Graded(Grade::new(0.0, EMPTY_TRAJECTORY)),
        Submission::Failed(message) => {
            return GradePlan::Graded(Grade::failed("extraction", message.to_string()));
        }
        Submission::Unrecorded(_) if reads_row_alone(grader) => "",
        Submission::Unrecorded(message) => {
            return GradePlan::Graded(Grade::failed(NO_OUTPUT, message.to_string()));
        }
        Submission::Text(text) if text.is_empty() && !grades_without_text(grader) => {
            return GradePlan::Graded(Grade::new(0.0, EMPTY_SUBMISSION));
        }
        Submission::Text(text) => text,
        Submission::Turns(_) => return GradePlan::Skipped,
        Submission::Pending(None) => return GradePlan::Blocked,
        Submission::Pending(Some(key)) => return GradePlan::Extract(*key),
        Submission::Unanswered(case) => return case.planned(),
    };
    let planned = match &grader.method {
        Method::Broken(message) => Err(Grade::failed("grader", message.clone())),
        Method::Tool(tool) => grade_with_tool(part, tool, grader, text).map(GradePlan::Graded),
        Method::Judge(judge) => asking::plan(part, judge, grader, files, text),
        Method::Program(identity) => programs::grading(part, identity, grader, text)
            .map(|action| GradePlan::Ask(Action::Program(action).key())),
        Method::Unread => Ok(GradePlan::Blocked),
        // Its plans are made of grades, not of submissions.
        Method::Reward(_) => Ok(GradePlan::Skipped),
    };
    planned.unwrap_or_else(GradePlan::Graded)
}

/// Graders of tool calls and of recorded scores look at something else than the submission.
fn grades_without_text(grader: &ReadyGrader) -> bool {
    matches!(&grader.method, Method::Tool(tool) if tool.reads_trajectory || tool.reads_row)
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
    let trajectory = if tool.reads_trajectory || tool.reads_totals {
        part_of(recorded()?, part.turn)
    } else {
        Trajectory::default()
    };
    let subject = Subject {
        submission: text,
        ground_truth: ground_truth.as_deref().filter(|truth| !truth.is_empty()),
        trajectory: &trajectory,
        row: part.row.row(),
        output: part.row.output(),
        include_subagents: grader.include_subagents,
        votes: part.case.votes,
        cost: part.case.cost,
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
