//! Which verdicts are judged first: those that first show whether a change of the rubric was good.
//!
//! Ranks are told when they are asked for. To rank a hundred thousand verdicts before the first of them is planned would
//! take longer than planning that one.

use std::collections::HashSet;
use std::sync::Arc;

use super::board_state::BoardState;
use super::prior_verdicts::PriorVerdicts;
use evalrs_engine::resolve::live::{LAST, Ranking};
use evalrs_graph::inputs::{CellId, Chunk};
use evalrs_graph::queries::{self, Grader, Threshold};
use evalrs_graph::snapshot::{Snapshot, case_ids};
use evalrs_graph::{Database, labels, results};
use evalrs_metrics::metric::labels::disagrees;
use evalrs_model::delta::{CaseId, Cell, CellState};

/// Verdicts that failed, could not be made, or disagree with a label.
const DOUBTFUL: u8 = 1;
/// Verdicts of samples that the user marked.
pub(super) const MARKED: u8 = 2;

#[derive(Debug)]
pub(super) struct Ranks {
    then: Option<Arc<Snapshot>>,
    before: Arc<PriorVerdicts>,
    marked: HashSet<CaseId>,
}

impl Ranks {
    /// Ranks by the verdicts of `then`, and those before it where it has none.
    pub(crate) fn new(
        then: Option<Arc<Snapshot>>,
        before: &Arc<PriorVerdicts>,
        views: &BoardState,
    ) -> Self {
        let then = then.or_else(|| before.last_whole().cloned());
        let selected = views.selected.map(|row| row.case);
        let marked = views.pinned.iter().copied().chain(selected).collect();
        Self { then, before: Arc::clone(before), marked }
    }

    /// The last verdict on a case that is known.
    fn known(&self, case: CaseId, grader: &str) -> Option<Cell> {
        let then = self.then.as_ref();
        let cell = then.and_then(|then| then.cell(case, then.grader(grader)?));
        cell.filter(|cell| cell.is_known()).or_else(|| self.before.cell(case, grader))
    }
}

impl Ranking for Ranks {
    fn of_chunk(&self, db: &Database, ordinal: usize, chunk: Chunk) -> u8 {
        let Some(then) = &self.then else { return LAST };
        let Some(rows) =
            then.index.ids(ordinal).filter(|ids| Arc::ptr_eq(ids, &case_ids(db, chunk)))
        else {
            // Rows of it are others, or it stands elsewhere: that has to be looked at.
            return DOUBTFUL;
        };
        let is_doubtful = |grader: &Grader<'_>| {
            let at = then.grader(grader.name(db));
            let Some(cells) = at.and_then(|at| then.cells(ordinal, at)) else { return true };
            let labels = labels::labels(db, chunk, *grader);
            let Threshold(threshold) = grader.pass_threshold(db);
            cells.iter().any(|cell| {
                matches!(cell.state, CellState::Pending | CellState::Failed | CellState::Errored)
            }) || cells.iter().zip(labels).any(|(cell, label)| {
                label.is_some_and(|label| disagrees(*cell, label, threshold).is_some())
            })
        };
        if queries::graders(db, chunk.root(db)).iter().any(is_doubtful) {
            return DOUBTFUL;
        }
        let is_marked =
            !self.marked.is_empty() && rows.iter().flatten().any(|id| self.marked.contains(id));
        if is_marked { MARKED } else { LAST }
    }

    fn of(&self, db: &Database, cell: CellId) -> u8 {
        let CellId { chunk, case: at, grader } = cell;
        let case = case_ids(db, chunk).get(at).copied().flatten();
        let grader = queries::graders(db, chunk.root(db)).get(grader).copied();
        let Some((case, grader)) = case.zip(grader) else { return LAST };
        let Threshold(threshold) = grader.pass_threshold(db);
        let is_doubtful = self.known(case, grader.name(db)).is_some_and(|cell| {
            let label = || results::label_of(db, chunk, at, grader);
            cell.state != CellState::Passed
                || label().is_some_and(|label| disagrees(cell, label, threshold).is_some())
        });
        match (is_doubtful, self.marked.contains(&case)) {
            (true, _) => DOUBTFUL,
            (false, true) => MARKED,
            (false, false) => LAST,
        }
    }
}
