//! The queries that the rest of the program uses, and the plans and grades of chunks: one-line bodies, or loops over a
//! chunk, around the pure functions of one case.
//!
//! Each is a query because equality there is where re-work stops: an extractor that picks the same text stops the wave before
//! any plan. What a reward is made of are outcomes; so a reward's plan is made again under the epoch of its chunk.

use std::borrow::Cow;
use std::cell::{LazyCell, OnceCell};
use std::sync::Arc;

use super::Db;
use super::answers::{ChunkCase, conversation_cost};
use super::case_input::{CaseInput, ChunkRows};
pub use super::cases::{
    CheckedRecords, cases, checked, mask, narrowing, places, record_of, selection, unmet, unmet_in,
};
pub use super::graders::{
    Grader, SharedExtractor, Threshold, criteria_of, gate_rule, graders, ready, row_condition,
    row_file, row_needs, row_rubric, row_spec, suite,
};
use super::inputs::Chunk;
use super::known_grades;
use super::row_files::{Baselines, ChunkVotes};
use super::submissions::held_texts;
pub use super::submissions::{GradedTexts, graded_texts, submissions};
use evalrs_eval::evaluate::rewards::{OtherGrade, plan_reward};
use evalrs_eval::evaluate::{self, Case, GradePlan, HeldSubmission, ReadyGrader, Submission};
use evalrs_model::delta::{Cell, CellState};
use evalrs_model::spec::{GraderKind, RewardSpec};

/// A case of a target that is run, and what grades it. It stays: see [`ChunkCase`].
#[salsa::interned(revisions = usize::MAX)]
struct GradedCase<'db> {
    #[returns(copy)]
    chunk: Chunk,
    #[returns(copy)]
    case: usize,
    #[returns(copy)]
    grader: Grader<'db>,
}

/// What is to be done for a chunk's cases.
#[salsa::tracked]
pub fn plans<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Arc<[GradePlan]> {
    if let Some(actions) = known_grades::actions(db, chunk, grader) {
        return actions.map(GradePlan::Ask).collect();
    }
    let Some(source) = ChunkRows::of(db, chunk) else { return Arc::default() };
    let is_in = mask(db, chunk);
    if !is_in.contains(&true) {
        // A look at one sample reads no others.
        return is_in.iter().map(|_| GradePlan::Skipped).collect();
    }
    let is_in = |case: usize| is_in.get(case) == Some(&true);
    let planner = LazyCell::new(|| ChunkPlanner::of(db, chunk, grader));
    source.each(
        |case| if is_in(case.at) { planner.plan(case) } else { GradePlan::Skipped },
        |case| {
            if !is_in(case) {
                return GradePlan::Skipped;
            }
            plan_of(db, GradedCase::new(db, chunk, case, grader)).clone()
        },
    )
}

/// The same of one case of a target that is run.
#[salsa::tracked]
fn plan_of<'db>(db: &'db dyn Db, of: GradedCase<'db>) -> GradePlan {
    let Some(case) = CaseInput::of(db, of.chunk(db), of.case(db)) else {
        return GradePlan::Blocked;
    };
    match case.missing() {
        Some(missing) => missing.planned(),
        None => ChunkPlanner::of(db, of.chunk(db), of.grader(db)).plan(&case),
    }
}

/// Plans the cases of a chunk for one grader.
struct ChunkPlanner<'db> {
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
    ready: &'db ReadyGrader,
    baselines: Baselines<'db>,
    votes: ChunkVotes<'db>,
    /// The graded part of recorded rows, once a query needs it: rewards never do.
    texts: OnceCell<GradedTexts<'db>>,
}

