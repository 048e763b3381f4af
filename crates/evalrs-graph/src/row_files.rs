//! Files of rows beside the dataset: recorded runs that graders compare with, and votes that they combine.
//!
//! A run is parsed once, a file of votes once for each grader that names it. Both are looked up chunk by chunk: another
//! run, or an edit of one line or vote, plans only those chunks again in which something is another.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Db;
use super::cases::placed;
use super::graders::{Grader, graders};
use super::inputs::{Chunk, File, Root};
use super::selection::named;
use evalrs_base::diagnostic::{Diagnostic, Place, clipped};
use evalrs_base::file_text::FileText;
use evalrs_base::text::count;
use evalrs_eval::dataset::vote_file::{self, VoteReading};
use evalrs_eval::evaluate::baseline::{self, RecordedRun, RecordedSubmission};
use evalrs_eval::grade::votes::{VoteFileSpec, vote_file};
use evalrs_eval::votes::GivenVotes;
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
    let GraderKind::Rubric(rubric) = grader.kind(db) else { return None };
    match rubric.compare_to.as_ref()? {
        CompareTo::Run(path) => Some(path),
        CompareTo::Field(_) => None,
    }
}

/// The run that a file holds.
#[salsa::tracked]
pub fn recorded_run(db: &dyn Db, file: File) -> RunReading {
    let path = file.path(db);
    let unreadable = |why: &str| {
        let message = format!("cannot read the recorded run `{path}`: {why}");
        Diagnostic::error(Place::file(path), message)
            .hint("`compare_to: {run: …}` names the folder of a run, or its results.jsonl")
    };
    let problems = match file.text(db) {
        FileText::Text(text) => {
            let (run, problems) = baseline::read(path, text);
            return RunReading { run: Arc::new(run), problems };
        }
        FileText::Unread => Vec::new(),
        FileText::Missing => vec![unreadable("no such file")],
        FileText::Unreadable(reason) => vec![unreadable(reason)],
        FileText::NoText(problem) => vec![(**problem).clone()],
    };
    RunReading { run: Arc::default(), problems }
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
    look_up(db, chunk, |id, model, trial| run.find(id, model, trial, grader.name(db)).cloned())
}

