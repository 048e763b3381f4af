//! `evalrs run` with a judge, where a spec cannot say it: headers, silence, secrets, links and pipes.

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

#[test]
fn the_opposite_of_a_judge_counts_as_it_is_shown() {
    let space = space(2);
    let judge = Judge::new(|_, _| Answer::score(0.75));
    for (settings, score, code) in [("", 0.75, 0), (", not: true", 0.25, 1)] {
        let settings = format!("endpoint: test, pass_threshold: 0.5{settings}");
        space.write("suite.yaml", SUITE.replace("endpoint: test", &settings));
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!(ran.code(), code, "{}", ran.shown());
        let results = space.record("results.jsonl");
        let line: Value = serde_json::from_str(results.lines().next().unwrap()).unwrap();
        let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
        let metric = &summary["metrics"]["quality"];
        assert_eq!(line["grades"]["quality"]["score"], score);
        assert_eq!(metric["avg_score_total"], score);
        assert_eq!(line["grades"]["quality"]["pass"] == true, metric["accuracy"] == 1.0);
    }
    assert_eq!(judge.count(), 2, "it judges the same");
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
