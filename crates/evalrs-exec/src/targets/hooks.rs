//! Commands around conversations: before the first and after the last, before and after each.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;

use super::command::located;
use super::scripts;
use crate::launch::TargetLaunch;
use crate::programs::ProgramExecutor;
use crate::programs::agent_process::AgentRun;
use crate::{Runtime, Start};
use evalrs_eval::target::TargetIdentity;
use evalrs_model::outcome::{Failure, FailureKind};

/// How long a command may take that prepares something.
const TO_SET_UP: Duration = Duration::from_mins(5);
/// How long a cleaning hook may take: a user who pressed Ctrl-C waits for it.
const TO_TEAR_DOWN: Duration = Duration::from_secs(30);

/// What is done before the first conversation and after the last.
#[derive(Debug, Default)]
pub(super) struct Setup {
    done: RefCell<Rc<OnceCell<Result<(), Failure>>>>,
    /// What was set up by a function that prepares a server.
    prepared: RefCell<Option<Arc<TargetIdentity>>>,
    /// How what is to be undone is started.
    teardown: RefCell<Option<Arc<Start>>>,
}

impl Setup {
    /// Sets up, unless that was done before. Where it failed, no conversation begins.
    pub(super) async fn once(
        &self,
        launch: &TargetLaunch,
        programs: &ProgramExecutor,
    ) -> Result<(), Failure> {
        self.forget_other(&launch.action.identity);
        let cell = Rc::clone(&self.done.borrow());
        let done = cell.get_or_init(|| async {
            let hooks = &launch.action.identity.spec.hooks;
            if !hooks.teardown.is_empty() {
                let start = command(&hooks.teardown, &launch.start, &launch.start.cwd);
                *self.teardown.borrow_mut() = Some(start);
            }
            scripts::set_up(launch, programs).await?;
            run("setup", &hooks.setup, &launch.start, &launch.start.cwd, programs).await
        });
        done.await.clone()
    }

    /// Where a function prepares the server, another one prepares it again, and so do other models.
    fn forget_other(&self, identity: &Arc<TargetIdentity>) {
        if identity.setup.is_none() {
            return;
        }
        let mut prepared = self.prepared.borrow_mut();
        let is_same = prepared.as_ref().is_none_or(|before| {
            Arc::ptr_eq(before, identity)
                || before.setup == identity.setup && before.spec.models == identity.spec.models
        });
        if !is_same {
            *self.done.borrow_mut() = Rc::default();
        }
        *prepared = Some(Arc::clone(identity));
    }

    /// Forgets that setting up has failed: it is tried again.
    pub(super) fn forgive(&self) {
        let has_failed = self.done.borrow().get().is_some_and(Result::is_err);
        if has_failed {
            *self.done.borrow_mut() = Rc::default();
        }
    }

    /// Runs what is to be run after the last conversation, if one began.
    pub(super) async fn tear_down(&self, programs: &ProgramExecutor) {
        let start = self.teardown.borrow_mut().take();
        if let Some(start) = start {
            // What is wrong with it changes no answer.
            let _ = run_start(&start, TO_TEAR_DOWN, programs).await;
        }
    }
}

/// Runs a command in a folder; nothing where it has no words. A command that fails fails the conversation, and says so by
/// its `name`.
pub(super) async fn run(
    name: &str,
    words: &[String],
    start: &Start,
    folder: &str,
    programs: &ProgramExecutor,
) -> Result<(), Failure> {
    if words.is_empty() {
        return Ok(());
    }
    let limit = if name.starts_with("teardown") { TO_TEAR_DOWN } else { TO_SET_UP };
    run_start(&command(words, start, folder), limit, programs).await.map_err(|failure| {
        let message = format!("`{name}` failed: {}", failure.message);
        Failure { message, kind: FailureKind::TargetFailed, ..failure }
    })
}

/// How a command is started: with the variables of the target, in this folder. A relative program is resolved against the
/// folder of the target.
fn command(words: &[String], start: &Start, folder: &str) -> Arc<Start> {
    let mut start = start.clone();
    let program = words.first().cloned().unwrap_or_default();
    let is_relative = program.contains('/') && !program.starts_with('/');
    let path = if is_relative { format!("{}/{program}", start.cwd) } else { program };
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    start.runtime = Some(Runtime { name, path, version: String::new() });
    start.path = String::new();
    start.spec.path = String::new();
    start.spec.runtime = words.first().cloned();
    let arguments = words.get(1..).unwrap_or_default().iter();
    let is_elsewhere = folder != start.cwd;
    start.spec.arguments = arguments.map(|word| located(word, &start.cwd, is_elsewhere)).collect();
    folder.clone_into(&mut start.cwd);
    Arc::new(start)
}

async fn run_start(
    start: &Arc<Start>,
    limit: Duration,
    programs: &ProgramExecutor,
) -> Result<(), Failure> {
    let run = AgentRun { start, input: "", timeout: limit };
    let end = programs.run_agent(run, &mut |_| ControlFlow::Continue(())).await?;
    if end.exit.code == Some(0) && !end.exit.timed_out {
        return Ok(());
    }
    let shown = start.spec.shown();
    let message = if end.exit.timed_out {
        format!("`{shown}` did not end within {} s", limit.as_secs())
    } else {
        format!("`{shown}` {}", end.said)
    };
    Err(Failure { stderr: end.stderr, ..Failure::new(FailureKind::TargetFailed, message) })
}
