//! The first lines: which suite and save, what the gate says, what it cost, and what goes on.

use ratatui::layout::{Margin, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::agreement::headlines;
use super::paint::{Canvas, span};
use super::theme::{STRONG, Theme, used};
use crate::board::{ActionCounts, Activity, NEXT_JUDGMENTS, Overview, Spending, save_name};
use evalrs_base::price::Cost;
use evalrs_base::text::{count, cut, grouped};
use evalrs_metrics::gate::GateStatus;
use evalrs_report::verdict;

/// The columns of the progress bar.
const BAR: u64 = 20;

/// The fewest columns in which the beginning of notes says something.
const MIN_NOTES: usize = 30;

/// The most columns of the suite's name.
const SUITE: usize = 40;

/// What of the screen the first lines have to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeaderContext<'a> {
    /// What is worth a sentence until the next key or save.
    pub message: Option<&'a str>,
    /// The grader of the selected verdict: its agreement with people leads.
    pub selected: Option<usize>,
}

/// Renders as many of the lines as the area has. Where labels are, agreement stands before the
/// gate.
pub(super) fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    overview: &Overview,
    context: HeaderContext<'_>,
) {
    let theme = canvas.theme;
    let area = area.inner(Margin::new(1, 0));
    let width = usize::from(area.width);
    let beside = |rights: &[Line<'_>]| rights.last().map_or(0, |shortest| shortest.width() + 3);
    let notes = notes(overview, context.message, theme);
    let faint = |text: String| Line::from(Span::styled(text, theme.faint()));
    let actions = actions(&overview.actions).map(faint);
    let room = width.saturating_sub(beside(&actions));
    let labelled = overview.labelled(context.selected);
    let is_named = overview.metrics.len() > 1;
    let agreement = labelled.map(|metric| longest(headlines(metric, is_named, theme), room));
    let gates = [gate(overview, room / 2, theme), gate(overview, 0, theme)];
    let gates: &[Line<'_>] = if agreement.is_some() { &gates } else { &[] };
    let room_of_state = width.saturating_sub(beside(gates));
    let mut state = state(overview, room_of_state, theme);
    if area.height < 4 {
        state = with_notes(state, &notes, context.message.is_some(), room_of_state);
    }
    let lead = agreement.unwrap_or_else(|| gate(overview, room, theme));
    let spent = spent(&overview.spent).map(faint);
    let title = title(overview, theme);
    let lines: Vec<(Line<'_>, &[Line<'_>])> = match area.height {
        0 => vec![],
        1 => vec![(lead, &actions)],
        2 => vec![(lead, &actions), (state, gates)],
        _ => vec![(title, &spent), (lead, &actions), (state, gates), (notes, &[])],
    };
    for (area, (left, rights)) in area.rows().zip(lines) {
        canvas.sides(area, left, rights);
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

/// The status of the gate. Beside agreement with people it has no colour: a rubric that passes more may be a worse
/// one.
fn gate(overview: &Overview, width: usize, theme: Theme) -> Line<'static> {
    let has_labels = overview.has_labels();
    let theme = if has_labels { theme.neutral() } else { theme };
    let (sign, word, style) = gate_status(overview.gate.status, theme);
    let gate = if has_labels && overview.gate.status.is_some() { "gate " } else { "" };
    let mut line = Line::from(Span::styled(format!("{gate}{sign}{word}"), STRONG.patch(style)));
    let before = overview.gate_before.status;
    if before.is_some() && before != overview.gate.status {
        let (_, word, _) = gate_status(before, theme);
        line.push_span(Span::styled(format!(" (was {word})"), style));
    }
    let room = width.saturating_sub(line.width() + 2);
    let finding = verdict::finding_within(&overview.gate, room);
    if !finding.is_empty() {
        line.push_span(span(&format!("  {finding}"), Style::new()));
    }
    line
}

pub(super) fn gate_status(
    status: Option<GateStatus>,
    theme: Theme,
) -> (&'static str, &'static str, Style) {
    match status {
        Some(GateStatus::Passed) => ("✓ ", "PASS", theme.good()),
        Some(GateStatus::Failed) => ("✗ ", "FAIL", theme.bad()),
        Some(GateStatus::Undecided) => ("? ", "UNDECIDED", theme.doubtful()),
        None => ("", "no gate", theme.faint()),
    }
}

/// What became of the judgments, ever shorter.
fn actions(actions: &ActionCounts) -> [String; 3] {
    let part = |n: u64, word: &str| (n > 0).then(|| format!("{} {word}", grouped(n)));
    let asked = Some(format!("{} made", grouped(actions.asked)));
    let cached = Some(format!("{} cached", grouped(actions.cached)));
    let under_way = part(actions.under_way, "in flight");
    let failed = part(actions.failed, "failed");
    let waiting = part(actions.waiting, "waiting");
    let superseded = part(actions.superseded, "superseded");
    let out = part(actions.out, "out in a batch");
    let join = |parts: &[&Option<String>]| {
        parts.iter().filter_map(|part| part.as_deref()).collect::<Vec<_>>().join(" · ")
    };
    [
        join(&[&cached, &asked, &under_way, &waiting, &superseded, &out, &failed]),
        join(&[&cached, &asked, &out, &failed]),
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
    let read = spent.session.cache_read;
    let read = (read > 0).then(|| format!(" · {} tokens read from caches", grouped(read)));
    let save_and_read = format!("{save}{}", read.unwrap_or_default());
    let long = match spent.saved.cost {
        Some(cost) if cost.nanos() > 0 => format!("{save_and_read} · {saved} saved by the cache"),
        _ => save_and_read,
    };
    [long, save, of_budget]
}

fn state(overview: &Overview, width: usize, theme: Theme) -> Line<'static> {
    if overview.save != overview.newest {
        let shown = save_name(overview.save);
        let newest = save_name(overview.newest);
        let text = format!(" showing {shown}; u returns to {newest} ");
        return Span::styled(text, theme.banner()).into();
    }
    let actions = &overview.actions;
    let mut line = match &overview.state {
        Activity::Planning => Span::styled("planning", theme.accent()).into(),
        Activity::Asking => asking(actions, theme),
        Activity::Paused { .. } => held(overview, width, theme),
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

/// What was judged, and what keys ask of the rest: the longest line that there is room for, else the shortest.
fn held(overview: &Overview, width: usize, theme: Theme) -> Line<'static> {
    let (waiting, expected) = overview.held();
    let total = overview.actions.total;
    let judged = grouped(total.saturating_sub(waiting));
    let judged = format!("paused: {judged} of {} judged; ", grouped(total));
    let next = overview.next_held();
    let about = |cost: Option<Cost>| cost.map(|cost| format!("about {cost}"));
    let rest_costs = about(expected).map_or_else(String::new, |cost| format!(", {cost}"));
    let next_costs = next.and_then(|next| about(next.expected));
    let next_costs = next_costs.map_or_else(String::new, |cost| format!(" ({cost})"));
    let more = next.map_or_else(String::new, |_| format!(" · N: next {NEXT_JUDGMENTS}"));
    let rest = format!("Enter: the rest ({}", grouped(waiting));
    let left = overview.spent.left(waiting, expected);
    let left = left.map_or_else(String::new, |left| format!("; the limit leaves {left}"));
    let long = format!("{rest}{rest_costs}{left}){more}{next_costs}");
    let style = theme.doubtful();
    let line = |(held, keys): (&str, String)| {
        Line::from_iter([
            Span::styled(held.to_owned(), style),
            Span::styled(keys, STRONG.patch(style)),
        ])
    };
    let all = [
        (&*judged, long.clone()),
        ("paused: ", long),
        ("paused: ", format!("{rest}{left}){more}")),
        ("paused: ", format!("{rest}{left})")),
        ("paused: ", "Enter: the rest".to_owned()),
    ];
    longest(all.map(line), width)
}

/// The first of lines, ever shorter, that fits; else the last.
fn longest(mut all: [Line<'static>; 5], width: usize) -> Line<'static> {
    let at = all.iter().position(|line| line.width() <= width).unwrap_or(all.len() - 1);
    std::mem::take(&mut all[at])
}

fn asking(actions: &ActionCounts, theme: Theme) -> Line<'static> {
    let all = actions.asked + actions.waiting;
    let done = actions.asked.saturating_sub(actions.under_way);
    // Not before everything is there is the bar full.
    let filled = (done.saturating_mul(BAR)).checked_div(all).unwrap_or(0).min(BAR) as usize;
    Line::from_iter([
        Span::styled(format!("judging {}/{} ", grouped(done), grouped(all)), theme.accent()),
        Span::styled("━".repeat(filled), theme.accent()),
        Span::styled("╌".repeat(BAR as usize - filled), theme.faint()),
    ])
}

/// What goes on, and beside it the beginning of the notes where there is room for some words of them. A message, which is gone
/// with the next key, has the place of both where there is no room beside.
fn with_notes(
    mut state: Line<'static>,
    notes: &Line<'static>,
    has_message: bool,
    room: usize,
) -> Line<'static> {
    let left = room.saturating_sub(state.width() + 3);
    if notes.spans.is_empty() || left < notes.width().min(MIN_NOTES) {
        return if has_message { notes.clone() } else { state };
    }
    state.push_span("   ");
    state.extend(notes.spans.iter().cloned());
    state
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
