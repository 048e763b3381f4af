//! Reads records of earlier runs, as far as a later one compares with them.
//!
//! Records are files anybody may have edited, cut short or written with another version: what is not known is left
//! alone, what is missing is not known, and what cannot be read is passed over. Nothing here fails.

use std::collections::{BTreeMap, BTreeSet};

use std::io::BufRead;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use super::file::{RESULTS, read_json};
use super::lines::{MAX_RESULT, each_line};
use super::result_files::open_results;
use super::run_names::is_trial;
use evalrs_base::file_path::join;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::record_format::{FORMAT, reads_line};
use evalrs_model::spec::grader_of;
use evalrs_system::System;

/// The kinds of errors of judgments that were neither cached nor made.
pub(super) const NOT_ASKED: [&str; 2] = ["not_stored", "not_asked"];

/// The settings of a run that narrow it down to a part of its suite.
pub const NARROWING: [&str; 5] = ["max_samples", "tags", "samples", "trials", "partition"];

/// The folder of the records under `home`.
pub fn runs_of(home: &str) -> String {
    join(home, "runs")
}

/// The record of an earlier run.
#[derive(Clone, Debug, PartialEq)]
pub struct PastRun {
    /// Its id: the name of its folder.
    pub id: String,
    /// Its folder.
    pub folder: String,
    /// What its `header.json` says.
    pub header: PastHeader,
}

/// What `header.json` of an earlier run says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct PastHeader {
    /// The version of the file.
    pub format: u32,
    /// The suite's name.
    pub suite: String,
    /// The version of evalrs.
    #[serde(default)]
    pub evalrs: String,
    /// File, relative to the suite's folder → digest of its bytes.
    #[serde(default)]
    pub inputs: Map<String, Value>,
    /// What decided the results.
    #[serde(default)]
    pub settings: Map<String, Value>,
}

impl PastHeader {
    /// The graders of the run: their names and settings.
    pub fn graders(&self) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
        let graders = self.settings.get("graders").and_then(Value::as_array).into_iter().flatten();
        graders.filter_map(|grader| {
            let settings = grader.as_object()?;
            Some((settings.get("name")?.as_str()?, settings))
        })
    }

    /// The settings of the grader `name`, if the run had it.
    pub fn grader(&self, name: &str) -> Option<&Map<String, Value>> {
        self.graders().find(|(other, _)| *other == name).map(|(_, settings)| settings)
    }

    /// Whether the run was narrowed down to a part of the samples.
    pub fn is_narrowed(&self) -> bool {
        NARROWING.iter().any(|name| match self.settings.get(*name) {
            None | Some(Value::Null) => false,
            Some(Value::Array(names)) => !names.is_empty(),
            Some(_) => true,
        })
    }

    /// The first file that is not in `now` what it was then, or that only one of both has read.
    pub fn changed_input<'a>(&'a self, now: &'a OrderedMap<String>) -> Option<&'a str> {
        let is_same = |path: &str, digest: &str| {
            self.inputs.get(path).and_then(Value::as_str).is_some_and(|known| known == digest)
        };
        let changed = now.0.iter().find(|(path, digest)| !is_same(path, digest));
        let gone = self.inputs.keys().find(|path| now.get(path.as_str()).is_none());
        changed.map(|(path, _)| path).or(gone).map(String::as_str)
    }
}

/// A line of `results.jsonl` of an earlier run.
#[derive(Clone, Debug, Deserialize)]
pub struct PastLine {
    format: u32,
    /// The sample.
    pub sample_id: String,
    input: Option<Box<RawValue>>,
    ground_truth: Option<Box<RawValue>>,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition, from 0.
    #[serde(default)]
    pub trial: u32,
    /// The action key of the conversation of a target that is run.
    #[serde(default)]
    pub conversation: Option<String>,
    submission: Option<String>,
    #[serde(default)]
    submissions: BTreeMap<String, String>,
    /// Grader → its grade.
    #[serde(default, deserialize_with = "grades")]
    pub grades: BTreeMap<String, PastGrade>,
    /// Grader → why it has nothing to say.
    #[serde(default)]
    pub not_applicable: BTreeMap<String, String>,
}

/// A grade, with those of its criteria.
#[derive(Deserialize)]
struct PastRubricGrade {
    score: Option<f64>,
    pass: Option<bool>,
    #[serde(alias = "reason")]
    rationale: Option<String>,
    error: Option<PastError>,
    key: Option<String>,
    #[serde(default)]
    criteria: BTreeMap<String, PastRubricGrade>,
}

