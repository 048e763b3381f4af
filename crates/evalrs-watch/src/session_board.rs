//! The board of a session that is watched: its database, what was known before, and what the user marked.

use std::sync::Arc;

use super::board::{
    Board, HiddenLabel, IngredientRow, ListFacts, Overview, RowText, RubricChange, SaveRow,
    VerdictDetail, VerdictId, VerdictRow,
};
use super::board_state::BoardState;
use super::list_query::ListQuery;
use super::save_rows::save_rows;
use super::save_texts::SaveTexts;
use super::session_list::{ListedCase, SessionList, shown_value};
use super::totals::MovedVerdict;
use evalrs_engine::session::Session;
use evalrs_eval::dataset::people::UNKNOWN;
use evalrs_graph::labels::disputed_case;
use evalrs_graph::labels::queue::to_label;
use evalrs_graph::queries::{self, Grader};
use evalrs_graph::selection::named;
use evalrs_graph::{Database, Db, labels, results};
use evalrs_metrics::results::{GradeLine, usable_labels};
use evalrs_model::key::Ingredient;
use evalrs_model::spec::{Label, LabelPick};

#[derive(Clone, Copy, Debug)]
pub(super) struct SessionBoard<'a> {
    views: &'a BoardState,
    session: &'a Session,
}

impl<'a> SessionBoard<'a> {
    pub(crate) fn new(views: &'a BoardState, session: &'a Session) -> Self {
        Self { views, session }
    }

    fn db(&self) -> &'a Database {
        &self.session.db
    }

    fn list(&self) -> SessionList<'a> {
        SessionList::new(self.views, self.session)
    }

    /// What each person says of a case on which they differ.
    fn dispute(&self, case: ListedCase<'_>) -> Vec<(String, Label)> {
        let ListedCase { chunk, at, grader } = case;
        if disputed_case(self.db(), chunk, grader, at).is_none() {
            return Vec::new();
        }
        let said = labels::people(self.db(), chunk, grader).get(at).into_iter().flatten();
        said.map(|(who, label)| (who.as_deref().unwrap_or(UNKNOWN).to_owned(), *label)).collect()
    }

    /// Why the label that people gave for a case without a shown one is not shown.
    fn hidden_label(&self, case: ListedCase<'_>) -> Option<HiddenLabel> {
        let ListedCase { chunk, at, grader } = case;
        let held_out = labels::held_out_labels(self.db(), chunk, grader);
        if held_out.iter().any(|(case, _)| *case == at) {
            return Some(HiddenLabel::HeldOut);
        }
        let is_stale = labels::stale_labels(self.db(), chunk, grader).contains(&at);
        is_stale.then_some(HiddenLabel::Stale)
    }

    fn ingredients(&self, case: ListedCase<'_>) -> Option<Vec<Ingredient>> {
        let ListedCase { chunk, at, grader } = case;
        let (ballot, _) = *queries::plans(self.db(), chunk, grader).get(at)?.keys().first()?;
        Some(results::action_of(self.db(), chunk, at, grader, ballot)?.ingredients())
    }
}

