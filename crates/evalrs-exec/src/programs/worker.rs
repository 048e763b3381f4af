//! One process of a worker: its pipes, and the lines that come from it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::command::{Surroundings, WorkerPlace, unloadable};
use super::endings::{ProcessEnding, seconds};
use super::group::Group;
use super::messages::{self, LoadedMessage, WorkerMessage};
use super::printed::StderrPrinter;
use super::tail::{self, Tail};
use super::world::ProgramWorld;
use crate::Start;
use evalrs_model::outcome::Failure;
use evalrs_system::os::forget_versions;

/// The longest line, in bytes.
const LONGEST: usize = 64 << 20;
/// The bytes that are read at once.
const CHUNK: usize = 1 << 16;
/// How long a worker that closed its pipe is given to end, and its standard error to be read.
const GRACE: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    /// Ends what is left of the process when this is dropped.
    pub group: Arc<Group>,
    pub requests: ChildStdin,
    pub replies: Replies,
    tail: tail::SharedTail,
    erring: JoinHandle<()>,
    is_sandboxed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Its pipe ended.
    Ended,
    /// It answers nothing for too long.
    Silent,
    TooLong,
    Garbage(String),
}

impl Worker {
    pub(super) async fn spawn(
        start: &Arc<Start>,
        world: &Arc<ProgramWorld>,
    ) -> Result<Self, Failure> {
        let bwrap = world.bwrap_for(start).await?;
        let (entry, folder) = world.worker(start.spec.language)?;
        let own = world.stripper.first().map(String::as_str);
        let surroundings = Surroundings {
            environment: &world.environment,
            bwrap,
            worker: Some(WorkerPlace { entry: &entry, folder: &folder, own }),
        };
        let guard = world.guard();
        let mut child = surroundings.spawn(start).await?;
        let group = Arc::new(Group::of(&child, guard));
        let (Some(requests), Some(replies), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(unloadable("its worker has no pipes"));
        };
        let tail = Arc::new(Mutex::new(Tail::of(start)));
        let erring =
            tokio::spawn(forward(stderr, Arc::clone(&tail), StderrPrinter::of(start, world)));
        let replies = Replies::new(replies);
        let is_sandboxed = bwrap.is_some();
        Ok(Self { child, group, requests, replies, tail, erring, is_sandboxed })
    }

    /// Has the program loaded. Many workers may start at once, so that takes longer than a short call may.
    pub(super) async fn load(
        &mut self,
        start: &Start,
        world: &ProgramWorld,
    ) -> Result<LoadedMessage, Failure> {
        let limit_ms = start.spec.timeout_ms.max(world.least_to_load_ms);
        let limit = Duration::from_millis(limit_ms);
        let line = messages::load_line(start, &world.stripper);
        // One that does not take it says by its end what is wrong.
        let _ = self.requests.write_all(line.as_bytes()).await;
        let first = timeout(limit, async {
            while self.replies.line().is_none() {
                self.replies.read().await?;
            }
            Ok(())
        });
        let shown = start.spec.shown();
        let message = match first.await {
            Err(_) => format!("`{shown}` did not load within {}", seconds(limit_ms)),
            Ok(Err(Fault::Ended)) => {
                let said = self.ended().await;
                format!("the worker of `{shown}` {said} before it had loaded it")
            }
            Ok(Err(_)) => format!("the worker of `{shown}` does not stop writing"),
            Ok(Ok(())) => {
                let line = self.replies.next().map(<[u8]>::to_vec).unwrap_or_default();
                match WorkerMessage::read(&line) {
                    Ok(WorkerMessage { loaded: Some(loaded), .. }) => {
                        match loaded.other_version(start) {
                            None => return Ok(loaded),
                            Some(problem) => {
                                forget_versions();
                                problem
                            }
                        }
                    }
                    Ok(WorkerMessage { unloadable: Some(said), .. }) => {
                        return Err(messages::not_loaded(start, &said, self.stderr(start)));
                    }
                    Ok(_) => format!("the worker of `{shown}` did not report whether it loaded it"),
                    Err(problem) => format!("`{shown}` cannot be loaded: {problem}"),
                }
            }
        };
        let stderr = self.stderr(start);
        Err(Failure { stderr, ..unloadable(start.without_secrets(&message)) })
    }

    /// Waits a moment for the end of the process, and ends it. How that was, as part of a sentence.
    pub(super) async fn ended(&mut self) -> String {
        let status = timeout(GRACE, self.child.wait()).await;
        if status.is_ok() {
            self.group.close();
        } else {
            self.group.kill();
        }
        let _ = timeout(GRACE, &mut self.erring).await;
        match status {
            Ok(Ok(status)) => ProcessEnding::of(status, self.is_sandboxed).said(),
            Ok(Err(error)) => format!("could not be waited for: {error}"),
            Err(_) => "closed its channel".to_owned(),
        }
    }

    pub(super) async fn kill(&mut self) {
        self.group.kill();
        let _ = timeout(GRACE, self.child.wait()).await;
        let _ = timeout(GRACE, &mut self.erring).await;
    }

    /// The end of what the process wrote to its standard error.
    pub(super) fn stderr(&self, start: &Start) -> Option<String> {
        tail::text_of(&self.tail, start)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.erring.abort();
    }
}

/// Reads what a worker's program prints; says it too, line by line, where that is wanted.
async fn forward(stderr: ChildStderr, tail: tail::SharedTail, mut printed: StderrPrinter) {
    tail::read(stderr, &tail, |bytes| printed.see(bytes)).await;
    printed.end();
}

#[derive(Debug)]
pub(super) struct Replies {
    pipe: ChildStdout,
    bytes: Vec<u8>,
    /// Where the next line begins.
    begin: usize,
    /// Up to where no line break was found.
    searched: usize,
}

impl Replies {
    fn new(pipe: ChildStdout) -> Self {
        Self { pipe, bytes: Vec::new(), begin: 0, searched: 0 }
    }

    /// Reads what is there, and waits where that is nothing. Dropped half-way, it loses nothing.
    pub(super) async fn read(&mut self) -> Result<(), Fault> {
        self.bytes.drain(..self.begin);
        self.searched -= self.begin;
        self.begin = 0;
        if self.bytes.len() > LONGEST {
            return Err(Fault::TooLong);
        }
        self.bytes.reserve(CHUNK);
        match self.pipe.read_buf(&mut self.bytes).await {
            Ok(0) | Err(_) => Err(Fault::Ended),
            Ok(_) => Ok(()),
        }
    }

    /// Where the next whole line ends, if there is one.
    fn line(&mut self) -> Option<usize> {
        let found = memchr::memchr(b'\n', &self.bytes[self.searched..]);
        let end = found.map(|at| self.searched + at);
        self.searched = end.unwrap_or(self.bytes.len());
        end
    }

    /// The next whole line, if there is one.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let end = self.line()?;
        let begin = std::mem::replace(&mut self.begin, end + 1);
        self.searched = end + 1;
        Some(&self.bytes[begin..end])
    }
}
