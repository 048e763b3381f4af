//! What a program that is named on a command line is by now, how it is started, and which files it loads.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::complete_keys::MAX_MOVED;
use crate::session::programs::listings::{
    FoundListing, Listing, discovered_from, grown, is_outgrown, listed,
};
use crate::session::programs::outputs::{KnownOutputs, ProgramNow, program_now};
use crate::session::programs::program_context::ProgramContext;
use crate::session::programs::read_program::{ReadProgram, dependencies_action};
use evalrs_eval::program::ProgramIdentity;
use evalrs_exec::{DiscoveredFiles, ProgramLoader, Start, see};
use evalrs_model::key::ActionKey;
use evalrs_model::outcome::StoredOutcome;
use evalrs_model::spec::ProgramSpec;
use evalrs_store::{Entry, OutcomeStore, StoreError};
use evalrs_system::System;

/// A program that can be called.
#[derive(Debug)]
pub struct PreparedProgram {
    /// All that the keys of its calls contain besides its input.
    pub identity: Arc<ProgramIdentity>,
    /// How it is started.
    pub start: Arc<Start>,
    /// The files that it was seen to load, from the working directory.
    loads: RefCell<Listing>,
    outputs: RefCell<PreparedOutputs>,
}

/// What a program is known to write that its words name.
#[derive(Debug)]
struct PreparedOutputs {
    known: KnownOutputs,
    /// The program as it was read, without that.
    read: ReadProgram,
}

/// Where a program is prepared.
pub struct PrepareContext<'a> {
    /// The folder below which it is noted which files it loads.
    pub workspace: &'a str,
    /// The environment: the program sees all of it, as if it were run by hand. Only what its spec names decides its keys.
    pub environment: &'a BTreeMap<String, String>,
    /// The files.
    pub system: &'a dyn System,
    /// What loads programs that run in workers; none where nothing may run.
    pub loader: Option<&'a dyn ProgramLoader>,
    /// What knows which files a program loads.
    pub store: &'a dyn OutcomeStore,
}

/// Finds out what the program is by now, and which files it loads. An error is a clause for people.
pub async fn prepare(
    spec: ProgramSpec,
    place: PrepareContext<'_>,
) -> Result<PreparedProgram, String> {
    let PrepareContext { workspace, environment, system, loader, store } = place;
    let at = ProgramContext { folder: "", workspace, environment, sees_all: true };
    let read = ReadProgram::read(&spec, &at, system)?;
    let mut loads = Listing::default();
    if spec.language.has_worker() {
        loads = match (listed(&read, None, store, "", system), loader) {
            (Some(FoundListing { listing, is_current: true }), _) => listing,
            (found, None) => found.map(|found| found.listing).unwrap_or_default(),
            (found, Some(loader)) => {
                let before = found.map(|found| found.listing);
                let loads = load(&read, before, loader, system).await?;
                let entry = loads.entry(&read.dependencies_action(), system.now());
                store.put_many(&[entry]).map_err(|error| error.to_string())?;
                loads
            }
        };
    }
    let outputs = KnownOutputs::find(&read, store);
    let read = read.without(&outputs.paths);
    let known = read.loading(&loads.depfile, &loads.seen, "", system);
    let identity = Arc::new(ProgramIdentity { spec, known });
    let start = Arc::clone(&read.start);
    let outputs = RefCell::new(PreparedOutputs { known: outputs, read });
    Ok(PreparedProgram { identity, start, loads: RefCell::new(loads), outputs })
}

/// Loads a program to see what it loads by now; `before` is what was listed.
async fn load(
    read: &ReadProgram,
    before: Option<Listing>,
    loader: &dyn ProgramLoader,
    system: &dyn System,
) -> Result<Listing, String> {
    let loaded = loader.load(Arc::clone(&read.start), read.base()).await;
    let discovered = loaded.map_err(|failure| match failure.stderr {
        Some(details) => format!("{}\n{}", failure.message, details.trim_end()),
        None => failure.message,
    })?;
    let (depfile, seen) = discovered_from("", discovered, system);
    Ok(Listing::anew(before, depfile, seen))
}

impl PreparedProgram {
    /// The entries that list what programs were seen to load only when they were called: to be kept before what they
    /// gave.
    pub(crate) fn discovered(
        &self,
        all: &[(Arc<ProgramIdentity>, DiscoveredFiles)],
        system: &dyn System,
    ) -> Vec<Entry> {
        let mut loads = self.loads.borrow_mut();
        let mut is_more = false;
        for (_, discovered) in all {
            let (depfile, seen) = discovered_from("", discovered.clone(), system);
            is_more |= loads.depfile.extend(&depfile);
            see(&mut loads.seen, seen);
        }
        if !is_more {
            return Vec::new();
        }
        loads.generation += 1;
        let action = dependencies_action(Arc::clone(&self.identity));
        vec![loads.entry(&action, system.now())]
    }

    /// Notes what the program was seen to write. Returns the entry that is to be kept and what is to be said, if that is
    /// new.
    pub fn written(
        &self,
        outputs: &BTreeSet<String>,
        system: &dyn System,
    ) -> Option<(Entry, Vec<String>)> {
        let PreparedOutputs { known, read } = &mut *self.outputs.borrow_mut();
        let new = known.note(read, outputs, system.now())?;
        *read = read.clone().without(&known.paths);
        Some(new)
    }

    /// What became of the program's files since its key was made.
    pub fn now(&self, system: &dyn System) -> ProgramNow {
        program_now(&self.identity, &self.outputs.borrow().read.outputs, "", system)
    }

