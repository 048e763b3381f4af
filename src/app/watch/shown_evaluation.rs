//! One evaluation as displays show it, and what is kept of it once another is the newest.

use std::sync::Arc;

use super::board::{DeclaredMetricRow, MAX_HISTORY, Overview};
use super::prior_verdicts::PriorVerdicts;
use super::save_texts::SaveTexts;
use super::totals::{EvaluationTotals, MovedVerdict};
use crate::base::ordered_map::Ordered;
use crate::graph::snapshot::Snapshot;

/// One evaluation as it is shown.
#[derive(Clone, Debug, Default)]
pub struct ShownEvaluation {
    /// What is shown at once.
    pub overview: Overview,
    /// All of it, as of the last totals.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The digests of the rubrics, by grader.
    pub rubrics: Ordered<String>,
    /// What the suite's files said.
    pub texts: SaveTexts,
    /// When it began: the time of day.
    pub time: String,
    /// What was before.
    pub before: Arc<PriorVerdicts>,
    /// The verdicts that moved, those that matter most first.
    pub moved: Vec<MovedVerdict>,
    /// The declared metrics of the evaluation that was finished before.
    pub declared_before: Vec<DeclaredMetricRow>,
    /// Those of the first evaluation.
    pub declared_at_start: Vec<DeclaredMetricRow>,
}

impl ShownEvaluation {
    /// Takes in what is known of the evaluation as a whole. Each metric keeps its history.
    pub fn take(&mut self, totals: EvaluationTotals) {
        let mut metrics = totals.metrics;
        for metric in &mut metrics {
            let held = self.overview.metrics.iter().find(|held| held.grader == metric.grader);
            if let Some(held) = held {
                metric.history.clone_from(&held.history);
                metric.label.clone_from(&held.label);
                metric.held_out = held.held_out;
            }
        }
        let mut declared = totals.declared;
        for metric in &mut declared {
            metric.since_last = metric.change_from(&self.declared_before);
            metric.since_start = metric.change_from(&self.declared_at_start);
            let held = self.overview.declared.iter().find(|held| held.name == metric.name);
            if let Some(held) = held {
                metric.history.clone_from(&held.history);
            }
        }
        self.overview.declared = declared;
        self.overview.metrics = metrics;
        self.overview.counts = totals.counts;
        self.overview.gate = totals.gate;
        self.moved = totals.moved;
        self.snapshot = Some(totals.snapshot);
    }

    /// Remembers the numbers of a finished evaluation.
    pub fn remember_means(&mut self) {
        let of_graders = self.overview.metrics.iter_mut().map(|row| (&mut row.history, row.mean));
        let of_metrics = self.overview.declared.iter_mut().map(|row| (&mut row.history, row.value));
        for (history, value) in of_graders.chain(of_metrics) {
            history.extend(value);
            let surplus = history.len().saturating_sub(MAX_HISTORY);
            history.drain(..surplus);
        }
    }

    /// How many verdicts it holds.
    pub(super) fn verdicts(&self) -> usize {
        self.snapshot.as_ref().map_or(0, |held| held.index.len() * held.graders.len())
    }

    /// Keeps the row of the save, and nothing that takes memory in proportion to the rows.
    pub(super) fn drop_verdicts(&mut self) {
        if self.overview.has_no_verdicts {
            return;
        }
        self.snapshot = None;
        self.before = Arc::default();
        self.moved = Vec::new();
        let overview = &mut self.overview;
        let newer = overview.save + 1;
        overview.has_no_verdicts = true;
        overview.metrics.iter_mut().for_each(|row| row.history = Vec::new());
        overview.declared.iter_mut().for_each(|row| row.history = Vec::new());
        overview.notes = vec![format!(
            "its verdicts are not kept; `evalrs diff latest@{} latest@{newer}` compares them",
            overview.save
        )];
    }

    /// Lists a verdict that came in where it belongs, before totals tell of it.
    pub fn list(&mut self, moved: MovedVerdict) {
        self.moved.retain(|held| held.row != moved.row);
        if moved.movement.is_move() {
            let at = self.moved.partition_point(|held| held.order(&moved).is_le());
            self.moved.insert(at, moved);
        }
    }
}
