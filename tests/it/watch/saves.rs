//! Saves to walk through, through a terminal: what each changed in the rubric, what it came to, and taking one back.

use super::screen::Screen;
use super::{POLITE, SUITE, TERSE, judge, labelled, row, save, space};
use crate::space::{Space, jsonl};
use crate::terminal::key;

const BRIEF: &str = "Is it polite and brief? {submission}";

/// A session of three saves that costs three times as many judgments as there are samples: polite, terse, polite and brief.
fn three_saves(count: usize) -> Screen {
    let mut screen = Screen::new(count, &[]);
    let all = format!(" {count}/{count} ");
    save(&screen.space, "rubric.txt", TERSE);
    screen.wait_idle("save 1", ["0.500", &all]);
    save(&screen.space, "rubric.txt", BRIEF);
    screen.wait_idle("save 2", ["1.000", &all]);
    assert_eq!(screen.judge.count(), 3 * count);
    screen
}

#[test]
fn the_rubric_is_compared_with_that_of_the_save_before() {
    let mut screen = three_saves(2);
    screen.terminal.press("D");
    let shown = screen.terminal.wait_for("what save 2 changed in the rubric");
    assert!(shown.contains("Is it terse polite and brief? {submission}"), "{shown}");
    screen.terminal.press("[");
    let changed = |shown: &str| {
        shown.contains("what save 1 changed in the rubric")
            && shown.contains("Is it polite terse? {submission}")
            && shown.contains("showing save 1; u returns")
    };
    screen.terminal.wait_until("the first change", changed);
    screen.terminal.press("[");
    screen.terminal.wait_until("the rubric at the start", |shown| {
        shown.contains("the rubric at the start")
            && shown.contains("Is it polite? {submission}")
            && shown.contains("showing start; u returns to save 2")
    });
    screen.terminal.press("[");
    screen.terminal.wait_for("the start is the first save");
    screen.terminal.press("D");
    // The verdicts of the start, which nobody asked for again.
    screen.terminal.press("a");
    screen.terminal.wait_until("the verdicts of then", |shown| {
        shown.contains("1 of 2") && shown.contains("Is it polite? answer 0.")
    });
    screen.terminal.press("]");
    screen.terminal.press("]");
    screen.wait_idle("save 2", ["1.000", " 2/2 "]);
    screen.terminal.press("]");
    screen.terminal.wait_for("this is the newest save");
    assert_eq!(screen.judge.count(), 6);
    screen.end();
}

#[test]
fn a_save_that_changes_no_rubric_shows_what_it_changed() {
    let mut screen = Screen::new(2, &[]);
    let rows = |last: usize| jsonl([row(0), row(1), row(last)]);
    save(&screen.space, "data.jsonl", &rows(3));
    screen.wait_idle("save 1", ["1.000", " 3/3 "]);
    screen.terminal.press("D");
    screen.terminal.wait_for("data.jsonl, and no rubric");
    save(&screen.space, "suite.yaml", &SUITE.replace("value: 0.75", "value: 0.25"));
    screen.terminal.wait_until("the gate", |shown| {
        shown.contains("─ what save 2 changed ─") && shown.contains("value: 0.75 0.25}")
    });
    screen.end();
}

/// What a judge is asked by is compared, wherever it is written.
#[test]
fn rubrics_in_the_suite_and_included_ones_are_compared_as_they_are_judged() {
    let inline = "\
name: support
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, max_retries: 0}
  tone: {kind: rubric, prompt: 'Is the tone fine? {submission}', model: judge-1, endpoint: test}
";
    let space = space(1);
    space.write("suite.yaml", inline);
    space.write("rubric.txt", "---\ninclude: rule.txt\n---\nJudge: {submission}");
    space.write("rule.txt", "Be polite.");
    let mut screen = Screen::begin(space, judge(), &["--yes"], &[]);
    screen.wait_idle("start", ["1.000", " 1/1 "]);
    save(&screen.space, "rule.txt", "Be terse.");
    screen.wait_idle("save 1", ["1.000", " 1/1 "]);
    screen.terminal.press("D");
    let mut wait = |whose: &str, text: &str| {
        screen.terminal.wait_until(text, |shown| {
            let heading = |line: &str| line.trim() == whose;
            shown.contains(text) && shown.lines().any(heading)
        })
    };
    wait("quality", "Be polite terse.");
    save(&screen.space, "suite.yaml", &inline.replace("fine", "warm"));
    wait("tone", "Is the tone fine warm? {submission}");
    screen.terminal.press("s");
    screen.terminal.wait_for("─ saves by quality ─");
    screen.terminal.press(key::TAB);
    screen.terminal.wait_for("─ saves by tone ─");
    screen.terminal.press(key::ESC);
    screen.terminal.wait_until("the list of verdicts", |shown| !shown.contains("─ saves by "));
    screen.end();
}

