//! `evalrs agree`, and two models of one run beside each other: what stands in rows and in the store, without a question.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, lines};

const SUITE: &str = "\
name: stars
dataset:
  path: data.jsonl
  fields: {outputs: {small: a, large: b}}
graders:
  right: {kind: tool, function: exact_match}
  people: {kind: tool, function: recorded_score, config: {path: stars, scale: {min: 1, max: 5}}}
  judged: {kind: rubric, prompt: 'Stars for {submission}?', model: judge-1, endpoint: test, scale: {min: 1, max: 5}}
";

/// Ten samples: the small model is right in four, the large one in nine.
fn space() -> Space {
    let row = |at: usize| {
        let answer = |right: bool| if right { "yes" } else { "no" };
        json!({
            "id": format!("s{at}"), "input": "q", "ground_truth": "yes",
            "a": answer(at % 5 < 2), "b": answer(at > 0),
            "stars": at % 5 + 1, "others": (at + at % 3 / 2) % 5 + 1,
            "label": at % 5 < 3, "tags": [if at < 5 { "first" } else { "last" }],
        })
    };
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines((0..10).map(row)))])
}

fn judge() -> Judge {
    Judge::new(|_, asked| {
        let score = if asked.prompt().contains("yes") { 4 } else { 2 };
        Answer::text(&json!({"score": score, "rationale": "r"}).to_string())
    })
}

