//! The first lines: which suite and save, what the gate says, what it cost, and what goes on.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::paint::{StyledText, inset, lines_of, sides, width_of};
use super::theme::{STRONG, Theme, used};
use crate::app::watch::board::{ActionCounts, Activity, Overview, Spending};
use crate::base::text::{count, cut, grouped};
use crate::pipeline::gate::{GateReport, GateStatus};
use crate::pipeline::report::verdict;

/// The columns of the bar of what was asked.
const BAR: u64 = 20;

/// The most columns of the suite's name.
const SUITE: usize = 40;

/// Draws as many of the lines as the area has. `message` is something that was said last.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    overview: &Overview,
    message: Option<&str>,
    theme: Theme,
) {
    let area = inset(area, 1);
    let faint = |text: String| vec![(text, theme.faint())];
    let notes = notes(overview, message, theme);
    let what = (title(overview, theme), spent(&overview.spent).map(faint).to_vec());
    let actions = actions(&overview.actions).map(faint).to_vec();
    let beside = actions.last().map_or(0, |shortest| width_of(shortest) + 3);
    let gate = (gate(overview, usize::from(area.width).saturating_sub(beside), theme), actions);
    let mut state = state(overview, theme);
    if area.height < 4 && !notes.is_empty() {
        state.push(("   ".to_owned(), Style::new()));
        state.extend(notes.iter().cloned());
    }
    let state = (state, Vec::new());
    let lines = match area.height {
        0 => vec![],
        1 => vec![gate],
        2 => vec![gate, state],
        _ => vec![what, gate, state, (notes, Vec::new())],
    };
    for (at, (left, rights)) in lines.iter().enumerate() {
        sides(buffer, lines_of(area, at, 1), left, rights);
    }
}

/// The number of an evaluation, in words.
pub(super) fn save(number: u32) -> String {
    if number == 0 { "start".to_owned() } else { format!("save {number}") }
}

fn title(overview: &Overview, theme: Theme) -> Vec<StyledText> {
    let suite = cut(&overview.suite, SUITE);
    let mut runs =
        vec![(suite, STRONG), (format!("  {}", save(overview.save)), STRONG.patch(theme.accent()))];
    if !overview.files.is_empty() {
        runs.push((format!("  {}", overview.files.join(", ")), theme.faint()));
    }
    runs
}

fn gate(overview: &Overview, width: usize, theme: Theme) -> Vec<StyledText> {
    let (sign, word, style) = status(&overview.gate, theme);
    let mut runs = vec![(format!("{sign}{word}"), STRONG.patch(style))];
    let before = overview.gate_before.status;
    if before.is_some() && before != overview.gate.status {
        let (_, word, _) = status(&overview.gate_before, theme);
        runs.push((format!(" (was {word})"), style));
    }
    let room = width.saturating_sub(width_of(&runs) + 2);
    let finding = verdict::finding_within(&overview.gate, room);
    if !finding.is_empty() {
        runs.push((format!("  {finding}"), Style::new()));
    }
    runs
}

fn status(gate: &GateReport, theme: Theme) -> (&'static str, &'static str, Style) {
    match gate.status {
        Some(GateStatus::Passed) => ("✓ ", "PASS", theme.good()),
        Some(GateStatus::Failed) => ("✗ ", "FAIL", theme.bad()),
        Some(GateStatus::Undecided) => ("? ", "UNDECIDED", theme.doubtful()),
        None => ("", "no gate", theme.faint()),
    }
}

fn actions(actions: &ActionCounts) -> [String; 3] {
    let part = |n: u64, word: &str| (n > 0).then(|| format!("{} {word}", grouped(n)));
    let asked = Some(format!("{} asked", grouped(actions.asked)));
    let cached = Some(format!("{} cached", grouped(actions.cached)));
    let under_way = part(actions.under_way, "under way");
    let failed = part(actions.failed, "failed");
    let waiting = part(actions.waiting, "waiting");
    let superseded = part(actions.superseded, "superseded");
    let join = |parts: &[&Option<String>]| {
        parts.iter().filter_map(|part| part.as_deref()).collect::<Vec<_>>().join(" · ")
    };
    [
        join(&[&cached, &asked, &under_way, &waiting, &superseded, &failed]),
        join(&[&cached, &asked, &failed]),
        join(&[&asked, &failed]),
    ]
}

