//! What the commands share that run agents without a suite: the adapter, the grader, the prompts, and the conversations
//! over them. They speak the words of agent-eval-harness.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::extract::{AdapterText, adapter};
use super::grading::{checked, read, say_ignored};
use super::program_work::ProgramWork;
use crate::args::agents::CaptureArgs;
use crate::capture::{CapturedPrompt, folder_name};
use crate::check;
use crate::lines::JsonRecord;
use crate::record::{GraderResult, function_input};
use evalrs_base::file_path::join;
use evalrs_engine::resolve::prepare::PreparedProgram;
use evalrs_engine::resolve::sequences::{NextAction, Sequence, SequenceStep};
use evalrs_eval::adapter::{Adapter, BUILT_IN};
use evalrs_eval::program::ProgramAction;
use evalrs_eval::target::answer::TargetAnswer;
use evalrs_eval::target::{TargetAction, TargetIdentity};
use evalrs_exec::targets::TargetLaunch;
use evalrs_exec::{Launch, ProgramLaunch};
use evalrs_model::outcome::{Failure, FailureKind, Outcome};
use evalrs_model::spec::{
    AdapterSource, AgentKind, Language, LiveTarget, ProgramSpec, Role, TargetHooks,
};
use evalrs_system::System;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::error::Error;

/// Milliseconds for a turn where nobody says.
pub(super) const TURN: f64 = 60_000.0;
/// What a turn may take beyond its limit, until its processes are gone.
const TO_END: Duration = Duration::from_secs(10);

/// Where agents are run and graded.
pub(super) struct AgentWork {
    /// What runs agents and graders.
    pub programs: ProgramWork,
    /// The grader, if there is one.
    pub grader: Option<PreparedProgram>,
}

impl AgentWork {
    /// Opens the store and loads the grader, if there is one.
    pub(super) fn open(args: &CaptureArgs, console: &mut Console<'_>) -> Result<Self, Error> {
        let cache_dir = args.program.store.cache_dir.as_deref();
        let grader = args.program.grader.as_deref();
        let grader = grader.map(|path| super::grading::spec(path, &args.program, console.system));
        let grader = grader.transpose()?;
        let surroundings = SuiteContext::find("", cache_dir, console.system)?;
        let programs = ProgramWork::open(surroundings, concurrency(args).unwrap_or(1), console)?;
        let grader = grader.map(|spec| {
            let spec = ProgramSpec { role: Role::Grade, ..spec };
            programs.prepare(spec, args.program.frozen, console.system)
        });
        let grader = grader.transpose().map_err(Error::harness_usage)?;
        Ok(Self { programs, grader })
    }
}

/// How many prompts may be under way at once.
pub(super) fn concurrency(args: &CaptureArgs) -> Result<usize, Error> {
    if args.concurrency.is_empty() {
        return Ok(1);
    }
    let count = args.concurrency.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| Error::harness_usage("Error: --concurrency must be a positive integer"))
}

/// A length of time in milliseconds.
fn timeout(text: &str) -> Result<f64, Error> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| Error::harness_usage("Error: --timeout must be a positive number"))
}

/// The agent, and how it is run.
pub(super) struct AgentSetup<'a> {
    pub adapter: Adapter,
    source: AdapterSource,
    /// Why its program cannot be run, if it cannot.
    program: Result<PreparedProgram, String>,
    grader: Option<&'a PreparedProgram>,
    cwd: Option<String>,
    workspace_dir: Option<String>,
    timeout: Option<f64>,
    refresh: bool,
    pub system: &'a dyn System,
}

impl<'a> AgentSetup<'a> {
    /// Reads the adapter, unless there is another one, and looks at its program.
    pub(super) fn read(
        args: &CaptureArgs,
        other: Option<AdapterText>,
        work: &'a AgentWork,
        system: &'a dyn System,
    ) -> Result<Self, Error> {
        let timeout = args.timeout.as_deref().map(timeout).transpose()?;
        let name = args.schema.as_deref().unwrap_or_default();
        let AdapterText { adapter, text } = match other {
            Some(other) => other,
            None => adapter(name, system)?,
        };
        if adapter.program().is_none() {
            return Err(Error::harness_usage("Invalid schema: `command` is empty"));
        }
        let spec = agent_program(&adapter, args.cwd.as_deref());
        let program = work.programs.prepare(spec, true, system);
        Ok(Self {
            source: AdapterSource { name: name.to_owned(), text },
            adapter,
            program,
            grader: work.grader.as_ref(),
            cwd: args.cwd.clone(),
            workspace_dir: args.workspace_dir.as_ref().map(|folder| system.absolute(folder)),
            timeout,
            refresh: args.program.refresh,
            system,
        })
    }

