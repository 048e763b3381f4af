//! The full-screen display of `evalrs watch`.
//!
//! `Screen` is what is seen and where one is in it: pure state, keys in, frames out, drawn from a [`Board`]. It knows
//! no terminal and no clock; [`terminal`] is the effect around it. Nothing jumps: every part has its place, whatever
//! comes in. No colour says anything that a sign or a word does not say too.

mod agreement;
mod agreement_columns;
mod changed_text;
mod choice_menu;
mod detail;
mod header;
mod help;
mod keys;
mod list;
mod list_columns;
mod list_title;
mod metrics;
mod paint;
mod problems;
mod rubric_pane;
mod save_keys;
mod saves_list;
mod scrolled;
mod sent;
pub mod terminal;
#[cfg(test)]
mod tests;
mod theme;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Clear;

use self::choice_menu::ChoiceMenu;
use self::detail::{DetailPlace, DetailView, ShownDetail};
use self::header::HeaderContext;
use self::list::VerdictList;
use self::list_title::{ListContext, more_labels};
use self::metrics::MetricsTable;
use self::paint::{Canvas, cut_line};
use self::rubric_pane::RubricPage;
use self::saves_list::SavesList;
use self::scrolled::ScrolledPane;
use self::sent::SentText;
use self::theme::{STRONG, Theme};
use super::board::{Board, Overview, VerdictFilter, VerdictId, WatchEvent};
use super::list_query::ListQuery;

/// Below this size nothing useful can be shown.
const MIN_SCREEN: (u16, u16) = (30, 6);

/// From this width on the detail is beside the list, below it under it.
const WIDE_FROM: u16 = 120;

/// Below this list and detail have no room for both.
const SPLIT_FROM: (u16, u16) = (60, 11);

/// The fewest and the most columns of the list beside a detail.
const LIST: (u16, u16) = (62, 108);

/// The fewest lines of list and detail together.
const MIN_BODY: u16 = 7;

/// What keys mean now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum InputMode {
    #[default]
    Browse,
    Search,
    /// All keys are shown, from this line on.
    Help {
        offset: usize,
    },
    /// One of a menu is chosen.
    Choose,
    /// Saves are listed instead of verdicts.
    Saves,
    /// The user must confirm that this save is reverted.
    TakeBack(u32),
}

/// What is seen, and where one is in it.
#[derive(Debug)]
pub(crate) struct Screen {
    theme: Theme,
    mode: InputMode,
    view: DetailView,
    list: VerdictList,
    /// What was selected last, should nothing be now.
    looked_at: Option<VerdictId>,
    detail: ScrolledPane<ShownDetail>,
    sent: ScrolledPane<SentText>,
    saves: SavesList,
    rubric: ScrolledPane<RubricPage>,
    /// Whether the changes of a save in the rubric are shown instead of the detail.
    shows_rubric: bool,
    /// Whether list and detail are side by side.
    is_beside: bool,
    metrics: MetricsTable,
    /// What is chosen from, or was last.
    menu: Option<ChoiceMenu>,
    message: Option<String>,
}

impl Screen {
    /// Nothing is selected, and nobody chose a filter: until the first save it is what fails, then what moved. Without
    /// colour text is bold, underlined or reversed at most.
    pub(crate) fn new(has_color: bool) -> Self {
        Self {
            theme: Theme::new(has_color),
            mode: InputMode::default(),
            view: DetailView::default(),
            list: VerdictList::default(),
            looked_at: None,
            detail: ScrolledPane::default(),
            sent: ScrolledPane::default(),
            saves: SavesList::default(),
            rubric: ScrolledPane::default(),
            shows_rubric: false,
            is_beside: false,
            metrics: MetricsTable::default(),
            menu: None,
            message: None,
        }
    }

    /// Remembers what is worth a sentence until the next key or save.
    pub(crate) fn event(&mut self, event: &WatchEvent) {
        match event {
            WatchEvent::Note(text) => self.message = Some(text.clone()),
            WatchEvent::Restored => self.say("the files are as they were before"),
            WatchEvent::Saved | WatchEvent::Broken => self.message = None,
            WatchEvent::Planned
            | WatchEvent::Verdict(_)
            | WatchEvent::Waiting(_)
            | WatchEvent::Paused
            | WatchEvent::Evaluated
            | WatchEvent::Ended => {}
        }
    }

