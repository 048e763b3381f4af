//! Roll-up files: what is read of them, and what is wrong with them.

use super::{RollableSuite, is_rollup, read_rollup};
use evalrs_model::spec::{RollupSource, RollupSpec};

fn suites() -> Vec<RollableSuite> {
    let suite = |name: &str, graders: &[&str], metrics: &[&str]| RollableSuite {
        name: name.to_owned(),
        path: format!("{name}.yaml"),
        graders: graders.iter().map(|name| (*name).to_owned()).collect(),
        metrics: metrics.iter().map(|name| (*name).to_owned()).collect(),
        left_out: vec!["slow".to_owned()],
    };
    vec![
        suite("maths", &["right", "a.b"], &["by_topic"]),
        suite("law", &["right", "short"], &[]),
        suite("law v1.2", &["right"], &[]),
        suite("twice", &["right"], &[]),
        suite("twice", &["right"], &[]),
    ]
}

fn read(text: &str) -> RollupSpec {
    let reading = read_rollup("r.yaml", text, Some(&suites()));
    assert!(reading.diagnostics.is_empty(), "{text}: {:?}", reading.diagnostics);
    reading.rollup.unwrap()
}

/// What is wrong, a line each: place, message, label and hint.
fn problems(text: &str, suites: Option<&[RollableSuite]>) -> String {
    let reading = read_rollup("r.yaml", text, suites);
    assert!(reading.rollup.is_none(), "{text}");
    let line = |one: evalrs_base::diagnostic::Diagnostic| {
        let place = one.place.as_ref().map(ToString::to_string).unwrap_or_default();
        let more = |text: Option<String>| text.map(|text| format!("; {text}")).unwrap_or_default();
        format!("{place}: {}{}{}", one.message, more(one.label), more(one.hint))
    };
    reading.diagnostics.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A roll-up with this metric.
fn with(metric: &str) -> String {
    format!("name: all\nmetrics:\n  m: {metric}\n")
}

#[test]
fn components_are_numbers_of_suites() {
    let mean = |name: &str| RollupSource::Mean(name.to_owned());
    for (written, suite, source) in [
        ("maths.right", "maths", mean("right")),
        ("maths.right.mean", "maths", mean("right")),
        ("maths.right.pass_rate", "maths", RollupSource::PassRate("right".to_owned())),
        ("maths.a.b", "maths", mean("a.b")),
        ("maths.a.b.pass_rate", "maths", RollupSource::PassRate("a.b".to_owned())),
        ("maths.by_topic", "maths", RollupSource::Declared("by_topic".to_owned())),
        ("law v1.2.right", "law v1.2", mean("right")),
    ] {
        let rollup = read(&with(&format!("{{kind: macro, of: [{written}]}}")));
        let found = &rollup.metrics[0].components[0];
        assert_eq!((found.suite.as_str(), &found.source), (suite, &source), "{written}");
        assert_eq!((found.text.as_str(), found.weight), (written, 1.0));
    }
}

#[test]
fn weights_are_a_list_or_names() {
    for metric in [
        "{kind: weighted, of: [maths.right, law.short], weights: [0.7, 0.3]}",
        "{kind: weighted, of: [maths.right, law.short], weights: {law.short: 0.3, maths.right: 0.7}}",
        "{kind: weighted, weights: {maths.right: 0.7, law.short: 0.3}}",
    ] {
        let rollup = read(&with(metric));
        let found = &rollup.metrics[0];
        let written: Vec<(&str, f64)> =
            found.components.iter().map(|one| (one.text.as_str(), one.weight)).collect();
        assert_eq!(written, [("maths.right", 0.7), ("law.short", 0.3)], "{metric}");
        assert!(found.is_weighted);
    }
}

#[test]
fn gates_name_metrics() {
    let two = "name: all\nmetrics:\n  a: {kind: macro, of: [maths.right]}\n  b: {kind: macro, of: law.right}\n";
    for (gate, expected) in [
        ("{metric_key: b, op: gte, value: 0.5}", "b >= 0.5"),
        (
            "{kind: logical, operator: and, conditions: [{metric_key: a, op: gt, value: 0}, {metric_key: b, op: lt, value: 40}]}",
            "a > 0 and b < 40",
        ),
    ] {
        let rollup = read(&format!("{two}gate: {gate}\n"));
        assert_eq!(evalrs_metrics::gate::rule(&rollup.gate.unwrap()), expected);
    }
    // Of one metric it need not say which.
    let one = with("{kind: macro, of: [maths.right]}") + "gate: {op: gte, value: 0.5}\n";
    assert_eq!(evalrs_metrics::gate::rule(&read(&one).gate.unwrap()), "m >= 0.5");
    let wrong = |gate: &str| problems(&format!("{two}gate: {gate}\n"), Some(&suites()));
    insta::assert_snapshot!(wrong("{op: gte, value: 0.5}"), @"r.yaml:5:1: the gate does not name a metric; for example `metric_key: a`");
    insta::assert_snapshot!(wrong("{metric_key: c, op: gte, value: 0.5}"), @"r.yaml:5:20: unknown metric `c`; expected `a` or `b`");
    insta::assert_snapshot!(wrong("{metric_key: a, metric: accuracy, op: gte, value: 0.5}"), @"r.yaml:5:23: `metric` applies to graders, and this gate names a declared metric; set it where the metric is declared");
    insta::assert_snapshot!(wrong("{kind: weighted_average, weights: {a: 1}, op: gte, value: 0.5}"), @"r.yaml:5:7: a weighted average needs graders, and a roll-up has none; declare a metric of `kind: weighted`, and compare that");
    insta::assert_snapshot!(wrong("{metric_key: a, op: '>=', value: high}"), @r"
    r.yaml:5:27: unknown op `>=`; write `op: gte`
    r.yaml:5:40: `value` must be a number, not text
    ");
}

#[test]
fn what_is_wrong_with_a_metric_is_said_with_its_place() {
    let wrong = |metric: &str| problems(&with(metric), Some(&suites()));
    let all = [
        "{of: [maths.right]}",
        "{kind: micro, of: [maths.right]}",
        "{kind: macro}",
        "{kind: macro, of: []}",
        "{kind: macro, of: {maths: right}}",
        "{kind: macro, of: [3]}",
        "{kind: macro, of: [maths]}",
        "{kind: macro, of: [maht.right]}",
        "{kind: macro, of: [maths.rigth]}",
        "{kind: macro, of: [maths.]}",
        "{kind: macro, of: [law.right.median]}",
        "{kind: macro, of: [law.slow]}",
        "{kind: macro, of: [law.slow.pass_rate]}",
        "{kind: macro, of: [twice.right]}",
        "macro",
    ];
    let told: Vec<String> = all.iter().map(|text| format!("{text}\n  {}", wrong(text))).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    {of: [maths.right]}
      r.yaml:3:3: the metric has no `kind`; write `kind: macro`, or `kind: weighted` and `weights`
    {kind: micro, of: [maths.right]}
      r.yaml:3:13: unknown kind `micro`; expected `macro` or `weighted`; did you mean `macro`?
    {kind: macro}
      r.yaml:3:3: the metric `m` has no `of`; write `of: [SUITE.GRADER, OTHER.GRADER]`
    {kind: macro, of: []}
      r.yaml:3:24: `of` is empty
    {kind: macro, of: {maths: right}}
      r.yaml:3:24: `of` must be a list such as `[SUITE.GRADER, OTHER.GRADER]`, not a mapping
    {kind: macro, of: [3]}
      r.yaml:3:25: `of` must be text, not a number; put the value in quotes
    {kind: macro, of: [maths]}
      r.yaml:3:25: `maths` is a suite: name one of its numbers; for example `maths.right`
    {kind: macro, of: [maht.right]}
      r.yaml:3:25: no suite of this command is called `maht`; expected `maths`, `law`, `law v1.2` or `twice`; did you mean `maths`?
    {kind: macro, of: [maths.rigth]}
      r.yaml:3:25: the suite `maths` has no grader or metric `rigth`; expected `right`, `a.b`, `by_topic`, `right.pass_rate` or `a.b.pass_rate`; did you mean `right`?
    {kind: macro, of: [maths.]}
      r.yaml:3:25: `maths` is a suite: name one of its numbers; for example `maths.right`
    {kind: macro, of: [law.right.median]}
      r.yaml:3:25: the suite `law` has no grader or metric `right.median`; expected `right`, `short`, `right.pass_rate` or `short.pass_rate`
    {kind: macro, of: [law.slow]}
      r.yaml:3:25: --grader excludes `slow` of `law`; run all graders that the roll-up names
    {kind: macro, of: [law.slow.pass_rate]}
      r.yaml:3:25: --grader excludes `slow` of `law`; run all graders that the roll-up names
    {kind: macro, of: [twice.right]}
      r.yaml:3:25: several suites are called `twice`; give each its own name: twice.yaml, twice.yaml
    macro
      r.yaml:3:6: `m` must be a mapping, not text
    ");
}

#[test]
fn what_is_wrong_with_weights_is_said_with_its_place() {
    let wrong = |metric: &str| problems(&with(metric), Some(&suites()));
    let all = [
        "{kind: macro, of: [law.right, maths.right, law.right]}",
        "{kind: macro, of: [law.right], weights: [1]}",
        "{kind: macro, of: [law.right], by: tags}",
        "{kind: weighted, of: [law.right]}",
        "{kind: weighted, weights: [1, 2]}",
        "{kind: weighted, of: [law.right], weights: [1, 2]}",
        "{kind: weighted, of: [law.right], weights: 1}",
        "{kind: weighted, of: [law.right], weights: [-1]}",
        "{kind: weighted, of: [law.right], weights: [heavy]}",
        "{kind: weighted, of: [law.right], weights: [0]}",
        "{kind: weighted, of: [law.right, law.short], weights: {law.right: 1, law.shirt: 1}}",
    ];
    let told: Vec<String> = all.iter().map(|text| format!("{text}\n  {}", wrong(text))).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    {kind: macro, of: [law.right, maths.right, law.right]}
      r.yaml:3:49: duplicate entry; remove it, or write `kind: weighted` and `weights`
    {kind: macro, of: [law.right], weights: [1]}
      r.yaml:3:37: a `macro` metric weighs all equally and takes no `weights`; write `kind: weighted`
    {kind: macro, of: [law.right], by: tags}
      r.yaml:3:37: a metric of a roll-up has no field `by`; known fields: `kind`, `of`, `weights`
    {kind: weighted, of: [law.right]}
      r.yaml:3:3: the weighted metric `m` has no `weights`; write `weights: {SUITE.GRADER: 0.7, OTHER.GRADER: 0.3}`
    {kind: weighted, weights: [1, 2]}
      r.yaml:3:3: the metric `m` has no `of`; write `of: [SUITE.GRADER, OTHER.GRADER]`
    {kind: weighted, of: [law.right], weights: [1, 2]}
      r.yaml:3:49: 2 weights for 1 number; give one for each item of `of`, in its order
    {kind: weighted, of: [law.right], weights: 1}
      r.yaml:3:49: `weights` must be a list of numbers, or a mapping of names to them, not a number
    {kind: weighted, of: [law.right], weights: [-1]}
      r.yaml:3:50: `weights` must be a weight: non-negative and finite
    {kind: weighted, of: [law.right], weights: [heavy]}
      r.yaml:3:50: `weights` must be a number, not text
    {kind: weighted, of: [law.right], weights: [0]}
      r.yaml:3:49: `weights` must sum to a finite, non-zero value
    {kind: weighted, of: [law.right, law.short], weights: {law.right: 1, law.shirt: 1}}
      r.yaml:3:60: `law.short` has no weight
    r.yaml:3:75: unknown number `law.shirt`; expected `law.right` or `law.short`; did you mean `law.short`?
    ");
}

#[test]
fn what_is_wrong_with_the_file_is_said_with_its_place() {
    let all = [
        "",
        "- a",
        "name: all",
        "nam: all\nmetrics: {m: {kind: macro, of: [maths.right]}}",
        "name: all\nmetrics: {}",
        "name: all\nmetrics: [m]",
        "name: 3\nmetrics: {m: {kind: macro, of: [maths.right]}}",
        "name: all\nmetrics: {m: {kind: macro, of: [maths.right]}}\ngraders: {}",
        "name: all\nmetrics: {m: {kind: macro, of: [maths.right]}\ngate: {}",
        "name: all\nmetrics: {m: {kind: macro, of: [maths.right]}}\ngate: {op: gte}",
    ];
    let told: Vec<String> =
        all.iter().map(|text| format!("{text:?}\n  {}", problems(text, Some(&suites())))).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    ""
      r.yaml: the file is empty; a minimal roll-up has `name: all` and `metrics: {overall: {kind: macro, of: [SUITE.GRADER, OTHER.GRADER]}}`
    "- a"
      r.yaml: a roll-up is a mapping, not a list; a minimal roll-up has `name: all` and `metrics: {overall: {kind: macro, of: [SUITE.GRADER, OTHER.GRADER]}}`
    "name: all"
      r.yaml: the roll-up has no `metrics`; a minimal roll-up has `name: all` and `metrics: {overall: {kind: macro, of: [SUITE.GRADER, OTHER.GRADER]}}`
    "nam: all\nmetrics: {m: {kind: macro, of: [maths.right]}}"
      r.yaml:1:1: a roll-up has no field `nam`; did you mean `name`?
    "name: all\nmetrics: {}"
      r.yaml: the roll-up has no `metrics`; a minimal roll-up has `name: all` and `metrics: {overall: {kind: macro, of: [SUITE.GRADER, OTHER.GRADER]}}`
    "name: all\nmetrics: [m]"
      r.yaml:2:10: `metrics` must be a mapping, not a list
    "name: 3\nmetrics: {m: {kind: macro, of: [maths.right]}}"
      r.yaml:1:7: `name` must be text, not a number; put the value in quotes
    "name: all\nmetrics: {m: {kind: macro, of: [maths.right]}}\ngraders: {}"
      r.yaml:3:1: a roll-up has no field `graders`; known fields: `name`, `description`, `metrics`, `gate`
    "name: all\nmetrics: {m: {kind: macro, of: [maths.right]}\ngate: {}"
      r.yaml:2:10: this `{` is never closed; a `}` is missing before line 3
    "name: all\nmetrics: {m: {kind: macro, of: [maths.right]}}\ngate: {op: gte}"
      r.yaml:3:1: the gate has no `value`; for example `op: gte` and `value: 0.8`
    "#);
}

#[test]
fn without_suites_the_form_alone_is_checked() {
    let good = with("{kind: macro, of: [anything.at_all, other.right.pass_rate]}");
    assert!(read_rollup("r.yaml", &good, None).rollup.is_some());
    for of in ["[maths]", "[.right]", "[maths.]"] {
        let told = problems(&with(&format!("{{kind: macro, of: {of}}}")), None);
        assert!(told.contains("does not name a number of a suite"), "{told}");
    }
}

#[test]
fn a_rollup_is_told_from_a_suite() {
    for (text, expected) in [
        (with("{kind: macro, of: [a.b]}").as_str(), true),
        ("name: s\ndataset: d.jsonl\ngraders: {}\nmetrics: {}", false),
        ("extends: base.yaml\nmetrics: {}", false),
        ("name: s", false),
        ("- a", false),
        ("{", false),
    ] {
        assert_eq!(is_rollup(text), expected, "{text}");
    }
}
