//! The inputs of programs of the user, and the actions that call them.
//!
//! Everything a program is handed is in its key, so nothing is that it has no business with: no row number, no time, and
//! no trial unless its suite says that it `sees` that. A function of Python gets the id of a sample where the row has one,
//! because it may read it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::case::{Case, unreadable};
use super::case_part::{CasePart, part_of};
use super::ready::ReadyGrader;
use super::sample_members::SampleSource;
use super::submission::{Submission, no_submission};
use crate::action::Action;
use crate::dataset::fields::{RowProblem, RowSpec};
use crate::dataset::row;
use crate::dataset::row::{OpenedRow, RowRecord};
use crate::dataset::{GroundTruth, Input, RecordedAnswer};
use crate::grade::Grade;
use crate::program::{ProgramAction, ProgramIdentity};
use evalrs_model::spec::{Language, SampleMember};
use evalrs_trajectory::Trajectory;

/// The extractor of a grader, where it is a program.
#[derive(Clone, Debug)]
pub struct ReadyExtractor {
    /// The program; none until its files are read.
    pub program: Result<Option<Arc<ProgramIdentity>>, String>,
    /// Its options.
    pub config: Map<String, Value>,
    /// Whether messages of sub-agents are seen.
    pub include_subagents: bool,
}

/// The input of a Python function that grades.
#[derive(Serialize)]
struct FunctionInput<'a> {
    sample: SampleAndMembers<SampleInput>,
    submission: &'a str,
}

/// The input of every program, or that with the members that this one sees, which replace those of their name.
#[derive(Serialize)]
#[serde(untagged)]
enum SampleAndMembers<T> {
    Sample(T),
    Both(Value),
}

impl<T: Serialize> SampleAndMembers<T> {
    fn new(sample: T, members: Map<String, Value>) -> Self {
        if members.is_empty() {
            return Self::Sample(sample);
        }
        let mut both = serde_json::to_value(&sample).unwrap_or_default();
        if let Value::Object(all) = &mut both {
            all.extend(members);
        }
        Self::Both(both)
    }
}

/// A sample as functions see it.
#[derive(Serialize)]
struct SampleInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    input: GivenInput,
    ground_truth: Option<String>,
    agent_args: Option<Map<String, Value>>,
    rubric_vars: Option<Map<String, Value>>,
    extra_vars: Option<Map<String, Value>>,
    metadata: Map<String, Value>,
    tags: Vec<String>,
}

/// The `GraderInput` of the inline protocol, its members in the order of the protocol.
#[derive(Serialize)]
struct GraderInput<'a> {
    input: GivenInput,
    output: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trajectory: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<Value>,
}

/// What the target was given, or one turn of it.
#[derive(Serialize)]
#[serde(untagged)]
enum GivenInput {
    Text(String),
    Turns(Vec<String>),
    Messages(Value),
    Nothing,
}

impl GivenInput {
    fn of(row: &OpenedRow<'_>, turn: Option<usize>) -> Result<Self, RowProblem> {
        Ok(match (row.input()?, turn) {
            (Some(Input::Text(text)), _) => Self::Text(text),
            (Some(Input::Turns(mut turns)), Some(turn)) if turn < turns.len() => {
                Self::Text(turns.swap_remove(turn))
            }
            (Some(Input::Turns(_)), Some(_)) | (None, _) => Self::Nothing,
            (Some(Input::Turns(turns)), None) => Self::Turns(turns),
            (Some(Input::Messages(messages)), _) => Self::Messages(messages),
        })
    }
}

/// The call that grades one submission.
pub(super) fn grading(
    part: &CasePart<'_>,
    identity: &Arc<ProgramIdentity>,
    grader: &ReadyGrader,
    submission: &str,
) -> Result<ProgramAction, Grade> {
    let ground_truth = part.ground_truth(grader)?;
    let members = seen_members(part, identity, grader, submission, ground_truth.as_deref())?;
    let input = match identity.spec.language {
        Language::Python => {
            let sample = sample(part.row, part.turn, ground_truth);
            let sample = sample.map_err(unreadable)?;
            text(&FunctionInput { sample: SampleAndMembers::new(sample, members), submission })
        }
        Language::Executable | Language::JavaScript => {
            let include_subagents = grader.include_subagents;
            let input = grader_input(part, include_subagents, submission, ground_truth);
            // What is not there is left out, as in the protocol.
            let members = members.into_iter().filter(|(_, value)| !value.is_null()).collect();
            text(&SampleAndMembers::new(input.map_err(unreadable)?, members))
        }
    };
    Ok(ProgramAction { identity: Arc::clone(identity), input })
}

