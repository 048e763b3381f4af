//! The list of saves: a row for each, with the agreement of its verdicts with the labels as they are now.
//!
//! Labels are given while rubrics change, so that the agreement that was counted after one save is not that of another: it
//! is counted anew for every save whose verdicts are kept.

use std::sync::Arc;

use super::board::{MetricRow, SaveRow};
use super::shown_evaluation::ShownEvaluation;
use super::totals::GraderLabels;
use evalrs_engine::session::Session;
use evalrs_graph::snapshot::{Snapshot, case_index};
use evalrs_metrics::metric::labels::LabelAgreement;

/// A row for each of the evaluations, the last of which is the newest.
pub(super) fn save_rows<'a>(
    session: &Session,
    all: impl Iterator<Item = &'a ShownEvaluation>,
) -> Vec<SaveRow> {
    let db = &session.db;
    let graders = session.graders().iter();
    let labels: Vec<(&String, GraderLabels<'_>)> =
        graders.map(|grader| (grader.name(db), GraderLabels::of(db, *grader))).collect();
    let rows = all.map(|shown| {
        let overview = &shown.overview;
        let metrics = overview.metrics.iter().map(|metric| {
            let own = labels.iter().find(|(name, _)| **name == metric.grader);
            let kept = own.zip(shown.snapshot.as_deref());
            let anew = kept.map(|((_, labels), then)| agreement(session, then, metric, labels));
            MetricRow {
                labels: anew.unwrap_or(metric.labels),
                history: Vec::new(),
                ..metric.clone()
            }
        });
        SaveRow {
            save: overview.save,
            time: shown.time.clone(),
            files: overview.files.clone(),
            metrics: metrics.collect(),
            gate: overview.gate.status,
            actions: overview.actions,
            spent: overview.spent.save,
            has_verdicts: shown.snapshot.is_some(),
        }
    });
    rows.collect()
}

/// How far the verdicts of a grader agreed, by the labels of now.
fn agreement(
    session: &Session,
    then: &Snapshot,
    metric: &MetricRow,
    labels: &GraderLabels<'_>,
) -> Option<LabelAgreement> {
    let ordinal = then.grader(&metric.grader)?;
    let threshold = then.graders.get(ordinal)?.threshold;
    let index = case_index(&session.db, session.root);
    let is_same = Arc::ptr_eq(&index, &then.index);
    let labelled = index.cases().filter_map(|(case, place)| {
        let label = labels.at(place)?;
        let cell = if is_same { then.cell_at(place, ordinal) } else { then.cell(case, ordinal) }?;
        Some((cell, label))
    });
    LabelAgreement::of(labelled, threshold)
}
