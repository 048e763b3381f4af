//! Brings a session up to date with files that change, and never loses its last good state.
//!
//! What files say is checked before the database sees it, so that it holds nothing but good states. A suite that changed
//! is loaded into a session of its own, by the same code as the first time. Where it asks the same of rows as the one
//! before, of these only new ones are checked. Else the session of its own loads them too: it says exactly what a first
//! loading would say, and its chunks and files are taken if they are good.
//!
//! Bad rows cannot simply be values in the graph, as mistakes of a suite are: while a file is broken the screen still
//! draws rows, prompts and verdicts of the last good state from the graph, what is queued and in flight names its cases
//! by chunk, and mending the file must find that nothing has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::dataset::{DatasetReading, Reread};
use super::files_read::SmallFile;
use super::load_state::Environment;
use super::problems::unreadable;
use super::programs::program_context::needed;
use super::programs::read_program::ReadProgram;
use super::{Session, lints};
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::file_path::{folder_of, non_empty};
use evalrs_base::file_text::FileText;
use evalrs_eval::dataset::chunk::{ChunkedDataset, Records};
use evalrs_eval::evaluate::sought::SoughtName;
use evalrs_graph::change::Change;
use evalrs_graph::inputs::Program;
use evalrs_graph::labels::{are_rows_labelled, file as labels_file, scales};
use evalrs_graph::row_files::row_files;
use evalrs_graph::{Database, queries, rows};
use evalrs_model::spec::{MetricSpec, ProgramSpec, Suite};
use evalrs_suite::ProgramPlaces;
use evalrs_system::System;
use evalrs_system::changed_paths::ChangedPaths;

/// What reloading found.
#[derive(Debug)]
pub enum ReloadResult {
    /// No file says anything new.
    Same,
    /// The session holds what the files say now.
    Changed {
        /// The files that changed, as the session names them, sorted.
        files: Vec<String>,
        /// What is probably not meant.
        warnings: Vec<Diagnostic>,
    },
    /// What the files say can be evaluated if these programs can be loaded: then it is to be reloaded once more. The
    /// session still holds what they said before.
    NeedsPreflight(Vec<ReadProgram>),
    /// What the files say cannot be evaluated. The session still holds what they said before, as far as it was good.
    Broken {
        /// The files that changed since they were good, as the session names them, sorted.
        files: Vec<String>,
        /// Why.
        problems: Vec<Diagnostic>,
    },
}

impl Session {
    /// Reads again what was `touched`, as [`Session::paths`] names it, and what was broken. The
    /// environment is compared if it is given. Nothing is executed where nothing changed. Programs that could not be
    /// loaded are not tried again unless their files changed, or `retry_preflights` was called.
    #[tracing::instrument(level = "debug", name = "load", skip_all)]
    pub fn reload(
        &mut self,
        system: &dyn System,
        touched: &ChangedPaths,
        environment: Option<BTreeMap<String, String>>,
    ) -> ReloadResult {
        self.load_state.stale.extend(touched.clone());
        if let Some(environment) = environment {
            self.load_state.environment = Some(Arc::new(environment));
        }
        self.reload_once_more(system)
    }

