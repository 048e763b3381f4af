//! Executes conversations of live targets: one file a kind, each with a function `converse`.
//!
//! What is the same for all of them is here: the attempts, the time limit, the workspace and the commands around a
//! conversation.

#[cfg(feature = "judge")]
mod chat;
mod command;
mod function;
mod headless;
mod hooks;
#[cfg(feature = "judge")]
mod http;
#[cfg(feature = "judge")]
mod letta;
#[cfg(feature = "judge")]
mod model;
mod scripts;
#[cfg(feature = "judge")]
mod sending;
mod talk;
#[cfg(feature = "judge")]
mod tools;
#[cfg(feature = "judge")]
mod user;
#[cfg(feature = "judge")]
mod web;
mod workspace;
mod workspace_git;
mod written;

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::breaker::{Breaker, EndedAction};
use super::executor::{DiscoveredFiles, Notice, Room};
use super::programs::ProgramExecutor;
pub use crate::launch::{ChatCaching, TargetAccess, TargetLaunch};
use evalrs_eval::program::ProgramIdentity;
use evalrs_eval::target::answer::TargetAnswer;
#[cfg(not(feature = "judge"))]
use evalrs_model::outcome::FailureKind;
use evalrs_model::outcome::{Failure, Outcome, Usage};
use evalrs_model::spec::AgentKind;
use evalrs_system::System;
use evalrs_system::os::OsSystem;
use hooks::Setup;
use talk::{Talk, sum};
use workspace::{ConversationFolder, EndedConversation, LeftWorkspace};
use written::WrittenFiles;

/// How long the first further attempt waits; each later one twice as long.
const BACK_OFF: Duration = Duration::from_secs(1);

/// How often a conversation is run again because files changed that the agent or another process may
/// have written.
const MOST_HELD: u32 = 3;

/// A conversation under way.
type ConversationFuture<'a> = Pin<Box<dyn Future<Output = Result<TargetAnswer, Failure>> + 'a>>;

/// Executes conversations.
#[derive(Debug, Default)]
pub struct TargetExecutor {
    /// More than 0 reports every step in a line.
    verbosity: u8,
    /// Ends it all where every conversation fails in the same way.
    breaker: RefCell<Breaker>,
    setup: Setup,
    written: RefCell<WrittenFiles>,
    #[cfg(feature = "judge")]
    web: web::Web,
    left: Rc<RefCell<Vec<LeftWorkspace>>>,
    steps: RefCell<Vec<Notice>>,
    stepped: tokio::sync::Notify,
}

/// Reports a conversation from its beginning to its end, also where it is cancelled.
struct ConversationNotices<'a> {
    executor: &'a TargetExecutor,
    who: &'a str,
}

impl<'a> ConversationNotices<'a> {
    fn new(executor: &'a TargetExecutor, who: &'a str) -> Self {
        executor.tell(who, Some("begins".to_owned()));
        Self { executor, who }
    }
}

impl Drop for ConversationNotices<'_> {
    fn drop(&mut self) {
        self.executor.tell(self.who, None);
    }
}

impl TargetExecutor {
    /// One that reports every step in a line if `verbosity` is more than 0, and begins no more conversations after
    /// `identical_failures` identical failures in a row; 0 always does.
    pub fn new(verbosity: u8, identical_failures: u32) -> Self {
        let breaker = RefCell::new(Breaker::new(identical_failures));
        Self { verbosity, breaker, ..Self::default() }
    }

    /// Whether a conversation may begin.
    pub fn room(&self) -> Room {
        match self.breaker.borrow().reason() {
            Some(reason) => Room::Closed(reason.to_string()),
            None => Room::Now,
        }
    }

    /// Holds a conversation, further attempts included. Never fails: a failure is an outcome.
    pub async fn execute(&self, launch: TargetLaunch, programs: &ProgramExecutor) -> Outcome {
        let outcome = self.attempts(&launch, programs).await;
        let said = launch.action.turns().join("\n");
        self.breaker.borrow_mut().ended(EndedAction {
            model: launch.action.model_name().unwrap_or_default(),
            prompt: &said,
            failure: match &outcome {
                Outcome::Failure(failure) => Some(failure),
                Outcome::Reply(_) => None,
            },
        });
        outcome
    }

    async fn attempts(&self, launch: &TargetLaunch, programs: &ProgramExecutor) -> Outcome {
        let mut attempt = 0;
        let mut held = 0;
        // What failed attempts used was paid for too.
        let mut used: Option<Usage> = None;
        loop {
            let before = self.written.borrow().before(launch);
            let failure = match self.attempt(launch, programs).await {
                Ok(answer) => {
                    let usage = sum(used, answer.usage);
                    held += 1;
                    let doubtful = self.written.borrow_mut().after(launch, before);
                    let Some(path) = doubtful.filter(|_| held < MOST_HELD) else {
                        return TargetAnswer { usage, ..answer }.into_outcome();
                    };
                    used = usage;
                    self.say(format!(
                        "{}: `{path}` changed meanwhile: running it once more, to find out whether the agent writes that file",
                        launch.what_for
                    ));
                    continue;
                }
                Err(failure) => failure,
            };
            used = sum(used, failure.usage);
            let is_retried = failure.kind.policy().retried;
            if !is_retried || attempt >= launch.action.identity.spec.retries {
                return Outcome::Failure(Failure { usage: used, ..failure });
            }
            tokio::time::sleep(BACK_OFF * 2u32.saturating_pow(attempt.min(6))).await;
            attempt += 1;
        }
    }

