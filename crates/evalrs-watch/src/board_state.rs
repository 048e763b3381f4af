//! What a session that is watched shows and remembers: its evaluations, and what the user marked and looks at.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use super::board::{CaseId, ListFacts, SaveRow, VerdictId};
use super::list_query::ListQuery;
use super::save_texts::SaveTexts;
use super::sent_view::SentView;
use super::shown_evaluation::{PastSaves, ShownEvaluation};
use super::take_back::{FileEdit, edits};
use evalrs_model::key::{ActionKey, Ingredient};

#[derive(Debug, Default)]
pub(super) struct BoardState {
    /// The newest evaluation.
    pub now: ShownEvaluation,
    pub past: PastSaves,
    /// The earlier save that is looked at; none while it is the newest.
    pub looked_at: Option<u32>,
    /// The samples that are listed first and judged early.
    pub pinned: HashSet<CaseId>,
    pub selected: Option<VerdictId>,
    /// The verdicts with judge calls in flight.
    pub under_way: HashSet<VerdictId>,
    /// What the judgments were made of that the verdict the user looks at rested on before.
    pub kept: Option<(ActionKey, Vec<Ingredient>)>,
    /// The requests about the verdict that a display wants to show.
    pub sent: SentView,
    /// The rows that were listed last, until something changes.
    pub listed: RefCell<Option<ListedRows>>,
    /// What there is to choose from, until something is evaluated again.
    pub facts: RefCell<Option<Arc<ListFacts>>>,
    /// The saves that were listed last, until something changes.
    pub saves: RefCell<Option<Vec<SaveRow>>>,
}

/// A list of rows, and what it was made for.
pub(super) type ListedRows = (ListQuery, Vec<VerdictId>);

impl BoardState {
    /// Lists are made again.
    pub(crate) fn changed(&mut self) {
        self.listed.replace(None);
        self.saves.replace(None);
    }

    /// Looks at the evaluation of a save. False if there is none of that number.
    pub(super) fn look_at(&mut self, save: u32) -> bool {
        let is_newest = save == self.now.overview.save;
        let is_there = is_newest || self.past.get(save).is_some();
        if is_there {
            self.looked_at = (!is_newest).then_some(save);
            self.listed.replace(None);
        }
        is_there
    }

    pub(crate) fn of(&self, save: u32) -> Option<&ShownEvaluation> {
        let now = Some(&self.now).filter(|now| now.overview.save == save);
        now.or_else(|| self.past.get(save))
    }

    /// What is written to take a save back.
    pub(super) fn edits_to(&self, save: u32) -> Vec<FileEdit> {
        let newest_first = [&self.now].into_iter().chain(self.past.iter().rev());
        let newest_first: Vec<&SaveTexts> = newest_first.map(|shown| &shown.texts).collect();
        self.of(save).map_or_else(Vec::new, |wanted| edits(&wanted.texts, &newest_first))
    }

    /// Lists are made again, and what there is to choose from may be something else.
    pub(super) fn reread(&mut self) {
        self.changed();
        self.facts.replace(None);
    }

    pub(super) fn looked_back_at(&self) -> Option<&ShownEvaluation> {
        self.past.get(self.looked_at?)
    }

    /// The evaluation that is looked at.
    pub(crate) fn shown(&self) -> &ShownEvaluation {
        self.looked_back_at().unwrap_or(&self.now)
    }
}
