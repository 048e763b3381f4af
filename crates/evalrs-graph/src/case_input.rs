//! One case of a chunk as all queries read it, be its row recorded or its target run.
//!
//! What the cases of recorded rows come to is worked out within one query of their chunk: to verify a chunk then costs one
//! query, and not 64. Where the target is run, answers are large and arrive one by one, so that each case has a query of its
//! own. Both call the same function of a [`CaseInput`], and [`ChunkRows::each`] alone knows which way it is.

use std::sync::Arc;

use super::Db;
use super::answers::{CaseAnswer, answer_of};
use super::cases::record_at;
use super::graders::row_spec;
use super::inputs::Chunk;
use evalrs_eval::dataset::chunk::Records;
use evalrs_eval::dataset::fields::RowSpec;
use evalrs_eval::dataset::row::RowRecord;
use evalrs_eval::evaluate::{HeldSubmission, Submission, UnansweredCase};
use evalrs_model::outcome::{Outcome, Reply, Usage};

#[derive(Clone, Copy)]
pub(crate) struct ChunkRows<'db> {
    db: &'db dyn Db,
    chunk: Chunk,
    pub spec: &'db RowSpec,
    records: &'db Arc<Records>,
}

impl<'db> ChunkRows<'db> {
    /// Those of `chunk`; none where no suite says how rows are read.
    pub(crate) fn of(db: &'db dyn Db, chunk: Chunk) -> Option<Self> {
        let spec = row_spec(db, chunk.root(db)).as_ref()?;
        Some(Self { db, chunk, spec, records: chunk.records(db) })
    }

    /// Whether their target is run.
    pub(crate) fn is_live(&self) -> bool {
        self.spec.live.is_some()
    }

    /// The result of each case, in order: `here` for a recorded row, and `query` for a case whose target is run,
    /// which calls a query that does the same for this case alone.
    pub(crate) fn each<T>(
        self,
        here: impl Fn(&CaseInput<'db>) -> T,
        query: impl Fn(usize) -> T,
    ) -> Arc<[T]> {
        let cases = 0..self.records.len() * self.spec.cases();
        if self.is_live() {
            return cases.map(query).collect();
        }
        cases.filter_map(|at| self.case(at)).map(|case| here(&case)).collect()
    }

    fn case(self, at: usize) -> Option<CaseInput<'db>> {
        let record = record_at(self.records, self.spec, at)?;
        let answer = if self.is_live() { answer_of(self.db, self.chunk, at) } else { None };
        let answer = answer.map(|answer| self.outcome(answer));
        Some(CaseInput { source: self, at, record, answer })
    }

    fn outcome(self, answer: &CaseAnswer) -> Result<Arc<Outcome>, UnansweredCase> {
        let key = match answer {
            CaseAnswer::Unanswered(case) => return Err(case.clone()),
            CaseAnswer::Answered { key, .. } => *key,
        };
        self.db.outcome(key).ok_or_else(|| {
            // It was let go of and is lost: the engine looks for it again, and raises the epoch then.
            let _ = self.chunk.epoch(self.db);
            UnansweredCase::Pending(key)
        })
    }
}

/// One case, and what its target answered where it is run.
pub(crate) struct CaseInput<'db> {
    pub source: ChunkRows<'db>,
    /// Its place among the cases of its chunk.
    pub at: usize,
    record: RowRecord<'db>,
    /// What the target answered, or why it did not; nothing where the row is recorded.
    answer: Option<Result<Arc<Outcome>, UnansweredCase>>,
}

impl<'db> CaseInput<'db> {
    pub(crate) fn of(db: &'db dyn Db, chunk: Chunk, at: usize) -> Option<Self> {
        ChunkRows::of(db, chunk)?.case(at)
    }

    /// Its record, with the answer where there is one.
    pub(crate) fn record(&self) -> RowRecord<'_> {
        let recorded = self.reply().map_or(self.record.recorded, |reply| &reply.text);
        RowRecord { recorded, ..self.record }
    }

    /// What its conversation used, where that is known.
    pub(crate) fn used(&self) -> Option<Usage> {
        self.reply()?.usage
    }

    fn reply(&self) -> Option<&Reply> {
        match self.answer.as_ref()?.as_deref().ok()? {
            Outcome::Reply(reply) => Some(reply),
            Outcome::Failure(_) => None,
        }
    }

    /// Why a target that is run has no answer yet.
    pub(crate) fn missing(&self) -> Option<&UnansweredCase> {
        self.answer.as_ref()?.as_ref().err()
    }

    /// A submission of it, to be kept: texts that stand in its recorded row as places there.
    pub(crate) fn held(&self, submission: &Submission) -> HeldSubmission {
        if self.source.is_live() {
            return submission.held_alone();
        }
        submission.held(self.source.records, self.at / self.source.spec.cases())
    }

    /// The submission behind a stored reference.
    pub(crate) fn shown(&self, held: &HeldSubmission) -> Submission {
        held.within(self.source.records, self.at / self.source.spec.cases())
    }
}
