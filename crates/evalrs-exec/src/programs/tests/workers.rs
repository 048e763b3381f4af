//! Programs that workers run.

use std::sync::Arc;

use super::{PASS, Scene, run, shown, stderr};
use crate::programs::ProgramSettings;
use crate::{DiscoveredFiles, Notice, Secret};
use evalrs_eval::program::{MISSING, file_digest};
use evalrs_model::outcome::Outcome;

/// Outcomes that are not the good one: which, and what.
fn bad(outcomes: &[Outcome]) -> Vec<(usize, String)> {
    let all = outcomes.iter().map(shown).enumerate();
    all.filter(|(_, shown)| shown != PASS).collect()
}

/// Files that are not there.
fn seen(paths: &[&str]) -> DiscoveredFiles {
    let missing = |path: &&str| ((*path).to_owned(), Some(MISSING.to_owned()));
    DiscoveredFiles { files: paths.iter().map(missing).collect(), ..DiscoveredFiles::default() }
}

#[test]
fn one_worker_answers_many_requests() {
    let scene = Scene::with(ProgramSettings { workers: 1, overlapping: 1, verbosity: 0 });
    let start = Arc::new(scene.function("echo + >> starts\ngrade() { answer; }"));
    assert_eq!(bad(&run(scene.calls(&start, 300))), []);
    assert_eq!(scene.text("starts"), "+\n");
}

#[test]
fn a_further_worker_is_started_where_requests_are_slow() {
    let scene = Scene::new();
    let start = scene.function("echo + >> starts\ngrade() { sleep 0.05; answer; }");
    assert_eq!(bad(&run(scene.calls(&Arc::new(start), 20))), []);
    assert_eq!(scene.text("starts"), "+\n+\n");
}

#[test]
fn answers_are_results_or_failures() {
    let scene = Scene::new();
    let script = r#"
        grade() {
          case "$line" in
            *'"0"'*) say "{\"id\":$id,\"result\":0.5}";;
            *'"1"'*) say "{\"id\":$id,\"result\":null}";;
            *'"2"'*) say "{\"id\":$id,\"error\":{\"message\":\"E: $TOKEN\",\"details\":\"line 1\\n$TOKEN\"}}";;
            *'"3"'*) say "{\"id\":$id,\"error\":{\"message\":\"ENOENT\",\"transient\":true}}";;
            *'"4"'*) say "{\"id\":$id}";;
            *) echo printed; say "{\"id\":$id,\"result\":true,\"files\":[\"/w/b\"],\"reads\":[\"/w/d\"]}";;
          esac
        }
    "#;
    let mut start = scene.function(script);
    start.env = vec![("TOKEN".to_owned(), Secret::new("sk-123456789".to_owned()))];
    let start = Arc::new(start);
    let outcomes = run(scene.calls(&start, 6));
    let all: Vec<String> = outcomes.iter().map(shown).collect();
    assert_eq!(
        all,
        [
            "0.5",
            "null",
            "exception: E: [secret]",
            "unloadable: ENOENT",
            "invalid_reply: its worker gives neither a result nor an error",
            "true",
        ]
    );
    assert_eq!(stderr(&outcomes[2]), Some("line 1\n[secret]"));
    let reads = [("/w/d".to_owned(), None)].into();
    let seen = DiscoveredFiles { reads, ..seen(&["/w/b"]) };
    assert_eq!(scene.executor.take_discovered(), [(Scene::identity(&start, "1"), seen)]);
    assert_eq!(scene.executor.take_discovered(), []);
}

