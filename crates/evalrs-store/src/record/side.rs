//! Reads one side of a comparison from a record: a run as it ended, or a save of a `watch` session.
//!
//! A record of a hundred thousand results is read a line at a time, and of each only what is compared is kept. What
//! cannot be read is passed over and counted.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::io::BufRead;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::damage::all_damage_of;
use super::parts::{ResultsPart, between};
use super::read::{PastHeader, PastRun, read_json};
use super::reference::SaveAt;
use super::replicates;
use super::result_files::{FileDigests, KnownDigest, open_results};
use super::sample_lines::{id_in, written_id};
use super::saves::{SaveRecord, Saves, at_save, read_saves, rubrics_at};
use super::side_cases::{CaseResults, FileCases, KnownCases};
use evalrs_base::file_path::join;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::count;
use evalrs_metrics::diff::{
    CaseName, DiffSide, MovedGrade, SideGrade, SideName, SideRubric, VerdictMove,
};
use evalrs_metrics::gate::GateReport;
use evalrs_model::key::ActionKey;
use evalrs_system::System;

/// A side, and what could not be read of it, a sentence each.
#[derive(Debug)]
pub struct ReadSide {
    /// The side.
    pub side: DiffSide,
    /// The sentences.
    pub warnings: Vec<String>,
    /// The files that its cases are from, of a run.
    files: Vec<FileCases>,
    /// The digests of its files.
    digests: Vec<KnownDigest>,
}

impl ReadSide {
    fn known(&self) -> KnownCases<'_> {
        let DiffSide { graders, cases, .. } = &self.side;
        KnownCases { graders, cases, files: &self.files }
    }
}

/// Why a record has no such side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideError {
    /// It has neither results nor saves.
    WithoutResults,
    /// It is not a record of a session.
    NotASession,
    /// The session has no such save; these are the numbers of those it has.
    UnknownSave(Vec<u32>),
}

/// Reads the results of a run, or the verdicts of a save.
///
/// A session that did not end has no results: its last save stands for them. What `other` has of the same files is not read
/// again.
pub fn read_side(
    system: &dyn System,
    past: &PastRun,
    save: Option<SaveAt>,
    other: Option<&ReadSide>,
) -> Result<ReadSide, SideError> {
    let has_results = open_results(system, &past.folder).is_ok();
    if save.is_none() && has_results {
        return Ok(read_run(system, past, other));
    }
    let saves = read_saves(system, &past.folder);
    let record = match save {
        None | Some(SaveAt::FromEnd(1)) => saves.records.last(),
        Some(SaveAt::Number(save)) => saves.records.iter().find(|record| record.save == save),
        Some(SaveAt::FromEnd(back)) => {
            let at = saves.records.len().checked_sub(back as usize);
            at.and_then(|at| saves.records.get(at))
        }
    };
    match record {
        Some(record) => Ok(read_save(past, &saves, record, has_results)),
        None if save.is_none() => Err(SideError::WithoutResults),
        None if saves.records.is_empty() => Err(SideError::NotASession),
        None => {
            let numbers = saves.records.iter().map(|record| record.save);
            Err(SideError::UnknownSave(numbers.collect()))
        }
    }
}

/// Both sides of a comparison without the lines of results that are in both, and are equal.
#[derive(Debug)]
pub struct ChangedSides {
    /// The first and the second.
    pub sides: [DiffSide; 2],
    /// The places of the second's cases among all of its results.
    pub places: HashMap<CaseName, usize>,
}

/// What two results have in common, byte for byte.
#[derive(Clone, Debug, Default)]
pub struct CommonParts {
    /// The parts of the first that are in the second, too, in their order.
    pub old: Vec<ResultsPart>,
    /// All parts of the second, in their order, and whether they are in the first.
    pub new: Vec<(ResultsPart, bool)>,
}

impl CommonParts {
    /// The numbers of the lines of the second that are not in the first.
    fn new_lines(&self) -> Vec<usize> {
        let mut next = 0;
        let parts = self.new.iter().flat_map(|(part, is_common)| {
            let lines = next..next + part.lines;
            next += part.lines;
            if *is_common { 0..0 } else { lines }
        });
        parts.collect()
    }
}

