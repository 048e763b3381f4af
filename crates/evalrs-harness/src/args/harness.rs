//! The flags of the commands that agent-eval-harness has too: grading without a suite.
//!
//! What must be given is optional here, because the commands say themselves what is missing, in the words and with the
//! exit codes of agent-eval-harness. An argument too many is passed over, as there.

use clap::{Args, ValueEnum};

use evalrs_model::spec::CalibrationBounds;
use evalrs_use_cases::args::{LimitArgs, StoreArgs, dollars};
use evalrs_use_cases::calibration::CalibrationOptions;

/// `evalrs grade`.
#[derive(Debug, Default, Args)]
pub struct GradeArgs {
    /// Records, one per line [default: standard input]
    ///
    /// Each has an `input` and an `output`.
    #[arg(value_name = "FILE", index = 1)]
    pub file: Option<String>,
    /// Ignored
    #[arg(hide = true, index = 2)]
    pub ignored: Vec<String>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Exit as `evalrs run` does
    ///
    /// 1 if a record fails, 2 if the command line or the file is wrong, 3 if the grader failed. Without it: 0, or 1 on any
    /// error.
    #[arg(long)]
    pub strict: bool,
    /// Print a line per grade
    #[arg(long)]
    pub progress: bool,
}

/// `evalrs calibrate`.
#[derive(Debug, Default, Args)]
pub struct CalibrateArgs {
    /// Graded results, one per line
    ///
    /// They come from `evalrs grade`, or from results.jsonl of `evalrs run`.
    #[arg(value_name = "RESULTS", index = 1)]
    pub file: Option<String>,
    /// Ignored
    #[arg(hide = true, index = 2)]
    pub ignored: Vec<String>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Exit with 2 or 3 on errors, not with 1
    ///
    /// 2 if the command line or the file is wrong, 3 if the grader failed.
    #[arg(long)]
    pub strict: bool,
    /// Sample N results
    #[arg(long, short, value_name = "N", default_value_t = 10, allow_negative_numbers = false)]
    pub sample: i64,
    /// Sample with this seed
    ///
    /// The same seed samples the same results.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Sample passes as well as failures
    #[arg(long)]
    pub include_passes: bool,
    /// Evaluate this suite against human labels
    ///
    /// evalrs writes the agreement of its graders to `cache/SUITE.calibration.json`. Runs then show it. The exit codes are
    /// those of `evalrs run`.
    #[arg(long, value_name = "SUITE", help_heading = "With a suite", conflicts_with_all = ["file", "grader", "output", "include_passes", "inputs", "env", "runtime", "refresh"])]
    pub suite: Option<String>,
    /// Compare with these human labels
    ///
    /// The file is as for `evalrs run`.
    #[arg(long, value_name = "FILE", help_heading = "With a suite", requires = "suite")]
    pub labels: Option<String>,
    /// Require this kappa of each judge (exit code 3)
    ///
    /// Runs with --require-calibration require it too.
    #[arg(long, value_name = "KAPPA", help_heading = "With a suite", requires = "suite", allow_negative_numbers = true, value_parser = kappa)]
    pub min_kappa: Option<f64>,
    /// Require this share of equal verdicts, from 0 to 1
    ///
    /// Below it evalrs exits with 3. Runs with --require-calibration require it too.
    #[arg(long, value_name = "SHARE", help_heading = "With a suite", requires = "suite", value_parser = share)]
    pub min_agreement: Option<f64>,
    /// Stop after N calls
    ///
    /// evalrs then exits with 3.
    #[arg(long, value_name = "N", help_heading = "With a suite", requires = "suite")]
    pub max_calls: Option<u64>,
    /// Stop before spending more US dollars
    ///
    /// evalrs then exits with 3.
    #[arg(long, value_name = "DOLLARS", help_heading = "With a suite", requires = "suite", value_parser = dollars)]
    pub max_cost: Option<f64>,
}

impl CalibrateArgs {
    /// How the suite is calibrated that `--suite` names.
    pub fn options(&self) -> CalibrationOptions {
        CalibrationOptions {
            labels: self.labels.clone(),
            store: self.program.store.clone(),
            limits: LimitArgs {
                max_concurrent: self.program.max_concurrent,
                max_calls: self.max_calls,
                max_cost: self.max_cost,
                ..LimitArgs::default()
            },
            frozen: self.program.frozen,
            bounds: CalibrationBounds {
                min_kappa: self.min_kappa,
                min_agreement: self.min_agreement,
            },
        }
    }
}

