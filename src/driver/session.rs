//! One suite under evaluation: the database and what was loaded into it.
//!
//! Loading asks the graph which files it needs, reads them, and asks again, until it needs no more. The
//! dataset is cut and joined here, before the database sees it, so that an edit sets one chunk and not all.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::dataset::chunk;
use crate::dataset::fields::{RowProblem, RowSpec};
use crate::dataset::join::{self, Joined, JoinedFiles};
use crate::dataset::split::{self, SHOWN_PROBLEMS, Start};
use crate::db::change::Change;
use crate::db::inputs::{Chunk, File, Overrides, Root};
use crate::db::{Database, Db, queries};
use crate::diagnostic::{Diagnostic, Place};
use crate::driver::recordings;
use crate::driver::waiting::SettledPlans;
use crate::suite::{DatasetSpec, FileText, Suite, TargetSpec};
use crate::system::{FileBytes, System, folder_of, join as join_path};

/// The largest suite, rubric or other small file, in bytes.
const SMALL_FILE_LIMIT: usize = 4 << 20;

/// A suite under evaluation.
#[derive(Debug)]
pub struct Session {
    /// The database.
    pub db: Database,
    /// The suite in it.
    pub root: Root,
    /// The digest of every file that was read, by path.
    pub digests: BTreeMap<String, String>,
    pub(super) settled_plans: SettledPlans,
    starts: Vec<Start>,
}

impl Session {
    /// A session over the suite at `path`, with nothing loaded yet.
    pub fn new(
        db: Database,
        path: &str,
        environment: BTreeMap<String, String>,
        overrides: Overrides,
    ) -> Self {
        let suite = db.file(path);
        let root = Root::new(&db, suite, Arc::new(environment), overrides, Vec::new());
        Self {
            db,
            root,
            digests: BTreeMap::new(),
            settled_plans: SettledPlans::default(),
            starts: Vec::new(),
        }
    }

    /// The suite, once it is loaded without errors.
    pub fn suite(&self) -> Option<&Suite> {
        queries::suite(&self.db, self.root).suite.as_ref()
    }

    /// Reads the suite, its files and its dataset; says everything that is wrong with them. May be called again after
    /// files changed.
    pub fn load(&mut self, system: &dyn System) -> Vec<Diagnostic> {
        self.load_suite(system);
        let reading = queries::suite(&self.db, self.root);
        let mut diagnostics = reading.diagnostics.clone();
        let Some(suite) = reading.suite.clone() else { return diagnostics };
        diagnostics.extend(self.unknown_names(&suite));
        if diagnostics.iter().any(Diagnostic::is_error) {
            return diagnostics;
        }
        diagnostics.extend(self.load_dataset(system, &suite));
        diagnostics
    }

    /// Reads every small file the suite asks for, until it asks for no more.
    fn load_suite(&mut self, system: &dyn System) {
        for (_, file) in self.db.files() {
            self.read_small(system, file);
        }
        loop {
            let _ = queries::suite(&self.db, self.root);
            if !self.read_unread(system) {
                return;
            }
        }
    }

    /// Reads the files that queries asked for since the last call. False if there were none.
    pub fn read_unread(&mut self, system: &dyn System) -> bool {
        let unread = self.db.unread_files();
        for (_, file) in &unread {
            self.read_small(system, *file);
        }
        !unread.is_empty()
    }

    fn read_small(&mut self, system: &dyn System, file: File) {
        let path = file.path(&self.db).clone();
        let text = match system.read(&path) {
            FileBytes::Missing => FileText::Missing,
            FileBytes::Folder => FileText::Unreadable("it is a folder".to_owned()),
            FileBytes::Unreadable(reason) => FileText::Unreadable(reason),
            FileBytes::Bytes(bytes) => {
                self.digests.insert(path, blake3::hash(&bytes).to_hex().to_string());
                small_text(bytes)
            }
        };
        let change = Change { files: vec![(file, text)], ..Change::default() };
        change.apply(&mut self.db, self.root);
    }

    /// `--grader` names that the suite does not have.
    fn unknown_names(&self, suite: &Suite) -> Vec<Diagnostic> {
        let known: Vec<&str> = suite.graders.iter().map(|grader| grader.name.as_str()).collect();
        let wanted = &self.root.overrides(&self.db).graders;
        let unknown = wanted.iter().filter(|name| !known.contains(&name.as_str()));
        unknown
            .map(|name| {
                let path = self.root.suite(&self.db).path(&self.db).clone();
                let problem = Diagnostic::error(
                    Place::file(path),
                    format!("the suite has no grader `{name}`"),
                );
                problem.hint(format!("it has {}", known.join(", ")))
            })
            .collect()
    }