    async fn attempt(
        &self,
        launch: &TargetLaunch,
        programs: &ProgramExecutor,
    ) -> Result<TargetAnswer, Failure> {
        // What was cancelled is undone before the next one begins.
        self.finish_left(programs).await;
        self.setup.once(launch, programs).await?;
        let mut workspace = ConversationFolder::make(launch, programs, &self.left).await?;
        let answered = self.in_workspace(launch, programs, &workspace).await;
        let EndedConversation { answered, warning } = workspace.finish(answered, programs).await;
        if let Some(warning) = warning {
            self.say(format!("warning: {}: {warning}", launch.what_for));
        }
        answered
    }

    fn say(&self, line: String) {
        self.steps.borrow_mut().push(Notice::Line(line));
        self.stepped.notify_one();
    }

    /// The files that agents were seen to write since the last call.
    pub(crate) fn take_written(&self) -> Vec<(Arc<ProgramIdentity>, DiscoveredFiles)> {
        self.written.borrow_mut().take_news()
    }

    /// Undoes what conversations left that were cancelled, all at once.
    async fn finish_left(&self, programs: &ProgramExecutor) {
        let left = std::mem::take(&mut *self.left.borrow_mut());
        join_all(left.into_iter().map(|workspace| workspace.finish(programs))).await;
    }

    /// A new evaluation begins: what could not be set up in the last one is tried again.
    pub fn begin(&self) {
        self.setup.forgive();
        self.breaker.borrow_mut().reset();
    }

    async fn in_workspace(
        &self,
        launch: &TargetLaunch,
        programs: &ProgramExecutor,
        workspace: &ConversationFolder,
    ) -> Result<TargetAnswer, Failure> {
        workspace.begin(programs).await?;
        let begin = Instant::now();
        let started_at = OsSystem.now().as_millisecond();
        let limit = Duration::from_millis(launch.start.spec.timeout_ms);
        let steps = |step: String| self.tell(&launch.what_for, Some(step));
        let _told = ConversationNotices::new(self, &launch.what_for);
        let talk = Talk {
            launch,
            programs,
            #[cfg(feature = "judge")]
            web: &self.web,
            folder: workspace.folder(),
            has_workspace: workspace.is_own(),
            begin,
            until: begin + limit,
            steps: &steps,
        };
        // An agent sees to its time itself, so that it can end gently; this is for one that does not.
        let grace = Duration::from_secs(10);
        // The workers time functions themselves: waiting for one of them is not late.
        let is_timed = matches!(launch.action.identity.spec.kind, AgentKind::Function);
        let conversing = converse(talk);
        let answered = if is_timed {
            conversing.await
        } else {
            let answered = tokio::time::timeout(limit + grace, conversing).await;
            answered.unwrap_or_else(|_| Err(talk.late()))
        };
        answered.map(|answer| TargetAnswer {
            started_at: u64::try_from(started_at).ok(),
            duration_ms: talk.at_ms(),
            ..answer
        })
    }

    /// Reports what a conversation does now; none once it has ended.
    fn tell(&self, who: &str, doing: Option<String>) {
        let mut steps = self.steps.borrow_mut();
        let line = doing.as_ref().filter(|_| self.verbosity > 0);
        steps.extend(line.map(|doing| Notice::Line(format!("{who}: {doing}"))));
        steps.push(Notice::Agent { who: who.to_owned(), doing });
        self.stepped.notify_one();
    }

    /// What agents did since the last call.
    pub fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.steps.borrow_mut())
    }

    /// Resolves when there is something that was not taken yet.
    pub async fn changed(&self) {
        while self.steps.borrow().is_empty() {
            self.stepped.notified().await;
        }
    }

    /// Runs what is to be run after the last conversation: of conversations that were cancelled and of the target.
    pub async fn finish(&self, programs: &ProgramExecutor) {
        self.finish_left(programs).await;
        self.setup.tear_down(programs).await;
    }

    /// Waits until the agents that were made on servers are deleted, and reports which ones are
    /// left.
    #[cfg(feature = "judge")]
    pub(crate) async fn deleted(&self) -> Vec<String> {
        self.web.agents.deleted().await
    }
}

/// Holds one conversation, as its kind of target does. What it has told so far is lost with a failure.
fn converse(talk: Talk<'_>) -> ConversationFuture<'_> {
    match &talk.launch.action.identity.spec.kind {
        AgentKind::Command => Box::pin(command::converse(talk)),
        AgentKind::Function => Box::pin(function::converse(talk)),
        #[cfg(feature = "judge")]
        AgentKind::Chat(chat) => Box::pin(chat::converse(talk, chat)),
        #[cfg(feature = "judge")]
        AgentKind::Http(http) => Box::pin(http::converse(talk, http)),
        #[cfg(feature = "judge")]
        AgentKind::LettaAgent(letta) => Box::pin(letta::converse(talk, letta)),
        // These take a server, and this was built without a way to ask any.
        #[cfg(not(feature = "judge"))]
        kind @ (AgentKind::Chat(_) | AgentKind::Http(_) | AgentKind::LettaAgent(_)) => {
            let message =
                format!("targets of kind `{}` cannot be run by this version", kind.name());
            Box::pin(std::future::ready(Err(Failure::new(FailureKind::Unloadable, message))))
        }
        AgentKind::Headless(_) | AgentKind::LettaCode(_) => Box::pin(headless::converse(talk)),
    }
}
