//! Roll-ups of made-up summaries.

use super::{EvaluatedSuite, RollupReport, roll_up};
use crate::gate::GateStatus;
use crate::metric::declared::MetricValue;
use crate::metric::{Metric, Observation};
use crate::results::Summary;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_model::record_format::FORMAT;
use evalrs_suite::{RollableSuite, read_rollup};

/// A suite whose grader `right` gave these scores, `None` being grades that could not be made, and that declares `own`.
fn suite(name: &str, scores: &[Option<f64>], own: MetricValue) -> EvaluatedSuite {
    let observation = |(at, score): (u32, &Option<f64>)| Observation {
        result: at,
        sample: at,
        model: 0,
        score: score.unwrap_or(0.0),
        pass: score.is_some_and(|score| score >= 0.5),
        errored: score.is_none(),
    };
    let observations: Vec<Observation> = (0..).zip(scores).map(observation).collect();
    let summary = Summary {
        format: FORMAT,
        suite: name.to_owned(),
        samples: scores.len(),
        results: scores.len(),
        metrics: OrderedMap(vec![("right".to_owned(), Metric::of(&observations))]),
        declared: OrderedMap(vec![("own".to_owned(), own)]),
        labels: OrderedMap::default(),
        by_model: None,
        by_tag: None,
        gate: crate::gate::GateReport::default(),
        trials: OrderedMap::default(),
        agreement: OrderedMap::default(),
        label_agreement: OrderedMap::default(),
        held_out: OrderedMap::default(),
        calibration: OrderedMap::default(),
        annotators: OrderedMap::default(),
        disputed: OrderedMap::default(),
        people: OrderedMap::default(),
        usage: OrderedMap::default(),
        cost: None,
        all_usage: crate::results::usage::ModelUsage::default(),
    };
    EvaluatedSuite {
        name: name.to_owned(),
        path: format!("{name}.yaml"),
        run: format!("run-of-{name}"),
        samples: name.to_owned(),
        summary,
    }
}

fn rolled(metric: &str, gate: &str, suites: &[EvaluatedSuite]) -> RollupReport {
    let names: Vec<RollableSuite> = suites
        .iter()
        .map(|suite| RollableSuite {
            name: suite.name.clone(),
            graders: vec!["right".to_owned()],
            metrics: vec!["own".to_owned()],
            ..RollableSuite::default()
        })
        .collect();
    let text = format!("name: all\nmetrics: {{m: {metric}}}\ngate: {gate}\n");
    let reading = read_rollup("r.yaml", &text, Some(&names));
    roll_up(&reading.rollup.unwrap(), suites)
}

fn value(report: &RollupReport) -> &MetricValue {
    report.metrics.get("m").unwrap()
}

const GATE: &str = "{op: gte, value: 0.5}";
const BOTH: &str = "{kind: macro, of: [a.right, b.right]}";

fn passes(count: usize, of: usize) -> Vec<Option<f64>> {
    (0..of).map(|at| Some(f64::from(at < count))).collect()
}

fn two() -> [EvaluatedSuite; 2] {
    [
        suite("a", &passes(3, 4), MetricValue::default()),
        suite("b", &passes(2, 16), MetricValue::default()),
    ]
}

#[test]
fn suites_count_alike_or_by_weight_whatever_their_size() {
    for (metric, expected) in [
        (BOTH, 0.4375),
        ("{kind: weighted, of: [a.right, b.right], weights: [3, 1]}", 0.593_75),
        (
            "{kind: weighted, of: [a.right.pass_rate, b.right], weights: {b.right: 0, a.right.pass_rate: 2}}",
            0.75,
        ),
        ("{kind: macro, of: [b.right]}", 0.125),
    ] {
        let report = rolled(metric, GATE, &two());
        assert_eq!(value(&report).value, Some(expected), "{metric}");
        assert_eq!(value(&report).lowest, Some(expected));
        let passed = report.gate.status == Some(GateStatus::Passed);
        assert_eq!(passed, expected >= 0.5, "{metric}");
    }
    let report = rolled(BOTH, GATE, &two());
    assert_eq!((value(&report).n, value(&report).errors), (20, 0));
    let runs: Vec<&str> = report.suites.iter().map(|suite| suite.run.as_str()).collect();
    assert_eq!(runs, ["run-of-a", "run-of-b"]);
}

