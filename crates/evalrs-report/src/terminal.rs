//! The report on a terminal.

use std::io;

use super::format::{
    Audience, ReportFormat, ReportOptions, ReportSink, ReportWriter, ReportedRollup, ReportedRun,
};
use super::page::terminal::{PageScreen, write};
use super::rollup;
use super::run_page::{ReportView, page};

/// Failures that are listed unless the command line says otherwise.
const FAILURES: usize = 10;

/// A screen a suite.
pub(super) static FORMAT: ReportFormat = ReportFormat {
    name: "text",
    help: "For people at a terminal",
    audience: Audience::Terminal,
    joins_suites: true,
    start: |options| Box::new(TerminalWriter { options, has_any: false }),
};

struct TerminalWriter {
    options: ReportOptions,
    has_any: bool,
}

impl TerminalWriter {
    fn screen(&self) -> PageScreen {
        self.options.screen
    }
}

impl ReportWriter for TerminalWriter {
    fn add(&mut self, run: &ReportedRun<'_, '_>, sink: &mut ReportSink<'_>) -> io::Result<()> {
        if std::mem::replace(&mut self.has_any, true) {
            writeln!(sink.out)?;
        }
        let ReportOptions { failures, details, against, .. } = self.options;
        let view = ReportView {
            failures: failures.unwrap_or(FAILURES),
            details,
            lists: true,
            facts: true,
            moves: true,
            against,
        };
        write(&page(run, view), self.screen(), sink.out)
    }

    fn add_rollup(
        &mut self,
        reported: &ReportedRollup<'_>,
        sink: &mut ReportSink<'_>,
    ) -> io::Result<()> {
        writeln!(sink.out)?;
        write(&rollup::page(reported, true), self.screen(), sink.out)
    }
}
