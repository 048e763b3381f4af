//! Everything about an evaluation that needs a look at all of it: aggregates, and which verdicts moved.
//!
//! Computed on the worker's thread over a database of its own, so that a save need not wait for it.

use std::sync::Arc;

use super::board::{DeclaredMetricRow, MetricRow, VerdictId};
use super::prior_verdicts::PriorVerdicts;
use crate::base::exact::mean;
use crate::graph::declared::{DeclaredMetric, declared_metrics, metric_value};
use crate::graph::inputs::Root;
use crate::graph::labels;
use crate::graph::queries;
use crate::graph::queries::Grader;
use crate::graph::snapshot::{CasePlace, Snapshot};
use crate::graph::{Database, folds};
use crate::pipeline::delta::{CaseId, Cell, CellState, Movement, MovementCounts};
use crate::pipeline::gate::GateReport;
use crate::pipeline::metric::label_change::{AgreementChange, AgreementMove};
use crate::pipeline::spec::Label;

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
    /// What the gate says.
    pub gate: GateReport,
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

impl MovedVerdict {
    /// The order in which they are listed: what does not agree with people any more first, then what came to agree with
    /// them; of the others what broke first, then the farthest. Equals stay in dataset order.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let by_agreement = || {
            let rank = |moved: &Self| (moved.agreement.is_none(), moved.agreement);
            rank(self).cmp(&rank(other))
        };
        let by_distance = || other.distance.total_cmp(&self.distance);
        by_agreement().then(self.movement.cmp(&other.movement)).then_with(by_distance)
    }
}

/// What totals are wanted of.
#[derive(Clone, Debug)]
pub(super) struct TotalsRequest {
    /// Identifies the state of the session.
    pub of: u64,
    /// The suite.
    pub root: Root,
    /// What was before.
    pub before: Arc<PriorVerdicts>,
    /// What was when the session began.
    pub start: Option<Arc<Snapshot>>,
}

/// Evaluates everything.
pub(super) fn totals(db: &Database, wanted: &TotalsRequest) -> EvaluationTotals {
    let TotalsRequest { of, root, before, start } = wanted;
    let snapshot = Arc::new(Snapshot::take(db, *root));
    let comparing = SnapshotComparison { snapshot: &snapshot, before, start: start.as_deref() };
    let mut counts = MovementCounts::default();
    let mut moved = Vec::new();
    let mut metrics = Vec::new();
    for (at, grader) in queries::graders(db, *root).iter().enumerate() {
        let own =
            GraderVerdicts { at, name: grader.name(db), labels: GraderLabels::of(db, *grader) };
        comparing.count(&own, &mut counts, &mut moved);
        metrics.push(comparing.metric(db, *grader, &own));
    }
    moved.sort_by(MovedVerdict::order);
    let gate = folds::gate_report(db, *root).clone();
    let declared = declared_metrics(db, *root).iter().map(|metric| declared_row(db, *metric));
    let declared = declared.collect();
    EvaluationTotals { of: *of, snapshot, metrics, declared, counts, moved, gate }
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

struct SnapshotComparison<'a> {
    snapshot: &'a Snapshot,
    before: &'a PriorVerdicts,
    start: Option<&'a Snapshot>,
}

/// A grader of the evaluation, and what people say of its verdicts.
struct GraderVerdicts<'a> {
    /// Its ordinal in the evaluation.
    at: usize,
    name: &'a str,
    labels: GraderLabels<'a>,
}

/// The labels that people gave for a grader.
pub(super) struct GraderLabels<'a> {
    /// By chunk; empty where there are none.
    by_chunk: Vec<&'a [Option<Label>]>,
    /// The least score that passes.
    threshold: f64,
}

impl<'a> GraderLabels<'a> {
    /// Those of now.
    pub(super) fn of(db: &'a Database, grader: Grader<'a>) -> Self {
        let queries::Threshold(threshold) = grader.pass_threshold(db);
        let chunks = grader.root(db).chunks(db).iter();
        let by_chunk = if folds::label_agreement(db, grader).is_none() {
            Vec::new()
        } else {
            chunks.map(|chunk| &**labels::labels(db, *chunk, grader)).collect()
        };
        Self { by_chunk, threshold }
    }

