//! The first lines: which suite and save, what the gate says, what it cost, and what goes on.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::paint::{sides, span};
use super::theme::{STRONG, Theme, used};
use crate::app::watch::board::{ActionCounts, Activity, Overview, Spending, save_name};
use crate::base::text::{count, cut, grouped};
use crate::pipeline::gate::{GateReport, GateStatus};
use crate::pipeline::report::verdict;

/// The columns of the bar of what was asked.
const BAR: u64 = 20;

/// The most columns of the suite's name.
const SUITE: usize = 40;

/// Draws as many of the lines as the area has. `message` is the last one.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    overview: &Overview,
    message: Option<&str>,
    theme: Theme,
) {
    let area = area.inner(Margin::new(1, 0));
    let faint = |text: String| Line::from(Span::styled(text, theme.faint()));
    let notes = notes(overview, message, theme);
    let actions = actions(&overview.actions).map(faint);
    let beside = actions.last().map_or(0, |shortest| shortest.width() + 3);
    let gate = gate(overview, usize::from(area.width).saturating_sub(beside), theme);
    let mut state = state(overview, theme);
    if area.height < 4 && !notes.spans.is_empty() {
        state.push_span("   ");
        state.extend(notes.spans.iter().cloned());
    }
    let spent = spent(&overview.spent).map(faint);
    let title = title(overview, theme);
    let lines: Vec<(Line<'_>, &[Line<'_>])> = match area.height {
        0 => vec![],
        1 => vec![(gate, &actions)],
        2 => vec![(gate, &actions), (state, &[])],
        _ => vec![(title, &spent), (gate, &actions), (state, &[]), (notes, &[])],
    };
    for (area, (left, rights)) in area.rows().zip(lines) {
        sides(buffer, area, left, rights);
    }
}

fn title(overview: &Overview, theme: Theme) -> Line<'static> {
    let save = format!("  {}", save_name(overview.save));
    let mut title = Line::from_iter([
        Span::styled(cut(&overview.suite, SUITE), STRONG),
        Span::styled(save, STRONG.patch(theme.accent())),
    ]);
    if !overview.files.is_empty() {
        title.push_span(span(&format!("  {}", overview.files.join(", ")), theme.faint()));
    }
    title
}

fn gate(overview: &Overview, width: usize, theme: Theme) -> Line<'static> {
    let (sign, word, style) = status(&overview.gate, theme);
    let mut line = Line::from(Span::styled(format!("{sign}{word}"), STRONG.patch(style)));
    let before = overview.gate_before.status;
    if before.is_some() && before != overview.gate.status {
        let (_, word, _) = status(&overview.gate_before, theme);
        line.push_span(Span::styled(format!(" (was {word})"), style));
    }
    let room = width.saturating_sub(line.width() + 2);
    let finding = verdict::finding_within(&overview.gate, room);
    if !finding.is_empty() {
        line.push_span(span(&format!("  {finding}"), Style::new()));
    }
    line
}

fn status(gate: &GateReport, theme: Theme) -> (&'static str, &'static str, Style) {
    match gate.status {
        Some(GateStatus::Passed) => ("✓ ", "PASS", theme.good()),
        Some(GateStatus::Failed) => ("✗ ", "FAIL", theme.bad()),
        Some(GateStatus::Undecided) => ("? ", "UNDECIDED", theme.doubtful()),
        None => ("", "no gate", theme.faint()),
    }
}

/// What became of the judgments, ever shorter.
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

/// What was spent, ever shorter.
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

fn state(overview: &Overview, theme: Theme) -> Line<'static> {
    if overview.save != overview.newest {
        let shown = save_name(overview.save);
        let newest = save_name(overview.newest);
        let text = format!(" looking at {shown}, the rubric before; u goes back to {newest} ");
        return Span::styled(text, theme.banner()).into();
    }
    let actions = &overview.actions;
    let mut line = match &overview.state {
        Activity::Planning => Span::styled("planning", theme.accent()).into(),
        Activity::Asking => asking(actions, theme),
        Activity::Paused { waiting, expected } => {
            let about = expected.map_or_else(String::new, |cost| format!(", about {cost}"));
            let judged = grouped(actions.total.saturating_sub(*waiting));
            let held = format!("held: {judged} of {} judged; ", grouped(actions.total));
            let enter = format!("Enter asks the other {}{about}", grouped(*waiting));
            let style = theme.doubtful();
            Line::from_iter([Span::styled(held, style), Span::styled(enter, STRONG.patch(style))])
        }
        Activity::Idle => Span::styled("idle, waiting for a save", theme.faint()).into(),
        Activity::Stopped(reason) => {
            span(&format!("stopped: {reason}"), STRONG.patch(theme.bad())).into()
        }
    };
    if !overview.problems.is_empty() {
        let problems = count(overview.problems.len(), "problem");
        let text = format!("! {problems}; results are those of {}   ", save_name(overview.save));
        line.spans.insert(0, Span::styled(text, STRONG.patch(theme.bad())));
    }
    line
}

fn asking(actions: &ActionCounts, theme: Theme) -> Line<'static> {
    let all = actions.asked + actions.waiting;
    let done = actions.asked.saturating_sub(actions.under_way);
    // Not before everything is there is the bar full.
    let filled = (done.saturating_mul(BAR)).checked_div(all).unwrap_or(0).min(BAR) as usize;
    Line::from_iter([
        Span::styled(format!("asking {}/{} ", grouped(done), grouped(all)), theme.accent()),
        Span::styled("━".repeat(filled), theme.accent()),
        Span::styled("╌".repeat(BAR as usize - filled), theme.faint()),
    ])
}

/// What endpoints wait for, then the last message, then the notes on this evaluation.
fn notes(overview: &Overview, message: Option<&str>, theme: Theme) -> Line<'static> {
    let waiting = overview.waiting.iter().map(|text| span(text, theme.doubtful()));
    let message = message.map(|text| span(text, theme.accent()));
    let notes = overview.notes.iter().map(|text| span(text, Style::new()));
    let mut line = Line::default();
    for note in waiting.chain(message).chain(notes) {
        if !line.spans.is_empty() {
            line.push_span(Span::styled(" · ", theme.faint()));
        }
        line.push_span(note);
    }
    line
}
