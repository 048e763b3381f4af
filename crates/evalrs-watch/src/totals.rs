//! Everything about an evaluation that needs a look at all of it: aggregates, and which verdicts moved.
//!
//! Computed on the worker's thread over a database of its own, so that a save need not wait for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::board::{DeclaredMetricRow, MetricRow, VerdictId};
use super::chunk_moves::{ComparedCells, EarlierCells, MovesMemo, PairedMeans};
use super::prior_verdicts::PriorVerdicts;
use evalrs_graph::declared::{DeclaredMetric, declared_metrics, metric_value};
use evalrs_graph::inputs::Root;
use evalrs_graph::labels::disputed_cases;
use evalrs_graph::queries::{self, Grader, Threshold};
use evalrs_graph::snapshot::{CasePlace, Snapshot};
use evalrs_graph::{Database, folds, labels};
use evalrs_metrics::gate::GateReport;
use evalrs_metrics::metric::label_change::{AgreementChange, AgreementMove};
use evalrs_metrics::metric::labels::disagrees;
use evalrs_model::delta::{Cell, Movement, MovementCounts};
use evalrs_model::spec::Label;

/// The aggregates of a whole evaluation.
#[derive(Clone, Debug)]
pub struct EvaluationTotals {
    /// Which state of the session it is of: see [`TotalsRequest::of`].
    pub of: u64,
    /// The evaluation.
    pub snapshot: Arc<Snapshot>,
    /// One for each grader, in the order of the suite; without a history.
    pub metrics: Vec<MetricRow>,
    /// One for each declared metric, in the order of the suite; without changes and history.
    pub declared: Vec<DeclaredMetricRow>,
    /// How many verdicts moved.
    pub counts: MovementCounts,
    /// Those that moved, those that matter most first.
    pub moved: Vec<MovedVerdict>,
    /// The status of the gate.
    pub gate: GateReport,
    /// How long it took.
    pub took: Duration,
}

/// A verdict that moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MovedVerdict {
    /// How it moved against the label of a person.
    pub agreement: Option<AgreementMove>,
    /// How.
    pub movement: Movement,
    /// By how much, from 0.
    pub distance: f64,
    /// Which.
    pub row: VerdictId,
}

/// The human label of a case, and which scores pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabelledCase {
    pub label: Label,
    /// The least score that passes.
    pub threshold: f64,
}

impl LabelledCase {
    pub(super) fn differs_from(&self, now: Cell) -> bool {
        disagrees(now, self.label, self.threshold).is_some()
    }
}

impl MovedVerdict {
    /// How a verdict moved, also against the label of a person.
    pub(super) fn of(
        row: VerdictId,
        then: Option<Cell>,
        now: Cell,
        label: Option<LabelledCase>,
    ) -> Self {
        Self {
            agreement: label.and_then(|of| AgreementMove::of(then, now, of.label, of.threshold)),
            movement: Movement::of(then, now),
            distance: then.map_or(0.0, |then| (now.score - then.score).abs()),
            row,
        }
    }

    /// The order in which they are listed: what does not agree with people any more first, then what came to agree with
    /// them; of the others what broke first, then the farthest. Equals stay in dataset order.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let rank = |moved: &Self| (moved.agreement.is_none(), moved.agreement, moved.movement);
        rank(self).cmp(&rank(other)).then_with(|| other.distance.total_cmp(&self.distance))
    }
}

#[derive(Clone, Debug)]
pub(super) struct TotalsRequest {
    /// Identifies the state of the session.
    pub of: u64,
    pub root: Root,
    pub before: Arc<PriorVerdicts>,
    /// What was when the session began.
    pub start: Option<Arc<Snapshot>>,
}

pub(super) fn totals(
    db: &Database,
    wanted: &TotalsRequest,
    memo: &mut MovesMemo,
) -> EvaluationTotals {
    let began = Instant::now();
    let TotalsRequest { of, root, before, start } = wanted;
    let snapshot = Arc::new(Snapshot::take(db, *root));
    let graders = queries::graders(db, *root);
    memo.cut(graders.len(), root.chunks(db).len());
    let mut counts = MovementCounts::default();
    let mut moved = Vec::new();
    let mut metrics = Vec::new();
    for (at, grader) in graders.iter().enumerate() {
        let own = GraderComparison {
            at,
            name: Arc::from(grader.name(db).as_str()),
            labels: GraderLabels::of(db, *grader),
            snapshot: &snapshot,
            before,
            start: start.as_ref(),
        };
        let moves = own.moves(memo);
        counts.join(moves.counts);
        metrics.push(own.metric(db, *grader, &moves));
        moved.extend(moves.moved);
    }
    moved.sort_by(MovedVerdict::order);
    let declared = declared_metrics(db, *root).iter().map(|metric| declared_row(db, *metric));
    EvaluationTotals {
        of: *of,
        declared: declared.collect(),
        gate: folds::gate_report(db, *root).clone(),
        snapshot,
        metrics,
        counts,
        moved,
        took: began.elapsed(),
    }
}

