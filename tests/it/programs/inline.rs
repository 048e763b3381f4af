//! Graders whose JavaScript stands in the suite: what they see and give, what is said of mistakes, and what an edit asks for.

use serde_json::json;

use super::{all_verdicts, run, verdicts};
use crate::space::{Space, has, jsonl};

const SUITE: &str = "\
name: s
dataset: rows.jsonl
graders:
  short: {kind: program, javascript: 'submission.length < 5 && row.price > 3'}
  share: {kind: program, javascript: 'Number(output) / 10', pass_threshold: 0.4}
  body:
    kind: program
    javascript: |
      // What is declared may have the name of what is seen.
      const row = tags.concat(model ?? 'none', trial, id, hint, ground_truth.length, cwd)
      if (metadata.price > 3) return { score: 0.25, reasoning: row.join(' ') }
      return { pass: true, reason: `${'$'}{sample.submission}` }
";

fn rows(price: u32, note: &str) -> String {
    let row = |id: &str, output: &str, price: u32| {
        json!({"id": id, "input": "q", "output": output, "ground_truth": ["x", "y"],
            "tags": ["smoke"], "price": price, "note": note})
    };
    jsonl([row("a", "4", price), row("b", "3", 1)])
}

/// How many actions of each grader the last run asked for.
fn asked(space: &Space, graders: &[&str]) -> Vec<u64> {
    graders.iter().map(|grader| space.actions(grader)[0]).collect()
}

const ALL: [&str; 3] = ["short", "share", "body"];

#[test]
fn code_in_a_suite_sees_the_sample_and_gives_what_functions_give() {
    if !has("node") {
        return;
    }
    let suite = SUITE.replace("${'$'}{", "$${");
    let space = Space::new(&[("suite.yaml", &suite), ("rows.jsonl", &rows(4, "n"))]);
    run(&space, &[], 0);
    insta::assert_snapshot!(all_verdicts(&space, &ALL), @r#"
    short: 1.0 true
    short: 0.0 false
    share: 0.4 true
    share: 0.3 false
    body: 0.25 false smoke none 0 a ["x","y"] 2
    body: 1.0 true 3
    "#);
    assert_eq!(asked(&space, &ALL), [2, 2, 2]);
    run(&space, &[], 0);
    assert_eq!(asked(&space, &ALL), [0, 0, 0]);
    // Only what names the row, or is handed its keys as metadata, is asked again.
    let suite = suite.replace("Number(output) / 10", "Number(output) / 8");
    space.write("suite.yaml", &suite);
    run(&space, &[], 0);
    assert_eq!(asked(&space, &ALL), [0, 2, 0]);
    let explained = space.run(&["explain", "suite.yaml", "a"]);
    assert_eq!(explained.code(), 0, "{}", explained.shown());
    let shown = space.run(&["validate", "suite.yaml"]);
    assert!(
        shown
            .stdout()
            .contains("short: JavaScript submission.length < 5 && row.price > 3 of last_assistant"),
        "{}",
        shown.shown()
    );
}

/// Code that can be loaded, as YAML.
const RUN: [&str; 6] = [
    "row.order.total",
    "'\"yes\"'",
    "'submission.length > 1; 3'",
    "nowhere",
    "await Promise.resolve(1)",
    "'2'",
];

#[test]
fn mistakes_in_code_of_a_suite_are_shown_where_they_are() {
    if !has("node") {
        return;
    }
    let suite = |code: &str| {
        format!(
            "name: s\ndataset: rows.jsonl\ngraders:\n  g: {{kind: program, javascript: {code}}}\n"
        )
    };
    let space = Space::new(&[("suite.yaml", &suite("'1 +'")), ("rows.jsonl", &rows(4, "n"))]);
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r"
    exit: 0
    --- stdout
    suite.yaml: valid
      suite    s
      dataset  rows.jsonl: 2 samples, 2 results
      grader   g: JavaScript 1 + of last_assistant
      gate     none: the exit code is 0 whatever the scores
    --- stderr
    ");
    insta::assert_snapshot!(space.run(&["run", "suite.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot load `JavaScript 1 +`: SyntaxError: Unexpected token ')'
      help: nothing was asked or run
    SyntaxError: Unexpected token ')'
    ");
    space.write("suite.yaml", suite("''"));
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: `javascript` is empty
     --> suite.yaml:4:34
      |
    4 |   g: {kind: program, javascript: ''}
      |                                  ^^

    1 error
    ");
    space.write("suite.yaml", suite("'1', path: g.mjs"));
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: a program grader has a `path` or `javascript`, not both
     --> suite.yaml:4:39
      |
    4 |   g: {kind: program, javascript: '1', path: g.mjs}
      |                                       ^^^^

    1 error
    ");
    let mut found = Vec::new();
    for code in RUN {
        space.write("suite.yaml", suite(code));
        space.run(&["run", "suite.yaml", "--quiet"]);
        let verdicts = verdicts(&space, "g");
        found.push(format!("{code}: {}", verdicts[0].trim_end()));
    }
    insta::assert_snapshot!(found.join("\n"), @r#"
    row.order.total: exception: TypeError: Cannot read properties of undefined (reading 'total')
    '"yes"': invalid_reply: Invalid grader result: expected a number, true or false, or an object, found a string
    'submission.length > 1; 3': exception: TypeError: the function returned undefined
    nowhere: exception: ReferenceError: nowhere is not defined
    await Promise.resolve(1): 1.0 true
    '2': invalid_reply: Invalid grader result: `score` must be between 0.0 and 1.0, found 2
    "#);
}
