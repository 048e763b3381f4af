//! What the rest of the program asks of the graph, and the plans and grades of chunks: one-line bodies, or loops over a
//! chunk, around the pure functions of the pipeline.
//!
//! Each is a query because equality there is where re-work stops: an extractor that picks the same text
//! stops the wave before any plan. What a reward is made of are outcomes; so a reward's plan is made again under the
//! epoch of its chunk.

use std::sync::Arc;

use super::answers::{ChunkCase, HeldCase, answers, conversation_cost, is_live};
use super::baselines::Baselines;
pub use super::cases::{
    CheckedRecords, cases, checked, mask, narrowing, places, record_of, row_condition, row_needs,
    selection, unmet, unmet_in,
};
pub use super::graders::{
    Grader, SharedExtractor, Threshold, gate_rule, graders, ready, row_file, row_rubric, row_spec,
    suite,
};
use super::inputs::Chunk;
use super::programs::ExtractedCase;
use super::votes::ChunkVotes;
use super::{Db, programs};
use evalrs_eval::dataset::chunk::Records;
use evalrs_eval::dataset::fields::RowSpec;
use evalrs_eval::evaluate;
use evalrs_eval::evaluate::rewards::{OtherGrade, plan_reward};
use evalrs_eval::evaluate::{Case, HeldSubmission, Planned, Submission, UnansweredCase};
use evalrs_eval::extract::Extractor;
use evalrs_model::delta::{Cell, CellState};
use evalrs_model::spec::GraderKind;

/// A case of a target that is run, and what grades it. It stays: see [`ChunkCase`].
#[salsa::interned(revisions = usize::MAX)]
struct GradedCase<'db> {
    /// The chunk.
    #[returns(copy)]
    chunk: Chunk,
    /// The case among those of the chunk.
    #[returns(copy)]
    case: usize,
    /// What grades it.
    #[returns(copy)]
    grader: Grader<'db>,
}

/// What an extractor picks of a chunk's cases.
#[salsa::tracked]
pub fn submissions<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    extractor: SharedExtractor<'db>,
) -> Arc<[HeldSubmission]> {
    let Some(spec) = row_spec(db, chunk.root(db)) else { return Arc::default() };
    if extractor.spec(db).program.is_some() {
        return programs::extracted(db, chunk, extractor);
    }
    if is_live(db, chunk.root(db)) {
        let cases = 0..answers(db, chunk).len();
        let extracted = |case| submission_of(db, ExtractedCase::new(db, chunk, case, extractor));
        return cases.map(|case| extracted(case).clone()).collect();
    }
    let extractor = Extractor::new(extractor.spec(db));
    let records = chunk.records(db);
    let submission =
        |(at, record)| evaluate::submission(record, spec, &extractor).held(records, at);
    cases(records, spec).map(submission).collect()
}

/// What an extractor picks of one case of a target that is run: conversations are large, and arrive one by one.
#[salsa::tracked]
fn submission_of<'db>(db: &'db dyn Db, of: ExtractedCase<'db>) -> HeldSubmission {
    let chunk = of.chunk(db);
    let case = of.case(db);
    let extractor = of.extractor(db);
    let held = HeldCase::of(db, chunk, case);
    let spec = row_spec(db, chunk.root(db)).as_ref();
    let record = record_of(db, chunk, case);
    match (held.missing(), spec, record) {
        (None, Some(spec), Some(record)) => {
            let extractor = Extractor::new(extractor.spec(db));
            evaluate::submission(held.record(record), spec, &extractor).held_alone()
        }
        (missing, _, _) => {
            Submission::Unanswered(missing.cloned().unwrap_or(UnansweredCase::Blocked))
        }
    }
}

/// What a grader is given of a chunk's cases. Plans read this, not the extractor: another extractor that picks the
/// same texts changes nothing after it.
#[salsa::tracked(returns(clone))]
fn held_texts<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Arc<[HeldSubmission]> {
    submissions(db, chunk, SharedExtractor::new(db, grader.extractor(db).clone())).clone()
}

/// What a grader is given of a chunk's cases.
pub fn graded_texts<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> GradedTexts<'db> {
    let cases = row_spec(db, chunk.root(db)).as_ref().map_or(1, RowSpec::cases);
    GradedTexts { held: held_texts(db, chunk, grader), records: chunk.records(db), cases }
}

/// What a grader is given of the cases of a chunk, in their order.
#[derive(Clone, Debug)]
pub struct GradedTexts<'db> {
    held: Arc<[HeldSubmission]>,
    records: &'db Arc<Records>,
    /// The cases of each record.
    cases: usize,
}

impl GradedTexts<'_> {
    /// That of a case; none if there is no such case.
    pub fn get(&self, case: usize) -> Option<Submission> {
        Some(self.held.get(case)?.within(self.records, case / self.cases))
    }

    /// That of every case.
    pub fn iter(&self) -> impl Iterator<Item = Submission> {
        let held = self.held.iter().enumerate();
        held.map(|(case, held)| held.within(self.records, case / self.cases))
    }
}

