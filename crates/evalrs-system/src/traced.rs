//! A system that notes what it was asked of files, so that a later process can see with a `stat` each that all answers are the
//! same.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::contents::PathContent;
use super::disk::DiskMoment;
use super::{Contents, FileBytes, FileIdentity, FileState, System, WriteStamp, is_stream};

/// A question about a path, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TracedAnswer {
    /// What is there: its content is the same as long as this is.
    File(String, FileState),
    /// The names in a folder.
    Names(String, Option<Vec<String>>),
    /// Whether it is a symbolic link.
    IsLink(String, bool),
    /// Where the link leads.
    LinkTarget(String, Option<String>),
    /// The path with links followed.
    Resolved(String, String),
    /// Whether somebody may execute it.
    IsExecutable(String, bool),
    /// What its owner may do with it.
    OwnerMode(String, Option<u32>),
    /// Where the program of this name is.
    Program(String, Option<String>),
}

impl TracedAnswer {
    fn path(&self) -> &str {
        match self {
            Self::File(path, _)
            | Self::Names(path, _)
            | Self::IsLink(path, _)
            | Self::LinkTarget(path, _)
            | Self::Resolved(path, _)
            | Self::IsExecutable(path, _)
            | Self::OwnerMode(path, _)
            | Self::Program(path, _) => path,
        }
    }

    /// The path, where the answer is the state of what is there.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::File(path, _) => Some(path),
            _ => None,
        }
    }

    /// The answer with the present state of a file whose bytes are still the same. It is the old one if a write could leave
    /// the file in that state.
    #[must_use]
    pub fn renewed(self, system: &dyn System) -> Self {
        let Self::File(path, state) = self else { return self };
        let present = settled_state(system, &path);
        Self::File(path, present.unwrap_or(state))
    }

    /// Whether the answer would be the same now.
    pub fn holds(&self, system: &dyn System) -> bool {
        match self {
            Self::File(path, state) => system.state(path).as_ref() == Some(state),
            Self::Names(path, names) => system.list(path) == *names,
            Self::IsLink(path, is_link) => system.is_link(path) == *is_link,
            Self::LinkTarget(path, target) => system.link_target(path) == *target,
            Self::Resolved(path, resolved) => system.resolved(path) == *resolved,
            Self::IsExecutable(path, is) => system.is_executable(path) == *is,
            Self::OwnerMode(path, mode) => system.owner_mode(path) == *mode,
            Self::Program(name, path) => system.find_program(name) == *path,
        }
    }
}

/// The state of what is at `path`, if no later write could leave it the same.
pub fn settled_state(system: &dyn System, path: &str) -> Option<FileState> {
    let now = DiskMoment::now();
    system.state(path).filter(|state| state.is_settled(now))
}

/// The system below, and what it was asked.
pub struct TracedSystem<'a> {
    below: &'a dyn System,
    trace: RefCell<AskedFiles>,
}

#[derive(Default)]
struct AskedFiles {
    answers: BTreeSet<TracedAnswer>,
    /// What this process has written: that is no input.
    written: BTreeSet<String>,
    /// What was written a moment ago: it may be written again without another time of change.
    unsettled: BTreeSet<String>,
    /// Whether something was asked that cannot be asked again.
    is_incomplete: bool,
}

impl<'a> TracedSystem<'a> {
    /// Nothing was asked yet.
    pub fn new(below: &'a dyn System) -> Self {
        Self { below, trace: RefCell::default() }
    }

    /// What was asked of paths that `is_input`, and its answers. None if a later process could not see whether they hold.
    pub fn answers(&self, is_input: impl Fn(&str) -> bool) -> Option<Vec<TracedAnswer>> {
        let trace = self.trace.borrow();
        let counts = |path: &str| !trace.written.contains(path) && is_input(path);
        let is_complete = !trace.is_incomplete && !trace.unsettled.iter().any(|path| counts(path));
        let asked = trace.answers.iter().filter(|answer| counts(answer.path()));
        is_complete.then(|| asked.cloned().collect())
    }

    fn note(&self, answer: TracedAnswer) {
        self.trace.borrow_mut().answers.insert(answer);
    }

    /// Notes the state of a file before it is read.
    fn note_file(&self, path: &str) {
        if is_stream(path) {
            return self.give_up();
        }
        let now = DiskMoment::now();
        let Some(state) = self.below.state(path) else { return self.give_up() };
        let is_settled = state.is_settled(now);
        let mut trace = self.trace.borrow_mut();
        trace.unsettled.extend((!is_settled).then(|| path.to_owned()));
        trace.answers.insert(TracedAnswer::File(path.to_owned(), state));
    }

