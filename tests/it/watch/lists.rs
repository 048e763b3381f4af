//! The list of the screen: in which order it is, what narrows it, what its lines tell, and what stays selected.

use serde_json::{Value, json};

use super::save;
use super::screen::Screen;
use crate::judge::{Answer, Judge};
use crate::space::{Space, lines};
use crate::terminal::key;

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, pass_threshold: 0.5}
  tone: {kind: rubric, prompt: 'Tone? {submission}', model: judge-1, endpoint: test, pass_threshold: 0.5}
";

const POLITE: &str = "Is it polite? {submission}";
const TERSE: &str = "Is it terse? {submission}";

/// A judge that gives the first of the scores in the submission, and the second one to a rubric that asks for terse answers.
fn judge() -> Judge {
    Judge::new(|_, asked| {
        let question = asked.question();
        let scores = question.split(['[', ']', '|']).filter_map(|part| part.parse::<f64>().ok());
        let scores: Vec<f64> = scores.collect();
        Answer::score(scores[usize::from(question.contains("terse"))])
    })
}

/// A row whose scores are these, and whose submission has so many characters.
fn row(id: &str, scores: [f64; 2], length: usize) -> Value {
    let beginning = format!("[{:.2}|{:.2}] ", scores[0], scores[1]);
    let output = format!("{beginning}{}", "x".repeat(length - beginning.len()));
    json!({"id": id, "input": "q", "output": output})
}

fn with(mut row: Value, field: &str, value: Value) -> Value {
    row[field] = value;
    row
}

fn space(rows: &[Value]) -> Space {
    Space::new(&[("suite.yaml", SUITE), ("rubric.txt", POLITE), ("data.jsonl", &lines(rows))])
}

/// A session whose first evaluation is there.
fn screen(size: (u16, u16), rows: &[Value]) -> Screen {
    let mut screen = Screen::sized(size, space(rows), judge(), &["--yes"], &[]);
    screen.terminal.wait_for("idle, waiting for a save");
    screen
}

/// The samples in the lines of the list, in their order.
fn listed(shown: &str) -> Vec<&str> {
    let is_title = |line: &&str| line.starts_with('─') && line.contains(" of ");
    let list = shown.lines().skip_while(|line| !is_title(line));
    let list = list.skip(1).take_while(|line| !line.starts_with('─'));
    let list = list.map(|line| line.split('│').next().unwrap_or_default());
    list.filter_map(|line| line.split_whitespace().find(|word| is_id(word))).collect()
}

fn is_id(word: &str) -> bool {
    word.strip_prefix('s')
        .is_some_and(|at| !at.is_empty() && at.bytes().all(|b| b.is_ascii_digit()))
}

#[test]
fn the_list_has_every_order_and_its_reverse() {
    let label = |row, label: bool| with(row, "label", json!({"quality": label}));
    let rows = [
        label(row("s0", [0.9, 0.95], 40), true),
        label(row("s1", [0.2, 0.8], 20), true),
        label(row("s2", [0.6, 0.1], 60), false),
        label(row("s3", [0.15, 0.15], 30), false),
        row("s4", [0.7, 0.7], 16),
    ];
    let mut screen = screen((40, 120), &rows);
    save(&screen.space, "rubric.txt", TERSE);
    screen.terminal.wait_until("the save", |shown| {
        shown.contains("save 1") && shown.contains("idle, waiting") && shown.contains("agrees more")
    });
    screen.terminal.press("b");
    screen.terminal.wait_for("verdicts of the grader");
    screen.terminal.press("qual");
    screen.terminal.press(key::ENTER);
    screen.terminal.press("a");
    let mut wait = |keys: &str, order: &str, expected: [&str; 5]| {
        screen.terminal.press(keys);
        screen.terminal.wait_until(&format!("{order}: {expected:?}"), |shown| {
            shown.contains(&format!(" {order} ─")) && listed(shown) == expected
        });
    };
    wait("", "dataset order", ["s0", "s1", "s2", "s3", "s4"]);
    wait("O", "dataset order, reversed", ["s4", "s3", "s2", "s1", "s0"]);
    wait("o", "by movement", ["s2", "s1", "s0", "s3", "s4"]);
    wait("o", "by score", ["s2", "s3", "s4", "s1", "s0"]);
    wait("O", "by score, reversed", ["s0", "s1", "s4", "s3", "s2"]);
    // What nobody labelled is last, whichever way.
    wait("o", "by distance", ["s1", "s3", "s2", "s0", "s4"]);
    wait("O", "by distance, reversed", ["s0", "s2", "s3", "s1", "s4"]);
    wait("o", "by length", ["s2", "s0", "s3", "s1", "s4"]);
    wait("o", "dataset order", ["s0", "s1", "s2", "s3", "s4"]);
    // Each list has its own order, until one is chosen for all.
    screen.terminal.press("f");
    screen.terminal.wait_until("what fails by score", |shown| {
        shown.contains("[failing]")
            && shown.contains(" by score ─")
            && listed(shown) == ["s2", "s3"]
    });
    screen.terminal.press("oo");
    screen.terminal.wait_until("what fails by length", |shown| {
        shown.contains(" by length ─") && listed(shown) == ["s2", "s3"] && shown.contains("length")
    });
    screen.terminal.press("a");
    screen.terminal.wait_until("all by length", |shown| {
        shown.contains("[all]") && listed(shown) == ["s2", "s0", "s3", "s1", "s4"]
    });
    screen.end();
}

