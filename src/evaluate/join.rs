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
        Planned::Ask(key) => Ballot::count(&[*key], grader, outcomes).map(Ballot::grade),
        Planned::Votes(keys) => Ballot::count(keys, grader, outcomes).map(Ballot::grade),
        Planned::Turns(turns) => {
            let turns: Option<Vec<Graded>> =
                turns.iter().map(|turn| self::grade(turn, grader, outcomes, threshold)).collect();
            Some(mean_of_turns(&turns?, threshold))
        }
        Planned::Blocked | Planned::Skipped => None,
    }
}

/// As much of a grade as aggregates need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brief {
    /// 0.0..=1.0.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
    /// Whether it could not be made.
    pub errored: bool,
    /// Tokens its judgments used when they were made.
    pub tokens: Tokens,
    /// How many replies it was made of.
    pub judgments: u32,
}

/// The same grade as [`grade`], without the words: those are read again when a report needs them.
pub fn brief(
    planned: &Planned,
    grader: &ReadyGrader,
    outcomes: Outcomes<'_>,
    threshold: f64,
) -> Option<Brief> {
    let of_grade = |grade: &Grade, tokens, judgments| Brief {
        score: grade.score,
        pass: grade.passes(threshold),
        errored: grade.error.is_some(),
        tokens,
        judgments,
    };
    let keys = match planned {
        Planned::Graded(grade) => return Some(of_grade(grade, Tokens::default(), 0)),
        Planned::Ask(key) => std::slice::from_ref(key),
        Planned::Votes(keys) => keys,
        Planned::Turns(_) | Planned::Blocked | Planned::Skipped => {
            let graded = self::grade(planned, grader, outcomes, threshold)?;
            return Some(of_grade(&graded.grade, graded.tokens, graded.judgments));
        }
    };
    let ballot = Ballot::count(keys, grader, outcomes)?;
    let score = ballot.score();
    Some(Brief {
        score: score.unwrap_or(0.0),
        pass: score.is_some_and(|score| score >= threshold),
        errored: score.is_none(),
        tokens: ballot.tokens,
        judgments: ballot.replies,
    })
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
    left + right
}

/// What the votes on one submission say.
struct Ballot<'a> {
    judge: &'a Judge,
    votes: Vec<reply::Verdict>,
    failures: Vec<(&'static str, String, Option<String>)>,
    tokens: Tokens,
    model: Option<String>,
    replies: u32,
}

impl<'a> Ballot<'a> {
    /// The votes under `keys`, once all of them are there.
    fn count(keys: &[ActionKey], grader: &'a ReadyGrader, outcomes: Outcomes<'_>) -> Option<Self> {
        let Method::Judge(judge) = &grader.method else { return None };
        let (votes, failures) = (Vec::with_capacity(keys.len()), Vec::new());
        let mut ballot =
            Self { judge, votes, failures, tokens: Tokens::default(), model: None, replies: 0 };
        for key in keys {
            ballot.add(outcomes(*key)?.as_ref());
        }
        Some(ballot)
    }

    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Reply(reply) => {
                self.replies += 1;
                self.tokens = add(self.tokens, reply.usage.unwrap_or_default());
                self.model = self.model.take().or_else(|| reply.model.clone());
                match reply::read(&reply.text, self.judge.question()) {
                    Ok(verdict) => self.votes.push(verdict),
                    Err(fault) => {
                        self.failures.push(("invalid_reply", fault, Some(reply.text.clone())));
                    }
                }
            }
            Outcome::Failure(failure) => {
                self.tokens = add(self.tokens, failure.usage.unwrap_or_default());
                let (kind, message) = (failure.kind.name(), failure.message.clone());
                self.failures.push((kind, message, failure.reply.clone()));
            }
        }
    }

    /// The score, where more than half of the votes gave a verdict.
    fn score(&self) -> Option<f64> {
        if self.votes.len() <= self.failures.len() {
            return None;
        }
        let mut scores: Vec<f64> = self.votes.iter().map(|vote| vote.score).collect();
        scores.sort_by(f64::total_cmp);
        let middle = scores.len() / 2;
        Some(match self.judge.rubric.combine {
            Combine::Mean => scores.iter().sum::<f64>() / scores.len() as f64,
            Combine::Median | Combine::Majority if scores.len() % 2 == 1 => scores[middle],
            Combine::Median | Combine::Majority => {
                f64::midpoint(scores[middle - 1], scores[middle])
            }
        })
    }

    fn grade(mut self) -> Graded {
        let mut grade = match (self.score(), self.failures.first()) {
            (Some(score), _) => combine(score, &self.votes, self.judge),
            (None, Some(failure)) => failed_grade(failure.clone()),
            (None, None) => Grade::failed("no_votes", "there are no votes"),
        };
        describe(&mut grade, self.judge, self.model.take(), self.tokens);
        if !self.failures.is_empty() && grade.error.is_none() {
            put(&mut grade, "failed_votes", json!(self.failures.len()));
        }
        Graded { grade, tokens: self.tokens, judgments: self.replies, per_turn: None }
    }
}

fn failed_grade((kind, message, reply): (&str, String, Option<String>)) -> Grade {
    let mut grade = Grade::failed(kind, message);
    if let Some(reply) = reply {
        put(&mut grade, "reply", Value::from(reply));
    }
    grade
}

/// The grade of `score`, with the rationale of the vote nearest to it.
fn combine(score: f64, votes: &[reply::Verdict], judge: &Judge) -> Grade {
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
    put(grade, "model", Value::from(model.unwrap_or_else(|| judge.rubric.judges[0].model.clone())));
    if tokens != Tokens::default() {
        put(grade, "usage", json!({"input_tokens": tokens.input, "output_tokens": tokens.output}));
    }
    if let Some(cost) = tokens.cost {
        put(grade, "cost", json!(cost));
    }
}

fn put(grade: &mut Grade, name: &str, value: Value) {
    grade.metadata.get_or_insert_default().insert(name.to_owned(), value);
}
