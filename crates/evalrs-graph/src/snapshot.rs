//! What was known of an evaluation at one moment, to compare a later one with.
//!
//! A snapshot shares the values of the queries, so that taking one costs a pointer a chunk and grader and holding one
//! costs what has changed since. It is plain data: it can be read on any thread, whatever became of the database.

use std::collections::HashMap;
use std::sync::Arc;

use super::cases::placed;
use super::inputs::{Chunk, Root};
use super::queries::{self, cells, graders, plans};
use super::selection::case_id;
use super::{Database, Db};
use evalrs_eval::evaluate::{self, FinishedGrade, GradePlan, Outcomes, ReadyGrader};
use evalrs_model::delta::{CaseId, Cell, CellState};
use evalrs_model::key::ActionKey;

/// Who the cases of a chunk are; none of those that are not evaluated.
#[salsa::tracked(returns(clone))]
pub fn case_ids(db: &dyn Db, chunk: Chunk) -> Arc<[Option<CaseId>]> {
    let placed = placed(db, chunk);
    placed.map(|(who, place)| place.is_in().then(|| case_id(who, *place))).collect()
}

/// The place of every case.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CaseIndex {
    /// The cases of each chunk.
    chunks: Vec<Arc<[Option<CaseId>]>>,
    places: HashMap<CaseId, CasePlace>,
}

/// The place of a case in the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CasePlace {
    /// The ordinal of its chunk.
    pub chunk: usize,
    /// The place in there.
    pub case: usize,
}

impl CaseIndex {
    /// The place of a case.
    pub fn place(&self, case: CaseId) -> Option<CasePlace> {
        self.places.get(&case).copied()
    }

    /// Every case, in dataset order.
    pub fn cases(&self) -> impl Iterator<Item = (CaseId, CasePlace)> {
        let chunks = self.chunks().enumerate();
        chunks
            .flat_map(|(chunk, cases)| cases.map(move |(id, case)| (id, CasePlace { chunk, case })))
    }

    /// The cases of each chunk, with their places in it; of those that are evaluated.
    pub fn chunks(&self) -> impl Iterator<Item = impl Iterator<Item = (CaseId, usize)>> {
        self.chunks.iter().map(|ids| {
            let ids = Arc::clone(ids);
            (0..ids.len()).filter_map(move |at| Some((ids[at]?, at)))
        })
    }

    /// The cases of one chunk, those that are not evaluated left empty.
    pub fn ids(&self, chunk: usize) -> Option<&Arc<[Option<CaseId>]>> {
        self.chunks.get(chunk)
    }

    /// How many chunks there are.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// How many cases there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

/// The place of every case of the dataset.
#[salsa::tracked(returns(clone))]
pub fn case_index(db: &dyn Db, root: Root) -> Arc<CaseIndex> {
    let mut index = CaseIndex::default();
    index.chunks = root.chunks(db).iter().map(|chunk| case_ids(db, *chunk)).collect();
    index.places = index.cases().collect();
    Arc::new(index)
}

/// An evaluation at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The graders, in the order of the suite.
    pub graders: Vec<GraderThen>,
    /// Where its cases stood.
    pub index: Arc<CaseIndex>,
    parts: Vec<ChunkSnapshot>,
}

/// A grader as it was.
#[derive(Clone, Debug)]
pub struct GraderThen {
    /// Its key in the suite.
    pub name: String,
    /// The least score that passed.
    pub threshold: f64,
    ready: Arc<ReadyGrader>,
}

/// A chunk, grader by grader.
#[derive(Clone, Debug)]
struct ChunkSnapshot {
    plans: Box<[Arc<[GradePlan]>]>,
    cells: Box<[Arc<[Cell]>]>,
}

/// What two snapshots have in common of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotOverlap {
    /// Plans and grades.
    Grades,
    /// The plans.
    Plans,
    /// Nothing that shows at a glance.
    Nothing,
}

/// A grade that was known, and what it was made from.
#[derive(Clone, Debug)]
pub struct KnownGrade {
    /// The grade.
    pub cell: Cell,
    planned: GradePlan,
    grader: GraderThen,
}

impl KnownGrade {
    /// The whole grade, as long as the outcomes behind it are known.
    pub fn grade(&self, outcomes: Outcomes<'_>) -> Option<FinishedGrade> {
        evaluate::grade(&self.planned, &self.grader.ready, outcomes, self.grader.threshold)
    }

    /// The key of its first action; none if it has none.
    pub fn key(&self) -> Option<ActionKey> {
        self.planned.first_key()
    }

    /// Visits the keys of its actions.
    pub fn each_key(&self, visit: &mut dyn FnMut(ActionKey)) {
        self.planned.each_key(&mut |_, key| visit(key));
    }
}

