//! Executes actions. Knows no graph: an action in, an outcome out.
//!
//! `judges` asks over HTTP (`transport`) and agents of a server (`letta`), `programs` runs executables and workers, `targets`
//! holds conversations, and `executor` hands each action to the one that knows it.

#![cfg_attr(
    not(feature = "judge"),
    expect(
        dead_code,
        reason = "limits and replies of judges are built without their executor too"
    )
)]

mod breaker;
pub mod editor;
pub mod executor;
#[cfg(feature = "judge")]
pub mod judges;
#[cfg(feature = "judge")]
pub(crate) mod letta;
#[cfg(not(feature = "judge"))]
pub mod no_judges;
pub mod programs;
pub mod targets;
#[cfg(feature = "judge")]
pub(crate) mod transport;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use evalrs_eval::action::Action;
use evalrs_eval::judge::{JudgeAction, secret_parameters};
use evalrs_eval::program::{ProgramAction, ProgramIdentity};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Failure, Outcome};
use evalrs_model::spec::{AgentSpec, Patience, ProgramSpec, is_secret};
use targets::TargetLaunch;

pub use programs::supervisor::supervise;

/// Who is asked. Requests to one endpoint share its limits, whoever sends them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The protocol.
    pub provider: String,
    /// Where requests go.
    pub base_url: String,
    /// The key of the API: limits are those of an account.
    pub api_key: Option<Secret>,
}

/// What the user allows of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// The most requests at once, at least 1.
    pub most: usize,
    /// The most requests of any minute.
    pub requests_per_minute: Option<u32>,
    /// The most tokens of any minute, sent and received.
    pub tokens_per_minute: Option<u64>,
    /// So many failures that are alike, in a row, close the endpoint; 0 never does.
    pub identical_failures: u32,
}

impl LimitSettings {
    /// The settings that keep both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        fn smaller<T: Ord>(left: Option<T>, right: Option<T>) -> Option<T> {
            left.into_iter().chain(right).min()
        }
        let identical = smaller(
            Some(self.identical_failures).filter(|most| *most > 0),
            Some(other.identical_failures).filter(|most| *most > 0),
        );
        Self {
            most: self.most.min(other.most),
            requests_per_minute: smaller(self.requests_per_minute, other.requests_per_minute),
            tokens_per_minute: smaller(self.tokens_per_minute, other.tokens_per_minute),
            identical_failures: identical.unwrap_or(0),
        }
    }
}

/// An endpoint that an executor of judges knows: its ordinal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JudgeEndpointId(pub usize);

/// Whose limits an action counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndpointId {
    /// Those of an endpoint that judges are asked at.
    Judge(JudgeEndpointId),
    /// Those of this machine, which all programs share.
    Program,
    /// Those of the target: how many conversations are under way at once.
    Target,
}

/// Whether an action may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// It may.
    Now,
    /// Not before one that is under way lands.
    Full,
    /// Not yet; `changed` tells when to look again.
    Later,
    /// Not any more, and why.
    Closed(String),
}

/// Something an executor has to say, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An endpoint is held back.
    Waiting {
        /// Which one.
        endpoint: JudgeEndpointId,
        /// By what.
        what: String,
        /// Whether that is worth a line: it was not said in the last minute.
        is_new: bool,
    },
    /// Nothing holds this endpoint back any more.
    Going(JudgeEndpointId),
    /// A line on one request, where those are wanted.
    Line(String),
    /// A conversation of the target.
    Agent {
        /// The sample, and the model and the trial where there are several.
        who: String,
        /// What it does now; none once it has ended.
        doing: Option<String>,
    },
}

/// An action, and everything that decides how it is executed but not what comes of it.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "made for a moment, and mostly of judges")]
pub enum Launch {
    /// A judge is asked.
    Judge(JudgeLaunch),
    /// A program is called.
    Program(ProgramLaunch),
    /// The target holds a conversation.
    Target(Box<TargetLaunch>),
}

impl Launch {
    /// The action.
    pub fn action(&self) -> Action {
        match self {
            Self::Judge(launch) => Action::Judge(launch.action.clone()),
            Self::Program(launch) => Action::Program(launch.action.clone()),
            Self::Target(launch) => Action::Target(launch.action.clone()),
        }
    }

