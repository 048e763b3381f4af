//! The results of an evaluation in dataset order, put together ahead of time on several threads.
//!
//! Threads work on clones of the database, each on every so many-th chunk, and wait where their reader is slow. A write to
//! the database would wait for them: they end with the iterator.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use evalrs_graph::inputs::{Chunk, Root};
use evalrs_graph::{Database, results};
use evalrs_metrics::results::ResultLine;

/// Chunks whose results one thread puts together before several are worth while.
const MAX_CHUNKS_ALONE: usize = 64;

const MAX_THREADS: usize = 4;

/// Chunks whose results are ready on each thread.
const CHUNKS_AHEAD: usize = 2;

/// The results in dataset order, each once.
pub fn lines_ahead(db: &Database, root: Root) -> Box<dyn Iterator<Item = ResultLine> + '_> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let chunks = root.chunks(db);
    if threads == 1 || chunks.len() <= MAX_CHUNKS_ALONE {
        return Box::new(results::lines(db, root));
    }
    let of_thread = |first: usize| {
        let own: Vec<Chunk> = chunks.iter().copied().skip(first).step_by(threads).collect();
        ChunkLines::start(db.clone(), own)
    };
    let mut of_threads: Vec<ChunkLines> = (0..threads).map(of_thread).collect();
    Box::new((0..chunks.len()).flat_map(move |at| of_threads[at % threads].next_chunk()))
}

/// A thread that puts the results of its chunks together.
struct ChunkLines {
    /// None only while it is being dropped.
    lines: Option<Receiver<Vec<ResultLine>>>,
    thread: Option<JoinHandle<()>>,
}

impl ChunkLines {
    fn start(db: Database, chunks: Vec<Chunk>) -> Self {
        let (to_reader, lines) = sync_channel(CHUNKS_AHEAD);
        let work = move || {
            for chunk in chunks {
                // Nobody reads any more.
                if to_reader.send(results::chunk_lines(&db, chunk).collect()).is_err() {
                    break;
                }
            }
        };
        Self { lines: Some(lines), thread: Some(std::thread::spawn(work)) }
    }

    fn next_chunk(&mut self) -> Vec<ResultLine> {
        let received = self.lines.as_ref().and_then(|lines| lines.recv().ok());
        received.unwrap_or_else(|| {
            self.end();
            Vec::new()
        })
    }

    fn end(&mut self) {
        self.lines = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for ChunkLines {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Write;

    use super::{MAX_CHUNKS_ALONE, lines_ahead};
    use crate::session::Session;
    use evalrs_graph::inputs::Overrides;
    use evalrs_graph::{Database, results};
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn they_are_those_of_one_thread_and_need_not_be_read_to_the_end() {
        let suite = "name: s\ndataset: d.jsonl\ngraders:\n  g: {kind: tool, function: contains}\n";
        let mut rows = String::new();
        for at in 0..10_000 {
            writeln!(
                rows,
                r#"{{"id": "s{at}", "input": "q", "output": "a {at}", "ground_truth": "7"}}"#
            )
            .unwrap();
        }
        let system = MemorySystem::with(&[("suite.yaml", suite), ("d.jsonl", &rows)]);
        let mut session =
            Session::new(Database::default(), "suite.yaml", BTreeMap::new(), Overrides::default());
        assert_eq!(session.load(&system), []);
        let root = session.root;
        assert!(root.chunks(&session.db).len() > MAX_CHUNKS_ALONE);
        let alone: Vec<_> = results::lines(&session.db, root).collect();
        assert!(lines_ahead(&session.db, root).eq(alone.iter().cloned()));
        assert!(lines_ahead(&session.db, root).take(3).eq(alone.into_iter().take(3)));
        // Nobody reads from a clone any more, so this ends.
        system.set("d.jsonl", rows.lines().next().unwrap());
        session.reload(&system, &evalrs_system::changed_paths::ChangedPaths::Any, None);
        assert_eq!(lines_ahead(&session.db, root).count(), 1);
    }
}
