//! Large bodies: kept beside the segments, read when they are asked for, lost one by one, swept when nobody names them.

use std::time::{Duration, SystemTime};

use super::*;
use crate::blob::{BlobFolder, NewBlob};
use crate::line::INLINE_LIMIT;
use crate::line::blob_reference::BlobReference;
use crate::sweep::blob_sweep::{BlobSweep, remove_blobs};
use crate::sweep::{Sweep, sweep};

/// A sweep that only packs, for which nothing is old.
const PACK: Sweep<'static> =
    Sweep { unused_since: None, max_size: None, made: &|_| i64::MAX, now: 0, dry_run: false };
/// One for which every blob is old.
const LATER: Sweep<'static> = Sweep { now: i64::MAX, ..PACK };

/// A reply of this many bytes and more, which tells itself from others.
fn large(number: u8, bytes: usize) -> String {
    let text = format!("{number} says why. ").repeat(bytes / 12 + 1);
    format!(r#"{{"outcome":{{"reply":{{"text":"{text}","n":{number}}}}},"at":"now"}}"#)
}

fn large_entry(number: u8) -> Entry {
    entry(number, 0, &large(number, 70_000))
}

/// A cache folder with large outcomes of these numbers, in one segment.
fn kept(numbers: &[u8]) -> TempDir {
    let dir = fresh();
    let entries: Vec<Entry> = numbers.iter().map(|number| large_entry(*number)).collect();
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    dir
}

fn path_of(dir: &Path, body: &str) -> PathBuf {
    BlobFolder::of(dir).path(*blake3::hash(body.as_bytes()).as_bytes())
}

/// The blobs and what was to become one, sorted.
fn blobs(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        BlobFolder::of(dir).list().unwrap().into_iter().map(|file| file.path).collect();
    paths.sort();
    paths
}

/// What a new process reads of a key, and its warnings with the folder taken out.
fn read(dir: &Path, number: u8) -> (Option<Entry>, Vec<String>) {
    let store = SegmentStore::open(dir);
    let found = store.get_many(&[key(number)]).pop().flatten();
    let shown = format!("{}/", dir.display());
    (found, store.take_warnings().iter().map(|warning| warning.replace(&shown, "")).collect())
}

#[test]
fn a_large_body_is_a_blob_whose_line_says_what_it_is() {
    let dir = kept(&[1, 2]);
    let body = large(1, 70_000);
    let text = fs::read_to_string(&files(dir.path(), ".jsonl")[0]).unwrap();
    let hex = blake3::hash(body.as_bytes()).to_hex();
    let expected = format!(
        r#"{{"k":"{}","g":0,"v":{{"outcome":{{"reply":{{"n":1}}}},"at":"now","blob":{{"blake3":"{hex}","bytes":{},"reply":true}}}},"c":""#,
        key(1),
        body.len()
    );
    assert!(text.starts_with(&expected), "{text}");
    let path = dir.path().join(format!("v1/blob/{}/{hex}.zst", &hex[..2]));
    assert_eq!(path_of(dir.path(), &body), path);
    assert!(path.metadata().unwrap().len() < 2_000);
    assert_eq!(zstd::decode_all(File::open(&path).unwrap()).unwrap(), body.as_bytes());
    assert_eq!(blobs(dir.path()).len(), 2, "nothing else is left");
    assert_eq!(read(dir.path(), 1), (Some(large_entry(1)), vec![]));
    let report = verify(dir.path());
    assert_eq!((report.entries, report.blobs, report.problems), (2, 2, vec![]));
    let totals = SegmentStore::open(dir.path()).totals();
    assert_eq!((totals.blobs, totals.blob_bytes), (2, report.blob_bytes));
}

#[test]
fn what_a_line_may_hold_is_no_blob() {
    let padded = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8));
    let hex = "0f".repeat(32);
    let alike = format!(r#"{{"blob":{{"blake3":"{hex}","bytes":7,"reply":false}}}}"#);
    let cases = [(padded(INLINE_LIMIT), 0), (padded(INLINE_LIMIT + 1), 1), (alike.clone(), 1)];
    for (body, count) in cases {
        let dir = fresh();
        SegmentStore::open(dir.path()).put_many(&[entry(1, 0, &body)]).unwrap();
        assert_eq!(blobs(dir.path()).len(), count, "{body}");
        assert_eq!(read(dir.path(), 1), (Some(entry(1, 0, &body)), vec![]));
    }
    // A committed file has whole lines, so that it cannot hold what looks like another one.
    assert!(render(&entry(1, 0, &alike)).is_err());
    assert!(render(&large_entry(1)).unwrap().len() > 70_000);
    // A line that was written before there were blobs is read, and packed as one.
    let dir = segment(text_of(&[large_entry(1), large_entry(2)]).as_bytes());
    fs::write(folder(dir.path()).join("0-2-0.jsonl"), "").unwrap();
    assert_eq!(read(dir.path(), 1), (Some(large_entry(1)), vec![]));
    assert_eq!(sweep(dir.path(), &PACK).unwrap().kept, 2);
    assert_eq!((blobs(dir.path()).len(), read(dir.path(), 2).0), (2, Some(large_entry(2))));
}

