//! `evalrs watch` as lines: for a pipe, a log, or where a screen is not wanted. One block a save.
//!
//! Draws boards; knows neither graph nor engine, and remembers nothing. Styles are always written: the caller's stream
//! strips them.

mod agreement;
mod ended;
mod metrics;
mod moved;
mod styles;
#[cfg(test)]
pub(super) mod tests;
mod words;

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::Style;

use self::words::{INDENT, judgments, prose, session};
use super::board::{
    ActionCounts, Activity, Board, Display, NEXT_JUDGMENTS, Overview, Spending, WatchEvent,
    save_name,
};
use evalrs_base::price::Cost;
use evalrs_base::text::cut;
use evalrs_model::outcome::Usage;
use evalrs_report::page::terminal::{DOUBTFUL, GOOD, TITLE};
use evalrs_report::verdict;
use styles::{faint, push_conditions, status_style};

const MIN_WIDTH: usize = 40;

/// Reports events in lines.
pub struct PlainDisplay<'a> {
    out: &'a mut dyn Write,
    width: usize,
    begun: bool,
}

impl<'a> PlainDisplay<'a> {
    /// A display on `out`, whose lines take at most `width` columns but for diagnostics; at least 40.
    pub fn new(out: &'a mut dyn Write, width: usize) -> Self {
        Self { out, width: width.max(MIN_WIDTH), begun: false }
    }

    /// Writes the lines at once, so that a reader of a growing file sees whole blocks.
    fn write(&mut self, lines: &[String]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.begun = true;
        self.out.write_all((lines.join("\n") + "\n").as_bytes())?;
        self.out.flush()
    }

    /// A block: its heading, and the indented rest. A blank line stands before all but the first.
    fn block(&mut self, heading: &str, body: &[String]) -> io::Result<()> {
        let mut block = block_lines(heading, body, self.width);
        if self.begun {
            block.insert(0, String::new());
        }
        self.write(&block)
    }

    fn line(&mut self, text: &str, style: Style) -> io::Result<()> {
        self.write(&prose(text, style, self.width))
    }

    fn broken(&mut self, overview: &Overview) -> io::Result<()> {
        let mut lines = Vec::new();
        for problem in &overview.problems {
            if self.begun || !lines.is_empty() {
                lines.push(String::new());
            }
            lines.push(problem.render(true));
        }
        // Before the first evaluation there is nothing to be shown.
        if !overview.metrics.is_empty() {
            lines.push(faint(&format!("still showing {}", shown_name(overview.save))));
        }
        self.write(&lines)
    }
}

impl Display for PlainDisplay<'_> {
    fn event(&mut self, event: &WatchEvent, board: &dyn Board) -> io::Result<()> {
        let overview = board.overview();
        let width = self.width - INDENT.len();
        match event {
            // The heading of the block says the same, and the block what came of it.
            WatchEvent::Saved | WatchEvent::Verdict(_) => Ok(()),
            WatchEvent::Broken => self.broken(overview),
            WatchEvent::Restored => {
                let shown = shown_name(overview.save);
                self.line(&format!("fixed: {shown} still holds"), GOOD)
            }
            WatchEvent::Planned => {
                planned(overview).map_or(Ok(()), |plan| self.line(&plan, Style::new()))
            }
            WatchEvent::Paused => self.block(&heading(overview), &block(board, true, width)),
            WatchEvent::Evaluated => self.block(&heading(overview), &block(board, false, width)),
            WatchEvent::Waiting(wait) => self.line(wait, DOUBTFUL),
            WatchEvent::Note(note) => self.line(note, Style::new()),
            WatchEvent::Ended => self.block(&ended::heading(board), &ended::lines(board, width)),
        }
    }
}

/// The number of an evaluation, within a sentence.
fn shown_name(save: u32) -> String {
    if save == 0 { "the start".to_owned() } else { save_name(save) }
}

/// `save 3: rubric.txt`; of an earlier one that is looked at again, how many there are.
fn heading(overview: &Overview) -> String {
    let mut heading = save_name(overview.save);
    if overview.save != overview.newest {
        let _ = write!(heading, " of {}", overview.newest);
    }
    if !overview.files.is_empty() {
        let _ = write!(heading, ": {}", overview.files.join(", "));
    }
    heading
}

/// The block below the heading once everything is complete, or the rest is paused.
fn block(board: &dyn Board, is_held: bool, width: usize) -> Vec<String> {
    let overview = board.overview();
    let mut lines = facts(overview, width);
    lines.extend(agreement::headlines(overview, width));
    if !is_held {
        lines.extend(gate_lines(overview, width));
    }
    lines.extend(metrics::lines_of(overview, width));
    lines.extend(moved::lines(board, width));
    if is_held {
        lines.extend(prose(&held(overview), TITLE, width));
        return lines;
    }
    lines.extend(agreement::lines(board, width));
    for note in &overview.notes {
        lines.extend(prose(note, Style::new(), width));
    }
    if let Activity::Stopped(why) = &overview.state {
        lines.extend(prose(&format!("stopped: {why}"), DOUBTFUL, width));
    }
    lines
}

