//! `evalrs run` with a judge: asked once, replayed for ever, and every way it can go wrong.

use serde_json::Value;

use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space, lines};

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  quality: {kind: rubric, prompt: 'Is {submission} polite?', model: judge-1, endpoint: test, max_retries: 2}
gate: {metric_key: quality, metric: avg_score, op: gte, value: 0.5}
";

fn rows(count: usize) -> String {
    lines((0..count).map(|at| {
        format!("{{\"id\": \"s{at}\", \"input\": \"q{at}\", \"output\": \"answer {at}\"}}")
    }))
}

fn space(count: usize) -> Space {
    Space::new(&[("suite.yaml", SUITE), ("data.jsonl", &rows(count))])
}

#[test]
fn a_judge_is_asked_once_and_replayed_without_a_network() {
    let judge = Judge::new(|_, _| Answer::score(0.75));
    let space = space(3);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!((judge.count(), space.actions("quality")), (3, [3, 0, 0, 0]));
    let first = space.record("results.jsonl");
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    assert_eq!((judge.count(), space.actions("quality")), (3, [0, 3, 0, 0]));
    assert_eq!(space.record("results.jsonl"), first);
}

#[test]
fn a_run_without_a_record_keeps_its_judgments_alone() {
    let judge = Judge::new(|_, _| Answer::score(0.75));
    let space = space(1);
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--no-record", "--output", "out"]);
    assert_eq!((ran.code(), ran.stdout().contains("report: out")), (0, true), "{}", ran.stdout());
    assert!(!space.path(".evalrs").exists() && space.path("out/summary.json").exists());
    assert_eq!(space.stored_lines().len(), 1);
    let ran = space.run(&["run", "suite.yaml", "--no-record", "--frozen"]);
    assert_eq!((ran.code(), ran.stdout().contains("report:")), (0, false), "{}", ran.stdout());
}

/// Results that say what those of the last run say stand on disk once. A record is its own all the same: it is read after
/// the other one is gone, and nothing of it changes with a later run.
#[cfg(unix)]
#[test]
fn records_of_runs_that_found_the_same_share_their_bytes() {
    use std::os::unix::fs::MetadataExt;
    let space = space(3);
    let judge = Judge::new(|_, _| Answer::score(0.5));
    let run = || {
        assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "-q"]).code(), 0);
        space.latest().join("results.jsonl")
    };
    let file = |path: &std::path::Path| path.metadata().unwrap().ino();
    let [first, second] = [run(), run()];
    assert_eq!(file(&first), file(&second));
    let text = space.record("results.jsonl");
    space.write("data.jsonl", rows(2));
    let third = run();
    assert_ne!(file(&second), file(&third));
    assert!(text.starts_with(&space.record("results.jsonl")), "two of the three rows");
    std::fs::remove_dir_all(first.parent().unwrap()).unwrap();
    assert_eq!(space.read(&second.display().to_string()), text);
    let output = ["run", "suite.yaml", "-q", "--output", "out"];
    assert_eq!(space.run_with(&judge, &output).code(), 0);
    assert_eq!(
        space.path("out/results.jsonl").metadata().unwrap().nlink(),
        1,
        "a folder of the user"
    );
}

/// Results that are made of the same are taken over unread; so a file that somebody has written since is not.
#[test]
fn results_that_somebody_has_edited_are_put_together_anew() {
    let space = space(3);
    let judge = Judge::new(|_, _| Answer::score(0.5));
    let run = || assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "-q"]).code(), 0);
    run();
    let text = space.record("results.jsonl");
    let latest = |name: &str| space.latest().join(name).display().to_string();
    let edited = latest("results.jsonl");
    for wrong in [text.replace("0.5", "0.6"), String::new(), format!("{text}\n")] {
        space.write(&edited, &wrong);
        run();
        assert_eq!(space.record("results.jsonl"), text);
        // What a run before evalrs said what results are made of has recorded, too.
        let facts = latest("run.json");
        let mut said: Value = serde_json::from_str(&space.read(&facts)).unwrap();
        assert_eq!(said["results"]["file"]["bytes"], text.len());
        said.as_object_mut().unwrap().remove("results");
        space.write(&facts, said.to_string());
        run();
        assert_eq!(space.record("results.jsonl"), text);
    }
}

