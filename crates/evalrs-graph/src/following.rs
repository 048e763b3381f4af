//! What judges will be asked once a target or an extractor has answered, as far as the rows tell.

use super::Database;
use super::baselines::Baselines;
use super::inputs::{CellId, Chunk, Root};
use super::queries::{self, Grader};
use super::votes::ChunkVotes;
use evalrs_eval::evaluate::{self, BallotId, Case, Submission};
use evalrs_eval::judge::JudgeAction;

/// Visits every judgment that follows what is to be asked, with nothing in the place of what is judged.
pub fn each_following(
    db: &Database,
    root: Root,
    visit: &mut dyn FnMut(CellId, BallotId, &JudgeAction),
) {
    for (ordinal, grader) in queries::graders(db, root).iter().enumerate() {
        if queries::ready(db, *grader).judge().is_none() {
            continue;
        }
        for chunk in root.chunks(db) {
            let plans = queries::plans(db, *chunk, *grader);
            let waiting = plans.iter().enumerate().filter(|(_, plan)| plan.waits_for_submission());
            for (case, _) in waiting {
                let cell = CellId { chunk: *chunk, case, grader: ordinal };
                for (ballot, action) in following(db, *chunk, case, *grader).unwrap_or_default() {
                    visit(cell, ballot, &action);
                }
            }
        }
    }
}

fn following(
    db: &Database,
    chunk: Chunk,
    case: usize,
    grader: Grader<'_>,
) -> Option<Vec<(BallotId, JudgeAction)>> {
    let root = chunk.root(db);
    let case = Case {
        record: queries::record_of(db, chunk, case)?,
        spec: queries::row_spec(db, root).as_ref()?,
        submission: &Submission::Pending(None),
        baseline: Baselines::of(db, chunk, grader).case(case),
        votes: ChunkVotes::of(db, chunk, grader).case(case),
        cost: None,
    };
    let files = |path: &str| queries::row_file(db, root, path);
    Some(evaluate::following(&case, queries::ready(db, grader), &files))
}
