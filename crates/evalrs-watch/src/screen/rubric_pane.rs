//! The changes of a save in the text of rubrics, as judges get them.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Block;

use super::changed_text::{beginning, changed_lines, harmless};
use super::paint::{flowed, panel};
use super::scrolled::ScrolledPage;
use super::theme::{STRONG, Theme};
use crate::board::{Board, RubricChange, save_name};
use evalrs_base::text::{count, cut, grouped};

/// The most columns of the names of rubrics.
const NAMES: usize = 60;

/// The most rubrics whose change is shown: every row may have one of its own.
const MAX_CHANGES: usize = 50;

/// What one save changed.
#[derive(Debug, PartialEq)]
pub(super) struct RubricPage {
    save: u32,
    files: Vec<String>,
    changes: Vec<RubricChange>,
}

impl RubricPage {
    /// What `save` changed, in which `files` were saved.
    pub(super) fn of(save: u32, files: &[String], board: &dyn Board) -> Self {
        Self { save, files: files.to_vec(), changes: board.rubric_changes(save) }
    }

    pub(super) fn panel(&self, width: u16, is_beside: bool, theme: Theme) -> Block<'static> {
        let title = match self.save {
            0 => " the rubric at the start ".to_owned(),
            save if self.changes.iter().any(|change| !change.is_file) => {
                format!(" what {} changed in the rubric ", save_name(save))
            }
            save => format!(" what {} changed ", save_name(save)),
        };
        panel(width, is_beside, Span::styled(title, STRONG).into(), Line::default(), theme)
    }
}

impl ScrolledPage for RubricPage {
    fn follows(&self, before: &Self) -> bool {
        self.save == before.save
    }

    fn lines(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let Self { save, files, changes } = self;
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
                (before, None) => {
                    whole(before.as_deref().unwrap_or_default(), theme.faint(), theme)
                }
            };
            lines.extend(flowed(&text, width));
        }
        if changes.len() > MAX_CHANGES {
            let more = format!("… {} more rubrics", grouped((changes.len() - MAX_CHANGES) as u64));
            lines.extend([Line::default(), Span::styled(more, theme.faint()).into()]);
        }
        lines
    }
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
