//! Files of the index and of records that are damaged: no other verdict, no crash, and the damaged file is named.
#![expect(clippy::disallowed_methods, reason = "tests damage files")]

use std::fs;
use std::path::{Path, PathBuf};

use super::{SUITE, is_repeated, judge, printed, repeatable, run};
use crate::judge::Judge;
use crate::space::{Ran, Space};

/// What becomes of a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Gone,
    IsFolder,
    CutAt(usize),
    /// The byte at a place has other bits.
    Flipped(usize, u8),
    Longer,
}

impl Damage {
    /// One of each kind, with `places` of bytes spread over a file.
    fn all(bytes: usize, places: usize) -> Vec<Self> {
        let spread = |at: usize| at * bytes.saturating_sub(1) / (places - 1);
        let flips = (0..places).map(|at| Self::Flipped(spread(at), 1 << (at % 8)));
        let cuts = [0, 1, bytes / 2, bytes - 1].map(Self::CutAt);
        [Self::Gone, Self::IsFolder, Self::Longer].into_iter().chain(cuts).chain(flips).collect()
    }

    fn apply(self, path: &Path, bytes: &[u8]) {
        Self::remove(path);
        let mut bytes = bytes.to_vec();
        match self {
            Self::Gone => return,
            Self::IsFolder => return fs::create_dir(path).unwrap(),
            Self::CutAt(at) => bytes.truncate(at),
            Self::Flipped(at, bits) => bytes[at] ^= bits,
            Self::Longer => bytes.extend(b"{}"),
        }
        fs::write(path, bytes).unwrap();
    }

    /// Removes what is left of it.
    fn remove(path: &Path) {
        if path.is_dir() {
            fs::remove_dir(path).unwrap();
        } else {
            let _ = fs::remove_file(path);
        }
    }
}

fn index_file(space: &Space) -> PathBuf {
    let [name] = &space.names(".evalrs/index")[..] else { panic!("not one file") };
    space.path(&format!(".evalrs/index/{name}"))
}

#[test]
fn damage_to_the_index_is_found_and_it_is_made_anew() {
    let judge = judge();
    let space = repeatable(&judge);
    let whole = run(&space, &judge, &[]);
    let expected = printed(&whole);
    let path = index_file(&space);
    for damage in Damage::all(fs::read(&path).unwrap().len(), 16) {
        let bytes = fs::read(&path).unwrap();
        let damage = match damage {
            Damage::Flipped(at, bits) => Damage::Flipped(at.min(bytes.len() - 1), bits),
            damage => damage,
        };
        damage.apply(&path, &bytes);
        let ran = run(&space, &judge, &[]);
        assert!(!is_repeated(&ran), "{damage:?}: {}", ran.shown());
        assert_eq!(printed(&ran), expected, "{damage:?}");
        if matches!(damage, Damage::IsFolder) {
            fs::remove_dir(&path).unwrap();
            run(&space, &judge, &[]);
        }
        assert!(is_repeated(&run(&space, &judge, &[])), "{damage:?}");
    }
    fs::remove_dir_all(space.path(".evalrs/index")).unwrap();
    space.write(".evalrs/index", "a file");
    for _ in 0..2 {
        let ran = run(&space, &judge, &[]);
        assert!(!is_repeated(&ran));
        assert_eq!(printed(&ran), expected);
    }
    assert_eq!(judge.count(), 1);
}

const RECORD: [&str; 4] = ["header.json", "summary.json", "results.jsonl", "run.json"];

/// What reads records.
const READERS: [&[&str]; 4] =
    [&["report"], &["report", "--format", "json"], &["diff"], &["explain", "suite.yaml", "a"]];

/// Two runs, the second of which has another verdict.
fn two_runs(judge: &Judge) -> Space {
    let space = repeatable(judge);
    space.write("suite.yaml", SUITE.replace("40", "10"));
    assert!(!is_repeated(&run(&space, judge, &[])));
    space
}

fn read(space: &Space, args: &[&str]) -> Ran {
    let ran = space.run(args);
    assert!([0, 2].contains(&ran.code()), "{args:?}: {}", ran.shown());
    ran
}

#[test]
fn damage_to_a_record_is_named_by_who_reads_it() {
    let judge = judge();
    let space = two_runs(&judge);
    let intact = READERS.map(|args| read(&space, args).stdout());
    let mut wrong = Vec::new();
    for name in RECORD {
        let path = space.latest().join(name);
        let bytes = fs::read(&path).unwrap();
        for damage in Damage::all(bytes.len(), 12) {
            damage.apply(&path, &bytes);
            for (args, intact) in READERS.iter().zip(&intact) {
                let ran = read(&space, args);
                let shown = ran.shown();
                // Without these files a run has not come to its end, and is passed over or has no time.
                let is_unfinished = matches!(
                    (damage, name, args[0]),
                    (Damage::Gone, "run.json", _) | (Damage::Gone, "header.json", "explain")
                );
                let is_same = ran.code() == 0 && (ran.stdout() == *intact || is_unfinished);
                if shown.contains("panicked") || !is_same && !shown.contains(name) {
                    wrong.push(format!("{name}, {damage:?}, {args:?}: {shown}"));
                }
            }
            Damage::remove(&path);
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_run_after_a_damaged_record_gives_its_own_verdicts() {
    let judge = judge();
    let space = two_runs(&judge);
    let verdicts = |space: &Space| {
        ["header.json", "summary.json", "results.jsonl"].map(|name| space.record(name))
    };
    let expected = verdicts(&space);
    for name in RECORD {
        let bytes = fs::read(space.latest().join(name)).unwrap();
        for damage in Damage::all(bytes.len(), 6) {
            let path = space.latest().join(name);
            let before = fs::read(&path).unwrap();
            let damage = match damage {
                Damage::Flipped(at, bits) => Damage::Flipped(at.min(before.len() - 1), bits),
                Damage::CutAt(at) => Damage::CutAt(at.min(before.len() - 1)),
                damage => damage,
            };
            damage.apply(&path, &before);
            let ran = run(&space, &judge, &[]);
            assert!(!is_repeated(&ran) && ran.code() < 2, "{name}, {damage:?}: {}", ran.shown());
            assert_eq!(verdicts(&space), expected, "{name}, {damage:?}");
        }
    }
    assert_eq!(judge.count(), 1);
}
