//! The conversation of a live target about a case, and why there is no answer.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::planned::GradePlan;
use crate::dataset::Input;
use crate::dataset::fields::{RowProblem, RowSpec};
use crate::dataset::row::{OpenedRow, RowRecord};
use crate::grade::Grade;
use crate::target::handed::HandedInput;
use crate::target::{TargetAction, TargetIdentity};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Failure;

/// The conversation of a case; `sample` is the id that the target gets.
pub fn conversation(
    record: RowRecord<'_>,
    spec: &RowSpec,
    identity: &Arc<TargetIdentity>,
    sample: String,
) -> Result<TargetAction, RowProblem> {
    let handed = handed(record, spec, &identity.known_of_sample.handed)?;
    let live = spec.live.as_deref().map(|live| live.case(record.case)).unwrap_or_default();
    Ok(TargetAction {
        identity: Arc::clone(identity),
        model: live.model.cloned(),
        handed,
        trial: live.trial,
        sample,
    })
}

/// The part of a row that a target gets, or that its requests contain: compact JSON.
pub fn handed(
    record: RowRecord<'_>,
    spec: &RowSpec,
    wanted: &HandedInput,
) -> Result<String, RowProblem> {
    let row = OpenedRow::new(record, spec)?;
    let mut members = Map::new();
    let is_said = wanted.has("input") || wanted.has("turns");
    match row.input()?.filter(|_| is_said) {
        None => {}
        Some(Input::Text(text)) => {
            members.insert("turns".to_owned(), json!([text]));
            members.insert("input".to_owned(), Value::from(text));
        }
        Some(Input::Turns(turns)) => {
            members.insert("input".to_owned(), json!(turns));
            members.insert("turns".to_owned(), json!(turns));
        }
        Some(Input::Messages(messages)) => {
            members.insert("turns".to_owned(), json!(said_by_user(&messages)));
            members.insert("input".to_owned(), messages);
        }
    }
    for name in ["agent_args", "extra_vars"].into_iter().filter(|name| wanted.has(name)) {
        if let Some(object) = row.object(name)? {
            members.insert(name.to_owned(), Value::Object(object));
        }
    }
    let metadata = if wanted.has("metadata") { row.metadata()? } else { Map::new() };
    if !metadata.is_empty() {
        members.insert("metadata".to_owned(), Value::Object(metadata));
    }
    let mut handed = Value::Object(wanted.of_members(members));
    handed.sort_all_objects();
    Ok(handed.to_string())
}

/// Why a live target has no answer to a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnansweredCase {
    /// This action is pending.
    Pending(ActionKey),
    /// It is not known yet what its program is.
    Blocked,
    /// It gave none.
    Failed(Box<TargetFailure>),
}

/// Why a target gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFailure {
    /// The class of the failure.
    pub kind: &'static str,
    /// What happened, in one sentence.
    pub message: Box<str>,
    /// The end of what it wrote to its standard error.
    pub stderr: Option<Box<str>>,
}

impl UnansweredCase {
    /// A target that cannot be called.
    pub fn failed(kind: &'static str, message: &str) -> Self {
        Self::Failed(Box::new(TargetFailure { kind, message: message.into(), stderr: None }))
    }

    /// A target that failed.
    pub fn of_failure(failure: &Failure) -> Self {
        let stderr = failure.stderr.as_deref().map(Into::into);
        let message = failure.message.as_str().into();
        Self::Failed(Box::new(TargetFailure { kind: failure.kind.name(), message, stderr }))
    }

    /// What is to be done for the case.
    pub fn planned(&self) -> GradePlan {
        match self {
            Self::Pending(key) => GradePlan::Converse(*key),
            Self::Blocked => GradePlan::Blocked,
            Self::Failed(failure) => {
                let TargetFailure { kind, message, stderr } = failure.as_ref();
                let mut grade = Grade::failed(kind, message.to_string());
                if let Some(stderr) = stderr {
                    let metadata = grade.metadata.get_or_insert_default();
                    metadata.insert("stderr".to_owned(), json!(stderr));
                }
                GradePlan::Graded(grade)
            }
        }
    }
}

/// What the user says in chat messages.
fn said_by_user(messages: &Value) -> Vec<String> {
    let all = messages.as_array().into_iter().flatten();
    let of_user = all.filter(|message| message.get("role").is_some_and(|role| role == "user"));
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    };
    of_user.filter_map(|message| message.get("content").map(text)).collect()
}
