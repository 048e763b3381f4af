//! The flags that several commands share, as they are typed.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jiff::SignedDuration;

use super::partition::PartitionArgs;
use evalrs_report::page::terminal::PageScreen;
use evalrs_report::{FORMATS, ReportFormat, ReportOptions};

/// Whose files a record has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RecordLayout {
    /// The files of a run record
    #[default]
    Evalrs,
    /// The result folder of Letta Evals up to 0.16
    Letta,
}

/// What is evaluated, and how.
#[derive(Debug, Args)]
pub struct EvaluateArgs {
    /// Suite files or folders
    ///
    /// A folder stands for every `suite.yaml` and `*.suite.yaml` in it.
    #[arg(required_unless_present = "raw", value_name = "SUITE")]
    pub suites: Vec<String>,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub part: PartitionArgs,
    /// Run the target and grade nothing
    #[arg(
        long,
        help_heading = "Selection",
        hide_short_help = true,
        conflicts_with_all = ["frozen", "offline"]
    )]
    pub only_targets: bool,
    /// Replay the cache only; a cache miss is an error
    ///
    /// A run with a cache miss exits with 3. This is the flag for CI: no key is needed and nothing is spent.
    #[arg(long, help_heading = "Cache")]
    pub frozen: bool,
    /// Call neither judges nor the target
    ///
    /// Programs that grade still run. Grades that need another call are skipped.
    #[arg(long, help_heading = "Cache")]
    pub offline: bool,
    /// Repeat cached judgments, of one grader or of all
    ///
    /// `--refresh=GRADER` repeats those of one grader. `--refresh=target` runs the target again.
    #[arg(
        long,
        value_name = "GRADER",
        help_heading = "Cache",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with_all = ["frozen", "offline"]
    )]
    pub refresh: Vec<String>,
    /// Retry cached failures
    #[arg(long, help_heading = "Cache")]
    pub retry_errors: bool,
    /// Compare files by their bytes
    ///
    /// A run repeats the last one if no file has changed. Without this, their times and sizes decide. It is the default where
    /// `CI` is set.
    #[arg(long, help_heading = "Cache", hide_short_help = true)]
    pub verify: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Exit with 2 if the shared cache cannot be read
    ///
    /// Without this, evalrs warns and goes on.
    #[arg(long, help_heading = "Cache", hide_short_help = true, conflicts_with = "offline")]
    pub cache_remote_only: bool,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub batches: BatchArgs,
    /// Compare verdicts with these human labels
    ///
    /// JSON Lines, JSON or CSV with `id` and `label` [default: `bot.labels.jsonl` beside `bot.yaml`, if it exists].
    #[arg(long, value_name = "FILE", help_heading = "Labels and gates")]
    pub labels: Option<String>,
    /// Require a current calibration of every judge
    ///
    /// The run exits with 3 unless every judge, as it is now, was compared with human labels (`evalrs calibrate --suite`)
    /// and reaches the agreement that `calibration` of the suite demands.
    #[arg(
        long,
        help_heading = "Labels and gates",
        hide_short_help = true,
        conflicts_with_all = ["only_targets", "raw"]
    )]
    pub require_calibration: bool,
    /// Report means over all suites and exit by their gate
    ///
    /// FILE has `name`, `metrics` and `gate`. The means have intervals. Editing FILE causes no call.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Labels and gates",
        hide_short_help = true,
        conflicts_with_all = ["only_targets", "raw"]
    )]
    pub rollup: Option<String>,
    /// Write the record of the run to this folder too
    #[arg(long, short, value_name = "DIR", help_heading = "Output")]
    pub output: Option<String>,
    /// Choose the files of that folder
    #[arg(
        long,
        value_enum,
        value_name = "LAYOUT",
        help_heading = "Output",
        hide_short_help = true,
        requires = "output",
        default_value_t = RecordLayout::Evalrs
    )]
    pub layout: RecordLayout,
    /// Choose the format of the report
    #[arg(
        long,
        value_name = "FORMAT",
        help_heading = "Output",
        value_parser = report_formats(),
        default_value = FORMATS[0].name
    )]
    pub format: &'static ReportFormat,
    /// List at most N failures in the report [default: 10, in Markdown 20]
    #[arg(long, value_name = "N", help_heading = "Output", hide_short_help = true)]
    pub failures: Option<usize>,
    /// Print no progress, and a report only with --format
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Keep no record of the run
    ///
    /// `diff`, `report` and `history` do not find such a run.
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub no_record: bool,
    /// Show every number of the report
    #[arg(long, help_heading = "Output")]
    pub details: bool,
    /// Report what moved since RUN instead of the last run
    ///
    /// In Markdown, the report has this part only with this flag.
    #[arg(
        long,
        value_name = "RUN",
        help_heading = "Output",
        hide_short_help = true,
        conflicts_with = "no_record"
    )]
    pub against: Option<String>,
    /// Run an agent over prompts instead of a suite
    ///
    /// The prompts come from a file, else from standard input. The lines that the agent prints go to standard output, or
    /// to the file that -o names.
    #[arg(long, help_heading = "Without a suite", hide_short_help = true)]
    pub raw: bool,
}

