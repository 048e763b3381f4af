//! Calls of tools, answered by the tool program of a chat.
//!
//! A tool that fails is an answer too: the model is told, and may go on. Only a program that cannot be called at all fails
//! the conversation.

use std::sync::Arc;

use serde_json::{Value, json};

use super::function;
use super::talk::Talk;
use crate::{ProgramLaunch, Start};
use evalrs_eval::judge::provider::chat::{ChatToolCall, ToolResult};
use evalrs_eval::program::ProgramAction;
use evalrs_model::outcome::{Failure, FailureKind, Outcome};
use evalrs_model::spec::Language;

/// Has a call answered.
pub(super) async fn answer(
    talk: &Talk<'_>,
    tools: &[Value],
    call: ChatToolCall,
) -> Result<ToolResult, Failure> {
    let names = || tools.iter().filter_map(|tool| tool.get("name")?.as_str());
    if !names().any(|name| name == call.name) {
        let known: Vec<&str> = names().collect();
        let text = format!("Error: there is no tool `{}`, only: {}", call.name, known.join(", "));
        return Ok(ToolResult { call, text, has_failed: true });
    }
    let identity = Arc::clone(&talk.launch.action.identity.program);
    let action = ProgramAction { identity, input: input(talk, &call).to_string() };
    let launch = ProgramLaunch { action, start: start(talk) };
    let language = launch.start.spec.language;
    let outcome = tokio::time::timeout(talk.left(), talk.programs.execute(launch)).await;
    let failure = match outcome.map_err(|_| talk.late())? {
        Outcome::Reply(reply) => {
            let text = text_of(reply.text, language);
            return Ok(ToolResult { call, text, has_failed: false });
        }
        Outcome::Failure(failure) => failure,
    };
    match failure.kind {
        FailureKind::Exception
        | FailureKind::Exit
        | FailureKind::Killed
        | FailureKind::OutputLimit
        | FailureKind::InvalidReply => {
            let text = format!("Error: {}", failure.message);
            Ok(ToolResult { call, text, has_failed: true })
        }
        _ => {
            let message = format!("the tool `{}` failed: {}", call.name, failure.message);
            Err(function::of_target(Failure { message, ..failure }))
        }
    }
}

fn input(talk: &Talk<'_>, call: &ChatToolCall) -> Value {
    let action = &talk.launch.action;
    let mut input = json!({
        "name": call.name,
        "arguments": call.arguments(),
        "id": call.id,
        "sample": action.sample,
        "trial": action.trial,
    });
    if let Some(model) = action.model_name() {
        input["model"] = json!(model);
    }
    input
}

/// How the program is started. Workers are kept by this, so only that of a process of its own has the time that is left.
fn start(talk: &Talk<'_>) -> Arc<Start> {
    let start = &talk.launch.start;
    if start.spec.language.has_worker() {
        return Arc::clone(start);
    }
    let mut own = start.as_ref().clone();
    let left = u64::try_from(talk.left().as_millis()).unwrap_or(u64::MAX);
    own.spec.timeout_ms = own.spec.timeout_ms.min(left.max(1));
    Arc::new(own)
}

/// The result of a tool as the model gets it: text as it is, anything else as JSON.
fn text_of(result: String, language: Language) -> String {
    if !language.has_worker() {
        return result;
    }
    match serde_json::from_str::<Value>(&result) {
        Ok(Value::String(text)) => text,
        _ => result,
    }
}
