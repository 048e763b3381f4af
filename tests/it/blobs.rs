//! Large outcomes through the binary: kept, replayed, lost, swept and carried elsewhere.
#![expect(clippy::disallowed_methods, reason = "tests damage the files of the store themselves")]

use std::path::PathBuf;

use evalrs_model::key::ActionKey;
use evalrs_store::{Entry, OutcomeStore, SegmentStore};
use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, lines};

const SUITE: &str = "\
name: large
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: test, max_retries: 0}
";

/// A judge that says 70 KB of everything, and something else of each.
fn judge() -> Judge {
    Judge::new(|_, asked| {
        let why = format!("{}: ", asked.question()) + &"it is said politely. ".repeat(3500);
        Answer::text(&json!({"score": 1.0, "rationale": why}).to_string())
    })
}

/// A workspace whose rows were judged at length.
fn judged(rows: usize) -> Space {
    let row = |at| json!({"id": at, "input": "q", "output": format!("answer {at}")});
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines((0..rows).map(row)))]);
    let judge = judge();
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((ran.code(), judge.count()), (0, rows), "{}", ran.shown());
    space
}

/// The blobs of a store, sorted.
fn blobs(space: &Space) -> Vec<PathBuf> {
    let folders = space.names("cache/v1/blob").into_iter();
    let paths = folders.flat_map(|folder| {
        let folder = format!("cache/v1/blob/{folder}");
        let names = space.names(&folder).into_iter();
        names.map(|name| space.path(&format!("{folder}/{name}"))).collect::<Vec<_>>()
    });
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    paths
}

#[test]
fn a_large_outcome_is_kept_and_replayed() {
    let space = judged(3);
    let first = space.record("results.jsonl");
    assert!(first.len() > 3 * 70_000, "{}", first.len());
    assert_eq!(blobs(&space).len(), 3);
    let stored: usize = space.stored_lines().iter().map(String::len).sum();
    assert!(stored < 3 * 4_000, "{stored}");
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!((ran.code(), space.actions("quality")), (0, [0, 3, 0, 0]), "{}", ran.shown());
    assert_eq!(space.record("results.jsonl"), first);
    let explained = space.run(&["explain", "suite.yaml", "1", "--json"]).stdout();
    assert!(explained.contains("it is said politely. it is"), "{explained}");
    let ran = space.run(&["cache", "verify"]);
    let said = ran.stdout();
    assert!(
        said.contains(", 3 blobs, ") && said.ends_with(", 3 keys verified, 0 corrupt lines\n"),
        "{said}"
    );
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""));
}

