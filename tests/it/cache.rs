//! `evalrs cache` over stores written by hand, so that every date and size is known.

use evalrs_model::key::ActionKey;
use evalrs_store::Entry;
use evalrs_store::OutcomeStore;
use evalrs_store::SegmentStore;
use evalrs_store::render;
use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, lines};

/// A key that is easy to tell from others.
fn key(number: u8) -> ActionKey {
    ActionKey([number; 32])
}

/// An entry with this body.
fn entry(number: u8, generation: u32, body: &Value) -> Entry {
    Entry { key: key(number), generation, body: body.to_string() }
}

/// The body of a reply of a model, asked at a time.
fn reply(model: &str, at: &str) -> Value {
    let reply = json!({"text": "{}", "model": model, "usage": {"input": 10, "output": 2}});
    json!({"outcome": {"reply": reply}, "ingredients": [], "at": at, "by": "evalrs 0.1.0"})
}

/// Each entry as a line, in this order and however often a key stands there.
fn text(entries: &[Entry]) -> String {
    entries.iter().map(|entry| render(entry).unwrap()).collect()
}

const SEGMENT: &str = "cache/v1/seg/00000000001-1-0000000000000000.jsonl";

#[test]
fn verify_names_what_is_wrong_in_every_file() {
    let foreign = entry(2, 0, &json!({"outcome": {"vision": 1}}));
    let good = entry(1, 0, &reply("judge-1", "2026-01-01T00:00:00Z"));
    let space = Space::new(&[(SEGMENT, &text(&[good.clone(), foreign.clone()]))]);
    space.write("cache/a.judgments.jsonl", text(&[good.clone(), good]) + "nonsense\n");
    space.write("cache/b.judgments.jsonl", text(&[foreign]).trim_end());
    insta::assert_snapshot!(space.run(&["cache", "verify"]).shown(), @r"
    exit: 3
    --- stdout
    cache: 1 entry, 372 bytes, 0 keys verified, 1 corrupt line
    cache/a.judgments.jsonl: 1 judgment, 0 keys verified, 1 corrupt line
    cache/b.judgments.jsonl: 0 judgments, 0 keys verified, 1 corrupt line
    --- stderr
      the stored outcome at `cache/v1/seg/00000000001-1-0000000000000000.jsonl:2` is not an outcome: unknown variant `vision`, expected `reply` or `failure` at line 1 column 20
      skipped the stored outcome at `cache/a.judgments.jsonl:3`: not an entry
      the stored outcome at `cache/b.judgments.jsonl:1` is not an outcome: unknown variant `vision`, expected `reply` or `failure` at line 1 column 20
    ");
    let ran = space.run(&["cache", "verify", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!((ran.code(), ran.stderr().as_str()), (3, ""));
    assert_eq!(report["store"]["entries"], 1);
    let committed = report["committed"].as_array().unwrap();
    let found = committed.iter().map(|file| {
        let problems = file["problems"].as_array().unwrap().len();
        (file["path"].as_str().unwrap(), file["judgments"].as_u64().unwrap(), problems)
    });
    let expected = [("cache/a.judgments.jsonl", 1, 1), ("cache/b.judgments.jsonl", 0, 1)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

/// Long ago, and so far ahead that nothing of it is ever too old.
const OLD: &str = "2020-01-01T00:00:00Z";
const NEW: &str = "2999-01-01T00:00:00Z";

#[test]
fn gc_says_what_goes_and_drops_it() {
    let entries = [
        entry(1, 0, &reply("judge-1", OLD)),
        entry(1, 1, &reply("judge-1", NEW)),
        entry(2, 0, &reply("judge-1", OLD)),
        entry(3, 0, &reply("judge-1", NEW)),
        entry(4, 0, &json!({"outcome": {"vision": "of no known age"}})),
    ];
    let space = Space::new(&[(SEGMENT, &(text(&entries) + "nonsense\n"))]);
    let committed = text(&entries[..1]);
    space.write("cache/a.judgments.jsonl", &committed);
    let dry = space.run(&["cache", "gc", "--unused-since", "30d", "--dry-run"]);
    insta::assert_snapshot!(dry.shown(), @r"
    exit: 0
    --- stdout
    cache: would drop 2 entries (1 superseded, 1 unused), 578 B; would keep 3 entries, 757 B
    --- stderr
    warning: skipped the stored outcome at `cache/v1/seg/00000000001-1-0000000000000000.jsonl:6`: not an entry
    ");
    assert_eq!(space.read(SEGMENT).lines().count(), 6, "a dry run changes nothing");
    let ran = space.run(&["cache", "gc", "--unused-since", "2020-01-02", "--json"]);
    insta::assert_snapshot!(ran.shown(), @r#"
    exit: 0
    --- stdout
    {
      "format": 1,
      "dir": "cache",
      "dry_run": false,
      "kept": {
        "entries": 3,
        "bytes": 757
      },
      "dropped": {
        "superseded": 1,
        "unused": 1,
        "over_size": 0,
        "bytes": 578
      },
      "segments": {
        "packed": 1,
        "busy": 0
      },
      "manifests_dropped": 0,
      "problems": [
        "skipped the stored outcome at `cache/v1/seg/00000000001-1-0000000000000000.jsonl:6`: not an entry"
      ]
    }
    --- stderr
    warning: skipped the stored outcome at `cache/v1/seg/00000000001-1-0000000000000000.jsonl:6`: not an entry
    "#);
    assert_eq!(space.stored_lines().len(), 3);
    insta::assert_snapshot!(space.run(&["cache", "gc"]).shown(), @r"
    exit: 0
    --- stdout
    cache: nothing to drop; 3 entries, 757 B
    --- stderr
    ");
    insta::assert_snapshot!(space.run(&["cache", "gc", "--max-size", "500B"]).shown(), @r"
    exit: 0
    --- stdout
    cache: dropped 1 entry (1 beyond --max-size), 289 B; kept 2 entries, 468 B
    --- stderr
    ");
    assert_eq!(space.stored_lines().len(), 2);
    assert_eq!(space.read("cache/a.judgments.jsonl"), committed);
    assert_eq!(space.run(&["cache", "verify"]).stdout().lines().count(), 2);
}

#[test]
fn gc_refuses_what_it_does_not_understand() {
    let space = Space::new(&[(SEGMENT, &text(&[entry(1, 0, &reply("judge-1", OLD))]))]);
    for args in
        [["--unused-since", "soon"], ["--unused-since", "2999-01-01"], ["--max-size", "big"]]
    {
        let ran = space.run(&["cache", "gc", args[0], args[1]]);
        assert_eq!(ran.code(), 2, "{}", ran.shown());
        assert!(ran.stderr().contains(&format!("`{} {}`", args[0], args[1])), "{}", ran.shown());
    }
    space.write("cache/v1/use/20260101-a-0.keys", "garbage");
    let ran = space.run(&["cache", "gc", "--max-size", "0"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot read what runs used in `cache/v1/use/20260101-a-0.keys`: invalid data
      help: remove that file: what only it names then goes by its own age
    ");
    assert_eq!(space.stored_lines().len(), 1);
}

#[test]
fn gc_does_not_wait_for_another_one() {
    let space = Space::new(&[(SEGMENT, &text(&[entry(1, 0, &reply("judge-1", OLD))]))]);
    let path = space.path("cache/v1/gc.lock");
    let lock = std::fs::File::options().create(true).append(true).open(path).unwrap();
    lock.lock().unwrap();
    let ran = space.run(&["cache", "gc", "--max-size", "0"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 3
    --- stdout
    --- stderr
    error: another process sweeps the store; nothing is lost
    ");
    drop(lock);
    assert_eq!(space.run(&["cache", "gc", "--max-size", "0"]).code(), 0);
    assert_eq!(space.stored_lines().len(), 0);
}

const SUITE: &str = "\
name: in use
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: test, max_retries: 0}
";

fn rows(count: usize) -> String {
    lines((0..count).map(|at| json!({"id": at, "input": "q", "output": format!("answer {at}")})))
}

/// Makes every stored outcome look as if it had been asked for long ago.
fn age(space: &Space) {
    let paths = space.segments();
    let aged = space.stored_entries().into_iter().map(|entry| {
        let mut body: Value = serde_json::from_str(&entry.body).unwrap();
        body["at"] = json!(OLD);
        Entry { body: body.to_string(), ..entry }
    });
    let aged: Vec<Entry> = aged.collect();
    space.write(paths[0].to_str().unwrap(), text(&aged));
}

#[test]
fn what_a_run_used_today_is_not_dropped_however_old_it_is() {
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(4))]);
    let judge = Judge::new(|_, _| Answer::score(1.0));
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    let notes = || -> Vec<String> {
        let names = space.names("cache/v1/use").into_iter();
        names.filter(|name| name != "lock" && !name.starts_with("last-")).collect()
    };
    let [note] = notes().try_into().unwrap();
    assert_eq!(note.get(8..16), Some("-in-use-"), "{note}");
    let path = format!("cache/v1/use/{note}");
    assert_eq!(space.path(&path).metadata().unwrap().len(), 16 + 4 * 32 + 4);
    age(&space);
    let gc = ["cache", "gc", "--unused-since", "1d"];
    assert!(space.run(&gc).stdout().starts_with("cache: nothing to drop; 4 entries"));
    // A day on which only two of them were needed: the others are old.
    std::fs::remove_dir_all(space.path("cache/v1/use")).unwrap();
    space.write("data.jsonl", rows(2));
    let frozen = ["run", "suite.yaml", "--frozen"];
    assert_eq!(space.run(&frozen).code(), 0);
    let ran = space.run(&gc);
    assert!(ran.stdout().starts_with("cache: dropped 2 entries (2 unused)"), "{}", ran.shown());
    assert_eq!(space.run(&frozen).code(), 0);
    // Whoever cannot note says so, and runs.
    std::fs::remove_dir_all(space.path("cache/v1/use")).unwrap();
    space.write("cache/v1/use", "a file");
    let ran = space.run(&frozen);
    assert_eq!(ran.code(), 0);
    let said = "warning: `cache gc` will not know what this run used: cannot write the store at `cache/v1/use/";
    assert!(ran.stderr().contains(said), "{}", ran.shown());
}

#[test]
fn a_run_without_judgments_notes_nothing() {
    let suite = "name: t\ndataset: data.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n";
    let row = "{\"input\": \"q\", \"ground_truth\": \"yes\", \"output\": \"yes\"}\n";
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", row)]);
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0);
    assert!(!space.path("cache/v1").exists());
}

/// After each kill every entry that wins is there, and the next gc comes to the same end.
#[test]
fn a_gc_that_is_killed_loses_nothing() {
    const KEYS: u8 = 60;
    const SEGMENTS: u64 = 4;
    let long = "why ".repeat(1000);
    let body =
        |generation| json!({"outcome": {"reply": {"text": long}}, "at": NEW, "g": generation});
    let space = Space::new(&[]);
    let keys: Vec<ActionKey> = (0..KEYS).map(key).collect();
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..8 {
        let _ = std::fs::remove_dir_all(space.path("cache"));
        for generation in 0..SEGMENTS as u32 {
            let entries: Vec<Entry> =
                (0..KEYS).map(|number| entry(number, generation, &body(generation))).collect();
            space.write(&format!("cache/v1/seg/0-{generation}-0.jsonl"), text(&entries));
        }
        let judge = Judge::new(|_, _| Answer::Silence);
        let mut running = space.start(&judge, &["cache", "gc"]);
        let size = || {
            let sizes = space
                .segments()
                .into_iter()
                .map(|path| path.metadata().map_or(0, |file| file.len()));
            (space.segments().len() as u64, sizes.sum::<u64>())
        };
        let before = size().1;
        // Half of what it writes is one generation: the kill falls into the writing or into the removing.
        let until = before + random.u64(..=before / SEGMENTS);
        while !running.has_ended() && (before..until).contains(&size().1) {
            std::thread::yield_now();
        }
        running.kill();
        let store = SegmentStore::open(space.path("cache"));
        let found: Vec<u32> =
            store.get_many(&keys).into_iter().flatten().map(|entry| entry.generation).collect();
        assert_eq!(found, [SEGMENTS as u32 - 1; KEYS as usize]);
        assert_eq!(store.take_warnings(), [] as [String; 0]);
        drop(store);
        assert_eq!(space.run(&["cache", "gc"]).code(), 0);
        assert_eq!((size().0, space.stored_lines().len()), (1, usize::from(KEYS)));
    }
}

#[test]
fn import_merges_what_wins_and_names_bad_lines() {
    let mine = text(&[entry(1, 1, &reply("judge-1", NEW)), entry(2, 0, &reply("judge-1", NEW))]);
    let space = Space::new(&[(SEGMENT, &mine)]);
    let theirs = [
        entry(1, 0, &reply("judge-1", OLD)),
        entry(2, 1, &reply("judge-1", OLD)),
        entry(3, 0, &reply("judge-1", OLD)),
        entry(4, 0, &json!({"outcome": {"vision": 1}})),
    ];
    space.write("theirs.jsonl", text(&theirs) + "<<<<<<< ours\n");
    space.write("again.jsonl", text(&theirs[..3]).trim_end());
    let ran = space.run(&["cache", "import", "theirs.jsonl", "again.jsonl"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 3
    --- stdout
    theirs.jsonl: 3 judgments, 2 new, 1 already there, 2 corrupt lines
    again.jsonl: 3 judgments, 0 new, 3 already there, 0 corrupt lines
    --- stderr
    warning: the stored outcome at `theirs.jsonl:4` is not an outcome: unknown variant `vision`, expected `reply` or `failure` at line 1 column 20
    warning: `theirs.jsonl:5` is an unresolved conflict of git: both sides are read; with `*.judgments.jsonl merge=union` in .gitattributes (`evalrs cache export --git` writes it) there is none, and an export takes the markers out
    ");
    let store = SegmentStore::open(space.path("cache"));
    let keys = [1, 2, 3, 4].map(key);
    let generations: Vec<Option<u32>> =
        store.get_many(&keys).into_iter().map(|entry| Some(entry?.generation)).collect();
    assert_eq!(generations, [Some(1), Some(1), Some(0), None]);
    drop(store);
    // They were asked for long ago, and came today.
    let ran = space.run(&["cache", "gc", "--unused-since", "1d"]);
    assert!(ran.stdout().starts_with("cache: dropped 1 entry (1 superseded)"), "{}", ran.shown());
    let ran = space.run(&["cache", "import", "again.jsonl", "--json"]);
    let said: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let file = json!({"path": "again.jsonl", "judgments": 3, "new": 0, "already_there": 3, "problems": []});
    assert_eq!((ran.code(), &said["files"]), (0, &json!([file])));
}

#[test]
fn import_of_a_file_that_cannot_be_read_imports_nothing() {
    let space = Space::new(&[("good.jsonl", &text(&[entry(1, 0, &reply("judge-1", NEW))]))]);
    let ran = space.run(&["cache", "import", "good.jsonl", "missing.jsonl"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot read `missing.jsonl`: there is no such file
      help: nothing was imported; the files are those that `evalrs cache export` writes
    ");
    assert!(!space.path("cache").exists());
}

/// The report of a run that asks nothing.
fn frozen(space: &Space) -> [String; 3] {
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    assert_eq!((ran.code(), space.actions("quality")), (0, [0, 4, 0, 0]), "{}", ran.shown());
    ["header.json", "results.jsonl", "summary.json"].map(|name| space.record(name))
}

#[test]
fn judgments_survive_export_a_lost_store_and_an_import_elsewhere() {
    let space = || Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(4))]);
    let here = space();
    for score in [0.25, 0.5] {
        let judge = Judge::new(move |_, _| Answer::score(score));
        assert_eq!(here.run_with(&judge, &["run", "suite.yaml", "--refresh"]).code(), 0);
    }
    let report = frozen(&here);
    assert!(
        report[2].contains("\"avg_score_total\": 0.5"),
        "the second asking wins: {}",
        report[2]
    );
    let ran = here.run(&["cache", "export", "suite.yaml", "--json"]);
    let path = "cache/in-use.judgments.jsonl";
    let said: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(
        (ran.code(), said),
        (
            0,
            json!({"path": path, "judgments": 4, "missing": 0, "kept": 0, "dropped": 0, "targets": 0, "targets_left_out": 0})
        )
    );
    let exported = here.read(path);
    assert!(exported.lines().all(|line| line.contains("\"g\":1")), "{exported}");
    std::fs::remove_dir_all(here.path("cache/v1")).unwrap();
    assert_eq!(frozen(&here), report, "from the committed file alone");
    assert!(!here.path("cache/v1").exists());
    let there = space();
    there.write("inbox/theirs.jsonl", &exported);
    let ran = there.run(&["cache", "import", "inbox/theirs.jsonl"]);
    let said = "inbox/theirs.jsonl: 4 judgments, 4 new, 0 already there, 0 corrupt lines\n";
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, said));
    assert_eq!(frozen(&there), report, "from the local store alone");
    assert_eq!(there.run(&["cache", "gc"]).code(), 0);
    assert_eq!(frozen(&there), report, "and from where a gc has put it");
    let out = ["cache", "export", "suite.yaml", "-o", "out.jsonl"];
    assert_eq!((there.run(&out).code(), there.read("out.jsonl")), (0, exported));
}

/// The ids of the samples whose judgments a file holds: each prompt begins with the answer of its row.
fn judged(space: &Space, path: &str) -> Vec<String> {
    let text = space.read(path);
    let mut answers: Vec<String> = text
        .lines()
        .map(|line| line.split("\\nanswer ").nth(1).unwrap().split('\\').next().unwrap().to_owned())
        .collect();
    answers.sort();
    answers
}

const FILE: &str = "cache/in-use.judgments.jsonl";

/// A workspace with an exported suite of five rows.
fn exported() -> Space {
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(5))]);
    let judge = Judge::new(|_, _| Answer::score(1.0));
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!(space.run(&["cache", "export", "suite.yaml"]).code(), 0);
    assert_eq!(judged(&space, FILE), ["0", "1", "2", "3", "4"]);
    space
}

#[test]
fn an_export_of_part_of_a_suite_is_a_file_of_its_own() {
    let space = exported();
    let before = space.read(FILE);
    for (narrowing, flag) in [
        (["--sample", "1"], "--sample"),
        (["--tags", "a"], "--tags"),
        (["--grader", "quality"], "--grader"),
        (["--max-samples", "2"], "--max-samples"),
        (["--trials", "1"], "--trials"),
    ] {
        let ran = space.run(&[&["cache", "export", "suite.yaml"][..], &narrowing].concat());
        let said = format!("error: `{flag}` would leave part of the suite out of its file");
        assert!(ran.code() == 2 && ran.stderr().contains(&said), "{}", ran.shown());
    }
    assert_eq!(space.read(FILE), before);
    let out = ["cache", "export", "suite.yaml", "--sample", "1", "-o", "one.jsonl"];
    assert_eq!((space.run(&out).code(), judged(&space, "one.jsonl")), (0, vec!["1".to_owned()]));
    // What holds something else is not written over.
    let out = ["cache", "export", "suite.yaml", "-o", "suite.yaml"];
    assert_eq!((space.run(&out).code(), space.read("suite.yaml").as_str()), (2, SUITE));
    // Another committed file loses nothing either.
    let out = ["cache", "export", "suite.yaml", "--sample", "1", "-o", FILE];
    assert_eq!((space.run(&out).code(), space.read(FILE)), (0, before));
}

#[test]
fn an_export_merges_until_it_is_told_to_prune() {
    let space = exported();
    let before = space.read(FILE);
    std::fs::remove_dir_all(space.path("cache/v1")).unwrap();
    let edited = rows(7).lines().skip(3).collect::<Vec<_>>().join("\n");
    space.write("data.jsonl", edited);
    // Two of four are not there yet.
    let export = ["cache", "export", "suite.yaml"];
    let ran = space.run(&export);
    assert_eq!((ran.code(), space.read(FILE)), (3, before.clone()), "{}", ran.shown());
    let prune = ["cache", "export", "suite.yaml", "--prune"];
    let ran = space.run(&prune);
    assert_eq!((ran.code(), space.read(FILE)), (3, before), "{}", ran.shown());
    assert!(
        ran.stderr().contains("error: 2 judgments are not stored yet, so nothing is dropped"),
        "{}",
        ran.shown()
    );
    let judge = Judge::new(|_, _| Answer::score(1.0));
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    let ran = space.run(&export);
    let said = format!(
        "{FILE}: 4 judgments; 3 more that this suite does not need now (`--prune` drops them)\n"
    );
    assert_eq!((ran.code(), ran.stderr()), (0, said));
    assert_eq!(judged(&space, FILE), ["0", "1", "2", "3", "4", "5", "6"]);
    let ran = space.run(&prune);
    assert_eq!((ran.code(), ran.stderr()), (0, format!("{FILE}: 4 judgments; 3 dropped\n")));
    assert_eq!(judged(&space, FILE), ["3", "4", "5", "6"]);
}

#[test]
fn an_export_of_nothing_that_is_stored_writes_no_file() {
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(5))]);
    let ran = space.run(&["cache", "export", "suite.yaml"]);
    assert_eq!((ran.code(), space.path(FILE).exists()), (3, false), "{}", ran.shown());
}

#[test]
fn suites_of_one_name_have_files_of_their_own() {
    let space = Space::new(&[("evalrs.toml", "")]);
    let judge = Judge::new(|_, _| Answer::score(1.0));
    for (folder, name, count) in
        [("a", "s", 2), ("b/c", "S", 3), ("d", "x/y", 1), ("e", "x y", 1), ("f", "z", 1)]
    {
        let suite = SUITE.replace("name: in use", &format!("name: {name}"));
        space.write(
            &format!("{folder}/suite.yaml"),
            suite.replace("polite", &format!("polite ({folder})")),
        );
        space.write(&format!("{folder}/data.jsonl"), rows(count));
        // What a suite is made of is none of its own.
        space.write(&format!("{folder}/part.yaml"), "retries: 1\n");
    }
    let suites = ["a/suite.yaml", "b/c/suite.yaml", "d/suite.yaml", "e/suite.yaml", "f/suite.yaml"];
    assert_eq!(space.run_with(&judge, &[&["run"][..], &suites].concat()).code(), 0);
    let files = || -> Vec<String> {
        let names = space.names("cache").into_iter();
        names.filter(|name| name.ends_with(".judgments.jsonl")).collect()
    };
    for suite in suites {
        let ran = space.run(&["cache", "export", suite, "--prune"]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
    }
    let found = files();
    assert_eq!(found.len(), 5, "{found:?}");
    let ends: Vec<&str> = found.iter().map(|name| name.split('-').next().unwrap()).collect();
    assert_eq!(ends, ["S", "s", "x", "x", "z.judgments.jsonl"], "{found:?}");
    std::fs::remove_dir_all(space.path("cache/v1")).unwrap();
    for suite in suites {
        assert_eq!(space.run(&["run", suite, "--frozen"]).code(), 0, "{suite}");
    }
    // Who says the path otherwise means the same suite.
    assert_eq!(space.run(&["cache", "export", "./a/../a/suite.yaml"]).code(), 0);
    assert_eq!(files(), found);
}

#[test]
fn an_export_takes_conflict_markers_out_and_leaves_other_lines_to_the_user() {
    let space = exported();
    let before = space.read(FILE);
    let (first, rest) = before.split_once('\n').unwrap();
    space.write(FILE, format!("<<<<<<< HEAD\n{first}\n=======\n>>>>>>> theirs\n{rest}"));
    let ran = space.run(&["run", "suite.yaml", "--frozen"]);
    let said = format!("warning: `{FILE}:1` is an unresolved conflict of git: both sides are read");
    assert!(ran.code() == 0 && ran.stderr().contains(&said), "{}", ran.shown());
    assert_eq!(ran.stderr().matches("warning: ").count(), 1, "{}", ran.shown());
    assert_eq!(space.run(&["cache", "export", "suite.yaml"]).code(), 0);
    assert_eq!(space.read(FILE), before);
    let odd = format!("{before}what somebody wrote\n");
    space.write(FILE, &odd);
    let ran = space.run(&["cache", "export", "suite.yaml"]);
    assert_eq!((ran.code(), space.read(FILE)), (2, odd), "{}", ran.shown());
    let said = format!("error: `{FILE}` has 1 line that cannot be read and would be lost: ");
    assert!(ran.stderr().contains(&said), "{}", ran.shown());
    assert_eq!(space.run(&["cache", "export", "suite.yaml", "--prune"]).code(), 0);
    assert_eq!(space.read(FILE), before);
}

#[test]
fn git_is_told_what_to_leave_alone_and_how_to_merge() {
    let space = exported();
    assert_eq!(space.read("cache/.gitignore"), "v1/\n");
    space.write("cache/.gitattributes", "*.png binary");
    for _ in 0..2 {
        assert_eq!(space.run(&["cache", "export", "suite.yaml", "--git"]).code(), 0);
        let attributes = space.read("cache/.gitattributes");
        assert_eq!(
            attributes,
            "*.png binary\n*.judgments.jsonl text eol=lf merge=union\n*.history.jsonl text eol=lf merge=union\n*.labels.jsonl text eol=lf merge=union\n*.holdout.jsonl text eol=lf merge=union\n"
        );
    }
}

#[test]
fn committed_judgments_are_read_wherever_the_store_lies() {
    let space = exported();
    std::fs::remove_dir_all(space.path("cache/v1")).unwrap();
    let elsewhere = |args: &[&str]| {
        let ran = crate::space::Ran(
            space.command(args).env("EVALRS_CACHE_DIR", "elsewhere").output().unwrap(),
        );
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        ran.stdout()
    };
    elsewhere(&["run", "suite.yaml", "--frozen"]);
    assert_eq!(space.actions("quality"), [0, 5, 0, 0]);
    assert!(elsewhere(&["cache", "verify"]).contains(FILE));
    assert!(elsewhere(&["cache", "stats"]).contains(FILE));
    assert!(elsewhere(&["explain", "suite.yaml", "1"]).contains(FILE));
    elsewhere(&["cache", "export", "suite.yaml"]);
    assert!(!space.path("elsewhere").exists());
    // Those beside the store are read too, each once.
    space.write("elsewhere/in-use.judgments.jsonl", space.read(FILE));
    std::fs::remove_dir_all(space.path("cache")).unwrap();
    elsewhere(&["run", "suite.yaml", "--frozen"]);
    let ran = space.run(&["cache", "verify", "--cache-dir", "./elsewhere"]);
    assert_eq!(ran.stdout().matches("judgments.jsonl").count(), 1, "{}", ran.shown());
}

/// A store with a committed layer and a last run.
fn filled() -> Space {
    let mut dear = reply("judge-2", "2998-12-31T00:00:00Z");
    dear["outcome"]["reply"]["usage"]["cost"] = json!(0.0125);
    dear["origin"] = json!({"imported": {"from": "elsewhere"}});
    let refused = json!({"outcome": {"failure": {"kind": "refused", "message": "no"}}, "at": OLD});
    let entries = [
        entry(1, 0, &reply("judge-1", OLD)),
        entry(1, 1, &reply("judge-1", NEW)),
        entry(2, 0, &dear),
        entry(3, 0, &refused),
    ];
    let space = Space::new(&[(SEGMENT, &text(&entries))]);
    space.write(
        "cache/a.judgments.jsonl",
        text(&[entry(4, 0, &reply("judge-1", OLD)), entry(3, 1, &refused)]),
    );
    let tally = |total: u64, cached: u64| json!({"total": total, "cached": cached});
    let run = json!({"id": "r", "suite": "support", "actions": {
        "quality": tally(8, 6), "tone": tally(2, 2), "exact": tally(0, 0),
    }});
    space.write(".evalrs/runs/r/run.json", run.to_string());
    space.write(".evalrs/latest", "r\n");
    space
}

#[test]
fn stats_are_of_all_layers_and_of_the_last_run() {
    let space = filled();
    insta::assert_snapshot!(space.run(&["cache", "stats"]).shown(), @r"
    exit: 0
    --- stdout
    store      cache
    entries    4, 1 superseded
    size       988 B in 1 segment
    committed  2 judgments in cache/a.judgments.jsonl
    asked      2020-01-01T00:00:00Z to 2999-01-01T00:00:00Z

    model    judgments  tokens in  out     cost
    judge-1          2         20    4        -
    judge-2          1         10    2  $0.0125
    unknown          1          0    0        -

    outcome  judgments
    reply            3
    refused          1

    origin    judgments
    asked             3
    imported          1

    age           judgments
    last day              2
    last week             2
    last 30 days          2

    last run: support  cached  actions  hit rate
    quality                 6        8     75.0%
    tone                    2        2    100.0%
    together                8       10     80.0%
    --- stderr
    ");
}

#[test]
fn stats_as_json_say_the_same() {
    let ran = filled().run(&["cache", "stats", "--json"]);
    let said: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let names: Vec<&String> = said.as_object().unwrap().keys().collect();
    let expected = [
        "format",
        "dir",
        "entries",
        "bytes",
        "segments",
        "blobs",
        "committed",
        "kinds",
        "models",
        "outcomes",
        "origins",
        "age",
        "last_run",
    ];
    assert_eq!((ran.code(), names), (0, expected.map(str::to_owned).iter().collect()));
    let dear = json!({"judgments": 1, "input_tokens": 10, "output_tokens": 2, "cost": 0.0125});
    let hits = json!({"cached": 8, "total": 10, "rate": 0.8});
    let outcomes = json!({"replies": 3, "failures": {"refused": 1}, "not_understood": 0});
    assert_eq!((&said["models"]["judge-2"], &said["last_run"]["together"]), (&dear, &hits));
    assert_eq!((&said["outcomes"], &said["age"]["month"]), (&outcomes, &json!(2)));
    assert_eq!(said["entries"], json!({"winning": 3, "all": 4}));
}

#[test]
fn stats_of_nothing_are_short() {
    insta::assert_snapshot!(Space::new(&[]).run(&["cache", "stats", "in/suite.yaml"]).shown(), @r"
    exit: 0
    --- stdout
    store    in/cache
    entries  0, none superseded
    size     0 B in 0 segments
    --- stderr
    ");
}

#[test]
fn path_says_where_the_store_is() {
    let space = Space::new(&[]);
    assert_eq!(space.run(&["cache", "path"]).stdout(), "cache\n");
    let ran = space.run(&["cache", "path", "in/suite.yaml", "--json"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "{\n  \"path\": \"in/cache\"\n}\n"));
}

#[test]
fn a_byte_order_mark_hides_no_committed_judgment() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let suite = "name: s\ndataset: data.jsonl\ngraders: {q: {kind: rubric, prompt: 'x {submission}', model: m, endpoint: test}}\n";
    let row = json!({"id": "a", "input": "q", "output": "o"});
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", &lines([row]))]);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "--quiet"]).code(), 0);
    assert_eq!(space.run(&["cache", "export", "suite.yaml"]).code(), 0);
    let file = "cache/s.judgments.jsonl";
    let text = space.read(file);
    space.write(file, format!("\u{feff}{text}"));
    std::fs::remove_dir_all(space.path("cache/v1")).unwrap();
    let history = "cache/s.history.jsonl";
    space.write(history, format!("\u{feff}{}", space.read(history)));
    let frozen = space.run(&["run", "suite.yaml", "--frozen", "--quiet"]);
    assert_eq!((frozen.code(), frozen.stderr()), (0, String::new()), "{}", frozen.shown());
    let told = space.run(&["history", "suite.yaml"]);
    assert!(!told.shown().contains("cannot be read"), "{}", told.shown());
    assert_eq!(space.run(&["cache", "export", "suite.yaml"]).code(), 0);
    assert_eq!(space.read(file), text, "an export takes it out");
}
