//! The command line of `evalrs agree`.

use clap::Args;

use evalrs_use_cases::args::StoreArgs;

/// `evalrs agree`.
#[derive(Debug, Args)]
pub struct AgreeArgs {
    /// Suite file
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// One side: a grader, `labels` or `row.FIELD`
    ///
    /// GRADER is its score, GRADER.pass its verdict, GRADER.submission its input, `labels` the human labels. `A@MODEL` is
    /// one model's. The names are those of `metrics` in a suite.
    #[arg(value_name = "A")]
    pub one: String,
    /// Other side, named likewise, or `model.NAME`
    ///
    /// `model.NAME` compares with the same of another model. Precision and recall take this side as the truth.
    #[arg(value_name = "B")]
    pub other: String,
    /// Split by `model`, `tags` or `row.FIELD`
    #[arg(long, value_name = "DIMENSION")]
    pub by: Option<String>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    /// Use these human labels
    ///
    /// The file is as for `evalrs run`.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}
