//! What moved since an earlier run: how many verdicts, how agreement changed, and which verdicts.

use crate::digest::label;
use crate::movement::{changes, scores, word};
use crate::origin::ReportOrigin;
use crate::page::{Block, Column, Page, Table, Text, faint, quoted, text};
use evalrs_metrics::diff::since::RunMoves;

/// How many verdicts that moved are named.
const NAMED: usize = 8;

/// Adds a sentence, and the first of the verdicts. `against` says that somebody named the earlier run.
pub(super) fn add(moves: &RunMoves, origin: &ReportOrigin, against: bool, page: &mut Page) {
    let since = if against {
        text!["against ", quoted(&moves.since), ": "]
    } else {
        "since the last run: ".into()
    };
    let changes = changes(moves);
    if changes.is_empty() {
        page.add(Block::Paragraph(text![since, faint("nothing moved")]));
        return;
    }
    page.add(Block::Paragraph(text![since, Text::joined(changes, ", ")]));
    let mut table =
        Table::new([Column::words(""), Column::names(""), Column::names(""), Column::numbers("")]);
    let trials = moves.verdicts.iter().any(|moved| moved.trial > 0);
    for moved in moves.verdicts.iter().take(NAMED) {
        let trial = trials.then_some(moved.trial);
        let place = moved.at.map(|at| origin.place(at, &moved.sample_id, ""));
        let place = place.as_ref().unwrap_or(&moved.sample_id);
        let name = label(place, moved.model.as_deref(), trial);
        let scores = scores([moved.before, moved.now]);
        table.row([
            word(moved.movement, moved.agrees),
            quoted(&name),
            quoted(&moved.grader),
            scores,
        ]);
    }
    let rest = moves.moved().saturating_sub(moves.verdicts.len().min(NAMED));
    if rest > 0 {
        table.note(text![faint(&format!("{rest} more: ")), quoted("evalrs diff")]);
    }
    page.join(Block::Table(table));
}
