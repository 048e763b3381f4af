//! What an earlier process found of chunks: taken instead of reading their rows once more.
//!
//! A chunk is known by the digest of its rows, and each thing that was found of it by the *scope* it was found in: the digest
//! of all else that it is made of. So a suite may change in one grader, and a dataset in one row: the rest is still known.
//! What a grader has found rests on outcomes too. So it counts only while the outcomes are those that it was made of.
//!
//! Whoever finds nothing here reads the rows: that gives the same. `known_rows` and `known_grades` tell whether it counts,
//! `known_chunks` makes it, of plain chunks alone. It is read where it stands, in the bytes of a file (`known_bytes`): to make
//! values of the judgments of 100,000 rows takes longer than to read them.

use std::collections::HashMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::known_bytes::{ACTION, ChunkParts, DIGEST, KnownReply, KnownScore, SCORE};
use super::selection::SelectableCase;
use evalrs_base::price::{Price, Prices};
use evalrs_base::threshold::reaches;
use evalrs_eval::grade::Grade;
use evalrs_metrics::results::usage::JudgmentUsage;
use evalrs_model::delta::{Cell, CellState};
use evalrs_model::key::ActionKey;

/// Chunks by the digest of their rows.
pub type KnownChunks = HashMap<u128, KnownChunk>;

/// What is known of one chunk.
#[derive(Clone, Debug)]
pub struct KnownChunk {
    /// Of its cases.
    pub rows: KnownRows,
    /// Of the graders whose grades are all verdicts, or do not apply.
    pub grades: Vec<KnownGrades>,
    /// Where its results stand in those of the last run.
    pub results: Option<KnownResults>,
    /// What the rest was read from, but for the place of its results.
    pub(crate) bytes: Bytes,
}

impl KnownChunk {
    /// Reads what is known of a chunk; none if the bytes are of another form.
    pub fn read(bytes: Bytes, results: Option<KnownResults>) -> Option<Self> {
        let ChunkParts { scope, needs, unlabelled, cases, whos, questions, grades } =
            ChunkParts::of(&bytes)?;
        let part = |part: &[u8]| bytes.slice_ref(part);
        let rows = KnownRows {
            scope,
            needs,
            unlabelled,
            cases,
            whos: part(whos),
            questions: part(questions),
        };
        let grades = grades.into_iter().map(|grades| KnownGrades {
            scope: grades.scope,
            models: grades.models,
            scores: part(grades.scores),
            actions: part(grades.actions),
        });
        Some(Self { rows, grades: grades.collect(), results, bytes })
    }
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRows {
    pub(crate) scope: u128,
    /// What graders need of rows, by the scope of that: all of them have it.
    pub(crate) needs: Option<u128>,
    /// That no row has a label, by the scope of that.
    pub(crate) unlabelled: Option<u128>,
    /// How many cases there are.
    pub(crate) cases: usize,
    whos: Bytes,
    questions: Bytes,
}

impl KnownRows {
    /// Who the cases are; none if the bytes are of another form.
    pub(crate) fn whos(&self) -> Option<Vec<SelectableCase>> {
        let whos: Vec<SelectableCase> = postcard::from_bytes(&self.whos).ok()?;
        (whos.len() == self.cases).then_some(whos)
    }

    /// The digest of what each case asks, for the history; nothing where nobody knows them.
    pub(crate) fn questions(&self) -> &[[u8; DIGEST]] {
        self.questions.as_chunks().0
    }
}

/// The grades of a chunk by one grader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownGrades {
    pub(crate) scope: u128,
    /// The models that replied.
    pub(crate) models: Vec<String>,
    pub(crate) scores: Bytes,
    pub(crate) actions: Bytes,
}

impl KnownGrades {
    /// What they rest on, in the order of the cases.
    pub fn actions(&self) -> impl ExactSizeIterator<Item = KnownReply> + '_ {
        self.actions.as_chunks::<ACTION>().0.iter().map(KnownReply::read)
    }

    /// The keys of what they rest on.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = ActionKey> + '_ {
        self.actions.as_chunks::<ACTION>().0.iter().map(KnownReply::read_key)
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
        self.actions().map(move |action| {
            let usage = action.usage();
            let answered = action.model.map(usize::from);
            let price = answered.map_or(unnamed, |at| models.get(at).copied().flatten());
            let cost = usage.zip(price).map(|(usage, price)| price.cost(usage.input, usage.output));
            let used = usage.unwrap_or_default();
            (action.key(), JudgmentUsage { is_reply: true, used, cost })
        })
    }

    pub(crate) fn cells(&self, threshold: f64) -> impl Iterator<Item = Cell> {
        self.scores.as_chunks::<SCORE>().0.iter().map(KnownScore::read).map(move |known| {
            let passes = || known.pass.unwrap_or_else(|| reaches(known.score, threshold));
            let state = if known.applies {
                CellState::of_verdict(passes())
            } else {
                CellState::NotApplicable
            };
            Cell { score: known.score, state }
        })
    }

    /// How many cases they grade.
    pub(crate) fn cases(&self) -> usize {
        self.scores.as_chunks::<SCORE>().0.len()
    }

    /// The grades, with nothing that they say.
    pub(crate) fn without_rationales(&self) -> Vec<Grade> {
        let scores = self.scores.as_chunks::<SCORE>().0.iter().map(KnownScore::read);
        let grade = |known: KnownScore| Grade {
            pass: known.pass,
            applies: known.applies,
            ..Grade::new(known.score, "")
        };
        scores.map(grade).collect()
    }

    /// Whether a grade may say that there was nothing to grade.
    pub(crate) fn may_be_of_nothing(&self, case: usize) -> bool {
        let scores = self.scores.as_chunks::<SCORE>().0;
        scores.get(case).is_none_or(|score| KnownScore::read(score).of_nothing)
    }
}
