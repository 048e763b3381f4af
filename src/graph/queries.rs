//! The queries: one-line bodies, or loops over a chunk, around the pure functions of the pipeline.
//!
//! Each is a query because equality there is where re-work stops: an extractor that picks the same text
//! stops the wave before any plan; a suite edit that leaves a grader equal leaves its plans alone.

use std::sync::Arc;

use super::baselines::Baselines;
use super::inputs::{Chunk, File, Root};
pub use super::labels::labels;
use super::selection::{Narrowing, Place, Selection, Who, select};
use super::{Db, inputs, programs};
use crate::base::system;
use crate::pipeline::dataset::Sample;
use crate::pipeline::dataset::chunk::Records;
use crate::pipeline::dataset::fields::{RowProblem, RowSpec};
use crate::pipeline::dataset::row;
use crate::pipeline::dataset::row::{Identity, Record};
use crate::pipeline::delta::{Cell, CellState};
use crate::pipeline::evaluate;
use crate::pipeline::evaluate::needs::RowNeeds;
use crate::pipeline::evaluate::rewards::ReadyReward;
use crate::pipeline::evaluate::{Case, Method, Planned, ReadyGrader, ReadyTool, Submission};
use crate::pipeline::extract::Extractor;
use crate::pipeline::gate;
use crate::pipeline::grade;
use crate::pipeline::grade::reference::ReferencePattern;
use crate::pipeline::judge::Judge;
use crate::pipeline::judge::provider::PROVIDERS;
use crate::pipeline::spec::{ExtractorSpec, Gate, GraderKind, RewardSpec, Suite, TargetSpec};
use crate::pipeline::suite::{FileText, Files, Registry, RowRubric, SuiteReading, read_suite};

/// The least score that passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold(pub f64);

/// A grader of the suite. Its name is its identity; editing one touches one.
#[salsa::tracked]
pub struct Grader<'db> {
    /// What it belongs to.
    #[returns(copy)]
    pub root: Root,
    /// Its key in the suite.
    pub name: String,
    /// What it grades.
    #[tracked]
    pub extractor: ExtractorSpec,
    /// How it grades.
    #[tracked]
    pub kind: GraderKind,
    /// Where the reference answer stands in the ground truth.
    #[tracked]
    pub ground_truth_pattern: Option<String>,
    /// The least score that passes.
    #[tracked]
    #[returns(copy)]
    pub pass_threshold: Threshold,
}

/// An extractor with its options: graders that use the same one share its submissions.
#[salsa::interned]
pub struct SharedExtractor<'db> {
    /// What the suite says.
    pub spec: ExtractorSpec,
}

struct RootFiles<'a> {
    db: &'a dyn Db,
    root: Root,
}

impl Files for RootFiles<'_> {
    fn text(&self, path: &str) -> FileText {
        self.db.file(path).text(self.db).clone()
    }

    fn env(&self, name: &str) -> Option<String> {
        self.root.environment(self.db).get(name).cloned()
    }
}

/// The suite, and everything that is wrong with it.
#[salsa::tracked]
pub fn suite(db: &dyn Db, root: Root) -> SuiteReading {
    let registry =
        Registry { sandbox: root.overrides(db).sandbox, ..crate::pipeline::registry::registry() };
    read_suite(root.suite(db).path(db), &RootFiles { db, root }, &registry)
}

/// How rows are read.
#[salsa::tracked]
pub fn row_spec(db: &dyn Db, root: Root) -> Option<RowSpec> {
    let suite = suite(db, root).suite.as_ref()?;
    let format = match &suite.target {
        TargetSpec::Recorded { format, .. } => *format,
        TargetSpec::NotRunnable { .. } => None,
    };
    Some(RowSpec::new(&suite.dataset, format))
}

/// The graders in the order of the suite, those that the command line leaves.
#[salsa::tracked]
pub fn graders(db: &dyn Db, root: Root) -> Vec<Grader<'_>> {
    let Some(suite) = &suite(db, root).suite else { return Vec::new() };
    let only = programs::with_graded(suite, &root.overrides(db).graders);
    let wanted =
        suite.graders.iter().filter(|grader| only.is_empty() || only.contains(&grader.name));
    wanted
        .map(|grader| {
            let pattern = grader.ground_truth_pattern.clone();
            let (extractor, kind) = (grader.extractor.clone(), grader.kind.clone());
            Grader::new(
                db,
                root,
                grader.name.clone(),
                extractor,
                kind,
                pattern,
                Threshold(grader.pass_threshold),
            )
        })
        .collect()
}

/// The gate of the suite; none if the command line leaves out a grader that it needs.
#[salsa::tracked]
pub fn gate_rule(db: &dyn Db, root: Root) -> Option<Gate> {
    let gate = suite(db, root).suite.as_ref()?.gate.as_ref()?;
    let only = &root.overrides(db).graders;
    let is_left = |name: &str| only.is_empty() || only.iter().any(|left| left == name);
    gate::graders(gate).into_iter().all(is_left).then(|| gate.clone())
}

