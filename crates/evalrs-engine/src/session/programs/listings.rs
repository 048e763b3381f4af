//! The entries of the store that list what programs load, and what keys hold of those files by what was seen of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::file_state::seen_from;
use super::read_program::ReadProgram;
use evalrs_base::file_path::non_empty;
use evalrs_eval::action::Action;
use evalrs_eval::program::{Depfile, MISSING, ProgramFingerprint};
use evalrs_exec::{DiscoveredFiles, SeenFiles};
use evalrs_model::outcome::{Outcome, Reply, StoredOutcome, read_body};
use evalrs_store::{Entry, OutcomeStore};
use evalrs_system::System;

/// What an entry lists that says which files a program loads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub generation: u32,
    pub(crate) depfile: Depfile,
    /// What was loaded of the files that are in no key yet.
    pub seen: SeenFiles,
}

/// What is known of what a program loads.
#[derive(Clone, Debug)]
pub(crate) struct FoundListing {
    /// What is listed, under the highest generation that is.
    pub(crate) listing: Listing,
    /// Whether it was found out from files as they are now. If not, the program is to be loaded once more.
    pub is_current: bool,
}

/// Looks up which files a program of a suite in `folder` loads: in the loaded listings, and in all layers of the store,
/// where others may have loaded it in its current state.
pub(crate) fn listed(
    read: &ReadProgram,
    held: Option<&Listing>,
    store: &dyn OutcomeStore,
    folder: &str,
    system: &dyn System,
) -> Option<FoundListing> {
    let action = read.dependencies_action();
    // What it loaded under an earlier key tells which judgments of then are its own, until it is loaded anew.
    let keys = [action.key(), action.superseded_key()];
    let entries = keys.into_iter().flat_map(|key| store.all_of(key));
    let stored = entries.filter_map(|entry| {
        let depfile = Depfile::read(&text(&entry)?)?;
        Some(Listing { generation: entry.generation, depfile, seen: SeenFiles::new() })
    });
    let all: Vec<Listing> = held.cloned().into_iter().chain(stored).collect();
    let generation = all.iter().map(|listing| listing.generation).max()?;
    let current = all.iter().find(|listing| {
        let now = read.loading(&listing.depfile, &SeenFiles::new(), folder, system);
        listing.depfile.is_as_loaded(&now.dependencies)
    });
    let mut depfile = current.or(all.first())?.depfile.clone();
    // What calls look for is found out by some of them alone.
    for other in &all {
        depfile.extend(&other.depfile.of_calls());
    }
    let listing = Listing { generation, depfile, seen: SeenFiles::new() };
    Some(FoundListing { listing, is_current: current.is_some() })
}

pub(super) fn text(entry: &Entry) -> Option<String> {
    match read_body(&entry.body).ok()? {
        Outcome::Reply(reply) => Some(reply.text),
        Outcome::Failure(_) => None,
    }
}

impl Listing {
    /// What is listed once a program was loaded again, where this was listed `before`.
    pub(crate) fn anew(before: Option<Self>, depfile: Depfile, seen: SeenFiles) -> Self {
        let generation = before.as_ref().map_or(0, |before| before.generation.saturating_add(1));
        let files = depfile.files.iter();
        let loaded = files.filter_map(|path| Some((path.clone(), seen.get(path)?.clone()?)));
        let loaded = loaded.collect();
        let depfile = depfile.loaded_anew(loaded, &before.unwrap_or_default().depfile);
        Self { generation, depfile, seen }
    }

    /// The entry that lists it; `action` finds that out.
    pub(crate) fn entry(&self, action: &Action, at: Timestamp) -> Entry {
        entry_of(action, self.depfile.to_text(), self.generation, at)
    }
}

/// The entry of what is known of a program: this text.
pub(super) fn entry_of(action: &Action, text: String, generation: u32, at: Timestamp) -> Entry {
    let reply = Reply::new(text);
    let body =
        StoredOutcome::new(action.ingredients(), Outcome::Reply(reply), at.to_string()).to_body();
    Entry { key: action.key(), generation, body }
}

