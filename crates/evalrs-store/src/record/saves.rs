//! The history of a `watch` session: `saves.jsonl` beside the files of its run, a line for each evaluation.
//!
//! The first line holds every verdict, each later one those that are others than before, so that the verdicts of
//! every evaluation can be made again and a session of a thousand saves stays small. The file only grows. What a crash
//! or a full disk leaves of a line is no line: readers pass it over, and say so where something is lost by it.

use std::collections::HashMap;
use std::io::Write;

use serde::{Deserialize, Serialize};

use super::lines::{RecordLine, each_line};
use evalrs_base::file_path::join;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::text::count;
use evalrs_metrics::diff::SideRubric;
use evalrs_metrics::gate::GateReport;
use evalrs_metrics::metric::declared::MetricValue;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_model::delta::MovementCounts;
use evalrs_model::outcome::Usage;
use evalrs_model::record_format::FORMAT;
use evalrs_system::{FileBytes, System};

/// The name of the file.
pub const FILE: &str = "saves.jsonl";

/// The bytes a line may take: that of the first evaluation holds a verdict for every case and grader.
const MAX_LINE: usize = 1 << 30;

/// This many bytes of a line are written at once.
const PIECE: usize = 4 << 20;

/// One evaluation of a session: a line of `saves.jsonl`. `V` is a list of [`SavedVerdict`]: the first has one for every case
/// and grader, so that it may be made while it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SaveRecord<V = Vec<SavedVerdict>> {
    /// [`FORMAT`].
    pub format: u32,
    /// The number of the evaluation, from 0.
    pub save: u32,
    /// When it ended, RFC 3339.
    #[serde(default)]
    pub at: String,
    /// The files whose change led to it, as the user named them.
    #[serde(default)]
    pub files: Vec<String>,
    /// Rubric grader → blake3 digest of its rubric's text, in hexadecimal.
    #[serde(default)]
    pub rubrics: OrderedMap<String>,
    /// Rubric grader → its rubric's text, of those that are others than in the evaluation before; in the first one, all.
    /// Records of earlier versions have none.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub rubric_texts: OrderedMap<String>,
    /// Whether every grade is known.
    #[serde(default)]
    pub complete: bool,
    /// Grader → its aggregates, in the order of the suite.
    #[serde(default)]
    pub metrics: OrderedMap<SavedMetric>,
    /// Metric that the suite declares → its result.
    #[serde(default, skip_serializing_if = "OrderedMap::is_empty")]
    pub declared: OrderedMap<MetricValue>,
    /// The status of the gate.
    #[serde(default)]
    pub gate: GateReport,
    /// How many verdicts moved since the evaluation before.
    #[serde(default)]
    pub counts: MovementCounts,
    /// Judgments sent to a judge.
    #[serde(default)]
    pub asked: u64,
    /// Judgments found in the store.
    #[serde(default)]
    pub cached: u64,
    /// Judgments whose retry failed.
    #[serde(default)]
    pub failed: u64,
    /// What was spent on it.
    #[serde(default)]
    pub spent: Usage,
    /// The verdicts that are others than in the evaluation before; in the first one, all.
    #[serde(default)]
    pub verdicts: V,
}

/// One grader's aggregates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SavedMetric {
    /// Mean score over `judged` (0.0..=1.0); null if there is none.
    pub mean: Option<f64>,
    /// Share of passes among `judged` (0.0..=1.0).
    pub pass_rate: Option<f64>,
    /// Grades that are verdicts.
    pub judged: usize,
    /// Grades that are errors.
    pub errors: usize,
    /// All grades, those that are not known included.
    pub total: usize,
    /// How far it agrees with the human labels; only where rows have some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<LabelAgreement>,
}

/// What became of one verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedVerdict {
    /// The sample.
    pub sample_id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    #[serde(default)]
    pub trial: u32,
    /// The grader.
    pub grader: String,
    /// The grade in the evaluation before; null if there was none, or it was not known.
    pub before: Option<SavedGrade>,
    /// The grade in this one; null if there is none, or it is not known.
    pub now: Option<SavedGrade>,
}

/// A grade, without its words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedGrade {
    /// 0.0..=1.0.
    pub score: f64,
    /// Whether it counts as a pass.
    pub pass: bool,
    /// Whether it could not be made.
    #[serde(default)]
    pub error: bool,
    /// The action key of its first judgment; null if no judge was called.
    pub key: Option<String>,
}

/// Writes the history of a session.
#[derive(Clone, Debug)]
pub struct SaveLog {
    path: String,
    /// What could not be written yet: every line is made of differences to the one before, so none may be missing.
    unwritten: Vec<u8>,
}

impl SaveLog {
    /// The history in the record `folder`; nothing is written yet.
    pub fn new(folder: &str) -> Self {
        Self { path: join(folder, FILE), unwritten: Vec::new() }
    }

    /// Adds an evaluation, on disk when this returns. After an error the session may go on: the next call writes what
    /// is missing first.
    pub fn append<V: Serialize>(
        &mut self,
        system: &dyn System,
        record: &SaveRecord<V>,
    ) -> std::io::Result<()> {
        if self.unwritten.is_empty() {
            let mut pieces = Pieces { system, path: &self.path, held: Vec::new() };
            let Err(error) = write_line(&mut pieces, record) else { return Ok(()) };
            // A part of it may be there, and the next line must not continue it.
            self.unwritten.push(b'\n');
            write_line(&mut self.unwritten, record)?;
            return Err(error);
        }
        write_line(&mut self.unwritten, record)?;
        system.append(&self.path, &self.unwritten)?;
        self.unwritten = Vec::new();
        Ok(())
    }
}

