//! What the engine needs from an executor: the execution of actions, its limits, and the files that programs load. And what
//! it is told in return: whether more may start, what is worth a line, and which files programs are seen to load and to
//! write.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, pending, ready};
use std::pin::Pin;
use std::sync::Arc;

use super::batch_service::BatchService;
use super::endpoint::{Endpoint, EndpointId, JudgeEndpointId, LimitSettings};
use super::launch::Launch;
use super::start::Start;
use evalrs_eval::program::ProgramIdentity;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{Failure, Outcome};

/// A future that runs on the engine's thread.
pub type ActionFuture<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// A program that is being loaded: what it loads at once, or why it cannot be loaded.
pub type LoadFuture<'a> = Pin<Box<dyn Future<Output = Result<DiscoveredFiles, Failure>> + 'a>>;

/// Whether a program can be started in the sandbox that it is to run in, or why not.
pub type CheckFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

/// Resolves when there is something new.
pub type ChangeFuture<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// What is being brought to an end: what is left behind, a sentence each.
pub type CloseFuture<'a> = Pin<Box<dyn Future<Output = Vec<String>> + 'a>>;

/// What executes actions.
pub trait Executor {
    /// Executes one action, retries included. Never fails: a failure is an outcome.
    fn execute(&self, launch: Launch) -> ActionFuture<'_>;

    /// The limits that it keeps: without any, everything may start at once.
    fn limits(&self) -> &dyn ExecutionLimits {
        &NoLimits
    }

    /// What loads programs before they are keyed; one that calls none has nothing to load.
    fn loader(&self) -> &dyn ProgramLoader {
        &NoPrograms
    }

    /// What has requests of judges answered as batches, if there is such.
    fn batches(&self) -> Option<&dyn BatchService> {
        None
    }

    /// Undoes the side effects of actions, in bounded time; for when nothing is executed any more. What was dropped in
    /// the middle is undone too.
    fn close(&self) -> CloseFuture<'_> {
        Box::pin(ready(Vec::new()))
    }
}

/// Decides which actions may start, by the limits of their servers.
pub trait ExecutionLimits {
    /// A new evaluation begins: disabled endpoints of the last one are called again.
    fn begin(&self);

    /// Nothing more is sent until a new evaluation begins, and why. What is under way finishes; what waits to be sent
    /// ends as not asked, and what waits for another attempt with the failure of its last one.
    fn halt(&self, reason: &str);

    /// Makes an endpoint of judges known, or takes new settings for one that is.
    fn open(&self, endpoint: &Endpoint, limits: LimitSettings) -> JudgeEndpointId;

    /// Whether an action of this endpoint may start.
    fn room(&self, endpoint: EndpointId) -> Room;

    /// Why this model of an endpoint is disabled, if it is; others of it may be called.
    fn closed_model(&self, endpoint: JudgeEndpointId, model: &str) -> Option<String>;

    /// Resolves when an answer of `room` may have changed, or there are notices.
    fn changed(&self) -> ChangeFuture<'_>;

    /// What there is to say since the last call.
    fn take_notices(&self) -> Vec<Notice>;
}

/// Finds out what programs load: that is part of the keys of their calls.
pub trait ProgramLoader {
    /// Loads a program that a worker runs, so that it is known which files it loads before anything is keyed. What is
    /// known of it without those has the key `base`: no call of another state is answered by what is loaded now.
    fn load(&self, start: Arc<Start>, base: ActionKey) -> LoadFuture<'_>;

    /// Looks whether a program can be started in the sandbox that it is to run in.
    fn check_sandbox<'a>(&'a self, start: &'a Start) -> CheckFuture<'a>;

    /// What programs were started in that are to be kept in a sandbox: `bubblewrap` or `none`, if any was.
    fn sandbox(&self) -> Option<&'static str>;

    /// The files that programs were seen to load since the last call, besides those from [`Self::load`]: each in its
    /// state at the call.
    fn take_discovered(&self) -> Vec<(Arc<ProgramIdentity>, DiscoveredFiles)>;
}

/// Lets everything start, and has nothing to say.
#[derive(Debug)]
pub struct NoLimits;

impl ExecutionLimits for NoLimits {
    fn begin(&self) {}

    fn halt(&self, _reason: &str) {}

    fn open(&self, _endpoint: &Endpoint, _limits: LimitSettings) -> JudgeEndpointId {
        JudgeEndpointId::default()
    }

    fn room(&self, _endpoint: EndpointId) -> Room {
        Room::Now
    }

    fn closed_model(&self, _endpoint: JudgeEndpointId, _model: &str) -> Option<String> {
        None
    }

    fn changed(&self) -> ChangeFuture<'_> {
        Box::pin(pending())
    }

    fn take_notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

/// The executor without programs: nothing is loaded.
#[derive(Debug)]
pub struct NoPrograms;

impl ProgramLoader for NoPrograms {
    fn load(&self, _start: Arc<Start>, _base: ActionKey) -> LoadFuture<'_> {
        Box::pin(ready(Ok(DiscoveredFiles::default())))
    }

    fn check_sandbox<'a>(&'a self, _start: &'a Start) -> CheckFuture<'a> {
        Box::pin(ready(Ok(())))
    }

    fn sandbox(&self) -> Option<&'static str> {
        None
    }

    fn take_discovered(&self) -> Vec<(Arc<ProgramIdentity>, DiscoveredFiles)> {
        Vec::new()
    }
}

/// Whether an action may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// It may.
    Now,
    /// Not before one that is under way lands.
    Full,
    /// Not yet; `changed` resolves when it is worth looking again.
    Later,
    /// Not any more, and why.
    Closed(String),
}

/// Something an executor has to say, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An endpoint must wait.
    Waiting {
        /// Which one.
        endpoint: JudgeEndpointId,
        /// By what.
        what: String,
        /// Whether that is worth a line: none reported it in the last minute.
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

/// What a program was seen to load. All paths are absolute, and of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiscoveredFiles {
    /// Module files, and what says which ones are loaded.
    pub files: SeenFiles,
    /// Where it looked for a module file that was not there.
    pub missed: BTreeSet<String>,
    /// Other files that it opened to read them, each with its digest then; none of what is too large for one.
    pub reads: BTreeMap<String, Option<String>>,
    /// Files that its words name and that it writes: then nothing else about it is reported.
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