/// Reads grades. Those of criteria stand in that of their rubric.
fn grades<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, PastGrade>, D::Error> {
    let read: BTreeMap<String, PastRubricGrade> = BTreeMap::deserialize(from)?;
    let mut grades = BTreeMap::new();
    for (name, mut grade) in read {
        let criteria = std::mem::take(&mut grade.criteria).into_iter();
        grades.extend(criteria.map(|(own, grade)| (grader_of(&name, &own), grade.grade())));
        grades.insert(name, grade.grade());
    }
    Ok(grades)
}

impl PastRubricGrade {
    fn grade(self) -> PastGrade {
        let Self { score, pass, rationale, error, key, .. } = self;
        PastGrade { score, pass, rationale, error, key }
    }
}

/// A grade of an earlier run.
#[derive(Clone, Debug, PartialEq)]
pub struct PastGrade {
    /// 0.0..=1.0.
    pub score: Option<f64>,
    /// Whether it counted as a pass.
    pub pass: Option<bool>,
    /// Why, in the words of the judge.
    pub rationale: Option<String>,
    /// Set where it could not be made.
    pub error: Option<PastError>,
    /// The key of its first judgment.
    pub key: Option<String>,
}

/// Why a grade could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Value")]
pub struct PastError {
    kind: String,
}

impl From<Value> for PastError {
    fn from(error: Value) -> Self {
        let kind = error.get("kind").and_then(Value::as_str);
        Self { kind: kind.unwrap_or_default().to_owned() }
    }
}

impl PastGrade {
    /// Whether its judgment was neither cached nor made.
    pub(crate) fn was_not_asked(&self) -> bool {
        let kind = self.error.as_ref().map_or("", |error| error.kind.as_str());
        NOT_ASKED.contains(&kind)
    }
}

impl PastLine {
    /// What `grader` graded.
    pub fn submission_of(&self, grader: &str) -> Option<&str> {
        let is_here =
            || self.grades.contains_key(grader) || self.not_applicable.contains_key(grader);
        let shared = || self.submission.as_ref().filter(|_| is_here());
        self.submissions.get(grader).or_else(shared).map(String::as_str)
    }

    /// The input as JSON text.
    pub fn input(&self) -> &str {
        self.input.as_ref().map_or("null", |raw| raw.get())
    }

    /// The ground truth as JSON text.
    pub fn ground_truth(&self) -> &str {
        self.ground_truth.as_ref().map_or("null", |raw| raw.get())
    }
}

/// The recorded runs of the suite `suite` under `home`, the newest first, each read on demand; no trials.
pub fn runs<'a>(
    system: &'a dyn System,
    home: &str,
    suite: &'a str,
) -> impl Iterator<Item = PastRun> + 'a {
    let folder = runs_of(home);
    let ids = system.list(&folder).unwrap_or_default().into_iter().rev();
    let ids = ids.filter(|id| !is_trial(id));
    let runs = ids.filter_map(move |id| open(system, &join(&folder, &id), &id));
    runs.filter(move |past| past.header.suite == suite)
}

/// The record in `folder`; none if it has no header that this version can read.
pub fn open(system: &dyn System, folder: &str, id: &str) -> Option<PastRun> {
    let header: PastHeader = read_json(system, &join(folder, "header.json"))?;
    (header.format == FORMAT).then(|| PastRun {
        id: id.to_owned(),
        folder: folder.to_owned(),
        header,
    })
}

impl PastRun {
    /// The samples that it has results of, as far as they can be read.
    pub fn sample_ids(&self, system: &dyn System) -> BTreeSet<String> {
        let mut ids = BTreeSet::new();
        self.each_line_that(system, &|_| true, &mut |line| {
            ids.insert(line.sample_id);
        });
        ids
    }

    /// Visits the results whose bytes are wanted, in order, and reports how many of these cannot be read.
    pub(super) fn each_line_that(
        &self,
        system: &dyn System,
        is_wanted: &dyn Fn(&[u8]) -> bool,
        visit: &mut dyn FnMut(PastLine),
    ) -> usize {
        let Ok(mut file) = open_results(system, &self.folder) else { return 0 };
        each_line_of(&mut file, is_wanted, visit)
    }
}

/// Visits the results in a file whose bytes are wanted, and reports how many of these cannot be read.
pub(super) fn each_line_of(
    file: &mut dyn BufRead,
    is_wanted: &dyn Fn(&[u8]) -> bool,
    visit: &mut dyn FnMut(PastLine),
) -> usize {
    let mut broken = 0;
    let read = each_line(file, MAX_RESULT, &mut |line| {
        let bytes = line.bytes();
        if bytes.is_some_and(|bytes| !is_wanted(bytes)) {
            return;
        }
        let result = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok());
        match result.filter(|line: &PastLine| reads_line(line.format)) {
            Some(line) => visit(line),
            None => broken += 1,
        }
    });
    broken + usize::from(read.is_err())
}

