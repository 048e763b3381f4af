//! The verdicts of an evaluation that was begun on a page, sent as they arrive: first a record of the cached ones, then an
//! event a verdict.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::job::EvaluationJob;
use evalrs_engine::resolve::resolver::GradeFollower;
use evalrs_engine::session::Session;
use evalrs_graph::inputs::Chunk;
use evalrs_graph::labels::disputed_case;
use evalrs_graph::queries::{Grader, Threshold};
use evalrs_graph::{queries, results};
use evalrs_metrics::metric::label_change::AgreementMove;
use evalrs_metrics::metric::labels::disagrees;
use evalrs_metrics::results::report::{Report, Results};
use evalrs_metrics::results::{GradeLine, ResultLine};
use evalrs_model::delta::{Cell, Movement};
use evalrs_model::outcome::FailureKind;
use evalrs_store::record;
use evalrs_system::os::OsSystem;
use evalrs_use_cases::header::with_report;
use evalrs_watch::json::{FORMAT, ToldVerdict};

/// Sends verdicts to the followers of an evaluation.
pub(super) struct LiveGrades {
    job: Arc<EvaluationJob>,
    folder: String,
    /// Chunk → grader → its cells, as last sent.
    told: HashMap<Chunk, Vec<Arc<[Cell]>>>,
}

impl LiveGrades {
    /// One that has sent nothing; the record of the evaluation is in `folder`.
    pub(crate) fn new(job: Arc<EvaluationJob>, folder: String) -> Self {
        Self { job, folder, told: HashMap::new() }
    }

    fn tell(&self, session: &Session, chunk: Chunk, changed: &ChangedCell<'_>) {
        let ChangedCell { case, grader, before, now } = *changed;
        let Some(line) = results::line(&session.db, chunk, case) else { return };
        let name = grader.name(&session.db);
        let grade = line.grades.0.iter().find(|(of, _)| of == name).map(|(_, grade)| grade);
        let rationale = grade.map(|grade| match &grade.error {
            Some(error) => error.message.as_str(),
            None => grade.rationale.as_str(),
        });
        let Threshold(threshold) = grader.pass_threshold(&session.db);
        let label = results::label_of(&session.db, chunk, case, grader);
        let verdict = ToldVerdict {
            sample_id: &line.sample_id,
            model: line.model.as_deref(),
            trial: line.trial,
            grader: name,
            before,
            now,
            movement: Movement::of(before, now),
            label,
            disagrees: label.is_some_and(|label| disagrees(now, label, threshold).is_some()),
            disputed: disputed_case(&session.db, chunk, grader, case).is_some(),
            agreement: label.and_then(|label| AgreementMove::of(before, now, label, threshold)),
            rationale,
            rationale_before: None,
        };
        let mut event = json!({"format": FORMAT, "event": "verdict", "save": 0});
        if let (Value::Object(event), Value::Object(body)) = (&mut event, verdict.body()) {
            event.extend(body);
        }
        self.job.tell("verdict", &event);
    }
}

/// A cell that is another one now.
#[derive(Clone, Copy)]
struct ChangedCell<'db> {
    case: usize,
    grader: Grader<'db>,
    before: Option<Cell>,
    now: Cell,
}

/// A line without the grades that are still to come: in a record of a run that has ended they are errors.
fn without_pending(mut line: ResultLine) -> ResultLine {
    let is_known = |grade: &GradeLine| {
        let error = grade.error.as_ref();
        error.is_none_or(|error| error.kind != FailureKind::NotAsked.name())
    };
    line.grades.0.retain(|(_, grade)| is_known(grade));
    line
}

fn cells_of(session: &Session, chunk: Chunk) -> Vec<Arc<[Cell]>> {
    let graders = queries::graders(&session.db, session.root).iter();
    graders.map(|grader| Arc::clone(&queries::cells(&session.db, chunk, *grader).cells)).collect()
}

impl GradeFollower for LiveGrades {
    fn planned(&mut self, session: &Session) {
        let chunks = session.root.chunks(&session.db).iter();
        self.told = chunks.map(|chunk| (*chunk, cells_of(session, *chunk))).collect();
        // Who looks at the page waits for the end, as where nothing could be told; the end says what is wrong.
        let written = with_report(session, |report| {
            let known = || -> Results<'_> { Box::new((report.results)().map(without_pending)) };
            let Report { header, summary, .. } = *report;
            let of_known = Report { header, summary, results: &known, briefs: None };
            record::write_results(&OsSystem, &self.folder, &of_known)
        });
        if written.is_ok() {
            self.job.note_record();
        }
    }

    fn graded(&mut self, session: &Session, chunks: &[Chunk]) {
        for chunk in chunks {
            let now = cells_of(session, *chunk);
            let before = self.told.insert(*chunk, now.clone()).unwrap_or_default();
            let graders = queries::graders(&session.db, session.root).iter();
            for ((at, grader), cells) in graders.enumerate().zip(&now) {
                for (case, now) in cells.iter().enumerate() {
                    let before = before.get(at).and_then(|cells| cells.get(case)).copied();
                    if before != Some(*now) && now.is_known() {
                        let changed = ChangedCell { case, grader: *grader, before, now: *now };
                        self.tell(session, *chunk, &changed);
                    }
                }
            }
        }
    }
}
