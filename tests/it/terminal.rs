//! A terminal to run the binary in: a test sees what stands on it, presses keys, turns its wheel and makes it smaller.
//!
//! It knows nothing of what it shows. Nothing here sleeps: whoever waits for a screen is woken by what is drawn. A frame
//! that the program draws as one synchronized update is seen as a whole or not at all.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use vt100::{Color, MouseProtocolEncoding, MouseProtocolMode};

use crate::judge::PATIENCE;
use crate::space::{Running, Space};

/// Keys as a terminal sends them.
pub(crate) mod key {
    /// Enter.
    pub(crate) const ENTER: &str = "\r";
    /// Escape. What is pressed before the program took it is read together with it, as another key.
    pub(crate) const ESC: &str = "\u{1b}";
    /// Tab.
    pub(crate) const TAB: &str = "\t";
    /// Backspace.
    pub(crate) const BACKSPACE: &str = "\u{7f}";
    /// Arrow up.
    pub(crate) const UP: &str = "\u{1b}[A";
    /// Arrow down.
    pub(crate) const DOWN: &str = "\u{1b}[B";
    /// Arrow right.
    pub(crate) const RIGHT: &str = "\u{1b}[C";
    /// Arrow left.
    pub(crate) const LEFT: &str = "\u{1b}[D";
    /// Page up.
    pub(crate) const PAGE_UP: &str = "\u{1b}[5~";
    /// Page down.
    pub(crate) const PAGE_DOWN: &str = "\u{1b}[6~";
    /// End.
    pub(crate) const END: &str = "\u{1b}[F";
    /// Ctrl-C.
    pub(crate) const CTRL_C: &str = "\u{3}";
    /// Stop, to be continued.
    pub(crate) const CTRL_Z: &str = "\u{1a}";
}

/// What a terminal does beyond drawing.
#[derive(Default)]
struct Host {
    /// What it has to answer to the program.
    replies: Vec<u8>,
    /// Whether a frame was begun and is not finished yet.
    is_drawing: bool,
}

impl vt100::Callbacks for Host {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        mark: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        command: char,
    ) {
        match (mark, params, command) {
            (Some(b'?'), [[2026]], 'h') => self.is_drawing = true,
            (Some(b'?'), [[2026]], 'l') => self.is_drawing = false,
            // Where the cursor is.
            (None, [[6]], 'n') => {
                let (row, column) = screen.cursor_position();
                self.replies.extend(format!("\u{1b}[{};{}R", row + 1, column + 1).bytes());
            }
            _ => {}
        }
    }
}

/// What stands on a terminal.
struct Glass {
    parser: vt100::Parser<Host>,
    /// Whether nobody can write to it any more.
    is_over: bool,
}

impl Glass {
    /// Row by row, without the blanks at the ends.
    fn text(&self) -> String {
        let screen = self.parser.screen();
        let (_, columns) = screen.size();
        let rows: Vec<String> =
            screen.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }
}

struct Shared {
    glass: Mutex<Glass>,
    changed: Condvar,
    keyboard: Mutex<Box<dyn Write + Send>>,
}

impl Shared {
    fn glass(&self) -> MutexGuard<'_, Glass> {
        self.glass.lock().unwrap()
    }

    fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        let mut keyboard = self.keyboard.lock().unwrap();
        keyboard.write_all(bytes)?;
        keyboard.flush()
    }

    /// Shows what the program writes until nobody has the terminal open any more.
    fn follow(&self, mut written: impl Read) {
        let mut bytes = [0; 4096];
        loop {
            let read = written.read(&mut bytes).unwrap_or(0);
            let mut glass = self.glass();
            glass.parser.process(&bytes[..read]);
            glass.is_over = read == 0;
            let replies = std::mem::take(&mut glass.parser.callbacks_mut().replies);
            self.changed.notify_all();
            drop(glass);
            // A program that is gone needs no reply.
            if read == 0 || (!replies.is_empty() && self.write(&replies).is_err()) {
                return;
            }
        }
    }
}