    /// The folder that holds those of the prompts, if they have some.
    pub(super) fn workspace_dir(&self) -> Option<&str> {
        self.workspace_dir.as_deref()
    }

    /// Whether what the agent does is graded.
    pub(super) fn is_graded(&self) -> bool {
        self.grader.is_some()
    }

    /// Its program, if it can be run.
    pub(super) fn program(&self) -> Option<&PreparedProgram> {
        self.program.as_ref().ok()
    }

    /// Whether the adapter comes with evalrs, so that it is known what a failure of the agent looks like.
    fn is_built_in(&self) -> bool {
        BUILT_IN.iter().any(|(_, text)| *text == self.source.text)
    }

    /// Whole seconds are all that the clock has.
    fn now(&self) -> u64 {
        u64::try_from(self.system.now().as_millisecond()).unwrap_or(0)
    }

    /// How long a turn of a prompt may take.
    fn turn_limit(&self, prompt: &JsonRecord) -> Duration {
        let own = prompt.get("timeout").and_then(Value::as_f64).filter(|own| *own > 0.0);
        let all = own.or(self.timeout).or(self.adapter.timeout);
        Duration::try_from_secs_f64(all.unwrap_or(TURN) / 1000.0).unwrap_or(Duration::MAX / 4)
    }
}

/// The program of an agent that works in the folder `cwd`, or in that of the command: one with a slash is a file there.
pub(super) fn agent_program(adapter: &Adapter, cwd: Option<&str>) -> ProgramSpec {
    let program = adapter.program().unwrap_or_default();
    let is_file = program.contains('/');
    let path = if is_file { join(cwd.unwrap_or_default(), program) } else { String::new() };
    let mut spec = ProgramSpec::new(path, Language::Executable, "", Role::Target);
    spec.runtime = (!is_file).then(|| program.to_owned());
    spec.arguments = adapter.arguments().to_vec();
    spec.cwd = cwd.map(str::to_owned);
    spec
}

/// The prompts of a file or of standard input, which were read before.
pub(super) fn prompts(
    args: &CaptureArgs,
    piped: Option<&[u8]>,
    console: &mut Console<'_>,
) -> Result<Vec<JsonRecord>, Error> {
    let file;
    let bytes = match (piped, &args.file) {
        (Some(bytes), _) => bytes,
        (None, path) => {
            file = read(path.as_deref().unwrap_or_default(), console.system)?;
            &file
        }
    };
    let what = if piped.is_some() { "stdin prompt" } else { "prompt" };
    Ok(checked(bytes, what, check::prompt)?.into_iter().map(|(_, prompt)| prompt).collect())
}

/// Says what of the command line does not go together, and reads standard input where prompts come from there.
pub(super) fn check_args(
    args: &CaptureArgs,
    console: &mut Console<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    let wrong = |message: &str| Err(Error::harness_usage(format!("Error: {message}")));
    match (&args.file, args.stdin) {
        (Some(_), true) => {
            return wrong("--stdin and prompts file argument are mutually exclusive");
        }
        (None, false) => return wrong("prompts.jsonl path is required (or use --stdin)"),
        _ => {}
    }
    if args.schema.is_none() {
        return wrong("--schema is required");
    }
    say_ignored(&args.ignored, console.err)?;
    if !args.stdin {
        return Ok(None);
    }
    let bytes = console.system.stdin()?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return wrong("no prompts received on stdin");
    }
    Ok(Some(bytes))
}

/// A prompt: its conversations one after another, each graded where there is a grader.
pub(super) struct PromptRun<'a> {
    setup: &'a AgentSetup<'a>,
    pub prompt: JsonRecord,
    /// What the names of its folders begin with.
    folder: String,
    trials: usize,
    is_counted: bool,
    /// Conversations that are over, and graded.
    pub done: Vec<CapturedPrompt>,
    /// One that is being graded.
    heard: Option<CapturedPrompt>,
    /// The message for its failures.
    pub warnings: Vec<String>,
}

