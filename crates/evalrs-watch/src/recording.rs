//! An evaluation as the record of the session keeps it.

use std::collections::HashMap;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeSeq, Serializer};

use super::board::DeclaredMetricRow;
use super::shown_evaluation::ShownEvaluation;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_engine::session::Session;
use evalrs_graph::queries;
use evalrs_graph::selection::named;
use evalrs_graph::snapshot::{CaseIndex, Snapshot, SnapshotOverlap, case_index};
use evalrs_metrics::metric::declared::MetricValue;
use evalrs_model::delta::{CaseId, Cell, CellState};
use evalrs_model::record_format::FORMAT;
use evalrs_model::spec::GraderKind;
use evalrs_store::record::saves::{SaveRecord, SavedGrade, SavedMetric, SavedVerdict};

/// A save whose evaluation came to an end, for the record.
pub struct FinishedSave<'a> {
    /// The session.
    pub session: &'a Session,
    /// What was shown last.
    pub shown: &'a ShownEvaluation,
    /// The evaluation that was recorded last.
    pub last: Option<&'a Arc<Snapshot>>,
    /// What the cases of both are called.
    pub names: &'a CaseNames,
}

/// The line of the record for an evaluation that ended at `at` (RFC 3339); `rubrics` are the digests of those of the line
/// before.
pub fn save_record<'a>(
    saved: &FinishedSave<'a>,
    rubrics: &OrderedMap<String>,
    at: String,
) -> SaveRecord<MovedVerdicts<'a>> {
    let now = saved.shown.snapshot.as_deref();
    let overview = &saved.shown.overview;
    let metrics = overview.metrics.iter().map(|metric| {
        let kept = SavedMetric {
            mean: metric.mean,
            pass_rate: metric.pass_rate,
            judged: metric.judged,
            errors: metric.errors,
            total: metric.total,
            labels: metric.labels,
        };
        (metric.grader.clone(), kept)
    });
    let changed = saved.shown.rubrics.0.iter().filter(|rubric| !rubrics.0.contains(rubric));
    let rubric_texts = changed
        .filter_map(|(name, _)| Some((name.clone(), saved.shown.texts.rubric(name)?.to_string())));
    SaveRecord {
        format: FORMAT,
        save: overview.save,
        at,
        files: overview.files.clone(),
        rubrics: saved.shown.rubrics.clone(),
        rubric_texts: OrderedMap(rubric_texts.collect()),
        complete: now.is_some_and(Snapshot::is_whole),
        metrics: OrderedMap(metrics.collect()),
        declared: OrderedMap(overview.declared.iter().map(saved_declared).collect()),
        gate: overview.gate.clone(),
        counts: overview.counts,
        asked: overview.actions.asked,
        cached: overview.actions.cached,
        failed: overview.actions.failed,
        spent: overview.spent.save,
        verdicts: MovedVerdicts { now, last: saved.last, names: saved.names },
    }
}

fn saved_declared(row: &DeclaredMetricRow) -> (String, MetricValue) {
    let kept = MetricValue {
        kind: row.kind.clone(),
        value: row.value,
        n: row.n,
        errors: row.errors,
        interval: row.interval,
        problem: row.problem.clone(),
        definition: row.definition.clone(),
        ..MetricValue::default()
    };
    (row.name.clone(), kept)
}

/// The digests of the rubrics, by grader.
pub(super) fn rubrics(session: &Session) -> OrderedMap<String> {
    let db = &session.db;
    let rubrics = session.graders().iter().filter_map(|grader| {
        let GraderKind::Rubric(rubric) = grader.kind(db) else { return None };
        let digest = blake3::hash(rubric.prompt.as_bytes()).to_hex().to_string();
        Some((grader.name(db).clone(), digest))
    });
    OrderedMap(rubrics.collect())
}

/// The names of every case of the session, those that went among them.
///
/// An evaluation may be written after its cases went: they are named while the session holds them.
#[derive(Debug, Default)]
pub struct CaseNames {
    known: HashMap<CaseId, (String, Option<String>, u32)>,
    /// The cases that were named last.
    last: Option<Arc<CaseIndex>>,
}

