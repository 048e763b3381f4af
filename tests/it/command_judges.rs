//! Commands that judge, through the binary: what they are handed, what is kept of them, and what becomes of those that fail.
#![expect(
    clippy::disallowed_methods,
    reason = "tests look at what commands have noted, and wait for their processes"
)]

use std::time::Instant;

use serde_json::{Value, json};

use crate::events::Telling;
use crate::judge::PATIENCE;
use crate::programs::executable;
use crate::space::{Ran, Running, Space, has, jsonl};

/// A judge that notes what it is handed in the file `runs` beside it, and does what the submission says.
const JUDGE: &str = r#"
import json, os, re, signal, sys, time
here = os.path.dirname(os.path.abspath(__file__))
handed = sys.stdin.read()
with open(os.path.join(here, "runs"), "a") as runs:
    runs.write(json.dumps([sys.argv[1:], handed, os.environ.get("MODE"), os.environ.get("MY_TOKEN")]) + "\n")
words = re.search("@[(](.*?)[)]@", " ".join(sys.argv[1:]) + handed).group(1)
rule = open(os.path.join(here, "rules", "tone.txt")).read().strip()
print("about", words, file=sys.stderr)
if "MY_TOKEN" in os.environ: print(os.environ["MY_TOKEN"], file=sys.stderr)
def runs_of(words):
    return sum(1 for line in open(os.path.join(here, "runs")) if "@(" + words + ")@" in line)
if words == "exit": sys.exit(3)
if words == "signal": os.kill(os.getpid(), signal.SIGKILL)
if words == "hang":
    with open(os.path.join(here, "pids"), "w") as pids:
        child = os.fork()
        if child: pids.write("%d %d" % (os.getpid(), child))
    time.sleep(600)
if words == "garbage": print("I like it."); sys.exit()
if words == "silence": sys.exit()
if words == "flood":
    for at in range(9): print("x" * (1 << 20))
    sys.exit()
if words == "range": print('{"score": 7}'); sys.exit()
if words == "late" and runs_of("late") < 3: print("hm"); sys.exit()
if words == "flaky" and runs_of("flaky") < 2: sys.exit(1)
if words == "child" and os.fork() == 0: time.sleep(600)
if words == "says and exits": print('{"score": 1}', flush=True); sys.exit(4)
print("I thought about it.\n```json\n" + json.dumps({"rationale": rule, "score": 0.5 if words == "half" else 1}) + "\n```")
"#;

const SUITE: &str = "
name: judged
dataset: data.jsonl
graders:
  q:
    kind: rubric
    prompt: 'Is it kind? @({submission})@'
    fence: false
    allow: [unfenced]
    command: [python3, judge.py]
    inputs: ['rules/**']
    pass_threshold: 0.5
";

/// A space whose rows submit these words; none where nothing runs the judge.
fn space(suite: &str, words: &[&str]) -> Option<Space> {
    let rows = words.iter().map(|words| json!({"id": words, "input": "q", "output": words}));
    has("python3").then(|| {
        Space::new(&[
            ("suite.yaml", suite),
            ("data.jsonl", &jsonl(rows)),
            ("judge.py", JUDGE),
            ("rules/tone.txt", "be kind"),
        ])
    })
}

#[track_caller]
fn run(space: &Space, args: &[&str], code: i32) -> Ran {
    let ran = space.run(&[&["run", "suite.yaml", "--quiet"], args].concat());
    assert_eq!(ran.code(), code, "{}", ran.shown());
    ran
}

