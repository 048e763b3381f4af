//! Plan + outcomes → grade, and which outcomes a plan wants.
//!
//! What a plan wants may depend on what came of its first actions: a verdict below the pass threshold is confirmed
//! only where the suite says so. The plan holds every key from the start, so that neither an outcome nor an edit
//! of the threshold renders anything again.

use serde_json::{Map, json};

use super::ballots::Poll;
use super::planned::{BallotId, FinishedGrade, GradePlan, Outcomes, each_ballot};
use super::ready::ReadyGrader;
use super::submission::Submission;
use crate::grade::Grade;
use crate::judge::Judge;
use crate::program::{ProgramIdentity, reply};
use crate::votes::SplitVotes;
use evalrs_base::exact::mean;
use evalrs_base::price::{Cost, Prices};
use evalrs_base::threshold::reaches;
use evalrs_model::delta::{Cell, CellState};
use evalrs_model::key::{ActionKey, KeySet};
use evalrs_model::outcome::Outcome;
use evalrs_model::spec::Role;

/// The grade of a case, once every outcome it waits for is there. `threshold` decides which turns passed, and which
/// verdicts are confirmed.
pub fn grade(
    planned: &GradePlan,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
) -> Option<FinishedGrade> {
    let asked = if let Some(ballots) = JudgeBallots::of(planned, grader) {
        let (poll, is_confirmation) = ballots.poll(outcomes, threshold)?;
        let score = ballots.score(&poll).filter(|_| is_confirmation);
        poll.grade(score.map(|score| !reaches(score, threshold)))
    } else {
        match planned {
            GradePlan::Ask(key) => of_program(grader.program()?, &*outcomes(*key)?),
            // What is graded without asking is the opposite already.
            GradePlan::Graded(grade) => {
                return Some(FinishedGrade { grade: grade.clone(), per_turn: None });
            }
            GradePlan::Turns(turns) => {
                let turns: Option<Vec<FinishedGrade>> = turns
                    .iter()
                    .map(|turn| self::grade(turn, grader, outcomes, threshold))
                    .collect();
                return Some(mean_of_turns(&turns?, threshold));
            }
            _ => return None,
        }
    };
    let grade = if grader.negated { asked.negated() } else { asked };
    Some(FinishedGrade { grade, per_turn: None })
}

