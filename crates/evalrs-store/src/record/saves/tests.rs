//! Histories of sessions: what is written, read back, and lost.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;

use super::{
    OrderedMap, SaveLog, SaveRecord, SavedGrade, SavedMetric, SavedVerdict, at_save, read_saves,
    rubrics_at,
};
use evalrs_base::price::Cost;
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_model::delta::MovementCounts;
use evalrs_model::outcome::Usage;
use evalrs_model::record_format::FORMAT;
use evalrs_model::spec::Op;
use evalrs_system::memory::MemorySystem;
use evalrs_system::{Contents, FileBytes, System};

fn grade(score: f64) -> SavedGrade {
    SavedGrade { score, pass: score >= 0.5, error: false, key: Some(format!("key {score}")) }
}

/// `a 0.5`: the sample and its score; without a score, the case went away.
fn verdict(text: &str) -> SavedVerdict {
    let (sample, score) = text.split_once(' ').unwrap_or((text, ""));
    SavedVerdict {
        sample_id: sample.to_owned(),
        model: None,
        trial: 0,
        grader: "quality".to_owned(),
        before: None,
        now: score.parse().ok().map(grade),
    }
}

fn record(save: u32, verdicts: &[&str]) -> SaveRecord {
    SaveRecord {
        format: FORMAT,
        save,
        at: "2026-01-01T00:00:00Z".to_owned(),
        complete: true,
        verdicts: verdicts.iter().map(|text| verdict(text)).collect(),
        ..SaveRecord::default()
    }
}

fn session() -> Vec<SaveRecord> {
    vec![
        record(0, &["a 0.5", "b 0.25", "c 1"]),
        record(1, &["b 0.75", "d 0"]),
        record(2, &["a", "b 0.5"]),
        record(3, &["a 1"]),
    ]
}

fn shown(records: &[SaveRecord], save: u32) -> String {
    let standing = at_save(records, save).unwrap();
    let texts = standing
        .iter()
        .map(|standing| format!("{} {}", standing.verdict.sample_id, standing.grade.score));
    texts.collect::<Vec<_>>().join(", ")
}

#[test]
fn every_evaluation_can_be_made_again() {
    let records = session();
    assert_eq!(shown(&records, 0), "a 0.5, b 0.25, c 1");
    assert_eq!(shown(&records, 1), "a 0.5, b 0.75, c 1, d 0");
    assert_eq!(shown(&records, 2), "b 0.5, c 1, d 0");
    assert_eq!(shown(&records, 3), "a 1, b 0.5, c 1, d 0");
    assert_eq!((at_save(&records, 4), at_save(&[], 0)), (None, None));
}

#[test]
fn rubrics_have_the_text_of_the_line_that_brought_them() {
    let saved = |save: u32, rubrics: &[&str], texts: &[&str]| SaveRecord {
        rubrics: OrderedMap(
            rubrics
                .iter()
                .map(|text| ("q".to_owned(), blake3::hash(text.as_bytes()).to_hex().to_string()))
                .collect(),
        ),
        rubric_texts: OrderedMap(
            texts.iter().map(|text| ("q".to_owned(), (*text).to_owned())).collect(),
        ),
        ..record(save, &[])
    };
    let records = [
        saved(0, &["kind?"], &["kind?"]),
        saved(1, &["kind?"], &[]),
        saved(2, &["strict?"], &["strict?"]),
        // The line that had it is lost.
        saved(4, &["lost?"], &[]),
        saved(5, &[], &[]),
    ];
    for (save, expected) in [
        (0, Some(Some("kind?"))),
        (1, Some(Some("kind?"))),
        (2, Some(Some("strict?"))),
        (4, Some(None)),
        (5, None),
        (9, None),
    ] {
        let rubrics = rubrics_at(&records, save);
        let text = rubrics.first().map(|rubric| rubric.text.as_deref());
        assert_eq!(text, expected, "save {save}");
    }
}