#[test]
fn equal_submissions_are_judged_once() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let rows = "{\"id\": 1, \"input\": \"a\", \"output\": \"same\"}\n{\"id\": 2, \"input\": \"b\", \"output\": \"same\"}\n";
    let space = Space::new(&[("suite.yaml", SUITE), ("data.jsonl", rows)]);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!(judge.count(), 1);
}

#[test]
fn transport_failures_are_retried_and_never_stored() {
    let judge = Judge::new(|number, _| match number {
        0 => Answer::Http(429, vec![("retry-after-ms", "1".to_owned())], String::new()),
        1 => Answer::Http(503, vec![("retry-after-ms", "1".to_owned())], String::new()),
        2 => Answer::score(1.0),
        _ => Answer::Http(500, vec![("retry-after-ms", "1".to_owned())], "broken".to_owned()),
    });
    let space = space(1);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!(judge.count(), 3);
    space.write("data.jsonl", rows(2));
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!((judge.count(), space.actions("quality")), (6, [1, 1, 1, 0]));
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!(judge.count(), 9, "a transient failure is asked again by the next run");
}

#[test]
fn permanent_failures_are_stored_until_they_are_retried() {
    let judge = Judge::new(|_, _| Answer::error(400, "no such model"));
    let space = space(1);
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    let again = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((again.code(), judge.count()), (3, 1));
    assert!(
        again.stderr().contains("1 cached error; `--retry-errors` retries them"),
        "{}",
        again.stderr()
    );
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "--retry-errors"]).code(), 3);
    assert_eq!(judge.count(), 2);
}

#[test]
fn a_silent_judge_times_out() {
    let judge = Judge::new(|_, _| Answer::Silence);
    check_kind_with(&judge, "max_retries: 0, timeout: 0.05", "timeout");
}

fn check_kind_with(judge: &Judge, settings: &str, kind: &str) {
    let space = Space::new(&[
        ("suite.yaml", &SUITE.replace("max_retries: 2", settings)),
        ("data.jsonl", &rows(1)),
    ]);
    space.run_with(judge, &["run", "suite.yaml"]);
    assert!(space.record("results.jsonl").contains(&format!("\"kind\":\"{kind}\"")));
}

#[test]
fn the_key_of_the_api_is_needed_only_to_ask_the_first_party() {
    let space = space(2);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    assert!(
        ran.stderr().contains("`OPENAI_API_KEY` is not set, and `quality` has 2 judgments to ask"),
        "{}",
        ran.stderr()
    );
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 3);
    assert_eq!(space.actions("quality"), [0, 0, 0, 2]);
}

#[test]
fn a_secret_is_sent_to_the_judge_and_written_nowhere() {
    let judge = Judge::new(|_, asked| {
        let key = asked
            .headers
            .iter()
            .find(|(name, _)| name == "authorization")
            .map(|(_, value)| value.clone());
        Answer::error(401, &format!("wrong key {}", key.unwrap_or_default()))
    });
    let space = space(1);
    space.write(".env", "OPENAI_API_KEY=sk-very-secret\n");
    let ran = space.run_with(&judge, &["run", "suite.yaml", "--output", "out"]);
    assert_eq!(
        judge.asked()[0].headers.iter().find(|(name, _)| name == "authorization").unwrap().1,
        "Bearer sk-very-secret"
    );
    let mut written = ran.shown();
    for name in ["header.json", "results.jsonl", "summary.json", "run.json"] {
        written.push_str(&space.record(name));
    }
    assert!(
        written.contains("wrong key Bearer [secret]") && !written.contains("very-secret"),
        "{written}"
    );
}

