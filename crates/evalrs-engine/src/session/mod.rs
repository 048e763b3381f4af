//! One suite under evaluation: the database and what was loaded into it.
//!
//! Loading asks the graph which files it needs, reads them, and asks again, until it needs no more. The
//! dataset is cut and joined here, before the database sees it, so that an edit sets one chunk and not all.

pub(crate) mod dataset;
pub(crate) mod dataset_files;
pub(crate) mod files_read;
pub mod known;
pub(crate) mod labels;
pub(crate) mod lints;
pub(crate) mod load_state;
pub(crate) mod preflight;
mod preflight_loads;
pub mod problems;
mod program_files;
mod program_seen;
mod program_states;
pub(crate) mod programs;
pub(crate) mod quick_checks;
mod record_origins;
pub(crate) mod recordings;
pub mod reload;
pub mod shortened;

use std::collections::{BTreeMap, BTreeSet};
use std::mem::ManuallyDrop;
use std::sync::{Arc, OnceLock};

use dataset::{DatasetSource, HeldDataset};
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::file_path::folder_of;
use evalrs_base::price::Prices;
use evalrs_eval::dataset::chunk::HeldChunks;
use evalrs_eval::dataset::id_search::IdSearch;
use evalrs_eval::dataset::layout::Layout;
use evalrs_graph::change::Change;
use evalrs_graph::inputs::{Chunk, File, Overrides, PlannedBatching, Root};
use evalrs_graph::row_files::{recorded_run, row_files, run_files, vote_mistakes};
use evalrs_graph::{Database, Db, answers, queries, result_inputs, rows};
use evalrs_model::spec::{RecordingJoin, Suite, TargetSpec};
use evalrs_system::{System, is_stream};
use files_read::{FileDigest, ReadTrace, SmallFile};
use load_state::LoadState;
use preflight::PreflightLog;
use problems::LoadedRows;
use programs::program_context::needed;
use programs::program_set::ProgramSet;
use recordings::RecordingSource;
use shortened::shortened;

/// A suite under evaluation.
#[derive(Debug)]
pub struct Session {
    /// The database.
    pub db: Database,
    /// The suite in it.
    pub root: Root,
    /// The digest of every small file that was read.
    pub digests: BTreeMap<String, FileDigest>,
    /// The results of runs that graders compare with, and the votes that they combine.
    pub(crate) row_files: Vec<File>,
    /// The dataset that the database holds.
    pub dataset: Option<HeldDataset>,
    pub(crate) load_state: LoadState,
    pub programs: ProgramSet,
    pub(crate) preflights: PreflightLog,
    /// The root of the workspace.
    pub workspace: String,
    /// The rows that are read, if not all are.
    only: Option<IdSearch>,
    /// How an earlier process has cut the file of the dataset, with its path.
    known_layout: OnceLock<(String, Layout)>,
}

impl Session {
    /// Takes another batching for that of the suite, or the suite's again.
    pub fn set_batching(&mut self, batching: Option<PlannedBatching>) {
        let overrides = Overrides { batching, ..self.root.overrides(&self.db).clone() };
        let change = Change { overrides: Some(overrides), ..Change::default() };
        change.apply(&mut self.db, self.root);
    }

    /// A session over the suite at `path`, with nothing loaded yet.
    pub fn new(
        db: Database,
        path: &str,
        environment: BTreeMap<String, String>,
        overrides: Overrides,
    ) -> Self {
        let suite = db.file(path);
        let workspace = folder_of(path).to_owned();
        let root = Root::of_suite(&db, suite, environment, overrides);
        Self {
            db,
            root,
            digests: BTreeMap::new(),
            row_files: Vec::new(),
            dataset: None,
            load_state: LoadState::default(),
            programs: ProgramSet::default(),
            preflights: PreflightLog::default(),
            workspace,
            only: None,
            known_layout: OnceLock::new(),
        }
    }

    /// Leaves the memory to the end of the process, which is near: to take a large graph apart value by value takes as
    /// long as to write its record. What it reads from is closed.
    pub fn end_with_process(self) {
        self.db.outcomes.set_archive(None);
        let _stays = ManuallyDrop::new(self);
    }

