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
    /// Grades records with `input` and `output`, line by line: what changed is graded again, the rest replayed.
    #[command(args_override_self = true)]
    Grade(GradeArgs),
    /// Samples failures of graded results for people to check the grader.
    #[command(args_override_self = true)]
    Calibrate(CalibrateArgs),
    /// Grades the reference answers of cases: a grader that fails one is wrong.
    #[command(args_override_self = true)]
    ValidateRefs(ValidateRefsArgs),
    /// Gives every prompt to the command line of an agent, and writes what it did: what is stored is not run again.
    #[command(args_override_self = true)]
    Capture(CaptureArgs),
    /// Gives every prompt to the command line of an agent several times, and writes how often it passed.
    #[command(args_override_self = true)]
    Trials(TrialsArgs),
    /// Serves the command line of an agent as JSON-RPC over standard input and output.
    #[command(args_override_self = true)]
    Headless(HeadlessArgs),
    /// Reads what an agent's command line wrote, by an adapter: output and trajectory of every record.
    #[command(args_override_self = true)]
    Extract(ExtractArgs),
    /// Writes results as a table, a report or lines.
    #[command(args_override_self = true)]
    Format(FormatArgs),
    /// Summarizes results: a line each, or Markdown with every step.
    #[command(args_override_self = true)]
    Summarize(SummarizeArgs),
    /// Compares results of several runs, prompt by prompt: quality, speed, reliability, and who won.
    #[command(args_override_self = true)]
    Compare(CompareArgs),
    /// Shows how the cases of a test set are spread over categories.
    #[command(args_override_self = true)]
    Balance(BalanceArgs),
    /// Prints JSON Schemas of the records that are read and written.
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
