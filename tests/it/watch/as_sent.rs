//! `v` shows what a judge was sent and replied: the same as `explain --prompt`, and as it is now.

use serde_json::json;

use super::{SUITE, rows};
use crate::judge::{Answer, Judge};
use crate::space::{Space, jsonl};
use crate::terminal::{Terminal, key};

/// A judge whose first reply to each question is no verdict.
fn stubborn() -> Judge {
    Judge::new(|_, asked| match asked.body["messages"].as_array().unwrap().len() {
        2 => Answer::text("Score: 8/10.\nNice \u{1b}[2Jindeed."),
        _ => Answer::score(1.0),
    })
}

fn session(space: &Space, judge: &Judge, args: &[&str], size: (u16, u16)) -> Terminal {
    let args = [&["watch", "suite.yaml"], args].concat();
    Terminal::start(space, size, &args, &[("OPENAI_BASE_URL", &judge.url())])
}

/// Text without what breaking its lines changes.
fn compact(text: &str) -> String {
    text.split_whitespace().collect()
}

fn end(mut terminal: Terminal) {
    terminal.press("q");
    let (code, screen) = terminal.finish();
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn v_shows_all_that_explain_shows_and_nothing_else() {
    let long = format!("Yes, {}\u{1b}[2Jwithin\n\ta month.", "of course, ".repeat(900));
    let rows = ["first", &long]
        .into_iter()
        .enumerate()
        .map(|(at, output)| json!({"id": format!("s{at}"), "input": "May I?", "output": output}));
    let suite = SUITE.replace("max_retries: 0}", "max_retries: 0, headers: {x-secret: {env: SECRET}}}\n  exact: {kind: tool, function: exact_match}");
    let rows = jsonl(rows);
    let space = Space::new(&[
        ("suite.yaml", suite.as_str()),
        ("rubric.txt", "Is it polite? {submission}"),
        ("data.jsonl", &rows),
        (".env", "SECRET=hush-hush-hush\n"),
    ]);
    let judge = stubborn();
    let mut terminal = session(&space, &judge, &["--yes"], (220, 200));
    terminal.wait_for("idle, waiting for a save");
    terminal.press("a/quality");
    terminal.press(key::ENTER);
    terminal.wait_for(" 1 of 2 ");
    terminal.press("Gvv");
    let shown = terminal.wait_until("all of it", |shown| {
        shown.contains(" s1 as sent ") && shown.contains("reply 2") && shown.contains("v list")
    });
    let args = ["explain", "suite.yaml", "s1", "quality", "--prompt"];
    let explained = space.run_with(&judge, &args).stdout();
    let (_, explained) = explained.split_once('\n').unwrap();
    assert!(explained.len() > 10_000 && explained.contains("no verdict: "), "{explained}");
    let lines: Vec<&str> = shown.lines().skip_while(|line| !line.contains("as sent")).collect();
    let text = lines[1..lines.len() - 1].join("\n");
    assert_eq!(compact(&text), compact(explained));
    assert!(!shown.contains("hush"), "{shown}");
    // A grader without a judge says so, and keys go back to the list.
    terminal.press("h");
    terminal.wait_until("the detail", |shown| {
        !shown.contains("as sent ─") && shown.contains("v as sent")
    });
    terminal.press("h");
    terminal.press(key::ESC);
    terminal.wait_for(" of 4 ");
    terminal.press("gjvv");
    terminal.wait_for("exact: no judge is called");
    terminal.press("v");
    terminal.wait_until("the list", |shown| shown.contains("[all]") && shown.contains(" 2 of 4 "));
    end(terminal);
}

#[test]
fn v_shows_what_would_be_sent_and_then_what_was() {
    let rows = rows(0..30);
    let space = Space::new(&[
        ("suite.yaml", SUITE),
        ("rubric.txt", "Is it polite? {submission}"),
        ("data.jsonl", &rows),
    ]);
    let judge = stubborn();
    let mut terminal = session(&space, &judge, &["--preview", "2"], (24, 80));
    terminal.wait_for("Enter: the rest (28");
    terminal.press("a/s7");
    terminal.press(key::ENTER);
    terminal.wait_for(" 1 of 1 ");
    terminal.press("vv");
    terminal.wait_for("cached  no: this is what would be sent");
    terminal.press(key::END);
    terminal.wait_for("no reply: the judge was not called yet");
    // It is asked now, and again: what is shown follows.
    terminal.press("r");
    terminal.press("g");
    terminal.wait_until("what was sent", |shown| {
        shown.contains("quality: vote 0 of judge-1") && shown.contains(" by evalrs ")
    });
    terminal.press("r");
    terminal.wait_for("generation 1");
    for _ in 0..3 {
        terminal.press("J");
    }
    terminal.wait_until("scrolled down", |shown| !shown.contains("vote 0 of"));
    for _ in 0..3 {
        terminal.press("K");
    }
    terminal.wait_for("quality: vote 0 of judge-1");
    assert!(terminal.screen().lines().all(|line| line.chars().count() <= 80));
    end(terminal);
}
