//! The rules of the tree that no lint checks: module docs, sizes, and who may use whom.
#![expect(clippy::disallowed_methods, reason = "tests read the tree themselves")]

mod imports;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The longest file, in lines without its tests.
const MOST_LINES: usize = 500;

/// The floors, each of which may use only those before it.
const FLOORS: &[&str] = &["base", "pipeline", "graph", "effects", "engine", "app"];
/// The modules of a floor, each of which may use only those before it.
const MODULES: &[(&str, &[&str])] = &[("engine", &["progress", "session", "resolve", "inspect"])];
/// Floors that are pure, and what else they may not use.
const PURE: &[&str] = &["base", "pipeline", "graph"];
const EFFECTS: &[&str] = &["tokio", "reqwest"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn all_sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["src", "tests", "crates"] {
        sources(&root.join(folder), &mut paths);
    }
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(read).collect()
}

fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

#[test]
fn every_file_opens_with_what_it_owns() {
    let bare: Vec<String> = all_sources()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(bare, Vec::<String>::new(), "files without a module doc");
}

#[test]
fn no_file_is_too_long() {
    let is_test = |name: &str| name.starts_with("tests/") || name.contains("/tests");
    let long: Vec<(String, usize)> = all_sources()
        .into_iter()
        .filter(|(name, _)| !is_test(name))
        .map(|(name, text)| (name, without_tests(&text).lines().count()))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .collect();
    assert_eq!(long, Vec::new(), "files over {MOST_LINES} lines");
}

#[test]
fn floors_use_only_those_below_them() {
    let rank = |path: &[String]| {
        FLOORS.iter().position(|floor| path.first().is_some_and(|first| first == floor))
    };
    let wrong: Vec<String> = imports::imports()
        .into_iter()
        .filter(|import| rank(&import.path) > rank(&import.from))
        .map(|import| format!("{} names {}", import.file, import.path.join("::")))
        .collect();
    assert_eq!(wrong, Vec::<String>::new(), "in the order {FLOORS:?}");
}

/// On a floor each module uses only those before it in the list of `src/FLOOR/mod.rs`, so there is no circle among them.
#[test]
fn modules_of_a_floor_use_only_those_before_them() {
    let ranks: BTreeMap<&str, Vec<String>> =
        FLOORS.iter().map(|floor| (*floor, imports::modules_in_order(floor))).collect();
    let mut wrong = BTreeSet::new();
    for import in imports::imports() {
        let ([floor, module, ..], [other_floor, other, ..]) =
            (import.from.as_slice(), import.path.as_slice())
        else {
            continue;
        };
        let rank = |name: &str| ranks[floor.as_str()].iter().position(|module| module == name);
        if floor == other_floor && rank(other).is_some() && rank(other) > rank(module) {
            wrong.insert(format!("{} names {floor}::{other}", import.file));
        }
    }
    assert_eq!(wrong, BTreeSet::new(), "edges against the order of the lists of modules");
}

#[test]
fn modules_use_only_those_before_them() {
    for (floor, modules) in MODULES {
        let rank = |path: &[String]| {
            let name = path.get(1).filter(|_| path[0] == *floor)?;
            modules.iter().position(|module| module == name)
        };
        let wrong: Vec<String> = imports::imports()
            .into_iter()
            .filter(|import| import.from.first().is_some_and(|first| first == floor))
            .filter(|import| import.from.len() > 1 && rank(&import.path) > rank(&import.from))
            .map(|import| format!("{} names {}", import.file, import.path.join("::")))
            .collect();
        assert_eq!(wrong, Vec::<String>::new(), "in the order {modules:?}");
    }
}

#[test]
fn pure_floors_use_no_runtime_and_salsa_is_of_the_graph() {
    let mut wrong = Vec::new();
    for (name, text) in all_sources() {
        let floor = name.strip_prefix("src/").and_then(|rest| rest.split('/').next());
        let Some(floor) = floor else { continue };
        let banned = |used: &str| match used {
            "salsa" => floor != "graph",
            _ => PURE.contains(&floor) && EFFECTS.contains(&used),
        };
        for line in without_tests(&text).lines().filter(|line| !line.trim_start().starts_with("//"))
        {
            for used in ["salsa", "tokio", "reqwest"].into_iter().filter(|used| banned(used)) {
                if line.contains(&format!("{used}::")) {
                    wrong.push(format!("{name} uses {used}"));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn effects_are_opened_only_where_they_belong() {
    let allowed = [
        "src/base/system/os.rs",
        "src/base/system/disk.rs",
        "src/base/system/file_lock.rs",
        "src/effects/store/",
        "src/effects/exec/",
        "src/effects/fs_watch",
        "src/test_data.rs",
        "tests/",
        "benches/",
    ];
    let opened: Vec<String> = all_sources()
        .into_iter()
        .filter(|(name, text)| {
            text.contains("clippy::disallowed_methods")
                && !allowed.iter().any(|path| name.starts_with(path))
        })
        .map(|(name, _)| name)
        .collect();
    assert_eq!(opened, Vec::<String>::new(), "files that lift the ban on effects");
}

#[test]
fn types_have_names_of_their_own_and_tuples_stand_for_no_names() {
    let mut shapes = shapes::shapes();
    shapes.types.retain(|_, files| files.len() > 1);
    assert_eq!(shapes.types, BTreeMap::new(), "types that share a name: put the owner in front");
    assert_eq!(shapes.tuple_parameters, Vec::<String>::new(), "tuples as parameters: name them");
    assert_eq!(shapes.tuple_lets, Vec::<String>::new(), "`let (a, b) = (x, y)` in files");
}