/// The grade in what came of calling a program.
fn of_program(identity: &ProgramIdentity, outcome: &Outcome) -> Grade {
    let failure = match outcome {
        Outcome::Failure(failure) => failure,
        Outcome::Reply(reply) => {
            let grade = match identity.spec.role {
                Role::Reward => reply::reward(&reply.text),
                _ => reply::grade(&identity.spec, &reply.text),
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
pub fn extracted(outcome: &Outcome) -> Submission {
    match outcome {
        Outcome::Failure(failure) => Submission::Failed(failure.message.as_str().into()),
        Outcome::Reply(reply) => match reply::submission(&reply.text) {
            Ok(text) => Submission::Text(text.into()),
            Err(message) => Submission::Failed(message.into()),
        },
    }
}

struct JudgeBallots<'a> {
    judge: &'a Judge,
    keys: &'a [ActionKey],
    /// How many of them every submission gets; the others confirm.
    first: usize,
    grader: &'a ReadyGrader,
}

impl<'a> JudgeBallots<'a> {
    /// None where no judge grades, or several submissions are graded.
    fn of(planned: &'a GradePlan, grader: &'a ReadyGrader) -> Option<Self> {
        let judge = grader.judge()?;
        let (keys, first) = planned.ballots()?;
        Some(Self { judge, keys, first, grader })
    }

    /// What the ballots come to. Judges do not know whether the opposite is wanted.
    fn score(&self, poll: &Poll<'_>) -> Option<f64> {
        poll.score().map(|score| self.grader.wanted_score(score))
    }

    /// The ballots, once all that are wanted are there; and whether those that confirm are among them.
    fn poll(&self, outcomes: Outcomes<'_>, threshold: f64) -> Option<(Poll<'a>, bool)> {
        let poll = Poll::count(self.judge, &self.keys[..self.first], outcomes)?;
        if !self.is_confirmed_after(&poll, threshold) {
            return Some((poll, false));
        }
        Some((Poll::count(self.judge, self.keys, outcomes)?, true))
    }

    /// Whether the verdict of the first ballots is below the threshold, and there are more to confirm it.
    fn is_confirmed_after(&self, first: &Poll<'_>, threshold: f64) -> bool {
        self.first < self.keys.len()
            && self.score(first).is_some_and(|score| !reaches(score, threshold))
    }

    fn wanted(&self, outcomes: Outcomes<'_>, threshold: f64) -> &'a [ActionKey] {
        let first = &self.keys[..self.first];
        // What is wanted anyway need not be counted.
        if self.first == self.keys.len() {
            return first;
        }
        let poll = Poll::count(self.judge, first, outcomes);
        let is_confirmed = poll.is_some_and(|poll| self.is_confirmed_after(&poll, threshold));
        if is_confirmed { self.keys } else { first }
    }
}

/// Visits the actions that the plan wants by now, in order: those of its first ballots, and
/// those that confirm a verdict which is below `threshold`.
pub fn each_wanted(
    planned: &GradePlan,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
    visit: &mut dyn FnMut(BallotId, ActionKey),
) {
    if let GradePlan::Turns(turns) = planned {
        for (turn, planned) in turns.iter().enumerate() {
            let mut visit = |ballot, key| visit(BallotId { turn, ..ballot }, key);
            each_wanted(planned, grader, outcomes, threshold, &mut visit);
        }
    } else if let Some(ballots) = JudgeBallots::of(planned, grader) {
        each_ballot(ballots.wanted(outcomes, threshold), visit);
    } else {
        planned.each_key(visit);
    }
}

/// What the judgments that the plan wants by now cost by `prices`, each once; none where no price is known.
pub fn list_cost(
    planned: &GradePlan,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
    prices: &Prices,
) -> Option<Cost> {
    let judge = grader.judge()?;
    let mut seen = KeySet::default();
    let mut sum = None;
    each_wanted(planned, grader, outcomes, threshold, &mut |ballot, key| {
        if let (true, Some(outcome)) = (seen.insert(key), outcomes(key)) {
            let asked = judge.model_of(ballot.ballot);
            let cost = outcome.list_cost(prices, asked);
            sum = cost.map(|cost| cost + sum.unwrap_or_default()).or(sum);
        }
    });
    sum
}

/// The scores of the first ballots on the judges' own scale, submission by submission; none where a ballot failed or
/// is not there yet. What is graded without a judge is left out, and so are ballots that confirm: they are asked
/// of bad submissions alone.
pub fn ballot_scores(
    planned: &GradePlan,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
) -> Vec<Vec<Option<f64>>> {
    if let GradePlan::Turns(turns) = planned {
        return turns.iter().flat_map(|turn| ballot_scores(turn, grader, outcomes)).collect();
    }
    if let (GradePlan::Graded(grade), true) = (planned, grader.records_votes()) {
        return recorded_votes(grade).into_iter().collect();
    }
    let Some(JudgeBallots { judge, keys, first, .. }) = JudgeBallots::of(planned, grader) else {
        return Vec::new();
    };
    let orders = judge.question().orders() as usize;
    // Vote by vote, so that one that is not there yet hides no other.
    let of_vote = |keys: &[ActionKey]| Poll::count(judge, keys, outcomes)?.natives().next()?;
    vec![keys[..first].chunks(orders).map(of_vote).collect()]
}

/// The votes that others gave on a submission, if there are any; none for each that has no score.
fn recorded_votes(grade: &Grade) -> Option<Vec<Option<f64>>> {
    let votes = grade.metadata.as_deref()?.get("votes")?.as_array()?;
    Some(votes.iter().map(serde_json::Value::as_f64).collect())
}

/// The first votes on submissions that lie on both sides of the threshold, turn by turn. Those that confirm are left out:
/// they are asked of bad submissions alone.
pub fn split_votes(
    planned: &GradePlan,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
) -> Vec<SplitVotes> {
    if let GradePlan::Turns(turns) = planned {
        let split = turns.iter().enumerate().flat_map(|(turn, planned)| {
            let split = split_votes(planned, grader, outcomes, threshold).into_iter();
            split.map(move |votes| SplitVotes { turn: Some(turn), ..votes })
        });
        return split.collect();
    }
    let Some(judge) = grader.judge() else { return Vec::new() };
    let split = ballot_scores(planned, grader, outcomes).into_iter().filter_map(|votes| {
        let natives = votes.iter().flatten();
        let scores = natives.map(|native| grader.wanted_score(judge.question().unit(*native)));
        let passed = scores.map(|score| reaches(score, threshold));
        let passed: Vec<bool> = passed.collect();
        let passes = passed.iter().filter(|passed| **passed).count();
        let is_split = 0 < passes && passes < passed.len();
        is_split.then_some(SplitVotes { turn: None, passes, votes: passed.len() })
    });
    split.collect()
}

/// As much of a grade as aggregates need. The same grade as [`grade`]; that of judges without the words, which are read
/// again when a report needs them.
pub fn cell(
    planned: &GradePlan,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
) -> Option<Cell> {
    let Some(ballots) = JudgeBallots::of(planned, grader) else {
        let grade = self::grade(planned, grader, outcomes, threshold)?.grade;
        let state = match () {
            () if !grade.applies => CellState::NotApplicable,
            () if grade.error.is_some() => CellState::Errored,
            () => CellState::of_verdict(grade.passes(threshold)),
        };
        return Some(Cell { score: grade.score, state });
    };
    let poll = ballots.poll(outcomes, threshold)?.0;
    let Some(score) = ballots.score(&poll) else {
        let state = if poll.says_nothing() { CellState::NotApplicable } else { CellState::Errored };
        return Some(Cell { score: 0.0, state });
    };
    Some(Cell { score, state: CellState::of_verdict(reaches(score, threshold)) })
}

/// The mean of the turns that the grader has something to say of.
fn mean_of_turns(turns: &[FinishedGrade], threshold: f64) -> FinishedGrade {
    let grades: Vec<Grade> = turns.iter().map(|turn| turn.grade.clone()).collect();
    let judged: Vec<&Grade> = grades.iter().filter(|grade| grade.applies).collect();
    if let (Some(turn), []) = (turns.first(), &judged[..]) {
        return FinishedGrade { grade: turn.grade.clone(), per_turn: Some(grades) };
    }
    let passed = judged.iter().filter(|grade| grade.passes(threshold)).count();
    let marks = grades.iter().map(|grade| match (grade.applies, grade.passes(threshold)) {
        (false, _) => "-",
        (true, true) => "✓",
        (true, false) => "✗",
    });
    let marks: Vec<&str> = marks.collect();
    let metadata = Map::from_iter([
        ("turns_passed".to_owned(), json!(passed)),
        ("turns_total".to_owned(), json!(judged.len())),
    ]);
    let scores: Vec<f64> = judged.iter().map(|grade| grade.score).collect();
    let failed = grades.iter().find_map(|grade| Some((grade, grade.error.as_deref()?)));
    let grade = match (failed, mean(&scores)) {
        (Some((turn, error)), _) => Grade {
            rationale: turn.rationale.clone(),
            ..Grade::failed(&error.kind, error.message.clone())
        },
        (None, None) => Grade::failed("no_turns", "there is no turn to grade: `input` is empty"),
        (None, Some(score)) => {
            let rationale = format!("{passed}/{} passed: {}", judged.len(), marks.join(" "));
            Grade::new(score, rationale).with_metadata(metadata)
        }
    };
    FinishedGrade { grade, per_turn: Some(grades) }
}
