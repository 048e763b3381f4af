//! The suite and its graders: everything that no row decides.
//!
//! Each is a query because equality there is where re-work stops: a suite edit that leaves a grader equal leaves its
//! plans alone.

use std::borrow::Cow;
use std::sync::Arc;

use super::Db;
use super::inputs::{File, Overrides, ProgramState, Root};
use evalrs_base::file_path;
use evalrs_base::file_text::FileText;
use evalrs_eval::dataset::fields::{LiveCases, RowSpec};
use evalrs_eval::evaluate::needs::RowNeeds;
use evalrs_eval::evaluate::scope::GraderScope;
use evalrs_eval::evaluate::{Method, ReadyGrader, ReadyReward, ReadyTool};
use evalrs_eval::grade;
use evalrs_eval::grade::reference::ReferencePattern;
use evalrs_eval::grade::votes::is_of_votes;
use evalrs_eval::judge::{BaseUrls, Judge, provider};
use evalrs_eval::program::ProgramIdentity;
use evalrs_metrics::gate;
use evalrs_model::expression::RowCondition;
use evalrs_model::spec::{
    ExtractorSpec, Gate, GraderKind, GraderSpec, ProgramSpec, RewardSpec, RubricSpec, TargetSpec,
    with_batching,
};
use evalrs_suite::{
    Files, Registry, RowRubric, SuiteReading, read_suite, registry, row_rubric as read_row_rubric,
};

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
    /// The place of the reference answer in the ground truth.
    #[tracked]
    pub ground_truth_pattern: Option<String>,
    /// The place of the reference answer in the row, instead of the ground truth.
    #[tracked]
    pub ground_truth: Option<String>,
    /// Whether the opposite is wanted.
    #[tracked]
    #[returns(copy)]
    pub negated: bool,
    /// What holds of the rows that it has something to say of.
    #[tracked]
    pub only: Option<RowCondition>,
    /// The least score that passes.
    #[tracked]
    #[returns(copy)]
    pub pass_threshold: Threshold,
}

/// An extractor with its options: graders that use the same one share its submissions. There are few of them, and cases
/// are known by them: so they stay.
#[salsa::interned(revisions = usize::MAX)]
pub struct SharedExtractor<'db> {
    /// The suite's setting.
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
    let registry = Registry { sandbox: root.overrides(db).sandbox, ..registry::registry() };
    read_suite(root.suite(db).path(db), &RootFiles { db, root }, &registry)
}

/// How rows are read.
#[salsa::tracked]
pub fn row_spec(db: &dyn Db, root: Root) -> Option<RowSpec> {
    let suite = suite(db, root).suite.as_ref()?;
    let overrides = root.overrides(db);
    let format = match &suite.target {
        TargetSpec::Recorded { format, .. } => *format,
        TargetSpec::Live(target) if overrides.cached.is_none() => {
            let trials = overrides.trials.unwrap_or(suite.num_runs).max(1);
            let live = LiveCases { models: target.models.clone(), trials };
            return Some(RowSpec::live(&suite.dataset, live));
        }
        TargetSpec::Live(_) | TargetSpec::NotRunnable { .. } => None,
    };
    Some(RowSpec::new(&suite.dataset, format))
}

/// The condition on rows that count.
#[salsa::tracked]
pub fn row_condition(db: &dyn Db, root: Root) -> Option<RowCondition> {
    suite(db, root).suite.as_ref()?.dataset.condition.clone()
}

/// What graders need of every row.
#[salsa::tracked]
pub fn row_needs(db: &dyn Db, root: Root) -> RowNeeds {
    let Some(suite) = &suite(db, root).suite else { return RowNeeds::default() };
    RowNeeds::of(left_graders(&suite.graders, root.overrides(db)))
}

