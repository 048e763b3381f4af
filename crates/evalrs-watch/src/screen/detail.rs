//! Everything behind the selected verdict: why it is what it is, and what changed in that.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Block;

use super::changed_text::{beginning, difference, harmless};
use super::list_columns::{DISPUTED, model_and_trial, score_change};
use super::paint::{Canvas, flowed, grader_name, panel};
use super::scrolled::{ScrolledPage, ScrolledPane};
use super::theme::{STRONG, Theme, label};
use crate::board::{HiddenLabel, IngredientRow, VerdictDetail, VerdictRow};
use evalrs_base::text::{columns, count, cut, cut_middle, grouped, sanitize, score};
use evalrs_model::delta::{Cell, CellState};

/// The most columns of an ingredient's name, and how much of a key is shown.
const NAME: usize = 20;
const KEY: usize = 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct DetailPlace {
    /// Whether the list is beside it.
    pub(super) is_beside: bool,
    /// Whether its verdict is one of the list.
    pub(super) is_listed: bool,
    /// Whether it has the screen for itself, and room for all.
    pub(super) is_alone: bool,
}

/// How much is seen of the selected verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DetailView {
    /// Its detail, beside the list or below it.
    #[default]
    WithList,
    /// Its detail, in the place of the list too.
    Alone,
    /// What judges were sent about it and replied, in the place of both.
    AsSent,
}

/// A verdict, and whether all there is to say of it is shown.
#[derive(Debug, PartialEq)]
pub(super) struct ShownDetail {
    detail: VerdictDetail,
    is_whole: bool,
}

impl ScrolledPage for ShownDetail {
    fn follows(&self, before: &Self) -> bool {
        self.detail.row.id == before.detail.row.id
    }

    fn lines(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        lines(&self.detail, self.is_whole, width, theme)
    }
}

impl ScrolledPane<ShownDetail> {
    /// Renders the selected verdict beside the list or below it; none is selected without a detail.
    pub(super) fn draw_detail(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Rect,
        place: DetailPlace,
        detail: Option<VerdictDetail>,
    ) {
        let theme = canvas.theme;
        let panel = match &detail {
            Some(detail) => titled(&detail.row, area.width, place, theme),
            None => panel(area.width, place.is_beside, Line::default(), Line::default(), theme),
        };
        let page = detail.map(|detail| ShownDetail { detail, is_whole: place.is_alone });
        self.draw(canvas, area, panel, page);
    }
}

fn titled(row: &VerdictRow, width: u16, place: DetailPlace, theme: Theme) -> Block<'static> {
    let grader = Line::styled(format!(" {} ", grader_name(&row.grader, 24)), theme.faint());
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
    let before = detail.rationale_before.as_deref();
    match (&detail.rationale, before) {
        (Some(error), _) if is_error => page.text("error", error, theme.doubtful()),
        (Some(now), Some(before)) if now != before => {
            page.section("why, and what changed in it", &difference(before, now, theme));
        }
        (Some(now), _) => page.text("why", now, Style::new()),
        (None, _) => {}
    }
    if let Some(before) = before.filter(|_| is_error || detail.rationale.is_none()) {
        page.text("why, before", before, theme.faint());
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
        line.push_span(Span::styled(", judging", theme.accent()));
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

/// The human label, and whether the verdict came to say the same or ceased to.
fn person(row: &VerdictRow, theme: Theme) -> Option<Line<'static>> {
    if let Some(why) = row.hidden_label {
        let hidden = match why {
            HiddenLabel::Stale => "is stale: it is for an earlier answer",
            HiddenLabel::HeldOut => "is held out, so it is not shown",
        };
        return Some(Line::styled(format!("  the human label {hidden}"), theme.faint()));
    }
    let says = label(row.label?);
    let (sign, style) = match (row.disagrees, row.now.is_verdict()) {
        (true, _) => ("≠", theme.bad()),
        (false, true) => ("✓", theme.good()),
        (false, false) => (" ", theme.faint()),
    };
    let mut line = Line::styled(format!("{sign} human label: {says}"), style);
    if let Some(moved) = row.agreement {
        let (_, word, style) = theme.agreement(moved);
        line.push_span(Span::styled(format!("   {word}"), STRONG.patch(style)));
    }
    Some(line)
}

/// Who says what, where people differ.
fn dispute(row: &VerdictRow, theme: Theme) -> Option<Line<'static>> {
    if row.dispute.is_empty() {
        return None;
    }
    let said = row.dispute.iter().map(|(who, says)| format!("{} {}", cut(who, 24), label(*says)));
    let tie = if row.label.is_none() { ", a tie" } else { "" };
    let said = said.collect::<Vec<_>>().join(", ");
    Some(Line::styled(format!("{DISPUTED} reviewers disagree{tie}: {said}"), theme.doubtful()))
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
        let part = match harmless(shown.trim_end()) {
            empty if empty.is_empty() => ("(empty)".to_owned(), self.theme.faint()),
            shown => (shown, style),
        };
        self.section(title, &[part]);
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
            let (mark, of_name, of_preview) = if row.is_new {
                ("* ", theme.accent(), Style::new())
            } else {
                ("  ", theme.faint(), theme.faint())
            };
            self.lines.push(Line::from_iter([
                Span::styled(mark, theme.accent()),
                Span::styled(name + &gap, of_name),
                Span::styled(preview, of_preview),
            ]));
        }
        if ingredients.iter().any(|row| row.is_new) {
            self.lines.push(Line::styled("* changed", theme.faint()));
        }
        if !is_whole && !ingredients.is_empty() {
            let all = format!("  {}: v shows all", count(ingredients.len(), "ingredient"));
            self.lines.push(Line::styled(all, theme.faint()));
        }
    }
}