/// The base URLs that the environment names for judges, by provider.
#[salsa::tracked]
fn environment_base_urls(db: &dyn Db, root: Root) -> Vec<(&'static str, String)> {
    let named = PROVIDERS.iter().filter_map(|provider| {
        let info = provider.info();
        let url = root.environment(db).get(info.base_url_variable)?.trim();
        (!url.is_empty()).then(|| (info.id, url.to_owned()))
    });
    named.collect()
}

/// A grader made ready; never compared, because what it is made of is.
#[salsa::tracked(no_eq)]
pub fn ready<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Arc<ReadyGrader> {
    let method = match grader.kind(db) {
        GraderKind::Tool(spec) => match grade::compile(spec) {
            Ok(grader) => {
                let info = grade::find(&spec.function);
                let (reads_trajectory, reads_row) =
                    info.map_or((true, true), |info| (info.reads_trajectory, info.reads_row));
                Method::Tool(ReadyTool { grader, reads_trajectory, reads_row })
            }
            Err(problems) => Method::Broken(
                problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; "),
            ),
        },
        GraderKind::Rubric(rubric) => {
            let named = environment_base_urls(db, grader.root(db));
            let base_url = |provider: &str| {
                named.iter().find(|(id, _)| *id == provider).map(|(_, url)| url.clone())
            };
            Method::Judge(Box::new(Judge::new(rubric.as_ref().clone(), &base_url)))
        }
        GraderKind::Program(spec) => programs::method(db, spec, Method::Program),
        GraderKind::Reward(RewardSpec::Expression(expression)) => {
            Method::Reward(ReadyReward::Expression(expression.clone()))
        }
        GraderKind::Reward(RewardSpec::Program(spec)) => {
            programs::method(db, spec, |identity| Method::Reward(ReadyReward::Program(identity)))
        }
    };
    let reference = grader
        .ground_truth_pattern(db)
        .as_ref()
        .and_then(|pattern| ReferencePattern::new(pattern).ok());
    let include_subagents = includes_subagents(db, grader);
    Arc::new(ReadyGrader { method, reference, include_subagents })
}

#[salsa::tracked(returns(copy))]
fn includes_subagents<'db>(db: &'db dyn Db, grader: Grader<'db>) -> bool {
    grader.extractor(db).include_subagents
}

/// What a chunk's records say about themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Who each case is.
    pub whos: Vec<Who>,
    /// What is wrong: record, problem.
    pub problems: Vec<(usize, RowProblem)>,
    /// Rubrics that rows name: record, path from the suite's folder.
    pub rubric_files: Vec<(usize, String)>,
}

/// The cases of a chunk and everything that is wrong with them.
#[salsa::tracked]
pub fn checked(db: &dyn Db, chunk: Chunk) -> Checked {
    let Some(spec) = row_spec(db, chunk.root(db)) else { return Checked::default() };
    Checked::of(chunk.records(db), spec)
}

impl Checked {
    /// What `records` say, whether the database holds them or not.
    pub fn of(records: &Records, spec: &RowSpec) -> Self {
        let mut checked = Self::default();
        for (at, record) in cases(records, spec) {
            match row::check(record, spec) {
                Ok(Sample { id, model, trial, tags, rubric_path, .. }) => {
                    let content_id = id.is_none().then(|| row::content_id(record, spec));
                    checked
                        .whos
                        .push(Who { identity: Identity { id, model, trial, tags }, content_id });
                    checked.rubric_files.extend(rubric_path.map(|path| (at, path)));
                }
                // What is wrong with the row is wrong with all its cases, and said once.
                Err(problem) => {
                    let problem = (at, problem);
                    if checked.problems.last() != Some(&problem) {
                        checked.problems.push(problem);
                    }
                }
            }
        }
        checked
    }
}

/// The cases of some records: the position of the record, and the case.
pub fn cases<'a>(
    records: &'a Records,
    spec: &RowSpec,
) -> impl Iterator<Item = (usize, Record<'a>)> {
    let per_record = spec.cases();
    records.iter().enumerate().flat_map(move |(at, (row, recorded))| {
        (0..per_record).map(move |case| (at, Record { row, recorded, case }))
    })
}

/// What rows lack of what graders need: record, problem.
#[salsa::tracked]
pub fn unmet(db: &dyn Db, chunk: Chunk) -> Vec<(usize, RowProblem)> {
    let root = chunk.root(db);
    let Some(spec) = row_spec(db, root) else { return Vec::new() };
    unmet_in(chunk.records(db), spec, row_needs(db, root))
}

