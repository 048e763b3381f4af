//! A store that is away while it writes: what lands meanwhile gathers into the next batch.
//!
//! Writes wait for the disk, so they happen on another thread, and the store goes with them.

use std::panic::resume_unwind;

use tokio::task::{JoinHandle, spawn_blocking};

use crate::store::{MemoryStore, OutcomeStore, StoreError};

/// A batch that comes back with the store, and whether it could be written.
pub(super) type Written<B> = (B, Result<(), StoreError>);

/// A store, here or away with a batch.
pub(super) struct Errand<B>(Place<B>);

enum Place<B> {
    Here(Box<dyn OutcomeStore>),
    Away(JoinHandle<(Box<dyn OutcomeStore>, Written<B>)>),
}

impl<B: Send + 'static> Errand<B> {
    /// A store that is here.
    pub(super) fn new(store: Box<dyn OutcomeStore>) -> Self {
        Self(Place::Here(store))
    }

    /// Whether it is here.
    pub(super) fn is_here(&self) -> bool {
        matches!(self.0, Place::Here(_))
    }

    /// The store, unless it is away.
    pub(super) fn store(&mut self) -> Option<&mut dyn OutcomeStore> {
        match &mut self.0 {
            Place::Here(store) => Some(store.as_mut()),
            Place::Away(_) => None,
        }
    }

    /// Has a store that is here write a batch; one that is away writes nothing more.
    pub(super) fn write(
        &mut self,
        mut batch: B,
        write: impl FnOnce(&mut dyn OutcomeStore, &mut B) -> Result<(), StoreError> + Send + 'static,
    ) {
        let Place::Here(store) = &mut self.0 else { return };
        // Nobody sees what stands in its place: it is away from the next line on.
        let mut store = std::mem::replace(store, Box::new(MemoryStore::default()));
        self.0 = Place::Away(spawn_blocking(move || {
            let result = write(store.as_mut(), &mut batch);
            (store, (batch, result))
        }));
    }

    /// Waits until the store is back, with what it wrote; for ever while it is here.
    pub(super) async fn written(&mut self) -> Written<B> {
        let Place::Away(writing) = &mut self.0 else { return std::future::pending().await };
        match writing.await {
            Ok((store, written)) => {
                self.0 = Place::Here(store);
                written
            }
            Err(panicked) => resume_unwind(panicked.into_panic()),
        }
    }

    /// Gives the store back when it is here, with the result of what it was still writing.
    pub(super) async fn end(self) -> (Box<dyn OutcomeStore>, Result<(), StoreError>) {
        match self.0 {
            Place::Here(store) => (store, Ok(())),
            Place::Away(writing) => match writing.await {
                Ok((store, (_, result))) => (store, result),
                Err(panicked) => resume_unwind(panicked.into_panic()),
            },
        }
    }
}
