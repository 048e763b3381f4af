//! Executables.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{PASS, Scene, run, shown, stderr};
use crate::{Room, Runtime, Secret};
use evalrs_model::outcome::Outcome;

fn check(script: &str, expected: &str) -> Outcome {
    let scene = Scene::new();
    let outcome = run(scene.call(scene.executable(script)));
    assert_eq!(shown(&outcome), expected, "{script}");
    outcome
}

#[test]
fn what_a_program_gives_is_kept_as_it_came() {
    let pass = format!("echo '{PASS}'");
    for script in [
        pass.clone(),
        format!("cat > /dev/null; {pass}; echo done >&2"),
        format!("exec 0<&-; {pass}"),
        format!("{pass}; exec 1>&-; exec 2>&-"),
        format!("printf '\\n  {PASS} \\n\\n'"),
        format!("(sleep 0.1; {pass}) & wait"),
    ] {
        check(&script, PASS);
    }
    // File times move in ticks of the kernel's clock: an edit in the tick in which the program began would go unnoticed.
    let edits_itself = format!("sleep 0.05; echo '# more' >> \"$0\"; {pass}");
    check(&edits_itself, "unloadable: `grade.sh` changed while the program ran: calling it again");
    check("printf '{\"pass\": true,\\n \"score\": 0.5}'", r#"{"pass":true,"score":0.5}"#);
}

#[test]
fn programs_see_their_input_their_folder_and_few_variables() {
    let scene = Scene::new();
    let mut start = scene.executable(
        r#"cat > seen; pwd >> seen; env | cut -d= -f1 | sort | tr '\n' ' ' >> seen
        echo "{\"pass\":true,\"score\":1,\"reasoning\":\"$TOKEN\"}""#,
    );
    start.env = vec![("TOKEN".to_owned(), Secret::new("sk-123456789".to_owned()))];
    let outcome = run(scene.call(start));
    assert_eq!(shown(&outcome), r#"{"pass":true,"score":1,"reasoning":"[secret]"}"#);
    let folder = scene.folder.path().canonicalize().unwrap();
    let expected = format!("{{\"input\":\"0\"}}{}\nHOME PATH PWD TOKEN ", folder.display());
    assert_eq!(scene.text("seen").replace("_ ", ""), expected);
}

#[test]
fn what_goes_wrong_is_said_in_the_words_of_the_protocol() {
    for (script, expected, told) in [
        ("exit 3", "exit: Grader exited with code 3: No error output", None),
        ("echo no >&2; exit 3", "exit: Grader exited with code 3: no", Some("no")),
        ("kill -SEGV $$", "killed: Grader was ended by signal 11 (SIGSEGV)", None),
        (
            "echo at >&2; kill -KILL $$",
            "killed: Grader was ended by signal 9 (SIGKILL)",
            Some("at"),
        ),
        ("echo no >&2", "invalid_reply: Grader produced no output", Some("no")),
        ("(sleep 60; echo late) & exit 0", "invalid_reply: Grader produced no output", None),
        (
            "echo log; echo '{}'",
            "invalid_reply: Grader output is not valid JSON: log\n{} (write logs to standard error)",
            None,
        ),
        (
            r#"printf '{"pass":true,"score":1,"reasoning":"\377"}'"#,
            "invalid_reply: Grader output is not valid JSON: {\"pass\":true,\"score\":1,\"reasoning\":\"\u{fffd}\"}",
            None,
        ),
        (
            "echo 0.5",
            "invalid_reply: Invalid grader result: expected an object, found a number",
            None,
        ),
        ("yes | head -c 1000000000", "output_limit: Grader printed more than 16 MB", None),
    ] {
        assert_eq!(stderr(&check(script, expected)), told, "{script}");
    }
    let outcome =
        check("echo log; echo why >&2", "invalid_reply: Grader output is not valid JSON: log");
    let Outcome::Failure(failure) = outcome else { panic!("{outcome:?}") };
    assert_eq!((failure.reply.as_deref(), failure.stderr.as_deref()), (Some("log"), Some("why")));
}

#[test]
fn a_long_standard_error_is_cut_at_its_beginning() {
    let script = "yes 0123456789 | head -c 100000 >&2; echo the end >&2; exit 1";
    let scene = Scene::new();
    let outcome = run(scene.call(scene.executable(script)));
    assert!(shown(&outcome).ends_with("789the end"), "{outcome:?}");
    assert_eq!(shown(&outcome).len(), "exit: Grader exited with code 1: ".len() + 500);
    let length = stderr(&outcome).map_or(0, str::len);
    assert!((4000..=4096).contains(&length), "line breaks around it do not count: {length}");
}

#[test]
fn what_cannot_be_started_says_what_helps() {
    use std::os::unix::fs::PermissionsExt;
    let no_line = "unloadable: `grade.sh` cannot be started: its first line does not name an interpreter; begin it with a line such as `#!/usr/bin/env python3`";
    for (script, mode, expected) in [
        ("exit 0", 0o644, "unloadable: `grade.sh` is not executable; run `chmod +x grade.sh`"),
        (
            "#!/nowhere/sh\n",
            0o755,
            "unloadable: `grade.sh` cannot be started: its first line names `/nowhere/sh`, which does not exist",
        ),
        (
            "#!/bin/sh\r\n",
            0o755,
            "unloadable: `grade.sh` cannot be started: its first line names `/bin/sh`, which ends with a carriage return, \
             which does not exist",
        ),
        (
            "#!/usr/bin/env no-such-program\n",
            0o755,
            "unloadable: `grade.sh` cannot be started: `no-such-program` is not installed",
        ),
    ] {
        let scene = Scene::new();
        let start = scene.executable(script);
        std::fs::set_permissions(&start.path, PermissionsExt::from_mode(mode)).unwrap();
        assert_eq!(shown(&run(scene.call(start))), expected);
    }
    let scene = Scene::new();
    let start = scene.executable("");
    std::fs::write(&start.path, "echo\n").unwrap();
    assert_eq!(shown(&run(scene.call(start.clone()))), no_line);
    let mut limited = start.clone();
    limited.spec.sandbox.cpu_seconds = Some(5);
    assert_eq!(shown(&run(scene.call(limited))), no_line, "also behind a shell");
    std::fs::write(&start.path, "\x7fELF\0").unwrap();
    let foreign = "unloadable: `grade.sh` cannot be started: it is neither a script nor a program for this kind of machine";
    assert_eq!(shown(&run(scene.call(start.clone()))), foreign);
    std::fs::remove_file(&start.path).unwrap();
    let missing = "unloadable: `grade.sh` cannot be started: no such file";
    assert_eq!(shown(&run(scene.call(start))), missing);
}

#[test]
fn a_runtime_runs_what_does_not_run_by_itself() {
    let scene = Scene::new();
    let mut start = scene.executable("");
    std::fs::write(&start.path, format!("echo '{PASS}'")).unwrap();
    let runtime = |path: &str| {
        let name = "sh".to_owned();
        let version = String::new();
        Some(Runtime { name, path: path.to_owned(), version })
    };
    start.runtime = runtime("/bin/sh");
    assert_eq!(shown(&run(scene.call(start.clone()))), PASS);
    start.runtime = runtime("/nowhere/sh");
    let missing = "unloadable: `grade.sh` cannot be started: `/nowhere/sh` does not exist";
    assert_eq!(shown(&run(scene.call(start.clone()))), missing);
    start.path.push('x');
    let missing = "unloadable: `grade.sh` cannot be started: no such file";
    assert_eq!(shown(&run(scene.call(start))), missing);
}

#[test]
fn megabytes_of_input_may_be_ignored() {
    let scene = Scene::new();
    let start = Arc::new(scene.executable(&format!("echo '{PASS}'")));
    let input = format!("\"{}\"", "x".repeat(8 << 20));
    let launch = Scene::launch(&start, &input, "1");
    assert_eq!(shown(&run(scene.executor.execute(launch))), PASS);
    let start = Arc::new(scene.executable(&format!("wc -c > size; echo '{PASS}'")));
    let launch = Scene::launch(&start, &input, "1");
    assert_eq!(shown(&run(scene.executor.execute(launch))), PASS);
    assert_eq!(scene.text("size").trim(), input.len().to_string());
}

#[test]
fn what_hangs_is_ended_with_its_children() {
    let scene = Scene::new().limited(400);
    let script = "echo before >&2; sleep 60 & echo $! > child; echo $$ > self; wait";
    let outcome = run(scene.call(scene.executable(script)));
    assert_eq!(shown(&outcome), "timeout: no result within 0.4 s");
    assert_eq!(stderr(&outcome), Some("before"));
    assert!(scene.is_gone("child") && scene.is_gone("self"));
}

#[test]
fn children_left_behind_are_ended() {
    let scene = Scene::new();
    let script = format!("sleep 60 & echo $! > child; echo '{PASS}'");
    assert_eq!(shown(&run(scene.call(scene.executable(&script)))), PASS);
    assert!(scene.is_gone("child"));
}

#[test]
fn children_that_escaped_are_not_waited_for() {
    let scene = Scene::new();
    let script = format!(
        "setsid sh -c 'echo $$ > child; exec sleep 5' & while [ ! -s child ]; do :; done; echo '{PASS}'"
    );
    let begin = Instant::now();
    let outcome = run(scene.call(scene.executable(&script)));
    assert_eq!(shown(&outcome), PASS);
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    let number: i32 = scene.text("child").trim().parse().unwrap();
    let child = rustix::process::Pid::from_raw(number).unwrap();
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_call_that_is_dropped_ends_its_program() {
    let scene = Scene::new();
    let start = Arc::new(scene.executable("sleep 60 & echo $! > child; wait"));
    run(async {
        let call = scene.executor.execute(Scene::launch(&start, "{}", "1"));
        let is_begun = async {
            while !scene.text("child").ends_with('\n') {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        futures_util::future::select(call, std::pin::pin!(is_begun)).await;
    });
    assert!(scene.is_gone("child"));
}

#[test]
fn only_so_many_run_at_once_and_the_time_of_the_others_does_not() {
    let scene = Scene::new().limited(600);
    let script = format!("echo + >> log; sleep 0.1; echo - >> log; echo '{PASS}'");
    let outcomes = run(scene.calls(&Arc::new(scene.executable(&script)), 16));
    assert!(outcomes.iter().all(|outcome| shown(outcome) == PASS), "{outcomes:?}");
    let mut running = 0;
    let mut most = 0;
    for sign in scene.text("log").lines() {
        running += if sign == "+" { 1 } else { -1 };
        most = most.max(running);
    }
    assert_eq!(most, 2);
}

#[test]
fn what_waits_is_not_started_after_a_halt() {
    let scene = Scene::new();
    let script = format!("echo + >> log; while [ ! -e go ]; do sleep 0.01; done; echo '{PASS}'");
    let start = Arc::new(scene.executable(&script));
    let outcomes = run(async {
        let halt = async {
            while scene.text("log").len() < 4 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            scene.executor.halt("the disk is full");
            std::fs::write(scene.path("go"), "").unwrap();
        };
        futures_util::future::join(scene.calls(&start, 3), halt).await.0
    });
    let shown: Vec<String> = outcomes.iter().map(shown).collect();
    assert_eq!(shown, [PASS, PASS, "not_asked: not called: the disk is full"]);
    let closed = Room::Closed("the disk is full".to_owned());
    assert_eq!(scene.executor.room(), closed);
    scene.executor.begin();
    assert_eq!(scene.executor.room(), Room::Now);
    assert_eq!(super::shown(&run(scene.calls(&start, 1))[0]), PASS);
}

#[test]
fn limits_of_processor_time_are_kept() {
    let scene = Scene::new();
    let mut start = scene.executable("while :; do :; done");
    start.spec.sandbox.cpu_seconds = Some(1);
    let outcome = run(scene.call(start));
    assert_eq!(shown(&outcome), "killed: Grader was ended by signal 24 (SIGXCPU)");
}
