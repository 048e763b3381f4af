//! Calls a judge that is a command: a process for every request, which gets the prompt and prints the
//! verdict.
//!
//! A run counts as one request against the limits of its command. One that fails or takes too long is made again; one that
//! prints no verdict too, with its fault named in the prompt, as models are told.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::asking::AskedAction;
use super::pause::Pause;
use crate::Start;
use crate::programs::ProgramExecutor;
use crate::programs::agent_process::{AgentEnd, AgentRun};
use evalrs_eval::judge::command::{CommandInput, input, prompt};
use evalrs_eval::judge::provider::RE_ASKS;
use evalrs_model::outcome::{Failure, FailureKind, JudgeExchange, Outcome, RejectedReply, Reply};

/// The most bytes of a reply that are read, as of a model.
const MOST_REPLY: usize = 8 << 20;
/// The last lines of standard error that a message quotes.
const QUOTED_LINES: usize = 3;
/// The characters of each that it quotes.
const QUOTED_LINE: usize = 200;

#[derive(Debug)]
struct CommandReply {
    text: String,
    /// The end of its standard error.
    stderr: Option<String>,
}

/// Runs a command until there is a verdict, or its reply is invalid for the third time.
pub(super) async fn ask(
    programs: &ProgramExecutor,
    start: &Arc<Start>,
    asking: &AskedAction<'_>,
) -> Outcome {
    let action = &asking.launch.action;
    let mut rejected: Vec<RejectedReply> = Vec::new();
    loop {
        let printed = run_with_retries(programs, start, asking, &rejected).await;
        let exchange =
            JudgeExchange { rejected: rejected.clone(), ..JudgeExchange::default() }.kept();
        let CommandReply { text, stderr } = match printed {
            Ok(printed) => printed,
            Err(failure) => return Outcome::Failure(Failure { exchange, ..failure }),
        };
        if text.trim().is_empty() {
            let message = format!("the judge printed nothing{}", quoted_lines(stderr.as_deref()));
            let failure = Failure::new(FailureKind::EmptyReply, message);
            return Outcome::Failure(Failure { stderr, exchange, ..failure });
        }
        let Err(fault) = action.verdict(&text) else {
            return Outcome::Reply(Reply { exchange, ..Reply::new(text) });
        };
        if rejected.len() == RE_ASKS {
            let message = format!("invalid reply, asked {} times: {fault}", RE_ASKS + 1);
            let failure = Failure::new(FailureKind::InvalidReply, message);
            return Outcome::Failure(Failure { reply: Some(text), stderr, exchange, ..failure });
        }
        rejected.push(RejectedReply { text, fault });
    }
}

async fn run_with_retries(
    programs: &ProgramExecutor,
    start: &Arc<Start>,
    asking: &AskedAction<'_>,
    rejected: &[RejectedReply],
) -> Result<CommandReply, Failure> {
    let prompt = prompt(&asking.launch.action, rejected);
    let input = input(&start.spec.arguments, prompt)
        .map_err(|why| Failure::new(FailureKind::Unloadable, why))?;
    let mut changed = start.as_ref().clone();
    changed.spec.arguments.clone_from(&input.arguments);
    let start = Arc::new(changed);
    let printing = asking.with_retries("a reply", async |slot| {
        let ran = run(programs, &start, &input, asking).await;
        // That a process takes its time says nothing of how many there may be.
        slot.landed(Some(200), &Pause::default(), None);
        ran
    });
    let printed = printing.await?;
    let handed = if input.stdin.is_empty() { &input.arguments.join(" ") } else { &input.stdin };
    asking.say_texts(handed, &printed.text);
    Ok(printed)
}

async fn run(
    programs: &ProgramExecutor,
    start: &Arc<Start>,
    input: &CommandInput,
    asking: &AskedAction<'_>,
) -> Result<CommandReply, Failure> {
    let patience = asking.patience();
    let mut text = String::new();
    let mut on_line = |line: &str| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(line);
        if text.len() > MOST_REPLY { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let run = AgentRun { start, input: &input.stdin, timeout: patience };
    let AgentEnd { exit, stderr, said, .. } = programs.run_agent(run, &mut on_line).await?;
    let failure = if exit.timed_out {
        asking.timed_out(patience)
    } else if text.len() > MOST_REPLY {
        let message = "the judge printed more than 8 MB".to_owned();
        Failure::new(FailureKind::OutputLimit, message)
    } else if exit.code.is_none_or(|code| code == 0) {
        return Ok(CommandReply { text, stderr });
    } else {
        let message = format!("the judge {said}{}", quoted_lines(stderr.as_deref()));
        Failure::new(FailureKind::JudgeFailed, message)
    };
    Err(Failure { stderr, ..failure })
}

/// The last lines of standard error, after a colon.
fn quoted_lines(stderr: Option<&str>) -> String {
    let lines = stderr.unwrap_or_default().lines().rev().map(str::trim);
    let last = lines.filter(|line| !line.is_empty()).take(QUOTED_LINES);
    let mut last: Vec<String> = last.map(|line| line.chars().take(QUOTED_LINE).collect()).collect();
    if last.is_empty() {
        return ", and wrote nothing to standard error".to_owned();
    }
    last.reverse();
    format!(": {}", last.join(" / "))
}

#[cfg(test)]
mod tests {
    use super::quoted_lines;

    #[test]
    fn a_message_quotes_the_last_lines_of_standard_error() {
        let long = "é".repeat(999);
        let cut = format!(": {}", "é".repeat(200));
        for (stderr, expected) in [
            (None, ", and wrote nothing to standard error"),
            (Some(" \n\n"), ", and wrote nothing to standard error"),
            (Some("a\n b \n"), ": a / b"),
            (Some("a\nb\n\nc\nd"), ": b / c / d"),
            (Some(&*long), &*cut),
        ] {
            assert_eq!(quoted_lines(stderr), expected);
        }
    }
}
