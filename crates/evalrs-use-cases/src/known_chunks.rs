//! What a run finds of the chunks of its dataset, kept for the next run of the suite in `.evalrs/index`: a header with what it
//! was found with, and the packs of `known_packs`.
//!
//! So a run after an edit of one row reads the rows of one chunk, and one after an edit of one rubric asks nothing of the other
//! graders. Rows are known by their digest, and settings by theirs. Whether the store still has the same outcomes is told by
//! the states of its files. Keys that were written since are looked up again, and where an old segment is gone, all are.
//!
//! Deleting the files changes no byte of any report.

use std::cell::OnceCell;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::args::{EvaluateArgs, StoreArgs};
use super::console::Console;
use super::context::SuiteContext;
use super::error::Error;
use super::known_packs::{KnownPacks, KnownTable};
use super::open::session_with_known;
use super::remembered::{index_file, is_ci, read_signed, signed, store_states};
use super::run_record::KeptRun;
use super::spliced_results::EarlierResults;
use super::usage::is_narrowed;
use evalrs_base::file_path::join;
use evalrs_engine::session::Session;
use evalrs_engine::session::known::ResultPlaces;
use evalrs_graph::Db;
use evalrs_graph::inputs::Overrides;
use evalrs_model::key::KeySet;
use evalrs_store::record;
use evalrs_store::record::parts::ResultsPart;
use evalrs_store::record::result_files::{are_results_same, results_state};
use evalrs_store::{keys_of_segment, process_mark};
use evalrs_system::traced::settled_state;
use evalrs_system::{FileState, System};

/// The version of the files.
const FORMAT: u32 = 4;

/// A smaller dataset is read again: that takes no longer.
const FEWEST_CHUNKS: usize = 16;

/// What the chunks were found with.
#[derive(Debug, Serialize, Deserialize)]
struct KnownHeader {
    format: u32,
    /// What they were found by: another build may find something else.
    build: String,
    /// The digest of the table of chunks.
    chunks: String,
    store: StoreThen,
    /// The results in which those of the chunks stand.
    results: Option<NotedResults>,
}

/// The results of a run as they were left.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct NotedResults {
    run: String,
    digest: String,
    bytes: u64,
    /// The digest of the states of their files.
    state: String,
}

/// A run whose record is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownRun<'a> {
    pub id: &'a str,
    /// That of its results.
    pub digest: &'a str,
    /// Where those of each chunk stand; nothing where nobody knows it.
    pub parts: &'a [ResultsPart],
}

impl<'a> KnownRun<'a> {
    /// The run of which this was recorded.
    pub(super) fn of(id: &'a str, kept: &'a KeptRun) -> Option<Self> {
        kept.results.as_ref().map(|(digest, parts)| Self { id, digest, parts })
    }
}

/// The files of a store, with their states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoreThen {
    segments: Vec<(String, FileState)>,
    committed: Vec<(String, FileState)>,
}

/// What earlier runs of a suite found, and where that is kept.
pub(super) struct KnownDataset<'a> {
    /// The path of the header.
    header: String,
    packs: KnownPacks<'a>,
    /// What the header and the table say when they are first read.
    read: OnceCell<Option<KnownHeader>>,
    table: OnceCell<Option<KnownTable>>,
    /// Whether the store is read whatever the states of its files tell.
    verifies: bool,
    surroundings: &'a SuiteContext,
    system: &'a dyn System,
}

impl<'a> KnownDataset<'a> {
    /// None where a run neither takes nor leaves anything. Nor may one that is displayed: that reads the plans of all rows.
    pub(super) fn of(
        args: &EvaluateArgs,
        suite: &str,
        surroundings: &'a SuiteContext,
        system: &'a dyn System,
    ) -> Option<Self> {
        let repeats_calls = args.retry_errors || !args.refresh.is_empty();
        if repeats_calls || args.no_record || args.only_targets {
            return None;
        }
        let verifies = args.verify || is_ci(system);
        Some(Self { verifies, ..Self::at(suite, surroundings, system) })
    }