impl Board for SessionBoard<'_> {
    fn overview(&self) -> &Overview {
        &self.views.shown().overview
    }

    fn rows(&self, query: &ListQuery) -> Vec<VerdictId> {
        if let Some((made_for, rows)) = &*self.views.listed.borrow()
            && made_for == query
        {
            return rows.clone();
        }
        let rows = self.list().rows(query);
        self.views.listed.replace(Some((query.clone(), rows.clone())));
        rows
    }

    fn facts(&self) -> Arc<ListFacts> {
        let known = self.views.facts.borrow().clone();
        known.unwrap_or_else(|| {
            let facts = Arc::new(self.list().facts());
            self.views.facts.replace(Some(Arc::clone(&facts)));
            facts
        })
    }

    fn graders(&self) -> Vec<String> {
        if let Some(then) = self.views.looked_back_at() {
            let graders = then.snapshot.iter().flat_map(|then| &then.graders);
            return graders.map(|grader| grader.name.clone()).collect();
        }
        self.session.graders().iter().map(|grader| grader.name(self.db()).clone()).collect()
    }

    fn text(&self, id: VerdictId) -> Option<RowText> {
        self.list().text(id)
    }

    fn row(&self, id: VerdictId) -> Option<VerdictRow> {
        let list = self.list();
        let case = list.case(id)?;
        let ListedCase { chunk, at, grader } = case;
        let who = queries::checked(self.db(), chunk).whos.get(at)?;
        let place = queries::places(self.db(), chunk).get(at)?;
        let now = list.cell(id)?;
        let before = self.views.shown().before.cell(id.case, grader.name(self.db()));
        let label = list.label(id);
        let moved = MovedVerdict::of(id, before, now, label);
        Some(VerdictRow {
            id,
            sample_id: named(who.id(), place.occurrence),
            model: who.identity.model.clone(),
            trial: who.identity.trial,
            grader: display_name(self.session, grader),
            before,
            now,
            movement: moved.movement,
            label: label.map(|of| of.label),
            dispute: self.dispute(case),
            hidden_label: if label.is_none() { self.hidden_label(case) } else { None },
            disagrees: label.is_some_and(|of| of.differs_from(now)),
            agreement: moved.agreement,
            pinned: self.views.pinned.contains(&id.case),
            under_way: self.views.under_way.contains(&id),
        })
    }

    fn to_label(&self, id: VerdictId) -> Option<LabelPick> {
        let ListedCase { chunk, at, grader } = self.list().case(id)?;
        let mut queue = to_label(self.db(), grader).iter();
        Some(queue.find(|queued| queued.chunk == chunk && queued.case == at)?.picked)
    }

    fn detail(&self, id: VerdictId) -> Option<VerdictDetail> {
        let row = self.row(id)?;
        let case = self.list().case(id)?;
        let name = case.grader.name(self.db());
        let line = results::line(self.db(), case.chunk, case.at)?;
        let outcomes = |key| self.db().outcome(key);
        let before = self.views.shown().before.known(id.case, name);
        let rationale_before = before.as_ref().and_then(|known| known.grade(&outcomes));
        let then = self.views.looked_back_at().map(|then| {
            let snapshot = then.snapshot.as_ref()?;
            snapshot.known_at(snapshot.index.place(id.case)?, snapshot.grader(name)?)
        });
        let rationale = match then {
            None => line.grades.get(name).filter(|_| row.now.is_known()).map(rationale_of),
            Some(then) => {
                let graded = then.and_then(|known| known.grade(&outcomes));
                graded.map(|graded| graded.grade.rationale.into_owned())
            }
        };
        let key = before.and_then(|known| known.key());
        let old = self.views.kept.as_ref().filter(|(of, _)| Some(*of) == key);
        let old = old.map(|(_, ingredients)| ingredients.as_slice());
        Some(VerdictDetail {
            input: shown_value(&line.input),
            ground_truth: Some(shown_value(&line.ground_truth)).filter(|text| !text.is_empty()),
            submission: line.submission_of(name).unwrap_or_default().to_owned(),
            rationale,
            rationale_before: rationale_before.map(|graded| graded.grade.rationale.into_owned()),
            key: line.grades.get(name).and_then(|grade| grade.key.clone()),
            ingredients: self.ingredients(case).map_or_else(Vec::new, |now| rows_of(now, old)),
            row,
        })
    }

    fn sent(&self, id: VerdictId) -> Option<&str> {
        self.views.sent.text(id)
    }

    fn saves(&self) -> Vec<SaveRow> {
        let listed = &mut *self.views.saves.borrow_mut();
        let all = self.views.past.iter().chain([&self.views.now]);
        listed.get_or_insert_with(|| save_rows(self.session, all)).clone()
    }

    fn rubric_changes(&self, save: u32) -> Vec<RubricChange> {
        let Some(now) = self.views.of(save) else { return Vec::new() };
        let nothing = SaveTexts::default();
        let before = save.checked_sub(1).and_then(|save| self.views.of(save));
        now.texts.changes_from(before.map_or(&nothing, |before| &before.texts))
    }

    fn files_to_take_back(&self, save: u32) -> Vec<String> {
        self.views.edits_to(save).into_iter().map(|edit| edit.path).collect()
    }
}

pub(super) fn display_name(session: &Session, grader: Grader<'_>) -> String {
    let name = grader.name(&session.db);
    let graders = session.suite().map_or(&[][..], |suite| &suite.graders);
    let names = graders.iter().map(|spec| (spec.name.as_str(), spec.display_name.as_deref()));
    usable_labels(&names.collect::<Vec<_>>()).get(name).unwrap_or(name).clone()
}

/// Why, in the words of the grader; of an error, its message.
fn rationale_of(grade: &GradeLine) -> String {
    grade.error.as_ref().map_or(&grade.rationale, |error| &error.message).clone()
}

/// The ingredients of a key; those that differ from the ones before are marked.
fn rows_of(now: Vec<Ingredient>, before: Option<&[Ingredient]>) -> Vec<IngredientRow> {
    now.into_iter()
        .map(|part| IngredientRow {
            is_new: before.is_some_and(|before| !before.contains(&part)),
            name: part.name,
            preview: part.preview.unwrap_or_else(|| "(none)".to_owned()),
        })
        .collect()
}
