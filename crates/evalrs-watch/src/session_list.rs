//! Which verdicts of a session are listed, in which order, and what there is to choose from.
//!
//! A list may be of a hundred thousand verdicts: what all of them share is looked up once. What is read of a verdict is
//! read by the order that wants it, and by no other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::board::{ListFacts, RowText, TagCount, VerdictFilter, VerdictId};
use super::board_state::BoardState;
use super::list_query::{ListOrder, ListQuery, arranged};
use super::totals::MovedVerdict;
use evalrs_engine::session::Session;
use evalrs_eval::evaluate::Submission;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::labels::disputed::disputed_case;
use evalrs_graph::labels::queue::{QueuedCase, to_label};
use evalrs_graph::queries::{GradedTexts, Grader, Threshold};
use evalrs_graph::snapshot::{CaseIndex, case_ids, case_index};
use evalrs_graph::{Database, queries, results};
use evalrs_metrics::metric::label_change::AgreementMove;
use evalrs_metrics::metric::labels::{disagrees, label_distance};
use evalrs_model::delta::{Cell, CellState, Movement};
use evalrs_model::spec::{GraderKind, Label};

/// The most characters of the beginning of a submission.
const MAX_BEGINNING: usize = 240;

/// The verdicts of a session, to be listed.
pub(super) struct SessionList<'a> {
    views: &'a BoardState,
    db: &'a Database,
    index: Arc<CaseIndex>,
    chunks: &'a [Chunk],
    /// By the ordinals of the evaluation that is shown.
    graders: Vec<Option<Grader<'a>>>,
}

/// Where a verdict stands.
#[derive(Clone, Copy)]
struct ListedCase<'a> {
    chunk: Chunk,
    at: usize,
    grader: Grader<'a>,
}

/// What a person says of a case, and which scores pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabelledCase {
    pub label: Label,
    /// The least score that passes.
    pub threshold: f64,
}

/// What a person says of a case.
pub(super) fn label_of<'a>(
    db: &'a Database,
    chunk: Chunk,
    at: usize,
    grader: Grader<'a>,
) -> Option<LabelledCase> {
    let label = results::label_of(db, chunk, at, grader)?;
    let Threshold(threshold) = grader.pass_threshold(db);
    Some(LabelledCase { label, threshold })
}

impl<'a> SessionList<'a> {
    pub(crate) fn new(views: &'a BoardState, session: &'a Session) -> Self {
        let db = &session.db;
        let own = queries::graders(db, session.root);
        let graders = match views.looked_back_at() {
            None => own.iter().copied().map(Some).collect(),
            Some(then) => {
                let named = |name: &String| own.iter().find(|grader| grader.name(db) == name);
                let then = then.snapshot.iter().flat_map(|then| &then.graders);
                then.map(|then| named(&then.name).copied()).collect()
            }
        };
        let chunks = session.root.chunks(db);
        Self { views, db, index: case_index(db, session.root), chunks, graders }
    }

    /// The verdicts that a query lists, those of pinned samples first.
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

