//! Runs an executable once: JSON to its standard input, JSON from its standard output.
//!
//! It may ignore what it is handed, leave children behind and hold its pipes open: none of that makes it fail, and none
//! of that is waited for.

use std::pin::pin;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::select;
use tokio::time::{Instant, sleep_until, timeout};

use super::command::{self, Interpreter, Surroundings, changed_meanwhile, unloadable};
use super::endings::{self, ProcessEnding, who};
use super::files;
use super::group::Group;
use super::messages;
use super::printed::StderrPrinter;
use super::supervisor;
use super::tail::{self, Tail};
use super::world::ProgramWorld;
use crate::Start;
use evalrs_model::outcome::{Failure, FailureKind, Outcome, Reply};
use evalrs_model::spec::Role;

/// The most bytes of standard output.
const MOST_OUTPUT: usize = 16 << 20;
/// How long the pipes of a process that has ended are read to their end: children that escaped may hold them open.
const GRACE: Duration = Duration::from_millis(200);
/// The code with which `env` and shells end when they do not find a program.
const NOT_FOUND: i32 = 127;

/// How often a program is run whose files are written while it runs.
const MOST_RUNS: usize = 5;

/// Runs a program, and hands it `input`. It is run again where one of its files was written meanwhile, even if that says
/// by now what it said before: what it gave may rest on what it said in between.
pub(super) async fn run(
    start: &Arc<Start>,
    surroundings: Surroundings<'_>,
    input: &str,
    world: &Arc<ProgramWorld>,
) -> Outcome {
    let mut path = start.path.as_str();
    for _ in 0..MOST_RUNS {
        let begin = files::now();
        let outcome = run_once(start, surroundings, input, world).await;
        let Some(edited) = edited(start, begin).filter(|_| outcome.is_kept()) else {
            return outcome;
        };
        path = edited;
    }
    let path = path.strip_prefix(&start.cwd).map_or(path, |rest| rest.trim_start_matches('/'));
    Outcome::Failure(changed_meanwhile(path, false))
}

async fn run_once(
    start: &Arc<Start>,
    surroundings: Surroundings<'_>,
    input: &str,
    world: &Arc<ProgramWorld>,
) -> Outcome {
    let guard = world.guard();
    let child = match surroundings.spawn(start).await {
        Ok(child) => child,
        Err(failure) => return Outcome::Failure(failure),
    };
    let group = Group::of(&child, guard);
    let tail = Arc::new(Mutex::new(Tail::of(start)));
    let limit = Duration::from_millis(start.spec.timeout_ms);
    let mut printed = StderrPrinter::of(start, world);
    let streams = Streams { tail: &tail, printed: &mut printed };
    let ended = timeout(limit, to_its_end(child, &group, streams, input)).await;
    printed.end();
    group.close();
    let stderr = tail::text_of(&tail, start);
    let failure = match ended {
        Err(_) => endings::timeout(start, stderr),
        Ok(EndedProcess { is_too_much: true, .. }) => {
            let message =
                format!("{} printed more than {} MB", who(start.spec.role), MOST_OUTPUT >> 20);
            Failure { stderr, ..Failure::new(FailureKind::OutputLimit, message) }
        }
        Ok(EndedProcess { status: Err(error), .. }) => {
            unloadable(format!("`{}` could not be waited for: {error}", start.spec.path))
        }
        Ok(EndedProcess { status: Ok(status), output, .. }) if status.success() => {
            return result_of(start, &output, stderr);
        }
        Ok(EndedProcess { status: Ok(status), .. }) => {
            let ending = ProcessEnding::of(status, surroundings.bwrap.is_some());
            not_started(start, ending, stderr.as_deref())
                .unwrap_or_else(|| endings::failure(start, ending, stderr))
        }
    };
    Outcome::Failure(failure)
}

/// The file that a program rests on and that was written since then, if one was.
fn edited(start: &Start, begin: SystemTime) -> Option<&str> {
    let mut files = std::iter::once(&start.path).chain(&start.inputs);
    files.find(|path| files::is_newer(path, begin)).map(String::as_str)
}

/// What takes what a process writes to its standard error.
struct Streams<'a> {
    tail: &'a tail::SharedTail,
    printed: &'a mut StderrPrinter,
}