impl EvaluateArgs {
    /// How much a report shows.
    pub(crate) fn report_options(&self, screen: PageScreen, rolls_up: bool) -> ReportOptions {
        ReportOptions {
            screen,
            failures: self.failures,
            details: self.details,
            against: self.against.is_some(),
            rolls_up,
        }
    }
}

/// Which part of a suite is evaluated.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub struct SelectArgs {
    /// Use only the first N samples
    #[arg(long, help_heading = "Selection", value_name = "N")]
    pub max_samples: Option<usize>,
    /// Use only samples with one of these tags
    ///
    /// Separate tags by commas.
    #[arg(long, help_heading = "Selection", value_name = "TAG", value_delimiter = ',')]
    pub tags: Vec<String>,
    /// Use only this sample; may be repeated
    #[arg(long = "sample", help_heading = "Selection", value_name = "ID")]
    pub samples: Vec<String>,
    /// Use only this grader; may be repeated
    ///
    /// The gate is left out unless it needs no other grader.
    #[arg(long = "grader", help_heading = "Selection", value_name = "NAME")]
    pub graders: Vec<String>,
    /// Use only trials 0 to N-1
    #[arg(
        long,
        help_heading = "Selection",
        value_name = "N",
        hide_short_help = true,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub trials: Option<u32>,
    /// Grade results recorded in this folder, not the target
    ///
    /// DIR holds results of Letta Evals. The target of the suite is not run.
    #[arg(long, help_heading = "Selection", value_name = "DIR", hide_short_help = true)]
    pub cached: Option<String>,
}

/// Whose outcomes of a shared cache count.
#[derive(Clone, Debug, Default, Args)]
pub struct TrustArgs {
    /// Believe these writers of the shared cache this once
    ///
    /// They take the place of `believe` in evalrs.toml, which has their keys. Separate names by commas.
    #[arg(
        long,
        help_heading = "Cache",
        value_name = "WRITER",
        value_delimiter = ',',
        hide_short_help = true
    )]
    pub believe: Vec<String>,
}

/// Where outcomes are kept.
#[derive(Clone, Debug, Default, Args)]
pub struct StoreArgs {
    /// Use this folder as the cache
    ///
    /// [default: `cache/` beside evalrs.toml or the suite]
    #[arg(
        long,
        help_heading = "Cache",
        value_name = "DIR",
        env = "EVALRS_CACHE_DIR",
        hide_short_help = true
    )]
    pub cache_dir: Option<String>,
}

