//! Parts of an evaluation: single turns, tags, samples, graders, trials, and suites put together from others.

use serde_json::{Value, json};

use crate::judge::Judge;
use crate::space::{Space, jsonl};

fn results(space: &Space) -> Vec<Value> {
    space.record("results.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn summary(space: &Space) -> Value {
    serde_json::from_str(&space.record("summary.json")).unwrap()
}

fn ids(space: &Space) -> Vec<String> {
    results(space).iter().map(|line| line["sample_id"].as_str().unwrap().to_owned()).collect()
}

const TURNS: &str = "\
name: turns
dataset: data.jsonl
graders:
  says: {kind: tool, function: contains, display_name: Says it}
  looks: {kind: tool, function: tool_called, config: {name: look}}
gate: {metric_key: says, op: gte, value: 0.5}
";

/// Three turns of which the second calls a tool, one that stops after the first, and a sample without turns.
fn turns() -> String {
    let user = |text: &str| json!({"role": "user", "content": text});
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
    let whole = json!([
        user("1"), said("one"), user("2"), call, {"role": "tool", "tool_call_id": "c", "content": "seen"}, said("TWO!"), user("3"), said("four"),
    ]);
    let inputs = json!(["1", "2", "3"]);
    let truths = json!(["one", "two", "three"]);
    [
        json!({"id": "a", "tags": ["x", "y"], "input": inputs, "ground_truth": truths, "messages": whole}),
        json!({"id": "b", "tags": ["y"], "input": inputs, "ground_truth": truths, "trajectory": [[user("1"), said("one")]]}),
        json!({"id": "c", "input": inputs, "ground_truth": "four", "messages": whole}),
        json!({"id": "d", "tags": "z", "input": "1", "ground_truth": "one", "output": "no"}),
    ]
    .map(|row| format!("{row}\n"))
    .concat()
}

fn turns_space() -> Space {
    Space::new(&[("suite.yaml", TURNS), ("data.jsonl", &turns())])
}

#[test]
fn lists_of_inputs_and_truths_are_graded_turn_by_turn() {
    let space = turns_space();
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0, "2/3, 1/3, 1 and 0 are a half");
    let found = results(&space);
    let says = |at: usize| &found[at]["grades"]["says"];
    assert_eq!(says(0)["rationale"], "2/3 passed: ✓ ✓ ✗");
    assert_eq!((says(0)["score"].as_f64(), &says(0)["pass"]), (Some(2.0 / 3.0), &json!(false)));
    assert_eq!(says(0)["metadata"], json!({"turns_passed": 2, "turns_total": 3}));
    assert_eq!(found[0]["submission"], "[Turn 0] one | [Turn 1] TWO! | [Turn 2] four");
    assert_eq!(
        says(0)["per_turn"][1],
        json!({"turn": 1, "score": 1.0, "rationale": "Contains ground_truth: True", "submission": "TWO!"})
    );
    assert_eq!(says(1)["rationale"], "1/3 passed: ✓ ✗ ✗");
    let empty = "Empty trajectory - agent produced no messages";
    assert_eq!(says(1)["per_turn"][2]["rationale"], empty);
    assert_eq!(found[0]["grades"]["looks"]["rationale"], "1/3 passed: ✗ ✓ ✗");
    // A list of inputs with one truth is one conversation, graded once.
    assert_eq!((&says(2)["score"], &says(2)["per_turn"]), (&json!(1.0), &Value::Null));
    assert_eq!(found[2]["grades"]["looks"]["score"], 1.0);
}

#[test]
fn every_turn_is_judged_by_itself() {
    let suite = "\
name: turns
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: '{input}: {submission} for {ground_truth}', model: m, endpoint: test, pass_threshold: 0.5}
";
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", &turns())]);
    let judge = Judge::by_length();
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--sample", "a", "--sample", "b"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let mut prompts: Vec<String> = judge
        .asked()
        .iter()
        .map(|asked| asked.prompt().lines().next().unwrap().to_owned())
        .collect();
    prompts.sort();
    // The first turn of both is the same question, so it is asked once; turns that were never reached, never.
    assert_eq!(prompts, ["1: one for one", "2: TWO! for two", "3: four for three"]);
    assert_eq!(space.actions("quality"), [3, 0, 0, 0]);
    let found = results(&space);
    let score =
        |at: usize, turn: usize| found[at]["grades"]["quality"]["per_turn"][turn]["score"].clone();
    assert_eq!(score(0, 0), score(1, 0));
    assert_eq!(score(1, 2), 0.0);
}

