//! What every verdict was before the last save.
//!
//! Mostly that is one snapshot, of the last evaluation that was finished. One that was superseded by another save or is
//! paused overlays the verdicts that it did produce.

use std::collections::HashMap;
use std::sync::Arc;

use evalrs_graph::snapshot::{CasePlace, KnownGrade, Snapshot, SnapshotOverlap};
use evalrs_model::delta::{CaseId, Cell};
use evalrs_model::key::ActionKey;

/// The verdicts before a save.
#[derive(Clone, Debug, Default)]
pub struct PriorVerdicts {
    whole: Option<Arc<Snapshot>>,
    /// What evaluations that were not finished found out since, by case and grader.
    over: HashMap<(CaseId, u32), KnownGrade>,
    /// The graders of those, by their ordinals there.
    names: Vec<String>,
}

impl PriorVerdicts {
    /// What is before the save that follows `snapshot`.
    #[must_use]
    pub fn and(&self, snapshot: &Arc<Snapshot>) -> Self {
        if snapshot.is_whole() {
            return Self { whole: Some(Arc::clone(snapshot)), ..Self::default() };
        }
        let Self { whole, mut over, mut names } = self.clone();
        for (grader, name) in snapshot.graders.iter().map(|grader| &grader.name).enumerate() {
            let ordinal = names.iter().position(|held| held == name).unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            }) as u32;
            let same = whole.as_ref().and_then(|whole| Some((whole, whole.grader(name)?)));
            let same = same.map(|(whole, at)| (whole.as_ref(), at));
            for (chunk, cases) in snapshot.index.chunks().enumerate() {
                let is_same = |(then, of_then)| {
                    snapshot.has_same(chunk, grader, then, of_then) != SnapshotOverlap::Nothing
                };
                if over.is_empty() && same.is_some_and(is_same) {
                    continue;
                }
                for (case, at) in cases {
                    let place = CasePlace { chunk, case: at };
                    let is_same =
                        |(then, of_then)| snapshot.has_same_plan(place, grader, then, of_then);
                    if same.is_some_and(is_same) {
                        over.remove(&(case, ordinal));
                    } else if let Some(known) = snapshot.known_at(place, grader) {
                        over.insert((case, ordinal), known);
                    }
                }
            }
        }
        Self { whole, over, names }
    }

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.whole.is_none() && self.over.is_empty()
    }

    /// The grade of a case by a grader.
    pub fn cell(&self, case: CaseId, grader: &str) -> Option<Cell> {
        if let Some(known) = self.laid_over(case, grader) {
            return Some(known.cell);
        }
        let whole = self.whole.as_ref()?;
        whole.cell(case, whole.grader(grader)?).filter(|cell| cell.is_known())
    }

    /// The same with what it was made from.
    pub fn known(&self, case: CaseId, grader: &str) -> Option<KnownGrade> {
        if let Some(known) = self.laid_over(case, grader) {
            return Some(known.clone());
        }
        let whole = self.whole.as_ref()?;
        whole.known_at(whole.index.place(case)?, whole.grader(grader)?)
    }

    /// The evaluation that was finished last, if nothing lies over it.
    pub fn whole(&self) -> Option<&Arc<Snapshot>> {
        self.whole.as_ref().filter(|_| self.over.is_empty())
    }

    /// The evaluation that was finished last, overlaid or not.
    pub fn last_whole(&self) -> Option<&Arc<Snapshot>> {
        self.whole.as_ref()
    }

    /// Visits the keys of everything it rests on.
    pub fn each_key(&self, visit: &mut dyn FnMut(ActionKey)) {
        if let Some(whole) = &self.whole {
            whole.each_key(visit);
        }
        #[expect(clippy::iter_over_hash_type, reason = "keys are collected into a set")]
        for known in self.over.values() {
            known.each_key(visit);
        }
    }

    fn laid_over(&self, case: CaseId, grader: &str) -> Option<&KnownGrade> {
        if self.over.is_empty() {
            return None;
        }
        let ordinal = self.names.iter().position(|name| name == grader)?;
        self.over.get(&(case, ordinal as u32))
    }
}
