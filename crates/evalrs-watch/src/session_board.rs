//! The board of a session that is watched: its database, what was known before, and what the user marked.

use std::sync::Arc;

use super::board::{
    Board, CaseId, HiddenLabel, IngredientRow, ListFacts, Overview, RowText, RubricChange, SaveRow,
    VerdictDetail, VerdictId, VerdictRow,
};
use super::board_state::BoardState;
use super::list_query::ListQuery;
use super::save_rows::save_rows;
use super::save_texts::SaveTexts;
use super::session_list::{LabelledCase, SessionList, label_of, shown_value};
use evalrs_engine::session::Session;
use evalrs_eval::dataset::people::UNKNOWN;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::labels;
use evalrs_graph::labels::disputed::disputed_case;
use evalrs_graph::labels::queue::to_label;
use evalrs_graph::queries;
use evalrs_graph::queries::Grader;
use evalrs_graph::selection::named;
use evalrs_graph::snapshot::case_index;
use evalrs_graph::{Database, Db, results};
use evalrs_metrics::metric::label_change::AgreementMove;
use evalrs_metrics::metric::labels::disagrees;
use evalrs_metrics::results::GradeLine;
use evalrs_metrics::results::usable_labels;
use evalrs_model::delta::{Cell, Movement};
use evalrs_model::key::{ActionKey, Ingredient};
use evalrs_model::spec::{Label, LabelPick};

/// The board.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionBoard<'a> {
    views: &'a BoardState,
    session: &'a Session,
}

impl<'a> SessionBoard<'a> {
    /// The board of what `views` say over `session`.
    pub(crate) fn new(views: &'a BoardState, session: &'a Session) -> Self {
        Self { views, session }
    }

    fn db(&self) -> &Database {
        &self.session.db
    }

    /// Where a case stands now.
    fn place(&self, case: CaseId) -> Option<(Chunk, usize)> {
        let place = case_index(self.db(), self.session.root).place(case)?;
        Some((*self.session.root.chunks(self.db()).get(place.chunk)?, place.case))
    }

