//! Plan + outcomes → grade.

use serde_json::{Map, Value, json};

use super::{Method, Planned, ReadyGrader};
use crate::action::ActionKey;
use crate::grade::Grade;
use crate::judge::{Judge, reply};
use crate::outcome::{Outcome, Tokens};
use crate::suite::Combine;

/// A finished grade, and what it was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Graded {
    /// The verdict.
    pub grade: Grade,
    /// Tokens its judgments used when they were made.
    pub tokens: Tokens,
    /// How many judgments it was made of.
    pub judgments: u32,
    /// The grades of single turns.
    pub per_turn: Option<Vec<Grade>>,
}

impl Graded {
    fn plain(grade: Grade) -> Self {
        Self { grade, tokens: Tokens::default(), judgments: 0, per_turn: None }
    }
}

/// Where grading finds what came of actions.
pub type Outcomes<'a> = &'a dyn Fn(ActionKey) -> Option<std::sync::Arc<Outcome>>;

/// The grade of a case, once every outcome it waits for is there. `threshold` decides which turns passed.
pub fn grade(
    planned: &Planned,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
) -> Option<Graded> {
    match planned {
        Planned::Graded(grade) => Some(Graded::plain(grade.clone())),
        Planned::Ask(key) => judged(&[*key], grader, outcomes),
        Planned::Votes(keys) => judged(keys, grader, outcomes),
        Planned::Turns(turns) => {
            let turns: Option<Vec<Graded>> =
                turns.iter().map(|turn| self::grade(turn, grader, outcomes, threshold)).collect();
            Some(mean_of_turns(&turns?, threshold))
        }
        Planned::Blocked | Planned::Skipped => None,
    }
}

fn mean_of_turns(turns: &[Graded], threshold: f64) -> Graded {
    let grades: Vec<Grade> = turns.iter().map(|turn| turn.grade.clone()).collect();
    let passed = grades.iter().filter(|grade| grade.passes(threshold)).count();
    let marks: Vec<&str> =
        grades.iter().map(|grade| if grade.passes(threshold) { "✓" } else { "✗" }).collect();
    let metadata = Map::from_iter([
        ("turns_passed".to_owned(), json!(passed)),
        ("turns_total".to_owned(), json!(grades.len())),
    ]);
    let grade = match grades.iter().find_map(|grade| grade.error.as_deref()) {
        Some(error) => Grade::failed(&error.kind, error.message.clone()),
        None => {
            let sum: f64 = grades.iter().map(|grade| grade.score).sum();
            let rationale = format!("{passed}/{} passed: {}", grades.len(), marks.join(" "));
            Grade::new(sum / grades.len().max(1) as f64, rationale).with_metadata(metadata)
        }
    };
    let tokens = turns.iter().fold(Tokens::default(), |sum, turn| add(sum, turn.tokens));
    Graded {
        grade,
        tokens,
        judgments: turns.iter().map(|turn| turn.judgments).sum(),
        per_turn: Some(grades),
    }
}

fn add(left: Tokens, right: Tokens) -> Tokens {
    Tokens { input: left.input + right.input, output: left.output + right.output }
}

fn judged(keys: &[ActionKey], grader: &ReadyGrader, outcomes: Outcomes<'_>) -> Option<Graded> {
    let Method::Judge(judge) = &grader.method else { return None };
    let mut votes = Vec::with_capacity(keys.len());
    let mut failures = Vec::new();
    let mut tokens = Tokens::default();
    let mut model = None;
    for key in keys {
        let outcome = outcomes(*key)?;
        match outcome.as_ref() {
            Outcome::Reply(reply) => {
                tokens = add(tokens, reply.usage.unwrap_or_default());
                model = model.or_else(|| reply.model.clone());
                match reply::read(&reply.text, judge.scale()) {
                    Ok(verdict) => votes.push(verdict),
                    Err(fault) => failures.push(("invalid_reply", fault, Some(reply.text.clone()))),
                }
            }
            Outcome::Failure(failure) => {
                tokens = add(tokens, failure.usage.unwrap_or_default());
                failures.push((
                    failure.kind.name(),
                    failure.message.clone(),
                    failure.reply.clone(),
                ));
            }
        }
    }
    let mut grade = if votes.len() * 2 > keys.len() {
        combine(&votes, judge)
    } else {
        failed_grade(failures.first()?.clone())
    };
    describe(&mut grade, judge, model, tokens);
    if !failures.is_empty() && grade.error.is_none() {
        put(&mut grade, "failed_votes", json!(failures.len()));
    }
    Some(Graded { grade, tokens, judgments: keys.len() as u32, per_turn: None })
}

fn failed_grade((kind, message, reply): (&str, String, Option<String>)) -> Grade {
    let mut grade = Grade::failed(kind, message);
    if let Some(reply) = reply {
        put(&mut grade, "reply", Value::from(reply));
    }
    grade
}

/// More than half of the votes gave a verdict: their median or mean, with the rationale of the nearest one.
fn combine(votes: &[reply::Verdict], judge: &Judge) -> Grade {
    let mut scores: Vec<f64> = votes.iter().map(|vote| vote.score).collect();
    scores.sort_by(f64::total_cmp);
    let middle = scores.len() / 2;
    let score = match judge.rubric.combine {
        Combine::Mean => scores.iter().sum::<f64>() / scores.len() as f64,
        Combine::Median if scores.len() % 2 == 1 => scores[middle],
        Combine::Median => f64::midpoint(scores[middle - 1], scores[middle]),
    };
    let distance = |vote: &reply::Verdict| (vote.score - score).abs();
    let nearest = votes.iter().min_by(|left, right| distance(left).total_cmp(&distance(right)));
    let rationale = nearest.map(|vote| vote.rationale.clone()).unwrap_or_default();
    let mut grade = Grade::new(score, rationale);
    if judge.rubric.votes > 1 {
        put(&mut grade, "votes", votes.iter().map(|vote| vote.native).collect());
        let agreeing = votes.iter().filter(|vote| distance(vote) < 1e-9).count();
        put(&mut grade, "agreement", json!(agreeing as f64 / votes.len() as f64));
    } else if let (Some(vote), true) = (votes.first(), judge.rubric.scale.is_some()) {
        put(&mut grade, "native_score", json!(vote.native));
    }
    grade
}

fn describe(grade: &mut Grade, judge: &Judge, model: Option<String>, tokens: Tokens) {
    put(grade, "model", Value::from(model.unwrap_or_else(|| judge.rubric.model.clone())));
    if tokens != Tokens::default() {
        put(grade, "usage", json!({"input_tokens": tokens.input, "output_tokens": tokens.output}));
    }
}

fn put(grade: &mut Grade, name: &str, value: Value) {
    grade.metadata.get_or_insert_default().insert(name.to_owned(), value);
}