impl CaseNames {
    /// Names the cases that the session holds.
    pub fn add(&mut self, session: &Session) {
        let db = &session.db;
        let index = case_index(db, session.root);
        if self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &index)) {
            return;
        }
        let chunks = session.root.chunks(db);
        for (case, at) in index.cases() {
            if self.known.contains_key(&case) {
                continue;
            }
            if let Some(chunk) = chunks.get(at.chunk)
                && let Some(who) = queries::checked(db, *chunk).whos.get(at.case)
                && let Some(place) = queries::places(db, *chunk).get(at.case)
            {
                let sample = named(who.id(), place.occurrence);
                self.known.insert(case, (sample, who.identity.model.clone(), who.identity.trial));
            }
        }
        self.last = Some(index);
    }
}

/// The verdicts that are others than they were last, those that came and went among them: made one by one while they are
/// written.
pub struct MovedVerdicts<'a> {
    now: Option<&'a Snapshot>,
    last: Option<&'a Arc<Snapshot>>,
    names: &'a CaseNames,
}

impl Serialize for MovedVerdicts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if let Some(now) = self.now {
            self.of_graders_now(now, &mut list)?;
            if let Some(last) = self.last {
                self.of_what_went(now, last, &mut list)?;
            }
        }
        list.end()
    }
}

impl MovedVerdicts<'_> {
    /// Those of cases and graders that are there now.
    fn of_graders_now<L: SerializeSeq>(
        &self,
        now: &Snapshot,
        list: &mut L,
    ) -> Result<(), L::Error> {
        for (ordinal, grader) in now.graders.iter().enumerate() {
            let then = self.last.and_then(|last| Some((last, last.grader(&grader.name)?)));
            let is_other = |chunk| {
                then.is_none_or(|(last, of_last)| {
                    now.has_same(chunk, ordinal, last, of_last) != SnapshotOverlap::Grades
                })
            };
            let others = now.index.chunks().enumerate().filter(|(chunk, _)| is_other(*chunk));
            for (case, _) in others.flat_map(|(_, cases)| cases) {
                let before = then.and_then(|(last, at)| grade(last, case, at));
                self.add(list, case, &grader.name, [before, grade(now, case, ordinal)])?;
            }
        }
        Ok(())
    }

    /// Those of cases and graders that were there before, and are not now.
    fn of_what_went<L: SerializeSeq>(
        &self,
        now: &Snapshot,
        last: &Arc<Snapshot>,
        list: &mut L,
    ) -> Result<(), L::Error> {
        for (ordinal, grader) in last.graders.iter().enumerate() {
            let is_left = now.grader(&grader.name).is_some();
            if is_left && Arc::ptr_eq(&last.index, &now.index) {
                continue;
            }
            let cases = last.index.cases().map(|(case, _)| case);
            for case in cases.filter(|case| !is_left || now.index.place(*case).is_none()) {
                self.add(list, case, &grader.name, [grade(last, case, ordinal), None])?;
            }
        }
        Ok(())
    }

    fn add<L: SerializeSeq>(
        &self,
        list: &mut L,
        case: CaseId,
        grader: &str,
        [before, now]: [Option<SavedGrade>; 2],
    ) -> Result<(), L::Error> {
        let known = self.names.known.get(&case).filter(|_| before != now);
        let Some((sample_id, model, trial)) = known else { return Ok(()) };
        list.serialize_element(&SavedVerdict {
            sample_id: sample_id.clone(),
            model: model.clone(),
            trial: *trial,
            grader: grader.to_owned(),
            before,
            now,
        })
    }
}

fn grade(snapshot: &Snapshot, case: CaseId, grader: usize) -> Option<SavedGrade> {
    let Cell { score, state } = snapshot.cell(case, grader).filter(|cell| cell.is_known())?;
    Some(SavedGrade {
        score,
        pass: state == CellState::Passed,
        error: state == CellState::Errored,
        key: snapshot.key(case, grader).map(|key| key.to_string()),
    })
}
