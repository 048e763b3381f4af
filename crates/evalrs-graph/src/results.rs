//! Reports on demand: aggregates from the queries' folds, result lines read again one case at a time.
//!
//! Lines are not memoised: each is needed once, when the run is written, and keeping them would cost more
//! than the dataset itself.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::answers::{conversation_key, conversation_of, is_unanswered};
use super::case_input::CaseInput;
use super::cases::{placed, placed_at};
use super::declared::{declared_metrics, metric_value};
use super::held_replies::HeldReplies;
use super::inputs::{Chunk, Root};
use super::labels::disputed_cases;
use super::queries::{self, Grader};
use super::row_files::{Baselines, ChunkVotes};
use super::selection::{SelectableCase, named};
use super::submissions::ready_extractor;
use super::{Database, Db, folds};
use evalrs_base::diagnostic::suggest;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_eval::action::Action;
use evalrs_eval::dataset::row::{self, OpenedRow};
use evalrs_eval::dataset::{GroundTruth, Input};
use evalrs_eval::evaluate::programs::extraction_action;
use evalrs_eval::evaluate::rewards::reward_action;
use evalrs_eval::evaluate::{self, BallotId, Case, FinishedGrade, Purpose, Submission};
use evalrs_eval::grade::Grade;
use evalrs_metrics::metric::trials::TrialFindings;
use evalrs_metrics::results::trials::{NamedResult, SplitResult, TrialsSummary};
use evalrs_metrics::results::{GradeLine, ResultLine, Summary, TurnLine, usable_labels};
use evalrs_model::key::KeyVersion;
use evalrs_model::record_format::{FORMAT, LINE_FORMAT};
use evalrs_model::spec::{GraderKind, Label};
use evalrs_trajectory::Trajectory;

/// The aggregates of everything that is graded by now.
pub fn summary(db: &Database, root: Root) -> Summary {
    let selection = queries::selection(db, root);
    let suite = queries::suite(db, root).suite.as_ref();
    let declared = declared_metrics(db, root)
        .iter()
        .map(|metric| (metric.spec(db).name.clone(), metric_value(db, *metric).clone()));
    let all_usage = *folds::usage_of_all(db, root);
    Summary {
        format: FORMAT,
        suite: suite.map(|suite| suite.name.clone()).unwrap_or_default(),
        samples: selection.samples,
        results: selection.cases,
        metrics: of_each(db, root, |of| Some(folds::metric(db, of).clone())),
        labels: labels(db, root),
        by_model: (selection.models.len() > 1).then(|| folds::by_model(db, root).clone()),
        by_tag: folds::by_tag(db, root).clone(),
        declared: OrderedMap(declared.collect()),
        gate: folds::gate_report(db, root).clone(),
        trials: trials(db, root),
        agreement: of_each(db, root, |of| folds::agreement(db, of).clone()),
        label_agreement: of_each(db, root, |of| folds::label_agreement(db, of)),
        held_out: OrderedMap::default(),
        calibration: OrderedMap::default(),
        annotators: of_each(db, root, |of| folds::annotators(db, of)),
        disputed: of_each(db, root, |of| {
            let cases = disputed_cases(db, of);
            (!cases.is_empty()).then(|| cases.to_vec())
        }),
        people: of_each(db, root, |of| folds::people_estimate(db, of)),
        usage: of_each(db, root, |of| folds::usage(db, of).clone()),
        cost: all_usage.cost,
        all_usage,
    }
}

/// What is found of each grader, without those of which nothing is.
fn of_each<'db, T>(
    db: &'db Database,
    root: Root,
    of: impl Fn(Grader<'db>) -> Option<T>,
) -> OrderedMap<T> {
    let graders = queries::graders(db, root).iter();
    OrderedMap(graders.filter_map(|it| Some((it.name(db).clone(), of(*it)?))).collect())
}

/// What trials tell of a grader, its results by their places.
struct FoundTrials<'a> {
    grader: &'a str,
    findings: &'a TrialFindings,
    split: Option<&'a [SplitResult]>,
}

