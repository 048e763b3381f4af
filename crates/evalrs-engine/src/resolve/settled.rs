//! The result of settling a session, or why no judges, programs and targets could be called.

use evalrs_base::price::Cost;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::{ActionTally, Usage};
use evalrs_store::StoreError;

/// How settling ended.
#[derive(Debug, Default)]
pub struct Settlement {
    /// Grader → its actions, in the order of the suite.
    pub tallies: Vec<(String, ActionTally)>,
    /// The conversations of the target, where it is run.
    pub conversations: Option<ActionTally>,
    /// How many of the actions count against limits: those of judges.
    pub calls: u64,
    /// The keys executed in this run.
    pub asked: Vec<ActionKey>,
    /// It was interrupted.
    pub interrupted: bool,
    /// How many judgments are out in batches.
    pub out: usize,
    /// What those are expected to cost that were sent in this run.
    pub reserved: Cost,
    /// The budget was used up.
    pub out_of_budget: bool,
    /// Why endpoints were disabled, a sentence each.
    pub stopped: Vec<String>,
    /// The store could not be written.
    pub write_error: Option<StoreError>,
    /// Why repeated judgments stayed as they were, a sentence each.
    pub in_vain: Vec<String>,
    /// Stored failures that stood for an answer.
    pub replayed_failures: u64,
    /// What went wrong while reading the store.
    pub warnings: Vec<String>,
    /// What programs were started in that are to be kept in a sandbox, if any was.
    pub sandbox: Option<&'static str>,
}

impl Settlement {
    /// Whether every outcome that arrived is in the store.
    pub fn is_stored(&self) -> bool {
        self.write_error.is_none() && !self.interrupted
    }

    /// What graders used in this run.
    pub fn spent(&self) -> Usage {
        self.tallies.iter().fold(Usage::default(), |sum, (_, tally)| sum + tally.spent)
    }

    /// The usage of cached judgments when they were made.
    pub fn saved(&self) -> Usage {
        self.tallies.iter().fold(Usage::default(), |sum, (_, tally)| sum + tally.saved)
    }
}

/// Why no call could be made.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CannotAsk {
    /// The key of the API is not set.
    #[error("`{variable}` is not set, and {who_asks}")]
    NoKey {
        /// The environment variable.
        variable: String,
        /// The provider that the name of the model speaks of, where the suite names another.
        meant: Option<&'static str>,
        /// The model.
        model: String,
        /// Who needs it, and for how much, as a clause.
        who_asks: String,
    },
    /// A program cannot be loaded, so nothing of it could be keyed.
    #[error("cannot load `{program}`: {message}")]
    Unloadable {
        /// The program.
        program: String,
        /// Why, in one sentence.
        message: String,
        /// Where in it.
        details: Option<String>,
    },
    /// A program that is to run in a sandbox cannot.
    #[error("{message}")]
    NoSandbox {
        /// Which one, and why.
        message: String,
    },
    /// A limit on the cost cannot be kept.
    #[error("the price of `{model}` is not known, so `--max-cost` cannot be enforced")]
    NoPrice {
        /// The model.
        model: String,
    },
}
