//! What programs are handed of a sample where their suite says so (`sees`), and that nothing else changes a key.

use serde_json::json;

use super::{all_verdicts, executable, run, verdicts};
use crate::space::{Space, has, jsonl};

const SUITE: &str = "\
name: s
dataset: {path: rows.jsonl, fields: {input: case.question}}
graders:
";

/// Two trials of a model, the reference answer a list; `case` is mapped, so that `metadata` has nothing of it.
fn rows() -> String {
    let row = |trial: u32, answer: &str| {
        json!({
            "id": "a", "model": "m", "trial": trial, "tags": ["smoke"], "ground_truth": ["b", "c"],
            "case": {"question": "q", "limit": 2}, "output": answer,
        })
    };
    jsonl([row(0, "b"), row(1, "b")])
}

fn space(graders: &str, files: &[(&str, &str)]) -> Space {
    let space =
        Space::new(&[("suite.yaml", &format!("{SUITE}{graders}")), ("rows.jsonl", &rows())]);
    for (path, text) in files {
        space.write(path, text);
        if text.starts_with("#!") {
            executable(&space, path);
        }
    }
    space
}

const FUNCTION: &str = "\
def grade(sample, submission):
    row = sample.row
    seen = [row['case']['limit'], sample['id'], sample.model, sample.trial, sample.tags, sample.ground_truth, sample.hint]
    assert sample.output == sample.submission == submission
    assert sample.trajectory[-1]['content'] == submission
    return submission in sample.ground_truth, repr(seen)


def pick(trajectory, config, sample):
    return sample.row['case']['question'] + sample.ground_truth[0]


def compose(ctx):
    return {'score': 1.0, 'metadata': {'limit': ctx.sample.row['case']['limit']}}
";

#[test]
fn a_function_sees_what_the_suite_says() {
    if !has("python3") {
        return;
    }
    let graders = "  \
  g: {kind: tool, function: 'g.py:grade', sees: all}
  e: {kind: tool, function: exact_match, value: qb, extractor: 'g.py:pick', extractor_options: {sees: [ground_truth, row]}}
reward: {kind: custom, function: 'g.py:compose', sees: row}
";
    let graders = graders.replace("value: qb", "config: {value: qb}");
    let space = space(&graders, &[("g.py", FUNCTION)]);
    run(&space, &[], 0);
    insta::assert_snapshot!(all_verdicts(&space, &["g", "e", "reward"]), @r#"
    g: 1.0 true [2, 'a', 'm', 0, ['smoke'], ['b', 'c'], '["b","c"]']
    g: 1.0 true [2, 'a', 'm', 1, ['smoke'], ['b', 'c'], '["b","c"]']
    e: 1.0 true Exact match: True
    e: 1.0 true Exact match: True
    reward: 1.0 true
    reward: 1.0 true
    "#);
}

const NODE: &str = "\
export const grade = ({ input, output, hint, submission, ground_truth, id, model, trial, tags, row, trajectory }) => ({
  pass: ground_truth.includes(submission) && submission === output,
  score: 1,
  reasoning: JSON.stringify([input, hint, ground_truth, id, model, trial, tags, row.case.limit, trajectory.length]),
})
";

const SCRIPT: &str = "\
#!/usr/bin/env python3
import json, sys
data = json.load(sys.stdin)
seen = [data[name] for name in ('input', 'hint', 'ground_truth', 'id', 'model', 'trial', 'tags')]
passed = data['submission'] == data['output'] and data['row']['case']['limit'] == 2
print(json.dumps({'pass': passed, 'score': 1, 'reasoning': json.dumps(seen)}))
";