impl<'a> FoundTrials<'a> {
    fn of(db: &'a Database, grader: Grader<'a>) -> Option<Self> {
        let findings = folds::trial_findings(db, grader).as_ref()?;
        let split = folds::split_results(db, grader).as_deref();
        Some(Self { grader: grader.name(db), findings, split })
    }
}

fn trials(db: &Database, root: Root) -> OrderedMap<TrialsSummary> {
    let graders = queries::graders(db, root).iter();
    let found: Vec<FoundTrials<'_>> =
        graders.filter_map(|grader| FoundTrials::of(db, *grader)).collect();
    let wanted = found.iter().flat_map(|FoundTrials { findings, split, .. }| {
        let split = split.unwrap_or_default().iter().map(|split| split.at);
        findings.flaky.iter().map(|group| group.at).chain(split)
    });
    let wanted: BTreeSet<usize> = wanted.collect();
    let mut names: BTreeMap<usize, NamedResult> = BTreeMap::new();
    if !wanted.is_empty() {
        for (at, (sample_id, who, _, _)) in cases(db, root).enumerate() {
            if wanted.contains(&at) {
                let result = NamedResult { sample_id, model: who.model.clone(), trial: who.trial };
                names.insert(at, result);
            }
        }
    }
    let summaries = found.into_iter().map(|FoundTrials { grader, findings, split }| {
        (grader.to_owned(), TrialsSummary::new(findings, split, &|at| names.get(&at).cloned()))
    });
    OrderedMap(summaries.collect())
}

/// The display names of the graders that are left.
fn labels(db: &Database, root: Root) -> OrderedMap<String> {
    let Some(suite) = &queries::suite(db, root).suite else { return OrderedMap::default() };
    let is_left = |name: &str| queries::graders(db, root).iter().any(|left| left.name(db) == name);
    let left = suite.graders.iter().filter(|grader| is_left(&grader.name));
    let names = left.map(|grader| (grader.name.as_str(), grader.display_name.as_deref()));
    usable_labels(&names.collect::<Vec<_>>())
}

/// The results in dataset order, each read on demand.
pub fn lines(db: &Database, root: Root) -> impl Iterator<Item = ResultLine> + '_ {
    root.chunks(db).iter().flat_map(move |chunk| chunk_lines(db, *chunk))
}

/// The results of a chunk in dataset order.
pub fn chunk_lines(db: &Database, chunk: Chunk) -> impl Iterator<Item = ResultLine> + '_ {
    let held = HeldReplies::of(db, chunk);
    let cases = 0..queries::places(db, chunk).len();
    cases.filter_map(move |case| line(held.db(), chunk, case))
}

/// The heads of the results of a chunk in dataset order, each read on demand.
pub fn heads(db: &Database, chunk: Chunk) -> impl Iterator<Item = Head> + '_ {
    let cases = 0..queries::places(db, chunk).len();
    cases.filter_map(move |case| head(db, chunk, case))
}

/// A case as its result line names it, without what its graders say.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The sample.
    pub sample_id: String,
    /// What the target was given.
    pub input: Value,
    /// The reference answer: text, a list of texts, or null.
    pub ground_truth: Value,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    pub trial: u32,
    /// Whether the row brings a rubric of its own.
    pub own_rubric: bool,
}

/// The id of the sample of a case.
pub fn sample_id(db: &dyn Db, chunk: Chunk, case: usize) -> Option<String> {
    let (who, place) = placed_at(db, chunk, case)?;
    Some(named(who.id(), place.occurrence))
}

