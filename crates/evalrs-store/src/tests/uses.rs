//! What runs needed: noted once a day and suite, never half, never lost.

use super::*;
use crate::sweep::uses::{decode, encode, read_uses, suffix_of};

const NEW_YEAR: &str = "2026-01-01T10:00:00Z";
const NEXT: &str = "2026-01-02T00:00:01Z";
/// The ends of these two days, in Unix time.
const ENDS: [i64; 2] = [1_767_311_999, 1_767_398_399];

fn keys(numbers: &[u8]) -> Vec<ActionKey> {
    numbers.iter().map(|number| key(*number)).collect()
}

/// A store of [`three`], and what is noted in it: suite, moment, keys.
fn noted(notes: &[(&str, &str, &[u8])]) -> TempDir {
    let dir = segment(text_of(&three()).as_bytes());
    for (suite, now, numbers) in notes {
        note_used(dir.path(), suite, None, moment(now), &keys(numbers)).unwrap();
    }
    dir
}

fn names(dir: &Path) -> Vec<String> {
    let Ok(files) = fs::read_dir(dir.join("v1/use")) else { return Vec::new() };
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "lock").collect();
    names.sort();
    names
}

/// Key and last use, sorted.
fn uses(dir: &Path, oldest: Option<i64>) -> Vec<(u8, i64)> {
    let uses = read_uses(dir, oldest).unwrap();
    assert!(uses.damaged.is_empty(), "{:?}", uses.damaged);
    let mut uses: Vec<(u8, i64)> =
        uses.last.into_iter().map(|(key, end)| (key.0[0], end)).collect();
    uses.sort_unstable();
    uses
}

#[test]
fn a_manifest_is_what_the_format_says() {
    // The checksum is Python's zlib.crc32.
    let bytes = encode(&keys(&[1, 2]));
    assert_eq!(&bytes[..16], b"evalrs use v1\n\0\0");
    assert_eq!(bytes[16..80], [[1; 32], [2; 32]].concat());
    assert_eq!(decode(&bytes), Some(keys(&[1, 2])));
    assert_eq!(decode(&encode(&[])), Some(vec![]));
    for cut in 0..bytes.len() {
        assert_eq!(decode(&bytes[..cut]), None, "cut at {cut}");
        let mut flipped = bytes.clone();
        flipped[cut] ^= 0x10;
        assert_eq!(decode(&flipped), None, "flipped at {cut}");
    }
    assert_eq!(decode(&encode(&keys(&[2, 1]))), None, "not sorted");
}

#[test]
fn a_day_has_one_manifest_a_suite_with_everything_it_needed() {
    let dir = noted(&[
        ("a", NEW_YEAR, &[2, 1, 2]),
        ("a", NEW_YEAR, &[3]),
        ("a", NEW_YEAR, &[1]),
        ("b", NEW_YEAR, &[1]),
    ]);
    assert_eq!(names(dir.path()).len(), 2, "{:?}", names(dir.path()));
    assert_eq!(uses(dir.path(), None), [(1, ENDS[0]), (2, ENDS[0]), (3, ENDS[0])]);
}

#[test]
fn an_older_manifest_goes_when_a_newer_one_of_its_suite_holds_its_keys() {
    let dir = noted(&[("a", NEW_YEAR, &[1, 2]), ("b", NEW_YEAR, &[1]), ("a", NEXT, &[2])]);
    assert_eq!(names(dir.path()).len(), 3);
    assert_eq!(uses(dir.path(), None), [(1, ENDS[0]), (2, ENDS[1])]);
    note_used(dir.path(), "a", None, moment(NEXT), &keys(&[1])).unwrap();
    assert_eq!(names(dir.path()).len(), 2, "that of `a` at new year is gone");
    let read = read_uses(dir.path(), None).unwrap();
    assert_eq!(read.needless.len(), 1, "that of `b` says nothing new");
    assert_eq!(uses(dir.path(), Some(ENDS[0])).len(), 2, "its last second counts");
    let read = read_uses(dir.path(), Some(ENDS[1] + 1)).unwrap();
    assert_eq!((read.last.len(), read.needless.len()), (0, 2));
}

#[test]
fn what_is_noted_already_is_not_written_again() {
    let dir = noted(&[("a", NEW_YEAR, &[1, 2, 3])]);
    let path = dir.path().join("v1/use").join(&names(dir.path())[0]);
    let stands = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let before = stands(&path);
    for numbers in [&[1, 3][..], &[], &[2]] {
        note_used(dir.path(), "a", None, moment(NEW_YEAR), &keys(numbers)).unwrap();
        assert_eq!(stands(&path), before);
    }
}