    fn load_dataset(&mut self, system: &dyn System, suite: &Suite) -> Vec<Diagnostic> {
        let path = suite.dataset.path.clone();
        let bytes = match self.read_big(system, &path) {
            Ok(bytes) => bytes,
            Err(reason) => return vec![self.unreadable_dataset(&path, &reason)],
        };
        if let Err(diagnostic) = split::decode(&path, &bytes) {
            return vec![diagnostic];
        }
        let file = Arc::new(String::from_utf8(bytes).unwrap_or_default());
        let text = file.strip_prefix('\u{feff}').unwrap_or(&file);
        let rows = match split::split(&path, text, suite.dataset.format) {
            Ok(rows) => rows,
            Err(diagnostics) => return shortened(diagnostics),
        };
        let (joined, mut diagnostics) = match self.recordings_of(suite) {
            Err(diagnostic) => return vec![diagnostic],
            Ok(None) => (join::alone(rows), Vec::new()),
            Ok(Some(source)) => {
                let files = JoinedFiles { dataset: &path, text, recordings: &source };
                match self.join(system, suite, (rows, files)) {
                    Ok(joined) => joined,
                    Err(diagnostics) => return diagnostics,
                }
            }
        };
        self.starts = joined.iter().map(|record| record.start).collect();
        let chunks = chunk::chunks(&joined, self.held_chunks(), &file);
        let change = Change { chunks: Some(chunks), ..Change::default() };
        drop(joined);
        change.apply(&mut self.db, self.root);
        diagnostics.extend(shortened(self.row_problems(&suite.dataset, text)));
        diagnostics.extend(shortened(self.recording_problems(system, suite)));
        diagnostics
    }

    /// The file or folder that holds the trajectories, if rows do not carry them.
    fn recordings_of(&self, suite: &Suite) -> Result<Option<String>, Diagnostic> {
        if let Some(cached) = &self.root.overrides(&self.db).cached {
            return Ok(Some(cached.clone()));
        }
        match &suite.target {
            TargetSpec::Recorded { path, .. } => Ok(path.clone()),
            TargetSpec::NotRunnable { kind } => {
                let path = self.root.suite(&self.db).path(&self.db).clone();
                let place = queries::suite(&self.db, self.root).target_place.clone();
                let message = format!("this version cannot run a target of kind `{kind}`");
                Err(Diagnostic::error(place.unwrap_or_else(|| Place::file(path)), message).hint(
                    "grade recorded results instead: `--cached DIR` with a result directory, or `target: {kind: recorded, path: trajectories.jsonl}`",
                ))
            }
        }
    }

