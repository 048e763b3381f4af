//! Side files: believed while they are right, found out when they lie.

use super::*;
use crate::segment::side_file::{self, EntrySlot};

/// A cache folder with one sealed segment of [`three`]: the segment and its side file.
fn sealed() -> (TempDir, PathBuf, PathBuf) {
    let dir = fresh();
    SegmentStore::open(dir.path()).put_many(&three()).unwrap();
    let segments = files(dir.path(), ".jsonl");
    let indexes = files(dir.path(), ".idx");
    assert_eq!((segments.len(), indexes.len()), (1, 1));
    assert_eq!(files(dir.path(), ".tmp"), [] as [PathBuf; 0]);
    (dir, segments[0].clone(), indexes[0].clone())
}

#[test]
fn a_side_file_is_believed_only_while_it_is_right() {
    let (dir, segment, index) = sealed();
    let text = fs::read(&segment).unwrap();
    let side = fs::read(&index).unwrap();
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

type Lied = Vec<(ActionKey, EntrySlot)>;

#[test]
fn a_well_formed_side_file_that_lies_is_found_out() {
    let (dir, segment, index) = sealed();
    let length = fs::metadata(&segment).unwrap().len();
    // An older entry of another segment, which must not win because of the lie.
    let other = text_of(&[entry(2, 5, "{}")]);
    fs::write(folder(dir.path()).join("9-9-9.jsonl"), other).unwrap();
    let true_entries = side_file::decode(&fs::read(&index).unwrap(), 0, length).unwrap();
    let generations: Vec<u32> =
        true_entries.iter().map(|(_, slot)| slot.rank().generation).collect();
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
        fs::write(&index, side_file::encode(&entries)).unwrap();
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
    let mut entries = side_file::decode(&fs::read(&index).unwrap(), 0, length).unwrap();
    let slot = entries[0].1;
    let rank = EntryRank { generation: 9, is_reply: true };
    entries[0].1 = EntrySlot::new(slot.segment, slot.offset, slot.length(), rank);
    fs::write(&index, side_file::encode(&entries)).unwrap();
    assert_eq!(SegmentStore::open(dir.path()).get_many(&[key(1)]), [Some(newer)]);
}

#[test]
fn a_side_file_of_the_first_version_is_made_again() {
    let reply = entry(1, 0, r#"{"outcome":{"reply":{}}}"#);
    let failure = entry(1, 3, r#"{"outcome":{"failure":{}}}"#);
    let entries = [reply.clone(), failure];
    let dir = segment(text_of(&entries).as_bytes());
    let index = folder(dir.path()).join("0-1-2.idx");
    // The first version knows the generation alone.
    let mut bytes = b"evalrs idx v1\n\0\0".to_vec();
    for entry in &entries {
        bytes.extend_from_slice(&entry.key.0);
        bytes.extend_from_slice(&entry.generation.to_le_bytes());
        let length = text_of(std::slice::from_ref(entry)).len() as u32 - 1;
        bytes.extend_from_slice(&length.to_le_bytes());
    }
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    fs::write(&index, &bytes).unwrap();
    assert_eq!(SegmentStore::open(dir.path()).get_many(&[key(1)]), [Some(reply.clone())]);
    let now = fs::read(&index).unwrap();
    assert!(now.starts_with(b"evalrs idx v2"), "{now:?}");
    assert_eq!(SegmentStore::open(dir.path()).get_many(&[key(1)]), [Some(reply)]);
}

#[test]
fn an_entry_that_cannot_be_read_hides_no_other_of_its_file() {
    let dir = segment(text_of(&three()).as_bytes());
    let path = files(dir.path(), ".jsonl").remove(0);
    let length = text_of(&three()[..1]).len() as u32 - 1;
    let good = EntrySlot::new(0, 0, length, three()[0].rank());
    let group = [(EntrySlot::new(0, 1 << 20, length, three()[0].rank()), 0), (good, 1)];
    let mut found = vec![None, None];
    assert!(read_group(&path, &group, &[key(2), key(1)], &|_| false, &mut found).is_err());
    assert_eq!(found, [None, Some(three()[0].clone().into())]);
}

#[test]
fn a_side_file_is_what_makes_opening_cheap() {
    let (dir, segment, _) = sealed();
    // Damage of the same length goes unseen until the line is read: the segment was not scanned.
    let text = fs::read_to_string(&segment).unwrap().replace("0.5", "0.6");
    fs::write(&segment, text).unwrap();
    let store = SegmentStore::open(dir.path());
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
    let store = SegmentStore::open(dir.path());
    assert_eq!(store.get_many(&[key(1)]), [Some(older)]);
    assert_eq!(store.take_warnings().len(), 1);
}