#[test]
fn a_blob_that_is_lost_is_named_and_asked_for_again() {
    let space = judged(3);
    let paths = blobs(&space);
    std::fs::remove_file(&paths[0]).unwrap();
    std::fs::write(&paths[1], "damage").unwrap();
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!((ran.code(), space.actions("quality")), (3, [0, 1, 0, 2]), "{}", ran.shown());
    for (path, what) in paths.iter().zip(["is missing", "is damaged"]) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let said = format!("its blob `cache/v1/blob/{}/{name}` {what}\n", &name[..2]);
        assert_eq!(ran.stderr().matches(&said).count(), 1, "{}", ran.shown());
    }
    let verified = space.run(&["cache", "verify"]);
    assert!(
        verified.stdout().contains(", 0 corrupt lines, 2 corrupt blobs"),
        "{}",
        verified.shown()
    );
    assert_eq!(verified.code(), 3);
    let judge = judge();
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((ran.code(), judge.count()), (0, 2), "{}", ran.shown());
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!((ran.code(), ran.stderr().contains("blob")), (0, false), "{}", ran.shown());
    // The lines that were in vain go with what was left of their blobs.
    let ran = space.run(&["cache", "gc"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!((blobs(&space).len(), space.run(&["cache", "verify"]).code()), (3, 0));
}

#[test]
fn gc_frees_what_no_run_needs_and_stats_say_how_much_there_is() {
    let space = judged(4);
    let row = |at| json!({"id": at, "input": "q", "output": format!("answer {at}")});
    space.write("data.jsonl", lines((0..3).map(row)));
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    let stats = |space: &Space| -> Value {
        serde_json::from_str(&space.run(&["cache", "stats", "--json"]).stdout()).unwrap()
    };
    let before = stats(&space);
    assert_eq!(
        (&before["blobs"]["count"], &before["kinds"]["judge"]["large"]),
        (&json!(4), &json!(4))
    );
    let text = space.run(&["cache", "stats"]).stdout();
    assert!(text.contains("blobs    4, "), "{text}");
    let most = before["bytes"].as_u64().unwrap() - 100;
    let gc = ["cache", "gc", "--max-size", &most.to_string()];
    let dry = space.run(&[&gc[..], &["--dry-run"]].concat());
    assert!(
        dry.stdout().contains("would drop 1 entry (1 beyond --max-size) and 1 blob, "),
        "{}",
        dry.shown()
    );
    assert_eq!(stats(&space), before);
    let ran = space.run(&gc);
    assert_eq!(
        ran.stdout(),
        dry.stdout().replace("would drop", "dropped").replace("would keep", "kept")
    );
    assert_eq!((blobs(&space).len(), space.run(&["run", "suite.yaml", "--frozen"]).code()), (3, 0));
    assert_eq!(space.run(&["cache", "verify"]).code(), 0);
}

/// A process that is killed between a blob and its line, or within either, loses what was in flight and nothing else.
#[test]
fn a_kill_while_large_outcomes_are_written_loses_none_that_has_a_line() {
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..4 {
        let row = |at| json!({"id": at, "input": "q", "output": format!("answer {at}")});
        let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines((0..60).map(row)))]);
        let first = judge();
        let mut running = space.start(&first, &["run", "suite.yaml"]);
        let until = random.usize(1..60);
        while !running.has_ended() && blobs(&space).len() < until {
            std::thread::yield_now();
        }
        running.kill();
        let kept = space.stored_lines().len();
        let verified = space.run(&["cache", "verify"]);
        assert_eq!(verified.code(), 0, "{}", verified.shown());
        let second = judge();
        let ran = space.run_with(&second, &["run", "suite.yaml"]);
        assert_eq!((ran.code(), second.count()), (0, 60 - kept), "{}", ran.shown());
        assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    }
}

/// Two processes that write the same large outcomes at once.
#[test]
fn two_processes_keep_the_same_large_outcomes() {
    let space = Space::new(&[]);
    let entries: Vec<Entry> = (0..40).map(|number| target(number, "")).collect();
    let text: String = entries.iter().map(|entry| evalrs_store::render(entry).unwrap()).collect();
    space.write("theirs.judgments.jsonl", text);
    let judge = judge();
    let import = ["cache", "import", "theirs.judgments.jsonl"];
    let running = [(); 2].map(|()| space.start(&judge, &import));
    for running in running {
        let ran = running.finish();
        assert_eq!(ran.code(), 0, "{}", ran.shown());
    }
    assert_eq!(blobs(&space).len(), 40);
    let store = SegmentStore::open(space.path("cache"));
    let keys: Vec<ActionKey> = entries.iter().map(|entry| entry.key).collect();
    assert_eq!(store.get_many(&keys), entries.into_iter().map(Some).collect::<Vec<_>>());
}

/// What a live target did, as it will be kept: more than 64 KiB.
fn target(number: u8, say: &str) -> Entry {
    let steps = (0..900).map(|step| json!({"role": "assistant", "content": format!("{say} step {step} of {number}: I looked at the order and wrote to the customer.")}));
    let text = json!({"messages": steps.collect::<Vec<Value>>()}).to_string();
    let kind = json!({"name": "kind", "preview": "target"});
    let sample = json!({"name": "input", "preview": format!("order {number}")});
    let body = json!({
        "outcome": {"reply": {"text": text, "usage": {"input": 10, "output": 2}}},
        "ingredients": [kind, sample],
        "at": "2026-01-01T00:00:00Z", "by": "evalrs 0.1.0", "key_version": 0,
    });
    Entry { key: ActionKey([number; 32]), generation: 0, body: body.to_string() }
}

