//! What an earlier process found of chunks: taken instead of reading their rows once more.
//!
//! A chunk is known by the digest of its rows, and each thing that was found of it by the *scope* it was found in: the digest
//! of all else that it is made of. So a suite may change in one grader, and a dataset in one row: the rest is still known.
//! What a grader has found rests on outcomes too. So it counts only while the outcomes are those that it was made of.
//!
//! Whoever finds nothing here reads the rows: that gives the same. `collect` makes these values, of plain chunks alone.

mod collect;
mod scope;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Db;
use super::cases::{mask, occurrences};
use super::graders::{Grader, graders};
use super::inputs::Chunk;
use super::outcomes::ArchivedReply;
use super::selection::SelectableCase;
use evalrs_base::price::{Cost, Prices};
use evalrs_base::threshold::reaches;
use evalrs_metrics::results::usage::JudgmentUsage;
use evalrs_model::delta::{Cell, CellState};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{ServiceTier, Usage};

pub use collect::collect;
use scope::{check_scope, grader_scope, need_scope};

/// Chunks by the digest of their rows.
pub type KnownChunks = HashMap<u128, KnownChunk>;

/// What is known of one chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownChunk {
    /// Of its cases.
    pub rows: KnownRows,
    /// Of the graders whose grades are all verdicts, or do not apply.
    pub grades: Vec<KnownGrades>,
    /// Where its results stand in those of the last run.
    pub results: Option<KnownResults>,
}

/// Where the results of a chunk stand in the results of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownResults {
    /// The digest of all that they are made of besides rows and outcomes.
    pub scope: u128,
    /// The first byte.
    pub from: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// What is known of the cases of a chunk. Nothing is wrong with its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownRows {
    scope: u128,
    /// What graders need of rows, by the scope of that: all of them have it.
    needs: Option<u128>,
    /// Who they are.
    whos: Vec<SelectableCase>,
    /// The digest of what each asks, for the history.
    questions: Vec<[u8; 32]>,
}

/// The grades of a chunk by one grader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownGrades {
    scope: u128,
    scores: Vec<KnownScore>,
    /// The models that replied.
    models: Vec<String>,
    actions: Vec<KnownAction>,
}

/// A score before the threshold decides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct KnownScore {
    score: f64,
    /// Whether it passes, where the grader says so itself.
    pass: Option<bool>,
    /// Whether the grader has something to say of the case.
    applies: bool,
    /// Whether it may say that there was nothing to grade.
    of_nothing: bool,
}

/// An action that a grade rests on, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownAction {
    /// The case in its chunk.
    pub case: u32,
    key: [u8; 32],
    reply: ArchivedReply,
    usage: Option<KnownUsage>,
    /// The place of the model that replied, among those of the grades.
    model: Option<u16>,
}

/// The same as [`Usage`], with all fields: its own form leaves some out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct KnownUsage {
    tokens: [u64; 4],
    cost: Option<u64>,
    told: bool,
    tier: Option<ServiceTier>,
}

impl KnownUsage {
    fn of(usage: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, cost, told, tier } = usage;
        let tokens = [input, output, cache_read, cache_write];
        Self { tokens, cost: cost.map(Cost::nanos), told, tier }
    }

    fn usage(self) -> Usage {
        let Self { tokens: [input, output, cache_read, cache_write], cost, told, tier } = self;
        let cost = cost.map(Cost::from_nanos);
        Usage { input, output, cache_read, cache_write, cost, told, tier }
    }
}

impl KnownAction {
    /// Its key.
    pub fn key(&self) -> ActionKey {
        ActionKey(self.key)
    }

    /// The digests of its reply.
    pub fn reply(&self) -> ArchivedReply {
        self.reply
    }

    /// What it used, if that is known.
    pub fn usage(&self) -> Option<Usage> {
        self.usage.map(KnownUsage::usage)
    }
}

impl KnownGrades {
    /// What they rest on, in the order of the cases.
    pub fn actions(&self) -> &[KnownAction] {
        &self.actions
    }

