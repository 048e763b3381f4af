//! The folder that a conversation happens in: the suite's, or a fresh one that is a copy of a template.
//!
//! Copying and removing happen on other threads: what all other conversations wait for goes on meanwhile.
#![expect(clippy::disallowed_methods, reason = "the folders are made and removed here")]

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use tokio::task::{JoinHandle, spawn_blocking};

use super::hooks;
use super::workspace_git::{self, MOST_DIFF, WorkspaceGit};
use crate::launch::TargetLaunch;
use crate::programs::ProgramExecutor;
use evalrs_eval::target::answer::TargetAnswer;
use evalrs_model::outcome::{Failure, FailureKind};
use evalrs_model::spec::{AgentKind, KeepWorkspace, WorkspaceSpec};

/// Where workspaces are, from the root of the workspace of the suite.
const HOME: &str = ".evalrs/workspaces";
/// Where those are that are kept.
const KEPT: &str = "kept";

/// Distinguishes folders of one process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Locked while a folder is made in that of the process, or that is removed because it is empty.
static OF_PROCESS: Mutex<()> = Mutex::new(());

/// The folder of a conversation. One that is dropped before it was finished is left to be finished at the end.
pub(super) struct ConversationFolder {
    launch: TargetLaunch,
    /// Its own folder; none where the agent works in the suite's.
    own: Option<OwnFolder>,
    /// While it is being made.
    making: Option<JoinHandle<io::Result<()>>>,
    /// Whether what is to be undone after the conversation was begun.
    has_begun: std::cell::Cell<bool>,
    /// The initial files of the agent, if changes are to be shown.
    git: Option<WorkspaceGit>,
    left: Rc<RefCell<Vec<LeftWorkspace>>>,
    is_finished: bool,
}

#[derive(Debug, Clone)]
struct OwnFolder {
    path: String,
    spec: WorkspaceSpec,
}

/// The result of a conversation, and what went wrong after it.
pub(super) struct EndedConversation {
    /// What the target answered, or why not.
    pub answered: Result<TargetAnswer, Failure>,
    /// What could not be undone, in a sentence.
    pub warning: Option<String>,
}

/// A folder whose conversation was cancelled.
#[derive(Debug)]
pub(super) struct LeftWorkspace {
    launch: TargetLaunch,
    own: Option<OwnFolder>,
    making: Option<JoinHandle<io::Result<()>>>,
    has_begun: bool,
}

/// The folder in which Letta's coding agent works with a model: the last part of its handle names it.
fn of_model(launch: &TargetLaunch) -> Option<PathBuf> {
    let AgentKind::LettaCode(letta) = &launch.action.identity.spec.kind else { return None };
    let folder = std::path::absolute(letta.working_dir.as_ref()?).ok()?;
    let handle = launch.action.model.as_ref().map(|model| model.name.as_str());
    let name = handle.and_then(|handle| handle.rsplit('/').next());
    let is_name = |name: &&str| !matches!(*name, "" | "." | "..");
    Some(name.filter(is_name).map_or_else(|| folder.clone(), |name| folder.join(name)))
}

impl ConversationFolder {
    pub(super) async fn make(
        launch: &TargetLaunch,
        programs: &ProgramExecutor,
        left: &Rc<RefCell<Vec<LeftWorkspace>>>,
    ) -> Result<Self, Failure> {
        let mut workspace = Self {
            launch: launch.clone(),
            own: None,
            making: None,
            has_begun: std::cell::Cell::new(false),
            git: None,
            left: Rc::clone(left),
            is_finished: false,
        };
        let Some(spec) = &launch.action.identity.spec.workspace else {
            if let Some(folder) = of_model(launch) {
                std::fs::create_dir_all(&folder).map_err(|error| unmade(&folder, &error))?;
                let mut start = launch.start.as_ref().clone();
                start.cwd = folder.to_string_lossy().into_owned();
                workspace.launch.start = Arc::new(start);
            }
            return Ok(workspace);
        };
        let home = Path::new(&launch.start.workspace).join(HOME);
        let path = home.join(process_name()).join(name_of(launch));
        workspace.own =
            Some(OwnFolder { path: path.to_string_lossy().into_owned(), spec: spec.clone() });
        // The suite may be in a relative folder; its template is looked for as it is.
        let template = spec.template.as_ref().map(PathBuf::from);
        let to_make = path.clone();
        let is_git = spec.is_git;
        workspace.making = Some(spawn_blocking(move || {
            sweep(&home);
            make_folder(&home, &to_make, template.as_deref(), is_git)
        }));
        workspace.made().await.map_err(|error| unmade(&path, &error))?;
        if spec.is_git {
            let begun = WorkspaceGit::begin(&path, programs.environment()).await;
            workspace.git = Some(begun.map_err(|error| unmade(&path, &error))?);
        }
        Ok(workspace)
    }

