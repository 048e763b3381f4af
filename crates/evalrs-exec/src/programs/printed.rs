//! The standard error of programs, shown line by line where the user wants to see it.

use std::sync::Arc;

use super::tail::{KEPT, first};
use super::world::ProgramWorld;
use crate::Start;

/// Says what a program writes to its standard error, line by line, where that is wanted.
pub(super) struct StderrPrinter {
    start: Arc<Start>,
    world: Arc<ProgramWorld>,
    open: Vec<u8>,
}

impl StderrPrinter {
    pub(super) fn of(start: &Arc<Start>, world: &Arc<ProgramWorld>) -> Self {
        Self { start: Arc::clone(start), world: Arc::clone(world), open: Vec::new() }
    }

    pub(super) fn see(&mut self, bytes: &[u8]) {
        if self.world.settings.verbosity == 0 {
            return;
        }
        self.open.extend_from_slice(bytes);
        let whole = memchr::memrchr(b'\n', &self.open).map_or(0, |at| at + 1);
        self.open[..whole].split_inclusive(|byte| *byte == b'\n').for_each(|line| self.say(line));
        self.open.drain(..whole);
        if self.open.len() > KEPT {
            self.end();
        }
    }

    /// Says the line that has no end.
    pub(super) fn end(&mut self) {
        let open = std::mem::take(&mut self.open);
        if !open.is_empty() {
            self.say(&open);
        }
    }

    fn say(&self, line: &[u8]) {
        let line = self.start.without_secrets(String::from_utf8_lossy(line).trim_end());
        self.world.say(format!("{}: {}", self.start.spec.shown(), first(&line, KEPT)));
    }
}