impl Snapshot {
    /// What is known now. Evaluates what is not evaluated yet.
    pub fn take(db: &Database, root: Root) -> Self {
        let now = graders(db, root);
        let then = now.iter().map(|grader| GraderThen {
            name: grader.name(db).clone(),
            threshold: grader.pass_threshold(db).0,
            ready: Arc::clone(queries::ready(db, *grader)),
        });
        let parts = root.chunks(db).iter().map(|chunk| ChunkSnapshot {
            plans: now.iter().map(|grader| plans(db, *chunk, *grader).clone()).collect(),
            cells: now.iter().map(|grader| Arc::clone(&cells(db, *chunk, *grader).cells)).collect(),
        });
        Self { graders: then.collect(), parts: parts.collect(), index: case_index(db, root) }
    }

    /// The ordinal of a grader.
    pub fn grader(&self, name: &str) -> Option<usize> {
        self.graders.iter().position(|grader| grader.name == name)
    }

    /// A grade; none of a case that is not there.
    pub fn cell(&self, case: CaseId, grader: usize) -> Option<Cell> {
        self.cell_at(self.index.place(case)?, grader)
    }

    /// The grades of a chunk.
    pub fn cells(&self, chunk: usize, grader: usize) -> Option<&[Cell]> {
        self.shared_cells(chunk, grader).map(|cells| &cells[..])
    }

    /// The same, to be kept.
    pub fn shared_cells(&self, chunk: usize, grader: usize) -> Option<&Arc<[Cell]>> {
        self.parts.get(chunk)?.cells.get(grader)
    }

    fn plans(&self, chunk: usize, grader: usize) -> Option<&Arc<[GradePlan]>> {
        self.parts.get(chunk)?.plans.get(grader)
    }

    /// The grade of the case at a place of the index.
    pub fn cell_at(&self, place: CasePlace, grader: usize) -> Option<Cell> {
        self.cells(place.chunk, grader)?.get(place.case).copied()
    }

    /// A grade that is known, and what it was made from: that of the case at a place of the index.
    pub fn known_at(&self, place: CasePlace, grader: usize) -> Option<KnownGrade> {
        let cell = self.cell_at(place, grader).filter(|cell| cell.is_known())?;
        let planned = self.plans(place.chunk, grader)?.get(place.case)?.clone();
        Some(KnownGrade { cell, planned, grader: self.graders.get(grader)?.clone() })
    }

    /// Whether another snapshot had the same plans for all cases of a chunk, or the very same grades.
    pub fn has_same(
        &self,
        chunk: usize,
        grader: usize,
        other: &Self,
        of_other: usize,
    ) -> SnapshotOverlap {
        if !Arc::ptr_eq(&self.index, &other.index) {
            return SnapshotOverlap::Nothing;
        }
        let plans = self.plans(chunk, grader).zip(other.plans(chunk, of_other));
        if !plans.is_some_and(|(now, then)| Arc::ptr_eq(now, then)) {
            SnapshotOverlap::Nothing
        } else if self.has_same_cells(chunk, grader, other, of_other) {
            SnapshotOverlap::Grades
        } else {
            SnapshotOverlap::Plans
        }
    }

    fn has_same_cells(&self, chunk: usize, grader: usize, other: &Self, of_other: usize) -> bool {
        let cells = self.shared_cells(chunk, grader).zip(other.shared_cells(chunk, of_other));
        cells.is_some_and(|(now, then)| Arc::ptr_eq(now, then) || now == then)
    }

    /// Whether another snapshot had the same plan for a case at the same place.
    pub fn has_same_plan(
        &self,
        place: CasePlace,
        grader: usize,
        other: &Self,
        of_other: usize,
    ) -> bool {
        let plans = self.plans(place.chunk, grader).zip(other.plans(place.chunk, of_other));
        Arc::ptr_eq(&self.index, &other.index)
            && plans.is_some_and(|(now, then)| {
                Arc::ptr_eq(now, then) || now.get(place.case) == then.get(place.case)
            })
    }

    /// The key of the first action behind a grade; none if it has none.
    pub fn key(&self, case: CaseId, grader: usize) -> Option<ActionKey> {
        let place = self.index.place(case)?;
        self.plans(place.chunk, grader)?.get(place.case)?.first_key()
    }

    /// Whether every grade is known.
    pub fn is_whole(&self) -> bool {
        let mut cells = self.parts.iter().flat_map(|part| &part.cells).flat_map(|it| it.iter());
        cells.all(|cell| cell.state != CellState::Pending)
    }

    /// Visits the keys of every plan.
    pub fn each_key(&self, visit: &mut dyn FnMut(ActionKey)) {
        for planned in self.parts.iter().flat_map(|part| &part.plans).flat_map(|it| it.iter()) {
            planned.each_key(&mut |_, key| visit(key));
        }
    }
}
