//! Judgments that are committed beside the suite: `*.judgments.jsonl`.
//!
//! The lines are those of segments, sorted by key, so that git merges them line by line and a diff shows which
//! judgments changed. Reading asks for no order: a union merge leaves none. Knows text only, no files.

use std::io::Read as _;

use super::line::{self, Position};
use super::{Entry, MemoryStore, StoreError};
use crate::action::ActionKey;

/// The entries of committed files; nothing is ever written to them here.
#[derive(Debug, Default)]
pub struct Committed {
    entries: MemoryStore,
    warnings: Vec<String>,
}

impl Committed {
    /// Adds the lines of one file, which warnings call `path`; bad lines are skipped with a warning.
    pub fn add(&mut self, path: &str, text: &[u8]) {
        // The last line counts without a line break too: editors drop it, and the checksum finds a torn one.
        let text = text.chain(&b"\n"[..]);
        match line::scan(text, path, Position::START, |found| self.entries.insert(found.entry)) {
            Ok(scanned) => self.warnings.extend(scanned.skipped),
            Err(error) => self.warnings.push(format!("cannot read `{path}`: {error}")),
        }
    }

    /// The winning entry of `key`.
    pub fn get(&self, key: &ActionKey) -> Option<&Entry> {
        self.entries.winners.get(key)
    }

    /// Every key that has an entry, sorted.
    pub fn keys(&self) -> impl Iterator<Item = ActionKey> {
        self.entries.winners.keys().copied()
    }

    /// What was wrong with the files added since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

/// The text of a committed file: the winning entry of each key, sorted by key.
pub fn render(entries: &[Entry]) -> Result<String, StoreError> {
    let mut kept = MemoryStore::default();
    for entry in entries {
        kept.insert(entry.clone());
    }
    let mut text = String::new();
    kept.winners.values().try_for_each(|entry| line::write(entry, &mut text))?;
    Ok(text)
}