/// Reads both sides where it is known what they have in `common`: only the rest is read. None where one of them has no
/// results.
pub fn read_other_parts(
    system: &dyn System,
    pasts: [&PastRun; 2],
    common: CommonParts,
) -> Option<ChangedSides> {
    let lines = common.new_lines();
    let new_parts = common.new.into_iter().filter(|(_, is_common)| *is_common);
    let new_parts = new_parts.map(|(part, _)| part).collect();
    let open = |past: &PastRun| open_results(system, &past.folder).ok();
    let mut old = between(open(pasts[0])?, common.old);
    let mut new = between(open(pasts[1])?, new_parts);
    let read = |past: &PastRun, file: &mut dyn BufRead| {
        let mut cases = CaseResults::of(past);
        cases.read_lines(file, &|_| true);
        side_of(past, cases)
    };
    let (old, _) = read(pasts[0], &mut old);
    let (new, is_whole) = read(pasts[1], &mut new);
    let names = new.cases.iter().map(|case| case.name.clone());
    let places = if is_whole { names.zip(lines).collect() } else { HashMap::new() };
    Some(ChangedSides { sides: [old, new], places })
}

/// Reads them: of a run in which little changed little is read closely. None where one of them has no results.
pub fn read_changed_sides(system: &dyn System, pasts: [&PastRun; 2]) -> Option<ChangedSides> {
    let has_results = |past: &PastRun| open_results(system, &past.folder).is_ok();
    if !pasts.into_iter().all(has_results) {
        return None;
    }
    let [before, now] = pasts.map(|past| line_digests(system, past));
    let side = |past: &PastRun, other: &HashSet<u64>| {
        let next = Cell::new(0);
        let changed = RefCell::new(Vec::new());
        let is_wanted = |line: &[u8]| {
            let at = next.replace(next.get() + 1);
            let is_changed = !other.contains(&digest_of(line));
            changed.borrow_mut().extend(is_changed.then_some(at));
            is_changed
        };
        let mut cases = CaseResults::of(past);
        if let Ok(mut file) = open_results(system, &past.folder) {
            cases.read_lines(&mut file, &is_wanted);
        }
        let (side, is_whole) = side_of(past, cases);
        (side, if is_whole { changed.into_inner() } else { Vec::new() })
    };
    let (old, _) = side(pasts[0], &now);
    let (new, lines) = side(pasts[1], &before);
    let places = new.cases.iter().map(|case| case.name.clone()).zip(lines).collect();
    Some(ChangedSides { sides: [old, new], places })
}

/// A side, and whether its cases are its lines: where one could not be read, nobody knows which case is whose.
fn side_of(past: &PastRun, found: CaseResults) -> (DiffSide, bool) {
    let is_whole = found.broken + found.again == 0;
    let CaseResults { graders, read: cases, .. } = found;
    (DiffSide { name: name_of(past), graders, cases, ..DiffSide::default() }, is_whole)
}

/// The digests of the lines of a run's results.
fn line_digests(system: &dyn System, past: &PastRun) -> HashSet<u64> {
    let found = RefCell::new(HashSet::new());
    let note = |line: &[u8]| {
        found.borrow_mut().insert(digest_of(line));
        false
    };
    past.each_line_that(system, &note, &mut |_| ());
    found.into_inner()
}

fn read_run(system: &dyn System, past: &PastRun, other: Option<&ReadSide>) -> ReadSide {
    let mut cases = CaseResults::of(past);
    let files = cases.read_files(past, system, other.map(ReadSide::known));
    let facts: RunSummary = read_json(system, &join(&past.folder, "run.json")).unwrap_or_default();
    let summary: GateOf =
        read_json(system, &join(&past.folder, "summary.json")).unwrap_or_default();
    let mut pending = facts.actions.values().filter_map(|tally| tally.get("pending")?.as_u64());
    let side = DiffSide {
        name: SideName {
            at: facts.started.clone(),
            results: cases.read.len(),
            complete: !facts.interrupted && pending.all(|count| count == 0),
            writers: facts.writers.clone(),
            ..name_of(past)
        },
        settings: Some(past.header.settings.clone()),
        inputs: Some(past.header.inputs.clone()),
        rubrics: rubrics_of(&past.header),
        gate: summary.gate,
        declared: replicates::declared(system, &past.folder),
        graders: cases.graders,
        cases: cases.read,
    };
    let warning = |n: usize, what: &str| {
        (n > 0).then(|| format!("{}: {} of results.jsonl {what}", past.id, count(n, "line")))
    };
    let lines = [
        warning(cases.broken, "cannot be read"),
        warning(cases.again, "skipped: duplicate results"),
    ];
    let known = other.map_or(&[][..], |other| &other.digests);
    let digests = FileDigests::with(system, known);
    let mut warnings = all_damage_of(system, past, &digests);
    warnings.extend(lines.into_iter().flatten());
    ReadSide { side, warnings, files, digests: digests.all() }
}

