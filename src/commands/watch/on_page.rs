//! A frontend whose session pages follow too.

use std::future::Future;
use std::io;
use std::pin::Pin;

use evalrs_serve::session::SessionEvents;
use evalrs_watch::board::{Board, Display, UserCommand, WatchEvent};
use evalrs_watch::frontend::{Frontend, UserInput};
use evalrs_watch::json::JsonDisplay;

/// Shows what happens to whoever sits at the terminal, and to pages.
pub(super) struct OnPage<'c> {
    /// The terminal.
    pub terminal: Box<dyn Frontend + 'c>,
    /// The pages.
    pub pages: JsonDisplay<SessionEvents>,
}

impl Display for OnPage<'_> {
    fn event(&mut self, event: &WatchEvent, board: &dyn Board) -> io::Result<()> {
        self.terminal.display().event(event, board)?;
        self.pages.event(event, board)
    }

    fn refresh(&mut self, board: &dyn Board) -> io::Result<()> {
        self.terminal.display().refresh(board)
    }
}

impl Frontend for OnPage<'_> {
    fn display(&mut self) -> &mut dyn Display {
        self
    }

    fn input(&mut self) -> Pin<Box<dyn Future<Output = UserInput> + '_>> {
        self.terminal.input()
    }

    fn command(&mut self, input: UserInput, board: &dyn Board) -> io::Result<Option<UserCommand>> {
        self.terminal.command(input, board)
    }

    fn closing_lines(&self, board: &dyn Board) -> Vec<String> {
        self.terminal.closing_lines(board)
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.terminal.suspend()
    }

    fn resume(&mut self, board: &dyn Board) -> io::Result<()> {
        self.terminal.resume(board)
    }
}
