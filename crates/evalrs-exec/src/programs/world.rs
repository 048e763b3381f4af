//! What all programs of an executor share: their environment, the folder of the workers, the sandbox, and what they have
//! to say.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tempfile::TempDir;
use tokio::sync::{Notify, OnceCell};

use super::command::unloadable;
use super::files::{self, WorkerFiles};
use super::guard::Guard;
use super::sandbox::probe;
use super::sandbox::probe::NoSandbox;
use crate::{Notice, Start};
use evalrs_model::outcome::Failure;
use evalrs_model::spec::{Language, SandboxKind};

/// An interpreter that starts beside many others, on a machine that is busy, needs seconds to import what it is given.
const LEAST_TO_LOAD_MS: u64 = 15_000;

/// The number of parallel programs, and how they are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramSettings {
    /// Processes at once: executables, and workers of each program.
    pub workers: usize,
    /// Requests at once to functions that work on several.
    pub overlapping: usize,
    /// 0 keeps what workers print for failures; more says it.
    pub verbosity: u8,
}

impl ProgramSettings {
    /// As many processes as this machine has processors.
    pub fn of_machine(overlapping: usize) -> Self {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        Self { workers, overlapping, verbosity: 0 }
    }
}

/// What all programs share.
#[derive(Debug)]
pub struct ProgramWorld {
    pub settings: ProgramSettings,
    /// The variables that every program sees.
    pub environment: BTreeMap<String, String>,
    pub(super) worker_files: fn(Language) -> Option<WorkerFiles>,
    /// Milliseconds that a program may take to load, however short its calls must be.
    pub(super) least_to_load_ms: u64,
    /// The command that prints a module without its types.
    pub(super) stripper: Vec<String>,
    folder: OnceLock<Result<TempDir, String>>,
    guard: OnceLock<Arc<Guard>>,
    bwrap: OnceCell<Result<String, NoSandbox>>,
    /// What programs were started in that are to be kept in a sandbox; nothing where none was started.
    sandbox: OnceLock<&'static str>,
    notices: Mutex<Vec<Notice>>,
    told: Notify,
}

impl ProgramWorld {
    /// A world in which nothing was started yet.
    pub fn new(settings: ProgramSettings, environment: BTreeMap<String, String>) -> Self {
        let own = std::env::current_exe().ok();
        let own = own.and_then(|own| own.to_str().map(str::to_owned));
        let stripper = own.map(|own| vec![own, "strip-types".to_owned()]);
        Self {
            settings,
            environment,
            worker_files: files::of,
            least_to_load_ms: LEAST_TO_LOAD_MS,
            stripper: stripper.unwrap_or_default(),
            folder: OnceLock::new(),
            guard: OnceLock::new(),
            bwrap: OnceCell::new(),
            sandbox: OnceLock::new(),
            notices: Mutex::default(),
            told: Notify::new(),
        }
    }

    /// The file and the folder of a language's worker, which are written when they are first wanted.
    pub fn worker(&self, language: Language) -> Result<(String, String), Failure> {
        let no_worker = || unloadable("programs of this kind have no worker");
        let entry = (self.worker_files)(language).ok_or_else(no_worker)?.entry;
        let folder = self.folder.get_or_init(|| {
            let folder = self.written().map_err(|error| error.to_string())?;
            self.guard().remove(&folder.path().to_string_lossy());
            Ok(folder)
        });
        let failed =
            |error: &String| unloadable(format!("cannot write the files of the workers: {error}"));
        let folder = folder.as_ref().map_err(failed)?.path().to_string_lossy().into_owned();
        Ok((format!("{folder}/{entry}"), folder))
    }

    /// What ends processes when evalrs is gone; it is started with the first of them.
    pub(super) fn guard(&self) -> Arc<Guard> {
        Arc::clone(self.guard.get_or_init(|| Arc::new(Guard::start())))
    }

    fn written(&self) -> std::io::Result<TempDir> {
        let folder = tempfile::Builder::new().prefix("evalrs-").tempdir()?;
        for language in [Language::Python, Language::JavaScript] {
            if let Some(worker) = (self.worker_files)(language) {
                files::write(worker.files, folder.path())?;
            }
        }
        Ok(folder)
    }

    /// Where bubblewrap is, if a program is to run in a sandbox and can.
    pub(super) async fn bwrap_for(&self, start: &Start) -> Result<Option<&str>, Failure> {
        let kind = start.spec.sandbox.kind;
        if kind == SandboxKind::None {
            return Ok(None);
        }
        match self.bwrap.get_or_init(|| probe::find(&self.environment, &start.workspace)).await {
            Ok(bwrap) => {
                self.sandbox.get_or_init(|| "bubblewrap");
                Ok(Some(bwrap))
            }
            Err(problem) if kind == SandboxKind::Auto => {
                let mut is_first = false;
                self.sandbox.get_or_init(|| {
                    is_first = true;
                    "none"
                });
                if is_first && matches!(problem, NoSandbox::Open(_)) {
                    self.say(format!("warning: {problem}: programs run without a sandbox"));
                }
                Ok(None)
            }
            Err(problem) => {
                let shown = start.spec.shown();
                Err(unloadable(format!("`{shown}` is to run in a sandbox: {problem}")))
            }
        }
    }

    /// What programs were started in that are to be kept in a sandbox: `bubblewrap` or `none`, if any was.
    pub fn sandbox(&self) -> Option<&'static str> {
        self.sandbox.get().copied()
    }

    /// Says something.
    pub fn say(&self, line: String) {
        self.notices().push(Notice::Line(line));
        self.told.notify_one();
    }

    /// The reports since the last call.
    pub fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.notices())
    }

    fn notices(&self) -> MutexGuard<'_, Vec<Notice>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resolves when there is something that was not taken yet.
    pub async fn said(&self) {
        while self.notices().is_empty() {
            self.told.notified().await;
        }
    }
}
