//! How the verdicts of a grader on one chunk moved, computed again only where they or those before are others.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::prior_verdicts::PriorVerdicts;
use evalrs_base::exact::MeanInParts;
use evalrs_graph::snapshot::Snapshot;
use evalrs_model::delta::{CaseId, Cell, CellState, Movement, MovementCounts};

/// The verdicts of an earlier moment on the cases of a chunk.
#[derive(Clone, Debug)]
pub(super) enum EarlierCells {
    Nothing,
    /// They stand at the same places.
    Aligned(Arc<[Cell]>),
    /// Those before the save, looked up by case and the name of the grader.
    BeforeSave(Arc<PriorVerdicts>, Arc<str>),
    /// Those of an evaluation with other cases, looked up by case; with the ordinal of the grader there.
    Evaluation(Arc<Snapshot>, usize),
}

impl EarlierCells {
    pub(super) fn before_save(
        before: &Arc<PriorVerdicts>,
        grader: &Arc<str>,
        now: &Snapshot,
        chunk: usize,
    ) -> Self {
        if before.is_empty() {
            return Self::Nothing;
        }
        let whole = before.whole().and_then(|whole| Some((whole, whole.grader(grader)?)));
        match whole.and_then(|(whole, at)| aligned(whole, at, now, chunk)) {
            Some(cells) => Self::Aligned(cells),
            None => Self::BeforeSave(Arc::clone(before), Arc::clone(grader)),
        }
    }

    pub(super) fn of_evaluation(
        then: &Arc<Snapshot>,
        grader: &str,
        now: &Snapshot,
        chunk: usize,
    ) -> Self {
        let Some(at) = then.grader(grader) else { return Self::Nothing };
        let aligned = aligned(then, at, now, chunk);
        aligned.map_or_else(|| Self::Evaluation(Arc::clone(then), at), Self::Aligned)
    }

    /// The verdict on a case at `at` of the chunk.
    pub(crate) fn cell(&self, case: CaseId, at: usize) -> Option<Cell> {
        match self {
            Self::Nothing => None,
            Self::Aligned(cells) => cells.get(at).copied(),
            Self::BeforeSave(before, grader) => before.cell(case, grader),
            Self::Evaluation(then, grader) => then.cell(case, *grader),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing, Self::Nothing) => true,
            (Self::Aligned(own), Self::Aligned(other)) => Arc::ptr_eq(own, other),
            (Self::BeforeSave(own, name), Self::BeforeSave(other, of_other)) => {
                Arc::ptr_eq(own, other) && name == of_other
            }
            (Self::Evaluation(own, at), Self::Evaluation(other, of_other)) => {
                Arc::ptr_eq(own, other) && at == of_other
            }
            _ => false,
        }
    }
}

/// The cells of a chunk in `then`, if the cases of `now` stand there at the same places.
fn aligned(then: &Snapshot, grader: usize, now: &Snapshot, chunk: usize) -> Option<Arc<[Cell]>> {
    let ids = then.index.ids(chunk).zip(now.index.ids(chunk));
    let is_aligned = ids.is_some_and(|(then, now)| Arc::ptr_eq(then, now));
    if is_aligned { then.shared_cells(chunk, grader).cloned() } else { None }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MovedCase {
    /// Its place in the chunk.
    pub at: usize,
    pub case: CaseId,
    pub then: Option<Cell>,
    pub now: Cell,
}

/// The means of a grader at two moments, over the cases that have a verdict at both.
#[derive(Clone, Debug, Default)]
pub(super) struct PairedMeans {
    then: MeanInParts,
    now: MeanInParts,
}

impl PairedMeans {
    fn of(pairs: impl Iterator<Item = (Cell, Cell)> + Clone) -> Self {
        let both = pairs.filter(|(then, now)| then.is_verdict() && now.is_verdict());
        let mut means = Self::default();
        means.then.add_all(both.clone().map(|(then, _)| then.score));
        means.now.add_all(both.map(|(_, now)| now.score));
        means
    }

    pub(crate) fn join(&mut self, other: &Self) {
        self.then.join(&other.then);
        self.now.join(&other.now);
    }

    /// How far the mean moved; none where no case has a verdict at both moments.
    pub(super) fn moved_by(&self) -> Option<f64> {
        Some(self.now.mean()? - self.then.mean()?)
    }
}

/// What a chunk adds to the totals of a grader.
#[derive(Debug)]
pub(super) struct ChunkMoves {
    pub counts: MovementCounts,
    /// In dataset order.
    pub moved: Vec<MovedCase>,
    pub errors: usize,
    pub since_last: PairedMeans,
    pub since_start: PairedMeans,
}

/// What moves are computed from.
#[derive(Clone, Debug)]
pub(super) struct ComparedCells {
    /// Who the cases are.
    pub ids: Arc<[Option<CaseId>]>,
    pub now: Arc<[Cell]>,
    /// Before the save.
    pub last: EarlierCells,
    /// When the session began.
    pub start: EarlierCells,
}

impl ComparedCells {
    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ids, &other.ids)
            && Arc::ptr_eq(&self.now, &other.now)
            && self.last.is_same(&other.last)
            && self.start.is_same(&other.start)
    }

    fn moves(&self) -> ChunkMoves {
        let cases = || {
            let cells = self.ids.iter().zip(&*self.now).enumerate();
            cells.filter_map(|(at, (id, now))| Some(((*id)?, at, *now)))
        };
        let mut counts = MovementCounts::default();
        let mut moved = Vec::new();
        let mut errors = 0;
        for (case, at, now) in cases() {
            let then = self.last.cell(case, at);
            let movement = Movement::of(then, now);
            counts.add(movement);
            errors += usize::from(now.state == CellState::Errored);
            if movement.is_move() {
                moved.push(MovedCase { at, case, then, now });
            }
        }
        let [since_last, since_start] = [&self.last, &self.start].map(|earlier| {
            PairedMeans::of(
                cases().filter_map(|(case, at, now)| Some((earlier.cell(case, at)?, now))),
            )
        });
        ChunkMoves { counts, moved, errors, since_last, since_start }
    }
}

