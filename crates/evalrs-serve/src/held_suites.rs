//! The current suites, kept in memory so that those whose files have not changed are not read for each
//! request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use super::locks::locked;
use crate::view::suite_facts::SuiteFacts;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_engine::session::Session;
use evalrs_graph::change::Change;
use evalrs_graph::inputs::Overrides;
use evalrs_system::disk::{DiskMoment, DiskStamp};
use evalrs_system::os::OsSystem;
use evalrs_use_cases::context::SuiteContext;
use evalrs_use_cases::open::new_session;

/// The bytes of the files of all suites in memory; one is kept whatever its size.
const MOST_BYTES: u64 = 64 << 20;
/// How often a suite is read whose files are written meanwhile.
const MOST_READINGS: usize = 3;
/// How often samples are looked up in one: what was found for them stays in it.
const MOST_USES: u32 = 500;

/// The suites in memory, the last used one first.
#[derive(Default)]
pub(super) struct HeldSuites {
    held: Mutex<VecDeque<HeldSuite>>,
}

impl HeldSuites {
    /// Lets go of all, where what comes next takes as much memory.
    pub(super) fn let_go(&self) {
        locked(&self.held).clear();
    }

    /// Does something with a suite as it is now, narrowed down to `samples` if there are any. One suite is used at a
    /// time, so that many requests take no more memory than one.
    pub(crate) fn with<T>(
        &self,
        path: &str,
        samples: &[String],
        surroundings: &SuiteContext,
        work: impl FnOnce(SuiteNow<'_>) -> T,
    ) -> T {
        let mut all = locked(&self.held);
        // Taken out: what panics on the way is not used again.
        let at = all.iter().position(|held| held.path == path);
        let held = at.and_then(|at| all.remove(at)).filter(|held| held.is_of_now(surroundings));
        let mut held = held.unwrap_or_else(|| HeldSuite::read_whole(path, surroundings));
        held.select(samples, surroundings);
        held.uses += u32::from(!samples.is_empty());
        let HeldSuite { session, problems, facts, .. } = &mut held;
        let done = work(SuiteNow { session, problems, facts, surroundings });
        let mut bytes = held.bytes();
        all.push_front(held);
        let mut kept = 1;
        while let Some(next) = all.get(kept)
            && bytes + next.bytes() <= MOST_BYTES
        {
            bytes += next.bytes();
            kept += 1;
        }
        all.truncate(kept);
        done
    }
}

struct HeldSuite {
    path: String,
    environment: BTreeMap<String, String>,
    /// What it was made from: file or folder → its stamp.
    stamps: BTreeMap<String, Option<DiskStamp>>,
    session: Session,
    problems: Vec<Diagnostic>,
    /// What its rows say, once somebody wanted that.
    facts: Option<Arc<SuiteFacts>>,
    /// Whether nothing was written while it was read: else it may be of no moment, or stale already.
    is_of_one_moment: bool,
    uses: u32,
}

impl HeldSuite {
    fn read(path: &str, surroundings: &SuiteContext) -> Self {
        let begun = DiskMoment::now();
        let mut session = new_session(path, surroundings, Overrides::default());
        let problems = session.load(&OsSystem);
        let paths = session.paths();
        let is_of_one_moment = paths.iter().all(|path| begun.is_after_all_of(path));
        let stamped = |path: String| {
            let stamp = DiskStamp::of(&path);
            (path, stamp)
        };
        let stamps = paths.into_iter().map(stamped).collect();
        let environment = surroundings.environment.clone();
        let path = path.to_owned();
        let facts = None;
        Self { path, environment, stamps, session, problems, facts, is_of_one_moment, uses: 0 }
    }

    /// Reads it again as long as it is written meanwhile, within reason.
    fn read_whole(path: &str, surroundings: &SuiteContext) -> Self {
        let mut held = Self::read(path, surroundings);
        for _ in 1..MOST_READINGS {
            if held.is_of_one_moment {
                break;
            }
            held = Self::read(path, surroundings);
        }
        held
    }

    fn is_of_now(&self, surroundings: &SuiteContext) -> bool {
        self.is_of_one_moment
            && self.uses < MOST_USES
            && self.environment == surroundings.environment
            && self.stamps.iter().all(|(path, stamp)| DiskStamp::of(path) == *stamp)
    }

    fn bytes(&self) -> u64 {
        self.stamps.values().flatten().map(|stamp| stamp.length).sum()
    }

    /// Narrows the suite down to these samples; to all if there are none.
    fn select(&mut self, samples: &[String], surroundings: &SuiteContext) {
        let sandbox = surroundings.workspace.sandbox.unwrap_or_default();
        let samples = samples.to_vec();
        let overrides = Some(Overrides { samples, sandbox, ..Overrides::default() });
        let change = Change { overrides, ..Change::default() };
        change.apply(&mut self.session.db, self.session.root);
    }
}

/// A suite in use: its session, what is wrong with it, and what surrounds it.
pub(super) struct SuiteNow<'a> {
    /// Its session, narrowed down to the selected samples.
    pub session: &'a mut Session,
    pub problems: &'a [Diagnostic],
    /// What its rows say of cases, if that is known already.
    pub facts: &'a mut Option<Arc<SuiteFacts>>,
    pub surroundings: &'a SuiteContext,
}
