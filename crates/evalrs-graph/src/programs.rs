//! Queries around programs of the user: what they extract, and how often they are run.
//!
//! What a program extracts is an outcome; so here, unlike everywhere else, a submission rests on outcomes, and is made
//! again under the epoch of its chunk.

use std::sync::Arc;

use super::Db;
use super::answers::{HeldCase, answers, is_live};
use super::cases::{cases, mask, record_of};
use super::graders::{Grader, SharedExtractor, identity, ready, row_spec};
use super::inputs::Chunk;
use evalrs_eval::evaluate::programs::{ReadyExtractor, extraction};
use evalrs_eval::evaluate::{HeldSubmission, Submission, UnansweredCase};
use evalrs_model::key::ActionKey;
use evalrs_model::spec::{ExtractorSpec, GraderKind, Repeat, RewardSpec};

/// A case of a target that is run, and what picks a submission of it. It stays: see [`super::answers::ChunkCase`].
#[salsa::interned(revisions = usize::MAX)]
pub(super) struct ExtractedCase<'db> {
    /// The chunk.
    #[returns(copy)]
    pub chunk: Chunk,
    /// The case among those of the chunk.
    #[returns(copy)]
    pub case: usize,
    /// What picks the submission.
    #[returns(copy)]
    pub extractor: SharedExtractor<'db>,
}

/// The extractor of a grader, where it is a program.
pub(crate) fn ready_extractor(db: &dyn Db, spec: &ExtractorSpec) -> Option<ReadyExtractor> {
    let program = identity(db, spec.program.as_deref()?);
    let config = spec.options();
    let include_subagents = spec.include_subagents;
    Some(ReadyExtractor { program, config, include_subagents })
}

/// The calls that extract the submissions of a chunk's cases.
#[salsa::tracked]
fn extractions<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    extractor: SharedExtractor<'db>,
) -> Arc<[HeldSubmission]> {
    let spec = row_spec(db, chunk.root(db)).as_ref();
    let (Some(spec), Some(ready)) = (spec, ready_extractor(db, extractor.spec(db))) else {
        return Arc::default();
    };
    if is_live(db, chunk.root(db)) {
        let cases = 0..answers(db, chunk).len();
        let call = |case| extraction_of(db, ExtractedCase::new(db, chunk, case, extractor));
        return cases.map(|case| call(case).clone()).collect();
    }
    let call = |(_, record)| extraction(record, spec, &ready).held_alone();
    cases(chunk.records(db), spec).map(call).collect()
}

/// The call that extracts the submission of one case of a target that is run.
#[salsa::tracked]
fn extraction_of<'db>(db: &'db dyn Db, of: ExtractedCase<'db>) -> HeldSubmission {
    let chunk = of.chunk(db);
    let case = of.case(db);
    let extractor = of.extractor(db);
    let held = HeldCase::of(db, chunk, case);
    let spec = row_spec(db, chunk.root(db)).as_ref();
    let ready = ready_extractor(db, extractor.spec(db));
    let record = record_of(db, chunk, case);
    match (held.missing(), spec, ready, record) {
        (None, Some(spec), Some(ready), Some(record)) => {
            extraction(held.record(record), spec, &ready).held_alone()
        }
        (missing, ..) => {
            Submission::Unanswered(missing.cloned().unwrap_or(UnansweredCase::Blocked))
        }
    }
}

/// The calls that extract what a grader grades of a chunk's cases; nothing where no program does.
fn calls<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Arc<[HeldSubmission]> {
    let spec = grader.extractor(db);
    if spec.program.is_none() {
        return Arc::default();
    }
    Arc::clone(extractions(db, chunk, SharedExtractor::new(db, spec.clone())))
}

/// Visits the calls that extract what a grader grades of a chunk's cases, those apart of which it has nothing to say: the
/// case, its turn, and the key.
pub fn each_extraction(
    db: &dyn Db,
    chunk: Chunk,
    grader: Grader<'_>,
    visit: &mut dyn FnMut(usize, usize, ActionKey),
) {
    let calls = calls(db, chunk, grader);
    let of_its_cases = calls.iter().zip(mask(db, chunk)).enumerate();
    let of_its_cases = of_its_cases
        .filter(|(_, (_, is_in))| **is_in)
        .filter(|(case, _)| !is_left_out(db, chunk, *case, grader));
    for (case, (submission, _)) in of_its_cases {
        let turns = match submission {
            Submission::Turns(turns) => turns,
            submission => std::slice::from_ref(submission),
        };
        for (turn, submission) in turns.iter().enumerate() {
            if let Submission::Pending(Some(key)) = submission {
                visit(case, turn, *key);
            }
        }
    }
}

/// Whether a grader has nothing to say of a case, whatever is extracted of it.
fn is_left_out(db: &dyn Db, chunk: Chunk, case: usize, grader: Grader<'_>) -> bool {
    let spec = row_spec(db, chunk.root(db)).as_ref();
    let (Some(spec), Some(record)) = (spec, record_of(db, chunk, case)) else { return true };
    let held = HeldCase::of(db, chunk, case);
    ready(db, grader).scope.leaves_out_record(held.record(record), spec).is_some()
}

/// What they extracted, as far as it is there.
pub(super) fn extracted<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    extractor: SharedExtractor<'db>,
) -> Arc<[HeldSubmission]> {
    // Reading the epoch is what makes the query run again when outcomes arrive.
    let _ = chunk.epoch(db);
    extractions(db, chunk, extractor).iter().map(|submission| known(db, submission)).collect()
}

fn known(db: &dyn Db, submission: &HeldSubmission) -> HeldSubmission {
    match submission {
        Submission::Pending(Some(key)) => match db.outcome(*key) {
            Some(outcome) => evalrs_eval::evaluate::extracted(&outcome).held_alone(),
            None => submission.clone(),
        },
        Submission::Turns(turns) => {
            Submission::Turns(turns.iter().map(|turn| known(db, turn)).collect())
        }
        other => other.clone(),
    }
}

/// Whether the plans of a grader rest on outcomes, and so may want more once those are there.
pub fn rests_on_outcomes(db: &dyn Db, grader: Grader<'_>) -> bool {
    grader.extractor(db).program.is_some()
        || matches!(grader.kind(db), GraderKind::Reward(_))
        || is_live(db, grader.root(db))
}

/// Whether the program that grades is run in every evaluation, and whether the one that extracts is.
pub fn repeats(db: &dyn Db, grader: Grader<'_>) -> [bool; 2] {
    let own = match grader.kind(db) {
        GraderKind::Program(spec) | GraderKind::Reward(RewardSpec::Program(spec)) => Some(spec),
        GraderKind::Tool(_) | GraderKind::Rubric(_) | GraderKind::Reward(_) => None,
    };
    let programs = [own, grader.extractor(db).program.as_ref()];
    programs.map(|spec| spec.is_some_and(|spec| spec.repeat == Repeat::Always))
}
