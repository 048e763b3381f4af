//! What to label next, and what of it an estimate may be made of.

use serde_json::{Value, json};

use super::screen::Screen;
use super::{SUITE, Session, TERSE, save};
use crate::judge::{Answer, Judge};
use crate::space::{Space, lines};

/// Scores that are their samples' place in tenths: `s5` stands on the threshold.
fn space(rows: usize) -> Space {
    let row = |at: usize| json!({"id": format!("s{at}"), "input": "q", "output": format!("{at}.")});
    let data = lines((0..rows).map(row));
    let suite = SUITE.replace("max_retries: 0", "max_retries: 0, pass_threshold: 0.5");
    Space::new(&[("suite.yaml", &suite), ("rubric.txt", TERSE), ("data.jsonl", &data)])
}

fn judge() -> Judge {
    Judge::new(|_, asked| {
        let question = asked.question();
        let digits: String = question.chars().filter(char::is_ascii_digit).collect();
        Answer::score(digits.parse::<f64>().unwrap_or_default() % 10.0 / 10.0)
    })
}

fn written(space: &Space) -> Vec<Value> {
    let text = space.read("suite.labels.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_key_lists_what_to_label_and_labels_say_why() {
    let mut screen = Screen::sized((40, 120), space(40), judge(), &["--yes"], &[]);
    screen.terminal.wait_for("idle, waiting for a save");
    screen.terminal.press("a");
    screen.terminal.wait_for("[all]");
    screen.terminal.press("y");
    screen.terminal.wait_for("agrees");
    screen.terminal.press("L");
    let shown = screen.terminal.wait_until("what to label", |shown| {
        ["[to label]", "random", "threshold", "of 30 sampled"]
            .iter()
            .all(|text| shown.contains(text))
    });
    assert!(!shown.contains(" person "), "{shown}");
    let space = &screen.space;
    for count in [2, 3] {
        screen.terminal.press("y");
        screen.terminal.wait_until("another label", |_| written(space).len() == count);
    }
    let mut picks: Vec<String> =
        written(&screen.space).iter().map(|line| line["picked"].to_string()).collect();
    picks.sort();
    assert_eq!(picks, ["\"chosen\"", "\"random\"", "\"threshold\""]);
    screen.end();
}

#[test]
fn labels_in_lines_say_how_they_were_picked() {
    let mut session = Session::begin(space(4), judge(), &["--yes"]);
    session.telling.wait_event("evaluated");
    let give = |picked: &str| {
        json!({"command": "label", "sample_id": "s1", "grader": "quality", "label": true, "picked": picked})
            .to_string()
    };
    session.telling.say(&give("random"));
    session.telling.wait_event("evaluated");
    assert_eq!(written(&session.space)[0]["picked"], json!("random"));
    session.telling.say(&give("often"));
    let note = session.telling.wait_event("note");
    assert!(note["text"].as_str().unwrap().contains("random, disagreement, threshold or chosen"));
    session.end();
}

#[test]
fn estimates_are_of_labels_that_were_drawn() {
    let space = space(80);
    let judge = judge();
    let people = |picked: &str| {
        let line = |at: usize| json!({"id": format!("s{at}"), "label": true, "picked": picked});
        save(&space, "suite.labels.jsonl", &lines((0..40).map(line)));
        let ran = space.run_with(&judge, &["run", "suite.yaml", "--format", "json"]);
        let report: Value = serde_json::from_str(&ran.stdout()).unwrap();
        let found = report["summary"]["people"]["quality"].clone();
        [found["labels"].clone(), found["chosen"].clone(), found["pass_rate"].is_null().into()]
    };
    assert_eq!(people("random"), [json!(40), json!(0), json!(false)]);
    assert_eq!(people("another tool's word"), [json!(40), json!(0), json!(false)]);
    assert_eq!(people("chosen"), [json!(0), json!(40), json!(true)]);
}
