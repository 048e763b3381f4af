//! Where people gave labels, a save is told by whether the judge agrees more with them or less.

use serde_json::json;

use super::{Session, save};
use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};
use crate::terminal::Terminal;

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  follows: {kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, max_retries: 0}
gate: {metric_key: follows, metric: accuracy, op: gte, value: 0.5}
";

const STRICT: &str = "Does it follow? {submission}";
const LENIENT: &str = "Does it follow? Be lenient. {submission}";

/// Thirty answers. The strict judge passes the first 9, the lenient one the first 15; of the six between, people pass one.
/// Of the first nine they pass 3, and of the last fifteen 6, so that the strict judge agrees with 18 and the lenient one with 14.
fn space() -> Space {
    let passes = [[0, 1, 2].as_slice(), &[9], &[15, 16, 17, 18, 19]].concat();
    let row = |at: usize| {
        let label = passes.contains(&at);
        json!({"id": format!("s{at}"), "input": "q", "output": format!("answer {at}."), "label": label})
    };
    let rows = jsonl((0..30).map(row));
    Space::new(&[("suite.yaml", SUITE), ("rubric.txt", STRICT), ("data.jsonl", &rows)])
}

fn judge() -> Judge {
    Judge::new(|_, asked| {
        let question = asked.question();
        let at: String = question.chars().filter(char::is_ascii_digit).collect();
        let at: usize = at.parse().unwrap_or(0);
        let passed = if question.contains("lenient") { 15 } else { 9 };
        Answer::score(if at < passed { 1.0 } else { 0.0 })
    })
}