#[test]
fn a_committed_file_names_no_blobs() {
    let dir = kept(&[1]);
    let line = fs::read(&files(dir.path(), ".jsonl")[0]).unwrap();
    let mut committed = CommittedStore::default();
    committed.add("a", &line);
    let said = "skipped the stored outcome at `a:1`: it names a blob, which stays in its store; `evalrs cache export` writes whole lines";
    assert_eq!((committed.take_warnings(), committed.keys()), (vec![said.to_owned()], vec![]));
    let report = read_lines("a", &line, &|_| Ok(EntryCheck::Read), &mut |_| panic!("kept"));
    assert_eq!((report.entries, report.problems), (0, vec![said.to_owned()]));
}

#[test]
fn a_blob_that_is_no_such_body_costs_its_own_entry() {
    let body = large(1, 70_000);
    let other = zstd::encode_all(large(2, 70_000).as_bytes(), 3).unwrap();
    let whole = zstd::encode_all(body.as_bytes(), 3).unwrap();
    // 256 MiB of nothing in a few KiB.
    let bomb = zstd::encode_all(std::io::repeat(0).take(256 << 20), 3).unwrap();
    let longer = zstd::encode_all(format!("{body} ").as_bytes(), 3).unwrap();
    let cases = [
        (None, "is missing"),
        (Some(&b""[..]), "is damaged"),
        (Some(b"no zstd"), "is damaged"),
        (Some(&whole[..whole.len() / 2]), "is damaged"),
        (Some(&other), "is damaged"),
        (Some(&longer), "is damaged"),
        (Some(&bomb), "is damaged"),
    ];
    for (bytes, reason) in cases {
        let dir = kept(&[1, 2]);
        let path = path_of(dir.path(), &body);
        fs::remove_file(&path).unwrap();
        if let Some(bytes) = bytes {
            fs::write(&path, bytes).unwrap();
        }
        let store = SegmentStore::open(dir.path());
        let expected = [None, Some(large_entry(2)), None];
        let keys = [key(1), key(2), key(1)];
        assert_eq!(store.get_many(&keys), expected, "{reason}");
        let named = format!(
            "skipped the cached outcome of {}: its blob `{}` {reason}",
            key(1),
            path.display()
        );
        assert_eq!(store.take_warnings(), [named]);
        assert_eq!(store.get_many(&keys), expected);
        assert_eq!(store.take_warnings(), [] as [String; 0], "it is told once");
        let report = verify(dir.path());
        assert_eq!((report.entries, report.blobs, report.bad_blobs), (1, 1, 1));
        let segment = files(dir.path(), ".jsonl").remove(0);
        let named = format!(
            "the stored outcome at `{}:1` is lost: its blob `{}` {reason}",
            segment.display(),
            path.display()
        );
        assert_eq!(report.problems, [named]);
        // Who writes it again mends it, for every process that looks then.
        store.put_many(&[large_entry(1)]).unwrap();
        assert_eq!(store.get_many(&[key(1)]), [Some(large_entry(1))]);
        assert_eq!(read(dir.path(), 1), (Some(large_entry(1)), vec![]));
    }
}