#[test]
fn saves_are_listed_and_each_can_be_looked_at() {
    let mut screen = three_saves(4);
    screen.terminal.press("s");
    let shown = screen.terminal.wait_for("─ saves ");
    let mut lines = shown.lines().skip_while(|line| !line.starts_with("─ saves "));
    let numbers = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().filter(|word| !word.contains(':')).collect();
        words.join(" ")
    };
    let list: Vec<String> = lines.by_ref().skip(2).take(3).map(numbers).collect();
    assert_eq!(
        list,
        [
            "▌ ● 2 1.000 ▲ +0.500 ✓ PASS 4/4 4 840 tok… rubric.txt",
            "1 0.500 ▼ -0.500 ✗ FAIL 4/4 4 840 tok… rubric.txt",
            "start 1.000 - ✓ PASS 4/4 4 840 tok…",
        ]
    );
    screen.terminal.press("j");
    screen.terminal.wait_for("what save 1 changed in the rubric");
    screen.terminal.press(key::ENTER);
    screen.terminal.wait_until("save 1", |shown| {
        shown.contains("showing save 1") && shown.contains(" of 2 ") && shown.contains("FAIL")
    });
    screen.terminal.press("s");
    screen.terminal.wait_for("▌ ●  1 ");
    screen.terminal.press("G");
    screen.terminal.wait_for("the rubric at the start");
    screen.terminal.press("g");
    screen.terminal.press(key::ENTER);
    screen.wait_idle("save 2", ["1.000", " 4/4 "]);
    assert_eq!(screen.judge.count(), 12);
    screen.end();
}

/// Labels that come later are compared with the verdicts of every save.
#[test]
fn agreement_of_each_save_is_with_the_labels_of_now() {
    let space = space(0);
    save(&space, "data.jsonl", &labelled(&[true, false, true, false]));
    let mut screen = Screen::begin(space, judge(), &["--yes"], &[]);
    screen.wait_idle("start", ["50.0%", " 1.000 "]);
    save(&screen.space, "rubric.txt", TERSE);
    screen.wait_idle("save 1", ["100.0%", " 0.500 "]);
    let listed = |shown: &str, first: &str, second: &str| {
        let is_so = |number: &str, text: &str| {
            shown.lines().any(|line| line.contains(number) && line.contains(text))
        };
        is_so("  1   ", first) && is_so("  start ", second)
    };
    screen.terminal.press("s");
    screen.terminal.wait_until("both shares", |shown| {
        listed(shown, "100.0%  ▲ +50.0   1.00", "50.0%        -      -")
    });
    // The person takes one back: now the first rubric is right.
    save(&screen.space, "data.jsonl", &labelled(&[true, true, true, true]));
    screen.terminal.wait_until("other shares", |shown| {
        listed(shown, "50.0%  ▼ -50.0      -", "100.0%        -      -")
    });
    assert_eq!(screen.judge.count(), 8);
    screen.end();
}

#[test]
fn a_save_that_is_taken_back_is_a_save_and_asks_nothing() {
    let mut screen = three_saves(4);
    screen.terminal.press("s");
    screen.terminal.press("G");
    screen.terminal.press("t");
    screen.terminal.wait_for("write rubric.txt as it was at the start?  y yes  n no");
    screen.terminal.press("n");
    screen.terminal.wait_until("no question", |shown| !shown.contains("write rubric.txt"));
    assert_eq!(screen.space.read("rubric.txt"), BRIEF);
    screen.terminal.press("ty");
    screen.wait_idle("save 3", ["1.000", " 4/4 "]);
    let shown = screen.terminal.wait_for("4 cached · 0 made");
    assert!(shown.contains("●  3 "), "{shown}");
    assert_eq!(screen.space.read("rubric.txt"), POLITE);
    // What was written over is in a save as well.
    screen.terminal.press("gj");
    screen.terminal.press("ty");
    screen.wait_idle("save 4", ["1.000", " 4/4 "]);
    assert_eq!((screen.space.read("rubric.txt"), screen.judge.count()), (BRIEF.to_owned(), 12));
    screen.terminal.press("gt");
    screen.terminal.wait_for("suite and rubrics are the same as in save 4");
    screen.end();
}

