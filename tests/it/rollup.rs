//! Roll-ups: what several suites come to together.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

/// So many rows, of which so many are right.
fn rows(count: usize, right: usize) -> String {
    let row = |at: usize| {
        let output = if at < right { "a" } else { "b" };
        json!({"id": format!("q{at}"), "input": "q", "output": output, "ground_truth": "a"})
    };
    jsonl((0..count).map(row))
}

fn suite(name: &str, more: &str) -> String {
    format!(
        "name: {name}\ndataset: data.jsonl\ngraders:\n  right: {{kind: tool, function: exact_match}}\n{more}"
    )
}

fn rollup(gate: &str) -> String {
    format!(
        "name: benchmark\nmetrics:\n  overall: {{kind: macro, of: [maths.right, law.right]}}\n  weighted: {{kind: weighted, weights: {{maths.right: 3, law.right.pass_rate: 1}}}}\n{gate}"
    )
}

/// A folder of two suites and a roll-up of them: 15 of 20 and 6 of 12 are right, 0.625 on average.
fn space(gate: &str) -> Space {
    Space::new(&[
        ("evalrs.toml", ""),
        ("suites/maths/suite.yaml", &suite("maths", "")),
        ("suites/maths/data.jsonl", &rows(20, 15)),
        ("suites/law/suite.yaml", &suite("law", "")),
        ("suites/law/data.jsonl", &rows(12, 6)),
        ("rollup.yaml", &rollup(gate)),
    ])
}

fn record(space: &Space) -> Value {
    let last = space.names(".evalrs/rollups").pop().unwrap();
    serde_json::from_str(&space.read(&format!(".evalrs/rollups/{last}/rollup.json"))).unwrap()
}

const RUN: [&str; 4] = ["run", "suites", "--rollup", "rollup.yaml"];

