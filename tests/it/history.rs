//! `evalrs history`: what runs leave behind in a file to commit, and what is read from it.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::Space;

const SUITE: &str = "\
name: bot
dataset: data.jsonl
target: {kind: recorded}
graders:
  exact: {kind: tool, function: exact_match}
  quality:
    kind: rubric
    prompt: 'Good? {input} {submission}'
    model: m
    endpoint: test
gate: {kind: simple, metric_key: quality, aggregation: avg_score, op: gte, value: 0.1}
";

const FILE: &str = "cache/bot.history.jsonl";

fn rows(output: impl Fn(usize) -> &'static str) -> String {
    let row = |at: usize| json!({"id": format!("s{at}"), "input": format!("q{at}"), "output": output(at), "ground_truth": "yes"});
    let rows: Vec<String> = (0..20).map(|at| row(at).to_string() + "\n").collect();
    rows.concat()
}

fn space() -> Space {
    let space = Space::new(&[("evalrs.toml", ""), ("suite.yaml", SUITE)]);
    space.write("data.jsonl", rows(|_| "yes"));
    space
}

fn history(space: &Space) -> Value {
    serde_json::from_str(&space.run(&["history", "suite.yaml", "--json"]).stdout()).unwrap()
}

fn lines(space: &Space) -> usize {
    space.read(FILE).lines().count()
}

#[test]
fn a_trend_breaks_where_a_rubric_changes_and_a_slide_is_told() {
    let judge = Judge::new(|_, asked| {
        Answer::score(if asked.prompt().contains("yes") { 1.0 } else { 0.0 })
    });
    let space = space();
    let run = |args: &[&str]| {
        let whole: Vec<&str> = ["run", "suite.yaml"].iter().chain(args).copied().collect();
        let ran = space.run_with(&judge, &whole);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
    };
    run(&[]);
    assert_eq!(lines(&space), 1);
    run(&[]);
    run(&["--frozen"]);
    run(&["--sample", "s1"]);
    run(&["--grader", "quality"]);
    assert_eq!(lines(&space), 1, "a replay and a part of the samples say nothing more");

    space.write("suite.yaml", SUITE.replace("Good?", "Kind?"));
    run(&[]);
    space.write("data.jsonl", rows(|at| if at < 8 { "no" } else { "yes" }));
    run(&["--frozen", "--grader", "exact"]);
    run(&[]);
    assert_eq!(lines(&space), 3);
    let found = history(&space);
    let texts = |at: usize| -> Vec<&str> {
        let breaks = found["runs"][at]["breaks"].as_array().unwrap();
        breaks.iter().map(|one| one["text"].as_str().unwrap()).collect()
    };
    assert_eq!([texts(0), texts(1), texts(2)], [vec![], vec!["quality: rubric changed"], vec![]]);
    assert_eq!(found["runs"][2]["metrics"]["quality"]["mean"], 0.6);
    assert_eq!(found["runs"][2]["gate"]["status"], "passed");
    let tests: Vec<&Value> =
        found["slides"].as_array().unwrap().iter().map(|one| &one["test"]).collect();
    assert_eq!(tests, [&json!("paired_passes"), &json!("paired_passes")]);
    let text = space.run(&["history", "suite.yaml"]);
    assert!(text.stdout().contains("  -- quality: rubric changed --\n"), "{}", text.shown());
    assert!(text.stdout().contains("slide  quality: 1.000 → 0.600 since "), "{}", text.shown());
    let last = space.run(&["history", "suite.yaml", "--limit", "1"]).stdout();
    assert!(last.starts_with("history  bot: 1 run\n") && !last.contains("--"), "{last}");
}

#[test]
fn agreement_is_kept_beside_scores_and_a_rubric_that_got_worse_is_named() {
    let judge = Judge::new(|_, asked| {
        let passes = ["yes", "lenient"].iter().any(|word| asked.prompt().contains(word));
        Answer::score(if passes { 1.0 } else { 0.0 })
    });
    let space = space();
    space.write("data.jsonl", rows(|at| if at < 8 { "no" } else { "yes" }));
    let run = || {
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
    };
    run();
    let label = |at: usize| json!({"id": format!("s{at}"), "grader": "quality", "label": at >= 8});
    let labels: Vec<String> = (0..20).map(|at| label(at).to_string() + "\n").collect();
    space.write("suite.labels.jsonl", labels.concat());
    run();
    let lenient = SUITE.replace("Good?", "Good? Be lenient.");
    space.write("suite.yaml", &lenient);
    run();
    space.write("suite.yaml", lenient.replace("model: m", "model: m\n    pass_threshold: 0.25"));
    run();
    let found = history(&space);
    let of = |at: usize| &found["runs"][at]["metrics"]["quality"]["agreement"];
    assert_eq!(of(0), &Value::Null, "nobody had labelled anything");
    assert_eq!(
        [of(1), of(2)],
        [
            &json!({"n": 20, "accuracy": 1.0, "kappa": 1.0, "false_pass": 0, "false_fail": 0}),
            &json!({"n": 20, "accuracy": 0.6, "kappa": null, "false_pass": 8, "false_fail": 0}),
        ]
    );
    assert_eq!(found["runs"][1].get("agree_less"), None);
    let less = &found["runs"][2]["agree_less"][0];
    assert_eq!((&less["grader"], &less["mean"]), (&json!("quality"), &json!([0.6, 1.0])));
    assert_eq!(less["since"], found["runs"][1]["id"]);
    let shown = space.run(&["history", "suite.yaml"]).stdout();
    // Lines are as wide as the terminal.
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "quality agrees kappa",
        " unknown - ",
        " quality agrees less with people though its score is higher: 100.0% → 60.0%, kappa 1.00 → -, false passes 0 → 8 (20 labels), score 0.600 → 1.000, since ",
        " -- quality: settings changed (pass_threshold: ",
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    // What changed is said as long as both records are there.
    std::fs::remove_dir_all(space.path(".evalrs/runs")).unwrap();
    let shown = space.run(&["history", "suite.yaml"]).stdout();
    assert!(shown.contains("  -- quality: settings changed --\n"), "{shown}");
}

