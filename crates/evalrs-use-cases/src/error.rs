//! How a command ends: the exit codes, and the sentence a user reads when it could not do its work.

use std::fmt;

use evalrs_base::diagnostic::Diagnostic;

/// The exit codes, an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// 0: the gate passed, or there is none.
    Success,
    /// 1: the gate failed.
    GateFailed,
    /// 2: the command line, a suite or a dataset is wrong; nothing ran.
    UserError,
    /// 3: incomplete, or errored grades decide the gate.
    Incomplete,
    /// 4: judgments are out in a batch.
    InBatch,
    /// 1: a command of agent-eval-harness could not do its work; `--strict` distinguishes the
    /// reasons by 2 and 3.
    HarnessError,
    /// 130: interrupted; finished work is kept.
    Interrupted,
}

impl ExitStatus {
    /// The number the process exits with.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::GateFailed | Self::HarnessError => 1,
            Self::UserError => 2,
            Self::Incomplete => 3,
            Self::InBatch => 4,
            Self::Interrupted => 130,
        }
    }

    /// The status of a run that exited with `code`.
    pub fn of_run(code: u8) -> Self {
        match code {
            0 => Self::Success,
            1 => Self::GateFailed,
            2 => Self::UserError,
            4 => Self::InBatch,
            130 => Self::Interrupted,
            _ => Self::Incomplete,
        }
    }

    /// The status of both: of several suites the worst decides.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let rank = |status| match status {
            Self::Success => 0,
            Self::Incomplete => 1,
            Self::InBatch => 2,
            Self::GateFailed | Self::HarnessError => 3,
            Self::UserError => 4,
            Self::Interrupted => 5,
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// The one for a command of agent-eval-harness, which exits with 0 whatever the grades are, and with 1 if it could
    /// not do its work.
    #[must_use]
    pub fn of_harness(self) -> Self {
        match self {
            Self::Success | Self::GateFailed => Self::Success,
            Self::UserError | Self::Incomplete | Self::InBatch | Self::HarnessError => {
                Self::HarnessError
            }
            Self::Interrupted => Self::Interrupted,
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Error {
    /// Something a user wrote is wrong.
    Diagnostics(Vec<Diagnostic>),
    /// A sentence, and the likely fix.
    Plain {
        /// What is wrong.
        message: String,
        /// What would mend it.
        hint: Option<String>,
    },
    /// A sentence in the words of agent-eval-harness, and how the command ends with `--strict`.
    Harness {
        /// What is wrong.
        message: String,
        /// Whether a file or the command line is wrong, or the grader.
        status: ExitStatus,
    },
    /// A stream or file of ours could not be written.
    Io(std::io::Error),
}

impl Error {
    /// A sentence with its fix.
    pub fn plain(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Plain { message: message.into(), hint: Some(hint.into()) }
    }

    /// What a user wrote is wrong, in the words of agent-eval-harness.
    pub fn harness_usage(message: impl Into<String>) -> Self {
        Self::Harness { message: message.into(), status: ExitStatus::UserError }
    }

    /// A grader failed, in the words of agent-eval-harness.
    pub fn harness_grading(message: impl Into<String>) -> Self {
        Self::Harness { message: message.into(), status: ExitStatus::Incomplete }
    }

    /// What the process exits with.
    pub fn status(&self) -> ExitStatus {
        match self {
            Self::Diagnostics(_) | Self::Plain { .. } => ExitStatus::UserError,
            Self::Harness { status, .. } => *status,
            Self::Io(_) => ExitStatus::Incomplete,
        }
    }
}

impl From<Diagnostic> for Error {
    fn from(problem: Diagnostic) -> Self {
        Self::Diagnostics(vec![problem])
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Diagnostics(diagnostics) => {
                for (at, diagnostic) in diagnostics.iter().enumerate() {
                    let gap = if at > 0 { "\n\n" } else { "" };
                    write!(f, "{gap}{}", diagnostic.render(true))?;
                }
                Ok(())
            }
            Self::Plain { message, hint } => {
                write!(f, "error: {message}")?;
                hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  help: {hint}"))
            }
            Self::Harness { message, .. } => write!(f, "Error: {message}"),
            Self::Io(error) => write!(f, "error: cannot write: {error}"),
        }
    }
}