/// A kappa as it is typed.
fn kappa(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (-1.0..=1.0).contains(value));
    value.ok_or_else(|| "a kappa is a number between -1 and 1".to_owned())
}

/// A share as it is typed.
fn share(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| "a share is a number between 0 and 1".to_owned())
}

/// `evalrs validate-refs`.
#[derive(Debug, Default, Args)]
pub struct ValidateRefsArgs {
    /// Cases with a `reference`, one per line
    #[arg(value_name = "PROMPTS", index = 1)]
    pub file: Option<String>,
    /// Ignored
    #[arg(hide = true, index = 2)]
    pub ignored: Vec<String>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Exit with 1, 2 or 3 by the cause
    ///
    /// 1 if a reference fails, 2 if the command line or the file is wrong, 3 if the grader failed. Without it: 0, or 1 on
    /// any error.
    #[arg(long)]
    pub strict: bool,
}

/// What the flags of a grader stand under.
const GRADER: &str = "Grader";

/// A grader, and how it is run.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgramArgs {
    /// Grade with this program
    ///
    /// PATH is a module (.ts, .js, .mjs or .cjs) that exports `grade`, a function of a Python file (file.py:name), or any
    /// other file, which evalrs runs as an executable.
    #[arg(long, short, value_name = "PATH", help_heading = GRADER)]
    pub grader: Option<String>,
    /// Limit the grader to SECONDS per record
    #[arg(long, value_name = "SECONDS", help_heading = GRADER, hide_short_help = true, default_value = "60", value_parser = milliseconds)]
    pub grader_timeout: Milliseconds,
    /// Run a module or function with this runtime
    ///
    /// Such as bun, deno, node or python3.12, or a path.
    #[arg(long, value_name = "RUNTIME", help_heading = GRADER)]
    pub runtime: Option<String>,
    /// Name a file that the grader reads; may be repeated
    ///
    /// PATH is a file, a folder or a pattern. If it changes, evalrs grades the records again.
    #[arg(long, value_name = "PATH", help_heading = GRADER)]
    pub inputs: Vec<String>,
    /// Name a variable that changes grades; may be repeated
    ///
    /// If its value changes, evalrs grades the records again. The grader sees all other variables too.
    #[arg(long, value_name = "NAME", help_heading = GRADER)]
    pub env: Vec<String>,
    /// Keep the grader from the network and from writing
    #[arg(long, value_enum, value_name = "MODE", help_heading = GRADER, default_value_t = SandboxChoice::None)]
    pub sandbox: SandboxChoice,
    /// Keep at most N calls in flight
    #[arg(long, value_name = "N", help_heading = GRADER, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_concurrent: Option<u32>,
    /// Grade again despite cached grades
    #[arg(long, help_heading = "Cache", conflicts_with = "frozen")]
    pub refresh: bool,
    /// Replay the cache only; a cache miss is an error
    #[arg(long, help_heading = "Cache")]
    pub frozen: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// A length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Milliseconds(pub u64);

/// The longest time one call may be given: a week, in seconds.
const LONGEST: f64 = 604_800.0;

fn milliseconds(text: &str) -> Result<Milliseconds, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0 && *seconds <= LONGEST);
    seconds
        .map(|seconds| Milliseconds((seconds * 1000.0).ceil() as u64))
        .ok_or_else(|| format!("this is not a number of seconds above 0 and up to {LONGEST}"))
}

/// What a grader is kept from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SandboxChoice {
    /// Keep it from nothing
    #[default]
    None,
    /// Use bubblewrap if it is installed
    Auto,
    /// Use bubblewrap; grade nothing without it
    Bubblewrap,
}

/// `evalrs schemas`.
#[derive(Debug, Default, Args)]
pub struct SchemasArgs {
    /// Schema name [default: all]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Ignored
    #[arg(hide = true)]
    pub ignored: Vec<String>,
    /// Print the schemas as JSON
    ///
    /// Without a name evalrs prints one object with all of them.
    #[arg(long, short)]
    pub json: bool,
    /// Write a file per schema to the folder that -o names
    #[arg(long, short)]
    pub split: bool,
    /// List the names
    #[arg(long, short)]
    pub list: bool,
    /// Write to this file instead of standard output
    ///
    /// With --split PATH is a folder.
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<String>,
}