#[test]
fn numbers_over_the_same_samples_are_no_surer_for_being_two() {
    let width = |suites: &[EvaluatedSuite]| {
        let report = rolled(BOTH, GATE, suites);
        let found = value(&report).interval.unwrap();
        found.high - found.low
    };
    let apart = two();
    let mut shared = two();
    shared[1].samples = "a".to_owned();
    let own = |suite: &EvaluatedSuite| {
        let found = suite.summary.metrics.get("right").unwrap().interval.unwrap();
        found.high - found.low
    };
    let mean = f64::midpoint(own(&shared[0]), own(&shared[1]));
    assert!((width(&shared) - mean).abs() < 1e-6);
    assert!(width(&apart) < width(&shared));
    // Of one suite likewise.
    let report = rolled("{kind: macro, of: [a.right, a.right.pass_rate]}", GATE, &apart);
    let found = value(&report).interval.unwrap();
    assert!((found.high - found.low - own(&apart[0])).abs() < 1e-6);
}

#[test]
fn grades_that_could_not_be_made_leave_open_what_they_decide() {
    let mut scores = passes(3, 4);
    scores.push(None);
    let suites = [
        suite("a", &scores, MetricValue::default()),
        suite("b", &passes(2, 4), MetricValue::default()),
    ];
    // Of `a` 0.6 to 0.8, so that the mean is 0.55 to 0.65.
    for (least, status) in [
        (0.55, GateStatus::Passed),
        (0.56, GateStatus::Undecided),
        (0.65, GateStatus::Undecided),
        (0.66, GateStatus::Failed),
    ] {
        for metric in [BOTH, "{kind: macro, of: [a.right.pass_rate, b.right]}"] {
            let report = rolled(metric, &format!("{{op: gte, value: {least}}}"), &suites);
            assert_eq!(report.gate.status, Some(status), "{metric} {least}");
            assert_eq!((value(&report).value, value(&report).errors), (Some(0.625), 1));
        }
    }
}

#[test]
fn what_is_missing_is_named() {
    let declared = |value: Option<f64>| MetricValue {
        value,
        lowest: value,
        highest: value,
        problem: value.is_none().then(|| "both say the same of all".to_owned()),
        n: 4,
        ..MetricValue::default()
    };
    let suites =
        [suite("a", &[None, None], declared(Some(3.0))), suite("b", &passes(2, 4), declared(None))];
    for (of, value_of, problem) in [
        ("[a.right, b.right]", None, "`a.right` has no value: none of 2 grades could be made"),
        ("[b.right, b.own]", None, "`b.own` has no value: both say the same of all"),
        ("[b.right, a.own]", Some(1.75), "no interval, as `a.own` has none"),
    ] {
        let report = rolled(&format!("{{kind: macro, of: {of}}}"), GATE, &suites);
        let found = value(&report);
        assert_eq!(found.value, value_of, "{of}");
        let told = found.problem.as_ref().or(found.interval_problem.as_ref());
        assert_eq!(told.map(String::as_str), Some(problem), "{of}");
        assert_eq!(found.interval, None, "{of}");
        let expected = if value_of.is_some() { GateStatus::Passed } else { GateStatus::Undecided };
        assert_eq!(report.gate.status, Some(expected), "{of}");
    }
    // What counts nothing may be missing.
    let metric = "{kind: weighted, of: [a.right, b.right], weights: [0, 1]}";
    let report = rolled(metric, GATE, &suites);
    assert_eq!((value(&report).value, &value(&report).problem), (Some(0.5), &None));
}

#[test]
fn definitions_differ_where_the_file_does() {
    let of = |metric: &str| value(&rolled(metric, GATE, &two())).definition.clone();
    assert_eq!(of(BOTH), of(BOTH));
    for other in [
        "{kind: macro, of: [b.right, a.right]}",
        "{kind: weighted, of: [a.right, b.right], weights: [1, 1]}",
        "{kind: macro, of: [a.right, b.right.pass_rate]}",
    ] {
        assert_ne!(of(BOTH), of(other), "{other}");
    }
}
