//! What could not be graded, why, and what to do about it.

use super::view::{RATIONALE_LINES, ReportView};
use crate::digest::ReportDigest;
use crate::ending::cure;
use crate::format::ReportedRun;
use crate::page::{Block, Column, Page, Table, Text, doubtful, faint, quoted, text};
use evalrs_base::text::count;

/// How many messages of grades that could not be made are shown.
const ERRORS: usize = 3;
const ALL_ERRORS: usize = 10;

/// Adds why the exit code is 3, and the grades that could not be made by their reasons.
pub(super) fn add(
    run: &ReportedRun<'_, '_>,
    digest: &ReportDigest,
    view: ReportView,
    page: &mut Page,
) {
    let reason = if view.facts { exit_reason(run, digest) } else { None };
    if let Some(reason) = &reason {
        let code = format!("exit code {}:", run.facts.ending.code);
        page.add(Block::Unbroken(text![doubtful(&code), " ", reason.clone()]));
    }
    if digest.errored == 0 {
        return;
    }
    let mut table = Table::new([
        Column::numbers(""),
        Column::names(""),
        Column::names(""),
        Column::words("").of_lines(RATIONALE_LINES),
    ]);
    let most = if view.facts && !view.details { ERRORS } else { ALL_ERRORS };
    for group in digest.errors.iter().take(most) {
        let first = run.origin.named(group.at, &group.sample_id, &group.input);
        table.row([
            format!("{} ×", group.count).into(),
            quoted(&group.kind),
            text!["first ", quoted(&first), " ", quoted(&group.grader)],
            quoted(&group.message),
        ]);
        let cure = cure(group, &run.origin.command);
        let is_said =
            reason.as_ref().is_some_and(|reason| reason.to_string().ends_with(&cure.to_string()));
        if !is_said {
            table.below(cure);
        }
    }
    let listed: usize = digest.errors.iter().take(most).map(|group| group.count).sum();
    if digest.errored > listed {
        table.note(faint(&format!("{} more for other reasons", digest.errored - listed)));
    }
    let summary = doubtful(&count(digest.errored, "error"));
    let block = Block::Fold(summary, vec![Block::Table(table)]);
    if reason.is_some() { page.join(block) } else { page.add(block) }
}

/// Why the exit code is 3 and what to do.
fn exit_reason(run: &ReportedRun<'_, '_>, digest: &ReportDigest) -> Option<Text> {
    let ReportedRun { report, facts, origin } = *run;
    let gated = origin.gated.as_ref().filter(|_| facts.ending.is_incomplete());
    let of_gate =
        gated.map(|_| ReportDigest::of_graders(report, 0, &|grader| origin.counts(grader)));
    // Where the gate lacks nothing, the others are why the run is incomplete.
    let lacking = of_gate.as_ref().filter(|of_gate| of_gate.errored > 0).unwrap_or(digest);
    facts.ending.reason(&report.summary.gate, lacking, &origin.command)
}
