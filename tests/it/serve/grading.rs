//! Single submissions that graders of suites grade: with the keys of a run, and within its rules.

use serde_json::{Value, json};

use super::Server;
use crate::judge::{Answer, Judge};
use crate::programs::executable;
use crate::space::Space;

const SUITE: &str = "
name: shop:polite
dataset: {path: data.jsonl, fields: {output: said}}
graders:
  kind: {kind: rubric, prompt_path: kind.txt, model: judge-1, endpoint: test, max_retries: 0}
  half: {kind: program, path: ./half.sh, inputs: [words.txt], extractor: first_assistant}
  exact: {kind: tool, function: string_match}
  all: {kind: combine, combine: 'kind + half'}
";

const HALF: &str = "#!/bin/sh
cat words.txt > /dev/null || exit 1
grep 'answer 2' >> calls.txt && echo '{\"pass\":false,\"score\":0.5,\"reasoning\":\"half of it\"}'
";

/// A suite in a folder below that of the server.
fn space() -> Space {
    let row =
        |at: usize| format!("{{\"id\": {at}, \"input\": \"-\", \"said\": \"answer {at}\"}}\n");
    let rows: Vec<String> = (0..4).map(row).collect();
    let space = Space::new(&[
        ("shop/suite.yaml", SUITE),
        ("shop/data.jsonl", &rows.concat()),
        ("shop/kind.txt", "Is it kind? {submission}"),
        ("shop/half.sh", HALF),
        ("shop/words.txt", "kind"),
    ]);
    executable(&space, "shop/half.sh");
    space
}

fn server(judge: &Judge, flags: &[&str]) -> Server {
    let args: Vec<&str> = ["shop/suite.yaml"].iter().chain(flags).copied().collect();
    let url = judge.url();
    let environment = [("OPENAI_BASE_URL", url.as_str()), ("OPENAI_API_KEY", "key")];
    Server::with(space(), &args, &environment)
}

fn grade_of(server: &Server, grader: &str, submission: &str) -> Value {
    let body = json!({"grader": grader, "submission": submission});
    server.post("/api/grade", &body).data()
}

#[test]
fn judges_and_programs_grade_as_they_do_in_a_run() {
    let judge = Judge::new(|_, _| Answer::text(r#"{"score": 0.75, "rationale": "kind enough"}"#));
    let server = server(&judge, &[]);
    let graded = grade_of(&server, "shop:polite:kind", "answer 2");
    assert_eq!((&graded["score"], &graded["rationale"]), (&json!(0.75), &json!("kind enough")));
    assert_eq!((&graded["pass"], &graded["error"]), (&json!(false), &Value::Null));
    let graded = grade_of(&server, "shop:polite:half", "answer 2");
    assert_eq!((&graded["score"], &graded["rationale"]), (&json!(0.5), &json!("half of it")));
    let body =
        json!({"grader": "shop:polite:exact", "submission": "PARIS", "ground_truth": "paris"});
    assert_eq!(server.post("/api/grade", &body).data()["pass"], true);
    // Nothing of it is on disk but the judgments, which a run replays.
    assert_eq!(server.space.names(""), ["shop"]);
    let files =
        ["cache", "calls.txt", "data.jsonl", "half.sh", "kind.txt", "suite.yaml", "words.txt"];
    assert_eq!(server.space.names("shop"), files);
    assert_eq!(judge.count(), 1);
    let ran = server.space.run_with(&judge, &["run", "shop/suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 3, "programs that say nothing are errors: {}", ran.shown());
    assert_eq!(judge.count(), 4);
    assert_eq!(server.space.read("shop/calls.txt").lines().count(), 1);
    assert_eq!(grade_of(&server, "shop:polite:kind", "answer 3")["score"], 0.75);
    assert_eq!(judge.count(), 4);
}

#[test]
fn what_goes_wrong_is_a_grade_with_an_error() {
    let judge = Judge::new(|_, _| Answer::error(400, "no such model"));
    let server = server(&judge, &[]);
    let graded = grade_of(&server, "shop:polite:kind", "answer 2");
    assert_eq!((&graded["score"], &graded["pass"]), (&json!(0.0), &json!(false)));
    assert!(graded["error"]["message"].as_str().unwrap().contains("no such model"), "{graded}");
    let graded = grade_of(&server, "shop:polite:half", "answer 3");
    assert_eq!(graded["score"], 0.0);
    assert!(graded["error"]["kind"].is_string(), "{graded}");
}

#[test]
fn what_cannot_be_graded_is_refused() {
    let judge = Judge::new(|_, _| Answer::Silence);
    let server = server(&judge, &[]);
    for (grader, config, expected) in [
        ("shop:polite:kinder", json!({}), "404 NOT_FOUND"),
        ("shop:kind", json!({}), "404 NOT_FOUND"),
        ("kind", json!({}), "404 NOT_FOUND"),
        ("rubric", json!({}), "422 UNPROCESSABLE"),
        ("shop:polite:all", json!({}), "422 UNPROCESSABLE"),
        ("shop:polite:kind", json!({"model": "judge-2"}), "422 UNPROCESSABLE"),
    ] {
        let body = json!({"grader": grader, "config": config, "submission": "x"});
        assert_eq!(server.post("/api/grade", &body).refusal(), expected, "{body}");
    }
    server.space.write("shop/suite.yaml", SUITE.replace("kind: combine", "kind: combined"));
    let body = json!({"grader": "shop:polite:kind", "submission": "x"});
    assert_eq!(server.post("/api/grade", &body).refusal(), "422 UNPROCESSABLE");
    assert_eq!(judge.count(), 0);
}

#[test]
fn a_server_that_only_reads_asks_no_judge() {
    let judge = Judge::new(|_, _| Answer::score(1.0));
    let server = server(&judge, &["--read-only"]);
    for grader in ["shop:polite:kind", "shop:polite:half", "shop:polite:exact"] {
        let body = json!({"grader": grader, "submission": "x"});
        assert_eq!(server.post("/api/grade", &body).refusal(), "403 FORBIDDEN", "{grader}");
    }
    let body = json!({"grader": "exact_match", "submission": "x", "ground_truth": "x"});
    assert_eq!(server.post("/api/grade", &body).data()["pass"], true);
    assert_eq!(judge.count(), 0);
}

#[test]
fn a_judge_that_never_replies_does_not_keep_the_server() {
    let judge = Judge::new(|_, _| Answer::Silence);
    let mut server = server(&judge, &[]);
    let host = server.host.clone();
    let asking = std::thread::spawn(move || {
        let body = json!({"grader": "shop:polite:kind", "submission": "x"}).to_string();
        super::exchange(&host, "POST", "/api/grade", &[], &body)
    });
    judge.wait_asked(1);
    server.interrupt();
    let graded = asking.join().unwrap().data();
    assert!(graded["error"]["message"].as_str().unwrap().contains("interrupted"), "{graded}");
    assert!(server.child.wait().unwrap().success());
}
