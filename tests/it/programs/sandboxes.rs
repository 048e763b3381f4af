//! What a sandbox keeps programs from, also where evalrs runs as root, and what happens where it does not hold.
#![expect(clippy::disallowed_methods, reason = "tests look at what programs left")]

use std::process::Command;

use serde_json::Value;

use super::{executable, results, run};
use crate::space::{Space, has};

const ROWS: &str = r#"{"id":"a","input":"q","output":"x"}
"#;

/// Whether bubblewrap is there and may do its work.
pub(super) fn has_sandbox() -> bool {
    let works = has("bwrap")
        && Command::new("bwrap")
            .args(["--unshare-all", "--ro-bind", "/", "/", "true"])
            .output()
            .is_ok_and(|output| output.status.success());
    if !works {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: bubblewrap does not work here");
    }
    works
}

/// What the run says that its programs were started in.
fn sandbox(space: &Space) -> Value {
    let facts: Value = serde_json::from_str(&space.record("run.json")).unwrap();
    facts["sandbox"].clone()
}

/// A function that tries to get out by shell commands, and tells what they said.
const ESCAPING: &str = r#"
import os, subprocess
def grade(sample, submission):
    def run(script):
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        return done.stdout.strip()
    tried = [
        run("umount -l /tmp && echo umount; umount -l $HOME && echo umount; mount -o remount,bind,rw / && echo remount"),
        run("touch $PWD/evil && echo wrote"),
        run("(: >> /proc/sys/kernel/core_pattern) && echo sysctl; (: >> /proc/sysrq-trigger) && echo sysrq"),
        run("unshare -rm sh -c 'umount -l /tmp || mount -o remount,bind,rw /' && echo namespace"),
        run("ls -A $HOME"),
        run("grep CapEff /proc/self/status").split()[1].strip("0"),
        run("grep -c : /proc/net/dev"),
    ]
    return {"score": 1.0, "rationale": " ".join("[%s]" % it for it in tried)}
"#;

#[test]
fn nothing_of_a_sandbox_can_be_undone() {
    if !has_sandbox() || !has("python3") {
        return;
    }
    let suite = "name: s\ndataset: rows.jsonl\nsandbox: bubblewrap\ngraders:\n  a: {kind: tool, function: 'g.py:grade'}\n";
    let space = Space::new(&[
        ("suite.yaml", suite),
        ("rows.jsonl", ROWS),
        ("g.py", ESCAPING),
        ("home/secret", "x"),
    ]);
    let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
    let output = command.env("HOME", space.path("home")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let told = results(&space)[0]["grades"]["a"]["rationale"].clone();
    assert_eq!(told, "[] [] [] [] [] [] [1]");
    assert!(!space.path("evil").exists());
    assert_eq!(sandbox(&space), "bubblewrap");
    // Noted once there is a folder for it, and of no use to others.
    run(&space, &["--refresh"], 0);
    assert!(space.path(".evalrs/sandbox").exists());
    space.write(".evalrs/sandbox", "damaged");
    run(&space, &["--refresh"], 0);
    assert_ne!(space.read(".evalrs/sandbox"), "damaged");
}

/// Stands for a bubblewrap that does nothing: it starts the command as it is.
const OPEN: &str = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n";

#[test]
fn a_sandbox_that_does_not_hold_is_refused_or_done_without() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let suite = |kind: &str| {
        format!(
            "name: s\ndataset: rows.jsonl\ngraders:\n  a: {{kind: program, path: g.sh, sandbox: {kind}}}\n  b: {{kind: program, path: h.sh, sandbox: {kind}}}\n"
        )
    };
    let passes = "#!/bin/sh\necho '{\"pass\":true,\"score\":1}'\n";
    let space = Space::new(&[
        ("rows.jsonl", ROWS),
        ("g.sh", passes),
        ("h.sh", &format!("{passes}# another\n")),
        ("bin/bwrap", OPEN),
    ]);
    for file in ["g.sh", "h.sh", "bin/bwrap"] {
        executable(&space, file);
    }
    let run = |kind: &str| {
        space.write("suite.yaml", suite(kind));
        let mut command = space.command(&["run", "suite.yaml", "--format", "markdown"]);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", space.path("bin").display()));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = run("bubblewrap");
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(said, @r"
    2 calls: 0 cached, 2 to make
    error: `g.sh` is to run in a sandbox: bubblewrap does not isolate programs here, one can escape by the mounts of the system
      help: nothing was called or run; `sandbox: none` runs it without one, where it is trusted
    ");
    let (code, said) = run("auto");
    assert_eq!((code, sandbox(&space)), (Some(0), Value::from("none")));
    let warnings: Vec<&str> = said.lines().filter(|line| line.contains("warning")).collect();
    insta::assert_snapshot!(warnings.join("\n").trim(), @"warning: bubblewrap does not isolate programs here, one can escape by the mounts of the system: programs run without a sandbox");
    // What is stored needs no sandbox.
    let (code, said) = run("auto");
    assert_eq!((code, sandbox(&space)), (Some(0), Value::Null), "{said}");
    let (code, _) = run("none");
    assert_eq!((code, sandbox(&space)), (Some(0), Value::Null));
}

#[test]
fn functions_judges_and_targets_are_not_run_without_their_sandbox() {
    if !cfg!(target_os = "linux") || !has("python3") {
        return;
    }
    let graders = "graders:\n  a: {kind: tool, function: contains}\n";
    let suites = [
        ("function", "dataset: rows.jsonl\ngraders:\n  a: {kind: tool, function: 'g.py:grade', sandbox: bubblewrap}\n".to_owned()),
        ("judge", "dataset: rows.jsonl\ngraders:\n  a: {kind: rubric, prompt: '{submission}', command: [sh, judge.sh], sandbox: bubblewrap}\n".to_owned()),
        ("target", format!("dataset: asked.jsonl\ntarget: {{kind: command, command: [sh, agent.sh], sandbox: bubblewrap}}\n{graders}")),
    ];
    let space = Space::new(&[
        ("rows.jsonl", ROWS),
        ("asked.jsonl", "{\"id\":\"a\",\"input\":\"q\",\"ground_truth\":\"q\"}\n"),
        ("g.py", "open('ran', 'w')\ndef grade(sample, submission):\n    return 1.0\n"),
        ("judge.sh", "touch ran; echo '{\"score\":1,\"rationale\":\"r\"}'"),
        ("agent.sh", "touch ran; echo q"),
        ("bin/bwrap", OPEN),
    ]);
    executable(&space, "bin/bwrap");
    for (name, suite) in suites {
        space.write("suite.yaml", format!("name: s\n{suite}"));
        let mut command = space.command(&["run", "suite.yaml"]);
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", space.path("bin").display());
        let output = command.env("PATH", path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains("one can escape by the mounts of the system"), "{name}: {said}");
        assert!(!space.path("ran").exists(), "{name}");
    }
}
