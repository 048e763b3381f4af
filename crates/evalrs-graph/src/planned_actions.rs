//! The actions of plans: the one walk over chunks, graders, cases and keys.

use super::Db;
use super::inputs::{CellId, Chunk, Root};
use super::queries::{Grader, graders, plans};
use evalrs_eval::evaluate::{BallotId, GradePlan};
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
    let of_chunk = move |chunk: &Chunk| {
        let chunk = *chunk;
        let all = graders.iter().enumerate();
        all.flat_map(move |(ordinal, grader)| in_chunk(db, chunk, ordinal, *grader))
    };
    root.chunks(db).iter().flat_map(of_chunk)
}

/// The actions of the plans of one grader, in the order of the dataset.
pub fn actions_of_grader(
    db: &dyn Db,
    root: Root,
    ordinal: usize,
) -> impl Iterator<Item = PlannedAction<'_>> {
    let grader = graders(db, root).get(ordinal).copied();
    let of_chunk = move |chunk: &Chunk| {
        let chunk = *chunk;
        grader.into_iter().flat_map(move |grader| in_chunk(db, chunk, ordinal, grader))
    };
    root.chunks(db).iter().flat_map(of_chunk)
}

fn in_chunk<'db>(
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
