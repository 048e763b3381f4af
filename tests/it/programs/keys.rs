//! What makes a program run again, and what does not: with exact counts.
#![expect(clippy::disallowed_methods, reason = "tests ask runtimes for their versions")]

use std::process::Command;

use serde_json::json;

use super::{executable, run};
use crate::space::{Space, has, jsonl};

/// A shim of a version manager: it says the version that the folder and the environment ask for, and notes that it did.
const SHIM: &str = "\
#!/bin/sh
if [ \"$1\" = --version ]; then
  echo + >> \"$0.asked\"
  read -r major < major
  echo \"Python $major.$MINOR\"
else
  exec python3 \"$@\"
fi
";

fn shimmed() -> Space {
    let suite = "\
name: s
dataset: rows.jsonl
graders:
  one: {kind: tool, function: 'g.py:grade', runtime: bin/python, cwd: here, env: [MINOR]}
  two: {kind: tool, function: 'g.py:other', runtime: bin/python, cwd: here, env: [MINOR]}
";
    let space = Space::new(&[
        ("suite.yaml", suite),
        ("rows.jsonl", "{\"input\":\"q\",\"output\":\"a\"}\n"),
        (
            "g.py",
            "def grade(sample, submission):\n    return 0.5\n\n\ndef other(sample, submission):\n    return 0.25\n",
        ),
        ("major", "9"),
        ("here/major", "3"),
    ]);
    for name in ["bin/python", "bin/other"] {
        space.write(name, SHIM);
        executable(&space, name);
    }
    space
}

fn run_minor(space: &Space, minor: &str) -> crate::space::Ran {
    let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
    crate::space::Ran(command.env("MINOR", minor).output().unwrap())
}

#[test]
fn the_version_of_a_runtime_is_that_of_the_programs_folder_and_environment() {
    if !has("python3") {
        return;
    }
    let told = Command::new("python3")
        .args(["-c", "import sys; print('%d %d' % sys.version_info[:2])"])
        .output()
        .unwrap();
    let told = String::from_utf8(told.stdout).unwrap();
    let (major, minor) = told.trim().split_once(' ').unwrap();
    let space = shimmed();
    space.write("here/major", major);
    let asked = || ["one", "two"].map(|grader| space.actions(grader)[0]);
    for expected in [1, 0] {
        space.write("bin/python.asked", "");
        let ran = run_minor(&space, minor);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        assert_eq!(asked(), [expected; 2]);
        assert_eq!(space.read("bin/python.asked"), "+\n", "one question for both");
    }
    // Another runtime of the same version may have other packages.
    let suite = space.read("suite.yaml");
    space.write("suite.yaml", suite.replacen("bin/python", "bin/other", 1));
    let ran = run_minor(&space, minor);
    assert_eq!((ran.code(), asked()), (0, [1, 0]), "{}", ran.shown());
    // A shim that says something else than it runs.
    let ran = run_minor(&space, "0");
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    let expected = format!(
        "but the keys of its results have python {major}.0, which its runtime reports for `--version`: name the \
         right runtime with `runtime: PATH`"
    );
    let stderr = ran.stderr();
    assert!(stderr.contains(&expected), "{stderr}");
    space.write("suite.yaml", suite);
    assert_eq!(run_minor(&space, minor).code(), 0);
    assert_eq!(asked(), [0, 0], "what was kept is there");
}

/// A grader that loads a module when it is called, which somebody edits at once: what it gives rests on the old one.
const EDITED_WHEN_LOADED: &str = "\
import os


def grade(sample, submission):
    import late
    if submission[0] == 'a' and late.SCORE == 0.5:
        with open('new', 'w') as file:
            file.write('SCORE = 0.75\\n')
        os.rename('new', 'late.py')
    return late.SCORE
";

fn edited_when_loaded(edits: &str) -> Space {
    let row = |at| json!({"input": "q", "output": format!("{edits}{at}")});
    let suite =
        "name: s\ndataset: rows.jsonl\ngraders:\n  g: {kind: tool, function: 'g.py:grade'}\n";
    Space::new(&[
        ("suite.yaml", suite),
        ("rows.jsonl", &jsonl((0..3).map(row))),
        ("g.py", EDITED_WHEN_LOADED),
        ("late.py", "SCORE = 0.5\n"),
    ])
}

#[test]
fn results_of_a_module_that_was_edited_meanwhile_are_none_of_the_new_one() {
    if !has("python3") {
        return;
    }
    for (edits, asked, score) in [("a", 3, "0.75 false "), ("b", 0, "0.5 false ")] {
        let space = edited_when_loaded(edits);
        run(&space, &[], 0);
        assert_eq!(super::verdicts(&space, "g"), ["0.5 false "; 3]);
        run(&space, &[], 0);
        assert_eq!(space.actions("g")[0], asked, "{edits}");
        assert_eq!(super::verdicts(&space, "g"), [score; 3]);
    }
}

#[test]
fn a_grader_without_a_suite_is_called_again_where_its_module_was_edited() {
    if !has("python3") {
        return;
    }
    for (edits, called, score) in [("a", 3, 0.75), ("b", 0, 0.5)] {
        let space = edited_when_loaded(edits);
        let graded = || {
            let ran = space.run(&["grade", "rows.jsonl", "-g", "g.py:grade", "--progress"]);
            assert_eq!(ran.code(), 0, "{}", ran.shown());
            let scores: Vec<f64> = ran
                .stdout()
                .lines()
                .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
                .map(|line| line["score"]["score"].as_f64().unwrap())
                .collect();
            let line =
                ran.stderr().lines().find(|line| line.ends_with(" called")).map(str::to_owned);
            (line.unwrap().rsplit(' ').nth(1).unwrap().parse::<u64>().unwrap(), scores)
        };
        assert_eq!(graded(), (3, vec![0.5; 3]));
        assert_eq!(graded(), (called, vec![score; 3]), "{edits}");
    }
}
