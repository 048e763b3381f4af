//! What a watched session can be in: how far its evaluation is, and whether the files are valid.

use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::URGENT;
use crate::app::watch::board::DeclaredMetricRow;
use crate::app::watch::chunk_moves::MovesMemo;
use crate::app::watch::recording::CaseNames;
use crate::app::watch::shown_evaluation::ShownEvaluation;
use crate::base::diagnostic::Diagnostic;
use crate::effects::fs_watch::ChangedPaths;
use crate::graph::snapshot::Snapshot;

/// How far the evaluation of the last save is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The files were not valid yet since the session began.
    Loading,
    /// It is not known yet what will be asked.
    Planning,
    /// Everything is planned, and verdicts come in.
    Evaluating,
    /// The first verdicts are there and the rest waits for the user, who was told so.
    Paused,
    /// Everything is there that will be, and the user was told so.
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
    pub(super) again: Option<Instant>,
    /// What was touched since it was not.
    pub(super) touched: ChangedPaths,
    pub(super) problems: Vec<Diagnostic>,
}

impl BrokenSave {
    /// Whether it has been broken for so long that it is not merely half written.
    pub(super) fn is_due(&self) -> bool {
        self.again.is_some_and(|again| again <= Instant::now())
    }
}

/// What was saved, while its programs are loaded.
#[derive(Debug)]
pub(super) struct PreflightSave {
    /// What was touched.
    pub(super) touched: ChangedPaths,
    /// Whether the environment or a setting changed.
    pub(super) has_new_context: bool,
    /// What was broken before it.
    pub(super) broken: Option<BrokenSave>,
}

/// Which totals are shown, and when the next ones are evaluated.
#[derive(Debug)]
pub(super) struct TotalsState {
    /// Raised with every beginning.
    pub(super) changes: u64,
    /// The version of the session that is shown.
    pub(super) of: Option<u64>,
    /// The version with which the last save began: totals of older ones are of another save.
    pub(super) begun_at: u64,
    pub(super) next: Instant,
    /// What is known of each chunk from the last ones.
    pub(super) memo: Arc<Mutex<MovesMemo>>,
}

impl TotalsState {
    pub(super) fn new(now: Instant) -> Self {
        let memo = Arc::default();
        Self { changes: 0, of: None, begun_at: 0, next: now, memo }
    }
}

/// How many verdicts of the save were shown one by one.
#[derive(Debug)]
pub(super) struct VerdictQuota {
    /// Verdicts that are still shown at once.
    pub(super) urgent: u64,
    pub(super) listed: usize,
}

impl VerdictQuota {
    pub(super) const NEW: Self = Self { urgent: URGENT, listed: 0 };
}

/// What the record of the session has, and what it still lacks.
#[derive(Debug, Default)]
pub(super) struct RecordState {
    /// The evaluation that was recorded last.
    pub(super) last: Option<Arc<Snapshot>>,
    /// Whether the evaluation of the last save is still to be recorded.
    pub(super) is_due: bool,
    /// Evaluations that were superseded and are not written yet.
    pub(super) unwritten: Vec<UnrecordedSave>,
    pub(super) names: CaseNames,
    /// The declared metrics of the evaluation that was finished last.
    pub(super) declared: Vec<DeclaredMetricRow>,
    /// Those of the first that was finished.
    pub(super) declared_at_start: Vec<DeclaredMetricRow>,
}

/// An evaluation that another save came before the end of.
#[derive(Debug)]
pub(super) struct UnrecordedSave {
    pub(super) shown: ShownEvaluation,
    pub(super) last: Option<Arc<Snapshot>>,
}
