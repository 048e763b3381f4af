//! What happens while a session settles, and how it is shown.
//!
//! One enum stands between the work and every display. Displays write to standard error and know nothing
//! of the graph.

use evalrs_exec::Notice;
use evalrs_model::outcome::Usage;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The actions of each grader are known.
    Planned {
        /// Grader → how many there are.
        totals: Vec<(String, u64)>,
        /// What they are called: judgments, or calls where programs are among them.
        noun: &'static str,
    },
    /// This many of them were cached.
    Cached(u64),
    /// Others over the same store make calls that are wanted here.
    Shared {
        /// How many outcomes of theirs were found since the last event.
        found: u64,
        /// How many of their calls are waited for.
        waiting: usize,
    },
    /// One was sent.
    Asked,
    /// One came back.
    Landed {
        /// Why it has no reply, if it has none.
        failure: Option<String>,
        /// What it used.
        usage: Usage,
    },
    /// An endpoint must wait.
    Waiting {
        /// The ordinal of the endpoint.
        endpoint: usize,
        /// By what.
        what: String,
        /// Whether it is worth a line of its own.
        is_new: bool,
    },
    /// Nothing holds the endpoint back any more.
    Going {
        /// The ordinal of the endpoint.
        endpoint: usize,
    },
    /// A line on one request, where those are wanted.
    Line(String),
    /// A conversation of the target.
    Agent {
        /// The sample, and the model and the trial where there are several.
        who: String,
        /// What it does now; none once it has ended.
        doing: Option<String>,
    },
    /// Half a minute has passed, whatever happened in it.
    Tick,
    /// There is nothing left to do.
    Finished,
}

impl From<Notice> for Event {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Waiting { endpoint, what, is_new } => {
                Self::Waiting { endpoint: endpoint.0, what, is_new }
            }
            Notice::Going(endpoint) => Self::Going { endpoint: endpoint.0 },
            Notice::Line(line) => Self::Line(line),
            Notice::Agent { who, doing } => Self::Agent { who, doing },
        }
    }
}

/// A display.
pub trait Progress {
    /// Shows it.
    fn event(&mut self, event: &Event);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn event(&mut self, _event: &Event) {}
}