#[test]
fn a_password_in_the_base_url_is_written_nowhere() {
    let judge =
        Judge::new(|number, _| if number == 0 { Answer::score(1.0) } else { Answer::HangUp });
    let (url, space) = (judge.url().replace("//", "//me:very-secret@"), space(2));
    space
        .write("suite.yaml", SUITE.replace(", endpoint: test, max_retries: 2", ", max_retries: 0"));
    let mut command = space.command(&["run", "suite.yaml", "--max-concurrent", "1"]);
    let ran = Ran(command.env("OPENAI_BASE_URL", url).output().unwrap());
    assert_eq!(space.actions("quality"), [2, 0, 1, 0]);
    let mut written = vec![ran.shown(), space.stored_lines().concat()];
    written.extend(
        ["header.json", "results.jsonl", "summary.json", "run.json"].map(|name| space.record(name)),
    );
    for text in written {
        assert!(!text.contains("very-secret"), "{text}");
    }
    assert_eq!(space.stored_lines().len(), 1);
}

#[test]
fn a_budget_stops_cleanly_and_the_next_run_goes_on() {
    let judge = Judge::by_length();
    let space = space(5);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "--max-calls", "2"]).code(), 3);
    assert_eq!((judge.count(), space.actions("quality")), (2, [2, 0, 0, 3]));
    space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((judge.count(), space.actions("quality")), (5, [3, 2, 0, 0]));
}

#[test]
fn a_refresh_asks_again_and_the_newest_answer_stays() {
    let judge = Judge::new(|number, _| Answer::score(if number == 0 { 0.25 } else { 1.0 }));
    let space = space(1);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 1);
    let other = SUITE.replace("gate:", "  other: {kind: tool, function: contains}\ngate:");
    space.write("suite.yaml", other);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "--refresh=other"]).code(), 1);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml", "--refresh=quality"]).code(), 0);
    assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), 0);
    assert_eq!(judge.count(), 2);
}

#[test]
fn a_row_may_bring_a_rubric_or_name_one_beside_the_suite() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let rows = "{\"id\": 1, \"input\": \"a\", \"output\": \"x\", \"rubric\": \"Own: {submission}\"}\n\
                {\"id\": 2, \"input\": \"b\", \"output\": \"y\", \"rubric_path\": \"rubrics/strict.txt\"}\n";
    let space = Space::new(&[("s/suite.yaml", SUITE), ("s/data.jsonl", rows)]);
    let ran = space.run_with(&judge, &["run", "s/suite.yaml"]);
    assert_eq!((ran.code(), judge.count()), (2, 0));
    assert!(
        ran.stderr().contains("cannot read the rubric `rubrics/strict.txt`: there is no such file"),
        "{}",
        ran.stderr()
    );
    assert!(ran.stderr().contains("s/data.jsonl:2:1"), "{}", ran.stderr());
    space.write("s/rubrics/strict.txt", "Strict: {submission}");
    assert_eq!(space.run_with(&judge, &["run", "s/suite.yaml"]).code(), 0);
    let asked: Vec<String> = judge
        .asked()
        .iter()
        .map(|asked| asked.prompt().lines().next().unwrap().to_owned())
        .collect();
    assert_eq!(asked.len(), 2);
    assert!(
        asked.contains(&"Own: x".to_owned()) && asked.contains(&"Strict: y".to_owned()),
        "{asked:?}"
    );
}

