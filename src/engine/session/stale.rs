//! Which files may say something new.

use std::collections::BTreeSet;

/// Files that may say something new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stale {
    /// These and no others.
    Paths(BTreeSet<String>),
    /// Any.
    All,
}

impl Default for Stale {
    fn default() -> Self {
        Self::Paths(BTreeSet::new())
    }
}

impl Stale {
    /// Adds what was touched; everything if nobody says what.
    pub(crate) fn add(&mut self, touched: Option<&BTreeSet<String>>) {
        match (touched, &mut *self) {
            (Some(touched), Self::Paths(paths)) => paths.extend(touched.iter().cloned()),
            (Some(_), Self::All) => {}
            (None, _) => *self = Self::All,
        }
    }

    /// Whether the file may say something new.
    pub(crate) fn has(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Paths(paths) => paths.contains(path),
        }
    }

    /// Whether the folder, or something in it, may be new.
    pub(crate) fn is_near(&self, folder: &str) -> bool {
        let folder = folder.trim_end_matches('/');
        let is_in = |path: &String| {
            // What is named without a folder stands in the current one.
            matches!(folder, "" | ".")
                || path
                    .strip_prefix(folder)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match self {
            Self::All => true,
            Self::Paths(paths) => paths.iter().any(is_in),
        }
    }
}