impl<'a> PromptRun<'a> {
    /// The runs of all prompts, each as often as `trials` says; none: once, in a folder that says nothing of trials.
    pub(super) fn all(
        setup: &'a AgentSetup<'a>,
        prompts: Vec<JsonRecord>,
        trials: Option<usize>,
    ) -> Vec<Self> {
        let mut names: Vec<(String, String)> = Vec::new();
        let mut runs = Vec::new();
        for prompt in prompts {
            let id = id_of(&prompt);
            let known = names.iter().find(|(other, _)| *other == id).map(|(_, name)| name.clone());
            let folder = known.unwrap_or_else(|| free_name(&folder_name(&id), &names));
            names.push((id, folder.clone()));
            runs.push(Self {
                setup,
                prompt,
                folder,
                trials: trials.unwrap_or(1),
                is_counted: trials.is_some(),
                done: Vec::new(),
                heard: None,
                warnings: Vec::new(),
            });
        }
        runs
    }

    pub(super) fn id(&self) -> String {
        id_of(&self.prompt)
    }

    /// The folder of the next conversation, if it has one of its own.
    fn own_folder(&self) -> Option<String> {
        let base = self.setup.workspace_dir.as_ref()?;
        let trial = self.done.len() + 1;
        let counted = if self.is_counted { format!("-trial-{trial}") } else { String::new() };
        Some(format!("{}/{}{counted}", base.trim_end_matches('/'), self.folder))
    }

