//! Everything behind the selected verdict: why it is what it is, and what changed in that.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::flow::harmless;
use super::list::{model, score_change};
use super::paint::{
    Pen, StyledText, VisibleRows, cut_middle, inset, lines_of, rule, scrollbar, split_right,
};
use super::theme::{STRONG, Theme, label};
use crate::app::watch::board::{IngredientRow, VerdictDetail, VerdictId};
use crate::base::text::flow::flow;
use crate::base::text::word_diff::{Piece, visible, word_diff};
use crate::base::text::{columns, cut, grouped, sanitize, score};
use crate::pipeline::delta::{Cell, CellState};

/// The most bytes that are shown of one text.
const MAX_TEXT: usize = 64 << 10;

/// The most columns of an ingredient's name, and how much of a key is shown.
const NAME: usize = 20;
const KEY: usize = 16;

/// What is seen of the selected verdict.
#[derive(Debug, Default)]
pub(super) struct DetailPane {
    /// Where it was drawn; empty while it is not.
    pub(super) area: Rect,
    offset: usize,
    of: Option<VerdictId>,
    /// What was laid out last, for which width: a long text is compared and broken into lines once.
    laid_out: Option<(VerdictDetail, u16)>,
    lines: Vec<Vec<StyledText>>,
}

impl DetailPane {
    /// Shows what is so many lines further down.
    pub(super) fn scroll(&mut self, by: isize) {
        self.offset = self.offset.saturating_add_signed(by).min(self.last_offset());
    }

    /// The lines that are seen at once.
    pub(super) fn page(&self) -> isize {
        isize::try_from(self.area.height).unwrap_or(1).max(1)
    }

    /// It is not on the screen.
    pub(super) fn hide(&mut self) {
        self.area = Rect::default();
    }

    fn last_offset(&self) -> usize {
        self.lines.len().saturating_sub(usize::from(self.area.height))
    }

    /// Draws a title and as many lines as fit; none is selected without a detail.
    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        detail: Option<VerdictDetail>,
        theme: Theme,
    ) {
        rule(buffer, lines_of(area, 0, 1), theme.faint());
        let area = lines_of(area, 1, usize::from(area.height));
        self.area = area;
        let Some(detail) = detail else {
            self.of = None;
            self.laid_out = None;
            self.offset = 0;
            self.lines.clear();
            return;
        };
        draw_title(buffer, Rect { y: area.y.saturating_sub(1), height: 1, ..area }, &detail, theme);
        if self.of != Some(detail.row.id) {
            self.of = Some(detail.row.id);
            self.offset = 0;
        }
        let inner = inset(area, 1);
        let is_known = self
            .laid_out
            .as_ref()
            .is_some_and(|(known, width)| *known == detail && *width == inner.width);
        if !is_known {
            // A line as wide as the area would touch the scroll bar.
            self.lines = lines(&detail, usize::from(inner.width.saturating_sub(1)), theme);
            self.laid_out = Some((detail, inner.width));
        }
        self.offset = self.offset.min(self.last_offset());
        let seen = self.lines.iter().skip(self.offset).take(usize::from(inner.height));
        for (at, line) in seen.enumerate() {
            Pen::new(buffer, lines_of(inner, at, 1)).runs(line);
        }
        let seen = VisibleRows { offset: self.offset, total: self.lines.len() };
        scrollbar(buffer, area, seen, theme.faint());
    }
}

fn draw_title(buffer: &mut Buffer, area: Rect, detail: &VerdictDetail, theme: Theme) {
    let row = &detail.row;
    let grader = format!(" {} ", cut(&row.grader, 24));
    let (area, right) = split_right(area, columns(&grader) + 1);
    Pen::new(buffer, right).put(&grader, theme.faint());
    let mut pen = Pen::new(buffer, area);
    let model = model(row);
    let model = if model.is_empty() { model } else { format!("{} ", cut(&model, 24)) };
    let room = pen.skip(1).room().saturating_sub(columns(&model) + 3);
    let pinned = if row.pinned { " ★" } else { "" };
    pen.put(pinned, theme.accent());
    pen.put(&format!(" {} ", cut_middle(&row.sample_id, room)), STRONG);
    pen.put(&model, theme.faint());
}

/// Everything, as lines of at most `width` columns.
fn lines(detail: &VerdictDetail, width: usize, theme: Theme) -> Vec<Vec<StyledText>> {
    let mut page = DetailPage { lines: vec![verdict(detail, theme)], width, theme };
    page.lines.extend(person(detail, theme));
    let is_error = detail.row.now.state == CellState::Errored;
    match (&detail.rationale, &detail.rationale_before) {
        (Some(now), Some(before)) if now != before && !is_error => {
            page.section("why, and what changed in it", &difference(before, now, theme));
        }
        (Some(now), before) => {
            let title = if is_error { "error" } else { "why" };
            let style = if is_error { theme.doubtful() } else { Style::new() };
            page.text(title, now, style);
            if let Some(before) = before.as_ref().filter(|_| is_error) {
                page.text("why, before", before, theme.faint());
            }
        }
        (None, Some(before)) => page.text("why, before", before, theme.faint()),
        (None, None) => {}
    }
    page.text("submission", &detail.submission, Style::new());
    if let Some(truth) = &detail.ground_truth {
        page.text("ground truth", truth, Style::new());
    }
    page.text("input", &detail.input, Style::new());
    if let Some(key) = &detail.key {
        page.key(key, &detail.ingredients);
    }
    page.lines
}

