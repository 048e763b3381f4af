//! When a burst of changes is over: a state machine without a clock of its own.
//!
//! It is told what was touched at which moment, and says when the batch is due: after [`QUIET`] without anything more,
//! at most [`MAX_BATCH_TIME`] after it began. A file that is written in place is half written until it is closed, so that one
//! that is open waits longer: for [`OPEN_QUIET`] after its last write, at most [`MAX_OPEN_TIME`]. Moments count from some start that the caller chooses. It knows no files: paths
//! are names.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::changed_paths::ChangedPaths;

/// How long nothing more may come before a batch is over. Editors write, rename and clean up within a few milliseconds.
pub(crate) const QUIET: Duration = Duration::from_millis(10);
/// How long a batch may grow: whoever writes without a pause sees something happen all the same.
pub(crate) const MAX_BATCH_TIME: Duration = Duration::from_millis(250);
/// How long nothing may be written to a file that is still open before it is read as it is: one that others append to may
/// never be closed.
pub(crate) const OPEN_QUIET: Duration = Duration::from_millis(500);
/// How long a batch may wait for files that are written all the time.
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
    /// Those that were written and not closed yet, with the moment of the last write.
    open: BTreeMap<String, Duration>,
}

impl Debounce {
    /// Adds a path whose file was written and may be open still.
    pub(crate) fn write(&mut self, moment: Duration, path: &str) {
        self.touch(moment, path);
        if !self.is_everything {
            self.open.insert(path.to_owned(), moment);
        }
    }

    /// Adds a path that was touched. What was open there is closed, or stands elsewhere.
    pub(crate) fn touch(&mut self, moment: Duration, path: &str) {
        self.extend(moment);
        self.open.remove(path);
        if self.is_everything {
            return;
        }
        if !self.paths.contains(path) {
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

    /// When the batch is over unless more comes; none while it is empty.
    pub(crate) fn due(&self) -> Option<Duration> {
        let (first, last) = self.span?;
        let quiet = (last + QUIET).min(first + MAX_BATCH_TIME);
        let written = self.open.values().max().map(|last| *last + OPEN_QUIET);
        Some(written.map_or(quiet, |written| quiet.max(written.min(first + MAX_OPEN_TIME))))
    }

    /// The batch if it is over by now; the next one starts empty.
    pub(crate) fn take(&mut self, moment: Duration) -> Option<ChangedPaths> {
        if self.due()? > moment {
            return None;
        }
        let Self { paths, is_everything, .. } = std::mem::take(self);
        Some(if is_everything { ChangedPaths::Any } else { ChangedPaths::Only(paths) })
    }

    fn extend(&mut self, moment: Duration) {
        let (first, last) = self.span.unwrap_or((moment, moment));
        self.span = Some((first, last.max(moment)));
    }
}

#[cfg(test)]
mod tests {
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
    fn a_file_that_is_written_is_waited_for_until_it_is_closed() {
        let mut debounce = Debounce::default();
        debounce.write(ms(5), "a");
        assert_eq!(debounce.due(), Some(ms(505)), "it may be open still");
        debounce.write(ms(400), "a");
        debounce.touch(ms(420), "b");
        assert_eq!(debounce.due(), Some(ms(900)));
        debounce.touch(ms(600), "a");
        assert_eq!(debounce.take(ms(600)), Some(paths(&["a", "b"])), "closed");
        // Written again, and never closed: some time it is read as it is.
        for at in 0..30 {
            debounce.write(ms(1_000 + at * 400), "a");
        }
        assert_eq!(debounce.due(), Some(ms(11_000)));
        assert_eq!(debounce.take(ms(11_000)), Some(paths(&["a"])));
        debounce.touch(ms(20_000), "b");
        assert_eq!(debounce.due(), Some(ms(20_010)), "what was taken is not waited for");
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
