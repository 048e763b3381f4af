//! The command line as it is typed. What it means is decided in `commands`.

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

#[cfg(feature = "harness")]
use evalrs_harness::args::agents::RawArgs;
#[cfg(feature = "harness")]
pub use evalrs_harness::commands::HarnessCommand;
#[cfg(feature = "serve")]
use evalrs_serve::args::ServeArgs;
use evalrs_use_cases::args::{EvaluateArgs, SelectArgs, StoreArgs, TrustArgs};
use evalrs_use_cases::partition::PartitionArgs;

mod agree;
mod batch;
mod cache;
#[cfg(not(feature = "harness"))]
mod calibrate;
mod command;
mod diff;
mod examples;
mod groups;
mod records;
mod runs;
mod setup;
mod shared;
pub mod usage_code;
mod watch;

pub use agree::AgreeArgs;
pub use batch::{BatchCollectArgs, BatchCommand, BatchCommandArgs, BatchListArgs, BatchNamesArgs};
pub use cache::{CacheArgs, CacheCommand, ExportArgs, GcArgs, ImportArgs, PlaceArgs, RemoteArgs};
#[cfg(not(feature = "harness"))]
pub use calibrate::CalibrateSuiteArgs;
pub use diff::{DiffArgs, DiffFormat};
pub use groups::{CommandGroup, GROUPS};
pub use records::{HistoryArgs, ReportArgs, ReportKind};
pub use runs::{MergeArgs, RunsArgs, RunsCommand, RunsExportArgs, RunsListArgs, RunsRemoveArgs};
#[cfg(feature = "import")]
pub use setup::ImportSourceArgs;
pub use setup::{CompletionsArgs, InitArgs, ManArgs, McpArgs, StarterLanguage};
pub use shared::{AuditArgs, KeyArgs, KeyCommand};
pub use watch::WatchArgs;

/// Evaluate AI agents incrementally: only what changed is graded again
#[derive(Debug, Args)]
#[command(version, max_term_width = 100, disable_help_flag = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: GlobalArgs,
}

impl Cli {
    /// The name of the program.
    pub(crate) const NAME: &str = "evalrs";
}

impl CommandFactory for Cli {
    fn command() -> clap::Command {
        groups::completed_help(Self::augment_args(clap::Command::new(Self::NAME)))
    }

    fn command_for_update() -> clap::Command {
        Self::augment_args_for_update(clap::Command::new(Self::NAME))
    }
}

impl Parser for Cli {}

