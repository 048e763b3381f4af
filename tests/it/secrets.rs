//! Keys are written nowhere: not in the store, the record, reports, logs or messages, whatever happens.
#![expect(clippy::disallowed_methods, reason = "the test reads every file of its folder")]

use std::path::Path;

use serde_json::json;

use crate::judge::{Answer, Judge};
use crate::space::{Ran, Space, jsonl};

const KEY: &str = "sk-live-0123456789abcdefghijklmnopqrstuvwxyz";
const TENANT: &str = "tenant-secret-9876543210";

const SUITE: &str = "\
name: support
dataset: data.jsonl
graders:
  quality:
    kind: rubric
    prompt: Is {submission} polite?
    model: judge-1
    max_retries: 1
    headers: {x-tenant: {env: TENANT}}
";

fn space() -> Space {
    let rows = (0..3).map(|at| json!({"id": at, "input": "q", "output": format!("answer {at}")}));
    Space::new(&[
        ("suite.yaml", SUITE),
        ("data.jsonl", &jsonl(rows)),
        (".env", &format!("OPENAI_API_KEY={KEY}\nTENANT={TENANT}\n")),
    ])
}

/// A server that says everything it was sent, as some gateways do when they are debugged.
fn telling(status: u16) -> Judge {
    Judge::new(move |_, asked| {
        let sent: Vec<String> =
            asked.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let sent = sent.join(", ");
        assert!(sent.contains(KEY) && sent.contains(TENANT), "{sent}");
        match status {
            200 => Answer::text(&json!({"rationale": sent, "score": 1}).to_string()),
            _ => Answer::Http(
                status,
                vec![("retry-after-ms", "1".to_owned())],
                json!({"error": {"message": format!("not with {sent}")}}).to_string(),
            ),
        }
    })
}

fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.file_name().unwrap() != ".env" {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

/// Looks through what was said and everything that was written.
fn nothing_told(space: &Space, ran: &[Ran]) {
    let mut texts = Vec::new();
    files(&space.path(""), &mut texts);
    for ran in ran {
        texts.push(("stdout".to_owned(), ran.0.stdout.clone()));
        texts.push(("stderr".to_owned(), ran.0.stderr.clone()));
    }
    for (name, text) in texts {
        let text = String::from_utf8_lossy(&text);
        for secret in [KEY, TENANT] {
            // A part would do for somebody who wants to guess the rest.
            assert!(!text.contains(&secret[..16]), "{name} tells a secret: {text}");
        }
    }
}

#[test]
fn no_secret_is_told_whatever_the_server_says() {
    for status in [200, 400, 401, 429, 500] {
        let (space, judge) = (space(), telling(status));
        let formats = ["text", "json", "jsonl", "junit", "markdown", "github"];
        let mut ran: Vec<Ran> = formats
            .iter()
            .map(|format| space.run_with(&judge, &["run", "suite.yaml", "-vv", "--format", format]))
            .collect();
        assert!(judge.count() >= 3);
        for args in [
            &["explain", "suite.yaml", "0"][..],
            &["plan", "suite.yaml"],
            &["cache", "stats"],
            &["cache", "export", "suite.yaml"],
            &["validate", "suite.yaml", "--canonical"],
        ] {
            ran.push(space.run_with(&judge, args));
        }
        nothing_told(&space, &ran);
    }
}

#[test]
fn the_log_tells_every_step_and_no_secret() {
    let (space, judge) = (space(), telling(200));
    let logged = |args: &[&str], level: &str| {
        let mut command = space.command(&[&["run", "suite.yaml", "--quiet"], args].concat());
        command.env("OPENAI_BASE_URL", judge.url()).env("EVALRS_LOG", level);
        Ran(command.env("OPENAI_API_KEY", KEY).env("TENANT", TENANT).output().unwrap())
    };
    assert_eq!(logged(&["--refresh"], "").stderr(), "", "nothing by default");
    for (args, level) in [(&["--refresh", "-vvv"][..], ""), (&["--refresh"], "trace")] {
        let ran = logged(args, level);
        for step in [" load: ", "plan{", "look_up{", "execute{", "apply{", "action{kind=\"judge\"}"]
        {
            assert!(ran.stderr().contains(step), "{step}: {}", ran.stderr());
        }
        nothing_told(&space, &[ran]);
    }
    let odd = logged(&[], "evalrs=loud");
    assert!(odd.stderr().starts_with("warning: `EVALRS_LOG` is not a level"), "{}", odd.stderr());
    assert_eq!(odd.code(), 0);
}

#[test]
fn no_secret_is_told_by_a_run_that_is_killed() {
    let space = space();
    let judge = Judge::new(|number, _| match number {
        0 => Answer::score(1.0),
        _ => Answer::Silence,
    });
    let running = space.start(&judge, &["run", "suite.yaml", "-vv", "--max-concurrent", "2"]);
    judge.wait_asked(3);
    running.kill();
    nothing_told(&space, &[]);
}

#[test]
fn no_secret_in_an_address_is_told() {
    for answers in [true, false] {
        let (space, judge) = (space(), Judge::by_length());
        let port = if answers { judge.url() } else { "http://127.0.0.1:9/v1".to_owned() };
        let url = format!("{port}?api-version=1&key={KEY}");
        let mut command = space.command(&["run", "suite.yaml", "-vv"]);
        let ran = Ran(command.env("OPENAI_BASE_URL", url).output().unwrap());
        assert_eq!(ran.code(), if answers { 0 } else { 3 }, "{}", ran.shown());
        assert!(space.record("header.json").contains("?api-version=1"), "it says what is asked");
        nothing_told(&space, &[ran]);
    }
}

#[test]
fn a_secret_that_a_suite_holds_by_mistake_is_not_repeated() {
    for line in [
        format!("    api_key: {KEY}\n"),
        format!("    api_key_env: {KEY}\n"),
        format!("    headers: {{Authorization: Bearer {KEY}}}\n"),
        format!("    headers: {{x-api-key: {KEY}}}\n"),
        format!("    base_url: https://user:{KEY}@judge.example/v1\n"),
        format!("    base_url: https://judge.example/v1?key={KEY}\n"),
    ] {
        let suite = SUITE.replace("    headers: {x-tenant: {env: TENANT}}\n", &line);
        let space = Space::new(&[
            ("suite.yaml", &suite),
            ("data.jsonl", "{\"input\": \"q\", \"output\": \"a\"}\n"),
        ]);
        let ran = space.run(&["validate", "suite.yaml"]);
        assert_eq!(ran.code(), 2, "{line}: {}", ran.shown());
        assert!(!ran.shown().contains(&KEY[..16]), "{}", ran.shown());
    }
}
