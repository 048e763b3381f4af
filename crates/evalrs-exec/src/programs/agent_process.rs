//! Runs the process of an agent: its lines are read as they come, and it is ended gently.
//!
//! Unlike a grader it may take minutes, write much, and leave children behind. When its time is up, or nobody wants more
//! of it, its whole group is asked to end, and killed after a grace period.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdout};
use tokio::select;
use tokio::time::{sleep, timeout};

use super::command::{self, Surroundings, unloadable};
use super::endings::ProcessEnding;
use super::executor::ProgramExecutor;
use super::group::Group;
use super::printed::StderrPrinter;
use super::supervisor;
use super::tail::{self, Tail};
use crate::Start;
use evalrs_eval::target::answer::AgentExit;
use evalrs_model::outcome::Failure;

/// The most bytes that an agent may write to its standard output in one run.
const MOST_OUTPUT: usize = 64 << 20;
/// The longest line of it; what is longer is taken in parts.
const MOST_LINE: usize = 16 << 20;
/// How long an agent may take to end after it has reported its result.
const TO_END: Duration = Duration::from_secs(1);
/// How long it may take to end after a request to do so.
const TO_OBEY: Duration = Duration::from_secs(2);
/// How long the pipes of a process that has ended are read to their end.
const GRACE: Duration = Duration::from_millis(200);

/// One run of an agent.
#[derive(Debug)]
pub struct AgentRun<'a> {
    /// How it is started; the folder it runs in and its arguments among that.
    pub start: &'a Arc<Start>,
    /// What is written to its standard input, which is closed then.
    pub input: &'a str,
    /// How long it may take.
    pub timeout: Duration,
}

/// How a run ended.
#[derive(Debug)]
pub struct AgentEnd {
    /// Its exit.
    pub exit: AgentExit,
    /// The end of its standard error, without secrets.
    pub stderr: Option<String>,
    /// How it ended, as part of a sentence: `exited with code 1`.
    pub said: String,
    /// Whether it wrote more than it may, and was ended for that.
    pub(crate) wrote_too_much: bool,
}