#[test]
fn what_a_lost_blob_won_over_is_uncovered() {
    let bodies = [large(1, 70_000), large(2, 70_000), r#"{"outcome":{"reply":{}}}"#.to_owned()];
    let entries =
        [2, 1, 0].iter().zip(&bodies).map(|(generation, body)| entry(1, *generation, body));
    let entries: Vec<Entry> = entries.collect();
    let cases: [(&[usize], Option<usize>); 5] =
        [(&[], Some(0)), (&[1], Some(0)), (&[0], Some(1)), (&[0, 1], Some(2)), (&[1, 0], Some(2))];
    for (lost, expected) in cases {
        let dir = fresh();
        // One segment each, with an index that knows the winner alone.
        for entry in &entries {
            SegmentStore::open(dir.path()).put_many(std::slice::from_ref(entry)).unwrap();
        }
        let store = SegmentStore::open(dir.path());
        assert_eq!(store.get_many(&[key(1)]), [Some(entries[0].clone())]);
        for at in lost {
            fs::write(path_of(dir.path(), &bodies[*at]), "damage").unwrap();
        }
        let expected = expected.map(|at| entries[at].clone());
        assert_eq!(store.get_many(&[key(1)]), std::slice::from_ref(&expected), "{lost:?}");
        assert_eq!(read(dir.path(), 1).0, expected);
        // A sweep drops nothing for the sake of what nobody can read.
        let swept = sweep(dir.path(), &PACK).unwrap();
        assert_eq!((swept.kept, swept.problems.len()), (1, lost.len()), "{lost:?}");
        assert_eq!(read(dir.path(), 1), (expected, vec![]));
        assert_eq!(verify(dir.path()).problems, [] as [String; 0]);
    }
}

#[test]
fn what_takes_the_place_of_what_is_lost_wins_over_it() {
    let reply = |number| format!(r#"{{"outcome":{{"reply":{{"n":{number}}}}}}}"#);
    let failure = r#"{"outcome":{"failure":{}}}"#;
    // One of these bodies has the greater digest.
    for (body, is_reply) in
        [(&reply(1), true), (&reply(2), true), (&reply(3), true), (&failure.to_owned(), false)]
    {
        let dir = kept(&[1]);
        fs::remove_file(path_of(dir.path(), &large(1, 70_000))).unwrap();
        let store = SegmentStore::open(dir.path());
        assert_eq!(store.get_many(&[key(1)]), [None]);
        store.put_many(&[entry(1, 0, body)]).unwrap();
        drop(store);
        let (found, warnings) = read(dir.path(), 1);
        assert_eq!(found.unwrap().body, *body);
        // No failure wins over what was a reply.
        assert_eq!(warnings.len(), usize::from(!is_reply), "{warnings:?}");
    }
}

#[test]
fn an_outline_is_read_without_its_blob() {
    let dir = kept(&[1]);
    fs::remove_dir_all(dir.path().join("v1/blob")).unwrap();
    let mut committed = CommittedStore::default();
    committed.add("a", text_of(&[entry(1, 0, "{}"), entry(2, 0, "{}")]).as_bytes());
    let store = LayeredStore::new(Box::new(SegmentStore::open(dir.path())), committed);
    let lines = store.lines_of(&[key(1), key(2), key(3)]);
    let outlines: Vec<Option<&str>> =
        lines.iter().map(|line| line.as_ref().map(EntryLine::outline)).collect();
    let outline = r#"{"outcome":{"reply":{"n":1}},"at":"now"}"#;
    assert_eq!(outlines, [Some(outline), Some("{}"), None]);
    assert_eq!(store.take_warnings(), [] as [String; 0]);
    // What can be read wins where the body is asked for.
    assert_eq!(store.get_many(&[key(1)]), [Some(entry(1, 0, "{}"))]);
    assert_eq!(store.take_warnings().len(), 1);
}

#[test]
fn a_body_goes_up_to_its_limit() {
    let dir = fresh();
    let store = SegmentStore::open(dir.path());
    let of = |bytes: usize| entry(1, 0, &format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8)));
    let error = store.put_many(&[of(BODY_LIMIT + 1)]).unwrap_err();
    assert!(matches!(error, StoreError::Body { reason: "is too long", .. }), "{error}");
    assert_eq!(blobs(dir.path()), [] as [PathBuf; 0]);
    store.put_many(&[of(BODY_LIMIT)]).unwrap();
    let found = store.get_many(&[key(1)]).pop().flatten().unwrap();
    assert_eq!(found.body.len(), BODY_LIMIT);
}

#[test]
fn many_large_bodies_are_kept_at_once() {
    let dir = fresh();
    let entries: Vec<Entry> = (0..200).map(large_entry).collect();
    SegmentStore::open(dir.path()).put_many(&entries).unwrap();
    let keys: Vec<ActionKey> = (0..200).map(key).collect();
    let mut seen = 0;
    SegmentStore::open(dir.path()).visit_many(&keys, &mut |place, found| {
        assert_eq!((place, found), (seen, Some(entries[seen].clone())));
        seen += 1;
    });
    assert_eq!((seen, files(dir.path(), ".jsonl").len()), (200, 1));
}