    /// Reloads what the last reload came upon, once its programs were tried.
    pub fn reload_once_more(&mut self, system: &dyn System) -> ReloadResult {
        if !self.load_state.is_good {
            return self.load_until_good(system);
        }
        let edited = self.edited_files(system);
        let mut files: BTreeSet<String> = edited.iter().map(|(path, _)| path.clone()).collect();
        let held = self.root.environment(&self.db);
        let environment = self.load_state.environment.clone().filter(|new| new != held);
        let is_other = !edited.is_empty() || environment.is_some();
        let mut apart = is_other.then(|| self.suite_apart(edited, system));
        if let Some(apart) = &apart {
            let problems = apart.suite_problems();
            if problems.iter().any(Diagnostic::is_error) {
                let asked = &queries::suite(&apart.db, apart.root).files;
                let looked_for = files.iter().chain(asked).cloned().collect();
                return self.broken(files, problems, looked_for);
            }
        }
        let now = apart.as_ref().unwrap_or(self);
        let named = queries::suite(&now.db, now.root).program_places.clone();
        let programs = match self.edited_programs(&named, system) {
            Ok(programs) => programs,
            Err(problems) => return self.uncallable(&named, problems, system),
        };
        match self.needed_preflights(&programs, system) {
            Ok(preflights) if preflights.is_empty() => {}
            Ok(preflights) => return ReloadResult::NeedsPreflight(preflights),
            Err(problems) => return self.uncallable(&named, problems, system),
        }
        let asks_the_same =
            apart.as_mut().is_none_or(|apart| self.asks_the_same(apart, &files, system));
        let reread = if asks_the_same { self.reread_dataset(system) } else { Reread::Doubtful };
        let reading = match reread {
            Reread::Same => None,
            Reread::New(reading) if self.pass_quick_checks(&reading.chunks) => Some(reading),
            Reread::New(_) | Reread::Doubtful => {
                let apart = apart.unwrap_or_else(|| self.suite_apart(Vec::new(), system));
                return self.load_apart(apart, files, programs, system);
            }
        };
        files.extend(reading.iter().flat_map(|reading| reading.changed.iter().cloned()));
        let is_same = reading.is_none() && apart.is_none();
        self.bring_in(apart.iter().flat_map(Self::small_files).collect(), environment, reading);
        while self.read_unread(system) {}
        let programs = self.take_programs(programs, system);
        if is_same && programs.is_empty() {
            self.load_state.note(true);
            return ReloadResult::Same;
        }
        files.extend(programs);
        self.read_programs(system);
        self.read_rubrics(&rows::rubric_files(&self.db, self.root).clone(), system);
        self.row_files = row_files(&self.db, self.root);
        self.changed(files, None)
    }

    /// The known files that are stale and say something new.
    fn edited_files(&self, system: &dyn System) -> Vec<(String, SmallFile)> {
        let mut edited = Vec::new();
        for (path, file) in self.db.files() {
            if self.load_state.stale.has(&path) {
                let small = SmallFile::read(system, &path, self.is_big(file));
                edited.extend((small.text != *file.text(&self.db)).then_some((path, small)));
            }
        }
        edited
    }

    /// A session of its own that holds the suite as it is now, with these files, and nothing of what it names.
    fn suite_apart(&self, edited: Vec<(String, SmallFile)>, system: &dyn System) -> Self {
        let db = &self.db;
        let held = self.root.environment(db);
        let environment = self.load_state.environment.as_ref().unwrap_or(held).as_ref().clone();
        let path = self.root.suite(db).path(db);
        let overrides = self.root.overrides(db).clone();
        let apart = Self::new(Database::default(), path, environment, overrides);
        let mut apart = apart.in_workspace(&self.workspace);
        apart.set_small(self.small_files());
        apart.set_small(edited);
        apart.read_suite_files(system);
        apart
    }

    /// Whether the suite in `apart` needs the same of rows, and of recorded runs, as the loaded one: then rows that are
    /// good for this one are good for that one.
    fn asks_the_same(
        &self,
        apart: &mut Self,
        edited: &BTreeSet<String>,
        system: &dyn System,
    ) -> bool {
        let db = &self.db;
        let root = self.root;
        let (Some(before), Some(suite)) = (self.suite(), apart.suite()) else { return false };
        let runs = |session: &Self| -> Vec<String> {
            let files = row_files(&session.db, session.root).into_iter();
            files.map(|file| file.path(&session.db).clone()).collect()
        };
        let is_of_rows = |path: &String| db.known_file(path).is_some_and(|file| self.is_big(file));
        let ask = |suite: &Suite| -> Vec<MetricSpec> {
            suite.metrics.iter().filter(|metric| metric.asks_rows()).cloned().collect()
        };
        // Labels that the suite names are good or not by the scales of its graders, and so are classes.
        let asks_scales = are_rows_labelled(db, root)
            || suite.metrics.iter().any(|metric| metric.class().is_some());
        let is_same = before.dataset == suite.dataset
            && before.labels == suite.labels
            && ask(before) == ask(suite)
            && (!asks_scales || scales(db, root) == scales(&apart.db, apart.root))
            && before.target == suite.target
            && queries::row_needs(db, root) == queries::row_needs(&apart.db, apart.root)
            && self.are_names_known(suite)
            && runs(self) == runs(apart)
            && !edited.iter().any(is_of_rows);
        if !is_same {
            return false;
        }
        let rubrics = rows::rubric_files(db, root);
        apart.read_rubrics(rubrics, system);
        rubrics
            .iter()
            .all(|path| unreadable(queries::row_rubric(&apart.db, apart.root, path)).is_none())
    }

