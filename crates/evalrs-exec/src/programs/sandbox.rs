//! What keeps a program from the network and from writing: bubblewrap, and limits of the shell.
//!
//! Which command that takes is pure; whether bubblewrap holds here is tried by `probe`.
#![expect(clippy::disallowed_methods, reason = "looks what is there, and where links lead")]

pub(super) mod probe;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::Start;
use evalrs_base::file_path::folder_of;

/// Folders that a sandbox has of its own, empty: temporary files, and the sockets of services, which are reached without
/// a network.
const HIDDEN: [&str; 2] = ["/tmp", "/run"];
/// Parts of `/proc` that are settings of the whole system. Whoever runs as root outside may write them, also without any
/// capability.
const SETTINGS: [&str; 4] = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"];
/// Variables with folders that runtimes read, separated by colons.
const FOLDERS: [&str; 6] =
    ["VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH", "NODE_PATH", "DENO_DIR", "BUN_INSTALL"];

/// The words before the command of a program that runs in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SandboxCommand<'a> {
    pub bwrap: &'a str,
    /// Folders that it has of its own, empty.
    pub hidden: BTreeSet<String>,
    /// Files and folders that are read, absolute.
    pub needed: BTreeSet<String>,
}

impl SandboxCommand<'_> {
    /// The arguments before the command of a program that runs in `cwd`.
    pub(super) fn prefix(&self, cwd: &str) -> Vec<String> {
        let mut words = vec![self.bwrap];
        words.extend(["--unshare-all", "--die-with-parent", "--new-session"]);
        // Started by root, it would leave all capabilities to the program, which could undo every mount.
        words.extend(["--cap-drop", "ALL"]);
        words.extend(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        words.extend(SETTINGS.into_iter().flat_map(|path| ["--ro-bind-try", path, path]));
        // In the order of their names a folder comes before what it holds, and does not cover that.
        for path in self.hidden.union(&self.needed) {
            if self.is_bound(path) {
                words.extend(["--ro-bind-try", path, path]);
            } else if self.hidden.contains(path) {
                words.extend(["--tmpfs", path]);
            }
        }
        words.extend(["--setenv", "TMPDIR", "/tmp", "--chdir", cwd, "--"]);
        words.into_iter().map(str::to_owned).collect()
    }

    /// Whether a path is needed and would not be seen otherwise. Temporary files are never those of others.
    fn is_bound(&self, path: &String) -> bool {
        self.needed.contains(path)
            && !HIDDEN.contains(&path.as_str())
            && self.hidden.iter().any(|hidden| path == hidden || is_below(path, hidden))
    }
}