/// The moves of the last totals, by grader and chunk, with what they were computed from.
#[derive(Debug, Default)]
pub(super) struct MovesMemo(BTreeMap<(usize, usize), (ComparedCells, Arc<ChunkMoves>)>);

impl MovesMemo {
    /// The moves of a grader on a chunk, as they were computed last if nothing changed.
    pub(super) fn moves(
        &mut self,
        grader: usize,
        chunk: usize,
        of: ComparedCells,
    ) -> Arc<ChunkMoves> {
        let known = self.0.get(&(grader, chunk)).filter(|(known, _)| known.is_same(&of));
        if let Some((_, moves)) = known {
            return Arc::clone(moves);
        }
        let moves = Arc::new(of.moves());
        self.0.insert((grader, chunk), (of, Arc::clone(&moves)));
        moves
    }

    /// Forgets what an evaluation had that is larger than this one.
    pub(crate) fn cut(&mut self, graders: usize, chunks: usize) {
        self.0.retain(|(grader, chunk), _| *grader < graders && *chunk < chunks);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{ChunkMoves, ComparedCells, EarlierCells, MovesMemo};
    use evalrs_base::exact::mean;
    use evalrs_model::delta::{Cell, CellState, Movement};

    fn cells(states: &str) -> Arc<[Cell]> {
        let cell = |state| match state {
            'p' => Cell { score: 0.9, state: CellState::Passed },
            'f' => Cell { score: 0.1, state: CellState::Failed },
            'e' => Cell { score: 0.0, state: CellState::Errored },
            _ => Cell { score: 0.0, state: CellState::Pending },
        };
        states.chars().map(cell).collect()
    }

    fn compared(
        ids: &Arc<[Option<u128>]>,
        now: &Arc<[Cell]>,
        last: &EarlierCells,
    ) -> ComparedCells {
        ComparedCells {
            ids: Arc::clone(ids),
            now: Arc::clone(now),
            last: last.clone(),
            start: EarlierCells::Nothing,
        }
    }

    #[test]
    fn moves_are_those_of_every_case_that_is_evaluated() {
        let ids: Arc<[Option<u128>]> = Arc::from([Some(1), None, Some(3), Some(4), Some(5)]);
        let then = EarlierCells::Aligned(cells("ppfew"));
        let ChunkMoves { counts, moved, errors, since_last, since_start } =
            compared(&ids, &cells("fppep"), &then).moves();
        let told: Vec<(usize, u128, Movement)> =
            moved.iter().map(|of| (of.at, of.case, Movement::of(of.then, of.now))).collect();
        assert_eq!(told, [(0, 1, Movement::Broken), (2, 3, Movement::Fixed)]);
        assert_eq!((counts.broken, counts.fixed, counts.unchanged, counts.new), (1, 1, 1, 1));
        assert_eq!((errors, since_start.moved_by()), (1, None));
        let moved_by = mean(&[0.1, 0.9]).zip(mean(&[0.9, 0.1])).map(|(now, then)| now - then);
        assert_eq!(since_last.moved_by(), moved_by);
    }

    #[test]
    fn only_what_changed_is_computed_again() {
        let ids: Arc<[Option<u128>]> = Arc::from([Some(1), Some(2)]);
        let [now, later, then] = ["pp", "pf", "fp"].map(cells);
        let last = EarlierCells::Aligned(then);
        let mut memo = MovesMemo::default();
        let first = memo.moves(1, 2, compared(&ids, &now, &last));
        let again = memo.moves(1, 2, compared(&ids, &now, &last));
        assert!(Arc::ptr_eq(&first, &again));
        // What is equal and elsewhere may be another thing by now.
        for other in [
            compared(&ids, &later, &last),
            compared(&ids, &now, &EarlierCells::Nothing),
            compared(&Arc::from(&*ids), &now, &last),
        ] {
            let other = memo.moves(1, 2, other);
            assert!(!Arc::ptr_eq(&first, &other));
        }
        memo.cut(2, 2);
        let after = memo.moves(1, 2, compared(&ids, &now, &last));
        assert!(!Arc::ptr_eq(&first, &after));
        assert_eq!(after.counts, first.counts);
    }
}
