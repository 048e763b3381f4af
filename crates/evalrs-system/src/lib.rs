//! Everything outside the process that is not an action: files, the environment, the clock.
//!
//! # Owns
//!
//! - [`System`]: the one trait through which files are read and written, folders listed, links followed, the environment
//!   and the time asked for. [`FileBytes`] says what became of reading a file.
//! - [`os`], the real one; [`memory`], the one of tests; [`overlay`], another one with files of its own over it; [`traced`],
//!   one that notes what it was asked.
//! - [`disk`] and [`file_lock`]: stamps of files, and locks between processes; [`contents`]: digests of what is at paths.
//! - [`glob`]: patterns of files, expanded within limits; the walk is ours, the matching that of globset.
//! - [`changed_paths`]: which paths were saved.
//!
//! # Must not know
//!
//! What any file means, and anything of evaluation. Pure crates may not use this one: what they need of a path is text, in
//! `evalrs_base::file_path`.
//!
//! # Where to begin
//!
//! With [`System`], whose methods are all that a command can do to the world, then [`memory`], where tests see it.

pub mod changed_paths;
pub mod contents;
pub mod glob;
pub mod disk;
pub mod file_lock;
pub mod memory;
pub mod os;
pub mod overlay;
pub mod traced;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use contents::PathContent;
pub use disk::FileState;

/// Why a file that is not there has no bytes.
pub const MISSING: &str = "no such file";

/// What became of reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileBytes {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// The file does not exist.
    Missing,
    /// It is a folder.
    Folder,
    /// It exists but cannot be read: the error of the system.
    Unreadable(String),
}

impl FileBytes {
    /// The bytes, or why there are none.
    pub fn into_bytes(self) -> Result<Vec<u8>, String> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Missing => Err(MISSING.to_owned()),
            Self::Folder => Err("it is a folder".to_owned()),
            Self::Unreadable(reason) => Err(reason),
        }
    }
}

/// Whether a shell hands it to this process: `/dev/stdin`, or `<(…)`.
pub fn is_stream(path: &str) -> bool {
    matches!(path, "/dev/stdin" | "/dev/null")
        || path.starts_with("/dev/fd/")
        || path.starts_with("/proc/self/fd/")
}

/// What identifies a file among all others that are there at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// The file system that it is on.
    pub device: u64,
    /// Its number there.
    pub number: u64,
}

/// What changes where a file is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteStamp {
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was written last, RFC 3339, as exactly as the system knows.
    pub modified: String,
}

