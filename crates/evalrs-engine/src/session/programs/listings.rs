//! The entries of the store that list what programs load.

use jiff::Timestamp;

use super::read_program::ReadProgram;
use evalrs_eval::action::Action;
use evalrs_eval::program::Depfile;
use evalrs_exec::SeenFiles;
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

/// Looks up what a program of a suite in `folder` loads: in what is `held` of it, and in all layers of the store, where
/// others may have loaded it as it is now.
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
    let is_current = |listing: &&Listing| {
        let now = read.loading(&listing.depfile, &SeenFiles::new(), folder, system);
        listing.depfile.is_as_loaded(&now.dependencies)
    };
    let current = all.iter().find(is_current);
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

/// The entry that lists what a program loads; `action` finds that out.
pub(crate) fn entry(action: &Action, depfile: &Depfile, generation: u32, at: Timestamp) -> Entry {
    entry_of(action, depfile.to_text(), generation, at)
}

/// The entry of what is known of a program: this text.
pub(super) fn entry_of(action: &Action, text: String, generation: u32, at: Timestamp) -> Entry {
    let reply = Reply::new(text);
    let body =
        StoredOutcome::new(action.ingredients(), Outcome::Reply(reply), at.to_string()).to_body();
    Entry { key: action.key(), generation, body }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;

    use super::{FoundListing, entry, listed};
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
        let entry = entry(&read.dependencies_action(), &depfile, 3, Timestamp::UNIX_EPOCH);
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
