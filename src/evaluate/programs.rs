//! What programs of the user are handed, and the actions that call them.
//!
//! Everything a program is handed is in its key, so nothing is that it has no business with: no row number, no trial, no
//! time. A function of Python gets the id of a sample where the row has one, because it may read it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::rewards::Used;
use super::{Case, Part, ReadyGrader, Submission, unreadable};
use crate::action::Action;
use crate::dataset::fields::{RowProblem, RowSpec};
use crate::dataset::row::{self, Opened, Record};
use crate::dataset::{GroundTruth, Input, Recorded};
use crate::grade::Grade;
use crate::program::{Identity, Language, ProgramAction};
use crate::trajectory::Trajectory;

/// The extractor of a grader, where it is a program.
#[derive(Clone, Debug)]
pub struct ReadyExtractor {
    /// The program; none until its files are read.
    pub program: Result<Option<Arc<Identity>>, String>,
    /// Its options.
    pub config: Map<String, Value>,
    /// Whether messages of sub-agents are seen.
    pub include_subagents: bool,
}

/// The call that grades one submission.
pub(super) fn grading(
    part: &Part<'_>,
    (identity, grader): (&Arc<Identity>, &ReadyGrader),
    submission: &str,
) -> Result<ProgramAction, Grade> {
    let input = match identity.spec.language {
        Language::Python => {
            let sample = sample(part.row, part.turn, part.ground_truth(grader)?.as_deref());
            json!({"sample": sample.map_err(unreadable)?, "submission": submission})
        }
        Language::Executable | Language::JavaScript => grader_input(part, grader, submission)?,
    };
    Ok(ProgramAction { identity: Arc::clone(identity), input: input.to_string() })
}

/// The `GraderInput` of the inline protocol, its members in the order of the protocol.
fn grader_input(part: &Part<'_>, grader: &ReadyGrader, submission: &str) -> Result<Value, Grade> {
    let mut members = Map::new();
    let input = match (part.row.input().map_err(unreadable)?, part.turn) {
        (Input::Turns(turns), Some(turn)) => json!(turns.get(turn)),
        (input, _) => input_value(input),
    };
    members.insert("input".to_owned(), input);
    members.insert("output".to_owned(), Value::from(submission));
    if let Some(hint) = part.ground_truth(grader)? {
        members.insert("hint".to_owned(), Value::from(hint));
    }
    let recorded = part.row.recorded().map_err(unreadable)?;
    if has_trace(&recorded) {
        let trajectory = match part.turn {
            Some(turn) => recorded.trajectory.turn(turn),
            None => recorded.trajectory,
        };
        let steps = trajectory.to_steps(grader.include_subagents);
        members.insert("trajectory".to_owned(), Value::from(steps));
    }
    let mut metadata = part.row.metadata().map_err(unreadable)?;
    let cwd = metadata.remove("cwd").filter(Value::is_string);
    if !metadata.is_empty() {
        members.insert("metadata".to_owned(), Value::Object(metadata));
    }
    if let Some(cwd) = cwd {
        members.insert("cwd".to_owned(), cwd);
    }
    Ok(Value::Object(members))
}

/// Whether more is known of a target than what it answered.
fn has_trace(recorded: &Recorded) -> bool {
    let answer = recorded.output.as_deref().map(Trajectory::from_output);
    answer.is_none_or(|answer| answer.turns != recorded.trajectory.turns)
}

fn input_value(input: Input) -> Value {
    match input {
        Input::Text(text) => Value::from(text),
        Input::Turns(turns) => json!(turns),
        Input::Messages(messages) => messages,
    }
}

/// A sample as functions see it, or one turn of it.
fn sample(
    row: &Opened<'_>,
    turn: Option<usize>,
    ground_truth: Option<&str>,
) -> Result<Value, RowProblem> {
    let mut members = Map::new();
    let row::Identity { id, tags, .. } = row.identity()?;
    if let Some(id) = id {
        members.insert("id".to_owned(), Value::from(id));
    }
    let input = match (row.input()?, turn) {
        (Input::Turns(turns), Some(turn)) => json!(turns.get(turn)),
        (input, _) => input_value(input),
    };
    members.insert("input".to_owned(), input);
    members.insert("ground_truth".to_owned(), json!(ground_truth));
    for name in ["agent_args", "rubric_vars", "extra_vars"] {
        let value = row.object(name)?;
        members.insert(name.to_owned(), value.map_or(Value::Null, Value::Object));
    }
    members.insert("metadata".to_owned(), Value::Object(row.metadata()?));
    members.insert("tags".to_owned(), json!(tags));
    Ok(Value::Object(members))
}

