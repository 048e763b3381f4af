//! What is known of a command before it runs: its suite, what it prints, how it exits.

use super::{BatchCommand, CacheCommand, Command, DiffFormat, RunsCommand};
use evalrs_report::Audience;

impl Command {
    /// The suite it works with, the first of several.
    pub fn suite(&self) -> Option<&str> {
        match self {
            Self::Run(args) if args.evaluate.raw => None,
            Self::Run(args) => args.evaluate.suites.first().map(String::as_str),
            Self::Plan(args) => args.suites.first().map(String::as_str),
            Self::Validate(args) => args.suites.first().map(String::as_str),
            Self::Watch(args) => Some(&args.suite),
            Self::Explain(args) => Some(&args.suite),
            Self::Agree(args) => Some(&args.suite),
            Self::Report(args) => args.suite.as_deref(),
            Self::History(args) => Some(&args.suite),
            #[cfg(feature = "serve")]
            Self::Serve(args) => args.suites.first().map(String::as_str),
            #[cfg(feature = "harness")]
            Self::Harness(_) => None,
            #[cfg(not(feature = "harness"))]
            Self::Calibrate(args) => Some(&args.suite),
            #[cfg(feature = "import")]
            Self::Import(_) => None,
            Self::Merge(args) => args.suite.as_deref(),
            Self::Runs(args) => match &args.command {
                RunsCommand::List(args) => args.suite.as_deref(),
                RunsCommand::Export(args) => args.suite.as_deref(),
                RunsCommand::Remove(args) => args.suite.as_deref(),
            },
            Self::Diff(_)
            | Self::List(_)
            | Self::StripTypes { .. }
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Mcp(_)
            | Self::Init(_) => None,
            Self::Batch(args) => match &args.command {
                BatchCommand::List(args) => args.suite.as_deref(),
                BatchCommand::Collect(args) => args.suites.first().map(String::as_str),
                BatchCommand::Cancel(args) | BatchCommand::Forget(args) => args.suite.as_deref(),
            },
            Self::Cache(args) => match &args.command {
                CacheCommand::Export(args) => Some(&args.suite),
                CacheCommand::Audit(args) => Some(&args.suite),
                CacheCommand::Import(args) => {
                    args.bind.first().or(args.suite.as_ref()).map(String::as_str)
                }
                CacheCommand::Gc(args) => args.place.suite.as_deref(),
                CacheCommand::Stats(args)
                | CacheCommand::Verify(args)
                | CacheCommand::Path(args)
                | CacheCommand::Push(args)
                | CacheCommand::Pull(args)
                | CacheCommand::Status(args) => args.suite.as_deref(),
                CacheCommand::Remote(args) => args.prune().place.suite.as_deref(),
                CacheCommand::Key(_) => None,
            },
        }
    }

    /// Whether standard output is data for a program, whose bytes are passed as they are, and not text with styles.
    pub fn prints_data(&self) -> bool {
        match self {
            Self::Run(args) => {
                args.evaluate.raw || args.evaluate.format.audience != Audience::Terminal
            }
            Self::Diff(args) => args.json || args.format != DiffFormat::Text,
            Self::Report(args) => args.format.is_data(),
            Self::Watch(args) => args.json,
            Self::History(args) => args.json,
            Self::Plan(args) => args.json,
            Self::Explain(args) => args.json,
            Self::Agree(args) => args.json,
            Self::Validate(args) => args.json || args.canonical,
            Self::List(args) => args.json,
            #[cfg(feature = "import")]
            Self::Import(args) => args.json,
            Self::Batch(args) => match &args.command {
                BatchCommand::List(args) => args.json,
                BatchCommand::Collect(_) | BatchCommand::Cancel(_) | BatchCommand::Forget(_) => {
                    false
                }
            },
            Self::Cache(args) => match &args.command {
                CacheCommand::Export(args) => args.json,
                CacheCommand::Audit(args) => args.json,
                CacheCommand::Import(args) => args.json,
                CacheCommand::Gc(args) => args.place.json,
                CacheCommand::Stats(args)
                | CacheCommand::Verify(args)
                | CacheCommand::Path(args)
                | CacheCommand::Push(args)
                | CacheCommand::Pull(args)
                | CacheCommand::Status(args) => args.json,
                CacheCommand::Remote(args) => args.prune().place.json,
                CacheCommand::Key(_) => false,
            },
            #[cfg(feature = "harness")]
            Self::Harness(_) => true,
            #[cfg(not(feature = "harness"))]
            Self::Calibrate(_) => true,
            Self::Completions(_) | Self::Mcp(_) | Self::StripTypes { .. } => true,
            Self::Man(args) => args.output.is_none(),
            Self::Merge(args) => args.format.audience != Audience::Terminal,
            Self::Runs(args) => match &args.command {
                RunsCommand::List(args) => args.json,
                RunsCommand::Export(_) | RunsCommand::Remove(_) => false,
            },
            Self::Init(_) => false,
            #[cfg(feature = "serve")]
            Self::Serve(_) => false,
        }
    }

    /// Whether it exits as agent-eval-harness does: with 0, or with 1 if it could not do its work.
    pub fn has_two_codes(&self) -> bool {
        match self {
            #[cfg(feature = "harness")]
            Self::Run(args) => args.evaluate.raw,
            #[cfg(feature = "harness")]
            Self::Harness(command) => command.has_two_codes(),
            _ => false,
        }
    }
}