/// What records lack, whether the database holds them or not.
pub fn unmet_in(records: &Records, spec: &RowSpec, needs: &RowNeeds) -> Vec<(usize, RowProblem)> {
    if *needs == RowNeeds::default() {
        return Vec::new();
    }
    let problems = |(at, (row, recorded)): (usize, _)| {
        let problems = needs.problems(Record { row, recorded, case: 0 }, spec);
        problems.into_iter().map(move |problem| (at, problem))
    };
    records.iter().enumerate().flat_map(problems).collect()
}

/// What graders need of every row.
#[salsa::tracked]
pub fn row_needs(db: &dyn Db, root: Root) -> RowNeeds {
    let suite = suite(db, root).suite.as_ref();
    suite.map_or_else(RowNeeds::default, |suite| needs_of(suite, &root.overrides(db).graders))
}

/// What those graders of a suite need which the command line leaves: none named leaves all.
pub fn needs_of(suite: &Suite, only: &[String]) -> RowNeeds {
    let only = programs::with_graded(suite, only);
    let graders = suite.graders.iter();
    RowNeeds::of(graders.filter(|grader| only.is_empty() || only.contains(&grader.name)))
}

#[salsa::tracked]
pub fn narrowing(db: &dyn Db, root: Root) -> Narrowing {
    let overrides: &inputs::Overrides = root.overrides(db);
    let suite = suite(db, root).suite.as_ref();
    let tags = match suite {
        Some(suite) if overrides.tags.is_empty() => suite.sample_tags.clone(),
        _ => overrides.tags.clone(),
    };
    Narrowing {
        max_samples: overrides.max_samples.or_else(|| suite?.max_samples),
        tags,
        samples: overrides.samples.clone(),
        trials: overrides
            .trials
            .or_else(|| suite.map(|suite| suite.num_runs).filter(|runs| *runs > 1)),
        cases_per_record: row_spec(db, root).as_ref().map_or(1, RowSpec::cases),
    }
}

/// Which cases are evaluated.
#[salsa::tracked]
pub fn selection(db: &dyn Db, root: Root) -> Selection {
    let whos: Vec<&[Who]> =
        root.chunks(db).iter().map(|chunk| checked(db, *chunk).whos.as_slice()).collect();
    select(&whos, narrowing(db, root))
}

/// The ordinals of the chunks, for what folds over all of them.
#[salsa::tracked]
fn ordinals(db: &dyn Db, root: Root) -> std::collections::HashMap<Chunk, usize> {
    root.chunks(db).iter().enumerate().map(|(at, chunk)| (*chunk, at)).collect()
}

/// Which of a chunk's cases are evaluated: all that plans need to know of the selection.
#[salsa::tracked]
pub fn mask(db: &dyn Db, chunk: Chunk) -> Box<[bool]> {
    places(db, chunk).iter().map(|place| place.is_in()).collect()
}

/// The places of a chunk's cases.
pub fn places(db: &dyn Db, chunk: Chunk) -> &[Place] {
    let root = chunk.root(db);
    let at = ordinals(db, root).get(&chunk);
    at.and_then(|at| selection(db, root).places.get(*at)).map_or(&[], |places| &places[..])
}

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
    cases(chunk.records(db), spec)
        .map(|(_, record)| evaluate::submission(record, spec, &extractor))
        .collect()
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
        return programs::reward_plans(db, chunk, grader);
    }
    let baselines = Baselines::of(db, chunk, grader);
    let (grader, submissions) = (ready(db, grader), graded_texts(db, chunk, grader));
    let files = |path: &str| row_file(db, chunk.root(db), path);
    let of = cases(chunk.records(db), spec).zip(submissions.iter()).zip(mask(db, chunk).iter());
    of.enumerate()
        .map(|(at, (((_, record), submission), is_in))| match is_in {
            true => {
                let baseline = baselines.case(at);
                evaluate::plan(&Case { record, spec, submission, baseline }, grader, &files)
            }
            false => Planned::Skipped,
        })
        .collect()
}

/// The rubric in a file that rows name.
#[salsa::tracked]
fn rubric_of_rows(db: &dyn Db, root: Root, file: File) -> RowRubric {
    let folder = system::folder_of(root.suite(db).path(db));
    crate::pipeline::suite::row_rubric(file.path(db), folder, &RootFiles { db, root })
}

/// The rubric in the file at `path`, relative to the suite's folder.
pub fn row_rubric<'db>(db: &'db dyn Db, root: Root, path: &str) -> &'db RowRubric {
    let folder = system::folder_of(root.suite(db).path(db));
    rubric_of_rows(db, root, db.file(&system::join(folder, path)))
}

/// The text of a rubric that a row names, as far as judges are shown it.
pub fn row_file(db: &dyn Db, root: Root, path: &str) -> FileText {
    row_rubric(db, root, path).text.clone()
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
    let (ready, outcomes) = (ready(db, grader), |key| db.outcome(key));
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
