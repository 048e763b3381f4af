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
      help: remove that file: entries that only it names then expire by their own age
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
    made       2020-01-01T00:00:00Z to 2999-01-01T00:00:00Z

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
