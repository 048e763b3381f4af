//! What makes a program run again, and what does not: with exact counts.
#![expect(clippy::disallowed_methods, reason = "tests ask runtimes for their versions")]

use std::process::Command;

use serde_json::json;

use super::{executable, run};
use crate::space::{Space, has, jsonl};

const PROGRAM: &str = "#!/bin/sh\ncat rules.txt > /dev/null\necho '{\"pass\": true, \"score\": 1, \"reasoning\": \"'$MODE'\"}'\n";

fn space() -> Space {
    let row = |at| json!({"id": at, "input": "q", "output": format!("a{at}"), "kind": "k"});
    let rows = jsonl((0..3).map(row));
    let suite = "\
name: s
dataset: rows.jsonl
graders:
  g: {kind: program, path: g.sh, inputs: ['rules/**', rules.txt], env: [MODE, MY_TOKEN]}
";
    let space = Space::new(&[
        ("suite.yaml", suite),
        ("rows.jsonl", &rows),
        ("g.sh", PROGRAM),
        ("rules.txt", "a"),
        ("rules/deep/one.txt", "1"),
    ]);
    executable(&space, "g.sh");
    space
}

fn asked(space: &Space, env: &[(&str, &str)]) -> u64 {
    let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
    command.envs(env.iter().copied());
    let ran = crate::space::Ran(command.output().unwrap());
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    space.actions("g")[0]
}

#[test]
fn an_executable_runs_again_for_what_it_rests_on_and_nothing_else() {
    if !has("sh") {
        return;
    }
    let space = space();
    let mode = ("MODE", "a");
    assert_eq!(asked(&space, &[mode]), 3);
    assert_eq!(asked(&space, &[mode]), 0);
    assert_eq!(asked(&space, &[mode, ("MY_TOKEN", "secret")]), 0, "a secret is in no key");
    assert_eq!(asked(&space, &[mode, ("OTHER", "b")]), 0, "it does not see that");
    assert_eq!(asked(&space, &[("MODE", "b")]), 3, "a variable");
    assert_eq!(asked(&space, &[mode]), 0, "back");
    space.write("rules.txt", "b");
    assert_eq!(asked(&space, &[mode]), 3, "an input");
    space.write("rules/deep/two.txt", "2");
    assert_eq!(asked(&space, &[mode]), 3, "a further file of a pattern");
    space.write("unrelated.txt", "x");
    assert_eq!(asked(&space, &[mode]), 0, "a file that nobody declared");
    space.write("g.sh", format!("{PROGRAM}# edited\n"));
    assert_eq!(asked(&space, &[mode]), 3, "the program");
    let suite = space.read("suite.yaml");
    space.write("suite.yaml", suite.replace("env:", "timeout: 5, env:"));
    assert_eq!(asked(&space, &[mode]), 0, "how long it may take");
    space.write("suite.yaml", suite.replace("env:", "cache: false, env:"));
    assert_eq!(asked(&space, &[mode]), 3, "what reads the world");
    assert_eq!(asked(&space, &[mode]), 3, "runs every time");
    space.write("suite.yaml", &suite);
    assert_eq!(asked(&space, &[mode]), 0, "and is kept apart from what does not");
    let rows = space.read("rows.jsonl");
    space.write("rows.jsonl", rows.replace("\"id\":1", "\"id\":10"));
    assert_eq!(asked(&space, &[mode]), 0, "an id, which it is not handed");
    space.write("rows.jsonl", rows.replace("a1", "a9"));
    assert_eq!(asked(&space, &[mode]), 1, "a row");
}

#[test]
fn nothing_runs_where_nothing_may() {
    if !has("sh") {
        return;
    }
    let space = space();
    run(&space, &["--frozen"], 3);
    let verdicts = super::verdicts(&space, "g");
    assert!(verdicts.iter().all(|verdict| verdict.contains("--frozen forbids")), "{verdicts:?}");
    assert_eq!(space.actions("g"), [0, 0, 0, 3]);
    run(&space, &["--offline"], 0);
    assert_eq!(space.actions("g"), [3, 0, 0, 0]);
    run(&space, &["--frozen"], 0);
    let plan = space.run(&["plan", "suite.yaml"]);
    assert_eq!(plan.code(), 0, "{}", plan.shown());
    let explained = space.run(&["explain", "suite.yaml", "1", "g"]);
    assert_eq!(explained.code(), 0, "{}", explained.shown());
    let shown = explained.shown();
    assert!(shown.contains("g.sh") && shown.contains("rules.txt, rules/deep/one.txt"), "{shown}");
}

#[test]
fn what_a_program_gives_while_it_is_edited_is_kept_under_no_key() {
    if !has("sh") {
        return;
    }
    let space = space();
    let said = |word: &str| {
        format!("echo '{{\"pass\": true, \"score\": 1, \"reasoning\": \"{word}\"}}'\n")
    };
    let itself = format!("#!/bin/sh\ncp other.sh new.sh\nmv new.sh g.sh\n{}", said("one"));
    space.write("g.sh", &itself);
    space.write("other.sh", format!("#!/bin/sh\n{}", said("two")));
    executable(&space, "g.sh");
    executable(&space, "other.sh");
    run(&space, &[], 3);
    assert_eq!(space.actions("g"), [3, 0, 3, 0]);
    let verdicts = super::verdicts(&space, "g");
    assert!(
        verdicts.iter().all(|verdict| verdict.contains("`g.sh` changed while the program ran")),
        "{verdicts:?}"
    );
    run(&space, &[], 0);
    assert_eq!(space.actions("g"), [3, 0, 0, 0], "what it is by now");
    space.write("g.sh", &itself);
    run(&space, &["--frozen"], 3);
    assert_eq!(space.actions("g"), [0, 0, 0, 3], "nothing of what it was is kept");
}

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
        "but the keys of its results hold python {major}.0, which is what its runtime answers to `--version`: name \
         the runtime that is meant with `runtime: PATH`"
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

#[test]
fn packages_beside_the_suite_are_keyed_by_their_lock_file() {
    if !has("node") {
        return;
    }
    let module = "import S from 'dep'\nexport const grade = () => ({ pass: true, score: S })\n";
    let suite = "name: s\ndataset: rows.jsonl\ngraders:\n  g: {kind: program, path: g.mjs, runtime: node}\n";
    let space = Space::new(&[
        ("suite.yaml", suite),
        ("rows.jsonl", "{\"id\":\"a\",\"input\":\"q\",\"output\":\"b\"}\n"),
        ("g.mjs", module),
        ("package-lock.json", "{\"lockfileVersion\": 3}"),
        ("node_modules/dep/index.js", "module.exports = 0.25\n"),
    ]);
    run(&space, &[], 0);
    space.write("node_modules/dep/index.js", "module.exports = 0.75\n");
    space.write("package-lock.json", "{\"lockfileVersion\": 3, \"packages\": {}}");
    run(&space, &[], 0);
    assert_eq!(
        (space.actions("g")[0], super::verdicts(&space, "g")),
        (1, vec!["0.75 true ".to_owned()])
    );
    // However the suite is named, its programs are the same.
    let ran = space.run(&["run", "./suite.yaml", "--quiet"]);
    assert_eq!((ran.code(), space.actions("g")[0]), (0, 0), "{}", ran.shown());
}