    async fn made(&mut self) -> io::Result<()> {
        let Some(making) = &mut self.making else { return Ok(()) };
        let made = making.await.unwrap_or_else(|broken| Err(io::Error::other(broken)));
        self.making = None;
        made
    }

    /// Where the agent works.
    pub(super) fn folder(&self) -> &str {
        self.own.as_ref().map_or(&self.launch.start.cwd, |own| &own.path)
    }

    pub(super) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Runs what is to be run before the conversation.
    pub(super) async fn begin(&self, programs: &ProgramExecutor) -> Result<(), Failure> {
        self.has_begun.set(true);
        let words = &self.launch.action.identity.spec.hooks.setup_each;
        hooks::run("setup_each", words, &self.launch.start, self.folder(), programs).await
    }

    /// Runs what is to be run after it, notes what the agent changed, and keeps the folder or removes it.
    pub(super) async fn finish(
        &mut self,
        mut answered: Result<TargetAnswer, Failure>,
        programs: &ProgramExecutor,
    ) -> EndedConversation {
        if let (Ok(answer), Some(git)) = (&mut answered, &self.git) {
            let diff = git.diff(programs.environment()).await;
            let diff = diff.unwrap_or_else(|error| format!("[what changed is not known: {error}]"));
            answer.workspace_diff = Some(cut(self.launch.without_secrets(&diff)));
        }
        let words = &self.launch.action.identity.spec.hooks.teardown_each;
        let undone =
            hooks::run("teardown_each", words, &self.launch.start, self.folder(), programs).await;
        self.is_finished = true;
        // An answer is paid for, whatever could not be undone after it.
        let warning = undone.err().map(|failure| failure.message);
        let Some(own) = self.own.take() else { return EndedConversation { answered, warning } };
        let kept = match own.spec.keep {
            KeepWorkspace::Always => true,
            KeepWorkspace::Failed => answered.is_err(),
            KeepWorkspace::Never => false,
        };
        let place = if kept { keep(&own, &self.launch).await } else { remove(own).await };
        let answered = match (answered, place) {
            (Err(failure), Some(place)) => {
                let message = format!("{}; its workspace is {place}", failure.message);
                Err(Failure { message, ..failure })
            }
            (answered, workspace) => answered.map(|answer| TargetAnswer { workspace, ..answer }),
        };
        EndedConversation { answered, warning }
    }
}

impl Drop for ConversationFolder {
    fn drop(&mut self) {
        if !self.is_finished {
            self.left.borrow_mut().push(LeftWorkspace {
                launch: self.launch.clone(),
                own: self.own.take(),
                making: self.making.take(),
                has_begun: self.has_begun.get(),
            });
        }
    }
}

impl LeftWorkspace {
    /// Runs what is to be run after the conversation, and removes the folder.
    pub(super) async fn finish(self, programs: &ProgramExecutor) {
        let Self { launch, own, making, has_begun } = self;
        if let Some(making) = making {
            // Whatever is made until then is removed below.
            let _ = making.await;
        }
        if has_begun {
            let folder = own.as_ref().map_or(&launch.start.cwd, |own| &own.path);
            let words = &launch.action.identity.spec.hooks.teardown_each;
            // Nobody waits for an answer any more.
            let _ = hooks::run("teardown_each", words, &launch.start, folder, programs).await;
        }
        if let Some(own) = own {
            remove(own).await;
        }
    }
}

/// The folder of this process among all workspaces. In containers many processes have one number, one after another.
fn process_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let begun = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        format!("process-{}-{:x}", std::process::id(), begun.as_nanos())
    })
}