    /// That of the case at a place of the index of now.
    pub(super) fn at(&self, place: CasePlace) -> Option<Label> {
        *self.by_chunk.get(place.chunk)?.get(place.case)?
    }
}

impl SnapshotComparison<'_> {
    /// Counts how the verdicts of a grader moved.
    fn count(
        &self,
        grader: &GraderVerdicts<'_>,
        counts: &mut MovementCounts,
        moved: &mut Vec<MovedVerdict>,
    ) {
        let whole = self.before.whole().and_then(|whole| Some((whole, whole.grader(grader.name)?)));
        let is_same_index =
            whole.is_some_and(|(whole, _)| Arc::ptr_eq(&whole.index, &self.snapshot.index));
        for (case, place) in self.snapshot.index.cases() {
            let Some(now) = self.snapshot.cell_at(place, grader.at) else { continue };
            let then = match whole {
                Some((whole, at)) if is_same_index => whole.cell_at(place, at),
                _ => self.before.cell(case, grader.name),
            };
            let movement = Movement::of(then, now);
            counts.add(movement);
            if movement.is_move() {
                let distance = then.map_or(0.0, |then| (now.score - then.score).abs());
                let label = grader.labels.at(place);
                let threshold = grader.labels.threshold;
                let agreement =
                    label.and_then(|label| AgreementMove::of(then, now, label, threshold));
                let row = VerdictId { case, grader: grader.at };
                moved.push(MovedVerdict { agreement, movement, distance, row });
            }
        }
    }

    fn metric(&self, db: &Database, of: Grader<'_>, grader: &GraderVerdicts<'_>) -> MetricRow {
        let metric = folds::metric(db, of);
        let cells = self.snapshot.index.cases();
        let errors = cells
            .filter_map(|(_, place)| self.snapshot.cell_at(place, grader.at))
            .filter(|cell| cell.state == CellState::Errored)
            .count();
        let last = |case| self.before.cell(case, grader.name);
        let start = self.start.and_then(|start| Some((start, start.grader(grader.name)?)));
        MetricRow {
            grader: grader.name.to_owned(),
            label: grader.name.to_owned(),
            mean: metric.avg_score_attempted,
            interval: metric.interval,
            pass_rate: metric.accuracy,
            pass_rate_interval: metric.accuracy_interval,
            judged: metric.attempted,
            errors,
            total: metric.n,
            not_applicable: metric.not_applicable,
            since_last: self.moved_by(grader.at, last),
            since_start: start
                .and_then(|(start, at)| self.moved_by(grader.at, |case| start.cell(case, at))),
            history: Vec::new(),
            labels: folds::label_agreement(db, of)
                .filter(|labels| labels.n + labels.without_verdict + labels.stale > 0),
            labels_since_last: self.agreement_change(grader, last),
            labels_since_start: start
                .and_then(|(start, at)| self.agreement_change(grader, |case| start.cell(case, at))),
            people: folds::people_estimate(db, of),
            held_out: None,
        }
    }

    /// How far the mean of a grader moved from what `then` says of a case: over the cases that have a verdict both times.
    fn moved_by(&self, grader: usize, then: impl Fn(CaseId) -> Option<Cell>) -> Option<f64> {
        let pairs = self.snapshot.index.cases().filter_map(|(case, place)| {
            let now = self.snapshot.cell_at(place, grader).filter(|cell| cell.is_verdict())?;
            Some((now.score, then(case).filter(|cell| cell.is_verdict())?.score))
        });
        let (now, then): (Vec<f64>, Vec<f64>) = pairs.unzip();
        Some(mean(&now)? - mean(&then)?)
    }

    /// How far the agreement of a grader with people moved from what `then` says of a case.
    fn agreement_change(
        &self,
        grader: &GraderVerdicts<'_>,
        then: impl Fn(CaseId) -> Option<Cell>,
    ) -> Option<AgreementChange> {
        if grader.labels.by_chunk.is_empty() {
            return None;
        }
        let labelled = self.snapshot.index.cases().filter_map(|(case, place)| {
            let label = grader.labels.at(place)?;
            Some((then(case)?, self.snapshot.cell_at(place, grader.at)?, label))
        });
        AgreementChange::of(labelled, grader.labels.threshold)
    }
}