    /// Renders everything. The board is asked for the rows that are seen, and for one detail.
    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, board: &dyn Board) {
        let area = frame.area();
        let canvas = &mut Canvas { buffer: frame.buffer_mut(), theme: self.theme };
        let overview = board.overview();
        self.list_rows(board);
        self.list.area = Rect::default();
        self.detail.shown.area = Rect::default();
        self.sent.shown.area = Rect::default();
        self.saves.area = Rect::default();
        self.rubric.shown.area = Rect::default();
        self.metrics.area = Rect::default();
        if area.width < MIN_SCREEN.0 || area.height < MIN_SCREEN.1 {
            let notice = Line::styled("terminal too small", STRONG);
            return canvas.render(cut_line(notice, usize::from(area.width)), area);
        }
        let [header, metrics, counts, body, footer] = areas(area, overview);
        let selected = self.list.selected().map(|id| id.grader);
        let context = HeaderContext { message: self.message.as_deref(), selected };
        header::draw(canvas, header, overview, context);
        self.metrics.area = metrics;
        self.metrics.follow(selected);
        self.metrics.draw(canvas, overview);
        let width = usize::from(area.width);
        canvas.render(metrics::counts(overview, width, self.theme), counts);
        let body = draw_problems(canvas, body, overview);
        self.is_beside = body.width >= WIDE_FROM;
        match (body.height, self.lists_saves()) {
            (0, _) => {}
            (_, true) => self.draw_saves(canvas, body, board),
            (_, false) => self.draw_body(canvas, body, board),
        }
        canvas.render(self.footer(board, width), footer);
        match (self.mode, &self.menu) {
            (InputMode::Help { offset }, _) => {
                let offset = help::draw(canvas, area, offset);
                self.mode = InputMode::Help { offset };
            }
            (InputMode::Choose, Some(menu)) => menu.draw(canvas, area),
            _ => {}
        }
    }

    /// What is listed: what the user chose, or what is worth seeing.
    fn query(&self, overview: &Overview) -> ListQuery {
        let unasked =
            if overview.save == 0 { VerdictFilter::Failing } else { VerdictFilter::Moved };
        ListQuery { filter: self.list.filter.unwrap_or(unasked), ..self.list.choices.clone() }
    }

    /// Lists the rows of now. The selected one stays.
    fn list_rows(&mut self, board: &dyn Board) {
        self.list.follow_graders(board.graders());
        let query = self.query(board.overview());
        self.list.set(board.rows(&query), |id| board.row(id).is_some());
    }

    fn draw_body(&mut self, canvas: &mut Canvas<'_>, body: Rect, board: &dyn Board) {
        if self.view == DetailView::AsSent {
            return self.draw_sent(canvas, body, board);
        }
        let overview = board.overview();
        let is_alone = self.view == DetailView::Alone || self.is_rubric_alone();
        let [list, detail] =
            if is_alone { [Rect::default(), body] } else { split(body, body.height / 2) };
        if !list.is_empty() {
            let query = self.query(overview);
            let is_to_label = query.filter == VerdictFilter::ToLabel;
            let more_labels = if is_to_label { more_labels(overview) } else { None };
            let has_models = board.facts().has_models;
            let more_labels = more_labels.as_deref();
            let look = ListContext { overview, query: &query, has_models, more_labels };
            self.list.draw(canvas, list, look, board);
        }
        let is_beside = self.is_beside && !is_alone;
        if self.shows_rubric {
            let page = RubricPage::of(overview.save, &overview.files, board);
            let panel = page.panel(detail.width, is_beside, self.theme);
            self.rubric.draw(canvas, detail, panel, Some(page));
        } else if !detail.is_empty() {
            let place = DetailPlace { is_beside, is_listed: self.list.is_listed(), is_alone };
            let shown = self.list.selected().and_then(|id| board.detail(id));
            self.detail.draw_detail(canvas, detail, place, shown);
        }
    }

    /// Renders the requests to judges about the selected verdict. It is known of the newest
    /// evaluation.
    fn draw_sent(&mut self, canvas: &mut Canvas<'_>, body: Rect, board: &dyn Board) {
        let overview = board.overview();
        let Some(row) = self.list.selected().and_then(|id| board.row(id)) else { return };
        let text = if overview.save == overview.newest {
            board.sent(row.id)
        } else {
            Some("u returns to the newest save; requests are shown there")
        };
        self.sent.draw_sent(canvas, body, &row, text);
    }

    /// The saves, and what the selected one changed in the rubric.
    fn draw_saves(&mut self, canvas: &mut Canvas<'_>, body: Rect, board: &dyn Board) {
        let saves = board.saves();
        let rows = u16::try_from(saves.len()).unwrap_or(u16::MAX).saturating_add(2);
        let [list, rubric] = split(body, (body.height / 2).min(rows.max(5)));
        self.saves.draw(canvas, list, &saves, board.overview());
        let selected = saves.iter().find(|row| row.save == self.saves.selected);
        if let Some(row) = selected.filter(|_| !rubric.is_empty()) {
            let page = RubricPage::of(row.save, &row.files, board);
            let panel = page.panel(rubric.width, self.is_beside, self.theme);
            self.rubric.draw(canvas, rubric, panel, Some(page));
        }
    }

    fn lists_saves(&self) -> bool {
        matches!(self.mode, InputMode::Saves | InputMode::TakeBack(_))
    }

    /// Whether the changes of a save in the rubric also replace the list: there is no room for both.
    fn is_rubric_alone(&self) -> bool {
        self.shows_rubric && self.view == DetailView::WithList && !self.is_beside
    }

    fn footer(&self, board: &dyn Board, width: usize) -> Line<'static> {
        let overview = board.overview();
        let theme = self.theme;
        match self.mode {
            InputMode::Search => help::search(&self.list.choices.search, width, theme),
            InputMode::TakeBack(save) => {
                help::question(save, &board.files_to_take_back(save), width, theme)
            }
            InputMode::Saves => help::saves_footer(self.saves.selected, overview, width, theme),
            InputMode::Choose => help::menu(theme),
            InputMode::Browse | InputMode::Help { .. } => {
                let now = help::HelpState {
                    has_selection: self.list.selected().is_some(),
                    view: self.view,
                    filter: self.query(overview).filter,
                    is_narrowed: self.list.choices.is_narrowed(),
                    has_tags: !board.facts().tags.is_empty(),
                    shows_rubric: self.shows_rubric,
                    is_rubric_alone: self.is_rubric_alone(),
                };
                help::footer(overview, now, width, theme)
            }
        }
    }
}

