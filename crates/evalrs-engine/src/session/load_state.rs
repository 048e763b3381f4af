//! How what a session holds compares to what its files say.
//!
//! The session holds good states alone. Whether files are good is decided where they are read whole: by loading them into
//! a session of its own. `quick_checks` spares that for rows that are surely good.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evalrs_system::changed_paths::ChangedPaths;

pub(crate) type Environment = Arc<BTreeMap<String, String>>;

#[derive(Debug, Default)]
pub(crate) struct LoadState {
    /// Whether what it holds is good.
    pub is_good: bool,
    /// What may have changed since it was.
    pub stale: ChangedPaths,
    /// The environment that the database does not know yet.
    pub environment: Option<Environment>,
    /// The files that were broken when they were read last.
    pub broken: Option<BTreeSet<String>>,
    /// The files and folders that the last reading looked for, if it was broken.
    pub looked_for: BTreeSet<String>,
}

impl LoadState {
    /// Notes that everything was read, and whether it was good.
    pub(crate) fn note(&mut self, is_good: bool) {
        let mut looked_for = std::mem::take(&mut self.looked_for);
        if is_good {
            looked_for.clear();
        }
        *self = Self { is_good, looked_for, ..Self::default() };
    }
}
