//! Two recorded evaluations compared: what `evalrs diff --json` prints and `/api/diff` answers.

use evalrs_metrics::diff::{Diff, DiffLabels, DiffSide, compare};
use evalrs_store::record::read::PastRun;
use evalrs_store::record::side::add_rationales;
use evalrs_system::System;

/// The compared values, and how much of them is shown.
#[derive(Clone, Copy, Debug)]
pub struct RunComparison<'a> {
    /// The records of both sides.
    pub pasts: [&'a PastRun; 2],
    /// Human labels of both.
    pub labels: &'a DiffLabels,
    /// The one grader that is compared; none for all.
    pub grader: Option<&'a str>,
    /// Of how many verdicts that moved the rationales are read.
    pub explained: usize,
}

impl RunComparison<'_> {
    /// What moved between these sides, and why.
    pub fn of(self, sides: [DiffSide; 2], system: &dyn System) -> Diff {
        let [before, now] = sides;
        let mut diff = compare(&before, &now, self.grader, self.labels);
        drop((before, now));
        let shown = diff.moved.len().min(self.explained);
        let moved = &mut diff.moved[..shown];
        if !moved.is_empty() {
            let [before, now] = self.pasts;
            add_rationales(system, before, &diff.before, moved, |moved| &mut moved.before);
            add_rationales(system, now, &diff.now, moved, |moved| &mut moved.now);
        }
        diff
    }
}
