//! Plan + outcomes → grade, and which outcomes a plan wants.
//!
//! What a plan wants may depend on what came of its first actions: a verdict below the pass threshold is confirmed
//! only where the suite says so. The plan holds every key from the start, so that neither an outcome nor an edit
//! of the threshold renders anything again.

use serde_json::{Map, json};

use super::ballots::Poll;
use super::{BallotId, Method, Planned, ReadyGrader, Submission, each_ballot};
use crate::base::exact::mean;
use crate::base::threshold::reaches;
use crate::pipeline::grade::Grade;
use crate::pipeline::key::ActionKey;
use crate::pipeline::outcome::Outcome;
use crate::pipeline::program::{ProgramIdentity, reply};
use crate::pipeline::spec::Role;

/// A finished grade.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedGrade {
    /// The verdict.
    pub grade: Grade,
    /// The grades of single turns.
    pub per_turn: Option<Vec<Grade>>,
}

impl FinishedGrade {
    fn plain(grade: Grade) -> Self {
        Self { grade, per_turn: None }
    }
}

/// Where grading finds what came of actions.
pub(crate) type Outcomes<'a> = &'a dyn Fn(ActionKey) -> Option<std::sync::Arc<Outcome>>;

/// The grade of a case, once every outcome it waits for is there. `threshold` decides which turns passed, and which
/// verdicts are confirmed.
pub(crate) fn grade(
    planned: &Planned,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
) -> Option<FinishedGrade> {
    match planned {
        Planned::Graded(grade) => Some(FinishedGrade::plain(grade.clone())),
        Planned::Ask(key) if let Some(identity) = grader.program() => {
            Some(FinishedGrade::plain(of_program(identity, &*outcomes(*key)?)))
        }
        Planned::Ask(_) | Planned::Votes(_) | Planned::Confirmed { .. } => {
            let (poll, is_confirmation) = poll(planned, grader, outcomes, threshold)?;
            let confirmed =
                poll.score().filter(|_| is_confirmation).map(|score| !reaches(score, threshold));
            Some(poll.grade(confirmed))
        }
        Planned::Turns(turns) => {
            let turns: Option<Vec<FinishedGrade>> =
                turns.iter().map(|turn| self::grade(turn, grader, outcomes, threshold)).collect();
            Some(mean_of_turns(&turns?, threshold))
        }
        Planned::Extract(_) | Planned::Blocked | Planned::Skipped => None,
    }
}

/// The grade in what came of calling a program.
fn of_program(identity: &ProgramIdentity, outcome: &Outcome) -> Grade {
    let failure = match outcome {
        Outcome::Failure(failure) => failure,
        Outcome::Reply(reply) => {
            let grade = match identity.spec.role {
                Role::Reward => reply::reward(&reply.text),
                Role::Grade | Role::Extract => reply::grade(&identity.spec, &reply.text),
            };
            return grade.unwrap_or_else(|message| Grade::failed("invalid_reply", message));
        }
    };
    let mut grade = Grade::failed(failure.kind.name(), failure.message.clone());
    let metadata = grade.metadata.get_or_insert_default();
    for (name, text) in [("stdout", &failure.reply), ("stderr", &failure.stderr)] {
        if let Some(text) = text {
            metadata.insert(name.to_owned(), json!(text));
        }
    }
    grade
}

/// What a program extracted, or why it did not.
pub(crate) fn extracted(outcome: &Outcome) -> Submission {
    match outcome {
        Outcome::Failure(failure) => Submission::Failed(failure.message.as_str().into()),
        Outcome::Reply(reply) => match reply::submission(&reply.text) {
            Ok(text) => Submission::Text(text.into()),
            Err(message) => Submission::Failed(message.into()),
        },
    }
}

/// The ballots on one submission, once all that are wanted are there; and whether those that confirm are among them.
fn poll<'a>(
    planned: &Planned,
    grader: &'a ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
) -> Option<(Poll<'a>, bool)> {
    let (Method::Judge(judge), Some((keys, first))) = (&grader.method, planned.ballots()) else {
        return None;
    };
    let poll = Poll::count(judge, &keys[..first], outcomes)?;
    if first == keys.len() || poll.score().is_none_or(|score| reaches(score, threshold)) {
        return Some((poll, false));
    }
    Some((Poll::count(judge, keys, outcomes)?, true))
}