    fn at(suite: &str, surroundings: &'a SuiteContext, system: &'a dyn System) -> Self {
        let home = surroundings.records();
        let header = index_file(&home, suite, "chunks.json", system);
        let packs = KnownPacks {
            table: index_file(&home, suite, "chunks", system),
            folder: index_file(&home, suite, "packs", system),
            system,
        };
        Self {
            header,
            packs,
            read: OnceCell::new(),
            table: OnceCell::new(),
            verifies: is_ci(system),
            surroundings,
            system,
        }
    }

    /// Gives a session of which nothing is loaded what is known.
    pub(super) fn bring_in(&self, session: &Session) {
        let Some(table) = self.table() else { return };
        session.db.set_known(self.packs.chunks(table));
        if let Some((path, layout)) = &table.layout {
            session.set_known_layout(path.clone(), layout.clone());
        }
    }

    /// Takes the outcomes that known grades rest on as they were, as far as the files of the store tell. Returns these files.
    pub(super) fn trust(&self, session: &Session) -> Option<StoreSeen> {
        let now = self.store()?;
        if !self.verifies
            && let Some(header) = self.header()
            && let Some(written) = self.written_since(&header.store, &now)
        {
            session.trust_known(&written);
        }
        Some(StoreSeen(now))
    }

    /// The results of the last run, if nobody has written to them since.
    pub(super) fn last_results(&self) -> Option<EarlierResults> {
        let NotedResults { run, digest, bytes, state } = self.header()?.results.clone()?;
        let folder = self.folder_of(&run);
        let is_same = are_results_same(self.system, &folder, &state, &digest);
        is_same.then_some(EarlierResults { run, folder, digest, bytes })
    }

    fn folder_of(&self, run: &str) -> String {
        join(&record::runs_of(&self.surroundings.records()), run)
    }

    /// The results of a run as they are left, and whether those of each chunk stand where they did.
    fn noted(&self, run: KnownRun<'_>) -> Option<(NotedResults, bool)> {
        let state = results_state(self.system, &self.folder_of(run.id))?;
        let KnownRun { id, digest, parts } = run;
        let held = self.header().and_then(|header| header.results.as_ref());
        let held = held.filter(|held| held.digest == digest);
        let bytes = match (parts.last(), &held) {
            (Some(last), _) => last.end(),
            (None, Some(held)) => held.bytes,
            (None, None) => return None,
        };
        let noted = NotedResults { run: id.to_owned(), digest: digest.to_owned(), bytes, state };
        Some((noted, parts.is_empty() && held.is_some()))
    }

    /// Keeps what is known by now. `seen` are the files of the store before anything was read of it.
    pub(super) fn keep(
        &self,
        session: &Session,
        seen: StoreSeen,
        questions: &[[u8; 32]],
        run: Option<KnownRun<'_>>,
    ) {
        // Of a part of the suite less is known than before.
        if session.chunks().len() < FEWEST_CHUNKS || is_narrowed(session) {
            return;
        }
        let noted = run.and_then(|run| self.noted(run));
        let places = match (&noted, run) {
            (Some((_, true)), _) => ResultPlaces::AsBefore,
            (Some(_), Some(run)) => {
                ResultPlaces::At(run.parts.iter().map(|part| (part.from, part.bytes)).collect())
            }
            _ => ResultPlaces::Unknown,
        };
        let known = session.known_chunks(questions, places);
        // It is only a matter of time if they cannot be written. The header names the table, so it comes last.
        let was_read = |hash| session.db.known_chunk(hash).is_some();
        let written = self.packs.write(self.table(), &was_read, &known, session.dataset_layout());
        let Some(chunks) = written else { return };
        let header = KnownHeader {
            format: FORMAT,
            build: env!("EVALRS_BUILD").to_owned(),
            chunks,
            store: self.with_own(seen.0),
            results: noted.map(|(noted, _)| noted),
        };
        write_header(&self.header, &header, self.system);
    }

    fn table(&self) -> Option<&KnownTable> {
        let read = || self.packs.read(&self.header()?.chunks);
        self.table.get_or_init(read).as_ref()
    }

    fn header(&self) -> Option<&KnownHeader> {
        let read = || read_header(&self.header, self.system);
        self.read.get_or_init(read).as_ref()
    }

