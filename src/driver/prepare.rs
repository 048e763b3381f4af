//! What a program that is named on a command line is by now, how it is started, and which files it loads.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::programs::{
    Place as ProgramPlace, ReadProgram, dependencies_action, entry, grown, listed, seen_from,
};
use crate::action::{ActionKey, key_of};
use crate::exec::{Discovered, Executor, Secret, SeenFiles, Start, see};
use crate::outcome::Stored;
use crate::program::{Identity, ProgramSpec};
use crate::store::{Entry, OutcomeStore, StoreError};
use crate::system::System;

/// A program that can be called.
#[derive(Debug)]
pub struct Prepared {
    /// All that the keys of its calls hold besides what it is handed.
    pub identity: Arc<Identity>,
    /// How it is started.
    pub start: Arc<Start>,
    loads: RefCell<Loads>,
}

/// The files that a program was seen to load.
#[derive(Debug, Default)]
struct Loads {
    /// From the working directory.
    paths: BTreeSet<String>,
    /// What was loaded of those that this command has seen.
    seen: SeenFiles,
    /// The generation of the entry that lists them.
    generation: u32,
}

/// Where a program is prepared.
pub struct Place<'a> {
    /// The folder of which it is told which files it loads.
    pub workspace: &'a str,
    /// The environment: the program sees all of it, as if it were run by hand. Only what its spec names decides its keys.
    pub environment: &'a BTreeMap<String, String>,
    /// The files.
    pub system: &'a dyn System,
    /// What loads programs that run in workers; none where nothing may run.
    pub executor: Option<&'a dyn Executor>,
    /// What knows which files a program loads.
    pub store: &'a mut dyn OutcomeStore,
}

/// Finds out what the program is by now, and which files it loads. An error is a clause for people.
pub async fn prepare(spec: ProgramSpec, place: Place<'_>) -> Result<Prepared, String> {
    let Place { workspace, environment, system, executor, store } = place;
    let mut read =
        ReadProgram::read(&spec, &ProgramPlace { folder: "", workspace, environment }, system)?;
    let value = |(name, value): (&String, &String)| (name.clone(), Secret::new(value.clone()));
    read.start = Arc::new(Start {
        env: environment.iter().map(value).collect(),
        ..read.start.as_ref().clone()
    });
    let mut loads = Loads::default();
    if spec.language.has_worker() {
        let held = store.get_many(&[read.dependencies_action().key()]).pop().flatten();
        match (held.and_then(|held| Some((listed(&held)?, held.generation))), executor) {
            (Some((paths, generation)), _) => loads = Loads { paths, generation, ..loads },
            (None, None) => {}
            (None, Some(executor)) => {
                let loaded = executor.load(Arc::clone(&read.start)).await;
                let discovered = loaded.map_err(|failure| match failure.stderr {
                    Some(details) => format!("{}\n{}", failure.message, details.trim_end()),
                    None => failure.message,
                })?;
                loads.seen = seen(&discovered, system);
                loads.paths = loads.seen.keys().cloned().collect();
                let entry = entry(&read.dependencies_action(), &loads.paths, 0, system.now());
                store.put_many(&[entry]).map_err(|error| error.to_string())?;
            }
        }
    }
    let known = read.loading((&loads.paths, &loads.seen), "", system);
    let (identity, start) = (Arc::new(Identity { spec, known }), Arc::clone(&read.start));
    Ok(Prepared { identity, start, loads: RefCell::new(loads) })
}

/// What was discovered, seen from the working directory.
fn seen(discovered: &Discovered, system: &dyn System) -> SeenFiles {
    let home = system.absolute(".");
    let from_here =
        |(path, digest): (&String, &Option<String>)| (seen_from(&home, path), digest.clone());
    discovered.files.iter().map(from_here).collect()
}

impl Prepared {
    /// The entries that list what programs were seen to load only when they were called: to be kept before what they
    /// gave.
    pub fn discovered(
        &self,
        all: &[(Arc<Identity>, Discovered)],
        system: &dyn System,
    ) -> Vec<Entry> {
        let mut loads = self.loads.borrow_mut();
        let before = loads.paths.len();
        for (_, discovered) in all {
            let seen = seen(discovered, system);
            loads.paths.extend(seen.keys().cloned());
            see(&mut loads.seen, seen);
        }
        if loads.paths.len() == before {
            return Vec::new();
        }
        loads.generation += 1;
        let action = dependencies_action(Arc::clone(&self.identity));
        vec![entry(&action, &loads.paths, loads.generation, system.now())]
    }

    /// Keeps what was given under the keys that hold all files which the program was seen to load: else the next command
    /// would call it again for everything. It has to where somebody edited such a file meanwhile: then nobody knows what
    /// the results rest on.
    pub fn complete_keys(
        &self,
        keys: &[ActionKey],
        store: &mut dyn OutcomeStore,
    ) -> Result<(), StoreError> {
        let Loads { paths, seen, .. } = &*self.loads.borrow();
        let Identity { spec, known } = self.identity.as_ref();
        if known.dependencies.len() == paths.len() {
            return Ok(());
        }
        let Some(known) = grown(known, paths, seen) else { return Ok(()) };
        let settings = Arc::new(Identity { spec: spec.clone(), known }).settings();
        let whole = settings.iter().find(|part| part.name == "dependencies");
        let moved = |entry: Entry| {
            let mut stored: Stored = serde_json::from_str(&entry.body).ok()?;
            let part = stored.ingredients.iter_mut().find(|part| part.name == "dependencies")?;
            part.clone_from(whole?);
            let key = key_of(&stored.ingredients)?;
            Some(Entry { key, generation: 0, body: stored.to_body() })
        };
        let entries = store.get_many(keys).into_iter().flatten();
        let entries: Vec<Entry> = entries.filter_map(moved).collect();
        store.put_many(&entries)
    }
}
