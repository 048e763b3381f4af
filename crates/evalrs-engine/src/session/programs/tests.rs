//! What keys hold of programs, in tables.

use std::collections::{BTreeMap, BTreeSet};

use super::listings::grown;
use super::outputs::{ProgramNow, program_now};
use super::program_context::ProgramContext;
use super::read_program::ReadProgram;
use evalrs_eval::program::{Depfile, MISSING, ProgramFingerprint, ProgramIdentity};
use evalrs_exec::SeenFiles;
use evalrs_model::spec::{Language, ProgramSpec, Role};
use evalrs_system::memory::MemorySystem;

/// The files in a list of `path digest`; `?` is a digest that nobody knows.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| pair.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
    text.split(", ").filter_map(pair).collect()
}

#[test]
fn keys_hold_the_runtime_that_is_said_wherever_the_workspace_is() {
    let system = MemorySystem::default()
        .with_program("python3", "/usr/bin/python3", "3.11.7")
        .with_program("a", "/w/venv/bin/python", "3.11.7")
        .with_program("b", "/moved/w/venv/bin/python", "3.11.2")
        .with_program("c", "/w/s/bin/python", "");
    for (workspace, folder, said, expected) in [
        ("/w", "/w/s", None, "python 3.11"),
        ("/w", "/w/s", Some("python3"), "python 3.11 (python3)"),
        ("/w", "/w/s", Some("/usr/bin/python3"), "python 3.11 (/usr/bin/python3)"),
        ("/w", "/w/s", Some("/w/venv/bin/python"), "python 3.11 (../venv/bin/python)"),
        (
            "/moved/w",
            "/moved/w/s",
            Some("/moved/w/venv/bin/python"),
            "python 3.11 (../venv/bin/python)",
        ),
        ("/w", "/w/s", Some("/w/s/bin/python"), "python (bin/python)"),
    ] {
        let path = format!("{folder}/g.py");
        system.set(&path, "");
        let mut spec = ProgramSpec::new(path, Language::Python, "grade", Role::Grade);
        spec.runtime = said.map(str::to_owned);
        let environment = &BTreeMap::new();
        let place = ProgramContext { folder, workspace, environment, sees_all: false };
        let read = ReadProgram::read(&spec, &place, &system).unwrap();
        assert_eq!(read.known.runtime, expected, "{folder} {said:?}");
    }
}

#[test]
fn what_was_missed_is_in_keys_once_it_is_there() {
    let system = MemorySystem::default().with_program("python3", "/usr/bin/python3", "3.11.7");
    system.set("/w/s/g.py", "");
    system.set("/w/s/a.py", "a");
    system.set("/w/s/sub/b.py", "b");
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let depfile = Depfile {
        files: set(&["gone.py"]),
        missed: set(&["a.py", "sub", "sub/b.py", "../c.py", "no/d.py"]),
        ..Depfile::default()
    };
    let program = {
        let spec = ProgramSpec::new("/w/s/g.py".to_owned(), Language::Python, "g", Role::Grade);
        let environment = &BTreeMap::new();
        let place =
            ProgramContext { folder: "/w/s", workspace: "/w", environment, sees_all: false };
        ReadProgram::read(&spec, &place, &system).unwrap()
    };
    let known = |seen: &[&str]| {
        let seen = seen.iter().map(|path| ((*path).to_owned(), Some(MISSING.to_owned())));
        program.loading(&depfile, &seen.collect(), "/w/s", &system)
    };
    let names = |known: &ProgramFingerprint| {
        let names = known.dependencies.iter().map(|(path, _)| path.clone());
        (names.collect::<Vec<_>>().join(" "), known.missed.len())
    };
    assert_eq!(names(&known(&[])), ("a.py gone.py sub sub/b.py".to_owned(), 2));
    // What was made since it was looked for is not what was loaded.
    assert_eq!(names(&known(&["a.py", "sub"])), ("gone.py sub/b.py".to_owned(), 4));
    let identity =
        |known: ProgramFingerprint| ProgramIdentity { spec: program.start.spec.clone(), known };
    let now = |known: ProgramFingerprint| {
        program_now(&identity(known), &BTreeSet::new(), "/w/s", &system)
    };
    assert!(matches!(now(known(&[])), ProgramNow::Same));
    assert!(matches!(now(known(&["a.py"])), ProgramNow::Changed(path) if path == "a.py"));
    system.set("/w/s/../c.py", "c");
    assert_eq!(names(&known(&[])).0, "../c.py a.py gone.py sub sub/b.py");
}

#[test]
fn keys_are_completed_with_what_was_loaded() {
    let missing = format!("a 1, b {MISSING}");
    for (held, seen, expected) in [
        ("a 1", "b 2", Some("a 1, b 2")),
        ("b 2", "a 1, c 3", Some("a 1, b 2, c 3")),
        // What keys hold already is what calls rest on, whatever is seen of it.
        ("a 1", "a 9, b 2", Some("a 1, b 2")),
        (&missing, "c 3", Some(&*format!("{missing}, c 3"))),
        ("a 1", "b ?", None),
        ("a 1", "b 2, c ?", None),
        ("a 1", &*format!("b {MISSING}"), None),
    ] {
        let known =
            ProgramFingerprint { dependencies: pairs(held), ..ProgramFingerprint::default() };
        let digest = |digest: String| (digest != "?").then_some(digest);
        let seen: SeenFiles =
            pairs(seen).into_iter().map(|(path, state)| (path, digest(state))).collect();
        let held = known.dependencies.iter().map(|(path, _)| path);
        let files: BTreeSet<String> = held.chain(seen.keys()).cloned().collect();
        let depfile = Depfile { files, ..Depfile::default() };
        let found = grown(&known, &depfile, &seen).map(|known| known.dependencies);
        assert_eq!(found, expected.map(pairs), "{held:?} {seen:?}", held = known.dependencies);
        let mut unseen = depfile.clone();
        unseen.files.insert("z".to_owned());
        assert_eq!(grown(&known, &unseen, &seen), None, "a file that nobody has seen");
    }
}
