//! Markdown for a comment on a pull request. What moved depends on the runs before: it is here only where somebody named one.

use std::io;

use super::format::{
    Audience, ReportFormat, ReportOptions, ReportSink, ReportWriter, ReportedRollup, ReportedRun,
};
use super::page::markdown::{LimitedPage, shown};
use super::rollup;
use super::run_page::{ReportView, page};

/// The bytes that a comment may take: GitHub takes so many characters, which are as many or fewer.
const COMMENT: usize = 65_535;

/// Failures that are listed unless the command line says otherwise.
const FAILURES: usize = 20;

/// A comment a suite.
pub(super) static FORMAT: ReportFormat = ReportFormat {
    name: "markdown",
    help: "For pull request comments",
    audience: Audience::People,
    joins_suites: true,
    start: |options| Box::new(MarkdownWriter { options, page: LimitedPage::new(COMMENT) }),
};

struct MarkdownWriter {
    options: ReportOptions,
    page: LimitedPage,
}

impl ReportWriter for MarkdownWriter {
    fn add(&mut self, run: &ReportedRun<'_, '_>, sink: &mut ReportSink<'_>) -> io::Result<()> {
        let view = ReportView { moves: self.options.against, ..view(self.options) };
        self.page.add(&shown(&page(run, view)), sink.out)
    }

    fn add_rollup(
        &mut self,
        reported: &ReportedRollup<'_>,
        sink: &mut ReportSink<'_>,
    ) -> io::Result<()> {
        writeln!(sink.out)?;
        self.page.add(&shown(&rollup::page(reported, false)), sink.out)
    }
}

/// What Markdown shows of a run.
pub(super) fn view(options: ReportOptions) -> ReportView {
    let ReportOptions { failures, details, against, .. } = options;
    let failures = failures.unwrap_or(FAILURES);
    ReportView { failures, details, against, lists: true, ..ReportView::default() }
}
