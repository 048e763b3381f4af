//! A store that is away while it writes: what lands meanwhile gathers into the next batch.
//!
//! Writes wait for the disk, so they happen on another thread, and the store goes with them. What nobody is paid for may
//! come in faster than it is worth a write each; it waits a moment for more.

use std::panic::resume_unwind;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use crate::effects::store::{MemoryStore, OutcomeStore, StoreError};

/// A batch that comes back with the store, and whether it could be written.
pub(crate) type Written<B> = (B, Result<(), StoreError>);

/// From one write to the next of what may wait for more: long beside a write, short for whoever watches.
const BETWEEN_WRITES: Duration = Duration::from_millis(20);

/// A store, here or away with a batch.
pub(crate) struct Errand<B> {
    place: Place<B>,
    /// When what may wait for more has waited long enough.
    due: Instant,
}

enum Place<B> {
    Here(Box<dyn OutcomeStore>),
    Away(JoinHandle<(Box<dyn OutcomeStore>, Written<B>)>),
}

impl<B: Send + 'static> Errand<B> {
    /// A store that is here.
    pub(crate) fn new(store: Box<dyn OutcomeStore>) -> Self {
        Self { place: Place::Here(store), due: Instant::now() }
    }

    /// Whether it is here.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.place, Place::Here(_))
    }

    /// The store, unless it is away.
    pub(crate) fn store(&mut self) -> Option<&mut dyn OutcomeStore> {
        match &mut self.place {
            Place::Here(store) => Some(store.as_mut()),
            Place::Away(_) => None,
        }
    }

    /// Has a store that is here write a batch; one that is away writes nothing more.
    pub(crate) fn write(
        &mut self,
        mut batch: B,
        write: impl FnOnce(&mut dyn OutcomeStore, &mut B) -> Result<(), StoreError> + Send + 'static,
    ) {
        let Place::Here(store) = &mut self.place else {
            debug_assert!(false, "the store is away");
            return;
        };
        // Nobody sees what stands in its place: it is away from the next line on.
        let mut store = std::mem::replace(store, Box::new(MemoryStore::default()));
        self.due = Instant::now() + BETWEEN_WRITES;
        self.place = Place::Away(spawn_blocking(move || {
            let result = write(store.as_mut(), &mut batch);
            (store, (batch, result))
        }));
    }

    /// Whether the last write has only just begun, so that what may wait for more should.
    pub(crate) fn is_early(&self) -> bool {
        Instant::now() < self.due
    }

    /// Waits until the store is back, with what it wrote; while it is here for ever, or, where something `waits` for more,
    /// until it has waited long enough.
    pub(crate) async fn next(&mut self, waits: bool) -> Option<Written<B>> {
        match &mut self.place {
            Place::Here(_) if waits => sleep_until(self.due).await,
            Place::Here(_) => std::future::pending().await,
            Place::Away(writing) => match writing.await {
                Ok((store, written)) => {
                    self.place = Place::Here(store);
                    return Some(written);
                }
                Err(panicked) => resume_unwind(panicked.into_panic()),
            },
        }
        None
    }

    /// Gives the store back when it is here, with the result of what it was still writing.
    pub(crate) async fn end(self) -> (Box<dyn OutcomeStore>, Result<(), StoreError>) {
        match self.place {
            Place::Here(store) => (store, Ok(())),
            Place::Away(writing) => match writing.await {
                Ok((store, (_, result))) => (store, result),
                Err(panicked) => resume_unwind(panicked.into_panic()),
            },
        }
    }
}
