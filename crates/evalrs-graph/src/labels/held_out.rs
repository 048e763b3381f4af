//! What is asked of labels that are held out.

use crate::Db;
use crate::cases::{checked, places};
use crate::folds::{held_out, label_agreement};
use crate::inputs::Root;
use crate::queries::{Grader, Threshold, cells, graders};
use crate::selection::named;
use evalrs_metrics::metric::holdout::{HeldOutQuestion, HeldOutVerdict};
use evalrs_model::delta::CellState;
use evalrs_statistics::reusable_holdout::AgreementCount;

/// Of fewer held-out labels nothing is told: who narrows a suite down to a row would be told its label.
const FEWEST: usize = 10;

/// A question for each grader that has held-out labels and a verdict or an error for all of them. None where the command line
/// leaves rows out: the agreement of a few is the labels of a few.
pub fn questions(db: &dyn Db, root: Root) -> Vec<HeldOutQuestion> {
    if !root.overrides(db).has_every_case() {
        return Vec::new();
    }
    graders(db, root).iter().filter_map(|grader| question(db, *grader)).collect()
}

fn question<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<HeldOutQuestion> {
    let Threshold(threshold) = grader.pass_threshold(db);
    let mut verdicts = Vec::new();
    for (chunk, case, label) in held_out(db, grader) {
        let cell = cells(db, chunk, grader).cells.get(case)?;
        let verdict = match cell.state {
            CellState::Pending => return None,
            CellState::Skipped | CellState::NotApplicable | CellState::Errored => continue,
            CellState::Passed => true,
            CellState::Failed => false,
        };
        let who = checked(db, chunk).whos.get(case)?;
        let place = places(db, chunk).get(case)?;
        let sample = named(who.id(), place.occurrence);
        let identity = &who.identity;
        verdicts.push(HeldOutVerdict {
            case: format!("{sample}\n{:?}\n{}", identity.model, identity.trial),
            label: label.passes(threshold),
            verdict,
        });
    }
    let shown = label_agreement(db, grader).unwrap_or_default();
    Some(HeldOutQuestion {
        grader: grader.name(db).clone(),
        shown: AgreementCount { agree: shown.both_pass + shown.both_fail, n: shown.n },
        held_out: verdicts,
    })
    .filter(|asked| asked.held_out.len() >= FEWEST)
}
