//! What programs do without being asked to declare it, and where they fail: what is said of it, and when.

use super::{executable, results, run, verdicts};
use crate::space::{Space, has};

const ROW: &str = "{\"id\":\"a\",\"input\":\"q\",\"output\":\"b\"}\n";

fn space(grader: &str, files: &[(&str, &str)]) -> Space {
    let suite = format!("name: s\ndataset: rows.jsonl\ngraders:\n  g: {{{grader}}}\n");
    let space = Space::new(&[("suite.yaml", &suite), ("rows.jsonl", ROW)]);
    for (path, text) in files {
        space.write(path, text);
        if text.starts_with("#!") {
            executable(&space, path);
        }
    }
    space
}

#[test]
fn a_file_that_nobody_declared_is_told_of_once_it_has_changed() {
    let python = "def grade(sample, submission):\n    return float(open('rules.txt').read())\n";
    let node = "import { readFileSync } from 'node:fs'\nexport const grade = () => ({ pass: true, score: Number(readFileSync('rules.txt', 'utf8')) })\n";
    for (runtime, grader, file, text) in [
        ("python3", "kind: tool, function: 'g.py:grade'", "g.py", python),
        ("node", "kind: program, path: g.mjs, runtime: node", "g.mjs", node),
    ] {
        if !has(runtime) {
            continue;
        }
        let space = space(grader, &[(file, text), ("rules.txt", "0.25")]);
        let warned = |args: &[&str]| {
            let told = run(&space, args, 0).stderr();
            (
                told.contains("reads `rules.txt`"),
                told.contains("has read `rules.txt`, which has changed since"),
            )
        };
        assert_eq!(warned(&[]), (true, false), "{runtime}");
        assert_eq!(warned(&[]), (false, false), "{runtime}");
        space.write("rules.txt", "0.75");
        for _ in 0..2 {
            assert_eq!(warned(&[]), (false, true), "{runtime}");
            assert_eq!(space.actions("g")[0], 0);
        }
        assert_eq!(warned(&["--refresh"]), (true, false), "{runtime}");
        assert_eq!(warned(&[]), (false, false), "{runtime}");
        assert_eq!(results(&space)[0]["grades"]["g"]["score"].to_string(), "0.75");
    }
}

#[test]
fn an_exception_tells_where_it_was_raised() {
    let python = "import helper\n\n\ndef grade(sample, submission):\n    return helper.part(0)\n";
    let helper = "def part(n):\n    return 1 / n\n";
    let node = "const part = (n) => n.none.more\nexport const grade = () => part(1)\n";
    for (runtime, grader, files, expected, frame) in [
        (
            "python3",
            "kind: tool, function: 'sub/g.py:grade'",
            &[("sub/g.py", python), ("sub/helper.py", helper)][..],
            "exception: ZeroDivisionError: division by zero (sub/helper.py:2)",
            "File \"sub/g.py\", line 5, in grade",
        ),
        (
            "node",
            "kind: program, path: g.mjs, runtime: node",
            &[("g.mjs", node)],
            "(g.mjs:1:28)",
            "at grade (g.mjs:2:28)",
        ),
    ] {
        if !has(runtime) {
            continue;
        }
        let space = space(grader, files);
        let ran = space.run(&["run", "suite.yaml", "-v"]);
        assert!(ran.stderr().contains(frame), "{}", ran.shown());
        let told = verdicts(&space, "g").remove(0);
        assert!(told.ends_with(expected), "{told}");
    }
}

#[test]
fn what_an_executable_logs_is_shown_where_prints_of_functions_are() {
    if !has("sh") {
        return;
    }
    let text = "#!/bin/sh\necho 'a line of a log' >&2\nprintf 'and its end' >&2\necho '{\"pass\":true,\"score\":1}'\n";
    let space = space("kind: program, path: g.sh, cache: false", &[("g.sh", text)]);
    for (args, expected) in
        [(&["run", "suite.yaml"][..], false), (&["run", "suite.yaml", "-v"], true)]
    {
        let told = space.run(args).stderr();
        assert_eq!(told.contains("g.sh: a line of a log"), expected, "{told}");
        assert_eq!(told.contains("g.sh: and its end"), expected, "{told}");
        assert!(!told.contains("judgment"), "{told}");
    }
    assert!(space.run(&["run", "suite.yaml"]).stderr().contains("1 call: 0 cached, 1 to ask"));
}