#[test]
fn modules_and_executables_see_it_beside_the_members_of_their_protocol() {
    for (runtime, file, text) in [("node", "g.mjs", NODE), ("python3", "g.py", SCRIPT)] {
        if !has(runtime) {
            continue;
        }
        let graders = format!("  g: {{kind: program, path: {file}, sees: all}}\n");
        let space = space(&graders, &[(file, text)]);
        run(&space, &[], 0);
        let told = verdicts(&space, "g");
        let steps = if runtime == "node" { ",2,1" } else { "" };
        for (trial, told) in told.iter().enumerate() {
            let seen =
                format!(r#"["q","[\"b\",\"c\"]",["b","c"],"a","m",{trial},["smoke"]{steps}]"#);
            assert_eq!(told.replace(", ", ","), format!("1.0 true {seen}"));
        }
    }
}

#[test]
fn only_what_is_seen_calls_again() {
    if !has("python3") {
        return;
    }
    let function = "def grade(sample, submission):\n    return 1.0\n";
    let graders = |sees: &str| format!("  g: {{kind: tool, function: 'g.py:grade'{sees}}}\n");
    let space = space(&graders(""), &[("g.py", function)]);
    let asked = |sees: &str, rows: &str| {
        space.write("suite.yaml", format!("{SUITE}{}", graders(sees)));
        space.write("rows.jsonl", rows);
        run(&space, &[], 0);
        space.actions("g")[0]
    };
    let rows = rows();
    let limit = rows.replace("\"limit\":2", "\"limit\":3");
    assert_eq!(asked("", &rows), 1, "two trials with one answer");
    assert_eq!(asked("", &limit), 0, "what is not seen");
    assert_eq!(asked("", &rows.replace("\"m\"", "\"n\"")), 0, "nor is a model");
    assert_eq!(asked(", sees: [model, ground_truth]", &rows), 1, "another call");
    assert_eq!(asked(", sees: [ground_truth, model]", &limit), 0, "in any order");
    assert_eq!(asked(", sees: [model]", &rows.replace("\"m\"", "\"n\"")), 1);
    assert_eq!(asked(", sees: [trial]", &rows), 2, "each trial by itself");
    assert_eq!(asked(", sees: [row]", &rows), 2, "the row says which trial it is");
    assert_eq!(asked(", sees: [row]", &limit), 2);
    assert_eq!(asked(", sees: [row]", &rows), 0, "back");
    assert_eq!(asked("", &limit), 0, "the first verdicts are still there");
}

#[test]
fn a_function_that_looks_at_what_it_does_not_see_is_told_how_to() {
    if !has("python3") {
        return;
    }
    let function = "def grade(sample, submission):\n    return sample.row['case']\n\n\ndef item(sample, submission):\n    return sample['model'], 'why'\n\n\ndef other(sample, submission):\n    return sample.nothing\n\n\ndef pair(sample, submission):\n    return True, None\n";
    let of = |name: &str| format!("  {name}: {{kind: tool, function: 'g.py:{name}'}}\n");
    let graders: String = ["grade", "item", "other", "pair"].map(of).concat();
    let space = space(&graders, &[("g.py", function)]);
    run(&space, &["--sample", "a"], 3);
    insta::assert_snapshot!(all_verdicts(&space, &["grade", "item", "other", "pair"]), @r"
    grade: exception: AttributeError: `sample.row` is not handed over: say `sees: [row]` in the suite (g.py:2)
    grade: exception: AttributeError: `sample.row` is not handed over: say `sees: [row]` in the suite (g.py:2)
    item: exception: KeyError: '`sample.model` is not handed over: say `sees: [model]` in the suite' (g.py:6)
    item: exception: KeyError: '`sample.model` is not handed over: say `sees: [model]` in the suite' (g.py:6)
    other: exception: AttributeError: 'Sample' object has no attribute 'nothing' (g.py:10)
    other: exception: AttributeError: 'Sample' object has no attribute 'nothing' (g.py:10)
    pair: 1.0 true
    pair: 1.0 true
    ");
    space.write(
        "suite.yaml",
        format!("{SUITE}  g: {{kind: program, path: 'g.py:pair', sees: [rows, model]}}\n"),
    );
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: a sample has no `rows` that a program could see
     --> suite.yaml:4:48
      |
    4 |   g: {kind: program, path: 'g.py:pair', sees: [rows, model]}
      |                                                ^^^^
      |
      = help: did you mean `row`?

    1 error
    ");
}
