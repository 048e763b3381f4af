//! Programs of the user through the binary: graders, extractors and rewards in several languages.
//!
//! Each concern has a module; what they share stands here. Where a runtime is missing a test says so and is skipped.
#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    reason = "suites, rows and programs are written as text"
)]

mod functions;
mod humaneval;
mod keys;
mod misbehaviour;
mod mission;
mod sandboxes;
mod sees;
mod settings;
mod shadows;
mod states;
mod told;
mod watching;

use serde_json::Value;

use crate::space::{Ran, Space};

/// Makes a file of the space executable.
#[cfg(unix)]
pub(crate) fn executable(space: &Space, path: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = space.path(path);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs `suite.yaml` with `args`; the exit code must be `code`.
#[track_caller]
fn run(space: &Space, args: &[&str], code: i32) -> Ran {
    let ran = space.run(&[&["run", "suite.yaml", "--quiet"], args].concat());
    assert_eq!(ran.code(), code, "{}", ran.shown());
    ran
}

/// The result lines of the last run.
fn results(space: &Space) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).unwrap();
    space.record("results.jsonl").lines().map(line).collect()
}

/// Score, pass and rationale of a grader in each result of the last run, or the kind of its error.
fn verdicts(space: &Space, grader: &str) -> Vec<String> {
    let told = |line: &Value| {
        let grade = &line["grades"][grader];
        match grade["error"]["kind"].as_str() {
            Some(kind) => format!("{kind}: {}", grade["error"]["message"].as_str().unwrap()),
            None => format!(
                "{} {} {}",
                grade["score"],
                grade["pass"],
                grade["rationale"].as_str().unwrap()
            ),
        }
    };
    results(space).iter().map(told).collect()
}

/// The verdicts of some graders, a line each.
fn all_verdicts(space: &Space, graders: &[&str]) -> String {
    let of = |grader: &&str| {
        let verdicts = verdicts(space, grader).into_iter();
        verdicts.map(|verdict| format!("{grader}: {}", verdict.trim_end())).collect::<Vec<_>>()
    };
    graders.iter().flat_map(of).collect::<Vec<_>>().join("\n")
}
