//! Sweeps: what stays and goes, through other processes, damage and a kill at every step.

use super::*;
use crate::sweep::survey::SweptEntries;
use crate::sweep::uses::read_uses;
use crate::sweep::{Sweep, SweepError, sweep};

/// A sweep that only packs.
const PACK: Sweep<'static> =
    Sweep { unused_since: None, max_size: None, made: &|_| i64::MAX, now: 0, dry_run: false };

/// A segment for each list of entries, none of which has an index.
fn segments(lists: &[&[Entry]]) -> TempDir {
    let dir = fresh();
    fs::create_dir_all(folder(dir.path())).unwrap();
    for (at, entries) in lists.iter().enumerate() {
        fs::write(folder(dir.path()).join(format!("0-{at}-0.jsonl")), text_of(entries)).unwrap();
    }
    dir
}

/// Every file of the store by name, with its bytes.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut paths = files(dir, "");
    paths.extend(fs::read_dir(dir.join("v1/use")).into_iter().flatten().map(|f| f.unwrap().path()));
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// The entries of the store, line by line.
fn lines_of(dir: &Path) -> Vec<Entry> {
    let texts = files(dir, ".jsonl").into_iter().map(|path| fs::read_to_string(path).unwrap());
    let mut entries: Vec<Entry> = texts
        .flat_map(|text| {
            let entry = |line: &str| line::parse(line.as_bytes()).unwrap().alone().unwrap();
            text.lines().map(entry).collect::<Vec<_>>()
        })
        .collect();
    entries.sort_by_key(|entry| (entry.key, entry.generation));
    entries
}