#[test]
fn tags_and_graders_narrow_the_list_and_escape_widens_it() {
    let tags = |row, tags: &[&str]| with(row, "tags", json!(tags));
    let rows = [
        tags(row("s0", [0.9, 0.9], 40), &["refund"]),
        tags(row("s1", [0.8, 0.8], 40), &["refund", "vip"]),
        row("s2", [0.7, 0.7], 40),
    ];
    let mut screen = screen((24, 80), &rows);
    let terminal = &mut screen.terminal;
    terminal.press("a");
    terminal.wait_for(" 1 of 6 ");
    terminal.press("t");
    terminal.wait_until("the tags", |shown| {
        let line = |name: &str, count: &str| {
            shown.lines().any(|line| line.contains(name) && line.contains(count))
        };
        shown.contains("samples with the tag") && line(" refund ", " 2 ") && line(" vip ", " 1 ")
    });
    terminal.press("VI");
    terminal.press(key::ENTER);
    terminal.wait_until("those with the tag", |shown| {
        shown.contains(" tag vip ") && shown.contains(" of 2 ") && listed(shown) == ["s1", "s1"]
    });
    terminal.press("b");
    terminal.wait_for("verdicts of the grader");
    terminal.press(key::DOWN);
    terminal.press(key::DOWN);
    terminal.press(key::ENTER);
    terminal.wait_until("those of the grader too", |shown| {
        shown.contains(" tag vip ") && shown.contains(" grader tone ") && shown.contains(" 1 of 1 ")
    });
    terminal.press("/nothing");
    terminal.press(key::ENTER);
    terminal.wait_for("nothing here matches /nothing, tag vip, grader tone; Esc shows all");
    terminal.press(key::ESC);
    terminal.wait_until("all", |shown| shown.contains(" of 6 ") && !shown.contains("tag vip"));
    // A menu that is closed changes nothing.
    terminal.press("t");
    terminal.wait_for("samples with the tag");
    terminal.press("vip");
    terminal.press(key::ESC);
    terminal.wait_until("no menu", |shown| {
        !shown.contains("samples with the tag") && shown.contains(" of 6 ")
    });
    screen.end();
}

#[test]
fn lines_tell_models_and_submissions_as_far_as_there_is_room() {
    let model = |row, model: &str| with(row, "model", json!(model));
    let rows =
        [model(row("s0", [0.9, 0.9], 200), "gpt-a"), model(row("s0", [0.2, 0.2], 200), "claude-b")];
    let mut screen = screen((24, 80), &rows);
    screen.terminal.press("a");
    screen.terminal.wait_until("a narrow list", |shown| {
        let has =
            |parts: &[&str]| shown.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        has(&["s0 ", "gpt-a", "quality", "[0.90|0.90]"])
            && has(&["s0 ", "claude-b", "tone", "[0.20|0.20]"])
            && shown.lines().all(|line| line.chars().count() <= 80)
    });
    screen.terminal.resize(60, 200);
    screen.terminal.wait_until("a wide list", |shown| {
        let line = |line: &str| {
            let list = line.split('│').next().unwrap_or_default();
            list.contains("claude-b") && list.contains(&"x".repeat(40))
        };
        shown.lines().any(line)
    });
    screen.end();
}

#[test]
fn the_selected_verdict_stays_selected_over_saves() {
    let rows: Vec<Value> = (0..6).map(|at| row(&format!("s{at}"), [0.2, 0.8], 40)).collect();
    let mut screen = screen((30, 100), &rows);
    screen.terminal.press("ajjj");
    let is_seen = |shown: &str, place: &str, words: &str| {
        let title = shown.lines().any(|line| line.contains("─ s1 ") && line.contains(" tone "));
        title && shown.contains(place) && shown.contains(words)
    };
    screen.terminal.wait_until("a verdict", |shown| is_seen(shown, " 4 of 12 ", "fails, 0.200"));
    // Rows come before it, and a grader before its own.
    let more: Vec<Value> = (7..9).map(|at| row(&format!("s{at}"), [0.9, 0.9], 40)).collect();
    save(&screen.space, "data.jsonl", &lines(more.iter().chain(&rows)));
    screen.terminal.wait_until("more rows", |shown| {
        is_seen(shown, " 8 of 16 ", "fails, 0.200") && shown.contains("save 1")
    });
    let suite =
        SUITE.replace("graders:\n", "graders:\n  exact: {kind: tool, function: contains}\n");
    save(&screen.space, "suite.yaml", &suite);
    screen.terminal.wait_until("one more grader", |shown| {
        is_seen(shown, " 12 of 24 ", "fails, 0.200") && shown.contains("save 2")
    });
    // It leaves the list, is still what is looked at, and comes back.
    screen.terminal.press("f/tone");
    screen.terminal.press(key::ENTER);
    screen.terminal.press("j");
    screen.terminal.wait_until("what fails", |shown| is_seen(shown, " 2 of 6 ", "fails, 0.200"));
    let terse = suite.replace("Tone? {sub", "Tone? terse {sub");
    save(&screen.space, "suite.yaml", &terse);
    screen.terminal.wait_until("what does not fail any more", |shown| {
        is_seen(shown, "not in this list", "passes, 0.800")
            && shown.contains("nothing here matches")
    });
    save(&screen.space, "suite.yaml", &suite);
    screen.terminal.wait_until("as before", |shown| {
        is_seen(shown, " 2 of 6 ", "fails, 0.200") && !shown.contains("not in this list")
    });
    screen.end();
}