/// The trial that this is for: a sentence that makes the judge worse raises the mean and passes the gate.
#[test]
fn a_rubric_that_passes_more_and_agrees_less_is_shown_as_worse() {
    let space = space();
    let judge = judge();
    let url = judge.url();
    let args = ["watch", "suite.yaml", "--yes"];
    let mut terminal =
        Terminal::start(&space, (30, 120), &args, &[("OPENAI_BASE_URL", url.as_str())]);
    terminal.wait_until("the start", |shown| {
        shown.contains("idle, waiting for a save") && shown.contains("agrees 60.0%")
    });
    save(&space, "rubric.txt", LENIENT);
    terminal.wait_until("the save", |shown| {
        shown.contains("save 1") && shown.contains("idle, waiting") && shown.contains("46.7% (was")
    });
    terminal.press("g");
    let shown = terminal.wait_for(" 1 of 6 ");
    // Whether the detail marks what is new in the key, and so how long it is, depends on when it was drawn.
    let lines = shown.lines().map(|line| line.replace('▐', " ").replace("│ * ", "│   "));
    let shown = lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shown, @"
     support  save 1  rubric.txt                                                   360 tokens this save · 720 tokens in all
     ▼ agrees less 46.7% (was 60.0%)   kappa -0.07 (was 0.05)   false passes 11 (+5)   false fails 5 (-1)           30 made
     idle, waiting for a save                                        gate ✓ PASS (was FAIL)  follows accuracy >= 0.5: 0.500
     suite.yaml:4:3: `follows` has no `pass_threshold`, so only the full score is a pass, and the gate counts passes
    ─ grader ──── agrees  since last  kappa  since last  false passes  false fails ─ mean ────────── 95 %  since last ──────
    ▸ follows      46.7%     ▼ -13.3  -0.07     ▼ -0.11       11 (+5)       5 (-1)  0.500  [0.332, 0.668]    ▲ +0.200
      ✓ 1 now agrees   ≠ 5 no longer agree   ▲ 6 fixed   ▼ 0 broken   △ 0 raised   ▽ 0 lowered   ! 0 errors   = 24 unchanged
    ─[moved] failing  disagree  P  F  L  E  a ─ by movement ─ 1 of 6 ─┬─ s10 ───────────────────────────────────── follows ─
           moved             before    now      by  person  sample    │ ✓ passes, 1.000   was ✗ fails, 0.000   ▲ fixed by…
    ▌ ✓ ≠  no longer agrees  0.000 → 1.000  +1.000  ≠ ✗     s10       │ ≠ human label: ✗   no longer agrees
      ✓ ≠  no longer agrees  0.000 → 1.000  +1.000  ≠ ✗     s11       │
      ✓ ≠  no longer agrees  0.000 → 1.000  +1.000  ≠ ✗     s12       │ why, and what changed in it
      ✓ ≠  no longer agrees  0.000 → 1.000  +1.000  ≠ ✗     s13       │ scored 0 1
      ✓ ≠  no longer agrees  0.000 → 1.000  +1.000  ≠ ✗     s14       │
      ✓ ✓  now agrees        0.000 → 1.000  +1.000    ✓     s9        │ submission
                                                                      │ answer 10.
                                                                      │
                                                                      │ input
                                                                      │ q
                                                                      │
                                                                      │ key 6b2508a1eb8128f3
                                                                      │   15 ingredients: v shows all
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
     q quit  y n label  d disagree  f failing  a all  / search  u prev save  s saves  D diff  e edit  v detail  ? help
    ");
    terminal.press("P");
    let shown = terminal.wait_for("[false pass]");
    assert!(shown.contains(" of 11 "), "{shown}");
    terminal.press("F");
    let shown = terminal.wait_for("[false fail]");
    assert!(shown.contains(" of 5 "), "{shown}");
    terminal.press("q");
    let (code, screen) = terminal.finish();
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn events_say_how_agreement_moved() {
    let mut session = Session::begin(space(), judge(), &["--yes"]);
    let told = session.telling.wait_event("evaluated");
    assert_eq!(told["metrics"]["follows"]["labels_since_last"], json!(null));
    let edited = session.edit(|space| save(space, "rubric.txt", LENIENT));
    let told = edited.told();
    let change = &told["metrics"]["follows"]["labels_since_last"];
    assert_eq!(
        [&change["n"], &change["now_agrees"], &change["no_longer_agrees"]],
        [&json!(30), &json!(1), &json!(5)]
    );
    assert_eq!(
        [&change["before"]["accuracy"], &change["now"]["accuracy"]],
        [&json!(0.6), &json!(14.0 / 30.0)]
    );
    assert_eq!(change, &told["metrics"]["follows"]["labels_since_start"]);
    assert_eq!(
        [&told["counts"]["now_agrees"], &told["counts"]["no_longer_agrees"]],
        [&json!(1), &json!(5)]
    );
    // What does not agree any more comes first.
    let moves: Vec<_> =
        told["moved"].as_array().unwrap().iter().map(|of| &of["agreement"]).collect();
    assert_eq!(moves[..5], [&json!("no_longer_agrees"); 5]);
    assert_eq!(moves[5], &json!("now_agrees"));
    // A label that comes later changes both sides, and is not told as a change of the judge.
    let edited = session.edit(|space| {
        let text = space.read("data.jsonl");
        save(space, "data.jsonl", &text.replacen("\"label\":false", "\"label\":true", 1));
    });
    let change = &edited.told()["metrics"]["follows"]["labels_since_last"];
    assert_eq!([&change["now_agrees"], &change["no_longer_agrees"]], [&json!(0), &json!(0)]);
    assert_eq!(change["before"], change["now"]);
    session.end();
}

/// In a preview only those cases are compared that are judged both times.
#[test]
fn the_agreement_of_a_preview_is_of_the_cases_that_are_judged_both_times() {
    let space = space();
    let judge = judge();
    let url = judge.url();
    let args = ["watch", "suite.yaml", "--preview", "8"];
    let mut terminal =
        Terminal::start(&space, (30, 120), &args, &[("OPENAI_BASE_URL", url.as_str())]);
    terminal.wait_until("the first preview", |shown| {
        shown.contains("Enter: the rest (22") && shown.contains("on 8 of 30 labels")
    });
    terminal.press("\r");
    terminal.wait_until("all of them", |shown| {
        let is_idle = shown.contains("idle, waiting for a save");
        is_idle && shown.contains("agrees 60.0%") && !shown.contains("of 30 labels")
    });
    save(&space, "rubric.txt", LENIENT);
    terminal.wait_until("the preview", |shown| {
        let headline = shown.lines().nth(1).unwrap_or_default();
        shown.contains("save 1")
            && shown.contains("Enter: the rest (22")
            && headline.contains("on 8 of 30 labels")
    });
    terminal.press("q");
    let (code, screen) = terminal.finish();
    assert_eq!(code, 0, "{screen}");
}

/// Twenty rows with a key each, a sentence, and whether it helped.
#[test]
fn keys_label_and_the_next_case_follows() {
    let space = space();
    let text = space.read("data.jsonl");
    let unlabelled = text.replace(",\"label\":true", "").replace(",\"label\":false", "");
    save(&space, "data.jsonl", &unlabelled);
    let judge = judge();
    let url = judge.url();
    let args = ["watch", "suite.yaml", "--yes"];
    let environment = [("OPENAI_BASE_URL", url.as_str()), ("EVALRS_WHO", "ann")];
    let mut terminal = Terminal::start(&space, (30, 120), &args, &environment);
    terminal.wait_for("idle, waiting for a save");
    terminal.press("a");
    terminal.wait_for(" 1 of 30 ");
    terminal.press("y");
    let all_of = |wanted: &'static [&'static str]| {
        move |shown: &str| wanted.iter().all(|text| shown.contains(text))
    };
    terminal.wait_until("s0", all_of(&[" 2 of 30 ", "s0: pass", "agrees 100.0%"]));
    terminal.press("n");
    terminal.wait_until("s1", all_of(&[" 3 of 30 ", "agrees 50.0%", "false passes 1"]));
    // One is skipped.
    terminal.press(" ");
    terminal.wait_for(" 4 of 30 ");
    terminal.press("5");
    terminal.wait_until("s3", all_of(&[" 5 of 30 ", "s3: 0.5", "false passes 2"]));
    // What was said is taken back.
    terminal.press("kk");
    terminal.wait_for(" 3 of 30 ");
    terminal.press("kx");
    terminal.wait_until("s1 again", all_of(&[" 2 of 30 ", "s1: no label", "false passes 1"]));
    // The only ones without a label are those that follow, and the skipped one.
    terminal.press(" ");
    terminal.wait_for(" 3 of 30 ");
    terminal.press(" ");
    terminal.wait_for(" 5 of 30 ");
    save(&space, "rubric.txt", LENIENT);
    terminal.wait_until("the save", |shown| shown.contains("save 1") && shown.contains("idle"));
    let text = space.read("suite.labels.jsonl");
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.lines().all(|line| line.contains("\"who\":\"ann\"")), "{text}");
    terminal.press("q");
    let (code, screen) = terminal.finish();
    assert_eq!(code, 0, "{screen}");
}
