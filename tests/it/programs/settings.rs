//! What a suite and a workspace say of programs: checks that they are deterministic, sandboxes, what `validate` finds,
//! and what a clone has of committed judgments.
#![expect(clippy::disallowed_methods, reason = "tests look what is installed")]

use std::process::Command;

use super::{all_verdicts, executable, run};
use crate::space::{Ran, Space, has};

const ROWS: &str = r#"{"id":"a","input":"q","output":"one"}
{"id":"b","input":"q","output":"two"}
"#;

fn suite(graders: &str) -> String {
    format!("name: s\ndataset: rows.jsonl\ngraders:\n{graders}")
}

#[test]
fn a_check_tells_of_graders_that_guess_and_of_no_others() {
    if !has("python3") || !has("node") || !has("od") {
        return;
    }
    let of = |name: &str| {
        let check = "deterministic: check";
        format!(
            "  sh_{name}: {{kind: program, path: {name}.sh, {check}}}\n  js_{name}: {{kind: program, path: {name}.mjs, {check}}}\n  py_{name}: {{kind: tool, function: 'f.py:{name}', {check}}}\n"
        )
    };
    // The one that nobody checks says the same at once, by another file.
    let unchecked = "  unchecked: {kind: program, path: unchecked.sh}\n";
    let random = "#!/bin/sh\necho \"{\\\"pass\\\":true,\\\"score\\\":0.$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}\"\n";
    let space = Space::new(&[
        ("suite.yaml", &suite(&(of("guesses") + &of("knows") + unchecked))),
        ("rows.jsonl", ROWS),
        ("guesses.sh", random),
        ("unchecked.sh", &format!("{random}\n")),
        ("knows.sh", "#!/bin/sh\necho '{\"pass\":true,\"score\":0.5}'\n"),
        ("guesses.mjs", "export const grade = () => ({ pass: true, score: Math.random() })\n"),
        ("knows.mjs", "export const grade = () => ({ pass: true, score: 0.5 })\n"),
        (
            "f.py",
            "import random\n\n\ndef guesses(sample, submission):\n    return random.random()\n\n\ndef knows(sample, submission):\n    return 0.5\n",
        ),
    ]);
    for name in ["guesses", "knows", "unchecked"] {
        executable(&space, &format!("{name}.sh"));
    }
    let ran = run(&space, &[], 0);
    let number = regex::Regex::new(r"0\.\d+|\d(\.\d+)?e-\d+").unwrap();
    insta::assert_snapshot!(number.replace_all(&ran.stderr(), "N"), @r#"
    warning: `sh_guesses` is not deterministic: called twice for sample `a` it gave {"pass":true,"score":N}, then {"pass":true,"score":N}
    warning: `sh_guesses` is not deterministic: called twice for sample `b` it gave {"pass":true,"score":N}, then {"pass":true,"score":N}
    warning: `js_guesses` is not deterministic: called twice for sample `a` it gave {"pass":true,"score":N}, then {"pass":true,"score":N}
    warning: `js_guesses` is not deterministic: called twice for sample `b` it gave {"pass":true,"score":N}, then {"pass":true,"score":N}
    warning: `py_guesses` is not deterministic: called twice for sample `a` it gave N, then N
    warning: `py_guesses` is not deterministic: called twice for sample `b` it gave N, then N
    "#);
    assert_eq!(run(&space, &[], 0).stderr(), "", "what is stored is not called");
}

#[test]
fn a_workspace_says_whether_programs_are_kept_in() {
    if !has("bwrap") {
        return;
    }
    let works =
        Command::new("bwrap").args(["--unshare-all", "--ro-bind", "/", "/", "true"]).status();
    if !works.is_ok_and(|status| status.success()) {
        return;
    }
    let graders =
        "  told: {kind: program, path: g.sh}\n  free: {kind: program, path: g.sh, sandbox: none}\n";
    let program = "#!/bin/sh\nif echo x > written.txt; then echo '{\"pass\":true,\"score\":1}'; else echo '{\"pass\":false,\"score\":0}'; fi\n";
    let space =
        Space::new(&[("suite.yaml", &suite(graders)), ("rows.jsonl", ROWS), ("g.sh", program)]);
    executable(&space, "g.sh");
    run(&space, &[], 0);
    assert_eq!(super::verdicts(&space, "told"), ["1.0 true ", "1.0 true "]);
    space.write("evalrs.toml", "[run]\nsandbox = \"auto\"\n");
    run(&space, &[], 0);
    insta::assert_snapshot!(all_verdicts(&space, &["told", "free"]), @r"
    told: 0.0 false
    told: 0.0 false
    free: 1.0 true
    free: 1.0 true
    ");
}

const VALIDATED: [(&str, &str, &str); 16] = [
    ("{kind: program, path: nowhere.sh}", "", ""),
    ("{kind: program, path: nowhere.ts}", "", ""),
    ("{kind: tool, function: 'nowhere.py:f'}", "", ""),
    (
        "{kind: tool, function: 'f.py:compos'}",
        "f.py",
        "import os\n\n\ndef compose(sample, submission):\n    return 1\n",
    ),
    (
        "{kind: tool, function: 'f.py:f'}",
        "f.py",
        "def f(sample, submission):\n    return 1\n\n\ndef g(x:\n    return 2\n",
    ),
    (
        "{kind: tool, function: contains, extractor: 'f.py:part'}",
        "f.py",
        "def parts(trajectory, config):\n    return ''\n",
    ),
    ("{kind: program, path: m.mjs}", "m.mjs", "export const grad = () => ({})\n"),
    (
        "{kind: program, path: m.ts}",
        "m.ts",
        "export const grade = () => {\n  return { pass: true, score: }\n}\n",
    ),
    ("{kind: program, path: m.ts}", "m.ts", "export const grade = () => {\n"),
    ("{kind: program, path: g.sh}", "g.sh", "#!/usr/bin/env no-such-thing\n"),
    ("{kind: program, path: may.txt}", "may.txt", "#!/bin/sh\n"),
    ("{kind: program, path: g.sh, runtime: no-such-thing}", "g.sh", "#!/bin/sh\n"),
    ("{kind: program, path: g.sh, inputs: ['data/*.json']}", "g.sh", "#!/bin/sh\n"),
    ("{kind: program, path: g.sh, inputs: [gone.txt]}", "g.sh", "#!/bin/sh\n"),
    ("{kind: program, path: g.sh, cwd: work}", "g.sh", "#!/bin/sh\n"),
    ("{kind: program, path: gg.sh, runtime: ./sh}", "g.sh", "#!/bin/sh\n"),
];

#[test]
#[expect(clippy::too_many_lines, reason = "most are those of a snapshot")]
fn what_is_wrong_with_a_program_is_found_without_calling_it() {
    if !has("python3") || !has("node") {
        return;
    }
    let mut told = String::new();
    for (grader, file, text) in VALIDATED {
        let graders = format!("  g: {grader}\n");
        let space = Space::new(&[("suite.yaml", &suite(&graders)), ("rows.jsonl", ROWS)]);
        if !file.is_empty() {
            space.write(file, text);
        }
        if file == "g.sh" {
            executable(&space, file);
        }
        let ran = space.run(&["validate", "suite.yaml"]);
        assert_eq!(ran.code(), 2, "{grader}: {}", ran.shown());
        let shown = ran.stderr();
        told.push_str(&format!("{grader}\n{}\n", shown.trim_end().trim_end_matches("1 error")));
        assert!(!space.path(".evalrs").exists());
    }
    insta::assert_snapshot!(told, @"
    {kind: program, path: nowhere.sh}
    error: cannot call `nowhere.sh`: there is no file `nowhere.sh`
     --> suite.yaml:4:28
      |
    4 |   g: {kind: program, path: nowhere.sh}
      |                            ^^^^^^^^^^


    {kind: program, path: nowhere.ts}
    error: cannot call `nowhere.ts`: there is no file `nowhere.ts`
     --> suite.yaml:4:28
      |
    4 |   g: {kind: program, path: nowhere.ts}
      |                            ^^^^^^^^^^


    {kind: tool, function: 'nowhere.py:f'}
    error: cannot call `nowhere.py:f`: there is no file `nowhere.py`
     --> suite.yaml:4:29
      |
    4 |   g: {kind: tool, function: 'nowhere.py:f'}
      |                             ^^^^^^^^^^^^^^


    {kind: tool, function: 'f.py:compos'}
    error: `f.py` defines no `compos` at its top level
     --> f.py:4:1
      |
    4 | def compose(sample, submission):
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `compose`?


    {kind: tool, function: 'f.py:f'}
    error: syntax error: '(' was never closed
     --> f.py:5:6
      |
    5 | def g(x:
      |      ^^^


    {kind: tool, function: contains, extractor: 'f.py:part'}
    warning: no row has a `ground_truth`: `g` (contains) cannot grade any of them
     --> suite.yaml
      = help: say where it is: `fields: {ground_truth: NAME}`; the first row has `id`, `input`, `output`

    error: `f.py` defines no `part` at its top level
     --> f.py:1:1
      |
    1 | def parts(trajectory, config):
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `parts`?


    {kind: program, path: m.mjs}
    error: Grader module must export a 'grade' function
     --> m.mjs


    {kind: program, path: m.ts}
    error: syntax error: Unexpected token
     --> m.ts:2:31
      |
    2 |   return { pass: true, score: }
      |                               ^


    {kind: program, path: m.ts}
    error: syntax error: Expected `}` but found `EOF`
     --> m.ts:2:1
      |
    2 |
      | ^


    {kind: program, path: g.sh}
    error: cannot call `g.sh`: its first line asks for `no-such-thing`, which is not installed
     --> suite.yaml:4:28
      |
    4 |   g: {kind: program, path: g.sh}
      |                            ^^^^


    {kind: program, path: may.txt}
    error: cannot call `may.txt`: `may.txt` may not be executed
     --> suite.yaml:4:28
      |
    4 |   g: {kind: program, path: may.txt}
      |                            ^^^^^^^
      |
      = help: run `chmod +x may.txt`, or name what runs it with `runtime`


    {kind: program, path: g.sh, runtime: no-such-thing}
    error: cannot call `g.sh`: `runtime`: there is no program `no-such-thing` in PATH
     --> suite.yaml:4:43
      |
    4 |   g: {kind: program, path: g.sh, runtime: no-such-thing}
      |                                           ^^^^^^^^^^^^^


    {kind: program, path: g.sh, inputs: ['data/*.json']}
    error: cannot call `g.sh`: `inputs`: nothing matches `data/*.json`
     --> suite.yaml:4:43
      |
    4 |   g: {kind: program, path: g.sh, inputs: ['data/*.json']}
      |                                           ^^^^^^^^^^^^^


    {kind: program, path: g.sh, inputs: [gone.txt]}
    error: cannot call `g.sh`: `inputs`: nothing matches `gone.txt`
     --> suite.yaml:4:43
      |
    4 |   g: {kind: program, path: g.sh, inputs: [gone.txt]}
      |                                           ^^^^^^^^


    {kind: program, path: g.sh, cwd: work}
    error: cannot call `g.sh`: `cwd`: there is no folder `work`
     --> suite.yaml:4:39
      |
    4 |   g: {kind: program, path: g.sh, cwd: work}
      |                                       ^^^^


    {kind: program, path: gg.sh, runtime: ./sh}
    error: cannot call `gg.sh`: there is no file `gg.sh`
     --> suite.yaml:4:28
      |
    4 |   g: {kind: program, path: gg.sh, runtime: ./sh}
      |                            ^^^^^
      |
      = help: did you mean `g.sh`?
    ");
}

#[test]
fn a_runtime_that_is_not_installed_is_named() {
    let graders = "  js: {kind: program, path: m.mjs}\n  py: {kind: tool, function: 'f.py:f'}\n  sh: {kind: program, path: g.sh}\n";
    let space = Space::new(&[
        ("suite.yaml", &suite(graders)),
        ("rows.jsonl", ROWS),
        ("m.mjs", "export const grade = () => ({ pass: true, score: 1 })\n"),
        ("f.py", "def f(sample, submission):\n    return 1\n"),
        ("g.sh", "#!/usr/bin/env bash\n"),
    ]);
    executable(&space, "g.sh");
    let with_nothing = |name: &str| {
        let mut command = space.command(&[name, "suite.yaml"]);
        Ran(command.env("PATH", "").output().unwrap())
    };
    insta::assert_snapshot!(with_nothing("validate").shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot call `m.mjs`: nothing here runs it
     --> suite.yaml:4:29
      |
    4 |   js: {kind: program, path: m.mjs}
      |                             ^^^^^
      |
      = help: install one of `bun`, `deno`, `node`, or name another with `runtime`

    error: cannot call `f.py:f`: nothing here runs it
     --> suite.yaml:5:30
      |
    5 |   py: {kind: tool, function: 'f.py:f'}
      |                              ^^^^^^^^
      |
      = help: install one of `python3`, `python`, or name another with `runtime`

    error: cannot call `g.sh`: its first line asks for `bash`, which is not installed
     --> suite.yaml:6:29
      |
    6 |   sh: {kind: program, path: g.sh}
      |                             ^^^^

    3 errors
    ");
    let ran = with_nothing("run");
    assert_eq!((ran.code(), ran.stderr().matches("error: cannot call").count()), (2, 3));
    assert!(!space.path(".evalrs").exists(), "nothing was begun");
}

#[test]
fn programs_that_failed_are_called_again_where_nothing_may_be_sent() {
    let graders = "  shell: {kind: program, path: g.sh}\n  judged: {kind: rubric, prompt: good?, model: m, endpoint: e}\n";
    let program = "#!/bin/sh\n[ -e there.txt ] || exit 1\necho '{\"pass\":true,\"score\":1}'\n";
    let space =
        Space::new(&[("suite.yaml", &suite(graders)), ("rows.jsonl", ROWS), ("g.sh", program)]);
    executable(&space, "g.sh");
    run(&space, &["--offline"], 3);
    assert_eq!(space.actions("shell"), [2, 0, 2, 0]);
    // Nobody said that it reads this: for all that keys know it fails again.
    space.write("there.txt", "");
    for (args, shell) in [
        (["--offline"].as_slice(), [0, 2, 0, 0]),
        (&["--frozen", "--retry-errors"], [0, 2, 0, 0]),
        (&["--offline", "--retry-errors"], [2, 0, 0, 0]),
        (&["--offline", "--retry-errors"], [0, 2, 0, 0]),
    ] {
        run(&space, args, 3);
        assert_eq!((space.actions("shell"), space.actions("judged")), (shell, [0, 0, 0, 2]));
    }
}

/// Each notes that it was called, and loads one file at once and another when it is called.
const NOTING: [(&str, &str); 9] = [
    ("rows.jsonl", ROWS),
    (
        "g.sh",
        "#!/bin/sh\necho x >> called.txt\necho \"{\\\"pass\\\":true,\\\"score\\\":$(cat rules.txt)}\"\n",
    ),
    ("rules.txt", "0.5"),
    (
        "f.py",
        "import helper\n\nopen('called.txt', 'a').write('x')\n\n\ndef f(sample, submission):\n    import late\n    return helper.share(submission) + late.MORE\n\n\ndef part(trajectory, config):\n    return helper.part(trajectory)\n\n\ndef compose(ctx):\n    return sum(grade.score for grade in ctx.grades.values()) / len(ctx.grades)\n",
    ),
    (
        "helper.py",
        "def share(text):\n    return len(text) / 10\n\n\ndef part(trajectory):\n    return trajectory[0][-1].content[:1]\n",
    ),
    ("late.py", "MORE = 0.25\n"),
    (
        "m.ts",
        "import { appendFileSync } from 'node:fs'\nimport { share } from './share.ts'\n\nappendFileSync('called.txt', 'x')\nexport const grade = async ({ output }: { output: string }) => {\n  const { MORE } = await import('./later.mjs')\n  return { pass: true, score: share(output) + MORE }\n}\n",
    ),
    ("share.ts", "export const share = (text: string): number => text.length / 10\n"),
    ("later.mjs", "export const MORE = 0.125\n"),
];

#[test]
fn a_clone_replays_programs_and_calls_none() {
    if !has("python3") || !has("node") {
        return;
    }
    let graders = "  shell: {kind: program, path: g.sh, inputs: [rules.txt]}\n  function: {kind: tool, function: 'f.py:f'}\n  module: {kind: program, path: m.ts}\n  extracted: {kind: tool, function: ascii_printable_only, extractor: 'f.py:part'}\nreward: {kind: custom, function: 'f.py:compose'}\n";
    let here = || {
        let space = Space::new(&NOTING);
        space.write("suite.yaml", suite(graders));
        executable(&space, "g.sh");
        space
    };
    let (here, there) = (here(), here());
    run(&here, &[], 0);
    let names = ["shell", "function", "module", "extracted", "reward"];
    assert_eq!(names.map(|name| here.actions(name)[1..].to_vec()), [[0; 3]; 5]);
    // Where a suite says what is no part of any key.
    here.write("suite.yaml", format!("# a line more\n{}", suite(graders)));
    run(&here, &[], 0);
    assert_eq!(names.map(|name| here.actions(name)), [[0, 2, 0, 0]; 5]);
    let ran = here.run(&["cache", "export", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    there.write("cache/s.judgments.jsonl", here.read("cache/s.judgments.jsonl"));
    run(&there, &["--frozen"], 0);
    assert_eq!(names.map(|name| there.actions(name)), [[0, 2, 0, 0]; 5]);
    assert_eq!(there.record("results.jsonl"), here.record("results.jsonl"));
    assert!(!there.path("called.txt").exists(), "nothing was called or loaded");
    // Whatever they load is in their keys, also there.
    for (path, text, stale) in [
        ("later.mjs", "export const MORE = 0.25\n", ["module"].as_slice()),
        ("share.ts", "export const share = () => 0.5\n", &["module"]),
        ("late.py", "MORE = 0.5\n", &["function"]),
        ("rules.txt", "0.25", &["shell"]),
    ] {
        let old = there.read(path);
        there.write(path, text);
        run(&there, &["--frozen"], 3);
        let missing: Vec<&str> = names
            .into_iter()
            .filter(|name| *name != "reward" && there.actions(name)[3] > 0)
            .collect();
        assert_eq!(missing, stale, "{path}");
        there.write(path, old);
    }
    run(&there, &["--frozen"], 0);
    assert!(!there.path("called.txt").exists());
}
