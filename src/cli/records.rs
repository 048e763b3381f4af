//! The command lines of what reads records of runs and nothing else.

use clap::Args;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use evalrs_report::{Audience, FORMATS, ReportFormat};
use evalrs_use_cases::args::{PAGE, StoreArgs, report_format, report_names};

/// `evalrs report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run: an id, `latest`, `latest~1` or a folder
    ///
    /// The beginning of an id is enough. `latest~1` is the run before the last.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Choose the format
    #[arg(long, value_name = "FORMAT", value_parser = report_kinds(), default_value = FORMATS[0].name)]
    pub format: ReportKind,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<String>,
    /// Report a run of this suite
    ///
    /// By default evalrs takes the runs of the working directory.
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// List at most N failures [default: 10, in Markdown 20]
    #[arg(long, value_name = "N")]
    pub failures: Option<usize>,
    /// Show every number of the report
    #[arg(long)]
    pub details: bool,
    /// Report what moved since RUN
    ///
    /// In Markdown, the report has this part only with this flag.
    #[arg(long, value_name = "RUN")]
    pub against: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// What a report is.
#[derive(Clone, Copy, Debug)]
pub enum ReportKind {
    /// What `run` writes too.
    OfRun(&'static ReportFormat),
    /// The viewer with its data.
    Page,
}

impl ReportKind {
    /// Whether its bytes are passed as they are.
    pub(crate) fn is_data(self) -> bool {
        match self {
            Self::OfRun(format) => format.audience != Audience::Terminal,
            Self::Page => true,
        }
    }
}

/// What a recorded run can be reported as, by name.
fn report_kinds() -> impl TypedValueParser<Value = ReportKind> {
    let page = PossibleValue::new(PAGE).help("The pages of `serve` in one file, for a browser");
    let names = report_names().chain([page]).collect::<Vec<_>>();
    PossibleValuesParser::new(names)
        .map(|name| report_format(&name).map_or(ReportKind::Page, ReportKind::OfRun))
}

/// `evalrs history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Suite file
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// Print the runs as JSON
    #[arg(long)]
    pub json: bool,
    /// Show only the last N runs
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}