    /// The same session in the workspace at `root`, if that is not the suite's own folder.
    #[must_use]
    pub fn in_workspace(self, root: &str) -> Self {
        Self { workspace: root.to_owned(), ..self }
    }

    /// Says what tokens cost, if that is not known yet.
    pub fn set_prices(&mut self, prices: Arc<Prices>) {
        let prices = Some(prices);
        Change { prices, ..Change::default() }.apply(&mut self.db, self.root);
    }

    /// Loads only rows that `search` finds, where rows can be read one by one and once more. What is said then may be wrong of
    /// all rows together: so where something is said, all are to be read.
    pub fn load_rows(&mut self, search: Option<IdSearch>, system: &dyn System) -> Vec<Diagnostic> {
        self.only = search;
        self.load(system)
    }

    /// Reads all rows, if only some were read. What is wrong then; none if all were.
    pub fn load_all_rows(&mut self, system: &dyn System) -> Option<Vec<Diagnostic>> {
        let is_part = self.dataset.is_some()
            && self.suite().is_some_and(|suite| self.wanted_dataset(suite).only.is_some());
        self.only = None;
        is_part.then(|| self.load_unread(system))
    }

    /// The suite, once it is loaded without errors.
    pub fn suite(&self) -> Option<&Suite> {
        queries::suite(&self.db, self.root).suite.as_ref()
    }

    /// The graders that are left, in the order of the suite.
    pub fn graders(&self) -> &[queries::Grader<'_>] {
        queries::graders(&self.db, self.root)
    }