/// The submission of a case that a program extracts: pending with the action that does, for each turn where input and
/// ground truth are lists.
pub fn extraction(record: Record<'_>, spec: &RowSpec, extractor: &ReadyExtractor) -> Submission {
    let extracted = || -> Result<Submission, RowProblem> {
        let opened = Opened::new(record, spec)?;
        let recorded = opened.recorded()?;
        if opened.may_be_per_turn()
            && let Some(GroundTruth::Turns(turns)) = opened.ground_truth()?
        {
            let of_turn = |turn| of_trajectory(&recorded.trajectory.turn(turn), extractor);
            return Ok(Submission::Turns((0..turns.len()).map(of_turn).collect()));
        }
        Ok(of_trajectory(&recorded.trajectory, extractor))
    };
    extracted().unwrap_or_else(|problem| Submission::Failed(problem.message.into()))
}

fn of_trajectory(trajectory: &Trajectory, extractor: &ReadyExtractor) -> Submission {
    if trajectory.is_empty() {
        return Submission::NoMessages;
    }
    match &extractor.program {
        Err(problem) => Submission::Failed(problem.as_str().into()),
        Ok(None) => Submission::Pending(None),
        Ok(Some(identity)) => {
            let action = Action::Program(extracting(trajectory, identity, extractor));
            Submission::Pending(Some(action.key()))
        }
    }
}

fn extracting(
    trajectory: &Trajectory,
    identity: &Arc<Identity>,
    extractor: &ReadyExtractor,
) -> ProgramAction {
    let input = json!({
        "trajectory": trajectory.to_letta(extractor.include_subagents),
        "config": extractor.config,
        "agent_state": trajectory.agent_state,
    });
    ProgramAction { identity: Arc::clone(identity), input: input.to_string() }
}

/// Renders the call that extracts the submission of a case, or of one turn of it.
pub fn extraction_action(
    case: &Case<'_>,
    turn: u32,
    extractor: &ReadyExtractor,
) -> Option<ProgramAction> {
    let opened = Opened::new(case.record, case.spec).ok()?;
    let recorded = opened.recorded().ok()?;
    let identity = extractor.program.as_ref().ok()?.as_ref()?;
    let trajectory = match case.submission {
        Submission::Turns(_) => recorded.trajectory.turn(turn as usize),
        _ => recorded.trajectory,
    };
    Some(extracting(&trajectory, identity, extractor))
}

/// What a reward is made of: the sample, and for each grader its name, its grade and its submission.
pub(super) fn rewarding(
    case: (Record<'_>, &RowSpec),
    identity: &Arc<Identity>,
    grades: &[Used],
) -> Result<ProgramAction, Grade> {
    let (record, spec) = case;
    let made = || -> Result<Value, RowProblem> {
        let row = Opened::new(record, spec)?;
        let truth = row.ground_truth()?.map(|truth| match truth {
            GroundTruth::Text(text) => text,
            GroundTruth::Turns(turns) => json!(turns).to_string(),
        });
        let trajectory = row.recorded()?.trajectory;
        let grade = |(name, grade, _): &Used| {
            let metadata = grade.metadata.as_deref().cloned().unwrap_or_default();
            let value = json!({
                "score": grade.score, "rationale": grade.rationale, "metadata": metadata,
            });
            (name.clone(), value)
        };
        let submission = |(name, _, text): &Used| (name.clone(), Value::from(text.as_str()));
        Ok(json!({
            "sample": sample(&row, None, truth.as_deref())?,
            "grades": grades.iter().map(grade).collect::<Map<_, _>>(),
            "submissions": grades.iter().map(submission).collect::<Map<_, _>>(),
            "trajectory": trajectory.to_letta(false),
            "agent_id": null,
            "model_handle": row.identity()?.model,
            "agent_state": trajectory.agent_state,
        }))
    };
    let input = made().map_err(unreadable)?.to_string();
    Ok(ProgramAction { identity: Arc::clone(identity), input })
}
