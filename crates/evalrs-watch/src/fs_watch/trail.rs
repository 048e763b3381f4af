//! Which folders and entries decide what a path means.
//!
//! Pure: what stands in the file system is asked through a function. Links are followed step by step, because a change of
//! any of them changes the file, and folders are named as they really are, without links: one name a folder, so that
//! the system watches none twice.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// How many links lead to a file at most; Linux follows as many.
const MAX_LINKS: usize = 40;

/// The kind of file at a path, without following it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Folder,
    /// A link, and what it says.
    Link(PathBuf),
    /// A file, or whatever else has no entries.
    File,
    /// Nothing that can be seen.
    Nothing,
}

/// What decides what a path means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathTrail {
    /// The entries whose change changes it: the links on the way and the file, or the first that is missing.
    pub entries: BTreeSet<PathBuf>,
    /// The folders to watch: those of the entries, the folder that is listed, and those on the way below `base`.
    pub folders: BTreeSet<PathBuf>,
    /// The folder that the path names, if it is one: each of its entries matters.
    pub listed: Option<PathBuf>,
}

enum PathStep {
    /// To the root of a drive or of everything.
    To(OsString),
    Up,
    Down(OsString),
}

/// Follows `path`, an absolute one. A folder on the way tells when it is itself replaced only where the one above it is
/// watched: that is done below `base`, where projects are checked out, and not up to the root.
pub(crate) fn follow(
    path: &Path,
    base: &Path,
    look: &mut dyn FnMut(&Path) -> EntryKind,
) -> PathTrail {
    let mut trail = PathTrail::default();
    let mut steps = steps(path);
    let mut here = PathBuf::new();
    let mut links = 0;
    while let Some(step) = steps.pop() {
        let name = match step {
            PathStep::To(root) => {
                here.push(root);
                continue;
            }
            PathStep::Up => {
                here.pop();
                continue;
            }
            PathStep::Down(name) => name,
        };
        let entry = here.join(name);
        let kind = look(&entry);
        if kind == EntryKind::Folder {
            if here.starts_with(base) {
                trail.folders.insert(here);
            }
            here = entry;
            continue;
        }
        trail.folders.insert(here.clone());
        trail.entries.insert(entry);
        match kind {
            EntryKind::Link(target) if links < MAX_LINKS => {
                links += 1;
                steps.extend(self::steps(&target));
            }
            _ => return trail,
        }
    }
    if here.has_root() {
        trail.folders.insert(here.clone());
        trail.listed = Some(here);
    }
    trail
}

/// The steps of a path, the last one first.
fn steps(path: &Path) -> Vec<PathStep> {
    let step = |component: Component<'_>| match component {
        Component::Prefix(_) | Component::RootDir => {
            Some(PathStep::To(component.as_os_str().to_owned()))
        }
        Component::CurDir => None,
        Component::ParentDir => Some(PathStep::Up),
        Component::Normal(name) => Some(PathStep::Down(name.to_owned())),
    };
    path.components().rev().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use super::{EntryKind, PathTrail, follow};

    /// Follows `path` through these entries: `dir`, `file`, or `-> target`.
    fn trail(standing: &[(&str, &str)], path: &str) -> PathTrail {
        let standing: BTreeMap<&str, &str> = standing.iter().copied().collect();
        let mut look = |path: &Path| match standing.get(path.to_str().unwrap()) {
            Some(&"dir") => EntryKind::Folder,
            Some(&"file") => EntryKind::File,
            Some(link) => EntryKind::Link(PathBuf::from(link.strip_prefix("-> ").unwrap())),
            None => EntryKind::Nothing,
        };
        follow(Path::new(path), Path::new("/w"), &mut look)
    }

    #[track_caller]
    fn check(path: &str, entries: &[&str], folders: &[&str], listed: Option<&str>) {
        let standing = [
            ("/w", "dir"),
            ("/w/a", "dir"),
            ("/w/a/file", "file"),
            ("/w/link", "-> a/file"),
            ("/w/chain", "-> /w/link"),
            ("/w/folder", "-> /o/deep/down/../here"),
            ("/w/dangling", "-> ../o/absent"),
            ("/w/loop", "-> loop"),
            ("/o", "dir"),
            ("/o/deep", "dir"),
            ("/o/deep/down", "dir"),
            ("/o/deep/here", "dir"),
            ("/o/deep/here/file", "file"),
        ];
        let found = trail(&standing, path);
        let names = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        let expected = PathTrail {
            entries: names(entries),
            folders: names(folders),
            listed: listed.map(Into::into),
        };
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn a_file_stands_in_its_folder() {
        check("/w/a/file", &["/w/a/file"], &["/w", "/w/a"], None);
        check("/w/./a/../a/file", &["/w/a/file"], &["/w", "/w/a"], None);
        check("/o/deep/here/file", &["/o/deep/here/file"], &["/o/deep/here"], None);
    }

    #[test]
    fn what_is_missing_is_awaited_where_it_would_begin() {
        check("/w/a/absent", &["/w/a/absent"], &["/w", "/w/a"], None);
        check("/o/absent/far/below", &["/o/absent"], &["/o"], None);
        check("/absent/far/below", &["/absent"], &["/"], None);
        check("/o/deep/here/file/below", &["/o/deep/here/file"], &["/o/deep/here"], None);
    }

    #[test]
    fn links_are_followed_and_each_of_them_counts() {
        check("/w/link", &["/w/link", "/w/a/file"], &["/w", "/w/a"], None);
        check("/w/chain", &["/w/chain", "/w/link", "/w/a/file"], &["/w", "/w/a"], None);
        let ends = ["/w/folder", "/o/deep/here/file"];
        check("/w/folder/file", &ends, &["/w", "/o/deep/here"], None);
        check("/w/dangling", &["/w/dangling", "/o/absent"], &["/w", "/o"], None);
        check("/w/loop", &["/w/loop"], &["/w"], None);
    }

    #[test]
    fn of_a_folder_every_entry_counts() {
        check("/w/a", &[], &["/w", "/w/a"], Some("/w/a"));
        check("/w/a/", &[], &["/w", "/w/a"], Some("/w/a"));
        check("/w", &[], &["/w"], Some("/w"));
        check("/o/deep", &[], &["/o/deep"], Some("/o/deep"));
        check("/", &[], &["/"], Some("/"));
        check("", &[], &[], None);
    }
}
