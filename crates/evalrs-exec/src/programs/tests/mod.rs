//! Programs that behave, and programs that do not.
//!
//! All are written for the shell, which is everywhere. The worker of these tests is one too: it reads the program into
//! itself, and calls its `grade` with each line.
#![expect(clippy::disallowed_methods, reason = "tests write programs and look for processes")]

mod executables;
mod sandboxes;
mod workers;

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::files::WorkerFiles;
use super::test_data::{environment, function_of, start_of};
use super::world::ProgramWorld;
use super::{ProgramExecutor, ProgramSettings};
use crate::{ProgramLaunch, Start};
use evalrs_eval::action::Action;
use evalrs_eval::program::{
    DependenciesAction, DepfileFormat, ProgramAction, ProgramFingerprint, ProgramIdentity,
};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;
use evalrs_model::spec::Language;

/// What a good program prints.
pub(super) const PASS: &str = r#"{"pass":true,"score":1.0}"#;

/// The stand-in for the workers: `id` and `line` are there for `grade`, `say` answers.
const WORKER: &str = r#"
read -r load <&4
path=${load#*'"path":"'}; path=${path%%'"'*}
overlaps=false; files='[]'
say() { printf '%s\n' "$1" >&3; }
answer() { say "{\"id\":$id,\"result\":{\"pass\":true,\"score\":1.0}}"; }
. "$path"
say "{\"loaded\":{\"runtime\":\"sh\",\"overlaps\":$overlaps,\"files\":$files,\"warnings\":[]}}"
while read -r line <&4; do
  id=${line#*'"id":'}; id=${id%%,*}
  grade
done
"#;

const STAND_IN: WorkerFiles =
    WorkerFiles { entry: "worker.sh", files: &[("worker.sh", WORKER), ("lib/empty", "")] };

fn stand_in(language: Language) -> Option<WorkerFiles> {
    (language != Language::Executable).then_some(STAND_IN)
}

/// A folder with programs, and an executor of them.
struct Scene {
    folder: tempfile::TempDir,
    executor: ProgramExecutor,
    limit: u64,
}

impl Scene {
    fn new() -> Self {
        Self::with(ProgramSettings { workers: 2, overlapping: 8, verbosity: 0 })
    }

    fn with(settings: ProgramSettings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        let home = home.to_string_lossy();
        let environment = environment(&[("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", &home)]);
        let mut world = ProgramWorld::new(settings, environment);
        world.worker_files = stand_in;
        world.least_to_load_ms = 0;
        Self { folder, executor: ProgramExecutor::of(world), limit: 10_000 }
    }

    /// The same scene for a program that hangs: others have time enough, however busy the machine is.
    fn for_script(self, script: &str) -> Self {
        if script.contains("sleep 60") { self.limited(400) } else { self }
    }

    /// Milliseconds a call may take.
    fn limited(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A program that is executed.
    fn executable(&self, script: &str) -> Start {
        let path = self.path("grade.sh");
        let text = if script.starts_with("#!") {
            script.to_owned()
        } else {
            format!("#!/bin/sh\n{script}\n")
        };
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        self.timed(start_of(&path))
    }

    /// A program that a worker runs.
    fn function(&self, script: &str) -> Start {
        let path = self.path("grade.fn");
        std::fs::write(&path, script).unwrap();
        self.timed(function_of(&path, ("sh", "/bin/sh")))
    }

    fn timed(&self, mut start: Start) -> Start {
        start.spec.timeout_ms = self.limit;
        let folder = evalrs_base::file_path::folder_of(&start.path);
        start.spec.path = start.path[folder.len() + 1..].to_owned();
        start
    }

    /// A program whose file has this digest.
    fn identity(start: &Start, digest: &str) -> Arc<ProgramIdentity> {
        let known =
            ProgramFingerprint { program: digest.to_owned(), ..ProgramFingerprint::default() };
        Arc::new(ProgramIdentity { spec: start.spec.clone(), known })
    }

    /// The key of what is known of a program whose file has this digest.
    fn base(start: &Start, digest: &str) -> ActionKey {
        let identity = Self::identity(start, digest);
        Action::Dependencies(DependenciesAction { identity, format: DepfileFormat::All }).key()
    }

    /// A call of a program whose file has this digest.
    fn launch(start: &Arc<Start>, input: &str, digest: &str) -> ProgramLaunch {
        let identity = Self::identity(start, digest);
        let action = ProgramAction { identity, input: input.to_owned() };
        ProgramLaunch { action, start: Arc::clone(start) }
    }

    /// What comes of so many calls at once.
    async fn calls(&self, start: &Arc<Start>, count: usize) -> Vec<Outcome> {
        let call = |at: usize| {
            let input = format!(r#"{{"input":"{at}"}}"#);
            self.executor.execute(Self::launch(start, &input, "1"))
        };
        futures_util::future::join_all((0..count).map(call)).await
    }

    /// What comes of one call.
    async fn call(&self, start: Start) -> Outcome {
        self.calls(&Arc::new(start), 1).await.remove(0)
    }

    /// Says that a process whose number a program wrote to a file is gone, and ends it where it is not.
    fn is_gone(&self, name: &str) -> bool {
        let number = self.text(name);
        let begin = Instant::now();
        // What was ended is gone a moment later.
        while begin.elapsed() < Duration::from_secs(5) {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
            let is_dead =
                |stat: &String| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'));
            if stat.as_ref().map_or(true, is_dead) {
                return !number.is_empty();
            }
            std::thread::yield_now();
        }
        false
    }
}

/// Runs a test on a runtime like that of the commands.
fn run<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(test)
}

/// An outcome in one line: its text, or the kind and the message of the failure.
fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Reply(reply) => reply.text.clone(),
        Outcome::Failure(failure) => format!("{}: {}", failure.kind.name(), failure.message),
    }
}

fn stderr(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Reply(_) => None,
        Outcome::Failure(failure) => failure.stderr.as_deref(),
    }
}