    /// Whose limits it counts against.
    pub fn endpoint(&self) -> EndpointId {
        match self {
            Self::Judge(launch) => EndpointId::Judge(launch.endpoint),
            Self::Program(_) => EndpointId::Program,
            Self::Target(_) => EndpointId::Target,
        }
    }
}

/// A call of a program, and how that is started.
#[derive(Clone, Debug)]
pub struct ProgramLaunch {
    /// The action.
    pub action: ProgramAction,
    /// How it is started.
    pub start: Arc<Start>,
}

/// How a program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// What the suite says.
    pub spec: ProgramSpec,
    /// Its file, absolute.
    pub path: String,
    /// What runs it; none for what runs by itself.
    pub runtime: Option<Runtime>,
    /// The folder it runs in, absolute.
    pub cwd: String,
    /// The folder of which it is told which files it loads, absolute.
    pub workspace: String,
    /// The files that it is said to read, absolute.
    pub inputs: Vec<String>,
    /// The files that its words name and that it may turn out to write, absolute.
    pub may_write: Vec<String>,
    /// The variables that it sees beside those that everything needs (`PATH`, `HOME`, `LANG` and the like).
    pub env: Vec<(String, Secret)>,
}

impl Start {
    /// The secrets that are passed on to the program.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let is_secret = |name: &String| {
            let named = self.spec.env.iter().find(|variable| variable.name == *name);
            named.map_or_else(|| is_secret(name), |variable| variable.is_secret)
        };
        let secrets = self.env.iter().filter(move |(name, _)| is_secret(name));
        secrets.map(|(_, secret)| secret)
    }

    /// `text` without any secret that is passed on to the program, by the name of its variable. Always before a text is
    /// cut: a part of a secret is not found any more.
    pub fn without_secrets(&self, text: &str) -> String {
        self.secrets().fold(text.to_owned(), |text, secret| secret.remove_from(&text))
    }
}

/// What runs programs of a language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Which one it is: `python`, `node`, `bun`, `deno`.
    pub name: String,
    /// Its file, absolute.
    pub path: String,
    /// Its version, as far as it is known: `3.11.7`.
    pub version: String,
}

/// What a program was seen to load. All paths are absolute, and of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    /// Module files, and what says which ones are loaded.
    pub files: SeenFiles,
    /// Where it looked for a module file that was not there.
    pub missed: BTreeSet<String>,
    /// Other files that it opened to read them, each with its digest then; none of what is too large for one.
    pub reads: BTreeMap<String, Option<String>>,
    /// Files that its words name and that it writes: then it is told of nothing else.
    pub outputs: BTreeSet<String>,
}

/// Files that were loaded, each with its digest then, as keys tell of it; none where it was edited meanwhile, so that
/// nobody knows which state was loaded.
pub type SeenFiles = BTreeMap<String, Option<String>>;

/// Adds to the files that were seen what was seen of them since. Of what was loaded in two states none is known.
pub fn see(files: &mut SeenFiles, more: SeenFiles) {
    for (path, digest) in more {
        let seen = files.entry(path).or_insert_with(|| digest.clone());
        if *seen != digest {
            *seen = None;
        }
    }
}

/// A judge's action and everything that decides how it is asked but not what it answers.
#[derive(Clone, Debug)]
pub struct JudgeLaunch {
    /// The action.
    pub action: JudgeAction,
    /// Whose limits it counts against.
    pub endpoint: JudgeEndpointId,
    /// The grader and the sample that it is for, as people read them; empty if nobody says.
    pub what_for: String,
    /// Where the request goes.
    pub base_url: String,
    /// The key of the API; none sends no authorization.
    pub api_key: Option<Secret>,
    /// Further headers.
    pub headers: Vec<RequestHeader>,
    /// How long and how often it is asked.
    pub patience: Patience,
    /// The agent that judges, where it is one.
    pub agent: Option<AgentSpec>,
    /// How the command is started that judges, where it is one.
    pub start: Option<Arc<Start>>,
}

impl JudgeLaunch {
    /// `text` without any secret of the request. Always before a text is cut: a part of a secret is not found any more.
    pub fn without_secrets(&self, text: &str) -> String {
        let hidden = self.headers.iter().filter(|header| header.is_secret);
        let secrets = self.api_key.iter().chain(hidden.map(|header| &header.value));
        let text = secrets.fold(text.to_owned(), |text, secret| secret.remove_from(&text));
        let text = self.start.iter().fold(text, |text, start| start.without_secrets(&text));
        let parameters = secret_parameters(&self.base_url);
        parameters.fold(text, |text, (_, value)| Secret::new(value.to_owned()).remove_from(&text))
    }
}

