//! The command line as it is typed. What it means is decided in `commands`.

use clap::{Args, Parser, Subcommand, ValueEnum};

#[cfg(feature = "harness")]
use evalrs_harness::args::agents::RawArgs;
#[cfg(feature = "harness")]
pub use evalrs_harness::commands::HarnessCommand;
#[cfg(feature = "serve")]
use evalrs_serve::args::{ServeArgs, ServeSessionArgs};
use evalrs_use_cases::args::{EvaluateArgs, SelectArgs, StoreArgs, dollars};

mod agree;
mod cache;
#[cfg(not(feature = "harness"))]
mod calibrate;
mod command;
mod records;
mod setup;
pub mod usage_code;

pub use agree::AgreeArgs;
pub use cache::{CacheArgs, CacheCommand, ExportArgs, GcArgs, ImportArgs, PlaceArgs};
#[cfg(not(feature = "harness"))]
pub use calibrate::CalibrateSuiteArgs;
pub use records::{HistoryArgs, ReportArgs, ReportKind};
#[cfg(feature = "import")]
pub use setup::ImportSourceArgs;
pub use setup::{CompletionsArgs, InitArgs, ManArgs, McpArgs, StarterLanguage};

/// Evaluates AI agents the way a build system builds programs: only what changed is graded again.
#[derive(Debug, Parser)]
#[command(name = "evalrs", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// When to use colour [default: auto].
    #[arg(long, global = true, value_enum, value_name = "WHEN")]
    pub color: Option<ColorChoice>,
    /// Logs a line for each request to a judge; given twice, also what was sent and received; three times, also each step of the engine.
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Evaluates suites: grades what changed, replays the rest, reports, and exits by the gate.
    Run(RunArgs),
    /// Evaluates a suite and stays: each save grades again exactly what it changed, and shows what moved.
    Watch(WatchArgs),
    /// Dry run: shows what a run would ask, why, and what it would cost. Asks nothing and writes nothing.
    Plan(PlanArgs),
    /// Shows where the grades of a sample come from, and what differs from an earlier run. Asks nothing.
    Explain(ExplainArgs),
    /// Tells how far two graders, models, people or fields of the rows agree. Asks nothing.
    Agree(AgreeArgs),
    /// Shows what moved between two recorded runs, or two saves of a `watch` session. Asks nothing and writes nothing.
    Diff(DiffArgs),
    /// Writes a recorded run again, in any format of `run`. Asks nothing.
    Report(ReportArgs),
    /// Shows what the runs of a suite came to over time, and where their numbers stop being comparable. Asks nothing.
    History(HistoryArgs),
    /// Serves runs and suites in the browser, and a REST API for programs.
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    /// Finds every problem in suites, datasets and the files they name. Runs nothing.
    Validate(ValidateArgs),
    /// Lists what suites can use.
    List(ListArgs),
    /// Works with the store of outcomes.
    Cache(CacheArgs),
    #[cfg(feature = "harness")]
    #[command(flatten)]
    Harness(HarnessCommand),
    /// Compares the graders of a suite with labels of people.
    #[cfg(not(feature = "harness"))]
    Calibrate(CalibrateSuiteArgs),
    /// Writes a small suite to start from.
    Init(InitArgs),
    /// Makes a suite of what another tool wrote, and says what did not map. Runs nothing.
    #[cfg(feature = "import")]
    Import(ImportSourceArgs),
    /// Prints what makes a shell complete command lines, names of a suite's samples and graders among them.
    Completions(CompletionsArgs),
    /// Prints the manual page, or writes one for each command.
    Man(ManArgs),
    /// Serves agents over standard input and output: the Model Context Protocol.
    Mcp(McpArgs),
    /// Prints a module without its types as JSON. Workers that run graders in node call it.
    #[command(hide = true)]
    StripTypes { file: String },
}

/// `evalrs run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub evaluate: EvaluateArgs,
    #[cfg(feature = "harness")]
    #[command(flatten)]
    pub raw: RawArgs,
}