/// A program in a terminal of its own; it is killed with the test.
pub(crate) struct Terminal {
    running: Running,
    shared: Arc<Shared>,
    master: Box<dyn MasterPty>,
    /// The modes of the line before the program had it.
    modes: String,
}

impl Terminal {
    /// Starts the binary as [`Space::command`] does, in a terminal of so many rows and columns.
    pub(crate) fn start(
        space: &Space,
        size: (u16, u16),
        args: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut command = space.command(args);
        command.envs(environment.iter().copied());
        Self::of(&command, size)
    }

    /// Starts a program with nothing but the environment that `command` names.
    pub(crate) fn of(command: &Command, (rows, columns): (u16, u16)) -> Self {
        let pair = native_pty_system().openpty(pty_size(rows, columns)).unwrap();
        let modes = modes(pair.master.as_ref());
        let child = pair.slave.spawn_command(builder(command)).unwrap();
        // As long as it is open here, the end of the program is not the end of what it writes.
        drop(pair.slave);
        let child: Box<dyn portable_pty::Child> = child;
        let Ok(child) = child.downcast::<std::process::Child>() else {
            panic!("the program is no process of this system")
        };
        let (rows, columns) = (nonzero(rows), nonzero(columns));
        let parser = vt100::Parser::new_with_callbacks(rows, columns, 0, Host::default());
        let shared = Arc::new(Shared {
            glass: Mutex::new(Glass { parser, is_over: false }),
            changed: Condvar::new(),
            keyboard: Mutex::new(pair.master.take_writer().unwrap()),
        });
        let (written, reading) = (pair.master.try_clone_reader().unwrap(), Arc::clone(&shared));
        std::thread::spawn(move || reading.follow(written));
        Self { running: Running::of(*child), shared, master: pair.master, modes }
    }

    /// What stands there now, without the blanks at the ends of rows and of the screen.
    pub(crate) fn screen(&self) -> String {
        self.shared.glass().text()
    }

