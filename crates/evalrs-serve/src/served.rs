//! The served data: the records of a workspace, the suites of the command line, and their parts in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use super::answer::ApiError;
use super::given_labels::LabelUndo;
use super::held_suites::{HeldSuites, SuiteNow};
use super::job::Jobs;
use super::locks::locked;
use crate::label_file::label_file;
use crate::view::labels::{LabelFile, LabelledGrader, RunLabels};
use crate::view::rows::RunRows;
use crate::view::run::{RunView, labelled_graders, open_run, run_ids};
use evalrs_base::file_path::join;
use evalrs_store::record::label_writer::{UnwrittenLabel, check_writable};
use evalrs_store::record::read::{PastHeader, PastRun};
use evalrs_store::record::reference::{LATEST, find};
use evalrs_store::record::result_files::results_stamp;
use evalrs_store::record::runs_of;
use evalrs_system::WriteStamp;
use evalrs_system::os::OsSystem;
use evalrs_use_cases::context::SuiteContext;

/// The rows in memory of all runs together; those of one run are kept however many they are.
const MOST_ROWS: usize = 200_000;

/// How many submissions graders of suites grade at once: each takes a thread of those that read files.
const MOST_GRADED: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct ServedSuite {
    /// Its name in its file when the server began.
    pub name: String,
    pub path: String,
}

/// What is served.
pub(super) struct ServedWorkspace {
    /// The suites that were named, in order.
    pub suites: Vec<ServedSuite>,
    /// The folder of the records of runs.
    pub home: String,
    /// The file of labels, if set.
    pub labels: Option<String>,
    /// The folder of the store, if set.
    pub cache_dir: Option<String>,
    /// Whether nothing is evaluated or written.
    pub read_only: bool,
    /// Whether requests say whose label they give.
    pub labellers: bool,
    /// The first suite that was named, as its file; empty without one. Its folder decides the workspace.
    pub first: String,
    /// The last sent histories, one a suite.
    pub histories: Mutex<Vec<HeldHistory>>,
    pub jobs: Jobs,
    /// Labels are changed one after the other.
    pub writing: Mutex<()>,
    pub undo: LabelUndo,
    pub held: Mutex<VecDeque<HeldRows>>,
    /// One run is read at a time.
    pub reading: Mutex<()>,
    /// Two runs are compared at a time.
    pub comparing: Mutex<()>,
    pub sessions: HeldSuites,
    /// Submissions that graders of suites grade at once.
    pub grading: Arc<Semaphore>,
    pub has_ended: watch::Sender<bool>,
}

/// A history as last sent: pairing the samples of two runs reads both.
pub(super) struct HeldHistory {
    pub suite: String,
    /// Of the bytes of its file.
    pub digest: blake3::Hash,
    pub told: Value,
}

pub(super) struct HeldRows {
    id: String,
    /// Of the file they were read from.
    stamp: Option<WriteStamp>,
    rows: Arc<RunRows>,
}

impl ServedWorkspace {
    /// What is served where records are in `home`.
    pub(crate) fn new(suites: Vec<ServedSuite>, home: String) -> Self {
        Self {
            suites,
            home,
            labels: None,
            cache_dir: None,
            read_only: false,
            labellers: false,
            first: String::new(),
            histories: Mutex::new(Vec::new()),
            jobs: Jobs::default(),
            writing: Mutex::new(()),
            undo: LabelUndo::default(),
            held: Mutex::new(VecDeque::new()),
            reading: Mutex::new(()),
            comparing: Mutex::new(()),
            sessions: HeldSuites::default(),
            grading: Arc::new(Semaphore::new(MOST_GRADED)),
            has_ended: watch::Sender::new(false),
        }
    }

    /// Stops what waits for judges and programs.
    pub(crate) fn end(&self) {
        self.has_ended.send_replace(true);
    }

