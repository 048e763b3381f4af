//! Everything behind the selected verdict: why it is what it is, and what changed in that.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget};

use super::changed_text::{beginning, difference, harmless};
use super::list_columns::{DISPUTED, model_and_trial, score_change};
use super::paint::{flowed, panel};
use super::scrolled::ScrolledLines;
use super::theme::{STRONG, Theme, label};
use crate::board::{HiddenLabel, IngredientRow, VerdictDetail, VerdictRow};
use evalrs_base::text::{columns, count, cut, cut_middle, grouped, sanitize, score};
use evalrs_model::delta::{Cell, CellState};

/// The most columns of an ingredient's name, and how much of a key is shown.
const NAME: usize = 20;
const KEY: usize = 16;

/// Where the detail stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct DetailPlace {
    /// Whether the list stands beside it.
    pub(super) is_beside: bool,
    /// Whether its verdict is one of the list.
    pub(super) is_listed: bool,
    /// Whether it has the screen for itself, and room for all.
    pub(super) is_alone: bool,
}

/// A detail as it was laid out.
#[derive(Debug, PartialEq)]
struct LaidOutDetail {
    detail: VerdictDetail,
    width: u16,
    is_whole: bool,
}

/// What is seen of the selected verdict.
#[derive(Debug, Default)]
pub(super) struct DetailPane {
    /// The lines and where one is in them.
    pub shown: ScrolledLines,
    /// What was laid out last, for which width: a long text is compared and broken into lines once.
    laid_out: Option<LaidOutDetail>,
}

impl DetailPane {
    /// Draws a title and as many lines as fit, beside the list or below it; none is selected without a detail.
    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        place: DetailPlace,
        detail: Option<VerdictDetail>,
        theme: Theme,
    ) {
        let row = detail.as_ref().map(|detail| &detail.row);
        let block = match row {
            Some(row) => titled(row, area.width, place, theme),
            None => panel(area.width, place.is_beside, Line::default(), Line::default(), theme),
        };
        let before = self.laid_out.as_ref().map(|laid_out| laid_out.detail.row.id);
        if before != row.map(|row| row.id) {
            self.shown.restart();
        }
        self.shown.area = block.inner(area);
        block.render(area, buffer);
        let width = self.shown.area.width;
        let is_whole = place.is_alone;
        let wanted = detail.map(|detail| LaidOutDetail { detail, width, is_whole });
        if self.laid_out != wanted {
            let room = usize::from(ScrolledLines::room(width));
            let lines = |wanted: &LaidOutDetail| lines(&wanted.detail, is_whole, room, theme);
            self.shown.set(wanted.as_ref().map_or_else(Vec::new, lines));
            self.laid_out = wanted;
        }
        self.shown.draw(buffer, theme);
    }
}

/// The panel with the names of sample, model and grader.
fn titled(row: &VerdictRow, width: u16, place: DetailPlace, theme: Theme) -> Block<'static> {
    let grader = Line::styled(format!(" {} ", cut(&row.grader, 24)), theme.faint());
    let model = match model_and_trial(row) {
        model if model.is_empty() => model,
        model => format!("{} ", cut(&model, 24)),
    };
    let pin = if row.pinned { " ★" } else { "" };
    let left = if place.is_listed { "" } else { "not in this list " };
    let taken = columns(&model) + columns(pin) + columns(left) + grader.width() + 6;
    let sample_id = cut_middle(&row.sample_id, usize::from(width).saturating_sub(taken));
    let title = Line::from_iter([
        Span::styled(pin, theme.accent()),
        Span::styled(format!(" {sample_id} "), STRONG),
        Span::styled(model, theme.faint()),
        Span::styled(left, theme.doubtful()),
    ]);
    panel(width, place.is_beside, title, grader, theme)
}

/// What there is to say, as lines of at most `width` columns. Beside the list the ingredients of the key that are as before
/// are left out: whoever labels reads on at the next verdict.
fn lines(detail: &VerdictDetail, is_whole: bool, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut page = DetailPage { lines: vec![verdict(&detail.row, theme)], width, theme };
    page.lines.extend(person(&detail.row, theme));
    page.lines.extend(dispute(&detail.row, theme));
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
        page.key(key, &detail.ingredients, is_whole);
    }
    page.lines
}

/// What it is and was.
fn verdict(row: &VerdictRow, theme: Theme) -> Line<'static> {
    let (sign, style) = theme.verdict(row.now, row.under_way);
    let now = format!("{sign} {}", words(row.now));
    // Beside the label of a person it matters whether the verdict agrees with it, which the next line says.
    let style = if row.label.is_some() { Style::new() } else { style };
    let mut line = Line::from(Span::styled(now, STRONG.patch(style)));
    if row.under_way {
        line.push_span(Span::styled(", a judge is being asked", theme.accent()));
    }
    if let Some(before) = row.before.filter(|before| before.is_known() && *before != row.now) {
        let (sign, style) = theme.verdict(before, false);
        line.push_span(Span::styled("   was ", theme.faint()));
        line.push_span(Span::styled(format!("{sign} {}", words(before)), style));
    }
    if row.movement.is_move() {
        let theme = if row.label.is_some() { theme.neutral() } else { theme };
        let (sign, word, style) = theme.movement(row.movement);
        let by = score_change(row).filter(|by| *by != 0.0);
        let by = by.map_or_else(String::new, |by| format!(" by {:.3}", by.abs()));
        line.push_span(Span::styled(format!("   {sign} {word}{by}"), style));
    }
    line
}

