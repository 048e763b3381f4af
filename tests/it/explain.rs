//! `evalrs explain`: where a verdict comes from, and what differs from an earlier run.
#![expect(clippy::disallowed_methods, reason = "tests remove their own files")]

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space, lines};

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  exact: {kind: tool, function: exact_match}
  quality: {kind: rubric, prompt_path: rubric.txt, model: judge-1, endpoint: test, max_retries: 0}
gate: {metric_key: exact, metric: avg_score, op: gte, value: 0.0}
";

const RUBRIC: &str = "Is the reply polite, short and correct? {submission}\n";

fn rows() -> Vec<Value> {
    let row = |id, output| json!({"id": id, "input": "May I return it?", "ground_truth": "yes", "output": output});
    vec![row("a", "Yes, within a month."), row("b", "no")]
}

fn space() -> Space {
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &lines(rows())), ("rubric.txt", RUBRIC)])
}

/// What is shown, without times, versions and digests.
fn shown(ran: &Ran) -> String {
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").unwrap();
    let version = regex::Regex::new(r"evalrs \d+\.\d+\.\d+").unwrap();
    let text = ran.shown();
    let text = time.replace_all(&text, "TIME");
    let key = regex::Regex::new("[0-9a-f]{64}").unwrap();
    let digest = regex::Regex::new("  [0-9a-f]{12}  ").unwrap();
    let text = key.replace_all(&text, "(key)");
    let text = digest.replace_all(&text, "  (digest)      ");
    version.replace_all(&text, "evalrs VERSION").into_owned()
}

fn run(space: &Space, judge: &Judge) {
    assert_eq!(space.run_with(judge, &["run", "suite.yaml", "--quiet"]).code(), 0);
}

fn explained(space: &Space, args: &[&str]) -> Value {
    let ran = space.run(&[&["explain", "suite.yaml"], args, &["--json"]].concat());
    assert_eq!((ran.code(), ran.stderr()), (0, String::new()), "{}", ran.shown());
    serde_json::from_str(&ran.stdout()).unwrap()
}

