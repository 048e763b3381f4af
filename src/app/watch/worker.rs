//! The thread that evaluates everything: slow where there is much of it, and cut short by the next save.
//!
//! It works on a clone of the database. Whoever writes to the database cancels it: the setter waits until the clone is
//! gone, and the evaluation unwinds at its next query. What was evaluated by then stays evaluated. No clone outlives
//! its evaluation, so that nobody ever waits for a thread that waits.

use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::sync::mpsc as channel;

use crate::graph::{Database, unless_cancelled};

/// An evaluation, over a database of its own.
type EvaluationJob<T> = (Database, Box<dyn FnOnce(&Database) -> T + Send>);

/// A thread that evaluates one thing at a time.
#[derive(Debug)]
pub(super) struct EvaluationWorker<T> {
    jobs: Option<mpsc::Sender<EvaluationJob<T>>>,
    done: channel::UnboundedReceiver<Option<T>>,
    thread: Option<JoinHandle<()>>,
    /// Evaluations that were asked for and did not end yet.
    pending: usize,
}

impl<T: Send + 'static> EvaluationWorker<T> {
    /// Starts the thread.
    pub(super) fn start() -> Self {
        let (jobs, queue) = mpsc::channel::<EvaluationJob<T>>();
        let (tell, done) = channel::unbounded_channel();
        let thread = std::thread::spawn(move || {
            for (db, job) in queue {
                let evaluated = unless_cancelled(|| job(&db));
                drop(db);
                if tell.send(evaluated).is_err() {
                    return;
                }
            }
        });
        Self { jobs: Some(jobs), done, thread: Some(thread), pending: 0 }
    }

    /// Whether it is evaluating.
    pub(super) fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// Evaluates `job` over what `db` holds now.
    pub(super) fn evaluate(
        &mut self,
        db: &Database,
        job: impl FnOnce(&Database) -> T + Send + 'static,
    ) {
        if let Some(jobs) = &self.jobs {
            self.pending += usize::from(jobs.send((db.clone(), Box::new(job))).is_ok());
        }
    }

    /// What came of the last evaluation that was asked for; none if it was cut short. Waits for ever while nothing is
    /// evaluated.
    pub(super) async fn done(&mut self) -> Option<T> {
        while self.pending > 0 {
            let Some(evaluated) = self.done.recv().await else { self.fail() };
            self.pending -= 1;
            if self.pending == 0 {
                return evaluated;
            }
        }
        std::future::pending().await
    }

    /// The thread ends before it is told to only if a query panicked.
    fn fail(&mut self) -> ! {
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(panicked)) => std::panic::resume_unwind(panicked),
            _ => unreachable!("the thread of evaluations waits for jobs"),
        }
    }
}

impl<T> Drop for EvaluationWorker<T> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // Its panic was told already, or nobody is interested any more.
            let _ = thread.join();
        }
    }
}