    fn note_written(&self, path: &str) {
        self.trace.borrow_mut().written.insert(path.to_owned());
    }

    fn give_up(&self) {
        self.trace.borrow_mut().is_incomplete = true;
    }
}

impl System for TracedSystem<'_> {
    fn read(&self, path: &str) -> FileBytes {
        self.note_file(path);
        self.below.read(path)
    }

    fn open(&self, path: &str) -> std::io::Result<Box<dyn BufRead>> {
        self.note_file(path);
        self.below.open(path)
    }

    fn list(&self, folder: &str) -> Option<Vec<String>> {
        let names = self.below.list(folder);
        self.note(TracedAnswer::Names(folder.to_owned(), names.clone()));
        names
    }

    fn write(&self, path: &str, contents: Contents<'_>) -> std::io::Result<()> {
        self.note_written(path);
        self.below.write(path, contents)
    }

    fn is_link(&self, path: &str) -> bool {
        let is_link = self.below.is_link(path);
        self.note(TracedAnswer::IsLink(path.to_owned(), is_link));
        is_link
    }

    fn identity(&self, path: &str) -> Option<FileIdentity> {
        self.note_file(path);
        self.below.identity(path)
    }

    fn stamp(&self, path: &str) -> Option<WriteStamp> {
        self.note_file(path);
        self.below.stamp(path)
    }

    fn state(&self, path: &str) -> Option<FileState> {
        self.below.state(path)
    }

    fn contents(&self, paths: &[&str]) -> Vec<PathContent> {
        for path in paths {
            self.note_file(path);
        }
        self.below.contents(paths)
    }

    fn link(&self, from: &str, to: &str) -> bool {
        self.note_written(to);
        self.below.link(from, to)
    }

    fn link_target(&self, path: &str) -> Option<String> {
        let target = self.below.link_target(path);
        self.note(TracedAnswer::LinkTarget(path.to_owned(), target.clone()));
        target
    }

    fn protect(&self, path: &str) {
        self.below.protect(path);
    }

    fn create(&self, path: &str) -> std::io::Result<Box<dyn Write>> {
        self.note_written(path);
        self.below.create(path)
    }

    fn make_executable(&self, path: &str) -> std::io::Result<()> {
        self.below.make_executable(path)
    }

    fn is_executable(&self, path: &str) -> bool {
        let is_executable = self.below.is_executable(path);
        self.note(TracedAnswer::IsExecutable(path.to_owned(), is_executable));
        is_executable
    }

    fn owner_mode(&self, path: &str) -> Option<u32> {
        let mode = self.below.owner_mode(path);
        self.note(TracedAnswer::OwnerMode(path.to_owned(), mode));
        mode
    }

    fn stdin(&self) -> std::io::Result<Vec<u8>> {
        self.give_up();
        self.below.stdin()
    }

    fn append(&self, path: &str, bytes: &[u8]) -> std::io::Result<()> {
        self.note_written(path);
        self.below.append(path, bytes)
    }

    fn make_folder(&self, path: &str) -> std::io::Result<()> {
        self.below.make_folder(path)
    }

    fn remove_folder(&self, path: &str) -> std::io::Result<()> {
        self.below.remove_folder(path)
    }

    fn environment(&self) -> BTreeMap<String, String> {
        self.below.environment()
    }

    fn absolute(&self, path: &str) -> String {
        self.below.absolute(path)
    }

    fn resolved(&self, path: &str) -> String {
        let resolved = self.below.resolved(path);
        self.note(TracedAnswer::Resolved(path.to_owned(), resolved.clone()));
        resolved
    }

    fn find_program(&self, name: &str) -> Option<String> {
        let path = self.below.find_program(name);
        self.note(TracedAnswer::Program(name.to_owned(), path.clone()));
        path
    }

    /// What a program says of itself takes as long to ask again as many a run.
    fn version_of(
        &self,
        path: &str,
        cwd: &str,
        environment: &BTreeMap<String, String>,
    ) -> Option<String> {
        self.give_up();
        self.below.version_of(path, cwd, environment)
    }

    fn now(&self) -> Timestamp {
        self.below.now()
    }

    fn time_of_day(&self, at: Timestamp) -> String {
        self.below.time_of_day(at)
    }

    fn elapsed(&self) -> Duration {
        self.below.elapsed()
    }
}

#[cfg(test)]
mod tests;
