//! Files that programs write although their words name them: no part of what decides what they do.
//!
//! Which these are is found out while a program runs, and is an entry of the store whose key names the program and its
//! words, whatever its files are: an edit of an agent leaves its log what it is. What a suite declares wins.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::file_state::{Folders, digest, seen_from, state};
use super::read_program::ReadProgram;
use super::{inputs, listings};
use evalrs_base::file_path::join;
use evalrs_eval::action::Action;
use evalrs_eval::program::{DependenciesAction, DepfileFormat, ProgramIdentity};
use evalrs_model::key::ActionKey;
use evalrs_store::{Entry, OutcomeStore};
use evalrs_system::System;

#[derive(Clone, Debug, Default)]
pub struct KnownOutputs {
    /// Their paths from the suite's folder.
    pub paths: BTreeSet<String>,
    /// The generation under which more of them are kept.
    generation: u32,
}

/// What became of the files of a program since its key was made.
#[derive(Debug)]
pub enum ProgramNow {
    Same,
    /// This one is another.
    Changed(String),
    /// It has turned out to write some that its key holds: this is all that decides what it does.
    Without(Arc<ProgramIdentity>),
}

impl KnownOutputs {
    /// What the layers of the store know of the outputs of a program.
    pub fn find(read: &ReadProgram, store: &dyn OutcomeStore) -> Self {
        let mut known = Self::default();
        if read.start.may_write.is_empty() {
            return known;
        }
        for entry in store.all_of(action(read).key()) {
            let text = listings::text(&entry);
            let paths = text.and_then(|text| serde_json::from_str::<Vec<String>>(&text).ok());
            known.paths.extend(paths.unwrap_or_default());
            known.generation = known.generation.max(entry.generation.saturating_add(1));
        }
        known
    }

    /// Notes what a program was seen to write. Returns the entry that is to be kept and what is to be said, if that is new.
    pub fn note(
        &mut self,
        read: &ReadProgram,
        written: &BTreeSet<String>,
        at: Timestamp,
    ) -> Option<(Entry, Vec<String>)> {
        let name = read.start.spec.shown();
        let mut told = Vec::new();
        for path in written.iter().filter(|path| read.start.may_write.contains(path)) {
            let path = seen_from(&read.home, path);
            if !self.paths.contains(&path) {
                told.push(format!(
                    "`{name}` writes `{path}` while it runs: from now on that is an output, and its content is not part of the key"
                ));
                self.paths.insert(path);
            }
        }
        if told.is_empty() {
            return None;
        }
        let text = serde_json::to_string(&self.paths).unwrap_or_default();
        let entry = listings::entry_of(&action(read), text, self.generation, at);
        self.generation = self.generation.saturating_add(1);
        Some((entry, told))
    }
}

/// The question which outputs a program has. Equal words in two folders name two files.
fn action(read: &ReadProgram) -> Action {
    let mut identity = read.identity().as_ref().clone();
    if read.home != read.start.workspace {
        let folder = seen_from(&read.start.workspace, &read.home);
        identity.known.path = join(&folder, &identity.known.path);
    }
    let format = DepfileFormat::Outputs;
    Action::Dependencies(DependenciesAction { identity: Arc::new(identity), format })
}

/// The key of the entry that lists the outputs of a program; none where its words name nothing.
pub(crate) fn outputs_key(read: &ReadProgram) -> Option<ActionKey> {
    (!read.start.may_write.is_empty() || !read.outputs.is_empty()).then(|| action(read).key())
}

impl ReadProgram {
    /// The same without the files of `outputs` among what it rests on, but for what the suite declares.
    pub fn without(mut self, outputs: &BTreeSet<String>) -> Self {
        let home = self.home.clone();
        let is_output = |path: &String| outputs.contains(&seen_from(&home, path));
        let mut start = self.start.as_ref().clone();
        let written: Vec<String> = start.may_write.extract_if(.., |path| is_output(path)).collect();
        if written.is_empty() {
            return self;
        }
        start.inputs.retain(|path| !written.contains(path));
        self.start = Arc::new(start);
        self.outputs.extend(written.iter().map(|path| seen_from(&home, path)));
        let mut known = self.known.as_ref().clone();
        known.inputs.retain(|(path, _)| !self.outputs.contains(path));
        self.known = Arc::new(known);
        let of_suite = &self.folder;
        let outputs: BTreeSet<String> =
            self.outputs.iter().map(|path| join(of_suite, path)).collect();
        self.paths.retain(|path| !outputs.contains(path));
        self
    }
}

