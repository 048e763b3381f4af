//! What is wrong with the files as they are saved, over the results of the last ones that were right.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use super::paint::{Pen, StyledText, lines_of};
use super::theme::{STRONG, Theme};
use crate::base::diagnostic::Diagnostic;
use crate::base::text::flow::flow;
use crate::base::text::{columns, count, sanitize};

/// The most diagnostics that are rendered: no screen has room for more.
const MAX_PROBLEMS: usize = 20;

/// The lines above and below the text.
const FRAME: usize = 2;

/// The columns that a snippet keeps at its left when it is moved so that its mark is seen.
const BEFORE_MARK: usize = 12;

/// The lines of all problems, at most `width` columns wide with their frame.
pub(super) fn lines(problems: &[Diagnostic], width: u16, theme: Theme) -> Vec<Vec<StyledText>> {
    let width = usize::from(width).saturating_sub(4).max(2);
    let mut lines = Vec::new();
    for problem in problems.iter().take(MAX_PROBLEMS) {
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        push(&mut lines, problem, width, theme);
    }
    lines
}

/// The lines that the panel takes if it may take at most `most`; none where nothing is wrong.
pub(super) fn height(lines: &[Vec<StyledText>], most: usize) -> usize {
    if lines.is_empty() { 0 } else { (lines.len() + FRAME).min(most) }
}

/// Draws the panel, the first problem first.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    lines: &[Vec<StyledText>],
    problems: &[Diagnostic],
    theme: Theme,
) {
    let title = format!(" {}, not evaluated ", count(problems.len(), "problem"));
    let loud = STRONG.patch(theme.bad());
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.bad())
        .title(title)
        .title_style(loud);
    let inner = block.inner(area);
    Clear.render(area, buffer);
    block.render(area, buffer);
    let room = usize::from(inner.height);
    for (at, line) in lines.iter().take(room).enumerate() {
        Pen::new(buffer, lines_of(inner, at, 1)).skip(1).runs(line);
    }
    if lines.len() > room && area.height > 0 {
        let more = format!(" {} more ", count(lines.len() - room, "line"));
        let last = lines_of(area, usize::from(area.height) - 1, 1);
        Pen::new(buffer, last).skip(2).put(&more, theme.bad());
    }
}

/// One diagnostic: sentences are wrapped, source lines moved so that the mark is seen.
fn push(lines: &mut Vec<Vec<StyledText>>, problem: &Diagnostic, width: usize, theme: Theme) {
    let rendered = problem.render(false);
    let rendered: Vec<String> = rendered.lines().map(sanitize).collect();
    let loud = if problem.is_error() { theme.bad() } else { theme.doubtful() };
    let moved = hidden(&rendered, width);
    for (at, line) in rendered.iter().enumerate() {
        let snippet = gutter(line);
        match snippet {
            Some((gutter, source)) => {
                let is_mark = source.trim_start().starts_with('^');
                let source: String = source.chars().skip(moved).collect();
                let style = if is_mark { STRONG.patch(loud) } else { Style::new() };
                lines.push(vec![(gutter.to_owned(), theme.faint()), (source, style)]);
            }
            None if at == 0 => {
                let runs = vec![(line.clone(), STRONG.patch(loud))];
                lines.extend(flow(&runs, width));
            }
            None => {
                let is_place = line.trim_start().starts_with("-->");
                let style = if is_place { theme.accent() } else { Style::new() };
                push_hanging(lines, line, style, width);
            }
        }
    }
}

/// A sentence whose later lines stand below the first word of the first.
fn push_hanging(lines: &mut Vec<Vec<StyledText>>, line: &str, style: Style, width: usize) {
    let is_mark = |char| matches!(char, ' ' | '=' | '-' | '>');
    let indent = line.find(|char| !is_mark(char)).unwrap_or(0).min(width / 2);
    let (head, rest) = line.split_at(indent);
    for (at, mut runs) in flow(&[(rest.to_owned(), style)], width - indent).into_iter().enumerate()
    {
        let head = if at == 0 { head.to_owned() } else { " ".repeat(indent) };
        runs.insert(0, (head, style));
        lines.push(runs);
    }
}

/// A source line in what stands before its bar, that included, and what stands after it.
fn gutter(line: &str) -> Option<(&str, &str)> {
    let at = line.find('|')?;
    let is_number = |char: char| char == ' ' || char.is_ascii_digit();
    line[..at].chars().all(is_number).then(|| line.split_at(at + 1))
}

/// The columns of source lines to leave out at their left, so that the mark is seen in `width` columns.
fn hidden(rendered: &[String], width: usize) -> usize {
    let mark = rendered.iter().filter_map(|line| gutter(line)).find_map(|(gutter, source)| {
        let at = source.find('^').filter(|_| source.trim_start().starts_with('^'))?;
        Some((columns(gutter), at, columns(source)))
    });
    match mark {
        Some((gutter, at, end)) if gutter + end > width => {
            (gutter + end - width).min(at.saturating_sub(BEFORE_MARK))
        }
        _ => 0,
    }
}