    fn grader(&self, ordinal: usize) -> Option<Grader<'_>> {
        let graders = queries::graders(self.db(), self.session.root);
        match self.views.looked_back_at() {
            None => graders.get(ordinal).copied(),
            Some(then) => {
                let name = &then.snapshot.as_ref()?.graders.get(ordinal)?.name;
                graders.iter().find(|grader| grader.name(self.db()) == name).copied()
            }
        }
    }

    /// The verdict as it is shown: of the newest evaluation, as it is by now.
    fn cell(&self, id: VerdictId) -> Option<Cell> {
        if let Some(then) = self.views.looked_back_at() {
            return then.snapshot.as_ref()?.cell(id.case, id.grader);
        }
        let (chunk, at) = self.place(id.case)?;
        queries::cells(self.db(), chunk, self.grader(id.grader)?).cells.get(at).copied()
    }

    /// What a person says of a case.
    fn label(&self, id: VerdictId) -> Option<LabelledCase> {
        let (chunk, at) = self.place(id.case)?;
        label_of(self.db(), chunk, at, self.grader(id.grader)?)
    }

    /// What each person says of a case on which they differ.
    fn dispute(&self, chunk: Chunk, case: usize, grader: Grader<'_>) -> Vec<(String, Label)> {
        if disputed_case(self.db(), chunk, grader, case).is_none() {
            return Vec::new();
        }
        let said = labels::people(self.db(), chunk, grader).get(case).into_iter().flatten();
        said.map(|(who, label)| (who.as_deref().unwrap_or(UNKNOWN).to_owned(), *label)).collect()
    }

    /// Why the label that people gave for a case without a shown one is not shown.
    fn hidden_label(&self, chunk: Chunk, case: usize, grader: Grader<'_>) -> Option<HiddenLabel> {
        let held_out = labels::held_out_labels(self.db(), chunk, grader);
        if held_out.iter().any(|(at, _)| *at == case) {
            return Some(HiddenLabel::HeldOut);
        }
        let is_stale = labels::stale_labels(self.db(), chunk, grader).contains(&case);
        is_stale.then_some(HiddenLabel::Stale)
    }

    fn list(&self) -> SessionList<'_> {
        SessionList::new(self.views, self.session)
    }

    fn kept(&self, key: ActionKey) -> Option<&[Ingredient]> {
        let (of, ingredients) = self.views.kept.as_ref()?;
        (*of == key).then_some(ingredients)
    }

    fn ingredients(&self, id: VerdictId) -> Option<Vec<Ingredient>> {
        let (chunk, at) = self.place(id.case)?;
        let grader = self.grader(id.grader)?;
        let planned = queries::plans(self.db(), chunk, grader).get(at)?;
        let (ballot, _) = *planned.keys().first()?;
        let action = results::action_of(self.db(), chunk, at, grader, ballot)?;
        Some(action.ingredients())
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
        match self.views.looked_back_at() {
            Some(then) => {
                let graders = then.snapshot.iter().flat_map(|then| &then.graders);
                graders.map(|grader| grader.name.clone()).collect()
            }
            None => {
                let graders = queries::graders(self.db(), self.session.root).iter();
                graders.map(|grader| grader.name(self.db()).clone()).collect()
            }
        }
    }

    fn text(&self, id: VerdictId) -> Option<RowText> {
        self.list().text(id)
    }

    fn row(&self, id: VerdictId) -> Option<VerdictRow> {
        let (chunk, at) = self.place(id.case)?;
        let grader = self.grader(id.grader)?;
        let who = queries::checked(self.db(), chunk).whos.get(at)?;
        let place = queries::places(self.db(), chunk).get(at)?;
        let now = self.cell(id)?;
        let before = self.views.shown().before.cell(id.case, grader.name(self.db()));
        let label = self.label(id);
        let distance = label.and_then(|of| disagrees(now, of.label, of.threshold));
        let moved = label.and_then(|of| AgreementMove::of(before, now, of.label, of.threshold));
        Some(VerdictRow {
            id,
            sample_id: named(who.id(), place.occurrence),
            model: who.identity.model.clone(),
            trial: who.identity.trial,
            grader: display_name(self.session, grader),
            before,
            now,
            movement: Movement::of(before, now),
            label: label.map(|of| of.label),
            dispute: self.dispute(chunk, at, grader),
            hidden_label: label.is_none().then(|| self.hidden_label(chunk, at, grader)).flatten(),
            disagrees: distance.is_some(),
            agreement: moved,
            pinned: self.views.pinned.contains(&id.case),
            under_way: self.views.under_way.contains(&id),
        })
    }

    fn to_label(&self, id: VerdictId) -> Option<LabelPick> {
        let (chunk, case) = self.place(id.case)?;
        let queue = to_label(self.db(), self.grader(id.grader)?).iter();
        let mut own = queue.filter(|queued| queued.chunk == chunk && queued.case == case);
        Some(own.next()?.picked)
    }

    fn detail(&self, id: VerdictId) -> Option<VerdictDetail> {
        let row = self.row(id)?;
        let (chunk, at) = self.place(id.case)?;
        let name = self.grader(id.grader)?.name(self.db());
        let line = results::line(self.db(), chunk, at)?;
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
        let old = before.and_then(|known| known.key()).and_then(|key| self.kept(key));
        Some(VerdictDetail {
            input: shown_value(&line.input),
            ground_truth: Some(shown_value(&line.ground_truth)).filter(|text| !text.is_empty()),
            submission: line.submission_of(name).unwrap_or_default().to_owned(),
            rationale,
            rationale_before: rationale_before.map(|graded| graded.grade.rationale.into_owned()),
            key: line.grades.get(name).and_then(|grade| grade.key.clone()),
            ingredients: self.ingredients(id).map_or_else(Vec::new, |now| rows_of(now, old)),
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
        let edits = self.views.edits_to(save).into_iter();
        edits.map(|edit| edit.path).collect()
    }
}

/// A grader's name for people.
pub(super) fn display_name(session: &Session, grader: Grader<'_>) -> String {
    let name = grader.name(&session.db);
    let graders = session.suite().map_or(&[][..], |suite| &suite.graders);
    let names: Vec<(&str, Option<&str>)> =
        graders.iter().map(|spec| (spec.name.as_str(), spec.display_name.as_deref())).collect();
    usable_labels(&names).get(name).unwrap_or(name).clone()
}

/// Why, in the words of the grader; of an error, its message.
fn rationale_of(grade: &GradeLine) -> String {
    match &grade.error {
        Some(error) => error.message.clone(),
        None => grade.rationale.clone(),
    }
}

/// The ingredients of a key; those that differ from the ones before are marked.
fn rows_of(now: Vec<Ingredient>, before: Option<&[Ingredient]>) -> Vec<IngredientRow> {
    let row = |part: Ingredient| IngredientRow {
        is_new: before.is_some_and(|before| !before.contains(&part)),
        name: part.name,
        preview: part.preview.unwrap_or_else(|| "(none)".to_owned()),
    };
    now.into_iter().map(row).collect()
}
