//! A target that is a process: JSON to its standard input, its answer on its standard output.

use std::ops::ControlFlow;

use serde_json::Value;

use super::talk::Talk;
use crate::programs::agent_process::{AgentEnd, AgentRun};
use evalrs_eval::target::answer::{TargetAnswer, TimedLine};
use evalrs_model::outcome::{Failure, FailureKind};

/// Holds one conversation.
pub(super) async fn converse(talk: Talk<'_>) -> Result<TargetAnswer, Failure> {
    let start = talk.start(arguments(&talk));
    let input = talk.launch.action.input(talk.has_workspace.then_some(talk.folder));
    let mut lines = Vec::new();
    let mut on_line = |line: &str| {
        if let Some(step) = step_of(line) {
            (talk.steps)(step);
        }
        lines.push(TimedLine(talk.at_ms(), line.to_owned()));
        ControlFlow::Continue(())
    };
    let run = AgentRun { start: &start, input: &input, timeout: talk.left() };
    let end = talk.programs.run_agent(run, &mut on_line).await?;
    check_end(&talk, &end)?;
    let text: Vec<&str> = lines.iter().map(|TimedLine(_, line)| line.as_str()).collect();
    let answer = TargetAnswer::printed(&text.join("\n"), talk.answer()?.as_ref());
    let answer = answer.map_err(|why| talk.no_answer(why, end.stderr))?;
    // Of one value, the times of its lines tell nothing.
    let lines = if text.len() > 1 { vec![lines] } else { Vec::new() };
    Ok(TargetAnswer { exit: Some(end.exit), lines, ..answer })
}

/// The arguments. In a workspace those that name files of the target's folder are made absolute: they are not there.
fn arguments(talk: &Talk<'_>) -> Vec<String> {
    let start = &talk.launch.start;
    let arguments = start.spec.arguments.iter();
    arguments.map(|argument| located(argument, &start.cwd, talk.has_workspace)).collect()
}

/// An argument; where the command runs elsewhere than in `folder`, one that names a file there is made absolute.
pub(super) fn located(argument: &str, folder: &str, is_elsewhere: bool) -> String {
    let path = std::path::Path::new(folder).join(argument);
    let is_file = is_elsewhere && !argument.starts_with('-') && path.is_file();
    if is_file { path.to_string_lossy().into_owned() } else { argument.to_owned() }
}

pub(super) fn check_end(talk: &Talk<'_>, end: &AgentEnd) -> Result<(), Failure> {
    let stderr = end.stderr.clone();
    if end.exit.timed_out {
        return Err(Failure { stderr, ..talk.late() });
    }
    let message = if end.wrote_too_much {
        "the target printed more than 64 MB".to_owned()
    } else if end.exit.code == Some(0) || end.exit.code.is_none() {
        return Ok(());
    } else {
        let last = stderr.as_deref().and_then(|text| text.trim().lines().last());
        format!("the target {}: {}", end.said, last.unwrap_or("it wrote nothing to standard error"))
    };
    Err(Failure { stderr, ..Failure::new(FailureKind::TargetFailed, message) })
}

/// The agent's activity in a line, for people: the tool it calls, or the kind of the step.
fn step_of(line: &str) -> Option<String> {
    let value: Value = serde_json::from_str(line).ok()?;
    let event = value.get("event").and_then(Value::as_str)?;
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let name = text("name").or_else(|| text("tool")).or_else(|| text("type"));
    Some(name.map_or_else(|| event.to_owned(), |name| format!("{event} {name}")))
}
