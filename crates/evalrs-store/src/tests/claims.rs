//! Calls that several processes want: one makes each of them, and the others find its outcome.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io::{self, Write as _};
use std::sync::Mutex;

use super::*;
use crate::CallClaim::{Elsewhere, Own, Stored};

const REPLY: &str = r#"{"outcome":{"reply":{"text":"1"}}}"#;
const THREADS: usize = 4;
const KEYS: u8 = 100;

/// The files of claims of a cache.
fn claims_of(dir: &Path) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(dir.join("v1/live")) else { return Vec::new() };
    files.map(|file| file.unwrap().path()).collect()
}

#[test]
fn a_call_is_made_by_who_claims_it_first() {
    let dir = fresh();
    let [first, second] = [SegmentStore::open(dir.path()), SegmentStore::open(dir.path())];
    assert_eq!(claims_of(dir.path()), [] as [PathBuf; 0], "nothing is claimed yet");
    assert_eq!(first.claim(key(1), 0), Own);
    assert_eq!(second.claim(key(1), 0), Elsewhere);
    assert_eq!(second.claim(key(2), 0), Own);
    assert_eq!(first.claim(key(2), 0), Elsewhere);
    assert_eq!(second.unclaimed(&[key(1), key(3)]), [key(3)]);
    first.put_many(&[entry(1, 0, REPLY)]).unwrap();
    assert_eq!(second.claim(key(1), 0), Elsewhere, "it is not released yet");
    first.release(&[key(1)]);
    assert_eq!(second.unclaimed(&[key(1)]), [key(1)]);
    assert_eq!(second.claim(key(1), 0), Stored);
    assert_eq!(second.claim(key(1), 1), Own, "it is repeated");
    second.release(&[key(1), key(2)]);
    assert_eq!(first.claim(key(2), 0), Own, "no outcome of it was kept");
}

#[test]
fn who_comes_and_goes_between_two_looks_is_noticed() {
    let dir = fresh();
    let store = SegmentStore::open(dir.path());
    assert_eq!(store.get_many(&[key(1), key(2)]), [None, None]);
    assert_eq!(store.claim(key(2), 0), Own);
    {
        let other = SegmentStore::open(dir.path());
        assert_eq!(other.claim(key(1), 0), Own);
        other.put_many(&[entry(1, 0, REPLY)]).unwrap();
    }
    assert_eq!(store.claim(key(1), 0), Stored);
    assert_eq!(claims_of(dir.path()).len(), 1, "what ends removes its file");
}

#[test]
fn claims_of_a_process_that_ended_do_not_count() {
    let dir = fresh();
    let live = dir.path().join("v1/live");
    fs::create_dir_all(&live).unwrap();
    fs::write(live.join("0-killed.claims"), format!("+{}\n", key(1))).unwrap();
    let store = SegmentStore::open(dir.path());
    assert_eq!(store.claim(key(1), 0), Own);
    assert_eq!(claims_of(dir.path()).len(), 1, "its file is removed");
}

#[test]
fn lines_that_are_damaged_or_on_their_way_do_not_count() {
    let dir = fresh();
    let [first, second] = [SegmentStore::open(dir.path()), SegmentStore::open(dir.path())];
    assert_eq!(first.claim(key(1), 0), Own);
    let [path] = &claims_of(dir.path())[..] else { panic!("not one file") };
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    write!(file, "?\n\n+abc\n+\u{fffd}\n+{}", key(2)).unwrap();
    assert_eq!(second.claim(key(1), 0), Elsewhere);
    assert_eq!(second.claim(key(2), 0), Own, "its line has no end yet");
    writeln!(file).unwrap();
    assert_eq!(second.unclaimed(&[key(2)]), []);
}

#[cfg(unix)]
#[test]
fn where_files_cannot_be_locked_the_store_is_looked_at_before_each_call() {
    let dir = fresh();
    let open = || {
        SegmentStore::open(dir.path()).locking_by(|_| {
            Err(TryLockError::Error(io::Error::new(io::ErrorKind::Unsupported, "no locks here")))
        })
    };
    let [first, second] = [open(), open()];
    let all = [key(1), key(2)];
    assert_eq!([&first, &second].map(|store| store.get_many(&all)), [[None, None], [None, None]]);
    assert_eq!(first.take_warnings(), [] as [&str; 0], "nothing is claimed yet");
    assert_eq!(first.claim(key(1), 0), Own);
    assert_eq!(second.claim(key(1), 0), Own, "nobody sees what is in flight");
    assert_eq!(claims_of(dir.path()), [] as [PathBuf; 0]);
    first.put_many(&[entry(1, 0, REPLY), entry(2, 0, REPLY)]).unwrap();
    first.release(&all);
    assert_eq!(second.claim(key(2), 0), Stored, "it has landed since");
    assert_eq!(second.claim(key(3), 0), Own);
    for store in [&first, &second] {
        let warnings = store.take_warnings();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.contains("cannot be locked (no locks here)"), "{warning}");
        assert_eq!(store.claim(key(4), 0), Own);
        assert_eq!(store.take_warnings(), [] as [&str; 0], "it is said once");
    }
}

/// Each call that a thread makes. It takes what others have made.
fn make_all(dir: &Path, made: &Mutex<BTreeMap<u8, usize>>) {
    let store = SegmentStore::open(dir);
    for number in 0..KEYS {
        let key = [key(number)];
        loop {
            match store.claim(key[0], 0) {
                Own => {
                    *made.lock().unwrap().entry(number).or_default() += 1;
                    store.put_many(&[entry(number, 0, REPLY)]).unwrap();
                    store.release(&key);
                    break;
                }
                Stored => break,
                Elsewhere => {
                    while store.unclaimed(&key).is_empty() {
                        std::thread::yield_now();
                    }
                }
            }
        }
        assert!(store.get_many(&key)[0].is_some(), "{number}");
    }
}

#[test]
fn whoever_races_each_call_is_made_once() {
    let dir = fresh();
    let made = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| make_all(dir.path(), &made));
        }
    });
    let made = made.into_inner().unwrap();
    assert_eq!(made.len(), usize::from(KEYS));
    assert!(made.values().all(|times| *times == 1), "{made:?}");
}