#[test]
fn turns_without_a_truth_each_are_an_error_with_a_place() {
    let row = json!({"id": "a", "input": ["1", "2"], "ground_truth": ["one"], "output": "x"});
    let space = Space::new(&[("suite.yaml", TURNS), ("data.jsonl", &format!("\n{row}\n"))]);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    let stderr = ran.stderr();
    assert!(stderr.contains("`ground_truth` has 1 entry, `input` has 2 turns"), "{stderr}");
    assert!(stderr.contains("data.jsonl:2:44"), "{stderr}");
}

#[test]
fn samples_are_selected_by_tag_id_and_number() {
    let space = turns_space();
    let check = |args: &[&str], expected: &[&str]| {
        let ran = space.run(&[&["run", "suite.yaml", "--quiet"], args].concat());
        assert!(ran.code() <= 1, "{args:?}: {}", ran.shown());
        assert_eq!(ids(&space), expected, "{args:?}");
    };
    check(&[], &["a", "b", "c", "d"]);
    check(&["--tags", "y"], &["a", "b"]);
    check(&["--tags", "x,z"], &["a", "d"]);
    check(&["--tags", "y", "--max-samples", "1"], &["a"]);
    check(&["--max-samples", "3"], &["a", "b", "c"]);
    check(&["--sample", "d", "--sample", "b"], &["b", "d"]);
    check(&["--sample", "b", "--tags", "y"], &["b"]);
    space.write("suite.yaml", format!("{TURNS}sample_tags: [y]\nmax_samples: 1\n"));
    check(&[], &["a"]);
    check(&["--max-samples", "2"], &["a", "b"]);
    check(&["--tags", "z"], &["d"]);
}

#[test]
fn a_selection_of_nothing_is_an_error() {
    let space = turns_space();
    for (args, said) in [
        (&["--tags", "unknown"][..], "none of the 4 samples is selected"),
        (&["--max-samples", "0"], "none of the 4 samples is selected"),
        (&["--sample", "e"], "no sample has the id `e`"),
        (&["--sample", "a", "--sample", "e", "--sample", "f"], "no sample has the id `e`, `f`"),
        (&["--sample", "c", "--tags", "y"], "none of the 4 samples is selected"),
        (&["--refresh=says", "--refresh=sayz"], "`--refresh=sayz` names no grader"),
        (&["suite.yaml", "--output", "out"], "the record of the last suite alone"),
        (&["--grader", "sayz"], "the suite has no grader `sayz`"),
        (&["--trials", "0"], "invalid value '0'"),
    ] {
        let ran = space.run(&[&["run", "suite.yaml"], args].concat());
        assert_eq!(ran.code(), 2, "{args:?}");
        assert!(ran.stderr().contains(said), "{args:?}: {}", ran.stderr());
    }
}

#[test]
fn tags_are_broken_down_in_order_and_overlap() {
    let space = turns_space();
    space.run(&["run", "suite.yaml"]);
    let found = summary(&space);
    let tags = found["by_tag"].as_object().unwrap();
    assert_eq!(tags.keys().collect::<Vec<_>>(), ["x", "y", "z"]);
    let mean = |tag: &str| tags[tag]["says"]["avg_score_total"].as_f64().unwrap();
    assert_eq!((mean("x"), mean("y"), mean("z")), (2.0 / 3.0, 0.5, 0.0));
    assert_eq!(tags["y"]["says"]["n"], 2);
    assert_eq!(found["metrics"]["says"]["n"], 4);
}

