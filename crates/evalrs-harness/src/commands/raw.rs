//! `evalrs run --raw`: what the command line of an agent, or a line for a shell, wrote for every prompt.

use serde_json::json;

use super::capture::{PromptDelivery, RecordView, give};
use super::extract::AdapterText;
use crate::args::agents::{CaptureArgs, RawArgs};
use crate::args::harness::ProgramArgs;
use evalrs_eval::adapter::Adapter;
use evalrs_use_cases::args::EvaluateArgs;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// Runs a command with the prompt in single quotes between its two parts.
const SIMPLE: &str = r#"q=$(printf '%sx' "$3" | sed "s/'/'\\\\''/g"); q=${q%x}; eval "$1'$q'$2""#;

/// Gives every prompt to the agent, and writes the lines that it wrote.
pub fn raw(
    args: &EvaluateArgs,
    raw: &RawArgs,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let capture = CaptureArgs {
        file: args.suites.first().cloned(),
        ignored: args.suites.get(1..).unwrap_or_default().to_vec(),
        schema: raw.schema.clone(),
        output: args.output.clone(),
        cwd: raw.cwd.clone(),
        timeout: raw.timeout.clone(),
        progress: raw.progress,
        program: ProgramArgs {
            refresh: !args.refresh.is_empty(),
            frozen: args.frozen || args.offline,
            store: args.store.clone(),
            ..ProgramArgs::default()
        },
        ..CaptureArgs::default()
    };
    let adapter = match (&raw.schema, &raw.simple, &raw.shell) {
        (Some(_), _, _) => None,
        (None, Some(command), _) => Some(simple(command)?),
        (None, None, Some(template)) => Some(shell(template)?),
        (None, None, None) => {
            return Err(Error::harness_usage(
                "Error: Must specify --schema, --simple, or --shell mode",
            ));
        }
    };
    super::grading::say_ignored(&capture.ignored, console.err)?;
    let piped = match &capture.file {
        Some(_) => None,
        None => Some(super::grading::file_or_stdin(None, "prompts", console.system)?),
    };
    let view = RecordView::Raw { is_shell: adapter.is_some() };
    give(PromptDelivery { args: &capture, view, piped, adapter }, console)
}

/// A command whose first `{}` is the prompt, in single quotes.
fn simple(command: &str) -> Result<AdapterText, Error> {
    match command.split_once("{}") {
        Some((before, after)) => of_words(&["sh", "-c", SIMPLE, "sh", before, after]),
        None => of_words(&["sh", "-c", command, "sh"]),
    }
}

/// A line for a shell that finds the prompt in `$PROMPT`.
fn shell(template: &str) -> Result<AdapterText, Error> {
    let script = format!("PROMPT=$1; export PROMPT; shift\n{template}");
    of_words(&["sh", "-c", &script, "sh"])
}

/// The adapter of a command that writes no events.
fn of_words(words: &[&str]) -> Result<AdapterText, Error> {
    let text = json!({
        "version": 1,
        "name": "shell",
        "command": words,
        "sessionMode": "stream",
        "prompt": {},
        "output": {"flag": "", "value": ""},
        "result": {"matchPath": "'a line'", "matchValue": "a result", "contentPath": "'nothing'"},
    });
    let text = text.to_string();
    let adapter = Adapter::read(&text).map_err(Error::harness_usage)?;
    Ok(AdapterText { adapter, text })
}
