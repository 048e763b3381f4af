//! The entries of the store that list what programs load.

use jiff::Timestamp;

use super::ReadProgram;
use crate::effects::store::{Entry, OutcomeStore};
use crate::pipeline::action::Action;
use crate::pipeline::key::ActionKey;
use crate::pipeline::outcome::{Outcome, Reply, Stored, read_body};
use crate::pipeline::program::{DependenciesAction, Depfile, DepfileFormat};

/// What the store knows of what a program loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoredListing {
    /// All there is to know, under this generation.
    All(Depfile, u32),
    /// The files that it loads. They were listed before it was listed where it looks for others: to find that out, it is
    /// loaded once more.
    Files(Depfile),
    /// Nothing.
    Nothing,
}

/// Looks up what programs load.
pub(crate) fn find(programs: &[&ReadProgram], store: &dyn OutcomeStore) -> Vec<StoredListing> {
    let keys: Vec<ActionKey> =
        programs.iter().map(|read| read.dependencies_action().key()).collect();
    let all = store.get_many(&keys);
    let of_files: Vec<ActionKey> = programs.iter().map(|read| files_key(read)).collect();
    let of_files = store.get_many(&of_files);
    let found = |(all, files): (Option<Entry>, Option<Entry>)| {
        if let Some(entry) = all
            && let Some(depfile) = text(&entry).and_then(|text| Depfile::read(&text))
        {
            return StoredListing::All(depfile, entry.generation);
        }
        let depfile = files.as_ref().and_then(text).and_then(|text| Depfile::read_files(&text));
        depfile.map_or(StoredListing::Nothing, StoredListing::Files)
    };
    all.into_iter().zip(of_files).map(found).collect()
}

/// The key under which nothing but the files of a program was listed.
pub(crate) fn files_key(read: &ReadProgram) -> ActionKey {
    let format = DepfileFormat::Files;
    Action::Dependencies(DependenciesAction { identity: read.identity(), format }).key()
}

fn text(entry: &Entry) -> Option<String> {
    match read_body(&entry.body).ok()? {
        Outcome::Reply(reply) => Some(reply.text),
        Outcome::Failure(_) => None,
    }
}

/// The entry that lists what a program loads; `action` finds that out.
pub(crate) fn entry(action: &Action, depfile: &Depfile, generation: u32, at: Timestamp) -> Entry {
    let reply = Reply::new(depfile.to_text());
    let body = Stored::new(action.ingredients(), Outcome::Reply(reply), at.to_string()).to_body();
    Entry { key: action.key(), generation, body }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;

    use super::{StoredListing, entry, files_key, find};
    use crate::base::system::memory::MemorySystem;
    use crate::effects::store::{Entry, MemoryStore, OutcomeStore};
    use crate::engine::session::programs::{ProgramContext, ReadProgram};
    use crate::pipeline::outcome::{Outcome, Reply, Stored};
    use crate::pipeline::program::Depfile;
    use crate::pipeline::spec::{Language, ProgramSpec, Role};

    fn read() -> ReadProgram {
        let system = MemorySystem::default().with_program("python3", "/usr/bin/python3", "3.11.7");
        system.set("/w/g.py", "");
        let spec = ProgramSpec::new("/w/g.py".to_owned(), Language::Python, "grade", Role::Grade);
        let environment = &BTreeMap::new();
        let place = ProgramContext { folder: "/w", workspace: "/w", environment, sees_all: false };
        ReadProgram::read(&spec, &place, &system).unwrap()
    }

    #[test]
    fn lists_of_files_are_read_until_there_is_a_whole_one() {
        let read = read();
        let store = MemoryStore::default();
        let files: Depfile = Depfile::read_files(r#"["a.py","b.py"]"#).unwrap();
        let whole = Depfile { missed: ["c.py".to_owned()].into(), ..files.clone() };
        assert_eq!(find(&[&read], &store), [StoredListing::Nothing]);
        let text = r#"["a.py","b.py"]"#.to_owned();
        let reply = Outcome::Reply(Reply::new(text));
        let body =
            Stored::new(read.dependencies_action().ingredients(), reply, String::new()).to_body();
        store.put_many(&[Entry { key: files_key(&read), generation: 3, body }]).unwrap();
        assert_eq!(find(&[&read], &store), [StoredListing::Files(files)]);
        let whole_entry = entry(&read.dependencies_action(), &whole, 1, Timestamp::UNIX_EPOCH);
        store.put_many(&[whole_entry]).unwrap();
        assert_eq!(find(&[&read], &store), [StoredListing::All(whole, 1)]);
    }
}
