//! What asking would take: tokens and money, from what earlier judgments used and from a tokenizer.
//!
//! Sent tokens are those of the prompts as a tokenizer counts them, times how far recorded judgments of the same
//! judge were from that count. Received tokens are the mean of recorded judgments of the same grader and model, else of
//! the same model, else [`DEFAULT_OUTPUT`].
//!
//! What follows the answers of a target or an extractor is counted by its rows, each answer as long as recorded ones,
//! else `DEFAULT_ANSWER`: no more judgments than that are asked.

use std::collections::{BTreeMap, BTreeSet};

use super::cache_forecast::{self, CacheForecast};
use super::preview::{Preview, ToAsk};
use crate::session::Session;
use evalrs_base::price::{Cost, Prices};
use evalrs_base::tokens::{Estimator, estimate};
use evalrs_eval::action::Action;
use evalrs_eval::evaluate::{BallotId, Method};
use evalrs_graph::inputs::CellId;
use evalrs_graph::known_grades;
use evalrs_graph::planned_actions::{actions_of_chunk, each_following};
use evalrs_graph::queries::{self, Grader};
use evalrs_graph::results;
use evalrs_model::key::{ActionKey, KeySet};
use evalrs_model::spec::RubricSpec;

/// Tokens received for a judgment where none is recorded: a verdict with a rationale of some sentences.
pub const DEFAULT_OUTPUT: u64 = 150;

/// Tokens that an answer is taken to have where none is recorded.
pub(crate) const DEFAULT_ANSWER: u64 = 500;

/// How many recorded judgments of a judge are compared with the tokenizer.
const COMPARED: usize = 50;

/// What asking would take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// For each grader, in the order of the suite.
    pub graders: Vec<Bill>,
    /// For each grader what follows: judgments of submissions that are not there yet.
    pub following: Vec<FollowingBill>,
    /// The tokens that each of those submissions is taken to have.
    pub answer: u64,
    /// The recorded judgments whose mean estimates the received tokens.
    pub recorded: u64,
    /// Whether [`DEFAULT_OUTPUT`] estimates the output of some judges.
    pub is_assumed: bool,
    /// The models that have no known price, sorted.
    pub unpriced: Vec<String>,
    /// What the missing calls would read from the caches of providers.
    pub caching: CacheForecast,
}

/// Judgments that can be made once their submissions are there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FollowingBill {
    /// How many there are at most.
    pub judgments: u64,
    /// The judges to call, sorted.
    pub models: BTreeSet<String>,
    /// The tokens of all of these calls.
    pub bill: Bill,
}

/// Tokens and what they cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bill {
    /// Tokens sent.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
    /// What they cost; none where the price of a model is not known.
    pub cost: Option<Cost>,
}

impl Default for Bill {
    fn default() -> Self {
        Self { input: 0, output: 0, cost: Some(Cost::ZERO) }
    }
}

impl Bill {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cost: self.cost.zip(other.cost).map(|(left, right)| left + right),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct RecordedUsage {
    judgments: u64,
    output: u64,
    compared: usize,
    compared_input: u64,
    estimated_input: u64,
}

impl RecordedUsage {
    fn add(&mut self, other: Self) {
        self.judgments += other.judgments;
        self.output += other.output;
        self.compared += other.compared;
        self.compared_input += other.compared_input;
        self.estimated_input += other.estimated_input;
    }

