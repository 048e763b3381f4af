//! The flags that several commands share, as they are typed.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use evalrs_report::{FORMATS, ReportFormat};

/// Whose files a record has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RecordLayout {
    /// Ours.
    #[default]
    Evalrs,
    /// Those of Letta Evals up to 0.16.
    Letta,
}

/// What is evaluated, and how.
#[derive(Debug, Args)]
pub struct EvaluateArgs {
    /// Suite files.
    #[arg(required_unless_present = "raw", value_name = "SUITE")]
    pub suites: Vec<String>,
    /// Also writes the run record to this folder.
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<String>,
    /// The files of that folder: those of a run record, or the result directory of Letta Evals.
    #[arg(long, value_enum, value_name = "LAYOUT", requires = "output", default_value_t = RecordLayout::Evalrs)]
    pub layout: RecordLayout,
    /// What is written to standard output.
    #[arg(long, value_name = "FORMAT", value_parser = report_formats(), default_value = FORMATS[0].name)]
    pub format: &'static ReportFormat,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Labels of people to compare verdicts with: JSON Lines, JSON or CSV with `id` and `label` [default: `bot.labels.jsonl`
    /// beside `bot.yaml`, where there is one].
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Only replays stored outcomes: an action without one is an error (exit code 3).
    #[arg(long)]
    pub frozen: bool,
    /// Calls neither judges nor the target; runs programs that grade.
    #[arg(long)]
    pub offline: bool,
    /// Runs the target and grades nothing.
    #[arg(long, conflicts_with_all = ["frozen", "offline"])]
    pub only_targets: bool,
    /// Keeps no record of the run: `diff`, `report` and `history` do not know of it.
    #[arg(long)]
    pub no_record: bool,
    /// Re-runs stored judgments, of one grader (--refresh=GRADER) or of all; --refresh=target runs the target again.
    #[arg(long, value_name = "GRADER", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["frozen", "offline"])]
    pub refresh: Vec<String>,
    /// Retries stored failures.
    #[arg(long)]
    pub retry_errors: bool,
    /// Also reports means over the suites, with their intervals, and exits by the gate on them: a file with `name`, `metrics` and
    /// `gate`. Changing it asks nothing.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only_targets", "raw"])]
    pub rollup: Option<String>,
    /// Exits with 3 unless every judge was compared with labels of people as it is now (`evalrs calibrate --suite`), and
    /// agrees with them as far as `calibration` of the suite asks.
    #[arg(long, conflicts_with_all = ["only_targets", "raw"])]
    pub require_calibration: bool,
    /// Shows no progress, and no report unless --format asks for one.
    #[arg(long, short)]
    pub quiet: bool,
    /// Maximum number of failures that the report lists [default: 10, in Markdown 20].
    #[arg(long, value_name = "N")]
    pub failures: Option<usize>,
    /// Runs no suite, but an agent over prompts (a file, else standard input), and writes the lines of its output to
    /// standard output, or to the file that -o names.
    #[arg(long, help_heading = "Without a suite")]
    pub raw: bool,
}

/// Which part of a suite is evaluated.
#[derive(Clone, Debug, Default, Args)]
pub struct SelectArgs {
    /// Only the first N samples.
    #[arg(long, value_name = "N")]
    pub max_samples: Option<usize>,
    /// Only samples with one of these tags (comma-separated).
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    pub tags: Vec<String>,
    /// Only this sample; may be repeated.
    #[arg(long = "sample", value_name = "ID")]
    pub samples: Vec<String>,
    /// Only this grader; may be repeated. Leaves the gate out unless it needs no other.
    #[arg(long = "grader", value_name = "NAME")]
    pub graders: Vec<String>,
    /// Only trials 0 to N-1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub trials: Option<u32>,
    /// Grades the results recorded in this directory (Letta Evals) in place of the suite's target.
    #[arg(long, value_name = "DIR")]
    pub cached: Option<String>,
}

/// Where outcomes are kept.
#[derive(Clone, Debug, Default, Args)]
pub struct StoreArgs {
    /// The folder of the store [default: `cache/` beside evalrs.toml or the suite].
    #[arg(long, value_name = "DIR", env = "EVALRS_CACHE_DIR")]
    pub cache_dir: Option<String>,
}

/// How many calls are made at once, and in all. It comes before what the suite and `evalrs.toml`
/// say.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitArgs {
    /// Maximum number of actions in flight.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_concurrent: Option<u32>,
    /// Maximum number of conversations of the target in flight [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub max_concurrent_targets: Option<u32>,
    /// Stops after N actions (exit code 3).
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Stops before more than this many US dollars are spent (exit code 3).
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub max_cost: Option<f64>,
    /// Stops using an endpoint after N consecutive identical failures, or one of its models after N consecutive replies
    /// without a verdict (exit code 3) [default: 10].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_identical_failures: Option<u32>,
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