#[test]
fn two_sides_are_compared_case_by_case() {
    let space = space();
    let ran = space.run(&["agree", "suite.yaml", "people@small", "row.others"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 0
    --- stdout
    people@small against row.others: 10 cases

    equal                          70.0% [34.8, 93.3]
    mean of people@small                        3.000
    mean of row.others                          3.300
    Cohen's kappa                               0.625
    linear kappa                                0.815
    quadratic kappa                             0.927
    Krippendorff's alpha, nominal               0.639
    alpha, ordinal                              0.928
    alpha, interval                             0.930
    alpha, ratio                                0.885
    Pearson                                     0.948
    Spearman                                    0.949
    Kendall's tau-b                             0.898

    row.others \ people@small  1  2  3  4  5
    1                          1  0  0  0  0
    2                          1  2  0  0  0
    3                          0  0  1  0  0
    4                          0  0  1  1  0
    5                          0  0  0  1  2

    class             n  precision  recall     F1
    1                 1      0.500   1.000  0.667
    2                 3      1.000   0.667  0.800
    3                 1      0.500   1.000  0.667
    4                 2      0.500   0.500  0.500
    5                 3      1.000   0.667  0.800
    mean of classes  10      0.700   0.767  0.687
    by n             10      0.800   0.700  0.713
    balanced accuracy 0.767
    --- stderr
    ");
    let ran = space.run(&["agree", "suite.yaml", "right", "labels", "--by", "tags"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 0
    --- stdout
    right against labels: 20 cases

    equal                          65.0% [30.4, 90.7]
    mean of right                               0.650
    mean of labels                              0.600
    Cohen's kappa                               0.255
    linear kappa                                0.255
    quadratic kappa                             0.255
    Krippendorff's alpha, nominal               0.272
    alpha, ordinal                              0.272
    alpha, interval                             0.272
    alpha, ratio                                0.272
    Pearson                                     0.257
    Spearman                                    0.257
    Kendall's tau-b                             0.257
    area under the curve                        0.625

    labels \ right  fail  pass
    fail               4     4
    pass               3     9

    class             n  precision  recall     F1
    fail              8      0.571   0.500  0.533
    pass             12      0.692   0.750  0.720
    mean of classes  20      0.632   0.625  0.627
    by n             20      0.644   0.650  0.645
    balanced accuracy 0.625

            n               equal  kappa  quadratic  Spearman     F1
    first  10  60.0% [14.7, 94.7]  0.167      0.167     0.167  0.583
    last   10  70.0% [20.9, 97.7]  0.348      0.348     0.356  0.670
    --- stderr
    ");
}

#[test]
fn what_is_stored_is_compared_and_nothing_asked() {
    let space = space();
    let ran = space.run(&["agree", "suite.yaml", "judged", "right", "--json"]);
    insta::assert_snapshot!(ran.shown(), @r"
    exit: 2
    --- stdout
    --- stderr
    error: no case has both `judged` and `right`
      help: 0 have only the first, 20 only the second; what no judge has answered yet counts as missing
    ");
    let judge = judge();
    assert!(space.run_with(&judge, &["run", "suite.yaml", "--quiet"]).code() < 2);
    let asked = judge.count();
    let ran = space.run(&["agree", "suite.yaml", "judged", "right", "--json"]);
    let found: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!((&found["all"]["n"], &found["all"]["auc"]), (&json!(20), &json!(1.0)));
    let ran = space.run(&["agree", "suite.yaml", "judged@small", "judged@large", "--json"]);
    let found: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(found["all"]["confusion"]["counts"], json!([[0, 1], [6, 3]]));
    assert_eq!(
        (&found["all"]["mean_one"], &found["all"]["mean_other"]),
        (&json!(2.8), &json!(3.8))
    );
    assert_eq!(judge.count(), asked);
}

#[test]
fn means_are_told_on_the_scale_of_their_grader() {
    let space = space();
    let run = ["run", "suite.yaml", "--grader", "right", "--grader", "people"];
    let ran = space.run(&[&run[..], &["--output", "out"]].concat());
    assert!(
        ran.stdout().contains("\npeople: mean 3.00 [1.93, 4.07] on its scale of 1 to 5\n"),
        "{}",
        ran.shown()
    );
    assert!(!ran.stdout().contains("right: mean"), "{}", ran.shown());
    let ran = space.run(&[&run[..], &["--format", "markdown"]].concat());
    assert!(
        ran.stdout().contains("`people`: mean 3.00 [1.93, 4.07] on its scale of 1 to 5"),
        "{}",
        ran.shown()
    );
    let summary: Value = serde_json::from_str(&space.read("out/summary.json")).unwrap();
    let native = &summary["metrics"]["people"]["native"];
    assert_eq!(
        (&native["mean"], &native["min"], &native["max"]),
        (&json!(3.0), &json!(1.0), &json!(5.0))
    );
    assert_eq!(summary["by_model"]["small"]["people"]["native"]["mean"], json!(3.0));
    assert_eq!(summary["by_tag"]["first"]["people"]["native"]["mean"], json!(3.0));
    assert!(summary["metrics"]["right"]["native"].is_null());
}

/// What `agree` says is what a metric of the suite comes to.
#[test]
fn a_metric_that_is_declared_says_the_same() {
    let metrics = "\
metrics:
  kappa: {kind: kappa, of: right, against: labels}
  ranks: {kind: spearman, of: people@small, against: row.others}
  weighted: {kind: kappa, weights: quadratic, of: people@small, against: row.others}
  models: {kind: accuracy, of: right@small, against: model.large}
";
    let suite = format!("{SUITE}{metrics}");
    let space = space();
    space.write("suite.yaml", &suite);
    let ran = space.run(&[
        "run",
        "suite.yaml",
        "--grader",
        "right",
        "--grader",
        "people",
        "--output",
        "out",
        "--quiet",
    ]);
    assert!(ran.code() < 2, "{}", ran.shown());
    let summary: Value = serde_json::from_str(&space.read("out/summary.json")).unwrap();
    for (metric, sides, number) in [
        ("kappa", ["right", "labels"], "/all/kappa/plain"),
        ("ranks", ["people@small", "row.others"], "/all/correlation/spearman"),
        ("weighted", ["people@small", "row.others"], "/all/kappa/quadratic"),
        ("models", ["right@small", "right@large"], "/all/equal"),
        ("models", ["right@small", "model.large"], "/all/equal"),
    ] {
        let ran = space.run(&[&["agree", "suite.yaml"], &sides[..], &["--json"]].concat());
        let found: Value = serde_json::from_str(&ran.stdout()).unwrap();
        let found = found.pointer(number).unwrap();
        assert_eq!(found, &summary["declared"][metric]["value"], "{metric} {sides:?}");
        assert!(found.is_number(), "{metric}");
    }
}

#[test]
fn sides_that_nobody_knows_are_refused() {
    let space = space();
    for (side, problem) in [
        ("rigth", "did you mean `right`?"),
        ("right.fail", "neither a grader"),
        ("labels.nobody", "neither a grader"),
        ("model.small", "neither a grader"),
        ("row.", "neither a grader"),
        ("row.nothing", "no case has both"),
        ("right@nobody", "no case has both"),
    ] {
        let ran = space.run(&["agree", "suite.yaml", side, "right"]);
        assert_eq!(ran.code(), 2, "{side}: {}", ran.shown());
        assert!(ran.stderr().contains(problem), "{side}: {}", ran.shown());
    }
    let ran = space.run(&["agree", "suite.yaml", "right", "labels", "--by", "row.nothing"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("no case has `row.nothing`"), "{}", ran.shown());
}

#[test]
fn two_models_of_a_run_are_compared_and_the_worse_one_fails() {
    let space = space();
    assert!(space.run(&["run", "suite.yaml", "--grader", "right", "--quiet"]).code() < 2);
    let diff = |args: &[&str]| space.run(&[&["diff", "--moved", "1"], args].concat());
    let ran = diff(&["latest", "--models", "small", "large"]);
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").unwrap();
    insta::assert_snapshot!(time.replace_all(&ran.shown(), "TIME"), @r"
    exit: 0
    --- stdout
    diff  stars

    old  RUN small  TIME  no gate
    new  RUN large  TIME  no gate

    score   n      old → new  difference ± stderr     95 % interval  detects
    right  10  0.400 → 0.900       +0.500 ± 0.224  -0.030 to +0.690    0.694
    95 % intervals: Bayesian

    passes      old → new  fixed  broken      p
    right   40.0% → 90.0%      6       1  0.125

    7 verdicts moved: 1 broken, 6 fixed
    broken    s0  right  1.000 → 0.000
      Exact match: [-True-]{+False+}
    6 more: --moved 7, or --json
    --- stderr
    ");
    let worse = ["--models", "large", "small", "--fail-on-regression"];
    for (args, code) in [
        (&worse[..], 0),
        (&[&worse[..], &["--alpha", "0.3"]].concat(), 1),
        (&["--models", "small", "large", "--fail-on-regression", "--alpha", "0.3"], 0),
        (&["--models", "large", "nobody"], 2),
        (&["--alpha", "0.3"], 2),
        (&["--fail-on-regression", "--alpha", "1"], 2),
    ] {
        let ran = diff(args);
        assert_eq!(ran.code(), code, "{args:?}: {}", ran.shown());
    }
    let ran = diff(&["latest", "--models", "large", "small", "--json"]);
    let found: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let paired = &found["graders"]["right"]["paired"];
    assert_eq!(paired["interval_method"], "bayesian");
    assert!(paired["minimum_detectable_effect"].as_f64().unwrap() > 0.3, "{paired}");
    assert!(!found["moved"][0]["before"]["rationale"].is_null(), "{found}");
}
