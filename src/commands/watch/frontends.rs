//! Who looks at a session: a screen, or lines for a pipe.

use std::future::Future;
use std::io::IsTerminal;
use std::pin::Pin;

use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEventKind, KeyModifiers};

use crate::cli::WatchArgs;
use evalrs_use_cases::console::Console;
use evalrs_use_cases::signals::interrupted;
use evalrs_watch::board::{Board, Display, UserCommand, WatchEvent};
use evalrs_watch::frontend::{Frontend, UserInput};
use evalrs_watch::json::JsonDisplay;
use evalrs_watch::line_input::CommandReader;
use evalrs_watch::plain::{PlainDisplay, closing_lines};
use evalrs_watch::screen::terminal::ScreenDisplay;

/// Who looks: a screen where there is one, else lines.
pub(super) fn front<'c>(
    args: &WatchArgs,
    console: &'c mut Console<'_>,
) -> std::io::Result<Box<dyn Frontend + 'c>> {
    let has_screen = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if has_screen && !args.plain && !args.json {
        let interrupted = Box::pin(interrupted());
        let display = ScreenDisplay::enter(console.has_color)?;
        return Ok(Box::new(OnScreen { display, interrupted }));
    }
    let display: Box<dyn Display + 'c> = if args.json {
        Box::new(JsonDisplay::new(&mut *console.out))
    } else {
        Box::new(PlainDisplay::new(console.out, console.width))
    };
    let requests = CommandReader::new(std::io::stdin(), args.json);
    Ok(Box::new(InLines { display, requests, interrupted: Box::pin(interrupted()) }))
}

struct OnScreen {
    display: ScreenDisplay,
    interrupted: Pin<Box<dyn Future<Output = ()>>>,
}

impl Frontend for OnScreen {
    fn display(&mut self) -> &mut dyn Display {
        &mut self.display
    }

    fn input(&mut self) -> Pin<Box<dyn Future<Output = UserInput> + '_>> {
        Box::pin(async {
            tokio::select! {
                biased;
                () = self.interrupted.as_mut() => UserInput::Interrupted,
                event = self.display.event() => event.map_or(UserInput::Interrupted, UserInput::Terminal),
            }
        })
    }

    fn command(
        &mut self,
        input: UserInput,
        board: &dyn Board,
    ) -> std::io::Result<Option<UserCommand>> {
        match input {
            UserInput::Terminal(event) if is_stop(&event) => {
                self.display.stop(board)?;
                Ok(None)
            }
            UserInput::Terminal(event) => self.display.key(&event, board),
            UserInput::Interrupted => Ok(Some(UserCommand::Interrupt)),
            UserInput::Line(_) => Ok(None),
        }
    }

    fn closing_lines(&self, board: &dyn Board) -> Vec<String> {
        closing_lines(board, self.display.width())
    }

    fn suspend(&mut self) -> std::io::Result<()> {
        self.display.suspend()
    }

    fn resume(&mut self, board: &dyn Board) -> std::io::Result<()> {
        self.display.resume(board)
    }
}

/// Whether this is Ctrl-Z: the terminal is raw, so that it is a key like others.
fn is_stop(event: &TerminalEvent) -> bool {
    let TerminalEvent::Key(key) = event else { return false };
    key.kind != KeyEventKind::Release
        && key.code == KeyCode::Char('z')
        && key.modifiers == KeyModifiers::CONTROL
}

struct InLines<'c> {
    display: Box<dyn Display + 'c>,
    requests: CommandReader,
    interrupted: Pin<Box<dyn Future<Output = ()>>>,
}

impl Frontend for InLines<'_> {
    fn display(&mut self) -> &mut dyn Display {
        self.display.as_mut()
    }

    fn input(&mut self) -> Pin<Box<dyn Future<Output = UserInput> + '_>> {
        Box::pin(async {
            tokio::select! {
                biased;
                () = self.interrupted.as_mut() => UserInput::Interrupted,
                request = self.requests.next() => UserInput::Line(request),
            }
        })
    }

    fn command(
        &mut self,
        input: UserInput,
        board: &dyn Board,
    ) -> std::io::Result<Option<UserCommand>> {
        let command = match input {
            UserInput::Interrupted => return Ok(Some(UserCommand::Interrupt)),
            UserInput::Terminal(_) => return Ok(None),
            UserInput::Line(line) => self.requests.command(&line, board),
        };
        match command {
            Ok(command) => Ok(Some(command)),
            Err(why) => self.display.event(&WatchEvent::Note(why), board).map(|()| None),
        }
    }
}
