//! What graders are given of the cases of a chunk: what extractors pick, or what the calls of programs that extract came to.
//!
//! What a program extracts is an outcome. So such a submission rests on outcomes, unlike all others, and is made again under
//! the epoch of its chunk.

use std::cell::LazyCell;
use std::sync::Arc;

use super::Db;
use super::case_input::{CaseInput, ChunkRows};
use super::graders::{Grader, SharedExtractor, identity, row_spec};
use super::inputs::Chunk;
use evalrs_eval::dataset::chunk::Records;
use evalrs_eval::dataset::fields::RowSpec;
use evalrs_eval::evaluate::programs::{ReadyExtractor, extraction};
use evalrs_eval::evaluate::{self, HeldSubmission, Submission, UnansweredCase};
use evalrs_eval::extract::{ExtractError, Extractor};
use evalrs_model::spec::ExtractorSpec;

/// A case of a target that is run, and what picks a submission of it. It stays: see [`super::answers::ChunkCase`].
#[salsa::interned(revisions = usize::MAX)]
struct ExtractedCase<'db> {
    #[returns(copy)]
    chunk: Chunk,
    #[returns(copy)]
    case: usize,
    #[returns(copy)]
    extractor: SharedExtractor<'db>,
}

/// What picks a submission: an extractor, or the call of a program that does.
enum SubmissionPicker {
    Extractor(Result<Extractor, ExtractError>),
    Program(ReadyExtractor),
}

impl SubmissionPicker {
    fn of(db: &dyn Db, extractor: SharedExtractor<'_>) -> Self {
        let spec = extractor.spec(db);
        match ready_extractor(db, spec) {
            Some(program) => Self::Program(program),
            None => Self::Extractor(Extractor::new(spec)),
        }
    }

    /// What it picks of a case, or the call that will.
    fn pick(&self, case: &CaseInput<'_>) -> HeldSubmission {
        if let Some(missing) = case.missing() {
            return Submission::Unanswered(missing.clone());
        }
        let record = case.record();
        let spec = case.source.spec;
        match self {
            Self::Extractor(extractor) => case.held(&evaluate::submission(record, spec, extractor)),
            Self::Program(program) => extraction(record, spec, program).held_alone(),
        }
    }
}

pub(crate) fn ready_extractor(db: &dyn Db, spec: &ExtractorSpec) -> Option<ReadyExtractor> {
    let program = identity(db, spec.program.as_deref()?);
    let config = spec.options();
    let include_subagents = spec.include_subagents;
    Some(ReadyExtractor { program, config, include_subagents })
}

/// What an extractor picks of a chunk's cases.
#[salsa::tracked]
pub fn submissions<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    extractor: SharedExtractor<'db>,
) -> Arc<[HeldSubmission]> {
    if extractor.spec(db).program.is_none() {
        return picked(db, chunk, extractor);
    }
    // Reading the epoch is what makes the query run again when outcomes arrive.
    let _ = chunk.epoch(db);
    extractions(db, chunk, extractor).iter().map(|submission| known(db, submission)).collect()
}

/// The calls that extract the submissions of a chunk's cases.
#[salsa::tracked]
pub(super) fn extractions<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    extractor: SharedExtractor<'db>,
) -> Arc<[HeldSubmission]> {
    picked(db, chunk, extractor)
}

fn picked<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    extractor: SharedExtractor<'db>,
) -> Arc<[HeldSubmission]> {
    let Some(source) = ChunkRows::of(db, chunk) else { return Arc::default() };
    let picker = LazyCell::new(|| SubmissionPicker::of(db, extractor));
    source.each(
        |case| picker.pick(case),
        |case| picked_of(db, ExtractedCase::new(db, chunk, case, extractor)).clone(),
    )
}

/// The same of one case of a target that is run.
#[salsa::tracked]
fn picked_of<'db>(db: &'db dyn Db, of: ExtractedCase<'db>) -> HeldSubmission {
    match CaseInput::of(db, of.chunk(db), of.case(db)) {
        Some(case) => SubmissionPicker::of(db, of.extractor(db)).pick(&case),
        None => Submission::Unanswered(UnansweredCase::Blocked),
    }
}

/// What a call extracted, as far as it is there.
fn known(db: &dyn Db, submission: &HeldSubmission) -> HeldSubmission {
    match submission {
        Submission::Pending(Some(key)) => match db.outcome(*key) {
            Some(outcome) => evaluate::extracted(&outcome).held_alone(),
            None => submission.clone(),
        },
        Submission::Turns(turns) => {
            Submission::Turns(turns.iter().map(|turn| known(db, turn)).collect())
        }
        other => other.clone(),
    }
}

/// What a grader is given of a chunk's cases. Plans read this, not the extractor: another extractor that picks the
/// same texts changes nothing after it.
#[salsa::tracked(returns(clone))]
pub(super) fn held_texts<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
) -> Arc<[HeldSubmission]> {
    submissions(db, chunk, SharedExtractor::new(db, grader.extractor(db).clone())).clone()
}

/// What a grader is given of a chunk's cases.
pub fn graded_texts<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> GradedTexts<'db> {
    let cases = row_spec(db, chunk.root(db)).as_ref().map_or(1, RowSpec::cases);
    GradedTexts { held: held_texts(db, chunk, grader), records: chunk.records(db), cases }
}

/// What a grader is given of the cases of a chunk, in their order.
#[derive(Clone, Debug)]
pub struct GradedTexts<'db> {
    held: Arc<[HeldSubmission]>,
    records: &'db Arc<Records>,
    /// The cases of each record.
    cases: usize,
}

impl GradedTexts<'_> {
    /// That of a case; none if the case does not exist.
    pub fn get(&self, case: usize) -> Option<Submission> {
        Some(self.held.get(case)?.within(self.records, case / self.cases))
    }

    /// That of every case.
    pub fn iter(&self) -> impl Iterator<Item = Submission> {
        let held = self.held.iter().enumerate();
        held.map(|(case, held)| held.within(self.records, case / self.cases))
    }
}
