//! The stores against a plain map, and against every kind of damage that a file can take.
#![expect(clippy::disallowed_methods, reason = "tests damage the files of the store themselves")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use evalrs_model::key::ActionKey;

use super::*;
use crate::entry::WARNING_LIMIT;
use crate::line::{self, Position, ScannedLines};
use crate::segment::files::read_group;
use crate::segment::own_segment::OwnSegment;

mod blobs;
mod claims;
mod model;
mod shared;
mod side_files;
mod sweeps;
mod uses;

fn key(number: u8) -> ActionKey {
    ActionKey([number; 32])
}

fn entry(number: u8, generation: u32, body: &str) -> Entry {
    Entry { key: key(number), generation, body: body.to_owned() }
}

/// Three entries of three keys, whose lines differ in length.
fn three() -> Vec<Entry> {
    vec![entry(1, 0, "{}"), entry(2, 7, r#"{"score":0.5}"#), entry(3, 1, r#"{"why":"é\n"}"#)]
}

fn moment(text: &str) -> jiff::Timestamp {
    text.parse().unwrap()
}

fn text_of(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        line::write(entry, &mut text).unwrap();
    }
    text
}

fn folder(dir: &Path) -> PathBuf {
    dir.join("v1/seg")
}

/// An empty folder, in memory where the system has one: most of the time would go by in waiting for the disk.
fn fresh() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

/// What [`verify`](super::verify) finds where every body is right.
fn verify(dir: &Path) -> VerifyReport {
    super::verify(dir, &|_| Ok(EntryCheck::Read))
}

/// A cache folder with one segment of these bytes.
fn segment(bytes: &[u8]) -> TempDir {
    let dir = fresh();
    fs::create_dir_all(folder(dir.path())).unwrap();
    fs::write(folder(dir.path()).join("0-1-2.jsonl"), bytes).unwrap();
    dir
}

/// The files of the store that end so, sorted.
fn files(dir: &Path, end: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder(dir)).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.to_str().unwrap().ends_with(end));
    files.sort();
    files
}

/// What a new process reads of the keys of [`three`], as `1` for a hit that is right and `.` for a miss, and its
/// warnings with the folder taken out.
fn reread(dir: &Path) -> (String, Vec<String>) {
    let store = SegmentStore::open(dir);
    let expected = three();
    let found = store.get_many(&[key(1), key(2), key(3)]);
    let marks = found.into_iter().zip(expected).map(|(found, expected)| match found {
        Some(found) => {
            assert_eq!(found, expected);
            '1'
        }
        None => '.',
    });
    let marks = marks.collect();
    let shown = format!("{}/", folder(dir).display());
    (marks, store.take_warnings().iter().map(|warning| warning.replace(&shown, "")).collect())
}

