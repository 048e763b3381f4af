//! `evalrs capture` and `evalrs trials`: every prompt is given to the agent, once or several times, and graded. `raw` gives
//! prompts in the same way.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::agents::{AgentSetup, AgentWork, PromptRun, check_args, concurrency, prompts};
use super::extract::AdapterText;
use crate::args::agents::{CaptureArgs, TrialsArgs};
use crate::capture::trials_record;
use crate::json::to_json;
use crate::lines::JsonRecord;
use evalrs_base::text::{count, sanitize};
use evalrs_engine::resolve::calls::{End, Receiver};
use evalrs_engine::resolve::sequences::{SequenceRun, SequencesEnd, run_sequences};
use evalrs_exec::Notice;
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// What is written of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordView {
    Capture,
    /// Its results in this many trials.
    Trials(usize),
    /// What it wrote.
    Raw {
        /// Whether it is a line for a shell: then what it writes to standard error is an error.
        is_shell: bool,
    },
}

/// What is given to which agent, and what is written of it.
pub(super) struct PromptDelivery<'a> {
    pub args: &'a CaptureArgs,
    pub view: RecordView,
    /// The prompts, where they were piped in.
    pub piped: Option<Vec<u8>>,
    /// The agent; none is that of `--schema`.
    pub adapter: Option<AdapterText>,
}

/// Gives every prompt to the agent.
pub(crate) fn capture(args: &CaptureArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let piped = check_args(args, console)?;
    give(PromptDelivery { args, view: RecordView::Capture, piped, adapter: None }, console)
}

/// Gives every prompt to the agent several times.
pub(crate) fn trials(args: &TrialsArgs, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
    let trials = args.trials.parse().ok().filter(|trials| (1..=10_000).contains(trials));
    let trials =
        trials.ok_or_else(|| Error::harness_usage("Error: -k must be a positive integer"))?;
    let args = &args.capture;
    let piped = check_args(args, console)?;
    give(PromptDelivery { args, view: RecordView::Trials(trials), piped, adapter: None }, console)
}

pub(super) fn give(
    giving: PromptDelivery<'_>,
    console: &mut Console<'_>,
) -> Result<ExitStatus, Error> {
    let PromptDelivery { args, view, piped, adapter } = giving;
    let work = AgentWork::open(args, console)?;
    let max_concurrent = concurrency(args)?;
    let system = console.system;
    let setup = AgentSetup::read(args, adapter, &work, system)?;
    let prompts = prompts(args, piped.as_deref(), console)?;
    let all = prompts.len();
    if args.progress {
        let agent = sanitize(&setup.adapter.name);
        writeln!(console.err, "{} for {agent}, {max_concurrent} at once", count(all, "prompt"))?;
    }
    let trials = match view {
        RecordView::Trials(trials) => Some(trials),
        RecordView::Capture | RecordView::Raw { .. } => None,
    };
    let runs = PromptRun::all(&setup, prompts, trials);
    let output = RecordOutput::begin(args, system, &mut *console.out)?;
    let mut writing = PromptRecordWriter {
        setup: &setup,
        args,
        output,
        err: &mut *console.err,
        view,
        done: 0,
        all,
        error: None,
    };
    let run = SequenceRun {
        executor: work.programs.executor.as_ref(),
        system,
        grader: work.grader.as_ref(),
        agent: setup.program(),
        max_concurrent,
        is_frozen: args.program.frozen,
    };
    let stop = work.programs.stop();
    let store = Arc::clone(&work.programs.store);
    let ended = run_sequences(&run, store, runs.into_iter(), &mut writing, stop);
    let ended = work.programs.runtime.block_on(ended);
    let error = writing.error.take();
    end(ended, error, &work, &setup, console.err)
}

/// Notes the usage, prints messages, and returns how the command ends.
fn end(
    ended: SequencesEnd,
    error: Option<Error>,
    work: &AgentWork,
    setup: &AgentSetup<'_>,
    err: &mut dyn Write,
) -> Result<ExitStatus, Error> {
    let SequencesEnd { end, keys, in_vain, told } = ended;
    let programs = &work.programs;
    let grader = work.grader.as_ref();
    let completed =
        grader.map_or(Ok(()), |grader| grader.complete_keys(&keys, programs.store.as_ref()));
    for warning in programs.store.take_warnings().into_iter().chain(told) {
        writeln!(err, "warning: {warning}")?;
    }
    if let Some(message) = in_vain.first() {
        let actions = count(in_vain.len(), "action");
        let message = sanitize(message);
        writeln!(err, "warning: {actions} failed again, so the cached result stays: {message}")?;
    }
    let is_whole = matches!(end, Ok(End::Done));
    let name = format!("agent {}", setup.adapter.name);
    if let Err(error) = programs.note_used(&name, is_whole, &keys, setup.system) {
        writeln!(err, "warning: {error}")?;
    }
    if let Some(error) = error {
        return Err(error);
    }
    let failed = |error: evalrs_store::StoreError| Error::harness_grading(error.to_string());
    completed.map_err(failed)?;
    if end.map_err(failed)? == End::Interrupted {
        writeln!(err, "interrupted: finished calls are cached; rerun to continue")?;
        return Ok(ExitStatus::Interrupted);
    }
    Ok(ExitStatus::Success)
}

