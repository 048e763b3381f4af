//! What the commands that grade without a suite share: the grader they name, the files they read, and how all of it is
//! graded. They speak the words of agent-eval-harness.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::program_work::ProgramWork;
use crate::args::harness::{ProgramArgs, SandboxChoice};
use crate::lines::{BadLine, InlineLine, decode, lines};
use crate::record::{GraderResult, function_input};
use evalrs_base::text::{count, sanitize};
use evalrs_engine::resolve::calls::{Calls, End, Receiver, call_in_order};
use evalrs_engine::resolve::prepare::PreparedProgram;
use evalrs_engine::resolve::settings::AskPolicy;
use evalrs_eval::program::ProgramAction;
use evalrs_exec::Notice;
use evalrs_model::outcome::{Failure, FailureKind, Outcome};
use evalrs_model::spec::{Language, ProgramSpec, Role, SandboxKind, Variable};
use evalrs_system::{FileBytes, System};
use evalrs_use_cases::args::LimitArgs;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::Error;

/// This many calls keep all workers of this machine busy.
const AHEAD: usize = 256;

/// A grader that is ready to be called.
pub(super) struct CallableGrader<'a> {
    work: ProgramWork,
    prepared: PreparedProgram,
    max_concurrent: usize,
    frozen: bool,
    refresh: bool,
    system: &'a dyn System,
}

/// How much was graded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GradingTotals {
    pub passed: u64,
    pub failed: u64,
    pub cached: u64,
    pub called: u64,
    pub interrupted: bool,
}

/// Takes the grade of the next record, and prints its lines if wanted.
pub(super) type Take<'a> = &'a mut dyn FnMut(GraderResult, &mut dyn Write) -> Result<(), Error>;

/// Takes the text that a grader gave for the next input.
pub(super) type TakeText<'a> =
    &'a mut dyn FnMut(&ProgramSpec, &str, &mut dyn Write) -> Result<(), StopReason>;

/// The result of calling a grader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallTotals {
    pub cached: u64,
    pub called: u64,
    pub interrupted: bool,
}

impl<'a> CallableGrader<'a> {
    /// Loads the grader at `path`, which is called for `role`.
    pub(super) fn load(
        path: &str,
        role: Role,
        args: &ProgramArgs,
        console: &mut Console<'a>,
    ) -> Result<Self, Error> {
        let system = console.system;
        let spec = ProgramSpec { role, ..spec(path, args, system)? };
        let surroundings = SuiteContext::find("", args.store.cache_dir.as_deref(), system)?;
        let limits = LimitArgs { max_concurrent: args.max_concurrent, ..LimitArgs::default() };
        let max_concurrent = surroundings.settings(&limits, None).max_concurrent;
        let work = ProgramWork::open(surroundings, max_concurrent, console)?;
        let prepared = work.prepare(spec, args.frozen, system).map_err(Error::harness_usage)?;
        let ProgramArgs { frozen, refresh, .. } = *args;
        Ok(Self { work, prepared, max_concurrent, frozen, refresh, system })
    }

    /// Grades what `inputs` hands over, and gives `take` every result in that order. Where the grader fails, that is the
    /// end; `name` says of which record, by its ordinal from 0.
    pub(super) fn grade(
        self,
        inputs: impl Iterator<Item = String>,
        take: Take<'_>,
        name: &dyn Fn(usize) -> String,
        err: &mut dyn Write,
    ) -> Result<GradingTotals, Error> {
        let is_function = self.prepared.identity.spec.language == Language::Python;
        let inputs = inputs.map(|input| if is_function { function_input(&input) } else { input });
        let mut graded = GradingTotals::default();
        let mut take = |spec: &ProgramSpec, text: &str, err: &mut dyn Write| {
            let result = GraderResult::read(spec, text).map_err(StopReason::invalid)?;
            let pass = result.pass;
            take(result, err).map_err(StopReason::Taker)?;
            graded.passed += u64::from(pass);
            graded.failed += u64::from(!pass);
            Ok(())
        };
        let called = self.call(inputs, &mut take, name, err)?;
        let CallTotals { cached, called, interrupted } = called;
        Ok(GradingTotals { cached, called, interrupted, ..graded })
    }

