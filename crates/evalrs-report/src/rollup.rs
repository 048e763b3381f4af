//! A roll-up as the reports for people show it: the verdict, then its numbers with what they are the means of.

use std::io::{self, Write};

use super::declared::{declared_lines, write_declared};
use super::markdown::{code, write_gate};
use super::terminal::{faint, push_conditions, status_style};
use super::{ReportedRollup, verdict};
use evalrs_base::text::{count, cut, sanitize};

/// The columns that the name may take.
const NAME: usize = 32;

/// The sections for a terminal of so many columns.
pub(super) fn sections(reported: &ReportedRollup<'_>, width: usize) -> [Vec<String>; 3] {
    let rollup = reported.rollup;
    let style = status_style(&rollup.gate);
    let word = verdict::word(&rollup.gate);
    let suites = count(rollup.suites.len(), "suite");
    let mut head = vec![format!("{style}{word}{style:#}  {}: {suites}", cut(&rollup.name, NAME))];
    let finding = verdict::finding_within(&rollup.gate, width);
    head.extend(Some(finding).filter(|finding| !finding.is_empty()));
    push_conditions(&rollup.gate.conditions, 1, width, &mut head);
    let record = reported.record.map(|record| faint(&format!("roll-up: {}", sanitize(record))));
    [head, declared_lines(&rollup.metrics, width), record.into_iter().collect()]
}

/// The same as Markdown.
pub(super) fn page(reported: &ReportedRollup<'_>) -> io::Result<String> {
    let rollup = reported.rollup;
    let mut out = Vec::new();
    writeln!(out, "### {}: {}\n", code(&rollup.name), verdict::word(&rollup.gate))?;
    write_gate(&rollup.gate, "", &mut out)?;
    writeln!(out, "{}", count(rollup.suites.len(), "suite"))?;
    write_declared(&rollup.metrics, &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}
