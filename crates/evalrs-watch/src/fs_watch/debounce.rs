//! When a burst of changes is over: a state machine without a clock of its own.
//!
//! It is told what was touched at which moment, and says when the batch is due: after [`QUIET`] without anything more,
//! at most [`MAX_BATCH_TIME`] after it began. A file that is written in place is half written until it is closed, so that
//! its path is held back meanwhile: for [`OPEN_QUIET`] after the last write, at most for [`MAX_OPEN_TIME`]. Other paths do not
//! wait for it. Moments count from some start that the caller chooses. It knows no files: paths are names, of which one may
//! stand for several files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use evalrs_system::changed_paths::ChangedPaths;

/// How long nothing more may come before a batch is over. Editors write, rename and clean up within a few milliseconds.
pub(crate) const QUIET: Duration = Duration::from_millis(10);
/// How long a batch may grow: a program that writes without a pause must not block everything.
pub(crate) const MAX_BATCH_TIME: Duration = Duration::from_millis(250);
/// How long nothing may be written to a file that is still open before it is read as it is: one that others append to may
/// never be closed.
pub(crate) const OPEN_QUIET: Duration = Duration::from_millis(500);
/// How long a path is delayed whose file is written all the time.
pub(crate) const MAX_OPEN_TIME: Duration = Duration::from_secs(10);
/// How many paths a batch may name. With more it is cheaper to look at everything.
pub(crate) const MAX_PATHS: usize = 10_000;

/// A batch that grows until it is due.
#[derive(Debug, Default)]
pub(crate) struct Debounce {
    paths: BTreeSet<String>,
    is_everything: bool,
    /// When the first and the last of the batch came; none while it is empty.
    span: Option<(Duration, Duration)>,
    /// Files that were written and not closed yet.
    open: BTreeMap<OpenFile, WriteSpan>,
}

/// A file that is written, under a path that is looked at.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OpenFile {
    path: String,
    file: PathBuf,
}

#[derive(Clone, Copy, Debug)]
struct WriteSpan {
    first: Duration,
    last: Duration,
}

impl WriteSpan {
    fn due(self) -> Duration {
        (self.last + OPEN_QUIET).min(self.first + MAX_OPEN_TIME)
    }
}

impl Debounce {
    /// Adds a path of which `file` was written and may be open still.
    pub(crate) fn write(&mut self, moment: Duration, path: &str, file: &Path) {
        if self.is_everything {
            return self.extend(moment);
        }
        let open = OpenFile { path: path.to_owned(), file: file.to_owned() };
        let span = self.open.entry(open).or_insert(WriteSpan { first: moment, last: moment });
        span.last = span.last.max(moment);
        self.add(moment, path);
        if !self.has_ready() {
            self.span = None;
        }
    }

    /// Adds a path of which `file` was closed, or does not exist any more.
    pub(crate) fn close(&mut self, moment: Duration, path: &str, file: &Path) {
        self.open.remove(&OpenFile { path: path.to_owned(), file: file.to_owned() });
        self.touch(moment, path);
    }

    pub(crate) fn touch(&mut self, moment: Duration, path: &str) {
        if self.is_everything || !self.is_held(path) {
            self.extend(moment);
        }
        self.add(moment, path);
    }

    fn add(&mut self, moment: Duration, path: &str) {
        if !self.is_everything && !self.paths.contains(path) {
            self.paths.insert(path.to_owned());
        }
        if self.paths.len() > MAX_PATHS {
            self.overflow(moment);
        }
    }

    /// Makes the batch one of everything: nobody knows any more what was touched.
    pub(crate) fn overflow(&mut self, moment: Duration) {
        self.extend(moment);
        self.is_everything = true;
        self.paths.clear();
        self.open.clear();
    }

    /// When something is over unless more comes; none while there is nothing.
    pub(crate) fn due(&self) -> Option<Duration> {
        let quiet = self.span.filter(|_| self.has_ready());
        let quiet = quiet.map(|(first, last)| (last + QUIET).min(first + MAX_BATCH_TIME));
        let written = self.open.values().map(|span| span.due()).min();
        quiet.into_iter().chain(written).min()
    }

    /// The complete batch by now; delayed paths stay.
    pub(crate) fn take(&mut self, moment: Duration) -> Option<ChangedPaths> {
        if self.due()? > moment {
            return None;
        }
        if self.is_everything {
            *self = Self::default();
            return Some(ChangedPaths::Any);
        }
        self.open.retain(|_, span| span.due() > moment);
        let held: BTreeSet<String> = self.open.keys().map(|open| open.path.clone()).collect();
        let paths = std::mem::take(&mut self.paths);
        let (held, ready): (BTreeSet<String>, BTreeSet<String>) =
            paths.into_iter().partition(|path| held.contains(path));
        self.paths = held;
        self.span = None;
        (!ready.is_empty()).then_some(ChangedPaths::Only(ready))
    }

