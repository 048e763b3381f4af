//! One evaluation as displays show it, and what is kept of it once another is the newest.
//!
//! Every save keeps its row and its texts for as long as the session lasts. Its verdicts, and what they rest on, are kept of
//! the last saves alone: they take memory in proportion to the rows. All of them are in the store and in the record.

use std::sync::Arc;

use super::board::{DeclaredMetricRow, MAX_HISTORY, MetricRow, Overview};
use super::prior_verdicts::PriorVerdicts;
use super::save_texts::SaveTexts;
use super::totals::{EvaluationTotals, MovedVerdict};
use evalrs_base::ordered_map::OrderedMap;
use evalrs_graph::snapshot::Snapshot;
use evalrs_metrics::gate::GateStatus;
use evalrs_model::delta::MovementCounts;

/// One evaluation as it is shown.
#[derive(Clone, Debug, Default)]
pub struct ShownEvaluation {
    /// What is shown at once.
    pub overview: Overview,
    /// All of it, as of the last totals.
    pub snapshot: Option<Arc<Snapshot>>,
    /// The digests of the rubrics, by grader.
    pub rubrics: OrderedMap<String>,
    /// The texts of the suite's files.
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
            if let Some(held) = self.overview.metrics.iter().find(|of| of.grader == metric.grader) {
                metric.history.clone_from(&held.history);
                metric.label.clone_from(&held.label);
                metric.held_out = held.held_out;
            }
        }
        let mut declared = totals.declared;
        for metric in &mut declared {
            metric.since_last = metric.change_from(&self.declared_before);
            metric.since_start = metric.change_from(&self.declared_at_start);
            if let Some(held) = self.overview.declared.iter().find(|of| of.name == metric.name) {
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

    /// Forgets the numbers, which are those of an earlier evaluation.
    pub(super) fn forget_numbers(&mut self) {
        let overview = &mut self.overview;
        for row in &mut overview.metrics {
            let MetricRow { grader, label, total, history, .. } = std::mem::take(row);
            *row = MetricRow { grader, label, total, history, ..MetricRow::default() };
        }
        for row in &mut overview.declared {
            let DeclaredMetricRow { name, definition, kind, history, .. } = std::mem::take(row);
            let none = DeclaredMetricRow::default();
            *row = DeclaredMetricRow { name, definition, kind, history, ..none };
        }
        overview.counts = MovementCounts::default();
        let gate = &mut overview.gate;
        gate.status = gate.status.map(|_| GateStatus::Undecided);
        gate.value = None;
        gate.lowest = None;
        gate.highest = None;
        gate.lacks = None;
        gate.conditions.clear();
    }

    /// How many verdicts it holds.
    pub fn verdicts(&self) -> usize {
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

/// The most saves before the newest one whose verdicts are kept.
pub(super) const MAX_KEPT_SAVES: usize = 20;

/// The most verdicts that are kept of all of them together; those of the last one are kept however many they are.
const MAX_KEPT_VERDICTS: usize = 100_000;

/// The evaluations before the newest one, by the number of their save.
#[derive(Debug, Default)]
pub(super) struct PastSaves(Vec<ShownEvaluation>);

impl PastSaves {
    /// Adds the one that was the newest so far. Verdicts of older ones are dropped where they are too many.
    pub(crate) fn push(&mut self, shown: ShownEvaluation) {
        self.0.push(shown);
        let kept = kept(self.0.iter().rev().map(ShownEvaluation::verdicts));
        self.0.iter_mut().rev().skip(kept).for_each(ShownEvaluation::drop_verdicts);
    }

    pub(crate) fn get(&self, save: u32) -> Option<&ShownEvaluation> {
        self.0.get(save as usize)
    }

    pub(crate) fn get_mut(&mut self, save: u32) -> Option<&mut ShownEvaluation> {
        self.0.get_mut(save as usize)
    }

    /// All of them, the first evaluation first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &ShownEvaluation> + Clone {
        self.0.iter()
    }
}

/// How many saves keep their verdicts, given this many in each, the last save first.
fn kept(verdicts: impl Iterator<Item = usize>) -> usize {
    let mut sum = 0_usize;
    let within = verdicts.take(MAX_KEPT_SAVES).take_while(|verdicts| {
        sum = sum.saturating_add(*verdicts);
        sum <= MAX_KEPT_VERDICTS
    });
    within.count().max(1)
}

#[cfg(test)]
mod tests {
    use super::{MAX_KEPT_SAVES, MAX_KEPT_VERDICTS, PastSaves, ShownEvaluation, kept};
    use crate::board::{DeclaredMetricRow, MetricRow};
    use evalrs_metrics::gate::{GateReport, GateStatus};

    #[test]
    fn numbers_of_an_earlier_evaluation_are_forgotten_and_nothing_else() {
        let mut shown = ShownEvaluation::default();
        let metric = MetricRow {
            grader: "g".to_owned(),
            total: 7,
            history: vec![0.5],
            ..MetricRow::default()
        };
        let named = DeclaredMetricRow { name: "m".to_owned(), ..DeclaredMetricRow::default() };
        let gate = GateReport {
            rule: Some("g >= 1".to_owned()),
            threshold: Some(1.0),
            ..GateReport::default()
        };
        shown.overview.metrics = vec![MetricRow {
            mean: Some(0.5),
            pass_rate: Some(1.0),
            judged: 6,
            errors: 1,
            ..metric.clone()
        }];
        shown.overview.declared =
            vec![DeclaredMetricRow { value: Some(0.5), n: 3, ..named.clone() }];
        shown.overview.counts.unchanged = 5;
        shown.overview.actions.asked = 3;
        let conditions = vec![GateReport { value: Some(0.5), ..gate.clone() }];
        let passed = Some(GateStatus::Passed);
        shown.overview.gate = GateReport {
            status: passed,
            value: Some(0.5),
            lowest: Some(0.1),
            conditions,
            ..gate.clone()
        };
        shown.forget_numbers();
        assert_eq!(shown.overview.metrics, [metric]);
        assert_eq!(shown.overview.declared, [named]);
        assert_eq!((shown.overview.counts.unchanged, shown.overview.actions.asked), (0, 3));
        let undecided = Some(GateStatus::Undecided);
        assert_eq!(shown.overview.gate, GateReport { status: undecided, ..gate });
        // Without a gate there is none afterwards.
        shown.overview.gate = GateReport::default();
        shown.forget_numbers();
        assert_eq!(shown.overview.gate.status, None);
    }

    #[test]
    fn the_verdicts_of_the_last_saves_are_kept() {
        let most = MAX_KEPT_VERDICTS;
        for (verdicts, expected) in [
            (vec![7; 3], 3),
            (vec![7; 100], MAX_KEPT_SAVES),
            (vec![most / 4; 9], 4),
            (vec![most, 1, 1], 1),
            (vec![most + 1, 1, 1], 1),
            (vec![most - 1, 1, 1], 2),
        ] {
            assert_eq!(kept(verdicts.iter().copied()), expected, "{verdicts:?}");
        }
    }

    #[test]
    fn every_save_keeps_its_row() {
        let mut past = PastSaves::default();
        for save in 0..30 {
            let mut shown = ShownEvaluation::default();
            shown.overview.save = save;
            past.push(shown);
        }
        assert_eq!(past.get(3).map(|past| past.overview.save), Some(3));
        assert_eq!((past.iter().count(), past.get(30).is_none()), (30, true));
    }
}