#[test]
fn judges_are_shown_included_files_and_no_front_matter() {
    let judge = Judge::new(|_, _| Answer::score(5.0));
    let suite = SUITE.replace("prompt: 'Is {submission} polite?'", "prompt_path: main.txt");
    let rows = "{\"id\": 1, \"input\": \"a\", \"output\": \"x\"}\n\
                {\"id\": 2, \"input\": \"b\", \"output\": \"y\", \"rubric_path\": \"r/own.txt\"}\n";
    let space = Space::new(&[
        ("suite.yaml", &suite),
        ("data.jsonl", rows),
        (
            "main.txt",
            "---\ninclude: r/rules.txt\nscale: {min: 1, max: 5}\n---\nMain: {submission}\n",
        ),
        ("r/own.txt", "---\ninclude: rules.txt\n---\nOwn: {submission}\n"),
        ("r/rules.txt", "Be strict.\n"),
    ]);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    space.write("r/rules.txt", "Be mild.\n");
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    let mut asked: Vec<String> = judge
        .asked()
        .iter()
        .map(|asked| asked.prompt().split("\n\nReply with").next().unwrap().to_owned())
        .collect();
    asked.sort();
    assert_eq!(
        asked,
        [
            "Be mild.\n\nMain: x",
            "Be mild.\n\nOwn: y",
            "Be strict.\n\nMain: x",
            "Be strict.\n\nOwn: y"
        ]
    );
    assert!(judge.asked()[0].prompt().contains("<number from 1 to 5>"));
    space.write("r/own.txt", "---\nmodel: other\n---\nOwn: {submission}\n");
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((ran.code(), judge.count()), (2, 4));
    insta::assert_snapshot!(ran.stderr(), @r###"
    error: `model` has no effect in the rubric of a row
     --> r/own.txt:2:1
      |
    2 | model: other
      | ^^^^^
      |
      = help: set it in the suite
    "###);
}

#[test]
fn a_row_with_a_rubric_of_its_own_needs_no_variables_of_the_graders() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let suite = SUITE
        .replace("'Is {submission} polite?'", "'Is {submission} {tone}?', rubric_vars: [tone]");
    let rows = "{\"id\": 1, \"input\": \"a\", \"output\": \"x\", \"rubric_vars\": {\"tone\": \"kind\"}}\n\
                {\"id\": 2, \"input\": \"b\", \"output\": \"y\", \"rubric_path\": \"own.txt\"}\n";
    let space = Space::new(&[
        ("suite.yaml", &suite),
        ("data.jsonl", rows),
        ("own.txt", "Own: {submission}"),
    ]);
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!((ran.code(), judge.count()), (0, 2), "{}", ran.shown());
}

#[test]
fn a_row_cannot_send_files_from_elsewhere_to_a_judge() {
    for path in ["/etc/passwd", "../secret.txt", "a/../../secret.txt"] {
        let judge = Judge::new(|_, _| Answer::score(1.0));
        let row = format!(
            "{{\"id\": 1, \"input\": \"a\", \"output\": \"x\", \"rubric_path\": \"{path}\"}}\n"
        );
        let space = Space::new(&[
            ("s/suite.yaml", SUITE),
            ("s/data.jsonl", &row),
            ("secret.txt", "secret {submission}"),
        ]);
        let ran = space.run_with(&judge, &["run", "s/suite.yaml"]);
        assert_eq!((ran.code(), judge.count()), (2, 0), "{path}");
        assert!(
            ran.stderr().contains("`rubric_path` leads out of the suite's folder"),
            "{}",
            ran.stderr()
        );
    }
}

#[test]
fn reports_name_no_path_of_the_machine() {
    let data = Space::new(&[("data.jsonl", &rows(1))]);
    let absolute = data.path("data.jsonl").to_string_lossy().into_owned();
    let suite = SUITE.replace("data.jsonl", &absolute);
    let space = Space::new(&[("suite.yaml", &suite)]);
    let judge = Judge::new(|_, _| Answer::score(1.0));
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    let header: serde_json::Value = serde_json::from_str(&space.record("header.json")).unwrap();
    let inputs: Vec<&String> = header["inputs"].as_object().unwrap().keys().collect();
    assert_eq!(inputs, ["data.jsonl", "suite.yaml"]);
}

#[test]
fn a_reader_that_goes_away_does_not_change_the_verdict() {
    let suite = "name: t\ndataset: data.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {metric_key: a, op: gte, value: 1}\n";
    let row = "{\"input\": \"q\", \"ground_truth\": \"no\", \"output\": \"yes\"}\n";
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", row)]);
    for args in [&["run", "suite.yaml"][..], &["run", "suite.yaml", "--format", "jsonl"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status =
            space.command(args).stdout(writer).stderr(std::process::Stdio::null()).status();
        assert_eq!(status.unwrap().code(), Some(1), "{args:?}");
        assert!(space.record("summary.json").contains("\"failed\""));
    }
}

#[test]
fn judgments_by_a_rubric_of_the_row_are_exported_too() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let rows = "{\"id\": 1, \"input\": \"a\", \"output\": \"x\", \"rubric_path\": \"own.txt\"}\n{\"id\": 2, \"input\": \"b\", \"output\": \"y\"}\n";
    let space =
        Space::new(&[("suite.yaml", SUITE), ("data.jsonl", rows), ("own.txt", "Is it short?")]);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    let ran = space.run(&["cache", "export", "suite.yaml"]);
    assert_eq!((ran.code(), space.read("cache/support.judgments.jsonl").lines().count()), (0, 2));
}

