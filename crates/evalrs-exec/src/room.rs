//! What an executor says while it works: whether more may start, and what is worth a line.

use super::endpoint::JudgeEndpointId;

/// Whether an action may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Room {
    /// It may.
    Now,
    /// Not before one that is under way lands.
    Full,
    /// Not yet; `changed` tells when to look again.
    Later,
    /// Not any more, and why.
    Closed(String),
}

/// Something an executor has to say, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// An endpoint is held back.
    Waiting {
        /// Which one.
        endpoint: JudgeEndpointId,
        /// By what.
        what: String,
        /// Whether that is worth a line: it was not said in the last minute.
        is_new: bool,
    },
    /// Nothing holds this endpoint back any more.
    Going(JudgeEndpointId),
    /// A line on one request, where those are wanted.
    Line(String),
    /// A conversation of the target.
    Agent {
        /// The sample, and the model and the trial where there are several.
        who: String,
        /// What it does now; none once it has ended.
        doing: Option<String>,
    },
}
