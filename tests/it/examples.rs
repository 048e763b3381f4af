//! Every suite of `examples/`, offline: its exit code, who fails and why, and its expected report byte for byte.
//!
//! Who fails is written here by hand, from what each row was made to show. The expected files were compared with that
//! table; to make them anew after an intended change, run a suite with `--output DIR` and copy the two files. The data
//! of `examples/records` is elsewhere; tests of documents read those suites.
#![expect(clippy::disallowed_methods, reason = "tests read the examples of this repository")]

use std::path::{Path, PathBuf};

use crate::space::Space;

/// One suite: its path, its exit code, and sample, trial and grader of every grade that is no pass.
type Example = (&'static str, i32, &'static [(&'static str, u64, &'static str)]);

const EXAMPLES: &[Example] = &[
    (
        "quickstart/suite",
        0,
        &[
            ("capital-australia", 0, "mentions"),
            ("capital-australia", 0, "answer"),
            ("water-boils", 0, "answer"),
            ("largest-planet", 0, "answer"),
            ("half-life", 0, "plain"),
        ],
    ),
    (
        "rubric/suite",
        0,
        &[
            ("opening-hours-rude", 0, "helpful"),
            ("return-book-vague", 0, "helpful"),
            ("gift-card", 0, "helpful"),
            ("gift-card-wrong", 0, "helpful"),
        ],
    ),
    (
        "tool-calls/suite",
        1,
        &[
            ("refund-damaged", 1, "changes"),
            ("refund-damaged", 1, "tells"),
            ("find-atlas", 1, "frugal"),
            ("gift-card", 1, "changes"),
            ("gift-card", 1, "tells"),
            ("change-address", 1, "changes"),
            ("change-address", 1, "clean"),
            ("when-does-it-come", 1, "alone"),
        ],
    ),
    (
        "tool-calls/turns",
        0,
        &[
            ("cancel-order", 1, "says"),
            ("refund-damaged", 1, "says"),
            ("find-atlas", 1, "frugal"),
            ("gift-card", 1, "says"),
        ],
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension) || path.is_dir());
    paths.sort();
    paths
}

/// What a fresh clone has of `examples/`, in a folder of its own.
pub(crate) fn clone() -> Space {
    let space = Space::new(&[]);
    let whole = [
        ".gitignore",
        "evalrs.toml",
        "cache/.gitignore",
        "examples/rubric/cache/.gitignore",
        "examples/rubric/cache/rubric.judgments.jsonl",
    ];
    let mut copied: Vec<PathBuf> = whole.iter().map(|name| root().join(name)).collect();
    for folder in files("examples", "").into_iter().filter(|path| path.is_dir()) {
        for entry in std::fs::read_dir(folder).unwrap() {
            copied.push(entry.unwrap().path());
        }
    }
    for path in copied.into_iter().filter(|path| path.is_file()) {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        space.write(&name, std::fs::read(&path).unwrap());
    }
    space
}

fn expected(suite: &str, file: &str) -> String {
    let (folder, stem) = suite.split_once('/').unwrap();
    let path = root().join(format!("examples/{folder}/expected/{stem}.{file}"));
    std::fs::read_to_string(path).unwrap()
}

fn not_passed(results: &str) -> Vec<(String, u64, String)> {
    let mut found = Vec::new();
    for line in results.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        for (grader, grade) in line["grades"].as_object().unwrap() {
            if grade["pass"] == false {
                let id = line["sample_id"].as_str().unwrap().to_owned();
                found.push((id, line["trial"].as_u64().unwrap(), grader.clone()));
            }
        }
    }
    found
}

