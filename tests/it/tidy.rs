//! The rules of the tree that no lint checks: module docs, sizes, and who may use whom.
#![expect(clippy::disallowed_methods, reason = "tests read the tree themselves")]

use std::path::{Path, PathBuf};

/// The longest file, in lines without its tests.
const MOST_LINES: usize = 500;

/// Pipeline modules are pure: they may use nothing of the graph, the effects or the join.
const PURE: &[&str] = &[
    "action",
    "dataset",
    "delta",
    "diagnostic",
    "evaluate",
    "extract",
    "gate",
    "glob",
    "grade",
    "inline",
    "judge",
    "metric",
    "outcome",
    "path",
    "price",
    "program",
    "python",
    "reason",
    "registry",
    "report",
    "reward",
    "suite",
    "threshold",
    "tokens",
    "trajectory",
    "workspace",
];
const IMPURE: &[&str] =
    &["cli", "commands", "db", "driver", "exec", "progress", "record", "store", "system", "watch"];

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
    for folder in ["src", "tests"] {
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
fn the_pipeline_knows_no_effects() {
    let mut wrong = Vec::new();
    for (name, text) in all_sources() {
        let module = name
            .strip_prefix("src/")
            .and_then(|rest| rest.split(['/', '.']).next())
            .unwrap_or_default();
        if !PURE.contains(&module) {
            continue;
        }
        let code = without_tests(&text);
        for other in IMPURE.iter().chain(&["salsa", "tokio", "reqwest"]) {
            let used = [format!("crate::{other}::"), format!("use {other}::")];
            if used.iter().any(|used| {
                code.lines().any(|line| {
                    !line.trim_start().starts_with("//") && line.contains(used.as_str())
                })
            }) {
                wrong.push(format!("{name} uses {other}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn effects_are_opened_only_where_they_belong() {
    let allowed = [
        "src/system/os.rs",
        "src/store/",
        "src/exec/",
        "src/watch/files",
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