/// What it is and was.
fn verdict(detail: &VerdictDetail, theme: Theme) -> Vec<StyledText> {
    let row = &detail.row;
    let (sign, style) = theme.verdict(row.now, row.under_way);
    let mut runs = vec![(format!("{sign} {}", words(row.now)), STRONG.patch(style))];
    if row.under_way {
        runs.push((", a judge is being asked".to_owned(), theme.accent()));
    }
    if let Some(before) = row.before.filter(|before| before.is_known() && *before != row.now) {
        let (sign, style) = theme.verdict(before, false);
        runs.push(("   was ".to_owned(), theme.faint()));
        runs.push((format!("{sign} {}", words(before)), style));
    }
    if row.movement.is_move() {
        let (sign, word, style) = theme.movement(row.movement);
        let by = score_change(row).filter(|by| *by != 0.0);
        let by = by.map_or_else(String::new, |by| format!(" by {:.3}", by.abs()));
        runs.push((format!("   {sign} {word}{by}"), style));
    }
    runs
}

fn words(cell: Cell) -> String {
    match cell.state {
        CellState::Passed => format!("passes, {}", score(cell.score)),
        CellState::Failed => format!("fails, {}", score(cell.score)),
        CellState::Errored => "error".to_owned(),
        CellState::Pending => "not judged yet".to_owned(),
        CellState::Skipped => "not evaluated".to_owned(),
    }
}

/// What a person says.
fn person(detail: &VerdictDetail, theme: Theme) -> Option<Vec<StyledText>> {
    let said = label(detail.row.label?);
    let (sign, style) =
        if detail.row.disagrees { ("≠", theme.doubtful()) } else { (" ", theme.faint()) };
    Some(vec![(format!("{sign} a person says {said}"), style)])
}

/// The new text with the words that changed.
fn difference(before: &str, now: &str, theme: Theme) -> Vec<StyledText> {
    let before = beginning(before).0;
    let now = beginning(now).0;
    let pieces = word_diff(before, now);
    let brackets = |text: String, start: &str, end: &str| {
        if theme.has_color() { text } else { format!("{start}{text}{end}") }
    };
    let mut runs: Vec<StyledText> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let previous = at.checked_sub(1).and_then(|at| pieces.get(at));
        runs.push(match piece {
            Piece::Same(text) => (harmless(text), Style::new()),
            Piece::Removed(text) => {
                let text = visible(text, pieces.get(at + 1));
                (brackets(text, "[-", "-]"), theme.removed())
            }
            Piece::Added(text) => {
                let text = visible(text, previous);
                (brackets(text, "{+", "+}"), theme.added())
            }
        });
        // Removed and added words that touch would read as one.
        let touches = matches!(piece, Piece::Removed(text) if !text.ends_with(char::is_whitespace))
            && matches!(pieces.get(at + 1), Some(Piece::Added(_)));
        if touches && theme.has_color() {
            runs.push((" ".to_owned(), Style::new()));
        }
    }
    runs
}

/// The beginning of a text, and how many bytes are left out.
fn beginning(text: &str) -> (&str, usize) {
    let end = text.floor_char_boundary(MAX_TEXT);
    (&text[..end], text.len() - end)
}

struct DetailPage {
    lines: Vec<Vec<StyledText>>,
    width: usize,
    theme: Theme,
}

impl DetailPage {
    fn title(&mut self, title: &str) {
        let style = STRONG.patch(self.theme.accent());
        self.lines.extend([Vec::new(), vec![(title.to_owned(), style)]]);
    }

    fn section(&mut self, title: &str, runs: &[StyledText]) {
        self.title(title);
        self.lines.extend(flow(runs, self.width));
    }

    fn text(&mut self, title: &str, text: &str, style: Style) {
        let (shown, left) = beginning(text);
        let shown = harmless(shown.trim_end());
        if shown.is_empty() {
            self.section(title, &[("(empty)".to_owned(), self.theme.faint())]);
        } else {
            self.section(title, &[(shown, style)]);
        }
        if left > 0 {
            let more = format!("… {} more bytes", grouped(left as u64));
            self.lines.push(vec![(more, self.theme.faint())]);
        }
    }

    fn key(&mut self, key: &str, ingredients: &[IngredientRow]) {
        self.title("key");
        if let Some((_, style)) = self.lines.last_mut().and_then(|line| line.last()).cloned() {
            let key = format!(" {}", sanitize(key).chars().take(KEY).collect::<String>());
            if let Some(line) = self.lines.last_mut() {
                line.push((key, style.patch(self.theme.faint())));
            }
        }
        let widths = ingredients.iter().map(|row| columns(&sanitize(&row.name)));
        let width = widths.max().unwrap_or(0).min(NAME);
        for row in ingredients {
            let (mark, style) =
                if row.is_new { ("* ", self.theme.accent()) } else { ("  ", self.theme.faint()) };
            let name = cut(&row.name, width);
            let gap = " ".repeat(width - columns(&name) + 2);
            let preview = cut(&row.preview, self.width.saturating_sub(width + 4));
            self.lines.push(vec![
                (mark.to_owned(), self.theme.accent()),
                (name + &gap, style),
                (preview, if row.is_new { Style::new() } else { style }),
            ]);
        }
        if ingredients.iter().any(|row| row.is_new) {
            self.lines.push(vec![("* another one than before".to_owned(), self.theme.faint())]);
        }
    }
}
