//! One attempt of a conversation as the kinds of targets see it.

use std::sync::Arc;
use std::time::Duration;

use serde_json_path::JsonPath;
use tokio::time::Instant;

#[cfg(feature = "judge")]
use super::web::Web;
use crate::launch::TargetLaunch;
use crate::programs::ProgramExecutor;
use crate::start::Start;
use evalrs_base::json_path;
use evalrs_eval::target::answer::NoAnswer;
use evalrs_model::outcome::{Failure, FailureKind, Usage};

/// One attempt of a conversation, as an agent sees it.
#[derive(Clone, Copy)]
pub(crate) struct Talk<'a> {
    /// The reports, and their receiver.
    pub launch: &'a TargetLaunch,
    pub programs: &'a ProgramExecutor,
    #[cfg(feature = "judge")]
    pub web: &'a Web,
    /// Where the agent works, absolute.
    pub folder: &'a str,
    /// Whether that folder is one of its own.
    pub(crate) has_workspace: bool,
    /// When the attempt began.
    pub begin: Instant,
    /// When its time is up.
    pub until: Instant,
    /// Takes what the agent is doing now, for people: `tool Read`, `turn 2`.
    pub steps: &'a dyn Fn(String),
}

impl Talk<'_> {
    /// Milliseconds since the attempt began.
    pub(crate) fn at_ms(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// How the program is started for this conversation, with these arguments.
    pub(super) fn start(&self, arguments: Vec<String>) -> Arc<Start> {
        let mut start = self.launch.start.as_ref().clone();
        self.folder.clone_into(&mut start.cwd);
        start.spec.arguments = arguments;
        Arc::new(start)
    }

    /// The path of the answer in the output of a command or a function, if the suite sets it.
    pub(super) fn answer(&self) -> Result<Option<JsonPath>, Failure> {
        path(self.launch.action.identity.spec.answer.as_deref())
    }

    /// The failure of a conversation whose time is up.
    pub(crate) fn late(&self) -> Failure {
        let seconds = self.launch.start.spec.timeout_ms as f64 / 1000.0;
        Failure::new(FailureKind::Timeout, format!("the target did not answer within {seconds} s"))
    }

    /// The failure for an invalid answer.
    pub(crate) fn no_answer(&self, why: NoAnswer, stderr: Option<String>) -> Failure {
        let message = match why {
            NoAnswer::Error(words) => format!("the target reported an error: {words}"),
            NoAnswer::Unreadable(why) => format!("the target's reply is not a valid answer: {why}"),
        };
        let message = self.launch.without_secrets(&message);
        Failure { stderr, ..Failure::new(FailureKind::TargetFailed, message) }
    }
}

/// What both used, where either is known.
pub(super) fn sum(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

/// A path, which was checked when the suite was read.
pub(crate) fn path(text: Option<&str>) -> Result<Option<JsonPath>, Failure> {
    let parsed = text.map(json_path::parse).transpose();
    parsed.map_err(|error| Failure::new(FailureKind::Unloadable, format!("invalid path: {error}")))
}
