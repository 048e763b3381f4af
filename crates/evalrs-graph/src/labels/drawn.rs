//! Which labels may represent unlabelled results: those that were sampled at random.

use super::given::{label_picks, labels, submission_digest};
use crate::Db;
use crate::cases::placed;
use crate::inputs::Chunk;
use crate::queries::Grader;
use crate::selection::named;
use evalrs_metrics::metric::label_queue::{draw_number, is_drawn};
use evalrs_model::spec::{Label, LabelPick};

/// The numbers of the cases of a chunk in the random order. Labels and verdicts change none of them.
#[salsa::tracked]
fn draws<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Box<[u64]> {
    let mut numbers = Vec::new();
    for (case, (who, place)) in placed(db, chunk).enumerate() {
        let submission = submission_digest(db, chunk, grader, case).unwrap_or_default();
        numbers.push(draw_number(&named(who.id(), place.occurrence), submission));
    }
    numbers.into()
}

/// That of a case; none if the case does not exist.
pub(crate) fn draw_of<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
    case: usize,
) -> Option<u64> {
    draws(db, chunk, grader).get(case).copied()
}

/// The greatest number of an answer whose label was sampled at random; none if no label was.
#[salsa::tracked(returns(copy))]
pub fn drawn_until<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<u64> {
    let mut last = None;
    for chunk in grader.root(db).chunks(db) {
        let picks = label_picks(db, *chunk, grader).iter().enumerate();
        for (case, _) in picks.filter(|(_, picked)| **picked == Some(LabelPick::Random)) {
            last = last.max(draw_of(db, *chunk, grader, case));
        }
    }
    last
}

/// What is known of a shown label of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SampledLabel {
    /// It may stand for those that have none.
    Drawn(Label),
    /// Somebody chose to label it: what it says is of itself alone.
    Chosen,
}

/// The label of a case, if it has a shown one.
pub(crate) fn sampled_label<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
    case: usize,
) -> Option<SampledLabel> {
    let label = labels(db, chunk, grader).get(case).copied().flatten()?;
    let picked = label_picks(db, chunk, grader).get(case).copied().flatten();
    let is_of_part = match picked {
        None => true,
        Some(_) => {
            let draw = draw_of(db, chunk, grader, case)?;
            is_drawn(picked, draw, drawn_until(db, grader))
        }
    };
    Some(if is_of_part { SampledLabel::Drawn(label) } else { SampledLabel::Chosen })
}