#[test]
fn a_blob_that_cannot_be_written_is_an_error_and_no_line_names_it() {
    let dir = kept(&[1]);
    fs::remove_dir_all(dir.path().join("v1/blob")).unwrap();
    fs::write(dir.path().join("v1/blob"), "a file").unwrap();
    let store = SegmentStore::open(dir.path());
    let error = store.put_many(&[entry(2, 0, "{}"), large_entry(3)]).unwrap_err();
    assert!(
        matches!(&error, StoreError::Write { path, .. } if path.contains("v1/blob/")),
        "{error}"
    );
    assert_eq!(store.put_many(&three()), Err(error), "as after every failed write");
    drop(store);
    assert_eq!(SegmentStore::open(dir.path()).keys(), [key(1)]);
    // Nobody can tell what is in use: nothing goes.
    assert!(sweep(dir.path(), &LATER).is_err());
    assert_eq!(SegmentStore::open(dir.path()).keys(), [key(1)]);
}

/// A blob that is on disk when its writer is killed, and what else that may leave.
fn orphan(dir: &Path, body: &str) -> Vec<File> {
    let reference = BlobReference::to(body);
    BlobFolder::of(dir).write(&[NewBlob { reference, body }]).unwrap()
}

#[test]
fn what_a_killed_writer_left_goes_after_a_day() {
    let dir = kept(&[1]);
    drop(orphan(dir.path(), &large(2, 70_000)));
    let [left, half] =
        ["zst", "0123.tmp"].map(|end| path_of(dir.path(), &large(2, 70_000)).with_extension(end));
    fs::write(&half, "half of one").unwrap();
    fs::write(half.with_extension("txt"), "the user's").unwrap();
    // Its line was cut off.
    let torn = text_of(&[entry(2, 0, "{}")]);
    fs::write(folder(dir.path()).join("9-9-9.jsonl"), &torn[..60]).unwrap();
    assert_eq!(read(dir.path(), 2), (None, vec![]));
    let report = verify(dir.path());
    assert_eq!((report.entries, report.blobs, report.problems), (1, 2, vec![]), "that is no harm");
    let now = SystemTime::now();
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs().cast_signed();
    let today = Sweep { now: seconds + 86_000, ..PACK };
    assert_eq!(sweep(dir.path(), &today).unwrap().blobs, 0);
    let before = [&left, &half].map(|path| path.metadata().unwrap().len()).iter().sum::<u64>();
    for path in [&left, &half, &path_of(dir.path(), &large(1, 70_000))] {
        let file = File::options().append(true).open(path).unwrap();
        file.set_modified(now - Duration::from_hours(25)).unwrap();
    }
    let now = Sweep { now: seconds, ..PACK };
    let dry = sweep(dir.path(), &Sweep { dry_run: true, ..now }).unwrap();
    assert_eq!(blobs(dir.path()).len(), 3);
    let swept = sweep(dir.path(), &now).unwrap();
    assert_eq!((swept.blobs, swept.dropped_bytes, &swept), (2, before, &dry));
    assert_eq!(blobs(dir.path()), [path_of(dir.path(), &large(1, 70_000))]);
    assert!(half.with_extension("txt").exists());
    assert_eq!(read(dir.path(), 1), (Some(large_entry(1)), vec![]));
}

#[test]
fn a_sweep_frees_what_it_drops_and_nothing_that_is_named() {
    let made = |line: &EntryLine| i64::from(line.key.0[0]);
    let dir = kept(&[1, 2, 3]);
    // The body of the first is that of the fourth as well.
    let shared = Entry { key: key(4), ..large_entry(1) };
    SegmentStore::open(dir.path()).put_many(std::slice::from_ref(&shared)).unwrap();
    let sizes: u64 = blobs(dir.path()).iter().map(|path| path.metadata().unwrap().len()).sum();
    let all = sweep(dir.path(), &Sweep { dry_run: true, ..PACK }).unwrap();
    let lines: u64 =
        files(dir.path(), ".jsonl").iter().map(|path| path.metadata().unwrap().len()).sum();
    assert_eq!((all.kept, all.kept_bytes, all.blobs), (4, lines + 4 * 40 + sizes, 0));
    // The two oldest go: the blob of the first stays for the fourth.
    let sweep_of = |most: u64| Sweep { max_size: Some(most), made: &made, ..PACK };
    let second = path_of(dir.path(), &large(2, 70_000));
    let second_bytes = second.metadata().unwrap().len();
    let line = (lines + 4 * 40) / 4;
    let most = all.kept_bytes - 2 * line - second_bytes;
    let dry = sweep(dir.path(), &Sweep { dry_run: true, ..sweep_of(most) }).unwrap();
    let swept = sweep(dir.path(), &sweep_of(most)).unwrap();
    assert_eq!((swept.over_size, swept.blobs, swept.kept_bytes), (2, 1, most));
    assert_eq!(swept.dropped_bytes, all.kept_bytes - most);
    assert_eq!(SweptEntries { packed: 0, ..swept }, dry);
    assert!(!second.exists());
    assert_eq!(read(dir.path(), 4), (Some(shared), vec![]));
    assert_eq!(read(dir.path(), 3), (Some(large_entry(3)), vec![]));
    let swept = sweep(dir.path(), &sweep_of(0)).unwrap();
    assert_eq!((swept.over_size, swept.blobs, swept.kept_bytes), (2, 2, 0));
    assert_eq!(blobs(dir.path()), [] as [PathBuf; 0]);
}