#[test]
fn what_was_not_run_yet_is_explained_too() {
    let space = space();
    insta::assert_snapshot!(shown(&space.run(&["explain", "suite.yaml", "a"])), @r#"
    exit: 0
    --- stdout
    a  support
    input       May I return it?
    expected    yes

    exact: 0.000, not passed
      rationale   Exact match: False
      submission  Yes, within a month.
      function    exact_match
      looked at   submission, ground truth
      key         none: no judge is asked
      there is no record of an earlier run

    quality: not judged yet
      submission  Yes, within a month.
      judgment of judge-1, vote 0
        key         (key)
        outcome     not stored
        to ask      first run
        kind                           judge
        provider                       openai
        endpoint                       test
        model                          judge-1
        system           (digest)      You are an evaluator. You are given a rubric, what an agent was…
        user             (digest)      Is the reply polite, short and correct? <submission-638beb28af90…
        temperature                    0
        seed                           (absent)
        max_tokens                     (absent)
        top_p                          (absent)
        extra_body                     (empty)
        headers                        (empty)
        response_format                auto
        response_schema                {"type":"object","properties":{"rationale":{"type":"string"},"sc…
        vote                           0
      there is no record of an earlier run
    --- stderr
    "#);
}

#[test]
fn a_stored_verdict_says_where_it_comes_from() {
    let (space, judge) = (space(), Judge::new(|_, _| Answer::score(0.75)));
    run(&space, &judge);
    insta::assert_snapshot!(shown(&space.run(&["explain", "suite.yaml", "a", "quality"])), @r#"
    exit: 0
    --- stdout
    a  support
    input       May I return it?
    expected    yes

    quality: 0.750, not passed
      rationale   scored 0.75
      submission  Yes, within a month.
      judgment of judge-1, vote 0
        key         (key)
        reply       {"score":0.75,"rationale":"scored 0.75"}
        by          scripted-1 says it answered; 10 tokens in, 2 out
        asked       TIME by evalrs VERSION
        kept in     the local store cache
        kind                           judge
        provider                       openai
        endpoint                       test
        model                          judge-1
        system           (digest)      You are an evaluator. You are given a rubric, what an agent was…
        user             (digest)      Is the reply polite, short and correct? <submission-638beb28af90…
        temperature                    0
        seed                           (absent)
        max_tokens                     (absent)
        top_p                          (absent)
        extra_body                     (empty)
        headers                        (empty)
        response_format                auto
        response_schema                {"type":"object","properties":{"rationale":{"type":"string"},"sc…
        vote                           0
      the same key as in run RUN
    --- stderr
    "#);
}

#[test]
fn what_differs_from_the_last_other_run_is_shown_word_by_word() {
    let (space, judge) = (space(), Judge::new(|_, _| Answer::score(0.75)));
    run(&space, &judge);
    space.write("rubric.txt", RUBRIC.replace("short and correct", "honest and correct"));
    space.write("data.jsonl", lines(rows()).replace("within a month", "within two weeks"));
    insta::assert_snapshot!(shown(&space.run(&["explain", "suite.yaml", "a", "quality"])), @r#"
    exit: 0
    --- stdout
    a  support
    input       May I return it?
    expected    yes

    quality: not judged yet
      submission  Yes, within two weeks.
      judgment of judge-1, vote 0
        key         (key)
        outcome     not stored
        to ask      rubric edited
        kind                           judge
        provider                       openai
        endpoint                       test
        model                          judge-1
        system           (digest)      You are an evaluator. You are given a rubric, what an agent was…
        user             (digest)      Is the reply polite, honest and correct? <submission-c9c114c3e81…
        temperature                    0
        seed                           (absent)
        max_tokens                     (absent)
        top_p                          (absent)
        extra_body                     (empty)
        headers                        (empty)
        response_format                auto
        response_schema                {"type":"object","properties":{"rationale":{"type":"string"},"sc…
        vote                           0
      differs from run RUN
        key then    (key)
        ingredients system, user
        rubric
          Is the reply polite, [-short-]{+honest+} and correct? {submission}
        submission
          Yes, within [-a month-]{+two weeks+}.
    --- stderr
    "#);
    run(&space, &judge);
    run(&space, &judge);
    let after = explained(&space, &["a", "quality"]);
    let against = &after["results"][0]["graders"]["quality"]["against"];
    assert_eq!(
        (&against["is_same"], &against["differs"]),
        (&json!(false), &json!(["system", "user"]))
    );
    let names: Vec<&Value> =
        against["texts"].as_array().unwrap().iter().map(|text| &text["name"]).collect();
    assert_eq!(names, ["rubric", "submission"]);
    let last = space.read(".evalrs/latest");
    let same = explained(&space, &["a", "quality", "--run", last.trim()]);
    let against = &same["results"][0]["graders"]["quality"]["against"];
    assert_eq!((&against["is_same"], &against["run"]), (&json!(true), &json!(last.trim())));
    let folder = format!(".evalrs/runs/{}", space.names(".evalrs/runs")[0]);
    let first = explained(&space, &["a", "quality", "--run", &folder]);
    assert_eq!(first["results"][0]["graders"]["quality"]["against"]["is_same"], false);
}

#[test]
fn settings_are_compared_by_the_record_where_the_store_has_lost_the_key() {
    let (space, judge) = (space(), Judge::new(|_, _| Answer::score(0.75)));
    run(&space, &judge);
    space.write("suite.yaml", SUITE.replace("judge-1,", "judge-2, seed: 7,"));
    let against = |space: &Space| {
        explained(space, &["a"])["results"][0]["graders"]["quality"]["against"].clone()
    };
    let by_keys = against(&space);
    assert_eq!(by_keys["differs"], json!(["model", "seed"]));
    let store = space.segments();
    assert_eq!(store.len(), 1);
    std::fs::remove_file(&store[0]).unwrap();
    let by_record = against(&space);
    assert_eq!(
        (&by_record["by_ingredients"], &by_record["differs"]),
        (&json!(false), &json!(["model", "seed"]))
    );
    let values = json!([
        {"name": "model", "before": "judge-1", "after": "judge-2"},
        {"name": "seed", "before": "(absent)", "after": "7"},
    ]);
    assert_eq!([&by_keys["values"], &by_record["values"]], [&values, &values]);
    let told = space.run(&["explain", "suite.yaml", "a"]).stdout();
    assert!(told.contains("model judge-1 → judge-2, seed (absent) → 7"), "{told}");
}

#[test]
fn a_function_has_no_key_and_what_it_saw() {
    let (space, judge) = (space(), Judge::new(|_, _| Answer::score(0.75)));
    run(&space, &judge);
    insta::assert_snapshot!(shown(&space.run(&["explain", "suite.yaml", "b", "exact"])), @r#"
    exit: 0
    --- stdout
    b  support
    input       May I return it?
    expected    yes

    exact: 0.000, not passed
      rationale   Exact match: False
      submission  no
      function    exact_match
      looked at   submission, ground truth
      key         none: no judge is asked
      the same texts as in run RUN
    --- stderr
    "#);
    space.write("data.jsonl", lines(rows()).replace("\"no\"", "\"yes\""));
    let after = explained(&space, &["b", "exact"]);
    let exact = &after["results"][0]["graders"]["exact"];
    assert_eq!(
        (&exact["grade"]["score"], &exact["against"]["differs"]),
        (&json!(1.0), &json!(["submission"]))
    );
}

#[test]
fn failures_imports_and_committed_judgments_say_where_they_are_from() {
    let (space, judge) = (space(), Judge::new(|_, _| Answer::error(400, "no such model")));
    space.run_with(&judge, &["run", "suite.yaml"]);
    let text = shown(&space.run(&["explain", "suite.yaml", "a", "quality"]));
    assert!(text.contains("quality: error") && text.contains("bad_request"), "{text}");
    let (space, judge) = (self::space(), Judge::new(|_, _| Answer::score(0.75)));
    run(&space, &judge);
    assert_eq!(space.run(&["cache", "export", "suite.yaml"]).code(), 0);
    std::fs::remove_file(&space.segments()[0]).unwrap();
    let kept = explained(&space, &["a", "quality"])["results"][0]["graders"]["quality"]["actions"]
        [0]["outcome"]
        .clone();
    assert_eq!(kept["layer"], "the committed file cache/support.judgments.jsonl");
    assert_eq!((&kept["imported_from"], &kept["model"]), (&Value::Null, &json!("scripted-1")));
}

#[test]
fn trials_and_models_are_headed_or_narrowed() {
    let row = |trial: u32, model: &str| json!({"id": "a", "input": "q", "output": format!("{model} {trial}"), "trial": trial, "model": model});
    let space = space();
    space.write("data.jsonl", lines([row(0, "m"), row(1, "m"), row(0, "n"), row(1, "n")]));
    space.write("suite.yaml", SUITE.replace("exact_match", "ascii_printable_only"));
    let heads = |args: &[&str]| {
        let all = explained(&space, args);
        let results = all["results"].as_array().unwrap().iter();
        results
            .map(|result| format!("{} {}", result["model"].as_str().unwrap(), result["trial"]))
            .collect::<Vec<_>>()
    };
    assert_eq!(heads(&["a"]), ["m 0", "m 1", "n 0", "n 1"]);
    assert_eq!(heads(&["a", "--trial", "1"]), ["m 1", "n 1"]);
    assert_eq!(heads(&["a", "--trial", "1", "--model", "n"]), ["n 1"]);
    insta::assert_snapshot!(shown(&space.run(&["explain", "suite.yaml", "a", "--trial", "7"])), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `a` has no such trial or model
      help: there is trial 0 of `m`, trial 1 of `m`, trial 0 of `n`, trial 1 of `n`
    "#);
    let text = space.run(&["explain", "suite.yaml", "a", "exact"]).stdout();
    assert!(text.contains("a [n] [trial 1]"), "{text}");
}

#[test]
fn hostile_texts_are_harmless() {
    let evil = "\u{1b}[2J\u{1b}]0;title\u{7}evil\u{202e}\u{0}\r\n";
    let judge =
        Judge::new(move |_, _| Answer::text(&json!({"score": 1.0, "rationale": evil}).to_string()));
    let space = space();
    let row = |output: &str| json!({"id": "a\u{1b}[31m", "input": evil, "ground_truth": evil, "output": output});
    space.write("data.jsonl", lines([row(evil)]));
    run(&space, &judge);
    space.write("data.jsonl", lines([row("\u{9b}31mother")]));
    run(&space, &judge);
    for args in
        [&["explain", "suite.yaml", "a\u{1b}[31m"][..], &["plan", "suite.yaml", "--refresh"]]
    {
        let ran = space.run(args);
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        let text = ran.stdout();
        assert!(
            !text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'),
            "{text:?}"
        );
    }
}

#[test]
fn what_cannot_be_explained_is_an_error() {
    let space = space();
    for args in [
        &["explain", "suite.yaml", "z"][..],
        &["explain", "suite.yaml", "a", "qualty"],
        &["explain", "suite.yaml", "a", "--run", "nowhere"],
    ] {
        let ran = space.run(args);
        assert_eq!((ran.code(), ran.stdout()), (2, String::new()), "{}", ran.shown());
    }
    insta::assert_snapshot!(shown(&space.run(&["explain", "suite.yaml", "z"])), @"
    exit: 2
    --- stdout
    --- stderr
    error: suite.yaml: no sample has the id `z`
      help: the ids are `a`, `b`
    ");
    assert_eq!(space.names(".evalrs"), Vec::<String>::new());
}

#[test]
fn a_verdict_is_explained_with_the_ballots_that_confirm_it_and_no_others() {
    let space = space();
    let of = |space: &Space, sample: &str| {
        let all = explained(space, &[sample, "quality"]);
        let grade = &all["results"][0]["graders"]["quality"];
        let actions = grade["actions"].as_array().unwrap();
        let kept = actions.iter().filter(|action| !action["outcome"].is_null()).count();
        (actions.len(), kept, grade["grade"]["score"].as_f64())
    };
    let judge = Judge::new(|_, asked| {
        Answer::score(if asked.prompt().contains("month") { 0.75 } else { 0.25 })
    });
    space.write(
        "suite.yaml",
        SUITE.replace("judge-1,", "judge-1, confirm_fails: 2, pass_threshold: 0.5,"),
    );
    assert_eq!((of(&space, "a"), of(&space, "b")), ((1, 0, None), (1, 0, None)));
    run(&space, &judge);
    assert_eq!((of(&space, "a"), of(&space, "b")), ((1, 1, Some(0.75)), (3, 3, Some(0.25))));
    // A stricter threshold wants the good one confirmed too.
    space.write(
        "suite.yaml",
        SUITE.replace("judge-1,", "judge-1, confirm_fails: 2, pass_threshold: 0.8,"),
    );
    assert_eq!((of(&space, "a"), of(&space, "b")), ((3, 1, None), (3, 3, Some(0.25))));
    let plan = space.run(&["plan", "suite.yaml", "--json"]).stdout();
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["graders"]["quality"]["reasons"], json!({"new vote": 2}));
    let before = judge.count();
    run(&space, &judge);
    assert_eq!(judge.count() - before, 2);
}

/// What is told of `sample` over these rows: an error or a warning, or that it is explained.
fn check_rows(rows: &str, suite: &str, sample: &str, told: Option<&str>) {
    let space = space();
    space.write("data.jsonl", rows);
    space.write("suite.yaml", suite);
    let ran = space.run(&["explain", "suite.yaml", sample]);
    let stderr = ran.stderr();
    assert_eq!(!stderr.is_empty(), told.is_some(), "{sample} of {rows}: {}", ran.shown());
    assert!(stderr.contains(told.unwrap_or_default()), "{sample} of {rows}: {}", ran.shown());
    assert_eq!(ran.code() == 0, !stderr.contains("error:"), "{sample} of {rows}: {}", ran.shown());
}

#[test]
fn no_row_is_read_but_those_in_which_the_id_stands_unless_something_is_to_be_said() {
    let good = lines(rows());
    let other_broken = format!("{good}{{\"id\": \"x\", \"inp\n");
    let labelled = json!({"id": "a", "input": "i", "output": "o", "label": true});
    let escaped = r#"{"id": "\u0061", "input": "i", "output": "o"}"#;
    let plain = json!({"id": "x", "input": "i", "output": "o"});
    let known = "no sample has the id `z`";
    check_rows(&other_broken, SUITE, "a", None);
    check_rows(&other_broken, SUITE, "x", Some("data.jsonl:3:"));
    check_rows(&other_broken, SUITE, "z", Some("data.jsonl:3:"));
    check_rows(&good, SUITE, "z", Some(known));
    let taken = Some("the id `a` (trial 0) is already taken by line 1");
    check_rows(&format!("{good}{escaped}\n"), SUITE, "a", taken);
    let second_broken = Some("data.jsonl:2:");
    check_rows(&format!("{labelled}\n{{\"id\": \"x\", \"inp\n"), SUITE, "a", second_broken);
    // What no row has is said though it is known of all rows only.
    let mapped = |path: &str| {
        let dataset = format!("dataset: {{path: data.jsonl, fields: {{ground_truth: {path}}}}}");
        SUITE.replace("dataset: data.jsonl", &dataset)
    };
    check_rows(&good, &mapped("truth"), "a", Some("no row of the dataset has `truth`"));
    check_rows(&format!("{good}{plain}\n"), &mapped("ground_truth"), "x", None);
    check_rows(&format!("{plain}\n"), SUITE, "x", Some("no row has a `ground_truth`"));
}

/// A stream can be read once.
#[cfg(unix)]
#[test]
fn a_sample_of_a_stream_is_explained_with_its_labels() {
    use std::io::Write;
    use std::process::Stdio;
    let space = space();
    space.write("suite.yaml", SUITE.replace("data.jsonl", "{path: /dev/stdin, format: jsonl}"));
    let mut command = space.command(&["explain", "suite.yaml", "a", "exact"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let label = |mut row: Value| {
        row["label"] = json!("fail");
        row
    };
    let rows = lines(rows().into_iter().map(label));
    child.stdin.take().unwrap().write_all(rows.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8(ended.stdout).unwrap();
    assert!(ended.status.success() && told.contains("fail; the verdict agrees"), "{told}");
}

#[test]
fn what_waits_for_the_agent_is_pending() {
    let suite = "\
name: s
dataset: data.jsonl
target: {kind: command, command: [sh, -c, 'cat >/dev/null; echo hello'], version: '1'}
graders:
  right: {kind: tool, function: contains, config: {value: hello}}
  tone: {kind: rubric, prompt: 'Polite? {submission}', model: judge-1, endpoint: test}
";
    let row = json!({"id": "a", "input": "q"});
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", &lines([row]))]);
    let told = space.run(&["explain", "suite.yaml", "a"]).stdout();
    for grader in ["right", "tone"] {
        let pending = format!("{grader}: pending: the agent has not been run on this sample\n");
        assert!(told.contains(&pending), "{told}");
    }
    for wrong in ["the run ended", "no judge is asked", "error"] {
        assert!(!told.contains(wrong), "{wrong}: {told}");
    }
    let json = space.run(&["explain", "suite.yaml", "a", "--json"]).stdout();
    let json: Value = serde_json::from_str(&json).unwrap();
    let right = &json["results"][0]["graders"]["right"];
    assert_eq!((&right["grade"], right["pending"].is_string()), (&Value::Null, true));
}
