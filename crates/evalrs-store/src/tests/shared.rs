//! Lines that share ingredients: written short, read whole, and never wrong.

use super::*;
use crate::segment::base_lines::BaseLines;
use crate::segment::index::scan_file;
use crate::segment::store::SEAL_AT;
use crate::sweep::survey::SweptEntries;
use crate::sweep::{Sweep, sweep};

/// A body that begins so, with the ingredients of a judgment.
pub(super) fn judgment(start: &str, judge: &str, user: &str) -> String {
    let system = "You are an evaluator. ".repeat(9);
    let part = |name: &str, text: &str| format!(r#"{{"name":"{name}","preview":"{text}"}}"#);
    let parts = [
        part("kind", "judge"),
        part("model", judge),
        part("system", &system),
        part("user", user),
        part("seed", "7"),
        part("schema", "an object with a score between 0 and 1 and a rationale"),
    ];
    format!(r#"{start},"ingredients":[{}],"at":"now"}}"#, parts.join(","))
}

fn reply(number: u8, judge: &str) -> Entry {
    let start = format!(r#"{{"outcome":{{"reply":{{"text":"{number}"}}}}"#);
    entry(number, 0, &judgment(&start, judge, &format!("Question {number}?")))
}

/// What [`reply`] is without what its key was made of.
fn bare(number: u8) -> Entry {
    let body =
        format!(r#"{{"outcome":{{"reply":{{"text":"{number}"}}}},"ingredients":[],"at":"now"}}"#);
    entry(number, 0, &body)
}

/// What stands in the lines of the only segment.
fn lines(dir: &Path) -> Vec<String> {
    let [path] = &files(dir, ".jsonl")[..] else { panic!("not one segment") };
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// Whether a line has parts of another one.
fn is_short(line: &str) -> bool {
    line.contains(r#""like":{"at":"#)
}

/// What a new process reads of the keys of `entries`.
fn found(dir: &Path, entries: &[Entry]) -> Vec<Option<Entry>> {
    let keys: Vec<ActionKey> = entries.iter().map(|entry| entry.key).collect();
    SegmentStore::open(dir).get_many(&keys)
}

/// A sweep that drops nothing but what others win over.
fn pack(dir: &Path) -> SweptEntries {
    let pack = Sweep { unused_since: None, max_size: None, made: &|_| 0, now: 0, dry_run: false };
    sweep(dir, &pack).unwrap()
}

/// A segment of whole lines, as earlier versions wrote them.
fn whole_lines(entries: &[Entry]) -> TempDir {
    segment(text_of(entries).as_bytes())
}

#[test]
fn what_judgments_have_in_common_stands_once_a_segment() {
    let dir = fresh();
    let entries: Vec<Entry> = (0..20).map(|number| reply(number, "one")).collect();
    let store = SegmentStore::open(dir.path());
    for batch in entries.chunks(3) {
        store.put_many(batch).unwrap();
    }
    drop(store);
    let lines = lines(dir.path());
    assert!(!is_short(&lines[0]), "{}", lines[0]);
    for (line, entry) in lines.iter().zip(&entries).skip(1) {
        assert!(is_short(line), "{line}");
        assert!(line.len() * 2 < lines[0].len(), "{line}");
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        let own = &json["v"]["ingredients"];
        assert_eq!(own.as_array().unwrap().len(), 1, "{line}");
        let whole: serde_json::Value = serde_json::from_str(&entry.body).unwrap();
        assert_eq!(own[0], whole["ingredients"][3], "{line}");
        assert_eq!(json["v"]["outcome"], whole["outcome"], "{line}");
    }
    assert_eq!(found(dir.path(), &entries), entries.iter().cloned().map(Some).collect::<Vec<_>>());
    assert_eq!(verify(dir.path()).problems, [] as [String; 0]);
}

#[test]
fn what_comes_again_and_shares_little_has_a_whole_line_of_its_own() {
    let dir = fresh();
    let long = |judge: &str| judge.repeat(100);
    let judges = [long("one"), long("two"), "three".to_owned()];
    let entries: Vec<Entry> =
        (0..12).map(|number| reply(number, &judges[usize::from(number) % judges.len()])).collect();
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    let lines = lines(dir.path());
    let whole: Vec<usize> = (0..lines.len()).filter(|at| !is_short(&lines[*at])).collect();
    assert_eq!(whole, [0, 4], "a short name is not worth it, a long one is when it comes again");
    assert_eq!(found(dir.path(), &entries), entries.into_iter().map(Some).collect::<Vec<_>>());
}

#[test]
fn a_line_that_is_damaged_costs_those_that_share_with_it_their_ingredients_only() {
    let dir = fresh();
    let entries: Vec<Entry> = (0..6).map(|number| reply(number, "one")).collect();
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    let [path] = &files(dir.path(), ".jsonl")[..] else { panic!("not one segment") };
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, text.replacen("evaluator", "evaluatox", 1)).unwrap();
    let expected: Vec<Option<Entry>> =
        (0..6).map(|number| (number > 0).then(|| bare(number))).collect();
    assert_eq!(found(dir.path(), &entries), expected);
    let problems = verify(dir.path()).problems;
    assert_eq!(problems.len(), 6, "{problems:?}");
    assert!(
        problems[0].contains(":1`: the checksum does not match") || problems[5].contains(":1`")
    );
    assert!(problems.iter().any(|problem| problem.contains(":2` is whole, but")), "{problems:?}");
    // A sweep keeps what there is and names it, and then nothing is wrong any more.
    let problems = pack(dir.path()).problems;
    let named = problems.iter().filter(|problem| problem.contains("without the ingredients"));
    assert_eq!(named.count(), 5, "{problems:?}");
    assert_eq!(found(dir.path(), &entries), expected);
    assert_eq!(verify(dir.path()).problems, [] as [String; 0]);
}

/// Somebody took out the line that the others share with: no line is damaged.
fn without_first_line(dir: &Path) {
    let [path] = &files(dir, ".jsonl")[..] else { panic!("not one segment") };
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, text.split_once('\n').unwrap().1).unwrap();
    fs::remove_file(path.with_extension("idx")).unwrap();
}

#[test]
fn of_two_copies_the_one_that_lacks_nothing_wins() {
    let dir = fresh();
    let entries: Vec<Entry> = (0..40).map(|number| reply(number, "one")).collect();
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    without_first_line(dir.path());
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    let expected: Vec<Option<Entry>> = entries.iter().cloned().map(Some).collect();
    assert_eq!(found(dir.path(), &entries), expected);
    let swept = pack(dir.path());
    assert_eq!((swept.superseded, swept.problems), (39, vec![]));
    assert_eq!(found(dir.path(), &entries), expected);
}

/// Also once a sweep has written it anew, or where it was read and is an entry like any other.
#[test]
fn a_copy_that_comes_later_wins_over_one_that_lacks_something() {
    let dir = fresh();
    let entries: Vec<Entry> = (0..40).map(|number| reply(number, "one")).collect();
    for entry in &entries {
        let bare = bare(entry.key.0[0]);
        assert!(entry.wins_over(&bare) && !bare.wins_over(entry), "{}", entry.key);
    }
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    without_first_line(dir.path());
    let swept = pack(dir.path());
    assert_eq!((swept.packed, swept.problems.len()), (1, 39), "one segment alone");
    assert_eq!(verify(dir.path()).problems, Vec::<String>::new());
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    let expected: Vec<Option<Entry>> = entries.iter().cloned().map(Some).collect();
    assert_eq!(found(dir.path(), &entries), expected);
    assert_eq!(pack(dir.path()).superseded, 39);
    assert_eq!(found(dir.path(), &entries), expected);
}

/// A segment that is packed while it is read goes: what was opened before stays readable.
#[test]
fn the_lines_that_others_share_with_are_read_from_a_segment_that_went() {
    let dir = fresh();
    let entries: Vec<Entry> = (0..4).map(|number| reply(number, "one")).collect();
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    let path = &files(dir.path(), ".jsonl")[0];
    let mut bases = BaseLines::of(path);
    let mut incomplete = 0;
    let mut is_there = true;
    scan_file(path, |found| {
        if std::mem::take(&mut is_there) {
            fs::remove_file(path).unwrap();
        }
        incomplete += usize::from(bases.entry(&found.entry).is_incomplete);
    })
    .unwrap();
    assert_eq!((incomplete, path.exists()), (0, false));
}

#[test]
fn a_run_leaves_what_is_incomplete_to_a_sweep() {
    let dir = fresh();
    let entries: Vec<Entry> = (0..3).map(|number| reply(number, "one")).collect();
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    without_first_line(dir.path());
    let damaged = files(dir.path(), ".jsonl");
    for number in 10..90 {
        SegmentStore::open(dir.path()).put_many(&[reply(number, "one")]).unwrap();
    }
    assert_eq!(pack_many(dir.path()).unwrap().unwrap().packed, 80);
    let left = files(dir.path(), ".jsonl");
    assert!(left.len() == 2 && left.contains(&damaged[0]), "{left:?}");
    assert_eq!(verify(dir.path()).problems.len(), 2, "and it is still named");
}

#[test]
fn a_sweep_that_drops_the_whole_line_leaves_the_others_whole() {
    let dir = fresh();
    let entries: Vec<Entry> = (0..6).map(|number| reply(number, "one")).collect();
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    let newer = Entry { generation: 1, ..reply(0, "another judge with another name") };
    SegmentStore::open(dir.path()).put_many(std::slice::from_ref(&newer)).unwrap();
    assert_eq!(pack(dir.path()).superseded, 1);
    let mut expected = entries.clone();
    expected[0] = newer;
    assert_eq!(found(dir.path(), &entries), expected.into_iter().map(Some).collect::<Vec<_>>());
    assert_eq!(lines(dir.path()).iter().filter(|line| !is_short(line)).count(), 1);
    assert_eq!(verify(dir.path()).problems, [] as [String; 0]);
}

#[test]
fn segments_of_whole_lines_are_read_and_a_sweep_makes_them_short_once() {
    let entries: Vec<Entry> = (0..100).map(|number| reply(number, "one")).collect();
    // Too large to be packed for its size.
    let large = entry(200, 0, &format!(r#"{{"a":"{}"}}"#, "x".repeat(60_000)));
    let count = SEAL_AT as usize / 2 / large.body.len() + 1;
    let filling = (0..count).map(|at| Entry {
        key: ActionKey(*blake3::hash(&at.to_le_bytes()).as_bytes()),
        ..large.clone()
    });
    let all: Vec<Entry> = entries.iter().cloned().chain(filling).collect();
    let dir = whole_lines(&all);
    let before = files(dir.path(), ".jsonl");
    let expected: Vec<Option<Entry>> = entries.iter().cloned().map(Some).collect();
    assert_eq!(found(dir.path(), &entries), expected);
    let swept = pack(dir.path());
    let after = files(dir.path(), ".jsonl");
    assert_ne!(before, after);
    assert_eq!(found(dir.path(), &entries), expected);
    let store = SegmentStore::open(dir.path());
    assert_eq!(
        swept.kept_bytes,
        store.totals().bytes - 20,
        "what is left, without frame of the index"
    );
    drop(store);
    pack(dir.path());
    assert_eq!(files(dir.path(), ".jsonl"), after, "what is short stays as it is");
}

#[test]
fn lines_of_a_segment_are_no_lines_of_a_committed_file() {
    let dir = fresh();
    SegmentStore::open(dir.path()).put_many(&[reply(1, "one"), reply(2, "one")]).unwrap();
    let mut committed = CommittedStore::default();
    committed.add("a", lines(dir.path()).join("\n").as_bytes());
    assert_eq!(committed.keys(), [key(1)]);
    let warnings = committed.take_warnings();
    assert!(
        matches!(&warnings[..], [one] if one.contains("`a:2`: it shares parts")),
        "{warnings:?}"
    );
}

#[test]
fn a_body_that_looks_like_a_reference_is_kept_as_it_is() {
    let dir = fresh();
    let odd = entry(1, 0, r#"{"a":1,"like":{"at":0,"c":"00000000","parts":[1,2,3]}}"#);
    SegmentStore::open(dir.path()).put_many(std::slice::from_ref(&odd)).unwrap();
    assert_eq!(found(dir.path(), std::slice::from_ref(&odd)), [Some(odd.clone())]);
    assert!(render(&odd).is_err(), "a committed file could not hold it");
}

/// An element of a list of ingredients: short or long, and whatever JSON may have in it.
fn element() -> impl Strategy<Value = String> {
    let texts = prop_oneof![Just("a".to_owned()), Just("é\"],[{\\".repeat(30)), ".{0,40}"];
    texts.prop_map(|text| serde_json::to_string(&serde_json::json!({"name": text})).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_list_of_ingredients_is_read_as_it_was_written(
        lists in proptest::collection::vec(proptest::collection::vec(element(), 0..5), 1..12),
        batch in 1..5_usize,
    ) {
        let dir = fresh();
        let entries: Vec<Entry> = (0_u8..).zip(&lists).map(|(number, list)| {
            entry(number, 0, &format!(r#"{{"outcome":{{"reply":{number}}},"ingredients":[{}],"at":1}}"#, list.join(",")))
        }).collect();
        let store = SegmentStore::open(dir.path());
        for batch in entries.chunks(batch) {
            store.put_many(batch).unwrap();
        }
        drop(store);
        for line in lines(dir.path()) {
            serde_json::from_str::<serde::de::IgnoredAny>(&line).unwrap();
        }
        let expected: Vec<Option<Entry>> = entries.iter().cloned().map(Some).collect();
        prop_assert_eq!(found(dir.path(), &entries), expected.clone());
        pack(dir.path());
        prop_assert_eq!(found(dir.path(), &entries), expected);
    }

    #[test]
    fn a_mutation_never_makes_another_body(
        at in any::<proptest::sample::Index>(),
        insert in proptest::collection::vec(any::<u8>(), 0..4),
        remove in 0..4_usize,
    ) {
        let dir = fresh();
        let entries: Vec<Entry> = (0..5).map(|number| reply(number, "one")).collect();
        SegmentStore::open(dir.path()).put_many(&entries).unwrap();
        let [path] = &files(dir.path(), ".jsonl")[..] else { panic!("not one segment") };
        let text = fs::read(path).unwrap();
        let from = at.index(text.len());
        let to = (from + remove).min(text.len());
        fs::write(path, [&text[..from], &insert[..], &text[to..]].concat()).unwrap();
        let found = found(dir.path(), &entries);
        for (entry, found) in entries.iter().zip(&found) {
            let number = entry.key.0[0];
            let is_right = found.as_ref().is_none_or(|found| found == entry || *found == bare(number));
            prop_assert!(is_right, "{found:?}");
        }
        let lost = found.iter().filter(|found| found.is_none()).count();
        prop_assert!(lost <= 2, "{lost} outcomes lost with one place damaged");
    }
}