    /// How many tokens are sent for each that the tokenizer counts.
    fn ratio(self) -> Option<f64> {
        (self.compared_input > 0 && self.estimated_input > 0)
            .then(|| self.compared_input as f64 / self.estimated_input as f64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct JudgeRef {
    grader: usize,
    judge: usize,
}

/// What asking everything in `preview` would take.
pub fn forecast(session: &Session, preview: &Preview, prices: &Prices) -> Forecast {
    let mut asked: BTreeMap<JudgeRef, Estimator> = BTreeMap::new();
    for to_ask in &preview.to_ask {
        if let Some((judge, prompt)) = rendered(session, to_ask) {
            asked.entry(judge).or_default().add(&prompt);
        }
    }
    let following = following(session);
    let graders = preview.tallies.len();
    let mut forecast = Forecast {
        graders: vec![Bill::default(); graders],
        following: vec![FollowingBill::default(); graders],
        answer: answer_tokens(preview),
        ..Forecast::default()
    };
    if asked.is_empty() && following.is_empty() {
        return forecast;
    }
    let mut pricing = Pricing {
        averages: Averages::of(session, preview),
        prices,
        sources: BTreeMap::new(),
        is_assumed: false,
        unpriced: BTreeSet::new(),
    };
    for (judge, estimator) in &asked {
        let bill = pricing.bill(session, *judge, estimator, 0);
        let sum = &mut forecast.graders[judge.grader];
        *sum = sum.and(bill);
    }
    for (judge, estimator) in &following {
        let bill = pricing.bill(session, *judge, estimator, forecast.answer);
        let sum = &mut forecast.following[judge.grader];
        sum.judgments += estimator.prompts();
        sum.models.insert(model_of(session, *judge));
        sum.bill = sum.bill.and(bill);
    }
    let ratio =
        |grader, judge, model: &str| pricing.averages.ratio(JudgeRef { grader, judge }, model);
    forecast.caching = cache_forecast::forecast(session, preview, prices, &ratio);
    forecast.recorded = pricing.sources.into_values().sum();
    forecast.is_assumed = pricing.is_assumed;
    forecast.unpriced = pricing.unpriced.into_iter().collect();
    forecast
}

/// What will be sent at most to the judges of submissions that are not there yet, but for those.
fn following(session: &Session) -> BTreeMap<JudgeRef, Estimator> {
    let db = &session.db;
    let mut asked: BTreeMap<JudgeRef, Estimator> = BTreeMap::new();
    each_following(db, session.root, &mut |cell, ballot, action| {
        let judge = session.grader(cell.grader).and_then(|one| queries::ready(db, one).judge());
        let Some(judge) = judge.map(|judge| judge.ballot(ballot.ballot).judge) else { return };
        let of = asked.entry(JudgeRef { grader: cell.grader, judge }).or_default();
        of.add(&format!("{}\n{}", action.system, action.user));
    });
    asked
}

fn answer_tokens(preview: &Preview) -> u64 {
    let (conversations, used) = preview.conversations_used;
    match used.output.checked_div(conversations) {
        None | Some(0) => DEFAULT_ANSWER,
        Some(mean) => mean,
    }
}

/// Puts a price on what is sent to judges, and notes what that rests on.
struct Pricing<'a> {
    averages: Averages,
    prices: &'a Prices,
    sources: BTreeMap<AverageSource, u64>,
    is_assumed: bool,
    unpriced: BTreeSet<String>,
}

impl Pricing<'_> {
    /// What it takes to send the prompts, each with `more` tokens, to a judge.
    fn bill(&mut self, session: &Session, judge: JudgeRef, prompts: &Estimator, more: u64) -> Bill {
        let model = model_of(session, judge);
        let mean = match self.averages.output(judge, &model) {
            _ if embeds(session, judge) => 0.0,
            Some((mean, source, judgments)) => {
                self.sources.insert(source, judgments);
                mean
            }
            None => {
                self.is_assumed = true;
                (DEFAULT_OUTPUT * answers(session, judge)) as f64
            }
        };
        let sent = (prompts.tokens() + prompts.prompts() * more) as f64;
        let input = (sent * self.averages.ratio(judge, &model)).round() as u64;
        let output = (prompts.prompts() as f64 * mean).round() as u64;
        let cost = self.prices.of(&model).map(|price| price.cost(input, output));
        if cost.is_none() {
            self.unpriced.insert(model);
        }
        Bill { input, output, cost }
    }
}

struct Averages {
    judges: BTreeMap<JudgeRef, RecordedUsage>,
    models: BTreeMap<String, RecordedUsage>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AverageSource {
    Judge(JudgeRef),
    Model(String),
}

impl Averages {
    fn of(session: &Session, preview: &Preview) -> Self {
        let judges = recorded(session, preview);
        let mut models: BTreeMap<String, RecordedUsage> = BTreeMap::new();
        for (judge, used) in &judges {
            models.entry(model_of(session, *judge)).or_default().add(*used);
        }
        Self { judges, models }
    }

    /// How many tokens are sent for each that the tokenizer counts.
    fn ratio(&self, judge: JudgeRef, model: &str) -> f64 {
        let own = self.judges.get(&judge).and_then(|used| used.ratio());
        own.or_else(|| self.models.get(model)?.ratio()).unwrap_or(1.0)
    }