/// A header of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// Its name.
    pub name: String,
    /// What it says.
    pub value: Secret,
    /// Whether that must not be told.
    pub is_secret: bool,
}

/// The letters that make no word any more. `none` and `anything` stand for keys where none is needed: what servers say
/// with such a word in it stays as it is.
const LONGEST_WORD: usize = 16;
/// The shortest text with other signs than letters that is looked for, in bytes.
const SHORTEST: usize = 12;

/// Text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for the request.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// `text` without the secret: servers repeat keys in their error messages. What is short or a number may stand there for
    /// something else, and what is kept must not depend on it.
    pub fn remove_from(&self, text: &str) -> String {
        if self.0.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.to_owned();
        }
        let is_word = self.0.bytes().all(|byte| byte.is_ascii_alphabetic());
        let least = if is_word { LONGEST_WORD } else { SHORTEST };
        if self.0.len() < least { text.to_owned() } else { text.replace(&self.0, "[secret]") }
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}

/// A future that runs on the engine's thread.
pub type Executing<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// A program that is being loaded: what it loads at once, or why it cannot be loaded.
pub type Loading<'a> = Pin<Box<dyn Future<Output = Result<Discovered, Failure>> + 'a>>;

/// Whether a program can be started in the sandbox that it is to run in, or why not.
pub type Checking<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

/// Resolves when there is something new.
pub type Changed<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// What is being brought to an end: what is left behind, a sentence each.
pub type Closing<'a> = Pin<Box<dyn Future<Output = Vec<String>> + 'a>>;

/// What executes actions. All but `execute` is for executors that have limits to keep.
pub trait Executor {
    /// Executes one action, retries included. Never fails: a failure is an outcome.
    fn execute(&self, launch: Launch) -> Executing<'_>;

    /// Loads a program that a worker runs, so that it is known which files it loads before anything is keyed. What is
    /// known of it without those has the key `_base`: no call of another state is answered by what is loaded now.
    fn load(&self, _start: Arc<Start>, _base: ActionKey) -> Loading<'_> {
        Box::pin(std::future::ready(Ok(Discovered::default())))
    }

    /// Looks whether a program can be started in the sandbox that it is to run in.
    fn check_sandbox<'a>(&'a self, _start: &'a Start) -> Checking<'a> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// What programs were started in that are to be kept in a sandbox: `bubblewrap` or `none`, if any was.
    fn sandbox(&self) -> Option<&'static str> {
        None
    }

    /// What programs were seen to load since the last call, beside what [`Self::load`] told of them: each as it was when
    /// it was called.
    fn take_discovered(&self) -> Vec<(Arc<ProgramIdentity>, Discovered)> {
        Vec::new()
    }

    /// A new evaluation begins: what was given up in the last one is asked again.
    fn begin(&self) {}

    /// Nothing more is sent until a new evaluation begins, and why. What is under way finishes; what waits to be sent
    /// ends as not asked, and what waits for another attempt with the failure of its last one.
    fn halt(&self, _reason: &str) {}

    /// Undoes what actions did in the world beside what they are asked for, in bounded time; for when nothing is executed
    /// any more. What was dropped in the middle is undone too.
    fn close(&self) -> Closing<'_> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Makes an endpoint of judges known, or takes new settings for one that is.
    fn open(&self, _endpoint: &Endpoint, _limits: LimitSettings) -> JudgeEndpointId {
        JudgeEndpointId::default()
    }

    /// Whether an action of this endpoint may start.
    fn room(&self, _endpoint: EndpointId) -> Room {
        Room::Now
    }

    /// Why this model of an endpoint is asked no more, if it is not; others of it may be.
    fn closed_model(&self, _endpoint: JudgeEndpointId, _model: &str) -> Option<String> {
        None
    }

    /// Resolves when an answer of `room` may have changed, or there are notices.
    fn changed(&self) -> Changed<'_> {
        Box::pin(std::future::pending())
    }

    /// What there is to say since the last call.
    fn take_notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}
