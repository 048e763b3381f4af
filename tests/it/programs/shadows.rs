//! Files that were not there when a program was loaded, or that only say what it loads: what is made of them calls it
//! again, and what is taken back calls nothing.
#![expect(clippy::disallowed_methods, reason = "tests add files and take them away")]

use serde_json::json;

use super::run;
use crate::events::Telling;
use crate::space::{Space, has};

/// What a program is made of, the file that is made or edited then, and what that makes it give.
struct Case {
    name: &'static str,
    runtime: &'static str,
    grader: &'static str,
    files: &'static [(&'static str, &'static str)],
    edit: (&'static str, &'static str),
}

const PYTHON: &str = "kind: tool, function: 'g.py:grade'";
const NODE: &str = "kind: program, path: g.js, runtime: node";
const COMMON: &str = "kind: program, path: g.cjs, runtime: node";

/// Each gives 0.25, and 0.75 once the file is made or edited.
const CASES: &[Case] = &[
    Case {
        name: "a module that was not there",
        runtime: "python3",
        grader: PYTHON,
        files: &[(
            "g.py",
            "try:\n    from local_rules import S\nexcept ImportError:\n    S = 0.25\n\n\ndef grade(sample, submission):\n    return S\n",
        )],
        edit: ("local_rules.py", "S = 0.75\n"),
    },
    Case {
        name: "a module that calls alone look for",
        runtime: "python3",
        grader: PYTHON,
        files: &[(
            "g.py",
            "def grade(sample, submission):\n    try:\n        from local_rules import S\n    except ImportError:\n        S = 0.25\n    return S\n",
        )],
        edit: ("local_rules.py", "S = 0.75\n"),
    },
    Case {
        name: "a package that wins over a module",
        runtime: "python3",
        grader: PYTHON,
        files: &[
            ("g.py", "import helper\n\n\ndef grade(sample, submission):\n    return helper.S\n"),
            ("helper.py", "S = 0.25\n"),
        ],
        edit: ("helper/__init__.py", "S = 0.75\n"),
    },
    Case {
        name: "a module that hides one of the standard library",
        runtime: "python3",
        grader: PYTHON,
        files: &[(
            "g.py",
            "import colorsys\n\n\ndef grade(sample, submission):\n    return getattr(colorsys, 'S', 0.25)\n",
        )],
        edit: ("colorsys.py", "S = 0.75\n"),
    },
    Case {
        name: "a module in a folder that is searched first",
        runtime: "python3",
        grader: PYTHON,
        files: &[
            (
                "g.py",
                "import sys\nsys.path.insert(0, 'first')\nimport helper\n\n\ndef grade(sample, submission):\n    return helper.S\n",
            ),
            ("helper.py", "S = 0.25\n"),
        ],
        edit: ("first/helper.py", "S = 0.75\n"),
    },
    Case {
        name: "a package.json that says what a name means",
        runtime: "node",
        grader: NODE,
        files: &[
            (
                "g.js",
                "import { S } from '#h'\nexport const grade = () => ({ pass: true, score: S })\n",
            ),
            ("h1.js", "export const S = 0.25\n"),
            ("h2.js", "export const S = 0.75\n"),
            ("package.json", "{\"type\":\"module\",\"imports\":{\"#h\":\"./h1.js\"}}"),
        ],
        edit: ("package.json", "{\"type\":\"module\",\"imports\":{\"#h\":\"./h2.js\"}}"),
    },
    Case {
        name: "a nearer package.json",
        runtime: "node",
        grader: "kind: program, path: sub/g.mjs, runtime: node",
        files: &[
            (
                "sub/g.mjs",
                "import './h.js'\nexport const grade = () => ({ pass: true, score: globalThis.S })\n",
            ),
            ("sub/h.js", "globalThis.S = typeof require === 'function' ? 0.25 : 0.75\n"),
        ],
        edit: ("sub/package.json", "{\"type\":\"module\"}"),
    },
    Case {
        name: "a file that the package.json of a folder names",
        runtime: "node",
        grader: COMMON,
        files: &[
            (
                "g.cjs",
                "const { S } = require('./lib')\nexports.grade = () => ({ pass: true, score: S })\n",
            ),
            ("lib/package.json", "{\"main\":\"other.js\"}"),
            ("lib/index.js", "exports.S = 0.25\n"),
        ],
        edit: ("lib/other.js", "exports.S = 0.75\n"),
    },
    Case {
        name: "a file that wins over another ending",
        runtime: "node",
        grader: COMMON,
        files: &[
            (
                "g.cjs",
                "const { S } = require('./data')\nexports.grade = () => ({ pass: true, score: S })\n",
            ),
            ("data.json", "{\"S\":0.25}"),
        ],
        edit: ("data.js", "exports.S = 0.75\n"),
    },
    Case {
        name: "a module that was not there to be imported",
        runtime: "node",
        grader: "kind: program, path: g.mjs, runtime: node",
        files: &[(
            "g.mjs",
            "const S = await import('./rules.mjs').then(({ S }) => S, () => 0.25)\nexport const grade = () => ({ pass: true, score: S })\n",
        )],
        edit: ("rules.mjs", "export const S = 0.75\n"),
    },
];