/// The judgments that were made, and their cost. A suite without judges asks nothing and says
/// nothing of it.
fn facts(overview: &Overview, width: usize) -> Vec<String> {
    if overview.actions.total == 0 && overview.spent.calls == 0 {
        return Vec::new();
    }
    let lines = [asked(&overview.actions), spent(&overview.spent)];
    lines.iter().flat_map(|line| prose(line, Style::new(), width)).collect()
}

/// `judgments: 5 made, 995 cached`.
fn asked(actions: &ActionCounts) -> String {
    let mut line = format!("judgments: {} made, {} cached", actions.asked, actions.cached);
    for (number, what) in [
        (actions.failed, "failed"),
        (actions.superseded, "superseded"),
        (actions.under_way, "in flight"),
        (actions.waiting, "not made"),
        (actions.out, "out in a batch"),
    ] {
        if number > 0 {
            let _ = write!(line, ", {number} {what}");
        }
    }
    line
}

/// `spent $0.0020, 1050 tokens; saved $0.0481, 25200 tokens; session $0.0431 of $1.00, 12 of 500 judgments`.
fn spent(spent: &Spending) -> String {
    let save = used(&spent.save).unwrap_or_else(|| "nothing".to_owned());
    let saved = used(&spent.saved).map_or_else(String::new, |saved| format!("; saved {saved}"));
    format!("spent {save}{saved}; session {}", session(spent))
}

fn used(usage: &Usage) -> Option<String> {
    let tokens = usage.input + usage.output;
    let cost = usage.cost.map_or_else(String::new, |cost| format!("{cost}, "));
    (tokens > 0 || usage.cost.is_some()).then(|| format!("{cost}{tokens} tokens"))
}

/// `gate PASSED (was FAILED)  quality avg_score >= 0.8: 0.830`.
/// Beside agreement with people it has no colour: a rubric that passes more may be a worse one.
fn gate_lines(overview: &Overview, width: usize) -> Vec<String> {
    let Overview { gate, gate_before: before, .. } = overview;
    if gate.status.is_none() {
        return Vec::new();
    }
    let shout = |gate| verdict::word(gate).to_uppercase();
    let was = match before.status {
        Some(status) if gate.status != Some(status) => format!(" (was {})", shout(before)),
        _ => String::new(),
    };
    let style = if overview.has_labels() { Style::new() } else { status_style(gate) };
    let word = shout(gate);
    let taken = "gate ".len() + word.len() + was.len() + 2;
    let finding = verdict::finding_within(gate, width.saturating_sub(taken));
    let line = format!("gate {style}{word}{style:#}{was}  {finding}");
    let mut lines = vec![line.trim_end().to_owned()];
    push_conditions(&gate.conditions, 1, width, &mut lines);
    lines
}

/// `save 3: 20 of 1000 judgments to ask`; none if nothing is.
fn planned(overview: &Overview) -> Option<String> {
    let ActionCounts { asked, waiting, total, .. } = overview.actions;
    let to_ask = asked + waiting;
    (to_ask > 0).then(|| format!("{}: {to_ask} of {} to make", heading(overview), judgments(total)))
}

/// `20 of 1000 judgments made; press Enter to make the other 980 (about $0.12), or keep editing`.
fn held(overview: &Overview) -> String {
    let (waiting, expected) = overview.held();
    let asked = overview.actions.asked;
    let about =
        |cost: Option<Cost>| cost.map_or_else(String::new, |cost| format!(" (about {cost})"));
    let cost = about(expected);
    let left = overview.spent.left(waiting, expected);
    let left = left.map_or_else(String::new, |left| format!("; the limit leaves {left}"));
    let next = overview.next_held().map_or_else(String::new, |next| {
        format!(", `n` for the next {NEXT_JUDGMENTS}{}", about(next.expected))
    });
    if asked == 0 {
        let (wait, them) = if waiting == 1 { ("is paused", "it") } else { ("are paused", "them") };
        let all = judgments(waiting);
        return format!(
            "{all} {wait}; press Enter to make {them}{cost}{next}, or keep \
                        editing{left}"
        );
    }
    let all = judgments(asked + waiting);
    format!(
        "{asked} of {all} made; press Enter to make the other {waiting}{cost}{next}, or keep editing{left}"
    )
}

/// What stays on a terminal once the screen is gone: what the session came to.
pub fn closing_lines(board: &dyn Board, width: usize) -> Vec<String> {
    let width = width.max(MIN_WIDTH);
    block_lines(&ended::heading(board), &ended::lines(board, width - INDENT.len()), width)
}

fn block_lines(heading: &str, body: &[String], width: usize) -> Vec<String> {
    let heading = format!("{TITLE}{}{TITLE:#}", cut(heading, width));
    let body = body.iter().map(|line| format!("{INDENT}{line}"));
    [heading].into_iter().chain(body).collect()
}
