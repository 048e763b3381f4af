//! What an earlier process found of chunks: taken instead of reading their rows once more.
//!
//! A chunk is known by the digest of its rows, and each thing that was found of it by the *scope* it was found in: the digest
//! of all else that it is made of. So a suite may change in one grader, and a dataset in one row: the rest is still known.
//! What a grader has found rests on outcomes too. So it counts only while the outcomes are those that it was made of.
//!
//! Whoever finds nothing here reads the rows: that gives the same. `known_rows` and `known_grades` tell whether it counts,
//! `known_chunks` makes it, of plain chunks alone.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::outcomes::ArchivedReply;
use super::selection::SelectableCase;
use evalrs_base::price::{Cost, Price, Prices};
use evalrs_base::threshold::reaches;
use evalrs_metrics::results::usage::JudgmentUsage;
use evalrs_model::delta::{Cell, CellState};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{ServiceTier, Usage};

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
    /// The digest of all that they are made of besides rows, outcomes and thresholds.
    pub scope: u128,
    /// The digest of which grades passed.
    pub verdicts: u128,
    /// The first byte.
    pub from: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// What is known of the cases of a chunk. Nothing is wrong with its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownRows {
    pub(crate) scope: u128,
    /// What graders need of rows, by the scope of that: all of them have it.
    pub(crate) needs: Option<u128>,
    /// Who they are.
    pub(crate) whos: Vec<SelectableCase>,
    /// The digest of what each asks, for the history.
    pub(crate) questions: Vec<[u8; 32]>,
}

/// The grades of a chunk by one grader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownGrades {
    pub(crate) scope: u128,
    pub(crate) scores: Vec<KnownScore>,
    /// The models that replied.
    pub(crate) models: Vec<String>,
    pub(crate) actions: Vec<KnownReply>,
}

/// A score before the threshold decides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownScore {
    pub score: f64,
    /// Whether it passes, where the grader says so itself.
    pub pass: Option<bool>,
    /// Whether the grader has something to say of the case.
    pub applies: bool,
    /// Whether it may say that there was nothing to grade.
    pub of_nothing: bool,
}

/// An action that a grade rests on, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownReply {
    pub(crate) key: [u8; 32],
    pub(crate) reply: ArchivedReply,
    pub(crate) usage: Option<KnownUsage>,
    /// The place of the model that replied, among those of the grades.
    pub(crate) model: Option<u16>,
}

/// The same as [`Usage`], with all fields: its own form leaves some out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownUsage {
    tokens: [u64; 4],
    cost: Option<u64>,
    told: bool,
    tier: Option<ServiceTier>,
}

impl KnownUsage {
    pub(crate) fn of(usage: Usage) -> Self {
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

impl KnownReply {
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
    pub fn actions(&self) -> &[KnownReply] {
        &self.actions
    }

    /// What each of them used, asked of the model `asked`.
    pub(crate) fn usages(
        &self,
        prices: &Prices,
        asked: Option<&str>,
    ) -> impl Iterator<Item = (ActionKey, JudgmentUsage)> {
        let unnamed = prices.of_either(asked, None);
        let models = self.models.iter().map(|model| prices.of_either(asked, Some(model)));
        let models: Vec<Option<Price>> = models.collect();
        self.actions.iter().map(move |action| {
            let usage = action.usage();
            let answered = action.model.map(usize::from);
            let price = answered.map_or(unnamed, |at| models.get(at).copied().flatten());
            let cost = usage.zip(price).map(|(usage, price)| price.cost(usage.input, usage.output));
            let used = usage.unwrap_or_default();
            (action.key(), JudgmentUsage { is_reply: true, used, cost })
        })
    }

    pub(crate) fn cells(&self, threshold: f64) -> impl Iterator<Item = Cell> {
        self.scores.iter().map(move |known| {
            let passes = || known.pass.unwrap_or_else(|| reaches(known.score, threshold));
            let state = if known.applies {
                CellState::of_verdict(passes())
            } else {
                CellState::NotApplicable
            };
            Cell { score: known.score, state }
        })
    }

    /// Whether a grade may say that there was nothing to grade.
    pub(crate) fn may_be_of_nothing(&self, case: usize) -> bool {
        self.scores.get(case).is_none_or(|known| known.of_nothing)
    }
}
