//! What a command works with: the outside, where results and messages go, and how they are shown.

use std::fmt::Display;
use std::io::{Sink, Write};

use serde::Serialize;

use evalrs_report::page::terminal::PageScreen;
use evalrs_system::System;

/// What a command works with.
pub struct Console<'a> {
    /// The outside.
    pub system: &'a dyn System,
    /// Results.
    pub out: &'a mut dyn Write,
    /// Messages and progress.
    pub err: &'a mut dyn Write,
    /// Whether progress may be shown.
    pub is_terminal: bool,
    /// The columns of the terminal.
    pub width: usize,
    /// Whether results go to a terminal, on which long texts are cut.
    pub cuts: bool,
    /// Whether output on a terminal has colour.
    pub has_color: bool,
    /// How much is shown of each request: 0 nothing, 1 a line, 2 the bodies too.
    pub verbosity: u8,
}

impl<'a> Console<'a> {
    /// One that nobody reads: messages go `nowhere`.
    pub fn silent(system: &'a dyn System, nowhere: &'a mut [Sink; 2]) -> Self {
        let [out, err] = nowhere;
        Self {
            system,
            out,
            err,
            is_terminal: false,
            width: usize::MAX,
            cuts: false,
            has_color: false,
            verbosity: 0,
        }
    }
}

impl Console<'_> {
    /// What pages are written on.
    pub fn screen(&self) -> PageScreen {
        PageScreen { width: self.width, cuts: self.cuts }
    }

    /// Writes a value as indented JSON.
    pub fn write_json(&mut self, value: &(impl Serialize + ?Sized)) -> std::io::Result<()> {
        writeln!(self.out, "{}", serde_json::to_string_pretty(value)?)
    }

    /// Says each warning on a line of its own.
    pub fn warn(&mut self, warnings: impl IntoIterator<Item: Display>) -> std::io::Result<()> {
        warnings.into_iter().try_for_each(|warning| writeln!(self.err, "warning: {warning}"))
    }
}

impl std::fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("width", &self.width).finish_non_exhaustive()
    }
}