/// The flags that every command has.
#[derive(Debug, Args)]
pub struct GlobalArgs {
    /// Use colour: auto, always or never [default: auto]
    ///
    /// `auto` uses colour on a terminal unless `NO_COLOR` is set.
    #[arg(
        long,
        global = true,
        help_heading = "Global options",
        value_enum,
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub color: Option<ColorChoice>,
    /// Log requests to judges; repeat it for more
    ///
    /// -v logs a line for each request to a judge. -vv also logs what was sent and received. -vvv also logs each step of
    /// the engine.
    #[arg(long, short, global = true, help_heading = "Global options", action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print help; --help has all flags and examples
    #[arg(long, short, global = true, help_heading = "Global options", action = clap::ArgAction::Help)]
    help: Option<bool>,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What to do. `groups` has the groups in which `--help` lists the commands, `examples` what stands below their flags.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run suites and exit by their gates
    ///
    /// evalrs grades what changed and replays the rest from the cache. It prints a report and keeps a record of the run
    /// under `.evalrs/runs`.
    ///
    /// Exit codes: 0 if the gate passes, 1 if it fails, 2 if the command line or a file is wrong, 3 if missing grades or
    /// errors could change the gate, 4 if judgments are out in a batch, 130 if interrupted.
    Run(Box<RunArgs>),
    /// Rerun on each save and show what moved
    ///
    /// evalrs evaluates the suite and stays. Each save of a rubric, suite or dataset repeats exactly the grades that it
    /// changes. On a terminal you browse, label and revert with keys; `?` lists them.
    Watch(WatchArgs),
    /// Show what a run would call and cost
    ///
    /// A dry run: evalrs calls nothing and writes nothing. It shows why each grader needs calls.
    Plan(PlanArgs),
    /// Show why a sample has its grades
    ///
    /// evalrs shows where each grade comes from and what differs from an earlier run. It calls nothing.
    Explain(ExplainArgs),
    /// Measure agreement of graders or labels
    ///
    /// Compare two graders, models or fields, or a grader with human labels. evalrs calls nothing.
    Agree(AgreeArgs),
    /// Show what moved between two runs
    ///
    /// Compare two recorded runs, two saves of a `watch` session, or two models of one run. evalrs calls nothing and
    /// writes nothing.
    Diff(DiffArgs),
    /// Write a recorded run in another format
    ///
    /// evalrs reads the record and calls nothing.
    Report(ReportArgs),
    /// Show metrics over time
    ///
    /// evalrs marks where runs stop being comparable, such as at an edited rubric. It calls nothing.
    History(HistoryArgs),
    /// Browse runs and label in the browser
    ///
    /// The server also has a REST API for programs.
    #[cfg(feature = "serve")]
    Serve(ServeArgs),
    /// Check suites and the files they name
    ///
    /// evalrs reports every problem with file and line. It runs nothing.
    Validate(ValidateArgs),
    /// List graders, targets and providers
    List(ListArgs),
    /// List, collect and cancel batches
    Batch(BatchCommandArgs),
    /// Export, merge, check and trim the cache
    Cache(CacheArgs),
    /// List, export and remove recorded runs
    Runs(RunsArgs),
    /// Join the parts of a run
    ///
    /// Each part was made with `run --partition` and written by `evalrs runs export`. evalrs brings the outcomes of all parts
    /// into the cache and evaluates the whole suite from there. It calls nothing. The record has the bytes of a run in one
    /// piece, and the exit code is that of its gate. If a part or a sample is missing, it is 3.
    Merge(MergeArgs),
    #[cfg(feature = "harness")]
    #[command(flatten)]
    Harness(HarnessCommand),
    /// Compare judges with human labels
    #[cfg(not(feature = "harness"))]
    Calibrate(CalibrateSuiteArgs),
    /// Start a suite, empty or over your data
    ///
    /// evalrs writes a suite that runs at once, and overwrites nothing.
    Init(InitArgs),
    /// Make suites from another tool's files
    ///
    /// evalrs writes a folder with suites and IMPORT.md, which lists what did not map and why. It runs nothing and leaves
    /// out live keys.
    #[cfg(feature = "import")]
    Import(ImportSourceArgs),
    /// Print completions for a shell
    ///
    /// The completions include the samples and graders of your suites.
    Completions(CompletionsArgs),
    /// Print or write manual pages
    Man(ManArgs),
    /// Serve evalrs to agents over MCP
    ///
    /// The server speaks the Model Context Protocol over standard input and output.
    Mcp(McpArgs),
    /// Print a module without its types as JSON, for workers that run graders in node
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

/// `evalrs plan`.
#[derive(Debug, Default, Args)]
pub struct PlanArgs {
    /// Suite files or folders
    #[arg(required = true, value_name = "SUITE")]
    pub suites: Vec<String>,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub part: PartitionArgs,
    /// Plan to repeat cached judgments
    ///
    /// `--refresh=GRADER` plans to repeat those of one grader.
    #[arg(
        long,
        value_name = "GRADER",
        help_heading = "Cache",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub refresh: Vec<String>,
    /// Plan to retry cached failures
    #[arg(long, help_heading = "Cache")]
    pub retry_errors: bool,
    /// Read the shared cache first
    ///
    /// Without this, `plan` opens no connection.
    #[arg(long, help_heading = "Cache")]
    pub pull: bool,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Count these human labels by grader
    ///
    /// The file is as for `evalrs run`. Labels change no call.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub labels: Option<String>,
    /// Print JSON
    ///
    /// One suite prints one object, several print an array.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `evalrs explain`.
#[derive(Debug, Default, Args)]
pub struct ExplainArgs {
    /// Suite file
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// Id of the sample, as in results.jsonl
    #[arg(value_name = "SAMPLE")]
    pub sample: String,
    /// Show only this grader
    #[arg(value_name = "GRADER")]
    pub grader: Option<String>,
    /// Show requests to judges and their replies in full
    ///
    /// Replies without a verdict are shown too. A request that is not cached is shown as evalrs would send it.
    #[arg(long)]
    pub prompt: bool,
    /// Compare with this run
    ///
    /// RUN is an id under `.evalrs/runs`, or the folder of a record.
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Show only this trial
    #[arg(long, value_name = "N")]
    pub trial: Option<u32>,
    /// Show only this model
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Show these human labels beside the verdict
    ///
    /// The file is as for `evalrs run`. Each label has the name of its reviewer.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    /// Print everything as JSON, texts in full
    #[arg(long)]
    pub json: bool,
    /// Read results recorded in this folder, not the target
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub cached: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `evalrs validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Suite files or folders
    #[arg(required = true, value_name = "SUITE")]
    pub suites: Vec<String>,
    /// Print the problems as JSON
    #[arg(long, conflicts_with = "canonical")]
    pub json: bool,
    /// Print each suite in canonical form
    ///
    /// That is the suite after `extends`, variables and aliases.
    #[arg(long)]
    pub canonical: bool,
    /// Check this roll-up against the suites
    #[arg(long, value_name = "FILE")]
    pub rollup: Option<String>,
    /// Check these human labels, and count them by grader
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    /// Check against results recorded in this folder
    ///
    /// evalrs uses them instead of the suite's target.
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub cached: Option<String>,
}

/// `evalrs list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Kind to list
    #[arg(value_enum)]
    pub what: ListedKind,
    /// Print all details as JSON, options included
    #[arg(long)]
    pub json: bool,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListedKind {
    /// Grading functions and judges
    Graders,
    /// Extractors
    Extractors,
    /// Targets
    Targets,
    /// Providers of judge models
    Providers,
}
