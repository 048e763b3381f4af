//! Rows that count, and rows that a grader is for: `where`, `only`, and rows that name their graders.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

fn row(id: &str, more: &Value) -> Value {
    let mut row = json!({"id": id, "input": "q", "output": id, "ground_truth": "a"});
    row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    row
}

fn rows() -> String {
    jsonl([
        row("a", &json!({"tags": ["refund"], "kind": "x", "n": 1})),
        row("b", &json!({"tags": ["refund", "eu"], "improper": true, "n": 2})),
        row("c", &json!({"kind": "x", "n": 3})),
        row("d", &json!({"kind": "y", "n": 4})),
    ])
}

fn suite(dataset: &str, graders: &str) -> String {
    format!("name: s\ndataset: {dataset}\ngraders:\n{graders}\n")
}

const RUBRIC: &str = "kind: rubric, prompt: 'Is it {submission}?', model: judge-1, endpoint: test, pass_threshold: 0.5";

/// What the graders say, and what they say nothing of.
fn said(space: &Space) -> String {
    let text = space.record("results.jsonl");
    let lines = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let grades = line["grades"].as_object().unwrap().iter();
        let grades = grades.map(|(name, grade)| format!("{name} {}", grade["score"]));
        let not = line["not_applicable"].as_object().into_iter().flatten();
        let not = not.map(|(name, why)| format!("{name}: {}", why.as_str().unwrap()));
        let words: Vec<String> = grades.chain(not).collect();
        format!("{}: {}", line["sample_id"].as_str().unwrap(), words.join(", "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_grader_has_no_grade_for_rows_that_it_is_not_for() {
    let graders = format!(
        "  polite: {{{RUBRIC}, only: \"'refund' in tags\"}}
  exact: {{kind: tool, function: exact_match, only: kind == 'x'}}
  all: {{kind: tool, function: contains}}
  both: {{kind: combine, combine: 0.5*exact + 0.5*all}}
  some: {{kind: combine, combine: 'mean(polite, exact, all)'}}"
    );
    let space =
        Space::new(&[("suite.yaml", &suite("data.jsonl", &graders)), ("data.jsonl", &rows())]);
    let judge = Judge::new(|_, _| Answer::text(r#"{"score": 0.75, "rationale": "quite"}"#));
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 0
    --- stdout
    no gate  s: 4 samples, 4 results

    grader  n  errors  n/a           mean [95 %]           pass [95 %]    min  median    max
    polite  2       0    2  0.750 [0.119, 0.960]  100.0% [15.8, 100.0]  0.750   0.750  0.750
    exact   2       0    2  0.500 [0.013, 0.987]     50.0% [1.3, 98.7]  0.000   0.500  1.000
    all     4       0    0  0.250 [0.006, 0.806]     25.0% [0.6, 80.6]  0.000   0.000  1.000
    both    2       0    2  0.500 [0.013, 0.987]     50.0% [1.3, 98.7]  0.000   0.500  1.000
    some    4       0    0  0.323 [0.000, 1.000]      0.0% [0.0, 60.2]  0.000   0.188  0.917
    95 % intervals: Clopper-Pearson and Student t

    tag     n                polite                 exact                   all                  both
    eu      1  0.750 [0.019, 0.994]                     -  0.000 [0.000, 0.975]                     -
    refund  2  0.750 [0.119, 0.960]  1.000 [0.025, 1.000]  0.500 [0.013, 0.987]  1.000 [0.025, 1.000]
    tag     n                  some
    eu      1  0.375 [0.009, 0.984]
    refund  2  0.646 [0.000, 1.000]

    9 failures  grader  score  rationale
    a           some    0.917  mean(polite, exact, all) = mean(0.75, 1, 1) = 0.916667
    b           all     0.000  Contains ground_truth: False (expected `a`, found `b`)
    b           some    0.375  mean(polite, exact, all) = mean(0.75, n/a, 0) = 0.375
    c           exact   0.000  Exact match: False (expected `a`, found `c`)
    c           all     0.000  Contains ground_truth: False (expected `a`, found `c`)
    c           both    0.000  0.5*exact + 0.5*all = 0.5*0 + 0.5*0 = 0
    c           some    0.000  mean(polite, exact, all) = mean(n/a, 0, 0) = 0
    d           all     0.000  Contains ground_truth: False (expected `a`, found `d`)
    d           some    0.000  mean(polite, exact, all) = mean(n/a, n/a, 0) = 0

    2 judgments: 20 tokens in, 4 out
    calls: 2 made, 0 cached, 0 failed, in N s
    spent 24 tokens
    report: .evalrs/runs/RUN
    --- stderr
    2 judgments: 0 cached, 2 to ask
      1/2 asked, 0 failed
      2/2 asked, 0 failed
    ");
    insta::assert_snapshot!(said(&space), @r"
    a: polite 0.75, exact 1.0, all 1.0, both 1.0, some 0.9166666666666666
    b: polite 0.75, all 0.0, some 0.375, exact: not `kind == 'x'`, both: 0.5*exact + 0.5*all = 0.5*n/a + 0.5*0
    c: exact 0.0, all 0.0, both 0.0, some 0.0, polite: not `'refund' in tags`
    d: all 0.0, some 0.0, polite: not `'refund' in tags`, exact: not `kind == 'x'`, both: 0.5*exact + 0.5*all = 0.5*n/a + 0.5*0
    ");
    assert_eq!(judge.count(), 2);
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    let metric = &summary["metrics"]["polite"];
    assert_eq!((&metric["n"], &metric["not_applicable"]), (&json!(2), &json!(2)));
    let of_tag = &summary["by_tag"]["eu"]["exact"];
    assert_eq!((&of_tag["n"], &of_tag["not_applicable"]), (&json!(0), &json!(1)));
}

#[test]
fn another_condition_asks_for_the_rows_it_adds() {
    let graders =
        |only: &str| suite("data.jsonl", &format!("  polite: {{{RUBRIC}, only: {only}}}"));
    let space = Space::new(&[("suite.yaml", &graders("n > 3")), ("data.jsonl", &rows())]);
    let judge = Judge::new(|_, _| Answer::text(r#"{"score": 0.75, "rationale": "quite"}"#));
    let mut asked = Vec::new();
    for only in ["n > 3", "n > 1", "n > 1 and not improper", "n == 1", "n != 7"] {
        space.write("suite.yaml", graders(only));
        space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
        asked.push((only, judge.count()));
    }
    let expected =
        [("n > 3", 1), ("n > 1", 3), ("n > 1 and not improper", 3), ("n == 1", 4), ("n != 7", 4)];
    assert_eq!(asked, expected);
}

#[test]
fn rows_that_do_not_count_are_not_evaluated() {
    let dataset = |condition: &str| format!("{{path: data.jsonl, where: \"{condition}\"}}");
    let graders = format!("  polite: {{{RUBRIC}}}");
    let space = Space::new(&[
        ("suite.yaml", &suite(&dataset("not improper"), &graders)),
        ("data.jsonl", &rows()),
    ]);
    let judge = Judge::new(|_, _| Answer::text(r#"{"score": 0.75, "rationale": "quite"}"#));
    let run = || space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
    run();
    assert_eq!(
        (said(&space).as_str(), judge.count()),
        ("a: polite 0.75\nc: polite 0.75\nd: polite 0.75", 3)
    );
    // What was asked is not asked again, whichever rows count.
    space.write("suite.yaml", suite(&dataset("n <= 2 and has(tags)"), &graders));
    run();
    assert_eq!((said(&space).as_str(), judge.count()), ("a: polite 0.75\nb: polite 0.75", 4));
}

#[test]
fn rows_that_do_not_count_have_any_shape_and_any_id() {
    let rows = jsonl([
        json!({"id": "s1", "type": "spec", "prompt": {"q": 1}, "tags": {"a": 1}, "trial": "x"}),
        json!({"id": {"no": "id"}, "type": "sampling", "input": ["a", "b"], "ground_truth": ["c"]}),
        json!({"id": "s1", "type": "match", "output": "a", "ground_truth": "a"}),
        json!({"id": "s1", "type": "event", "graders": ["nobody"], "rubric_path": "none.txt"}),
        json!({"id": "s2", "type": "match", "output": "b", "ground_truth": "a"}),
    ]);
    let suite = |dataset: &str| suite(dataset, "  exact: {kind: tool, function: exact_match}");
    let space = Space::new(&[
        ("suite.yaml", &suite("{path: data.jsonl, where: type == 'match'}")),
        ("data.jsonl", &rows),
    ]);
    assert_eq!(space.run(&["run", "suite.yaml", "--quiet"]).code(), 0);
    assert_eq!(said(&space), "s1: exact 1.0\ns2: exact 0.0");
    // Neither are they numbered, nor do they need an answer that is recorded elsewhere.
    let joined = "{path: data.jsonl, where: type == 'match', trials: by_order}\ntarget: {kind: recorded, path: answers.jsonl}";
    space.write("suite.yaml", suite(joined));
    space.write(
        "answers.jsonl",
        jsonl([json!({"id": "s1", "output": "z"}), json!({"id": "s2", "output": "z"})]),
    );
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!((ran.code(), said(&space).as_str()), (0, "s1: exact 0.0\ns2: exact 0.0"));
    assert!(!ran.stderr().contains("warning"), "{}", ran.stderr());
    let ids = space.record("results.jsonl");
    assert!(!ids.contains("\"trial\":1"), "{ids}");
    // A row that counts is read as ever.
    space.write(
        "suite.yaml",
        suite("{path: data.jsonl, where: type == 'match' or type == 'event'}"),
    );
    let ran = space.run(&["validate", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains("data.jsonl:4"), "{}", ran.stderr());
}

#[test]
fn rows_name_their_graders() {
    let graders =
        "  one: {kind: tool, function: contains}\n  two: {kind: tool, function: exact_match}";
    let data = jsonl([
        row("a", &json!({"graders": ["one"]})),
        row("b", &json!({"graders": ["one", "two"]})),
        row("c", &json!({"graders": []})),
        row("d", &json!({})),
        row("e", &json!({"graders": {"by": "people"}})),
    ]);
    let space = Space::new(&[("suite.yaml", &suite("data.jsonl", graders)), ("data.jsonl", &data)]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    insta::assert_snapshot!(said(&space), @r"
    a: one 1.0, two: the row names other graders
    b: one 0.0, two 0.0
    c: one: the row names other graders, two: the row names other graders
    d: one 0.0, two 0.0
    e: one 0.0, two 0.0
    ");
    space.write("data.jsonl", jsonl([row("a", &json!({"graders": ["on", "ann"]}))]));
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the row names the grader `on`, which the suite does not have
     --> data.jsonl:1:1
      |
    1 | {"id":"a","input":"q","output":"a","ground_truth":"a","graders":["on","ann"]}
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: did you mean `one`?

    error: the row names the grader `ann`, which the suite does not have
     --> data.jsonl:1:1
      |
    1 | {"id":"a","input":"q","output":"a","ground_truth":"a","graders":["on","ann"]}
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: if `graders` of the rows means something else, say `fields: {graders: none}` in the suite

    2 errors
    "#);
    space.write("suite.yaml", suite("{path: data.jsonl, fields: {graders: none}}", graders));
    assert_eq!(space.run(&["run", "suite.yaml", "--quiet"]).code(), 0);
}

#[test]
fn what_graders_need_is_needed_of_their_rows_alone() {
    let graders = "  calls: {kind: tool, function: tool_calls_match, only: kind == 'calls'}
  tone: {kind: rubric, prompt: 'Is it {style}?', rubric_vars: [style], model: judge-1, only: kind == 'tone'}";
    let data = jsonl([row("a", &json!({"kind": "other", "messages": "none"}))]);
    let space = Space::new(&[("suite.yaml", &suite("data.jsonl", graders)), ("data.jsonl", &data)]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(
        (ran.code(), said(&space).as_str()),
        (0, "a: calls: not `kind == 'calls'`, tone: not `kind == 'tone'`"),
        "{}",
        ran.shown()
    );
    space.write("data.jsonl", jsonl([row("a", &json!({"kind": "tone"}))]));
    assert_eq!(space.run(&["run", "suite.yaml", "--quiet"]).code(), 2);
}

#[test]
fn wrong_conditions_are_shown_where_they_are_wrong() {
    let graders = "  one: {kind: tool, function: contains, only: n = 3}";
    let space = Space::new(&[
        ("suite.yaml", &suite("{path: data.jsonl, where: \"'eu' in\"}", graders)),
        ("data.jsonl", &rows()),
    ]);
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: the expression ends too early
     --> suite.yaml:2:44
      |
    2 | dataset: {path: data.jsonl, where: "'eu' in"}
      |                                            ^

    error: `=` means nothing here
     --> suite.yaml:4:49
      |
    4 |   one: {kind: tool, function: contains, only: n = 3}
      |                                                 ^
      |
      = help: write `==` to compare

    2 errors
    "#);
    let graders = "  one: {kind: tool, function: contains, only: imporper}";
    space.write("suite.yaml", suite("{path: data.jsonl, where: n > 9}", graders));
    insta::assert_snapshot!(space.run(&["run", "suite.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    warning: `only` of `one` names `imporper`, which no row has
     --> suite.yaml
      = help: a condition names fields of the rows; texts stand in quotes: `'refund' in tags`

    error: suite.yaml: none of the 4 samples is selected
      help: check `where` of the dataset, `--tags`, `sample_tags`, `max_samples`, `--trials` and `num_runs`; trials count from 0
    ");
}

#[test]
fn a_rationale_names_what_was_compared_where_the_row_does_not_show_it() {
    let graders = "  re: {kind: tool, function: regex_match, config: {pattern: /paris/i}}
  value: {kind: tool, function: exact_match, config: {value: Hello}}
  mapped: {kind: tool, function: exact_match, ground_truth: row.kind}
  picked: {kind: tool, function: string_match, ground_truth_pattern: '^(.)'}
  either: {kind: tool, function: one_of, config: {values: [x, y]}}
  plain: {kind: tool, function: exact_match}";
    let row = r#"{"id": "q", "input": "?", "ground_truth": "Paris", "kind": "city", "output": "It is Paris."}"#;
    let space = Space::new(&[("suite.yaml", &suite("data.jsonl", graders)), ("data.jsonl", row)]);
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0);
    let rationales = |text: &str| -> String {
        let lines = text.lines().filter(|line| line.contains(": False"));
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(rationales(&space.run(&["report", "--format", "csv"]).stdout()), @r#"
    s,q,,0,re,0,false,,,"Regex match: False (expected `/paris/i`, found `It is Paris.`)",It is Paris.,?,Paris,
    s,q,,0,value,0,false,,,"Exact match: False (expected `Hello`, found `It is Paris.`)",It is Paris.,?,Paris,
    s,q,,0,mapped,0,false,,,"Exact match: False (expected `city`, found `It is Paris.`)",It is Paris.,?,Paris,
    s,q,,0,picked,0,false,,,"String match: False (expected `P`, found `It is Paris.`)",It is Paris.,?,Paris,
    s,q,,0,either,0,false,,,"One of 2 accepted values: False (expected `[""x"",""y""]`, found `It is Paris.`)",It is Paris.,?,Paris,
    s,q,,0,plain,0,false,,,Exact match: False,It is Paris.,?,Paris,
    "#);
    let shown = space.run(&["report"]).stdout();
    insta::assert_snapshot!(rationales(&shown), @r#"
    q           re      0.000  Regex match: False (expected `/paris/i`, found `It is Paris.`)
    q           value   0.000  Exact match: False (expected `Hello`, found `It is Paris.`)
    q           mapped  0.000  Exact match: False (expected `city`, found `It is Paris.`)
    q           picked  0.000  String match: False (expected `P`, found `It is Paris.`)
    q           either  0.000  One of 2 accepted values: False (expected `["x","y"]`, found `It is Pari…
    q           plain   0.000  Exact match: False (expected `Paris`, found `It is Paris.`)
    "#);
}

#[test]
fn a_grader_of_failed_calls_is_warned_of_where_none_can_be_known() {
    let messages = |answer: &Value| {
        json!([{"role": "user", "content": "q"},
            {"role": "assistant", "content": null, "tool_calls":
                [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            answer, {"role": "assistant", "content": "done"}])
    };
    let answer = json!({"role": "tool", "tool_call_id": "c", "content": "Error: no"});
    let marked = json!({"role": "tool", "tool_call_id": "c", "content": "no", "is_error": true});
    let row = |id: &str, answer: &Value| json!({"id": id, "messages": messages(answer)});
    let space = Space::new(&[("suite.yaml", ""), ("data.jsonl", "")]);
    let warned = |graders: &str, rows: Vec<Value>| {
        space.write("suite.yaml", suite("data.jsonl", graders));
        space.write("data.jsonl", jsonl(rows));
        let told = space.run(&["validate", "suite.yaml"]);
        assert_eq!(told.code(), 0, "{}", told.stderr());
        told.stderr()
    };
    let plain = "  ok: {kind: tool, function: no_tool_errors}";
    insta::assert_snapshot!(warned(plain, vec![row("a", &answer)]), @"
    warning: `ok` (no_tool_errors) passes whatever tools answer in rows of `openai_chat`, which cannot mark a call as failed
     --> suite.yaml
      = help: say what the answer of a failed call looks like: `config: {pattern: '^Error'}`
    ");
    let pattern = "  ok: {kind: tool, function: no_tool_errors, config: {pattern: '^Error'}}";
    assert_eq!(warned(pattern, vec![row("a", &answer)]), "");
    assert_eq!(warned(plain, vec![row("a", &answer), row("b", &marked)]), "");
    let other =
        json!({"id": "a", "trajectory": [{"type": "tool_call", "name": "f", "status": "failed"}]});
    assert_eq!(warned(plain, vec![other]), "");
}

#[test]
fn a_missing_reference_is_looked_for_among_the_keys_of_the_row() {
    let graders = "  exact: {kind: tool, function: exact_match}";
    let space = Space::new(&[("suite.yaml", &suite("data.jsonl", graders)), ("data.jsonl", "")]);
    for (key, expected) in [
        ("expected_output", "say where it is: `fields: {ground_truth: expected_output}`"),
        ("right", "`fields: {ground_truth: NAME}`; the first row has `id`, `output`, `right`"),
    ] {
        space.write("data.jsonl", jsonl([json!({"id": "a", "output": "x", key: "x"})]));
        let told = space.run(&["validate", "suite.yaml"]).stderr();
        assert!(told.contains(expected), "{told}");
    }
}