    /// The next conversation, or why it cannot begin.
    fn begin(&self) -> Result<NextAction, String> {
        let setup = self.setup;
        let program = setup.program.as_ref().map_err(Clone::clone)?;
        let folder = self.own_folder();
        let is_missing = folder.as_deref().is_some_and(|path| setup.system.list(path).is_none());
        if let Some(folder) = folder.as_deref().filter(|_| is_missing) {
            setup.system.make_folder(folder).map_err(|error| error.to_string())?;
        }
        let turns = turns(&self.prompt);
        let limit = setup.turn_limit(&self.prompt);
        let mut start = program.start.as_ref().clone();
        if let Some(folder) = &folder {
            start.cwd.clone_from(folder);
        }
        let rounds = u32::try_from(turns.len().max(1)).unwrap_or(u32::MAX);
        let whole = limit.saturating_add(TO_END).saturating_mul(rounds);
        start.spec.timeout_ms = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX / 4);
        let trial = self.done.len();
        let mut handed = Map::new();
        handed.extend(self.prompt.get("input").map(|input| ("input".to_owned(), input.clone())));
        handed.insert("turns".to_owned(), json!(turns));
        let action = TargetAction {
            identity: self.identity(program, folder),
            model: None,
            handed: Value::Object(handed).to_string(),
            trial: u32::try_from(trial).unwrap_or(u32::MAX),
            sample: self.id(),
        };
        let counted = if self.is_counted { format!(" [{}]", trial + 1) } else { String::new() };
        let launch = TargetLaunch {
            action,
            start: Arc::new(start),
            access: None,
            user: None,
            setup: None,
            what_for: format!("{}{counted}", self.id()),
            turn_limit: Some(limit),
        };
        // What was done in a folder that is gone would have to be done again.
        let anew = setup.refresh || is_missing;
        Ok(NextAction { launch: Launch::Target(Box::new(launch)), anew })
    }

    fn identity(&self, program: &PreparedProgram, folder: Option<String>) -> Arc<TargetIdentity> {
        let spec = LiveTarget {
            kind: AgentKind::Headless(self.setup.source.clone()),
            program: program.identity.spec.clone(),
            models: Vec::new(),
            version: folder.map(|folder| format!("in {folder}")),
            answer: None,
            retries: 0,
            workspace: None,
            hooks: TargetHooks::default(),
            user: None,
            max_concurrent: None,
        };
        let program = Arc::clone(&program.identity);
        Arc::new(TargetIdentity::new(spec, program, None, &|_| None))
    }

    /// Takes what came of a conversation. What is to be graded is.
    fn hear(&mut self, step: SequenceStep) -> Option<NextAction> {
        let adapter = &self.setup.adapter;
        let heard = match step.outcome {
            Outcome::Reply(reply) => TargetAnswer::read(&reply.text)
                .map(|answer| CapturedPrompt::read(adapter, answer, reply.usage)),
            Outcome::Failure(failure) => self.failed(failure),
        };
        let folder = self.own_folder();
        let mut heard =
            heard.unwrap_or_else(|message| CapturedPrompt::failed(message, self.setup.now()));
        heard.folder.clone_from(&folder);
        // A failure of the agent is no low score.
        let grader =
            self.setup.grader.filter(|_| heard.answer.is_some() && heard.errors.is_empty());
        let Some(grader) = grader else {
            self.done.push(heard);
            return None;
        };
        let cwd = folder.as_deref().or(self.setup.cwd.as_deref());
        let input = heard.grader_input(&self.prompt, cwd);
        let is_function = grader.identity.spec.language == Language::Python;
        let input = if is_function { function_input(&input) } else { input };
        let action = ProgramAction { identity: Arc::clone(&grader.identity), input };
        let start = Arc::clone(&grader.start);
        self.heard = Some(heard);
        // A grader that looks into a folder sees what the agent has just done there.
        let anew = self.setup.refresh || (step.is_new && cwd.is_some());
        Some(NextAction { launch: Launch::Program(ProgramLaunch { action, start }), anew })
    }

    /// As far as a conversation came that failed; a message if it did not begin.
    fn failed(&mut self, failure: Failure) -> Result<CapturedPrompt, String> {
        let partial =
            failure.partial.as_deref().filter(|_| failure.kind != FailureKind::Unloadable);
        let Some(partial) = partial else { return Err(failure.message) };
        let answer = TargetAnswer::read(partial)?;
        let mut captured = CapturedPrompt::read(&self.setup.adapter, answer, failure.usage);
        // Adapters of agent-eval-harness say nothing of failures: there a code is a code.
        let is_told = captured.says_failed || self.setup.is_built_in();
        if is_told && failure.kind == FailureKind::TargetFailed {
            captured.errors.push(failure.message.clone());
        } else {
            self.warnings.push(failure.message.clone());
        }
        self.warnings.extend(failure.stderr);
        Ok(CapturedPrompt { problem: Some(failure.message), ..captured })
    }

    fn grade(&mut self, outcome: &Outcome) {
        let Some(mut heard) = self.heard.take() else { return };
        let Some(grader) = self.setup.grader else { return };
        let read = match outcome {
            Outcome::Reply(reply) => GraderResult::read(&grader.identity.spec, &reply.text),
            Outcome::Failure(failure) => Err(failure.message.clone()),
        };
        match read {
            Ok(score) => heard.score = Some(score),
            Err(message) => heard.errors.push(message),
        }
        self.done.push(heard);
    }
}

impl Sequence for PromptRun<'_> {
    fn next(&mut self, last: Option<SequenceStep>) -> Option<NextAction> {
        if let Some(step) = last {
            if self.heard.is_some() {
                self.grade(&step.outcome);
            } else if let Some(grading) = self.hear(step) {
                return Some(grading);
            }
        }
        while self.done.len() < self.trials {
            match self.begin() {
                Ok(next) => return Some(next),
                Err(message) => {
                    let folder = self.own_folder();
                    let failed = CapturedPrompt::failed(message, self.setup.now());
                    self.done.push(CapturedPrompt { folder, ..failed });
                }
            }
        }
        None
    }
}

fn id_of(prompt: &JsonRecord) -> String {
    prompt.get("id").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn turns(prompt: &JsonRecord) -> Vec<Value> {
    match prompt.get("input") {
        Some(Value::Array(turns)) => turns.clone(),
        Some(text) => vec![text.clone()],
        None => Vec::new(),
    }
}

/// A name that no other prompt has.
fn free_name(name: &str, names: &[(String, String)]) -> String {
    let is_taken = |wanted: &str| names.iter().any(|(_, name)| name == wanted);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut all = std::iter::once(name.to_owned()).chain(numbered);
    all.find(|name| !is_taken(name)).unwrap_or_default()
}
