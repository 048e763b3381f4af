//! Which answers to label next.

use super::drawn::draw_of;
use super::given::{case_opinions, found_labels};
use crate::Db;
use crate::cases::places;
use crate::folds::split_results;
use crate::inputs::Chunk;
use crate::queries::{Grader, Threshold, cells};
use evalrs_metrics::metric::label_queue::{LabelCandidate, label_queue};
use evalrs_model::spec::LabelPick;

/// The most answers that are listed to be labelled.
const MOST: usize = 200;

/// An answer to be labelled, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedCase {
    /// Where it is.
    pub chunk: Chunk,
    /// Its place there.
    pub case: usize,
    /// Why it.
    pub picked: LabelPick,
}

/// All answers with a verdict in the order in which to label them. No label changes it.
#[salsa::tracked]
fn label_order<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Box<[QueuedCase]> {
    let Threshold(threshold) = grader.pass_threshold(db);
    let split = split_results(db, grader).as_deref().unwrap_or_default();
    let mut found = Vec::new();
    let mut candidates = Vec::new();
    let mut ordinals = 0..;
    for chunk in grader.root(db).chunks(db) {
        let cells = cells(db, *chunk, grader).cells.iter().zip(places(db, *chunk));
        for (case, (cell, _)) in cells.enumerate().filter(|(_, (_, place))| place.is_in()) {
            let ordinal = ordinals.next().unwrap_or(usize::MAX);
            let draw = draw_of(db, *chunk, grader, case).filter(|_| cell.is_verdict());
            let Some(draw) = draw else { continue };
            found.push((*chunk, case));
            candidates.push(LabelCandidate {
                draw,
                is_split: split.binary_search_by_key(&ordinal, |split| split.at).is_ok(),
                from_threshold: (cell.score - threshold).abs(),
            });
        }
    }
    let queue = label_queue(&candidates).into_iter().map(|(at, picked)| {
        let (chunk, case) = found[at];
        QueuedCase { chunk, case, picked }
    });
    queue.collect()
}

/// The answers to be labelled for a grader, in the order in which to do it.
#[salsa::tracked]
pub fn to_label<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Box<[QueuedCase]> {
    // What people differ on has no label, and was looked at all the same.
    let left = label_order(db, grader).iter().filter(|of| {
        found_labels(db, of.chunk, grader).get(of.case).is_none_or(Option::is_none)
            && case_opinions(db, of.chunk, grader, of.case).is_empty()
    });
    left.take(MOST).copied().collect()
}
