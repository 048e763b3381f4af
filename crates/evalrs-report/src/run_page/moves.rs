//! What moved since an earlier run: how many verdicts, how agreement changed, and which verdicts.

use crate::digest::case_name;
use crate::intervals::signed;
use crate::origin::ReportOrigin;
use crate::page::{Block, Column, Page, Table, Text, TextRole, faint, quoted, text};
use evalrs_base::text::{count, score};
use evalrs_metrics::diff::since::{RunMove, RunMoves};
use evalrs_model::delta::Movement;

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
        let name = case_name(place, moved.model.as_deref(), trial);
        let [before, now] =
            [moved.before, moved.now].map(|grade| grade.map_or_else(|| "error".to_owned(), score));
        let scores = format!("{before} → {now}").into();
        table.row([word(moved), quoted(&name), quoted(&moved.grader), scores]);
    }
    let rest = moves.moved().saturating_sub(moves.verdicts.len().min(NAMED));
    if rest > 0 {
        table.note(text![faint(&format!("{rest} more: ")), quoted("evalrs diff")]);
    }
    page.join(Block::Table(table));
}

/// Each change in a few words; none where nothing moved.
fn changes(moves: &RunMoves) -> Vec<Text> {
    let RunMoves { fixed, broken, errored, answered, lowered, raised, new, gone, .. } = *moves;
    let colored = moves.agreement.0.is_empty();
    let counts = [
        (fixed, Movement::Fixed),
        (broken, Movement::Broken),
        (errored, Movement::Errored),
        (answered, Movement::Answered),
        (lowered, Movement::Lowered),
        (raised, Movement::Raised),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, movement)| {
        let role = if colored { role(movement) } else { TextRole::Plain };
        Text::of(&format!("{count} {}", name(movement)), role)
    });
    let several = moves.agreement.0.len() > 1;
    let agreement = moves.agreement.0.iter().map(|(grader, moved)| {
        let points = (moved.now - moved.before) * 100.0;
        let role = if points < 0.0 { TextRole::Bad } else { TextRole::Good };
        let of = if several { text![" of ", quoted(grader)] } else { Text::default() };
        text!["agreement", of, " ", Text::of(&format!("{} points", signed(points, 1)), role)]
    });
    let others = [(new, "new"), (gone, "removed")];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    let others = others.map(|(n, what)| count(n, &format!("{what} result")).into());
    counts.chain(agreement).chain(others).collect()
}

/// How it moved, in the colour of what its label says of that, where it has one.
fn word(moved: &RunMove) -> Text {
    let role = match moved.agrees {
        Some(true) => TextRole::Good,
        Some(false) => TextRole::Bad,
        None => role(moved.movement),
    };
    Text::of(name(moved.movement), role)
}

fn role(movement: Movement) -> TextRole {
    match movement {
        Movement::Fixed | Movement::Raised => TextRole::Good,
        Movement::Broken | Movement::Lowered => TextRole::Bad,
        _ => TextRole::Doubtful,
    }
}

fn name(movement: Movement) -> &'static str {
    crate::diff::movement_name(movement)
}
