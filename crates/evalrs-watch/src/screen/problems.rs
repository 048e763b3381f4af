//! What is wrong with the files as they are saved, over the results of the last ones that were right.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::paint::{boxed, cut_line, flowed};
use super::theme::{STRONG, Theme};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::text::{columns, count, sanitize};

/// The most diagnostics that are rendered: no screen has room for more.
const MAX_PROBLEMS: usize = 20;

/// The lines above and below the text.
const FRAME: usize = 2;

/// The columns that a snippet keeps at its left when it is moved so that its mark is seen.
const BEFORE_MARK: usize = 12;

/// The panel, the first problem first, and the lines that it takes, at most `most`.
pub(super) fn panel(
    problems: &[Diagnostic],
    width: u16,
    most: u16,
    theme: Theme,
) -> (Paragraph<'static>, u16) {
    let room = usize::from(width).saturating_sub(4).max(2);
    let mut lines = Vec::new();
    for problem in problems.iter().take(MAX_PROBLEMS) {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        push(&mut lines, problem, room, theme);
    }
    let wanted = u16::try_from(lines.len() + FRAME).unwrap_or(u16::MAX);
    let height = wanted.min(most);
    let title = format!(" {}, not evaluated ", count(problems.len(), "problem"));
    let mut block = boxed(theme.bad()).title(Span::styled(title, STRONG.patch(theme.bad())));
    let hidden = wanted - height;
    if hidden > 0 {
        let more = format!("─ {} more ", count(hidden, "line"));
        block = block.title_bottom(Line::styled(more, theme.bad()));
    }
    (Paragraph::new(lines).block(block), height)
}

/// One diagnostic: sentences are wrapped, source lines moved so that the mark is seen.
fn push(lines: &mut Vec<Line<'static>>, problem: &Diagnostic, width: usize, theme: Theme) {
    let rendered = problem.render(false);
    let rendered: Vec<String> = rendered.lines().map(sanitize).collect();
    let loud = STRONG.patch(if problem.is_error() { theme.bad() } else { theme.doubtful() });
    let moved = hidden(&rendered, width);
    for (at, line) in rendered.into_iter().enumerate() {
        if let Some((gutter, source)) = gutter(&line) {
            let is_mark = source.trim_start().starts_with('^');
            let source: String = source.chars().skip(moved).collect();
            let line = Line::from_iter([
                Span::styled(gutter.to_owned(), theme.faint()),
                Span::styled(source, if is_mark { loud } else { Style::new() }),
            ]);
            lines.push(cut_line(line, width));
        } else if at == 0 {
            lines.extend(flowed(&[(line, loud)], width));
        } else {
            let is_place = line.trim_start().starts_with("-->");
            let style = if is_place { theme.accent() } else { Style::new() };
            push_hanging(lines, &line, style, width);
        }
    }
}

/// A sentence whose later lines stand below the first word of the first.
fn push_hanging(lines: &mut Vec<Line<'static>>, line: &str, style: Style, width: usize) {
    let rest = line.trim_start_matches([' ', '=', '-', '>']);
    let indent = if rest.is_empty() { 0 } else { line.len() - rest.len() }.min(width / 2);
    let (head, rest) = line.split_at(indent);
    let mut head = head.to_owned();
    for mut line in flowed(&[(rest.to_owned(), style)], width - indent) {
        line.spans.insert(0, Span::styled(head, style));
        head = " ".repeat(indent);
        lines.push(line);
    }
}

/// A source line in two parts: up to and including its bar, and after it.
fn gutter(line: &str) -> Option<(&str, &str)> {
    let at = line.find('|')?;
    let mut before = line[..at].chars();
    before.all(|char| char == ' ' || char.is_ascii_digit()).then(|| line.split_at(at + 1))
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
