//! `evalrs watch` over programs: what each save of a file that they rest on calls, and nothing else.
#![expect(clippy::disallowed_methods, reason = "tests save files as editors do")]

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::executable;
use crate::events::Telling;
use crate::space::{Space, has};

const SUITE: &str = "\
name: s
dataset: rows.jsonl
graders:
  function: {kind: tool, function: 'f.py:f'}
  shell: {kind: program, path: g.sh, inputs: [rules.txt]}
";

const FUNCTION: &str =
    "import helper\n\n\ndef f(sample, submission):\n    return helper.share(submission)\n";
const HELPER: &str = "def share(text):\n    return 0.5\n";
const SHELL: &str = "#!/bin/sh\necho \"{\\\"pass\\\":true,\\\"score\\\":$(cat rules.txt)}\"\n";

/// Saves a file as careful editors do: never is a half of it there.
fn save(space: &Space, path: &str, text: &str) {
    space.write(".saved", text);
    if path.split_once('.').is_some_and(|(_, ending)| ending == "sh") {
        executable(space, ".saved");
    }
    std::fs::rename(space.path(".saved"), space.path(path)).unwrap();
}

struct Session {
    space: Space,
    telling: Telling,
}

impl Session {
    /// A session over three records whose first evaluation calls both programs for each.
    fn new() -> Self {
        let rows: String = (0..3)
            .map(|at| format!("{{\"id\":\"{at}\",\"input\":\"q\",\"output\":\"answer {at}\"}}\n"))
            .collect();
        let space = Space::new(&[
            ("suite.yaml", SUITE),
            ("rows.jsonl", &rows),
            ("f.py", FUNCTION),
            ("helper.py", HELPER),
            ("g.sh", SHELL),
            ("rules.txt", "0.25"),
        ]);
        executable(&space, "g.sh");
        let command = space.command(&["watch", "suite.yaml", "--json"]);
        let mut session = Self { telling: Telling::new(command), space };
        let first = session.telling.wait_event("evaluated");
        assert_eq!(told(&first), (6, json!([0.5, 0.25])));
        session
    }

