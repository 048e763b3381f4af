//! The ballots on one submission, counted: one score, and how it came about.
//!
//! A *ballot* is one judgment. A *vote* is what a judge says once: one ballot, or one for each order where two
//! submissions are compared. Votes are combined on the judges' own scale, and the result is mapped once: votes
//! that are whole numbers then have a mean without rounding on the way.

use serde_json::{Value, json};

use super::pairwise::{Orders, ScoredVote};
use super::planned::Outcomes;
use super::{pairwise, similarity};
use crate::grade::Grade;
use crate::grade::combined::{combined, pair_agreement, spread};
use crate::judge::question::{Decision, Question};
use crate::judge::{Judge, reply};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Outcome, Usage};
use evalrs_model::spec::{Unsure, YesNo};

/// The verdicts of the judges on one submission.
pub(super) struct Poll<'a> {
    judge: &'a Judge,
    votes: Vec<Vote>,
    first_failure: Option<FailedBallot>,
    usage: Usage,
    /// The model that says it answered, judge by judge.
    answered_by: Vec<Option<String>>,
}

struct Vote {
    judge: usize,
    /// None if one of its ballots failed.
    said: Option<ScoredVote>,
}

struct FailedBallot {
    kind: &'static str,
    message: String,
    reply: Option<String>,
    stderr: Option<String>,
}

impl<'a> Poll<'a> {
    /// The ballots under `keys`, once all of them are there.
    pub(super) fn count(
        judge: &'a Judge,
        keys: &[ActionKey],
        outcomes: Outcomes<'_>,
    ) -> Option<Self> {
        let orders = judge.question().orders() as usize;
        let mut poll = Self {
            judge,
            votes: Vec::with_capacity(keys.len() / orders),
            first_failure: None,
            usage: Usage::default(),
            answered_by: vec![None; judge.seats.len()],
        };
        for (vote, of_vote) in keys.chunks(orders).enumerate() {
            let from = vote * orders;
            let embeds = matches!(judge.question(), Question::Embed { .. });
            let judge = judge.ballot(from as u32).judge;
            let mut vectors = Vec::new();
            let mut verdicts = Vec::with_capacity(orders);
            for (key, at) in of_vote.iter().zip(from..) {
                let outcome = outcomes(*key)?;
                // One action may stand for several ballots; what it used, it used once.
                if !keys[..at].contains(key) {
                    poll.add_usage(judge, &outcome);
                }
                let verdict = poll.verdict(&outcome);
                if let (true, Some(_), Outcome::Reply(reply)) = (embeds, &verdict, &*outcome) {
                    vectors.extend(reply::embedding(&reply.text));
                }
                verdicts.push(verdict);
            }
            let said = if embeds { poll.near(&vectors) } else { poll.said_in(verdicts, of_vote) };
            poll.votes.push(Vote { judge, said });
        }
        Some(poll)
    }

    fn add_usage(&mut self, judge: usize, outcome: &Outcome) {
        if let (Outcome::Reply(reply), Some(answered @ None)) =
            (outcome, self.answered_by.get_mut(judge))
        {
            answered.clone_from(&reply.model);
        }
        self.usage = self.usage + outcome.usage();
    }

    fn near(&mut self, vectors: &[Vec<f64>]) -> Option<ScoredVote> {
        let [submission, reference] = vectors else { return None };
        let vote = similarity::vote(submission, reference);
        let failed =
            |message| FailedBallot { kind: "invalid_reply", message, reply: None, stderr: None };
        vote.map_err(|why| self.first_failure.get_or_insert(failed(why))).ok()
    }

    fn verdict(&mut self, outcome: &Outcome) -> Option<reply::Verdict> {
        let failed = match outcome {
            Outcome::Reply(reply) => match self.judge.read(&reply.text) {
                Ok(verdict) => return Some(verdict),
                Err(message) => FailedBallot {
                    kind: "invalid_reply",
                    message,
                    reply: Some(reply.text.clone()),
                    stderr: None,
                },
            },
            Outcome::Failure(failure) => FailedBallot {
                kind: failure.kind.name(),
                message: failure.message.clone(),
                reply: failure.reply.clone(),
                stderr: failure.stderr.clone(),
            },
        };
        self.first_failure.get_or_insert(failed);
        None
    }

