//! What a watched session can be in: how far its evaluation is, and whether the files are valid.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::board::DeclaredMetricRow;
use crate::chunk_moves::MovesMemo;
use crate::recording::CaseNames;
use crate::shown_evaluation::ShownEvaluation;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_graph::snapshot::Snapshot;
use evalrs_system::changed_paths::ChangedPaths;

/// How far the evaluation of the last save is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The files were not valid yet since the session began.
    Loading,
    /// The calls of the save are not known yet.
    Planning,
    /// Everything is planned, and verdicts come in.
    Evaluating,
    /// The first verdicts are there and the rest is paused, as the user has seen.
    Paused,
    /// Everything is complete, as the user has seen.
    Settled,
}

impl Phase {
    pub(super) fn is_planned(self) -> bool {
        !matches!(self, Self::Loading | Self::Planning)
    }
}

/// Whether the files can be evaluated as they were saved last.
#[derive(Debug)]
pub(super) enum FilesState {
    Valid,
    Broken(BrokenSave),
    /// Their programs are being loaded, which decides it.
    Preflight(PreflightSave),
}

/// What is broken, and since when.
#[derive(Debug)]
pub(super) struct BrokenSave {
    /// When it is looked at once more before it is shown; none once it is shown.
    pub again: Option<Instant>,
    /// What was touched since it was not.
    pub touched: ChangedPaths,
    pub problems: Vec<Diagnostic>,
}

impl BrokenSave {
    /// Whether it has been broken for so long that it is not merely half written.
    pub(super) fn is_due(&self) -> bool {
        self.again.is_some_and(|again| again <= Instant::now())
    }
}

/// What was saved, while its programs are loaded.
#[derive(Debug, Default)]
pub(super) struct PreflightSave {
    pub touched: ChangedPaths,
    /// Whether the environment or a setting changed.
    pub(super) has_new_context: bool,
    /// What was broken before it.
    pub broken: Option<BrokenSave>,
}

/// The least time between two evaluations of everything while verdicts come in.
const BETWEEN_TOTALS: Duration = Duration::from_millis(100);
const MAX_BETWEEN_TOTALS: Duration = Duration::from_secs(2);
/// How long totals rest at least, in times of what they took: a tenth of a core computes them while verdicts come in.
const TOTALS_REST: u32 = 9;

/// Which totals are shown, and when the next ones are evaluated.
#[derive(Debug)]
pub(super) struct TotalsState {
    /// Raised with every beginning.
    pub changes: u64,
    /// The version of the session that is shown.
    pub of: Option<u64>,
    /// The version with which the last save began: totals of older ones are of another save.
    pub(super) begun_at: u64,
    pub next: Instant,
    /// What is known of each chunk from the last ones.
    pub(super) memo: Arc<Mutex<MovesMemo>>,
}

impl TotalsState {
    pub(super) fn new(now: Instant) -> Self {
        Self { changes: 0, of: None, begun_at: 0, next: now, memo: Arc::default() }
    }

    /// A save begins at this version of the session: its first totals need not rest.
    pub(super) fn begin(&mut self, version: u64, now: Instant) {
        self.begun_at = version;
        self.next = now;
    }

    /// Takes note of totals of a version that were done at `now`; false where they are of an earlier save, and of no use.
    pub(super) fn accept(&mut self, of: u64, took: Duration, now: Instant) -> bool {
        let is_of_now = of >= self.begun_at;
        if is_of_now {
            self.of = Some(of);
            self.next = now + (took * TOTALS_REST).clamp(BETWEEN_TOTALS, MAX_BETWEEN_TOTALS);
        }
        is_of_now
    }

    /// Whether none of the last save came yet.
    pub(super) fn are_of_an_earlier_save(&self) -> bool {
        self.of.is_none_or(|of| of < self.begun_at)
    }

    /// Whether it is too early for the next ones while verdicts come in.
    pub(super) fn is_resting(&self, now: Instant) -> bool {
        now < self.next
    }
}

/// Verdicts of a save that are shown at once, whatever else is evaluated.
const URGENT: u64 = 20;

/// How many verdicts of the save were shown one by one.
#[derive(Debug)]
pub(super) struct VerdictQuota {
    /// Verdicts that are still shown at once.
    pub(super) urgent: u64,
    pub listed: usize,
}

impl VerdictQuota {
    pub(super) const NEW: Self = Self { urgent: URGENT, listed: 0 };
}

/// What the record of the session has, and what it still lacks.
#[derive(Debug, Default)]
pub(super) struct RecordState {
    /// The evaluation that was recorded last.
    pub last: Option<Arc<Snapshot>>,
    /// Whether the evaluation of the last save is still to be recorded.
    pub is_due: bool,
    /// Evaluations that were superseded and are not written yet.
    pub(super) unwritten: Vec<UnrecordedSave>,
    pub names: CaseNames,
    /// The declared metrics of the evaluation that was finished last.
    pub declared: Vec<DeclaredMetricRow>,
    /// Those of the first that was finished.
    pub(super) declared_at_start: Vec<DeclaredMetricRow>,
}

/// An evaluation that another save came before the end of.
#[derive(Debug)]
pub(super) struct UnrecordedSave {
    pub shown: ShownEvaluation,
    pub last: Option<Arc<Snapshot>>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::TotalsState;

    #[test]
    fn totals_rest_by_what_they_took_and_those_of_a_new_save_do_not() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let took = Duration::from_millis;
        let mut totals = TotalsState::new(start);
        assert!(!totals.is_resting(start));
        for (took_millis, rest) in [(1, 100), (50, 450), (10_000, 2_000)] {
            assert!(totals.accept(1, took(took_millis), start));
            assert!(
                totals.is_resting(at(rest - 1)) && !totals.is_resting(at(rest)),
                "{took_millis}"
            );
        }
        totals.begin(5, at(10));
        assert!(!totals.is_resting(at(10)));
        // Those of the save before, which were under way, are neither shown nor do they make the new ones rest.
        assert!(!totals.accept(4, took(10_000), at(20)));
        assert_eq!((totals.of, totals.is_resting(at(20))), (Some(1), false));
        assert!(totals.are_of_an_earlier_save());
        assert!(totals.accept(5, took(50), at(20)) && totals.is_resting(at(21)));
        assert!(!totals.are_of_an_earlier_save());
    }
}