    /// Calls the grader for each of `inputs`, and gives `take` every result in that order. Where the grader fails, that is
    /// the end; `name` says of which record, by its ordinal from 0.
    pub(super) fn call(
        self,
        inputs: impl Iterator<Item = String>,
        take: TakeText<'_>,
        name: &dyn Fn(usize) -> String,
        err: &mut dyn Write,
    ) -> Result<CallTotals, Error> {
        let identity = &self.prepared.identity;
        let calls = Calls {
            executor: self.work.executor.as_ref(),
            system: self.system,
            prepared: &self.prepared,
            // The executor keeps the limits of functions that work on several records at once.
            max_concurrent: self.max_concurrent.max(AHEAD),
            ask: if self.frozen { AskPolicy::Frozen } else { AskPolicy::Ask },
            refresh: self.refresh,
        };
        let actions = inputs.map(|input| ProgramAction { identity: identity.clone(), input });
        let mut taking = TakenRecords { spec: &identity.spec, take, err, taken: 0, error: None };
        let store = Arc::clone(&self.work.store);
        let called = call_in_order(&calls, store, actions, &mut taking, self.work.stop());
        let mut called = self.work.runtime.block_on(called);
        let TakenRecords { err, taken, error, .. } = taking;
        let keys = &called.keys;
        if let Err(error) = self.prepared.complete_keys(keys, self.work.store.as_ref()) {
            called.end = called.end.and(Err(error));
        }
        for warning in self.work.store.take_warnings() {
            writeln!(err, "warning: {warning}")?;
        }
        if let Some(message) = called.in_vain.first() {
            let calls = count(called.in_vain.len(), "record");
            writeln!(
                err,
                "warning: {calls} could not be graded again, so the cached grade stays: {message}"
            )?;
        }
        let is_whole = matches!(called.end, Ok(End::Done));
        let program = identity.spec.shown();
        if let Err(error) = self.work.note_used(&program, is_whole, &called.keys, self.system) {
            writeln!(err, "warning: {error}")?;
        }
        let interrupted = match (error, called.end) {
            (Some(StopReason::Grader(failure)), _) => {
                return Err(Error::harness_grading(in_words(&failure, &name(taken))));
            }
            (Some(StopReason::Taker(error)), _) => return Err(error),
            (None, Err(error)) => return Err(Error::harness_grading(error.to_string())),
            (None, Ok(end)) => end == End::Interrupted,
        };
        if interrupted {
            writeln!(err, "interrupted: finished grades are cached, a rerun grades the rest")?;
        }
        Ok(CallTotals { cached: called.cached, called: called.executed, interrupted })
    }
}

/// Why no more is taken.
pub(super) enum StopReason {
    Grader(Failure),
    /// Its result cannot be taken.
    Taker(Error),
}

impl StopReason {
    /// The grader gave what is none of its results.
    pub(super) fn invalid(message: String) -> Self {
        Self::Grader(Failure::new(FailureKind::InvalidReply, message))
    }
}

struct TakenRecords<'a> {
    spec: &'a ProgramSpec,
    take: TakeText<'a>,
    err: &'a mut dyn Write,
    taken: usize,
    error: Option<StopReason>,
}

impl TakenRecords<'_> {
    fn take(&mut self, outcome: Outcome) -> Result<(), StopReason> {
        let reply = match outcome {
            Outcome::Reply(reply) => reply,
            Outcome::Failure(failure) => return Err(StopReason::Grader(failure)),
        };
        (self.take)(self.spec, &reply.text, self.err)?;
        self.taken += 1;
        Ok(())
    }
}

impl Receiver<Outcome> for TakenRecords<'_> {
    fn receive(&mut self, outcome: Outcome) -> ControlFlow<()> {
        match self.take(outcome) {
            Ok(()) => ControlFlow::Continue(()),
            Err(stopped) => {
                self.error = Some(stopped);
                ControlFlow::Break(())
            }
        }
    }

    fn notice(&mut self, notice: Notice) {
        let line = match notice {
            Notice::Line(line) => line,
            Notice::Waiting { what, is_new: true, .. } => what,
            Notice::Waiting { .. } | Notice::Going(_) | Notice::Agent { .. } => return,
        };
        // A stream that is gone is no reason to stop grading.
        let _ = writeln!(self.err, "{}", sanitize(&line));
    }
}

