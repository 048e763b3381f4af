//! The labels that pages gave since the server began, as far as they can be taken back.

use std::sync::Mutex;

use super::locks::locked;
use crate::view::case::CasePlaceView;
use evalrs_eval::dataset::label_edit::{LabelChange, NewLabel};

/// The most labels that can be taken back.
const MOST: usize = 1000;

/// The labels that pages gave since the server began, the newest last.
#[derive(Default)]
pub(super) struct LabelUndo {
    given: Mutex<Vec<UndoableLabel>>,
}

/// A label that can be taken back.
pub(super) struct UndoableLabel {
    suite: String,
    who: Option<String>,
    pub(super) grader: Option<String>,
    pub(super) place: CasePlaceView,
    pub(super) change: LabelChange,
}

impl LabelUndo {
    /// Notes what a label changed.
    pub(super) fn note(&self, suite: &str, label: &NewLabel, change: LabelChange) {
        let place = CasePlaceView {
            sample_id: label.id.clone(),
            model: label.model.clone(),
            trial: label.trial.unwrap_or(0),
        };
        let mut given = locked(&self.given);
        if given.len() == MOST {
            given.remove(0);
        }
        given.push(UndoableLabel {
            suite: suite.to_owned(),
            who: label.who.clone(),
            grader: label.grader.clone(),
            place,
            change,
        });
    }

    /// Takes the newest of a person out.
    pub(super) fn take(&self, suite: &str, who: Option<&str>) -> Option<UndoableLabel> {
        let mut given = locked(&self.given);
        let at = given.iter().rposition(|one| one.suite == suite && one.who.as_deref() == who)?;
        Some(given.remove(at))
    }
}