/// A name for the folder of a conversation: for people, and unlike any other of this process.
fn name_of(launch: &TargetLaunch) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain: String =
        launch.what_for.chars().map(|c| if is_plain(c) { c } else { '_' }).take(60).collect();
    let ordinal = MADE.fetch_add(1, Ordering::Relaxed);
    format!("{}-{ordinal}", plain.trim_start_matches(['.', '-']))
}

fn make_folder(home: &Path, path: &Path, template: Option<&Path>, is_git: bool) -> io::Result<()> {
    {
        let _guard = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        // One that is there already is somebody else's.
        std::fs::create_dir(path)?;
    }
    // What is in here is of no interest to the repository around it.
    let ignore = home.join(".gitignore");
    if !ignore.exists() {
        std::fs::write(ignore, "*\n")?;
    }
    // A repository of its own begins with the template, not with the history of that.
    template.map_or(Ok(()), |template| copy(template, path, is_git))
}

/// Copies what is in a folder, links as links; `.git` of the folder itself only where it is wanted.
fn copy(from: &Path, to: &Path, without_git: bool) -> io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if without_git && entry.file_name() == ".git" {
            continue;
        }
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            std::fs::create_dir_all(&target)?;
            copy(&entry.path(), &target, false)?;
        } else if kind.is_symlink() {
            link(&std::fs::read_link(entry.path())?, &target)?;
        } else {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

#[cfg(not(unix))]
fn link(_to: &Path, _at: &Path) -> io::Result<()> {
    Err(io::Error::other("the template has a link, which this system does not support"))
}

fn unmade(path: &Path, error: &io::Error) -> Failure {
    let message = format!("the workspace `{}` cannot be made: {error}", path.display());
    Failure::new(FailureKind::TargetFailed, message)
}

/// As much of a diff as is kept.
fn cut(mut diff: String) -> String {
    if diff.len() > MOST_DIFF {
        diff.truncate(diff.floor_char_boundary(MOST_DIFF));
        diff.push_str("\n[the rest of the diff is left out]\n");
    }
    diff
}

/// Moves a folder to those that are kept. Where that fails it stays where it is.
async fn keep(own: &OwnFolder, launch: &TargetLaunch) -> Option<String> {
    let home = Path::new(&launch.start.workspace).join(HOME).join(KEPT);
    let from = Path::new(&own.path);
    let repository = workspace_git::beside(from);
    // What cannot be removed is left to the next run.
    let _ = spawn_blocking(move || std::fs::remove_dir_all(repository)).await;
    let name = from.file_name()?.to_string_lossy().into_owned();
    let name = format!("{name}-{}", std::process::id());
    let to = home.join(name);
    let moved = std::fs::create_dir_all(&home).and_then(|()| std::fs::rename(from, &to));
    remove_if_empty(from.parent());
    let place = if moved.is_ok() { &to } else { from };
    Some(place.to_string_lossy().into_owned())
}

/// Removes a folder, and that of the process once it is empty.
async fn remove(own: OwnFolder) -> Option<String> {
    let removing = spawn_blocking(move || {
        let path = Path::new(&own.path);
        let _ = std::fs::remove_dir_all(path);
        let _ = std::fs::remove_dir_all(workspace_git::beside(path));
        remove_if_empty(path.parent());
    });
    // What cannot be removed is left to the next run.
    let _ = removing.await;
    None
}

/// Removes the folder of the process, unless other conversations are in it.
fn remove_if_empty(folder: Option<&Path>) {
    let _guard = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = folder.map(std::fs::remove_dir);
}

/// Removes what processes left that were killed.
fn sweep(home: &Path) {
    let Ok(entries) = std::fs::read_dir(home) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let id = name.strip_prefix("process-").and_then(|rest| rest.split('-').next());
        let id = id.and_then(|id| id.parse::<i32>().ok());
        let is_earlier =
            |id: i32| id.cast_unsigned() == std::process::id() && name != process_name();
        if id.is_some_and(|id| is_earlier(id) || is_gone(id)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(unix)]
fn is_gone(id: i32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let pid = Pid::from_raw(id);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_gone(_id: i32) -> bool {
    false
}