/// What the program that grades sees of the case because the suite says so.
fn seen_members(
    part: &CasePart<'_>,
    identity: &ProgramIdentity,
    grader: &ReadyGrader,
    submission: &str,
    hint: Option<&str>,
) -> Result<Map<String, Value>, Grade> {
    let sees = &identity.spec.sees;
    let has_truth = sees.contains(&SampleMember::GroundTruth);
    let source = SampleSource {
        row: part.row,
        turn: part.turn,
        submission: Some(submission),
        hint,
        ground_truth: if has_truth { part.whole_truth(grader)? } else { None },
        include_subagents: grader.include_subagents,
    };
    source.members(sees).map_err(unreadable)
}

/// Compact JSON. Nothing that is handed to programs can fail to be JSON.
fn text(input: &impl Serialize) -> String {
    serde_json::to_string(input).unwrap_or_default()
}

fn grader_input<'a>(
    part: &CasePart<'_>,
    include_subagents: bool,
    output: &'a str,
    hint: Option<String>,
) -> Result<GraderInput<'a>, RowProblem> {
    let recorded = part.row.recorded()?;
    let trajectory = has_trace(&recorded)
        .then(|| part_of(recorded.trajectory, part.turn).to_steps(include_subagents));
    let mut metadata = part.row.metadata()?;
    let said = metadata.remove("cwd").filter(Value::is_string);
    let is_live = part.row.row().answer.is_some();
    let kept = is_live.then(|| part.row.row().get("workspace")).flatten();
    let cwd = said.or(kept);
    let input = GivenInput::of(part.row, part.turn)?;
    Ok(GraderInput { input, output, hint, trajectory, metadata, cwd })
}

/// Whether more is known of a target than what it answered.
fn has_trace(recorded: &RecordedAnswer) -> bool {
    let answer = recorded.output.as_deref().map(Trajectory::from_output);
    answer.is_none_or(|answer| answer.turns != recorded.trajectory.turns)
}

/// A sample, or one turn of it.
fn sample(
    row: &OpenedRow<'_>,
    turn: Option<usize>,
    ground_truth: Option<String>,
) -> Result<SampleInput, RowProblem> {
    let row::RowId { id, tags, .. } = row.identity()?;
    Ok(SampleInput {
        id,
        input: GivenInput::of(row, turn)?,
        ground_truth,
        agent_args: row.object("agent_args")?,
        rubric_vars: row.object("rubric_vars")?,
        extra_vars: row.object("extra_vars")?,
        metadata: row.metadata()?,
        tags,
    })
}

/// The submission of a case that a program extracts: pending with the action that does, for each turn where input and
/// ground truth are lists.
pub fn extraction(record: RowRecord<'_>, spec: &RowSpec, extractor: &ReadyExtractor) -> Submission {
    let extracted = || -> Result<Submission, RowProblem> {
        let opened = OpenedRow::new(record, spec)?;
        let recorded = opened.recorded()?;
        if opened.may_be_per_turn()
            && let Some(GroundTruth::Turns(turns)) = opened.ground_truth()?
        {
            let of_turn = |turn| {
                of_trajectory(&recorded.trajectory.turn(turn), &opened, Some(turn), extractor)
            };
            let turns: Result<_, RowProblem> = (0..turns.len()).map(of_turn).collect();
            return turns.map(Submission::Turns);
        }
        of_trajectory(&recorded.trajectory, &opened, None, extractor)
    };
    extracted().unwrap_or_else(no_submission)
}

