//! The command line of `evalrs agree`.

use clap::{Args, ValueEnum};

use super::StoreArgs;

/// `evalrs agree`.
#[derive(Debug, Args)]
pub struct AgreeArgs {
    /// The suite.
    #[arg(value_name = "SUITE")]
    pub suite: String,
    /// What is looked at: a grader (its score on its own scale; GRADER:pass its verdicts, GRADER:submission what it was
    /// given), `labels` of people, or `row.FIELD`. With @MODEL behind it, of this model alone.
    #[arg(value_name = "A")]
    pub one: String,
    /// What that is compared with, named likewise. Precision and recall take it for the truth.
    #[arg(value_name = "B")]
    pub other: String,
    /// Also for each model, or for each tag.
    #[arg(long, value_enum, value_name = "DIMENSION")]
    pub by: Option<AgreeBy>,
    /// Prints everything as JSON.
    #[arg(long)]
    pub json: bool,
    /// Labels of people, as `run` takes them.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// What cases are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AgreeBy {
    /// The model that was run.
    Model,
    /// Each tag of the sample.
    Tag,
}
