//! A target that is the command line of an agent: a process a turn, started and read as an adapter says.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Map, Value};

use super::talk::{Talk, sum};
#[cfg(feature = "judge")]
use super::user::{UserTurns, usage_of_both};
use crate::programs::agent_process::{AgentEnd, AgentRun};
use evalrs_eval::adapter::{
    Adapter, AdapterConversation, TurnOutput, TurnReader, Update, UpdateKind, said, steps,
};
use evalrs_eval::target::answer::{AgentExit, TargetAnswer, TimedLine};
use evalrs_model::outcome::{Failure, FailureKind, Outcome, Usage};
use evalrs_model::spec::AgentKind;
use evalrs_system::System;
use evalrs_system::os::OsSystem;

/// Holds one conversation.
pub(super) async fn converse(talk: Talk<'_>) -> Result<TargetAnswer, Failure> {
    let adapter = adapter(&talk).map_err(|why| Failure::new(FailureKind::Unloadable, why))?;
    let mut dialogue = Dialogue::new(talk, &adapter);
    hold(talk, &mut dialogue).await?;
    match dialogue.failure.take() {
        Some(failure) => Err(dialogue.failed(failure)),
        None => Ok(dialogue.answer()),
    }
}

/// Reports what the user says, for as long as there is something. A user that is simulated hears what the agent
/// answers.
#[cfg(feature = "judge")]
async fn hold(talk: Talk<'_>, dialogue: &mut Dialogue<'_>) -> Result<(), Failure> {
    let mut user = UserTurns::new(&talk)?;
    let mut answer = String::new();
    while let Some(text) = user.next(&talk, &answer).await? {
        dialogue.turn(&text).await?;
        answer = dialogue.last.answer.clone();
        dialogue.said.push(Value::from(text));
    }
    if talk.launch.action.identity.spec.user.is_some() {
        let own = dialogue.usage.unwrap_or_default();
        dialogue.usage = usage_of_both(&talk, own, user.usage());
        dialogue.more.insert("said_by_user".to_owned(), Value::from(dialogue.said.clone()));
        user.end(&mut dialogue.more);
    }
    Ok(())
}

/// Without a way to ask models no user is simulated.
#[cfg(not(feature = "judge"))]
async fn hold(talk: Talk<'_>, dialogue: &mut Dialogue<'_>) -> Result<(), Failure> {
    for text in talk.launch.action.turns() {
        dialogue.turn(&text).await?;
    }
    Ok(())
}

/// The adapter, if it can do what the suite wants of it.
fn adapter(talk: &Talk<'_>) -> Result<Adapter, String> {
    let action = &talk.launch.action;
    let source = match &action.identity.spec.kind {
        AgentKind::Headless(source) => source,
        AgentKind::LettaCode(letta) => &letta.adapter,
        _ => return Err("the target has no adapter".to_owned()),
    };
    let adapter = Adapter::read(&source.text)
        .map_err(|why| format!("`{}` is not an adapter: {why}", source.name))?;
    match &action.model {
        Some(model) if adapter.model_flag.is_none() => Err(format!(
            "the adapter has no flag for the model `{}`: name the flag as `modelFlag` in `{}`",
            model.name, source.name
        )),
        _ => Ok(adapter),
    }
}

struct Dialogue<'a> {
    talk: Talk<'a>,
    adapter: &'a Adapter,
    started_at: i64,
    conversation: AdapterConversation,
    updates: Vec<(Update, u64)>,
    lines: Vec<Vec<TimedLine>>,
    last: TurnOutput,
    usage: Option<Usage>,
    exit: Option<AgentExit>,
    /// What it wrote to standard error.
    stderr: Vec<String>,
    /// What went wrong first, where that ends nothing.
    failure: Option<Failure>,
    #[cfg(feature = "judge")]
    said: Vec<Value>,
    more: Map<String, Value>,
}

impl<'a> Dialogue<'a> {
    fn new(talk: Talk<'a>, adapter: &'a Adapter) -> Self {
        let model = talk.launch.action.model.as_ref().map(|model| model.name.clone());
        Self {
            talk,
            adapter,
            started_at: OsSystem.now().as_millisecond(),
            conversation: AdapterConversation::with_model(model),
            updates: Vec::new(),
            lines: Vec::new(),
            last: TurnOutput::default(),
            usage: None,
            exit: None,
            stderr: Vec::new(),
            failure: None,
            #[cfg(feature = "judge")]
            said: Vec::new(),
            more: Map::new(),
        }
    }

    /// How long the next turn may take.
    fn limit(&self) -> Duration {
        let own = self.talk.launch.turn_limit.or_else(|| self.adapter.turn_limit());
        own.map_or(self.talk.left(), |own| own.min(self.talk.left()))
    }

