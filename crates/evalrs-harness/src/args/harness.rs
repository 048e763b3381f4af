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
    /// Records with `input` and `output`, one a line; left out, standard input.
    #[arg(value_name = "FILE", index = 1)]
    pub file: Option<String>,
    /// What is passed over.
    #[arg(hide = true, index = 2)]
    pub ignored: Vec<String>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Writes the records to this file in place of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Exits as `evalrs run` does: 1 if a record fails, 2 if the command line or the file is wrong, 3 if the grader failed.
    /// Without it: 0, or 1 on any error.
    #[arg(long)]
    pub strict: bool,
    /// Logs a line for each grade.
    #[arg(long)]
    pub progress: bool,
}

/// `evalrs calibrate`.
#[derive(Debug, Default, Args)]
pub struct CalibrateArgs {
    /// Graded results, one a line: of `evalrs grade`, or the results.jsonl of `evalrs run`.
    #[arg(value_name = "RESULTS", index = 1)]
    pub file: Option<String>,
    /// What is passed over.
    #[arg(hide = true, index = 2)]
    pub ignored: Vec<String>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Writes the report to this file in place of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Exits with 2 if the command line or the file is wrong and with 3 if the grader failed. Else with 1.
    #[arg(long)]
    pub strict: bool,
    /// How many results are sampled.
    #[arg(long, short, value_name = "N", default_value_t = 10, allow_negative_numbers = false)]
    pub sample: i64,
    /// Seed of the sample: the same seed picks the same results.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Samples passes as well as failures.
    #[arg(long)]
    pub include_passes: bool,
    /// Evaluates this suite in place of sampling results, and writes how far its graders agree with labels of people to
    /// `cache/SUITE.calibration.json`, which runs then show. Exits as `evalrs run` does.
    #[arg(long, value_name = "SUITE", conflicts_with_all = ["file", "grader", "output", "include_passes", "inputs", "env", "runtime", "refresh"])]
    pub suite: Option<String>,
    /// With --suite: labels of people, as `evalrs run` takes them.
    #[arg(long, value_name = "FILE", requires = "suite")]
    pub labels: Option<String>,
    /// With --suite: the least kappa between a judge and people (exit code 3), for runs with --require-calibration too.
    #[arg(long, value_name = "KAPPA", requires = "suite", allow_negative_numbers = true, value_parser = kappa)]
    pub min_kappa: Option<f64>,
    /// With --suite: the least share of verdicts that agree, between 0 and 1 (exit code 3), for such runs too.
    #[arg(long, value_name = "SHARE", requires = "suite", value_parser = share)]
    pub min_agreement: Option<f64>,
    /// With --suite: stops after N actions (exit code 3).
    #[arg(long, value_name = "N", requires = "suite")]
    pub max_calls: Option<u64>,
    /// With --suite: stops before more than this many US dollars are spent (exit code 3).
    #[arg(long, value_name = "DOLLARS", requires = "suite", value_parser = dollars)]
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
    /// Cases with a `reference`, one a line.
    #[arg(value_name = "PROMPTS", index = 1)]
    pub file: Option<String>,
    /// What is passed over.
    #[arg(hide = true, index = 2)]
    pub ignored: Vec<String>,
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Writes the results to this file in place of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Exits with 1 if a reference fails, with 2 if the command line or the file is wrong and with 3 if the grader failed.
    /// Without it: 0, or 1 on any error.
    #[arg(long)]
    pub strict: bool,
}

/// A grader, and how it is run.
#[derive(Clone, Debug, Default, Args)]
pub struct ProgramArgs {
    /// The grader: a .ts, .js, .mjs or .cjs module that exports `grade`, any other file as an executable, or a function of
    /// a Python file (file.py:name).
    #[arg(long, short, value_name = "PATH")]
    pub grader: Option<String>,
    /// Seconds the grader may take for one record.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = milliseconds)]
    pub grader_timeout: Milliseconds,
    /// What runs a module or function: bun, deno, node, python3.12, or a path.
    #[arg(long, value_name = "RUNTIME")]
    pub runtime: Option<String>,
    /// A file, folder or pattern that the grader reads; when it changes, records are graded again. May be repeated.
    #[arg(long, value_name = "PATH")]
    pub inputs: Vec<String>,
    /// A variable that decides grades: when its value changes, records are graded again. The grader sees all others too.
    /// May be repeated.
    #[arg(long, value_name = "NAME")]
    pub env: Vec<String>,
    /// Keeps the grader from the network and from writing.
    #[arg(long, value_enum, value_name = "SANDBOX", default_value_t = SandboxChoice::None)]
    pub sandbox: SandboxChoice,
    /// Maximum number of calls in flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_concurrent: Option<u32>,
    /// Calls the grader even where a grade is stored.
    #[arg(long, conflicts_with = "frozen")]
    pub refresh: bool,
    /// Only replays stored grades: a record without one is an error.
    #[arg(long)]
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
    /// Nothing.
    #[default]
    None,
    /// The network and writing, where bubblewrap is installed.
    Auto,
    /// The network and writing; without bubblewrap nothing is graded.
    Bubblewrap,
}

/// `evalrs schemas`.
#[derive(Debug, Default, Args)]
pub struct SchemasArgs {
    /// Schema name (default: all).
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// What is passed over.
    #[arg(hide = true)]
    pub ignored: Vec<String>,
    /// Prints the schemas: without a name, one object with all of them.
    #[arg(long, short)]
    pub json: bool,
    /// Writes a file for each schema to the folder that -o names.
    #[arg(long, short)]
    pub split: bool,
    /// Lists the names.
    #[arg(long, short)]
    pub list: bool,
    /// Writes to this file, with --split to this folder, in place of standard output.
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<String>,
}
