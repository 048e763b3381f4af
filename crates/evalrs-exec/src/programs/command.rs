//! The command that starts a program, and why one could not be started.
//!
//! What the command is made of is pure; here it also becomes a process.
#![expect(
    clippy::disallowed_methods,
    reason = "processes are started here, and looked into when they are not"
)]

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};

use super::busy_file::patiently;
use super::environment;
use super::sandbox::{self, SandboxCommand};
use super::supervisor;
use crate::{Runtime, Start};
use evalrs_model::outcome::{Failure, FailureKind};

/// The error of a file that no system knows how to run.
const NO_FORMAT: i32 = 8;
/// The bytes of a file in which its interpreter is looked for.
const FIRST_LINE: u64 = 256;

/// Where a worker is, and what it calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerPlace<'a> {
    pub entry: &'a str,
    pub folder: &'a str,
    /// The file of evalrs itself, if that is known.
    pub own: Option<&'a str>,
}

/// What a program's process is made of, beside its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings<'a> {
    /// The variables that every program sees.
    pub environment: &'a BTreeMap<String, String>,
    /// Where bubblewrap is, if the program runs in a sandbox.
    pub bwrap: Option<&'a str>,
    pub worker: Option<WorkerPlace<'a>>,
}

impl Surroundings<'_> {
    fn words(&self, start: &Start) -> Vec<String> {
        let program = match self.worker {
            Some(worker) => runtime_words(start, worker.entry),
            None => {
                let runtime = start.runtime.as_ref().map(|runtime| &runtime.path);
                let path = Some(&start.path).filter(|path| !path.is_empty());
                runtime.into_iter().chain(path).chain(&start.spec.arguments).cloned().collect()
            }
        };
        let limits = sandbox::limits(start);
        let descriptors = if self.worker.is_some() { " 3>&1 1>&2 4<&0 0</dev/null" } else { "" };
        let mut words = match self.bwrap {
            Some(bwrap) => self.sandboxed(start, bwrap).prefix(&start.cwd),
            None => Vec::new(),
        };
        if !limits.is_empty() || !descriptors.is_empty() {
            let script = format!("{limits}exec \"$@\"{descriptors}");
            words.extend(["/bin/sh", "-c", &script, "sh"].map(str::to_owned));
        }
        words.extend(program);
        words
    }

    fn sandboxed<'a>(&'a self, start: &Start, bwrap: &'a str) -> SandboxCommand<'a> {
        let mut needed = sandbox::needed(start, self.environment);
        let worker = self.worker.map(|worker| [Some(worker.folder), worker.own]);
        needed.extend(worker.into_iter().flatten().flatten().map(str::to_owned));
        SandboxCommand { bwrap, hidden: sandbox::hidden(self.environment), needed }
    }

    /// Starts a process at the head of a group of its own, with pipes for all its streams.
    pub(super) async fn spawn(&self, start: &Start) -> Result<Child, Failure> {
        let words = self.words(start);
        if words.is_empty() {
            return Err(unloadable("nothing to run"));
        }
        let supervising = supervisor::words();
        let is_begun_by_another = words.len() > 1 || supervising.is_some();
        if is_begun_by_another && self.worker.is_none() {
            // Whoever stands before the program would say in its own words why that does not start.
            if let Some(problem) = problem_of(start) {
                return Err(unloadable(problem));
            }
        }
        // A supervisor that is killed could end nothing any more: it is told to.
        let is_killed = supervising.is_none();
        let words: Vec<String> = supervising.into_iter().flatten().chain(words).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&start.cwd).kill_on_drop(is_killed);
        command.env_clear().envs(environment::of(self.environment, &start.env));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        patiently(|| command.spawn()).await.map_err(|error| not_started(start, &error))
    }
}

/// Hands a process its input. It need not read it.
pub(super) async fn feed(stdin: Option<ChildStdin>, input: &str) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input.as_bytes()).await;
    }
}