/// What a file has on each case of a chunk, by the name, the model and the trial of the case.
fn look_up<T>(
    db: &dyn Db,
    chunk: Chunk,
    find: impl Fn(&str, Option<&str>, u32) -> Option<T>,
) -> Arc<[Option<T>]> {
    let found = placed(db, chunk).map(|(who, place)| {
        let id = named(who.id(), place.occurrence);
        find(&id, who.identity.model.as_deref(), who.identity.trial)
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

/// The most samples that a message names.
const SHOWN_SAMPLES: usize = 5;

/// The file of votes that a grader reads, if it reads one.
fn file_of(db: &dyn Db, grader: Grader<'_>) -> Option<(File, VoteFileSpec)> {
    let GraderKind::Tool(tool) = grader.kind(db) else { return None };
    let spec = vote_file(tool)?;
    let own = || vote_file::beside(grader.root(db).suite(db).path(db), grader.name(db));
    Some((db.file(&spec.path.clone().unwrap_or_else(own)), spec))
}

/// The path of the file of votes that a grader reads, if it reads one, and whether the suite names it.
pub fn vote_path(db: &dyn Db, grader: Grader<'_>) -> Option<VotePath> {
    let (file, spec) = file_of(db, grader)?;
    Some(VotePath { path: file.path(db).clone(), is_named: spec.path.is_some() })
}

/// Where a grader reads votes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VotePath {
    /// The path of the file.
    pub path: String,
    /// Whether the suite names it: then it is not evalrs that writes it.
    pub is_named: bool,
}

/// The files of votes that the graders which are left read, sorted, each once.
fn vote_files(db: &dyn Db, root: Root) -> Vec<File> {
    let read = graders(db, root).iter().filter_map(|grader| file_of(db, *grader));
    let paths: BTreeSet<String> = read.map(|(file, _)| file.path(db).clone()).collect();
    paths.iter().map(|path| db.file(path)).collect()
}

/// The files of rows beside the dataset: recorded runs, and votes.
pub fn row_files(db: &dyn Db, root: Root) -> Vec<File> {
    let mut files = run_files(db, root);
    files.extend(vote_files(db, root));
    files
}

/// What is wrong with the files of votes.
pub fn vote_mistakes(db: &dyn Db, root: Root) -> Vec<Diagnostic> {
    let graders = graders(db, root).iter();
    graders.flat_map(|grader| vote_reading(db, *grader).problems.clone()).collect()
}

/// Which votes are of no sample, once all of them could be read.
pub fn unused_votes(db: &dyn Db, root: Root) -> Vec<Diagnostic> {
    graders(db, root).iter().filter_map(|grader| unused_of(db, *grader)).collect()
}

/// The votes in the file that a grader reads; nothing of other graders.
#[salsa::tracked]
pub fn vote_reading<'db>(db: &'db dyn Db, grader: Grader<'db>) -> VoteReading {
    let Some((file, spec)) = file_of(db, grader) else { return VoteReading::default() };
    let path = file.path(db);
    let unreadable = |why: &str| {
        let message = format!("cannot read the votes in `{path}`: {why}");
        Diagnostic::error(Place::file(path), message)
            .hint("`path` of `kind: recorded_votes` names a file with one vote per row")
    };
    let problems = match file.text(db) {
        FileText::Text(text) => return vote_file::read(path, text, &spec.layout),
        // Nobody has voted yet.
        FileText::Missing if spec.path.is_none() => Vec::new(),
        FileText::Unread => Vec::new(),
        FileText::Missing => vec![unreadable("no such file")],
        FileText::Unreadable(reason) => vec![unreadable(reason)],
        FileText::NoText(problem) => vec![(**problem).clone()],
    };
    VoteReading { problems, ..VoteReading::default() }
}

fn unused_of(db: &dyn Db, grader: Grader<'_>) -> Option<Diagnostic> {
    let (file, _) = file_of(db, grader)?;
    let mut unused: BTreeSet<&str> = vote_reading(db, grader).table.samples().collect();
    for chunk in grader.root(db).chunks(db) {
        if unused.is_empty() {
            return None;
        }
        for (who, place) in placed(db, *chunk) {
            unused.remove(named(who.id(), place.occurrence).as_str());
        }
    }
    if unused.is_empty() {
        return None;
    }
    let shown: Vec<String> =
        unused.iter().take(SHOWN_SAMPLES).map(|id| format!("`{}`", clipped(id))).collect();
    let rest = if unused.len() > shown.len() { ", …" } else { "" };
    let samples = count(unused.len(), "sample");
    let message = format!("the votes on {samples} match no row: {}{rest}", shown.join(", "));
    Some(
        Diagnostic::warning(Place::file(file.path(db)), message)
            .hint("ids are those of results.jsonl; `fields: {id: PATH}` sets their path"),
    )
}

/// What the file of votes that a grader reads has on each case of a chunk.
#[salsa::tracked]
fn given<'db>(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Arc<[Option<GivenVotes>]> {
    let table = &vote_reading(db, grader).table;
    look_up(db, chunk, |id, model, trial| table.find(id, model, trial))
}

/// The votes on the cases of a chunk; nothing for graders that read none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkVotes<'db>(&'db [Option<GivenVotes>]);

impl<'db> ChunkVotes<'db> {
    /// Those of `grader`. Graders that read no file of votes get no query of their own.
    pub(crate) fn of(db: &'db dyn Db, chunk: Chunk, grader: Grader<'db>) -> Self {
        Self(file_of(db, grader).map_or(&[], |_| given(db, chunk, grader)))
    }

    pub(crate) fn case(self, at: usize) -> Option<&'db GivenVotes> {
        self.0.get(at)?.as_ref()
    }
}
