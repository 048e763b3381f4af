//! The segment that this process writes: how it is made, and tried before anything is worth keeping.
#![expect(clippy::disallowed_methods, reason = "the store owns its files; nothing else opens them")]

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use crate::entry::StoreError;
use crate::segment::files::{process_name, write_error};
use crate::segment::held_file;
use crate::segment::written_base_lines::WrittenBaseLines;

/// The room that there must be before somebody is paid, in bytes: for all that lands until a write has failed.
const ROOM: usize = 256 << 10;

/// The segment this process writes.
pub struct OwnSegment {
    pub name: String,
    pub file: File,
    pub length: u64,
    /// The lines of it that later ones may have parts of.
    pub(crate) bases: WrittenBaseLines,
}

impl OwnSegment {
    /// The segment of this name, which is empty.
    pub fn of(name: String, file: File) -> Self {
        Self { name, file, length: 0, bases: WrittenBaseLines::default() }
    }

    /// Makes a segment in `folder` that no sweep touches before it is closed.
    pub fn create(folder: &Path) -> Result<Self, StoreError> {
        loop {
            let own = create_unlocked(folder)?;
            // A sweep may have found it empty and be about to remove it.
            if held_file::take(&own.file) && folder.join(&own.name).exists() {
                return Ok(own);
            }
        }
    }

    /// Whether it is what was written to it: a segment that somebody removed would take what comes next with it.
    pub(crate) fn is_intact(&self, folder: &Path) -> bool {
        fs::metadata(folder.join(&self.name)).is_ok_and(|file| file.len() == self.length)
    }

    /// Tries whether the disk has room, beside the segment: readers would take what is tried for damage.
    pub(crate) fn try_room(&self, folder: &Path) -> Result<(), StoreError> {
        // A sweep removes it if this process is killed here.
        let path = folder.join(&self.name).with_extension("idx.tmp");
        let tried = write_synced(&path).map_err(|error| write_error(&path, &error));
        let _ = fs::remove_file(&path);
        if tried.is_err() {
            self.remove(folder);
        }
        tried
    }

    /// Removes a segment that nothing was written to. It is no harm if it stays.
    pub fn remove(&self, folder: &Path) {
        let _ = fs::remove_file(folder.join(&self.name));
    }
}

fn write_synced(path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&vec![b' '; ROOM])?;
    file.sync_data()
}

fn create_unlocked(folder: &Path) -> Result<OwnSegment, StoreError> {
    fs::create_dir_all(folder).map_err(|error| write_error(folder, &error))?;
    keep_out_of_git(folder);
    let name = format!("{}.jsonl", process_name());
    let path = folder.join(&name);
    let file = held_file::new_held().open(&path).map_err(|error| write_error(&path, &error))?;
    // A file is durable only with its name: in its folder, and that one's in those above, which may be new too.
    // Systems and file systems that cannot sync a folder say so with an error that means nothing.
    for folder in folder.ancestors().take(3) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(OwnSegment::of(name, file))
}

/// Only committed judgments are for others. A file that is there is the user's; without one the store works too.
fn keep_out_of_git(segments: &Path) {
    let Some(dir) = segments.ancestors().nth(2) else { return };
    let path = dir.join(".gitignore");
    if let Ok(mut file) = File::options().write(true).create_new(true).open(path) {
        let _ = file.write_all(b"v1/\n");
    }
}
