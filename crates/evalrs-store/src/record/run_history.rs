//! The history of a suite on disk, a line a run: `<suite>.history.jsonl` beside the committed judgments where a workspace keeps
//! one, else among the records of this machine.
//!
//! A line is added at the end in one write, so that processes at the same time lose none. Git merges such files line by
//! line, in any order: readers sort. What cannot be read is passed over, said, and left where it is.

use std::collections::BTreeSet;
use std::io;

use super::lines::{LineReader, RecordLine};
use super::read::{PastRun, open};
use super::runs_of;
use super::side::read_side;
use evalrs_base::file_path::join;
use evalrs_base::json_exact;
use evalrs_base::text::count;
use evalrs_metrics::diff::{Diff, DiffLabels, DiffSide, changes_in_words, compare};
use evalrs_metrics::gate::GateStatus;
use evalrs_metrics::history::slide::{PairedGrades, Slide, comparable, slide};
use evalrs_metrics::history::{ChangedPart, HISTORY_FORMAT, HistoryLine, HistoryRun, says_more};
use evalrs_system::System;

/// The bytes that a line may take.
const MAX_LINE: usize = 4 << 20;

/// The lines of a suite, by time, and how many of the file cannot be read.
#[derive(Debug, Default)]
pub struct RunHistory {
    /// The lines, the oldest first.
    pub lines: Vec<HistoryLine>,
    /// The files with lines that cannot be read, with the number of these.
    broken: Vec<(String, usize)>,
    /// The files whose last line has no end, so that another one cannot follow it.
    torn: Vec<String>,
}

impl RunHistory {
    /// Reads the lines of `suite` from files, of which some may not be there.
    pub fn read(system: &dyn System, files: &[String], suite: &str) -> Self {
        let mut history = Self::default();
        for path in files {
            history.add_file(system, path, suite);
        }
        history
            .lines
            .sort_by(|left, right| (&left.started, &left.id).cmp(&(&right.started, &right.id)));
        // Both sides of a merge may have it, and both files where somebody copied one.
        let mut known = BTreeSet::new();
        history.lines.retain(|line| known.insert(line.id.clone()));
        history
    }

    fn add_file(&mut self, system: &dyn System, path: &str, suite: &str) {
        let Ok(file) = system.open(path) else { return };
        let mut lines = LineReader::new(file, MAX_LINE);
        let mut broken = 0;
        let mut is_torn = false;
        loop {
            let line = match lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(_) => {
                    broken += 1;
                    break;
                }
            };
            is_torn = !matches!(line, RecordLine::Whole(_));
            let line = line.bytes().and_then(|bytes| json_exact::from_slice(bytes).ok());
            match line.filter(|line: &HistoryLine| line.format == HISTORY_FORMAT) {
                Some(line) if line.suite == suite => self.lines.push(line),
                Some(_) => {}
                None => broken += 1,
            }
        }
        if broken > 0 {
            self.broken.push((path.to_owned(), broken));
        }
        if is_torn {
            self.torn.push(path.to_owned());
        }
    }

    /// What could not be read, a sentence a file.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.broken.iter().map(|(path, broken)| {
            let lines = count(*broken, "line");
            format!("{lines} of `{path}` cannot be read and stay as they are")
        })
    }
}

/// Adds a run to the first of the files, unless it repeats the last one in any of them.
pub fn append(system: &dyn System, files: &[String], line: &HistoryLine) -> io::Result<()> {
    let Some(path) = files.first() else { return Ok(()) };
    let history = RunHistory::read(system, files, &line.suite);
    if history.lines.last().is_some_and(|last| !says_more(last, line)) {
        return Ok(());
    }
    let gap = if history.torn.contains(path) { "\n" } else { "" };
    let text = serde_json::to_string(line)?;
    system.append(path, format!("{gap}{text}\n").as_bytes())
}