#[test]
fn two_that_note_at_once_do_not_wait_and_lose_nothing() {
    let dir = noted(&[("a", NEW_YEAR, &[1])]);
    let lock = File::options().append(true).open(dir.path().join("v1/use/lock")).unwrap();
    lock.lock().unwrap();
    note_used(dir.path(), "a", None, moment(NEW_YEAR), &keys(&[2])).unwrap();
    drop(lock);
    note_used(dir.path(), "a", None, moment(NEW_YEAR), &keys(&[3])).unwrap();
    assert_eq!(names(dir.path()).len(), 2);
    assert_eq!(uses(dir.path(), None).len(), 3);
}

#[test]
fn a_damaged_manifest_is_named_and_stays_beside_the_next_note_until_it_is_removed() {
    let dir = noted(&[("a", NEW_YEAR, &[1])]);
    let path = dir.path().join("v1/use").join(&names(dir.path())[0]);
    fs::write(&path, "garbage").unwrap();
    let damaged = read_uses(dir.path(), None).unwrap().damaged;
    assert_eq!(damaged.iter().map(|(path, _)| path).collect::<Vec<_>>(), [&path]);
    note_used(dir.path(), "a", None, moment(NEW_YEAR), &keys(&[2])).unwrap();
    assert_eq!(read_uses(dir.path(), None).unwrap().damaged.len(), 1);
    fs::remove_file(&path).unwrap();
    assert_eq!(uses(dir.path(), None), [(2, ENDS[0])]);
}

#[test]
fn nothing_is_noted_where_there_is_no_store() {
    let dir = fresh();
    note_used(dir.path(), "a", None, moment(NEW_YEAR), &keys(&[1])).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    let dir = segment(b"");
    fs::write(dir.path().join("v1/use"), "a file").unwrap();
    let error = note_used(dir.path(), "a", None, moment(NEW_YEAR), &keys(&[1])).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }), "{error}");
}

#[test]
fn no_two_suites_share_a_manifest() {
    let suites = ["a", "A", "a/b", "a-b", "a b", "../a", "", "é", "ü", &"x".repeat(300)];
    let suffixes: BTreeSet<String> =
        suites.iter().map(|suite| suffix_of(suite).to_lowercase()).collect();
    assert_eq!(suffixes.len(), suites.len());
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    assert!(suffixes.iter().all(|suffix| suffix.len() < 60 && suffix.chars().all(harmless)));
}

#[test]
fn a_manifest_that_cannot_be_read_is_not_replaced_by_what_part_of_a_run_needs() {
    let dir = noted(&[("a", NEW_YEAR, &[1, 2, 3])]);
    let run = |is_whole| Some(RunNote { of: "suite.yaml", is_whole });
    let note = |is_whole, numbers: &[u8]| {
        note_used(dir.path(), "a", run(is_whole), moment(NEW_YEAR), &keys(numbers)).unwrap();
    };
    note(true, &[1, 2, 3]);
    let damaged: Vec<PathBuf> =
        names(dir.path()).iter().map(|name| dir.path().join("v1/use").join(name)).collect();
    for path in &damaged {
        let mut bytes = fs::read(path).unwrap();
        bytes[20] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    let before: Vec<Vec<u8>> = damaged.iter().map(|path| fs::read(path).unwrap()).collect();
    note(false, &[1]);
    let after: Vec<Vec<u8>> = damaged.iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(after, before);
    let uses = read_uses(dir.path(), None).unwrap();
    assert_eq!((uses.damaged.len(), uses.last.len()), (2, 1), "noted in a file of its own");
    // What the last whole run needed says the next one.
    note(true, &[1, 2, 3]);
    assert_eq!(read_uses(dir.path(), None).unwrap().damaged.len(), 1);
}

/// Two users of one folder read each other's, as they read each other's segments.
#[cfg(unix)]
#[test]
fn manifests_may_be_read_by_whom_segments_may() {
    use std::os::unix::fs::PermissionsExt;
    let dir = fresh();
    SegmentStore::open(dir.path()).put_many(&three()).unwrap();
    note_used(dir.path(), "a", None, moment(NEW_YEAR), &keys(&[1])).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let manifest = dir.path().join("v1/use").join(&names(dir.path())[0]);
    assert_eq!(mode(&manifest), mode(&files(dir.path(), ".jsonl")[0]));
}

#[test]
fn what_killed_writers_left_goes_with_a_sweep_an_hour_later() {
    let dir = noted(&[("a", NEW_YEAR, &[1])]);
    let left = dir.path().join("v1/use/.tmpAbCdEf");
    fs::write(&left, "evalrs").unwrap();
    let written: jiff::Timestamp =
        fs::metadata(&left).unwrap().modified().unwrap().try_into().unwrap();
    for (later, is_there) in [(3_600, true), (3_601, false)] {
        let now = written.as_second() + later;
        let sweep = Sweep { unused_since: None, max_size: None, made: &|_| 0, now, dry_run: false };
        crate::sweep(dir.path(), &sweep).unwrap();
        assert_eq!(left.exists(), is_there, "{later} s later");
    }
}