/// What is broken at the moment is in no save: it would be lost.
#[test]
fn a_file_that_no_save_has_is_not_written_over() {
    let mut screen = three_saves(2);
    save(&screen.space, "rubric.txt", "---\ninclude: nowhere.txt\n---\n{submission}");
    screen.terminal.wait_for("not evaluated");
    screen.terminal.press("s");
    screen.terminal.press("Gty");
    screen.terminal.wait_for("nothing is written: `rubric.txt` was edited since");
    assert!(screen.space.read("rubric.txt").contains("nowhere"));
    assert_eq!(screen.judge.count(), 6);
    screen.end();
}

/// A rubric in the suite is taken back with what else the suite said then.
#[test]
fn a_rubric_in_the_suite_is_taken_back_with_the_suite() {
    let inline = SUITE.replace("prompt_path: rubric.txt", "prompt: 'Is it polite? {submission}'");
    let space: Space = space(2);
    space.write("suite.yaml", &inline);
    let mut screen = Screen::begin(space, judge(), &["--yes"], &[]);
    screen.wait_idle("start", ["1.000", " 2/2 "]);
    let edited = inline.replace("polite", "terse").replace("0.75", "0.25");
    save(&screen.space, "suite.yaml", &edited);
    screen.wait_idle("save 1", ["0.500", " 2/2 "]);
    screen.terminal.press("s");
    screen.terminal.press("Gt");
    screen.terminal.wait_for("write suite.yaml as it was at the start?");
    screen.terminal.press("y");
    screen.wait_idle("save 2", ["1.000", " 2/2 "]);
    assert_eq!((screen.space.read("suite.yaml"), screen.judge.count()), (inline, 4));
    screen.end();
}

/// What the session came to is still to be read where the screen was, and the command that stands there says what changed.
#[test]
fn a_summary_stays_on_the_terminal() {
    let space = space(0);
    save(&space, "data.jsonl", &labelled(&[true, false, true, false]));
    let mut screen = Screen::begin(space, judge(), &["--yes"], &[]);
    screen.wait_idle("start", ["50.0%", " 1.000 "]);
    save(&screen.space, "rubric.txt", TERSE);
    screen.wait_idle("save 1", ["100.0%", " 0.500 "]);
    // Whatever is looked at, it is of the newest save.
    screen.terminal.press("[");
    screen.terminal.wait_for("showing start");
    screen.terminal.press("q");
    let Screen { space, terminal, .. } = screen;
    let (code, shown) = terminal.finish();
    insta::assert_snapshot!(shown, @r"
    end: 1 save, 8 judgments, 1680 tokens
      grader            mean          agrees     kappa  labels  judged
      quality  1.000 → 0.500  50.0% → 100.0%  - → 1.00       4     4/4
      gate PASSED → FAILED
      what changed: evalrs diff latest@start latest
    ");
    assert_eq!(code, 0);
    let diff = space.run(&["diff", "latest@start", "latest"]);
    assert!(diff.stdout().contains("50.0% → 100.0%"), "{}", diff.shown());
}

/// Labels were given and nothing was saved: how far the graders agree is what was worked for.
#[test]
fn a_session_of_labels_alone_leaves_its_agreement() {
    let space = space(0);
    save(&space, "data.jsonl", &labelled(&[true, false, true, false]));
    let mut screen = Screen::begin(space, judge(), &["--yes"], &[]);
    screen.wait_idle("start", ["50.0%", " 1.000 "]);
    screen.terminal.press("q");
    let (_, shown) = screen.terminal.finish();
    insta::assert_snapshot!(shown, @r"
    end: 0 saves, 4 judgments, 840 tokens
      grader    mean  agrees  kappa  labels  judged
      quality  1.000   50.0%      -       4     4/4
      gate PASSED
    ");
}

#[test]
fn a_session_that_is_interrupted_leaves_its_summary_too() {
    let mut screen = Screen::new(2, &[]);
    screen.terminal.press(key::CTRL_C);
    let (code, shown) = screen.terminal.finish();
    assert_eq!((code, shown.as_str()), (130, "end: 0 saves, 2 judgments, 420 tokens"));
}