/// What is to be done for a chunk's cases.
#[salsa::tracked]
pub fn plans<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Arc<[Planned]> {
    let Some(spec) = row_spec(db, chunk.root(db)) else { return Arc::default() };
    if is_live(db, chunk.root(db)) {
        let is_in = mask(db, chunk).iter().enumerate();
        let plan = |case| plan_of(db, GradedCase::new(db, chunk, case, grader)).clone();
        return is_in.map(|(at, is_in)| if *is_in { plan(at) } else { Planned::Skipped }).collect();
    }
    let is_in = mask(db, chunk);
    if !is_in.contains(&true) {
        // A look at one sample reads no others.
        return is_in.iter().map(|_| Planned::Skipped).collect();
    }
    if matches!(grader.kind(db), GraderKind::Reward(_)) {
        return reward_plans(db, chunk, grader);
    }
    let baselines = Baselines::of(db, chunk, grader);
    let votes = ChunkVotes::of(db, chunk, grader);
    let submissions = graded_texts(db, chunk, grader);
    let grader = ready(db, grader);
    let files = |path: &str| row_file(db, chunk.root(db), path);
    let records = cases(chunk.records(db), spec);
    let of = records.zip(submissions.iter()).zip(is_in.iter());
    of.enumerate()
        .map(|(at, (((_, record), submission), is_in))| {
            let baseline = baselines.case(at);
            let votes = votes.case(at);
            let submission = &submission;
            let case = Case { record, spec, submission, baseline, votes, cost: None };
            if *is_in { evaluate::plan(&case, grader, &files) } else { Planned::Skipped }
        })
        .collect()
}

/// What is to be done for one case of a target that is run.
#[salsa::tracked]
fn plan_of<'db>(db: &'db dyn Db, of: GradedCase<'db>) -> Planned {
    let chunk = of.chunk(db);
    let case = of.case(db);
    let grader = of.grader(db);
    let root = chunk.root(db);
    let held = HeldCase::of(db, chunk, case);
    if let Some(missing) = held.missing() {
        return missing.planned();
    }
    let (Some(spec), Some(record)) = (row_spec(db, root).as_ref(), record_of(db, chunk, case))
    else {
        return Planned::Blocked;
    };
    let record = held.record(record);
    if matches!(grader.kind(db), GraderKind::Reward(_)) {
        return plan_reward(
            (record, spec),
            ready(db, grader),
            other_grades_of(db, ChunkCase::new(db, chunk, case)),
        );
    }
    let Some(submission) = graded_text_of(db, of) else {
        return Planned::Blocked;
    };
    let submission = &submission.within(chunk.records(db), case / spec.cases());
    let baseline = Baselines::of(db, chunk, grader).case(case);
    let votes = ChunkVotes::of(db, chunk, grader).case(case);
    let files = |path: &str| row_file(db, root, path);
    let grader = ready(db, grader);
    let cost = grader.reads_totals().then(|| conversation_cost(db, chunk, case)).flatten();
    let case = Case { record, spec, submission, baseline, votes, cost: cost.as_ref() };
    evaluate::plan(&case, grader, &files)
}

/// What a grader is given of one case of a target that is run.
#[salsa::tracked]
fn graded_text_of<'db>(db: &'db dyn Db, of: GradedCase<'db>) -> Option<HeldSubmission> {
    held_texts(db, of.chunk(db), of.grader(db)).get(of.case(db)).cloned()
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
        evaluate::cell(planned, ready, &outcomes, threshold)
            .unwrap_or(Cell { score: 0.0, state: CellState::Pending })
    };
    Cells { cells: plans.iter().map(cell).collect() }
}

/// What is to be done for a chunk's cases, where a grader makes one score of the grades of others.
fn reward_plans<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Arc<[Planned]> {
    let Some(spec) = row_spec(db, chunk.root(db)) else { return Arc::default() };
    // Reading the epoch is what makes the query run again when outcomes arrive.
    let _ = chunk.epoch(db);
    let ready = ready(db, grader);
    let of = cases(chunk.records(db), spec).zip(mask(db, chunk).iter());
    of.enumerate()
        .map(|(at, ((_, record), is_in))| match is_in {
            true => plan_reward((record, spec), ready, &other_grades(db, chunk, at)),
            false => Planned::Skipped,
        })
        .collect()
}

/// The same of one case of a target that is run: what rests on its answer is made again when these are others.
#[salsa::tracked]
fn other_grades_of<'db>(db: &'db dyn Db, case: ChunkCase<'db>) -> Vec<OtherGrade> {
    // Reading the epoch is what makes the query run again when outcomes arrive.
    let _ = case.chunk(db).epoch(db);
    other_grades(db, case.chunk(db), case.case(db))
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