/// What is done with each line: it may say that it wants no more of them.
pub(crate) type OnLine<'a> = &'a mut (dyn FnMut(&str) -> ControlFlow<()> + 'a);

impl ProgramExecutor {
    /// Runs an agent and hands over its lines without their ends, the last one also where it has none.
    pub async fn run_agent(
        &self,
        run: AgentRun<'_>,
        on_line: OnLine<'_>,
    ) -> Result<AgentEnd, Failure> {
        let AgentRun { start, input, timeout: limit } = run;
        let bwrap = self.world.bwrap_for(start).await?;
        let surroundings =
            Surroundings { environment: &self.world.environment, bwrap, worker: None };
        let guard = self.world.guard();
        let mut child = surroundings.spawn(start).await?;
        let group = Group::of(&child, guard);
        let tail = Arc::new(Mutex::new(Tail::of(start)));
        let printed = RefCell::new(StderrPrinter::of(start, &self.world));
        let mut lines = LineReading { start, rest: Vec::new(), bytes: 0, on_line };
        let stdin = child.stdin.take();
        let mut stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let mut feeding = pin!(command::feed(stdin, input));
        let mut erring = pin!(async {
            if let Some(stderr) = stderr {
                tail::read(stderr, &tail, |bytes| printed.borrow_mut().see(bytes)).await;
            }
        });
        let mut is_fed = false;
        let mut is_erred = false;
        let read = {
            let mut reading = pin!(timeout(limit, lines.read(stdout.as_mut(), &mut child)));
            loop {
                select! {
                    read = &mut reading => break read,
                    () = &mut feeding, if !is_fed => is_fed = true,
                    () = &mut erring, if !is_erred => is_erred = true,
                }
            }
        };
        let timed_out = read.is_err();
        let wrote_too_much = matches!(read, Ok(OutputEnd::TooMuch));
        let ending = {
            let mut ending = pin!(end(&mut child, &group, timed_out || wrote_too_much));
            let mut draining = pin!(drain(stdout));
            let mut is_drained = false;
            loop {
                select! {
                    ending = &mut ending => break ending,
                    () = &mut draining, if !is_drained => is_drained = true,
                    () = &mut erring, if !is_erred => is_erred = true,
                }
            }
        };
        if !is_erred {
            let _ = timeout(GRACE, erring).await;
        }
        printed.borrow_mut().end();
        group.close();
        let ending = ending.map_err(|error| {
            unloadable(format!("`{}` could not be waited for: {error}", start.spec.shown()))
        })?;
        let stderr = tail::text_of(&tail, start);
        let problem =
            ending.and_then(|it| supervisor::problem(it, stderr.as_deref().unwrap_or_default()));
        if let Some(error) = problem {
            return Err(command::not_started(start, &error));
        }
        Ok(AgentEnd {
            exit: AgentExit { code: ending.map(exit_code), timed_out },
            stderr,
            said: ending.map_or_else(|| "was still running".to_owned(), ProcessEnding::said),
            wrote_too_much,
        })
    }
}

/// The code of an ending, as shells tell it.
fn exit_code(ending: ProcessEnding) -> i32 {
    match ending {
        ProcessEnding::Exit(code) => code,
        ProcessEnding::Signal(signal) => 128 + signal,
    }
}

/// Waits for a process to end, and sees to it that it does. None if it was still running a moment after its result: its
/// exit says nothing then.
async fn end(
    child: &mut Child,
    group: &Group,
    is_late: bool,
) -> std::io::Result<Option<ProcessEnding>> {
    if !is_late && let Ok(status) = timeout(TO_END, child.wait()).await {
        return status.map(|status| Some(ProcessEnding::of(status, false)));
    }
    group.terminate();
    let status = match timeout(TO_OBEY, child.wait()).await {
        Ok(status) => status,
        Err(_) => {
            group.kill();
            child.wait().await
        }
    };
    let ending = status.map(|status| ProcessEnding::of(status, false))?;
    Ok(is_late.then_some(ending))
}

/// Reads what nobody wants any more: a process that writes into a closed pipe is killed for it.
async fn drain(stdout: Option<ChildStdout>) {
    let Some(mut stdout) = stdout else { return };
    let mut chunk = vec![0; 1 << 16];
    while stdout.read(&mut chunk).await.is_ok_and(|count| count > 0) {}
}

enum OutputEnd {
    /// At the end of the output, or when no more lines were wanted.
    End,
    TooMuch,
}

/// Cuts output into lines.
struct LineReading<'a> {
    start: &'a Start,
    rest: Vec<u8>,
    bytes: usize,
    on_line: OnLine<'a>,
}

impl LineReading<'_> {
    /// Reads until the end, until no more is wanted, or until a moment after the process has ended: children that it left
    /// behind may hold its output open.
    async fn read(&mut self, stdout: Option<&mut ChildStdout>, child: &mut Child) -> OutputEnd {
        let Some(stdout) = stdout else { return OutputEnd::End };
        let mut chunk = vec![0; 1 << 16];
        let mut grace = pin!(async {
            let _ = child.wait().await;
            sleep(GRACE).await;
        });
        loop {
            let count = select! {
                biased;
                count = stdout.read(&mut chunk) => count.unwrap_or(0),
                () = &mut grace => 0,
            };
            if count == 0 {
                self.finish();
                return OutputEnd::End;
            }
            self.bytes += count;
            if self.bytes > MOST_OUTPUT {
                return OutputEnd::TooMuch;
            }
            if self.take(&chunk[..count]).is_break() {
                return OutputEnd::End;
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        for byte in bytes {
            if *byte != b'\n' && self.rest.len() < MOST_LINE {
                self.rest.push(*byte);
                continue;
            }
            if *byte != b'\n' {
                self.rest.push(*byte);
            }
            self.hand_over()?;
        }
        ControlFlow::Continue(())
    }

    fn hand_over(&mut self) -> ControlFlow<()> {
        let line = std::mem::take(&mut self.rest);
        // What an agent prints is kept: no secret that it was handed is.
        let line = self.start.without_secrets(&String::from_utf8_lossy(&line));
        (self.on_line)(line.strip_suffix('\r').unwrap_or(&line))
    }

    /// The last line, where it has no end.
    fn finish(&mut self) {
        if !self.rest.is_empty() {
            let _ = self.hand_over();
        }
    }
}
