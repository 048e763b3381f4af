//! Reports which files were saved: the only code that knows notify.
//!
//! Watched are folders, never files, because a file that is saved by a rename takes its watch away with it. Which folders,
//! `trail` says; which changes matter, `trails`; when a burst is over, `debounce`. A change that nobody looks at is dropped
//! where it is heard, and what matters is kept as a set of names under a lock: however much happens, it takes no more
//! memory than the paths that are looked at.
//!
//! Nothing is compared: a path that is reported was touched, and may be as it was before. Nothing is lost either: a path is
//! reported only after all folders on its way are watched, so a reader then sees its newest state, or is notified again.
#![expect(
    clippy::disallowed_methods,
    reason = "files are watched here, and the clock shows when a burst is over"
)]

pub(crate) mod debounce;
mod poll;
mod shared;
mod stamps;
mod trail;
mod trail_index;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use futures_util::future::OptionFuture;
use notify::{ErrorKind, RecursiveMode, Watcher};

use self::shared::{SharedState, SharedWatch};
use self::trail::{EntryKind, PathTrail, follow};
pub use evalrs_system::changed_paths::ChangedPaths;

/// How often files are looked at that cannot be watched.
const POLL_INSTEAD: Duration = Duration::from_secs(1);
/// How often trails are followed in a row until no folder on them is new. What is replaced faster than it can be followed is
/// followed again with the next batch.
const MAX_ROUNDS: usize = 8;
/// Whether the system may lose changes while another folder is added: its watching then starts over.
const STARTS_OVER: bool = cfg!(target_os = "macos");
/// Why files cannot be watched at all.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Relative paths mean nothing.
    #[error("cannot find the working directory: {0}")]
    Folder(#[source] std::io::Error),
    /// Not even polling is possible.
    #[error("cannot start a thread that polls files: {0}")]
    Thread(#[source] std::io::Error),
}

/// Watches files for changes.
pub struct FileWatch {
    shared: Arc<SharedWatch>,
    /// Watches folders; none if all files are polled.
    watcher: Option<Box<dyn Watcher + Send>>,
    /// Makes the poller look at once.
    poller: Sender<()>,
    /// The working directory.
    base: PathBuf,
    /// What is looked at: names and the paths they mean.
    looked: BTreeMap<Arc<str>, PathBuf>,
    /// The folders that are watched.
    armed: BTreeSet<PathBuf>,
    /// The messages, and those already reported.
    warnings: Vec<String>,
    said: BTreeSet<String>,
}

impl FileWatch {
    /// Looks at nothing yet. With `poll` the system is not asked to tell of changes: files are looked at that often. Where it
    /// cannot tell, they are looked at every second.
    pub fn new(poll: Option<Duration>) -> Result<Self, WatchError> {
        let shared = Arc::new(SharedWatch::new());
        if let Some(every) = poll {
            return Self::with(shared, None, every);
        }
        let listener = shared.clone();
        match notify::recommended_watcher(move |event| listener.hear(event)) {
            Ok(watcher) => Self::with(shared, Some(Box::new(watcher)), POLL_INSTEAD),
            Err(error) => {
                let mut watch = Self::with(shared, None, POLL_INSTEAD)?;
                watch.warnings.push(format!(
                    "the system does not report saved files ({error}): polling them every second; if its limit is reached, raise `fs.inotify.max_user_instances`"
                ));
                Ok(watch)
            }
        }
    }

    fn with(
        shared: Arc<SharedWatch>,
        watcher: Option<Box<dyn Watcher + Send>>,
        every: Duration,
    ) -> Result<Self, WatchError> {
        Ok(Self {
            base: std::env::current_dir().map_err(WatchError::Folder)?,
            poller: poll::start(shared.clone(), every).map_err(WatchError::Thread)?,
            shared,
            watcher,
            looked: BTreeMap::new(),
            armed: BTreeSet::new(),
            warnings: Vec::new(),
            said: BTreeSet::new(),
        })
    }

    /// Looks at these paths from now on, and at no others: files and folders as the suite names them, relative ones from
    /// the working directory, whether they are there or not. Of a folder its entries count.
    ///
    /// Paths that are new are reported once by the next [`Self::touched`], because they may have changed since the caller
    /// read them. Returns what there is to warn of, once each.
    pub fn look_at(&mut self, paths: &BTreeSet<String>) -> Vec<String> {
        let gone: Vec<Arc<str>> =
            self.looked.keys().filter(|name| !paths.contains(&***name)).cloned().collect();
        for name in &gone {
            self.looked.remove(name);
            self.shared.state().trails.forget(name);
        }
        let new: BTreeSet<Arc<str>> = paths
            .iter()
            .filter(|path| !self.looked.contains_key(path.as_str()))
            .map(|path| Arc::from(path.as_str()))
            .collect();
        for name in &new {
            // The empty path has no meaning; it is nothing, wherever.
            let path = std::path::absolute(&**name).unwrap_or_default();
            self.looked.insert(name.clone(), path);
        }
        if !(gone.is_empty() && new.is_empty()) {
            let has_armed = self.settle(new.clone());
            // The poller reports what is new to it, once it has its stamp.
            let polled = self.shared.polled();
            let unpolled = new.iter().filter(|name| !polled.contains_key(*name));
            self.shared.touch(unpolled.map(|name| &**name));
            if has_armed && STARTS_OVER {
                self.shared.overflow();
            }
        }
        std::mem::take(&mut self.warnings)
    }

    /// The watched paths, from [`Self::look_at`].
    pub fn looked_at(&self) -> impl Iterator<Item = &str> {
        self.looked.keys().map(AsRef::as_ref)
    }

    /// Waits until something was touched and a batch of it is over. What happens while nobody waits is kept; dropping this
    /// before it is ready loses nothing.
    pub async fn touched(&mut self) -> ChangedPaths {
        loop {
            let due = self.shared.state().debounce.due();
            let due = due.map(|due| tokio::time::sleep_until((self.shared.start + due).into()));
            // It may be due earlier: a file that is waited for is closed.
            tokio::select! {
                Some(()) = OptionFuture::from(due) => {}
                () = self.shared.changed.notified() => continue,
            }
            if let Some(batch) = self.take() {
                return batch;
            }
        }
    }

    /// The batch that is over, after its paths were followed again; none if it grows or concerns nobody any
    /// more.
    fn take(&mut self) -> Option<ChangedPaths> {
        let moment = self.shared.moment();
        let batch = self.shared.state().debounce.take(moment)?;
        let ChangedPaths::Only(mut paths) = batch else {
            let mut state = self.shared.state();
            let SharedState { trails, shaken, .. } = &mut *state;
            shaken.extend(trails.folders().cloned());
            drop(state);
            self.settle(self.looked.keys().cloned().collect());
            return Some(ChangedPaths::Any);
        };
        paths.retain(|path| self.looked.contains_key(path.as_str()));
        if paths.is_empty() {
            return None;
        }
        let has_armed = self.settle(paths.iter().map(|path| Arc::from(path.as_str())).collect());
        Some(if has_armed && STARTS_OVER { ChangedPaths::Any } else { ChangedPaths::Only(paths) })
    }

    /// Follows these paths and watches the folders on their way, until none of those is new: whatever is replaced after that
    /// is heard of. Says whether a folder was added.
    fn settle(&mut self, names: BTreeSet<Arc<str>>) -> bool {
        if self.watcher.is_none() {
            self.poll(std::iter::empty());
            return false;
        }
        let mut fresh = Vec::new();
        let mut refused = BTreeMap::new();
        let mut restless = names;
        let mut has_armed = false;
        for _ in 0..MAX_ROUNDS {
            self.follow(&restless);
            (fresh, refused) = self.arm();
            has_armed |= !fresh.is_empty();
            let gone = refused.iter().filter(|(_, error)| is_gone(error)).map(|(folder, _)| folder);
            restless = self.shared.state().trails.needing(fresh.iter().chain(gone));
            if restless.is_empty() {
                break;
            }
        }
        if !restless.is_empty() {
            let again = self.shared.state().trails.needing(&fresh);
            self.shared.touch(again.iter().map(|name| &**name));
        }
        self.warn(&refused);
        self.poll(refused.keys());
        has_armed
    }

    fn follow(&self, names: &BTreeSet<Arc<str>>) {
        let mut seen = BTreeMap::new();
        let trails = names.iter().filter_map(|name| {
            let path = self.looked.get(name)?;
            Some((name, follow(path, &self.base, &mut |path| look(path, &mut seen))))
        });
        // They are followed before the lock is taken.
        let trails: Vec<(&Arc<str>, PathTrail)> = trails.collect();
        let mut state = self.shared.state();
        for (name, trail) in trails {
            state.trails.lay(name, trail);
        }
    }

    /// Watches the folders that are needed and no others. Returns those that are new, and those that cannot be watched.
    fn arm(&mut self) -> (Vec<PathBuf>, BTreeMap<PathBuf, notify::Error>) {
        let (needed, shaken): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) = {
            let mut state = self.shared.state();
            (state.trails.folders().cloned().collect(), std::mem::take(&mut state.shaken))
        };
        let mut fresh = Vec::new();
        let mut refused = BTreeMap::new();
        let Some(watcher) = &mut self.watcher else { return (fresh, refused) };
        // First those that go: a folder that was renamed has one watch under both names, and the last word on it counts.
        self.armed.retain(|folder| {
            let stays = needed.contains(folder) && !shaken.contains(folder);
            if !stays {
                // It fails where the folder is gone, and its watch with it.
                let _ = watcher.unwatch(folder);
            }
            stays
        });
        for folder in needed {
            if self.armed.contains(&folder) {
                continue;
            }
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.armed.insert(folder.clone());
                    fresh.push(folder);
                }
                Err(error) => {
                    refused.insert(folder, error);
                }
            }
        }
        (fresh, refused)
    }

    /// Has the paths polled that need one of these folders, or all.
    fn poll<'a>(&self, refused: impl Iterator<Item = &'a PathBuf>) {
        let mut state = self.shared.state();
        let polled: BTreeMap<Arc<str>, PathBuf> = if self.watcher.is_none() {
            self.looked.clone()
        } else {
            let names: Vec<PathBuf> = refused.cloned().collect();
            let needing = state.trails.needing(&names);
            let looked = needing.iter().filter_map(|name| self.looked.get_key_value(name));
            looked.map(|(name, path)| (name.clone(), path.clone())).collect()
        };
        if *state.polled != polled {
            state.polled = Arc::new(polled);
            // The poller lives as long as its sender.
            let _ = self.poller.send(());
        }
    }

    fn warn(&mut self, refused: &BTreeMap<PathBuf, notify::Error>) {
        for (folder, error) in refused {
            let folder = folder.display();
            let mut said = folder.to_string();
            let warning = match &error.kind {
                _ if is_gone(error) => continue,
                ErrorKind::MaxFilesWatch => {
                    said.clear();
                    format!(
                        "the system cannot watch more folders: polling `{folder}` and others every second; raise `fs.inotify.max_user_watches`"
                    )
                }
                ErrorKind::Io(error) => {
                    format!("cannot watch `{folder}` ({error}): polling it every second")
                }
                _ => format!("cannot watch `{folder}`: polling it every second"),
            };
            if self.said.insert(said) {
                self.warnings.push(warning);
            }
        }
    }
}

/// Whether a folder vanished after it was seen.
fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// The kind of file at `path`. Folders and links are looked at once for all paths through them.
fn look(path: &Path, seen: &mut BTreeMap<PathBuf, EntryKind>) -> EntryKind {
    if let Some(kind) = seen.get(path) {
        return kind.clone();
    }
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return EntryKind::Nothing };
    let kind = if metadata.is_dir() {
        EntryKind::Folder
    } else if metadata.is_symlink() {
        std::fs::read_link(path).map_or(EntryKind::Nothing, EntryKind::Link)
    } else {
        return EntryKind::File;
    };
    seen.insert(path.to_owned(), kind.clone());
    kind
}
