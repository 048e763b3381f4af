//! The cases of one side of a comparison. Of a line of results only what is compared is read.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use super::lines::{MAX_RESULT, each_line};
use super::read::PastRun;
use super::result_files::line_paths;
use evalrs_metrics::diff::{CaseName, SideCase, SideGrade};
use evalrs_model::key::ActionKey;
use evalrs_model::record_format::reads_line;
use evalrs_model::spec::grader_of;
use evalrs_system::{FileIdentity, System};

/// The cases of a record, as they are read.
#[derive(Debug, Default)]
pub(super) struct CaseResults {
    /// The graders of the header, then others in the order of their first grade.
    pub graders: Vec<String>,
    pub read: Vec<SideCase>,
    /// How many lines could not be read.
    pub broken: usize,
    /// How many lines are of a case that was there before.
    pub again: usize,
    places: HashMap<CaseName, usize>,
}

/// The cases that a file of results gave to a side.
#[derive(Debug)]
pub(super) struct FileCases {
    file: FileIdentity,
    cases: Range<usize>,
}

/// A side that was read before: what it has in common with another is not read again.
#[derive(Clone, Copy)]
pub(super) struct KnownCases<'a> {
    pub graders: &'a [String],
    pub cases: &'a [SideCase],
    pub files: &'a [FileCases],
}

/// What is compared of a line.
#[derive(Deserialize)]
struct ComparedLine<'a> {
    format: u32,
    #[serde(borrow)]
    sample_id: Cow<'a, str>,
    model: Option<String>,
    #[serde(default)]
    trial: u32,
    #[serde(borrow)]
    submission: Option<&'a RawValue>,
    #[serde(borrow, default)]
    submissions: BTreeMap<JsonString<'a>, &'a RawValue>,
    #[serde(borrow, default)]
    grades: BTreeMap<JsonString<'a>, ComparedGrade<'a>>,
    #[serde(borrow, default)]
    not_applicable: BTreeMap<JsonString<'a>, &'a RawValue>,
}

#[derive(Deserialize)]
struct ComparedGrade<'a> {
    score: Option<f64>,
    pass: Option<bool>,
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    key: Option<JsonString<'a>>,
    #[serde(borrow, default)]
    criteria: BTreeMap<JsonString<'a>, ComparedGrade<'a>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct JsonString<'a>(#[serde(borrow)] Cow<'a, str>);

const NOT_APPLICABLE: SideGrade =
    SideGrade { score: 0.0, pass: false, error: false, applies: false, key: None, answer: None };

impl ComparedGrade<'_> {
    /// A grade that says all that is compared; none where a record was tampered with.
    fn grade(&self, answer: Option<u64>) -> Option<SideGrade> {
        Some(SideGrade {
            score: self.score?,
            pass: self.pass?,
            error: self.error.is_some(),
            applies: true,
            key: self.key.as_ref().and_then(|key| ActionKey::parse(&key.0)),
            answer,
        })
    }
}

impl CaseResults {
    pub(super) fn new(graders: Vec<String>) -> Self {
        Self { graders, ..Self::default() }
    }

    /// Of the record of `past`, of which nothing is read yet.
    pub(super) fn of(past: &PastRun) -> Self {
        Self::new(past.header.graders().map(|(name, _)| name.to_owned()).collect())
    }

    /// Reads the files of a record, but for those that `known` has cases of.
    pub(super) fn read_files(
        &mut self,
        past: &PastRun,
        system: &dyn System,
        known: Option<KnownCases<'_>>,
    ) -> Vec<FileCases> {
        let known = known.filter(|known| known.graders == self.graders);
        let mut files = Vec::new();
        for path in line_paths(system, &past.folder) {
            let identity = system.identity(&path);
            let from = self.read.len();
            let problems = self.broken + self.again;
            match known.zip(identity).and_then(|(known, file)| known.of_file(file)) {
                Some(cases) => self.copy(cases),
                None => match system.open(&path) {
                    Ok(mut file) => self.read_lines(&mut *file, &|_| true),
                    Err(_) => self.broken += 1,
                },
            }
            let cases = from..self.read.len();
            let is_whole = self.broken + self.again == problems;
            files.extend(identity.filter(|_| is_whole).map(|file| FileCases { file, cases }));
        }
        files
    }

