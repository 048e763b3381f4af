//! The full-screen display of `evalrs watch`.
//!
//! `Screen` is what is seen and where one is in it: pure state, keys in, frames out, drawn from a [`Board`]. It knows
//! no terminal and no clock; [`terminal`] is the effect around it. Nothing jumps: every part has its place, whatever
//! comes in. No colour says anything that a sign or a word does not say too.

mod agreement;
mod agreement_columns;
mod changed_text;
mod choice_menu;
mod choices;
mod detail;
mod detail_view;
mod header;
mod help;
mod keys;
mod list;
mod list_columns;
mod list_context;
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
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};

use self::choice_menu::ChoiceMenu;
use self::detail::DetailPlace;
use self::detail_view::DetailView;
use self::header::HeaderContext;
use self::list::VerdictList;
use self::list_context::ListContext;
use self::list_title::more_labels;
use self::metrics::MetricsTable;
use self::paint::cut_line;
use self::rubric_pane::{RubricContext, RubricPane};
use self::saves_list::SavesList;
use self::theme::{STRONG, Theme};
use super::board::{Activity, Board, Overview, VerdictFilter, VerdictId, WatchEvent};
use super::list_query::ListQuery;

/// Below this nothing useful can be drawn.
const MIN_SCREEN: (u16, u16) = (30, 6);