#[cfg(test)]
mod tests {
    use super::runs;
    use evalrs_system::FileBytes;
    use evalrs_system::memory::MemorySystem;

    const HEADER: &str = r#"{"format": 1, "suite": "s", "later": [], "settings": {"tags": [],
        "graders": [7, {"name": "g", "model": "m"}]}}"#;

    #[test]
    fn the_newest_runs_of_the_suite_come_first_and_damage_is_passed_over() {
        let system = MemorySystem::with(&[
            ("h/runs/1/header.json", HEADER),
            ("h/runs/2/header.json", r#"{"format": 1, "suite": "other"}"#),
            ("h/runs/3/header.json", HEADER),
            ("h/runs/4/header.json", r#"{"format": 2, "suite": "s"}"#),
            ("h/runs/5/header.json", r#"{"format": 1, "su"#),
            ("h/runs/6/header.json", "[]"),
            ("h/runs/7/run.json", "{}"),
            ("h/runs/9", "no folder"),
        ]);
        system.set_fault("h/runs/8/header.json", FileBytes::Unreadable("no".to_owned()));
        let ids: Vec<String> = runs(&system, "h", "s").map(|past| past.id).collect();
        assert_eq!(ids, ["3", "1"]);
        let past = runs(&system, "h", "s").next().unwrap();
        assert_eq!(past.header.grader("g").unwrap()["model"], "m");
        assert_eq!(past.header.grader("other"), None);
        assert!(!past.header.is_narrowed());
        assert_eq!(runs(&system, "elsewhere", "s").count(), 0);
        let other = runs(&system, "h", "other").next().unwrap();
        assert_eq!((other.header.grader("g"), other.header.is_narrowed()), (None, false));
    }

    #[test]
    fn results_that_cannot_be_read_are_passed_over() {
        let results = [
            r#"{"format":1,"sample_id":"a","input":{"b": 1.50},"ground_truth":null,"trial":2,"submissions":{"g":"x"},"grades":{"g":{"key":"k","score":0.5,"new":1}}}"#,
            "",
            r#"{"format":3,"sample_id":"b"}"#,
            r#"{"format":1,"sample_id":7}"#,
            "\u{0}",
            r#"{"format":2,"sample_id":"c","submission":"y","submissions":{"h":"z"},"grades":{"g":{},"h":{}}}"#,
            r#"{"format":1,"sample_id":"d","inp"#,
        ];
        let system = MemorySystem::with(&[
            ("h/runs/1/header.json", HEADER),
            ("h/runs/1/results.jsonl", &results.join("\n")),
        ]);
        let past = runs(&system, "h", "s").next().unwrap();
        let mut lines = Vec::new();
        assert_eq!(past.each_line_that(&system, &|_| true, &mut |line| lines.push(line)), 4);
        let ids: Vec<&str> = lines.iter().map(|line| line.sample_id.as_str()).collect();
        assert_eq!(ids, ["a", "c"]);
        assert_eq!((lines[0].input(), lines[0].ground_truth()), (r#"{"b": 1.50}"#, "null"));
        assert_eq!(lines[0].grades["g"].key.as_deref(), Some("k"));
        assert_eq!((lines[1].input(), lines[1].trial, lines[1].grades.len()), ("null", 0, 2));
        let graded = |line: usize| ["g", "h", "i"].map(|grader| lines[line].submission_of(grader));
        assert_eq!(graded(0), [Some("x"), None, None]);
        assert_eq!(graded(1), [Some("y"), Some("z"), None]);
        let bare = MemorySystem::with(&[("h/runs/1/header.json", HEADER)]);
        past.each_line_that(&bare, &|_| true, &mut |line| panic!("{line:?}"));
    }

    #[test]
    fn a_part_of_the_samples_is_not_all() {
        for (settings, expected) in [
            ("{}", false),
            (r#"{"tags": [], "samples": [], "max_samples": null, "trials": null}"#, false),
            (r#"{"tags": ["a"]}"#, true),
            (r#"{"samples": ["a"]}"#, true),
            (r#"{"max_samples": 3}"#, true),
            (r#"{"partition": "2/7", "cut": "ab"}"#, true),
        ] {
            let text = format!(r#"{{"format": 1, "suite": "s", "settings": {settings}}}"#);
            let header: super::PastHeader = serde_json::from_str(&text).unwrap();
            assert_eq!(header.is_narrowed(), expected, "{settings}");
        }
    }
}