/// A failure and where it happened. What a grader writes commands no terminal.
fn in_words(failure: &Failure, place: &str) -> String {
    let raised = failure.stderr.as_deref().filter(|_| failure.kind == FailureKind::Exception);
    let clean = |text: &str| text.lines().map(sanitize).collect::<Vec<_>>();
    let mut lines = clean(&failure.message);
    let more = clean(place).into_iter().chain(raised.into_iter().flat_map(clean));
    lines.extend(more.map(|line| format!("  {line}")));
    lines.join("\n")
}

/// The grader that `written` names, run as the flags say.
pub(super) fn spec(
    written: &str,
    args: &ProgramArgs,
    system: &dyn System,
) -> Result<ProgramSpec, Error> {
    let is_there =
        |path: &str| matches!(system.read(path), FileBytes::Bytes(_) | FileBytes::Unreadable(_));
    let function = written.rsplit_once(':').filter(|(file, function)| {
        let is_python = Path::new(file).extension().is_some_and(|extension| extension == "py");
        is_python && !function.is_empty()
    });
    let mut spec = match function {
        _ if is_there(written) => ProgramSpec::of_file(written.to_owned()),
        Some((file, function)) if is_there(file) => {
            ProgramSpec::new(file.to_owned(), Language::Python, function, Role::Grade)
        }
        function => {
            let path = system.absolute(function.map_or(written, |(file, _)| file));
            let is_folder = system.read(&path) == FileBytes::Folder;
            let why = if is_folder { " is a folder; name a file in it" } else { "" };
            return Err(Error::harness_usage(format!("Grader not found: {path}{why}")));
        }
    };
    spec.runtime.clone_from(&args.runtime);
    spec.timeout_ms = args.grader_timeout.0;
    spec.inputs = sorted(&args.inputs);
    spec.env = sorted(&args.env).iter().map(|name| Variable::named(name)).collect();
    spec.sandbox.kind = match args.sandbox {
        SandboxChoice::None => SandboxKind::None,
        SandboxChoice::Auto => SandboxKind::Auto,
        SandboxChoice::Bubblewrap => SandboxKind::Bubblewrap,
    };
    Ok(spec)
}

fn sorted(texts: &[String]) -> Vec<String> {
    let mut texts = texts.to_vec();
    texts.sort();
    texts.dedup();
    texts
}

/// The bytes of a file that must be there.
pub(super) fn read(path: &str, system: &dyn System) -> Result<Vec<u8>, Error> {
    let bytes = system.read(path).into_bytes();
    bytes.map_err(|reason| Error::harness_usage(format!("cannot read `{path}`: {reason}")))
}

/// The bytes of a file if one is named, else what is piped in. `what` says what they are where there are none.
pub(super) fn file_or_stdin(
    path: Option<&str>,
    what: &str,
    system: &dyn System,
) -> Result<Vec<u8>, Error> {
    if let Some(path) = path {
        return read(path, system);
    }
    let bytes = system
        .stdin()
        .map_err(|error| Error::harness_usage(format!("cannot read standard input: {error}")))?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::harness_usage(format!(
            "No {what} provided (name a file, or pipe them in)"
        )));
    }
    Ok(bytes)
}

/// The lines of a file, all of which `check` takes; `what` says what they are in a message.
pub(super) fn checked<'t, T>(
    bytes: &'t [u8],
    what: &str,
    check: fn(InlineLine<'t>) -> Result<T, BadLine>,
) -> Result<Vec<(InlineLine<'t>, T)>, Error> {
    let wrong = |bad: BadLine| Error::harness_usage(sanitize(&format!("Invalid {what} {bad}")));
    let text = decode(bytes).map_err(wrong)?;
    lines(text).map(|line| check(line).map(|checked| (line, checked)).map_err(wrong)).collect()
}

/// Says what arguments are passed over.
pub(super) fn say_ignored(ignored: &[String], err: &mut dyn Write) -> std::io::Result<()> {
    ignored.iter().try_for_each(|word| {
        writeln!(err, "warning: `{}` is ignored: one file is read", sanitize(word))
    })
}

/// Writes a text without a line break at its end to a file, or with one to the stream.
pub(super) fn write_text(
    text: &str,
    output: Option<&str>,
    console: &mut Console<'_>,
) -> std::io::Result<()> {
    match output {
        Some(path) => console.system.write(path, &mut |to| to.write_all(text.as_bytes())),
        None => writeln!(console.out, "{text}"),
    }
}
