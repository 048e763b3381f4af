//! Which verdicts of a session are listed, in which order, and what there is to choose from.
//!
//! A list may be of a hundred thousand verdicts: what all of them share is looked up once. What is read of a verdict is
//! read by the order that wants it, and by no other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::board::{ListFacts, RowText, TagCount, VerdictFilter, VerdictId};
use super::board_state::BoardState;
use super::list_query::{ListOrder, ListQuery, arranged};
use super::shown_evaluation::ShownEvaluation;
use super::totals::{LabelledCase, MovedVerdict};
use evalrs_engine::session::Session;
use evalrs_eval::evaluate::Submission;
use evalrs_graph::inputs::{CellId, Chunk};
use evalrs_graph::labels::disputed_case;
use evalrs_graph::labels::queue::{QueuedCase, to_label};
use evalrs_graph::queries::{self, GradedTexts, Grader, Threshold};
use evalrs_graph::snapshot::{CaseIndex, case_ids, case_index};
use evalrs_graph::{Database, results};
use evalrs_metrics::metric::labels::label_distance;
use evalrs_model::delta::{Cell, CellState, Movement};
use evalrs_model::spec::GraderKind;

/// The most characters of the beginning of a submission.
const MAX_BEGINNING: usize = 240;

pub(super) struct SessionList<'a> {
    views: &'a BoardState,
    /// The earlier evaluation that is listed; none for the newest.
    then: Option<&'a ShownEvaluation>,
    db: &'a Database,
    index: Arc<CaseIndex>,
    chunks: &'a [Chunk],
    /// By the ordinals of the evaluation that is shown.
    graders: Vec<Option<Grader<'a>>>,
}

#[derive(Clone, Copy)]
pub(super) struct ListedCase<'a> {
    pub chunk: Chunk,
    pub at: usize,
    pub grader: Grader<'a>,
}

/// The verdict of a cell of the session.
pub(super) fn verdict_at(db: &Database, cell: CellId) -> Option<VerdictId> {
    let case = case_ids(db, cell.chunk).get(cell.case).copied().flatten()?;
    Some(VerdictId { case, grader: cell.grader })
}

impl<'a> SessionList<'a> {
    /// The evaluation that is looked at.
    pub(crate) fn new(views: &'a BoardState, session: &'a Session) -> Self {
        let Some(then) = views.looked_back_at() else { return Self::of_now(views, session) };
        let own = session.graders().iter();
        let named = then.snapshot.iter().flat_map(|then| &then.graders);
        let graders = named
            .map(|then| own.clone().find(|own| *own.name(&session.db) == then.name).copied())
            .collect();
        Self { then: Some(then), graders, ..Self::of_now(views, session) }
    }

    /// The newest evaluation.
    pub(crate) fn of_now(views: &'a BoardState, session: &'a Session) -> Self {
        let db = &session.db;
        Self {
            views,
            then: None,
            db,
            index: case_index(db, session.root),
            chunks: session.root.chunks(db),
            graders: session.graders().iter().copied().map(Some).collect(),
        }
    }

    pub(crate) fn rows(&self, query: &ListQuery) -> Vec<VerdictId> {
        let mut rows = self.filtered(query.filter);
        self.narrow(&mut rows, query);
        let mut rows = self.ordered(rows, query);
        let pinned = &self.views.pinned;
        if !pinned.is_empty() {
            // A stable sort keeps the order among those that are pinned and among the others.
            rows.sort_by_key(|id| !pinned.contains(&id.case));
        }
        rows
    }

