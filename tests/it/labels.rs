//! Labels of people: what a grader is compared with, and what an edited label does, which is nothing but that.

use evalrs_graph::folds;
use evalrs_graph::inputs::Overrides;
use evalrs_graph::queries;
use evalrs_graph::results;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_model::spec::Label;
use serde_json::{Value, json};

use crate::incremental::Loop;
use crate::space::jsonl;

const SUITE: &str = "\
name: labelled
dataset: data.jsonl
graders:
  exact: {kind: tool, function: exact_match}
  kind: {kind: rubric, prompt: 'Is it kind? {submission}', model: m, endpoint: e, scale: {min: 1, max: 5}, pass_threshold: 0.5}
";

const ROWS: usize = 200;

/// Rows with these labels, the rest without one.
fn rows(labels: &[(usize, Value)]) -> String {
    jsonl((0..ROWS).map(|at| {
        let label = labels.iter().find(|(row, _)| *row == at).map(|(_, label)| label);
        let output = if at % 2 == 0 { "a" } else { "b" };
        json!({"id": at, "input": "q", "ground_truth": "a", "output": output, "label": label})
    }))
}

fn kind(prompt: &str) -> String {
    let score = if prompt.contains("kind? a") { 5 } else { 1 };
    format!("{{\"score\": {score}, \"rationale\": \"r\"}}")
}

fn session(data: &str, file: Option<&str>) -> Loop {
    let mut files = vec![("suite.yaml", SUITE), ("data.jsonl", data)];
    files.extend(file.map(|text| ("labels.jsonl", text)));
    let labels = file.map(|_| "labels.jsonl".to_owned());
    let mut session = Loop::over(&files, Overrides { labels, ..Overrides::default() });
    session.answer(kind);
    session
}

fn agreement(of: &Loop, grader: &str) -> Option<LabelAgreement> {
    let session = of.session();
    let mut graders = queries::graders(&session.db, session.root).iter();
    let grader = graders.find(|known| known.name(&session.db) == grader).unwrap();
    folds::label_agreement(&session.db, *grader)
}

/// Verdicts with a label: both pass, only the verdict does, only the label does, none does.
fn counts(of: &Loop, grader: &str) -> [usize; 4] {
    let LabelAgreement { both_pass, false_pass, false_fail, both_fail, .. } =
        agreement(of, grader).unwrap_or_default();
    [both_pass, false_pass, false_fail, both_fail]
}

#[test]
fn an_edited_label_moves_agreement_and_nothing_else() {
    let mut labelled = session(&rows(&[(0, json!(true)), (1, json!("pass"))]), None);
    assert_eq!(labelled.evaluate().asked.len(), 2, "equal submissions are one judgment");
    assert_eq!(
        (counts(&labelled, "kind"), counts(&labelled, "exact")),
        ([1, 0, 1, 0], [1, 0, 1, 0])
    );
    labelled.set("data.jsonl", &rows(&[(0, json!(true)), (1, json!("fail"))]));
    let did = labelled.evaluate();
    assert_eq!(did.asked, Vec::<String>::new());
    assert_eq!(counts(&labelled, "kind"), [1, 0, 0, 1]);
    assert!(did.ran("plans") <= 4, "its chunk for two graders: {:?}", did.ran);
    assert_eq!(did.ran("cells") + did.ran("metric"), 0, "{:?}", did.ran);
    assert_eq!(did.ran("label_agreement"), 2, "{:?}", did.ran);
    let did = labelled.evaluate();
    assert_eq!(did.ran.len(), 0, "{:?}", did.ran);
}

#[test]
fn an_edited_file_of_labels_plans_nothing() {
    let line = |id: usize, label: Value| json!({"id": id, "label": label});
    let file = |labels: &[(usize, Value)]| {
        jsonl(labels.iter().map(|(id, label)| line(*id, label.clone())))
    };
    let data = rows(&[(0, json!(false)), (3, json!(false))]);
    let mut labelled = session(&data, Some(&file(&[(0, json!(true)), (199, json!(true))])));
    labelled.evaluate();
    assert_eq!(counts(&labelled, "kind"), [1, 0, 1, 1], "the file comes before rows");
    labelled.set("labels.jsonl", &file(&[(0, json!(true)), (199, json!(false))]));
    let did = labelled.evaluate();
    assert_eq!((did.asked.len(), did.ran("plans"), did.ran("cells")), (0, 0, 0), "{:?}", did.ran);
    assert_eq!(did.ran("labels"), 2, "the chunk of the line for two graders: {:?}", did.ran);
    assert_eq!(counts(&labelled, "kind"), [1, 0, 0, 2]);
    labelled.set("labels.jsonl", &format!("\n{}", file(&[(0, json!(true)), (199, json!(false))])));
    let did = labelled.evaluate();
    assert_eq!(did.ran("labels") + did.ran("file_labels"), 0, "lines moved: {:?}", did.ran);
    // The rubric's wording is no business of labels.
    labelled.set("suite.yaml", &SUITE.replace("Is it kind?", "Was it kind?"));
    let did = labelled.evaluate();
    assert_eq!((did.ran("labels"), did.ran("row_labels")), (0, 0), "{:?}", did.ran);
}

#[test]
fn labels_are_on_the_scale_of_their_grader() {
    let label_of = |of: &Loop, grader: usize, case: usize| {
        let session = of.session();
        let grader = queries::graders(&session.db, session.root)[grader];
        results::label_of(&session.db, session.chunks()[0], case, grader)
    };
    let mut labelled = session(&rows(&[(0, json!(4)), (1, json!(1))]), None);
    labelled.evaluate();
    assert_eq!(label_of(&labelled, 1, 0), Some(Label::Score(0.75)));
    assert_eq!(label_of(&labelled, 1, 2), None);
    let found = agreement(&labelled, "kind").unwrap();
    assert_eq!((found.n, found.mean_distance), (2, Some(0.125)));
    assert_eq!(label_of(&labelled, 0, 1), None, "4 is no score from 0 to 1, so 1 is none either");
    assert_eq!(agreement(&labelled, "exact"), None);
    labelled.set("data.jsonl", &rows(&[(0, json!({"exact": 0.5})), (1, json!({"kind": 2}))]));
    labelled.evaluate();
    assert_eq!(label_of(&labelled, 0, 0), Some(Label::Score(0.5)));
    assert_eq!(label_of(&labelled, 1, 1), Some(Label::Score(0.25)));
    assert_eq!((label_of(&labelled, 0, 1), label_of(&labelled, 1, 0)), (None, None));
}
