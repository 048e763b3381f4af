//! The store against a map, over arbitrary steps and arbitrary damage.

use std::collections::HashMap;

use super::shared::judgment;
use super::*;
use crate::blob::BlobFolder;
use crate::segment::line_batch::{LineBatch, NewLine};
use crate::segment::written_base_lines::WrittenBaseLines;
use crate::sweep::{Sweep, sweep};

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
    /// Sweeps what nobody needs: no reader and no writer may notice.
    Sweep,
}

fn step() -> impl Strategy<Value = Step> {
    let entries = proptest::collection::vec((0..5_u8, 0..3_u32, 0..BODIES), 1..5);
    prop_oneof![
        4 => (0..2_usize, entries).prop_map(|(by, entries)| Step::Put { by, entries }),
        2 => (0..2_usize).prop_map(|by| Step::Ask { by }),
        1 => (0..2_usize, proptest::option::of(0..120_usize))
            .prop_map(|(by, killed)| Step::Restart { by, killed }),
        1 => Just(Step::Sweep),
    ]
}

/// How many bodies there are.
const BODIES: u8 = 6;

/// Bodies of odd numbers are replies, the last two are large.
fn body(number: u8) -> String {
    let outcome = if number % 2 == 1 { "reply" } else { "failure" };
    let words = if number < 4 { usize::from(number) } else { 20_000 + usize::from(number) };
    format!(r#"{{"outcome":{{"{outcome}":"{}"}},"n":{number}}}"#, "why ".repeat(words))
}

/// The line of an entry in a segment, with its line break, and the size of its blob.
fn on_disk(dir: &Path, entry: &Entry) -> (u64, u64) {
    let mut bases = WrittenBaseLines::default();
    let mut batch = LineBatch::new(0, &mut bases);
    batch.add(NewLine::at(entry, entry.generation, line::check(entry).unwrap()));
    let path = BlobFolder::of(dir).path(*blake3::hash(entry.body.as_bytes()).as_bytes());
    (batch.text.len() as u64, path.metadata().map_or(0, |file| file.len()))
}

/// What entries take together: a blob that several have, once.
fn space_of(left: &[(i64, u8, u64, u64, u8)]) -> u64 {
    let blobs: BTreeMap<u8, u64> = left.iter().map(|(.., blob, text)| (*text, *blob)).collect();
    left.iter().map(|(_, _, line, ..)| line).sum::<u64>() + blobs.values().sum::<u64>()
}

/// The seconds of a day.
const DAY: i64 = 86_400;

/// Whatever was put for each key, replies after failures, then by generation and digest: the last one wins.
type Model = BTreeMap<u8, BTreeSet<Ranked>>;

/// A body with what it is ranked by.
type Ranked = (bool, u32, [u8; 32], u8);

fn ranked(generation: u32, text: u8) -> Ranked {
    (text % 2 == 1, generation, *blake3::hash(body(text).as_bytes()).as_bytes(), text)
}

fn ranked_judged(generation: u32, text: u8) -> Ranked {
    (text % 2 == 1, generation, *blake3::hash(judged(text).as_bytes()).as_bytes(), text)
}

/// The body with ingredients, of which the lines of small ones share most.
fn judged(number: u8) -> String {
    let outcome = body(number);
    let Some(outcome) = outcome.strip_suffix('}') else { return outcome };
    judgment(outcome, &format!("judge {}", number % 3), &number.to_string())
}

/// Asks for every key and one that nobody ever puts: a miss makes a store look at the others.
fn check(store: &dyn OutcomeStore, model: &Model) {
    let keys: Vec<ActionKey> = (0..6).map(key).collect();
    let found = store.get_many(&keys);
    for (number, found) in (0..6_u8).zip(found) {
        let best = model.get(&number).and_then(BTreeSet::last);
        let expected =
            best.map(|(_, generation, _, text)| entry(number, *generation, &judged(*text)));
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
        let memory = MemoryStore::default();
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Put { by, entries } => {
                    for &(number, generation, text) in &entries {
                        model.entry(number).or_default().insert(ranked_judged(generation, text));
                    }
                    let entries: Vec<Entry> = entries
                        .into_iter()
                        .map(|(number, generation, text)| entry(number, generation, &judged(text)))
                        .collect();
                    stores[by].put_many(&entries).unwrap();
                    memory.put_many(&entries).unwrap();
                }
                Step::Ask { by } => check(&stores[by], &model),
                Step::Sweep => {
                    let pack = Sweep { unused_since: None, max_size: None, made: &|_| 0, now: 0, dry_run: false };
                    prop_assert_eq!(sweep(dir.path(), &pack).unwrap().problems, [] as [String; 0]);
                }
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
        for store in &stores {
            check(store, &model);
        }
        check(&memory, &model);
        check(&SegmentStore::open(dir.path()), &model);
    }

    #[test]
    fn a_sweep_keeps_what_a_map_keeps(
        entries in proptest::collection::vec((0..8_u8, 0..3_u32, 0..BODIES, 0..3_usize), 0..20),
        used in proptest::collection::vec((0..8_u8, 1..5_i64), 0..6),
        unused_since in proptest::option::of(0..9 * DAY),
        max_size in proptest::option::of(0..2_500_u64),
    ) {
        let dir = fresh();
        fs::create_dir_all(folder(dir.path())).unwrap();
        for segment in 0..3 {
            let of = entries.iter().filter(|entry| entry.3 == segment);
            let of: Vec<Entry> = of.map(|entry| self::entry(entry.0, entry.1, &body(entry.2))).collect();
            SegmentStore::open(dir.path()).put_many(&of).unwrap();
        }
        for (number, day) in &used {
            note_used(dir.path(), "a", None, moment(&format!("1970-01-{day:02}T00:00:00Z")), &[key(*number)]).unwrap();
        }
        // The longer the body, the later it was made: within the days of the manifests.
        let made = |text: u8| i64::from(text) * DAY + 1;
        let made_of = |entry: &EntryLine| {
            let outline: serde_json::Value = serde_json::from_str(entry.outline()).unwrap();
            made(outline["n"].as_u64().unwrap() as u8)
        };
        let on_disk: BTreeMap<u8, (u64, u64)> =
            (0..BODIES).map(|text| (text, on_disk(dir.path(), &entry(0, 0, &body(text))))).collect();
        let sweep = Sweep { unused_since, max_size, made: &made_of, now: 0, dry_run: false };
        let swept = crate::sweep::sweep(dir.path(), &sweep).unwrap();

        let mut winners: HashMap<u8, Ranked> = HashMap::new();
        for (number, generation, text, _) in &entries {
            let candidate = ranked(*generation, *text);
            let held = winners.entry(*number).or_insert(candidate);
            *held = candidate.max(*held);
        }
        let last_use = |number: u8, text: u8| {
            let days = used.iter().filter(|(used, _)| *used == number).map(|(_, day)| day * DAY - 1);
            days.max().unwrap_or(i64::MIN).max(made(text))
        };
        let mut left: Vec<(i64, u8, u64, u64, u8)> = winners
            .iter()
            .map(|(number, (.., text))| {
                let (line, blob) = on_disk[text];
                (last_use(*number, *text), *number, line + 40, blob, *text)
            })
            .filter(|(last_use, ..)| unused_since.is_none_or(|since| *last_use >= since))
            .collect();
        let unused = winners.len() - left.len();
        left.sort_unstable();
        while space_of(&left) > max_size.unwrap_or(u64::MAX) {
            left.remove(0);
        }
        let expected: BTreeMap<u8, Entry> = left
            .iter()
            .map(|(_, number, ..)| {
                let (_, generation, _, text) = winners[number];
                (*number, entry(*number, generation, &body(text)))
            })
            .collect();
        let keys: Vec<ActionKey> = (0..8).map(key).collect();
        let found: Vec<Entry> =
            SegmentStore::open(dir.path()).get_many(&keys).into_iter().flatten().collect();
        prop_assert_eq!(found, expected.into_values().collect::<Vec<_>>());
        let counts = [swept.kept, swept.superseded, swept.unused, swept.over_size];
        let over_size = winners.len() - unused - left.len();
        let counted = [left.len(), entries.len() - winners.len(), unused, over_size];
        prop_assert_eq!(counts.map(|count| count as usize), counted);
        prop_assert_eq!(swept.kept_bytes, space_of(&left));
        let texts: BTreeSet<u8> = left.iter().map(|(.., text)| *text).filter(|text| *text >= 4).collect();
        prop_assert_eq!(BlobFolder::of(dir.path()).list().unwrap().len(), texts.len());
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
        let mut committed = CommittedStore::default();
        committed.add("a", &[&noise, &b"\n"[..], text.as_bytes()].concat());
        prop_assert_eq!(committed.keys().len(), 3);
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