impl<'db> ChunkPlanner<'db> {
    fn of(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Self {
        Self {
            db,
            chunk,
            grader,
            ready: ready(db, grader),
            baselines: Baselines::of(db, chunk, grader),
            votes: ChunkVotes::of(db, chunk, grader),
            texts: OnceCell::new(),
        }
    }

    /// What is to be done for a case that is answered.
    fn plan(&self, case: &CaseInput<'db>) -> GradePlan {
        let record = case.record();
        let spec = case.source.spec;
        if let GraderKind::Reward(reward) = self.grader.kind(self.db) {
            let said = match reward {
                RewardSpec::Criteria(_) => Cow::Owned(self.criteria(case)),
                RewardSpec::Expression(_) | RewardSpec::Program(_) => self.other_grades(case),
            };
            return plan_reward((record, spec), self.ready, &said);
        }
        let Some(submission) = self.submission(case) else { return GradePlan::Blocked };
        let needs_cost = case.source.is_live() && self.ready.reads_totals();
        let cost = needs_cost.then(|| conversation_cost(self.db, self.chunk, case.at)).flatten();
        let files = |path: &str| row_file(self.db, self.chunk.root(self.db), path);
        let case = Case {
            record,
            spec,
            submission: &submission,
            baseline: self.baselines.case(case.at),
            votes: self.votes.case(case.at),
            cost: cost.as_ref(),
        };
        evaluate::plan(&case, self.ready, &files)
    }

    /// What is graded of it: of a target that is run by a query of the case, which an answer to another case leaves alone.
    fn submission(&self, case: &CaseInput<'db>) -> Option<Submission> {
        if case.source.is_live() {
            let of = GradedCase::new(self.db, self.chunk, case.at, self.grader);
            return graded_text_of(self.db, of).as_ref().map(|held| case.shown(held));
        }
        let texts = self.texts.get_or_init(|| graded_texts(self.db, self.chunk, self.grader));
        texts.get(case.at)
    }

    /// The grades by the criteria of a rubric.
    fn criteria(&self, case: &CaseInput<'db>) -> Vec<OtherGrade> {
        let graders = criteria_of(self.db, self.grader).iter();
        graders.filter_map(|other| grade_by(self.db, self.chunk, case.at, *other)).collect()
    }

    /// The grades by all other graders: of a target that is run in the same way.
    fn other_grades(&self, case: &CaseInput<'db>) -> Cow<'db, [OtherGrade]> {
        if case.source.is_live() {
            let of = ChunkCase::new(self.db, self.chunk, case.at);
            return Cow::Borrowed(other_grades_of(self.db, of));
        }
        Cow::Owned(other_grades(self.db, self.chunk, case.at))
    }
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

/// Plans joined with the result of their actions.
#[salsa::tracked]
pub fn cells<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Cells {
    let Threshold(threshold) = grader.pass_threshold(db);
    if let Some(known) = known_grades::grades(db, chunk, grader) {
        return Cells { cells: known.cells(threshold).collect() };
    }
    let combined = known_grades::combined(db, chunk, grader);
    let plans = combined.as_deref().unwrap_or_else(|| plans(db, chunk, grader));
    if plans.iter().any(|planned| !matches!(planned, GradePlan::Graded(_) | GradePlan::Skipped)) {
        // Reading the epoch is what makes this query run again when outcomes arrive.
        let _ = chunk.epoch(db);
    }
    let ready = ready(db, grader);
    let cells = plans.iter().map(|planned| {
        if *planned == GradePlan::Skipped {
            return Cell { score: 0.0, state: CellState::Skipped };
        }
        evaluate::cell(planned, ready, &|key| db.outcome(key), threshold)
            .unwrap_or(Cell { score: 0.0, state: CellState::Pending })
    });
    Cells { cells: cells.collect() }
}

/// The grades of one case of a target that is run by all graders but rewards.
#[salsa::tracked]
fn other_grades_of<'db>(db: &'db dyn Db, case: ChunkCase<'db>) -> Vec<OtherGrade> {
    other_grades(db, case.chunk(db), case.case(db))
}

/// The grades of a case by all graders but rewards.
pub(crate) fn other_grades(db: &dyn Db, chunk: Chunk, case: usize) -> Vec<OtherGrade> {
    let graders = graders(db, chunk.root(db)).iter();
    let is_made_of_all = |other: &Grader<'_>| match other.kind(db) {
        GraderKind::Reward(RewardSpec::Expression(_) | RewardSpec::Program(_)) => true,
        GraderKind::Reward(RewardSpec::Criteria(_))
        | GraderKind::Tool(_)
        | GraderKind::Rubric(_)
        | GraderKind::Program(_) => false,
    };
    let others = graders.filter(|other| !is_made_of_all(other));
    others.filter_map(|other| grade_by(db, chunk, case, *other)).collect()
}

/// The grade of a case by one grader, once it is there, and what it graded.
fn grade_by<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    case: usize,
    grader: Grader<'db>,
) -> Option<OtherGrade> {
    // Reading the epoch is what makes a query run again when outcomes arrive.
    let _ = chunk.epoch(db);
    let planned = plans(db, chunk, grader).get(case)?;
    let Threshold(threshold) = grader.pass_threshold(db);
    let ready = ready(db, grader);
    let graded = evaluate::grade(planned, ready, &|key| db.outcome(key), threshold);
    let submission = graded_texts(db, chunk, grader).get(case)?.shown();
    Some((grader.name(db).clone(), graded.map(|graded| graded.grade), submission))
}
