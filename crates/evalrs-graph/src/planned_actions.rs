//! The actions of plans: the one walk over chunks, graders, cases and keys; and the judge calls that follow once a target or
//! an extractor has answered, as far as the rows show.

use super::inputs::{CellId, Chunk, Root};
use super::known_grades;
use super::queries::{self, Grader, Threshold, graders, plans};
use super::row_files::{Baselines, ChunkVotes};
use super::{Database, Db};
use evalrs_eval::evaluate::{self, BallotId, Case, GradePlan, Submission, each_wanted};
use evalrs_eval::judge::JudgeAction;
use evalrs_model::key::ActionKey;

/// An action of a plan, whether it is wanted by now or not.
#[derive(Clone, Copy)]
pub struct PlannedAction<'db> {
    pub cell: CellId,
    pub grader: Grader<'db>,
    /// What is planned for the case.
    pub planned: &'db GradePlan,
    pub ballot: BallotId,
    pub key: ActionKey,
}

/// The actions of all plans: chunk by chunk, grader by grader, case by case.
pub fn planned_actions(db: &dyn Db, root: Root) -> impl Iterator<Item = PlannedAction<'_>> {
    let graders = graders(db, root);
    root.chunks(db).iter().flat_map(move |chunk| {
        let all = graders.iter().enumerate();
        all.flat_map(move |(ordinal, grader)| actions_of_chunk(db, *chunk, ordinal, *grader))
    })
}

/// Visits the key of each action of all plans.
pub fn each_planned_key(db: &dyn Db, root: Root, visit: &mut dyn FnMut(ActionKey)) {
    for chunk in root.chunks(db) {
        for grader in graders(db, root) {
            match known_grades::grades(db, *chunk, *grader) {
                Some(known) => known.keys().for_each(&mut *visit),
                None => plans(db, *chunk, *grader)
                    .iter()
                    .for_each(|planned| planned.each_key(&mut |_, key| visit(key))),
            }
        }
    }
}

/// The actions of the plans of one grader, in the order of the dataset.
pub fn actions_of_grader(
    db: &dyn Db,
    root: Root,
    ordinal: usize,
) -> impl Iterator<Item = PlannedAction<'_>> {
    let grader = graders(db, root).get(ordinal).copied();
    root.chunks(db).iter().flat_map(move |chunk| {
        grader.into_iter().flat_map(move |grader| actions_of_chunk(db, *chunk, ordinal, grader))
    })
}

/// The actions that the plan of a cell wants by what is known of outcomes.
pub fn wanted(db: &Database, cell: CellId) -> Vec<(BallotId, ActionKey)> {
    let mut wanted = Vec::new();
    if let Some(grader) = graders(db, cell.chunk.root(db)).get(cell.grader)
        && let Some(planned) = plans(db, cell.chunk, *grader).get(cell.case)
    {
        let ready = queries::ready(db, *grader);
        let Threshold(threshold) = grader.pass_threshold(db);
        each_wanted(planned, ready, &|key| db.outcome(key), threshold, &mut |ballot, key| {
            wanted.push((ballot, key));
        });
    }
    wanted
}

/// The actions of the plans of a chunk by one grader, case by case.
pub fn actions_of_chunk<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    ordinal: usize,
    grader: Grader<'db>,
) -> impl Iterator<Item = PlannedAction<'db>> {
    plans(db, chunk, grader).iter().enumerate().flat_map(move |(case, planned)| {
        let cell = CellId { chunk, case, grader: ordinal };
        let keys = planned.keys().into_iter();
        keys.map(move |(ballot, key)| PlannedAction { cell, grader, planned, ballot, key })
    })
}

/// Visits every judgment that follows a pending call, with an empty submission.
pub fn each_following(
    db: &Database,
    root: Root,
    visit: &mut dyn FnMut(CellId, BallotId, &JudgeAction),
) {
    for (ordinal, grader) in graders(db, root).iter().enumerate() {
        if queries::ready(db, *grader).judge().is_none() {
            continue;
        }
        for chunk in root.chunks(db) {
            // Nothing of what an earlier process found waits.
            if known_grades::grades(db, *chunk, *grader).is_some() {
                continue;
            }
            let plans = plans(db, *chunk, *grader);
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
