//! Programs of the user: which calls of them extract what is graded, and how often they are run.

use std::sync::Arc;

use super::Db;
use super::answers::is_live;
use super::case_input::CaseInput;
use super::cases::mask;
use super::graders::{Grader, SharedExtractor, ready};
use super::inputs::Chunk;
use super::submissions::extractions;
use evalrs_eval::evaluate::{HeldSubmission, Submission};
use evalrs_model::key::ActionKey;
use evalrs_model::spec::{GraderKind, Repeat, RewardSpec};

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
    let Some(case) = CaseInput::of(db, chunk, case) else { return true };
    ready(db, grader).scope.leaves_out_record(case.record(), case.source.spec).is_some()
}

/// Whether a grader is made of the grades of others alone, and so wants nothing itself.
pub fn is_of_grades(db: &dyn Db, grader: Grader<'_>) -> bool {
    matches!(
        grader.kind(db),
        GraderKind::Reward(RewardSpec::Expression(_) | RewardSpec::Criteria(_))
    )
}

/// Whether the plans of a grader rest on outcomes, and so may want more once those are there.
pub fn rests_on_outcomes(db: &dyn Db, grader: Grader<'_>) -> bool {
    grader.extractor(db).program.is_some()
        || matches!(grader.kind(db), GraderKind::Reward(RewardSpec::Program(_)))
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
