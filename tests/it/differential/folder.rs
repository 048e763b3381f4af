//! The files of a workspace as data, and how they are saved: as careful editors do, one after another.
#![expect(clippy::disallowed_methods, reason = "tests save files as editors do")]

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::space::Space;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathContent {
    /// A file that nobody executes.
    Text(String),
    /// A file that is executed.
    Script(String),
    /// A folder that holds nothing.
    EmptyFolder,
}

impl PathContent {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Script(text) => Some(text),
            Self::EmptyFolder => None,
        }
    }

    fn mode(&self) -> u32 {
        if matches!(self, Self::Text(_)) { 0o644 } else { 0o755 }
    }
}

/// Path → what stands there.
pub(super) type Files = BTreeMap<String, PathContent>;

/// Saves what differs in any order, the suite last.
pub(super) fn save_changes(
    space: &Space,
    before: &Files,
    after: &Files,
    random: &mut fastrand::Rng,
) {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut paths: Vec<&String> = paths.into_iter().collect();
    random.shuffle(&mut paths);
    paths.sort_by_key(|path| *path == "suite.yaml");
    for path in paths {
        match (before.get(path), after.get(path)) {
            (old, Some(new)) if old != Some(new) => save(space, path, old, new),
            (Some(_), None) => remove(space, path, after),
            _ => {}
        }
    }
}

/// Never is a half of a file there. Where its text stays, its mode is changed in place.
fn save(space: &Space, path: &str, old: Option<&PathContent>, new: &PathContent) {
    let target = space.path(path);
    let Some(text) = new.text() else {
        std::fs::create_dir_all(target).unwrap();
        return;
    };
    let mode = std::fs::Permissions::from_mode(new.mode());
    if old.is_some_and(|old| old.text() == Some(text)) {
        std::fs::set_permissions(target, mode).unwrap();
        return;
    }
    space.write(".saved", text);
    std::fs::set_permissions(space.path(".saved"), mode).unwrap();
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    std::fs::rename(space.path(".saved"), target).unwrap();
}

/// Removes a file or folder, and the folders around it that hold nothing else and are not to stay.
fn remove(space: &Space, path: &str, after: &Files) {
    let is_file = space.path(path).is_file();
    if is_file {
        std::fs::remove_file(space.path(path)).unwrap();
    }
    let folders = Path::new(path).ancestors().skip(usize::from(is_file));
    for folder in folders.map(|folder| folder.to_str().unwrap()) {
        let stays = folder.is_empty() || after.contains_key(folder);
        // Fails where something stands in it.
        if stays || std::fs::remove_dir(space.path(folder)).is_err() {
            return;
        }
    }
}