/// What the judge was handed since the last call, a run each: its words, its standard input and two variables.
fn runs(space: &Space) -> Vec<[Value; 4]> {
    let path = space.path("runs");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_a_command_was_handed_and_printed_is_explained() {
    let Some(space) = space(SUITE, &["late", "garbage"]) else { return };
    let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
    command.env("MY_TOKEN", "hush-hush-hush");
    command.output().unwrap();
    let handed = runs(&space);
    let sent = |sample: &str| -> Value {
        let ran = space.run(&["explain", "suite.yaml", sample, "--prompt", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout()).unwrap();
        report["results"][0]["graders"]["q"][0].clone()
    };
    let late = sent("late");
    let exchanges = late["exchanges"].as_array().unwrap();
    let replies: Vec<&str> =
        exchanges.iter().map(|sent| sent["reply"].as_str().unwrap().trim_end()).collect();
    assert_eq!(&replies[..2], ["hm", "hm"]);
    assert!(replies[2].contains("be kind") && late["failure"].is_null(), "{late}");
    // Each request is what the command was handed, byte for byte.
    let of_late = handed.iter().filter(|run| run[1].as_str().unwrap().contains("@(late)@"));
    let of_late: Vec<&Value> = of_late.map(|run| &run[1]).collect();
    let requests: Vec<&Value> =
        exchanges.iter().map(|sent| &sent["request"]["standard_input"]).collect();
    assert_eq!(requests, of_late);
    let garbage = sent("garbage");
    assert_eq!(garbage["failure"]["kind"], "invalid_reply");
    let text = space.run(&["explain", "suite.yaml", "garbage", "--prompt"]).stdout();
    for part in ["q: vote 0 of", "@(garbage)@", "I like it.", "failure invalid_reply"] {
        assert!(text.contains(part), "no `{part}`:\n{text}");
    }
    assert!(!text.contains("hush") && !late.to_string().contains("hush"), "{text}");
}

/// What is told of each row.
fn told(space: &Space) -> String {
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let grade = &line["grades"]["q"];
        let said = match grade["error"]["kind"].as_str() {
            Some(kind) => format!("{kind}: {}", grade["error"]["message"].as_str().unwrap()),
            None => grade["score"].to_string(),
        };
        format!("{}: {said}\n", line["sample_id"].as_str().unwrap())
    };
    space.record("results.jsonl").lines().map(line).collect()
}

#[test]
fn what_fails_is_an_error_and_never_a_score() {
    let suite = SUITE.to_owned() + "    timeout: 300\n    retries: 1\n";
    let words = [
        "exit",
        "signal",
        "garbage",
        "silence",
        "flood",
        "range",
        "late",
        "flaky",
        "child",
        "says and exits",
    ];
    let Some(space) = space(&suite, &words) else { return };
    run(&space, &["--max-identical-failures", "99"], 3);
    insta::assert_snapshot!(told(&space), @r"
    exit: judge_failed: the judge exited with code 3: about exit
    signal: judge_failed: the judge was ended by signal 9 (SIGKILL): about signal
    garbage: invalid_reply: invalid reply, asked 3 times: the reply is not a JSON object: expected value
    silence: empty_reply: the judge printed nothing: about silence
    flood: output_limit: the judge printed more than 8 MB
    range: invalid_reply: invalid reply, asked 3 times: `score` is 7, outside 0 to 1
    late: 1.0
    flaky: 1.0
    child: 1.0
    says and exits: judge_failed: the judge exited with code 4: about says and exits
    ");
    let runs_of = |runs: &[[Value; 4]], words: &str| {
        let words = format!("@({words})@");
        runs.iter().filter(|run| run[1].as_str().unwrap().contains(&words)).count()
    };
    let first = runs(&space);
    let counts = words.map(|words| runs_of(&first, words));
    assert_eq!(counts, [2, 2, 3, 1, 1, 3, 3, 2, 1, 2]);
    let last = first.iter().rfind(|run| run[1].as_str().unwrap().contains("@(range)@")).unwrap();
    let reminded = last[1].as_str().unwrap().split_once("---").unwrap().1;
    insta::assert_snapshot!(reminded.trim_start(), @r#"
    You replied "{"score": 7}" before. That is no valid verdict: `score` is 7, outside 0 to 1. Reply again with one JSON object: {"rationale": <string>, "score": <number from 0 to 1>}.

    ---

    You replied "{"score": 7}" before. That is no valid verdict: `score` is 7, outside 0 to 1. Reply again with one JSON object: {"rationale": <string>, "score": <number from 0 to 1>}.
    "#);
    run(&space, &["--max-identical-failures", "99"], 3);
    let again = runs(&space);
    let counts = words.map(|words| runs_of(&again, words));
    assert_eq!(counts, [2, 2, 0, 0, 0, 0, 0, 0, 0, 2], "what may pass is asked again");
}

/// Notes that it runs and waits for what never comes; the stubborn one has a child, and both do not end when asked to.
const ENDLESS: &str = "#!/bin/sh
words=slow
case $(cat) in *'@(stubborn)@'*) words=stubborn; trap '' TERM; tail -f /dev/null & esac
echo $words >> runs
echo about $words >&2
tail -f /dev/null
";

/// The limit leaves a shell the time to begin on a busy machine.
#[test]
fn a_command_that_does_not_end_is_ended_and_asked_again() {
    let suite = SUITE.replace("[python3, judge.py]", "[./judge.sh]") + "    timeout: 5\n";
    let Some(space) = space(&(suite.clone() + "    retries: 1\n"), &["slow", "stubborn"]) else {
        return;
    };
    space.write("judge.sh", ENDLESS);
    executable(&space, "judge.sh");
    run(&space, &[], 3);
    assert_eq!(
        told(&space),
        "slow: timeout: no answer within 5 s\nstubborn: timeout: no answer within 5 s\n"
    );
    let slow: Value =
        serde_json::from_str(space.record("results.jsonl").lines().next().unwrap()).unwrap();
    assert_eq!(slow["grades"]["q"]["metadata"]["stderr"], "about slow");
    let counts = || {
        let runs = space.read("runs");
        ["slow", "stubborn"].map(|words| runs.lines().filter(|line| *line == words).count())
    };
    assert_eq!(counts(), [2, 2], "each is tried once more");
    space.write("suite.yaml", suite + "    retries: 0\n");
    run(&space, &[], 3);
    assert_eq!(counts(), [3, 3], "it is not stored");
}

#[test]
fn an_interruption_leaves_no_judge_behind() {
    let Some(space) = space(SUITE, &["good", "hang"]) else { return };
    let running = Running::new(space.command(&["run", "suite.yaml"]));
    space.wait_stored(1);
    let since = Instant::now();
    while !space.path("pids").exists() || space.read("pids").is_empty() {
        assert!(since.elapsed() < PATIENCE, "the judge never began");
        std::thread::yield_now();
    }
    running.interrupt();
    assert_eq!(running.finish().code(), 130);
    let pids = space.read("pids");
    let is_alive = |pid: &str| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !status.is_empty() && !status.contains(") Z ")
    };
    while pids.split(' ').any(is_alive) {
        assert!(since.elapsed() < PATIENCE, "{pids} are still there");
        std::thread::yield_now();
    }
    assert_eq!(space.stored_lines().len(), 1, "what was finished is kept");
}

#[test]
fn no_more_judges_run_at_once_than_is_said() {
    let suite = SUITE.replace("[python3, judge.py]", "[./judge.sh]");
    let words: Vec<String> = (0..12).map(|at| format!("w{at}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(space) = space(&suite, &words) else { return };
    // One that finds another at work says so.
    let judge = "#!/bin/sh\nif mkdir lock 2>/dev/null; then score=1; else score=0; fi\ncat >/dev/null\nsleep 0.02\n\
                 [ $score = 1 ] && rmdir lock\necho \"{\\\"score\\\": $score}\"\n";
    space.write("judge.sh", judge);
    executable(&space, "judge.sh");
    run(&space, &["--max-concurrent", "1"], 0);
    assert!(!told(&space).contains(": 0.0"), "{}", told(&space));
}

#[test]
fn watch_asks_again_when_the_judge_is_edited() {
    let Some(space) = space(SUITE, &["good", "half"]) else { return };
    let mut telling = Telling::new(space.command(&["watch", "suite.yaml", "--json"]));
    let mean = |told: &Value| told["metrics"]["q"]["mean"].clone();
    assert_eq!(mean(&telling.wait_event("evaluated")), json!(0.75));
    assert_eq!(runs(&space).len(), 2);
    space.write(".saved", "be very kind");
    std::fs::rename(space.path(".saved"), space.path("rules/tone.txt")).unwrap();
    let told = telling.wait_event("evaluated");
    assert_eq!(
        (&told["files"], &told["actions"]["asked"]),
        (&json!(["rules/tone.txt"]), &json!(2))
    );
    space.write(".saved", JUDGE.replace("0.5 if", "0.25 if"));
    std::fs::rename(space.path(".saved"), space.path("judge.py")).unwrap();
    assert_eq!(mean(&telling.wait_event("evaluated")), json!(0.625));
    telling.interrupt();
    assert_eq!(telling.finish().1.code(), 130);
}
