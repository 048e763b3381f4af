//! What a path looked like when it was last looked at.
//!
//! Pure: stamps come from outside. Files are not read: of a dataset of some hundred megabytes on a network drive its
//! time and size are looked at every second, not its text.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The coarsest times of files that are in use, those of FAT. Somebody may write twice within it, and the second time
/// leaves no trace in time and size.
const COARSEST: Duration = Duration::from_secs(2);

/// How long a file must be unchanged before it is reported, since a program may still write it.
pub(crate) const SETTLING: Duration = Duration::from_millis(50);
/// How long a file may be written before it is reported all the same.
const MAX_SETTLING: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct Stamps<S> {
    known: BTreeMap<Arc<str>, SeenStamp<S>>,
}

#[derive(Debug)]
struct SeenStamp<S> {
    stamp: S,
    /// When it was first seen; none once it is certain that another change would show.
    since: Option<Duration>,
    /// Since when it differs from what was reported; none once that is reported.
    settling: Option<SettlingSpan>,
}

#[derive(Debug)]
struct SettlingSpan {
    /// When it was first another one.
    first: Duration,
    /// When it was last another one than before.
    last: Duration,
}

impl<S: PartialEq> Stamps<S> {
    /// Whether `path` may have changed since the last report: none was known, it has had another stamp for [`SETTLING`], or
    /// the stamp is only now old enough to be relied on. So a file is not reported while it is written, but for one that is
    /// written for [`MAX_SETTLING`]. The last is said once a change, and by the clock of this process: that of a network
    /// drive may be another.
    pub(crate) fn is_touched(&mut self, moment: Duration, path: &Arc<str>, stamp: S) -> bool {
        let Some(known) = self.known.get_mut(path) else {
            let seen = SeenStamp { stamp, since: Some(moment), settling: None };
            self.known.insert(path.clone(), seen);
            return true;
        };
        if known.stamp == stamp {
            let stands_still = |span: &mut SettlingSpan| moment >= span.last + SETTLING;
            return known.settling.take_if(stands_still).is_some()
                || known.since.take_if(|since| moment >= *since + COARSEST).is_some();
        }
        known.stamp = stamp;
        known.since = Some(moment);
        let span = known.settling.get_or_insert(SettlingSpan { first: moment, last: moment });
        span.last = moment;
        known.settling.take_if(|span| moment >= span.first + MAX_SETTLING).is_some()
    }

    /// Whether all changes of a path were reported.
    pub(crate) fn is_settled_at(&self, path: &Arc<str>) -> bool {
        self.known.get(path).is_none_or(|seen| seen.settling.is_none())
    }

    /// Whether all changes were reported.
    pub(crate) fn is_settled(&self) -> bool {
        self.known.values().all(|seen| seen.settling.is_none())
    }

    /// Forgets all paths but those.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&Arc<str>) -> bool) {
        self.known.retain(|path, _| is_kept(path));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::Stamps;

    /// Looks at one path again and again: (milliseconds, its stamp, whether it may have changed).
    #[track_caller]
    fn check(looks: &[(u64, u32, bool)]) {
        let path: Arc<str> = Arc::from("file");
        let mut stamps = Stamps::default();
        for (moment, stamp, touched) in looks {
            let found = stamps.is_touched(Duration::from_millis(*moment), &path, *stamp);
            assert_eq!(found, *touched, "at {moment}");
        }
    }

    #[test]
    fn another_stamp_is_a_change_once_it_stands_still() {
        check(&[
            (0, 7, true),
            (100, 7, false),
            (200, 8, false),
            (250, 8, true),
            (300, 8, false),
            (400, 7, false),
            (450, 9, false),
            (500, 9, true),
        ]);
    }

    #[test]
    fn what_is_written_all_the_time_is_a_change_too() {
        check(&[
            (0, 1, true),
            (100, 2, false),
            (9_000, 3, false),
            (10_100, 4, true),
            (10_200, 4, false),
        ]);
    }

    #[test]
    fn a_stamp_is_relied_on_only_when_it_is_old_enough() {
        check(&[
            (0, 7, true),
            (1999, 7, false),
            (2001, 7, true),
            (2100, 7, false),
            (9000, 7, false),
        ]);
        check(&[
            (0, 7, true),
            (1500, 8, false),
            (1550, 8, true),
            (2500, 8, false),
            (3500, 8, true),
            (6000, 8, false),
        ]);
    }

    #[test]
    fn a_path_that_was_forgotten_is_new() {
        let [kept, gone]: [Arc<str>; 2] = ["kept".into(), "gone".into()];
        let mut stamps = Stamps::default();
        assert!(stamps.is_touched(Duration::ZERO, &kept, 1));
        assert!(stamps.is_touched(Duration::ZERO, &gone, 1));
        stamps.keep(|path| *path == kept);
        assert!(!stamps.is_touched(Duration::ZERO, &kept, 1));
        assert!(stamps.is_touched(Duration::ZERO, &gone, 1));
    }
}