/// `evalrs watch`.
#[derive(Debug, Default, Args)]
pub struct WatchArgs {
    /// The suite file.
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// Labels of people to compare verdicts with: JSON Lines, JSON or CSV with `id` and `label` [default: `bot.labels.jsonl`
    /// beside `bot.yaml`, where there is one].
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    /// Asks at most N judgments per save before waiting for Enter.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub preview: u64,
    /// Holds at most N conversations of the target per save before waiting for Enter.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub preview_targets: u64,
    /// Never waits for Enter: every save asks all it needs.
    #[arg(long, short)]
    pub yes: bool,
    /// Stops asking once this many US dollars are spent in this session.
    #[arg(long, visible_alias = "max-cost", value_name = "DOLLARS", value_parser = dollars)]
    pub budget: Option<f64>,
    /// Stops asking after N judgments in this session.
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Maximum number of actions in flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_concurrent: Option<u32>,
    /// Maximum number of conversations of the target in flight [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_concurrent_targets: Option<u32>,
    /// Only replays stored outcomes; asks nothing.
    #[arg(long)]
    pub frozen: bool,
    /// Retries stored failures, at the start of the session and with every save that meets some.
    #[arg(long)]
    pub retry_errors: bool,
    /// Polls files instead of using file-system events, for network drives [default: 500 ms].
    #[arg(long, value_name = "MILLISECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "500", value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub poll: Option<u64>,
    /// Plain lines instead of the full-screen view, a block for each save (default when stdout is not a terminal).
    #[arg(long)]
    pub plain: bool,
    /// Writes one event a line as JSON, for editors and scripts.
    #[arg(long, conflicts_with = "plain")]
    pub json: bool,
    #[cfg(feature = "serve")]
    #[command(flatten)]
    pub page: ServeSessionArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `evalrs plan`.
#[derive(Debug, Default, Args)]
pub struct PlanArgs {
    /// Suite files.
    #[arg(required = true, value_name = "SUITE")]
    pub suites: Vec<String>,
    /// Prints the plan as JSON: one object, or an array of them for several suites.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Plans to re-run stored judgments, of one grader (--refresh=GRADER) or of all.
    #[arg(long, value_name = "GRADER", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub refresh: Vec<String>,
    /// Plans to retry stored failures.
    #[arg(long)]
    pub retry_errors: bool,
    /// Labels of people, as `run` takes them; counted by grader. They change nothing that is asked.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
}

/// `evalrs explain`.
#[derive(Debug, Default, Args)]
pub struct ExplainArgs {
    /// The suite.
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// The sample's id, as in results.jsonl.
    #[arg(value_name = "SAMPLE")]
    pub sample: String,
    /// Only this grader.
    #[arg(value_name = "GRADER")]
    pub grader: Option<String>,
    /// Shows what judges were sent and what they replied, in full: each request and each reply, those that were no verdicts
    /// too. What is not in the store is shown as it would be sent.
    #[arg(long)]
    pub prompt: bool,
    /// Prints everything as JSON, texts in full.
    #[arg(long)]
    pub json: bool,
    /// Compares with this run: an id under `.evalrs/runs`, or the folder of a record.
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Only this trial.
    #[arg(long, value_name = "N")]
    pub trial: Option<u32>,
    /// Only this model.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Looks at the results recorded in this directory in place of the suite's target.
    #[arg(long, value_name = "DIR")]
    pub cached: Option<String>,
    /// Labels of people, as `run` takes them: shown beside the verdict, with who gave them.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `evalrs diff`.
#[derive(Debug, Default, Args)]
pub struct DiffArgs {
    /// The older side: the id of a run or the beginning of it, `latest`, `latest~1` (the run before it), or the
    /// folder of a record. With @N or @-N behind it, a save of a `watch` session: @start is the first evaluation, @-1 the
    /// last. If omitted, the last two runs of the suite are compared.
    #[arg(value_name = "OLD")]
    pub old: Option<String>,
    /// The newer side, named likewise. If omitted: the last two saves of the session OLD, or OLD and the last run.
    #[arg(value_name = "NEW")]
    pub new: Option<String>,
    /// Compares the results of two models of one run, OLD or the last one, in place of two runs.
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "new")]
    pub models: Vec<String>,
    /// Only this grader.
    #[arg(long, value_name = "NAME")]
    pub grader: Option<String>,
    /// Exits with 1 where a grader became worse by more than chance explains.
    #[arg(long)]
    pub fail_on_regression: bool,
    /// How often chance alone may make --fail-on-regression fail: above 0 and below 1.
    #[arg(long, value_name = "P", default_value_t = 0.05, requires = "fail_on_regression", value_parser = share)]
    pub alpha: f64,
    /// What is written to standard output.
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub format: DiffFormat,
    /// Prints everything as JSON, all verdicts that moved and texts in full. The same as --format json.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Maximum number of moved verdicts that are listed.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub moved: usize,
    /// Compares even if the two sides differ in suite, or share no grader or no sample.
    #[arg(long)]
    pub force: bool,
    /// The suite whose records are compared; by default those of the working directory. Its labels, as they are now, tell
    /// how far both sides agree with people.
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// Labels of people, as `run` takes them, in place of those of the suite.
    #[arg(long, value_name = "FILE", conflicts_with = "models")]
    pub labels: Option<String>,
}

/// A number above 0 and below 1.
fn share(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number > 0.0 && number < 1.0 {
        Ok(number)
    } else {
        Err("not above 0 and below 1".to_owned())
    }
}

/// How a comparison is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// For people at a terminal.
    #[default]
    Text,
    /// One object, with all verdicts that moved.
    Json,
    /// For pull request comments.
    Markdown,
}

/// `evalrs validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Suite files.
    #[arg(required = true, value_name = "SUITE")]
    pub suites: Vec<String>,
    /// Prints the problems as JSON.
    #[arg(long, conflicts_with = "canonical")]
    pub json: bool,
    /// Prints each suite in canonical form: after `extends`, variables and aliases.
    #[arg(long)]
    pub canonical: bool,
    /// Also checks the roll-up that `run` takes, against these suites.
    #[arg(long, value_name = "FILE")]
    pub rollup: Option<String>,
    /// Checks against results recorded in this directory in place of the suite's target.
    #[arg(long, value_name = "DIR")]
    pub cached: Option<String>,
    /// Labels of people, as `run` takes them; counted by grader.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
}

/// `evalrs list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// What to list.
    #[arg(value_enum)]
    pub what: ListedKind,
    /// Prints everything known of each as JSON, options included.
    #[arg(long)]
    pub json: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListedKind {
    /// Grading functions and judges.
    Graders,
    /// Extractors.
    Extractors,
    /// Targets.
    Targets,
    /// Providers of judge models.
    Providers,
}