#[test]
fn a_suite_that_takes_a_part_of_its_rows_is_whole_and_their_order_says_nothing() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let space = space();
    space.write("suite.yaml", format!("{SUITE}num_runs: 2\nmax_samples: 20\n"));
    let run = |args: &[&str]| {
        let whole: Vec<&str> = ["run", "suite.yaml"].iter().chain(args).copied().collect();
        assert_eq!(space.run_with(&judge, &whole).code(), 0);
    };
    run(&["--trials", "1"]);
    run(&["--max-samples", "20"]);
    assert!(!space.path(FILE).exists());
    run(&[]);
    let held = rows(|_| "yes");
    let reversed: Vec<String> = held.lines().rev().map(|row| format!("{row}\n")).collect();
    space.write("data.jsonl", reversed.concat());
    run(&[]);
    assert_eq!(lines(&space), 1);
    space.write("suite.yaml", format!("{SUITE}max_samples: 10\n"));
    run(&[]);
    let found = history(&space);
    assert_eq!(found["runs"][1]["breaks"][0]["what"], "dataset");
}

#[test]
fn broken_lines_stay_and_are_said() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let space = space();
    space.write(FILE, "<<<<<<< ours\n{\"format\": 1");
    space.run_with(&judge, &["run", "suite.yaml"]);
    assert!(space.read(FILE).starts_with("<<<<<<< ours\n{\"format\": 1\n{\"format\":1,"));
    let ran = space.run(&["history", "suite.yaml"]);
    assert_eq!(ran.code(), 0);
    assert!(ran.stdout().starts_with("history  bot: 1 run\n"), "{}", ran.shown());
    assert!(
        ran.stderr().contains("2 lines of `cache/bot.history.jsonl` cannot be read"),
        "{}",
        ran.shown()
    );
}

#[test]
fn without_runs_there_is_nothing_to_show() {
    let space = space();
    let ran = space.run(&["history", "suite.yaml"]);
    assert_eq!((ran.code(), ran.stdout().as_str()), (0, "history  bot: 0 runs\n"));
    assert_eq!(history(&space), json!({"runs": [], "slides": []}));
    let none = space.run(&["history", "data.jsonl"]);
    assert!(none.code() == 2 && none.stderr().contains("is not a suite"), "{}", none.shown());
}

#[test]
fn processes_at_the_same_time_lose_no_line() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let space = space();
    let suites: Vec<String> = (0..4).map(|at| format!("s{at}.yaml")).collect();
    for suite in &suites {
        space.write(suite, SUITE);
    }
    let running: Vec<_> = suites.iter().map(|suite| space.start(&judge, &["run", suite])).collect();
    for one in running {
        one.finish();
    }
    assert_eq!(lines(&space), suites.len());
    for suite in &suites {
        let shown = space.run(&["history", suite]).stdout();
        assert!(shown.starts_with("history  bot: 1 run\n"), "{shown}");
    }
}

#[test]
fn declared_metrics_have_columns_and_break_where_they_are_said_otherwise() {
    let suite = |metric: &str| {
        format!(
            "name: bot\ndataset: data.jsonl\ngraders:\n  exact: {{kind: tool, function: exact_match}}\nmetrics:\n  share: {{{metric}}}\n"
        )
    };
    let space = Space::new(&[("evalrs.toml", ""), ("suite.yaml", &suite("kind: pass_rate"))]);
    space.write("data.jsonl", rows(|_| "yes"));
    let run = || assert_eq!(space.run(&["run", "suite.yaml", "--quiet"]).code(), 0);
    run();
    space.write("data.jsonl", rows(|at| if at < 5 { "no" } else { "yes" }));
    run();
    space.write("suite.yaml", suite("kind: macro, by: row.ground_truth"));
    run();
    let text = space.run(&["history", "suite.yaml"]).stdout();
    let told: Vec<&str> = text.lines().skip(2).map(|line| line.get(20..).unwrap_or(line)).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
      gate             exact                 share  cost
      no gate  1.000 ± 0.000  1.000 [0.832, 1.000]     -
      no gate  0.750 ± 0.099  0.750 [0.509, 0.913]     -
    hanged --
      no gate  0.750 ± 0.099  0.750 [0.550, 0.900]     -
    ");
    let found = history(&space);
    assert_eq!(found["runs"][1]["declared"]["share"]["value"], 0.75);
    let broken = json!({"grader": null, "metric": "share", "what": "metric", "text": "share: metric changed"});
    assert_eq!(found["runs"][2]["breaks"], json!([broken]));
}
