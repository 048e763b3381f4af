//! Programs in a real sandbox, where bubblewrap is there and may make one.

use std::collections::BTreeSet;

use super::{PASS, Scene, run, shown};
use crate::Start;
use crate::programs::sandbox::SandboxCommand;
use crate::programs::sandbox::probe::{self, NoSandbox};
use crate::programs::test_data::environment;
use evalrs_model::spec::SandboxKind;
use evalrs_system::System;
use evalrs_system::os::OsSystem;

/// Whether there are sandboxes here.
fn is_possible() -> bool {
    let found = run(probe::find(&environment(&[("PATH", PATH)]), "/nowhere"));
    if let Err(problem) = &found {
        println!("skipped: {problem}");
    }
    // One that does not hold is tested all the same.
    !matches!(found, Err(NoSandbox::Missing(_)))
}

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What comes of trying to get out of a sandbox that is made by these words before a command.
fn tried(words: &[String], folder: &std::path::Path) -> Result<(), NoSandbox> {
    run(probe::try_escapes(words, &environment(&[("PATH", PATH)]), folder))
}

#[test]
fn escapes_that_work_are_named() {
    if !is_possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bwrap = OsSystem.find_program("bwrap").unwrap();
    let needed = BTreeSet::from([folder.path().to_string_lossy().into_owned()]);
    let hidden = BTreeSet::from(["/tmp".to_owned()]);
    let whole = SandboxCommand { bwrap: &bwrap, hidden, needed }.prefix("/");
    assert_eq!(tried(&whole, folder.path()), Ok(()));
    let without = |left_out: &[&str]| {
        let mut words = whole.clone();
        let at = words.windows(left_out.len()).position(|part| part == left_out).unwrap();
        words.drain(at..at + left_out.len());
        match tried(&words, folder.path()) {
            Err(NoSandbox::Open(escapes)) => escapes,
            other => format!("{other:?}"),
        }
    };
    // Of all that it shares here, it shares the network alone.
    let shared = without(&["--unshare-all"]);
    assert!(shared.starts_with("the network of the system"), "{shared}");
    if rustix::process::getuid().is_root() {
        let capable = without(&["--cap-drop", "ALL"]);
        for escape in ["capabilities (CapEff: ", "umount /tmp", "remount /"] {
            assert!(capable.contains(escape), "{escape} is not in {capable}");
        }
        let settings = without(&["--ro-bind-try", "/proc/sys", "/proc/sys"]);
        assert_eq!(settings, "writing /proc/sys/kernel/core_pattern");
    }
}

#[test]
fn without_any_sandbox_nothing_is_touched() {
    // Stands for a bubblewrap that does nothing.
    let words = ["/usr/bin/env", "--"].map(str::to_owned);
    let folder = tempfile::tempdir().unwrap();
    if cfg!(target_os = "linux") {
        let open = NoSandbox::Open("the mounts of the system".to_owned());
        assert_eq!(tried(&words, folder.path()), Err(open));
        assert!(!folder.path().join("written").exists());
    }
}

#[test]
fn a_bubblewrap_that_cannot_be_used_is_no_escape() {
    let folder = tempfile::tempdir().unwrap();
    for words in [&["/bin/false"] as &[&str], &["/nowhere/bwrap"]] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let tried = tried(&words, folder.path());
        assert!(matches!(tried, Err(NoSandbox::Missing(_))), "{tried:?}");
    }
}

#[test]
fn that_it_holds_is_noted_for_this_start_of_the_system() {
    if !is_possible() {
        return;
    }
    let workspace = tempfile::tempdir().unwrap();
    let note = workspace.path().join(".evalrs/sandbox");
    let find = || {
        let all = environment(&[("PATH", PATH)]);
        run(probe::find(&all, workspace.path().to_str().unwrap()))
    };
    find().unwrap();
    assert!(!note.exists(), "there is no folder for it");
    std::fs::create_dir(workspace.path().join(".evalrs")).unwrap();
    // What is damaged, or of another start of the system, is replaced.
    for damaged in ["", "\0\0", "another boot"] {
        std::fs::write(&note, damaged).unwrap();
        find().unwrap();
        let noted = std::fs::read_to_string(&note).unwrap();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        assert!(noted.starts_with(boot.trim()), "{noted}");
    }
    // Where it is noted nothing is tried.
    let noted = std::fs::read_to_string(&note).unwrap();
    let before = std::fs::metadata(&note).unwrap().modified().unwrap();
    find().unwrap();
    assert_eq!(std::fs::read_to_string(&note).unwrap(), noted);
    assert_eq!(std::fs::metadata(&note).unwrap().modified().unwrap(), before);
}

fn sandboxed(mut start: Start) -> Start {
    start.spec.sandbox.kind = SandboxKind::Bubblewrap;
    start
}

#[test]
fn a_program_reads_its_folder_and_writes_nothing() {
    if !is_possible() {
        return;
    }
    let scene = Scene::new();
    std::fs::write(scene.path("data"), "here").unwrap();
    std::fs::write(scene.path("home/.secret"), "hidden").unwrap();
    let script = r#"
        [ "$(cat data)" = here ] || exit 10
        (echo x > data) 2>/dev/null && exit 11
        (echo x > /etc/evalrs-was-here) 2>/dev/null && exit 12
        [ "$(grep -c : /proc/net/dev)" = 1 ] || exit 13
        echo x > /tmp/mine || exit 14
        [ "$TMPDIR" = /tmp ] || exit 15
        [ "$(ls /run | wc -l)" = 0 ] || exit 16
        [ "$$" -lt 10 ] || exit 17
        [ "$(ls -A "$HOME" | wc -l)" = 0 ] || exit 18
    "#;
    let start = sandboxed(scene.executable(&format!("{script}\necho '{PASS}'")));
    assert_eq!(shown(&run(scene.call(start))), PASS);
    assert_eq!(scene.text("data"), "here");
}

#[test]
fn the_end_of_a_sandboxed_program_is_told_as_of_any() {
    if !is_possible() {
        return;
    }
    for (script, expected) in [
        ("echo no >&2; exit 3", "exit: Grader exited with code 3: no"),
        ("kill -KILL $$", "killed: Grader was ended by signal 9 (SIGKILL)"),
        ("sleep 60", "timeout: no result within 0.4 s"),
    ] {
        let scene = Scene::new().for_script(script);
        let outcome = run(scene.call(sandboxed(scene.executable(script))));
        assert_eq!(shown(&outcome), expected);
    }
}

#[test]
fn workers_run_in_it_too() {
    if !is_possible() {
        return;
    }
    let scene = Scene::new();
    let script = "grade() { (echo x > \"$path\") 2>/dev/null || answer; }";
    let mut start = sandboxed(scene.function(script));
    start.spec.sandbox.memory = Some(1 << 30);
    let outcomes = run(scene.calls(&std::sync::Arc::new(start), 3));
    assert!(outcomes.iter().all(|outcome| shown(outcome) == PASS), "{outcomes:?}");
}