/// Which graders slid by the last of `lines`, unless its gate says so already: compared sample by sample where the
/// records under `home` are there.
pub fn slides(system: &dyn System, home: &str, lines: &[HistoryLine]) -> Vec<Slide> {
    let still_stands = |line: &&HistoryLine| line.gate.status != Some(GateStatus::Failed);
    let Some(now) = lines.last().filter(still_stands) else { return Vec::new() };
    let mut read: Vec<(usize, Option<RecordPair>)> = Vec::new();
    let mut slides = Vec::new();
    for (grader, _) in &now.metrics.0 {
        let Some(at) = comparable(lines, grader) else { continue };
        if !read.iter().any(|(known, _)| *known == at) {
            read.push((at, RecordPair::read(system, home, [&lines[at].id, &now.id])));
        }
        let pair = read.iter().find_map(|(known, pair)| pair.as_ref().filter(|_| *known == at));
        let grades = pair.and_then(|pair| pair.grades(grader));
        slides.extend(slide(grader, &lines[at], now, grades.as_ref()));
    }
    slides
}

/// Says which settings of a grader changed, where the records under `home` are there: a line holds no more than a digest of them.
pub fn name_settings(
    system: &dyn System,
    home: &str,
    lines: &[HistoryLine],
    runs: &mut [HistoryRun],
) {
    for (at, run) in runs.iter_mut().enumerate() {
        for one in run.breaks.iter_mut().filter(|one| one.what == ChangedPart::Settings) {
            let Some(grader) = &one.grader else { continue };
            let mut earlier = lines[..at].iter().rev();
            let old = earlier.find(|line| line.digests.get(grader).is_some());
            let records = old.and_then(|old| record(system, home, &old.id));
            let Some((old, new)) = records.zip(record(system, home, &run.id)) else { continue };
            let words = changes_in_words(&old.header.settings, &new.header.settings, grader);
            if !words.is_empty() {
                one.text = format!("{} ({words})", one.text);
            }
        }
    }
}

/// The record of a run. An id is the name of a folder: a line that somebody wrote leads nowhere else.
fn record(system: &dyn System, home: &str, id: &str) -> Option<PastRun> {
    let is_name = !id.contains('/') && id != "..";
    is_name.then(|| open(system, &join(&runs_of(home), id), id))?
}

struct RecordPair {
    sides: [DiffSide; 2],
    diff: Diff,
}

impl RecordPair {
    fn read(system: &dyn System, home: &str, ids: [&String; 2]) -> Option<Self> {
        let before = read_side(system, &record(system, home, ids[0])?, None, None).ok()?;
        let now = read_side(system, &record(system, home, ids[1])?, None, Some(&before)).ok()?;
        let sides = [before.side, now.side];
        let diff = compare(&sides[0], &sides[1], None, &DiffLabels::default());
        Some(Self { sides, diff })
    }

    fn grades(&self, grader: &str) -> Option<PairedGrades> {
        let paired = self.diff.graders.get(grader)?.paired.clone();
        (paired.n > 0).then(|| PairedGrades {
            paired,
            is_binary: self.sides.iter().all(|side| is_binary(side, grader)),
        })
    }
}