    /// Whether rubrics have only names in braces that the loaded ones have: an unknown name is an error, and only
    /// rows show it.
    fn are_names_known(&self, suite: &Suite) -> bool {
        let held = rows::sought(&self.db, self.root);
        let mut sought = suite.graders.iter().flat_map(SoughtName::by_grader);
        sought.all(|sought| !matches!(sought, SoughtName::Name(_)) || held.contains(&sought))
    }

    /// Programs cannot be called. What is named as the place of a problem may be what keeps one from being loaded, and so
    /// may whatever lies beside it.
    fn uncallable(
        &mut self,
        named: &[(ProgramSpec, ProgramPlaces)],
        problems: Vec<Diagnostic>,
        system: &dyn System,
    ) -> ReloadResult {
        let paths = || named.iter().map(|(spec, _)| &spec.path).filter(|path| !path.is_empty());
        let mut looked_for = self.program_paths();
        looked_for.extend(paths().cloned());
        let places = problems.iter().filter_map(|problem| problem.place.as_ref());
        looked_for.extend(places.map(|place| place.path.clone()));
        looked_for.extend(needed(named.iter().map(|(spec, _)| spec), system));
        // What programs were just seen to load is looked at anew, which is no edit.
        let is_edited =
            |path: &&String| self.load_state.stale.has(path) && !self.is_as_known(path, system);
        let files = looked_for.iter().filter(is_edited).cloned().collect();
        self.preflights.beside =
            paths().map(|path| non_empty(folder_of(path)).to_owned()).collect();
        looked_for.extend(self.preflights.beside.iter().cloned());
        looked_for.extend(self.program_folders());
        self.broken(files, problems, looked_for)
    }

    /// Takes it that what was read for the first time cannot be evaluated after all.
    pub(crate) fn first_is_broken(
        &mut self,
        problems: Vec<Diagnostic>,
        system: &dyn System,
    ) -> ReloadResult {
        let named = queries::suite(&self.db, self.root).program_places.clone();
        self.load_state.note(false);
        self.uncallable(&named, problems, system)
    }

    /// Loads everything: nothing good can be lost.
    fn load_until_good(&mut self, system: &dyn System) -> ReloadResult {
        let diagnostics = self.load(system);
        let folders = self.program_folders();
        let mut files: BTreeSet<String> = &self.paths() - &folders;
        // Labels beside the suite are looked for whether they are there or not.
        let labels = labels_file(&self.db, self.root);
        if *labels.text(&self.db) == FileText::Missing {
            files.remove(labels.path(&self.db));
        }
        if self.load_state.is_good {
            return self.changed(files, Some(diagnostics));
        }
        let looked_for = std::mem::take(&mut self.load_state.looked_for);
        self.broken(files, diagnostics, looked_for)
    }

    fn broken(
        &mut self,
        files: BTreeSet<String>,
        problems: Vec<Diagnostic>,
        looked_for: BTreeSet<String>,
    ) -> ReloadResult {
        self.load_state.broken = Some(files.clone());
        self.load_state.looked_for = looked_for;
        ReloadResult::Broken { files: files.into_iter().collect(), problems }
    }