/// What is known of a program that was seen to load more than that: the files of `depfile`, which holds those known
/// before. What it gave rests on what was `seen` of them, and not on what they are by now. None if that is not known of
/// each.
pub(crate) fn grown(
    known: &ProgramFingerprint,
    depfile: &Depfile,
    seen: &SeenFiles,
) -> Option<ProgramFingerprint> {
    let mut files: BTreeMap<String, String> = known.dependencies.iter().cloned().collect();
    for path in &depfile.files {
        if !files.contains_key(path) {
            // One that is not there any more was when it was loaded.
            let digest = seen.get(path)?.as_ref().filter(|digest| *digest != MISSING)?;
            files.insert(path.clone(), digest.clone());
        }
    }
    let missed = depfile.missed.iter().filter(|path| !files.contains_key(*path)).cloned().collect();
    let dependencies = files.into_iter().collect();
    let missed = Arc::new(missed);
    Some(ProgramFingerprint { dependencies, missed, ..known.clone() })
}

/// Whether a depfile lists what is not known of a program.
pub(crate) fn is_outgrown(known: &ProgramFingerprint, depfile: &Depfile) -> bool {
    let known_count = known.dependencies.len() + known.missed.len();
    let mut files = depfile.files.iter();
    depfile.files.len() + depfile.missed.len() != known_count
        || !files.all(|path| known.dependencies.iter().any(|(file, _)| file == path))
}

pub(crate) fn depfile_of(known: &ProgramFingerprint) -> Depfile {
    let files = known.dependencies.iter().map(|(path, _)| path.clone()).collect();
    Depfile { files, missed: known.missed.as_ref().clone(), ..Depfile::default() }
}

/// What was discovered, with paths as they are seen from `folder`: what a program loads and reads, and what was seen of
/// the files that it loads and of those that were not there.
pub(crate) fn discovered_from(
    folder: &str,
    discovered: DiscoveredFiles,
    system: &dyn System,
) -> (Depfile, SeenFiles) {
    let home = system.absolute(non_empty(folder));
    let DiscoveredFiles { files, missed, reads, .. } = discovered;
    let mut seen: SeenFiles =
        files.into_iter().map(|(path, state)| (seen_from(&home, &path), state)).collect();
    let files: BTreeSet<String> = seen.keys().cloned().collect();
    let missed = missed.iter().map(|path| seen_from(&home, path));
    let missed: BTreeSet<String> = missed.filter(|path| !files.contains(path)).collect();
    seen.extend(missed.iter().map(|path| (path.clone(), Some(MISSING.to_owned()))));
    let reads = reads.into_iter().map(|(path, digest)| (seen_from(&home, &path), digest));
    let reads = reads.filter(|(path, _)| !files.contains(path));
    let reads = reads.map(|(path, digest)| (path, digest.into_iter().collect())).collect();
    (Depfile { files, missed, reads, ..Depfile::default() }, seen)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;

    use super::{FoundListing, Listing, SeenFiles, listed};
    use crate::session::programs::program_context::ProgramContext;
    use crate::session::programs::read_program::ReadProgram;
    use evalrs_eval::program::{Depfile, file_digest};
    use evalrs_model::spec::{Language, ProgramSpec, Role};
    use evalrs_store::{MemoryStore, OutcomeStore};
    use evalrs_system::memory::MemorySystem;

    #[test]
    fn a_list_is_current_while_the_files_are_what_was_loaded() {
        let system = MemorySystem::default().with_program("python3", "/usr/bin/python3", "3.11.7");
        system.set("/w/g.py", "");
        system.set("/w/h.py", "1");
        let spec = ProgramSpec::new("/w/g.py".to_owned(), Language::Python, "grade", Role::Grade);
        let environment = &BTreeMap::new();
        let place = ProgramContext { folder: "/w", workspace: "/w", environment, sees_all: false };
        let read = ReadProgram::read(&spec, &place, &system).unwrap();
        let store = MemoryStore::default();
        let find = || listed(&read, None, &store, "/w", &system);
        assert!(find().is_none());
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let depfile = Depfile {
            files: set(&["h.py"]),
            missed: set(&["h"]),
            loaded: Some([("h.py".to_owned(), file_digest(Some(b"1")))].into()),
            ..Depfile::default()
        };
        let listing = Listing { generation: 3, depfile: depfile.clone(), seen: SeenFiles::new() };
        let entry = listing.entry(&read.dependencies_action(), Timestamp::UNIX_EPOCH);
        store.put_many(&[entry]).unwrap();
        let is_current = || {
            let FoundListing { listing, is_current } = find().unwrap();
            assert_eq!((listing.depfile, listing.generation), (depfile.clone(), 3));
            is_current
        };
        assert!(is_current());
        system.set("/w/h.py", "2");
        assert!(!is_current());
        system.set("/w/h.py", "1");
        system.set("/w/h", "");
        assert!(!is_current());
    }
}
