//! The result of loads of edited programs, so that one that is again what it was is not loaded once
//! more.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::programs::read_program::ReadProgram;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_eval::program::ProgramFingerprint;
use evalrs_exec::DiscoveredFiles;
use evalrs_model::spec::ProgramSpec;
use evalrs_system::changed_paths::ChangedPaths;

/// Capacity of the cache of successful loads.
const MAX_PASSED: usize = 200;

/// How often in a row a load is retried although only the folders beside the programs were touched. A program that
/// writes there when it is loaded would be loaded for ever.
const MAX_FUTILE_RELOADS: usize = 10;

#[derive(Debug, Default)]
pub(crate) struct PreflightLog {
    /// Whether nothing may be executed.
    pub is_closed: bool,
    /// The successful loads, the oldest first.
    pub passed: VecDeque<PassedPreflight>,
    /// The failed loads since the last save.
    pub failed: Vec<FailedPreflight>,
    /// The folders that are watched because something in them may be what keeps a program from being loaded.
    pub beside: BTreeSet<String>,
    /// How often in a row nothing else was touched than these.
    futile_reloads: usize,
}

/// A program that was loaded, or whose load was not attempted because nothing may be executed.
#[derive(Debug)]
pub(crate) struct PassedPreflight {
    pub spec: ProgramSpec,
    /// Its files and those that it loaded, as they were then.
    pub known: ProgramFingerprint,
    pub(super) discovered: Option<DiscoveredFiles>,
}

#[derive(Debug)]
pub(crate) struct FailedPreflight {
    pub spec: ProgramSpec,
    pub known: Arc<ProgramFingerprint>,
    pub problem: Diagnostic,
}

impl PreflightLog {
    /// Files were saved: failed loads are retried, unless the programs themselves may have touched what is beside them.
    pub(crate) fn begin(&mut self, touched: &ChangedPaths) {
        self.futile_reloads =
            if touched.are_all_in(&self.beside) { self.futile_reloads + 1 } else { 0 };
        if self.futile_reloads <= MAX_FUTILE_RELOADS {
            self.failed.clear();
        }
    }

    pub(super) fn failure_of(&self, read: &ReadProgram) -> Option<&Diagnostic> {
        let mut failed = self.failed.iter();
        let is_it = |it: &&FailedPreflight| it.spec == read.start.spec && it.known == read.known;
        Some(&failed.find(is_it)?.problem)
    }

    /// Adds a successful load; the oldest is evicted where the cache is full.
    pub(super) fn remember(&mut self, passed: PassedPreflight) {
        if self.passed.len() >= MAX_PASSED {
            self.passed.pop_front();
        }
        self.passed.push_back(passed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::{FailedPreflight, MAX_FUTILE_RELOADS, MAX_PASSED, PassedPreflight, PreflightLog};
    use evalrs_base::diagnostic::{Diagnostic, Place};
    use evalrs_eval::program::ProgramFingerprint;
    use evalrs_model::spec::{Language, ProgramSpec, Role};
    use evalrs_system::changed_paths::ChangedPaths;

    #[test]
    fn a_program_that_writes_beside_itself_is_not_tried_for_ever() {
        let mut log =
            PreflightLog { beside: BTreeSet::from([".".into()]), ..PreflightLog::default() };
        let mut is_tried = |path: &str| {
            let spec = ProgramSpec::new("f.py".into(), Language::Python, "f", Role::Grade);
            let problem = Diagnostic::error(Place::file("f.py"), "no");
            log.failed = vec![FailedPreflight { spec, known: Arc::default(), problem }];
            log.begin(&ChangedPaths::Only(BTreeSet::from([path.into()])));
            log.failed.is_empty()
        };
        for _ in 0..2 {
            assert!((0..MAX_FUTILE_RELOADS).all(|_| is_tried(".")));
            assert!(!is_tried(".") && !is_tried("."));
            assert!(is_tried("f.py"), "somebody saved it");
        }
    }

    #[test]
    fn no_more_programs_are_remembered_than_a_session_tries() {
        let mut log = PreflightLog::default();
        for at in 0..MAX_PASSED + 3 {
            let spec = ProgramSpec::new(format!("{at}.py"), Language::Python, "f", Role::Grade);
            log.remember(PassedPreflight {
                spec,
                known: ProgramFingerprint::default(),
                discovered: None,
            });
        }
        let paths = [&log.passed[0], &log.passed[MAX_PASSED - 1]].map(|passed| &passed.spec.path);
        assert_eq!((paths, log.passed.len()), ([&"3.py".into(), &"202.py".into()], MAX_PASSED));
    }
}