    /// What one of them used, asked of the model `asked`.
    pub(crate) fn usage(
        &self,
        action: &KnownAction,
        prices: &Prices,
        asked: Option<&str>,
    ) -> JudgmentUsage {
        let answered = action.model.and_then(|at| self.models.get(usize::from(at)));
        let usage = action.usage();
        let cost =
            usage.and_then(|usage| usage.list_cost(prices, asked, answered.map(String::as_str)));
        JudgmentUsage { is_reply: true, used: usage.unwrap_or_default(), cost }
    }

    pub(crate) fn cells(&self, threshold: f64) -> impl Iterator<Item = Cell> {
        self.scores.iter().map(move |known| {
            let passes = || known.pass.unwrap_or_else(|| reaches(known.score, threshold));
            let state = match known.applies {
                true => CellState::of_verdict(passes()),
                false => CellState::NotApplicable,
            };
            Cell { score: known.score, state }
        })
    }

    /// Whether a grade may say that there was nothing to grade.
    pub(crate) fn may_be_of_nothing(&self, case: usize) -> bool {
        self.scores.get(case).is_none_or(|known| known.of_nothing)
    }

    /// Whether the outcomes are those that they were made of.
    fn holds(&self, db: &dyn Db) -> bool {
        self.actions.iter().all(|action| db.archived_reply(action.key()) == Some(action.reply))
    }
}

/// What is known of the cases of a chunk.
fn rows(db: &dyn Db, chunk: Chunk) -> Option<&KnownRows> {
    let known = db.known_chunk(chunk.records(db).hash())?;
    (check_scope(db, chunk.root(db)) == Some(known.rows.scope)).then_some(&known.rows)
}

/// Who the cases of a chunk are, if nothing is wrong with its rows.
pub(crate) fn whos(db: &dyn Db, chunk: Chunk) -> Option<&[SelectableCase]> {
    rows(db, chunk).map(|known| &known.whos[..])
}

/// Whether the rows of a chunk are known to have all that graders need.
pub(crate) fn are_needs_met(db: &dyn Db, chunk: Chunk) -> bool {
    let needs = rows(db, chunk).and_then(|known| known.needs);
    needs.is_some() && needs == need_scope(db, chunk.root(db))
}

/// The digests of what the cases of a chunk ask, if all of them are evaluated.
pub fn questions(db: &dyn Db, chunk: Chunk) -> Option<&[[u8; 32]]> {
    let known = rows(db, chunk)?;
    let is_whole = mask(db, chunk).iter().all(|is_in| *is_in);
    (is_whole && known.questions.len() == known.whos.len()).then_some(&known.questions)
}

/// Where the results of a chunk stand in those of the last run, if they are the same by now. `scope` is that of this run.
pub fn results(db: &dyn Db, chunk: Chunk, scope: u128) -> Option<KnownResults> {
    let known = db.known_chunk(chunk.records(db).hash())?;
    let results = known.results.filter(|results| results.scope == scope)?;
    let is_alone = |occurrence: &u32| *occurrence == 1;
    let mut graders = graders(db, chunk.root(db)).iter();
    let are_graders_known = graders.all(|grader| grades(db, chunk, *grader).is_some());
    let is_same = rows(db, chunk).is_some()
        && are_graders_known
        && occurrences(db, chunk).iter().all(is_alone);
    is_same.then_some(results)
}

/// The grades of a chunk by a grader, whether the outcomes are those that they were made of or not.
pub fn grades_then<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
) -> Option<&'db KnownGrades> {
    let known = db.known_chunk(chunk.records(db).hash())?;
    let scope = (*grader_scope(db, grader))?;
    let grades = known.grades.iter().find(|grades| grades.scope == scope)?;
    mask(db, chunk).iter().all(|is_in| *is_in).then_some(grades)
}

/// The grades of a chunk by a grader, if the outcomes are those that they were made of.
pub fn grades<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Option<&'db KnownGrades> {
    let grades = grades_then(db, chunk, grader)?;
    // Reading the epoch is what makes a query run again when outcomes arrive.
    let _ = chunk.epoch(db);
    grades.holds(db).then_some(grades)
}
