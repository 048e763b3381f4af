//! Which paths a change concerns, and which folders have to be watched for them.
//!
//! Pure: an index over [`PathTrail`]s. What it does not let through wakes nobody, as evalrs' own writes beside the suite.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::ops::Bound::{Included, Unbounded};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::trail::PathTrail;

type WatchedNames = BTreeSet<Arc<str>>;
type TrailPaths = BTreeMap<PathBuf, WatchedNames>;

/// The trails of all paths that are looked at, by what they are made of.
#[derive(Debug, Default)]
pub(crate) struct TrailIndex {
    trails: BTreeMap<Arc<str>, PathTrail>,
    entries: TrailPaths,
    folders: TrailPaths,
    listed: TrailPaths,
}

impl TrailIndex {
    /// Looks at `name` along `trail` from now on, instead of the one before.
    pub(crate) fn lay(&mut self, name: &Arc<str>, trail: PathTrail) {
        if self.trails.get(name) == Some(&trail) {
            return;
        }
        self.forget(name);
        for (index, paths) in self.parts(trail.clone()) {
            for path in paths {
                index.entry(path).or_default().insert(name.clone());
            }
        }
        self.trails.insert(name.clone(), trail);
    }

    /// Each index with what a trail has in it.
    fn parts(&mut self, trail: PathTrail) -> [(&mut TrailPaths, BTreeSet<PathBuf>); 3] {
        let PathTrail { entries, folders, listed } = trail;
        [
            (&mut self.entries, entries),
            (&mut self.folders, folders),
            (&mut self.listed, listed.into_iter().collect()),
        ]
    }

    pub(crate) fn forget(&mut self, name: &str) {
        let Some(trail) = self.trails.remove(name) else { return };
        for (index, paths) in self.parts(trail) {
            for path in paths {
                if let Entry::Occupied(mut names) = index.entry(path) {
                    names.get_mut().remove(name);
                    if names.get().is_empty() {
                        names.remove();
                    }
                }
            }
        }
    }

    pub(crate) fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.keys()
    }

    /// The names that need one of `folders`.
    pub(crate) fn needing<'a>(
        &'a self,
        folders: impl IntoIterator<Item = &'a PathBuf>,
    ) -> WatchedNames {
        let needing = folders.into_iter().filter_map(|folder| self.folders.get(folder));
        needing.flatten().cloned().collect()
    }

    /// The watched folders at or below `path`: when that is replaced, so are they.
    pub(super) fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a PathBuf> {
        let from =
            self.folders.range::<Path, _>((Included(path), Unbounded)).map(|(folder, _)| folder);
        from.take_while(move |folder| folder.starts_with(path))
    }

    /// The names that a change at `path` concerns.
    pub(crate) fn concerned<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Arc<str>> {
        let itself = self.entries.get(path);
        let lists_it = path.parent().and_then(|folder| self.listed.get(folder));
        let through_it = self.below(path).filter_map(|folder| self.folders.get(folder));
        itself.into_iter().chain(lists_it).chain(through_it).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use super::TrailIndex;
    use crate::fs_watch::trail::PathTrail;

    fn trail(entries: &[&str], folders: &[&str], listed: Option<&str>) -> PathTrail {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        PathTrail {
            entries: paths(entries),
            folders: paths(folders),
            listed: listed.map(Into::into),
        }
    }

    fn index() -> TrailIndex {
        let mut index = TrailIndex::default();
        let mut lay = |name: &str, trail| index.lay(&Arc::from(name), trail);
        lay("suite", trail(&["/w/suite"], &["/w"], None));
        lay("rows", trail(&["/w/data/rows"], &["/w", "/w/data"], None));
        lay("./rows", trail(&["/w/data/rows"], &["/w", "/w/data"], None));
        lay("link", trail(&["/w/link", "/o/file"], &["/w", "/o"], None));
        lay("runs", trail(&[], &["/w", "/w/runs"], Some("/w/runs")));
        index
    }

    #[track_caller]
    fn check(index: &TrailIndex, path: &str, names: &[&str]) {
        let concerned: BTreeSet<&str> =
            index.concerned(Path::new(path)).map(AsRef::as_ref).collect();
        assert_eq!(concerned, names.iter().copied().collect(), "{path}");
    }

    #[test]
    fn a_change_concerns_what_goes_through_it() {
        let index = index();
        check(&index, "/w/suite", &["suite"]);
        check(&index, "/w/data/rows", &["rows", "./rows"]);
        check(&index, "/w/link", &["link"]);
        check(&index, "/o/file", &["link"]);
        check(&index, "/w/runs/new", &["runs"]);
        check(&index, "/w/runs", &["runs"]);
        check(&index, "/w/data", &["rows", "./rows"]);
        check(&index, "/w", &["suite", "rows", "./rows", "link", "runs"]);
    }

    #[test]
    fn what_nobody_looks_at_concerns_nobody() {
        let index = index();
        for path in
            ["/w/cache", "/w/cache/v1/seg/1.jsonl", "/w/.suite.swp", "/w/data/rows~", "/w/dat"]
        {
            check(&index, path, &[]);
        }
    }

    #[test]
    fn the_folders_are_those_of_all_trails() {
        let mut index = index();
        let folders = |index: &TrailIndex| {
            index.folders().map(|path| path.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(folders(&index), ["/o", "/w", "/w/data", "/w/runs"]);
        assert_eq!(index.below(Path::new("/w/data")).count(), 1);
        assert_eq!(index.needing(&[PathBuf::from("/o")]), [Arc::from("link")].into());

        index.lay(&Arc::from("link"), trail(&["/w/link"], &["/w"], None));
        assert_eq!(folders(&index), ["/w", "/w/data", "/w/runs"]);
        check(&index, "/o/file", &[]);

        for name in ["suite", "rows", "./rows", "link", "runs", "never"] {
            index.forget(name);
        }
        assert_eq!(folders(&index), Vec::<String>::new());
        for path in ["/w/suite", "/w/link", "/w/runs/new"] {
            check(&index, path, &[]);
        }
    }
}
