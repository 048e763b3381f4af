//! Keys, mouse and pasted text: what they change on the screen, and what the user commands by them.

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use ratatui::layout::Position;
use unicode_width::UnicodeWidthChar;

use super::choice_menu::{ChoiceKind, ChoiceMenu, MenuEntry};
use super::detail::DetailView;
use super::list_title::{FILTERS, filters_of_use};
use super::scrolled::ScrolledLines;
use super::{InputMode, Screen};
use crate::board::{
    Activity, Board, LabelInput, NEXT_JUDGMENTS, UserCommand, VerdictFilter, VerdictId,
};
use evalrs_base::text::sanitize;
use evalrs_eval::label_keys::{REMOVE, TOP};
use evalrs_model::delta::CellState;
use evalrs_model::spec::LabelPick;

/// The lines that one turn of the wheel scrolls.
const WHEEL: isize = 3;

/// The lines of help that a page scrolls.
const HELP_PAGE: isize = 10;

/// The most characters of a search.
const MAX_SEARCH: usize = 200;

impl Screen {
    /// Takes one event of the terminal: changes what is seen, and reports what the user commands, if that is
    /// more.
    ///
    /// Rows are those of the last drawing: what is selected is what was seen. Draw again after each.
    pub(crate) fn key(&mut self, event: &Event, board: &dyn Board) -> Option<UserCommand> {
        let looked_at = self.list.selected().or(self.looked_at);
        let command = match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.pressed(*key, board),
            Event::Mouse(mouse) => {
                self.pointed(*mouse);
                None
            }
            Event::Paste(text) if self.mode == InputMode::Search => {
                self.typed(text, board);
                None
            }
            Event::Paste(text) if self.mode == InputMode::Choose => {
                self.menu.iter_mut().for_each(|menu| menu.typed(text));
                None
            }
            _ => None,
        };
        let now = self.list.selected();
        self.looked_at = now.or(looked_at);
        command.or_else(|| now.filter(|_| now != looked_at).map(UserCommand::Select))
    }

    fn pressed(&mut self, key: KeyEvent, board: &dyn Board) -> Option<UserCommand> {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if has_control && key.code == KeyCode::Char('c') {
            return Some(UserCommand::Interrupt);
        }
        self.message = None;
        match self.mode {
            InputMode::Search => self.searched(key.code, has_control, board),
            InputMode::Help { offset } => self.helped(key.code, offset),
            InputMode::Choose => self.chose(key.code, has_control, board),
            InputMode::Browse | InputMode::Saves if has_control => self.half_page(key.code),
            InputMode::Saves => return self.chose_save(key.code, board),
            InputMode::TakeBack(save) => return self.answered(key.code, save),
            InputMode::Browse if key.modifiers.contains(KeyModifiers::ALT) => {}
            InputMode::Browse => return self.browsed(key.code, board),
        }
        None
    }

    fn browsed(&mut self, code: KeyCode, board: &dyn Board) -> Option<UserCommand> {
        if let Some(command) = self.command_of(code, board) {
            // What is done to a verdict is looked at afterwards, wherever it is listed by then.
            if !matches!(command, UserCommand::Label { next: Some(_), .. }) {
                self.list.choose();
            }
            return Some(command);
        }
        match code {
            KeyCode::Char('?') => self.mode = InputMode::Help { offset: 0 },
            KeyCode::Char('/') => {
                self.mode = InputMode::Search;
                self.show_list();
            }
            KeyCode::Char('v') | KeyCode::Enter if self.view == DetailView::AsSent => {
                self.view = DetailView::WithList;
            }
            KeyCode::Char('v' | 'l') | KeyCode::Enter | KeyCode::Right => {
                self.list.choose();
                let is_first = self.view == DetailView::WithList;
                self.view = if is_first { DetailView::Alone } else { DetailView::AsSent };
            }
            KeyCode::Char('h') | KeyCode::Left if self.is_rubric_alone() => {
                self.shows_rubric = false;
            }
            KeyCode::Char('h') | KeyCode::Left => {
                let is_last = self.view == DetailView::AsSent;
                self.view = if is_last { DetailView::Alone } else { DetailView::WithList };
            }
            KeyCode::Char('s') => self.list_saves(board),
            KeyCode::Char('D') => self.toggle_rubric(),
            KeyCode::Esc if self.view != DetailView::WithList => self.view = DetailView::WithList,
            KeyCode::Esc if self.shows_rubric => self.shows_rubric = false,
            KeyCode::Esc => self.widen(board),
            KeyCode::Char('t') => self.choose_tag(board),
            KeyCode::Char('b') => self.choose_grader(board),
            KeyCode::Char('o') => self.reorder(true, board),
            KeyCode::Char('O') => self.reorder(false, board),
            KeyCode::Tab => self.cycle(true, board),
            KeyCode::BackTab => self.cycle(false, board),
            KeyCode::Char('J') => self.text().scroll(1),
            KeyCode::Char('K') => self.text().scroll(-1),
            KeyCode::Char(' ') => _ = self.next_unlabelled(board),
            _ => match FILTERS.iter().find(|(_, key, _)| code == KeyCode::Char(*key)) {
                Some((filter, ..)) => self.filter(*filter, board),
                None => self.moved(code),
            },
        }
        None
    }

    /// What is for the loop to do.
    fn command_of(&mut self, code: KeyCode, board: &dyn Board) -> Option<UserCommand> {
        let selected = self.list.selected();
        let is_paused = matches!(board.overview().state, Activity::Paused { .. });
        match code {
            KeyCode::Char('q') => Some(UserCommand::Quit),
            KeyCode::Char('u') => Some(UserCommand::Undo),
            KeyCode::Char('[' | ']') => self.command_of_saves(code, board),
            KeyCode::Char('e') => Some(UserCommand::Edit(selected)),
            KeyCode::Char('y') => self.label(LabelInput::Pass(true), board),
            KeyCode::Char('n') => self.label(LabelInput::Pass(false), board),
            KeyCode::Char(REMOVE) => self.label(LabelInput::Nothing, board),
            KeyCode::Char(key @ ('0'..='9' | TOP)) => self.label(LabelInput::Score(key), board),
            KeyCode::Char('r') => selected.map(UserCommand::Refresh),
            KeyCode::Char('p') => selected.map(UserCommand::Pin),
            KeyCode::Enter if is_paused => Some(UserCommand::RunRest),
            KeyCode::Char('N') if is_paused => Some(UserCommand::RunNext(NEXT_JUDGMENTS)),
            _ => None,
        }
    }

    /// The human label of the selected verdict. The next one without a label follows, unless a label is taken back.
    fn label(&mut self, label: LabelInput, board: &dyn Board) -> Option<UserCommand> {
        let row = self.list.selected()?;
        // Labels are of the answers of now.
        let overview = board.overview();
        if overview.save != overview.newest {
            self.say("u returns to the newest save; label there");
            return None;
        }
        let next = if label == LabelInput::Nothing { None } else { self.next_unlabelled(board) };
        let is_listed_for_it = self.query(overview).filter == VerdictFilter::ToLabel;
        let why = if is_listed_for_it { board.to_label(row) } else { None };
        let picked = why.unwrap_or(LabelPick::Chosen);
        Some(UserCommand::Label { row, label, picked, next })
    }

    /// Shows a sentence until the next key or save.
    pub(super) fn say(&mut self, text: &str) {
        self.message = Some(text.to_owned());
    }

    /// Selects the next verdict of the same grader that has no label, if one follows.
    fn next_unlabelled(&mut self, board: &dyn Board) -> Option<VerdictId> {
        let next = self.list.next(|id| {
            board.row(id).is_some_and(|row| {
                let is_labelled = row.label.is_some() || !row.dispute.is_empty();
                !is_labelled && row.now.state != CellState::Skipped
            })
        });
        if next.is_none() {
            self.say("no further verdict without a label in this list");
        }
        next
    }

    /// Moves through the list of verdicts or saves, or through the detail where that is alone.
    pub(crate) fn moved(&mut self, code: KeyCode) {
        let is_alone = self.view != DetailView::WithList || self.is_rubric_alone();
        let page = match self.lists_saves() {
            true => self.saves.page(),
            false if is_alone => self.text().page(),
            false => self.list.page(),
        };
        let by = match code {
            KeyCode::Down | KeyCode::Char('j') => 1,
            KeyCode::Up | KeyCode::Char('k') => -1,
            KeyCode::PageDown => page,
            KeyCode::PageUp => -page,
            KeyCode::Home | KeyCode::Char('g') => isize::MIN,
            KeyCode::End | KeyCode::Char('G') => isize::MAX,
            _ => return,
        };
        match self.lists_saves() {
            true => self.saves.go(by),
            false if is_alone => self.text().scroll(by),
            false => self.list.go(by),
        }
    }

    /// The text that is scrolled.
    pub(crate) fn text(&mut self) -> &mut ScrolledLines {
        match self.view {
            _ if self.lists_saves() => &mut self.rubric.shown,
            DetailView::AsSent => &mut self.sent.shown,
            DetailView::Alone | DetailView::WithList if self.shows_rubric => &mut self.rubric.shown,
            DetailView::Alone | DetailView::WithList => &mut self.detail.shown,
        }
    }

    fn half_page(&mut self, code: KeyCode) {
        let text = self.text();
        let half = (text.page() / 2).max(1);
        match code {
            KeyCode::Char('d') => text.scroll(half),
            KeyCode::Char('u') => text.scroll(-half),
            KeyCode::Char('f') => self.moved(KeyCode::PageDown),
            KeyCode::Char('b') => self.moved(KeyCode::PageUp),
            _ => {}
        }
    }

    fn cycle(&mut self, is_forward: bool, board: &dyn Board) {
        let overview = board.overview();
        let now = self.query(overview).filter;
        let of_use: Vec<VerdictFilter> =
            filters_of_use(now, overview).map(|(filter, ..)| *filter).collect();
        let at = of_use.iter().position(|filter| *filter == now).unwrap_or(0);
        let to = (at + if is_forward { 1 } else { of_use.len() - 1 }) % of_use.len();
        self.filter(of_use[to], board);
    }

    /// Shows the list, whatever has its place.
    fn show_list(&mut self) {
        self.view = DetailView::WithList;
        self.shows_rubric &= self.is_beside;
    }

    fn filter(&mut self, filter: VerdictFilter, board: &dyn Board) {
        self.show_list();
        if self.query(board.overview()).filter != filter {
            self.list.restart();
        }
        self.list.filter = Some(filter);
        self.list_rows(board);
    }

    fn search(&mut self, search: String, board: &dyn Board) {
        if search != self.list.choices.search {
            self.list.choices.search = search;
            self.list.forget();
            self.list_rows(board);
        }
    }

    /// Lists all that the filter lists.
    fn widen(&mut self, board: &dyn Board) {
        if self.list.choices.is_narrowed() {
            self.list.choices.widen();
            self.list_rows(board);
        }
    }

    /// Chooses the next order, or turns that of now round. What comes first by it is seen.
    fn reorder(&mut self, is_other: bool, board: &dyn Board) {
        let overview = board.overview();
        let mut query = self.query(overview);
        if is_other {
            query.next_order(overview.has_labels());
        } else {
            query.is_reversed = !query.is_reversed;
        }
        self.list.choices = query;
        self.view = DetailView::WithList;
        self.list.restart();
        self.list_rows(board);
    }

    fn choose_tag(&mut self, board: &dyn Board) {
        let facts = board.facts();
        if facts.tags.is_empty() {
            return self.say("no sample has a tag");
        }
        let tags = facts.tags.iter();
        let entries =
            tags.map(|of| MenuEntry { value: Some(of.tag.clone()), count: Some(of.samples) });
        let chosen = self.list.choices.tag.as_deref();
        self.menu = Some(ChoiceMenu::new(ChoiceKind::Tag, entries.collect(), chosen));
        self.mode = InputMode::Choose;
    }

    fn choose_grader(&mut self, board: &dyn Board) {
        let graders = board.graders();
        if graders.len() < 2 {
            return self.say("the suite has one grader");
        }
        let entries =
            graders.into_iter().map(|grader| MenuEntry { value: Some(grader), count: None });
        let chosen = self.list.choices.grader.as_deref();
        self.menu = Some(ChoiceMenu::new(ChoiceKind::Grader, entries.collect(), chosen));
        self.mode = InputMode::Choose;
    }

    /// A key while one of a menu is chosen.
    fn chose(&mut self, code: KeyCode, has_control: bool, board: &dyn Board) {
        let Some(menu) = &mut self.menu else { return };
        match code {
            KeyCode::Esc => self.mode = InputMode::Browse,
            KeyCode::Enter => {
                let Some(value) = menu.pointed().map(|entry| entry.value.clone()) else { return };
                match menu.kind {
                    ChoiceKind::Tag => self.list.choices.tag = value,
                    ChoiceKind::Grader => self.list.choices.grader = value,
                }
                self.mode = InputMode::Browse;
                self.view = DetailView::WithList;
                self.list.forget();
                self.list_rows(board);
            }
            KeyCode::Down | KeyCode::Tab => menu.go(1),
            KeyCode::Up | KeyCode::BackTab => menu.go(-1),
            KeyCode::PageDown | KeyCode::End => menu.go(isize::MAX),
            KeyCode::PageUp | KeyCode::Home => menu.go(isize::MIN),
            KeyCode::Backspace => menu.backspace(),
            KeyCode::Char(char) if !has_control => menu.typed(char.encode_utf8(&mut [0; 4])),
            _ => {}
        }
    }

    fn searched(&mut self, code: KeyCode, has_control: bool, board: &dyn Board) {
        let mut search = self.list.choices.search.clone();
        match code {
            KeyCode::Enter => self.mode = InputMode::Browse,
            KeyCode::Esc => {
                self.mode = InputMode::Browse;
                search.clear();
            }
            KeyCode::Char('u') if has_control => search.clear(),
            KeyCode::Char('w') if has_control => {
                search.truncate(search.trim_end().rfind(' ').map_or(0, |at| at + 1));
            }
            KeyCode::Char(_) if has_control => {}
            KeyCode::Char(char) => {
                self.typed(char.encode_utf8(&mut [0; 4]), board);
                return;
            }
            KeyCode::Backspace => {
                // A mark goes with the letter that it stands on.
                while search.pop().is_some_and(|char| char.width() == Some(0)) {}
            }
            KeyCode::Down | KeyCode::Up | KeyCode::PageDown | KeyCode::PageUp => self.moved(code),
            _ => {}
        }
        self.search(search, board);
    }

    /// Adds to the search.
    fn typed(&mut self, text: &str, board: &dyn Board) {
        let typed = format!("{}{}", self.list.choices.search, sanitize(text));
        self.search(typed.chars().take(MAX_SEARCH).collect(), board);
    }

    fn helped(&mut self, code: KeyCode, offset: usize) {
        let by = match code {
            KeyCode::Down | KeyCode::Char('j') => 1,
            KeyCode::Up | KeyCode::Char('k') => -1,
            KeyCode::PageDown => HELP_PAGE,
            KeyCode::PageUp => -HELP_PAGE,
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('?' | 'q') => {
                self.mode = InputMode::Browse;
                return;
            }
            _ => return,
        };
        self.mode = InputMode::Help { offset: offset.saturating_add_signed(by) };
    }

    fn pointed(&mut self, mouse: MouseEvent) {
        let at = Position::new(mouse.column, mouse.row);
        let by = match mouse.kind {
            MouseEventKind::ScrollDown => WHEEL,
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::Down(MouseButton::Left) => {
                let is_covered = matches!(self.mode, InputMode::Help { .. } | InputMode::Choose);
                if !is_covered && self.list.area.contains(at) {
                    self.list.click(at.y);
                } else if !is_covered && self.saves.area.contains(at) {
                    self.saves.click(at.y);
                }
                return;
            }
            _ => return,
        };
        if let InputMode::Help { offset } = self.mode {
            self.mode = InputMode::Help { offset: offset.saturating_add_signed(by.signum()) };
        } else if self.mode == InputMode::Choose {
            self.menu.iter_mut().for_each(|menu| menu.go(by.signum()));
        } else if self.list.area.contains(at) {
            self.list.scroll(by);
        } else if self.saves.area.contains(at) {
            self.saves.go(by.signum());
        } else if self.text().area.contains(at) {
            self.text().scroll(by);
        } else if self.metrics.area.contains(at) {
            self.metrics.offset = self.metrics.offset.saturating_add_signed(by.signum());
        }
    }
}