#[test]
fn a_row_that_names_a_tag_twice_counts_once_under_it() {
    let space = turns_space();
    let (once, twice) = (r#"["x","y"]"#, r#"["x","y","x"]"#);
    assert!(turns().contains(once));
    space.write("data.jsonl", turns().replace(once, twice));
    space.run(&["run", "suite.yaml"]);
    assert_eq!(results(&space).len(), 4);
    assert_eq!(summary(&space)["by_tag"]["x"]["says"]["n"], 1);
}

#[test]
fn a_gate_whose_grader_is_left_out_is_left_out_and_that_is_said() {
    let space = turns_space();
    let ran = space.run(&["run", "suite.yaml", "--grader", "looks", "--failures", "0"]);
    assert_eq!(ran.code(), 0);
    assert_eq!(
        ran.stderr(),
        "note: the gate `says avg_score >= 0.5` is left out: it needs graders that --grader leaves out\n"
    );
    assert!(ran.stdout().starts_with("no gate  turns: 4 samples, 4 results\n"), "{}", ran.stdout());
    assert_eq!(summary(&space)["gate"]["status"], Value::Null);
    assert!(
        space.record("header.json").contains("\"gate\": null"),
        "{}",
        space.record("header.json")
    );
    let ran = space.run(&["run", "suite.yaml", "--grader", "says"]);
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""));
    let logical = "gate: {kind: logical, operator: or, conditions: [{metric_key: says, op: gte, value: 2}, {metric_key: looks, op: gte, value: 0}]}";
    space.write(
        "suite.yaml",
        TURNS.replace("gate: {metric_key: says, op: gte, value: 0.5}", logical),
    );
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0);
    let ran = space.run(&["run", "suite.yaml", "--grader", "says", "--quiet"]);
    assert!(ran.stderr().contains("note: the gate"), "{}", ran.stderr());
}

#[test]
fn people_read_display_names_and_machines_keys() {
    let space = turns_space();
    for (format, label) in [
        ("text", "\nSays it"),
        ("markdown", "| `Says it` |"),
        ("junit", "<testsuite name=\"turns.Says it\""),
        ("github", "title=Says it%3A a::"),
    ] {
        let shown = space.run(&["run", "suite.yaml", "--format", format]).stdout();
        assert!(shown.contains(label), "{format}: {shown}");
        assert_eq!(shown.matches("\"says\"").count(), 0, "{format}: {shown}");
    }
    for format in ["json", "jsonl"] {
        let shown = space.run(&["run", "suite.yaml", "--format", format]).stdout();
        assert!(shown.contains("\"says\":"), "{format}: {shown}");
    }
    assert_eq!(summary(&space)["labels"], json!({"says": "Says it"}));
}

#[test]
fn trials_are_counted_from_the_first() {
    let rows = jsonl((0..12).map(|at| {
        let (id, trial) = (at / 4, at % 4);
        let output = if trial < id + 1 { "yes" } else { "no" };
        json!({"id": id, "trial": trial, "input": "q", "ground_truth": "yes", "output": output})
    }));
    let suite =
        "name: t\ndataset: data.jsonl\ngraders:\n  a: {kind: tool, function: exact_match}\n";
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", &rows)]);
    let curve = |args: &[&str]| {
        assert_eq!(space.run(&[&["run", "suite.yaml"], args].concat()).code(), 0);
        summary(&space)["metrics"]["a"]["pass_hat"].clone()
    };
    // Of 4 trials each, 1, 2 and 3 pass: C(c, k) / C(4, k), averaged.
    assert_eq!(
        curve(&[]),
        json!({"1": 0.5, "2": (0.0 + 1.0 / 6.0 + 3.0 / 6.0) / 3.0, "3": 0.25 / 3.0, "4": 0.0})
    );
    let trials = summary(&space)["trials"]["a"].clone();
    let flaky =
        |id: &str, passes| json!({"sample_id": id, "model": null, "passes": passes, "trials": 4});
    assert_eq!(trials["flaky"], json!([flaky("1", 2), flaky("0", 1), flaky("2", 3)]));
    assert_eq!(trials["variance"]["within"], json!((0.75 + 1.0 + 0.75) / 9.0));
    assert_eq!(curve(&["--trials", "2"]), json!({"1": 2.5 / 3.0, "2": 2.0 / 3.0}));
    assert_eq!(curve(&["--trials", "1"]), Value::Null);
    assert_eq!(summary(&space).get("trials"), None, "of one trial each there is nothing to tell");
    space.write("suite.yaml", format!("{suite}num_runs: 2\n"));
    assert_eq!(curve(&[]), json!({"1": 2.5 / 3.0, "2": 2.0 / 3.0}));
    assert_eq!(curve(&["--trials", "1"]), Value::Null);
}

