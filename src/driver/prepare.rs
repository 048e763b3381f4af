//! What a program that is named on a command line is by now, how it is started, and which files it loads.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::programs::{Place as ProgramPlace, ReadProgram, entry, listed, seen_from};
use crate::action::{ActionKey, key_of};
use crate::exec::{Discovered, Executor, Secret, Start};
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
    read: ReadProgram,
    /// The files that it was seen to load, and the generation of the entry that lists them.
    loads: RefCell<(BTreeSet<String>, u32)>,
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
    let mut loads = (BTreeSet::new(), 0);
    if spec.language.has_worker() {
        let held = store.get_many(&[read.dependencies_action().key()]).pop().flatten();
        match (held.and_then(|held| Some((listed(&held)?, held.generation))), executor) {
            (Some(held), _) => loads = held,
            (None, None) => {}
            (None, Some(executor)) => {
                let loaded = executor.load(Arc::clone(&read.start)).await;
                let discovered = loaded.map_err(|failure| match failure.stderr {
                    Some(details) => format!("{}\n{}", failure.message, details.trim_end()),
                    None => failure.message,
                })?;
                loads.0 = seen(&discovered, system);
                let entry = entry(&read.dependencies_action(), &loads.0, 0, system.now());
                store.put_many(&[entry]).map_err(|error| error.to_string())?;
            }
        }
    }
    let known = read.loading(&loads.0, "", system);
    let (identity, start) = (Arc::new(Identity { spec, known }), Arc::clone(&read.start));
    Ok(Prepared { identity, start, read, loads: RefCell::new(loads) })
}

/// The paths of what was discovered, seen from the working directory.
fn seen(discovered: &Discovered, system: &dyn System) -> BTreeSet<String> {
    let home = system.absolute(".");
    discovered.files.iter().map(|path| seen_from(&home, path)).collect()
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
        let (paths, generation) = &mut *loads;
        let before = paths.len();
        paths.extend(all.iter().flat_map(|(_, discovered)| seen(discovered, system)));
        if paths.len() == before {
            return Vec::new();
        }
        *generation += 1;
        vec![entry(&self.read.dependencies_action(), paths, *generation, system.now())]
    }

    /// Keeps what was given under the keys that hold all files which the program was seen to load: else the next command
    /// would call it again for everything.
    pub fn complete_keys(
        &self,
        keys: &[ActionKey],
        store: &mut dyn OutcomeStore,
        system: &dyn System,
    ) -> Result<(), StoreError> {
        let loads = self.loads.borrow();
        if self.identity.known.dependencies.len() == loads.0.len() {
            return Ok(());
        }
        let (spec, known) = (self.identity.spec.clone(), self.read.loading(&loads.0, "", system));
        let settings = Arc::new(Identity { spec, known }).settings();
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