    fn copy(&mut self, cases: &[SideCase]) {
        for case in cases {
            match self.add_name(case.name.clone()) {
                Some(place) => self.read[place].grades.clone_from(&case.grades),
                None => self.again += 1,
            }
        }
    }

    /// Reads the lines of a file whose bytes are wanted.
    pub(super) fn read_lines(&mut self, file: &mut dyn BufRead, is_wanted: &dyn Fn(&[u8]) -> bool) {
        let read = each_line(file, MAX_RESULT, &mut |line| {
            let bytes = line.bytes();
            if bytes.is_some_and(|bytes| !is_wanted(bytes)) {
                return;
            }
            let line = bytes.and_then(|bytes| serde_json::from_slice(bytes).ok());
            match line.filter(|line: &ComparedLine<'_>| reads_line(line.format)) {
                Some(line) => self.add_line(line),
                None => self.broken += 1,
            }
        });
        self.broken += usize::from(read.is_err());
    }

    /// The first line of a case counts, whatever a broken file says after it.
    fn add_line(&mut self, line: ComparedLine<'_>) {
        let ComparedLine { sample_id, model, trial, submission, submissions, .. } = line;
        let name = CaseName { sample_id: sample_id.into_owned(), model, trial };
        let Some(place) = self.add_name(name) else {
            self.again += 1;
            return;
        };
        let shared = submission.map(digest_of);
        for (grader, grade) in &line.grades {
            let own = submissions.get(grader).map(|text| digest_of(text));
            let answer = own.or(shared);
            if let Some(grade) = grade.grade(answer) {
                self.set(place, &grader.0, grade);
            }
            for (criterion, grade) in &grade.criteria {
                if let Some(grade) = grade.grade(answer) {
                    self.set(place, &grader_of(&grader.0, &criterion.0), grade);
                }
            }
        }
        for grader in line.not_applicable.keys() {
            self.set(place, &grader.0, NOT_APPLICABLE);
        }
    }

    /// Adds the grade of a case, which is made if it is not there.
    pub(super) fn add(&mut self, name: &CaseName, grader: &str, grade: SideGrade) {
        let known = self.places.get(name).copied();
        let Some(place) = known.or_else(|| self.add_name(name.clone())) else { return };
        self.set(place, grader, grade);
    }

    /// The place of a case that is new; none where it is there already.
    fn add_name(&mut self, name: CaseName) -> Option<usize> {
        let place = self.read.len();
        let Entry::Vacant(vacant) = self.places.entry(name) else { return None };
        self.read.push(SideCase { name: vacant.key().clone(), grades: Vec::new() });
        vacant.insert(place);
        Some(place)
    }

    fn set(&mut self, place: usize, grader: &str, grade: SideGrade) {
        let known = self.graders.iter().position(|known| known == grader);
        let column = known.unwrap_or_else(|| {
            self.graders.push(grader.to_owned());
            self.graders.len() - 1
        });
        let grades = &mut self.read[place].grades;
        if grades.len() <= column {
            grades.resize(column + 1, None);
        }
        grades[column] = Some(grade);
    }
}

impl<'a> KnownCases<'a> {
    fn of_file(self, identity: FileIdentity) -> Option<&'a [SideCase]> {
        let known = self.files.iter().find(|known| known.file == identity)?;
        self.cases.get(known.cases.clone())
    }
}

/// Enough of a digest to tell the answers of one case apart: of its JSON text, which evalrs writes in one way.
fn digest_of(text: &RawValue) -> u64 {
    xxh3_64(text.get().as_bytes())
}
