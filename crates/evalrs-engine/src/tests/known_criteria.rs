//! A fresh session that knows what an earlier one found of the criteria of a rubric.

use super::known::{MANY, knowing, many, planned};
use super::*;

const CRITERIA: &str = "\
name: keys
dataset: data.jsonl
graders:
  quality:
    kind: rubric
    model: judge-1
    endpoint: test
    criteria:
      kind: {question: Is it kind?, weight: 2}
      right: Is it right?
      short: {question: Is it short?, expect: no}
gate: {metric_key: quality, metric: avg_score, op: gte, value: 0.0}
";

#[test]
fn criteria_are_combined_in_another_way_without_a_look_at_rows() {
    // What is asked, and for how many graders all chunks are planned.
    for (what, from, to, asked, graders) in [
        ("nothing", "", "", 0, 0),
        ("a weight", "weight: 2", "weight: 7", 0, 0),
        ("a combination", "    criteria:", "    combine: all\n    criteria:", 0, 0),
        ("a criterion that is required", "weight: 2", "required: true", 0, 0),
        ("the opposite", ", expect: no", "", 0, 1),
        ("a name", "right:", "correct:", 0, 1),
        ("no such criterion", "      right: Is it right?\n", "", 0, 0),
        ("the gate", "value: 0.0", "value: 0.5", 0, 0),
        ("a question", "Is it right?", "Is it quite right?", MANY, 1),
        ("another criterion", "      short:", "      fair: Is it fair?\n      short:", MANY, 1),
    ] {
        let (evaluation, _) = Evaluation::of(CRITERIA, &many());
        assert!(CRITERIA.contains(from), "{what}");
        evaluation.system.set("suite.yaml", CRITERIA.replacen(from, to, 1));
        let mut knowing = knowing(evaluation, &KeySet::default());
        assert_eq!(knowing.asked().len(), asked, "{what}");
        let chunks = knowing.session.chunks().len();
        assert!(chunks > 3, "{chunks} chunks");
        assert_eq!(planned(&knowing), graders * chunks, "{what}");
        let reported = knowing.reported();
        let mut cold = knowing.again();
        assert_eq!(cold.asked(), Vec::<String>::new(), "{what}");
        assert_eq!(reported, cold.reported(), "{what}");
    }
}

#[test]
fn a_row_that_changes_is_judged_by_all_criteria() {
    let (evaluation, _) = Evaluation::of(CRITERIA, &many());
    evaluation.system.set("data.jsonl", many().replacen("answer 200\"", "no answer\"", 1));
    let mut knowing = knowing(evaluation, &KeySet::default());
    assert_eq!(knowing.asked(), ["quality.kind s200", "quality.right s200", "quality.short s200"]);
    let planned = planned(&knowing);
    // Of three criteria, one chunk or both beside the edit.
    assert!((3..=6).contains(&planned), "{planned} plans");
    let reported = knowing.reported();
    let mut cold = knowing.again();
    assert_eq!(cold.asked(), Vec::<String>::new());
    assert_eq!(reported, cold.reported());
}
