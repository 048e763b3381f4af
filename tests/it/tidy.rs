//! The rules of the tree that no lint checks: module docs, sizes, and who may use whom.
#![expect(clippy::disallowed_methods, reason = "tests read the tree themselves")]

mod imports;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The longest file, in lines without its tests.
const MOST_LINES: usize = 500;

/// How many circles of files there may be in all crates, and how many files may be in one.
const MOST_CIRCLES: usize = 5;
const MOST_IN_A_CIRCLE: usize = 3;

/// Crates that are pure: neither they nor what they use touches a file, a clock, a socket or a runtime.
const PURE: &[&str] = &[
    "evalrs-base",
    "evalrs-statistics",
    "evalrs-trajectory",
    "evalrs-model",
    "evalrs-letta",
    "evalrs-eval",
    "evalrs-suite",
    "evalrs-metrics",
    "evalrs-report",
    "evalrs-graph",
    "evalrs-typescript",
    "python-re",
];
/// What they may not use.
const EFFECTS: &[&str] = &["evalrs-system", "tokio", "reqwest", "notify", "tempfile", "rustix"];
/// Crates that show something to people, and what their commands share: the only ones that may use reports.
const DISPLAYS: &[&str] =
    &["evalrs-cli", "evalrs-harness", "evalrs-serve", "evalrs-use-cases", "evalrs-watch"];

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

/// Crate → what its manifest says that it uses, tests left out.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = std::fs::read_dir(root.join("crates")).unwrap();
    let mut manifests: Vec<PathBuf> = folders.map(|entry| entry.unwrap().path()).collect();
    manifests.push(root.to_owned());
    let read = |folder: PathBuf| {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().to_owned();
        let mut used = BTreeSet::new();
        let unix = manifest.get("target").and_then(|target| target.get("cfg(unix)"));
        for table in [manifest.get("dependencies"), unix.and_then(|unix| unix.get("dependencies"))]
        {
            let names =
                table.and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
            used.extend(names.cloned());
        }
        (name, used)
    };
    manifests.into_iter().map(read).collect()
}

#[test]
fn pure_crates_use_no_effects() {
    let dependencies = dependencies();
    let mut wrong = Vec::new();
    for name in PURE {
        for used in &dependencies[*name] {
            let is_ours = dependencies.contains_key(used);
            if EFFECTS.contains(&used.as_str()) || is_ours && !PURE.contains(&used.as_str()) {
                wrong.push(format!("{name} uses {used}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn salsa_is_of_the_graph_and_reports_are_of_displays() {
    let dependencies = dependencies();
    let users = |wanted: &str| -> Vec<&str> {
        let with = dependencies.iter().filter(|(_, used)| used.contains(wanted));
        with.map(|(name, _)| name.as_str()).collect()
    };
    assert_eq!(users("salsa"), ["evalrs-graph"]);
    let others: Vec<&str> =
        users("evalrs-report").into_iter().filter(|name| !DISPLAYS.contains(name)).collect();
    assert_eq!(others, Vec::<&str>::new(), "crates below the displays that use reports");
}

#[test]
fn files_name_each_other_in_few_and_small_circles() {
    let sources = all_sources();
    let roots: BTreeSet<&str> = sources
        .iter()
        .filter_map(|(file, _)| Some(&file[..file.find("src/")? + "src".len()]))
        .collect();
    let crates: Vec<_> =
        roots.iter().map(|root| imports::CrateModules::new(root, &sources)).collect();
    let circles: Vec<Vec<&str>> = crates.iter().flat_map(imports::CrateModules::circles).collect();
    let large: Vec<_> = circles.iter().filter(|files| files.len() > MOST_IN_A_CIRCLE).collect();
    assert!(large.is_empty(), "circles of more than {MOST_IN_A_CIRCLE} files: {large:#?}");
    assert!(circles.len() <= MOST_CIRCLES, "more than {MOST_CIRCLES} circles: {circles:#?}");
}

#[test]
fn effects_are_opened_only_where_they_belong() {
    let allowed = [
        "crates/evalrs-system/src/os.rs",
        "crates/evalrs-system/src/contents.rs",
        "crates/evalrs-system/src/disk.rs",
        "crates/evalrs-system/src/file_lock.rs",
        "crates/evalrs-system/src/traced/tests.rs",
        "crates/evalrs-store/src/",
        "crates/evalrs-exec/src/",
        "crates/evalrs-watch/src/fs_watch",
        "crates/evalrs-test-data/src/lib.rs",
        "crates/evalrs-use-cases/build.rs",
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

/// Words on `-ing` and `-ed` that name a thing.
const NOUNS: &[&str] = &[
    "Ending",
    "Listing",
    "Narrowing",
    "Nesting",
    "Pairing",
    "Pricing",
    "Ranking",
    "Reading",
    "Seed",
    "Setting",
    "Smoothing",
    "Spending",
    "String",
];
/// Participles that end otherwise.
const IRREGULAR: &[&str] = &[
    "Begun", "Bound", "Broken", "Built", "Caught", "Chosen", "Cut", "Drawn", "Found", "Given",
    "Gone", "Held", "Hidden", "Kept", "Known", "Left", "Lost", "Made", "Paid", "Put", "Read",
    "Run", "Said", "Seen", "Sent", "Set", "Shown", "Sought", "Split", "Taken", "Told", "Written",
];

/// Whether a name says what was done to a thing, and not which thing it is.
fn is_participle(name: &str) -> bool {
    let is_one_word = !name.chars().skip(1).any(char::is_uppercase);
    let is_regular = (name.ends_with("ed") || name.ends_with("ing")) && !NOUNS.contains(&name);
    is_one_word && (is_regular || IRREGULAR.contains(&name))
}

#[test]
fn types_are_named_after_things() {
    let named = shapes::shapes().types;
    let participles: BTreeMap<_, _> =
        named.iter().filter(|(name, _)| is_participle(name)).collect();
    assert_eq!(participles, BTreeMap::new(), "say what it is: `StoredOutcome`, not `Stored`");
    assert!(is_participle("Stored") && is_participle("Kept") && is_participle("Waiting"));
    assert!(!is_participle("StoredOutcome") && !is_participle("Ranking"));
}

#[test]
fn types_have_names_of_their_own_and_tuples_stand_for_no_names() {
    let mut shapes = shapes::shapes();
    shapes.types.retain(|_, files| files.len() > 1);
    assert_eq!(shapes.types, BTreeMap::new(), "types that share a name: put the owner in front");
    assert_eq!(shapes.tuple_parameters, Vec::<String>::new(), "tuples as parameters: name them");
    assert_eq!(shapes.tuple_lets, Vec::<String>::new(), "`let (a, b) = (x, y)` in files");
}