    pub(crate) fn case(&self, id: VerdictId) -> Option<ListedCase<'a>> {
        let place = self.index.place(id.case)?;
        let grader = self.graders.get(id.grader).copied().flatten()?;
        Some(ListedCase { chunk: *self.chunks.get(place.chunk)?, at: place.case, grader })
    }

    /// The verdict as it is shown: of the newest evaluation, as it is by now.
    pub(crate) fn cell(&self, id: VerdictId) -> Option<Cell> {
        if let Some(then) = self.then {
            return then.snapshot.as_ref()?.cell(id.case, id.grader);
        }
        let ListedCase { chunk, at, grader } = self.case(id)?;
        queries::cells(self.db, chunk, grader).cells.get(at).copied()
    }

    /// The human label of its case.
    pub(crate) fn label(&self, id: VerdictId) -> Option<LabelledCase> {
        let ListedCase { chunk, at, grader } = self.case(id)?;
        let label = results::label_of(self.db, chunk, at, grader)?;
        let Threshold(threshold) = grader.pass_threshold(self.db);
        Some(LabelledCase { label, threshold })
    }

    /// Every verdict of the evaluation, in dataset order, grader by grader within a case.
    fn all(&self) -> impl Iterator<Item = VerdictId> {
        let graders = self.graders.len();
        let cases = self.index.cases().map(|(case, _)| case);
        cases.flat_map(move |case| (0..graders).map(move |grader| VerdictId { case, grader }))
    }

    /// What a filter lists: what moved in its own order, all others in dataset order.
    fn filtered(&self, filter: VerdictFilter) -> Vec<VerdictId> {
        let lists: &dyn Fn(VerdictId) -> bool = match filter {
            VerdictFilter::Moved => {
                return self.shown().moved.iter().map(|moved| moved.row).collect();
            }
            VerdictFilter::ToLabel => return self.to_label(),
            VerdictFilter::Failing => {
                return self.in_states(&[CellState::Errored, CellState::Failed]);
            }
            VerdictFilter::Errors => return self.in_states(&[CellState::Errored]),
            VerdictFilter::Disagreeing => &|id| self.disagrees(id, None),
            VerdictFilter::FalsePass => &|id| self.disagrees(id, Some(true)),
            VerdictFilter::FalseFail => &|id| self.disagrees(id, Some(false)),
            VerdictFilter::Disputed => &|id| self.is_disputed(id),
            VerdictFilter::All => &|_| true,
        };
        self.all().filter(|id| lists(*id)).collect()
    }

    fn shown(&self) -> &'a ShownEvaluation {
        self.then.unwrap_or(&self.views.now)
    }

    /// Every verdict in one of these states. While verdicts come in, each frame asks: so no verdict is looked up by itself.
    fn in_states(&self, states: &[CellState]) -> Vec<VerdictId> {
        let is_in = |cell: Option<Cell>| cell.is_some_and(|cell| states.contains(&cell.state));
        if self.then.is_some() {
            return self.all().filter(|id| is_in(self.cell(*id))).collect();
        }
        let mut found = Vec::new();
        for (chunk, cases) in self.chunks.iter().zip(self.index.chunks()) {
            let cells = |grader: &Option<Grader<'a>>| match grader {
                Some(grader) => &queries::cells(self.db, *chunk, *grader).cells[..],
                None => &[],
            };
            let cells: Vec<&[Cell]> = self.graders.iter().map(cells).collect();
            for (case, at) in cases {
                let graders = cells.iter().enumerate();
                let own = graders.filter(|(_, cells)| is_in(cells.get(at).copied()));
                found.extend(own.map(|(grader, _)| VerdictId { case, grader }));
            }
        }
        found
    }

    /// What to label next, grader by grader in turns. Labels are of the answers of now.
    fn to_label(&self) -> Vec<VerdictId> {
        if self.then.is_some() {
            return Vec::new();
        }
        // Of what a recorded score or a comparison says people have no other opinion.
        let queue = |grader: &Option<Grader<'a>>| match grader {
            Some(grader) if matches!(grader.kind(self.db), GraderKind::Rubric(_)) => {
                &**to_label(self.db, *grader)
            }
            _ => &[],
        };
        let queues: Vec<&[QueuedCase]> = self.graders.iter().map(queue).collect();
        let longest = queues.iter().map(|queue| queue.len()).max().unwrap_or(0);
        let in_turn = |turn| {
            queues.iter().enumerate().filter_map(move |(grader, queue)| {
                let QueuedCase { chunk, case, .. } = *queue.get(turn)?;
                verdict_at(self.db, CellId { chunk, case, grader })
            })
        };
        (0..longest).flat_map(in_turn).collect()
    }

    /// Whether a verdict says something else than a person; with `passes`, whether it is a false pass or a false fail.
    fn disagrees(&self, id: VerdictId, passes: Option<bool>) -> bool {
        self.cell(id)
            .filter(|now| passes.is_none_or(|it| it == now.passes()))
            .is_some_and(|now| self.label(id).is_some_and(|label| label.differs_from(now)))
    }

    fn is_disputed(&self, id: VerdictId) -> bool {
        self.case(id).is_some_and(|of| disputed_case(self.db, of.chunk, of.grader, of.at).is_some())
    }

    /// Leaves what has the tag, is of the grader, and holds what is searched.
    fn narrow(&self, rows: &mut Vec<VerdictId>, query: &ListQuery) {
        if let Some(name) = &query.grader {
            let is_named = |of: &Option<Grader<'_>>| of.is_some_and(|of| of.name(self.db) == name);
            let at = self.graders.iter().position(is_named);
            rows.retain(|id| Some(id.grader) == at);
        }
        if let Some(tag) = &query.tag {
            rows.retain(|id| self.has_tag(*id, tag));
        }
        if !query.search.is_empty() {
            let needle = query.search.to_lowercase();
            rows.retain(|id| self.holds(*id, &needle) == Some(true));
        }
    }

    fn has_tag(&self, id: VerdictId, tag: &str) -> bool {
        self.case(id)
            .and_then(|of| queries::checked(self.db, of.chunk).whos.get(of.at))
            .is_some_and(|who| who.identity.tags.iter().any(|own| own == tag))
    }

    /// Whether id, grader, input or submission hold `needle`, which is in lower case; none if the verdict is gone.
    fn holds(&self, id: VerdictId, needle: &str) -> Option<bool> {
        let ListedCase { chunk, at, grader } = self.case(id)?;
        let has = |text: &str| text.to_lowercase().contains(needle);
        let head = results::head(self.db, chunk, at)?;
        let submission = || queries::graded_texts(self.db, chunk, grader).get(at);
        Some(
            has(&head.sample_id)
                || has(grader.name(self.db))
                || has(&shown_value(&head.input))
                || submission().is_some_and(|submission| has(&submission.shown())),
        )
    }

    fn ordered(&self, rows: Vec<VerdictId>, query: &ListQuery) -> Vec<VerdictId> {
        let is_reversed = query.is_reversed;
        let is_moved = query.filter == VerdictFilter::Moved;
        match query.order() {
            ListOrder::Movement if is_moved && !is_reversed => rows,
            ListOrder::Dataset if !is_moved && !is_reversed => rows,
            ListOrder::Turn if is_reversed => rows.into_iter().rev().collect(),
            ListOrder::Turn => rows,
            ListOrder::Dataset => arranged(rows, is_reversed, |id| self.place(id), Ord::cmp),
            ListOrder::Movement => {
                arranged(rows, is_reversed, |id| self.movement(id), MovedVerdict::order)
            }
            ListOrder::Score => {
                arranged(rows, is_reversed, |id| self.cell(id).and_then(score), f64::total_cmp)
            }
            ListOrder::Distance => {
                arranged(rows, is_reversed, |id| Some(-self.distance(id)?), f64::total_cmp)
            }
            ListOrder::Length => {
                let lengths = self.lengths(&rows);
                arranged(rows, is_reversed, |id| Some(Reverse(*lengths.get(&id)?)), Ord::cmp)
            }
        }
    }

    fn place(&self, id: VerdictId) -> Option<[usize; 3]> {
        let place = self.index.place(id.case)?;
        Some([place.chunk, place.case, id.grader])
    }

    /// How far the verdict is from the label of a person.
    fn distance(&self, id: VerdictId) -> Option<f64> {
        let LabelledCase { label, threshold } = self.label(id)?;
        label_distance(self.cell(id)?, label, threshold)
    }

    /// How a verdict moved, if it is known.
    pub(crate) fn movement(&self, id: VerdictId) -> Option<MovedVerdict> {
        let now = self.cell(id)?;
        let grader = self.graders.get(id.grader).copied().flatten()?;
        let then = self.shown().before.cell(id.case, grader.name(self.db));
        let moved = MovedVerdict::of(id, then, now, self.label(id));
        (moved.movement != Movement::Pending).then_some(moved)
    }

    fn lengths(&self, rows: &[VerdictId]) -> HashMap<VerdictId, usize> {
        let mut texts: HashMap<(Chunk, usize), GradedTexts<'_>> = HashMap::new();
        let lengths = rows.iter().filter_map(|id| {
            let ListedCase { chunk, at, grader } = self.case(*id)?;
            let texts = texts
                .entry((chunk, id.grader))
                .or_insert_with(|| queries::graded_texts(self.db, chunk, grader));
            Some((*id, length_of(&texts.get(at)?)?))
        });
        lengths.collect()
    }

    pub(crate) fn text(&self, id: VerdictId) -> Option<RowText> {
        let ListedCase { chunk, at, grader } = self.case(id)?;
        let texts = queries::graded_texts(self.db, chunk, grader);
        let submission = texts.get(at)?;
        let length = length_of(&submission);
        let text = match &submission {
            Submission::Text(text) => beginning(text),
            other => beginning(&other.shown()),
        };
        if !text.is_empty() {
            return Some(RowText { beginning: text, is_input: false, length });
        }
        let input = results::head(self.db, chunk, at).map(|head| shown_value(&head.input));
        Some(RowText { beginning: beginning(&input.unwrap_or_default()), is_input: true, length })
    }

    pub(crate) fn facts(&self) -> ListFacts {
        let mut tags: BTreeMap<&str, usize> = BTreeMap::new();
        let mut models = BTreeSet::new();
        for (_, place) in self.index.cases() {
            let chunk = self.chunks.get(place.chunk);
            let who = chunk.and_then(|of| queries::checked(self.db, *of).whos.get(place.case));
            let Some(who) = who else { continue };
            models.insert(who.identity.model.as_deref());
            let own: BTreeSet<&str> = who.identity.tags.iter().map(String::as_str).collect();
            for tag in own {
                *tags.entry(tag).or_default() += 1;
            }
        }
        let tags = tags.into_iter().map(|(tag, samples)| TagCount { tag: tag.to_owned(), samples });
        ListFacts { tags: tags.collect(), has_models: models.len() > 1 }
    }
}

/// A value as people read it: text as it is, nothing of null.
pub(super) fn shown_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// What is sorted by score: errors before the lowest.
fn score(cell: Cell) -> Option<f64> {
    match cell.state {
        CellState::Errored => Some(-1.0),
        CellState::Failed | CellState::Passed => Some(cell.score),
        CellState::Pending | CellState::Skipped | CellState::NotApplicable => None,
    }
}

/// The characters of a submission; none where there is none.
fn length_of(submission: &Submission) -> Option<usize> {
    match submission {
        Submission::Text(text) => Some(text.chars().count()),
        Submission::Turns(turns) => Some(turns.iter().filter_map(length_of).sum()),
        Submission::NoMessages
        | Submission::Failed(_)
        | Submission::Unrecorded(_)
        | Submission::Pending(_)
        | Submission::Unanswered(_) => None,
    }
}

/// The beginning of a text as one line.
fn beginning(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() > MAX_BEGINNING {
            break;
        }
        let space = if line.is_empty() { "" } else { " " };
        line.push_str(space);
        line.extend(word.chars().take(MAX_BEGINNING));
    }
    line
}
