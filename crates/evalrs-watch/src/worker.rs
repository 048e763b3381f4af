//! Evaluates everything beside the loop: slow where there is much of it, and cut short by the next save.
//!
//! It works on a clone of the database. A write to the database cancels it: the setter waits until the clone is gone,
//! and the evaluation unwinds at its next query. What was evaluated by then stays evaluated.

use tokio::task::{JoinHandle, spawn_blocking};

use evalrs_graph::{Database, unless_cancelled};

/// The evaluation that is waited for, if there is one.
#[derive(Debug)]
pub(super) struct EvaluationWorker<T> {
    running: Option<JoinHandle<Option<T>>>,
}

impl<T: Send + 'static> EvaluationWorker<T> {
    pub(crate) fn new() -> Self {
        Self { running: None }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// Evaluates `job` over what `db` holds now. What comes of an earlier evaluation is dropped.
    pub(crate) fn evaluate(
        &mut self,
        db: &Database,
        job: impl FnOnce(&Database) -> T + Send + 'static,
    ) {
        let db = db.clone();
        self.running = Some(spawn_blocking(move || unless_cancelled(|| job(&db))));
    }

    /// The result of the last requested evaluation; none if it was cut short. Waits for ever while nothing is
    /// evaluated.
    pub(crate) async fn done(&mut self) -> Option<T> {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        let evaluated = running.await;
        self.running = None;
        // It fails only if a query panicked.
        evaluated.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }
}