/// How many calls are made at once, and in all. It comes before what the suite and `evalrs.toml`
/// say.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitArgs {
    /// Stop after N calls
    ///
    /// Calls of judges and conversations of the target count, programs do not. A run that stops so exits with 3. Its outcomes
    /// are cached.
    #[arg(long, help_heading = "Limits", value_name = "N")]
    pub max_calls: Option<u64>,
    /// Stop before spending more US dollars
    ///
    /// A run that stops so exits with 3. Its outcomes are cached.
    #[arg(long, help_heading = "Limits", value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Keep at most N calls in flight
    #[arg(long, help_heading = "Limits", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_concurrent: Option<u32>,
    /// Keep at most N conversations of the target in flight [default: 4]
    #[arg(
        long,
        help_heading = "Limits",
        value_name = "N",
        hide_short_help = true,
        value_parser = clap::value_parser!(u32).range(1..=4096)
    )]
    pub max_concurrent_targets: Option<u32>,
    /// Stop using an endpoint after N identical failures in a row [default: 10]
    ///
    /// A model is also dropped after N replies in a row without a verdict. The run then exits with 3.
    #[arg(
        long,
        help_heading = "Limits",
        value_name = "N",
        hide_short_help = true,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub max_identical_failures: Option<u32>,
}

/// Which judgments are sent in batches.
#[derive(Clone, Debug, Default, Args)]
pub struct BatchArgs {
    /// Send missing judgments in batches, at half the price
    ///
    /// Providers answer within a day. The run exits with 4, and a later run or `evalrs batch collect` collects the answers.
    /// Fewer than 20 judgments of a model are called at once; `--batch=always` sends these in a batch too.
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        help_heading = "Limits",
        hide_possible_values = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "worth",
        conflicts_with_all = ["frozen", "offline", "only_targets", "raw"]
    )]
    pub batch: Option<BatchChoice>,
    /// Call what is missing at once, and send no further batch
    ///
    /// What is out in a batch is not called a second time.
    #[arg(long, help_heading = "Limits", hide_short_help = true, requires = "batch")]
    pub finish: bool,
    /// Wait for batches to end [default: no limit]
    ///
    /// A time is like 90s, 30m or 2h. After that the run exits with 4.
    #[arg(
        long,
        value_name = "TIME",
        help_heading = "Limits",
        hide_short_help = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "720h",
        value_parser = duration,
        conflicts_with_all = ["frozen", "offline", "only_targets", "raw"]
    )]
    pub wait: Option<Duration>,
}

/// When judgments are sent in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BatchChoice {
    /// From 20 judgments of a model on
    Worth,
    /// Whatever their number
    Always,
}

/// A time with its unit.
fn duration(text: &str) -> Result<Duration, String> {
    let time = text.parse::<SignedDuration>().ok().and_then(|time| time.try_into().ok());
    time.ok_or_else(|| "expected a time with its unit, such as 90s, 30m or 2h".to_owned())
}

/// An amount of money.
pub fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.trim_start_matches('$').parse().ok();
    amount
        .filter(|amount: &f64| amount.is_finite() && *amount >= 0.0)
        .ok_or_else(|| "invalid dollar amount".to_owned())
}

/// What `report` calls a page.
pub const PAGE: &str = "html";

/// The formats of reports, by name.
pub fn report_names() -> impl Iterator<Item = PossibleValue> {
    FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.help))
}

/// The format of reports of this name.
pub fn report_format(name: &str) -> Option<&'static ReportFormat> {
    FORMATS.into_iter().find(|format| format.name == name)
}

/// The formats that `run` writes. A page needs what is recorded, and that is whole once the run has ended.
pub fn report_formats() -> impl TypedValueParser<Value = &'static ReportFormat> {
    let page = PossibleValue::new(PAGE).hide(true);
    PossibleValuesParser::new(report_names().chain([page]).collect::<Vec<_>>()).try_map(|name| {
        report_format(&name)
            .ok_or("a page is made from a record: after the run, `evalrs report --format html -o report.html`")
    })
}
