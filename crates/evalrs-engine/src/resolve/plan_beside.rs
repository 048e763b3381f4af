//! Plans chunks on other threads, which is where a run that replays everything spends its time.
//!
//! Plans are queries: whoever computes one first, it is the same, and everybody else finds it. Threads work on clones of
//! the database, and a write would wait for them; so they are joined before anything is written.

use evalrs_graph::inputs::Root;
use evalrs_graph::{Database, queries};

/// Chunks that one thread plans before several are worth while.
pub const MAX_CHUNKS_ALONE: usize = 64;

const MAX_THREADS: usize = 8;

/// Does `work`, which needs the plans of all chunks in their order, while other threads plan from the other end.
pub(crate) fn plan_beside<T>(db: &Database, root: Root, work: impl FnOnce() -> T) -> T {
    let all = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let others = if root.chunks(db).len() > MAX_CHUNKS_ALONE { all - 1 } else { 0 };
    std::thread::scope(|scope| {
        for thread in 0..others {
            let db = db.clone();
            scope.spawn(move || plan_from_the_end(&db, root, others, thread));
        }
        work()
    })
}

/// Plans the last chunk and every `step`th before it, those apart that come before the first: for one of so many threads.
pub fn plan_from_the_end(db: &Database, root: Root, step: usize, first: usize) {
    for chunk in root.chunks(db).iter().rev().skip(first).step_by(step) {
        for grader in queries::graders(db, root) {
            let _ = queries::plans(db, *chunk, *grader);
        }
    }
}