    fn join<'a>(
        &mut self,
        system: &dyn System,
        suite: &Suite,
        (rows, files): (Vec<split::RawRecord<'a>>, JoinedFiles<'_>),
    ) -> Result<(Vec<Joined<'a>>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let recordings = {
            let mut read = |path: &str| self.read_big(system, path);
            recordings::read(files.recordings, system, &mut read)?
        };
        let spec = RowSpec::new(&suite.dataset, None);
        let (joined, diagnostics) = join::join(rows, recordings, &spec, files);
        if diagnostics.iter().any(Diagnostic::is_error) {
            return Err(shortened(diagnostics));
        }
        Ok((joined, diagnostics))
    }

    fn read_big(&mut self, system: &dyn System, path: &str) -> Result<Vec<u8>, String> {
        let bytes = system.read(path).into_bytes()?;
        self.digests.insert(path.to_owned(), blake3::hash(&bytes).to_hex().to_string());
        Ok(bytes)
    }

    fn unreadable_dataset(&self, path: &str, reason: &str) -> Diagnostic {
        let place = queries::suite(&self.db, self.root).dataset_place.clone();
        let message = format!("cannot read the dataset `{path}`: {reason}");
        Diagnostic::error(place.unwrap_or_else(|| Place::file(path)), message)
            .hint("paths are relative to the suite's folder")
    }

    /// Everything that is wrong with single rows, in dataset order.
    fn row_problems(&self, dataset: &DatasetSpec, text: &str) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let mut before = 0;
        for chunk in self.root.chunks(&self.db) {
            let problems = queries::checked(&self.db, *chunk).problems.iter();
            for (at, problem) in problems.filter(|(_, problem)| !problem.recorded) {
                found.push(self.row_diagnostic(dataset, text, (before + at, problem)));
            }
            for (at, grader, names) in queries::missing_vars(&self.db, *chunk) {
                let place = self.record_place(dataset, text, before + at);
                let names =
                    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                let message =
                    format!("the grader `{grader}` needs {names} in the row's `rubric_vars`");
                found.push(Diagnostic::error(place, message));
            }
            before += chunk.records(&self.db).len();
        }
        if found.is_empty() {
            found.extend(self.duplicates(dataset, text));
        }
        found
    }

    /// Everything that is wrong with joined recordings, found again where they stand.
    fn recording_problems(&mut self, system: &dyn System, suite: &Suite) -> Vec<Diagnostic> {
        let first = self.root.chunks(&self.db).iter().find_map(|chunk| {
            let problems = &queries::checked(&self.db, *chunk).problems;
            problems.iter().map(|(_, problem)| problem).find(|problem| problem.recorded)
        });
        let (Some(first), Ok(Some(source))) = (first.cloned(), self.recordings_of(suite)) else {
            return Vec::new();
        };
        let Some(spec) = queries::row_spec(&self.db, self.root).clone() else { return Vec::new() };
        let mut read = |path: &str| self.read_big(system, path);
        match recordings::problems(&source, system, &mut read, &spec) {
            Ok(found) if !found.is_empty() => found,
            Ok(_) => vec![Diagnostic::error(Place::file(source), first.message)],
            Err(diagnostics) => diagnostics,
        }
    }

    fn row_diagnostic(
        &self,
        dataset: &DatasetSpec,
        text: &str,
        (at, problem): (usize, &RowProblem),
    ) -> Diagnostic {
        let start = self.starts.get(at).copied().unwrap_or_default();
        let is_csv = dataset.format == crate::suite::DatasetFormat::Csv;
        let span = problem.span.clone().filter(|_| !is_csv);
        let mut diagnostic = Diagnostic::error(
            split::record_place(&dataset.path, text, start, span),
            problem.message.clone(),
        );
        diagnostic.label.clone_from(&problem.label);
        diagnostic.hint.clone_from(&problem.hint);
        diagnostic
    }

    fn record_place(&self, dataset: &DatasetSpec, text: &str, at: usize) -> Place {
        let start = self.starts.get(at).copied().unwrap_or_default();
        split::record_place(&dataset.path, text, start, None)
    }

    fn duplicates(&self, dataset: &DatasetSpec, text: &str) -> Vec<Diagnostic> {
        let duplicates = &queries::selection(&self.db, self.root).duplicates;
        let diagnostic = |duplicate: &crate::db::selection::Duplicate| {
            let [first, second] = [duplicate.first, duplicate.second]
                .map(|at| self.starts.get(at).copied().unwrap_or_default());
            let model = duplicate
                .model
                .as_ref()
                .map(|model| format!(", model `{model}`"))
                .unwrap_or_default();
            let (id, trial) = (&duplicate.id, duplicate.trial);
            let message = if first == second {
                format!("the sample `{id}` (trial {trial}{model}) was recorded more than once")
            } else {
                format!(
                    "the id `{id}` (trial {trial}{model}) is already taken by line {}",
                    first.line
                )
            };
            Diagnostic::error(self.record_place(dataset, text, duplicate.second), message)
                .hint("give trials of one sample their number: \"trial\": 0, 1, …; other samples need other ids")
        };
        duplicates.iter().map(diagnostic).collect()
    }

    fn held_chunks(&self) -> HashMap<u128, usize> {
        let mut held = HashMap::new();
        for chunk in self.root.chunks(&self.db) {
            *held.entry(chunk.records(&self.db).hash()).or_insert(0) += 1;
        }
        held
    }

    /// The chunks of the dataset.
    pub fn chunks(&self) -> Vec<Chunk> {
        self.root.chunks(&self.db).clone()
    }

    /// A path as it is written from the suite's folder.
    pub fn relative(&self, path: &str) -> String {
        let folder = folder_of(self.root.suite(&self.db).path(&self.db));
        let inside = path.strip_prefix(folder).map(|rest| rest.trim_start_matches('/'));
        inside.filter(|_| !folder.is_empty()).unwrap_or(path).to_owned()
    }

    /// A path beside the suite.
    pub fn beside(&self, name: &str) -> String {
        join_path(folder_of(self.root.suite(&self.db).path(&self.db)), name)
    }
}

fn small_text(bytes: Vec<u8>) -> FileText {
    if bytes.len() > SMALL_FILE_LIMIT {
        return FileText::Unreadable(format!("it is larger than {} MB", SMALL_FILE_LIMIT >> 20));
    }
    match String::from_utf8(bytes) {
        Ok(text) => FileText::Text(text.strip_prefix('\u{feff}').unwrap_or(&text).into()),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let line = memchr::memchr_iter(b'\n', &error.as_bytes()[..at]).count() + 1;
            FileText::Unreadable(format!("it is not UTF-8: the first wrong byte is on line {line}"))
        }
    }
}

/// The first problems, and how many more there are.
fn shortened(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let more = diagnostics.len().saturating_sub(SHOWN_PROBLEMS);
    diagnostics.truncate(SHOWN_PROBLEMS);
    if let (1.., Some(last)) = (more, diagnostics.last()) {
        let path = last.place.as_ref().map(|place| place.path.clone()).unwrap_or_default();
        diagnostics.push(Diagnostic::error(
            Place::file(path),
            format!("{more} more problems of this file are not shown"),
        ));
    }
    diagnostics
}
