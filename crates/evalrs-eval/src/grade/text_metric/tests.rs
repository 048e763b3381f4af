//! What the tables of the reference implementations cannot show: limits, options, and how several references count.

use serde_json::{Value, json};

use crate::grade::{Grade, Subject, compile};
use evalrs_base::path::Row;
use evalrs_model::spec::ToolSpec;
use evalrs_trajectory::Trajectory;

/// Every grader of this family.
const METRICS: [&str; 7] = [
    "edit_similarity",
    "word_error_rate",
    "character_error_rate",
    "rouge_n",
    "rouge_l",
    "bleu",
    "chrf",
];

fn graded(function: &str, config: &Value, submission: &str, truth: Option<&str>) -> Grade {
    let config = config.as_object().cloned().unwrap_or_default();
    let subject = Subject {
        submission,
        ground_truth: truth,
        trajectory: &Trajectory::default(),
        row: Row::new("{}"),
        output: None,
        include_subagents: false,
        votes: None,
        cost: None,
    };
    compile(&ToolSpec { function: function.to_owned(), config }).unwrap().grade(&subject)
}

#[test]
fn a_text_is_wholly_like_itself_and_like_the_best_of_several() {
    let text = "The cat sat on the mat, didn't it? Größe 3.5.";
    for function in METRICS {
        for truth in [json!([text]), json!(["nothing", text, "else"])] {
            let grade = graded(function, &json!({}), text, Some(&truth.to_string()));
            assert!((grade.score - 1.0).abs() < 1e-12, "{function}: {grade:?}");
        }
        let given = graded(function, &json!({"values": [text]}), text, Some("elsewhere"));
        assert!(given.passes(1.0), "{function}: {given:?}");
        let none = graded(function, &json!({}), text, None);
        assert_eq!(none.error.unwrap().kind, "no_ground_truth", "{function}");
    }
}

#[test]
fn what_was_counted_stands_beside_the_score() {
    let truth = "the cat is on the mat";
    let grade = graded("bleu", &json!({}), "the the the cat", Some(truth));
    let counts = grade.metadata.unwrap();
    assert_eq!(counts["correct"], json!([3, 1, 0, 0]));
    assert_eq!(counts["total"], json!([4, 3, 2, 1]));
    assert_eq!((&counts["length"], &counts["reference_length"]), (&json!(4), &json!(6)));
    let recall = graded("rouge_n", &json!({"measure": "recall"}), "the cat", Some(truth));
    assert_eq!(recall.rationale, "ROUGE-1 recall: 0.3333");
    assert_eq!(recall.metadata.unwrap()["precision"], json!(1.0));
    let many = graded("word_error_rate", &json!({}), "a b c d", Some("x"));
    assert_eq!((many.score, &*many.rationale), (0.0, "WER: 4.0000"));
}

/// A quarter of a megabyte of words, hardly two of them the same.
fn long_text(seed: u64) -> String {
    let mut state = seed;
    let mut text = String::new();
    while text.len() < 250_000 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.extend([(state >> 40).to_string(), ". ".to_owned()]);
    }
    text
}

#[test]
fn long_texts_are_compared_or_refused_and_never_wait() {
    let left = long_text(1);
    let right = long_text(2);
    for function in METRICS {
        let grade = graded(function, &json!({}), &left, Some(&right));
        let has_table = !["rouge_n", "bleu", "chrf"].contains(&function);
        let kind = grade.error.map(|error| error.kind);
        assert_eq!(kind.as_deref(), has_table.then_some("too_large"), "{function}");
        let truth = json!(vec!["a"; 10_000]).to_string();
        let many = graded(function, &json!({}), &left, Some(&truth));
        assert_eq!(many.error.unwrap().kind, "too_large", "{function} of many references");
        let alike = graded(function, &json!({}), &left, Some(&left));
        assert!((alike.score - 1.0).abs() < 1e-12, "{function}");
    }
}
