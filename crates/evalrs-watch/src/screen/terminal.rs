//! The terminal around the `Screen`: taken over, rendered, and restored in any case.
//!
//! The only file of the display with effects. The terminal is given back when the value is dropped, before an editor
//! starts in it, and before the message of a panic is written.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
    EventStream, MouseEvent, MouseEventKind,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use futures_util::StreamExt;
use ratatui::backend::CrosstermBackend;

use super::Screen;
use crate::board::{Board, Display, UserCommand, WatchEvent};

/// Whether the terminal is ours now. There is one terminal, and the hook of a panic knows nothing else.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

type TerminalBackend = ratatui::Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// The full-screen display: a `Screen` on a terminal that is taken over, raw, with mouse and pasted text as events.
pub struct ScreenDisplay {
    screen: Screen,
    drawn: TerminalBackend,
    /// None while another program reads the keys.
    events: Option<EventStream>,
    /// Whether another program may have written on the terminal, so that blank cells must be rendered too.
    is_foreign: bool,
}

impl ScreenDisplay {
    /// Takes the terminal over. From then on a panic gives it back before it is told.
    pub fn enter(has_color: bool) -> io::Result<Self> {
        give_back_on_panic();
        let screen = Screen::new(has_color);
        // Dropped if the next step fails, which gives back what was taken until then.
        let mut display = Self { screen, drawn: nothing_drawn()?, events: None, is_foreign: true };
        display.take_over()?;
        Ok(display)
    }

    /// The next key, mouse event, paste or resize. None is lost if the future is dropped. While suspended there
    /// is none; an error says that there will be no more.
    pub async fn event(&mut self) -> io::Result<Event> {
        let Some(events) = &mut self.events else { return std::future::pending().await };
        events.next().await.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()))
    }

    /// See `Screen::key`; its changes are rendered at once.
    pub fn key(&mut self, event: &Event, board: &dyn Board) -> io::Result<Option<UserCommand>> {
        // Terminals tell of every column that a mouse passes.
        if let Event::Mouse(MouseEvent { kind: MouseEventKind::Moved, .. }) = event {
            return Ok(None);
        }
        if let Event::Resize(..) = event {
            self.drawn = nothing_drawn()?;
            self.is_foreign = true;
        }
        let command = self.screen.key(event, board);
        self.refresh(board)?;
        Ok(command)
    }

    /// The columns of the terminal.
    pub fn width(&self) -> usize {
        self.drawn.size().map_or(80, |size| usize::from(size.width))
    }

    /// Gives the terminal to another program: the keys are its own, and what it writes stays.
    pub fn suspend(&mut self) -> io::Result<()> {
        self.events = None;
        give_back()
    }

    /// Takes the terminal over again, and renders everything again.
    pub fn resume(&mut self, board: &dyn Board) -> io::Result<()> {
        self.take_over()?;
        self.refresh(board)
    }

    fn take_over(&mut self) -> io::Result<()> {
        take()?;
        // Not `clear`: it asks the terminal where its cursor is, and some never answer.
        self.drawn = nothing_drawn()?;
        self.events.get_or_insert_default();
        self.is_foreign = true;
        Ok(())
    }

    /// Stops the process as Ctrl-Z does where no screen is taken over: the shell has the terminal until it is continued.
    #[cfg(unix)]
    pub fn stop(&mut self, board: &dyn Board) -> io::Result<()> {
        self.suspend()?;
        // The whole group, as the terminal would do it. It returns once the process is continued, or at once where nobody
        // could continue it.
        let stopped = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
        self.resume(board)?;
        Ok(stopped?)
    }

    /// Processes cannot be stopped on this platform.
    #[cfg(not(unix))]
    pub fn stop(&mut self, board: &dyn Board) -> io::Result<()> {
        self.refresh(board)
    }
}

impl Display for ScreenDisplay {
    fn event(&mut self, event: &WatchEvent, board: &dyn Board) -> io::Result<()> {
        self.screen.event(event);
        match event {
            // Many come at once; the next refresh shows them all.
            WatchEvent::Verdict(_) => Ok(()),
            _ => self.refresh(board),
        }
    }

    /// Renders in one go on terminals that support it. Does nothing while suspended.
    fn refresh(&mut self, board: &dyn Board) -> io::Result<()> {
        if self.events.is_none() {
            return Ok(());
        }
        // A panic that was caught gave it back.
        if !IS_TAKEN.load(Ordering::SeqCst) {
            self.take_over()?;
        }
        queue!(self.drawn.backend_mut(), BeginSynchronizedUpdate)?;
        // What another program left is taken away right before the drawing: some write once more when they end, or when
        // the window gets another size.
        if std::mem::take(&mut self.is_foreign) {
            queue!(self.drawn.backend_mut(), Clear(ClearType::All))?;
        }
        let screen = &mut self.screen;
        self.drawn.draw(|frame| screen.draw(frame, board))?;
        execute!(self.drawn.backend_mut(), EndSynchronizedUpdate)
    }
}

impl Drop for ScreenDisplay {
    fn drop(&mut self) {
        self.events = None;
        // An error cannot be shown any more.
        let _ = give_back();
    }
}

/// What takes the screen for empty.
fn nothing_drawn() -> io::Result<TerminalBackend> {
    ratatui::Terminal::new(CrosstermBackend::new(BufWriter::new(io::stdout())))
}

fn take() -> io::Result<()> {
    IS_TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        Clear(ClearType::All),
        EnableMouseCapture,
        EnableBracketedPaste,
        Hide
    )
}

/// Gives back what was taken, once.
fn give_back() -> io::Result<()> {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    let mut out = io::stdout();
    let written = execute!(
        out,
        EndSynchronizedUpdate,
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    // Keys must work again even where nothing can be written.
    disable_raw_mode().and(written).and_then(|()| out.flush())
}

fn give_back_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // The message of the panic matters more.
            let _ = give_back();
            before(info);
        }));
    });
}
