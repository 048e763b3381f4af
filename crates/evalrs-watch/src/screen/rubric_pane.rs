//! What a save changed in the text of rubrics, as judges are asked by them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::changed_text::{beginning, changed_lines, harmless};
use super::paint::{flowed, panel};
use super::scrolled::ScrolledLines;
use super::theme::{STRONG, Theme};
use crate::board::{Board, RubricChange, save_name};
use evalrs_base::text::{count, cut, grouped};

/// The most columns of the names of rubrics.
const NAMES: usize = 60;

/// The most rubrics whose change is shown: every row may have one of its own.
const MAX_CHANGES: usize = 50;

/// What is seen of it.
#[derive(Debug, Default)]
pub(super) struct RubricPane {
    /// The lines and where one is in them.
    pub shown: ScrolledLines,
    /// What was laid out last, for which width: long texts are compared once.
    laid_out: Option<(RubricPage, u16)>,
}

/// Whose change is drawn, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct RubricContext<'a> {
    /// The save.
    pub save: u32,
    /// The files that were saved.
    pub files: &'a [String],
    /// Whether it stands beside a list.
    pub(super) is_beside: bool,
    pub(super) theme: Theme,
}

/// What one save changed.
#[derive(Clone, Debug, PartialEq)]
struct RubricPage {
    save: u32,
    files: Vec<String>,
    changes: Vec<RubricChange>,
}

impl RubricPane {
    /// Draws a title and as many lines as fit of what a save changed.
    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        context: RubricContext<'_>,
        board: &dyn Board,
    ) {
        let RubricContext { save, files, is_beside, theme } = context;
        let page = RubricPage { save, files: files.to_vec(), changes: board.rubric_changes(save) };
        let block = panel(area.width, is_beside, title(&page), Line::default(), theme);
        self.shown.area = block.inner(area);
        block.render(area, buffer);
        if self.laid_out.as_ref().is_none_or(|(held, _)| held.save != save) {
            self.shown.restart();
        }
        let width = self.shown.area.width;
        let wanted = Some((page, width));
        if self.laid_out != wanted {
            let room = usize::from(ScrolledLines::room(width));
            let page = wanted.iter();
            self.shown.set(page.flat_map(|(page, _)| lines(page, room, theme)).collect());
            self.laid_out = wanted;
        }
        self.shown.draw(buffer, theme);
    }
}

fn title(page: &RubricPage) -> Line<'static> {
    let title = match page.save {
        0 => " the rubric at the start ".to_owned(),
        save if page.changes.iter().any(|change| !change.is_file) => {
            format!(" what {} changed in the rubric ", save_name(save))
        }
        save => format!(" what {} changed ", save_name(save)),
    };
    Span::styled(title, STRONG).into()
}

fn lines(page: &RubricPage, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let RubricPage { save, files, changes } = page;
    if changes.is_empty() {
        let nothing = match files.len() {
            _ if *save == 0 => "the suite has no rubric".to_owned(),
            0 => "no rubric".to_owned(),
            _ => format!("{}, and no rubric", files.join(", ")),
        };
        return flowed(&[(harmless(&nothing), theme.faint())], width);
    }
    let mut lines = Vec::new();
    for change in changes.iter().take(MAX_CHANGES) {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(heading(change, *save));
        let text = match (&change.before, &change.now) {
            (Some(before), Some(now)) => changed_lines(before, now, theme),
            (None, Some(now)) => whole(now, Style::new(), theme),
            (before, None) => whole(before.as_deref().unwrap_or_default(), theme.faint(), theme),
        };
        lines.extend(flowed(&text, width));
    }
    if changes.len() > MAX_CHANGES {
        let more = format!("… {} more rubrics", grouped((changes.len() - MAX_CHANGES) as u64));
        lines.extend([Line::default(), Span::styled(more, theme.faint()).into()]);
    }
    lines
}

/// Whose rubric it is, and whether it came or went.
fn heading(change: &RubricChange, save: u32) -> Line<'static> {
    let names = cut(&change.rubrics.join(", "), NAMES);
    let what = match (&change.before, &change.now) {
        (None, Some(_)) if save > 0 => " (new)",
        (Some(_), None) => " (gone)",
        _ => "",
    };
    Line::from_iter([Span::styled(names, STRONG), Span::raw(what)])
}

/// The beginning of a text, and how much is left out.
fn whole(text: &str, style: Style, theme: Theme) -> Vec<(String, Style)> {
    let (shown, left) = beginning(text);
    let mut whole = vec![(harmless(shown.trim_end()), style)];
    if left > 0 {
        let more = format!("\n… {} more", count(left, "byte"));
        whole.push((more, theme.faint()));
    }
    whole
}