/// The head of the result line of a case; none of one that is not evaluated.
pub fn head(db: &Database, chunk: Chunk, case: usize) -> Option<Head> {
    let (who, place) = placed_at(db, chunk, case).filter(|(_, place)| place.is_in())?;
    let spec = queries::row_spec(db, chunk.root(db)).as_ref()?;
    let record = queries::record_of(db, chunk, case)?;
    let opened = OpenedRow::new(record, spec).ok()?;
    Some(Head {
        sample_id: named(who.id(), place.occurrence),
        input: match opened.given().ok()? {
            None => Value::Null,
            Some(Input::Text(text)) => Value::from(text),
            Some(Input::Turns(turns)) => json!(turns),
            Some(Input::Messages(messages)) => messages,
        },
        ground_truth: match opened.ground_truth().ok()? {
            None => Value::Null,
            Some(GroundTruth::Text(text)) => Value::from(text),
            Some(GroundTruth::Turns(turns)) => json!(turns),
        },
        model: who.identity.model.clone(),
        trial: who.identity.trial,
        own_rubric: opened.rubric().ok()?.is_some() || opened.rubric_path().ok()?.is_some(),
    })
}

/// What a row says of a case beyond its result line.
#[derive(Debug)]
pub struct CaseRecord {
    /// The conversation; none if the row has none or it cannot be read.
    pub trajectory: Option<Trajectory>,
    /// What the row says beside.
    pub metadata: Value,
    /// The whole row, as it was written.
    pub row: Value,
    /// The tags of the sample.
    pub tags: Vec<String>,
}

/// What the row of a case says beyond its result line.
pub fn case_record(db: &Database, chunk: Chunk, case: usize) -> Option<CaseRecord> {
    let input = CaseInput::of(db, chunk, case)?;
    let record = input.record();
    let opened = OpenedRow::new(record, input.source.spec).ok()?;
    let who = queries::checked(db, chunk).whos.get(case)?;
    let row: Value = serde_json::from_str(record.row).unwrap_or_default();
    Some(CaseRecord {
        trajectory: opened.recorded().ok().map(|recorded| recorded.trajectory),
        metadata: row.get("metadata").cloned().unwrap_or_default(),
        row,
        tags: who.identity.tags.clone(),
    })
}

/// The result line of a case; none of one that is not evaluated.
pub fn line(db: &Database, chunk: Chunk, case: usize) -> Option<ResultLine> {
    let head = head(db, chunk, case)?;
    let graders = queries::graders(db, chunk.root(db));
    let submission = |grader: &Grader<'_>| queries::graded_texts(db, chunk, *grader).get(case);
    let mut of_case: Vec<Submission> = graders.iter().filter_map(submission).collect();
    let mut grades = Vec::new();
    let mut not_applicable = Vec::new();
    for (grader, submission) in graders.iter().zip(&mut of_case) {
        match grade_line(db, chunk, case, *grader, submission)? {
            Ok(grade) => grades.push((grader.name(db).clone(), grade)),
            Err(why) => {
                not_applicable.push((grader.name(db).clone(), why));
                // Whether it is known what a program extracts for nothing rests on what else was asked, and when.
                if grader.extractor(db).program.is_some() {
                    *submission = Submission::Pending(None);
                }
            }
        }
    }
    // Most graders grade the same text, which stands once: that of the first that has one.
    let shared = of_case.iter().find(|submission| submission.has_text());
    let text = shared.map(Submission::shown).unwrap_or_default();
    let mut submissions = Vec::new();
    for (grader, submission) in graders.iter().zip(&of_case) {
        let applies = grades.iter().any(|(name, _)| name == grader.name(db));
        let other = shared.filter(|shared| applies && *shared != submission);
        if let Some(other) = other.map(|_| submission.shown()).filter(|other| *other != text) {
            submissions.push((grader.name(db).clone(), other));
        }
    }
    Some(ResultLine {
        format: LINE_FORMAT,
        sample_id: head.sample_id,
        input: head.input,
        ground_truth: head.ground_truth,
        model: head.model,
        trial: head.trial,
        conversation: conversation_key(db, chunk, case).map(|key| key.to_string()),
        submission: text,
        submissions: OrderedMap(submissions),
        grades: OrderedMap(grades),
        not_applicable: OrderedMap(not_applicable),
    })
}