#[test]
fn what_is_loaded_after_an_edit_is_told_of_what_the_program_was() {
    let scene = Scene::new();
    let script = r#"
        grade() {
          case "$line" in
            *slow*) echo x > held; while [ ! -e go ]; do sleep 0.01; done
              say "{\"id\":$id,\"result\":true,\"files\":[\"/w/late\"]}";;
            *) answer;;
          esac
        }
    "#;
    let start = Arc::new(scene.function(script));
    let identity = Scene::identity(&start, "1");
    run(async {
        let slow = scene.executor.execute(Scene::launch(&start, r#"{"input":"slow"}"#, "1"));
        let edit = async {
            while scene.text("held").is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
            let edited = scene.executor.execute(Scene::launch(&start, "{}", "2")).await;
            assert_eq!(shown(&edited), PASS);
            assert_eq!(scene.executor.take_discovered(), []);
            std::fs::write(scene.path("go"), "").unwrap();
        };
        let (slow, ()) = futures_util::future::join(slow, edit).await;
        assert_eq!(shown(&slow), "true");
        while scene.executor.retired.borrow().iter().any(|known| !known.pool.is_gone()) {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(scene.executor.take_discovered(), [(identity, seen(&["/w/late"]))]);
    assert!(scene.executor.retired.borrow().is_empty(), "nothing of it is held any more");
}

#[test]
fn a_request_that_its_worker_does_not_survive_costs_one_grade() {
    for (action, expected, told) in [
        (
            "echo dying >&2; kill -SEGV $$",
            "killed: Grader was ended by signal 11 (SIGSEGV)",
            Some("dying"),
        ),
        ("exit 4", "killed: Grader exited with code 4", None),
        ("sleep 60", "timeout: no result within 0.4 s", None),
        (
            "say rubbish",
            "killed: Grader was ended: its worker sent an invalid message: rubbish",
            None,
        ),
        (
            "say '{\"id\":99999,\"result\":1}'",
            "killed: Grader was ended: its worker answered a call that was not made",
            None,
        ),
    ] {
        for overlaps in ["false", "true"] {
            let scene = Scene::new().for_script(action);
            let start = scene.function(&format!(
                "overlaps={overlaps}\ngrade() {{ case $line in *'\"20\"'*) {action};; *) answer;; esac; }}"
            ));
            let outcomes = run(scene.calls(&Arc::new(start), 60));
            assert_eq!(bad(&outcomes), [(20, expected.to_owned())], "{action} {overlaps}");
            assert_eq!(stderr(&outcomes[20]), told, "{action}");
        }
    }
}

#[test]
fn a_worker_that_died_by_chance_costs_nothing() {
    let scene = Scene::new();
    let script = "grade() { [ -e died ] || { : > died; kill -KILL $$; }; answer; }";
    assert_eq!(bad(&run(scene.calls(&Arc::new(scene.function(script)), 40))), []);
    assert!(std::fs::exists(scene.path("died")).unwrap());
}

#[test]
fn what_cannot_be_loaded_is_tried_once_in_an_evaluation() {
    for (script, expected) in [
        (
            "say '{\"unloadable\":{\"message\":\"SyntaxError\",\"details\":\"line 1\"}}'; exit 0",
            "unloadable: SyntaxError",
        ),
        (
            "exit 5",
            "unloadable: the worker of `grade.fn:grade` exited with code 5 before it had loaded it",
        ),
        ("sleep 60", "unloadable: `grade.fn:grade` did not load within 0.4 s"),
        (
            "say hello",
            "unloadable: `grade.fn:grade` cannot be loaded: its worker sent an invalid message: hello",
        ),
    ] {
        let scene = Scene::new().for_script(script);
        let start = Arc::new(scene.function(&format!("echo + >> starts\n{script}")));
        let loaded = run(scene.executor.load(Arc::clone(&start), Scene::base(&start, "1")));
        let failure = loaded.unwrap_err();
        assert_eq!(format!("unloadable: {}", failure.message), expected);
        for _ in 0..2 {
            for outcome in run(scene.calls(&start, 3)) {
                assert_eq!(shown(&outcome), expected);
            }
        }
        assert_eq!(scene.text("starts"), "+\n", "{script}");
        scene.executor.begin();
        run(scene.calls(&start, 3));
        assert_eq!(scene.text("starts"), "+\n+\n", "{script}");
    }
}

#[test]
fn loading_tells_of_files_and_its_worker_stays_until_they_change() {
    let scene = Scene::new();
    let script =
        "echo + >> starts\n[ -e more ] && files='[\"/w/b\",\"/w/a\"]'\ngrade() { answer; }";
    let start = Arc::new(scene.function(script));
    let load = || scene.executor.load(Arc::clone(&start), Scene::base(&start, "1"));
    run(async {
        assert_eq!(load().await, Ok(DiscoveredFiles::default()));
        assert_eq!(bad(&scene.calls(&start, 3).await), []);
        assert_eq!(scene.text("starts"), "+\n");
        let changed = Scene::launch(&start, "{}", "2");
        assert_eq!(shown(&scene.executor.execute(changed).await), PASS);
        assert_eq!(scene.text("starts"), "+\n+\n");
        std::fs::write(scene.path("more"), "").unwrap();
        assert_eq!(load().await, Ok(seen(&["/w/a", "/w/b"])));
        assert_eq!(scene.text("starts"), "+\n+\n+\n", "loaded afresh: the file may have changed");
    });
}

#[test]
fn what_was_loaded_answers_no_call_of_another_state() {
    let scene = Scene::new();
    let script = "echo + >> starts\n[ -e more ] && files='[\"/w/a\"]'\n[ -e hang ] && sleep 60\ngrade() { answer; }";
    let start = Arc::new(scene.function(script));
    let load = |digest| scene.executor.load(Arc::clone(&start), Scene::base(&start, digest));
    run(async {
        for (file, digest) in [(None, "2"), (Some("more"), "1")] {
            if let Some(file) = file {
                std::fs::write(scene.path(file), "").unwrap();
            }
            let _ = std::fs::remove_file(scene.path("starts"));
            assert!(load(digest).await.is_ok());
            assert_eq!(bad(&scene.calls(&start, 1).await), []);
            assert_eq!(scene.text("starts"), "+\n+\n", "{file:?} {digest}");
        }
        // One that nobody waits for any more.
        std::fs::write(scene.path("hang"), "").unwrap();
        let given_up = tokio::time::timeout(std::time::Duration::from_millis(1), load("1"));
        assert!(given_up.await.is_err());
        std::fs::remove_file(scene.path("hang")).unwrap();
        std::fs::remove_file(scene.path("starts")).unwrap();
        assert_eq!(bad(&scene.calls(&start, 1).await), []);
        assert!(scene.text("starts").contains('+'));
    });
}

#[test]
fn a_file_that_was_written_since_its_worker_began_is_in_no_known_state() {
    let scene = Scene::with(ProgramSettings { workers: 1, overlapping: 1, verbosity: 0 });
    let [old, new, older] = ["old", "new", "older"].map(|name| scene.path(name));
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for path in [&old, &older] {
        std::fs::write(path, "old").unwrap();
        std::fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
    let files = format!(r#"[\"{old}\",\"{new}\",\"{older}2\"]"#);
    let script = format!(
        r#"grade() {{ echo new > new; mv older older2; say "{{\"id\":$id,\"result\":true,\"files\":{files}}}"; }}"#
    );
    let start = Arc::new(scene.function(&script));
    // Written before the worker, whose clock may be coarser than that of this process, and again by it.
    std::fs::write(&new, "before").unwrap();
    assert_eq!(bad(&run(scene.calls(&start, 2))).len(), 2, "both are `true`");
    let files = [(old, Some(file_digest(Some(b"old")))), (new, None), (older + "2", None)].into();
    let seen = DiscoveredFiles { files, ..DiscoveredFiles::default() };
    assert_eq!(scene.executor.take_discovered(), [(Scene::identity(&start, "1"), seen)]);
}

#[test]
fn workers_and_their_children_end_with_the_executor() {
    let scene = Scene::new();
    let script = "sleep 60 & echo $! > child; echo $$ > self\ngrade() { answer; }";
    let start = Arc::new(scene.function(script));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(bad(&runtime.block_on(scene.calls(&start, 1))), []);
    let Scene { folder, executor, limit } = scene;
    drop(executor);
    let scene = Scene { folder, limit, ..Scene::new() };
    assert!(scene.is_gone("child") && scene.is_gone("self"));
}

#[test]
fn what_waits_is_not_sent_after_a_halt() {
    let scene = Scene::with(ProgramSettings { workers: 1, overlapping: 1, verbosity: 0 });
    let script = "grade() { echo + >> log; while [ ! -e go ]; do sleep 0.01; done; answer; }";
    let start = Arc::new(scene.function(script));
    let outcomes = run(async {
        let halt = async {
            while scene.text("log").is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
            scene.executor.halt("enough");
            std::fs::write(scene.path("go"), "").unwrap();
        };
        futures_util::future::join(scene.calls(&start, 3), halt).await.0
    });
    let not_asked = "not_asked: not called: enough".to_owned();
    assert_eq!(bad(&outcomes), [(1, not_asked.clone()), (2, not_asked)]);
}

#[test]
fn prints_are_said_where_that_is_wanted() {
    for verbosity in [0, 1] {
        let scene = Scene::with(ProgramSettings { workers: 1, overlapping: 1, verbosity });
        let start = Arc::new(scene.function("grade() { echo one; echo two >&2; answer; }"));
        let notices = run(async {
            assert_eq!(bad(&scene.calls(&start, 1).await), []);
            if verbosity > 0 {
                scene.executor.changed().await;
            }
            scene.executor.take_notices()
        });
        let line = |text: &str| Notice::Line(format!("grade.fn:grade: {text}"));
        let expected = if verbosity == 0 { vec![] } else { vec![line("one"), line("two")] };
        assert_eq!(notices, expected);
    }
}