/// Renders the problems, if any, and returns the area that is left.
fn draw_problems(canvas: &mut Canvas<'_>, body: Rect, overview: &Overview) -> Rect {
    if overview.problems.is_empty() {
        return body;
    }
    // Some results stay on the screen, unless that leaves no room to say what is wrong.
    let most = body.height.saturating_sub(4).max(body.height.min(5));
    let (panel, height) = problems::panel(&overview.problems, body.width, most, canvas.theme);
    let [area, rest] = top(body, height);
    canvas.render(Clear, area);
    canvas.render(panel, area);
    rest
}

/// Header, metrics, counts, body and footer. Who gets how many lines depends on the size and on how many graders there
/// are, not on what comes in.
fn areas(area: Rect, overview: &Overview) -> [Rect; 5] {
    let height = area.height;
    let header = match height {
        28.. => 4,
        10.. => 3,
        8.. => 2,
        _ => 1,
    };
    let counts = u16::from(height >= 14);
    let room = height.saturating_sub(header + counts + 1 + MIN_BODY);
    let wanted = metrics::height(overview, area.width);
    let metrics = if height < 12 || room < 2 { 0 } else { wanted.min(room).min(height / 3) };
    Layout::vertical([
        Constraint::Length(header),
        Constraint::Length(metrics),
        Constraint::Length(counts),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area)
}

/// The areas of a list and of the part beside it or below it, where the list has this many lines; no such part where
/// there is no room for both.
fn split(body: Rect, height: u16) -> [Rect; 2] {
    if body.width >= WIDE_FROM {
        let width = (body.width / 20 * 11).clamp(LIST.0, LIST.1);
        return Layout::horizontal([Constraint::Length(width), Constraint::Fill(1)]).areas(body);
    }
    if body.width < SPLIT_FROM.0 || body.height < SPLIT_FROM.1 {
        return [body, Rect::default()];
    }
    top(body, height.min(14))
}

/// The first lines of an area, and the others.
fn top(area: Rect, height: u16) -> [Rect; 2] {
    Layout::vertical([Constraint::Length(height), Constraint::Fill(1)]).areas(area)
}
