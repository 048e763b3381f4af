//! Recorded runs that graders compare with.
//!
//! A run is parsed once, and looked up chunk by chunk: another run, or an edit of one line of it, plans only those
//! chunks again in which a text is another.

use std::sync::Arc;

use super::Db;
use super::cases::{checked, places};
use super::graders::{Grader, graders};
use super::inputs::{Chunk, File, Root};
use super::selection::named;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::file_text::FileText;
use evalrs_eval::evaluate::baseline::{self, RecordedRun, RecordedSubmission};
use evalrs_model::spec::{CompareTo, GraderKind};

/// A recorded run and everything that is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReading {
    /// What it submitted, as far as it could be read.
    pub run: Arc<RecordedRun>,
    /// What is wrong.
    pub problems: Vec<Diagnostic>,
}

/// The files of recorded runs that the graders which are left compare with, sorted, each once.
pub fn run_files(db: &dyn Db, root: Root) -> Vec<File> {
    let graders = graders(db, root).iter();
    let mut paths: Vec<String> =
        graders.filter_map(|grader| run_of(db, *grader)).map(baseline::results_file).collect();
    paths.sort();
    paths.dedup();
    paths.iter().map(|path| db.file(path)).collect()
}

/// The run that a grader compares with, as the suite names it.
fn run_of<'db>(db: &'db dyn Db, grader: Grader<'db>) -> Option<&'db str> {
    match grader.kind(db) {
        GraderKind::Rubric(rubric) => match rubric.compare_to.as_ref()? {
            CompareTo::Run(path) => Some(path),
            CompareTo::Field(_) => None,
        },
        GraderKind::Tool(_) | GraderKind::Program(_) | GraderKind::Reward(_) => None,
    }
}

/// The run that a file holds.
#[salsa::tracked]
pub fn recorded_run(db: &dyn Db, file: File) -> RunReading {
    let path = file.path(db);
    let unreadable = |why: &str| {
        let message = format!("cannot read the recorded run `{path}`: {why}");
        let problem = Diagnostic::error(Place::file(path), message)
            .hint("`compare_to: {run: …}` names the folder of a run, or its results.jsonl");
        RunReading { run: Arc::default(), problems: vec![problem] }
    };
    match file.text(db) {
        FileText::Text(text) => {
            let (run, problems) = baseline::read(path, text);
            RunReading { run: Arc::new(run), problems }
        }
        FileText::Unread => RunReading { run: Arc::default(), problems: Vec::new() },
        FileText::Missing => unreadable("there is no such file"),
        FileText::Unreadable(reason) => unreadable(reason),
        FileText::NoText(problem) => {
            RunReading { run: Arc::default(), problems: vec![(**problem).clone()] }
        }
    }
}

/// What the run that a grader compares with submitted for each case of a chunk.
#[salsa::tracked]
fn submitted<'db>(
    db: &'db dyn Db,
    chunk: Chunk,
    grader: Grader<'db>,
) -> Arc<[Option<RecordedSubmission>]> {
    let Some(path) = run_of(db, grader) else { return Arc::default() };
    let run = &recorded_run(db, db.file(&baseline::results_file(path))).run;
    let whos = checked(db, chunk).whos.iter().zip(places(db, chunk));
    let found = whos.map(|(who, place)| {
        let identity = &who.identity;
        let id = named(who.id(), place.occurrence);
        run.find(&id, identity.model.as_deref(), identity.trial, grader.name(db)).cloned()
    });
    found.collect()
}

/// What a recorded run submitted for the cases of a chunk; nothing for graders that compare with none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Baselines<'db>(&'db [Option<RecordedSubmission>]);

impl<'db> Baselines<'db> {
    /// Those of `grader`. Graders that compare with no run get no query of their own.
    pub(crate) fn of(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Self {
        Self(run_of(db, grader).map_or(&[], |_| submitted(db, chunk, grader)))
    }

    pub(crate) fn case(self, at: usize) -> Option<&'db RecordedSubmission> {
        self.0.get(at)?.as_ref()
    }
}