    /// What the ballots of one vote say together.
    fn said_in(
        &mut self,
        verdicts: Vec<Option<reply::Verdict>>,
        keys: &[ActionKey],
    ) -> Option<ScoredVote> {
        let mut verdicts = verdicts.into_iter();
        let first = verdicts.next()??;
        if let Some(second) = verdicts.next() {
            return Some(pairwise::said(first, &second?, keys.first() == keys.last()));
        }
        let reply::Verdict { native, rationale, decision, .. } = first;
        // Adding zero turns -0.0 into 0.0: they are one score.
        let vote =
            ScoredVote { native: native + 0.0, rationale, orders: None, decision, applies: true };
        match self.judge.rubric.yes_no() {
            Some(rule) => {
                decided(vote, rule).map_err(|failed| self.first_failure.get_or_insert(failed)).ok()
            }
            None => Some(vote),
        }
    }

    /// The votes that did not fail.
    fn said(&self) -> impl Iterator<Item = &ScoredVote> {
        self.votes.iter().filter_map(|vote| vote.said.as_ref())
    }

    /// The score of each vote on the judge's own scale, in the order of the ballots; none where it failed, or says nothing of
    /// the submission.
    pub(super) fn natives(&self) -> impl Iterator<Item = Option<f64>> {
        let applying = |said: &&ScoredVote| said.applies;
        self.votes
            .iter()
            .map(move |vote| vote.said.as_ref().filter(applying).map(|said| said.native))
    }

    /// The combined score on the judges' own scale, where more than half of the votes did not fail.
    fn native(&self) -> Option<f64> {
        if !self.is_valid() || self.says_nothing() {
            return None;
        }
        combined(self.judge.rubric.combine, self.natives().flatten().collect())
    }

    /// Whether more than half of the votes did not fail.
    fn is_valid(&self) -> bool {
        self.said().count() * 2 > self.votes.len()
    }

    /// Whether more than half of these say nothing of the submission.
    pub(super) fn says_nothing(&self) -> bool {
        let silent = self.said().filter(|said| !said.applies).count();
        self.is_valid() && silent * 2 > self.said().count()
    }

    /// The score, 0.0..=1.0, where more than half of the votes did not fail.
    pub(super) fn score(&self) -> Option<f64> {
        self.native().map(|native| self.judge.question().unit(native))
    }

    /// The grade; `confirmed` is whether a verdict below the threshold was confirmed, if that was
    /// requested.
    pub(super) fn grade(self, confirmed: Option<bool>) -> Grade {
        let silent = || self.said().find(|said| !said.applies).filter(|_| self.says_nothing());
        let mut grade = match (self.native(), &self.first_failure) {
            (Some(native), _) => self.combine(native),
            (None, _) if let Some(vote) = silent() => nothing_said(vote),
            (None, Some(failure)) => failed_grade(failure),
            (None, None) => Grade::failed("no_votes", "there are no votes"),
        };
        if let (Some(confirmed), None) = (confirmed, &grade.error) {
            put(&mut grade, "confirmed", Value::from(confirmed));
        }
        self.describe(&mut grade);
        let failed = self.votes.iter().filter(|vote| vote.said.is_none()).count();
        if failed > 0 && grade.error.is_none() {
            put(&mut grade, "failed_votes", json!(failed));
        }
        grade
    }