    /// Says what changed, and the warnings about it unless they are known.
    fn changed(
        &mut self,
        mut files: BTreeSet<String>,
        known: Option<Vec<Diagnostic>>,
    ) -> ReloadResult {
        files.extend(self.load_state.broken.take().into_iter().flatten());
        self.load_state.note(true);
        let warnings = known.unwrap_or_else(|| self.warnings());
        ReloadResult::Changed { files: files.into_iter().collect(), warnings }
    }

    /// What is probably not meant.
    fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = queries::suite(&self.db, self.root).diagnostics.clone();
        warnings.extend(self.row_file_problems());
        warnings.extend(self.dataset.iter().flat_map(|dataset| dataset.warnings.iter().cloned()));
        warnings.extend(lints::lints(&self.db, self.root));
        warnings.extend(self.undeclared_imports());
        warnings.extend(self.no_labels());
        warnings
    }

    fn reread_dataset(&mut self, system: &dyn System) -> Reread {
        let Some(suite) = self.suite().cloned() else { return Reread::Doubtful };
        let Some(mut held) = self.dataset.take() else { return Reread::Doubtful };
        let wanted = self.wanted_dataset(&suite);
        let reread = held.reread(system, &wanted, &self.load_state.stale, || self.held_chunks());
        self.dataset = Some(held);
        reread
    }

    fn bring_in(
        &mut self,
        edited: Vec<(String, SmallFile)>,
        environment: Option<Environment>,
        reading: Option<Box<DatasetReading>>,
    ) {
        self.set_small(edited);
        let mut change = Change { environment, ..Change::default() };
        if let Some(reading) = reading {
            let DatasetReading { chunks, held, .. } = *reading;
            change.chunks = Some(chunks);
            self.dataset = Some(held);
        }
        change.apply(&mut self.db, self.root);
    }

    /// Loads the rest into a session that holds the suite, and takes it over if it is good.
    fn load_apart(
        &mut self,
        mut apart: Self,
        mut files: BTreeSet<String>,
        programs: Vec<(Program, ReadProgram)>,
        system: &dyn System,
    ) -> ReloadResult {
        let diagnostics = apart.load_unread(system);
        match (&self.dataset, &apart.dataset) {
            (Some(held), Some(read)) => files.extend(held.changed(read, &ChangedPaths::Any)),
            (Some(held), None) if !held.is_several() && self.load_state.stale.has(&held.path) => {
                files.insert(held.path.clone());
            }
            _ => {}
        }
        if !apart.load_state.is_good {
            return self.broken(files, diagnostics, apart.paths());
        }
        self.take_over(apart);
        files.extend(self.take_programs(programs, system));
        self.read_programs(system);
        self.row_files = row_files(&self.db, self.root);
        self.changed(files, Some(diagnostics))
    }

    fn take_over(&mut self, apart: Self) {
        let edited = apart.small_files();
        let Self { db, root, dataset, .. } = apart;
        let environment = Some(Arc::clone(root.environment(&db)));
        let mut held = self.held_chunks();
        let records = root.chunks(&db).iter().map(|chunk| chunk.records(&db));
        let records: Vec<(&Arc<Records>, bool)> =
            records.map(|records| (records, held.take(records.hash()))).collect();
        let is_mostly_held = records.iter().filter(|(_, held)| *held).count() * 2 > records.len();
        let chunks = records.iter().map(|(records, is_held)| {
            let fresh = || if is_mostly_held { records.detached() } else { (***records).clone() };
            let fresh = (!is_held).then(fresh);
            ChunkedDataset { hash: records.hash(), records: records.len(), fresh }
        });
        let chunks: Vec<ChunkedDataset> = chunks.collect();
        let reading = dataset.map(|mut held| {
            held.let_go();
            Box::new(DatasetReading { chunks, held, changed: Vec::new() })
        });
        self.bring_in(edited, environment, reading);
    }
}
