//! What keeps judges, programs and targets from being asked at all: said before the first of them is.

/// Why nothing could be asked.
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
    #[error("the price of `{model}` is not known, so `--max-cost` cannot be kept")]
    NoPrice {
        /// The model.
        model: String,
    },
}
