//! What a suite and a workspace say of programs: checks that they are deterministic, sandboxes, what `validate` finds,
//! and what a clone has of committed judgments.
#![expect(clippy::disallowed_methods, reason = "tests look what is installed")]

use std::process::Command;

use super::{all_verdicts, executable, run};
use crate::space::{Space, has};

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
