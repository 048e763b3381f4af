//! Programs in a real sandbox, where bubblewrap is there and may make one.

use super::{PASS, Scene, run, shown};
use crate::effects::exec::Start;
use crate::effects::exec::programs::sandbox;
use crate::pipeline::spec::SandboxKind;

/// Whether there are sandboxes here.
fn is_possible() -> bool {
    let found = run(sandbox::find());
    if let Err(problem) = &found {
        println!("skipped: {problem}");
    }
    found.is_ok()
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