    /// A grader by its ordinal.
    pub fn grader(&self, ordinal: usize) -> Option<queries::Grader<'_>> {
        self.graders().get(ordinal).copied()
    }

    /// The digest of every file that was read, by path.
    pub fn digests(&self) -> BTreeMap<String, String> {
        let of_dataset = self.dataset.iter().flat_map(HeldDataset::digests);
        let all = self.digests.iter().chain(of_dataset);
        all.map(|(path, digest)| (path.clone(), digest.as_str().to_owned())).collect()
    }

    /// Every file and folder that was read or looked for: what may change the evaluation.
    pub fn paths(&self) -> BTreeSet<String> {
        let mut paths: BTreeSet<String> =
            self.db.files().into_iter().map(|(path, _)| path).collect();
        paths.extend(self.load_state.looked_for.iter().cloned());
        paths.extend(self.program_paths());
        paths.extend(self.program_folders());
        if let Some(suite) = self.suite() {
            if !self.dataset.as_ref().is_some_and(HeldDataset::is_several) {
                paths.insert(suite.dataset.path.clone());
            }
            let source = self.recordings_of(suite).ok().flatten();
            paths.extend(source.map(|source| source.path));
        }
        if let Some(dataset) = &self.dataset {
            paths.extend(dataset.paths().cloned());
        }
        paths
    }

    /// Reads the suite, its files and its dataset; says everything that is wrong with them. May be called again after
    /// files changed: then what was good is lost if they are not, unlike when it is reloaded.
    #[tracing::instrument(level = "debug", skip_all)]
    pub fn load(&mut self, system: &dyn System) -> Vec<Diagnostic> {
        let environment = self.load_state.environment.take();
        Change { environment, ..Change::default() }.apply(&mut self.db, self.root);
        self.load_state.looked_for.clear();
        for (_, file) in self.db.files() {
            self.read_small(system, file);
        }
        self.load_unread(system)
    }

    /// Loads the suite and what it is made of, but nothing that it names.
    pub fn load_suite(&mut self, system: &dyn System) -> Vec<Diagnostic> {
        self.read_suite_files(system);
        self.suite_problems()
    }

    /// Loads everything, but for the small files that the database holds already.
    pub(crate) fn load_unread(&mut self, system: &dyn System) -> Vec<Diagnostic> {
        self.read_suite_files(system);
        let mut diagnostics = self.suite_problems();
        if let Some(suite) = self.suite().cloned()
            && !diagnostics.iter().any(Diagnostic::is_error)
        {
            diagnostics.extend(self.load_what_it_names(&suite, system));
        }
        let is_good = !diagnostics.iter().any(Diagnostic::is_error);
        self.load_state.note(is_good);
        diagnostics.extend(if is_good { None } else { self.linked_suite(system) });
        diagnostics
    }

    fn load_what_it_names(&mut self, suite: &Suite, system: &dyn System) -> Vec<Diagnostic> {
        self.read_all_programs(system);
        let mut diagnostics = self.program_problems();
        self.load_state.looked_for.extend(needed(suite.programs(), system));
        diagnostics.extend(self.load_row_files(system));
        diagnostics.extend(self.load_dataset(system, suite));
        let is_good = !diagnostics.iter().any(Diagnostic::is_error);
        diagnostics.extend(self.load_labels(system, is_good));
        diagnostics
    }

    /// Reads the recorded runs that graders compare with and the votes that they combine; says what is wrong with them.
    fn load_row_files(&mut self, system: &dyn System) -> Vec<Diagnostic> {
        self.row_files = row_files(&self.db, self.root);
        self.read_unread_files(system);
        // Which votes are of no row is said once the rows are there.
        self.row_file_problems()
    }

    fn row_file_problems(&self) -> Vec<Diagnostic> {
        let files = run_files(&self.db, self.root).into_iter();
        let runs = files.flat_map(|file| recorded_run(&self.db, file).problems.clone());
        runs.chain(vote_mistakes(&self.db, self.root)).collect()
    }

    /// Reads the files that the suite needs and that were not read yet, until it needs no more.
    pub(crate) fn read_suite_files(&mut self, system: &dyn System) {
        loop {
            let _ = queries::suite(&self.db, self.root);
            if !self.read_unread_files(system) {
                return;
            }
        }
    }

    /// Reads the files and programs that queries requested since the last call. False if there were none.
    pub fn read_unread(&mut self, system: &dyn System) -> bool {
        let has_files = self.read_unread_files(system);
        self.read_programs(system) || has_files
    }

    fn read_unread_files(&mut self, system: &dyn System) -> bool {
        let unread = self.db.unread_files();
        for (_, file) in &unread {
            self.read_small(system, *file);
        }
        !unread.is_empty()
    }

    pub(crate) fn read_small(&mut self, system: &dyn System, file: File) {
        let path = file.path(&self.db).clone();
        let small = SmallFile::read(system, &path, self.is_big(file));
        self.set_small(vec![(path, small)]);
    }

    pub(crate) fn small_files(&self) -> Vec<(String, SmallFile)> {
        let small = self.db.files().into_iter().map(|(path, file)| {
            let text = file.text(&self.db).clone();
            let digest = self.digests.get(&path).cloned();
            (path, SmallFile { text, digest })
        });
        small.collect()
    }

    /// Whether the file is of rows, and may be big: the results of a run, votes, or labels.
    pub fn is_big(&self, file: File) -> bool {
        evalrs_graph::labels::file(&self.db, self.root) == file || self.row_files.contains(&file)
    }

    /// Brings files that were read into the database.
    pub(crate) fn set_small(&mut self, files: Vec<(String, SmallFile)>) {
        let mut change = Change::default();
        for (path, small) in files {
            change.files.push((self.db.file(&path), small.text));
            match small.digest {
                Some(digest) => drop(self.digests.insert(path, digest)),
                None => drop(self.digests.remove(&path)),
            }
        }
        change.apply(&mut self.db, self.root);
    }

    /// What is wrong with the suite alone, and `--grader` names that it does not have.
    pub(crate) fn suite_problems(&self) -> Vec<Diagnostic> {
        let mut problems = queries::suite(&self.db, self.root).diagnostics.clone();
        let Some(suite) = self.suite() else { return problems };
        let known: Vec<&str> = suite.graders.iter().map(|grader| grader.name.as_str()).collect();
        let wanted = &self.root.overrides(&self.db).graders;
        for name in wanted.iter().filter(|name| !known.contains(&name.as_str())) {
            let place = Place::file(self.root.suite(&self.db).path(&self.db).as_str());
            let problem = Diagnostic::error(place, format!("the suite has no grader `{name}`"));
            problems.push(problem.hint(format!("it has `{}`", known.join("`, `"))));
        }
        problems
    }

    /// The warning that the suite is named by a link to its file, and its files are not looked for
    /// beside the link's target.
    fn linked_suite(&self, system: &dyn System) -> Option<Diagnostic> {
        let path = self.root.suite(&self.db).path(&self.db);
        let target = system.link_target(path).filter(|to| folder_of(to) != folder_of(path))?;
        let message = format!(
            "this is a link to `{target}`: the files it names are looked for beside the \
                     link"
        );
        let hint = "name the suite itself, or link its folder";
        Some(Diagnostic::warning(Place::file(path.as_str()), message).hint(hint))
    }

    fn load_dataset(&mut self, system: &dyn System, suite: &Suite) -> Vec<Diagnostic> {
        let wanted = self.wanted_dataset(suite);
        let trace = ReadTrace::new(system);
        let (reading, origin) = match dataset::read(system, &trace, &wanted, self.held_chunks()) {
            Ok(read) => read,
            Err(diagnostics) => {
                self.load_state.looked_for.extend(trace.take().paths().cloned());
                return diagnostics;
            }
        };
        let mut diagnostics = reading.held.warnings.clone();
        let change = Change { chunks: Some(reading.chunks), ..Change::default() };
        change.apply(&mut self.db, self.root);
        self.dataset = Some(reading.held);
        self.read_rubrics(&rows::rubric_files(&self.db, self.root).clone(), system);
        let loaded = LoadedRows { session: (&self.db, self.root), origins: &origin };
        let problems = loaded.problems(&suite.dataset);
        if problems.is_empty() {
            diagnostics.extend(lints::lints(&self.db, self.root));
            diagnostics.extend(self.undeclared_imports());
        }
        diagnostics.extend(problems);
        diagnostics.extend(shortened(self.recording_problems(system, suite)));
        diagnostics
    }

    pub(crate) fn wanted_dataset<'a>(&'a self, suite: &'a Suite) -> DatasetSource<'a> {
        let said = queries::suite(&self.db, self.root).dataset_place.clone();
        let source = self.recordings_of(suite);
        // Recordings are joined with all rows, and a stream is read once.
        let is_read_again = matches!(source, Ok(None)) && !is_stream(&suite.dataset.path);
        let only = self.only.as_ref().filter(|_| is_read_again);
        let known = self.known_layout.get().filter(|(path, _)| *path == suite.dataset.path);
        let layout = known.map(|(_, layout)| layout);
        DatasetSource { dataset: &suite.dataset, said, source, only, layout }
    }

    /// Reads rubrics that rows name, and what those include, so that one that is not there is found before anything
    /// runs.
    pub(crate) fn read_rubrics(&mut self, paths: &[String], system: &dyn System) {
        loop {
            for path in paths {
                let _ = queries::row_rubric(&self.db, self.root, path);
            }
            if !self.read_unread_files(system) {
                return;
            }
        }
    }

    /// The file or folder that holds the trajectories, if rows do not carry them.
    fn recordings_of(&self, suite: &Suite) -> Result<Option<RecordingSource>, Diagnostic> {
        if let Some(cached) = &self.root.overrides(&self.db).cached {
            let join = RecordingJoin::default();
            return Ok(Some(RecordingSource { path: cached.clone(), said: None, join }));
        }
        let place = queries::suite(&self.db, self.root).target_place.clone();
        match &suite.target {
            TargetSpec::Recorded { path, join, .. } => {
                let join = join.clone();
                Ok(path.clone().map(|path| RecordingSource { path, said: place, join }))
            }
            TargetSpec::Live(_) => Ok(None),
            TargetSpec::NotRunnable { kind, why } => {
                let path = self.root.suite(&self.db).path(&self.db).clone();
                let message = match why {
                    None => format!("this version cannot run a target of kind `{kind}`"),
                    Some(why) => format!("this target of kind `{kind}` cannot be run: {why}"),
                };
                Err(Diagnostic::error(place.unwrap_or_else(|| Place::file(path)), message).hint(
                    "grade recorded results instead: `--cached DIR` with a result directory, or `target: {kind: recorded, path: trajectories.jsonl}`",
                ))
            }
        }
    }

    /// Everything that is wrong with joined recordings, found again where they stand.
    fn recording_problems(&self, system: &dyn System, suite: &Suite) -> Vec<Diagnostic> {
        let first = self.root.chunks(&self.db).iter().find_map(|chunk| {
            let mut problems = queries::checked(&self.db, *chunk).problems.iter();
            problems.find_map(|(_, problem)| problem.recorded.then_some(problem))
        });
        let (Some(first), Ok(Some(source))) = (first.cloned(), self.recordings_of(suite)) else {
            return Vec::new();
        };
        let Some(spec) = queries::row_spec(&self.db, self.root).clone() else { return Vec::new() };
        match recordings::problems(&source, &ReadTrace::new(system), &spec) {
            Ok(found) if !found.is_empty() => found,
            Ok(_) => vec![first.diagnostic(Place::file(source.path))],
            Err(diagnostics) => diagnostics,
        }
    }

    /// The chunks that the database holds, by their content.
    pub(crate) fn held_chunks(&self) -> HeldChunks {
        let chunks = self.root.chunks(&self.db).iter();
        chunks.map(|chunk| chunk.records(&self.db).hash()).collect()
    }

    /// The digest of everything that the results depend on, and of the program that makes them, which `build` names; none
    /// where it cannot be computed.
    pub fn results_digest(&self, build: &str) -> Option<String> {
        let made_of = result_inputs::digest(&self.db, self.root);
        let dataset = self.dataset.as_ref()?.digest.as_str();
        let mut hasher = blake3::Hasher::new();
        hasher.update(made_of.as_bytes());
        // Another program may tell something else of the same.
        hasher.update(build.as_bytes());
        hasher.update(b" ");
        hasher.update(dataset.as_bytes());
        Some(hasher.finalize().to_hex().to_string())
    }

    /// The chunks of the dataset.
    pub fn chunks(&self) -> Vec<Chunk> {
        self.root.chunks(&self.db).clone()
    }

    /// The dataset, and the line of each result's row in the order of the results; no lines once it was edited.
    pub fn rows(&self) -> (Option<&str>, Vec<u32>) {
        // Lines of several files mean nothing without their names.
        let Some(dataset) = self.dataset.as_ref().filter(|dataset| !dataset.is_several()) else {
            return (None, Vec::new());
        };
        let records = evalrs_graph::results::records(&self.db, self.root);
        let lines = records.map(|at| dataset.lines.get(at).copied().unwrap_or_default());
        (Some(&dataset.path), lines.collect())
    }

    /// Which row of the dataset each of its records is of: a row has several where several were recorded of it. None of a
    /// target that is run, whose rows have one each.
    pub fn row_numbers(&self) -> Option<Vec<usize>> {
        if answers::is_live(&self.db, self.root) {
            return None;
        }
        let lines = &self.dataset.as_ref()?.lines;
        let chunks = self.root.chunks(&self.db).iter();
        let texts = chunks.flat_map(|chunk| chunk.records(&self.db).iter().map(|record| record.0));
        let mut number = 0;
        let mut before = None;
        let numbers = texts.enumerate().map(|(at, text)| {
            let row = (lines.get(at), text);
            number += usize::from(before.is_some_and(|before| before != row));
            before = Some(row);
            number
        });
        Some(numbers.collect())
    }

    /// The suite's folder.
    pub fn folder(&self) -> &str {
        folder_of(self.root.suite(&self.db).path(&self.db))
    }

    /// A path as it is written from the suite's folder.
    pub fn relative(&self, path: &str) -> String {
        let folder = self.folder();
        let inside = path.strip_prefix(folder.trim_end_matches('/')).filter(|_| !folder.is_empty());
        // The folder `a` holds `a/b`, and not `ab`.
        let relative = inside.and_then(|rest| rest.strip_prefix('/')).unwrap_or(path);
        // Reports hold no path of a machine: of a file that is named absolutely, its name.
        match relative.rsplit_once('/') {
            Some((_, name)) if relative.starts_with('/') => name.to_owned(),
            _ => relative.to_owned(),
        }
    }
}
