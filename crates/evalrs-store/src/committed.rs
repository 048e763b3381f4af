//! Judgments that are committed beside the suite: `*.judgments.jsonl`.
//!
//! The lines are those of segments, sorted by key, so that git merges them line by line and a diff shows which
//! judgments changed. Reading asks for no order: a union merge leaves none. Knows text only, no files.

use std::io::Read as _;
use std::sync::Arc;

use crate::line::{self, Position};
use crate::verify::Check;
use crate::{Entry, StoreError};
use evalrs_model::key::{ActionKey, KeyMap};

/// The entries of committed files; nothing is ever written to them here.
#[derive(Default)]
pub struct CommittedStore {
    /// The entries of each key, the winner first.
    entries: KeyMap<Vec<CommittedEntry>>,
    /// The writers of logs that others share.
    writers: Vec<Arc<str>>,
    /// Decides whether an entry is valid: anybody can edit such a file.
    check: Option<Check<'static>>,
    warnings: Vec<String>,
}

struct CommittedEntry {
    entry: Entry,
    /// Which of the writers it is from; none of a committed file.
    writer: Option<usize>,
}

impl CommittedStore {
    /// Nothing yet; what is added is checked when it is used.
    pub fn checked(check: Check<'static>) -> Self {
        Self { check: Some(check), ..Self::default() }
    }

    /// Adds the lines of one file, which warnings call `path`; bad lines are skipped with a warning.
    pub fn add(&mut self, path: &str, text: &[u8]) {
        self.add_of(None, path, text);
    }

    /// The same with the lines of a log that `writer` shares.
    pub fn add_log(&mut self, writer: &str, path: &str, text: &[u8]) {
        let held = self.writers.iter().position(|held| &**held == writer);
        let at = held.unwrap_or_else(|| {
            self.writers.push(writer.into());
            self.writers.len() - 1
        });
        self.add_of(Some(at), path, text);
    }

    fn add_of(&mut self, writer: Option<usize>, path: &str, text: &[u8]) {
        // The last line counts without a line break too: editors drop it, and the checksum finds a torn one.
        let text = text.chain(&b"\n"[..]);
        let Self { entries, warnings, .. } = self;
        let scanned = line::scan(text, path, Position::START, |found| {
            let entry = match found.entry.alone() {
                Ok(entry) => entry,
                Err(reason) => return warnings.push(line::skipped(path, found.line, reason)),
            };
            let held = entries.entry(entry.key).or_default();
            if !held.iter().any(|other| other.entry == entry) {
                let at = held.partition_point(|other| other.entry.wins_over(&entry));
                held.insert(at, CommittedEntry { entry, writer });
            }
        });
        match scanned {
            Ok(scanned) => warnings.extend(scanned.skipped),
            Err(error) => warnings.push(format!("cannot read `{path}`: {error}")),
        }
    }

    /// The winning entry of `key`. One that is wrong is left out for good, with a warning.
    pub fn get(&mut self, key: &ActionKey) -> Option<&Entry> {
        self.winner(key).map(|held| &held.entry)
    }

    /// Who shares the winning entry of `key`, with that entry; none where it is of a committed file.
    pub fn shared(&mut self, key: &ActionKey) -> Option<(Arc<str>, &Entry)> {
        let writer = self.winner(key)?.writer?;
        let writer = Arc::clone(self.writers.get(writer)?);
        self.get(key).map(|entry| (writer, entry))
    }

    fn winner(&mut self, key: &ActionKey) -> Option<&CommittedEntry> {
        let held = self.entries.get_mut(key)?;
        if let Some(check) = self.check {
            while let Some(reason) = held.first().and_then(|held| check(&held.entry).err()) {
                held.remove(0);
                self.warnings.push(format!(
                    "skipped the committed outcome of {key}, which {reason}; `evalrs cache verify` shows where it is"
                ));
            }
        }
        held.first()
    }

    /// Every key that has an entry, sorted.
    pub fn keys(&self) -> Vec<ActionKey> {
        let right = self.entries.iter().filter(|(_, entries)| !entries.is_empty());
        let mut keys: Vec<ActionKey> = right.map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys
    }

    /// What was wrong with the files added, and what was used of them, since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

/// The line that an entry has in a committed file, with its line break. Such a file is sorted by key.
pub fn render(entry: &Entry) -> Result<String, StoreError> {
    let mut line = String::new();
    line::write(entry, &mut line)?;
    Ok(line)
}
