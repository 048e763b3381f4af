//! `evalrs diff` with labels: whether a rubric got better, which is not whether more passes.

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

#[test]
fn a_rubric_that_lets_more_pass_got_worse_by_its_labels() {
    let space = worse(&unlabelled());
    space.write("suite.labels.jsonl", people());
    let ran = space.run(&["diff"]);
    let shown = ran.stdout();
    let from = shown.find("score").unwrap();
    insta::assert_snapshot!(shown[from..], @r"
    score     n      old → new  difference ± stderr     95 % interval  detects
    quality  15  0.480 → 0.853       +0.373 ± 0.093  +0.173 to +0.574    0.279
    95 % intervals: Student t and Bayesian

    passes       old → new  fixed  broken      p
    quality  40.0% → 93.3%      8       0  0.008

    8 verdicts moved: 8 fixed
    fixed     r02  quality  0.200 → 0.900  no longer agrees
    fixed     r05  quality  0.200 → 0.900  no longer agrees
    fixed     r07  quality  0.200 → 0.900  no longer agrees
    fixed     r08  quality  0.200 → 0.900  no longer agrees
    fixed     r10  quality  0.200 → 0.900  no longer agrees
    fixed     r11  quality  0.200 → 0.900  no longer agrees
    fixed     r04  quality  0.200 → 0.900  now agrees
    fixed     r13  quality  0.200 → 0.900
    ");
    let ran = space.run(&["diff", "--format", "markdown"]);
    let shown = ran.stdout();
    let tables =
        shown.lines().filter(|line| line.starts_with('|') || line.contains("with people on"));
    insta::assert_snapshot!(tables.collect::<Vec<_>>().join("\n"), @r"
    | grader | n | agreement | change, points | 95 % interval | p | kappa | change | 95 % interval | false passes | false fails |
    |:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
    | `quality` | 12 | 83.3% → 41.7% | -41.7 | -62.6 to +2.6 | 0.125 | 0.66 → - | - | - | 1 → 7 | 1 → 0 |
    `quality no longer agrees with people on 6: r02, r05, r07, r08, r10, r11`
    `quality now agrees with people on 1: r04`
    | grader | n | score | difference ± stderr | 95 % interval | detects | passes | fixed | broken | p |
    |:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|
    | `quality` | 15 | 0.480 → 0.853 | +0.373 ± 0.093 | +0.173 to +0.574 | 0.279 | 40.0% → 93.3% | 8 | 0 | 0.008 |
    ");
}

#[test]
fn labels_are_those_of_now_for_both_runs() {
    let space = worse(&unlabelled());
    assert_eq!(json_of(&space, &[])["graders"]["quality"].get("agreement"), None);
    space.write("suite.labels.jsonl", people());
    let found = json_of(&space, &[]);
    let agreement = &found["graders"]["quality"]["agreement"];
    assert_eq!((&agreement["n"], &agreement["labelled"]), (&json!(12), &json!(12)));
    assert_eq!(agreement["no_longer_agree"].as_array().unwrap().len(), 6);
    assert_eq!(agreement["now_agree"][0]["sample_id"], "r04");
    // A label that was changed since then moves both sides alike.
    space.write("suite.labels.jsonl", people().replace("fail", "pass"));
    let found = json_of(&space, &[]);
    let agreement = &found["graders"]["quality"]["agreement"];
    assert_eq!(agreement["no_longer_agree"], json!([]));
    assert_eq!(agreement["now_agree"].as_array().unwrap().len(), 7);
    // So do labels in rows, and those of another file.
    space.write("suite.labels.jsonl", "");
    space.write("data.jsonl", rows(|at| if at < 4 { json!(passes(at)) } else { Value::Null }));
    let found = json_of(&space, &[]);
    assert_eq!(found["graders"]["quality"]["agreement"]["labelled"], 4);
    space.write("other.csv", "id,label\nr04,pass\nr05,fail\n");
    let found = json_of(&space, &["--labels", "other.csv"]);
    assert_eq!(found["graders"]["quality"]["agreement"]["labelled"], 6);
}

#[test]
fn fewer_verdicts_on_one_side_are_said() {
    let space = worse(&unlabelled());
    space.write("suite.labels.jsonl", people());
    // A third run in which the judge fails on some, and one answer is another.
    let failing = Judge::new(|_, asked| {
        let prompt = asked.prompt();
        if prompt.contains("reply 02") || prompt.contains("reply 05") {
            return Answer::error(400, "too long");
        }
        Answer::text(&json!({"score": 0.9, "rationale": "as asked"}).to_string())
    });
    space.write("rubric.txt", RUBRIC.replace("right?", "fine?"));
    space.write("data.jsonl", unlabelled().replace("short reply 07", "quite another reply"));
    let ran = space.run_with(&failing, &["run", "suite.yaml"]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    let shown = space.run(&["diff"]).stdout();
    let line = shown.lines().find(|line| line.contains("labelled cases compared"));
    insta::assert_snapshot!(line.unwrap(), @"quality: 9 of 12 labelled cases compared: the new judged 10, 1 with another answer now left out");
}

#[test]
fn a_suite_that_cannot_be_read_leaves_labels_out() {
    let space = worse(&unlabelled());
    space.write("suite.labels.jsonl", people());
    space.write("suite.yaml", SUITE.replace("kind: rubric", "kind: rubrik"));
    let ran = space.run(&["diff"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert!(
        ran.stderr().contains("verdicts are not compared with labels: `suite.yaml` has errors"),
        "{}",
        ran.shown()
    );
    assert!(!ran.stdout().contains("agreement"));
    let ran = space.run(&["diff", "--labels", "suite.labels.jsonl"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    space.write("suite.yaml", SUITE.replace("name: trial", "name: other"));
    let ran = space.run(&["diff"]);
    assert_eq!((ran.code(), ran.stderr().as_str()), (0, ""), "{}", ran.shown());
    let ran = space.run(&["diff", "--labels", "suite.labels.jsonl"]);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("another name"), "{}", ran.shown());
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