#[test]
fn what_is_written_is_read() {
    let mut full = record(0, &["a 0.5", "b"]);
    full.files = vec!["rubric.txt".to_owned()];
    full.rubrics = OrderedMap(vec![("quality".to_owned(), "abc".to_owned())]);
    full.metrics = OrderedMap(vec![(
        "quality".to_owned(),
        SavedMetric {
            mean: Some(0.5),
            judged: 1,
            total: 2,
            labels: Some(LabelAgreement {
                n: 1,
                kappa_interval: Some((0.0, 0.5)),
                ..LabelAgreement::default()
            }),
            ..SavedMetric::default()
        },
    )]);
    full.gate = GateReport {
        status: Some(GateStatus::Undecided),
        value: Some(0.5),
        op: Some(Op::Gte),
        conditions: vec![GateReport::default()],
        ..GateReport::default()
    };
    full.counts = MovementCounts { broken: 2, ..MovementCounts::default() };
    full.spent = Usage { cost: Cost::from_dollars(0.25), ..Usage::of_tokens(7, 1) };
    let system = MemorySystem::default();
    let mut log = SaveLog::new("h/runs/1");
    let records = [full, record(1, &[])];
    for record in &records {
        log.append(&system, record).unwrap();
    }
    let saves = read_saves(&system, "h/runs/1");
    assert_eq!((saves.records.as_slice(), saves.warnings.len()), (&records[..], 0));
    let text = system.text("h/runs/1/saves.jsonl").unwrap();
    insta::assert_snapshot!(text.lines().next().unwrap(), @r#"{"format":1,"save":0,"at":"2026-01-01T00:00:00Z","files":["rubric.txt"],"rubrics":{"quality":"abc"},"complete":true,"metrics":{"quality":{"mean":0.5,"pass_rate":null,"judged":1,"errors":0,"total":2,"labels":{"n":1,"without_verdict":0,"stale":0,"both_pass":0,"false_pass":0,"false_fail":0,"both_fail":0,"accuracy":null,"kappa":null,"kappa_interval":[0.0,0.5],"mean_distance":null}}},"gate":{"status":"undecided","value":0.5,"op":"gte","threshold":null,"lowest":null,"highest":null,"rule":null,"conditions":[{"status":null,"value":null,"op":null,"threshold":null,"lowest":null,"highest":null,"rule":null}]},"counts":{"broken":2,"errored":0,"fixed":0,"answered":0,"lowered":0,"raised":0,"new":0,"unchanged":0,"pending":0},"asked":0,"cached":0,"failed":0,"spent":{"input":7,"output":1,"cost":0.25},"verdicts":[{"sample_id":"a","model":null,"trial":0,"grader":"quality","before":null,"now":{"score":0.5,"pass":true,"error":false,"key":"key 0.5"}},{"sample_id":"b","model":null,"trial":0,"grader":"quality","before":null,"now":null}]}"#);
    assert_eq!(read_saves(&system, "h/runs/2"), super::Saves::default());
}

#[test]
fn damage_is_passed_over_and_said_where_something_is_lost() {
    let line = |save: u32| serde_json::to_string(&record(save, &["a 0.5"])).unwrap();
    let [zero, one, two, three, four] = [0, 1, 2, 3, 4].map(line);
    let foreign = r#"{"format":2,"save":1}"#.to_owned();
    let torn = zero[..40].to_owned();
    let missing =
        |which: &str| format!("{which} missing or cannot be read: its moves are not known");
    let last = "the last saves of the session cannot be read: 1 broken line".to_owned();
    let check = |lines: &[&String], end: &str, expected: &[u32], warnings: &[String]| {
        let lines: Vec<&str> = lines.iter().map(|line| line.as_str()).collect();
        let system = MemorySystem::default();
        system.set("f/saves.jsonl", lines.join("\n") + end);
        let saves = read_saves(&system, "f");
        let numbers: Vec<u32> = saves.records.iter().map(|record| record.save).collect();
        assert_eq!((numbers.as_slice(), saves.warnings.as_slice()), (expected, warnings));
    };
    check(&[&zero, &one], "\n", &[0, 1], &[]);
    check(&[&zero, &torn], "", &[0], &[]);
    check(&[&zero, &torn, &one], "\n", &[0, 1], &[]);
    check(&[&zero, &one, &zero, &one, &two], "\n", &[0, 1, 2], &[]);
    check(&[&zero, &foreign, &two], "\n", &[0, 2], &[missing("save 1 of the session is")]);
    check(&[&four], "\n", &[4], &[missing("saves 0 to 3 of the session are")]);
    check(&[&zero, &three], "\n", &[0, 3], &[missing("saves 1 to 2 of the session are")]);
    check(&[&zero, &torn], "\n", &[0], &[last]);
    let system = MemorySystem::default();
    system.set_fault("f/saves.jsonl", FileBytes::Unreadable("no".to_owned()));
    let warning = "cannot read the history of the session: no".to_owned();
    assert_eq!(read_saves(&system, "f").warnings, [warning]);
}

/// A disk that takes only so many bytes, then fails once.
struct Full(MemorySystem, RefCell<Option<usize>>);

impl System for Full {
    fn make_folder(&self, path: &str) -> std::io::Result<()> {
        self.0.make_folder(path)
    }

    fn remove_folder(&self, path: &str) -> std::io::Result<()> {
        self.0.remove_folder(path)
    }

    fn read(&self, path: &str) -> FileBytes {
        self.0.read(path)
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn io::BufRead>> {
        self.0.open(path)
    }

    fn list(&self, folder: &str) -> Option<Vec<String>> {
        self.0.list(folder)
    }

    fn write(&self, path: &str, contents: Contents<'_>) -> io::Result<()> {
        self.0.write(path, contents)
    }

    fn create(&self, path: &str) -> io::Result<Box<dyn io::Write>> {
        self.0.create(path)
    }

    fn make_executable(&self, path: &str) -> io::Result<()> {
        self.0.make_executable(path)
    }

    fn stdin(&self) -> io::Result<Vec<u8>> {
        self.0.stdin()
    }

    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let Some(most) = self.1.take() else { return self.0.append(path, bytes) };
        self.0.append(path, &bytes[..most.min(bytes.len())])?;
        Err(io::Error::other("the disk is full"))
    }

    fn environment(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn absolute(&self, path: &str) -> String {
        self.0.absolute(path)
    }

    fn find_program(&self, name: &str) -> Option<String> {
        self.0.find_program(name)
    }

    fn version_of(
        &self,
        path: &str,
        cwd: &str,
        environment: &BTreeMap<String, String>,
    ) -> Option<String> {
        self.0.version_of(path, cwd, environment)
    }

    fn now(&self) -> jiff::Timestamp {
        self.0.now()
    }

    fn elapsed(&self) -> std::time::Duration {
        self.0.elapsed()
    }
}

#[test]
fn a_line_that_is_written_in_pieces_is_one_line() {
    let long = "x".repeat(super::PIECE / 3);
    let verdicts: Vec<String> = (0..10).map(|at| format!("{long}{at} 0.5")).collect();
    let verdicts: Vec<&str> = verdicts.iter().map(String::as_str).collect();
    for fails_at in [None, Some(0), Some(super::PIECE)] {
        let system = Full(MemorySystem::default(), fails_at.into());
        let mut log = SaveLog::new("f");
        let records = vec![record(0, &verdicts), record(1, &["a 0"])];
        let errors = records.iter().filter(|record| log.append(&system, record).is_err());
        assert_eq!(errors.count(), usize::from(fails_at.is_some()));
        let saves = read_saves(&system, "f");
        assert!(saves.records == records && saves.warnings.is_empty(), "{fails_at:?}");
    }
}

#[test]
fn a_disk_that_was_full_loses_nothing() {
    for most in [0, 1, 40, 10_000] {
        let system = Full(MemorySystem::default(), None.into());
        let mut log = SaveLog::new("f");
        for record in session() {
            let fails = record.save == 1;
            *system.1.borrow_mut() = fails.then_some(most);
            assert_eq!(log.append(&system, &record).is_err(), fails);
        }
        let saves = read_saves(&system, "f");
        assert_eq!((saves.records, saves.warnings), (session(), Vec::new()), "after {most}");
    }
}
