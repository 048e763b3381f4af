//! Programs of the user while they are edited: what cannot be loaded takes nothing from the screen.

use serde_json::json;

use super::{Session, judge, mean, rows, save};
use crate::space::{Space, has, jsonl};

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  quality: {kind: tool, function: 'graders/g.py:grade'}
gate: {metric_key: quality, metric: avg_score, op: gte, value: 0.75}
";

#[test]
fn a_program_that_could_not_be_loaded_is_loaded_again_when_it_is_mended() {
    if !has("python3") {
        return;
    }
    let program = |score: &str| format!("def grade(sample, submission):\n    return {score}\n");
    let files = [("graders/g.py", program("1.0")), ("data.jsonl", rows(0..2))];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    let space = Space::new(&[files[0], files[1], ("suite.yaml", SUITE)]);
    let mut session = Session::begin(space, judge(), &[]);
    assert_eq!(mean(&session.telling.wait_event("evaluated")), json!(1.0));
    save(&session.space, "graders/g.py", "x = 1\ndef grade(:\n");
    let events = session.telling.events_until("broken_files");
    assert_eq!(events.len(), 1, "nothing was evaluated: {events:?}");
    assert_eq!(
        problem(&events[0]),
        "graders/g.py:2 cannot load `g.py:grade`: SyntaxError: invalid syntax (g.py, line 2)"
    );
    assert_eq!(events[0]["save"], 0);
    save(&session.space, "graders/g.py", &program("0.5"));
    let events = session.telling.events_until("evaluated");
    let mended = events.last().unwrap();
    assert_eq!((mean(mended), &mended["files"]), (json!(0.5), &json!(["graders/g.py"])));
    assert_eq!((&events[0]["event"], &events[0]["save"]), (&json!("saved"), &json!(1)));
    // What is taken back is as it was.
    save(&session.space, "graders/g.py", "import nowhere\n");
    let broken = problem(&session.telling.wait_event("broken_files"));
    assert!(broken.starts_with("graders/g.py:1 ") && broken.contains("nowhere"), "{broken}");
    save(&session.space, "graders/g.py", &program("0.5"));
    assert_eq!(session.telling.next_event()["event"], "fixed_files");
    // The module that it lacks may be the one that is saved.
    let imports = format!("import nowhere\n{}", program("nowhere.SCORE"));
    save(&session.space, "graders/g.py", &imports);
    session.telling.wait_event("broken_files");
    save(&session.space, "graders/nowhere.py", "SCORE = 0.25\n");
    assert_eq!(mean(&session.telling.wait_event("evaluated")), json!(0.25));
    // So may one that it loads.
    save(&session.space, "graders/nowhere.py", "SCORE = 1 / 0\n");
    let broken = problem(&session.telling.wait_event("broken_files"));
    assert_eq!(
        broken,
        "graders/nowhere.py:1 cannot load `g.py:grade`: ZeroDivisionError: division by zero"
    );
    save(&session.space, "graders/nowhere.py", "SCORE = 0.75\n");
    assert_eq!(mean(&session.telling.wait_event("evaluated")), json!(0.75));
    session.end();
}

#[test]
fn a_program_that_is_broken_from_the_start_is_evaluated_once_it_is_mended() {
    if !has("node") {
        return;
    }
    let suite =
        SUITE.replace("tool, function: 'graders/g.py:grade'", "program, path: graders/g.mjs");
    let module =
        |score: &str| format!("export const grade = () => ({{ pass: true, score: {score} }})\n");
    let (broken, rows) = (module("low"), rows(0..2));
    let files = [("graders/g.mjs", broken.as_str()), ("data.jsonl", &rows), ("suite.yaml", &suite)];
    let unreadable = module("0.5").replace("({", "({{");
    let mut session = Session::begin(Space::new(&files), judge(), &[]);
    // That a name is not there is found when it is called.
    assert_eq!(mean(&session.telling.wait_event("evaluated")), json!(null));
    save(&session.space, "graders/g.mjs", &unreadable);
    let told = problem(&session.telling.wait_event("broken_files"));
    assert!(told.starts_with("graders/g.mjs:1 cannot load `g.mjs`: SyntaxError"), "{told}");
    let space = session.leave();
    let mut session = Session::begin(space, judge(), &[]);
    assert_eq!(problem(&session.telling.next_event()), told);
    save(&session.space, "graders/g.mjs", &module("0.5"));
    assert_eq!(mean(&session.telling.wait_event("evaluated")), json!(0.5));
    // A suite may name a program that cannot be called, or be mended to name another one.
    save(&session.space, "suite.yaml", &suite.replace("g.mjs", "h.mjs"));
    let told = problem(&session.telling.wait_event("broken_files"));
    assert_eq!(told, "suite.yaml:4 cannot call `h.mjs`: the file `graders/h.mjs` does not exist");
    std::fs::rename(session.space.path("graders/g.mjs"), session.space.path("graders/h.mjs"))
        .unwrap();
    assert_eq!(mean(&session.telling.wait_event("evaluated")), json!(0.5));
    session.end();
}

