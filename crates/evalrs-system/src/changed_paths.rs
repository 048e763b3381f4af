//! Which files and folders may say something new.

use std::collections::BTreeSet;

/// What was touched since some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedPaths {
    /// These paths, as they were named.
    Only(BTreeSet<String>),
    /// Perhaps any: too much happened at once, or some of it was lost.
    Any,
}

impl Default for ChangedPaths {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl ChangedPaths {
    /// Whether nothing was touched.
    pub fn is_empty(&self) -> bool {
        self.are_all_in(&BTreeSet::new())
    }

    /// Adds what was touched too.
    pub fn extend(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Only(paths), Self::Only(others)) => paths.extend(others),
            (Self::Any, _) => {}
            (Self::Only(_), Self::Any) => *self = Self::Any,
        }
    }

    /// Whether the file may say something new.
    pub fn has(&self, path: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Only(paths) => paths.contains(path),
        }
    }

    /// Whether one of these files may say something new.
    pub fn has_one_of(&self, others: &BTreeSet<String>) -> bool {
        match self {
            Self::Any => true,
            Self::Only(paths) => !paths.is_disjoint(others),
        }
    }

    /// Whether nothing else was touched than some of these.
    pub fn are_all_in(&self, others: &BTreeSet<String>) -> bool {
        match self {
            Self::Any => false,
            Self::Only(paths) => paths.is_subset(others),
        }
    }

    /// Whether the folder, or something in it, may be new.
    pub fn is_near(&self, folder: &str) -> bool {
        let folder = folder.trim_end_matches('/');
        let is_in = |path: &String| {
            // What is named without a folder stands in the current one.
            matches!(folder, "" | ".")
                || path
                    .strip_prefix(folder)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match self {
            Self::Any => true,
            Self::Only(paths) => paths.iter().any(is_in),
        }
    }
}
