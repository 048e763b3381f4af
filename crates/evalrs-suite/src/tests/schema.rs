//! The JSON Schema takes the suites that are read, and refuses slips.

use std::sync::LazyLock;

use jsonschema::Validator;

use crate::canonical::canonical;
use crate::schema::suite_schema;
use crate::sections::rubric::RUBRIC;
use crate::sections::suite::SUITE;
use evalrs_base::yaml::source::Sources;
use evalrs_base::yaml::tree;

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&suite_schema()).expect("a valid schema"));

/// What the schema has against a suite.
pub(super) fn problems(text: &str) -> Vec<String> {
    let mut sources = Sources::default();
    let suite = tree::parse("suite.yaml", text, &mut sources, &mut Vec::new());
    let suite = suite.expect("a suite that is YAML").to_json();
    VALIDATOR.iter_errors(&suite).map(|error| format!("{error}")).collect()
}

#[test]
fn slips_are_refused() {
    for (right, wrong) in [
        ("description: x", "descripton: x"),
        ("max_samples: 5", "max_samples: 0"),
        ("num_runs: ${RUNS:-3}", "num_runs: three"),
        ("dataset: d.jsonl", "dataset: {pth: d.jsonl}"),
        ("dataset: {path: d, format: jsonl}", "dataset: {path: d, format: parquet}"),
        ("dataset: {path: d, fields: {id: a}}", "dataset: {path: d, fields: {idd: a}}"),
        ("target: {kind: recorded, format: letta}", "target: {kind: recorded, model: m}"),
        ("target: {kind: agent, model: m}", "target: {kind: agent, modle: m}"),
        ("sandbox: auto", "sandbox: {kid: auto}"),
        ("graders: {a: {kind: tool, function: f}}", "graders: {a: {kind: tool, funtion: f}}"),
        (
            "graders: {a: {kind: tool, function: 'p.py:f', timeout: 3}}",
            "graders: {a: {kind: tool, function: 'p.py:f', timeout: 0}}",
        ),
        ("graders: {a: {kind: rubric, top_p: '0.5'}}", "graders: {a: {kind: rubric, top_p: 2}}"),
        (
            "graders: {a: {kind: rubric, panel: [{model: m, temperature: null}]}}",
            "graders: {a: {kind: rubric, panel: [{model: m, votes: 2}]}}",
        ),
        (
            "graders: {a: {kind: rubric, votes: {n: 3}}}",
            "graders: {a: {kind: rubric, votes: {m: 3}}}",
        ),
        (
            "graders: {a: {kind: rubric, headers: {A: {env: B}}}}",
            "graders: {a: {kind: rubric, headers: {A: {var: B}}}}",
        ),
        (
            "graders: {a: {kind: program, path: p, env: [A, {B: secret}]}}",
            "graders: {a: {kind: program, path: p, env: [A, {B: hidden}]}}",
        ),
        ("graders: {a: {kind: combine, combine: b}}", "graders: {a: {kind: combine, path: b}}"),
        ("reward: a*0.5", "reward: [a]"),
        ("reward: {kind: custom, function: f, env: A}", "reward: {kind: metric, function: f}"),
        ("gate: {metric: p50, op: gt, value: 1}", "gate: {metric: p51, op: gt, value: 1}"),
        (
            "gate: {kind: logical, conditions: [{kind: logical, conditions: [{op: gt}]}]}",
            "gate: {kind: logical, conditions: [{kind: logical, conditions: [{ops: gt}]}]}",
        ),
    ] {
        let suite = |field: &str| format!("extends: base.yaml\n{field}\n");
        assert_eq!(problems(&suite(right)), Vec::<String>::new(), "{right}");
        assert_ne!(problems(&suite(wrong)), Vec::<String>::new(), "{wrong}");
    }
    assert_ne!(problems("name: a suite without samples\n"), Vec::<String>::new());
}

#[test]
fn what_must_be_there_is_asked_for_where_nothing_is_extended() {
    for fields in [
        "graders: {a: {kind: tool}}",
        "graders: {a: {kind: program, timeout: 3}}",
        "graders: {a: {kind: rubric, votes: {combine: mean}}}",
        "target: {path: p}",
        "sandbox: {memory: 2GB}",
        "gate: {metric: p50, op: gt}",
        "gate: {kind: logical, operator: and}",
    ] {
        let suite = |first: &str| format!("{first}\nname: s\ndataset: d.jsonl\n{fields}\n");
        assert_eq!(problems(&suite("extends: base.yaml")), Vec::<String>::new(), "{fields}");
        assert_ne!(problems(&suite("")), Vec::<String>::new(), "{fields}");
    }
}

/// Canonical suites say every default, so that those declared can be compared with those that hold.
#[test]
fn declared_defaults_hold() {
    let suite = super::suite("name: s\ndataset: d.jsonl\ngrader: {kind: rubric, prompt: x}\n");
    let mut sources = Sources::default();
    let written = tree::parse("suite.yaml", &canonical(&suite, ""), &mut sources, &mut Vec::new())
        .unwrap()
        .to_json();
    let mut compared = 0;
    for (section, written) in [(&SUITE, &written), (&RUBRIC, &written["graders"]["default"])] {
        for field in section.fields() {
            if let (Some(declared), Some(written)) = (field.default, written.get(field.name)) {
                assert_eq!(declared, written.to_string(), "{}", field.name);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 13);
}
