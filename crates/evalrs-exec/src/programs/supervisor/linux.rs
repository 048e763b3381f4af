//! The supervisor itself, and how one is started.
#![expect(
    clippy::disallowed_methods,
    reason = "the program is started here, and the kernel lists its children"
)]

use std::ffi::OsString;
use std::io::{Error, Result, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, getppid, getrlimit,
    kill_process, kill_process_group, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setrlimit,
};
use tokio::select;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, timeout};

use super::super::busy_file::patiently;
use super::not_started::{CODE_NOT_STARTED, NOT_STARTED};

/// The first argument of a supervisor.
const WORD: &str = "supervise";
/// This binary, also where its file was replaced meanwhile.
const OWN: &str = "/proc/self/exe";
/// Makes a supervisor end everything.
pub(crate) const END: Signal = Signal::USR1;
/// How long it is tried to end what the program started. What waits for a device cannot be ended.
const TO_END: Duration = Duration::from_secs(2);
/// How long a round of that waits for the next end.
const ROUND: Duration = Duration::from_millis(10);

/// The words before a command, if this binary can supervise.
static WORDS: OnceLock<Option<[String; 3]>> = OnceLock::new();

pub(crate) fn words() -> Option<[String; 3]> {
    WORDS.get().cloned().flatten()
}

pub(super) fn supervise(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let is_supervisor = arguments.nth(1).is_some_and(|word| word == WORD);
    if !is_supervisor {
        let own = getpid();
        let can = pidfd_open(own, PidfdFlags::empty()).is_ok()
            && std::fs::metadata(OWN).is_ok_and(|file| file.is_file());
        let id = own.as_raw_nonzero().to_string();
        WORDS.get_or_init(|| can.then(|| [OWN.to_owned(), WORD.to_owned(), id]));
        return None;
    }
    let wanted_by = arguments.next()?.to_str()?.parse().ok().and_then(Pid::from_raw)?;
    let command: Vec<OsString> = arguments.collect();
    Some(match run(wanted_by, &command) {
        Ok(Some(status)) => end_like(status),
        Ok(None) => ExitCode::FAILURE,
        Err(error) => {
            let code = error.raw_os_error().unwrap_or_default();
            // Where nobody reads it there is nobody to be told.
            let _ = writeln!(std::io::stderr(), "{NOT_STARTED}{code}");
            ExitCode::from(u8::try_from(CODE_NOT_STARTED).unwrap_or(u8::MAX))
        }
    })
}

fn run(wanted_by: Pid, command: &[OsString]) -> Result<Option<WaitStatus>> {
    set_child_subreaper(Some(getpid()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut ended = signal(SignalKind::child())?;
        let mut told_to_end = signal(SignalKind::from_raw(END.as_raw()))?;
        let mut told_to_stop = signal(SignalKind::terminate())?;
        // Also sent when the thread ends that started this, which is the one that every program of its executor ends with.
        set_parent_process_death_signal(Some(END))?;
        if getppid() != Some(wanted_by) {
            return Ok(None);
        }
        let program = start(command).await?;
        let mut children = Children { program, status: None };
        // Where that fails they end with this process.
        let _ = let_go_of_streams();
        while !children.reap() && children.status.is_none() {
            select! {
                biased;
                _ = told_to_end.recv() => break,
                _ = told_to_stop.recv() => {
                    // That it has just ended is as good.
                    let _ = kill_process_group(program, Signal::TERM);
                }
                _ = ended.recv() => {}
            }
        }
        let until = Instant::now() + TO_END;
        while !children.reap() && Instant::now() < until {
            children.kill();
            // Whoever ends leaves its own children to this process.
            let _ = timeout(ROUND, ended.recv()).await;
        }
        Ok(children.status)
    })
}

/// Starts the program at the head of a group of its own.
async fn start(words: &[OsString]) -> Result<Pid> {
    let (program, arguments) = words.split_first().ok_or(Error::from_raw_os_error(2))?;
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    let child = patiently(|| command.spawn()).await?;
    Ok(Pid::from_child(&child))
}

/// Closes the pipes of the program here: they end when it closes them.
fn let_go_of_streams() -> Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// The program, and processes that became children of this one because their parent has ended.
struct Children {
    program: Pid,
    status: Option<WaitStatus>,
}

impl Children {
    /// Takes note of those that have ended. Says whether none is left.
    fn reap(&mut self) -> bool {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((child, status))) if child == self.program => {
                    self.status = Some(status);
                }
                Ok(Some(_)) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Kills them. Until they are reaped their numbers are theirs.
    fn kill(&self) {
        if self.status.is_none() {
            let _ = kill_process_group(self.program, Signal::KILL);
        }
        for child in children() {
            let _ = kill_process(child, Signal::KILL);
        }
    }
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero();
    let listed = std::fs::read_to_string(format!("/proc/self/task/{own}/children"));
    let numbers: Vec<i32> = match listed {
        Ok(listed) => listed.split_whitespace().filter_map(|id| id.parse().ok()).collect(),
        // Not every kernel keeps such a list.
        Err(_) => children_among_all(own.get()),
    };
    numbers.into_iter().filter_map(Pid::from_raw).collect()
}

/// The processes of which the `parent` is this, of all that there are.
fn children_among_all(parent: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The name of a program stands in brackets and may hold anything.
        let rest = stat.rsplit(") ").next().unwrap_or_default();
        rest.split(' ').nth(1).and_then(|it| it.parse().ok()) == Some(parent)
    })
    .collect()
}

fn end_like(status: WaitStatus) -> ExitCode {
    if let Some(signal) = status.terminating_signal() {
        let limit = getrlimit(Resource::Core);
        // What there is to be seen was written of the program.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), ..limit });
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
    }
    ExitCode::from(status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::children_among_all;

    #[test]
    fn children_are_found_without_a_list_of_them() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let found = children_among_all(own).contains(&i32::try_from(child.id()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found);
    }
}
