//! The lines of the results of a run, parsed by several threads: a page waits until all are known.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

use evalrs_store::record::lines::{MAX_RESULT, each_line};
use evalrs_store::record::read::PastRun;
use evalrs_store::record::result_files::open_results;
use evalrs_system::System;

/// The bytes of lines that are passed on at once.
const BATCH: usize = 1 << 20;
const MOST_WORKERS: usize = 4;

/// Visits the whole lines of the results of `run`, each with its number.
pub(crate) fn each_result(system: &dyn System, run: &PastRun, visit: &mut dyn FnMut(u32, &[u8])) {
    let Ok(mut file) = open_results(system, &run.folder) else { return };
    let mut at = 0;
    // What cannot be read any further ends the rows.
    let _ = each_line(&mut file, MAX_RESULT, &mut |line| {
        if let Some(bytes) = line.bytes() {
            visit(at, bytes);
        }
        at += 1;
    });
}

/// Makes something of a line, of which it also gets the number.
pub(crate) type ParseLine<'a, T> = &'a (dyn Fn(u32, &[u8]) -> T + Sync);

/// What `parse` makes of the whole lines of the results of `run`, in their order.
pub(crate) fn parsed<T: Send>(
    system: &dyn System,
    run: &PastRun,
    parse: ParseLine<'_, T>,
) -> Vec<T> {
    let most = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_WORKERS);
    std::thread::scope(|scope| {
        let mut workers: Vec<LineWorker<'_, T>> = Vec::new();
        let mut batches = 0;
        let mut batch = ResultBatch::default();
        each_result(system, run, &mut |at, bytes| {
            batch.push(at, bytes);
            if batch.bytes.len() >= BATCH {
                if workers.len() < most {
                    workers.push(LineWorker::start(scope, parse));
                }
                let _ = workers[batches % most].batches.send(std::mem::take(&mut batch));
                batches += 1;
            }
        });
        let last = batch.parsed(parse);
        let ended = workers.into_iter().map(LineWorker::end);
        let mut ended: Vec<_> = ended.map(Vec::into_iter).collect();
        let mut all: Vec<T> = Vec::new();
        for number in 0..batches {
            all.extend(ended[number % most].next().into_iter().flatten());
        }
        all.extend(last);
        all
    })
}

/// Lines, one behind the other.
#[derive(Default)]
struct ResultBatch {
    bytes: Vec<u8>,
    /// The number and the end of each.
    lines: Vec<(u32, usize)>,
}

impl ResultBatch {
    fn push(&mut self, at: u32, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.lines.push((at, self.bytes.len()));
    }

    fn parsed<T>(&self, parse: ParseLine<'_, T>) -> Vec<T> {
        let mut start = 0;
        let lines = self.lines.iter().map(|(at, end)| {
            let line = &self.bytes[start..*end];
            start = *end;
            parse(*at, line)
        });
        lines.collect()
    }
}

/// A thread that parses batches in the order in which it gets them.
struct LineWorker<'scope, T> {
    batches: SyncSender<ResultBatch>,
    parsed: ScopedJoinHandle<'scope, Vec<Vec<T>>>,
}

impl<'scope, T: Send> LineWorker<'scope, T> {
    fn start<'env>(scope: &'scope Scope<'scope, 'env>, parse: ParseLine<'env, T>) -> Self
    where
        T: 'scope,
    {
        let (batches, received) = sync_channel::<ResultBatch>(2);
        let work = move || received.into_iter().map(|batch| batch.parsed(parse)).collect();
        Self { batches, parsed: scope.spawn(work) }
    }

    fn end(self) -> Vec<Vec<T>> {
        drop(self.batches);
        self.parsed.join().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::parsed;
    use evalrs_store::record::read::{PastHeader, PastRun};
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn lines_keep_their_order_and_numbers_however_many_there_are() {
        for (count, padding) in [(0, 0), (3, 10), (4_000, 2_000)] {
            let line = |at: usize| format!("{at} {}\n", "x".repeat(padding));
            let text: Vec<String> = (0..count).map(line).collect();
            let system = MemorySystem::with(&[("run/results.jsonl", &text.concat())]);
            let header = PastHeader::default();
            let run = PastRun { id: "run".to_owned(), folder: "run".to_owned(), header };
            let first = |at: u32, line: &[u8]| {
                let text = String::from_utf8_lossy(line);
                (at, text.split(' ').next().unwrap_or_default().to_owned())
            };
            let all = parsed(&system, &run, &first);
            let expected: Vec<(u32, String)> =
                (0..count).map(|at| (at as u32, at.to_string())).collect();
            assert!(all == expected, "{count}: {} lines", all.len());
        }
    }
}
