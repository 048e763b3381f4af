//! How much is shown of a run.

/// The lines that a rationale may take on a terminal.
pub(super) const RATIONALE_LINES: usize = 2;

/// How much is shown of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportView {
    /// How many failures are listed.
    pub failures: usize,
    /// Whether all numbers are shown.
    pub details: bool,
    /// Whether failures and errors are listed at all: a log that has them as annotations does without.
    pub lists: bool,
    /// Whether what belongs to the process is shown.
    pub facts: bool,
    /// Whether what moved since an earlier run is shown.
    pub moves: bool,
    /// Whether somebody named that run.
    pub against: bool,
}