pub(super) fn not_started(start: &Start, error: &std::io::Error) -> Failure {
    let problem = problem_of(start).unwrap_or_else(|| said(start, error));
    unloadable(start.without_secrets(&problem))
}

/// The command of a worker.
fn runtime_words(start: &Start, entry: &str) -> Vec<String> {
    let Some(Runtime { name, path, .. }) = &start.runtime else { return vec![entry.to_owned()] };
    let heap = start.spec.sandbox.memory.map(|bytes| (bytes >> 20).max(1));
    let mut words = vec![path.clone()];
    match name.as_str() {
        "node" => {
            // Stack traces of TypeScript then tell the lines of the user.
            words.extend(["--no-warnings", "--enable-source-maps"].map(str::to_owned));
            words.extend(heap.map(|heap| format!("--max-old-space-size={heap}")));
        }
        "deno" => {
            words.extend(["run", "-A", "--no-prompt"].map(str::to_owned));
            words.extend(heap.map(|heap| format!("--v8-flags=--max-old-space-size={heap}")));
        }
        _ => {}
    }
    words.push(entry.to_owned());
    words
}

/// A failure that has its cause outside of the suite.
pub(super) fn unloadable(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Unloadable, message)
}

/// The message for a call during which this file of its program changed. An agent may have written it.
pub fn changed_meanwhile(path: &str, is_of_target: bool) -> Failure {
    let outputs = format!("; if the agent writes it, set `outputs: [{path}]` in the target");
    let hint = if is_of_target { outputs } else { String::new() };
    unloadable(format!("`{path}` changed while the program ran: calling it again{hint}"))
}

/// What a file's first line says that runs it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Interpreter {
    File(String),
    /// A program that is looked for in `PATH`.
    Found(String),
    None,
}

pub(super) fn interpreter(head: &[u8]) -> Interpreter {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(line) = line.strip_prefix(b"#!") else { return Interpreter::None };
    // A line break of Windows is part of the name, which is then not there.
    let line = String::from_utf8_lossy(line);
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let Some(program) = words.next() else { return Interpreter::None };
    let is_env = program.rsplit('/').next() == Some("env");
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    match named.filter(|_| is_env) {
        Some(named) => Interpreter::Found(named.to_owned()),
        None => Interpreter::File(program.to_owned()),
    }
}

/// The beginning of a program's file; none where it cannot be read.
pub(super) fn head_of(start: &Start) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let file = std::fs::File::open(&start.path).ok()?;
    file.take(FIRST_LINE).read_to_end(&mut head).ok()?;
    Some(head)
}

/// What keeps a program from being started, and what helps, if that can be seen by looking.
pub(super) fn problem_of(start: &Start) -> Option<String> {
    let Start { cwd, .. } = start;
    let shown = start.spec.path.as_str();
    if !std::path::Path::new(cwd).is_dir() {
        return Some(format!("`{shown}` cannot be started: the folder `{cwd}` does not exist"));
    }
    if start.path.is_empty() {
        // What is installed is looked for when its files are read.
        return None;
    }
    let Ok(metadata) = std::fs::metadata(&start.path) else {
        return Some(format!("`{shown}` cannot be started: no such file"));
    };
    if metadata.is_dir() {
        return Some(format!("`{shown}` cannot be started: it is a folder"));
    }
    if let Some(Runtime { path, .. }) = &start.runtime {
        let is_there = std::path::Path::new(path).exists();
        return (!is_there)
            .then(|| format!("`{shown}` cannot be started: `{path}` does not exist"));
    }
    if !is_executable(&metadata) {
        return Some(format!("`{shown}` is not executable; run `chmod +x {shown}`"));
    }
    let head = head_of(start)?;
    match interpreter(&head) {
        Interpreter::File(file) if !std::path::Path::new(&file).exists() => {
            let breaks =
                if file.ends_with('\r') { ", which ends with a carriage return" } else { "" };
            let file = file.trim_end();
            Some(format!(
                "`{shown}` cannot be started: its first line names `{file}`{breaks}, which does not exist"
            ))
        }
        Interpreter::None if is_text(&head) => Some(format!(
            "`{shown}` cannot be started: its first line does not name an interpreter; begin it \
             with a line such as `#!/usr/bin/env python3`"
        )),
        _ => None,
    }
}