/// Every case that is evaluated: the id of its sample, who it is, and where it is planned.
pub fn cases(
    db: &Database,
    root: Root,
) -> impl Iterator<Item = (String, &row::RowId, Chunk, usize)> {
    root.chunks(db).iter().flat_map(move |chunk| {
        let cases = placed(db, *chunk).enumerate().filter(|(_, (_, place))| place.is_in());
        cases.map(move |(at, (who, place))| {
            (named(who.id(), place.occurrence), &who.identity, *chunk, at)
        })
    })
}

/// The position in the dataset of each result's record, in the order of [`lines`].
pub fn records(db: &Database, root: Root) -> impl Iterator<Item = usize> + '_ {
    let per_record = queries::row_spec(db, root).as_ref().map_or(1, |spec| spec.cases().max(1));
    let mut before = 0;
    root.chunks(db).iter().flat_map(move |chunk| {
        let first = before;
        before += chunk.records(db).len();
        let places = queries::places(db, *chunk).iter().enumerate();
        let evaluated = places.filter(|(_, place)| place.is_in());
        evaluated.map(move |(case, _)| first + case / per_record)
    })
}

/// What probably was meant by ids that no sample has, or which there are. Looks no further than the first samples.
pub fn meant_samples(db: &Database, root: Root, unknown: &[String]) -> String {
    const MOST: usize = 20_000;
    const SHOWN: usize = 5;
    let ids = || {
        let counted =
            root.chunks(db).iter().flat_map(|chunk| queries::checked(db, *chunk).counted());
        counted.map(SelectableCase::id).take(MOST)
    };
    let bare = |id: &str| id.replace(|c: char| c.is_ascii_digit(), "");
    for id in unknown {
        // Ids that differ in their number alone are no slips of one another.
        if let Some(near) = suggest(id, ids().filter(|near| bare(near) != bare(id))) {
            return format!("did you mean `{near}`?");
        }
    }
    let mut some: Vec<&str> = Vec::new();
    for id in ids() {
        // Trials and models have the id of their sample.
        if some.contains(&id) {
            continue;
        }
        if some.len() == SHOWN {
            return format!("the ids are `{}`, …", some.join("`, `"));
        }
        some.push(id);
    }
    match some.as_slice() {
        [] => "no row is selected".to_owned(),
        some => format!("the ids are `{}`", some.join("`, `")),
    }
}

/// Those of `ids` that no sample of the dataset has, selected or not.
pub fn unknown_samples(db: &Database, root: Root, mut ids: Vec<String>) -> Vec<String> {
    for chunk in root.chunks(db) {
        if ids.is_empty() {
            break;
        }
        for (who, place) in placed(db, *chunk) {
            ids.retain(|id| *id != named(who.id(), place.occurrence));
        }
    }
    ids
}

/// The human label of a case for a grader, on the scale 0.0..=1.0; none without a label.
pub fn label_of(db: &dyn Db, chunk: Chunk, case: usize, grader: Grader<'_>) -> Option<Label> {
    super::labels::labels(db, chunk, grader).get(case).copied().flatten()
}

/// The grade, or why the grader has nothing to say.
fn grade_line(
    db: &Database,
    chunk: Chunk,
    case: usize,
    grader: Grader<'_>,
    submission: &Submission,
) -> Option<Result<GradeLine, String>> {
    let planned = queries::plans(db, chunk, grader).get(case)?;
    let queries::Threshold(threshold) = grader.pass_threshold(db);
    let outcomes = |key| db.outcome(key);
    let graded = evaluate::grade(planned, queries::ready(db, grader), &outcomes, threshold);
    // What still waits is errored, never a verdict.
    let graded = graded.unwrap_or_else(|| FinishedGrade {
        grade: Grade::failed("not_asked", "the run ended before the judge answered"),
        per_turn: None,
    });
    if !graded.grade.applies {
        return Some(Err(graded.grade.rationale.into_owned()));
    }
    let pass = graded.grade.passes(threshold);
    let mut metadata = graded.grade.metadata.map_or_else(Map::new, |metadata| *metadata);
    if metadata.contains_key("usage") {
        let ready = queries::ready(db, grader);
        let prices = chunk.root(db).prices(db);
        let cost = evaluate::list_cost(planned, ready, &outcomes, threshold, prices);
        metadata.extend(cost.map(|cost| ("cost".to_owned(), json!(cost))));
    }
    let per_turn = graded.per_turn.map(|turns| turn_lines(turns, submission));
    Some(Ok(GradeLine {
        score: graded.grade.score,
        pass,
        rationale: graded.grade.rationale.into_owned(),
        error: graded.grade.error.map(|error| *error),
        key: planned.first_key().map(|key| key.to_string()),
        metadata,
        per_turn,
    }))
}

