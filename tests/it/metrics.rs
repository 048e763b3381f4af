//! Metrics that suites declare: their numbers, gates on them, and what their edits ask for.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};

fn rows() -> String {
    let row = |at: usize, subject: &str, gold: &str, said: &str, n: u32| {
        json!({"id": format!("q{at}"), "input": "q", "output": said, "ground_truth": gold,
            "subject": subject, "n": n, "tags": [subject]})
    };
    jsonl([
        row(1, "physics", "a", "a", 10),
        row(2, "physics", "b", "a", 10),
        row(3, "law", "a", "a", 30),
        row(4, "law", "b", "b", 30),
        row(5, "ethics", "a", "b", 20),
    ])
}

const GRADERS: &str = "graders:
  right: {kind: tool, function: exact_match}
";

const METRICS: &str = "metrics:
  by_subject: {kind: macro, by: row.subject}
  by_field: {kind: macro, by: row.subject, groups: {science: [physics], humanities: [law, ethics]}}
  micro: {kind: weighted, weight: row.n}
  f1: {kind: f1, of: right.submission, against: row.ground_truth}
  kappa: {kind: kappa, of: right.submission, against: row.ground_truth}
  sizes: {kind: median, of: row.n}
";

fn suite(more: &str) -> String {
    format!("name: s\ndataset: data.jsonl\n{GRADERS}{METRICS}{more}")
}

fn declared(space: &Space, name: &str) -> Value {
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    summary["declared"][name].clone()
}