fn spent(spent: &Spending) -> [String; 3] {
    let session = used(spent.session);
    let of_budget = match (spent.budget, spent.max_calls) {
        (Some(budget), _) => format!("{session} of {budget}"),
        (None, Some(calls)) => {
            format!("{session}, {} of {} calls", grouped(spent.calls), grouped(calls))
        }
        (None, None) => format!("{session} in all"),
    };
    let save = format!("{} this save · {of_budget}", used(spent.save));
    let saved = used(spent.saved);
    let long = match spent.saved.cost {
        Some(cost) if cost.nanos() > 0 => format!("{save} · {saved} saved by the store"),
        _ => save.clone(),
    };
    [long, save, of_budget]
}

fn state(overview: &Overview, theme: Theme) -> Vec<StyledText> {
    if overview.save != overview.newest {
        let shown = save(overview.save);
        let newest = save(overview.newest);
        let text = format!(" looking at {shown}, the rubric before; u goes back to {newest} ");
        return vec![(text, theme.banner())];
    }
    let actions = &overview.actions;
    let mut runs = match &overview.state {
        Activity::Planning => vec![("planning".to_owned(), theme.accent())],
        Activity::Asking => asking(actions, theme),
        Activity::Paused { waiting, expected } => {
            let about = expected.map_or_else(String::new, |cost| format!(", about {cost}"));
            let judged = grouped(actions.total.saturating_sub(*waiting));
            let total = grouped(actions.total);
            let waiting = grouped(*waiting);
            vec![
                (format!("held: {judged} of {total} judged; "), theme.doubtful()),
                (format!("Enter asks the other {waiting}{about}"), STRONG.patch(theme.doubtful())),
            ]
        }
        Activity::Idle => vec![("idle, waiting for a save".to_owned(), theme.faint())],
        Activity::Stopped(reason) => {
            vec![(format!("stopped: {reason}"), STRONG.patch(theme.bad()))]
        }
    };
    if !overview.problems.is_empty() {
        let problems = count(overview.problems.len(), "problem");
        let shown = save(overview.save);
        let text = format!("! {problems}; results are those of {shown}   ");
        runs.insert(0, (text, STRONG.patch(theme.bad())));
    }
    runs
}

fn asking(actions: &ActionCounts, theme: Theme) -> Vec<StyledText> {
    let all = actions.asked + actions.waiting;
    let done = actions.asked.saturating_sub(actions.under_way);
    // Not before everything is there is the bar full.
    let filled = (done.saturating_mul(BAR)).checked_div(all).unwrap_or(0).min(BAR);
    let columns = |n: u64, block: &str| block.repeat(usize::try_from(n).unwrap_or(0));
    vec![
        (format!("asking {}/{} ", grouped(done), grouped(all)), theme.accent()),
        (columns(filled, "━"), theme.accent()),
        (columns(BAR - filled, "╌"), theme.faint()),
    ]
}

/// What endpoints wait for, then what was said last, then what else there is to say.
fn notes(overview: &Overview, message: Option<&str>, theme: Theme) -> Vec<StyledText> {
    let waiting = overview.waiting.iter().map(|text| (text.as_str(), theme.doubtful()));
    let message = message.into_iter().map(|text| (text, theme.accent()));
    let notes = overview.notes.iter().map(|text| (text.as_str(), Style::new()));
    let all: Vec<(&str, Style)> = waiting.chain(message).chain(notes).collect();
    let mut runs: Vec<StyledText> = Vec::new();
    for (text, style) in all {
        if !runs.is_empty() {
            runs.push((" · ".to_owned(), theme.faint()));
        }
        runs.push((text.to_owned(), style));
    }
    runs
}
