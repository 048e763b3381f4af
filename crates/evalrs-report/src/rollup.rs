//! A roll-up as the reports for people show it: the verdict, then its numbers with what they are the means of.

use super::declared::{add_declared, declared_lines};
use super::format::ReportedRollup;
use super::markdown_page::{MarkdownPage, code};
use super::terminal_page::{faint, gate_lines};
use super::verdict;
use evalrs_base::text::{count, sanitize};

/// The sections for a terminal of so many columns.
pub(super) fn sections(reported: &ReportedRollup<'_>, width: usize) -> [Vec<String>; 3] {
    let rollup = reported.rollup;
    let suites = count(rollup.suites.len(), "suite");
    let head = gate_lines(&rollup.gate, &rollup.name, &suites, width);
    let record = reported.record.map(|record| faint(&format!("roll-up: {}", sanitize(record))));
    [head, declared_lines(&rollup.metrics, width), record.into_iter().collect()]
}

/// The same as Markdown.
pub(super) fn page(reported: &ReportedRollup<'_>) -> String {
    let rollup = reported.rollup;
    let heading = format!("{}: {}", code(&rollup.name), verdict::word(&rollup.gate));
    let mut page = MarkdownPage::under(&heading);
    page.gate(&rollup.gate);
    page.paragraph(&count(rollup.suites.len(), "suite"));
    add_declared(&rollup.metrics, &mut page);
    page.into_text()
}
