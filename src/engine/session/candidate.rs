//! Reads a suite apart from the database, to see whether the session may hold it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::load_state::Environment;
use super::problems::unreadable;
use super::{Session, SmallFile};
use crate::base::diagnostic::Diagnostic;
use crate::base::system;
use crate::base::system::{System, folder_of};
use crate::graph::baselines::run_of_kind;
use crate::graph::labels::scales_of;
use crate::graph::{queries, rows};
use crate::pipeline::dataset::labels::is_mapped;
use crate::pipeline::spec::ProgramSpec;
use crate::pipeline::spec::Suite;
use crate::pipeline::suite::{FileText, Files, ProgramPlaces, Registry, read_suite, row_rubric};

/// What checking a suite apart tells.
pub(crate) enum Fit {
    /// It is good, and rows that were good for the suite before are good for it.
    Rows,
    /// The rows tell whether it is good.
    Unsure,
    /// It is not.
    Broken { problems: Vec<Diagnostic>, looked_for: BTreeSet<String> },
}

/// The small files as they are now, which the database does not know.
pub(crate) struct SuiteCandidate {
    /// The known files that changed.
    pub(crate) files: BTreeSet<String>,
    /// Whether they are good.
    pub(crate) fit: Fit,
    /// What is new: the files that changed, and those that nobody looked for before.
    pub(crate) edited: BTreeMap<String, SmallFile>,
    /// The environment, if it is another.
    pub(crate) environment: Option<Environment>,
    /// The programs that the suite names, and where.
    pub(crate) programs: Vec<(ProgramSpec, ProgramPlaces)>,
}

impl SuiteCandidate {
    /// Reads what is stale in `session`, and the suite if anything of it is new.
    pub(crate) fn read(session: &Session, system: &dyn System) -> Self {
        let db = &session.db;
        let state = &session.load_state;
        let mut edited = BTreeMap::new();
        for (path, file) in db.files() {
            if state.stale.has(&path) {
                let small = SmallFile::read(system, &path, session.is_big(file));
                if small.text != *file.text(db) {
                    edited.insert(path, small);
                }
            }
        }
        let files: BTreeSet<String> = edited.keys().cloned().collect();
        let held = session.root.environment(db);
        let new = state.environment.clone().filter(|environment| environment != held);
        let environment = new.as_ref().unwrap_or(held);
        let now = CandidateFiles { session, system, environment, edited: RefCell::new(edited) };
        let (fit, programs) = if files.is_empty() && new.is_none() {
            (Fit::Rows, queries::suite(db, session.root).program_places.clone())
        } else {
            now.check(&files)
        };
        Self { files, fit, edited: now.edited.into_inner(), environment: new, programs }
    }
}

/// The files and the environment as they are now.
struct CandidateFiles<'a> {
    session: &'a Session,
    system: &'a dyn System,
    environment: &'a Environment,
    edited: RefCell<BTreeMap<String, SmallFile>>,
}

impl CandidateFiles<'_> {
    fn check(&self, changed: &BTreeSet<String>) -> (Fit, Vec<(ProgramSpec, ProgramPlaces)>) {
        let db = &self.session.db;
        let root = self.session.root;
        let path = root.suite(db).path(db);
        let sandbox = root.overrides(db).sandbox;
        let registry = Registry { sandbox, ..crate::pipeline::registry::registry() };
        let reading = read_suite(path, self, &registry);
        let mut problems = reading.diagnostics;
        let unknown = reading.suite.as_ref().map(|suite| self.session.unknown_names(suite));
        problems.extend(unknown.into_iter().flatten());
        let fit = match reading.suite {
            Some(suite) if !problems.iter().any(Diagnostic::is_error) => {
                if self.asks_the_same(&suite, changed) { Fit::Rows } else { Fit::Unsure }
            }
            _ => {
                let looked_for = changed.iter().cloned().chain(reading.files).collect();
                Fit::Broken { problems, looked_for }
            }
        };
        (fit, reading.program_places)
    }

    /// Whether the suite asks nothing else of rows, and of recorded runs, than the one before.
    fn asks_the_same(&self, suite: &Suite, changed: &BTreeSet<String>) -> bool {
        let db = &self.session.db;
        let root = self.session.root;
        let Some(before) = self.session.suite() else { return false };
        let only = &root.overrides(db).graders;
        let runs = |suite: &Suite| -> BTreeSet<String> {
            let kinds = suite.graders.iter().map(|grader| &grader.kind);
            kinds.filter_map(run_of_kind).map(str::to_owned).collect()
        };
        let is_of_rows =
            |path: &String| db.known_file(path).is_some_and(|file| self.session.is_big(file));
        // Labels that the suite names are good or not by the scales of its graders.
        let is_mapped = queries::row_spec(db, root).as_ref().is_some_and(is_mapped);
        before.dataset == suite.dataset
            && (!is_mapped || scales_of(before) == scales_of(suite))
            && before.target == suite.target
            && queries::needs_of(suite, only) == *queries::row_needs(db, root)
            && runs(suite) == runs(before)
            && !changed.iter().any(is_of_rows)
            && self.rubrics_of_rows_are_good()
    }

    fn rubrics_of_rows_are_good(&self) -> bool {
        let db = &self.session.db;
        let root = self.session.root;
        let folder = folder_of(root.suite(db).path(db));
        rows::rubric_files(db, root).iter().all(|path| {
            unreadable(&row_rubric(&system::join(folder, path), folder, self)).is_none()
        })
    }
}

impl Files for CandidateFiles<'_> {
    fn text(&self, path: &str) -> FileText {
        if let Some(small) = self.edited.borrow().get(path) {
            return small.text.clone();
        }
        let db = &self.session.db;
        let known = db.known_file(path).map(|file| file.text(db).clone());
        match known.filter(|text| *text != FileText::Unread) {
            Some(text) => text,
            None => {
                let small = SmallFile::read(self.system, path, false);
                let text = small.text.clone();
                self.edited.borrow_mut().insert(path.to_owned(), small);
                text
            }
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        self.environment.get(name).cloned()
    }
}