    /// Saves a text and returns the files that were said to be saved, how many calls each grader made, and what came of
    /// it.
    fn save(&mut self, path: &str, text: &str) -> (Value, BTreeMap<String, usize>, (u64, Value)) {
        save(&self.space, path, text);
        let events = self.telling.events_until("evaluated");
        let mut called = BTreeMap::new();
        for event in events.iter().filter(|event| event["event"] == "verdict") {
            *called.entry(event["grader"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        let last = events.last().unwrap();
        (last["files"].clone(), called, told(last))
    }

    fn end(self) {
        self.telling.interrupt();
        let (_, ran) = self.telling.finish();
        assert_eq!((ran.code(), ran.stderr().as_str()), (130, ""));
    }
}

/// How much was called, and the means of both graders.
fn told(evaluated: &Value) -> (u64, Value) {
    let means = ["function", "shell"].map(|name| evaluated["metrics"][name]["mean"].clone());
    (evaluated["actions"]["asked"].as_u64().unwrap(), json!(means))
}

fn calls(grader: &str) -> BTreeMap<String, usize> {
    BTreeMap::from([(grader.to_owned(), 3)])
}

#[test]
fn a_save_calls_the_programs_that_rest_on_it() {
    if !has("python3") || !has("sh") {
        return;
    }
    let mut session = Session::new();
    for (path, text, grader, means) in [
        (
            "f.py",
            FUNCTION.replace("helper.share(submission)", "helper.share(submission) / 2"),
            "function",
            [0.25, 0.25],
        ),
        // It was seen to be loaded, nobody declared it.
        ("helper.py", HELPER.replace("0.5", "1.0"), "function", [0.5, 0.25]),
        ("rules.txt", "0.75".to_owned(), "shell", [0.5, 0.75]),
        ("g.sh", SHELL.replace("$(cat rules.txt)", "1"), "shell", [0.5, 1.0]),
    ] {
        let told = session.save(path, &text);
        assert_eq!(told, (json!([path]), calls(grader), (3, json!(means))), "{path}");
    }
    // What nobody reads is no save: the next one is that of the rules, which the program does not read any more.
    save(&session.space, "other.py", "x = 1\n");
    save(&session.space, "notes.txt", "x");
    let (files, called, told) = session.save("rules.txt", "0.5");
    assert_eq!(
        (files, called, told),
        (json!(["rules.txt"]), calls("shell"), (3, json!([0.5, 1.0])))
    );
    // Back to what was graded before.
    let (files, called, told) = session.save("f.py", FUNCTION);
    assert_eq!((files, called, told.0), (json!(["f.py"]), calls("function"), 3));
    let (_, _, told) = session.save("helper.py", HELPER);
    assert_eq!(told, (0, json!([0.5, 1.0])), "that is in the store");
    session.end();
}

#[test]
fn a_helper_that_nobody_declared_is_watched_from_the_first_evaluation_on() {
    if !has("python3") || !has("sh") {
        return;
    }
    let mut session = Session::new();
    let told = session.save("helper.py", &HELPER.replace("0.5", "1.0"));
    assert_eq!(told, (json!(["helper.py"]), calls("function"), (3, json!([1.0, 0.25]))));
    session.end();
}

#[test]
fn a_function_that_cannot_be_loaded_is_mended() {
    if !has("python3") || !has("sh") {
        return;
    }
    let mut session = Session::new();
    // What was evaluated stays, and nothing is called.
    save(&session.space, "f.py", &FUNCTION.replace("submission):", "submission:"));
    assert_eq!(session.telling.next_event()["event"], "broken_files");
    let halved = FUNCTION.replace("(submission)", "(submission) / 2");
    let (files, called, told) = session.save("f.py", &halved);
    assert_eq!(
        (files, called, told),
        (json!(["f.py"]), calls("function"), (3, json!([0.25, 0.25])))
    );
    let (_, _, told) = session.save("f.py", FUNCTION);
    assert_eq!(told, (0, json!([0.5, 0.25])), "that is in the store");
    session.end();
}

#[test]
fn what_is_loaded_after_an_edit_that_was_taken_back_is_in_the_keys() {
    if !has("python3") {
        return;
    }
    // Its calls wait until the test lets them go on, and load a module only then.
    let waiting = "\
import os
import time


def f(sample, submission):
    open('held', 'w').close()
    while not os.path.exists('go'):
        time.sleep(0.01)
    import late
    return late.SCORE
";
    let suite = "name: s\ndataset: rows.jsonl\ngraders:\n  f: {kind: tool, function: 'f.py:f'}\n";
    let space = Space::new(&[
        ("suite.yaml", suite),
        ("rows.jsonl", "{\"id\":\"a\",\"input\":\"q\",\"output\":\"b\"}\n"),
        ("f.py", waiting),
        ("late.py", "SCORE = 0.5\n"),
    ]);
    let mut telling = Telling::new(space.command(&["watch", "suite.yaml", "--json"]));
    while !space.path("held").exists() {
        std::thread::yield_now();
    }
    save(&space, "f.py", "def f(sample, submission):\n    return 0.25\n");
    assert_eq!(telling.wait_event("evaluated")["metrics"]["f"]["mean"], json!(0.25));
    save(&space, "f.py", waiting);
    telling.wait_event("saved");
    space.write("go", "");
    assert_eq!(telling.wait_event("evaluated")["metrics"]["f"]["mean"], json!(0.5));
    telling.interrupt();
    assert_eq!(telling.finish().1.code(), 130);
    space.write("late.py", "SCORE = 0.75\n");
    super::run(&space, &[], 0);
    assert_eq!(super::verdicts(&space, "f"), ["0.75 false "]);
}

/// A suite of one grader, a function in a folder.
const DEEP: &str =
    "name: s\ndataset: rows.jsonl\ngraders:\n  f: {kind: tool, function: 'graders/f.py:f'}\n";
const ROW: &str = "{\"id\":\"a\",\"input\":\"q\",\"output\":\"b\"}\n";

/// Waits until it is told that the mean of the grader `f` is this one.
fn wait_mean(telling: &mut Telling, mean: f64) {
    while telling.wait_event("evaluated")["metrics"]["f"]["mean"] != json!(mean) {}
}

#[test]
fn a_program_that_cannot_be_loaded_is_not_loaded_again_while_nobody_saves() {
    if !has("python3") {
        return;
    }
    let broken = |why: &str| format!("open('log', 'a').write('x')\nraise ValueError('{why}')\n");
    let space = Space::new(&[
        ("suite.yaml", DEEP),
        ("rows.jsonl", ROW),
        ("log", ""),
        ("graders/f.py", &broken("one")),
    ]);
    let mut telling = Telling::new(space.command(&["watch", "suite.yaml", "--json"]));
    telling.wait_event("broken_files");
    let loaded = || {
        // Long enough to load it many times.
        for _ in 0..40 {
            assert_eq!(space.run(&["cache", "path"]).code(), 0);
        }
        std::fs::read_to_string(space.path("log")).unwrap().len()
    };
    // What is looked at anew may have been saved before that, which is why it is loaded more than once.
    let first = loaded();
    assert!(first <= 3, "loaded {first} times");
    save(&space, "graders/f.py", &broken("two"));
    telling.wait_event("broken_files");
    assert_eq!(loaded(), first + 1);
    save(&space, "graders/f.py", "def f(sample, submission):\n    return 0.5\n");
    wait_mean(&mut telling, 0.5);
    save(&space, "graders/f.py", &broken("three"));
    telling.wait_event("broken_files");
    let later = loaded() - first - 1;
    assert!(later <= 2, "loaded {later} times");
    telling.interrupt();
    assert_eq!(telling.finish().1.code(), 130);
}

#[test]
fn a_module_that_was_never_loaded_is_mended() {
    if !has("python3") {
        return;
    }
    let space = Space::new(&[
        ("suite.yaml", DEEP),
        ("rows.jsonl", ROW),
        ("graders/f.py", "def f(sample, submission):\n    return 1.0\n"),
        ("graders/sub/helper.py", "SCORE = (\n"),
    ]);
    let mut telling = Telling::new(space.command(&["watch", "suite.yaml", "--json"]));
    wait_mean(&mut telling, 1.0);
    let importing =
        "from sub import helper\n\n\ndef f(sample, submission):\n    return helper.SCORE\n";
    save(&space, "graders/f.py", importing);
    let broken = telling.wait_event("broken_files");
    assert_eq!(broken["problems"][0]["path"], json!("graders/sub/helper.py"));
    save(&space, "graders/sub/helper.py", "SCORE = 0.5\n");
    wait_mean(&mut telling, 0.5);
    save(&space, "graders/sub/helper.py", "SCORE = 0.25\n");
    wait_mean(&mut telling, 0.25);
    telling.interrupt();
    assert_eq!(telling.finish().1.code(), 130);
}

#[test]
fn what_a_program_needs_to_run_is_noticed_when_it_is_made() {
    if !has("sh") {
        return;
    }
    let suite = "name: s\ndataset: rows.jsonl\ngraders:\n  f: {kind: program, path: g.sh, cwd: work/here}\n";
    let needing = suite.replace("work/here", "work/there, runtime: bin/run");
    let shell = "#!/bin/sh\necho '{\"pass\":true,\"score\":0.5}'\n";
    let space = Space::new(&[("suite.yaml", suite), ("rows.jsonl", ROW), ("g.sh", shell)]);
    executable(&space, "g.sh");
    let mut telling = Telling::new(space.command(&["watch", "suite.yaml", "--json"]));
    let why = |event: &Value| event["problems"][0]["message"].as_str().unwrap().to_owned();
    let missing = |what: &str| format!("cannot call `g.sh`: {what}");
    let broken = telling.wait_event("broken_files");
    assert_eq!(why(&broken), missing("`cwd`: the folder `work/here` does not exist"));
    std::fs::create_dir_all(space.path("work/here")).unwrap();
    wait_mean(&mut telling, 0.5);
    // A session that was good is as attentive.
    save(&space, "suite.yaml", &needing);
    let broken = telling.wait_event("broken_files");
    assert_eq!(why(&broken), missing("`cwd`: the folder `work/there` does not exist"));
    std::fs::create_dir(space.path("work/there")).unwrap();
    let broken = telling.wait_event("broken_files");
    assert_eq!(why(&broken), missing("`runtime`: no program `bin/run`"));
    space.write("run", "#!/bin/sh\necho '{\"pass\":true,\"score\":0.25}'\n");
    executable(&space, "run");
    std::fs::create_dir(space.path("bin")).unwrap();
    std::fs::rename(space.path("run"), space.path("bin/run")).unwrap();
    wait_mean(&mut telling, 0.25);
    telling.interrupt();
    assert_eq!(telling.finish().1.code(), 130);
}