/// What became of the files of a program, of which these were found to be outputs. What it gave while somebody edited them
/// may be of either state, and is kept under neither.
pub(crate) fn program_now(
    identity: &ProgramIdentity,
    outputs: &BTreeSet<String>,
    folder: &str,
    system: &dyn System,
) -> ProgramNow {
    let ProgramIdentity { spec, known } = identity;
    if !spec.path.is_empty() && digest(&spec.path, system) != known.program {
        return ProgramNow::Changed(known.path.clone());
    }
    let mut inputs = known.inputs.iter().filter(|(path, _)| !outputs.contains(path));
    let mut loaded = known.dependencies.iter().filter(|(path, _)| !outputs.contains(path));
    let mut folders = Folders::of(system);
    let other = inputs
        .find(|(path, held)| inputs::state(spec, folder, path, system) != *held)
        .or_else(|| loaded.find(|(path, held)| state(&join(folder, path), system) != *held))
        .map(|(path, _)| path)
        .or_else(|| known.missed.iter().find(|path| folders.state(&join(folder, path)).is_some()));
    match other {
        Some(path) => ProgramNow::Changed(path.clone()),
        None if known.inputs.iter().any(|(path, _)| outputs.contains(path)) => {
            ProgramNow::Without(Arc::new(identity.without_inputs(outputs)))
        }
        None => ProgramNow::Same,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use jiff::Timestamp;

    use super::{KnownOutputs, ProgramNow, program_now};
    use crate::session::programs::program_context::ProgramContext;
    use crate::session::programs::read_program::ReadProgram;
    use evalrs_eval::program::ProgramIdentity;
    use evalrs_model::spec::{Language, ProgramSpec, Role};
    use evalrs_store::{MemoryStore, OutcomeStore};
    use evalrs_system::memory::MemorySystem;

    fn system() -> MemorySystem {
        let names = ["python3", "agent"].map(|name| (name, format!("/usr/bin/{name}")));
        let system = MemorySystem::default();
        let system = names
            .iter()
            .fold(system, |system, (name, path)| system.with_program(name, path, "3.11.7"));
        for path in ["agent.py", "p.txt", "a.log"] {
            system.set(&format!("/w/{path}"), path);
        }
        system
    }

    fn read(words: &[&str], said: [&[&str]; 2], system: &MemorySystem) -> ReadProgram {
        let mut spec = ProgramSpec::new(String::new(), Language::Executable, "", Role::Target);
        spec.runtime = Some(words[0].to_owned());
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        [spec.arguments, spec.inputs, spec.outputs] = [&words[1..], said[0], said[1]].map(owned);
        let environment = &BTreeMap::new();
        let place = ProgramContext { folder: "/w", workspace: "/w", environment, sees_all: false };
        ReadProgram::read(&spec, &place, system).unwrap()
    }

    #[test]
    fn what_a_command_may_write_is_neither_its_script_nor_what_is_declared() {
        let system = system();
        for (words, said, inputs, may_write) in [
            (
                &["python3", "agent.py", "--log", "a.log"][..],
                [&[][..], &[]],
                "a.log agent.py",
                "a.log",
            ),
            (&["python3", "-u", "agent.py", "b.log"], [&[], &[]], "agent.py", "b.log"),
            (&["agent", "agent.py", "--log", "a.log"], [&[], &[]], "a.log agent.py", "a.log"),
            (&["agent", "--log", "a.log"], [&[], &[]], "a.log", "a.log"),
            (&["agent", "--log", "/w/a.log", "-x"], [&[], &[]], "a.log", "a.log"),
            (
                &["python3", "agent.py", "a.log", "p.txt"],
                [&["a.log"], &[]],
                "a.log agent.py p.txt",
                "p.txt",
            ),
            (
                &["python3", "agent.py", "a.log", "p.txt"],
                [&[], &["*.log"]],
                "agent.py p.txt",
                "p.txt",
            ),
            (&["python3", "agent.py", "b.log"], [&[], &["b.log"]], "agent.py", ""),
            (&["python3", "agent.py"], [&["**"], &["*.log"]], "agent.py p.txt", ""),
        ] {
            let read = read(words, said, &system);
            let paths: Vec<&str> =
                read.known.inputs.iter().map(|(path, _)| path.as_str()).collect();
            assert_eq!(paths.join(" "), inputs, "{words:?}");
            let found: Vec<&str> =
                read.start.may_write.iter().filter_map(|path| path.strip_prefix("/w/")).collect();
            assert_eq!(found.join(" "), may_write, "{words:?}");
        }
    }

    #[test]
    fn equal_words_in_two_folders_are_two_programs_on_every_machine() {
        let words = ["python3", "agent.py", "--log", "a.log"];
        let key_in = |workspace: &str, folder: &str| {
            let system =
                MemorySystem::default().with_program("python3", "/usr/bin/python3", "3.11.7");
            system.set(&format!("{folder}/agent.py"), "");
            let mut spec = ProgramSpec::new(String::new(), Language::Executable, "", Role::Target);
            spec.runtime = Some(words[0].to_owned());
            spec.arguments = words[1..].iter().map(|word| (*word).to_owned()).collect();
            let environment = &BTreeMap::new();
            let place = ProgramContext { folder, workspace, environment, sees_all: false };
            super::outputs_key(&ReadProgram::read(&spec, &place, &system).unwrap()).unwrap()
        };
        assert_eq!(key_in("/w", "/w"), key_in("/elsewhere/x", "/elsewhere/x"));
        assert_eq!(key_in("/w", "/w/a"), key_in("/x", "/x/a"));
        assert_ne!(key_in("/w", "/w/a"), key_in("/w", "/w/b"));
        assert_ne!(key_in("/w", "/w/a"), key_in("/w", "/w"));
    }

    #[test]
    fn what_is_written_is_known_whatever_the_files_are_and_decides_nothing() {
        let system = system();
        let words = ["python3", "agent.py", "--log", "a.log", "--prompt", "p.txt"];
        let first = read(&words, [&[], &[]], &system);
        let store = MemoryStore::default();
        let mut known = KnownOutputs::find(&first, &store);
        assert_eq!(known.paths, BTreeSet::new());
        // What it was not told of is none of its outputs.
        let written = ["/w/a.log", "/w/agent.py", "/w/other"].map(str::to_owned).into();
        let (entry, told) = known.note(&first, &written, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!((told.len(), entry.generation), (1, 0));
        assert!(told[0].contains("`a.log`"), "{told:?}");
        assert!(known.note(&first, &written, Timestamp::UNIX_EPOCH).is_none());
        store.put_many(&[entry]).unwrap();
        system.set("/w/agent.py", "edited");
        let second = read(&words, [&[], &[]], &system);
        let known = KnownOutputs::find(&second, &store);
        let second = second.without(&known.paths);
        let names = |read: &ReadProgram| {
            read.known.inputs.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            (names(&first), names(&second)),
            ("a.log agent.py p.txt".into(), "agent.py p.txt".into())
        );
        let declared = read(&words, [&["a.log"], &[]], &system).without(&known.paths);
        assert_eq!(names(&declared), "a.log agent.py p.txt");
        // What was keyed before it was known is kept without it.
        let spec = first.start.spec.clone();
        let before = ProgramIdentity { spec, known: first.known.as_ref().clone() };
        let now = |outputs: &BTreeSet<String>| program_now(&before, outputs, "/w", &system);
        assert!(matches!(now(&known.paths), ProgramNow::Changed(path) if path == "agent.py"));
        system.set("/w/agent.py", "agent.py");
        assert!(matches!(now(&BTreeSet::new()), ProgramNow::Same));
        system.set("/w/a.log", "more");
        assert!(matches!(now(&BTreeSet::new()), ProgramNow::Changed(path) if path == "a.log"));
        let ProgramNow::Without(without) = now(&known.paths) else { panic!("it is the same") };
        assert_eq!(without.known.inputs.len(), 2);
    }
}