fn write_line<V: Serialize>(writer: &mut dyn Write, record: &SaveRecord<V>) -> std::io::Result<()> {
    serde_json::to_writer(&mut *writer, record)?;
    writer.write_all(b"\n")?;
    writer.flush()
}

/// Appends to a file what it is given, piece by piece: the first line has a verdict for every case and grader.
struct Pieces<'a> {
    system: &'a dyn System,
    path: &'a str,
    held: Vec<u8>,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.system.append(self.path, &self.held)?;
        self.held.clear();
        Ok(())
    }
}

/// What a history holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saves {
    /// Its evaluations, by their numbers.
    pub records: Vec<SaveRecord>,
    /// What is missing or cannot be read, a sentence each.
    pub warnings: Vec<String>,
}

/// Reads the history in the record `folder`; it is empty where there is none, as in records of `run`.
pub fn read_saves(system: &dyn System, folder: &str) -> Saves {
    let path = join(folder, FILE);
    let mut reading = SaveReader::default();
    let read = system
        .open(&path)
        .and_then(|mut file| each_line(&mut *file, MAX_LINE, &mut |line| reading.add(line)));
    if let Err(error) = read
        && system.read(&path) != FileBytes::Missing
    {
        reading.saves.warnings.push(format!("cannot read the history of the session: {error}"));
    }
    reading.finish()
}

#[derive(Debug, Default)]
struct SaveReader {
    saves: Saves,
    broken: usize,
}

impl SaveReader {
    fn add(&mut self, line: RecordLine<'_>) {
        let record = match line {
            RecordLine::Whole(bytes) => serde_json::from_slice::<SaveRecord>(bytes).ok(),
            RecordLine::TooLong => None,
            // It was being written when the session ended.
            RecordLine::Torn(_) => return,
        };
        let next = self.saves.records.last().map_or(0, |last| last.save.saturating_add(1));
        match record.filter(|record| record.format == FORMAT) {
            // It was written again after an error, though it had come through.
            Some(record) if record.save < next => {}
            Some(record) => {
                if record.save > next {
                    let last = record.save - 1;
                    let which = if last == next {
                        format!("save {next} of the session is")
                    } else {
                        format!("saves {next} to {last} of the session are")
                    };
                    self.saves.warnings.push(format!(
                        "{which} missing or cannot be read: its moves are not known"
                    ));
                }
                self.broken = 0;
                self.saves.records.push(record);
            }
            None => self.broken += 1,
        }
    }

    fn finish(mut self) -> Saves {
        if self.broken > 0 {
            self.saves.warnings.push(format!(
                "the last saves of the session cannot be read: {}",
                count(self.broken, "broken line")
            ));
        }
        self.saves
    }
}

/// A verdict as it stood after a save.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VerdictAt<'a> {
    /// Whose it is: the line that brought the case and the grader into the session.
    pub verdict: &'a SavedVerdict,
    pub grade: &'a SavedGrade,
}

/// The verdicts as they stood after the evaluation `save`, in the order in which they first came; none if the
/// history has no such evaluation.
pub(crate) fn at_save(records: &[SaveRecord], save: u32) -> Option<Vec<VerdictAt<'_>>> {
    let last = records.iter().position(|record| record.save == save)?;
    let mut places = HashMap::new();
    let mut standing: Vec<(&SavedVerdict, Option<&SavedGrade>)> = Vec::new();
    for verdict in records[..=last].iter().flat_map(|record| &record.verdicts) {
        let model = verdict.model.as_deref();
        let name = (verdict.sample_id.as_str(), model, verdict.trial, verdict.grader.as_str());
        let place = *places.entry(name).or_insert(standing.len());
        match standing.get_mut(place) {
            Some(known) => known.1 = verdict.now.as_ref(),
            None => standing.push((verdict, verdict.now.as_ref())),
        }
    }
    let known = standing.into_iter();
    Some(known.filter_map(|(verdict, grade)| Some(VerdictAt { verdict, grade: grade? })).collect())
}

/// The rubrics of the evaluation `save`, each with its text where the history holds it.
pub(crate) fn rubrics_at(records: &[SaveRecord], save: u32) -> Vec<SideRubric> {
    let Some(last) = records.iter().position(|record| record.save == save) else {
        return Vec::new();
    };
    let rubric = |(grader, digest): &(String, String)| {
        let texts = records[..=last].iter().rev().flat_map(|record| &record.rubric_texts.0);
        let mut own = texts.filter(|(name, _)| name == grader);
        // One whose line is lost is not the one before.
        let text =
            own.next().filter(|(_, text)| blake3::hash(text.as_bytes()).to_hex()[..] == **digest);
        SideRubric {
            grader: grader.clone(),
            digest: digest.clone(),
            text: text.map(|(_, text)| text.clone()),
        }
    };
    records[last].rubrics.0.iter().map(rubric).collect()
}

#[cfg(test)]
mod tests;