#[test]
fn what_fails_under_a_limit_that_no_key_holds_is_not_kept() {
    if !has("sh") {
        return;
    }
    for (sandbox, asked) in
        [("none", 0), ("{kind: none, memory: 400MB}", 1), ("{kind: none, cpu: 9}", 1)]
    {
        let grader = format!("kind: program, path: g.sh, sandbox: {sandbox}");
        let space = space(&grader, &[("g.sh", "#!/bin/sh\necho 'no memory' >&2\nexit 1\n")]);
        for asked in [1, asked] {
            run(&space, &[], 3);
            assert_eq!(space.actions("g")[0], asked, "{sandbox}");
            let told = verdicts(&space, "g").remove(0);
            assert!(told.ends_with("Grader exited with code 1: no memory"), "{told}");
        }
    }
}

#[test]
fn an_edit_that_is_taken_back_while_a_program_runs_does_not_count() {
    if !has("sh") {
        return;
    }
    // The first call edits what it reads, and takes that back before it ends.
    let text = "#!/bin/sh\nif [ ! -e done ]; then\n  touch done\n  cp rules.txt kept\n  echo 0.75 > rules.txt\n  score=$(cat rules.txt)\n  mv kept rules.txt\nelse\n  score=$(cat rules.txt)\nfi\necho \"{\\\"pass\\\":true,\\\"score\\\":$score}\"\n";
    let space = space(
        "kind: program, path: g.sh, inputs: [rules.txt]",
        &[("g.sh", text), ("rules.txt", "0.25")],
    );
    run(&space, &[], 0);
    assert_eq!(verdicts(&space, "g"), ["0.25 true "]);
}

#[test]
fn a_script_that_imports_what_is_beside_it_is_warned_of() {
    if !has("python3") {
        return;
    }
    let text = "#!/usr/bin/env python3\nimport json\nimport helper\nprint(json.dumps({'pass': True, 'score': helper.S}))\n";
    let files = [("sub/g.py", text), ("sub/helper.py", "S = 0.25\n")];
    for (inputs, is_warned) in [("", true), (", inputs: sub/helper.py", false)] {
        let space = space(&format!("kind: program, path: sub/g.py{inputs}"), &files);
        let told = space.run(&["validate", "suite.yaml"]);
        let expected = "`g.py` imports `sub/helper.py`, which is not among its `inputs`";
        assert_eq!(told.shown().contains(expected), is_warned, "{}", told.shown());
        assert_eq!(run(&space, &[], 0).stderr().contains(expected), is_warned);
    }
}

#[test]
fn a_pair_and_a_reason_are_taken_and_samples_are_subscripted() {
    if !has("python3") {
        return;
    }
    for (body, expected) in [
        ("return 0.5, 'because'", "0.5 false because"),
        ("return {'score': 0.5, 'reason': 'because'}", "0.5 false because"),
        ("return sample['input'], 'no number'", "true or false, or an object, found a list"),
        ("return (1.0, sample['input']) if 'input' in sample else 0.0", "1.0 true q"),
        ("return sample['none']", "KeyError: 'none' (g.py:2)"),
        ("return 'yes'", "expected a number, true or false, or an object, found a string"),
    ] {
        let text = format!("def grade(sample, submission):\n    {body}\n");
        let space = space("kind: tool, function: 'g.py:grade'", &[("g.py", &text)]);
        space.run(&["run", "suite.yaml"]);
        let told = verdicts(&space, "g").remove(0);
        assert!(told.ends_with(expected), "{body}: {told}");
    }
}