fn of_trajectory(
    trajectory: &Trajectory,
    row: &OpenedRow<'_>,
    turn: Option<usize>,
    extractor: &ReadyExtractor,
) -> Result<Submission, RowProblem> {
    if trajectory.is_empty() {
        return Ok(Submission::NoMessages);
    }
    Ok(match &extractor.program {
        Err(problem) => Submission::Failed(problem.as_str().into()),
        Ok(None) => Submission::Pending(None),
        Ok(Some(identity)) => {
            let call = extracting(trajectory, row, turn, identity, extractor)?;
            Submission::Pending(Some(Action::Program(call).key()))
        }
    })
}

fn extracting(
    trajectory: &Trajectory,
    row: &OpenedRow<'_>,
    turn: Option<usize>,
    identity: &Arc<ProgramIdentity>,
    extractor: &ReadyExtractor,
) -> Result<ProgramAction, RowProblem> {
    let mut input = json!({
        "trajectory": trajectory.to_letta(extractor.include_subagents),
        "config": extractor.config,
        "agent_state": trajectory.agent_state,
    });
    // Only where it asks for some of it does an extractor rest on the sample.
    if !identity.spec.sees.is_empty() {
        let sample = seen_sample(row, turn, identity, extractor.include_subagents)?;
        input["sample"] = serde_json::to_value(sample).unwrap_or_default();
    }
    Ok(ProgramAction { identity: Arc::clone(identity), input: input.to_string() })
}

/// The sample with what the program sees of it, before there is a submission, or beside several.
fn seen_sample(
    row: &OpenedRow<'_>,
    turn: Option<usize>,
    identity: &ProgramIdentity,
    include_subagents: bool,
) -> Result<SampleAndMembers<SampleInput>, RowProblem> {
    let truth = row.ground_truth()?.and_then(|truth| truth.text(turn));
    let source = SampleSource {
        row,
        turn,
        submission: None,
        hint: truth.as_deref(),
        ground_truth: row.whole_truth(turn)?,
        include_subagents,
    };
    let members = source.members(&identity.spec.sees)?;
    Ok(SampleAndMembers::new(sample(row, turn, truth)?, members))
}

/// Renders the call that extracts the submission of a case, or of one turn of it.
pub fn extraction_action(
    case: &Case<'_>,
    turn: usize,
    extractor: &ReadyExtractor,
) -> Option<ProgramAction> {
    let opened = OpenedRow::new(case.record, case.spec).ok()?;
    let recorded = opened.recorded().ok()?;
    let identity = extractor.program.as_ref().ok()?.as_ref()?;
    let turn = matches!(case.submission, Submission::Turns(_)).then_some(turn);
    let trajectory = part_of(recorded.trajectory, turn);
    extracting(&trajectory, &opened, turn, identity, extractor).ok()
}

/// What a reward is made of: the sample, and for each grader its name, its grade and its submission.
pub(super) fn rewarding(
    case: (RowRecord<'_>, &RowSpec),
    identity: &Arc<ProgramIdentity>,
    grades: &[UsableGrade],
) -> Result<ProgramAction, Grade> {
    let (record, spec) = case;
    let applicable = || grades.iter().filter(|(_, grade, _)| grade.applies);
    let made = || -> Result<Value, RowProblem> {
        let row = OpenedRow::new(record, spec)?;
        let trajectory = row.recorded()?.trajectory;
        let submissions =
            applicable().map(|(name, _, text)| (name.clone(), Value::from(text.as_str())));
        let grades = applicable().map(|(name, grade, _)| {
            let metadata = grade.metadata.as_deref().cloned().unwrap_or_default();
            let value = json!({
                "score": grade.score, "rationale": grade.rationale, "metadata": metadata,
            });
            (name.clone(), value)
        });
        Ok(json!({
            "sample": seen_sample(&row, None, identity, false)?,
            "grades": grades.collect::<Map<_, _>>(),
            "submissions": submissions.collect::<Map<_, _>>(),
            "trajectory": trajectory.to_letta(false),
            "agent_id": null,
            "model_handle": row.identity()?.model,
            "agent_state": trajectory.agent_state,
        }))
    };
    let input = made().map_err(unreadable)?.to_string();
    Ok(ProgramAction { identity: Arc::clone(identity), input })
}

/// The same of one that is used: its grade is there, and no error.
pub(super) type UsableGrade = (String, Grade, String);
