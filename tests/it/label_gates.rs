//! Gates on how far a grader agrees with people.

use serde_json::{Value, json};

use crate::space::{Space, jsonl};

/// Of twelve answers, eight pass.
fn space(gate: &str, labels: &str) -> Space {
    let row = |id: usize| {
        let output = if id < 8 { "a" } else { "b" };
        json!({"id": id, "input": "q", "ground_truth": "a", "output": output})
    };
    let suite = format!(
        "name: gated\ndataset: data.jsonl\ngraders:\n  exact: {{kind: tool, function: exact_match}}\n  \
         short: {{kind: tool, function: ascii_printable_only}}\ngate: {gate}\n"
    );
    let data = jsonl((0..12).map(row));
    let files = [("suite.yaml", suite.as_str()), ("data.jsonl", &data)];
    let space = Space::new(&files);
    if !labels.is_empty() {
        space.write("suite.labels.jsonl", labels);
    }
    space
}

/// People pass six of the eight and one of the four: agreement 9 of 12, kappa 8/17.
fn labels() -> String {
    let passes = [0, 1, 2, 3, 4, 5, 8];
    jsonl((0..12).map(|id| {
        let label = if passes.contains(&id) { "pass" } else { "fail" };
        json!({"id": id.to_string(), "grader": "exact", "label": label})
    }))
}

fn gate(metric: &str, value: f64) -> String {
    format!("{{metric_key: exact, metric: {metric}, op: gte, value: {value}}}")
}

#[test]
fn agreement_and_kappa_decide_the_exit_code() {
    for (metric, value, code, line) in [
        ("agreement", 0.75, 0, "exact agreement >= 0.75: 0.750"),
        ("agreement", 0.8, 1, "exact agreement >= 0.8: 0.750"),
        ("kappa", 0.4, 0, "exact kappa >= 0.4: 0.471"),
        ("kappa", 0.5, 1, "exact kappa >= 0.5: 0.471"),
        ("kappa", -0.5, 0, "exact kappa >= -0.5: 0.471"),
    ] {
        let space = space(&gate(metric, value), &labels());
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), code, "{}", ran.shown());
        assert!(ran.stdout().contains(line), "{}", ran.shown());
        let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
        assert_eq!(
            summary["gate"]["value"],
            summary["label_agreement"]["exact"]
                [if metric == "kappa" { "kappa" } else { "accuracy" }]
        );
        assert_eq!(summary["gate"].get("lacks"), None);
    }
}

#[test]
fn a_gate_on_agreement_that_nobody_labelled_is_undecided_in_every_format() {
    let of = |labels: &str, gate: &str, arguments: &[&str]| {
        let space = space(gate, labels);
        let ran = space.run(&[&["run", "suite.yaml"], arguments].concat());
        (ran.code(), ran.shown())
    };
    let kappa = gate("kappa", 0.6);
    let nobody = "exact kappa &gt;= 0.6: nobody labelled what it grades";
    for (format, said) in [
        ("junit", nobody.to_owned()),
        ("github", nobody.replace("&gt;", ">").replacen(": ", "%3A ", 0)),
        ("markdown", nobody.replace("&gt;", ">")),
        ("json", "\"lacks\": \"labels\"".to_owned()),
    ] {
        let (code, shown) = of("", &kappa, &["--format", format]);
        assert_eq!(code, 3, "{format}: {shown}");
        let plain = shown.replace("&#x3E;", ">").replace("\\>", ">");
        assert!(
            plain.contains(&said) || plain.contains(&said.replace(": \"", ":\"")),
            "{format}: {shown}"
        );
    }
    let (code, shown) = of("", &kappa, &[]);
    assert_eq!(code, 3);
    assert!(shown.contains("the gate needs labels of people"), "{shown}");
    // Labels for another grader are none for this one.
    let (code, _) =
        of("{\"id\": \"1\", \"grader\": \"short\", \"label\": \"pass\"}\n", &kappa, &[]);
    assert_eq!(code, 3);
    let alike = labels().replace("fail", "pass");
    let (code, shown) = of(&alike, &kappa, &[]);
    assert_eq!(code, 3);
    assert!(shown.contains("not defined, as people say the same of all"), "{shown}");
    // A condition of a logical gate that is undecided leaves the whole undecided, and says why.
    let both = format!(
        "{{kind: logical, operator: and, conditions: [{{metric_key: exact, op: gte, value: 0.5}}, {kappa}]}}"
    );
    let (code, shown) = of("", &both, &[]);
    assert_eq!(code, 3);
    assert!(shown.contains("the gate needs labels of people"), "{shown}");
}

#[test]
fn a_pass_rule_of_its_own_is_not_for_agreement() {
    let ran = space(&gate("kappa", 0.6).replace("value:", "pass_value: 0.5, value:"), "")
        .run(&["validate", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    assert!(
        ran.shown().contains("`pass_value` is not about agreement with labels"),
        "{}",
        ran.shown()
    );
    let ran = space(&gate("kappa", 1.5), "").run(&["validate", "suite.yaml"]);
    assert!(ran.shown().contains("kappa lies between -1 and 1"), "{}", ran.shown());
}