/// A suite whose target says 70 KB of each question; both it and the judge note that they were asked.
#[cfg(unix)]
fn conversed() -> (Space, Judge) {
    let suite = format!("{SUITE}target: {{kind: command, command: [./agent.sh]}}\n");
    let agent = "\
#!/bin/sh
read -r asked
echo asked >>\"$HOME/asked\"
printf '{\"output\": \"'
yes \"I looked at the order and wrote to the customer.\" | head -n 1500 | tr '\\n' ' '
printf '\"}'
";
    let row = |at| json!({"id": at, "input": format!("question {at}")});
    let space = Space::new(&[
        ("suite.yaml", &suite),
        ("data.jsonl", &lines((0..3).map(row))),
        ("agent.sh", agent),
    ]);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(space.path("agent.sh"), mode).unwrap();
    (space, Judge::new(|_, _| Answer::score(1.0)))
}

#[cfg(unix)]
#[test]
fn conversations_are_exported_where_that_is_asked_for() {
    let (space, judge) = conversed();
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((ran.code(), space.read("asked").lines().count()), (0, 3), "{}", ran.shown());
    assert_eq!(blobs(&space).len(), 3);
    let stats = space.run(&["cache", "stats"]).stdout();
    assert!(stats.contains("target         3      3"), "{stats}");
    let file = "cache/large.judgments.jsonl";
    let ran = space.run(&["cache", "export", "suite.yaml", "--git"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 0
    --- stdout
    --- stderr
    cache/large.judgments.jsonl: 1 judgment
    note: 3 conversations of the target left out: `--targets` includes them
    cache/.gitattributes: git merges judgments, histories and labels line by line
    ");
    assert_eq!(space.read(file).lines().count(), 1, "equal answers are judged once");
    // Whole, it is all that is needed.
    let ran = space.run(&["cache", "export", "suite.yaml", "--targets"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 0
    --- stdout
    --- stderr
    cache/large.judgments.jsonl: 1 judgment, 3 conversations
    ");
    let whole = space.read(file);
    assert!(whole.len() > 3 * 70_000);
    // Who has them keeps them.
    let ran = space.run(&["cache", "export", "suite.yaml"]);
    assert_eq!((ran.code(), space.read(file) == whole), (0, true), "{}", ran.shown());
    let results = space.record("results.jsonl");
    std::fs::remove_dir_all(space.path("cache/v1")).unwrap();
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(
        (ran.code(), space.record("results.jsonl") == results),
        (0, true),
        "{}",
        ran.shown()
    );
    // In another store each is a blob again.
    let ran = space.run(&["cache", "import", file]);
    assert_eq!(
        ran.stdout(),
        format!("{file}: 4 judgments, 4 new, 0 already there, 0 corrupt lines\n")
    );
    assert_eq!((blobs(&space).len(), space.run(&["cache", "verify"]).code()), (3, 0));
    let ran = space.run(&["cache", "export", "suite.yaml", "--prune"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 0
    --- stdout
    --- stderr
    cache/large.judgments.jsonl: 1 judgment; 3 dropped
    note: 3 conversations of the target left out: `--targets` includes them
    ");
    assert_eq!(space.read(file).lines().count(), 1);
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(
        (ran.code(), space.record("results.jsonl") == results),
        (0, true),
        "{}",
        ran.shown()
    );
    let ran = space.run(&["cache", "export", "suite.yaml", "--targets", "-o", "all.jsonl"]);
    assert_eq!((ran.code(), space.read("all.jsonl") == whole), (0, true), "{}", ran.shown());
    assert_eq!(space.read("asked").lines().count(), 3);
    assert_eq!(judge.count(), 1);
}
