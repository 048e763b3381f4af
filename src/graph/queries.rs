//! What the rest of the program asks of the graph, and the plans and grades of chunks: one-line bodies, or loops over a
//! chunk, around the pure functions of the pipeline.
//!
//! Each is a query because equality there is where re-work stops: an extractor that picks the same text
//! stops the wave before any plan. What a reward is made of are outcomes; so a reward's plan is made again under the
//! epoch of its chunk.

use std::sync::Arc;

use super::answers::{AnsweredCase, HeldAnswers};
use super::baselines::Baselines;
pub use super::cases::{
    CheckedRecords, cases, checked, mask, narrowing, places, row_needs, selection, unmet, unmet_in,
};
pub use super::graders::{
    Grader, SharedExtractor, Threshold, gate_rule, graders, ready, row_file, row_rubric, row_spec,
    suite,
};
use super::inputs::Chunk;
pub use super::labels::labels;
use super::{Db, programs};
use crate::pipeline::delta::{Cell, CellState};
use crate::pipeline::evaluate;
use crate::pipeline::evaluate::rewards::{OtherGrade, plan_reward};
use crate::pipeline::evaluate::{Case, Planned, Submission};
use crate::pipeline::extract::Extractor;
use crate::pipeline::spec::GraderKind;

/// What an extractor picks of a chunk's cases.
#[salsa::tracked]
pub fn submissions<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    extractor: SharedExtractor<'db>,
) -> Arc<[Submission]> {
    let Some(spec) = row_spec(db, chunk.root(db)) else { return Arc::default() };
    if extractor.spec(db).program.is_some() {
        return programs::extracted(db, chunk, extractor);
    }
    let extractor = Extractor::new(extractor.spec(db));
    let answers = HeldAnswers::of(db, chunk);
    let submission = |case: AnsweredCase<'_>| {
        let unanswered = case.unanswered();
        unanswered.unwrap_or_else(|| evaluate::submission(case.record, spec, &extractor))
    };
    answers.cases(chunk.records(db), spec).map(submission).collect()
}

/// What a grader is given of a chunk's cases. Plans read this, not the extractor: another extractor that picks the
/// same texts changes nothing after it.
#[salsa::tracked(returns(clone))]
pub fn graded_texts<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Arc<[Submission]> {
    submissions(db, chunk, SharedExtractor::new(db, grader.extractor(db).clone())).clone()
}

/// What is to be done for a chunk's cases.
#[salsa::tracked]
pub fn plans<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Arc<[Planned]> {
    let Some(spec) = row_spec(db, chunk.root(db)) else { return Arc::default() };
    if matches!(grader.kind(db), GraderKind::Reward(_)) {
        return reward_plans(db, chunk, grader);
    }
    let baselines = Baselines::of(db, chunk, grader);
    let submissions = graded_texts(db, chunk, grader);
    let grader = ready(db, grader);
    let files = |path: &str| row_file(db, chunk.root(db), path);
    let answers = HeldAnswers::of(db, chunk);
    let records = answers.cases(chunk.records(db), spec);
    let of = records.zip(submissions.iter()).zip(mask(db, chunk).iter());
    of.enumerate()
        .map(|(at, ((case, submission), is_in))| match (is_in, case.missing) {
            (true, Some(missing)) => missing.planned(),
            (true, None) => {
                let baseline = baselines.case(at);
                let record = case.record;
                evaluate::plan(&Case { record, spec, submission, baseline }, grader, &files)
            }
            (false, _) => Planned::Skipped,
        })
        .collect()
}

/// The grades of a chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cells {
    /// One for each case.
    pub cells: Arc<[Cell]>,
}

/// Plans joined with what came of their actions.
#[salsa::tracked]
pub fn cells<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Cells {
    let plans = plans(db, chunk, grader);
    let Threshold(threshold) = grader.pass_threshold(db);
    if plans.iter().any(|planned| !matches!(planned, Planned::Graded(_) | Planned::Skipped)) {
        // Reading the epoch is what makes this query run again when outcomes arrive.
        let _ = chunk.epoch(db);
    }
    let ready = ready(db, grader);
    let outcomes = |key| db.outcome(key);
    let cell = |planned: &Planned| {
        if *planned == Planned::Skipped {
            return Cell { score: 0.0, state: CellState::Skipped };
        }
        let Some(brief) = evaluate::brief(planned, ready, &outcomes, threshold) else {
            return Cell { score: 0.0, state: CellState::Pending };
        };
        let state = match (brief.errored, brief.pass) {
            (true, _) => CellState::Errored,
            (false, true) => CellState::Passed,
            (false, false) => CellState::Failed,
        };
        Cell { score: brief.score, state }
    };
    Cells { cells: plans.iter().map(cell).collect() }
}

/// What is to be done for a chunk's cases, where a grader makes one score of the grades of others.
fn reward_plans<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Arc<[Planned]> {
    let Some(spec) = row_spec(db, chunk.root(db)) else { return Arc::default() };
    // Reading the epoch is what makes the query run again when outcomes arrive.
    let _ = chunk.epoch(db);
    let ready = ready(db, grader);
    let answers = HeldAnswers::of(db, chunk);
    let of = answers.cases(chunk.records(db), spec).zip(mask(db, chunk).iter());
    of.enumerate()
        .map(|(at, (case, is_in))| match (is_in, case.missing) {
            (true, Some(missing)) => missing.planned(),
            (true, None) => plan_reward((case.record, spec), ready, &other_grades(db, chunk, at)),
            (false, _) => Planned::Skipped,
        })
        .collect()
}

/// The grades of a case by all graders but rewards. Only for queries that have read their chunk's epoch.
pub(crate) fn other_grades(db: &dyn Db, chunk: Chunk, case: usize) -> Vec<OtherGrade> {
    let others = graders(db, chunk.root(db))
        .iter()
        .filter(|other| !matches!(other.kind(db), GraderKind::Reward(_)));
    let grade = |other: &Grader<'_>| {
        let outcomes = |key| db.outcome(key);
        let planned = plans(db, chunk, *other).get(case)?;
        let threshold = other.pass_threshold(db).0;
        let graded = evaluate::grade(planned, ready(db, *other), &outcomes, threshold);
        let submission = graded_texts(db, chunk, *other).get(case)?.shown();
        Some((other.name(db).clone(), graded.map(|graded| graded.grade), submission))
    };
    others.filter_map(grade).collect()
}