#[test]
fn a_reply_that_was_paid_for_is_read_whatever_its_shape() {
    let reply = |content: serde_json::Value, usage: serde_json::Value| {
        let message = serde_json::json!({"role": "assistant", "content": content});
        let choice = serde_json::json!({"message": message, "finish_reason": "stop"});
        serde_json::json!({"choices": [choice], "usage": usage}).to_string()
    };
    let verdict = "{\"score\": 1, \"rationale\": \"so\"}";
    let parts = serde_json::json!([{"type": "thinking", "thinking": []}, {"type": "text", "text": verdict}]);
    let used = serde_json::json!({"prompt_tokens": null, "completion_tokens": 3});
    for body in [reply(verdict.into(), used), reply(parts, serde_json::Value::Null)] {
        let judge = Judge::new(move |_, _| Answer::Http(200, Vec::new(), body.clone()));
        let space = space(1);
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!((ran.code(), judge.count()), (0, 1), "{}", ran.shown());
    }
}

#[test]
fn no_part_of_a_secret_is_shown_where_a_message_is_cut() {
    let secret = "sk-very-secret";
    // The message is cut at 300 characters, what is no completion at 120: both inside the key.
    for (status, before) in [(401, 295), (200, 115)] {
        let body = "x".repeat(before) + secret;
        let judge = Judge::new(move |_, _| Answer::Http(status, Vec::new(), body.clone()));
        let space = Space::new(&[
            ("suite.yaml", &SUITE.replace("max_retries: 2", "max_retries: 0")),
            ("data.jsonl", &rows(1)),
            (".env", &format!("OPENAI_API_KEY={secret}\n")),
        ]);
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        let written = space.record("results.jsonl") + &ran.shown();
        assert!(written.contains("xxx") && !written.contains("xsk"), "{status}: {written}");
    }
}

#[test]
fn one_document_holds_one_suite() {
    let space = space(1);
    space.write("other.yaml", SUITE);
    for args in [["--format", "json"], ["--output", "out"]] {
        let ran = space.run(&["run", "suite.yaml", "other.yaml", "--frozen", args[0], args[1]]);
        assert_eq!(ran.code(), 2, "{}", ran.shown());
        assert!(ran.stderr().contains("one by one"), "{}", ran.stderr());
    }
}