#[test]
fn what_others_win_over_goes_and_small_segments_become_one() {
    let [one, two, three] = three().try_into().unwrap();
    let newer = entry(1, 4, r#"{"newer":1}"#);
    let dir = segments(&[
        &[one.clone(), two.clone()],
        &[newer.clone(), two.clone()],
        std::slice::from_ref(&three),
        &[],
    ]);
    let before = contents(dir.path());
    let dry = sweep(dir.path(), &Sweep { dry_run: true, ..PACK }).unwrap();
    assert_eq!(contents(dir.path()), before, "a dry run changes nothing");
    let swept = sweep(dir.path(), &PACK).unwrap();
    assert_eq!((swept.kept, swept.superseded, swept.packed), (3, 2, 4));
    assert_eq!(SweptEntries { packed: 0, ..swept.clone() }, dry, "a dry run says what would go");
    let lines: u64 = text_of(&[newer.clone(), two.clone(), three.clone()]).len() as u64;
    assert_eq!(swept.kept_bytes, lines + 3 * 40);
    assert_eq!(lines_of(dir.path()), [newer, two, three]);
    assert_eq!((files(dir.path(), ".jsonl").len(), files(dir.path(), ".idx").len()), (1, 1));
    let packed = contents(dir.path());
    let again = sweep(dir.path(), &PACK).unwrap();
    assert_eq!((again.kept, again.superseded, again.packed), (3, 0, 0));
    assert_eq!(contents(dir.path()), packed, "there is nothing more to do");
}

#[test]
fn what_was_not_used_since_goes_by_manifest_or_else_by_age() {
    let entries: Vec<Entry> = (1..=4).map(|number| entry(number, 0, "{}")).collect();
    // Made at 10, 20, 30 and 40 seconds; the first was used at new year 2026 and the others never.
    let made = |entry: &EntryLine| i64::from(entry.key.0[0]) * 10;
    let end_of_year = 1_767_225_599;
    let cases: [(Option<i64>, &[u8]); 6] = [
        (None, &[1, 2, 3, 4]),
        (Some(20), &[1, 2, 3, 4]),
        (Some(21), &[1, 3, 4]),
        (Some(41), &[1]),
        (Some(end_of_year), &[1]),
        (Some(end_of_year + 1), &[]),
    ];
    for (unused_since, expected) in cases {
        let dir = segments(&[&entries]);
        note_used(dir.path(), "a", None, moment("2025-12-31T00:00:00Z"), &[key(1), key(9)])
            .unwrap();
        let swept = sweep(dir.path(), &Sweep { unused_since, made: &made, ..PACK }).unwrap();
        assert_eq!(swept.unused as usize, 4 - expected.len(), "{unused_since:?}");
        let left: Vec<u8> = lines_of(dir.path()).iter().map(|entry| entry.key.0[0]).collect();
        assert_eq!(left, expected, "{unused_since:?}");
        assert_eq!(swept.manifests, u64::from(unused_since > Some(end_of_year)));
    }
}

#[test]
fn what_does_not_fit_goes_least_recently_used_first() {
    let entries: Vec<Entry> = (1..=4).map(|number| entry(number, 0, "{}")).collect();
    let made = |entry: &EntryLine| i64::from(entry.key.0[0]);
    let size = text_of(&entries[..1]).len() as u64 + 40;
    let cases: [(u64, &[u8]); 6] = [
        (u64::MAX, &[1, 2, 3, 4]),
        (4 * size, &[1, 2, 3, 4]),
        (4 * size - 1, &[1, 3, 4]),
        (2 * size, &[1, 4]),
        (size, &[1]),
        (0, &[]),
    ];
    for (most, expected) in cases {
        let dir = segments(&[&entries[..2], &entries[2..]]);
        note_used(dir.path(), "a", None, moment("2025-12-31T00:00:00Z"), &[key(1)]).unwrap();
        let swept =
            sweep(dir.path(), &Sweep { max_size: Some(most), made: &made, ..PACK }).unwrap();
        assert_eq!(swept.over_size as usize, 4 - expected.len(), "{most}");
        assert!(swept.kept_bytes <= most);
        let left: Vec<u8> = lines_of(dir.path()).iter().map(|entry| entry.key.0[0]).collect();
        assert_eq!(left, expected, "{most}");
    }
}

#[test]
fn what_the_last_run_of_a_suite_needed_goes_last() {
    let entries: Vec<Entry> = (1..=6).map(|number| entry(number, 0, "{}")).collect();
    let size = text_of(&entries[..1]).len() as u64 + 40;
    let dir = segments(&[&entries]);
    let note = |suite, numbers: &[u8], (of, is_whole)| {
        let keys: Vec<ActionKey> = numbers.iter().map(|number| key(*number)).collect();
        note_used(
            dir.path(),
            suite,
            Some(RunNote { of, is_whole }),
            moment("2026-01-01T10:00:00Z"),
            &keys,
        )
        .unwrap();
    };
    // All on one day: two suites of one name, one of which was edited since.
    note("a", &[1, 2, 3], ("a.yaml", true));
    note("a", &[3, 5], ("a.yaml", true));
    note("a", &[6], ("b.yaml", true));
    for (most, expected) in [
        (6, &[1, 2, 3, 4, 5, 6][..]),
        (5, &[1, 2, 3, 5, 6]),
        (4, &[2, 3, 5, 6]),
        (3, &[3, 5, 6]),
        (2, &[5, 6]),
    ] {
        let max_size = Some(most * size);
        sweep(dir.path(), &Sweep { max_size, made: &|_| 0, ..PACK }).unwrap();
        let left: Vec<u8> = lines_of(dir.path()).iter().map(|entry| entry.key.0[0]).collect();
        assert_eq!(left, expected, "{most}");
    }
    // Part of a run takes nothing from what the whole one needs.
    note("a", &[5], ("a.yaml", false));
    assert_eq!(read_uses(dir.path(), None).unwrap().needed.len(), 3);
}

#[test]
fn a_reply_is_never_superseded_by_a_failure() {
    let reply = entry(1, 0, r#"{"outcome":{"reply":{}}}"#);
    let failure = entry(1, 5, r#"{"outcome":{"failure":{}}}"#);
    for lists in [[&reply, &failure], [&failure, &reply]] {
        let dir = segments(&lists.map(std::slice::from_ref));
        assert_eq!(sweep(dir.path(), &PACK).unwrap().superseded, 1);
        assert_eq!(lines_of(dir.path()), std::slice::from_ref(&reply));
    }
}

#[test]
fn a_segment_that_is_written_is_left_alone_and_counts_for_nothing() {
    let dir = segments(&[&three()]);
    let writer = SegmentStore::open(dir.path());
    writer.put_many(&[entry(1, 9, "{}")]).unwrap();
    let swept = sweep(dir.path(), &PACK).unwrap();
    assert_eq!((swept.kept, swept.superseded, swept.busy), (3, 0, 1));
    writer.put_many(&[entry(4, 0, "{}")]).unwrap();
    let swept = sweep(dir.path(), &Sweep { max_size: Some(0), ..PACK }).unwrap();
    assert_eq!((swept.kept, swept.over_size, swept.busy), (0, 3, 1));
    assert_eq!(lines_of(dir.path()).len(), 2, "what is being written stays whatever its size");
    drop(writer);
    let swept = sweep(dir.path(), &PACK).unwrap();
    assert_eq!((swept.kept, swept.superseded, swept.busy), (2, 0, 0));
}

#[test]
fn a_reader_follows_entries_to_where_they_were_moved() {
    for hits_only in [true, false] {
        let dir = segments(&[&three()[..1], &three()[1..]]);
        let reader = SegmentStore::open(dir.path());
        let keys: Vec<ActionKey> = (1..=if hits_only { 3 } else { 4 }).map(key).collect();
        assert!(reader.get_many(&keys)[..3].iter().all(Option::is_some));
        sweep(dir.path(), &PACK).unwrap();
        let found: Vec<Entry> = reader.get_many(&keys).into_iter().flatten().collect();
        assert_eq!(found, three());
        sweep(dir.path(), &Sweep { max_size: Some(0), ..PACK }).unwrap();
        assert_eq!(reader.get_many(&keys).into_iter().flatten().count(), 0);
        assert_eq!(reader.take_warnings(), [] as [String; 0]);
        assert_eq!(reader.keys(), []);
    }
}

#[test]
fn a_writer_goes_on_after_its_closed_segments_were_moved() {
    let dir = fresh();
    let writer = SegmentStore::open(dir.path());
    writer.writer().seal_at = 1;
    for entry in three() {
        writer.put_many(&[entry]).unwrap();
        sweep(dir.path(), &PACK).unwrap();
    }
    assert_eq!(reread(dir.path()), ("111".to_owned(), vec![]));
    assert_eq!(writer.get_many(&[key(1), key(2), key(3)]).into_iter().flatten().count(), 3);
    assert_eq!(files(dir.path(), ".jsonl").len(), 1);
}

#[test]
fn writers_and_readers_notice_nothing_of_sweeps_beside_them() {
    let dir = fresh();
    std::thread::scope(|scope| {
        let mut writers = Vec::new();
        for writer in 0..2_u8 {
            let dir = dir.path();
            writers.push(scope.spawn(move || {
                let store = SegmentStore::open(dir);
                // A segment for every put: most sweeps meet one that is being made or closed.
                store.writer().seal_at = 1;
                let numbers: Vec<u8> = (writer * 40..writer * 40 + 40).collect();
                for (at, number) in numbers.iter().enumerate() {
                    store.put_many(&[entry(*number, 0, "{}")]).unwrap();
                    let keys: Vec<ActionKey> = numbers[..=at].iter().map(|n| key(*n)).collect();
                    assert!(store.get_many(&keys).iter().all(Option::is_some), "after {number}");
                }
                assert_eq!(store.take_warnings(), [] as [String; 0]);
            }));
        }
        // A writer that failed is finished too: its panic is passed on when the scope ends.
        while writers.iter().any(|writer| !writer.is_finished()) {
            assert_eq!(sweep(dir.path(), &PACK).unwrap().problems, [] as [String; 0]);
        }
    });
    let swept = sweep(dir.path(), &PACK).unwrap();
    assert_eq!((swept.kept, swept.busy, files(dir.path(), ".jsonl").len()), (80, 0, 1));
}

#[test]
fn bad_lines_are_named_and_left_out_and_torn_tails_cut_off() {
    let text = text_of(&three());
    let dir = segment(&[b"nonsense\n", text.as_bytes(), &text.as_bytes()[..50]].concat());
    fs::write(folder(dir.path()).join("9-9-9.idx"), "an index of nothing").unwrap();
    fs::write(folder(dir.path()).join("9-9-9.idx.tmp"), "half of one").unwrap();
    let swept = sweep(dir.path(), &PACK).unwrap();
    assert_eq!((swept.kept, swept.packed), (3, 1));
    let path = folder(dir.path()).join("0-1-2.jsonl");
    let named = format!("skipped the stored outcome at `{}:1`: not an entry", path.display());
    assert_eq!(swept.problems, [named]);
    assert_eq!(lines_of(dir.path()), three());
    assert_eq!(files(dir.path(), "").len(), 2, "one segment and its index");
}

#[test]
fn two_sweeps_at_once_are_one_too_many() {
    let dir = segments(&[&three()]);
    let lock = File::options().create(true).append(true).open(dir.path().join("v1/gc.lock"));
    lock.as_ref().unwrap().lock().unwrap();
    assert_eq!(sweep(dir.path(), &PACK), Err(SweepError::Busy));
    drop(lock);
    assert_eq!(sweep(dir.path(), &PACK).unwrap().kept, 3);
}

#[test]
fn nothing_goes_by_use_while_a_manifest_cannot_be_read() {
    let dir = segments(&[&three()]);
    fs::create_dir_all(dir.path().join("v1/use")).unwrap();
    fs::write(dir.path().join("v1/use/20260101-a-0.keys"), "garbage").unwrap();
    for (unused_since, max_size) in [(Some(i64::MIN), None), (None, Some(0))] {
        let swept = sweep(dir.path(), &Sweep { unused_since, max_size, ..PACK });
        assert!(matches!(swept, Err(SweepError::Uses { .. })), "{swept:?}");
    }
    assert_eq!(sweep(dir.path(), &PACK).unwrap().kept, 3, "packing asks for no uses");
    let old = Sweep { unused_since: Some(i64::MAX), ..PACK };
    assert_eq!(sweep(dir.path(), &old).unwrap().manifests, 1, "it is older than all that matters");
}

#[test]
fn where_there_is_no_store_nothing_is_swept_or_made() {
    let dir = fresh();
    assert_eq!(sweep(dir.path(), &PACK), Ok(SweptEntries::default()));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// A kill between any two changes leaves a state in which some of the new files and some of the old ones are there.
#[test]
fn a_kill_at_any_point_loses_nothing() {
    let lists: [&[Entry]; 3] = [&three()[..1], &three()[1..2], &three()[1..]];
    let dir = segments(&lists);
    let old = contents(dir.path());
    sweep(dir.path(), &PACK).unwrap();
    let new: Vec<(PathBuf, Vec<u8>)> = contents(dir.path()).into_iter().collect();
    let segment = new.iter().find(|(path, _)| path.extension().unwrap() == "jsonl").unwrap();
    let restore = |files: &mut dyn Iterator<Item = (&PathBuf, &[u8])>| {
        fs::remove_dir_all(folder(dir.path())).unwrap();
        fs::create_dir_all(folder(dir.path())).unwrap();
        files.for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    };
    let whole = |(path, bytes): &(PathBuf, Vec<u8>)| (path.clone(), bytes.clone());
    for cut in 0..=segment.1.len() {
        let half = (&segment.0, &segment.1[..cut]);
        restore(&mut old.iter().map(|(path, bytes)| (path, &bytes[..])).chain([half]));
        assert_eq!(reread(dir.path()), ("111".to_owned(), vec![]), "written up to {cut}");
    }
    for removed in 0..=old.len() {
        let new: Vec<_> = new.iter().map(whole).collect();
        let rest = old.iter().skip(removed).map(|(path, bytes)| (path, &bytes[..]));
        restore(&mut new.iter().map(|(path, bytes)| (path, &bytes[..])).chain(rest));
        assert_eq!(reread(dir.path()), ("111".to_owned(), vec![]), "{removed} removed");
        sweep(dir.path(), &PACK).unwrap();
        assert_eq!(lines_of(dir.path()), three(), "the next sweep finishes it");
    }
}

#[test]
fn many_segments_are_packed_without_a_sweep_and_nothing_is_lost() {
    let entries: Vec<Entry> = (0..80)
        .map(|number| entry(number % 70, u32::from(number), &format!(r#"{{"n":{number}}}"#)))
        .collect();
    let keys: Vec<ActionKey> = (0..70).map(key).collect();
    let lists: Vec<&[Entry]> = entries.chunks(1).collect();
    let few = segments(&lists[..64]);
    assert_eq!(pack_many(few.path()), Ok(None), "64 are few");
    let dir = segments(&lists);
    let before = SegmentStore::open(dir.path()).get_many(&keys);
    // One that is damaged, one that a process writes, and one that is too large.
    let damaged = folder(dir.path()).join("0-damaged-0.jsonl");
    fs::write(&damaged, "nonsense\n").unwrap();
    let busy = SegmentStore::open(dir.path());
    busy.put_many(&[entry(90, 0, "{}")]).unwrap();
    let large = folder(dir.path()).join("0-large-0.jsonl");
    let long = entry(91, 0, &format!(r#"{{"a":"{}"}}"#, "x".repeat(9 << 20)));
    fs::write(&large, text_of(&[long])).unwrap();
    let swept = pack_many(dir.path()).unwrap().unwrap();
    assert_eq!((swept.packed, swept.superseded, swept.busy), (80, 10, 1));
    let left = files(dir.path(), ".jsonl");
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(left.contains(&damaged) && left.contains(&large), "{left:?}");
    assert_eq!(SegmentStore::open(dir.path()).get_many(&keys), before);
    assert_eq!(busy.get_many(&keys), before, "who has the store open finds what was moved");
    drop(busy);
    assert_eq!(pack_many(dir.path()), Ok(None));
}

#[test]
fn who_packs_waits_for_nobody() {
    let all = three();
    let lists: Vec<&[Entry]> = all.chunks(1).cycle().take(70).collect();
    let dir = segments(&lists);
    let lock = crate::sweep::lock(&dir.path().join("v1/gc.lock")).unwrap();
    assert_eq!(pack_many(dir.path()), Ok(None), "a sweep is under way");
    drop(lock);
    // Somebody reads, or has stopped while reading.
    let reader = File::open(folder(dir.path())).unwrap();
    reader.lock_shared().unwrap();
    let before = contents(dir.path());
    assert_eq!(pack_many(dir.path()).unwrap().unwrap().packed, 0);
    assert_eq!(contents(dir.path()), before, "nothing is left behind");
    drop(reader);
    assert_eq!(pack_many(dir.path()).unwrap().unwrap().packed, 70);
    assert_eq!(reread(dir.path()), ("111".to_owned(), vec![]));
    assert_eq!(pack_many(&dir.path().join("nowhere")), Ok(None));
}

#[test]
fn what_cannot_be_packed_stays_and_nothing_is_left_behind() {
    let all = three();
    let lists: Vec<&[Entry]> = all.chunks(1).cycle().take(70).collect();
    let dir = segments(&lists);
    let before = contents(dir.path());
    let store = SegmentStore::open(dir.path());
    store.put_many(&[entry(9, 0, "{}")]).unwrap();
    store.take_back();
    assert_eq!(contents(dir.path()), before);
}