    /// The files of the store; none where the system knows too little of files.
    fn store(&self) -> Option<StoreThen> {
        let all = store_states(self.system, &join(&self.surroundings.cache_dir, "v1"))?;
        let segments = all.into_iter().filter(|(name, _)| name.starts_with("seg/")).collect();
        let shared = self.surroundings.shared_files(self.system).ok()?;
        let shared = shared.into_iter().map(|(_, path)| path);
        let committed = self.surroundings.committed_files(self.system).into_iter().chain(shared);
        // Segments only grow. A committed file may be written again without another state.
        let committed = committed.map(|path| {
            let state = settled_state(self.system, &path)?;
            Some((path, state))
        });
        Some(StoreThen { segments, committed: committed.collect::<Option<_>>()? })
    }

    /// The keys that were written since; none if something is gone, and anything may be another.
    fn written_since(&self, then: &StoreThen, now: &StoreThen) -> Option<KeySet> {
        let is_there =
            |(name, _): &(String, FileState)| now.segments.iter().any(|(it, _)| it == name);
        if then.committed != now.committed || !then.segments.iter().all(is_there) {
            return None;
        }
        let mut keys = KeySet::default();
        let dir = Path::new(&self.surroundings.cache_dir);
        for segment in now.segments.iter().filter(|segment| !then.segments.contains(segment)) {
            let name = segment.0.strip_prefix("seg/").unwrap_or(&segment.0);
            keys.extend(keys_of_segment(dir, name).ok()?);
        }
        Some(keys)
    }

    /// The same files, and those that this process has written since. What others have written since may be read or not: so it
    /// counts as written later.
    fn with_own(&self, seen: StoreThen) -> StoreThen {
        let Some(now) = self.store() else { return seen };
        let own = now.segments.into_iter().filter(|(name, _)| name.contains(process_mark()));
        let known: Vec<_> =
            seen.segments.into_iter().filter(|(name, _)| !name.contains(process_mark())).collect();
        StoreThen { segments: known.into_iter().chain(own).collect(), ..seen }
    }
}

/// A session that knows what the last run found, for a command that leaves nothing; warnings are printed.
pub fn session_that_knows(
    suite: &str,
    store: &StoreArgs,
    overrides: Overrides,
    console: &mut Console<'_>,
) -> Result<(SuiteContext, Session), Error> {
    let system = console.system;
    let bring_in = |session: &Session, surroundings: &SuiteContext| {
        KnownDataset::at(suite, surroundings, system).bring_in(session);
    };
    let loaded = session_with_known(&bring_in, suite, store, overrides, console)?;
    let (surroundings, session) = &loaded;
    KnownDataset::at(suite, surroundings, system).trust(session);
    Ok(loaded)
}

/// Notes that a run has given the results of the `last` one another name, which changes the state of that file.
pub(super) fn note_linked_results(
    suite: &str,
    surroundings: &SuiteContext,
    [last, now]: [&str; 2],
    system: &dyn System,
) {
    let home = surroundings.records();
    let path = index_file(&home, suite, "chunks.json", system);
    let folder = join(&record::runs_of(&home), now);
    let held = read_header(&path, system);
    let held = held.filter(|held| held.results.as_ref().is_some_and(|results| results.run == last));
    if let (Some(mut header), Some(state)) = (held, results_state(system, &folder)) {
        header.results =
            header.results.map(|results| NotedResults { run: now.to_owned(), state, ..results });
        write_header(&path, &header, system);
    }
}

fn read_header(path: &str, system: &dyn System) -> Option<KnownHeader> {
    let header: KnownHeader = read_signed(&system.read(path).into_bytes().ok()?)?;
    let is_readable = header.format == FORMAT && header.build == env!("EVALRS_BUILD");
    is_readable.then_some(header)
}

/// It is only a matter of time if it cannot be written.
fn write_header(path: &str, header: &KnownHeader, system: &dyn System) {
    let text = signed(header);
    let _ = text.map(|text| system.write(path, &mut |file| file.write_all(text.as_bytes())));
}

/// The files of the store at one moment.
#[derive(Debug)]
pub(super) struct StoreSeen(StoreThen);
