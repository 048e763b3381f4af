//! The command line of `evalrs agree`.

use clap::Args;

use evalrs_use_cases::args::StoreArgs;

/// `evalrs agree`.
#[derive(Debug, Args)]
pub struct AgreeArgs {
    /// The suite.
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// What is looked at: a grader (its score; GRADER.pass its verdicts, GRADER.submission what it was given), `labels` of
    /// people, or `row.FIELD`, as in `metrics` of a suite. With @MODEL behind it, of this model alone.
    #[arg(value_name = "A")]
    pub one: String,
    /// What that is compared with, named likewise; `model.NAME` is the same of another model. Precision and recall take it
    /// for the truth.
    #[arg(value_name = "B")]
    pub other: String,
    /// Also for each `model`, for each of the `tags`, or for each value of `row.FIELD`.
    #[arg(long, value_name = "DIMENSION")]
    pub by: Option<String>,
    /// Prints everything as JSON.
    #[arg(long)]
    pub json: bool,
    /// Labels of people, as `run` takes them.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}