#[test]
fn a_blob_stays_while_somebody_writes_its_line() {
    let dir = kept(&[1]);
    let writer = SegmentStore::open(dir.path());
    writer.put_many(&[large_entry(2)]).unwrap();
    // Of the first entry the line goes, and somebody is about to write another one for its body.
    let written = orphan(dir.path(), &large(1, 70_000));
    let all = Sweep { max_size: Some(0), ..LATER };
    let swept = sweep(dir.path(), &all).unwrap();
    assert_eq!((swept.over_size, swept.busy, swept.blobs), (1, 1, 0));
    assert_eq!(blobs(dir.path()).len(), 2);
    drop(written);
    assert_eq!(sweep(dir.path(), &all).unwrap().blobs, 1, "nobody wrote it");
    assert_eq!(read(dir.path(), 2), (Some(large_entry(2)), vec![]));
}

#[test]
fn a_blob_that_was_named_meanwhile_stays() {
    let dir = kept(&[1]);
    drop(orphan(dir.path(), &large(2, 70_000)));
    drop(orphan(dir.path(), &large(3, 70_000)));
    drop(orphan(dir.path(), &large(4, 70_000)));
    let listed = BlobSweep::list(dir.path()).unwrap();
    let named = [*blake3::hash(large(1, 70_000).as_bytes()).as_bytes()].into();
    let needless = listed.needless(&named, &[].into(), i64::MAX);
    assert_eq!(needless.len(), 3);
    SegmentStore::open(dir.path()).put_many(&[large_entry(2)]).unwrap();
    fs::remove_file(path_of(dir.path(), &large(4, 70_000))).unwrap();
    let mut removed = Vec::new();
    remove_blobs(&folder(dir.path()), &needless, &mut |told| {
        removed.push(told.unwrap().path.clone());
    });
    assert_eq!(removed, [path_of(dir.path(), &large(3, 70_000))]);
    assert_eq!(read(dir.path(), 2), (Some(large_entry(2)), vec![]));
    // Where a segment cannot be read, nobody knows what it names.
    fs::create_dir(folder(dir.path()).join("0-9-9.jsonl")).unwrap();
    let needless = listed.needless(&[].into(), &[].into(), i64::MAX);
    let mut problems = 0;
    remove_blobs(&folder(dir.path()), &needless, &mut |told| {
        problems += usize::from(told.is_err());
    });
    assert_eq!((problems, blobs(dir.path()).len()), (1, 2));
}

#[test]
fn writers_of_the_same_bodies_and_sweeps_harm_nobody() {
    let dir = fresh();
    std::thread::scope(|scope| {
        let mut writers = Vec::new();
        for writer in 0..2_u8 {
            let dir = dir.path();
            writers.push(scope.spawn(move || {
                let store = SegmentStore::open(dir);
                // A segment for every put: most sweeps meet one that is being made or closed.
                store.writer().seal_at = 1;
                for number in 0..30 {
                    // The other one writes the same, at another generation.
                    let mine = Entry { generation: u32::from(writer), ..large_entry(number) };
                    store.put_many(&[mine]).unwrap();
                    let keys: Vec<ActionKey> = (0..=number).map(key).collect();
                    for (number, found) in store.get_many(&keys).into_iter().enumerate() {
                        assert_eq!(found.unwrap().body, large(number as u8, 70_000));
                    }
                }
                assert_eq!(store.take_warnings(), [] as [String; 0]);
            }));
        }
        while writers.iter().any(|writer| !writer.is_finished()) {
            assert_eq!(sweep(dir.path(), &LATER).unwrap().problems, [] as [String; 0]);
        }
    });
    let swept = sweep(dir.path(), &LATER).unwrap();
    assert_eq!((swept.kept, blobs(dir.path()).len()), (30, 30));
    assert_eq!(verify(dir.path()).problems, [] as [String; 0]);
}
