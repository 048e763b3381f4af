//! The stores against a plain map, and against every kind of damage that a file can take.
#![expect(clippy::disallowed_methods, reason = "tests damage the files of the store themselves")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::line::{self, Position, Scanned};
use super::segments::{Own, read_group};
use super::*;

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
    let mut store = SegmentStore::open(dir);
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
    assert_eq!(line::parse(one.as_bytes()), Ok(entry(1, 3, r#"{"a":1}"#)));
    assert_eq!(line::parse(format!("{one}\r").as_bytes()), Ok(entry(1, 3, r#"{"a":1}"#)));
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
        let stores: [&mut dyn OutcomeStore; 2] =
            [&mut SegmentStore::open(dir.path()), &mut MemoryStore::default()];
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
        assert!(render(&batch).is_err(), "{body:?}");
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
    let mut store = SegmentStore::open(dir.path());
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
        (b"<<<<<<< HEAD", skipped("not an entry")),
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
        let report = VerifyReport { entries: 2, bytes: bytes.len() as u64, problems: long };
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
    let mut committed = Committed::default();
    committed.add("a.jsonl", &bytes);
    assert_eq!(committed.take_warnings().len(), WARNING_LIMIT);
    assert_eq!(committed.keys().count(), 3);
}

#[test]
fn a_line_beyond_the_limit_is_skipped_and_the_next_one_read() {
    let long = [vec![b'x'; 65 << 20], b"\n".to_vec()].concat();
    let text = [&long[..], text_of(&three()).as_bytes()].concat();
    let mut offsets = Vec::new();
    let scanned = line::scan(&text[..], "a", Position::START, |offset, _, entry| {
        offsets.push((offset as usize, entry.key));
    });
    let expected = Scanned {
        end: Position { offset: text.len() as u64, line: 5 },
        skipped: vec!["skipped the stored outcome at `a:1`: longer than 64 MiB".to_owned()],
    };
    assert_eq!(scanned.unwrap(), expected);
    assert_eq!((offsets.len(), offsets[0]), (3, (long.len(), key(1))));
}

/// A cache folder with one sealed segment of [`three`]: the segment and its side file.
fn sealed() -> (TempDir, PathBuf, PathBuf) {
    let dir = fresh();
    SegmentStore::open(dir.path()).put_many(&three()).unwrap();
    let (segments, indexes) = (files(dir.path(), ".jsonl"), files(dir.path(), ".idx"));
    assert_eq!((segments.len(), indexes.len()), (1, 1));
    assert_eq!(files(dir.path(), ".tmp"), [] as [PathBuf; 0]);
    (dir, segments[0].clone(), indexes[0].clone())
}

#[test]
fn a_side_file_is_believed_only_while_it_is_right() {
    let (dir, segment, index) = sealed();
    let (text, side) = (fs::read(&segment).unwrap(), fs::read(&index).unwrap());
    assert_eq!(side.len(), 16 + 3 * 40 + 4);
    for cut in 0..side.len() {
        fs::write(&index, &side[..cut]).unwrap();
        assert_eq!(reread(dir.path()).0, "111", "cut at {cut}");
        let mut flipped = side.clone();
        flipped[cut] ^= 0x10;
        fs::write(&index, &flipped).unwrap();
        assert_eq!(reread(dir.path()), ("111".to_owned(), vec![]), "flipped at {cut}");
        // The same with a checksum that agrees: only the lines can tell. A forged key is asked for in vain.
        let end = flipped.len() - 4;
        let checksum = crc32fast::hash(&flipped[..end]).to_le_bytes();
        flipped[end..].copy_from_slice(&checksum);
        fs::write(&index, &flipped).unwrap();
        let (marks, warnings) = reread(dir.path());
        let misses = usize::from((16..end).contains(&cut) && (cut - 16) % 40 < 32);
        assert_eq!(marks.matches('.').count(), misses, "forged at {cut}");
        assert_eq!(warnings, [] as [String; 0], "forged at {cut}");
    }
    fs::write(&index, &side).unwrap();
    fs::write(&segment, [&text[..], b"garbage\n"].concat()).unwrap();
    let (marks, warnings) = reread(dir.path());
    assert_eq!((marks.as_str(), warnings.len()), ("111", 1), "stale: the segment grew");
    fs::write(&segment, &text[..text.len() - 1]).unwrap();
    assert_eq!(reread(dir.path()).0, "11.", "stale: the segment shrank");
    fs::remove_file(&segment).unwrap();
    assert_eq!(reread(dir.path()).0, "...", "a side file without segment");
}

type Lied = Vec<(ActionKey, idx::Slot)>;

#[test]
fn a_well_formed_side_file_that_lies_is_found_out() {
    let (dir, segment, index) = sealed();
    let length = fs::metadata(&segment).unwrap().len();
    // An older entry of another segment, which must not win because of the lie.
    let other = text_of(&[entry(2, 5, "{}")]);
    fs::write(folder(dir.path()).join("9-9-9.jsonl"), other).unwrap();
    let true_entries = idx::decode(&fs::read(&index).unwrap(), 0, length).unwrap();
    let generations: Vec<u32> = true_entries.iter().map(|(_, slot)| slot.generation).collect();
    assert_eq!(generations, [0, 7, 1]);
    let lies: [fn(&mut Lied); 6] = [
        |entries| *entries = entries.split_off(1),
        |entries| entries.retain(|(found, _)| *found != key(2)),
        |entries| entries.truncate(2),
        |entries| entries.swap(0, 2),
        |entries| (entries[0].0, entries[2].0) = (entries[2].0, entries[0].0),
        |entries| entries.push(entries[0]),
    ];
    for (number, lie) in lies.into_iter().enumerate() {
        let mut entries = true_entries.clone();
        lie(&mut entries);
        fs::write(&index, idx::encode(&entries)).unwrap();
        assert_eq!(reread(dir.path()), ("111".to_owned(), vec![]), "lie {number}");
    }
}

#[test]
fn a_generation_that_only_a_side_file_knows_wins_nothing() {
    let (dir, segment, index) = sealed();
    let length = fs::metadata(&segment).unwrap().len();
    let newer = entry(1, 3, r#"{"newer":1}"#);
    fs::write(folder(dir.path()).join("9-9-9.jsonl"), text_of(std::slice::from_ref(&newer)))
        .unwrap();
    let mut entries = idx::decode(&fs::read(&index).unwrap(), 0, length).unwrap();
    entries[0].1.generation = 9;
    fs::write(&index, idx::encode(&entries)).unwrap();
    assert_eq!(SegmentStore::open(dir.path()).get_many(&[key(1)]), [Some(newer)]);
}

#[test]
fn an_entry_that_cannot_be_read_hides_no_other_of_its_file() {
    let dir = segment(text_of(&three()).as_bytes());
    let path = files(dir.path(), ".jsonl").remove(0);
    let length = text_of(&three()[..1]).len() as u32 - 1;
    let good = idx::Slot { segment: 0, offset: 0, length, generation: 0 };
    let group = [(idx::Slot { offset: 1 << 20, ..good }, 0), (good, 1)];
    let mut found = vec![None, None];
    assert!(read_group(&path, &group, &[key(2), key(1)], &mut found).is_err());
    assert_eq!(found, [None, Some(three()[0].clone())]);
}

#[test]
fn a_side_file_is_what_makes_opening_cheap() {
    let (dir, segment, _) = sealed();
    // Damage of the same length goes unseen until the line is read: the segment was not scanned.
    let text = fs::read_to_string(&segment).unwrap().replace("0.5", "0.6");
    fs::write(&segment, text).unwrap();
    let mut store = SegmentStore::open(dir.path());
    assert_eq!(store.get_many(&[key(1)]), [Some(three()[0].clone())]);
    assert_eq!(store.take_warnings(), [] as [String; 0]);
    assert_eq!(store.get_many(&[key(1), key(2)]), [Some(three()[0].clone()), None]);
    assert_eq!(store.take_warnings().len(), 1);
    assert_eq!(store.get_many(&[key(2)]), [None]);
    assert_eq!(store.take_warnings(), [] as [String; 0], "each warning is given once");
    assert_eq!(verify(dir.path()).problems.len(), 1);
}

#[test]
fn damage_under_a_side_file_uncovers_the_entry_it_hid() {
    let dir = fresh();
    let older = entry(1, 0, r#"{"older":1}"#);
    SegmentStore::open(dir.path()).put_many(std::slice::from_ref(&older)).unwrap();
    SegmentStore::open(dir.path()).put_many(&[entry(1, 1, r#"{"newer":1}"#)]).unwrap();
    for path in files(dir.path(), ".jsonl") {
        fs::write(&path, fs::read_to_string(&path).unwrap().replace("newer", "nEwer")).unwrap();
    }
    let mut store = SegmentStore::open(dir.path());
    assert_eq!(store.get_many(&[key(1)]), [Some(older)]);
    assert_eq!(store.take_warnings().len(), 1);
}

#[test]
fn a_segment_is_sealed_when_it_is_large_and_another_one_started() {
    let dir = fresh();
    let mut store = SegmentStore::open(dir.path());
    store.seal_at = 1;
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
    let mut store = SegmentStore::open(dir.path());
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
fn nothing_is_written_where_nothing_is_put() {
    let dir = fresh();
    let mut store = SegmentStore::open(dir.path().join("cache"));
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
        let mut store = SegmentStore::open(&cache);
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
    let mut store = SegmentStore::open(dir.path());
    assert_eq!(store.get_many(&[key(2)]), [Some(three()[1].clone())]);
    assert_eq!(store.put_many(&three()).is_ok(), writable);
    fs::set_permissions(folder(dir.path()), fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_system_that_takes_nothing_is_an_error_to_writers() {
    let mut store = SegmentStore::open("/proc/self/evalrs");
    assert_eq!(store.get_many(&[key(1)]), [None]);
    let error = store.put_many(&three()).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_until_the_store_is_opened_again() {
    let dir = fresh();
    let mut store = SegmentStore::open(dir.path());
    let file = File::options().append(true).open("/dev/full").unwrap();
    store.own = Some(Own { name: "/dev/full".to_owned(), file, length: 0 });
    let error = store.put_many(&three()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot write the store at `/dev/full`: No space left on device (os error 28)"
    );
    assert_eq!(store.put_many(&three()), Err(error), "what is on disk is unknown from here on");
    assert_eq!(store.get_many(&[key(1)]), [None]);
    let mut store = SegmentStore::open(dir.path());
    store.put_many(&three()).unwrap();
    assert_eq!(reread(dir.path()).0, "111");
}

#[test]
fn threads_that_write_at_once_see_each_other() {
    let dir = fresh();
    let keys: Vec<ActionKey> = (0..60).map(key).collect();
    std::thread::scope(|scope| {
        for writer in 0..3_u8 {
            let (dir, keys) = (dir.path(), &keys);
            scope.spawn(move || {
                let mut store = SegmentStore::open(dir);
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
    let mut store = SegmentStore::open(dir.path());
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
        ([lines[0], "<<<<<<< HEAD", lines[1], "=======", lines[2]].join("\n"), "111", 2),
        (text[..text.len() - 3].to_owned(), "11.", 1),
        (String::new(), "...", 0),
        ("\n\r\n".to_owned(), "...", 0),
    ];
    for (text, expected, warnings) in cases {
        let mut committed = Committed::default();
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
    let mut committed = Committed::default();
    committed.add("cache/a.judgments.jsonl", b"\n\nnonsense");
    assert_eq!(
        committed.take_warnings(),
        ["skipped the stored outcome at `cache/a.judgments.jsonl:3`: not an entry"]
    );
}

#[test]
fn a_committed_file_is_sorted_and_holds_the_winners() {
    let entries =
        [entry(9, 0, "{}"), entry(2, 1, r#"{"a":1}"#), entry(2, 0, "{}"), entry(5, 0, "{}")];
    let text = render(&entries).unwrap();
    assert_eq!(text, text_of(&[entry(2, 1, r#"{"a":1}"#), entry(5, 0, "{}"), entry(9, 0, "{}")]));
    let reversed: Vec<Entry> = entries.into_iter().rev().collect();
    assert_eq!(render(&reversed).unwrap(), text);
    assert_eq!(render(&[]).unwrap(), "");
}

#[test]
fn the_highest_generation_wins_over_all_layers_and_the_digest_breaks_ties() {
    let (low, high) = (r#"{"a":2}"#, r#"{"a":1}"#);
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
    ];
    for (kept, committed, (generation, body)) in cases {
        let dir = fresh();
        let entries = |list: &[(u32, &str)]| -> Vec<Entry> {
            list.iter().map(|(generation, body)| entry(1, *generation, body)).collect()
        };
        let stores: [Box<dyn OutcomeStore>; 2] =
            [Box::new(SegmentStore::open(dir.path())), Box::new(MemoryStore::default())];
        for store in stores {
            let mut below = Committed::default();
            below.add("a", text_of(&entries(&committed)).as_bytes());
            below.add("b", text_of(&three()[1..2]).as_bytes());
            let mut layered = Layered::new(store, below);
            layered.put_many(&entries(&kept)).unwrap();
            let found = layered.get_many(&[key(9), key(1), key(2), key(1)]);
            let winner = Some(entry(1, generation, body));
            assert_eq!(found, [None, winner.clone(), Some(three()[1].clone()), winner]);
            assert_eq!(layered.keys(), [key(1), key(2)]);
            assert_eq!(layered.take_warnings(), [] as [String; 0]);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put {
        by: usize,
        entries: Vec<(u8, u32, u8)>,
    },
    Ask {
        by: usize,
    },
    /// Ends a process and starts another: by exit, or by a kill in the middle of a write.
    Restart {
        by: usize,
        killed: Option<usize>,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let entries = proptest::collection::vec((0..5_u8, 0..3_u32, 0..4_u8), 1..5);
    prop_oneof![
        4 => (0..2_usize, entries).prop_map(|(by, entries)| Step::Put { by, entries }),
        2 => (0..2_usize).prop_map(|by| Step::Ask { by }),
        1 => (0..2_usize, proptest::option::of(0..120_usize))
            .prop_map(|(by, killed)| Step::Restart { by, killed }),
    ]
}

fn body(number: u8) -> String {
    format!(r#"{{"rationale":"{}"}}"#, "why ".repeat(usize::from(number)))
}

/// Whatever was put for each key, by generation and digest: the last one wins.
type Model = BTreeMap<u8, BTreeSet<(u32, [u8; 32], u8)>>;

/// Asks for every key and one that nobody ever puts: a miss makes a store look at the others.
fn check(store: &mut dyn OutcomeStore, model: &Model) {
    let keys: Vec<ActionKey> = (0..6).map(key).collect();
    let found = store.get_many(&keys);
    for (number, found) in (0..6_u8).zip(found) {
        let best = model.get(&number).and_then(BTreeSet::last);
        let expected = best.map(|(generation, _, text)| entry(number, *generation, &body(*text)));
        assert_eq!(found, expected);
    }
    assert_eq!(store.keys(), model.keys().map(|number| key(*number)).collect::<Vec<_>>());
    assert_eq!(store.take_warnings(), [] as [String; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn two_processes_agree_with_a_map(steps in proptest::collection::vec(step(), 1..12)) {
        let dir = fresh();
        let mut stores = [SegmentStore::open(dir.path()), SegmentStore::open(dir.path())];
        let mut memory = MemoryStore::default();
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Put { by, entries } => {
                    for &(number, generation, text) in &entries {
                        let digest = *blake3::hash(body(text).as_bytes()).as_bytes();
                        model.entry(number).or_default().insert((generation, digest, text));
                    }
                    let entries: Vec<Entry> = entries
                        .into_iter()
                        .map(|(number, generation, text)| entry(number, generation, &body(text)))
                        .collect();
                    stores[by].put_many(&entries).unwrap();
                    memory.put_many(&entries).unwrap();
                }
                Step::Ask { by } => check(&mut stores[by], &model),
                Step::Restart { by, killed } => {
                    let old = std::mem::replace(&mut stores[by], SegmentStore::open(dir.path()));
                    if let Some(cut) = killed {
                        std::mem::forget(old);
                        let torn = text_of(&[entry(5, 9, &body(3))]);
                        let name = format!("{cut}-killed-{}.jsonl", fastrand::u64(..));
                        fs::create_dir_all(folder(dir.path())).unwrap();
                        fs::write(folder(dir.path()).join(name), &torn[..cut]).unwrap();
                    }
                }
            }
        }
        for store in &mut stores {
            check(store, &model);
        }
        check(&mut memory, &model);
        check(&mut SegmentStore::open(dir.path()), &model);
    }

    #[test]
    fn arbitrary_bytes_hide_no_intact_line(
        noise in proptest::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'"'), Just(b'{'), Just(0xff), any::<u8>()], 0..200),
        side in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let text = text_of(&three());
        let dir = segment(&[text.as_bytes(), &noise, b"\n", text.as_bytes()].concat());
        fs::write(folder(dir.path()).join("0-1-2.idx"), &side).unwrap();
        prop_assert_eq!(reread(dir.path()).0, "111");
        let mut committed = Committed::default();
        committed.add("a", &[&noise, &b"\n"[..], text.as_bytes()].concat());
        prop_assert_eq!(committed.keys().count(), 3);
    }

    #[test]
    fn a_mutation_costs_the_lines_it_touches_only(
        at in any::<proptest::sample::Index>(),
        insert in proptest::collection::vec(any::<u8>(), 0..4),
        remove in 0..4_usize,
    ) {
        let text = text_of(&three()).into_bytes();
        let from = at.index(text.len());
        let to = (from + remove).min(text.len());
        let mutated = [&text[..from], &insert[..], &text[to..]].concat();
        // A line survives if it stands as it was, between the same line breaks.
        let survivors: BTreeSet<&[u8]> = mutated.split_inclusive(|byte| *byte == b'\n').collect();
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let expected: Vec<bool> = lines.map(|line| survivors.contains(line)).collect();
        let dir = segment(&mutated);
        let (marks, _) = reread(dir.path());
        for (mark, expected) in marks.chars().zip(expected) {
            // What is read is right in any case: `reread` compares it.
            prop_assert!(mark == '1' || !expected, "{marks}");
        }
    }
}