    /// Resolves when the server ends.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let mut has_ended = self.has_ended.subscribe();
        async move {
            // Who can no longer tell has ended too.
            let _ = has_ended.wait_for(|has_ended| *has_ended).await;
        }
    }

    pub(crate) fn suite(&self, name: &str) -> Option<&ServedSuite> {
        self.suites.iter().find(|suite| suite.name == name)
    }

    /// The suite with this name, which a request is to change something of.
    pub(crate) fn known_suite(&self, name: &str) -> Result<&ServedSuite, ApiError> {
        let unknown = "no such suite is served";
        self.suite(name).ok_or_else(|| ApiError::not_found(unknown))
    }

    /// Refuses a request that would change something, where the server only reads.
    pub(crate) fn check_writable(&self) -> Result<(), ApiError> {
        if self.read_only { Err(ApiError::forbidden("this server only reads")) } else { Ok(()) }
    }

    /// The recorded runs, the newest first, each read on demand.
    pub(crate) fn runs(&self) -> impl Iterator<Item = PastRun> {
        let ids = run_ids(&OsSystem, &self.home).into_iter();
        ids.filter_map(|id| open_run(&OsSystem, &self.home, &id))
    }

    pub(crate) fn newest_run(&self, suite: &str) -> Option<PastRun> {
        self.runs().find(|run| run.header.suite == suite)
    }

    /// What lists show of a run.
    pub(crate) fn view(&self, run: &PastRun) -> RunView {
        RunView::read(&OsSystem, run, self.jobs.is_under_way(&run.id))
    }

    /// The record that `id` names: its own id, or `latest`.
    pub(crate) fn run(&self, id: &str) -> Result<PastRun, ApiError> {
        let unknown = || ApiError::not_found("no such run");
        // What a browser sends is never a path.
        if id.is_empty() || id.contains(['/', '\\', '\0']) || id.starts_with('.') {
            return Err(unknown());
        }
        if id == LATEST {
            return find(&OsSystem, &self.home, LATEST).map_err(|_| unknown());
        }
        open_run(&OsSystem, &self.home, id).or_else(|| self.begun(id)).ok_or_else(unknown)
    }

    /// The id that an address means.
    pub(crate) async fn named(self: Arc<Self>, id: String) -> Result<String, ApiError> {
        if id != LATEST {
            return Ok(id);
        }
        beside(move || Ok(self.run(&id)?.id)).await
    }

    /// An evaluation that was begun here and has no record yet, or was refused before it had one.
    fn begun(&self, id: &str) -> Option<PastRun> {
        let suite = self.jobs.job(id)?.suite.clone();
        let header = PastHeader { suite, ..PastHeader::default() };
        Some(PastRun { id: id.to_owned(), folder: join(&runs_of(&self.home), id), header })
    }

    /// The rows of a run, read once for as long as its file stays as it is.
    pub(crate) fn rows(&self, run: &PastRun) -> Arc<RunRows> {
        let stamp = results_stamp(&OsSystem, &run.folder);
        if let Some(rows) = self.held_rows(&run.id, stamp.as_ref()) {
            return rows;
        }
        let _reading = locked(&self.reading);
        // Who waited finds what the one before has read.
        if let Some(rows) = self.held_rows(&run.id, stamp.as_ref()) {
            return rows;
        }
        let rows = Arc::new(RunRows::read(&OsSystem, run, labelled_graders(&run.header)));
        let mut held = locked(&self.held);
        held.retain(|other| other.id != run.id);
        held.push_front(HeldRows { id: run.id.clone(), stamp, rows: Arc::clone(&rows) });
        let mut count = 0;
        held.retain(|held| {
            let is_first = count == 0;
            count += held.rows.rows.len().max(1);
            is_first || count <= MOST_ROWS
        });
        rows
    }

    fn held_rows(&self, id: &str, stamp: Option<&WriteStamp>) -> Option<Arc<RunRows>> {
        let mut held = locked(&self.held);
        let at = held.iter().position(|held| held.id == id && held.stamp.as_ref() == stamp)?;
        let found = held.remove(at)?;
        let rows = Arc::clone(&found.rows);
        held.push_front(found);
        Some(rows)
    }

    /// The file of the labels of a suite: that of the command line, else that of the suite, else the one beside it.
    pub(super) fn labels_file(&self, suite: &ServedSuite) -> LabelFile {
        label_file(self.labels.as_deref(), &suite.path, self.cache_dir.as_deref(), &OsSystem)
    }

    /// Why labels of a suite cannot be written; none where they can.
    pub(super) fn labels_fixed(&self, suite: &ServedSuite) -> Option<String> {
        let LabelFile { path, layout, .. } = self.labels_file(suite);
        check_writable(&path, &layout).err().map(UnwrittenLabel::into_message)
    }

    /// The labels for the rows of a run, as they are now.
    pub(crate) fn labels(&self, run: &PastRun, rows: &RunRows) -> RunLabels {
        let file = match self.suite(&run.header.suite) {
            Some(suite) => self.labels_file(suite),
            None => match &self.labels {
                Some(path) => LabelFile { path: path.clone(), ..LabelFile::default() },
                None => return RunLabels::default(),
            },
        };
        RunLabels::read_file(&file, &rows.graders, &OsSystem)
    }

    /// The labels of a suite for these graders, as they are now.
    pub(super) fn suite_labels(
        &self,
        suite: &ServedSuite,
        graders: &[LabelledGrader],
    ) -> RunLabels {
        RunLabels::read_file(&self.labels_file(suite), graders, &OsSystem)
    }

    /// Whose labels those of a suite are, unless a request says; none where nobody knows.
    pub(crate) fn labeller(&self, suite: &ServedSuite) -> Option<String> {
        self.context(&suite.path).ok()?.labeller()
    }

    pub(crate) fn context(&self, path: &str) -> Result<SuiteContext, ApiError> {
        SuiteContext::find(path, self.cache_dir.as_deref(), &OsSystem).map_err(ApiError::failed)
    }

    /// Does something with a suite as it is now, narrowed down to `samples` if there are any. One suite is used at a
    /// time, so that many requests take no more memory than one.
    pub(super) fn with_suite<T>(
        &self,
        suite: &ServedSuite,
        samples: &[String],
        work: impl FnOnce(SuiteNow<'_>) -> T,
    ) -> Result<T, ApiError> {
        let surroundings = self.context(&suite.path)?;
        Ok(self.sessions.with(&suite.path, samples, &surroundings, work))
    }
}

/// Runs `work`, which reads files, beside the server.
pub(super) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(ApiError::internal(format!("the server failed: {error}"))))
}
