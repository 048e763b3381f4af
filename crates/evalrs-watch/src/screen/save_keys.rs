//! The keys of saves: looking at earlier ones, what each changed in the rubric, and taking one back.

use crossterm::event::KeyCode;

use super::detail::DetailView;
use super::{InputMode, Screen};
use crate::board::{Board, UserCommand, save_name};

impl Screen {
    /// What is for the loop to do of what keys say of saves.
    pub(super) fn command_of_saves(
        &mut self,
        code: KeyCode,
        board: &dyn Board,
    ) -> Option<UserCommand> {
        let overview = board.overview();
        let save = match code {
            KeyCode::Char('[') => overview.save.checked_sub(1),
            KeyCode::Char(']') => Some(overview.save + 1).filter(|save| *save <= overview.newest),
            _ => return None,
        };
        let Some(save) = save else {
            let is_start = overview.save == 0;
            self.say(if is_start {
                "the start is the first save"
            } else {
                "this is the newest save"
            });
            return None;
        };
        if self.lists_saves() {
            self.saves.selected = save;
        }
        Some(UserCommand::LookAt(save))
    }

    /// Lists saves, beginning with the one that is looked at.
    pub(super) fn list_saves(&mut self, board: &dyn Board) {
        let grader = self.list.selected().map_or(0, |id| id.grader);
        self.saves.open(board.overview(), grader);
        self.mode = InputMode::Saves;
    }

    pub(super) fn chose_save(&mut self, code: KeyCode, board: &dyn Board) -> Option<UserCommand> {
        if let Some(command) = self.command_of_saves(code, board) {
            return Some(command);
        }
        match code {
            KeyCode::Char('q') => return Some(UserCommand::Quit),
            KeyCode::Char('u') => return Some(UserCommand::Undo),
            KeyCode::Enter | KeyCode::Char('l' | 'v') | KeyCode::Right => {
                self.mode = InputMode::Browse;
                return Some(UserCommand::LookAt(self.saves.selected));
            }
            KeyCode::Char('t') => self.ask_to_take_back(board),
            KeyCode::Char('s' | 'h') | KeyCode::Esc | KeyCode::Left => {
                self.mode = InputMode::Browse;
            }
            KeyCode::Char('?') => self.mode = InputMode::Help { offset: 0 },
            KeyCode::Tab => {
                let graders = board.overview().metrics.len().max(1);
                self.saves.grader = (self.saves.grader + 1) % graders;
            }
            KeyCode::Char('J') => self.rubric.shown.scroll(1),
            KeyCode::Char('K') => self.rubric.shown.scroll(-1),
            _ => self.moved(code),
        }
        None
    }

    fn ask_to_take_back(&mut self, board: &dyn Board) {
        let save = self.saves.selected;
        if board.files_to_take_back(save).is_empty() {
            let name = save_name(save);
            self.message = Some(format!("suite and rubrics are the same as in {name}"));
        } else {
            self.mode = InputMode::TakeBack(save);
        }
    }

    /// The answer to the question whether to take a save back.
    pub(super) fn answered(&mut self, code: KeyCode, save: u32) -> Option<UserCommand> {
        match code {
            KeyCode::Char('y') => {
                self.mode = InputMode::Saves;
                return Some(UserCommand::TakeBack(save));
            }
            KeyCode::Char('n' | 'q') | KeyCode::Esc => self.mode = InputMode::Saves,
            _ => {}
        }
        None
    }

    /// Shows the changes of the save in the rubric instead of the detail, or the detail again.
    pub(super) fn toggle_rubric(&mut self) {
        self.shows_rubric = !self.shows_rubric;
        self.view = DetailView::WithList;
    }
}