#[test]
fn declared_metrics_stand_beside_those_of_graders() {
    let space = Space::new(&[("suite.yaml", &suite("")), ("data.jsonl", &rows())]);
    insta::assert_snapshot!(space.run(&["run", "suite.yaml"]).shown(), @r"
    exit: 0
    --- stdout
    no gate  s: 5 samples, 5 results

    grader  n  errors           mean [95 %]         pass [95 %]    min  median    max
    right   5       0  0.600 [0.147, 0.947]  60.0% [14.7, 94.7]  0.000   1.000  1.000
    95 % intervals: Clopper-Pearson

    metric                 kind                      value [95 %]  n  errors
    by_subject             macro mean        0.500 [0.250, 1.000]  5       0
      ethics                                 0.000 [0.000, 0.975]  1
      law                                    1.000 [0.158, 1.000]  2
      physics                                0.500 [0.013, 0.987]  2
    by_field               macro mean        0.500 [0.250, 1.000]  5       0
      humanities / ethics                    0.000 [0.000, 0.975]  1
      humanities / law                       1.000 [0.158, 1.000]  2
      science / physics                      0.500 [0.013, 0.987]  2
    micro                  weighted mean     0.700 [0.167, 1.000]  5       0
    f1                     f1                0.583 [0.167, 1.000]  5       0
    kappa                  Cohen's kappa    0.167 [-0.667, 1.000]  5       0
    sizes                  median         20.000 [10.000, 30.000]  5       0
    95 % intervals: Clopper-Pearson and percentile bootstrap
    f1: of a, taken for 2 a, 1 b
    f1: of b, taken for 1 a, 1 b

    tag      n                 right
    ethics   1  0.000 [0.000, 0.975]
    law      2  1.000 [0.158, 1.000]
    physics  2  0.500 [0.013, 0.987]

    2 failures  grader  score  rationale
    q2          right   0.000  Exact match: False (expected `b`, found `a`)
    q5          right   0.000  Exact match: False (expected `a`, found `b`)

    graded in N s
    report: .evalrs/runs/RUN
    --- stderr
    ");
    let number = |name: &str| declared(&space, name)["value"].as_f64().unwrap();
    let near = |name: &str, expected: f64| {
        assert!((number(name) - expected).abs() < 1e-12, "{name}: {}", number(name));
    };
    near("by_subject", (0.5 + 1.0 + 0.0) / 3.0);
    near("by_field", 0.5);
    near("micro", 0.7);
    // scikit-learn: f1_score(average="macro") and cohen_kappa_score.
    near("f1", 0.583_333_333_333_333_4);
    near("kappa", 0.166_666_666_666_666_63);
    near("sizes", 20.0);
    let markdown = space.run(&["report", "--format", "markdown"]).stdout();
    assert!(markdown.contains("| `by_subject` | macro mean | 0.500 |"), "{markdown}");
}

#[test]
fn gates_name_them() {
    let gate = |metric: &str, value: f64| {
        suite(&format!("gate: {{metric_key: {metric}, op: gte, value: {value}}}\n"))
    };
    let space = Space::new(&[("suite.yaml", &gate("micro", 0.7)), ("data.jsonl", &rows())]);
    let run = || space.run(&["run", "suite.yaml", "--quiet"]).code();
    assert_eq!(run(), 0);
    space.write("suite.yaml", gate("micro", 0.71));
    assert_eq!(run(), 1);
    space.write("suite.yaml", gate("sizes", 20.0));
    assert_eq!(run(), 0);
    // The graders that a metric rests on are left out: so are the metric and the gate.
    space.write("suite.yaml", suite("gate: {metric_key: f2, op: gte, value: 1}\n"));
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: unknown grader `f2`
      --> suite.yaml:12:20
       |
    12 | gate: {metric_key: f2, op: gte, value: 1}
       |                    ^^ expected `right`, `by_subject`, `by_field`, `micro`, `f1`, `kappa` or `sizes`
       |
       = help: did you mean `f1`?

    1 error
    ");
    let accuracy = "gate: {metric_key: micro, metric: accuracy, op: gte, value: 1}\n";
    space.write("suite.yaml", suite(accuracy));
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: `metric` is of graders, and this gate names a declared metric
      --> suite.yaml:12:27
       |
    12 | gate: {metric_key: micro, metric: accuracy, op: gte, value: 1}
       |                           ^^^^^^
       |
       = help: say it where the metric is declared

    1 error
    ");
}

#[test]
fn grades_that_could_not_be_made_leave_the_gate_undecided() {
    let rows = jsonl([
        json!({"id": "a", "input": "q", "output": "x", "ground_truth": "x", "n": 1}),
        json!({"id": "b", "input": "q", "output": "x", "n": 1}),
    ]);
    let suite = |value: f64| {
        format!(
            "name: s\ndataset: data.jsonl\n{GRADERS}metrics: {{m: {{kind: weighted, weight: row.n}}}}\ngate: {{metric_key: m, op: gte, value: {value}}}\n"
        )
    };
    let space = Space::new(&[("suite.yaml", &suite(0.75)), ("data.jsonl", &rows)]);
    assert_eq!(space.run(&["run", "suite.yaml", "--quiet"]).code(), 3);
    let metric = declared(&space, "m");
    assert_eq!((&metric["lowest"], &metric["highest"]), (&json!(0.5), &json!(1.0)));
    space.write("suite.yaml", suite(0.5));
    assert_eq!(space.run(&["run", "suite.yaml", "--quiet"]).code(), 0);
}

#[test]
fn an_edited_metric_asks_nothing() {
    let graders = "graders:\n  quality: {kind: rubric, prompt: 'Good? {submission}', model: judge-1, endpoint: test, scale: {min: 1, max: 5}}\n";
    let suite =
        |metrics: &str| format!("name: s\ndataset: data.jsonl\n{graders}metrics:\n{metrics}\n");
    let space = Space::new(&[
        ("suite.yaml", &suite("  m: {kind: mean}")),
        ("data.jsonl", &rows()),
        (
            "suite.labels.jsonl",
            "{\"id\": \"q1\", \"label\": 4}\n{\"id\": \"q3\", \"label\": 2}\n{\"id\": \"q4\", \"label\": 5}\n",
        ),
    ]);
    let judge = Judge::new(|_, _| Answer::text(r#"{"score": 4, "rationale": "quite"}"#));
    let run = || space.run_with(&judge, &["run", "suite.yaml", "--quiet"]);
    run();
    assert_eq!((judge.count(), &declared(&space, "m")["native"]), (2, &json!(4.0)));
    for metrics in [
        "  m: {kind: mean, scale: native}",
        "  m: {kind: macro, by: tags, metric: pass_rate}",
        "  m: {kind: weighted, weight: row.n}",
        "  m: {kind: pearson, against: labels}",
        "  m: {kind: krippendorff_alpha, against: [labels, row.n], level: ordinal}",
    ] {
        space.write("suite.yaml", suite(metrics));
        let ran = run();
        assert_eq!(ran.code(), 0, "{metrics}: {}", ran.shown());
        assert_eq!(judge.count(), 2, "{metrics}");
    }
    assert_eq!(declared(&space, "m")["n"], json!(5));
}

#[test]
fn models_are_compared_with_one_another() {
    let rows = jsonl((0..6).map(|at| {
        json!({"id": at.to_string(), "input": "q", "ground_truth": "yes",
            "small": if at % 3 == 0 { "yes" } else { "no" }, "large": if at % 2 == 0 { "yes" } else { "no" }})
    }));
    let suite = format!(
        "name: s\ndataset: {{path: data.jsonl, fields: {{outputs: {{small: small, large: large}}}}}}\n{GRADERS}metrics:
  wins: {{kind: win_rate, model: large, against: model.small}}
  agree: {{kind: kappa, model: large, against: model.small}}
  each: {{kind: macro, by: model}}
  strength: {{kind: bradley_terry}}
"
    );
    let space = Space::new(&[("suite.yaml", &suite), ("data.jsonl", &rows)]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    // Of six, both are right once, the large one alone twice, the small one alone once.
    let wins = declared(&space, "wins");
    assert_eq!((&wins["n"], &wins["groups"]["wins"]["n"]), (&json!(6), &json!(2)));
    assert!((wins["value"].as_f64().unwrap() - 3.5 / 6.0).abs() < 1e-12);
    assert_eq!(declared(&space, "agree")["n"], json!(6));
    let groups = declared(&space, "each")["groups"].clone();
    assert_eq!(groups["large"]["value"], json!(0.5));
    let strength = declared(&space, "strength");
    assert!((strength["value"].as_f64().unwrap() - (3.5f64 / 2.5).ln()).abs() < 1e-6, "{strength}");
}

#[test]
fn metrics_are_checked_with_the_suite() {
    let space = Space::new(&[("data.jsonl", &rows())]);
    for (metric, message) in [
        ("right: {kind: mean}", "`right` is a grader already"),
        ("a: {kind: maen}", "unknown kind `maen`"),
        ("a: {}", "the metric has no `kind`"),
        ("a: {kind: macro}", "a `macro` metric needs `by`"),
        ("a: {kind: weighted}", "the metric `a` needs `weight`"),
        ("a: {kind: f1}", "the metric `a` does not say what it is `against`"),
        ("a: {kind: kappa, of: wrong, against: row.a}", "unknown grader `wrong`"),
        ("a: {kind: kappa, against: [row.a, row.b]}", "the metric `a` is against one thing only"),
        ("a: {kind: bradley_terry, players: [row.a]}", "`players` are two fields of the row"),
        ("a: {kind: pass_at}", "it is not said of how many trials"),
        ("a: {kind: mean, groups: {x: [y]}}", "`groups` are of the values that `by` names"),
        ("a: {kind: mean, of: labels.nobody}", "unknown grader `nobody`"),
        (
            "a: {kind: pearson, of: row.n, against: labels}",
            "it is not clear which grader's labels are meant",
        ),
        ("a: {kind: mean, widht: 1}", "a metric has no field `widht`"),
    ] {
        let text = format!("name: s\ndataset: data.jsonl\n{GRADERS}metrics:\n  {metric}\n");
        space.write("suite.yaml", text);
        let ran = space.run(&["validate", "suite.yaml"]);
        assert_eq!(ran.code(), 2, "{metric}");
        assert!(ran.stderr().contains(&format!("error: {message}")), "{metric}: {}", ran.shown());
    }
}

/// So many rows; every third is answered wrongly, and those numbered in `broken` too.
fn many(broken: &[usize]) -> String {
    let row = |at: usize| {
        let is_wrong = at.is_multiple_of(3) || broken.contains(&at);
        let gold = if at.is_multiple_of(2) { "a" } else { "b" };
        let other = if at.is_multiple_of(2) { "b" } else { "a" };
        json!({"id": format!("q{at}"), "input": "q", "output": if is_wrong { other } else { gold },
            "ground_truth": gold, "subject": format!("s{}", at % 4), "n": at % 5 + 1})
    };
    jsonl((0..40).map(row).collect::<Vec<Value>>())
}

#[test]
fn a_comparison_tells_how_they_changed_and_within_what() {
    let metrics = "metrics:
  rate: {kind: pass_rate}
  by_subject: {kind: macro, by: row.subject}
  kappa: {kind: kappa, of: right.submission, against: row.ground_truth}
  best: {kind: max}
";
    let before = format!(
        "{metrics}  gone: {{kind: mean}}\n  other: {{kind: f1, of: right.submission, against: row.ground_truth}}\n"
    );
    let after = format!(
        "{metrics}  other: {{kind: f1, of: right.submission, against: row.ground_truth, average: micro}}\n  fresh: {{kind: mean}}\n"
    );
    let suite = |metrics: &str| format!("name: s\ndataset: data.jsonl\n{GRADERS}{metrics}");
    let space = Space::new(&[("suite.yaml", &suite(&before)), ("data.jsonl", &many(&[]))]);
    assert_eq!(space.run(&["run", "suite.yaml", "--quiet", "--output", "one"]).code(), 0);
    space.write("suite.yaml", suite(&after));
    space.write("data.jsonl", many(&[1, 5, 7, 11, 13]));
    assert_eq!(space.run(&["run", "suite.yaml", "--quiet", "--output", "two"]).code(), 0);
    let text = space.run(&["diff", "one", "two", "--moved", "0"]).stdout();
    let table = text.split_once("\nmetric ").and_then(|(_, after)| after.split_once("\n\n"));
    insta::assert_snapshot!(table.unwrap().0, @r"
         kind               old → new  change     95 % interval
    rate        pass rate      0.650 → 0.525  -0.125  -0.239 to -0.011
    by_subject  macro mean     0.650 → 0.525  -0.125  -0.227 to -0.023
    kappa       Cohen's kappa  0.300 → 0.050  -0.250  -0.445 to -0.055
    best        max            1.000 → 1.000   0.000                 -
    other       f1             0.650 → 0.525       -                 -
    other: the suite says something else of it now; 0.650 (0.495 to 0.795) before, 0.525 (0.375 to
    0.675) now
    metrics that the new adds: fresh
    metrics that only the old has: gone
    ");

    let diff: Value =
        serde_json::from_str(&space.run(&["diff", "one", "two", "--json"]).stdout()).unwrap();
    // A rate is compared case by case, as its grader is.
    let paired = &diff["graders"]["right"]["paired"]["interval"];
    let rate = &diff["declared"]["rate"]["interval"];
    assert_eq!(json!([rate["low"], rate["high"]]), *paired);
    let methods =
        ["by_subject", "kappa"].map(|name| diff["declared"][name]["interval"]["method"].clone());
    assert_eq!(methods, [json!("paired_bootstrap"), json!("paired_bootstrap")]);
    let markdown = space.run(&["diff", "one", "two", "--format", "markdown"]).stdout();
    assert!(
        markdown.contains("| `by_subject` | macro mean | 0.650 → 0.525 | -0.125 |"),
        "{markdown}"
    );
    // One grader alone, and other cases of regression, know nothing of metrics.
    let one = space.run(&["diff", "one", "two", "--grader", "right", "--json"]).stdout();
    assert_eq!(serde_json::from_str::<Value>(&one).unwrap()["declared"], Value::Null);
    // What earlier versions recorded has no draws.
    space.write("one/replicates.json", "no longer");
    let text = space.run(&["diff", "one", "two", "--moved", "0"]).stdout();
    assert!(text.contains("kappa: one of the two keeps no draws to compare it by;"), "{text}");
}

#[test]
fn a_metric_within_groups_is_the_mean_over_those_where_it_is_defined() {
    let row = |doc: &str, at: usize, score: f64, people: f64| json!({"id": format!("{doc}{at}"), "input": "q", "output": "a", "doc": doc, "auto": score, "people": people});
    // Spearman in `a` is 1, in `b` -0.4; in `c` one side says the same of all.
    let rows = jsonl([
        row("a", 1, 0.1, 1.0),
        row("a", 2, 0.2, 2.0),
        row("a", 3, 0.3, 3.0),
        row("b", 1, 0.9, 1.0),
        row("b", 2, 0.7, 3.0),
        row("b", 3, 0.8, 2.5),
        row("b", 4, 0.75, 0.5),
        row("c", 1, 0.5, 1.0),
        row("c", 2, 0.5, 2.0),
    ]);
    let metrics =
        "metrics:\n  level: {kind: spearman, of: row.auto, against: row.people, within: row.doc}\n";
    let text = format!(
        "name: s\ndataset: data.jsonl\ngraders:\n  some: {{kind: tool, function: contains, config: {{value: a}}}}\n{metrics}"
    );
    let space = Space::new(&[("suite.yaml", &text), ("data.jsonl", &rows)]);
    let ran = space.run(&["run", "suite.yaml", "--output", "one"]).shown();
    let found = declared(&space, "level");
    // scipy.stats.spearmanr of `a` and of `b`: 1 and -0.4.
    assert!((found["value"].as_f64().unwrap() - 0.3).abs() < 1e-9, "{found}");
    assert_eq!((&found["n"], &found["undefined"]), (&json!(2), &json!(["c"])));
    assert_eq!(found["groups"]["c"]["value"], json!(null));
    // Two groups say next to nothing, and a correlation lies from -1 to 1.
    assert_eq!(
        (&found["interval"]["low"], &found["interval"]["high"]),
        (&json!(-1.0), &json!(1.0))
    );
    assert!(ran.contains("Spearman rho in groups"), "{ran}");
    assert!(ran.contains("level: not defined in 1 group: c"), "{ran}");
    let both = metrics.replace("within:", "by: tags, within:");
    space.write("suite.yaml", text.replace(metrics, &both));
    let refused = space.run(&["validate", "suite.yaml"]);
    assert!(
        refused.stderr().contains("a metric has either `within` or `by`"),
        "{}",
        refused.shown()
    );
}

#[test]
fn weights_and_classes_that_nothing_has_are_mistakes_of_the_suite() {
    let suite =
        |metrics: &str| format!("name: s\ndataset: data.jsonl\n{GRADERS}metrics:\n{metrics}");
    let space = Space::new(&[("suite.yaml", ""), ("data.jsonl", &rows())]);
    space.write(
        "suite.yaml",
        suite(
            "  w: {kind: weighted, weight: m}
  a: {kind: auc, against: row.subject, class: phisics}
  f: {kind: f1, of: row.subject, against: row.subject, class: 7}
  ok: {kind: recall, of: right.submission, against: row.subject, class: law}
",
        ),
    );
    insta::assert_snapshot!(space.run(&["validate", "suite.yaml"]).shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: the metric `w` needs `row.m`, which no row has
     --> suite.yaml:6:31
      |
    6 |   w: {kind: weighted, weight: m}
      |                               ^
      |
      = help: the first row has `id`, `input`, `output`, `ground_truth`, `subject`, `n`, `tags`

    error: the metric `a` is of the class `phisics`, which nothing has
     --> suite.yaml:7:47
      |
    7 |   a: {kind: auc, against: row.subject, class: phisics}
      |                                               ^^^^^^^
      |
      = help: did you mean `physics`?

    error: the metric `f` is of the class `7`, which nothing has
     --> suite.yaml:8:63
      |
    8 |   f: {kind: f1, of: row.subject, against: row.subject, class: 7}
      |                                                               ^
      |
      = help: there are `ethics`, `law`, `physics`

    3 errors
    ");
    // A class is of all rows that count, whichever are evaluated; a weight of rows that do not count is none.
    let law = suite("  ok: {kind: f1, of: row.subject, against: row.subject, class: law}\n");
    space.write("suite.yaml", &law);
    let first = ["run", "suite.yaml", "--max-samples", "1"];
    assert_eq!(space.run(&first).code(), 0, "{}", space.run(&first).shown());
    let weighted = suite("  w: {kind: weighted, weight: heavy}\n")
        .replace("dataset: data.jsonl", "dataset: {path: data.jsonl, where: not has(heavy)}");
    space.write("suite.yaml", weighted);
    space.write("data.jsonl", rows() + r#"{"id": "x", "heavy": 2, "output": "o"}"#);
    let told = space.run(&["validate", "suite.yaml"]);
    assert!(told.stderr().contains("needs `row.heavy`, which no row has"), "{}", told.shown());
    space.write("data.jsonl", rows());
    space.write("suite.yaml", suite("  m: {kind: mean, of: row.mm, by: row.subjects}\n"));
    let told = space.run(&["validate", "suite.yaml"]);
    assert_eq!(told.code(), 0);
    for path in ["mm", "subjects"] {
        let warning = format!("warning: the metric `m` names `{path}`, which no row has");
        assert!(told.stderr().contains(&warning), "{}", told.stderr());
    }
}

#[test]
fn groups_of_samples_are_named_by_their_ids_and_have_the_scale_of_the_metric() {
    let metrics =
        "graders: {s: {kind: tool, function: recorded_score, config: {path: n, scale: {min: 1, max: 5}}}}
metrics:
  by_sample: {kind: mean, of: s, by: sample, scale: native}
";
    let rows = [("q2", 4), ("q10", 2), ("q1", 3)];
    let rows = rows.map(|(id, n)| json!({"id": id, "input": "q", "output": "a", "n": n}));
    let space = Space::new(&[
        ("suite.yaml", &format!("name: s\ndataset: data.jsonl\n{metrics}")),
        ("data.jsonl", &jsonl(rows)),
    ]);
    let ran = space.run(&["run", "suite.yaml", "--format", "markdown"]);
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    let groups = declared(&space, "by_sample")["groups"].clone();
    let told: Vec<String> = groups
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, group)| format!("{id} {}", group["value"]))
        .collect();
    assert_eq!(told.join(", "), "q2 4.0, q10 2.0, q1 3.0");
    let shown = ran.stdout();
    for group in
        ["| `q2` |  | 4.000 | [1.075, 4.975] | 1 |", "| `q10` |  | 2.000 |", "| `q1` |  | 3.000 |"]
    {
        assert!(shown.contains(group), "{shown}");
    }
    let terminal = space.run(&["run", "suite.yaml"]).stdout();
    assert!(terminal.contains("q2             4.000 [1.075, 4.975]  1"), "{terminal}");
}
