//! What judges were sent about the verdict that a display shows that of, and what they replied.
//!
//! Reading the store takes longer than a drawing may: a display that asks for a text which is not there is given none, and
//! whoever owns the session loads it before the next drawing. It is loaded again when it may be another one.

use std::cell::Cell;

use super::board::VerdictId;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_engine::inspect::explain::{Layers, winning};
use evalrs_engine::inspect::sent::sent_judgments;
use evalrs_engine::session::Session;
use evalrs_graph::inputs::CellId;
use evalrs_graph::results;
use evalrs_metrics::explain::sent::SentCase;
use evalrs_report::explain::sent::add_case;
use evalrs_report::page::Page;
use evalrs_report::page::terminal::{PageScreen, write};

/// The text that was loaded last, and the verdict that was requested since.
#[derive(Debug, Default)]
pub(super) struct SentView {
    wanted: Cell<Option<VerdictId>>,
    loaded: Option<LoadedSent>,
}

#[derive(Debug)]
struct LoadedSent {
    id: VerdictId,
    /// The version of the session that it was read from: judgments that are repeated keep their keys.
    version: u64,
    text: String,
}

impl SentView {
    /// The text of a verdict, if it is loaded; it is loaded next.
    pub(crate) fn text(&self, id: VerdictId) -> Option<&str> {
        self.wanted.set(Some(id));
        self.loaded.as_ref().filter(|loaded| loaded.id == id).map(|loaded| &*loaded.text)
    }

    /// The verdict requested since the last call.
    pub(super) fn take_wanted(&self) -> Option<VerdictId> {
        self.wanted.take()
    }

    /// Whether the text of `id` was requested and is not the loaded one.
    pub(super) fn lacks(&self) -> bool {
        let loaded = self.loaded.as_ref().map(|loaded| loaded.id);
        self.wanted.get().is_some_and(|id| loaded != Some(id))
    }

    /// Whether what is loaded is the text of `id` as of `version`.
    pub(crate) fn has(&self, id: VerdictId, version: u64) -> bool {
        self.loaded.as_ref().is_some_and(|loaded| loaded.id == id && loaded.version == version)
    }

    pub(crate) fn set(&mut self, id: VerdictId, version: u64, text: String) {
        self.loaded = Some(LoadedSent { id, version, text });
    }
}

/// What the judges of a verdict were sent and replied, as `explain --prompt` writes it of this grader.
pub(super) fn sent_text(session: &Session, cell: CellId, layers: &mut Layers) -> Option<String> {
    let db = &session.db;
    let grader = session.grader(cell.grader)?;
    let head = results::head(db, cell.chunk, cell.case)?;
    let judgments = sent_judgments(session, cell, grader, &mut |key| winning(layers, key))?;
    let graders = OrderedMap(vec![(grader.name(db).clone(), judgments)]);
    let case = SentCase { model: head.model, trial: head.trial, graders };
    let mut page = Page::default();
    add_case(&case, &mut page);
    let mut text = Vec::new();
    // Lines are broken where they are drawn.
    write(&page, PageScreen { width: usize::MAX, cuts: false }, &mut text).ok()?;
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::SentView;
    use crate::board::VerdictId;

    #[test]
    fn a_text_is_wanted_by_asking_for_it_and_loaded_once_for_a_version() {
        let [one, other] = [1, 2].map(|case| VerdictId { case, grader: 0 });
        let mut view = SentView::default();
        assert_eq!((view.text(one), view.lacks()), (None, true));
        assert_eq!((view.take_wanted(), view.lacks()), (Some(one), false));
        view.set(one, 7, "sent".to_owned());
        assert_eq!((view.text(one), view.lacks()), (Some("sent"), false));
        assert!(view.has(one, 7) && !view.has(one, 8) && !view.has(other, 7));
        // What is loaded for another one is not shown for this one.
        assert_eq!((view.text(other), view.lacks(), view.take_wanted()), (None, true, Some(other)));
        assert_eq!(view.take_wanted(), None, "nobody looks at it any more");
    }
}