/// From this width on the detail stands beside the list, below it under it.
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
    /// A search is typed.
    Search,
    /// All keys are shown, from this line on.
    Help { offset: usize },
    /// One of a menu is chosen.
    Choose,
    /// Saves are listed in place of verdicts.
    Saves,
    /// The user is asked whether to take this save back.
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
    detail: detail::DetailPane,
    sent: sent::SentPane,
    saves: SavesList,
    rubric: RubricPane,
    /// Whether what a save changed in the rubric stands in place of the detail.
    shows_rubric: bool,
    /// Whether list and detail were drawn side by side.
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
            detail: detail::DetailPane::default(),
            sent: sent::SentPane::default(),
            saves: SavesList::default(),
            rubric: RubricPane::default(),
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
            WatchEvent::Restored => {
                self.message = Some("the files are as they were before".to_owned());
            }
            WatchEvent::Saved | WatchEvent::Broken => self.message = None,
            WatchEvent::Planned
            | WatchEvent::Verdict(_)
            | WatchEvent::Waiting(_)
            | WatchEvent::Paused
            | WatchEvent::Evaluated
            | WatchEvent::Ended => {}
        }
    }

    /// Draws everything. The board is asked for the rows that are seen, and for one detail.
    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, board: &dyn Board) {
        let area = frame.area();
        let buffer = frame.buffer_mut();
        let overview = board.overview();
        let theme = self.theme;
        self.list_rows(board);
        self.list.area = Rect::default();
        self.detail.shown.area = Rect::default();
        self.sent.shown.area = Rect::default();
        self.saves.area = Rect::default();
        self.rubric.shown.area = Rect::default();
        self.metrics.area = Rect::default();
        if area.width < MIN_SCREEN.0 || area.height < MIN_SCREEN.1 {
            let notice = Line::styled("terminal too small", STRONG);
            cut_line(notice, usize::from(area.width)).render(area, buffer);
            return;
        }
        let [header, metrics, counts, body, footer] = areas(area, overview);
        let selected = self.list.selected().map(|id| id.grader);
        let context = HeaderContext { message: self.message.as_deref(), selected };
        header::draw(buffer, header, overview, context, theme);
        self.metrics.area = metrics;
        self.metrics.follow(selected);
        self.metrics.draw(buffer, overview, theme);
        let width = usize::from(area.width);
        metrics::counts(overview, width, theme).render(counts, buffer);
        let body = self.draw_problems(buffer, body, overview);
        self.is_beside = body.width >= WIDE_FROM;
        if self.lists_saves() {
            self.draw_saves(buffer, body, board);
        } else {
            self.draw_body(buffer, body, board);
        }
        self.footer(board, width).render(footer, buffer);
        match self.mode {
            InputMode::Help { offset } => {
                let offset = help::draw(buffer, area, offset, theme);
                self.mode = InputMode::Help { offset };
            }
            InputMode::Choose => {
                if let Some(menu) = &self.menu {
                    menu.draw(buffer, area, theme);
                }
            }
            InputMode::Browse | InputMode::Search | InputMode::Saves | InputMode::TakeBack(_) => {}
        }
    }

    /// What is listed: what the user chose, or what is worth seeing.
    fn query(&self, overview: &Overview) -> ListQuery {
        let unasked =
            if overview.save == 0 { VerdictFilter::Failing } else { VerdictFilter::Moved };
        self.list.choices.query(unasked)
    }

    /// Lists the rows of now. The selected one stays.
    fn list_rows(&mut self, board: &dyn Board) {
        self.list.follow_graders(board.graders());
        let query = self.query(board.overview());
        self.list.set(board.rows(&query), |id| board.row(id).is_some());
    }

    /// Draws what is wrong, if anything is, and returns the area that is left.
    fn draw_problems(&self, buffer: &mut Buffer, body: Rect, overview: &Overview) -> Rect {
        if overview.problems.is_empty() {
            return body;
        }
        // Some results stay on the screen, unless that leaves no room to say what is wrong.
        let most = body.height.saturating_sub(4).max(body.height.min(5));
        let (panel, height) = problems::panel(&overview.problems, body.width, most, self.theme);
        let [area, rest] = top(body, height);
        Clear.render(area, buffer);
        panel.render(area, buffer);
        rest
    }

    fn draw_body(&mut self, buffer: &mut Buffer, body: Rect, board: &dyn Board) {
        if body.height == 0 {
            return;
        }
        let overview = board.overview();
        let query = self.query(overview);
        let is_to_label = query.filter == VerdictFilter::ToLabel;
        let more_labels = is_to_label.then(|| more_labels(overview)).flatten();
        let look = ListContext {
            theme: self.theme,
            query: &query,
            has_labels: overview.has_labels(),
            has_disputes: overview.has_disputes(),
            has_graders: overview.metrics.len() > 1 && query.grader.is_none(),
            has_models: board.facts().has_models,
            has_saves: overview.newest > 0,
            is_open: overview.save == overview.newest
                && matches!(overview.state, Activity::Planning | Activity::Asking),
            has_no_verdicts: overview.has_no_verdicts,
            more_labels: more_labels.as_deref(),
        };
        if self.view == DetailView::AsSent {
            self.draw_sent(buffer, body, board);
            return;
        }
        let is_alone = self.view == DetailView::Alone || self.is_rubric_alone();
        let [list, detail] =
            if is_alone { [Rect::default(), body] } else { split(body, body.height / 2) };
        if !list.is_empty() {
            self.list.draw(buffer, list, look, board);
        }
        let is_beside = self.is_beside && !is_alone;
        if self.shows_rubric {
            let files = &overview.files;
            let context =
                RubricContext { save: overview.save, files, is_beside, theme: self.theme };
            self.rubric.draw(buffer, detail, context, board);
        } else if !detail.is_empty() {
            let place = DetailPlace { is_beside, is_listed: self.list.is_listed(), is_alone };
            let shown = self.list.selected().and_then(|id| board.detail(id));
            self.detail.draw(buffer, detail, place, shown, self.theme);
        }
    }

    /// Draws what judges were sent about the selected verdict. It is known of the newest evaluation.
    fn draw_sent(&mut self, buffer: &mut Buffer, body: Rect, board: &dyn Board) {
        let overview = board.overview();
        let row = self.list.selected().and_then(|id| board.row(id));
        let text = match &row {
            _ if overview.save != overview.newest => {
                Some("u goes back to the newest save; what was sent is shown there")
            }
            Some(row) => board.sent(row.id),
            None => None,
        };
        self.sent.draw(buffer, body, row.as_ref(), text, self.theme);
    }

    /// The saves, and what the selected one changed in the rubric.
    fn draw_saves(&mut self, buffer: &mut Buffer, body: Rect, board: &dyn Board) {
        if body.height == 0 {
            return;
        }
        let saves = board.saves();
        let rows = u16::try_from(saves.len()).unwrap_or(u16::MAX).saturating_add(2);
        let [list, rubric] = split(body, (body.height / 2).min(rows.max(5)));
        self.saves.draw(buffer, list, &saves, board.overview(), self.theme);
        let selected = saves.iter().find(|row| row.save == self.saves.selected);
        if let Some(row) = selected.filter(|_| !rubric.is_empty()) {
            let is_beside = self.is_beside;
            let context =
                RubricContext { save: row.save, files: &row.files, is_beside, theme: self.theme };
            self.rubric.draw(buffer, rubric, context, board);
        }
    }

    fn lists_saves(&self) -> bool {
        matches!(self.mode, InputMode::Saves | InputMode::TakeBack(_))
    }

    /// Whether what a save changed in the rubric has the place of the list too: there is no room for both.
    fn is_rubric_alone(&self) -> bool {
        self.shows_rubric && self.view == DetailView::WithList && !self.is_beside
    }

    fn footer(&self, board: &dyn Board, width: usize) -> Line<'static> {
        let overview = board.overview();
        match self.mode {
            InputMode::Search => {
                return help::search(&self.list.choices.search, width, self.theme);
            }
            InputMode::TakeBack(save) => {
                let files = board.files_to_take_back(save);
                return help::question(save, &files, width, self.theme);
            }
            InputMode::Saves => {
                return help::saves_footer(self.saves.selected, overview, width, self.theme);
            }
            InputMode::Choose => return help::menu(self.theme),
            InputMode::Browse | InputMode::Help { .. } => {}
        }
        let facts = board.facts();
        let now = help::HelpState {
            has_selection: self.list.selected().is_some(),
            view: self.view,
            filter: self.query(overview).filter,
            is_narrowed: self.list.choices.is_narrowed(),
            has_tags: !facts.tags.is_empty(),
            shows_rubric: self.shows_rubric,
            is_rubric_alone: self.is_rubric_alone(),
        };
        help::footer(overview, now, width, self.theme)
    }
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

/// The areas of a list and of what stands beside it or below it, where the list has so many lines; nothing of that where
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