/// The outside.
pub trait System {
    /// Reads a file.
    fn read(&self, path: &str) -> FileBytes;
    /// Opens a file to be read from its beginning, for files that may be large.
    fn open(&self, path: &str) -> std::io::Result<Box<dyn std::io::BufRead>>;
    /// The names in a folder, sorted; none if it is not a folder.
    fn list(&self, folder: &str) -> Option<Vec<String>>;
    /// Writes a file so that nobody ever sees half of it, making its folder if needed. An error names the file.
    fn write(&self, path: &str, contents: Contents<'_>) -> std::io::Result<()>;
    /// Whether there is a symbolic link, wherever it leads; false where the system cannot tell.
    fn is_link(&self, _path: &str) -> bool {
        false
    }

    /// Identifies a file whatever its name; none where the system cannot tell. Names that were given by [`Self::link`] have one
    /// identity.
    fn identity(&self, _path: &str) -> Option<FileIdentity> {
        None
    }

    /// What changes where a file is written; none where the system cannot tell.
    fn stamp(&self, _path: &str) -> Option<WriteStamp> {
        None
    }

    /// The state of what is at a path; none where the system knows too little of files.
    fn state(&self, _path: &str) -> Option<FileState> {
        None
    }

    /// What is at each of these paths.
    fn contents(&self, paths: &[&str]) -> Vec<PathContent> {
        paths.iter().map(|path| PathContent::of(&self.read(path))).collect()
    }

    /// Gives a file another name, where there is nothing yet. False where that cannot be: copy it then. Only for files that
    /// nobody writes in place.
    fn link(&self, _from: &str, _to: &str) -> bool {
        false
    }

    /// The target of a file that is a link, joined to the folder of the link; none if it is not a
    /// link.
    fn link_target(&self, _path: &str) -> Option<String> {
        None
    }

    /// Keeps people from writing a file in place by mistake, where the system has modes. It can be replaced and removed.
    fn protect(&self, _path: &str) {}
    /// Makes a file empty, and itself and its folder if needed, to be written from its beginning: what is written at once
    /// is seen at once. An error names the file.
    fn create(&self, path: &str) -> std::io::Result<Box<dyn std::io::Write>>;
    /// Lets everybody execute a file that is there. An error names the file.
    fn make_executable(&self, path: &str) -> std::io::Result<()>;
    /// Whether somebody may execute a file that is there; true where the system cannot tell.
    fn is_executable(&self, _path: &str) -> bool {
        true
    }

    /// What the owner of a file may do with it, in octal: 6 reads and writes, 7 also executes. None where the system cannot
    /// tell.
    fn owner_mode(&self, _path: &str) -> Option<u32> {
        None
    }

    /// Reads standard input to its end; nothing where it is a terminal.
    fn stdin(&self) -> std::io::Result<Vec<u8>>;
    /// Adds to the end of a file, making it and its folder if needed, and waits until that is on disk. After an error
    /// some of the bytes may be there. An error names the file.
    fn append(&self, path: &str, bytes: &[u8]) -> std::io::Result<()>;
    /// Makes a folder, and those above it if needed. An error names the folder.
    fn make_folder(&self, path: &str) -> std::io::Result<()>;
    /// Removes a folder and all it holds. An error names the folder.
    fn remove_folder(&self, path: &str) -> std::io::Result<()>;
    /// The environment.
    fn environment(&self) -> BTreeMap<String, String>;
    /// `path` from the root of the file system, without looking whether it is there.
    fn absolute(&self, path: &str) -> String;
    /// `path` from the root of the file system with its links followed; of what is not there, the nearest folder above it
    /// that is.
    fn resolved(&self, path: &str) -> String {
        self.absolute(path)
    }

    /// The absolute path of the program `name`, looked for in the folders of `PATH`; a name with a `/` is a path.
    fn find_program(&self, name: &str) -> Option<String>;
    /// The version that the program at `path` says it has where it runs in the folder `cwd` and sees `environment` alone,
    /// because shims of version managers choose by both: `3.11.7`. What was asked is not asked again.
    fn version_of(
        &self,
        path: &str,
        cwd: &str,
        environment: &BTreeMap<String, String>,
    ) -> Option<String>;
    /// The time, in whole seconds.
    fn now(&self) -> Timestamp;
    /// The time of day at a moment where the user is, as `14:05`; in UTC where that is not known.
    fn time_of_day(&self, at: Timestamp) -> String {
        at.strftime("%H:%M").to_string()
    }

    /// Time since some fixed moment, for durations.
    fn elapsed(&self) -> std::time::Duration;
}

/// Writes the contents of a file to where they belong.
pub type Contents<'a> = &'a mut dyn FnMut(&mut dyn std::io::Write) -> std::io::Result<()>;

/// The first version in what a program says of itself, numbers with points between them: `3.11.7` of `Python 3.11.7`.
pub fn version_in(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.');
    let mut versions = words.map(|word| word.trim_matches('.'));
    versions.find(|word| word.contains('.') && !word.contains("..")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            ("Python 3.11.7\n", Some("3.11.7")),
            ("v20.20.2\n", Some("20.20.2")),
            ("1.1.0", Some("1.1.0")),
            ("Python 3.13.0rc1+", Some("3.13.0")),
            ("deno 2.1.4 (stable, release, x86_64)\nv8 13.0", Some("2.1.4")),
            ("tool of 2024. Version 7.1.", Some("7.1")),
            ("a...b 12", None),
            ("", None),
        ] {
            assert_eq!(version_in(said).as_deref(), version, "{said}");
        }
    }
}
