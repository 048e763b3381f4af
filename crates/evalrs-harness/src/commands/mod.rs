//! One file a command; those that derive views of records share [`views`].

pub mod agents;
pub mod calibrate;
pub mod capture;
pub mod compare;
pub mod extract;
pub mod grade;
pub mod grading;
pub mod headless;
pub(crate) mod program_work;
pub mod raw;
pub mod schemas;
pub mod validate_refs;
pub mod views;

use clap::Subcommand;

use crate::args::agents::{CaptureArgs, HeadlessArgs, TrialsArgs};
use crate::args::harness::{CalibrateArgs, GradeArgs, SchemasArgs, ValidateRefsArgs};
use crate::args::views::{BalanceArgs, CompareArgs, ExtractArgs, FormatArgs, SummarizeArgs};
use evalrs_use_cases::console::Console;
use evalrs_use_cases::error::{Error, ExitStatus};

/// The commands of agent-eval-harness.
#[derive(Debug, Subcommand)]
pub enum HarnessCommand {
    /// Grade records without a suite
    ///
    /// Each line has an `input` and an `output`. evalrs grades what changed and replays the rest.
    #[command(args_override_self = true)]
    Grade(GradeArgs),
    /// Compare judges with human labels
    ///
    /// With --suite evalrs evaluates a suite and writes how far its graders agree with human labels. Without it evalrs
    /// samples failures of graded results, so that you can check the grader, as agent-eval-harness does.
    #[command(args_override_self = true)]
    Calibrate(CalibrateArgs),
    /// Check that references pass their grader
    ///
    /// A grader that fails a reference answer is wrong.
    #[command(args_override_self = true)]
    ValidateRefs(ValidateRefsArgs),
    /// Run an agent over prompts and record it
    ///
    /// evalrs runs the command line of an agent and writes what it did. Cached prompts are not run again.
    #[command(args_override_self = true)]
    Capture(CaptureArgs),
    /// Run an agent over prompts several times
    ///
    /// evalrs writes how often each prompt passed: pass@k and pass^k.
    #[command(args_override_self = true)]
    Trials(TrialsArgs),
    /// Serve an agent's command line as JSON-RPC
    ///
    /// The server uses standard input and output.
    #[command(args_override_self = true)]
    Headless(HeadlessArgs),
    /// Read an agent's raw output by an adapter
    ///
    /// evalrs writes the output and the trajectory of each record.
    #[command(args_override_self = true)]
    Extract(ExtractArgs),
    /// Write results as lines, Markdown or CSV
    #[command(args_override_self = true)]
    Format(FormatArgs),
    /// Summarize results, one line each
    #[command(args_override_self = true)]
    Summarize(SummarizeArgs),
    /// Compare results of several runs
    ///
    /// evalrs compares quality, speed and reliability prompt by prompt, and counts wins.
    #[command(args_override_self = true)]
    Compare(CompareArgs),
    /// Count a test set's cases by category
    #[command(args_override_self = true)]
    Balance(BalanceArgs),
    /// Print JSON Schemas of records and suites
    #[command(args_override_self = true)]
    Schemas(SchemasArgs),
}

impl HarnessCommand {
    /// Runs the command.
    pub fn run(&self, console: &mut Console<'_>) -> Result<ExitStatus, Error> {
        match self {
            Self::Grade(args) => grade::grade(args, console),
            Self::Calibrate(args) => calibrate::calibrate(args, console),
            Self::ValidateRefs(args) => validate_refs::validate_refs(args, console),
            Self::Capture(args) => capture::capture(args, console),
            Self::Trials(args) => capture::trials(args, console),
            Self::Headless(args) => headless::headless(args, console),
            Self::Extract(args) => extract::extract(args, console),
            Self::Format(args) => views::format(args, console),
            Self::Summarize(args) => views::summarize(args, console),
            Self::Compare(args) => compare::compare(args, console),
            Self::Balance(args) => views::balance(args, console),
            Self::Schemas(args) => schemas::schemas(args, console),
        }
    }

    /// Whether it exits as agent-eval-harness does: with 0, or with 1 if it could not do its work.
    pub fn has_two_codes(&self) -> bool {
        match self {
            Self::Grade(args) => !args.strict,
            Self::Calibrate(args) => !args.strict && args.suite.is_none(),
            Self::ValidateRefs(args) => !args.strict,
            _ => true,
        }
    }
}
