//! Queries around programs of the user: what is known of their files, what they extract, and the rewards that are made
//! of grades.
//!
//! What a program extracts and what a reward is made of are outcomes; so here, unlike everywhere else, a plan rests on
//! outcomes, and is made again under the epoch of its chunk.

use std::sync::Arc;

use super::Db;
use super::inputs::{Chunk, ProgramState};
use super::queries::{
    Grader, SharedExtractor, cases, graded_texts, graders, mask, plans, ready, row_spec,
};
use crate::pipeline::evaluate::programs::{ReadyExtractor, extraction};
use crate::pipeline::evaluate::rewards::{Said, plan_reward};
use crate::pipeline::evaluate::{Method, Planned, Submission, grade};
use crate::pipeline::program::Identity;
use crate::pipeline::spec::{GraderKind, RewardSpec, Suite};
use crate::pipeline::spec::{ProgramSpec, Repeat};

/// A program with what is known of its files; none until that is all. An error says why it cannot be called.
pub(crate) fn identity(db: &dyn Db, spec: &ProgramSpec) -> Result<Option<Arc<Identity>>, String> {
    match db.program(spec).state(db) {
        ProgramState::Unread => Ok(None),
        ProgramState::Broken(why) => Err(why.to_string()),
        ProgramState::Read(_) if spec.language.has_worker() => Ok(None),
        ProgramState::Read(known) | ProgramState::Known(known) => {
            let known = known.as_ref().clone();
            Ok(Some(Arc::new(Identity { spec: spec.clone(), known })))
        }
    }
}

/// How a grader grades that is a program.
pub(super) fn method(
    db: &dyn Db,
    spec: &ProgramSpec,
    by: impl FnOnce(Arc<Identity>) -> Method,
) -> Method {
    match identity(db, spec) {
        Ok(Some(identity)) => by(identity),
        Ok(None) => Method::Unread,
        Err(message) => Method::Broken(message),
    }
}

/// The extractor of a grader, where it is a program.
pub(crate) fn ready_extractor(
    db: &dyn Db,
    spec: &crate::pipeline::spec::ExtractorSpec,
) -> Option<ReadyExtractor> {
    let program = identity(db, spec.program.as_deref()?);
    let (config, include_subagents) = (spec.options(), spec.include_subagents);
    Some(ReadyExtractor { program, config, include_subagents })
}

/// The calls that extract the submissions of a chunk's cases.
#[salsa::tracked]
fn extractions<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    extractor: SharedExtractor<'db>,
) -> Arc<[Submission]> {
    let spec = row_spec(db, chunk.root(db)).as_ref();
    let (Some(spec), Some(ready)) = (spec, ready_extractor(db, extractor.spec(db))) else {
        return Arc::default();
    };
    cases(chunk.records(db), spec).map(|(_, record)| extraction(record, spec, &ready)).collect()
}

/// The calls that extract what a grader grades of a chunk's cases; nothing where no program does.
pub(crate) fn calls<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Arc<[Submission]> {
    let spec = grader.extractor(db);
    if spec.program.is_none() {
        return Arc::default();
    }
    Arc::clone(extractions(db, chunk, SharedExtractor::new(db, spec.clone())))
}

/// What they extracted, as far as it is there.
pub(super) fn extracted<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    extractor: SharedExtractor<'db>,
) -> Arc<[Submission]> {
    // Reading the epoch is what makes the query run again when outcomes arrive.
    let _ = chunk.epoch(db);
    extractions(db, chunk, extractor).iter().map(|submission| known(db, submission)).collect()
}

fn known(db: &dyn Db, submission: &Submission) -> Submission {
    match submission {
        Submission::Pending(Some(key)) => match db.outcome(*key) {
            Some(outcome) => crate::pipeline::evaluate::extracted(&outcome),
            None => submission.clone(),
        },
        Submission::Turns(turns) => {
            Submission::Turns(turns.iter().map(|turn| known(db, turn)).collect())
        }
        other => other.clone(),
    }
}

/// Whether the plans of a grader rest on outcomes, and so may want more once those are there.
pub(crate) fn rests_on_outcomes(db: &dyn Db, grader: Grader<'_>) -> bool {
    grader.extractor(db).program.is_some() || matches!(grader.kind(db), GraderKind::Reward(_))
}

/// Whether the program that grades is run in every evaluation, and whether the one that extracts is.
pub(crate) fn repeats(db: &dyn Db, grader: Grader<'_>) -> [bool; 2] {
    let own = match grader.kind(db) {
        GraderKind::Program(spec) | GraderKind::Reward(RewardSpec::Program(spec)) => Some(spec),
        GraderKind::Tool(_) | GraderKind::Rubric(_) | GraderKind::Reward(_) => None,
    };
    let programs = [own, grader.extractor(db).program.as_ref()];
    programs.map(|spec| spec.is_some_and(|spec| spec.repeat == Repeat::Always))
}

/// The graders that are meant by those that the command line names: a reward brings those that it is made of.
pub(super) fn with_graded(suite: &Suite, only: &[String]) -> Vec<String> {
    let mut names = only.to_vec();
    for grader in suite.graders.iter().filter(|grader| only.contains(&grader.name)) {
        match &grader.kind {
            GraderKind::Reward(RewardSpec::Expression(made)) => {
                names.extend(made.names.iter().cloned());
            }
            GraderKind::Reward(RewardSpec::Program(_)) => return Vec::new(),
            GraderKind::Tool(_) | GraderKind::Rubric(_) | GraderKind::Program(_) => {}
        }
    }
    names
}

/// What is to be done for a chunk's cases, where a grader makes one score of the grades of others.
pub(super) fn reward_plans<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
) -> Arc<[Planned]> {
    let Some(spec) = row_spec(db, chunk.root(db)) else { return Arc::default() };
    // Reading the epoch is what makes the query run again when outcomes arrive.
    let _ = chunk.epoch(db);
    let ready = ready(db, grader);
    let of = cases(chunk.records(db), spec).zip(mask(db, chunk).iter());
    of.enumerate()
        .map(|(at, ((_, record), is_in))| match is_in {
            true => plan_reward((record, spec), ready, &said(db, chunk, at)),
            false => Planned::Skipped,
        })
        .collect()
}

/// What all graders but rewards say of a case. Only for queries that have read their chunk's epoch.
pub(crate) fn said(db: &dyn Db, chunk: Chunk, case: usize) -> Vec<Said> {
    let others = graders(db, chunk.root(db))
        .iter()
        .filter(|other| !matches!(other.kind(db), GraderKind::Reward(_)));
    let said = |other: &Grader<'_>| {
        let outcomes = |key| db.outcome(key);
        let planned = plans(db, chunk, *other).get(case)?;
        let threshold = other.pass_threshold(db).0;
        let graded = grade(planned, ready(db, *other), &outcomes, threshold);
        let submission = graded_texts(db, chunk, *other).get(case)?.shown();
        Some((other.name(db).clone(), graded.map(|graded| graded.grade), submission))
    };
    others.filter_map(said).collect()
}
