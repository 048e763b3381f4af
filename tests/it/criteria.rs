//! Criteria through the binary: which edits of them call a judge, and which verdicts move.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::judge::{Answer, Asked, Judge};
use crate::space::{Ran, Space, lines};

const SUITE: &str = "\
name: shop
dataset: data.jsonl
graders:
  quality:
    kind: rubric
    model: judge-1
    endpoint: test
    preamble: You judge replies of a shop's support.
    pass_threshold: 0.6
    combine: weighted
    criteria:
      answers: {question: Does the reply answer the customer?, weight: 3}
      polite: Is the reply polite?
      invents: {question: Does it state a rule that the policy does not have?, expect: no, required: true}
      deadline: {question: Does it name the deadline?, only: \"'refund' in tags\"}
      tone: {question: How warm is it?, scale: {min: 1, max: 5}, pass_threshold: 0.75}
      short: Is it short?
      clear: {question: Is it clear?, unsure: skip}
      signed: {question: Is it signed?, may_not_apply: true}
  plain:
    kind: rubric
    model: judge-1
    endpoint: test
    prompt: Judge the reply. Is it polite and short?
";

const SAMPLES: usize = 40;

/// So many replies, of which every fourth is about a refund, and this suite.
pub(crate) fn replies(samples: usize, suite: &str) -> Space {
    let row = |at: usize| {
        let tags = if at.is_multiple_of(4) { "\"refund\"" } else { "" };
        format!(
            "{{\"id\": \"s{at}\", \"input\": \"When?\", \"output\": \"It is number {at}\", \"tags\": [{tags}]}}"
        )
    };
    Space::new(&[("suite.yaml", suite), ("data.jsonl", &lines((0..samples).map(row)))])
}

fn space() -> Space {
    replies(SAMPLES, SUITE)
}

/// A verdict that the words of the question decide, and nothing else.
fn verdict(asked: &Asked) -> Answer {
    let prompt = asked.prompt();
    let sum: u32 = prompt.bytes().map(u32::from).sum();
    let text = if !prompt.contains("\"verdict\"") {
        format!("{{\"rationale\": \"r{sum}\", \"score\": {}}}", f64::from(sum % 2))
    } else if sum.is_multiple_of(11) {
        format!("{{\"reason\": \"r{sum}\", \"verdict\": \"cannot_tell\"}}")
    } else {
        let answer = if sum.is_multiple_of(3) { "no" } else { "yes" };
        format!("{{\"reason\": \"r{sum}\", \"verdict\": \"{answer}\"}}")
    };
    // The scored criterion has a scale of its own.
    Answer::text(&if prompt.contains("from 1 to 5") { text.replace("0}", "2}") } else { text })
}

fn run(space: &Space, judge: &Judge, args: &[&str]) -> Ran {
    space.run_with(judge, &[&["run", "suite.yaml"], args].concat())
}

/// Sample and criterion → what is recorded of it.
fn verdicts(space: &Space) -> BTreeMap<(String, String), Value> {
    let results = space.record("results.jsonl");
    let lines = results.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut verdicts = BTreeMap::new();
    for line in lines {
        let sample = line["sample_id"].as_str().unwrap().to_owned();
        for (name, grade) in line["grades"]["quality"]["criteria"].as_object().unwrap() {
            verdicts.insert((sample.clone(), name.clone()), grade.clone());
        }
    }
    verdicts
}

#[test]
fn an_edit_calls_what_it_changes_and_moves_nothing_else() {
    let judge = Judge::new(|_, asked| verdict(asked));
    let space = space();
    let refunds = SAMPLES / 4;
    let ran = run(&space, &judge, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(
        judge.count(),
        SAMPLES * 8 + refunds,
        "seven criteria, one with a filter, one rubric"
    );
    let before = verdicts(&space);
    for (what, old, new, requests, edited) in [
        ("another weight", "weight: 3", "weight: 9", 0, ""),
        ("another order", "      short: Is it short?\n", "", 0, "short"),
        ("another name", "      polite:", "      courteous:", 0, ""),
        ("a criterion less", "      polite: Is the reply polite?\n", "", 0, ""),
        ("a threshold", "pass_threshold: 0.75", "pass_threshold: 0.25", 0, "tone"),
        ("the threshold of all", "pass_threshold: 0.6", "pass_threshold: 0.9", 0, ""),
        ("another combination", "combine: weighted", "combine: all", 0, ""),
        ("an expression", "combine: weighted", "combine: min(answers, tone)", 0, ""),
        ("no longer required", ", required: true", "", 0, ""),
        ("another answer is wanted", "expect: no, ", "", 0, "invents"),
        ("what unsure means", ", unsure: skip", ", unsure: error", 0, "clear"),
        ("a question", "Is it short?", "Is it very short?", SAMPLES, "short"),
        ("a question with a filter", "the deadline", "a deadline", refunds, "deadline"),
        ("a new one", "      short:", "      brief: Is it brief?\n      short:", SAMPLES, "brief"),
        ("a filter less", ", only: \"'refund' in tags\"", "", SAMPLES - refunds, "deadline"),
        ("the plain rubric", "Is it polite and", "Is it very polite and", SAMPLES, ""),
    ] {
        assert!(SUITE.contains(old), "{what}");
        let mut edited_suite = SUITE.replace(old, new);
        if what == "another order" {
            edited_suite = edited_suite.replace("      answers:", &format!("{old}      answers:"));
        }
        space.write("suite.yaml", &edited_suite);
        let mark = judge.count();
        let ran = run(&space, &judge, &[]);
        assert!([0, 1, 3].contains(&ran.code()), "{what}: {}", ran.shown());
        assert_eq!(judge.count() - mark, requests, "{what}");
        for (place, verdict) in verdicts(&space) {
            let is_other = place.1 != edited && place.1 != "courteous";
            if let Some(old) = before.get(&place).filter(|_| is_other) {
                assert_eq!(verdict, *old, "{what}: {place:?}");
            }
        }
        space.write("suite.yaml", SUITE);
        assert_eq!(run(&space, &judge, &["--frozen"]).code(), 0, "{what}");
    }
}

#[test]
fn a_criterion_is_named_as_a_grader_is() {
    let judge = Judge::new(|_, asked| verdict(asked));
    let space = space();
    let gate = "gate: {metric_key: quality.polite, metric: accuracy, op: gte, value: 0.99}\n";
    space.write("suite.yaml", SUITE.to_owned() + gate);
    let ran = run(&space, &judge, &["--grader", "quality.polite"]);
    assert_eq!((ran.code(), judge.count()), (1, SAMPLES), "{}", ran.shown());
    let ran = run(&space, &judge, &["--grader", "quality"]);
    assert_eq!(judge.count(), SAMPLES * 7 + SAMPLES / 4, "{}", ran.shown());
    let reward = "reward: 0.5*quality + 0.5*'quality.polite'\n";
    space.write("suite.yaml", SUITE.to_owned() + reward);
    assert_eq!(run(&space, &judge, &[]).code(), 0);
    let line: Value =
        serde_json::from_str(space.record("results.jsonl").lines().next().unwrap()).unwrap();
    let grades = &line["grades"];
    let half = |grade: &Value| grade["score"].as_f64().unwrap() / 2.0;
    let expected = half(&grades["quality"]) + half(&grades["quality"]["criteria"]["polite"]);
    assert!((grades["reward"]["score"].as_f64().unwrap() - expected).abs() < 1e-12, "{line}");
    let ran = space.run(&["diff"]);
    assert!(ran.stdout().contains("quality.polite"), "{}", ran.shown());
    let ran = space.run(&["explain", "suite.yaml", "s0", "quality.polite"]);
    assert!(ran.stdout().contains("quality.polite"), "{}", ran.shown());
}

/// Labels of people for three criteria, and one for whole answers.
fn people() -> String {
    let mut csv = "id,grader,label\n".to_owned();
    for at in 0..SAMPLES {
        for (name, every) in [("answers", 3), ("polite", 4), ("tone", 5)] {
            let label = if at.is_multiple_of(every) { "fail" } else { "pass" };
            writeln!(csv, "s{at},quality.{name},{label}").unwrap();
        }
        let label = if at < 20 { "fail" } else { "pass" };
        writeln!(csv, "s{at},,{label}").unwrap();
    }
    csv
}

/// scikit-learn 1.9, `cohen_kappa_score` and `accuracy_score` of the verdicts and these labels.
const OF_SCIKIT_LEARN: [(&str, f64, f64); 3] = [
    ("quality", 0.55, 0.1),
    ("quality.answers", 0.95, 0.893_617_021_276_595_7),
    ("quality.polite", 0.525, -0.027_027_027_027_026_97),
];

#[test]
fn each_criterion_has_labels_and_an_agreement_of_its_own() {
    let judge = Judge::new(|_, asked| verdict(asked));
    let space = space();
    space.write("people.csv", people());
    let ran = run(&space, &judge, &["--labels", "people.csv"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    let agreement = summary["label_agreement"].as_object().unwrap();
    let named: Vec<&str> = agreement.keys().map(String::as_str).collect();
    // Whoever says that an answer is good says nothing of one criterion.
    let expected = ["quality", "quality.answers", "quality.polite", "quality.tone", "plain"];
    assert_eq!(named, expected);
    for (name, accuracy, kappa) in OF_SCIKIT_LEARN {
        let found = |what: &str| agreement[name][what].as_f64().unwrap();
        assert!((found("accuracy") - accuracy).abs() < 1e-9, "{name} {}", found("accuracy"));
        assert!((found("kappa") - kappa).abs() < 1e-9, "{name} {}", found("kappa"));
    }
    let ran =
        space.run(&["agree", "suite.yaml", "quality.polite", "labels", "--labels", "people.csv"]);
    assert!(ran.stdout().contains("quality.polite"), "{}", ran.shown());
}

#[test]
fn a_gate_takes_both_ends_of_a_criterion_that_could_not_be_judged() {
    // One criterion of one sample fails: 1 of 8 weights of 1, so that one grade of 40 is between two scores.
    let judge = Judge::new(|_, asked| {
        if asked.prompt().contains("Is it short?") && asked.prompt().contains("number 7\n") {
            return Answer::error(400, "no");
        }
        Answer::text("{\"reason\": \"so\", \"verdict\": \"yes\"}")
    });
    let space = space();
    let suite = |value: &str| {
        format!(
            "name: s\ndataset: data.jsonl\ngraders:\n  q:\n    kind: rubric\n    model: m\n    max_retries: 0\n    pass_threshold: 0.7\n    criteria: {{a: A?, b: B?, c: C?, d: Is it short?}}\ngate: {{metric_key: q, metric: {value}}}\n"
        )
    };
    // 39 grades of 1, and one of 0.75 to 1.
    for (gate, code) in [
        ("avg_score, op: gte, value: 0.99", 0),
        ("avg_score, op: gte, value: 0.99375", 0),
        ("avg_score, op: gte, value: 0.995", 3),
        ("avg_score, op: lt, value: 0.99", 1),
        ("min, op: gte, value: 0.75", 0),
        ("min, op: gte, value: 0.8", 3),
        ("accuracy, op: gte, value: 1", 0),
        ("accuracy, op: gte, value: 1, pass_op: gte, pass_value: 0.8", 3),
    ] {
        space.write("suite.yaml", suite(gate));
        let ran = run(&space, &judge, &[]);
        assert_eq!(ran.code(), code, "{gate}: {}", ran.shown());
    }
}

#[test]
fn rows_name_a_rubric_with_its_criteria_and_replace_none() {
    let judge = Judge::new(|_, asked| verdict(asked));
    let space = space();
    let rows = [
        json!({"id": "a", "input": "q", "output": "x", "graders": ["quality"]}),
        json!({"id": "b", "input": "q", "output": "y", "graders": ["quality.polite"]}),
        json!({"id": "c", "input": "q", "output": "z", "rubric": "Is it blue?", "graders": ["quality"]}),
    ];
    space.write("data.jsonl", lines(rows.iter().map(Value::to_string)));
    space.write("suite.yaml", SUITE.replace(", only: \"'refund' in tags\"", ""));
    let ran = run(&space, &judge, &[]);
    assert!([0, 1].contains(&ran.code()), "{}", ran.shown());
    assert_eq!(judge.count(), 8 + 1 + 8);
    assert!(judge.asked().iter().all(|asked| !asked.prompt().contains("blue")));
}

#[test]
fn what_criteria_share_is_warned_of_once() {
    let space = space();
    let preamble = "preamble: Score from 1 to 10, as {row.scale} has it. You";
    space.write("suite.yaml", SUITE.replace("preamble: You", preamble));
    let ran = space.run(&["validate", "suite.yaml"]);
    let warned = ran.stderr().matches("[range-not-scale]").count();
    let missing = ran.stderr().matches("[unknown-placeholder]").count();
    assert_eq!((warned, missing), (1, 1), "{}", ran.shown());
}