fn turn_lines(grades: Vec<Grade>, submission: &Submission) -> Vec<TurnLine> {
    let texts: Vec<String> = match submission {
        Submission::Turns(turns) => turns.iter().map(Submission::shown).collect(),
        other => vec![other.shown()],
    };
    let turns = grades.into_iter().zip(texts).enumerate();
    let lines = turns.map(|(turn, (grade, submission))| {
        let rationale = grade.rationale.into_owned();
        TurnLine { turn, score: grade.score, rationale, submission }
    });
    lines.collect()
}

/// Renders an action of the plan again, to be executed. While a program has still to extract the submission, that is
/// the action.
pub fn action_of(
    db: &Database,
    chunk: Chunk,
    case: usize,
    grader: Grader<'_>,
    ballot: BallotId,
) -> Option<Action> {
    let version = KeyVersion::Current;
    action_for(db, chunk, case, grader, RenderedAction { ballot, purpose: Purpose::Grade, version })
}

/// Which action of a case is meant.
#[derive(Clone, Copy, Debug)]
pub struct RenderedAction {
    /// Which of the actions of a grade.
    pub ballot: BallotId,
    /// What it is for: what extracts a submission may be called again where that is known.
    pub purpose: Purpose,
    /// As it is in which version of keys.
    pub version: KeyVersion,
}

/// The same of any action.
pub fn action_for(
    db: &Database,
    chunk: Chunk,
    case: usize,
    grader: Grader<'_>,
    wanted: RenderedAction,
) -> Option<Action> {
    let RenderedAction { ballot, purpose, version } = wanted;
    if is_unanswered(db, chunk, case) {
        let name = sample_id(db, chunk, case)?;
        return conversation_of(db, chunk, case, name).map(Action::Target);
    }
    let input = CaseInput::of(db, chunk, case)?;
    if input.missing().is_some() {
        // The store has the answer no more: without it this would be another action.
        return None;
    }
    let record = input.record();
    let spec = input.source.spec;
    if matches!(grader.kind(db), GraderKind::Reward(_)) {
        let others = queries::other_grades(db, chunk, case);
        let ready = queries::ready(db, grader);
        return reward_action((record, spec), ready, &others).map(Action::Program);
    }
    let submissions = queries::graded_texts(db, chunk, grader);
    let baseline = Baselines::of(db, chunk, grader).case(case);
    let votes = ChunkVotes::of(db, chunk, grader).case(case);
    let submission = &submissions.get(case)?;
    // Tools alone look at the cost, and they ask nothing.
    let case = Case { record, spec, submission, baseline, votes, cost: None };
    let submission = match case.submission {
        Submission::Turns(turns) => turns.get(ballot.turn)?,
        submission => submission,
    };
    if purpose == Purpose::Submission || matches!(submission, Submission::Pending(_)) {
        let extractor = ready_extractor(db, grader.extractor(db))?;
        return extraction_action(&case, ballot.turn, &extractor).map(Action::Program);
    }
    let files = |path: &str| queries::row_file(db, chunk.root(db), path);
    evaluate::action(&case, queries::ready(db, grader), &files, ballot, version)
}