#[test]
fn a_folder_of_suites_comes_to_numbers_over_all() {
    let space = space("gate: {metric_key: overall, op: gte, value: 0.6}\n");
    let mut args = RUN.to_vec();
    args.extend(["--failures", "0"]);
    insta::assert_snapshot!(space.run(&args).shown(), @r"
    exit: 0
    --- stdout
    no gate  law: 12 samples, 12 results

    grader   n  errors           mean [95 %]         pass [95 %]    min  median    max
    right   12       0  0.500 [0.211, 0.789]  50.0% [21.1, 78.9]  0.000   0.500  1.000
    95 % intervals: Clopper-Pearson

    6 failures  grader  score  rationale
    6 more in .evalrs/runs/RUN

    graded in N s
    report: .evalrs/runs/RUN

    no gate  maths: 20 samples, 20 results

    grader   n  errors           mean [95 %]         pass [95 %]    min  median    max
    right   20       0  0.750 [0.509, 0.913]  75.0% [50.9, 91.3]  0.000   1.000  1.000
    95 % intervals: Clopper-Pearson

    5 failures  grader  score  rationale
    5 more in .evalrs/runs/RUN

    graded in N s
    report: .evalrs/runs/RUN

    passed  benchmark: 2 suites
    overall >= 0.6: 0.625

    metric                 kind                   value [95 %]   n  errors
    overall                macro mean     0.625 [0.442, 0.796]  32       0
      maths.right                         0.750 [0.509, 0.913]  20
      law.right                           0.500 [0.211, 0.789]  12
    weighted               weighted mean  0.688 [0.504, 0.842]  32       0
      maths.right          weight 3       0.750 [0.509, 0.913]  20
      law.right.pass_rate  weight 1       0.500 [0.211, 0.789]  12
    95 % intervals: Clopper-Pearson and MOVER

    roll-up: .evalrs/rollups/RUN/rollup.json
    --- stderr
    ");
    let found = record(&space);
    let named: Vec<&str> = found["suites"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["suite"].as_str().unwrap())
        .collect();
    assert_eq!(named, ["law", "maths"]);
    let runs = space.names(".evalrs/runs");
    let linked = found["suites"].as_array().unwrap().iter();
    assert!(linked.clone().all(|one| runs.contains(&one["run"].as_str().unwrap().to_owned())));
    assert_eq!(found["metrics"]["overall"]["value"], json!(0.625));
    assert_eq!(found["metrics"]["overall"]["interval"]["method"], json!("mover"));
    assert_eq!(found["metrics"]["weighted"]["value"], json!(0.6875));
}

#[test]
fn the_worst_of_all_gates_decides() {
    let gate = |value: f64| format!("gate: {{metric_key: overall, op: gte, value: {value}}}\n");
    let space = space(&gate(0.6));
    let run = || space.run(&["run", "suites", "--rollup", "rollup.yaml", "--quiet"]).code();
    assert_eq!(run(), 0);
    space.write("rollup.yaml", rollup(&gate(0.63)));
    assert_eq!(run(), 1);
    space.write("rollup.yaml", rollup(""));
    assert_eq!(run(), 0);
    // A suite that fails fails the command, whatever the roll-up says.
    space.write("rollup.yaml", rollup(&gate(0.6)));
    let failing = suite("law", "gate: {metric_key: right, op: gte, value: 0.9}\n");
    space.write("suites/law/suite.yaml", failing);
    assert_eq!(run(), 1);
    assert_eq!(record(&space)["gate"]["status"], json!("passed"));
    let conditions = "gate: {kind: logical, operator: or, conditions: [{metric_key: overall, op: gt, value: 0.9}, {metric_key: weighted, op: gte, value: 0.6875}]}\n";
    space.write("suites/law/suite.yaml", suite("law", ""));
    space.write("rollup.yaml", rollup(conditions));
    assert_eq!(run(), 0);
}

#[test]
fn unanswered_judges_leave_it_undecided_and_a_changed_rollup_asks_none() {
    let judged = "name: law\ndataset: data.jsonl\ngraders:\n  right: {kind: rubric, prompt: 'Good? {submission}', model: judge-1, endpoint: test}\n";
    let space = space("gate: {metric_key: overall, op: gte, value: 0.6}\n");
    space.write("suites/law/suite.yaml", judged);
    let judge = Judge::new(|_, _| Answer::text(r#"{"score": 0.5, "rationale": "so so"}"#));
    // One of two distinct submissions is answered.
    let args = ["run", "suites", "--rollup", "rollup.yaml", "--failures", "0", "--max-calls", "1"];
    insta::assert_snapshot!(space.run_with(&judge, &args).shown(), @r"
    exit: 3
    --- stdout
    no gate  law: 12 samples, 12 results

    grader   n  errors           mean [95 %]       pass [95 %]    min  median    max  errors as 0
    right   12       6  0.500 [0.270, 0.730]  0.0% [0.0, 45.9]  0.500   0.500  0.500        0.250
    95 % intervals: Clopper-Pearson

    6 failures  grader  score  rationale
    6 more in .evalrs/runs/RUN

    6 grades could not be made
    6 ×  not_asked  not asked: the budget is used up  first q6 right

    1 judgment: 10 tokens in, 2 out
    calls: 1 made, 0 cached, 0 failed, in N s
    spent 12 tokens
    report: .evalrs/runs/RUN

    exit code 3: the budget is used up and 6 grades could not be made: run it again with a larger one

    no gate  maths: 20 samples, 20 results

    grader   n  errors           mean [95 %]         pass [95 %]    min  median    max
    right   20       0  0.750 [0.509, 0.913]  75.0% [50.9, 91.3]  0.000   1.000  1.000
    95 % intervals: Clopper-Pearson

    5 failures  grader  score  rationale
    5 more in .evalrs/runs/RUN

    graded in N s
    report: .evalrs/runs/RUN

    undecided  benchmark: 2 suites
    overall >= 0.6: 0.625 (0.500 to 0.750 depending on missing grades)

    metric                 kind                   value [95 %]   n  errors
    overall                macro mean     0.625 [0.465, 0.772]  32       6
      maths.right                         0.750 [0.509, 0.913]  20
      law.right                           0.500 [0.270, 0.730]  12
    weighted               weighted mean  0.562 [0.389, 0.728]  32       6
      maths.right          weight 3       0.750 [0.509, 0.913]  20
      law.right.pass_rate  weight 1       0.000 [0.000, 0.459]  12
    95 % intervals: Clopper-Pearson and MOVER

    roll-up: .evalrs/rollups/RUN/rollup.json
    --- stderr
    2 judgments: 0 cached, 2 to ask
      1/2 asked, 0 failed
    stopped: the budget is used up; a rerun with a larger one asks for the rest
    ");
    assert_eq!(judge.count(), 1);
    let gate = &record(&space)["gate"];
    assert_eq!(gate["status"], json!("undecided"));
    let run = || space.run_with(&judge, &["run", "suites", "--rollup", "rollup.yaml", "--quiet"]);
    assert_eq!(run().code(), 0);
    assert_eq!(judge.count(), 2);
    for (text, code) in [
        (rollup("gate: {metric_key: weighted, op: gte, value: 0.7}\n"), 1),
        ("name: other\nmetrics: {one: {kind: macro, of: [law.right]}}\n".to_owned(), 0),
        (rollup(""), 0),
    ] {
        space.write("rollup.yaml", text);
        assert_eq!(run().code(), code);
        let ran = &record(&space)["suites"][0]["run"];
        let of_run = space.read(&format!(".evalrs/runs/{}/run.json", ran.as_str().unwrap()));
        let of_run: Value = serde_json::from_str(&of_run).unwrap();
        assert_eq!(of_run["asked"], json!([]));
        assert_eq!(of_run["actions"]["right"]["cached"], json!(2));
        assert_eq!(judge.count(), 2);
    }
}

#[test]
fn formats_of_several_suites_hold_it() {
    let space = space("gate: {metric_key: overall, op: gte, value: 0.7}\n");
    let written = |format: &str| {
        let ran = space.run(&["run", "suites", "--rollup", "rollup.yaml", "--format", format]);
        assert_eq!(ran.code(), 1, "{}", ran.shown());
        ran.stdout()
    };
    let whole: Value = serde_json::from_str(&written("json")).unwrap();
    assert_eq!(whole["suites"].as_array().unwrap().len(), 2);
    assert_eq!(whole["rollup"]["gate"]["status"], json!("failed"));
    let schema = space.run(&["schemas", "RunRollup"]).stdout();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for found in [&whole["rollup"], &record(&space)] {
        let errors: Vec<String> =
            validator.iter_errors(found).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let markdown = written("markdown");
    let (_, page) = markdown.split_once("### `benchmark`").unwrap();
    insta::assert_snapshot!(page, @r"
    : failed

    `overall >= 0.7: 0.625`

    2 suites

    | metric | kind | value | 95 % interval | n | errors |
    |:--|:--|--:|--:|--:|--:|
    | `overall` | macro mean | 0.625 | [0.442, 0.796] | 32 | 0 |
    | `maths.right` |  | 0.750 | [0.509, 0.913] | 20 |  |
    | `law.right` |  | 0.500 | [0.211, 0.789] | 12 |  |
    | `weighted` | weighted mean | 0.688 | [0.504, 0.842] | 32 | 0 |
    | `maths.right` | weight 3 | 0.750 | [0.509, 0.913] | 20 |  |
    | `law.right.pass_rate` | weight 1 | 0.500 | [0.211, 0.789] | 12 |  |

    95 % intervals: Clopper-Pearson and MOVER
    ");
    let junit = written("junit");
    assert!(
        junit.contains(
            "<testsuite name=\"benchmark.gate\" file=\"rollup.yaml\" tests=\"1\" failures=\"1\""
        ),
        "{junit}"
    );
    let github = written("github");
    assert!(
        github
            .contains("::error file=rollup.yaml,title=benchmark%3A failed::overall >= 0.7: 0.625"),
        "{github}"
    );
    assert_eq!(written("jsonl").lines().count(), 32);
    // Without a roll-up, one object is of one suite.
    assert_eq!(space.run(&["run", "suites", "--format", "json"]).code(), 2);
}

#[test]
fn a_slip_in_it_costs_nothing() {
    let space = space("");
    let wrong = "name: benchmark\nmetrics:\n  overall: {kind: macro, of: [math.right, law.rigth]}\ngate: {metric_key: overal, op: gte, value: 0.5}\n";
    space.write("rollup.yaml", wrong);
    insta::assert_snapshot!(space.run(&RUN).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: no suite of this command is called `math`
     --> rollup.yaml:3:31
      |
    3 |   overall: {kind: macro, of: [math.right, law.rigth]}
      |                               ^^^^^^^^^^ expected `law` or `maths`
      |
      = help: did you mean `maths`?

    error: the suite `law` has no grader or metric `rigth`
     --> rollup.yaml:3:43
      |
    3 |   overall: {kind: macro, of: [math.right, law.rigth]}
      |                                           ^^^^^^^^^ expected `right` or `right.pass_rate`
      |
      = help: did you mean `right`?

    error: unknown metric `overal`
     --> rollup.yaml:4:20
      |
    4 | gate: {metric_key: overal, op: gte, value: 0.5}
      |                    ^^^^^^ expected `overall`
      |
      = help: did you mean `overall`?
    ");
    assert!(space.names(".evalrs").is_empty(), "nothing ran");
    space.write("rollup.yaml", rollup(""));
    insta::assert_snapshot!(space.run(&["run", "suites/law/suite.yaml", "--rollup", "rollup.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: no suite of this command is called `maths`
     --> rollup.yaml:3:31
      |
    3 |   overall: {kind: macro, of: [maths.right, law.right]}
      |                               ^^^^^^^^^^^ expected `law`
      |
      = help: name its file on the command line too

    error: no suite of this command is called `maths`
     --> rollup.yaml:4:40
      |
    4 |   weighted: {kind: weighted, weights: {maths.right: 3, law.right.pass_rate: 1}}
      |                                        ^^^^^^^^^^^ expected `law`
      |
      = help: name its file on the command line too
    ");
}

#[test]
fn another_file_in_its_place_is_told() {
    let space = space("");
    insta::assert_snapshot!(space.run(&["run", "suites", "--rollup", "missing.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot read the roll-up: there is no such file
     --> missing.yaml
    ");
    insta::assert_snapshot!(space.run(&["run", "rollup.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: this is a roll-up of suites, and not a suite
     --> rollup.yaml:1:1
      |
    1 | name: benchmark
      | ^^^^^^^^^^^^^^^
      |
      = help: name the suites, and behind them `--rollup` and this file
    ");
    insta::assert_snapshot!(space.run(&["run", "suites", "--rollup", "rollup.yaml", "--only-targets"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: the argument '--rollup <FILE>' cannot be used with '--only-targets'

    Usage: evalrs run --rollup <FILE> <SUITE>...

    For more information, try '--help'.
    ");
}

#[test]
fn validate_checks_it_against_the_suites() {
    let space = space("gate: {metric_key: overall, op: gte, value: 0.6}\n");
    insta::assert_snapshot!(space.run(&["validate", "suites", "--rollup", "rollup.yaml"]).shown(), @r"
    exit: 0
    --- stdout
    suites/law/suite.yaml: valid
      suite    law
      dataset  suites/law/data.jsonl: 12 samples, 12 results
      grader   right: exact_match of last_assistant
      gate     none: the exit code is 0 whatever the scores
    suites/maths/suite.yaml: valid
      suite    maths
      dataset  suites/maths/data.jsonl: 20 samples, 20 results
      grader   right: exact_match of last_assistant
      gate     none: the exit code is 0 whatever the scores
    rollup.yaml: valid
      roll-up  benchmark
      metric   overall: macro mean of maths.right and law.right
      metric   weighted: weighted mean of 3 × maths.right and 1 × law.right.pass_rate
      gate     overall >= 0.6
    --- stderr
    ");
    insta::assert_snapshot!(space.run(&["validate", "rollup.yaml"]).shown(), @r"
    exit: 0
    --- stdout
    rollup.yaml: a roll-up of the right form; to check what it names: `evalrs validate SUITE … --rollup rollup.yaml`
    --- stderr
    ");
    space.write("rollup.yaml", "name: a\nmetrics: {m: {kind: macro, of: [maths.rigth]}}\n");
    assert_eq!(space.run(&["validate", "rollup.yaml"]).code(), 0);
    let ran = space.run(&["validate", "suites", "--rollup", "rollup.yaml", "--json"]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stdout().contains("has no grader or metric `rigth`"), "{}", ran.shown());
}

#[test]
fn suites_of_the_same_dataset_are_not_taken_for_independent() {
    let space = space("");
    let width = || {
        assert_eq!(space.run(&["run", "suites", "--rollup", "rollup.yaml", "--quiet"]).code(), 0);
        let found = &record(&space)["metrics"]["overall"]["interval"];
        found["high"].as_f64().unwrap() - found["low"].as_f64().unwrap()
    };
    space.write("suites/law/data.jsonl", rows(20, 15).replace("q1", "r1"));
    let apart = width();
    // A copy, or the file itself.
    space.write("suites/law/data.jsonl", rows(20, 15));
    let of_copy = width();
    assert!(of_copy > apart * 1.2, "{of_copy} {apart}");
    space.write(
        "suites/law/suite.yaml",
        suite("law", "").replace("data.jsonl", "../maths/data.jsonl"),
    );
    assert!((width() - of_copy).abs() < 1e-9);
}