/// Whether every score of a grader says no more than pass or fail.
fn is_binary(side: &DiffSide, grader: &str) -> bool {
    let Some(column) = side.graders.iter().position(|name| name == grader) else { return false };
    let grades = side.cases.iter().filter_map(|case| *case.grades.get(column)?);
    let mut verdicts = grades.filter(|grade| !grade.error);
    verdicts.all(|grade| grade.score.to_bits() == f64::from(u8::from(grade.pass)).to_bits())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{RunHistory, append, slides};
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_metrics::gate::GateReport;
    use evalrs_metrics::history::slide::SlideTest;
    use evalrs_metrics::history::{GraderDigests, HISTORY_FORMAT, HistoryLine, HistoryMetric};
    use evalrs_system::System;
    use evalrs_system::memory::MemorySystem;

    const PATH: &str = "cache/s.history.jsonl";
    const OTHER: &str = ".evalrs/s.history.jsonl";

    fn files() -> [String; 2] {
        [PATH, OTHER].map(str::to_owned)
    }

    fn line(id: &str, started: &str, mean: f64) -> HistoryLine {
        let metric = HistoryMetric {
            n: 4,
            mean: Some(mean),
            stderr: Some(0.01),
            ..HistoryMetric::default()
        };
        HistoryLine {
            format: HISTORY_FORMAT,
            id: id.to_owned(),
            suite: "s.yaml".to_owned(),
            started: started.to_owned(),
            metrics: OrderedMap(vec![("g".to_owned(), metric)]),
            declared: OrderedMap::default(),
            gate: GateReport::default(),
            digests: OrderedMap(vec![("g".to_owned(), GraderDigests::default())]),
            dataset: Some("d".to_owned()),
            target: None,
            cost: None,
        }
    }

    fn ids(system: &MemorySystem, suite: &str) -> (Vec<String>, usize) {
        let history = RunHistory::read(system, &files(), suite);
        let broken = history.broken.iter().map(|(_, broken)| broken).sum();
        (history.lines.into_iter().map(|line| line.id).collect(), broken)
    }

    #[test]
    fn runs_are_added_and_replays_are_not() {
        let system = MemorySystem::default();
        let third = 1.0 / 3.0;
        for (id, started, mean) in
            [("a", "1", 0.1), ("b", "2", third), ("c", "3", third), ("d", "4", 0.1)]
        {
            append(&system, &files(), &line(id, started, mean)).unwrap();
        }
        assert_eq!(ids(&system, "s.yaml").0, ["a", "b", "d"]);
        let other = HistoryLine { suite: "t.yaml".to_owned(), ..line("e", "5", 0.1) };
        append(&system, &files(), &other).unwrap();
        assert_eq!((ids(&system, "s.yaml").0.len(), ids(&system, "t.yaml").0.len()), (3, 1));
    }

    #[test]
    fn what_is_broken_stays_and_is_counted() {
        let system = MemorySystem::default();
        let text = |id: &str, started| serde_json::to_string(&line(id, started, 0.5)).unwrap();
        let old = text("z", "0").replace("\"format\":1", "\"format\":9");
        let held = format!(
            "{}\n<<<<<<< ours\n{}\n{}\n{old}\n{{\"format\": 1",
            text("b", "2"),
            text("a", "1"),
            text("a", "1")
        );
        system.set(PATH, &held);
        assert_eq!(ids(&system, "s.yaml"), (vec!["a".to_owned(), "b".to_owned()], 3));
        append(&system, &files(), &line("c", "3", 0.6)).unwrap();
        assert_eq!(ids(&system, "s.yaml").0, ["a", "b", "c"]);
        let bytes = system.read(PATH).into_bytes().unwrap();
        assert!(String::from_utf8(bytes).unwrap().starts_with(&held));
    }

    #[test]
    fn records_are_compared_sample_by_sample_while_they_are_there() {
        let system = MemorySystem::default();
        let header = r#"{"format": 1, "suite": "s", "settings": {"graders": [{"name": "g"}]}}"#;
        for (id, failing) in [("a", 0), ("b", 8)] {
            let mut results = Vec::new();
            for at in 0..20 {
                let pass = at >= failing;
                let grade = json!({"score": u8::from(pass), "pass": pass, "error": null});
                let line =
                    json!({"format": 1, "sample_id": at.to_string(), "grades": {"g": grade}});
                results.push(format!("{line}\n"));
            }
            system.set(&format!("h/runs/{id}/header.json"), header);
            system.set(&format!("h/runs/{id}/results.jsonl"), results.concat());
        }
        let lines = [line("a", "1", 1.0), line("b", "2", 0.6)];
        let found = slides(&system, "h", &lines);
        assert_eq!(
            (found[0].test, found[0].since.as_str(), found[0].now),
            (SlideTest::PairedPasses, "a", 0.6)
        );
        system.remove("h/runs/a/header.json");
        let found = slides(&system, "h", &lines);
        assert_eq!(found[0].test, SlideTest::TwoSample);
        let mut failed = lines.clone();
        failed[1].gate.status = Some(super::GateStatus::Failed);
        assert!(slides(&system, "h", &failed).is_empty());
        assert!(
            slides(&system, "h", &lines[..1]).is_empty() && slides(&system, "h", &[]).is_empty()
        );
    }
}
