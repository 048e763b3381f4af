//! The one database: the storage of salsa, the files and programs that queries read, and the outcomes of actions beside
//! them.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use salsa::Storage;

use super::inputs::{Chunk, File, LASTING, Program, ProgramState};
use super::known::{KnownChunk, KnownChunks};
use super::outcomes::{ArchivedReply, OutcomeTable};
use evalrs_base::file_text::FileText;
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::Outcome;
use evalrs_model::spec::ProgramSpec;

/// What `work` gives, unless a write to the database cancels it.
pub fn unless_cancelled<T>(work: impl FnOnce() -> T) -> Option<T> {
    salsa::Cancelled::catch(AssertUnwindSafe(work)).ok()
}

/// What queries may ask of the database besides other queries.
#[salsa::db]
pub trait Db: salsa::Database {
    /// The file at `path`, made on first ask with nothing read yet.
    fn file(&self, path: &str) -> File;

    /// The program that a suite names, made on first ask with nothing read yet.
    fn program(&self, spec: &ProgramSpec) -> Program;

    /// The result of an action, if it is known. Only for queries that have read their chunk's
    /// epoch.
    fn outcome(&self, key: ActionKey) -> Option<Arc<Outcome>>;

    /// The digest of what was replied to an action, if something was; its text may have been let go of.
    fn reply_digest(&self, key: ActionKey) -> Option<u64>;

    /// The digests of the reply to an action, if there is one; its text may have been let go of.
    fn archived_reply(&self, key: ActionKey) -> Option<ArchivedReply>;

    /// What an earlier process found of a chunk, by the digest of its rows.
    fn known_chunk(&self, hash: u128) -> Option<&KnownChunk>;
}

/// The one database.
#[salsa::db]
#[derive(Clone)]
pub struct Database {
    storage: Storage<Self>,
    files: Arc<Mutex<HashMap<String, File>>>,
    programs: Arc<Mutex<HashMap<ProgramSpec, Program>>>,
    /// The result of actions.
    pub outcomes: Arc<OutcomeTable>,
    /// Chunks that were made and hold nothing by now.
    pub(super) spare_slots: Vec<Chunk>,
    known: Arc<OnceLock<KnownChunks>>,
    executed: Arc<Mutex<Vec<String>>>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Database")
    }
}

impl Default for Database {
    fn default() -> Self {
        Self::with(Storage::new(None), Arc::default())
    }
}

impl Database {
    /// A database that remembers which queries it executed, for tests and explanations.
    pub fn recording() -> Self {
        let executed: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&executed);
        let storage = Storage::new(Some(Box::new(move |event: salsa::Event| {
            if let salsa::EventKind::WillExecute { database_key } = event.kind {
                let name = format!("{database_key:?}");
                let name = name.split('(').next().unwrap_or_default().to_owned();
                log.lock().unwrap_or_else(PoisonError::into_inner).push(name);
            }
        })));
        Self::with(storage, executed)
    }

    pub(super) fn with(storage: Storage<Self>, executed: Arc<Mutex<Vec<String>>>) -> Self {
        Self {
            storage,
            files: Arc::default(),
            programs: Arc::default(),
            outcomes: Arc::default(),
            spare_slots: Vec::new(),
            known: Arc::default(),
            executed,
        }
    }

    /// Says what an earlier process found of chunks: once, and before anything is asked.
    pub fn set_known(&self, chunks: KnownChunks) {
        // What is said a second time may be left out: it would only be found again.
        let _ = self.known.set(chunks);
    }

    /// The names of the queries executed since the last call, in order.
    pub fn take_executed(&self) -> Vec<String> {
        std::mem::take(&mut *self.executed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every file that queries read and that was not loaded yet, sorted.
    pub fn unread_files(&self) -> Vec<(String, File)> {
        let mut files = self.files();
        files.retain(|(_, file)| *file.text(self) == FileText::Unread);
        files
    }

    /// The file at `path`, if a query ever read it.
    pub fn known_file(&self, path: &str) -> Option<File> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
    }

    /// Every file that queries ever read, sorted by path.
    pub fn files(&self) -> Vec<(String, File)> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<(String, File)> =
            files.iter().map(|(path, file)| (path.clone(), *file)).collect();
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    }

    /// Every program that queries ever read, with its settings in the suite, sorted by them.
    pub fn programs(&self) -> Vec<(String, Program)> {
        let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<(String, Program)> =
            programs.iter().map(|(spec, program)| (format!("{spec:?}"), *program)).collect();
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    }
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl Db for Database {
    fn file(&self, path: &str) -> File {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(path) {
            return *file;
        }
        let file = File::builder(path.to_owned(), FileText::Unread).durability(LASTING).new(self);
        files.insert(path.to_owned(), file);
        file
    }

    fn program(&self, spec: &ProgramSpec) -> Program {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(spec) {
            return *program;
        }
        let unread = Program::builder(spec.clone(), ProgramState::Unread);
        let program = unread.durability(LASTING).new(self);
        programs.insert(spec.clone(), program);
        program
    }

    fn outcome(&self, key: ActionKey) -> Option<Arc<Outcome>> {
        self.outcomes.outcome(key)
    }

    fn reply_digest(&self, key: ActionKey) -> Option<u64> {
        self.outcomes.reply_digest(key)
    }

    fn archived_reply(&self, key: ActionKey) -> Option<ArchivedReply> {
        self.outcomes.archived(key)
    }

    fn known_chunk(&self, hash: u128) -> Option<&KnownChunk> {
        self.known.get()?.get(&hash)
    }
}
