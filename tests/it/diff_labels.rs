//! `evalrs diff` with labels of one answer, and runs to compare. `tests/spec/diff_labels.md` has the others.

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Space, has, lines};

const SUITE: &str = "\
name: trial
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, max_retries: 0, pass_threshold: 0.5}
";

const RUBRIC: &str = "Is the reply right? {submission}\n";

/// Fifteen replies, of which people pass six. The judge passes long ones; a lenient one passes nearly all.
fn judge() -> Judge {
    Judge::new(|_, asked| {
        let prompt = asked.prompt();
        let is_lenient = prompt.contains("lenient") && !prompt.contains("reply 14");
        let passes = is_lenient || prompt.contains("long");
        let score = if passes { 0.9 } else { 0.2 };
        Answer::text(&json!({"score": score, "rationale": "as asked"}).to_string())
    })
}

fn rows(label: impl Fn(usize) -> Value) -> String {
    lines((0..15).map(|at: usize| {
        let length = if at.is_multiple_of(3) || at == 1 { "long" } else { "short" };
        json!({"id": format!("r{at:02}"), "input": "q", "output": format!("{length} reply {at:02}"), "label": label(at)})
    }))
}

/// What people say: they pass every third and 4.
fn passes(at: usize) -> bool {
    at.is_multiple_of(3) || at == 4
}

/// Rows without labels.
pub(crate) fn unlabelled() -> String {
    rows(|_| Value::Null)
}

/// A file of labels for twelve of them.
pub(crate) fn people() -> String {
    lines((0..12).map(|at| {
        let label = if passes(at) { "pass" } else { "fail" };
        json!({"id": format!("r{at:02}"), "label": label, "who": "ann"})
    }))
}

fn evaluate(space: &Space, judge: &Judge) {
    let ran = space.run_with(judge, &["run", "suite.yaml", "--quiet"]);
    assert!(ran.code() < 2, "{}", ran.shown());
}

/// Two runs: of a rubric, and of the same with a sentence that makes the judge worse and lets more pass.
pub(crate) fn worse(data: &str) -> Space {
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", data), ("rubric.txt", RUBRIC)]);
    let judge = judge();
    evaluate(&space, &judge);
    space.write("rubric.txt", RUBRIC.replace("right?", "right? Be lenient."));
    evaluate(&space, &judge);
    space
}

fn json_of(space: &Space, arguments: &[&str]) -> Value {
    let ran = space.run(&[&["diff", "--json"], arguments].concat());
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    serde_json::from_str(&ran.stdout()).unwrap()
}

/// A label that is of one answer alone, where a program says what the answer is.
#[cfg(unix)]
#[test]
fn labels_of_one_answer_count_where_a_program_extracts_it() {
    if !has("python3") {
        return;
    }
    let suite = "name: extracted\ndataset: data.jsonl\ngraders:\n  exact: {kind: tool, function: exact_match, extractor: 'pick.py:part'}\n";
    let pick = "def part(trajectory, config):\n    return trajectory[0][-1].content[:1]\n";
    let data = lines(
        ["a", "b"].map(|id| json!({"id": id, "input": "q", "ground_truth": "a", "output": "abc"})),
    );
    let space = Space::new(&[("suite.yaml", suite), ("pick.py", pick), ("data.jsonl", &data)]);
    for text in ["a", "b"] {
        space.write(
            "data.jsonl",
            data.replace("\"ground_truth\":\"a\"", &format!("\"ground_truth\":\"{text}\"")),
        );
        let ran = space.run(&["run", "suite.yaml", "--quiet"]);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
    }
    let digest = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
    space.write(
        "suite.labels.jsonl",
        lines([
            json!({"id": "a", "submission_digest": digest("a"), "label": true, "who": "ann"}),
            json!({"id": "b", "submission_digest": digest("abc"), "label": true, "who": "ann"}),
        ]),
    );
    let found = json_of(&space, &[]);
    let agreement = &found["graders"]["exact"]["agreement"];
    assert_eq!((&agreement["n"], &agreement["labelled"]), (&json!(1), &json!(1)), "{agreement}");
    assert_eq!(agreement["no_longer_agree"][0]["sample_id"], "a");
}
