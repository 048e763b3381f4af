//! The state shared by the threads that get events and the one that waits: names of paths under a
//! lock.
#![expect(clippy::disallowed_methods, reason = "the clock shows when a burst is over")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind};
use tokio::sync::Notify;

use super::debounce::Debounce;
use super::trail_index::TrailIndex;

/// Whether the system reports when a written file is closed.
const TELLS_OF_CLOSING: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Shared by the threads that get events and the one that waits.
///
/// The lock is never held while notify is called: that waits for its thread, which may wait for the lock.
#[derive(Debug)]
pub(crate) struct SharedWatch {
    pub start: Instant,
    state: Mutex<SharedState>,
    pub changed: Notify,
}

#[derive(Debug, Default)]
pub(super) struct SharedState {
    pub debounce: Debounce,
    pub(super) trails: TrailIndex,
    /// Watched folders that may have been replaced, with which their watch is gone or that of another folder.
    pub(super) shaken: BTreeSet<PathBuf>,
    pub(super) polled: Arc<BTreeMap<Arc<str>, PathBuf>>,
}

impl SharedWatch {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), state: Mutex::default(), changed: Notify::new() }
    }

    /// A panic of a thread with the lock leaves nothing half done.
    pub(super) fn state(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn moment(&self) -> Duration {
        self.start.elapsed()
    }

    pub(super) fn polled(&self) -> Arc<BTreeMap<Arc<str>, PathBuf>> {
        self.state().polled.clone()
    }

    /// Takes an event of notify, on its thread.
    pub(super) fn hear(&self, event: notify::Result<Event>) {
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            _ => return self.overflow(),
        };
        // Of what is done with files without changing them, our own reading would wake us.
        let is_access = matches!(event.kind, EventKind::Access(_));
        if is_access && event.kind != EventKind::Access(AccessKind::Close(AccessMode::Write)) {
            return;
        }
        let kind = if TELLS_OF_CLOSING { WriteEvent::of(event.kind) } else { None };
        let moment = self.moment();
        let mut state = self.state();
        let SharedState { debounce, trails, shaken, .. } = &mut *state;
        for path in &event.paths {
            shaken.extend(trails.below(path).cloned());
            for name in trails.concerned(path) {
                match kind {
                    Some(WriteEvent::Written) => debounce.write(moment, name, path),
                    Some(WriteEvent::Closed) => debounce.close(moment, name, path),
                    None => debounce.touch(moment, name),
                }
            }
        }
        self.tell(&state);
    }

    pub(super) fn touch<'a>(&self, names: impl Iterator<Item = &'a str>) {
        // What makes the names may take its time, as a network drive does.
        let names: Vec<&str> = names.collect();
        let moment = self.moment();
        let mut state = self.state();
        for name in names {
            state.debounce.touch(moment, name);
        }
        self.tell(&state);
    }

    pub(super) fn overflow(&self) {
        let moment = self.moment();
        let mut state = self.state();
        state.debounce.overflow(moment);
        self.tell(&state);
    }

    pub(super) fn tell(&self, state: &SharedState) {
        if state.debounce.due().is_some() {
            self.changed.notify_one();
        }
    }
}

/// What an event says of somebody who writes a file.
#[derive(Clone, Copy, Debug)]
enum WriteEvent {
    /// It was written, and may be written more.
    Written,
    /// It was closed, or is no longer the file of that path.
    Closed,
}

impl WriteEvent {
    fn of(kind: EventKind) -> Option<Self> {
        match kind {
            EventKind::Modify(ModifyKind::Data(_)) => Some(Self::Written),
            EventKind::Access(_)
            | EventKind::Remove(_)
            | EventKind::Modify(ModifyKind::Name(_)) => Some(Self::Closed),
            _ => None,
        }
    }
}