fn read_save(past: &PastRun, saves: &Saves, record: &SaveRecord, has_results: bool) -> ReadSide {
    let graders = record.metrics.0.iter().map(|(name, _)| name.clone()).collect();
    let mut cases = CaseResults::new(graders);
    for standing in at_save(&saves.records, record.save).unwrap_or_default() {
        let verdict = standing.verdict;
        let name = CaseName {
            sample_id: verdict.sample_id.clone(),
            model: verdict.model.clone(),
            trial: verdict.trial,
        };
        let grade = SideGrade {
            score: standing.grade.score,
            pass: standing.grade.pass,
            error: standing.grade.error,
            applies: true,
            key: standing.grade.key.as_deref().and_then(ActionKey::parse),
            answer: None,
        };
        cases.add(&name, &verdict.grader, grade);
    }
    // The header is that of the last evaluation, written when the session ended.
    let is_last = saves.records.last().is_some_and(|last| last.save == record.save);
    let header = (is_last && has_results).then_some(&past.header);
    let side = DiffSide {
        name: SideName {
            save: Some(record.save),
            at: Some(record.at.clone()).filter(|at| !at.is_empty()),
            files: record.files.clone(),
            results: cases.read.len(),
            complete: record.complete,
            ..name_of(past)
        },
        settings: header.map(|header| header.settings.clone()),
        inputs: header.map(|header| header.inputs.clone()),
        rubrics: rubrics_at(&saves.records, record.save),
        gate: record.gate.clone(),
        declared: record.declared.clone(),
        graders: cases.graders,
        cases: cases.read,
    };
    let warnings = saves.warnings.iter().map(|warning| format!("{}: {warning}", past.id));
    ReadSide { side, warnings: warnings.collect(), files: Vec::new(), digests: Vec::new() }
}

/// Fills in the rationales of one side of the verdicts that moved, as far as the results of its record are theirs: those
/// of a run, and of a save those with the key that the save had.
pub fn add_rationales(
    system: &dyn System,
    past: &PastRun,
    name: &SideName,
    moved: &mut [VerdictMove],
    side: fn(&mut VerdictMove) -> &mut MovedGrade,
) {
    let mut wanted: HashMap<CaseName, Vec<usize>> = HashMap::new();
    for (at, moved) in moved.iter().enumerate() {
        wanted.entry(moved.case.clone()).or_default().push(at);
    }
    let ids: HashSet<String> = wanted.keys().map(|case| written_id(&case.sample_id)).collect();
    let is_wanted = |line: &[u8]| id_in(line).is_none_or(|id| ids.contains(id));
    past.each_line_that(system, &is_wanted, &mut |line| {
        let mut grades = line.grades;
        // Cases of one model alone are named without it.
        let model = match (&name.model, line.model) {
            (Some(wanted), Some(model)) if *wanted == model => None,
            (Some(_), _) => return,
            (None, model) => model,
        };
        let case = CaseName { sample_id: line.sample_id, model, trial: line.trial };
        for at in wanted.remove(&case).unwrap_or_default() {
            let Some(moved) = moved.get_mut(at) else { continue };
            let Some(grade) = grades.remove(&moved.grader) else { continue };
            let own = side(moved);
            if name.save.is_none() || (own.key.is_some() && grade.key == own.key) {
                own.rationale = grade.rationale;
            }
        }
    });
}

fn name_of(past: &PastRun) -> SideName {
    SideName {
        suite: past.header.suite.clone(),
        run: past.id.clone(),
        evalrs: past.header.evalrs.clone(),
        ..SideName::default()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RunSummary {
    started: Option<String>,
    interrupted: bool,
    actions: Map<String, Value>,
    writers: OrderedMap<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GateOf {
    gate: GateReport,
}

fn rubrics_of(header: &PastHeader) -> Vec<SideRubric> {
    let rubrics = header.graders().filter_map(|(name, settings)| {
        let text = settings.get("prompt")?.as_str()?;
        let digest = blake3::hash(text.as_bytes()).to_string();
        Some(SideRubric { grader: name.to_owned(), digest, text: Some(text.to_owned()) })
    });
    rubrics.collect()
}

/// Enough of a digest to tell the lines of two files apart.
fn digest_of(text: &[u8]) -> u64 {
    let digest = blake3::hash(text);
    digest.as_bytes().iter().take(8).fold(0, |all, byte| (all << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests;
