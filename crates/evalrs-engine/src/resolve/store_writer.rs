//! Writes batches to a store on another thread: what lands meanwhile gathers into the next batch.
//!
//! Writes wait for the disk; the store is read meanwhile. What costs nothing may land faster than it is worth a write
//! each; it waits a moment for more.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use super::persist::{LandedAction, persist};
use evalrs_store::{Entry, OutcomeStore, StoreError};

/// A batch that was on its way to the disk, and whether it is there.
pub(crate) type WrittenBatch = (Vec<LandedAction>, Result<(), StoreError>);

/// From one write to the next of what may wait for more: long beside a write, short for a person who watches.
const BETWEEN_WRITES: Duration = Duration::from_millis(20);

pub(crate) struct StoreWriter {
    store: Arc<dyn OutcomeStore>,
    writing: Option<JoinHandle<WrittenBatch>>,
    /// When what may wait for more has waited long enough.
    due: Instant,
}

impl StoreWriter {
    pub(crate) fn new(store: Arc<dyn OutcomeStore>) -> Self {
        Self { store, writing: None, due: Instant::now() }
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Begins to write a batch, after the entries `also`; no other one may be on its way.
    pub(crate) fn write(&mut self, also: Vec<Entry>, mut batch: Vec<LandedAction>, at: String) {
        debug_assert!(self.writing.is_none(), "a batch is on its way");
        let store = Arc::clone(&self.store);
        self.due = Instant::now() + BETWEEN_WRITES;
        self.writing = Some(spawn_blocking(move || {
            let result = persist(store.as_ref(), also, &mut batch, &at);
            (batch, result)
        }));
    }

    /// Whether the last write has only just begun, so that what may wait for more should.
    pub(crate) fn is_early(&self) -> bool {
        Instant::now() < self.due
    }

    /// Waits until the batch is written; where there is none, for ever, or, where something `waits` for more, until it
    /// has waited long enough.
    pub(crate) async fn next(&mut self, waits: bool) -> Option<WrittenBatch> {
        match &mut self.writing {
            None if waits => sleep_until(self.due).await,
            None => std::future::pending().await,
            Some(writing) => {
                let written = writing.await;
                self.writing = None;
                match written {
                    Ok(written) => return Some(written),
                    Err(panicked) => resume_unwind(panicked.into_panic()),
                }
            }
        }
        None
    }
}