#[test]
fn what_is_odd_about_programs_is_told_once() {
    if !has("python3") {
        return;
    }
    let suite = SUITE.replace("grade'}", "grade', deterministic: check}");
    let program = |more: &str| {
        format!(
            "import random\n\n\ndef grade(sample, submission):\n    open('rules.txt').read()\n    return {more}\n"
        )
    };
    let (guesses, rows) = (program("random.random()"), rows(0..1));
    let files = [
        ("graders/g.py", guesses.as_str()),
        ("data.jsonl", &rows),
        ("suite.yaml", &suite),
        ("rules.txt", "x"),
    ];
    let mut session = Session::begin(Space::new(&files), judge(), &[]);
    let mut notes = [(); 2].map(|()| session.telling.wait_event("note")["text"].to_string());
    notes.sort();
    assert!(notes[0].contains("`g.py:grade` reads `rules.txt`, which is not among"), "{notes:?}");
    assert!(notes[1].contains("`quality` is not deterministic"), "{notes:?}");
    save(&session.space, "graders/g.py", &program("0.5"));
    let events = session.telling.events_until("evaluated");
    let rest = session.end();
    assert!(events.iter().chain(&rest).all(|event| event["event"] != "note"), "{events:?}");
}

/// A grader of what a program extracts, and a judge.
const EXTRACTING: &str = "\
name: support
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, max_retries: 0}
  right: {kind: tool, function: contains, extractor: 'pick.py:pick'}
";

/// What is extracted is forgotten when it was graded, and known again before anything that rests on it is made anew.
#[test]
fn a_verdict_of_what_a_program_extracted_stays_when_another_is_asked_again() {
    if !has("python3") {
        return;
    }
    let row = |at: usize| json!({"id": format!("s{at}"), "input": "q", "output": "a b", "ground_truth": "b"});
    let program = "def pick(trajectory, config):\n    return trajectory[-1][-1].content\n";
    let space = Space::new(&[
        ("suite.yaml", EXTRACTING),
        ("rubric.txt", super::POLITE),
        ("data.jsonl", &jsonl((0..2).map(row))),
        ("pick.py", program),
    ]);
    let mut session = Session::begin(space, judge(), &[]);
    session.telling.wait_event("evaluated");
    // The same texts are picked without it, and what it gave is forgotten meanwhile.
    for suite in [EXTRACTING.replace(", extractor: 'pick.py:pick'", ""), EXTRACTING.to_owned()] {
        save(&session.space, "suite.yaml", &suite);
        session.telling.wait_event("evaluated");
    }
    let refresh = json!({"command": "refresh", "sample_id": "s0", "grader": "quality"});
    session.telling.say(&refresh.to_string());
    let told = session.telling.wait_event("evaluated");
    assert_eq!(
        (&told["metrics"]["right"]["mean"], &told["counts"]["pending"]),
        (&json!(1.0), &json!(0))
    );
    session.end();
}

/// What is said to be broken, and where.
fn problem(event: &serde_json::Value) -> String {
    assert_eq!(event["event"], "broken_files");
    let [problem] = event["problems"].as_array().unwrap().as_slice() else {
        panic!("one problem in {event}");
    };
    let text = |name: &str| problem[name].as_str().unwrap();
    format!("{}:{} {}", text("path"), problem["line"], text("message"))
}
