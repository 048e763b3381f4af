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
            _ => *self = Self::Any,
        }
    }

    /// Whether the file may say something new.
    pub fn has(&self, path: &str) -> bool {
        let Self::Only(paths) = self else { return true };
        paths.contains(path)
    }

    /// Whether one of these files may say something new.
    pub fn has_one_of(&self, others: &BTreeSet<String>) -> bool {
        let Self::Only(paths) = self else { return true };
        !paths.is_disjoint(others)
    }

    /// Whether nothing else was touched than some of these.
    pub fn are_all_in(&self, others: &BTreeSet<String>) -> bool {
        let Self::Only(paths) = self else { return false };
        paths.is_subset(others)
    }

    /// Whether the folder, or something in it, may be new.
    pub fn is_near(&self, folder: &str) -> bool {
        let Self::Only(paths) = self else { return true };
        let folder = folder.trim_end_matches('/');
        paths.iter().any(|path| {
            let rest = path.strip_prefix(folder);
            // What is named without a folder stands in the current one.
            matches!(folder, "" | ".")
                || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}