#[test]
fn an_agent_that_said_nothing_fails_and_is_no_mistake() {
    let suite = "name: t\ndataset: data.csv\ngraders:\n  a: {kind: tool, function: contains}\n";
    let space = Space::new(&[
        ("suite.yaml", suite),
        ("data.csv", "input,ground_truth,output\nq,a,\nr,b,b\n"),
    ]);
    let ran = space.run(&["run", "suite.yaml", "--format", "jsonl"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let line: serde_json::Value =
        serde_json::from_str(ran.stdout().lines().next().unwrap()).unwrap();
    assert_eq!(line["grades"]["a"]["rationale"], "Empty submission - extractor found no content");
    assert_eq!(line["grades"]["a"]["error"], serde_json::Value::Null);
}

#[test]
fn models_that_reason_are_asked_in_their_own_terms() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    for (model, name) in [("o3-mini", "max_completion_tokens"), ("gpt-4o-mini", "max_tokens")] {
        let suite = SUITE.replace("model: judge-1", &format!("model: {model}, max_tokens: 50"));
        let space = Space::new(&[("suite.yaml", &suite), ("data.jsonl", &rows(1))]);
        assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
        assert_eq!(judge.asked().last().unwrap().body[name], 50, "{model}");
    }
}

#[test]
fn what_a_grader_looks_for_in_vain_is_said_before_it_is_paid_for() {
    let suite = "name: t\ndataset: data.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n  \
                 b: {kind: rubric, prompt: '{inptu} {tone} {row.lang} {row.nope} {\"score\": 1} {submission}', model: m, endpoint: e}\n";
    let row = "{\"input\": \"q\", \"output\": \"o\", \"lang\": \"de\", \"rubric_vars\": {\"tone\": \"kind\"}}\n";
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", row)]);
    let ran = space.run(&["validate", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    insta::assert_snapshot!(ran.stderr(), @r#"
    warning: no row has a `ground_truth`: `a` (contains) cannot grade any of them
     --> suite.yaml
      = help: say where it is: `fields: {ground_truth: NAME}`; the first row has `input`, `output`, `lang`, `rubric_vars`

    error[unknown-placeholder]: the rubric of `b` names `{inptu}`, which stands for nothing in any row
     --> suite.yaml:5:30
      |
    5 |   b: {kind: rubric, prompt: '{inptu} {tone} {row.lang} {row.nope} {"score": 1} {submission}', model: m, endpoint: e}
      |                              ^^^^^^^
      |
      = help: did you mean `{input}`? (braces that are meant: `allow_unknown: true`)

    error[unknown-placeholder]: the rubric of `b` names `{row.nope}`, which stands for nothing in any row
     --> suite.yaml:5:56
      |
    5 |   b: {kind: rubric, prompt: '{inptu} {tone} {row.lang} {row.nope} {"score": 1} {submission}', model: m, endpoint: e}
      |                                                        ^^^^^^^^^^
      |
      = help: a rubric can name `{input}`, `{submission}`, `{ground_truth}`, the names in `rubric_vars`, and `{row.KEY}` (braces that are meant: `allow_unknown: true`)

    2 errors
    "#);
}

#[test]
fn what_is_compared_and_by_whom_is_said_before_it_is_paid_for() {
    let suite = "name: t\ndataset: data.jsonl\ngraders:\n  \
                 a: {kind: rubric, prompt: '{submission_a}{submission_b}{submission_c}', compare_to: old, endpoint: e, panel: [{model: m}, {model: n}, {model: o}]}\n  \
                 b: {kind: rubric, prompt: '{submission} {submission_a}', model: m, endpoint: e, panel: [{}, {model: n}]}\n";
    let row = "{\"input\": \"q\", \"output\": \"o\", \"old\": \"p\"}\n";
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", row)]);
    let ran = space.run(&["validate", "suite.yaml"]);
    assert_eq!(ran.code(), 2);
    insta::assert_snapshot!(ran.stderr(), @r"
    error[unknown-placeholder]: the rubric of `a` names `{submission_c}`, which stands for nothing in any row
     --> suite.yaml:4:58
      |
    4 |   a: {kind: rubric, prompt: '{submission_a}{submission_b}{submission_c}', compare_to: old, endpoint: e, panel: [{model: …
      |                                                          ^^^^^^^^^^^^^^
      |
      = help: did you mean `{submission_a}`? (braces that are meant: `allow_unknown: true`)

    error[unknown-placeholder]: the rubric of `b` names `{submission_a}`, which stands for nothing in any row
     --> suite.yaml:5:43
      |
    5 |   b: {kind: rubric, prompt: '{submission} {submission_a}', model: m, endpoint: e, panel: [{}, {model: n}]}
      |                                           ^^^^^^^^^^^^^^
      |
      = help: two submissions are compared where the grader says `compare_to` (braces that are meant: `allow_unknown: true`)

    2 errors
    ");
    let named = suite.replace("{submission_c}", "").replace(" {submission_a}'", "'");
    space.write("suite.yaml", &named);
    let ran = space.run(&["validate", "suite.yaml"]);
    insta::assert_snapshot!(ran.stdout(), @r###"
    suite.yaml: valid
      suite    t
      dataset  data.jsonl: 1 sample, 1 result
      grader   a: comparison of last_assistant, by m, n and o
      grader   b: rubric of last_assistant, by m and n
      gate     none: the exit code is 0 whatever the scores
    "###);
}

#[test]
fn what_is_not_there_is_asked_again() {
    let judge = Judge::new(|number, _| match number {
        0 => Answer::error(404, "model not found, try pulling it first"),
        _ => Answer::score(1.0),
    });
    let space = space(1);
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 3);
    assert!(space.record("results.jsonl").contains("\"not_found\""));
    assert_eq!(space.run_with(&judge, &["run", "suite.yaml"]).code(), 0);
    assert_eq!(judge.count(), 2);
}