    /// Waits until `text` stands in one row, and returns the screen.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        self.wait_until(&format!("`{text}`"), |screen| screen.contains(text))
    }

    /// Waits until `holds` of the screen, and returns it. `what` says what is waited for.
    pub(crate) fn wait_until(&mut self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let is_so = |glass: &Glass| {
            let is_whole = !glass.parser.callbacks().is_drawing || glass.is_over;
            is_whole && holds(&glass.text())
        };
        let waits = |glass: &mut Glass| !glass.is_over && !is_so(glass);
        let glass = self.shared.glass();
        let waited = self.shared.changed.wait_timeout_while(glass, PATIENCE, waits);
        let (glass, _) = waited.unwrap();
        let (found, is_over, screen) = (is_so(&glass), glass.is_over, glass.text());
        drop(glass);
        let end = if is_over { "the program ended" } else { "waited in vain" };
        assert!(found, "{end}: {what} never stood on the screen:\n{screen}\n");
        screen
    }

    /// Presses keys: see [`key`], and letters as they are.
    pub(crate) fn press(&mut self, keys: &str) {
        self.shared.write(keys.as_bytes()).unwrap();
    }

    /// Makes the terminal another size.
    pub(crate) fn resize(&mut self, rows: u16, columns: u16) {
        self.shared.glass().parser.set_size(nonzero(rows), nonzero(columns));
        self.master.resize(pty_size(rows, columns)).unwrap();
    }

    /// Turns the wheel away from the user, with the pointer at this cell (from 0).
    pub(crate) fn wheel_up(&mut self, row: u16, column: u16) {
        self.turn(64, row, column);
    }

    /// Turns the wheel towards the user, with the pointer at this cell (from 0).
    pub(crate) fn wheel_down(&mut self, row: u16, column: u16) {
        self.turn(65, row, column);
    }

    fn turn(&mut self, button: u8, row: u16, column: u16) {
        let asked = {
            let glass = self.shared.glass();
            let screen = glass.parser.screen();
            (screen.mouse_protocol_mode(), screen.mouse_protocol_encoding())
        };
        assert!(
            asked.0 != MouseProtocolMode::None && asked.1 == MouseProtocolEncoding::Sgr,
            "the program does not listen to the mouse: {asked:?}"
        );
        self.press(&format!("\u{1b}[<{button};{};{}M", column + 1, row + 1));
    }

    /// Whether anything stands there in colour.
    pub(crate) fn colors(&self) -> bool {
        let glass = self.shared.glass();
        let screen = glass.parser.screen();
        let (rows, columns) = screen.size();
        let mut cells = (0..rows.get())
            .flat_map(|row| (0..columns.get()).filter_map(move |column| screen.cell(row, column)));
        cells.any(|cell| [cell.fgcolor(), cell.bgcolor()] != [Color::Default; 2])
    }

    /// Waits for its end; returns the exit code and what stands there then. The terminal must be as it was given to the
    /// program: with the cursor, without mouse and pastes, on the screen that scrolls, its line in the same modes.
    pub(crate) fn finish(mut self) -> (i32, String) {
        self.wait_end();
        let screen = self.screen();
        assert_eq!(self.left_behind(), Vec::<&str>::new(), "left behind:\n{screen}\n");
        (self.running.finish().code(), screen)
    }

    /// The same, with what a program printed: rows that are broken at the margin are one line, as when a reader copies them.
    pub(crate) fn finish_printed(mut self) -> String {
        self.wait_end();
        let printed = self.shared.glass().parser.screen().contents();
        self.finish();
        printed
    }

    fn wait_end(&mut self) {
        let waits = |glass: &mut Glass| !glass.is_over;
        let glass = self.shared.glass();
        let (glass, _) = self.shared.changed.wait_timeout_while(glass, PATIENCE, waits).unwrap();
        let (is_over, screen) = (glass.is_over, glass.text());
        drop(glass);
        assert!(is_over, "the program did not end:\n{screen}\n");
    }

    fn left_behind(&self) -> Vec<&'static str> {
        let glass = self.shared.glass();
        let screen = glass.parser.screen();
        let left = [
            (screen.alternate_screen(), "the alternate screen"),
            (screen.hide_cursor(), "a hidden cursor"),
            (screen.mouse_protocol_mode() != MouseProtocolMode::None, "mouse events"),
            (screen.bracketed_paste(), "bracketed pastes"),
            (glass.parser.callbacks().is_drawing, "a frame that was begun"),
            (modes(self.master.as_ref()) != self.modes, "other modes of the line"),
        ];
        left.into_iter().filter(|(is_left, _)| *is_left).map(|(_, what)| what).collect()
    }

    /// Kills it as the system does: it can do nothing about it.
    pub(crate) fn kill(self) {
        self.running.kill();
    }
}

fn nonzero(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).unwrap()
}

fn pty_size(rows: u16, cols: u16) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios())
}

fn builder(command: &Command) -> CommandBuilder {
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    builder.cwd(command.get_current_dir().unwrap());
    builder.env_clear();
    builder.env("TERM", "xterm-256color");
    for (name, value) in command.get_envs() {
        builder.env(name, value.unwrap());
    }
    builder
}

#[cfg(test)]
mod tests {
    use super::{Command, Terminal, key};

