//! A menu over the screen, of which one is chosen: a tag or a grader. What is typed leaves those that hold it.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::paint::{Canvas, boxed, cut_line, middle};
use super::theme::{STRONG, Theme};
use evalrs_base::text::{columns, cut, grouped, sanitize};

/// The most columns and entries that are seen at once.
const WIDTH: u16 = 48;
const HEIGHT: u16 = 16;

/// The columns of a count.
const COUNT: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChoiceKind {
    Tag,
    Grader,
}

impl ChoiceKind {
    fn title(self) -> &'static str {
        match self {
            Self::Tag => " samples with the tag ",
            Self::Grader => " verdicts of the grader ",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MenuEntry {
    /// What is chosen by it; none lists all.
    pub value: Option<String>,
    /// How many there are, if known.
    pub count: Option<usize>,
}

impl MenuEntry {
    fn name(&self) -> &str {
        self.value.as_deref().unwrap_or("all")
    }
}

#[derive(Clone, Debug)]
pub(super) struct ChoiceMenu {
    pub kind: ChoiceKind,
    entries: Vec<MenuEntry>,
    typed: String,
    /// The entry that is pointed at, of those that are left.
    at: usize,
}

impl ChoiceMenu {
    /// A menu of these entries, and before them one for all; it points at what is chosen now.
    pub(super) fn new(kind: ChoiceKind, entries: Vec<MenuEntry>, chosen: Option<&str>) -> Self {
        let all = MenuEntry { value: None, count: None };
        let entries: Vec<MenuEntry> = std::iter::once(all).chain(entries).collect();
        let at = entries.iter().position(|entry| entry.value.as_deref() == chosen).unwrap_or(0);
        Self { kind, entries, typed: String::new(), at }
    }

    /// Those that hold what is typed, in whatever case.
    fn left(&self) -> Vec<&MenuEntry> {
        let needle = self.typed.to_lowercase();
        self.entries.iter().filter(|entry| entry.name().to_lowercase().contains(&needle)).collect()
    }

    /// The entry that is pointed at; none if none is left.
    pub(super) fn pointed(&self) -> Option<&MenuEntry> {
        self.left().get(self.at).copied()
    }

    /// Moves the selection this many entries down, or to the last one.
    pub(super) fn go(&mut self, by: isize) {
        let last = self.left().len().saturating_sub(1);
        self.at = self.at.saturating_add_signed(by).min(last);
    }

    pub(super) fn typed(&mut self, text: &str) {
        self.typed.push_str(&sanitize(text));
        self.at = 0;
    }

    pub(super) fn backspace(&mut self) {
        self.typed.pop();
        self.at = 0;
    }

    /// Renders it in the middle of the area.
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let theme = canvas.theme;
        let left = self.left();
        let entries = u16::try_from(self.entries.len()).unwrap_or(u16::MAX).min(HEIGHT);
        let place = middle(area, WIDTH, entries + 2);
        let mut block = boxed(theme.accent())
            .title(self.kind.title())
            .title_style(STRONG)
            .title_bottom(" type to find · Enter lists · Esc closes ");
        if !self.typed.is_empty() {
            let room = usize::from(place.width).saturating_sub(columns(self.kind.title()) + 4);
            let typed = format!(" {}▏", cut(&self.typed, room.saturating_sub(3)));
            block = block.title_top(Line::styled(typed, theme.accent()).right_aligned());
        }
        let inner = canvas.over(place, block);
        let height = usize::from(inner.height);
        let offset = (self.at + 1).saturating_sub(height);
        let width = usize::from(inner.width).saturating_sub(1);
        let lines = left.iter().enumerate().skip(offset).take(height);
        let mut lines: Text<'_> =
            lines.map(|(at, entry)| cut_line(self.line(entry, at, width, theme), width)).collect();
        if left.is_empty() {
            lines = Text::styled("nothing matches", theme.faint());
        }
        canvas.render(lines, inner);
        canvas.scrollbar(inner, offset, left.len());
    }

    fn line(&self, entry: &MenuEntry, at: usize, width: usize, theme: Theme) -> Line<'static> {
        let is_pointed = at == self.at;
        let name = cut(entry.name(), width.saturating_sub(COUNT + 2));
        let gap = width.saturating_sub(columns(&name) + COUNT + 2);
        let count = entry.count.map_or_else(String::new, |count| grouped(count as u64));
        let line = Line::from_iter([
            Span::styled(if is_pointed { "▌ " } else { "  " }, theme.accent()),
            Span::raw(name + &" ".repeat(gap)),
            Span::styled(format!("{count:>COUNT$}"), theme.faint()),
        ]);
        if is_pointed { line.style(theme.selected()) } else { line }
    }
}

#[cfg(test)]
mod tests {
    use super::{ChoiceKind, ChoiceMenu, MenuEntry};

    fn menu(chosen: Option<&str>) -> ChoiceMenu {
        let entries = ["refund", "Return", "vip"]
            .map(|name| MenuEntry { value: Some(name.to_owned()), count: Some(1) });
        ChoiceMenu::new(ChoiceKind::Tag, entries.to_vec(), chosen)
    }

    fn pointed(menu: &ChoiceMenu) -> Option<&str> {
        menu.pointed().map(MenuEntry::name)
    }

    #[test]
    fn what_is_typed_leaves_what_holds_it() {
        let mut menu = menu(None);
        assert_eq!(pointed(&menu), Some("all"));
        menu.typed("RE");
        assert_eq!(pointed(&menu), Some("refund"));
        menu.go(1);
        assert_eq!(pointed(&menu), Some("Return"));
        menu.go(7);
        assert_eq!(pointed(&menu), Some("Return"));
        menu.typed("zz");
        assert_eq!(pointed(&menu), None);
        (0..4).for_each(|_| menu.backspace());
        menu.go(isize::MAX);
        assert_eq!(pointed(&menu), Some("vip"));
        menu.go(isize::MIN);
        assert_eq!(pointed(&menu), Some("all"));
    }

    #[test]
    fn it_points_at_what_is_chosen() {
        assert_eq!(pointed(&menu(Some("vip"))), Some("vip"));
        assert_eq!(pointed(&menu(Some("gone"))), Some("all"));
    }
}