    /// Keeps what was given under the keys that hold all files which the program was seen to load: else the next command
    /// would call it again for everything. It has to where such a file was edited meanwhile: then it is not known what
    /// the results rest on.
    pub fn complete_keys(
        &self,
        keys: &[ActionKey],
        store: &dyn OutcomeStore,
    ) -> Result<(), StoreError> {
        let Listing { depfile, seen, .. } = &*self.loads.borrow();
        let ProgramIdentity { spec, known } = self.identity.as_ref();
        if !is_outgrown(known, depfile) {
            return Ok(());
        }
        let Some(known) =
            grown(known, depfile, seen).filter(|grown| grown.dependencies != known.dependencies)
        else {
            return Ok(());
        };
        let settings = Arc::new(ProgramIdentity { spec: spec.clone(), known }).settings();
        let whole = settings.iter().find(|part| part.name == "dependencies");
        for keys in keys.chunks(MAX_MOVED) {
            let entries = store.get_many(keys).into_iter().flatten().filter_map(|entry| {
                let mut stored: StoredOutcome = serde_json::from_str(&entry.body).ok()?;
                let part =
                    stored.ingredients.iter_mut().find(|part| part.name == "dependencies")?;
                part.clone_from(whole?);
                Some(Entry { key: stored.key()?, generation: 0, body: stored.to_body() })
            });
            store.put_many(&entries.collect::<Vec<Entry>>())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{PrepareContext, PreparedProgram, prepare};
    use crate::resolve::complete_keys::MAX_MOVED;
    use evalrs_eval::action::Action;
    use evalrs_eval::program::{ProgramAction, ProgramFingerprint, ProgramIdentity};
    use evalrs_exec::executor::NoPrograms;
    use evalrs_exec::{DiscoveredFiles, SeenFiles};
    use evalrs_model::key::ActionKey;
    use evalrs_model::outcome::{Outcome, Reply, StoredOutcome};
    use evalrs_model::spec::{Language, ProgramSpec, Role};
    use evalrs_store::{Entry, MemoryStore, OutcomeStore, StoreError};
    use evalrs_system::memory::MemorySystem;

    /// A store that notes how much it was asked for, and given, at once.
    #[derive(Default)]
    struct Noting {
        store: MemoryStore,
        most: AtomicUsize,
    }

    impl OutcomeStore for Noting {
        fn get_many(&self, keys: &[ActionKey]) -> Vec<Option<Entry>> {
            self.most.fetch_max(keys.len(), Ordering::Relaxed);
            self.store.get_many(keys)
        }

        fn put_many(&self, entries: &[Entry]) -> Result<(), StoreError> {
            self.most.fetch_max(entries.len(), Ordering::Relaxed);
            self.store.put_many(entries)
        }

        fn keys(&self) -> Vec<ActionKey> {
            self.store.keys()
        }

        fn take_warnings(&self) -> Vec<String> {
            self.store.take_warnings()
        }
    }

    fn prepared(store: &Noting) -> PreparedProgram {
        let system =
            MemorySystem::with(&[("g.py", "")]).with_program("python3", "/bin/python3", "3.11.7");
        let place = PrepareContext {
            workspace: "",
            environment: &BTreeMap::new(),
            system: &system,
            loader: Some(&NoPrograms),
            store,
        };
        let spec = ProgramSpec::new("g.py".to_owned(), Language::Python, "grade", Role::Grade);
        futures_util::FutureExt::now_or_never(prepare(spec, place)).unwrap().unwrap()
    }

    fn action(identity: &Arc<ProgramIdentity>, at: usize) -> Action {
        Action::Program(ProgramAction { identity: Arc::clone(identity), input: at.to_string() })
    }

    #[test]
    fn what_was_given_is_kept_under_whole_keys_a_batch_at_a_time() {
        let count = 2 * MAX_MOVED + 1;
        for (digest, is_kept) in [(Some("d"), true), (None, false)] {
            let store = Noting::default();
            let prepared = prepared(&store);
            let keys: Vec<ActionKey> =
                (0..count).map(|at| action(&prepared.identity, at).key()).collect();
            for (at, key) in keys.iter().enumerate() {
                let text = at.to_string();
                let outcome = Outcome::Reply(Reply::new(text));
                let body = StoredOutcome::new(
                    action(&prepared.identity, at).ingredients(),
                    outcome,
                    String::new(),
                )
                .to_body();
                store.store.put_many(&[Entry { key: *key, generation: 0, body }]).unwrap();
            }
            let files: SeenFiles = [("/./late.py".to_owned(), digest.map(str::to_owned))].into();
            let seen = DiscoveredFiles { files, ..DiscoveredFiles::default() };
            let seen = [(Arc::clone(&prepared.identity), seen)];
            let system = MemorySystem::default();
            assert_eq!(prepared.discovered(&seen, &system).len(), 1);
            assert_eq!(prepared.discovered(&seen, &system), [], "that is known");
            prepared.complete_keys(&keys, &store).unwrap();
            let dependencies = vec![("late.py".to_owned(), "d".to_owned())];
            let ProgramIdentity { spec, known } = prepared.identity.as_ref().clone();
            let whole = Arc::new(ProgramIdentity {
                spec,
                known: ProgramFingerprint { dependencies, ..known },
            });
            let keys: Vec<ActionKey> = (0..count).map(|at| action(&whole, at).key()).collect();
            let held = store.store.get_many(&keys);
            assert_eq!(
                held.iter().filter(|held| held.is_some()).count(),
                count * usize::from(is_kept)
            );
            let most = store.most.into_inner();
            assert!(most <= MAX_MOVED, "{most}");
        }
    }
}
