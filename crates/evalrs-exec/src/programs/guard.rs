//! A watchdog: a detached shell that kills what programs have started when evalrs is gone, even by SIGKILL.
//!
//! It is told through a pipe which process groups there are, and kills those that are left when the pipe closes. A process
//! that was started a moment ago may be missing in its list.
#![expect(clippy::disallowed_methods, reason = "the shell is a process that is started here")]

use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Reads `+ ID`, `- ID` and `= FOLDER`, a line each; ends the groups that remain, and removes the folder.
const SCRIPT: &str = "\
groups=' '
folder=
while read -r sign id; do
  case $sign$groups in
    =*) folder=$id ;;
    +*) groups=\"$groups$id \" ;;
    *\" $id \"*) groups=\"${groups%% $id *} ${groups#* $id }\" ;;
  esac
done
for id in $groups; do kill -s KILL -- \"-$id\"; done
case $folder in */evalrs-*) rm -rf -- \"$folder\" ;; esac";

/// The shell that outlives evalrs. Where there is none, what hangs outlives it.
#[derive(Debug)]
pub(super) struct Guard(Option<Mutex<ChildStdin>>);

impl Guard {
    /// Starts the shell, in a group of its own: what is typed at a terminal does not reach it.
    pub(super) fn start() -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT]).current_dir("/").env_clear();
        command.env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let stdin = command.spawn().ok().and_then(|child| child.stdin);
        Self(stdin.map(Mutex::new))
    }

    /// There is a group with this leader now.
    pub(super) fn watch(&self, leader: u32) {
        self.tell('+', leader);
    }

    /// There is none any more: its number may soon belong to somebody else.
    pub(super) fn forget(&self, leader: u32) {
        self.tell('-', leader);
    }

    /// This folder is ours, and is removed at the end.
    pub(super) fn remove(&self, folder: &str) {
        // One with such a name could not be told.
        if !folder.contains('\n') {
            self.tell('=', folder);
        }
    }

    fn tell(&self, sign: char, what: impl std::fmt::Display) {
        if let Some(stdin) = &self.0 {
            let mut stdin = stdin.lock().unwrap_or_else(PoisonError::into_inner);
            // Without the shell all goes on as well.
            let _ = stdin.write_all(format!("{sign} {what}\n").as_bytes());
        }
    }
}