    fn case(&self, id: VerdictId) -> Option<ListedCase<'a>> {
        let place = self.index.place(id.case)?;
        let grader = self.graders.get(id.grader).copied().flatten()?;
        Some(ListedCase { chunk: *self.chunks.get(place.chunk)?, at: place.case, grader })
    }

    /// The verdict as it is shown: of the newest evaluation, as it is by now.
    fn cell(&self, id: VerdictId) -> Option<Cell> {
        if let Some(then) = self.views.looked_back_at() {
            return then.snapshot.as_ref()?.cell(id.case, id.grader);
        }
        let ListedCase { chunk, at, grader } = self.case(id)?;
        queries::cells(self.db, chunk, grader).cells.get(at).copied()
    }

    fn label(&self, id: VerdictId) -> Option<LabelledCase> {
        let ListedCase { chunk, at, grader } = self.case(id)?;
        label_of(self.db, chunk, at, grader)
    }

    /// Every verdict of the evaluation, in dataset order, grader by grader within a case.
    fn all(&self) -> impl Iterator<Item = VerdictId> {
        let graders = self.graders.len();
        let cases = self.index.cases().map(|(case, _)| case);
        cases.flat_map(move |case| (0..graders).map(move |grader| VerdictId { case, grader }))
    }

    /// What a filter lists: what moved in its own order, all others in dataset order.
    fn filtered(&self, filter: VerdictFilter) -> Vec<VerdictId> {
        let with_state = |states: &[CellState]| {
            let has =
                |id: &VerdictId| self.cell(*id).is_some_and(|cell| states.contains(&cell.state));
            self.all().filter(has).collect()
        };
        let disagreeing =
            |passes: Option<bool>| self.all().filter(|id| self.disagrees(*id, passes)).collect();
        match filter {
            VerdictFilter::Moved => {
                self.views.shown().moved.iter().map(|moved| moved.row).collect()
            }
            VerdictFilter::Failing => with_state(&[CellState::Errored, CellState::Failed]),
            VerdictFilter::Disagreeing => disagreeing(None),
            VerdictFilter::FalsePass => disagreeing(Some(true)),
            VerdictFilter::FalseFail => disagreeing(Some(false)),
            VerdictFilter::Disputed => self.all().filter(|id| self.is_disputed(*id)).collect(),
            VerdictFilter::ToLabel => self.to_label(),
            VerdictFilter::Errors => with_state(&[CellState::Errored]),
            VerdictFilter::All => self.all().collect(),
        }
    }

    /// What to label next, grader by grader in turns. Labels are of the answers of now.
    fn to_label(&self) -> Vec<VerdictId> {
        if self.views.looked_back_at().is_some() {
            return Vec::new();
        }
        let queue = |grader: &Option<Grader<'a>>| match grader {
            Some(grader) if is_judge(grader.kind(self.db)) => &**to_label(self.db, *grader),
            _ => &[],
        };
        let queues: Vec<&[QueuedCase]> = self.graders.iter().map(queue).collect();
        let longest = queues.iter().map(|queue| queue.len()).max().unwrap_or(0);
        let turns = (0..longest).flat_map(|turn| {
            let in_turn = queues.iter().enumerate();
            in_turn.filter_map(move |(grader, queue)| Some((grader, *queue.get(turn)?)))
        });
        let id = |(grader, queued): (usize, QueuedCase)| {
            let case = case_ids(self.db, queued.chunk).get(queued.case).copied().flatten()?;
            Some(VerdictId { case, grader })
        };
        turns.filter_map(id).collect()
    }

    /// Whether a verdict says something else than a person; with `passes`, whether it is a false pass or a false fail.
    fn disagrees(&self, id: VerdictId, passes: Option<bool>) -> bool {
        let now = self.cell(id).filter(|now| passes.is_none_or(|it| it == now.passes()));
        let Some(now) = now else { return false };
        self.label(id).is_some_and(|LabelledCase { label, threshold }| {
            disagrees(now, label, threshold).is_some()
        })
    }

    fn is_disputed(&self, id: VerdictId) -> bool {
        let case = self.case(id);
        case.is_some_and(|ListedCase { chunk, at, grader }| {
            disputed_case(self.db, chunk, grader, at).is_some()
        })
    }

    /// Leaves what has the tag, is of the grader, and holds what is searched.
    fn narrow(&self, rows: &mut Vec<VerdictId>, query: &ListQuery) {
        if let Some(name) = &query.grader {
            let at = self
                .graders
                .iter()
                .position(|grader| grader.is_some_and(|grader| grader.name(self.db) == name));
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
        let has = |ListedCase { chunk, at, .. }: ListedCase<'_>| {
            let who = queries::checked(self.db, chunk).whos.get(at);
            who.is_some_and(|who| who.identity.tags.iter().any(|own| own == tag))
        };
        self.case(id).is_some_and(has)
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
            ListOrder::Dataset => {
                let place = |id: VerdictId| {
                    let place = self.index.place(id.case)?;
                    Some([place.chunk, place.case, id.grader])
                };
                arranged(rows, is_reversed, place, Ord::cmp)
            }
            ListOrder::Movement => {
                arranged(rows, is_reversed, |id| self.movement(id), MovedVerdict::order)
            }
            ListOrder::Score => {
                arranged(rows, is_reversed, |id| self.cell(id).and_then(score), f64::total_cmp)
            }
            ListOrder::Distance => {
                let farness = |id: VerdictId| {
                    let LabelledCase { label, threshold } = self.label(id)?;
                    Some(-label_distance(self.cell(id)?, label, threshold)?)
                };
                arranged(rows, is_reversed, farness, f64::total_cmp)
            }
            ListOrder::Length => {
                let lengths = self.lengths(&rows);
                let length = |id| lengths.get(&id).map(|length| std::cmp::Reverse(*length));
                arranged(rows, is_reversed, length, Ord::cmp)
            }
        }
    }

    /// How a verdict moved, if it is known.
    fn movement(&self, id: VerdictId) -> Option<MovedVerdict> {
        let now = self.cell(id)?;
        let grader = self.graders.get(id.grader).copied().flatten()?;
        let then = self.views.shown().before.cell(id.case, grader.name(self.db));
        let movement = Movement::of(then, now);
        let agreement = self.label(id).and_then(|LabelledCase { label, threshold }| {
            AgreementMove::of(then, now, label, threshold)
        });
        let distance = then.map_or(0.0, |then| (now.score - then.score).abs());
        let is_known = movement != Movement::Pending;
        is_known.then_some(MovedVerdict { agreement, movement, distance, row: id })
    }

    /// The characters of submissions, where there are any.
    fn lengths(&self, rows: &[VerdictId]) -> HashMap<VerdictId, usize> {
        let mut texts: HashMap<(Chunk, usize), GradedTexts<'_>> = HashMap::new();
        let mut lengths = HashMap::with_capacity(rows.len());
        for id in rows {
            let Some(ListedCase { chunk, at, grader }) = self.case(*id) else { continue };
            let texts = texts
                .entry((chunk, id.grader))
                .or_insert_with(|| queries::graded_texts(self.db, chunk, grader));
            if let Some(length) = texts.get(at).as_ref().and_then(length_of) {
                lengths.insert(*id, length);
            }
        }
        lengths
    }

    /// What is told of a verdict's texts in its line.
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

    /// What there is to choose from.
    pub(crate) fn facts(&self) -> ListFacts {
        let mut tags: BTreeMap<&str, usize> = BTreeMap::new();
        let mut models = BTreeSet::new();
        for (_, place) in self.index.cases() {
            let Some(chunk) = self.chunks.get(place.chunk) else { continue };
            let Some(who) = queries::checked(self.db, *chunk).whos.get(place.case) else {
                continue;
            };
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

/// Whether people may have another opinion: of what a recorded score or a comparison says they have none.
fn is_judge(kind: &GraderKind) -> bool {
    matches!(kind, GraderKind::Rubric(_))
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
