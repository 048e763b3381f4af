//! The full-screen display of `evalrs watch`.
//!
//! [`Screen`] is what is seen and where one is in it: pure state, keys in, frames out, drawn from a [`Board`]. It knows
//! no terminal and no clock; [`terminal`] is the effect around it. Nothing jumps: every part has its place, whatever
//! comes in. No colour says anything that a sign or a word does not say too.

mod detail;
mod flow;
mod header;
mod help;
mod keys;
mod list;
mod metrics;
mod paint;
mod problems;
pub(crate) mod terminal;
#[cfg(test)]
mod tests;
mod theme;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use self::list::{ListContext, VerdictList};
use self::metrics::MetricsTable;
use self::paint::{Pen, lines_of, split_right};
use self::theme::{STRONG, Theme};
use super::board::{Activity, Board, Overview, VerdictFilter, VerdictId, WatchEvent};

/// Below this nothing useful can be drawn.
const MIN_SCREEN: (u16, u16) = (30, 6);

/// From this width on the detail stands beside the list, below it under it.
const WIDE_FROM: u16 = 120;

/// Below this list and detail have no room for both.
const SPLIT_FROM: (u16, u16) = (60, 11);

/// The fewest and the most columns of the list beside a detail.
const LIST: (u16, u16) = (62, 108);

/// The fewest lines of list and detail together.
const MIN_BODY: usize = 7;

/// How the screen looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenOptions {
    /// Whether colours are used. Without them text is bold, underlined or reversed at most.
    pub color: bool,
}

/// What keys mean now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum InputMode {
    #[default]
    Browse,
    /// A search is typed.
    Search,
    /// All keys are shown, from this line on.
    Help { offset: usize },
}

/// What is seen, and where one is in it.
#[derive(Debug)]
pub(crate) struct Screen {
    theme: Theme,
    mode: InputMode,
    /// Whether the detail has the place of the list too.
    is_alone: bool,
    list: VerdictList,
    /// What was selected last, should nothing be now.
    looked_at: Option<VerdictId>,
    detail: detail::DetailPane,
    metrics: MetricsTable,
    metrics_area: Rect,
    message: Option<String>,
}

impl Screen {
    /// Nothing is selected, and nobody chose a filter: until the first save it is what fails, then what moved.
    pub(crate) fn new(options: ScreenOptions) -> Self {
        Self {
            theme: Theme::new(options.color),
            mode: InputMode::default(),
            is_alone: false,
            list: VerdictList::default(),
            looked_at: None,
            detail: detail::DetailPane::default(),
            metrics: MetricsTable::default(),
            metrics_area: Rect::default(),
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
            | WatchEvent::Paused
            | WatchEvent::Evaluated
            | WatchEvent::Ended => {}
        }
    }

