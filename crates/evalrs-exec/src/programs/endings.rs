//! How a process ended, in words.
//!
//! Pure, but for looking at a status. The sentences are those of the executable protocol.

use std::process::ExitStatus;

use super::tail::{self, KEPT};
use crate::Start;
use evalrs_model::outcome::{Failure, FailureKind, Outcome};
use evalrs_model::spec::Role;

/// The bytes of a standard error that stand in a message.
const IN_MESSAGE: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessEnding {
    Exit(i32),
    Signal(i32),
}

impl ProcessEnding {
    /// The ending in a status. Bubblewrap passes signals on as shells do, as codes above 128.
    pub(super) fn of(status: ExitStatus, is_sandboxed: bool) -> Self {
        match (status.code(), signal_of(status)) {
            (_, Some(signal)) => Self::Signal(signal),
            (Some(code), None) if is_sandboxed && (129..=192).contains(&code) => {
                Self::Signal(code - 128)
            }
            (code, None) => Self::Exit(code.unwrap_or(-1)),
        }
    }

    /// The ending as part of a sentence.
    pub(super) fn said(self) -> String {
        match self {
            Self::Exit(code) => format!("exited with code {code}"),
            Self::Signal(signal) => {
                let name = signal_name(signal).map(|name| format!(" ({name})"));
                format!("was ended by signal {signal}{}", name.unwrap_or_default())
            }
        }
    }
}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_status: ExitStatus) -> Option<i32> {
    None
}

#[cfg(unix)]
use signal_hook::low_level::signal_name;

#[cfg(not(unix))]
fn signal_name(_signal: i32) -> Option<&'static str> {
    None
}

/// What a program is called in sentences about it.
pub(super) fn who(role: Role) -> &'static str {
    match role {
        Role::Grade => "Grader",
        Role::Extract => "Extractor",
        Role::Reward => "Reward",
        Role::Compare => "Comparison grader",
        Role::Target => "Target",
        Role::Tool => "Tool",
        Role::AgentFactory => "Agent script",
        Role::SuiteSetup => "Setup script",
        Role::Judge => "Judge",
    }
}

/// The failure of an executable that ended otherwise than with code 0. `stderr` has no secrets any more.
pub(super) fn failure(start: &Start, ending: ProcessEnding, stderr: Option<String>) -> Failure {
    let who = who(start.spec.role);
    let (kind, message) = match ending {
        ProcessEnding::Exit(_) => {
            let stderr = stderr.as_deref().map_or("No error output", str::trim);
            let said = ending.said();
            (FailureKind::Exit, format!("{who} {said}: {}", tail::last(stderr, IN_MESSAGE)))
        }
        ProcessEnding::Signal(_) => (FailureKind::Killed, format!("{who} {}", ending.said())),
    };
    Failure { stderr, ..Failure::new(kind, message) }
}

pub(super) fn timeout(start: &Start, stderr: Option<String>) -> Failure {
    let message = format!("no result within {}", seconds(start.spec.timeout_ms));
    Failure { stderr, ..Failure::new(FailureKind::Timeout, message) }
}

/// The outcome of a program that has a limit of memory or processor time. How it fails there may be due to the limit, and
/// no key holds that: so it is a failure that is not kept.
pub(super) fn at_a_limit(start: &Start, outcome: Outcome) -> Outcome {
    let sandbox = &start.spec.sandbox;
    let is_limited = sandbox.memory.is_some() || sandbox.cpu_seconds.is_some();
    match outcome {
        Outcome::Failure(failure) if is_limited && failure.kind.policy().stored => {
            Outcome::Failure(Failure { kind: FailureKind::Killed, ..failure })
        }
        outcome => outcome,
    }
}

/// Milliseconds as people say them: `60 s`, `0.2 s`.
pub(super) fn seconds(milliseconds: u64) -> String {
    format!("{} s", milliseconds as f64 / 1000.0)
}

/// The failure of a program whose result is none. `text` has no secrets any more.
pub(super) fn invalid(message: String, text: &str, stderr: Option<String>) -> Failure {
    let reply = Some(tail::first(text, KEPT).to_owned());
    Failure { reply, stderr, ..Failure::new(FailureKind::InvalidReply, message) }
}

#[cfg(test)]
mod tests {
    use super::super::test_data::start_of;
    use super::at_a_limit;
    use crate::Start;
    use evalrs_model::outcome::{Failure, FailureKind, Outcome, Reply};

    #[test]
    fn failures_at_a_limit_are_not_kept() {
        let limited = |memory, cpu_seconds| {
            let mut start: Start = start_of("/g");
            start.spec.sandbox.memory = memory;
            start.spec.sandbox.cpu_seconds = cpu_seconds;
            start
        };
        let failure = |kind| Outcome::Failure(Failure::new(kind, "it failed"));
        let reply = Outcome::Reply(Reply::new("1"));
        for (start, is_kept) in [
            (limited(None, None), true),
            (limited(Some(1), None), false),
            (limited(None, Some(1)), false),
        ] {
            for kind in [FailureKind::Exit, FailureKind::Exception, FailureKind::InvalidReply] {
                assert_eq!(at_a_limit(&start, failure(kind)).is_kept(), is_kept, "{kind:?}");
            }
            assert_eq!(at_a_limit(&start, reply.clone()), reply);
            let timeout = failure(FailureKind::Timeout);
            assert_eq!(at_a_limit(&start, timeout.clone()), timeout);
        }
    }
}
