//! Sides of comparisons: runs, saves of sessions, and what two of them have in common.

use super::{ReadSide, SideError, add_rationales, read_changed_sides, read_side};
use crate::record::read::{PastRun, open};
use crate::record::reference::SaveAt;
use evalrs_metrics::diff::{Diff, DiffLabels, DiffSide, compare};
use evalrs_system::memory::MemorySystem;

const HEADER: &str = r#"{"format": 1, "suite": "s", "evalrs": "0.1.0", "inputs": {"a": "1"},
    "settings": {"graders": [{"name": "q", "prompt": "Kind?"}, {"name": "g"}]}}"#;

/// A key of 64 digits.
fn key(digit: u8) -> String {
    format!("{digit:064x}")
}

fn line(sample: &str, score: f64, digit: u8) -> String {
    let pass = score >= 0.5;
    let key = key(digit);
    format!(
        r#"{{"format":1,"sample_id":"{sample}","grades":{{"g":{{"score":1,"pass":true,"error":null}},"q":{{"score":{score},"pass":{pass},"rationale":"said {score}","error":null,"key":"{key}"}}}}}}"#
    )
}

fn save(number: u32, verdicts: &[(&str, f64, u8)]) -> String {
    let verdict = |(sample, score, digit): &(&str, f64, u8)| {
        let pass = *score >= 0.5;
        let key = key(*digit);
        format!(
            r#"{{"sample_id":"{sample}","grader":"q","before":null,"now":{{"score":{score},"pass":{pass},"key":"{key}"}}}}"#
        )
    };
    let verdicts: Vec<String> = verdicts.iter().map(verdict).collect();
    let verdicts = verdicts.join(",");
    format!(
        r#"{{"format":1,"save":{number},"rubrics":{{"q":"digest {number}"}},"verdicts":[{verdicts}]}}"#
    ) + "\n"
}

/// A session of three evaluations that ended with the results of the last.
fn session() -> MemorySystem {
    let saves = save(0, &[("a", 0.0, 1), ("b", 1.0, 2)])
        + &save(1, &[("a", 0.5, 3)])
        + &save(2, &[("b", 0.25, 4)]);
    let results = [line("a", 0.5, 3), line("b", 0.25, 4)].join("\n");
    MemorySystem::with(&[
        ("r/header.json", HEADER),
        ("r/results.jsonl", &results),
        ("r/saves.jsonl", &saves),
    ])
}

fn past(system: &MemorySystem) -> PastRun {
    open(system, "r", "r").unwrap()
}

fn read(system: &MemorySystem, save: Option<SaveAt>) -> Result<ReadSide, SideError> {
    read_side(system, &past(system), save, None)
}

fn shown(read: &ReadSide) -> String {
    let cases = read.side.cases.iter().map(|case| {
        let scores = case.grades.iter().map(|grade| match grade {
            Some(grade) if grade.error => " e".to_owned(),
            Some(grade) => format!(" {}", grade.score),
            None => " -".to_owned(),
        });
        format!("{}{}", case.name.sample_id, scores.collect::<String>())
    });
    cases.collect::<Vec<_>>().join(", ")
}

#[test]
fn a_run_is_its_results_and_a_save_what_stood_then() {
    let system = session();
    let table = [
        (None, "a 0.5 1, b 0.25 1", None),
        (Some(SaveAt::Number(0)), "a 0, b 1", Some(0)),
        (Some(SaveAt::Number(1)), "a 0.5, b 1", Some(1)),
        (Some(SaveAt::FromEnd(1)), "a 0.5, b 0.25", Some(2)),
        (Some(SaveAt::FromEnd(3)), "a 0, b 1", Some(0)),
    ];
    for (save, expected, number) in table {
        let found = read(&system, save).unwrap();
        assert_eq!((shown(&found).as_str(), found.side.name.save), (expected, number));
        assert_eq!(found.side.settings.is_some(), save.is_none() || number == Some(2));
    }
    let run = read(&system, None).unwrap().side;
    assert_eq!((run.graders, run.name.results), (vec!["q".to_owned(), "g".to_owned()], 2));
    assert_eq!(run.rubrics[0].digest, blake3::hash(b"Kind?").to_string());
    assert_eq!(run.rubrics[0].text.as_deref(), Some("Kind?"));
    for (save, expected) in [
        (SaveAt::Number(3), SideError::UnknownSave(vec![0, 1, 2])),
        (SaveAt::FromEnd(4), SideError::UnknownSave(vec![0, 1, 2])),
    ] {
        assert_eq!(read(&system, Some(save)).unwrap_err(), expected);
    }
    system.remove("r/results.jsonl");
    let found = read(&system, None).unwrap();
    assert_eq!((found.side.name.save, found.side.settings), (Some(2), None), "it never ended");
    system.remove("r/saves.jsonl");
    assert_eq!(read(&system, None).unwrap_err(), SideError::WithoutResults);
    assert_eq!(read(&system, Some(SaveAt::Number(0))).unwrap_err(), SideError::NotASession);
}

