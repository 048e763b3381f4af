//! The command line of `evalrs diff`.

use clap::{Args, ValueEnum};

/// `evalrs diff`.
#[derive(Debug, Default, Args)]
pub struct DiffArgs {
    /// Older run: an id, `latest`, `latest~1` or a folder
    ///
    /// The beginning of an id is enough. `latest~1` is the run before the last. `RUN@N` is save N of a `watch` session:
    /// `@start` is its first evaluation, `@-1` its last. If omitted, evalrs compares the last two runs.
    #[arg(value_name = "OLD")]
    pub old: Option<String>,
    /// Newer run, named likewise
    ///
    /// If omitted, evalrs compares the last two saves of the session OLD, else OLD with the last run.
    #[arg(value_name = "NEW")]
    pub new: Option<String>,
    /// Compare two models of one run instead of two runs
    ///
    /// The run is OLD or the last one.
    #[arg(
        long,
        help_heading = "Selection",
        num_args = 2,
        value_names = ["A", "B"],
        conflicts_with = "new"
    )]
    pub models: Vec<String>,
    /// Compare only this grader
    #[arg(long, value_name = "NAME", help_heading = "Selection")]
    pub grader: Option<String>,
    /// Compare runs of this suite
    ///
    /// By default evalrs takes the runs of the working directory. With a suite it also compares how far both sides agree
    /// with the suite's labels as they are now.
    #[arg(long, value_name = "SUITE", help_heading = "Selection")]
    pub suite: Option<String>,
    /// Use these human labels instead of the suite's
    #[arg(long, value_name = "FILE", help_heading = "Selection", conflicts_with = "models")]
    pub labels: Option<String>,
    /// Compare runs that share no suite, grader or sample
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    pub force: bool,
    /// Exit with 1 if a grader became significantly worse
    #[arg(long, help_heading = "Gate")]
    pub fail_on_regression: bool,
    /// Set the significance level of --fail-on-regression
    ///
    /// P is above 0 and below 1: how often chance alone may fail the comparison.
    #[arg(
        long,
        value_name = "P",
        help_heading = "Gate",
        default_value_t = 0.05,
        requires = "fail_on_regression",
        value_parser = share
    )]
    pub alpha: f64,
    /// Choose the format
    #[arg(long, value_enum, help_heading = "Output", default_value_t = DiffFormat::Text)]
    pub format: DiffFormat,
    /// Print everything as JSON, like --format json
    #[arg(long, help_heading = "Output", conflicts_with = "format")]
    pub json: bool,
    /// List at most N verdicts that moved
    #[arg(long, value_name = "N", help_heading = "Output", default_value_t = 10)]
    pub moved: usize,
    /// Show every number of the comparison
    #[arg(long, help_heading = "Output")]
    pub details: bool,
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
    /// For people at a terminal
    #[default]
    Text,
    /// One object, with all verdicts that moved
    Json,
    /// For pull request comments
    Markdown,
}