fn space(case: &Case) -> Space {
    let suite = format!("name: s\ndataset: rows.jsonl\ngraders:\n  g: {{{}}}\n", case.grader);
    let space = Space::new(&[
        ("suite.yaml", &suite),
        ("rows.jsonl", "{\"id\":\"a\",\"input\":\"q\",\"output\":\"b\"}\n"),
    ]);
    case.files.iter().for_each(|(path, text)| space.write(path, text));
    space
}

/// Makes the file, or undoes that.
fn edit(space: &Space, case: &Case, is_made: bool) {
    let (path, text) = case.edit;
    let before = case.files.iter().find(|(other, _)| *other == path);
    match (is_made, before) {
        (true, _) => space.write(path, text),
        (false, Some((_, text))) => space.write(path, text),
        (false, None) => {
            std::fs::remove_file(space.path(path)).unwrap();
            // The folder goes with it, unless something else is in there.
            if let Some((folder, _)) = path.split_once('/') {
                let _ = std::fs::remove_dir(space.path(folder));
            }
        }
    }
}

#[test]
fn what_is_made_where_a_program_looks_calls_it_again() {
    for case in CASES.iter().filter(|case| has(case.runtime)) {
        let space = space(case);
        let graded = |args: &[&str]| {
            run(&space, args, 0);
            let score = super::results(&space)[0]["grades"]["g"]["score"].as_f64().unwrap();
            (score, space.actions("g")[0])
        };
        assert_eq!(graded(&[]), (0.25, 1), "{}", case.name);
        edit(&space, case, true);
        assert_eq!(graded(&[]), (0.75, 1), "{}", case.name);
        assert_eq!(graded(&["--refresh"]), (0.75, 1), "{}", case.name);
        edit(&space, case, false);
        // What is not loaded any more is called once more, for it is not there as it was not before.
        let (score, _) = graded(&[]);
        assert!((score - 0.25).abs() < 1e-9, "{}: {score}", case.name);
        edit(&space, case, true);
        assert_eq!(graded(&[]), (0.75, 0), "{}", case.name);
    }
}

#[test]
fn what_is_made_where_a_program_looks_is_seen_by_a_session() {
    for name in [
        "a module that was not there",
        "a package that wins over a module",
        "a package.json that says what a name means",
    ] {
        let Some(case) = CASES.iter().find(|case| case.name == name && has(case.runtime)) else {
            continue;
        };
        let space = space(case);
        let mut telling = Telling::new(space.command(&["watch", "suite.yaml", "--json"]));
        let mut wait = |mean: f64| {
            while telling.wait_event("evaluated")["metrics"]["g"]["mean"] != json!(mean) {}
        };
        wait(0.25);
        edit(&space, case, true);
        wait(0.75);
        edit(&space, case, false);
        wait(0.25);
        telling.interrupt();
        assert_eq!(telling.finish().1.code(), 130, "{}", case.name);
    }
}

/// A package wins over the module that was loaded before.
const PACKAGE: &[(&str, &str)] = &[
    (
        "suite.yaml",
        "name: s\ndataset: rows.jsonl\ngraders:\n  g: {kind: tool, function: 'g.py:grade'}\n",
    ),
    ("rows.jsonl", "{\"id\":\"a\",\"input\":\"q\",\"output\":\"b\"}\n"),
    ("g.py", "import helper\n\n\ndef grade(sample, submission):\n    return helper.K\n"),
    ("helper.py", "K = 0.25\n"),
];

#[test]
fn what_is_not_loaded_any_more_is_in_no_key() {
    if !has("python3") {
        return;
    }
    let with_history = Space::new(PACKAGE);
    run(&with_history, &[], 0);
    let fresh = Space::new(PACKAGE);
    for space in [&with_history, &fresh] {
        space.write("helper/__init__.py", "K = 0.75\n");
        run(space, &[], 0);
    }
    let dependencies = |space: &Space| {
        let header: serde_json::Value = serde_json::from_str(&space.record("header.json")).unwrap();
        let graders = header["settings"]["graders"].clone();
        assert!(graders.to_string().contains("helper/__init__.py"), "{graders}");
        graders
    };
    assert_eq!(dependencies(&with_history), dependencies(&fresh));
    assert_eq!(with_history.record("results.jsonl"), fresh.record("results.jsonl"));
    // Nobody loads it.
    for space in [&with_history, &fresh] {
        space.write("helper.py", "K = 0.5\n");
        run(space, &[], 0);
        assert_eq!(space.actions("g")[0], 0);
    }
}

#[test]
fn judgments_of_a_fresh_store_are_found_where_other_files_were_loaded_before() {
    if !has("python3") {
        return;
    }
    let with_history = Space::new(PACKAGE);
    run(&with_history, &[], 0);
    let fresh = Space::new(PACKAGE);
    for space in [&with_history, &fresh] {
        space.write("helper/__init__.py", "K = 0.75\n");
    }
    run(&fresh, &[], 0);
    let export = fresh.run(&["cache", "export", "suite.yaml"]);
    assert_eq!(export.code(), 0, "{}", export.shown());
    for path in fresh.names("cache").into_iter().map(|name| format!("cache/{name}")) {
        if fresh.path(&path).is_file() {
            with_history.write(&path, std::fs::read(fresh.path(&path)).unwrap());
        }
    }
    run(&with_history, &["--frozen"], 0);
    assert_eq!(with_history.record("results.jsonl"), fresh.record("results.jsonl"));
}
