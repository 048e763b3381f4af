//! A roll-up as the reports for people show it: the verdict, then its numbers with what they are the means of.

use super::declared;
use super::format::ReportedRollup;
use super::page::{Block, Page, faint, quoted, text};
use super::verdict::{gate_lines, status};
use evalrs_base::text::count;

/// The page; where its record is only for who can open it.
pub(super) fn page(reported: &ReportedRollup<'_>, shows_record: bool) -> Page {
    let rollup = reported.rollup;
    let mut page = Page::default();
    let suites = count(rollup.suites.len(), "suite");
    let heading = text![status(&rollup.gate), "  ", quoted(&rollup.name), ": ", suites];
    page.add(Block::Heading(heading));
    gate_lines(&rollup.gate, &mut page);
    declared::add(&rollup.metrics, &mut page);
    let record = reported.record.filter(|_| shows_record);
    let record = record.map(|record| faint(&format!("roll-up: {record}")));
    if let Some(line) = record {
        page.add(Block::Unbroken(line));
    }
    page
}