/// The graders in the order of the suite, those that the command line leaves.
#[salsa::tracked]
pub fn graders(db: &dyn Db, root: Root) -> Vec<Grader<'_>> {
    let Some(suite) = &suite(db, root).suite else { return Vec::new() };
    let overrides = root.overrides(db);
    let all: Cow<'_, [GraderSpec]> = match overrides.batching {
        None => Cow::Borrowed(&suite.graders),
        Some(planned) => Cow::Owned(with_batching(&suite.graders, planned.batching)),
    };
    let graders = left_graders(&all, overrides).map(|grader| {
        Grader::new(
            db,
            root,
            grader.name.clone(),
            grader.extractor.clone(),
            grader.kind.clone(),
            grader.ground_truth_pattern.clone(),
            grader.ground_truth.clone(),
            grader.negated,
            grader.only.clone(),
            Threshold(grader.pass_threshold),
        )
    });
    graders.collect()
}

/// The graders of a suite that the command line leaves: none named leaves all.
fn left_graders<'a>(
    all: &'a [GraderSpec],
    overrides: &Overrides,
) -> impl Iterator<Item = &'a GraderSpec> {
    let only = with_graded(all, &overrides.graders);
    all.iter().filter(move |grader| only.is_empty() || only.contains(&grader.name))
}

/// The graders of the criteria of a rubric, in its order; none of other graders.
#[salsa::tracked]
pub fn criteria_of<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Vec<Grader<'db>> {
    let GraderKind::Reward(RewardSpec::Criteria(spec)) = grader.kind(db) else { return Vec::new() };
    let graders = graders(db, grader.root(db));
    let named = |name: String| graders.iter().find(|other| *other.name(db) == name).copied();
    spec.graders(grader.name(db)).filter_map(named).collect()
}

/// The gate of the suite; none if the command line leaves out a grader that it needs, or all parts of the samples but one: it is
/// for the whole.
#[salsa::tracked]
pub fn gate_rule(db: &dyn Db, root: Root) -> Option<Gate> {
    let gate = suite(db, root).suite.as_ref()?.gate.as_ref()?;
    let overrides: &Overrides = root.overrides(db);
    if overrides.partition.as_ref().is_some_and(|partition| partition.part.is_some()) {
        return None;
    }
    let only = &overrides.graders;
    let metrics = &suite(db, root).suite.as_ref()?.metrics;
    let is_grader = |name: &str| only.is_empty() || only.iter().any(|left| left == name);
    let is_left = |name: &str| match metrics.iter().find(|metric| metric.name == name) {
        Some(metric) => metric.graders().all(is_grader),
        None => is_grader(name),
    };
    gate::graders(gate).into_iter().all(is_left).then(|| gate.clone())
}

/// The base URLs that the environment names for judges, by provider.
#[salsa::tracked]
pub(super) fn environment_base_urls(db: &dyn Db, root: Root) -> Vec<(&'static str, String)> {
    let named = provider::infos().filter_map(|info| {
        let url = root.environment(db).get(info.base_url_variable)?.trim();
        (!url.is_empty()).then(|| (info.id, url.to_owned()))
    });
    named.collect()
}

pub(super) fn model_base_url(db: &dyn Db, root: Root, provider: &str) -> Option<String> {
    let mut named = environment_base_urls(db, root).iter();
    named.find(|(id, _)| *id == provider).map(|(_, url)| url.clone())
}

/// A grader made ready; never compared, because what it is made of is.
#[salsa::tracked(no_eq)]
pub fn ready<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Arc<ReadyGrader> {
    let method = match grader.kind(db) {
        GraderKind::Tool(spec) => match grade::compile(spec) {
            Ok(grader) => {
                let info = grade::find(&spec.function);
                Method::Tool(ReadyTool {
                    grader,
                    reads_trajectory: grade::reads_trajectory(spec),
                    reads_totals: info.is_some_and(|info| info.reads_totals),
                    reads_row: grade::reads_row(spec),
                    records_votes: is_of_votes(spec),
                })
            }
            Err(problems) => {
                let messages = problems.into_iter().map(|problem| problem.message);
                Method::Broken(messages.collect::<Vec<_>>().join("; "))
            }
        },
        GraderKind::Rubric(rubric) => {
            judge_method(db, rubric, &|provider| model_base_url(db, grader.root(db), provider))
        }
        GraderKind::Program(spec) => method(db, spec, Method::Program),
        GraderKind::Reward(RewardSpec::Expression(expression)) => {
            Method::Reward(ReadyReward::Expression(expression.clone()))
        }
        GraderKind::Reward(RewardSpec::Program(spec)) => {
            method(db, spec, |identity| Method::Reward(ReadyReward::Program(identity)))
        }
        GraderKind::Reward(RewardSpec::Criteria(spec)) => {
            Method::Reward(ReadyReward::Criteria(Arc::new(spec.as_ref().clone())))
        }
    };
    let pattern = grader.ground_truth_pattern(db).as_ref();
    Arc::new(ReadyGrader {
        method,
        reference: pattern.and_then(|pattern| ReferencePattern::new(pattern).ok()),
        ground_truth: grader.ground_truth(db).clone(),
        negated: grader.negated(db),
        scope: GraderScope { name: grader.name(db).clone(), only: grader.only(db).clone() },
        include_subagents: includes_subagents(db, grader),
    })
}