#[test]
fn broken_records_are_read_as_far_as_they_go() {
    let bad = [
        line("a", 1.0, 1),
        line("a", 0.0, 1),
        r#"{"format":1,"sample_id":"b","grades":{"q":{"score":null,"pass":true},"g":{"score":1},"x":{"score":0,"pass":false,"error":{"kind":"timeout"},"key":"no key"}}}"#.to_owned(),
        r#"{"format":1,"sample_id":"c","grades":{"q":"#.to_owned(),
        r#"{"format":1,"sample_id":"d"}"#.to_owned(),
        "\u{0}".to_owned(),
    ];
    let system = MemorySystem::with(&[
        ("r/header.json", HEADER),
        ("r/results.jsonl", &bad.join("\n")),
        ("r/summary.json", r#"{"gate": {"status": "maybe"}}"#),
        ("r/run.json", r#"{"started": "2026-01-01T00:00:00Z", "interrupted": true}"#),
    ]);
    let found = read(&system, None).unwrap();
    assert_eq!(shown(&found), "a 1 1, b - - e, d");
    assert_eq!(found.side.graders, ["q", "g", "x"]);
    assert_eq!(
        found.warnings,
        [
            "r: 2 lines of results.jsonl cannot be read",
            "r: 1 line of results.jsonl skipped: duplicate results"
        ]
    );
    assert!(!found.side.name.complete && found.side.gate.status.is_none());
}

#[test]
fn only_lines_that_differ_are_compared() {
    let before = [line("a", 1.0, 1), line("b", 1.0, 2), line("c", 0.0, 3)].join("\n");
    let now = [line("new", 1.0, 4), line("a", 1.0, 1), line("b", 0.0, 5)].join("\n");
    let system = MemorySystem::with(&[
        ("r/header.json", HEADER),
        ("r/results.jsonl", &before),
        ("q/header.json", HEADER),
        ("q/results.jsonl", &now),
    ]);
    let [old, new] = ["r", "q"].map(|folder| open(&system, folder, folder).unwrap());
    let found = read_changed_sides(&system, [&old, &new]).unwrap();
    let named = |side: &DiffSide| {
        let names = side.cases.iter().map(|case| case.name.sample_id.clone());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found.sides.each_ref().map(named), ["b c", "new b"]);
    let mut places: Vec<_> =
        found.places.iter().map(|(name, at)| (name.sample_id.as_str(), *at)).collect();
    places.sort_unstable();
    assert_eq!(places, [("b", 2), ("new", 0)]);
    let [whole, part] = [
        compare(
            &read_side(&system, &old, None, None).unwrap().side,
            &read_side(&system, &new, None, None).unwrap().side,
            None,
            &DiffLabels::default(),
        ),
        compare(&found.sides[0], &found.sides[1], None, &DiffLabels::default()),
    ];
    assert_eq!(part.moved, whole.moved);
    assert_eq!(part.cases.only_now, whole.cases.only_now);
    assert_eq!(part.cases.only_before, whole.cases.only_before);
    system.remove("q/results.jsonl");
    assert!(read_changed_sides(&system, [&old, &new]).is_none());
}

#[test]
fn a_file_of_both_sides_is_read_once() {
    let results = [line("a", 1.0, 1), line("b", 0.0, 2)].join("\n");
    let other_header = HEADER.replace("{\"name\": \"g\"}", "{\"name\": \"h\"}");
    let damaged = format!("{results}\n{{");
    let read_after = |header: &str, results: [&str; 2]| {
        let system = MemorySystem::with(&[
            ("r/header.json", HEADER),
            ("r/results.jsonl", results[0]),
            ("q/header.json", header),
            ("q/results.jsonl", results[1]),
        ]);
        let [old, new] = ["r", "q"].map(|folder| open(&system, folder, folder).unwrap());
        let mut old = read_side(&system, &old, None, None).unwrap();
        // What no file says is known to be from the other side.
        old.side.cases[0].grades[0].as_mut().unwrap().score = 0.125;
        shown(&read_side(&system, &new, None, Some(&old)).unwrap())
    };
    assert_eq!(read_after(HEADER, [&results, &results]), "a 0.125 1, b 0 1");
    assert_eq!(read_after(&other_header, [&results, &results]), "a 1 - 1, b 0 - 1");
    assert_eq!(read_after(HEADER, [&damaged, &damaged]), "a 1 1, b 0 1");
    let edited = results.replace("\"b\"", "\"c\"");
    assert_eq!(read_after(HEADER, [&results, &edited]), "a 1 1, c 0 1");
}

fn with_rationales(system: &MemorySystem, saves: [Option<SaveAt>; 2]) -> Diff {
    let [before, now] = saves.map(|save| read(system, save).unwrap().side);
    let mut diff = compare(&before, &now, None, &DiffLabels::default());
    let past = past(system);
    add_rationales(system, &past, &before.name, &mut diff.moved, |moved| &mut moved.before);
    add_rationales(system, &past, &now.name, &mut diff.moved, |moved| &mut moved.now);
    diff
}

#[test]
fn a_save_has_the_words_of_verdicts_that_stand_until_the_end() {
    let system = session();
    let words = |saves| {
        let diff = with_rationales(&system, saves);
        let shown = diff.moved.iter().map(|moved| {
            let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            let old = text(&moved.before.rationale);
            let new = text(&moved.now.rationale);
            format!("{}: {old} → {new}", moved.case.sample_id)
        });
        shown.collect::<Vec<_>>()
    };
    let save = |number| Some(SaveAt::Number(number));
    assert_eq!(words([save(0), save(1)]), ["a: - → said 0.5"]);
    assert_eq!(words([save(1), save(2)]), ["b: - → said 0.25"]);
    assert_eq!(words([save(1), None]), ["b: - → said 0.25"]);
}