/// The folders that a sandbox hides here: those of everybody, and the home folder.
pub(super) fn hidden(environment: &BTreeMap<String, String>) -> BTreeSet<String> {
    let home = environment.get("HOME").map_or("", |home| home.trim_end_matches('/'));
    let all = HIDDEN.into_iter().chain([home]);
    // What is not there cannot be made: everything else is read-only.
    all.filter(|path| path.starts_with('/') && Path::new(path).is_dir())
        .map(str::to_owned)
        .collect()
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// What a program has to see of what a sandbox hides: its files, its folders, what runs it, and the tools in `PATH`.
pub(super) fn needed(start: &Start, environment: &BTreeMap<String, String>) -> BTreeSet<String> {
    let mut needed: BTreeSet<String> =
        [&start.workspace, &start.cwd, &start.path].map(Clone::clone).into();
    let home = environment.get("HOME").map_or("", |home| home.trim_end_matches('/'));
    if let Some(runtime) = &start.runtime {
        needed.extend(tool_of(folder_of(&runtime.path), home));
        // A runtime is often a link to where it is installed.
        if let Ok(real) = std::fs::canonicalize(&runtime.path) {
            let real = real.to_string_lossy();
            needed.extend(tool_of(folder_of(&real), home));
        }
    }
    let entries = |name: &&str| environment.get(*name).map_or("", String::as_str).split(':');
    let path = entries(&"PATH").filter_map(|folder| tool_of(folder, home));
    needed.extend(path);
    needed.extend(FOLDERS.iter().flat_map(entries).map(str::to_owned));
    let real = needed.iter().filter_map(|path| std::fs::canonicalize(path).ok());
    let real: Vec<String> = real.map(|path| path.to_string_lossy().into_owned()).collect();
    needed.extend(real);
    needed.retain(|path| path.starts_with('/'));
    needed
}

/// The folder in which a tool is installed whose program is in `folder`: `~/.pyenv` of `~/.pyenv/shims`. What stands in
/// the home folder itself is not the tool's alone.
fn tool_of(folder: &str, home: &str) -> Option<String> {
    let folder = folder.trim_end_matches('/');
    if folder == home {
        return None;
    }
    let parent = folder_of(folder);
    let is_shared =
        parent.is_empty() || parent == "/" || parent == home || HIDDEN.contains(&parent);
    let tool = if is_shared { folder } else { parent };
    (!tool.is_empty()).then(|| tool.to_owned())
}

/// What a shell does before it becomes the program, so that this keeps its limits: nothing where there are none.
pub(super) fn limits(start: &Start) -> String {
    let sandbox = &start.spec.sandbox;
    // These runtimes reserve far more addresses than they use: their heap is limited by an option.
    let runtime = start.runtime.as_ref().map_or("", |runtime| &runtime.name);
    let memory = sandbox.memory.filter(|_| !["node", "deno", "bun"].contains(&runtime));
    let memory = memory.map(|bytes| format!("ulimit -v {} && ", bytes.div_ceil(1024)));
    // At the soft limit it is told so by a signal of its own, at the hard one it is ended.
    let cpu = sandbox.cpu_seconds.map(|soft| {
        let hard = soft.saturating_add(1);
        format!("ulimit -t {hard} && ulimit -S -t {soft} && ")
    });
    memory.into_iter().chain(cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::super::test_data::{environment, function_of, start_of};
    use super::{SandboxCommand, limits, needed};

    #[test]
    fn what_is_hidden_and_needed_is_bound_read_only() {
        let set = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
        for (hidden, needed, expected) in [
            (
                set(&["/tmp", "/users/ann"]),
                set(&[
                    "/users/ann/suite",
                    "/users/ann/suite/a",
                    "/srv/data",
                    "/tmp/w",
                    "/tmp",
                    "/",
                ]),
                "--tmpfs /tmp --ro-bind-try /tmp/w /tmp/w --tmpfs /users/ann \
                 --ro-bind-try /users/ann/suite /users/ann/suite --ro-bind-try /users/ann/suite/a /users/ann/suite/a",
            ),
            (
                set(&["/tmp", "/tmp/w/home"]),
                set(&["/tmp/w"]),
                "--tmpfs /tmp --ro-bind-try /tmp/w /tmp/w --tmpfs /tmp/w/home",
            ),
            (set(&["/users/ann"]), set(&["/users/ann"]), "--ro-bind-try /users/ann /users/ann"),
        ] {
            let sandboxed: SandboxCommand<'_> =
                SandboxCommand { bwrap: "/bin/bwrap", hidden, needed };
            let expected = format!(
                "/bin/bwrap --unshare-all --die-with-parent --new-session --cap-drop ALL --ro-bind / / \
                 --dev /dev --proc /proc --ro-bind-try /proc/sys /proc/sys \
                 --ro-bind-try /proc/sysrq-trigger /proc/sysrq-trigger \
                 --ro-bind-try /proc/irq /proc/irq --ro-bind-try /proc/bus /proc/bus {expected} --setenv TMPDIR /tmp --chdir /w --"
            );
            assert_eq!(sandboxed.prefix("/w").join(" "), expected);
        }
    }

    #[test]
    fn tools_are_seen_where_they_are_installed() {
        let start =
            function_of("/nowhere/suite/g.py", ("python", "/nowhere/ann/.pyenv/shims/python3"));
        let environment = environment(&[
            ("HOME", "/nowhere/ann"),
            ("PATH", "/nowhere/ann/.local/bin:/nowhere/ann/bin:relative:/nowhere/ann:/bin"),
            ("VIRTUAL_ENV", "/nowhere/ann/venv"),
        ]);
        let expected = [
            "/nowhere/ann/.local",
            "/nowhere/ann/.pyenv",
            "/nowhere/ann/bin",
            "/nowhere/ann/venv",
            "/nowhere/suite",
            "/nowhere/suite/g.py",
        ];
        let needed = needed(&start, &environment);
        let found: Vec<&String> =
            needed.iter().filter(|path| path.starts_with("/nowhere")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn limits_are_set_by_the_shell() {
        let mut start = start_of("/g");
        assert_eq!(limits(&start), "");
        start.spec.sandbox.memory = Some(1 << 20);
        start.spec.sandbox.cpu_seconds = Some(5);
        assert_eq!(limits(&start), "ulimit -v 1024 && ulimit -t 6 && ulimit -S -t 5 && ");
        let mut module = function_of("/g.js", ("node", "/usr/bin/node"));
        module.spec.sandbox.memory = Some(1 << 20);
        assert_eq!(limits(&module), "");
    }
}