/// Writes records as prompts are done.
struct PromptRecordWriter<'a> {
    setup: &'a AgentSetup<'a>,
    args: &'a CaptureArgs,
    output: RecordOutput<'a>,
    err: &'a mut dyn Write,
    view: RecordView,
    done: usize,
    all: usize,
    error: Option<Error>,
}

impl PromptRecordWriter<'_> {
    fn record(&self, run: &PromptRun<'_>) -> JsonRecord {
        let agent = &self.setup.adapter.name;
        let prompt = &run.prompt;
        let record = match (self.view, run.done.first()) {
            (RecordView::Trials(_), _) => {
                let base = self.setup.workspace_dir();
                Some(trials_record(prompt, agent, &run.done, self.setup.is_graded(), base))
            }
            (RecordView::Capture, first) => first.map(|captured| captured.record(prompt, agent)),
            (RecordView::Raw { is_shell }, first) => {
                first.map(|captured| captured.raw_record(prompt, is_shell))
            }
        };
        record.unwrap_or_default()
    }

    fn write(&mut self, run: &PromptRun<'_>) -> Result<(), Error> {
        let record = self.record(run);
        self.output.write(&to_json(&record))?;
        self.done += 1;
        let id = sanitize(&run.id());
        if self.args.progress || self.args.debug {
            writeln!(self.err, "[{}/{}] {id}: {}", self.done, self.all, told(run))?;
        }
        let errors = run.done.iter().flat_map(|captured| &captured.errors);
        // Of what a turn wrote to standard error, only the last line is part of a message.
        let said = run.warnings.iter().filter(|_| self.args.progress || self.args.debug);
        for message in errors.chain(said) {
            writeln!(self.err, "warning: {id}: {}", shown(message))?;
        }
        Ok(())
    }
}

/// What became of a prompt, for people.
fn told(run: &PromptRun<'_>) -> String {
    let one = |captured: &crate::capture::CapturedPrompt| {
        let Some(answer) = &captured.answer else { return "ERROR".to_owned() };
        let score = captured.score.as_ref();
        let score = score.map(|score| if score.pass { "PASS" } else { "FAIL" });
        let exit = answer.exit.map(|exit| match (exit.timed_out, exit.code) {
            (true, _) => "TIMEOUT".to_owned(),
            (false, Some(code)) if code != 0 => format!("exit {code}"),
            _ => "done".to_owned(),
        });
        let parts = [exit, score.map(str::to_owned), Some(format!("{} ms", answer.duration_ms))];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    run.done.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl<'a> Receiver<PromptRun<'a>> for PromptRecordWriter<'_> {
    fn receive(&mut self, run: PromptRun<'a>) -> ControlFlow<()> {
        match self.write(&run) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn notice(&mut self, notice: Notice) {
        if let Notice::Line(line) = notice
            && self.args.debug
        {
            // A stream that is gone is no reason to stop.
            let _ = writeln!(self.err, "{}", sanitize(&line));
        }
    }
}

/// Where records go: to the end of a file, or to standard output.
struct RecordOutput<'a> {
    path: Option<&'a str>,
    system: &'a dyn System,
    out: &'a mut dyn Write,
}

impl<'a> RecordOutput<'a> {
    /// Begins the file, unless it is added to.
    fn begin(
        args: &'a CaptureArgs,
        system: &'a dyn System,
        out: &'a mut dyn Write,
    ) -> Result<Self, Error> {
        let path = args.output.as_deref();
        if let Some(path) = path.filter(|_| !args.append) {
            system.create(path)?;
        }
        Ok(Self { path, system, out })
    }

    /// Writes a record at once: who reads along sees whole lines.
    fn write(&mut self, line: &str) -> Result<(), Error> {
        let line = format!("{line}\n");
        match self.path {
            Some(path) => self.system.append(path, line.as_bytes())?,
            None => {
                self.out.write_all(line.as_bytes())?;
                self.out.flush()?;
            }
        }
        Ok(())
    }
}

/// A line for people of what an agent or a grader wrote.
fn shown(text: &str) -> String {
    text.lines().map(sanitize).collect::<Vec<_>>().join("\n  ")
}
