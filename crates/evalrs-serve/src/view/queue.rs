//! The order in which the answers of a run are to be labelled, as `L` of `watch` has it.

use std::collections::HashMap;

use super::rows::RunRows;
use evalrs_metrics::metric::label_queue::{LabelCandidate, draw_number, label_queue};
use evalrs_model::spec::LabelPick;

/// The rows with a verdict of a grader in the order in which to label them, and why each.
pub(crate) struct LabelQueue {
    /// The ordinal of a row → its place in the order, and why.
    places: HashMap<usize, QueuePlace>,
}

/// Where an answer stands in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePlace {
    at: usize,
    pub picked: LabelPick,
}

impl LabelQueue {
    /// That of the grader with this ordinal.
    pub(crate) fn of(rows: &RunRows, grader: usize) -> Self {
        let threshold = rows.graders[grader].threshold;
        let all = rows.rows.iter().enumerate();
        let judged = all.filter(|(_, row)| row.verdicts[grader].state.passed().is_some());
        let (ordinals, candidates): (Vec<usize>, Vec<LabelCandidate>) = judged
            .map(|(ordinal, row)| {
                let verdict = row.verdicts[grader];
                let candidate = LabelCandidate {
                    draw: draw_number(&row.sample_id, verdict.submission),
                    is_split: verdict.is_split,
                    from_threshold: (verdict.score - threshold).abs(),
                };
                (ordinal, candidate)
            })
            .unzip();
        let queue = label_queue(&candidates).into_iter().enumerate();
        let places = queue.map(|(at, (of, picked))| (ordinals[of], QueuePlace { at, picked }));
        Self { places: places.collect() }
    }

    /// The place of a row; none without a verdict.
    pub(crate) fn place(&self, ordinal: usize) -> Option<QueuePlace> {
        self.places.get(&ordinal).copied()
    }

    /// Sorts rows by their places; those without a verdict come last.
    pub(crate) fn sort(&self, wanted: &mut [usize]) {
        wanted.sort_by_key(|ordinal| self.place(*ordinal).map_or(usize::MAX, |place| place.at));
    }
}