    /// Draws everything. The board is asked for the rows that are seen, and for one detail.
    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>, board: &dyn Board) {
        let area = frame.area();
        self.draw_into(frame.buffer_mut(), area, board);
    }

    fn draw_into(&mut self, buffer: &mut Buffer, area: Rect, board: &dyn Board) {
        let overview = board.overview();
        let filter = self.filter_of(overview);
        self.list.set(board.rows(filter, &self.list.search));
        self.list.area = Rect::default();
        self.detail.hide();
        self.metrics_area = Rect::default();
        if area.width < MIN_SCREEN.0 || area.height < MIN_SCREEN.1 {
            Pen::new(buffer, area).put("terminal too small", STRONG);
            return;
        }
        let parts = Self::parts(area, overview);
        let message = self.message.as_deref();
        header::draw(buffer, parts.header, overview, message, self.theme);
        let selected = self.list.selected().map(|id| id.grader);
        self.metrics_area = parts.metrics;
        self.follow_grader(selected, parts.metrics);
        if parts.metrics.height > 0 {
            metrics::draw(buffer, parts.metrics, overview, self.metrics, self.theme);
        }
        metrics::draw_counts(buffer, parts.counts, &overview.counts, self.theme);
        let body = self.draw_problems(buffer, parts.body, overview);
        self.draw_body(buffer, body, board);
        self.draw_last(buffer, parts.footer, overview);
        if let InputMode::Help { offset } = self.mode {
            let offset = help::draw(buffer, area, offset, self.theme);
            self.mode = InputMode::Help { offset };
        }
    }

    /// What is listed: what the user chose, or what is worth seeing.
    fn filter_of(&self, overview: &Overview) -> VerdictFilter {
        let unasked =
            if overview.newest == 0 { VerdictFilter::Failing } else { VerdictFilter::Moved };
        self.list.filter.unwrap_or(unasked)
    }

    /// Shows the grader of another selection, and leaves alone what was scrolled for the same.
    fn follow_grader(&mut self, selected: Option<usize>, area: Rect) {
        let height = usize::from(area.height).saturating_sub(1).max(1);
        if selected != self.metrics.selected {
            self.metrics.selected = selected;
            if let Some(at) = selected {
                let offset = self.metrics.offset;
                self.metrics.offset = offset.clamp((at + 1).saturating_sub(height), at);
            }
        }
    }

    /// Who gets how many lines. That depends on the size and on how many graders there are, not on what comes in.
    fn parts(area: Rect, overview: &Overview) -> ScreenAreas {
        let height = usize::from(area.height);
        let header = match height {
            28.. => 4,
            10.. => 3,
            8.. => 2,
            _ => 1,
        };
        let counts = usize::from(height >= 14);
        let room = height.saturating_sub(header + counts + 1 + MIN_BODY);
        let wanted = metrics::height(overview, area.width);
        let metrics = if height < 12 || room < 2 { 0 } else { wanted.min(room).min(height / 3) };
        let body = height - header - metrics - counts - 1;
        ScreenAreas {
            header: lines_of(area, 0, header),
            metrics: lines_of(area, header, metrics),
            counts: lines_of(area, header + metrics, counts),
            body: lines_of(area, header + metrics + counts, body),
            footer: lines_of(area, height - 1, 1),
        }
    }

    /// Draws what is wrong, if anything is, and returns the area that is left.
    fn draw_problems(&self, buffer: &mut Buffer, body: Rect, overview: &Overview) -> Rect {
        let lines = problems::lines(&overview.problems, body.width, self.theme);
        // Some results stay on the screen, unless that leaves no room to say what is wrong.
        let most = usize::from(body.height).saturating_sub(4).max(usize::from(body.height.min(5)));
        let height = problems::height(&lines, most);
        if height > 0 {
            let panel = lines_of(body, 0, height);
            problems::draw(buffer, panel, &lines, &overview.problems, self.theme);
        }
        lines_of(body, height, usize::from(body.height))
    }

    fn draw_body(&mut self, buffer: &mut Buffer, body: Rect, board: &dyn Board) {
        if body.height == 0 {
            return;
        }
        let overview = board.overview();
        let look = ListContext {
            theme: self.theme,
            filter: self.filter_of(overview),
            has_labels: metrics::has_labels(overview),
            has_graders: overview.metrics.len() > 1,
            is_open: matches!(overview.state, Activity::Planning | Activity::Asking),
        };
        let (list, detail) = self.split(body);
        if let Some(list) = list {
            self.list.draw(buffer, list, look, board);
        }
        if let Some(detail) = detail {
            let shown = self.list.selected().and_then(|id| board.detail(id));
            self.detail.draw(buffer, detail, shown, self.theme);
        }
        if let (Some(list), Some(detail)) = (list, detail)
            && list.y == detail.y
        {
            self.draw_between(buffer, Rect { x: list.right(), width: 1, ..list });
        }
    }

    /// The places of the list and of the detail.
    fn split(&self, body: Rect) -> (Option<Rect>, Option<Rect>) {
        if self.is_alone {
            return (None, Some(body));
        }
        if body.width >= WIDE_FROM {
            let width = (body.width / 20 * 11).clamp(LIST.0, LIST.1);
            let (list, detail) = split_right(body, usize::from(body.width - width - 1));
            return (Some(Rect { width, ..list }), Some(detail));
        }
        if body.width < SPLIT_FROM.0 || body.height < SPLIT_FROM.1 {
            return (Some(body), None);
        }
        let list = usize::from(body.height / 2).min(14);
        let detail = lines_of(body, list, usize::from(body.height));
        (Some(lines_of(body, 0, list)), Some(detail))
    }

    fn draw_between(&self, buffer: &mut Buffer, area: Rect) {
        for line in 0..usize::from(area.height) {
            let sign = if line == 0 { "┬" } else { "│" };
            Pen::new(buffer, lines_of(area, line, 1)).put(sign, self.theme.faint());
        }
    }

    fn draw_last(&self, buffer: &mut Buffer, area: Rect, overview: &Overview) {
        if self.mode == InputMode::Search {
            help::draw_search(buffer, area, &self.list.search, self.theme);
            return;
        }
        let now = help::HelpState {
            has_selection: self.list.selected().is_some(),
            is_alone: self.is_alone,
            has_search: !self.list.search.is_empty(),
        };
        help::draw_footer(buffer, area, overview, now, self.theme);
    }
}

/// The parts of the screen from top to bottom.
#[derive(Clone, Copy, Debug)]
struct ScreenAreas {
    header: Rect,
    metrics: Rect,
    counts: Rect,
    body: Rect,
    footer: Rect,
}