    /// The grade of the combined score `native`, with the rationale of the vote nearest to it.
    fn combine(&self, native: f64) -> Grade {
        let distance = |said: &ScoredVote| (said.native - native).abs();
        let applying = self.said().filter(|said| said.applies);
        let nearest = applying.min_by(|left, right| distance(left).total_cmp(&distance(right)));
        let rationale = nearest.map(|said| said.rationale.clone()).unwrap_or_default();
        let mut grade = Grade::new(self.judge.question().unit(native), rationale);
        if let Some(decision) = nearest.and_then(|said| said.decision) {
            put(&mut grade, "verdict", Value::from(decision.name()));
        }
        let several = self.votes.len() > 1;
        if several {
            let natives: Vec<f64> = self.natives().flatten().collect();
            put(&mut grade, "votes", self.natives().collect());
            put(&mut grade, "agreement", json!(pair_agreement(&natives)));
            put(&mut grade, "spread", json!(spread(&natives)));
        }
        if matches!(self.judge.question(), Question::Embed { .. }) {
            put(&mut grade, "cosine", json!(native));
        }
        if self.judge.rubric.scale.is_some() {
            put(&mut grade, "native_score", json!(native));
        }
        let orders: Vec<&Orders> = self.said().filter_map(|said| said.orders.as_ref()).collect();
        let of_orders = if several { pairwise::counts(&orders) } else { pairwise::shown(&orders) };
        for (name, value) in of_orders {
            put(&mut grade, name, value);
        }
        grade
    }

    fn describe(&self, grade: &mut Grade) {
        let model = |judge: usize| {
            let answered = self.answered_by.get(judge).cloned().flatten();
            answered.or_else(|| Some(self.judge.rubric.judges.get(judge)?.model.clone()))
        };
        let judges = self.answered_by.len();
        if judges > 1 {
            let of_judge = |judge: usize| {
                let own = self.votes.iter().zip(self.natives());
                let own = own.filter(|(vote, _)| vote.judge == judge);
                let scores: Vec<Option<f64>> = own.map(|(_, native)| native).collect();
                json!({"model": model(judge), "scores": scores})
            };
            put(grade, "models", (0..judges).map(of_judge).collect());
        } else {
            put(grade, "model", json!(model(0)));
        }
        // What they cost is said where a result is written: it rests on prices, and no grade does.
        if self.usage != Usage::default() {
            let Usage { input, output, .. } = self.usage;
            put(grade, "usage", json!({"input_tokens": input, "output_tokens": output}));
        }
    }
}

/// What the answer to a question for yes or no counts for; a failure where the judge cannot tell, and that is one.
fn decided(vote: ScoredVote, rule: YesNo) -> Result<ScoredVote, FailedBallot> {
    let score = |is_met: bool| f64::from(u8::from(is_met));
    let native = match (vote.decision, rule.unsure) {
        (Some(Decision::Yes), _) => score(rule.expect),
        (Some(Decision::No), _) => score(!rule.expect),
        (Some(Decision::CannotTell), Unsure::Error) => {
            return Err(FailedBallot {
                kind: "cannot_tell",
                message: format!("the judge cannot tell: {}", vote.rationale),
                reply: None,
                stderr: None,
            });
        }
        (Some(Decision::CannotTell), Unsure::NotMet) => 0.0,
        (Some(Decision::CannotTell), Unsure::Skip) | (Some(Decision::NotApplicable) | None, _) => {
            return Ok(ScoredVote { applies: false, native: 0.0, ..vote });
        }
    };
    Ok(ScoredVote { native, ..vote })
}

/// The grade of a submission that the question does not apply to.
fn nothing_said(vote: &ScoredVote) -> Grade {
    let mut grade = Grade::not_applicable(vote.rationale.clone());
    if let Some(decision) = vote.decision {
        put(&mut grade, "verdict", Value::from(decision.name()));
    }
    grade
}

fn failed_grade(failure: &FailedBallot) -> Grade {
    let mut grade = Grade::failed(failure.kind, failure.message.clone());
    for (name, text) in [("reply", &failure.reply), ("stderr", &failure.stderr)] {
        if let Some(text) = text {
            put(&mut grade, name, Value::from(text.as_str()));
        }
    }
    grade
}

fn put(grade: &mut Grade, name: &str, value: Value) {
    grade.metadata.get_or_insert_default().insert(name.to_owned(), value);
}
