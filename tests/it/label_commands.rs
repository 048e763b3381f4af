//! Labels in commands that compare nothing: how many there are, of how many people, and what they say of a case.

use serde_json::{Value, json};

use crate::space::{Space, jsonl};

const SUITE: &str = "\
name: counted
dataset: data.jsonl
graders:
  exact: {kind: tool, function: exact_match}
  stars: {kind: tool, function: recorded_score, config: {path: s, scale: {min: 1, max: 5}}, pass_threshold: 0.5}
labels: {path: people.csv, for: [exact]}
";

const PEOPLE: &str = "\
id,who,label,grader
a,ann,pass,
a,bob,pass,
a,cem,fail,
b,ann,fail,
b,bob,pass,
c,,pass,
a,ann,4,stars
a,bob,2,stars
";

fn space() -> Space {
    let row = |id: &str, output: &str, stars: u32| json!({"id": id, "input": "q", "ground_truth": "x", "output": output, "s": stars});
    let data = jsonl([row("a", "y", 5), row("b", "x", 5), row("c", "x", 1)]);
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &data), ("people.csv", PEOPLE)])
}

/// The lines that speak of labels.
fn lines(text: &str) -> String {
    let of_labels = text.lines().filter(|line| line.contains("label"));
    of_labels.collect::<Vec<_>>().join("\n")
}

#[test]
fn validate_and_plan_count_labels_and_people() {
    let space = space();
    let ran = space.run(&["validate", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    insta::assert_snapshot!(lines(&ran.stdout()), @r"
    labels   exact: 2 labels of 3 people
    labels   stars: 1 label of 2 people
    ");
    insta::assert_snapshot!(lines(&ran.stderr()), @"warning: 1 tie: as many people say that the answer passes as that it fails, which counts as no label");
    let ran = space.run(&["plan", "suite.yaml"]);
    insta::assert_snapshot!(lines(&ran.stdout()), @"labels: exact 2 labels of 3 people, stars 1 label of 2 people");
    let ran = space.run(&["plan", "suite.yaml", "--json", "--sample", "a", "--grader", "exact"]);
    let plan: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(plan["labels"], json!({"exact": {"labels": 1, "people": 3}}));
    // Another file, in which one line is of no sample.
    space.write("other.csv", "id,label\na,pass\nzz,fail\n");
    for command in ["validate", "plan"] {
        let ran = space.run(&[command, "suite.yaml", "--labels", "other.csv"]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        assert!(ran.stdout().contains("1 label"), "{}", ran.shown());
        assert!(ran.stderr().contains("1 label matches no row: `zz`"), "{}", ran.shown());
        let ran = space.run(&[command, "suite.yaml", "--labels", "gone.csv"]);
        assert_eq!(ran.code(), 2, "{}", ran.shown());
    }
    space.write("suite.yaml", SUITE.replace("labels: {path: people.csv, for: [exact]}\n", ""));
    for command in ["validate", "plan"] {
        let ran = space.run(&[command, "suite.yaml"]);
        assert_eq!(lines(&ran.stdout()), "", "{}", ran.shown());
    }
    let ran = space.run(&["plan", "suite.yaml", "--json"]);
    let plan: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(plan.get("labels"), None);
}

#[test]
fn explain_shows_the_label_who_gave_it_and_whether_the_verdict_agrees() {
    let space = space();
    let of = |sample: &str| {
        let ran = space.run(&["explain", "suite.yaml", sample]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        let text = ran.stdout();
        let own: Vec<&str> = text.lines().filter(|line| line.starts_with("  label")).collect();
        own.join("\n")
    };
    insta::assert_snapshot!(["a", "b", "c"].map(of).join("\n"), @r"
    label       pass; the verdict does not agree; people differ: ann: pass, bob: pass, cem: fail
    label       pass (0.500); the verdict agrees; people differ: ann: pass (0.750), bob: fail (0.250)
    label       none, a tie; people differ: ann: fail, bob: pass
    label       pass; the verdict agrees
    ");
    let ran = space.run(&["explain", "suite.yaml", "a", "stars", "--json"]);
    let explained: Value = serde_json::from_str(&ran.stdout()).unwrap();
    assert_eq!(
        explained["results"][0]["graders"]["stars"]["label"],
        json!({
            "label": {"who": null, "passes": true, "score": 0.5},
            "agrees": true,
            "disputed": true,
            "people": [
                {"who": "ann", "passes": true, "score": 0.75},
                {"who": "bob", "passes": false, "score": 0.25},
            ],
        })
    );
    space.write("other.csv", "id,label\na,fail\n");
    let ran = space.run(&["explain", "suite.yaml", "a", "exact", "--labels", "other.csv"]);
    assert!(ran.stdout().contains("fail; the verdict agrees"), "{}", ran.shown());
}
