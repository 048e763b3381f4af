//! Which keys there are: those that matter now in the last line, all of them over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, BorderType, Clear, Widget};

use super::paint::{Pen, fitting, lines_of};
use super::theme::{STRONG, Theme};
use crate::app::watch::board::{Activity, Overview};
use crate::base::text::{columns, sanitize};

/// All keys, by what they are for. An empty key is a title.
const KEYS: [(&str, &str); 33] = [
    ("", "judgments"),
    ("Enter", "ask what is held back"),
    ("r", "ask the judgments of this verdict anew"),
    ("p", "pin this sample: listed first, asked early"),
    ("u", "look at the rubric before; again: go back"),
    ("e", "open the rubric in an editor"),
    ("", "verdicts"),
    ("j k ↓ ↑", "next, previous"),
    ("PgDn PgUp", "a page down, up"),
    ("g G Home End", "first, last"),
    ("m", "those that moved"),
    ("f", "those that fail"),
    ("d", "those that disagree with a label"),
    ("x", "errors"),
    ("a", "all"),
    ("Tab ⇧Tab", "next, previous of these"),
    ("/", "search id, grader, input, submission"),
    ("", "detail"),
    ("J K", "a line down, up"),
    ("^D ^U", "half a page down, up"),
    ("v l →", "detail alone"),
    ("h ← Esc", "list and detail"),
    ("", "signs"),
    ("✓ ✗ !", "passes, fails, error"),
    ("… ·", "being judged, not judged yet"),
    ("▲ ▼", "fixed, broken: the verdict is another"),
    ("△ ▽", "raised, lowered: the score is another"),
    ("≠", "disagrees with a person"),
    ("", ""),
    ("?", "this help"),
    ("q", "quit; what was judged is kept"),
    ("^C", "interrupt"),
    ("mouse", "wheel scrolls, click selects, ⇧drag copies"),
];

/// The columns of the keys, and of both.
const KEY: usize = 14;
const WIDTH: u16 = 64;

/// Draws all keys in the middle of the area, from the line `offset` on. Returns the offset that was possible.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, offset: usize, theme: Theme) -> usize {
    let height = u16::try_from(KEYS.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let width = WIDTH.min(area.width);
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height) / 2;
    let place = Rect { x, y, width, height };
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(theme.accent())
        .title(" keys of evalrs watch ")
        .title_style(STRONG)
        .title_bottom(" ? or Esc closes ");
    let inner = block.inner(place);
    Clear.render(place, buffer);
    block.render(place, buffer);
    let room = usize::from(inner.height);
    let offset = offset.min(KEYS.len().saturating_sub(room));
    for (at, (key, words)) in KEYS.iter().skip(offset).take(room).enumerate() {
        let mut pen = Pen::new(buffer, lines_of(inner, at, 1));
        pen.skip(1);
        if key.is_empty() {
            pen.put(words, STRONG.patch(theme.accent()));
        } else {
            pen.skip(1).cell(key, KEY, STRONG).put(words, Style::new());
        }
    }
    offset
}

/// Draws the search that is typed.
pub(super) fn draw_search(buffer: &mut Buffer, area: Rect, search: &str, theme: Theme) {
    const HINT: &str = "   Enter keeps it, Esc ends it";
    let mut pen = Pen::new(buffer, area);
    pen.skip(1).put("/", STRONG.patch(theme.accent()));
    // The end of what is typed is seen, however long it is.
    let mut shown = sanitize(search);
    while columns(&shown) + 1 > pen.room() && !shown.is_empty() {
        shown.remove(0);
    }
    pen.put(&shown, STRONG).put("▏", theme.accent());
    if pen.room() >= HINT.len() {
        pen.put(HINT, theme.faint());
    }
}

/// What the last line has to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct HelpState {
    /// Whether a verdict is selected.
    pub(super) has_selection: bool,
    /// Whether the detail is alone.
    pub(super) is_alone: bool,
    /// Whether the list is one of a search.
    pub(super) has_search: bool,
}

/// Draws the keys that matter now, as many as fit.
pub(super) fn draw_footer(
    buffer: &mut Buffer,
    area: Rect,
    overview: &Overview,
    now: HelpState,
    theme: Theme,
) {
    let is_held = matches!(overview.state, Activity::Paused { .. });
    let undo = if overview.save == overview.newest { "prev save" } else { "back" };
    let has_before = overview.newest > 0;
    // Whether it matters, its rank, the key, what it does.
    let all = [
        (true, 0, "q", "quit"),
        (is_held, 1, "Enter", "run the rest"),
        (now.is_alone, 3, "h", "list"),
        (now.has_search, 3, "Esc", "end search"),
        (!now.is_alone, 12, "m", "moved"),
        (!now.is_alone, 4, "f", "failing"),
        (!now.is_alone, 5, "a", "all"),
        (!now.is_alone, 6, "/", "search"),
        (now.has_selection, 10, "p", "pin"),
        (has_before, 7, "u", undo),
        (true, 8, "e", "edit rubric"),
        (now.has_selection, 9, "r", "refresh"),
        (now.has_selection && !now.is_alone, 11, "v", "detail"),
        (true, 2, "?", "help"),
    ];
    let matter: Vec<_> = all.into_iter().filter(|(matters, ..)| *matters).collect();
    let widths: Vec<(usize, u8)> =
        matter.iter().map(|(_, rank, key, word)| (key.len() + word.len() + 3, *rank)).collect();
    let fits = fitting(&widths, usize::from(area.width));
    let mut pen = Pen::new(buffer, area);
    pen.skip(1);
    for ((_, _, key, word), _) in matter.into_iter().zip(fits).filter(|(_, fits)| *fits) {
        let is_loud = key == "Enter" || word == "back";
        let style = if is_loud { theme.doubtful() } else { theme.accent() };
        pen.put(key, STRONG.patch(style)).skip(1);
        pen.put(word, if is_loud { STRONG } else { theme.faint() }).skip(2);
    }
}