#[test]
fn suites_extend_others_and_read_the_environment() {
    let base = "\
dataset: rows.jsonl
graders:
  a: {kind: tool, function: exact_match, pass_threshold: 0.5}
  b: {kind: tool, function: contains}
gate: {metric_key: a, op: gte, value: 1}
";
    let suite = "\
extends: shared/base.yaml
name: ${WHO:-nobody}-suite
graders:
  b: {function: one_of, config: {values: ['${ANSWER}', 'x']}}
";
    let row = json!({"id": 1, "input": "q", "ground_truth": "yes", "output": "yes"}).to_string();
    let space = Space::new(&[
        ("suite.yaml", suite),
        ("shared/base.yaml", base),
        ("shared/rows.jsonl", &row),
    ]);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    let missing = "the environment variable `ANSWER` is not set";
    assert!(
        ran.stderr().contains(missing) && ran.stderr().contains("suite.yaml:4:"),
        "{}",
        ran.stderr()
    );
    let run = |answer: &str| {
        let ran = space.command(&["run", "suite.yaml"]).env("ANSWER", answer).output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
        results(&space)[0]["grades"]["b"]["score"].clone()
    };
    assert_eq!((run("yes"), run("no")), (json!(1.0), json!(0.0)));
    assert_eq!(summary(&space)["suite"], "nobody-suite");
    space.write(".env", "WHO=somebody\nANSWER=yes\n");
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0);
    assert_eq!(summary(&space)["suite"], "somebody-suite");
    let header = space.record("header.json");
    for file in ["shared/base.yaml", "shared/rows.jsonl", "suite.yaml"] {
        assert!(header.contains(&format!("\"{file}\":")), "{header}");
    }
}

#[test]
fn a_variable_inside_braces_needs_quotes() {
    let suite = "name: s\ndataset: data.jsonl\ngraders: {same: {kind: tool, function: contains}}\ngate: {metric_key: same, op: gte, value: ${LEAST:-0.5}}\n";
    let row = json!({"id": 1, "input": "q", "ground_truth": "a", "output": "a"}).to_string();
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", &row)]);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    let expected = "inside `{…}` and `[…]` a variable needs quotes: `\"${NAME}\"`";
    assert!(ran.stderr().contains(expected), "{}", ran.stderr());
    space.write("suite.yaml", suite.replace("${LEAST:-0.5}", "\"${LEAST:-0.5}\""));
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0);
}

#[test]
fn what_is_named_by_mistake_is_told_what_there_is() {
    let suite = "name: s\ndataset: d.jsonl\ngraders: {a: {kind: tool, function: contains}}\n";
    let row = |id: &str| serde_json::json!({"id": id, "ground_truth": "o", "output": "o"});
    let rows = crate::space::lines(["q1", "q2", "q3"].map(row));
    let space = Space::new(&[("other.yaml", suite), ("d.jsonl", &rows), ("evalrs.toml", "")]);
    let said = |args: &[&str], expected: &str| {
        let ran = space.run(args);
        assert_eq!(ran.code(), 2, "{}", ran.shown());
        assert!(ran.stderr().contains(expected), "{expected}: {}", ran.shown());
    };
    said(&["run", "other.yaml", "--sample", "q9"], "the ids are `q1`, `q2`, `q3`\n");
    said(&["run", "d.jsonl"], "error: `d.jsonl` is a dataset, and not a suite");
    said(&["run", "d.jsonl"], "`dataset: d.jsonl`");
    said(&["run", "."], "name `other.yaml` itself");
    space.write("other.yaml", format!("{suite}labels: lab.csv\n"));
    said(&["run", "other.yaml"], "--> other.yaml:4:9");
    space.write("lab.csv", "id,label\nq1,good\n");
    said(&["run", "other.yaml"], "`labels: {map: {good: pass, bad: fail}}`");
}

#[cfg(unix)]
#[test]
fn a_suite_that_is_a_link_says_where_its_files_are_looked_for() {
    let suite = "name: s\ndataset: d.jsonl\ngraders: {a: {kind: tool, function: contains}}\n";
    let space = Space::new(&[
        ("evals/suite.yaml", suite),
        ("evals/d.jsonl", "{\"id\": \"a\", \"output\": \"x\", \"ground_truth\": \"x\"}\n"),
        ("links/evalrs.toml", ""),
    ]);
    std::os::unix::fs::symlink("../evals/suite.yaml", space.path("links/s.yaml")).unwrap();
    let ran = space.run(&["run", "links/s.yaml"]);
    let expected = "this is a link to `links/../evals/suite.yaml`: what it names is looked for beside the link";
    assert!(ran.code() == 2 && ran.stderr().contains(expected), "{}", ran.shown());
    std::os::unix::fs::symlink(space.path("evals"), space.path("linked")).unwrap();
    assert_eq!(space.run(&["run", "linked/suite.yaml", "--quiet"]).code(), 0);
}