#[salsa::tracked(returns(copy))]
fn includes_subagents<'db>(db: &'db dyn Db, grader: Grader<'db>) -> bool {
    grader.extractor(db).include_subagents
}

#[salsa::tracked]
fn rubric_of_rows(db: &dyn Db, root: Root, file: File) -> RowRubric {
    let folder = file_path::folder_of(root.suite(db).path(db));
    read_row_rubric(file.path(db), folder, &RootFiles { db, root })
}

/// The rubric in the file at `path`, relative to the suite's folder.
pub fn row_rubric<'db>(db: &'db dyn Db, root: Root, path: &str) -> &'db RowRubric {
    let folder = file_path::folder_of(root.suite(db).path(db));
    rubric_of_rows(db, root, db.file(&file_path::join(folder, path)))
}

/// The text of a rubric that a row names, as far as judges are shown it.
pub fn row_file(db: &dyn Db, root: Root, path: &str) -> FileText {
    row_rubric(db, root, path).text.clone()
}

/// A program with what is known of its files; none until that is all. An error says why it cannot be called.
pub(crate) fn identity(
    db: &dyn Db,
    spec: &ProgramSpec,
) -> Result<Option<Arc<ProgramIdentity>>, String> {
    match db.program(spec).state(db) {
        ProgramState::Unread => Ok(None),
        ProgramState::Broken(why) => Err(why.to_string()),
        ProgramState::Read(_) if spec.language.has_worker() => Ok(None),
        ProgramState::Read(known) | ProgramState::Known(known) => {
            let known = known.as_ref().clone();
            Ok(Some(Arc::new(ProgramIdentity { spec: spec.clone(), known })))
        }
    }
}

fn method(
    db: &dyn Db,
    spec: &ProgramSpec,
    by: impl FnOnce(Arc<ProgramIdentity>) -> Method,
) -> Method {
    match identity(db, spec) {
        Ok(Some(identity)) => by(identity),
        Ok(None) => Method::Unread,
        Err(message) => Method::Broken(message),
    }
}

/// How a grader with judges grades, once the commands among them are read.
fn judge_method(db: &dyn Db, rubric: &RubricSpec, base_url: BaseUrls<'_>) -> Method {
    let mut read = Vec::new();
    for program in rubric.programs() {
        match identity(db, program) {
            Ok(Some(identity)) => read.push(identity),
            Ok(None) => return Method::Unread,
            Err(message) => return Method::Broken(message),
        }
    }
    Method::Judge(Box::new(Judge::with_programs(rubric.clone(), base_url, &read)))
}

/// The graders that are meant by those that the command line names: a reward brings those that it is made of.
fn with_graded(all: &[GraderSpec], only: &[String]) -> Vec<String> {
    let mut names = only.to_vec();
    let mut at = 0;
    while let Some(name) = names.get(at) {
        at += 1;
        match all.iter().find(|grader| grader.name == *name).map(|grader| &grader.kind) {
            Some(GraderKind::Reward(RewardSpec::Expression(made))) => {
                names.extend(made.names.iter().cloned());
            }
            Some(GraderKind::Reward(RewardSpec::Criteria(made))) => {
                let criteria: Vec<String> = made.graders(name).collect();
                names.extend(criteria);
            }
            Some(GraderKind::Reward(RewardSpec::Program(_))) => return Vec::new(),
            Some(GraderKind::Tool(_) | GraderKind::Rubric(_) | GraderKind::Program(_)) | None => {}
        }
    }
    names
}