    /// Says `text` to the agent and hears what it answers.
    async fn turn(&mut self, text: &str) -> Result<(), Failure> {
        let talk = self.talk;
        let limit = self.limit();
        (talk.steps)(format!("turn {}", self.lines.len() + 1));
        let mut command = self.adapter.turn(&self.conversation, text, talk.folder);
        let start = talk.start(command.argv.split_off(1));
        let mut reader = TurnReader::new(self.adapter);
        let mut lines = Vec::new();
        let mut on_line = |line: &str| {
            let at = talk.at_ms();
            let known = reader.told().len();
            let is_over = reader.line(line, at);
            lines.push(TimedLine(at, line.to_owned()));
            let told = reader.told().iter().skip(known);
            told.filter_map(|(update, _)| step_of(update)).for_each(talk.steps);
            if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let input = command.stdin.as_deref().unwrap_or_default();
        let run = AgentRun { start: &start, input, timeout: limit };
        let ran = talk.programs.run_agent(run, &mut on_line).await;
        let output = reader.finish();
        self.lines.push(lines);
        let problem = match &ran {
            Ok(end) => self.problem(end, &output, limit),
            Err(failure) => Some(failure.clone()),
        };
        self.take(text, output);
        self.stderr.extend(ran.as_ref().ok().and_then(|end| end.stderr.clone()));
        self.exit = ran.ok().map(|end| end.exit).or(self.exit);
        let Some(problem) = problem else { return Ok(()) };
        let goes_on = talk.launch.turn_limit.is_some() && problem.kind != FailureKind::Unloadable;
        if goes_on {
            self.failure.get_or_insert(problem);
            return Ok(());
        }
        Err(self.failed(problem))
    }

    fn take(&mut self, text: &str, mut output: TurnOutput) {
        self.conversation.add(text, &output);
        self.updates.append(&mut output.updates);
        self.usage = sum(self.usage, output.usage);
        self.last = output;
    }

    /// What is wrong with how a turn ended, if anything is. A result counts, however the process ends after it.
    fn problem(&self, end: &AgentEnd, output: &TurnOutput, limit: Duration) -> Option<Failure> {
        let failed = |message: String| Failure::new(FailureKind::TargetFailed, message);
        let failure = if end.exit.timed_out && self.talk.left().is_zero() {
            self.talk.late()
        } else if end.exit.timed_out {
            let seconds = limit.as_secs_f64();
            Failure::new(FailureKind::Timeout, format!("a turn took longer than {seconds} s"))
        } else if end.wrote_too_much {
            failed("the agent printed more than 64 MB".to_owned())
        } else if output.has_failed {
            let answer: String = output.answer.chars().take(300).collect();
            failed(format!("the agent reported an error: {answer}"))
        } else if end.exit.code.is_some_and(|code| code != 0) && !output.has_result {
            let last = end.stderr.as_deref().and_then(|text| text.trim().lines().last());
            let last = last.unwrap_or("it wrote nothing to standard error");
            failed(format!("the agent {} without a result: {last}", end.said))
        } else {
            return None;
        };
        let message = self.talk.launch.without_secrets(&failure.message);
        Some(Failure { message, stderr: end.stderr.clone(), ..failure })
    }

    /// The failure, with what there is of an answer.
    fn failed(&mut self, failure: Failure) -> Failure {
        let answer = TargetAnswer {
            started_at: u64::try_from(self.started_at).ok(),
            duration_ms: self.talk.at_ms(),
            ..self.answer()
        };
        let usage = self.usage;
        let partial = match answer.into_outcome() {
            Outcome::Reply(reply) => Some(reply.text),
            Outcome::Failure(_) => None,
        };
        Failure { usage, partial, ..failure }
    }

    fn answer(&mut self) -> TargetAnswer {
        let answer = std::mem::take(&mut self.last.answer);
        let output = if answer.is_empty() { said(&self.updates) } else { answer };
        let trajectory = steps(&self.updates);
        let mut row = Map::new();
        row.insert("output".to_owned(), Value::from(output));
        row.append(&mut self.more);
        if !trajectory.is_empty() {
            row.insert("trajectory".to_owned(), Value::Array(trajectory));
        }
        // Commands without a suite may show it; in suites it is part of failures alone.
        if self.talk.launch.turn_limit.is_some() && !self.stderr.is_empty() {
            let stderr: Vec<&str> = self.stderr.iter().map(|text| text.trim()).collect();
            row.insert("stderr".to_owned(), Value::from(stderr.join("\n")));
        }
        TargetAnswer {
            row,
            exit: self.exit,
            lines: std::mem::take(&mut self.lines),
            usage: self.usage,
            ..TargetAnswer::default()
        }
    }
}

/// The agent's activity in an update, for people.
fn step_of(update: &Update) -> Option<String> {
    let is_over = matches!(update.status.as_deref(), Some("completed" | "failed" | "error"));
    let name = update.title.as_ref().filter(|_| update.kind == UpdateKind::ToolCall && !is_over);
    name.map(|name| format!("tool {name}"))
}