#[test]
fn a_line_is_what_the_format_says() {
    // The checksum is Python's zlib.crc32 of what stands before `,"c"`.
    let one = r#"{"k":"0101010101010101010101010101010101010101010101010101010101010101","g":3,"v":{"a":1},"c":"3dae16a7"}"#;
    assert_eq!(text_of(&[entry(1, 3, r#"{"a":1}"#)]), format!("{one}\n"));
    for text in [one.to_owned(), format!("{one}\r")] {
        let parsed = line::parse(text.as_bytes()).unwrap();
        assert_eq!(parsed.alone(), Ok(entry(1, 3, r#"{"a":1}"#)));
        assert_eq!(parsed.checksum, 0x3dae_16a7);
    }
    let json: serde_json::Value = serde_json::from_str(one).unwrap();
    assert_eq!(json["v"]["a"], 1);
}

#[test]
fn lines_with_a_right_checksum_and_a_wrong_shape_are_none() {
    let hex = "01".repeat(32);
    let cases = [
        (format!(r#"{{"k":"{hex}","g":1,"v":{{}}"#), true),
        (format!(r#"{{"k":"{hex}","g":4294967295,"v":{{}}"#), true),
        (format!(r#"{{"k":"{hex}","g":4294967296,"v":{{}}"#), false),
        (format!(r#"{{"k":"{hex}","g":+1,"v":{{}}"#), false),
        (format!(r#"{{"k":"{hex}","g":-1,"v":{{}}"#), false),
        (format!(r#"{{"k":"{hex}","g":,"v":{{}}"#), false),
        (format!(r#"{{"k":"{hex}","g":1,"v":[]"#), false),
        (format!(r#"{{"k":"{hex}","g":1,"v":"#), false),
        (format!(r#"{{"k":"{hex}","g":1"#), false),
        (format!(r#"{{"g":1,"k":"{hex}","v":{{}}"#), false),
        (format!(r#"{{"k":"{}","g":1,"v":{{}}"#, &hex[1..]), false),
        (format!(r#"{{"k":"{}é","g":1,"v":{{}}"#, &hex[2..]), false),
        (String::new(), false),
    ];
    for (content, good) in cases {
        let text = format!(r#"{content},"c":"{:08x}"}}"#, crc32fast::hash(content.as_bytes()));
        assert_eq!(line::parse(text.as_bytes()).is_ok(), good, "{text}");
    }
}

#[test]
fn a_body_that_is_no_line_of_json_is_refused_by_every_store() {
    let dir = fresh();
    let bodies =
        ["{\n}", "{\"a\":\r1}", "[1]", "", "{", "{}}", "{a:1}", " {}", "{} ", "{\"a\":\"\n\"}"];
    for body in bodies {
        let batch = [entry(1, 0, "{}"), entry(2, 0, body)];
        let stores: [&dyn OutcomeStore; 2] =
            [&SegmentStore::open(dir.path()), &mut MemoryStore::default()];
        for store in stores {
            let error = store.put_many(&batch).unwrap_err();
            assert!(
                matches!(error, StoreError::Body { key: bad, .. } if bad == key(2)),
                "{body:?}"
            );
            assert_eq!(store.get_many(&[key(1)]), [None], "nothing of the batch is kept");
            store.put_many(&batch[..1]).unwrap();
            assert!(store.get_many(&[key(1)])[0].is_some(), "a refusal does not break the store");
        }
        assert!(render(&batch[1]).is_err(), "{body:?}");
        let _ = fs::remove_dir_all(dir.path().join("v1"));
    }
}

#[test]
fn a_tail_torn_anywhere_costs_the_torn_entry_only() {
    let text = text_of(&three());
    for cut in 0..=text.len() {
        let dir = segment(&text.as_bytes()[..cut]);
        let whole = text.as_bytes()[..cut].split(|&byte| byte == b'\n').count() - 1;
        let marks = format!("{:.<3}", "1".repeat(whole));
        assert_eq!(reread(dir.path()), (marks, vec![]), "cut at {cut}");
        let report = verify(dir.path());
        assert_eq!((report.entries, report.problems), (whole as u64, vec![]), "cut at {cut}");
    }
}

#[test]
fn a_tail_that_is_finished_later_is_read_then() {
    let text = text_of(&three());
    let dir = segment(&text.as_bytes()[..text.len() - 9]);
    let store = SegmentStore::open(dir.path());
    assert_eq!(store.get_many(&[key(3)]), [None]);
    fs::write(folder(dir.path()).join("0-1-2.jsonl"), &text).unwrap();
    assert_eq!(store.get_many(&[key(3)]), [Some(three()[2].clone())]);
    assert_eq!(store.take_warnings(), [] as [String; 0]);
    let path = folder(dir.path()).join("0-1-2.jsonl");
    fs::write(&path, format!("{text}\nnonsense\n")).unwrap();
    assert_eq!(store.get_many(&[key(4)]), [None]);
    let warning = format!("skipped the stored outcome at `{}:5`: not an entry", path.display());
    assert_eq!(store.take_warnings(), [warning]);
}

#[test]
fn a_bad_line_is_named_and_hides_no_other() {
    let text = text_of(&three());
    let lines: Vec<&str> = text.lines().collect();
    let flipped = lines[1].replace("0.5", "0.6");
    let skipped = |reason: &str| {
        vec![format!("skipped the stored outcome at `{{path}}0-1-2.jsonl:2`: {reason}")]
    };
    let cases = [
        (flipped.as_bytes(), skipped("the checksum does not match")),
        (b"<<<<<< HEAD", skipped("not an entry")),
        (b"\xff\x00", skipped("not an entry")),
        (&lines[1].as_bytes()[..lines[1].len() / 2], skipped("not an entry")),
        (b"", vec![]),
        (b" \r", vec![]),
    ];
    for (bad, expected) in cases {
        let bytes = [lines[0].as_bytes(), bad, lines[2].as_bytes(), b""].join(&b"\n"[..]);
        let dir = segment(&bytes);
        let short: Vec<String> = expected.iter().map(|text| text.replace("{path}", "")).collect();
        assert_eq!(reread(dir.path()), ("1.1".to_owned(), short), "{bad:?}");
        let path = format!("{}/", folder(dir.path()).display());
        let long: Vec<String> = expected.iter().map(|text| text.replace("{path}", &path)).collect();
        let report = VerifyReport {
            entries: 2,
            bytes: bytes.len() as u64,
            problems: long,
            ..VerifyReport::default()
        };
        assert_eq!(verify(dir.path()), report, "{bad:?}");
    }
}

#[test]
fn a_file_of_garbage_gives_a_bounded_number_of_warnings() {
    let mut bytes = b"x\n".repeat(3 * WARNING_LIMIT);
    bytes.extend(text_of(&three()).bytes());
    let dir = segment(&bytes);
    let (marks, warnings) = reread(dir.path());
    assert_eq!((marks.as_str(), warnings.len()), ("111", WARNING_LIMIT));
    let mut committed = CommittedStore::default();
    committed.add("a.jsonl", &bytes);
    assert_eq!(committed.take_warnings().len(), WARNING_LIMIT);
    assert_eq!(committed.keys().len(), 3);
}

#[test]
fn a_line_beyond_the_limit_is_skipped_and_the_next_one_read() {
    let long = [vec![b'x'; 65 << 20], b"\n".to_vec()].concat();
    let text = [&long[..], text_of(&three()).as_bytes()].concat();
    let mut offsets = Vec::new();
    let scanned = line::scan(&text[..], "a", Position::START, |found| {
        offsets.push((found.offset as usize, found.entry.key));
    });
    let expected = ScannedLines {
        end: Position { offset: text.len() as u64, line: 5 },
        skipped: vec!["skipped the stored outcome at `a:1`: longer than 64 MiB".to_owned()],
        conflicts: 0,
    };
    assert_eq!(scanned.unwrap(), expected);
    assert_eq!((offsets.len(), offsets[0]), (3, (long.len(), key(1))));
}

#[test]
fn a_segment_is_sealed_when_it_is_large_and_another_one_started() {
    let dir = fresh();
    let store = SegmentStore::open(dir.path());
    store.writer().seal_at = 1;
    for entry in three() {
        store.put_many(&[entry]).unwrap();
    }
    assert_eq!(files(dir.path(), ".jsonl").len(), 3);
    assert_eq!(files(dir.path(), ".idx").len(), 3);
    assert_eq!(reread(dir.path()), ("111".to_owned(), vec![]));
}

#[test]
fn a_segment_removed_under_the_writer_takes_nothing_later_with_it() {
    let dir = fresh();
    let store = SegmentStore::open(dir.path());
    store.put_many(&three()[..1]).unwrap();
    fs::remove_dir_all(dir.path().join("v1")).unwrap();
    assert_eq!(store.get_many(&[key(1)]), [None]);
    assert_eq!(store.take_warnings(), [] as [String; 0], "whoever removes entries knows it");
    store.put_many(&three()[1..]).unwrap();
    assert_eq!(reread(dir.path()).0, ".11");
    assert_eq!(store.get_many(&[key(1), key(2)])[0], None);
    assert!(store.get_many(&[key(1), key(2)])[1].is_some());
    assert_eq!(store.keys(), [key(2), key(3)]);
}

#[test]
fn a_store_is_tried_before_it_is_written() {
    let dir = fresh();
    let cache = dir.path().join("cache");
    let store = SegmentStore::open(&cache);
    assert_eq!(store.try_writing(), Ok(()));
    assert_eq!((files(&cache, ".jsonl").len(), files(&cache, "").len()), (1, 1));
    drop(store);
    assert_eq!(files(&cache, "").len(), 0, "nothing came of it");
    let store = SegmentStore::open(&cache);
    store.try_writing().unwrap();
    store.put_many(&three()).unwrap();
    assert_eq!(store.try_writing(), Ok(()));
    drop(store);
    assert_eq!(reread(&cache), ("111".to_owned(), vec![]));
    assert_eq!(files(&cache, ".jsonl").len(), 1);
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let store = SegmentStore::open(&file);
    let error = store.try_writing().unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }), "{error}");
    assert_eq!(store.put_many(&three()), Err(error));
}

#[test]
fn git_is_told_to_leave_the_store_alone_unless_the_user_said_something() {
    let dir = fresh();
    SegmentStore::open(dir.path()).put_many(&three()).unwrap();
    let path = dir.path().join(".gitignore");
    assert_eq!(fs::read_to_string(&path).unwrap(), "v1/\n");
    fs::write(&path, "mine").unwrap();
    SegmentStore::open(dir.path()).put_many(&three()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn what_others_write_is_seen_however_much_is_known() {
    let dir = fresh();
    let mut stores = [(); 2].map(|()| SegmentStore::open(dir.path()));
    for store in &mut stores {
        assert!(!store.others_wrote());
    }
    let [mine, theirs] = &mut stores;
    mine.put_many(&[entry(1, 0, "{}")]).unwrap();
    assert!(!mine.others_wrote());
    theirs.put_many(&[entry(1, 1, "{}")]).unwrap();
    assert!(mine.others_wrote());
    assert_eq!(mine.get_many(&[key(1)]), [Some(entry(1, 1, "{}"))]);
    assert!(mine.others_wrote(), "and it is remembered");
}

#[test]
fn a_committed_entry_that_is_wrong_hides_no_right_one() {
    let [good, bad] = [entry(1, 0, "{}"), entry(1, 9, r#"{"bad":1}"#)];
    let check: Check<'static> = &|entry| {
        if entry.body.contains("bad") { Err("is bad".to_owned()) } else { Ok(EntryCheck::Read) }
    };
    for lines in [[good.clone(), bad.clone()], [bad.clone(), good.clone()]] {
        let mut committed = CommittedStore::checked(check);
        committed
            .add("a", (text_of(&lines) + &text_of(&[entry(2, 0, bad.body.as_str())])).as_bytes());
        assert_eq!(committed.take_warnings(), [] as [String; 0], "nothing was used yet");
        assert_eq!(committed.get(&key(1)), Some(&good));
        assert_eq!(committed.get(&key(2)), None);
        assert_eq!(committed.get(&key(1)), Some(&good));
        let warnings = committed.take_warnings();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("which is bad"), "{warnings:?}");
        assert_eq!(committed.keys(), [key(1)]);
    }
}

#[test]
fn nothing_is_written_where_nothing_is_put() {
    let dir = fresh();
    let store = SegmentStore::open(dir.path().join("cache"));
    assert_eq!(store.get_many(&[key(1)]), [None]);
    store.put_many(&[]).unwrap();
    drop(store);
    assert!(!dir.path().join("cache").exists());
    assert_eq!(verify(&dir.path().join("cache")), VerifyReport::default());
}

#[test]
fn a_folder_that_is_none_is_a_warning_to_readers_and_an_error_to_writers() {
    for part in ["", "v1", "v1/seg"] {
        let dir = fresh();
        let cache = dir.path().join("cache");
        let file = cache.join(part);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(if part.is_empty() { &cache } else { &file }, "").unwrap();
        let store = SegmentStore::open(&cache);
        assert_eq!(store.get_many(&[key(1)]), [None]);
        let warnings = store.take_warnings();
        assert!(matches!(&warnings[..], [one] if one.starts_with("cannot read")), "{warnings:?}");
        let error = store.put_many(&three()).unwrap_err();
        assert!(
            matches!(&error, StoreError::Write { path, reason }
                if path.starts_with(cache.to_str().unwrap()) && !reason.is_empty()),
            "{error}"
        );
        assert_eq!(verify(&cache).problems, warnings);
    }
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_an_error_to_writers() {
    use std::os::unix::fs::PermissionsExt;
    let dir = segment(text_of(&three()).as_bytes());
    fs::set_permissions(folder(dir.path()), fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write everywhere.
    let writable = File::create(folder(dir.path()).join("probe")).is_ok();
    let store = SegmentStore::open(dir.path());
    assert_eq!(store.get_many(&[key(2)]), [Some(three()[1].clone())]);
    assert_eq!(store.put_many(&three()).is_ok(), writable);
    fs::set_permissions(folder(dir.path()), fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_system_that_takes_nothing_is_an_error_to_writers() {
    let store = SegmentStore::open("/proc/self/evalrs");
    assert_eq!(store.get_many(&[key(1)]), [None]);
    let error = store.put_many(&three()).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_until_the_store_is_opened_again() {
    let dir = fresh();
    let store = SegmentStore::open(dir.path());
    let file = File::options().append(true).open("/dev/full").unwrap();
    store.writer().own = Some(OwnSegment::of("/dev/full".to_owned(), file));
    let error = store.put_many(&three()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write the store at `/dev/full`: No space left on device (os error 28)"
    );
    assert_eq!(store.put_many(&three()), Err(error), "what is on disk is unknown from here on");
    assert_eq!(store.get_many(&[key(1)]), [None]);
    let store = SegmentStore::open(dir.path());
    store.put_many(&three()).unwrap();
    assert_eq!(reread(dir.path()).0, "111");
}

#[test]
fn threads_that_write_at_once_see_each_other() {
    let dir = fresh();
    let keys: Vec<ActionKey> = (0..60).map(key).collect();
    std::thread::scope(|scope| {
        for writer in 0..3_u8 {
            let dir = dir.path();
            let keys = &keys;
            scope.spawn(move || {
                let store = SegmentStore::open(dir);
                for batch in (0..20_u8).collect::<Vec<_>>().chunks(4) {
                    let entries: Vec<Entry> = batch
                        .iter()
                        .map(|number| {
                            entry(writer * 20 + number, 0, &format!(r#"{{"by":{writer}}}"#))
                        })
                        .collect();
                    store.put_many(&entries).unwrap();
                    let found = store.get_many(keys);
                    assert!(
                        batch
                            .iter()
                            .all(|number| { found[usize::from(writer * 20 + number)].is_some() })
                    );
                }
                assert_eq!(store.take_warnings(), [] as [String; 0]);
            });
        }
    });
    let store = SegmentStore::open(dir.path());
    for (number, found) in store.get_many(&keys).into_iter().enumerate() {
        assert_eq!(found.unwrap().body, format!(r#"{{"by":{}}}"#, number / 20));
    }
    assert_eq!(store.keys(), keys);
    let report = verify(dir.path());
    assert_eq!((report.entries, report.problems), (60, vec![]));
}

#[test]
fn committed_files_are_read_in_any_order_and_with_any_line_ends() {
    let text = text_of(&three());
    let lines: Vec<&str> = text.lines().collect();
    let cases = [
        (text.clone(), "111", 0),
        (text.trim_end().to_owned(), "111", 0),
        (text.replace('\n', "\r\n"), "111", 0),
        ([lines[2], lines[0], lines[1]].join("\n"), "111", 0),
        (
            [lines[0], "<<<<<<< HEAD", lines[1], "=======", lines[2], ">>>>>>> theirs\r"]
                .join("\n"),
            "111",
            1,
        ),
        (
            [
                "<<<<<<< a",
                lines[0],
                "||||||| b",
                "=======",
                lines[1],
                ">>>>>>> c",
                lines[2],
                "<<<<<<< a\n=======\n>>>>>>> c",
            ]
            .join("\n"),
            "111",
            2,
        ),
        ([lines[0], "=======", lines[1], "========", lines[2]].join("\n"), "111", 2),
        (text[..text.len() - 3].to_owned(), "11.", 1),
        (String::new(), "...", 0),
        ("\n\r\n".to_owned(), "...", 0),
    ];
    for (text, expected, warnings) in cases {
        let mut committed = CommittedStore::default();
        committed.add("cache/a.judgments.jsonl", text.as_bytes());
        let marks: String = three()
            .iter()
            .map(|entry| match committed.get(&entry.key) {
                Some(found) if found == entry => '1',
                Some(_) => '?',
                None => '.',
            })
            .collect();
        assert_eq!(
            (marks.as_str(), committed.take_warnings().len()),
            (expected, warnings),
            "{text}"
        );
        assert_eq!(committed.take_warnings(), [] as [String; 0]);
    }
    let mut committed = CommittedStore::default();
    committed.add("cache/a.judgments.jsonl", b"\n\nnonsense");
    assert_eq!(
        committed.take_warnings(),
        ["skipped the stored outcome at `cache/a.judgments.jsonl:3`: not an entry"]
    );
}

#[test]
fn a_conflict_of_git_is_named_once_with_its_cure() {
    let text = format!("<<<<<<< HEAD\n{}=======\nnonsense\n>>>>>>> theirs\n", text_of(&three()));
    let mut committed = CommittedStore::default();
    committed.add("a", text.as_bytes());
    let warnings = committed.take_warnings();
    assert_eq!((warnings.len(), committed.keys().len()), (2, 3), "{warnings:?}");
    assert!(warnings[0].starts_with("`a:1` is an unresolved conflict of git: "), "{warnings:?}");
    assert!(warnings[0].contains("merge=union"), "{warnings:?}");
    assert_eq!(warnings[1], "skipped the stored outcome at `a:6`: not an entry");
    let report = read_lines("a", text.as_bytes(), &|_| Ok(EntryCheck::Read), &mut |_| ());
    assert_eq!((report.problems.len(), report.conflicts), (2, 1));
}

#[test]
fn replies_win_over_all_layers_then_the_highest_generation_and_the_digest_breaks_ties() {
    let reply = r#"{"outcome":{"reply":{"text":""}}}"#;
    let failure = r#"{"outcome":{"failure":{"kind":"refused","message":"no"}}}"#;
    // As somebody else may write it.
    let written = r#"{"at":"","outcome":{"usage":{},"reply":{"text":""}}}"#;
    let low = r#"{"a":2}"#;
    let high = r#"{"a":1}"#;
    assert!(blake3::hash(low.as_bytes()).as_bytes() < blake3::hash(high.as_bytes()).as_bytes());
    let cases = [
        (vec![(0, low)], vec![], (0, low)),
        (vec![], vec![(0, low)], (0, low)),
        (vec![(1, low)], vec![(0, high)], (1, low)),
        (vec![(0, high)], vec![(1, low)], (1, low)),
        (vec![(0, high)], vec![(0, low)], (0, high)),
        (vec![(0, low)], vec![(0, high)], (0, high)),
        (vec![(0, low), (0, high)], vec![], (0, high)),
        (vec![(0, high), (0, low)], vec![], (0, high)),
        (vec![], vec![(0, high), (0, low)], (0, high)),
        (vec![(2, low), (1, high)], vec![(2, low), (0, high)], (2, low)),
        (vec![(0, reply)], vec![(7, failure)], (0, reply)),
        (vec![(7, failure)], vec![(0, reply)], (0, reply)),
        (vec![(0, reply), (7, failure)], vec![], (0, reply)),
        (vec![(7, failure), (0, reply)], vec![], (0, reply)),
        (vec![], vec![(7, failure), (0, reply)], (0, reply)),
        (vec![(1, reply), (0, written)], vec![(7, failure)], (1, reply)),
        (vec![(0, reply), (1, written)], vec![(7, failure)], (1, written)),
    ];
    for (kept, committed, (generation, body)) in cases {
        let dir = fresh();
        let entries = |list: &[(u32, &str)]| -> Vec<Entry> {
            list.iter().map(|(generation, body)| entry(1, *generation, body)).collect()
        };
        let stores: [Box<dyn OutcomeStore>; 2] =
            [Box::new(SegmentStore::open(dir.path())), Box::new(MemoryStore::default())];
        for store in stores {
            let mut below = CommittedStore::default();
            below.add("a", text_of(&entries(&committed)).as_bytes());
            below.add("b", text_of(&three()[1..2]).as_bytes());
            let layered = LayeredStore::new(store, below);
            layered.put_many(&entries(&kept)).unwrap();
            let found = layered.get_many(&[key(9), key(1), key(2), key(1)]);
            let winner = Some(entry(1, generation, body));
            assert_eq!(found, [None, winner.clone(), Some(three()[1].clone()), winner]);
            assert_eq!(layered.keys(), [key(1), key(2)]);
            assert_eq!(layered.take_warnings(), [] as [String; 0]);
        }
    }
}
