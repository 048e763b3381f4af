//! The cases on which people differ: some say that the answer passes, others that it does not.

use super::given::people;
use crate::Db;
use crate::cases::{checked, places};
use crate::inputs::Chunk;
use crate::queries::{Grader, Threshold};
use crate::selection::named;
use evalrs_metrics::metric::annotators::DisputedCase;

/// What people differ on of a case; none where they do not.
pub fn disputed_case<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
    case: usize,
) -> Option<DisputedCase> {
    let said = people(db, chunk, grader).get(case)?;
    let Threshold(threshold) = grader.pass_threshold(db);
    let named_labels = said.iter().map(|(who, label)| (who.as_deref(), *label));
    let found = DisputedCase::of(named_labels, threshold)?;
    let who = checked(db, chunk).whos.get(case)?;
    let place = places(db, chunk).get(case)?;
    Some(DisputedCase {
        sample_id: named(who.id(), place.occurrence),
        model: who.identity.model.clone(),
        trial: who.identity.trial,
        ..found
    })
}

/// The selected cases on which people differ for a grader, in dataset order.
#[salsa::tracked]
pub fn disputed_cases<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Box<[DisputedCase]> {
    let mut found = Vec::new();
    for chunk in grader.root(db).chunks(db) {
        for case in 0..people(db, *chunk, grader).len() {
            let is_in = places(db, *chunk).get(case).is_some_and(|place| place.is_in());
            found.extend(is_in.then(|| disputed_case(db, *chunk, grader, case)).flatten());
        }
    }
    found.into()
}