/// Whether the beginning of a file is that of a text rather than of a compiled program.
fn is_text(head: &[u8]) -> bool {
    !head.contains(&0) && std::str::from_utf8(head).is_ok_and(|head| !head.is_empty())
}

fn said(start: &Start, error: &std::io::Error) -> String {
    let shown = &start.spec.path;
    match error.raw_os_error() {
        Some(NO_FORMAT) => format!(
            "`{shown}` cannot be started: it is neither a script nor a program for this kind of machine"
        ),
        _ if error.kind() == ErrorKind::ExecutableFileBusy => {
            format!("`{shown}` cannot be started: it is still being written")
        }
        _ => format!("`{shown}` cannot be started: {error}"),
    }
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_metadata: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::super::test_data::{environment, function_of, start_of};
    use super::{Interpreter, Surroundings, WorkerPlace, interpreter};

    #[test]
    fn first_lines_say_what_runs_a_file() {
        let file = |path: &str| Interpreter::File(path.to_owned());
        let found = |name: &str| Interpreter::Found(name.to_owned());
        for (head, expected) in [
            ("#!/bin/sh\necho", file("/bin/sh")),
            ("#! /bin/sh -e", file("/bin/sh")),
            ("#!/bin/sh\r\n", file("/bin/sh\r")),
            ("#!/usr/bin/env python3\n", found("python3")),
            ("#!/usr/bin/env -S A=1 deno run\n", found("deno")),
            ("echo", Interpreter::None),
            ("#!\n", Interpreter::None),
        ] {
            assert_eq!(interpreter(head.as_bytes()), expected, "{head}");
        }
    }

    #[test]
    fn commands_hold_what_the_start_says() {
        let none = environment(&[]);
        let plain = Surroundings { environment: &none, bwrap: None, worker: None };
        let worker = {
            let worker = WorkerPlace { entry: "/w/worker.x", folder: "/w", own: None };
            Surroundings { worker: Some(worker), ..plain }
        };
        let limited = |runtime: &str| {
            let mut start = function_of("/s/g", (runtime, "/bin/it"));
            start.spec.sandbox.memory = Some(64 << 20);
            start
        };
        let script = r#"exec "$@" 3>&1 1>&2 4<&0 0</dev/null"#;
        let limit = "ulimit -v 65536 && ";
        for (surroundings, start, expected) in [
            (plain, start_of("/s/g"), "/s/g".to_owned()),
            (plain, function_of("/s/g", ("python", "/bin/it")), "/bin/it /s/g".to_owned()),
            (plain, limited("python"), format!(r#"/bin/sh -c {limit}exec "$@" sh /bin/it /s/g"#)),
            (
                worker,
                limited("python"),
                format!("/bin/sh -c {limit}{script} sh /bin/it /w/worker.x"),
            ),
            (
                worker,
                limited("node"),
                format!(
                    "/bin/sh -c {script} sh /bin/it --no-warnings --enable-source-maps --max-old-space-size=64 /w/worker.x"
                ),
            ),
            (
                worker,
                function_of("/s/g", ("deno", "/bin/it")),
                format!("/bin/sh -c {script} sh /bin/it run -A --no-prompt /w/worker.x"),
            ),
            (
                worker,
                function_of("/s/g", ("bun", "/bin/it")),
                format!("/bin/sh -c {script} sh /bin/it /w/worker.x"),
            ),
        ] {
            assert_eq!(surroundings.words(&start).join(" "), expected);
        }
    }
}