#[test]
fn examples_give_their_expected_reports_offline() {
    let space = clone();
    for (suite, code, failing) in EXAMPLES {
        let path = format!("examples/{suite}.yaml");
        let ran = space.run(&["run", &path, "--frozen", "--output", "out"]);
        assert_eq!(ran.code(), *code, "{suite}: {}", ran.shown());
        let results = space.read("out/results.jsonl");
        let failing: Vec<(String, u64, String)> = failing
            .iter()
            .map(|(id, trial, grader)| ((*id).to_owned(), *trial, (*grader).to_owned()))
            .collect();
        assert_eq!(not_passed(&results), failing, "{suite}");
        assert_eq!(results, expected(suite, "results.jsonl"), "{suite}");
        assert_eq!(space.read("out/summary.json"), expected(suite, "summary.json"), "{suite}");
    }
}

#[test]
fn every_example_is_tested_and_valid() {
    let space = clone();
    let mut suites = Vec::new();
    let folders = files("examples", "").into_iter().filter(|path| path.is_dir());
    for folder in folders.filter(|path| !path.ends_with("records")) {
        assert!(folder.join("README.md").is_file(), "{} has no README.md", folder.display());
        let inside = folder.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        suites.extend(files(&inside, "yaml").into_iter().filter(|path| path.is_file()));
    }
    let mut names = Vec::new();
    for path in suites {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let ran = space.run(&["validate", &name]);
        assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{name}");
        names.push(name);
    }
    let tested: Vec<String> =
        EXAMPLES.iter().map(|(suite, ..)| format!("examples/{suite}.yaml")).collect();
    assert_eq!(names, tested);
}

#[test]
fn committed_judgments_are_exported_byte_for_byte() {
    let space = clone();
    let before = space.read("examples/rubric/cache/rubric.judgments.jsonl");
    let ran = space.run(&["cache", "export", "examples/rubric/suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(space.read("examples/rubric/cache/rubric.judgments.jsonl"), before);
}

#[test]
fn committed_judgments_are_verified_with_the_store() {
    let space = clone();
    let verify = || space.run(&["cache", "verify", "examples/rubric/suite.yaml"]);
    let shown = "examples/rubric/cache: 0 entries, 0 bytes, 0 keys verified, 0 corrupt lines\nexamples/rubric/cache/rubric.judgments.jsonl: 7 judgments, 7 keys verified, 0 corrupt lines\n";
    assert_eq!((verify().code(), verify().stdout().as_str()), (0, shown));
    let lines = space.read("examples/rubric/cache/rubric.judgments.jsonl");
    space.write("examples/rubric/cache/rubric.judgments.jsonl", lines.replacen("0.5", "0.9", 1));
    let ran = verify();
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    assert!(
        ran.stdout().contains("6 judgments, 6 keys verified, 1 corrupt line"),
        "{}",
        ran.shown()
    );
}

#[test]
fn the_example_judge_is_asked_for_one_edited_sample_alone() {
    let space = clone();
    let judge = crate::judge::Judge::new(|_, _| crate::judge::Answer::score(1.0));
    let suite = space.read("examples/rubric/suite.yaml");
    space.write(
        "examples/rubric/suite.yaml",
        suite.replace("http://127.0.0.1:8099/v1", &judge.url()),
    );
    let rows = space.read("examples/rubric/dataset.jsonl");
    let edited = rows.replace("Read the sign on the door.", "From 9 to 18, welcome!");
    assert_ne!(edited, rows);
    space.write("examples/rubric/dataset.jsonl", edited);
    let ran = space.run(&["run", "examples/rubric/suite.yaml"]);
    assert_eq!((ran.code(), judge.count()), (0, 1), "{}", ran.shown());
    assert!(ran.stdout().contains("5 cached"), "{}", ran.shown());
}

#[test]
fn a_copied_example_keeps_its_judgments() {
    let space = Space::new(&[]);
    let from = clone();
    for name in ["suite.yaml", "dataset.jsonl", "rubric.txt", "evalrs.toml"] {
        space.write(&format!("mine/{name}"), from.read(&format!("examples/rubric/{name}")));
    }
    let judgments = from.read("examples/rubric/cache/rubric.judgments.jsonl");
    space.write("mine/cache/rubric.judgments.jsonl", judgments);
    let ran = space.run(&["run", "mine", "--frozen"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
}