    /// A shell that runs `script` in a terminal of 10 rows and 40 columns.
    #[expect(clippy::disallowed_methods, reason = "a shell is a program that needs a terminal")]
    fn shell(script: &str) -> Terminal {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).current_dir("/").env("PATH", "/usr/bin:/bin");
        Terminal::of(&command, (10, 40))
    }

    #[test]
    fn what_is_drawn_stands_there_until_something_else_does() {
        let mut terminal =
            shell("printf 'one \\r\\n  two'; read line; printf '\\033[2J\\033[Hlast'; exit 7");
        assert_eq!(terminal.wait_for("two"), "one\n  two");
        terminal.press(key::ENTER);
        assert_eq!(terminal.finish(), (7, "last".to_owned()));
    }

    #[test]
    #[should_panic(expected = "the program ended: `never` never stood on the screen:\nthis did")]
    fn waiting_for_what_never_comes_ends_with_the_program() {
        shell("echo this did").wait_for("never");
    }

    #[test]
    fn keys_and_the_wheel_come_as_a_terminal_sends_them() {
        for (pressed, expected) in [
            ("q", "71"),
            (key::ENTER, "0d"),
            (key::ESC, "1b"),
            (key::TAB, "09"),
            (key::BACKSPACE, "7f"),
            (key::CTRL_C, "03"),
            (key::UP, "1b 5b 41"),
            (key::DOWN, "1b 5b 42"),
            (key::RIGHT, "1b 5b 43"),
            (key::LEFT, "1b 5b 44"),
            (key::PAGE_UP, "1b 5b 35 7e"),
            (key::PAGE_DOWN, "1b 5b 36 7e"),
        ] {
            let read = format!("echo ready; head -c {} | od -An -tx1", pressed.len());
            let mut terminal = shell(&format!("stty raw -echo; {read}; stty sane"));
            terminal.wait_for("ready");
            terminal.press(pressed);
            terminal.wait_for(expected);
        }
        let mut terminal = shell(
            "stty raw -echo; printf '\\033[?1000h\\033[?1006hready\\r\\n'; head -c 20 | tr '\\033' '~'",
        );
        terminal.wait_for("ready");
        terminal.wheel_down(2, 4);
        terminal.wheel_up(0, 0);
        terminal.wait_for("~[<65;5;3M~[<64;1;1M");
    }

    #[test]
    #[should_panic(expected = "the program does not listen to the mouse")]
    fn a_wheel_turns_nothing_in_a_program_that_knows_no_mouse() {
        let mut terminal = shell("echo ready; read line");
        terminal.wait_for("ready");
        terminal.wheel_up(0, 0);
    }

    #[test]
    fn a_program_learns_its_size_and_where_the_cursor_is() {
        let mut terminal = shell(
            "stty size; read line; stty size; read line; stty raw -echo; printf '\\033[8;5H\\033[6n'; head -c 6 | tail -c 5",
        );
        terminal.wait_for("10 40");
        terminal.resize(16, 60);
        terminal.press(key::ENTER);
        terminal.wait_for("16 60");
        terminal.press(key::ENTER);
        terminal.wait_for("[8;5R");
    }

    #[test]
    fn half_a_frame_is_not_seen() {
        let mut terminal = shell(
            "stty -echo; printf '\\033[?2026hhalf'; read line; printf ' whole\\033[?2026l'; read line",
        );
        let glass = terminal.shared.glass();
        let half = terminal.shared.changed.wait_while(glass, |glass| glass.text() != "half");
        drop(half.unwrap());
        terminal.press(key::ENTER);
        assert_eq!(terminal.wait_for("half"), "half whole");
    }

    #[test]
    fn colours_are_told_from_their_absence() {
        for (style, is_coloured) in [(31, true), (44, true), (1, false)] {
            let mut terminal = shell(&format!("printf '\\033[{style}mdrawn\\033[0m'; read line"));
            terminal.wait_for("drawn");
            assert_eq!(terminal.colors(), is_coloured, "{style}");
            terminal.kill();
        }
    }

    #[test]
    fn what_a_program_leaves_behind_is_seen() {
        for (script, expected) in [
            ("printf '\\033[?1049h\\033[?25l'; printf '\\033[?25h\\033[?1049l'", &[][..]),
            ("printf '\\033[?1049h\\033[?25l'", &["the alternate screen", "a hidden cursor"]),
            ("printf '\\033[?1000h\\033[?2004h'", &["mouse events", "bracketed pastes"]),
            ("printf '\\033[?2026h'", &["a frame that was begun"]),
            ("stty raw -echo", &["other modes of the line"]),
        ] {
            let mut terminal = shell(script);
            terminal.wait_end();
            assert_eq!(terminal.left_behind(), expected, "{script}");
        }
    }
}
