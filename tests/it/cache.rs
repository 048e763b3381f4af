//! `evalrs cache` over stores written by hand, so that every date and size is known.

use evalrs::action::ActionKey;
use evalrs::store::{Entry, render};
use serde_json::{Value, json};

use crate::space::Space;

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
    entries.iter().map(|entry| render(std::slice::from_ref(entry)).unwrap()).collect()
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
    cache: 1 entry, 372 bytes, 0 keys recomputed, 1 bad lines
    cache/a.judgments.jsonl: 1 judgment, 0 keys recomputed, 1 bad lines
    cache/b.judgments.jsonl: 0 judgments, 0 keys recomputed, 1 bad lines
    --- stderr
      the stored outcome at `cache/v1/seg/00000000001-1-0000000000000000.jsonl:2` is no outcome: unknown variant `vision`, expected `reply` or `failure` at line 1 column 20
      skipped the stored outcome at `cache/a.judgments.jsonl:3`: not an entry
      the stored outcome at `cache/b.judgments.jsonl:1` is no outcome: unknown variant `vision`, expected `reply` or `failure` at line 1 column 20
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

#[test]
fn path_says_where_the_store_is() {
    let space = Space::new(&[]);
    assert_eq!(space.run(&["cache", "path"]).stdout(), "cache\n");
    let ran = space.run(&["cache", "path", "in/suite.yaml", "--json"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "{\n  \"path\": \"in/cache\"\n}\n"));
}