struct EndedProcess {
    status: std::io::Result<ExitStatus>,
    output: Vec<u8>,
    /// Whether it printed more than it may, and was ended for that.
    is_too_much: bool,
}

/// Feeds a process and reads what it writes, all at once, until it has ended.
async fn to_its_end(
    mut child: Child,
    group: &Group,
    streams: Streams<'_>,
    input: &str,
) -> EndedProcess {
    let mut output = Vec::new();
    let mut is_too_much = false;
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let mut ended = None;
    {
        let mut feeding = pin!(command::feed(stdin, input));
        let mut reading = pin!(read(stdout, &mut output));
        let mut erring = pin!(async {
            if let Some(stderr) = stderr {
                tail::read(stderr, streams.tail, |bytes| streams.printed.see(bytes)).await;
            }
        });
        let mut is_fed = false;
        let mut is_read = false;
        let mut is_erred = false;
        let mut grace = Instant::now();
        while ended.is_none() || !(is_read && is_erred) {
            select! {
                status = child.wait(), if ended.is_none() => {
                    group.close();
                    grace = Instant::now() + GRACE;
                    ended = Some(status);
                }
                is_whole = &mut reading, if !is_read => {
                    is_read = true;
                    if !is_whole {
                        is_too_much = true;
                        group.kill();
                    }
                }
                () = &mut erring, if !is_erred => is_erred = true,
                () = &mut feeding, if !is_fed => is_fed = true,
                () = sleep_until(grace), if ended.is_some() => break,
            }
        }
    }
    EndedProcess {
        status: ended.unwrap_or_else(|| Err(std::io::Error::other("it never ended"))),
        output,
        is_too_much,
    }
}

/// Reads a stream to its end. Says whether that was within the limit.
async fn read(from: Option<impl AsyncRead + Unpin>, to: &mut Vec<u8>) -> bool {
    let Some(from) = from else { return true };
    let mut limited = from.take(MOST_OUTPUT as u64 + 1);
    loop {
        to.reserve(1 << 14);
        match limited.read_buf(to).await {
            Ok(0) | Err(_) => return to.len() <= MOST_OUTPUT,
            Ok(_) => {}
        }
    }
}

/// What an executable that succeeded printed, if it is a result.
fn result_of(start: &Start, output: &[u8], stderr: Option<String>) -> Outcome {
    if start.spec.role == Role::Tool {
        // A tool may answer anything, also nothing.
        let text = start.without_secrets(String::from_utf8_lossy(output).trim());
        return Outcome::Reply(Reply::new(text));
    }
    let Ok(text) = std::str::from_utf8(output) else {
        let text = start.without_secrets(&String::from_utf8_lossy(output));
        let shown: String = text.trim().chars().take(100).collect();
        let message = format!("{} output is not valid JSON: {shown}", who(start.spec.role));
        return Outcome::Failure(endings::invalid(message, &text, stderr));
    };
    let text = text.trim();
    if text.is_empty() {
        let message = format!("{} produced no output", who(start.spec.role));
        let failure = Failure::new(FailureKind::InvalidReply, message);
        return Outcome::Failure(Failure { stderr, ..failure });
    }
    messages::result(start, text, stderr)
}

/// The failure of a program that never began: what should have started it says so by its code. That is mended outside of
/// the suite.
fn not_started(start: &Start, ending: ProcessEnding, stderr: Option<&str>) -> Option<Failure> {
    let stderr = stderr.unwrap_or_default();
    if let Some(error) = supervisor::problem(ending, stderr) {
        return Some(command::not_started(start, &error));
    }
    if stderr.starts_with("bwrap: ") && matches!(ending, ProcessEnding::Exit(_)) {
        let path = &start.spec.path;
        return Some(unloadable(format!("bubblewrap could not start `{path}`: {stderr}")));
    }
    if ending != ProcessEnding::Exit(NOT_FOUND) {
        return None;
    }
    let Interpreter::Found(name) = command::interpreter(&command::head_of(start)?) else {
        return None;
    };
    let name = name.trim_end();
    let is_about_it = stderr.contains("env: ") && stderr.contains(name);
    let message = format!("`{}` cannot be started: `{name}` is not installed", start.spec.path);
    is_about_it.then(|| unloadable(message))
}