    /// Whether something waits for nothing but quiet.
    fn has_ready(&self) -> bool {
        self.is_everything || self.paths.iter().any(|path| !self.is_held(path))
    }

    fn is_held(&self, path: &str) -> bool {
        let least = OpenFile { path: path.to_owned(), file: PathBuf::new() };
        self.open.range(least..).next().is_some_and(|(open, _)| open.path == path)
    }

    fn extend(&mut self, moment: Duration) {
        let (first, last) = self.span.unwrap_or((moment, moment));
        self.span = Some((first, last.max(moment)));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::{ChangedPaths, Debounce, MAX_PATHS};

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn paths(names: &[&str]) -> ChangedPaths {
        ChangedPaths::Only(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Feeds (milliseconds, path; `*` for an overflow) and checks when which batch comes.
    #[track_caller]
    fn check(fed: &[(u64, &str)], due: u64, batch: &ChangedPaths) {
        let mut debounce = Debounce::default();
        for (moment, path) in fed {
            match *path {
                "*" => debounce.overflow(ms(*moment)),
                path => debounce.touch(ms(*moment), path),
            }
        }
        assert_eq!(debounce.due(), Some(ms(due)));
        assert_eq!(debounce.take(ms(due - 1)), None, "too early");
        assert_eq!(debounce.take(ms(due)).as_ref(), Some(batch));
        assert_eq!((debounce.due(), debounce.take(ms(due + 1000))), (None, None), "nothing twice");
    }

    #[test]
    fn a_batch_is_over_when_nothing_more_comes() {
        check(&[(5, "a")], 15, &paths(&["a"]));
        check(&[(5, "a"), (14, "b"), (14, "a")], 24, &paths(&["a", "b"]));
        check(&[(5, "b"), (3, "a")], 15, &paths(&["a", "b"]));
    }

    #[test]
    fn a_batch_grows_for_a_quarter_of_a_second_at_most() {
        let steady: Vec<(u64, &str)> = (0..30).map(|at| (100 + at * 9, "a")).collect();
        check(&steady, 350, &paths(&["a"]));
    }

    #[test]
    fn a_file_that_is_written_is_held_back_until_it_is_closed() {
        let [file, other] = ["/a", "/b"].map(Path::new);
        let mut debounce = Debounce::default();
        debounce.write(ms(5), "a", file);
        assert_eq!(debounce.due(), Some(ms(505)), "it may be open still");
        debounce.write(ms(400), "a", file);
        // Nobody else waits for it, and what only looks at it does not close it.
        debounce.touch(ms(420), "b");
        debounce.touch(ms(421), "a");
        assert_eq!(debounce.due(), Some(ms(430)));
        assert_eq!(debounce.take(ms(430)), Some(paths(&["b"])));
        assert_eq!(debounce.due(), Some(ms(900)));
        debounce.close(ms(600), "a", file);
        assert_eq!((debounce.take(ms(609)), debounce.due()), (None, Some(ms(610))));
        assert_eq!(debounce.take(ms(610)), Some(paths(&["a"])));
        // A folder has several.
        debounce.write(ms(1_000), "a", file);
        debounce.write(ms(1_000), "a", other);
        debounce.close(ms(1_010), "a", other);
        assert_eq!(debounce.due(), Some(ms(1_500)));
        assert_eq!(debounce.take(ms(1_500)), Some(paths(&["a"])));
        assert_eq!(debounce.due(), None, "what was taken is not waited for");
    }

    #[test]
    fn a_file_that_is_written_all_the_time_is_read_as_it_is() {
        let mut debounce = Debounce::default();
        for at in 0..30 {
            debounce.write(ms(1_000 + at * 400), "a", Path::new("/a"));
        }
        assert_eq!(debounce.due(), Some(ms(11_000)));
        assert_eq!(debounce.take(ms(10_999)), None);
        assert_eq!(debounce.take(ms(11_000)), Some(paths(&["a"])));
    }

    #[test]
    fn an_overflow_is_everything() {
        check(&[(5, "a"), (6, "*"), (7, "b")], 17, &ChangedPaths::Any);
        check(&[(5, "*")], 15, &ChangedPaths::Any);
    }

    #[test]
    fn too_many_paths_are_everything() {
        let names: Vec<String> = (0..=MAX_PATHS).map(|number| number.to_string()).collect();
        let fed: Vec<(u64, &str)> = names.iter().map(|name| (5, name.as_str())).collect();
        check(&fed, 15, &ChangedPaths::Any);
        let most: Vec<&str> = names[1..].iter().map(String::as_str).collect();
        check(&fed[1..], 15, &paths(&most));
    }

    #[test]
    fn the_next_batch_starts_anew() {
        let mut debounce = Debounce::default();
        debounce.overflow(ms(0));
        assert_eq!(debounce.take(ms(10)), Some(ChangedPaths::Any));
        debounce.touch(ms(400), "a");
        assert_eq!(debounce.due(), Some(ms(410)));
        assert_eq!(debounce.take(ms(410)), Some(paths(&["a"])));
    }
}