fn words(cell: Cell) -> String {
    match cell.state {
        CellState::Passed => format!("passes, {}", score(cell.score)),
        CellState::Failed => format!("fails, {}", score(cell.score)),
        CellState::Errored => "error".to_owned(),
        CellState::Pending => "not judged yet".to_owned(),
        CellState::Skipped => "not evaluated".to_owned(),
        CellState::NotApplicable => "not applicable".to_owned(),
    }
}

/// What a person says, and whether the verdict came to say the same or ceased to.
fn person(row: &VerdictRow, theme: Theme) -> Option<Line<'static>> {
    let hidden = row.hidden_label.map(|why| match why {
        HiddenLabel::Stale => "  the label of a person is of an earlier answer: it does not count",
        HiddenLabel::HeldOut => "  the label of a person is held out, and not shown",
    });
    if let Some(hidden) = hidden {
        return Some(Line::styled(hidden, theme.faint()));
    }
    let says = label(row.label?);
    let mut line = if row.disagrees {
        Line::styled(format!("≠ a person says {says}"), theme.bad())
    } else if row.now.is_verdict() {
        Line::styled(format!("✓ a person says {says}"), theme.good())
    } else {
        Line::styled(format!("  a person says {says}"), theme.faint())
    };
    if let Some(moved) = row.agreement {
        let (_, word, style) = theme.agreement(moved);
        line.push_span(Span::styled(format!("   {word}"), STRONG.patch(style)));
    }
    Some(line)
}

/// Who says what, where people differ.
fn dispute(row: &VerdictRow, theme: Theme) -> Option<Line<'static>> {
    let said = row.dispute.iter().map(|(who, says)| format!("{} {}", cut(who, 24), label(*says)));
    let said: Vec<String> = said.collect();
    let tie = if row.label.is_none() { ", a tie" } else { "" };
    let text = format!("{DISPUTED} people differ{tie}: {}", said.join(", "));
    (!said.is_empty()).then(|| Line::styled(text, theme.doubtful()))
}

struct DetailPage {
    lines: Vec<Line<'static>>,
    width: usize,
    theme: Theme,
}

impl DetailPage {
    fn title(&mut self, title: &'static str) {
        let title = Span::styled(title, STRONG.patch(self.theme.accent()));
        self.lines.extend([Line::default(), title.into()]);
    }

    fn section(&mut self, title: &'static str, text: &[(String, Style)]) {
        self.title(title);
        self.lines.extend(flowed(text, self.width));
    }

    fn text(&mut self, title: &'static str, text: &str, style: Style) {
        let (shown, left) = beginning(text);
        let shown = harmless(shown.trim_end());
        if shown.is_empty() {
            self.section(title, &[("(empty)".to_owned(), self.theme.faint())]);
        } else {
            self.section(title, &[(shown, style)]);
        }
        if left > 0 {
            let more = format!("… {} more bytes", grouped(left as u64));
            self.lines.push(Line::styled(more, self.theme.faint()));
        }
    }

    fn key(&mut self, key: &str, ingredients: &[IngredientRow], is_whole: bool) {
        let theme = self.theme;
        self.title("key");
        if let Some(title) = self.lines.last_mut() {
            let key = sanitize(key).chars().take(KEY).collect::<String>();
            title.push_span(Span::styled(format!(" {key}"), theme.faint()));
        }
        let widths = ingredients.iter().map(|row| columns(&sanitize(&row.name)));
        let width = widths.max().unwrap_or(0).min(NAME);
        for row in ingredients.iter().filter(|row| is_whole || row.is_new) {
            let name = cut(&row.name, width);
            let gap = " ".repeat(width - columns(&name) + 2);
            let preview = cut(&row.preview, self.width.saturating_sub(width + 4));
            self.lines.push(Line::from_iter([
                Span::styled(if row.is_new { "* " } else { "  " }, theme.accent()),
                Span::styled(name + &gap, if row.is_new { theme.accent() } else { theme.faint() }),
                Span::styled(preview, if row.is_new { Style::new() } else { theme.faint() }),
            ]));
        }
        if ingredients.iter().any(|row| row.is_new) {
            self.lines.push(Line::styled("* another one than before", theme.faint()));
        }
        if !is_whole && !ingredients.is_empty() {
            let all = format!("  {}: v shows all", count(ingredients.len(), "ingredient"));
            self.lines.push(Line::styled(all, theme.faint()));
        }
    }
}