    /// How many tokens are received for a judgment, and of whose and how many judgments that is the mean.
    fn output(&self, judge: JudgeRef, model: &str) -> Option<(f64, AverageSource, u64)> {
        let mean = |used: &RecordedUsage, source| {
            let mean = used.output as f64 / used.judgments as f64;
            (used.output > 0).then_some((mean, source, used.judgments))
        };
        let own = self.judges.get(&judge).and_then(|used| mean(used, AverageSource::Judge(judge)));
        own.or_else(|| mean(self.models.get(model)?, AverageSource::Model(model.to_owned())))
    }
}

/// The judge of an action and everything that would be sent to it.
fn rendered(session: &Session, to_ask: &ToAsk) -> Option<(JudgeRef, String)> {
    let db = &session.db;
    let ToAsk { cell, ballot, .. } = *to_ask;
    let grader = session.grader(cell.grader)?;
    let Method::Judge(judge) = &queries::ready(db, grader).method else { return None };
    let judge = JudgeRef { grader: cell.grader, judge: judge.ballot(ballot.ballot).judge };
    Some((judge, prompt_of(session, cell, grader, ballot)?))
}

/// How many answers a reply has at most.
fn answers(session: &Session, asked: JudgeRef) -> u64 {
    let criterion = rubric(session, asked).and_then(|rubric| rubric.criterion.as_ref());
    let batch = criterion.and_then(|criterion| criterion.batch.as_ref());
    batch.map_or(1, |batch| batch.criteria.len() as u64)
}

/// Whether a model embeds texts, and writes none.
fn embeds(session: &Session, asked: JudgeRef) -> bool {
    rubric(session, asked).is_some_and(|rubric| rubric.embedding.is_some())
}

fn model_of(session: &Session, asked: JudgeRef) -> String {
    let judge = rubric(session, asked).and_then(|rubric| rubric.judges.get(asked.judge));
    judge.map_or_else(String::new, |judge| judge.model.clone())
}

fn rubric(session: &Session, asked: JudgeRef) -> Option<&RubricSpec> {
    let grader = session.grader(asked.grader)?;
    queries::ready(&session.db, grader).judge().map(|judge| &judge.rubric)
}

/// What the stored judgments of each judge used, and the first of them beside what the tokenizer counts.
fn recorded(session: &Session, preview: &Preview) -> BTreeMap<JudgeRef, RecordedUsage> {
    let db = &session.db;
    let mut found = RecordedJudgments { preview, usage: BTreeMap::new(), seen: KeySet::default() };
    for chunk in session.root.chunks(db) {
        for (ordinal, grader) in session.graders().iter().enumerate() {
            let Some(judge) = queries::ready(db, *grader).judge() else { continue };
            let of_ballot = |ballot: BallotId| JudgeRef {
                grader: ordinal,
                judge: judge.ballot(ballot.ballot).judge,
            };
            let known = known_grades::grades(db, *chunk, *grader);
            let only = of_ballot(BallotId::default());
            if let Some(known) = known.filter(|_| found.are_enough_compared(only)) {
                for action in known.actions() {
                    found.add(only, action.key(), &|| None);
                }
                continue;
            }
            for planned in actions_of_chunk(db, *chunk, ordinal, *grader) {
                let prompt = || prompt_of(session, planned.cell, planned.grader, planned.ballot);
                found.add(of_ballot(planned.ballot), planned.key, &prompt);
            }
        }
    }
    found.usage
}

struct RecordedJudgments<'a> {
    preview: &'a Preview,
    usage: BTreeMap<JudgeRef, RecordedUsage>,
    seen: KeySet,
}

impl RecordedJudgments<'_> {
    fn are_enough_compared(&self, judge: JudgeRef) -> bool {
        self.usage.get(&judge).is_some_and(|used| used.compared >= COMPARED)
    }

    fn add(&mut self, judge: JudgeRef, key: ActionKey, prompt: &dyn Fn() -> Option<String>) {
        let Some(tokens) = self.preview.used.get(&key) else { return };
        if !self.seen.insert(key) {
            return;
        }
        let of = self.usage.entry(judge).or_default();
        of.judgments += 1;
        of.output += tokens.output;
        if of.compared < COMPARED && tokens.input > 0 {
            of.compared += 1;
            of.compared_input += tokens.input;
            of.estimated_input += prompt().map_or(0, |text| estimate(&text));
        }
    }
}

fn prompt_of(
    session: &Session,
    cell: CellId,
    grader: Grader<'_>,
    ballot: BallotId,
) -> Option<String> {
    match results::action_of(&session.db, cell.chunk, cell.case, grader, ballot)? {
        Action::Judge(action) => Some(format!("{}\n{}", action.system, action.user)),
        Action::Program(_) | Action::Dependencies(_) | Action::Target(_) => None,
    }
}