/// Visits the actions that the plan wants by now, in order: those of its first ballots, and
/// those that confirm a verdict which is below `threshold`.
pub(crate) fn each_wanted(
    planned: &Planned,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
    visit: &mut dyn FnMut(BallotId, ActionKey),
) {
    match (planned, &grader.method) {
        (Planned::Turns(turns), _) => {
            for (turn, planned) in turns.iter().enumerate() {
                let mut visit = |ballot, key| visit(BallotId { turn, ..ballot }, key);
                each_wanted(planned, grader, outcomes, threshold, &mut visit);
            }
        }
        (Planned::Confirmed { first, keys }, Method::Judge(judge)) => {
            let first = (*first as usize).min(keys.len());
            let poll = Poll::count(judge, &keys[..first], outcomes);
            let score = poll.and_then(|poll| poll.score());
            let wanted = if score.is_some_and(|score| !reaches(score, threshold)) {
                keys.len()
            } else {
                first
            };
            each_ballot(&keys[..wanted], visit);
        }
        _ => planned.each_key(visit),
    }
}

/// The scores of the first ballots on the judges' own scale, submission by submission; none where a ballot failed or
/// is not there yet. What is graded without a judge is left out, and so are ballots that confirm: they are asked
/// of bad submissions alone.
pub(crate) fn ballot_scores(
    planned: &Planned,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
) -> Vec<Vec<Option<f64>>> {
    let Method::Judge(judge) = &grader.method else { return Vec::new() };
    if let Planned::Turns(turns) = planned {
        return turns.iter().flat_map(|turn| ballot_scores(turn, grader, outcomes)).collect();
    }
    let Some((keys, first)) = planned.ballots() else { return Vec::new() };
    let orders = judge.question().orders() as usize;
    // Vote by vote, so that one that is not there yet hides no other.
    let of_vote = |keys: &[ActionKey]| Poll::count(judge, keys, outcomes)?.natives().next()?;
    vec![keys[..first].chunks(orders).map(of_vote).collect()]
}

/// As much of a grade as aggregates need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Brief {
    /// 0.0..=1.0.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
    /// Whether it could not be made.
    pub errored: bool,
}

/// The same grade as [`grade`], without the words: those are read again when a report needs them.
pub(crate) fn brief(
    planned: &Planned,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
) -> Option<Brief> {
    let of_grade = |grade: &Grade| Brief {
        score: grade.score,
        pass: grade.passes(threshold),
        errored: grade.error.is_some(),
    };
    match planned {
        Planned::Graded(grade) => Some(of_grade(grade)),
        Planned::Ask(key) if let Some(identity) = grader.program() => {
            Some(of_grade(&of_program(identity, &*outcomes(*key)?)))
        }
        Planned::Ask(_) | Planned::Votes(_) | Planned::Confirmed { .. } => {
            let (poll, _) = poll(planned, grader, outcomes, threshold)?;
            let score = poll.score();
            Some(Brief {
                score: score.unwrap_or(0.0),
                pass: score.is_some_and(|score| reaches(score, threshold)),
                errored: score.is_none(),
            })
        }
        Planned::Turns(_) | Planned::Extract(_) | Planned::Blocked | Planned::Skipped => {
            let graded = self::grade(planned, grader, outcomes, threshold)?;
            Some(of_grade(&graded.grade))
        }
    }
}

fn mean_of_turns(turns: &[FinishedGrade], threshold: f64) -> FinishedGrade {
    let grades: Vec<Grade> = turns.iter().map(|turn| turn.grade.clone()).collect();
    let passed = grades.iter().filter(|grade| grade.passes(threshold)).count();
    let marks: Vec<&str> =
        grades.iter().map(|grade| if grade.passes(threshold) { "✓" } else { "✗" }).collect();
    let metadata = Map::from_iter([
        ("turns_passed".to_owned(), json!(passed)),
        ("turns_total".to_owned(), json!(grades.len())),
    ]);
    let scores: Vec<f64> = grades.iter().map(|grade| grade.score).collect();
    let failed = grades.iter().find_map(|grade| Some((grade, grade.error.as_deref()?)));
    let grade = match (failed, mean(&scores)) {
        (Some((turn, error)), _) => Grade {
            rationale: turn.rationale.clone(),
            ..Grade::failed(&error.kind, error.message.clone())
        },
        (None, None) => Grade::failed("no_turns", "there is no turn to grade: `input` is empty"),
        (None, Some(score)) => {
            let rationale = format!("{passed}/{} passed: {}", grades.len(), marks.join(" "));
            Grade::new(score, rationale).with_metadata(metadata)
        }
    };
    FinishedGrade { grade, per_turn: Some(grades) }
}