fn declared_row<'db>(db: &'db Database, metric: DeclaredMetric<'db>) -> DeclaredMetricRow {
    let value = metric_value(db, metric);
    DeclaredMetricRow {
        name: metric.spec(db).name.clone(),
        definition: value.definition.clone(),
        kind: value.kind.clone(),
        value: value.value,
        interval: value.interval,
        n: value.n,
        errors: value.errors,
        problem: value.problem.clone(),
        ..DeclaredMetricRow::default()
    }
}

/// A grader of the evaluation, what people say of its verdicts, and what these are compared with.
struct GraderComparison<'a> {
    /// Its ordinal in the evaluation.
    at: usize,
    name: Arc<str>,
    labels: GraderLabels<'a>,
    snapshot: &'a Snapshot,
    before: &'a Arc<PriorVerdicts>,
    start: Option<&'a Arc<Snapshot>>,
}

#[derive(Default)]
struct GraderMoves {
    counts: MovementCounts,
    /// In dataset order.
    moved: Vec<MovedVerdict>,
    errors: usize,
    since_last: PairedMeans,
    since_start: PairedMeans,
}

pub(super) struct GraderLabels<'a> {
    /// By chunk; empty where there are none.
    by_chunk: Vec<&'a [Option<Label>]>,
    /// The least score that passes.
    threshold: f64,
}

impl<'a> GraderLabels<'a> {
    pub(crate) fn of(db: &'a Database, grader: Grader<'a>) -> Self {
        let Threshold(threshold) = grader.pass_threshold(db);
        let mut by_chunk = Vec::new();
        if folds::label_agreement(db, grader).is_some() {
            let chunks = grader.root(db).chunks(db).iter();
            by_chunk.extend(chunks.map(|chunk| &**labels::labels(db, *chunk, grader)));
        }
        Self { by_chunk, threshold }
    }

    /// That of the case at a place of the index of now.
    pub(crate) fn at(&self, place: CasePlace) -> Option<Label> {
        *self.by_chunk.get(place.chunk)?.get(place.case)?
    }
}

impl GraderComparison<'_> {
    fn moves(&self, memo: &mut MovesMemo) -> GraderMoves {
        let mut all = GraderMoves::default();
        for chunk in 0..self.snapshot.index.chunk_count() {
            let ids = self.snapshot.index.ids(chunk);
            let Some((ids, now)) = ids.zip(self.snapshot.shared_cells(chunk, self.at)) else {
                continue;
            };
            let compared = ComparedCells {
                ids: Arc::clone(ids),
                now: Arc::clone(now),
                last: self.last(chunk),
                start: self.at_start(chunk),
            };
            let own = memo.moves(self.at, chunk, compared);
            all.counts.join(own.counts);
            all.errors += own.errors;
            all.since_last.join(&own.since_last);
            all.since_start.join(&own.since_start);
            all.moved.extend(own.moved.iter().map(|moved| {
                let label = self.labels.at(CasePlace { chunk, case: moved.at });
                let threshold = self.labels.threshold;
                let label = label.map(|label| LabelledCase { label, threshold });
                let row = VerdictId { case: moved.case, grader: self.at };
                MovedVerdict::of(row, moved.then, moved.now, label)
            }));
        }
        all
    }

    fn last(&self, chunk: usize) -> EarlierCells {
        EarlierCells::before_save(self.before, &self.name, self.snapshot, chunk)
    }

    fn at_start(&self, chunk: usize) -> EarlierCells {
        self.start.map_or(EarlierCells::Nothing, |start| {
            EarlierCells::of_evaluation(start, &self.name, self.snapshot, chunk)
        })
    }

    fn metric(&self, db: &Database, of: Grader<'_>, moves: &GraderMoves) -> MetricRow {
        let metric = folds::metric(db, of);
        MetricRow {
            grader: of.name(db).clone(),
            label: of.name(db).clone(),
            mean: metric.avg_score_attempted,
            interval: metric.interval,
            pass_rate: metric.accuracy,
            pass_rate_interval: metric.accuracy_interval,
            judged: metric.attempted,
            errors: moves.errors,
            total: metric.n,
            not_applicable: metric.not_applicable,
            since_last: moves.since_last.moved_by(),
            since_start: moves.since_start.moved_by(),
            history: Vec::new(),
            labels: folds::label_agreement(db, of)
                .filter(|labels| labels.n + labels.without_verdict + labels.stale > 0),
            disputed: disputed_cases(db, of).len(),
            labels_since_last: self.agreement_change(|chunk| self.last(chunk)),
            labels_since_start: self.agreement_change(|chunk| self.at_start(chunk)),
            people: folds::people_estimate(db, of),
            held_out: None,
        }
    }

    /// How far the agreement with people moved from what was `then` of a chunk.
    fn agreement_change(&self, then: impl Fn(usize) -> EarlierCells) -> Option<AgreementChange> {
        let mut labelled = Vec::new();
        for (chunk, labels) in self.labels.by_chunk.iter().enumerate() {
            let then = then(chunk);
            let ids = self.snapshot.index.ids(chunk)?;
            let now = self.snapshot.cells(chunk, self.at)?;
            let cases = ids.iter().zip(now).zip(*labels).enumerate();
            labelled.extend(cases.filter_map(|(at, ((id, now), label))| {
                Some((then.cell((*id)?, at)?, *now, (*label)?))
            }));
        }
        AgreementChange::of(labelled.into_iter(), self.labels.threshold)
    }
}
