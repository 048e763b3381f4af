//! One score of what other graders say of a case.
//!
//! A reward is a grader whose submission is grades. So it waits for them, and an error of one of them is an error of
//! its own: a failure is no score.

use super::criteria;
use super::planned::GradePlan;
use super::programs::{self, UsableGrade};
use super::ready::{Method, ReadyGrader, ReadyReward};
use crate::action::Action;
use crate::dataset::fields::RowSpec;
use crate::dataset::row::RowRecord;
use crate::grade::Grade;
use crate::program::ProgramAction;
use evalrs_model::expression::Expression;

/// What another grader says of the case: its name, its grade once it is there, and its submission.
pub type OtherGrade = (String, Option<Grade>, String);

/// Grades the case by what others say of it, or names the action that will.
pub fn plan_reward(
    case: (RowRecord<'_>, &RowSpec),
    grader: &ReadyGrader,
    said: &[OtherGrade],
) -> GradePlan {
    if let Some(why) = grader.scope.leaves_out_record(case.0, case.1) {
        return GradePlan::Graded(Grade::not_applicable(why));
    }
    let reward = match &grader.method {
        Method::Reward(reward) => reward,
        Method::Unread => return GradePlan::Blocked,
        Method::Broken(message) => {
            return GradePlan::Graded(Grade::failed("grader", message.clone()));
        }
        Method::Tool(_) | Method::Judge(_) | Method::Program(_) => return GradePlan::Skipped,
    };
    match reward {
        ReadyReward::Criteria(spec) => {
            let grade = |name: String| said.iter().find(|(known, _, _)| *known == name)?.1.as_ref();
            let grades: Vec<_> = spec.graders(&grader.scope.name).map(grade).collect();
            criteria::combined(spec, &grades).map_or(GradePlan::Blocked, GradePlan::Graded)
        }
        ReadyReward::Expression(expression) => {
            let is_used = |name: &str| expression.names.iter().any(|used| used == name);
            match grades(said, &is_used) {
                Ok(grades) => GradePlan::Graded(by_expression(expression, &grades)),
                Err(why) => why,
            }
        }
        ReadyReward::Program(identity) => match grades(said, &|_| true) {
            Ok(grades) => match programs::rewarding(case, identity, &grades) {
                Ok(action) => GradePlan::Ask(Action::Program(action).key()),
                Err(failed) => GradePlan::Graded(failed),
            },
            Err(why) => why,
        },
    }
}

/// Renders the action of a reward again.
pub fn reward_action(
    case: (RowRecord<'_>, &RowSpec),
    grader: &ReadyGrader,
    said: &[OtherGrade],
) -> Option<ProgramAction> {
    let Method::Reward(ReadyReward::Program(identity)) = &grader.method else {
        return None;
    };
    let grades = grades(said, &|_| true).ok()?;
    programs::rewarding(case, identity, &grades).ok()
}

/// The grades that a reward is made of; else what is planned until all of them are there, or because one failed.
fn grades(
    said: &[OtherGrade],
    is_used: &dyn Fn(&str) -> bool,
) -> Result<Vec<UsableGrade>, GradePlan> {
    let mut grades = Vec::new();
    for (name, grade, submission) in said.iter().filter(|(name, _, _)| is_used(name)) {
        let Some(grade) = grade else { return Err(GradePlan::Blocked) };
        if let Some(error) = &grade.error {
            let message = format!("`{name}` could not be graded: {}", error.message);
            return Err(GradePlan::Graded(Grade::failed("grade", message)));
        }
        grades.push((name.clone(), grade.clone(), submission.clone()));
    }
    Ok(grades)
}

fn by_expression(expression: &Expression, grades: &[UsableGrade]) -> Grade {
    let score = |name: &str| {
        let grade = grades.iter().find(|(other, _, _)| other == name);
        grade.map_or(Some(0.0), |(_, grade, _)| grade.applies.then_some(grade.score))
    };
    match expression.value(&score) {
        Ok(Some(value)) => Grade::new(value, expression.told(&score)),
        Ok(None) => Grade::not_applicable(expression.told(&score)),
        Err(problem) => Grade::failed("combine", problem),
    }
}
