//! Judges that are agents of a Letta server, through the binary: verdicts, every way to fail, and that no agent is left.
//!
//! The server is a scripted one, which answers as a real one was recorded to. Where `EVALRS_LETTA_URL` names a real one
//! with the model of `.ci/letta` behind it, what both can show is shown of that too.
#![expect(clippy::disallowed_methods, reason = "tests read the environment themselves")]

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::judge::{Answer, Judge};
use crate::letta_server::{LettaServer, StreamedAnswer, SyntaxReply};
use crate::space::{Ran, Running, Space, jsonl};
use evalrs_test_data as test_data;

/// The file of a judge.
pub(crate) fn judge_file() -> Value {
    let model_url = std::env::var("EVALRS_LETTA_MODEL_URL");
    let model_url = model_url.unwrap_or_else(|_| "http://127.0.0.1:18290/v1".to_owned());
    let properties = json!({"score": {"type": "number"}, "rationale": {"type": "string"}});
    json!({
        "agents": [{
            "id": "agent-0",
            "name": "judge",
            "agent_type": "letta_v1_agent",
            "system": "You grade answers.",
            "include_base_tools": false,
            "tool_ids": ["tool-0"],
            "block_ids": [],
            "llm_config": {
                "model": "gpt-4.1-mini", "model_endpoint_type": "openai",
                "model_endpoint": model_url, "context_window": 128_000,
            },
            "in_context_message_ids": ["message-0"],
            "messages": [{
                "type": "message", "id": "message-0", "role": "system",
                "content": [{"type": "text", "text": "You grade answers."}],
            }],
        }],
        "groups": [], "blocks": [], "files": [], "sources": [], "mcp_servers": [],
        "tools": [{
            "id": "tool-0",
            "name": "submit_grade",
            "tool_type": "custom",
            "source_type": "python",
            "description": "Submit a grade.",
            "source_code": "def submit_grade(score: float, rationale: str) -> dict:\n    \"\"\"\n    Submit a grade.\n\n    Args:\n        score (float): The grade.\n        rationale (str): Why.\n\n    Returns:\n        dict: A status.\n    \"\"\"\n    return {\"status\": \"success\"}\n",
            "json_schema": {
                "name": "submit_grade",
                "description": "Submit a grade.",
                "parameters": {"type": "object", "properties": properties, "required": ["score", "rationale"]},
            },
        }],
    })
}

/// A suite whose one grader is an agent with further `settings`, and a row for each of the `outputs`.
fn space(settings: &str, outputs: &[&str]) -> Space {
    let suite = format!(
        "name: s\ndataset: data.jsonl\nmax_concurrent: 2\ngraders:\n  quality: {{kind: rubric, agent_file: judge.af, prompt: 'Is {{submission}} right?', endpoint: test, max_retries: 0{settings}}}\ngate: {{metric_key: quality, op: gte, value: 0.1}}\n",
    );
    let rows = outputs
        .iter()
        .enumerate()
        .map(|(at, output)| json!({"id": at, "input": "Q", "output": output}));
    let mut file = judge_file();
    // Others may use the same server at the same time.
    file["agents"][0]["name"] = json!(format!("judge-{:016x}", fastrand::u64(..)));
    let file = file.to_string();
    Space::new(&[("suite.yaml", suite.as_str()), ("judge.af", &file), ("data.jsonl", &jsonl(rows))])
}

fn run_at(space: &Space, url: &str) -> Ran {
    let mut command = space.command(&["run", "suite.yaml"]);
    command.env("LETTA_BASE_URL", url);
    Ran(command.output().unwrap())
}

fn run(space: &Space, server: &LettaServer) -> Ran {
    run_at(space, &server.url())
}

fn start(space: &Space, server: &LettaServer) -> Running {
    let mut command = space.command(&["run", "suite.yaml"]);
    command.env("LETTA_BASE_URL", server.url());
    Running::new(command)
}

/// The score or the error of every sample of the last run, in their order.
fn grades(space: &Space) -> Vec<String> {
    let results = space.record("results.jsonl");
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let grade = &line["grades"]["quality"];
        match &grade["error"] {
            Value::Null => grade["score"].to_string(),
            error => error["kind"].as_str().unwrap_or("error").to_owned(),
        }
    };
    results.lines().map(line).collect()
}

/// What is wrong with the first sample of the last run.
fn error(space: &Space) -> String {
    let results = space.record("results.jsonl");
    let line: Value = serde_json::from_str(results.lines().next().unwrap()).unwrap();
    line["grades"]["quality"]["error"]["message"].as_str().unwrap_or_default().to_owned()
}

/// The servers that are there: a scripted one, and the real one that the environment names.
fn everywhere(check: fn(&str, &str)) {
    let scripted = LettaServer::by_marks();
    check(&scripted.url(), "scripted");
    assert_eq!(scripted.agents()[1], 0, "every agent was deleted");
    if let Ok(url) = std::env::var("EVALRS_LETTA_URL") {
        check(&url, "real");
    }
}

/// How many agents a server has that are made of the file of `space`.
fn agents_at(url: &str, space: &Space) -> usize {
    let (status, body) = ask(url, "GET", "/v1/agents/?limit=1000", "");
    assert_eq!(status, 200, "{body}");
    let agents: Value = serde_json::from_str(&body).unwrap();
    let file: Value = serde_json::from_str(&space.read("judge.af")).unwrap();
    let name = &file["agents"][0]["name"];
    agents.as_array().unwrap().iter().filter(|agent| agent["name"] == *name).count()
}

/// A request of a test itself.
fn ask(url: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    use std::io::{BufRead, BufReader, Read, Write};
    let address = url.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nuser-agent: evalrs-test\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status).unwrap();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut answer = vec![0; length];
    reader.read_exact(&mut answer).unwrap();
    (status.split(' ').nth(1).unwrap().parse().unwrap(), String::from_utf8(answer).unwrap())
}

#[test]
fn an_agent_judges_and_is_deleted() {
    everywhere(|url, server| {
        let space = space("", &["4", "[[judge-score:0.25]]"]);
        let ran = run_at(&space, url);
        assert_eq!(ran.code(), 0, "{server}: {}", ran.shown());
        assert_eq!(grades(&space), ["1.0", "0.25"], "{server}");
        assert_eq!(agents_at(url, &space), 0, "{server}: no agent is left");
        assert_eq!(space.actions("quality"), [2, 0, 0, 0], "{server}");
        let usage: Value = serde_json::from_str(&space.record("run.json")).unwrap();
        assert_eq!(usage["spent"]["input"], 400, "{server}: both steps of both conversations");
        let again = run_at(&space, "http://127.0.0.1:9");
        assert_eq!(again.code(), 0, "{server}: {}", again.shown());
        assert_eq!(space.actions("quality"), [0, 2, 0, 0], "{server}: nothing is asked again");
    });
}

#[test]
fn what_fails_at_the_server_is_an_error_and_no_score() {
    everywhere(|url, server| {
        let outputs = [
            "[[judge-http:429]]",
            "[[judge-http:500]]",
            "[[judge-http:401]]",
            "[[judge-text:No.]]",
        ];
        let space = space(", votes: 1", &outputs);
        let ran = run_at(&space, url);
        assert_eq!(ran.code(), 3, "{server}: {}", ran.shown());
        // The last one is asked again, in words that bear no mark.
        let expected = ["rate_limited", "server", "unauthorized", "0.25"];
        assert_eq!(grades(&space), expected, "{server}: {}", ran.shown());
        assert_eq!(agents_at(url, &space), 0, "{server}: no agent is left");
        run_at(&space, url);
        assert_eq!(
            space.actions("quality"),
            [3, 1, 3, 0],
            "{server}: what may pass is asked again"
        );
    });
}

#[test]
fn a_conversation_asks_for_no_more_than_it_needs() {
    let server = LettaServer::by_marks();
    let space = space("", &["4"]);
    let ran = run(&space, &server);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(
        server.asked(),
        ["import", "read agent-0", "message agent-0", "messages run-0", "delete agent-0"]
    );
    let told = server.told();
    assert!(told[0].starts_with("You are given a rubric"), "{told:?}");
    assert!(crate::judge::plain(&told[0]).contains(
        "Is 4 right?\n\nCall the tool `submit_grade` once, with `score` (a number from 0 to 1)"
    ));
    let agents: BTreeSet<Option<String>> = server.header("user-agent").into_iter().collect();
    let own = concat!("evalrs/", env!("CARGO_PKG_VERSION")).to_owned();
    assert_eq!(agents, BTreeSet::from([Some(own)]), "it says who it is");
}

#[test]
fn a_failure_that_passes_is_asked_again_with_another_agent() {
    for first in [
        SyntaxReply::Failed("llm_rate_limit"),
        SyntaxReply::FailedBefore("llm_rate_limit"),
        SyntaxReply::Broken,
        SyntaxReply::Stopped("cancelled"),
        SyntaxReply::Status(503, json!({"detail": "starting"})),
    ] {
        let shown = format!("{first:?}");
        let server = LettaServer::new(move |number, _| match number {
            0 => first.clone(),
            _ => SyntaxReply::score(1.0),
        });
        let space = space(", max_retries: 1", &["4"]);
        let suite = space.read("suite.yaml").replace("max_retries: 0, ", "");
        space.write("suite.yaml", suite);
        let ran = run(&space, &server);
        assert_eq!(
            (ran.code(), grades(&space)),
            (0, vec!["1.0".to_owned()]),
            "{shown}: {}",
            ran.shown()
        );
        assert_eq!(server.agents(), [2, 0], "{shown}");
    }
}

#[test]
fn an_agent_without_a_verdict_is_told_what_is_wrong() {
    for (says, fault) in [
        (SyntaxReply::Text("No.".to_owned()), "`submit_grade` was not called"),
        (SyntaxReply::Graded("{\"score\": 4}".to_owned()), "`score` is 4, outside 0 to 1"),
        (SyntaxReply::Graded("{\"grade\": 1}".to_owned()), "the reply has no `score`"),
        (SyntaxReply::Graded("{".to_owned()), "the reply begins with `{` and is not valid JSON"),
    ] {
        let first = says.clone();
        let server = LettaServer::new(move |number, _| match number {
            0 | 1 => first.clone(),
            _ => SyntaxReply::score(0.5),
        });
        let one = space("", &["4"]);
        assert_eq!((run(&one, &server).code(), grades(&one)), (0, vec!["0.5".to_owned()]));
        let told = server.told();
        assert_eq!((told.len(), server.agents()), (3, [1, 0]), "one conversation");
        assert!(told[1].starts_with(&format!("That is no valid verdict: {fault}")), "{told:?}");
        let server = LettaServer::new(move |_, _| says.clone());
        let other = space("", &["4"]);
        assert_eq!(
            (run(&other, &server).code(), grades(&other)),
            (3, vec!["invalid_reply".to_owned()])
        );
        assert!(error(&other).starts_with(&format!("invalid reply, asked 3 times: {fault}")));
        run(&other, &server);
        assert_eq!(
            (server.agents(), other.actions("quality")),
            ([1, 0], [0, 1, 0, 0]),
            "it is kept"
        );
    }
}

#[test]
fn what_an_agent_was_told_and_called_is_explained() {
    let server = LettaServer::new(|number, _| match number {
        0 => SyntaxReply::Text("No.".to_owned()),
        _ => SyntaxReply::score(0.5),
    });
    let space = space("", &["4"]);
    assert_eq!(run(&space, &server).code(), 0);
    let explain = |args: &[&str]| {
        let args = [&["explain", "suite.yaml", "0", "--prompt"], args].concat();
        space.run(&args).stdout()
    };
    let report: Value = serde_json::from_str(&explain(&["--json"])).unwrap();
    let vote = &report["results"][0]["graders"]["quality"][0];
    let exchanges = vote["exchanges"].as_array().unwrap();
    let told = server.told();
    assert_eq!((exchanges.len(), told.len()), (2, 2), "{vote}");
    for (sent, told) in exchanges.iter().zip(&told) {
        assert!(sent["request"].to_string().contains(&json!(told).to_string()), "{sent}");
    }
    assert!(exchanges[0]["fault"].as_str().unwrap().contains("was not called"), "{vote}");
    assert!(exchanges[1]["reply"].as_str().unwrap().contains("0.5"), "{vote}");
    let text = explain(&[]);
    for part in ["quality: vote 0 of", "</submission-", "That is no valid verdict", "reply 2"] {
        assert!(text.contains(part), "no `{part}`:\n{text}");
    }
}

#[test]
fn each_way_to_fail_has_its_kind() {
    for (says, kind, message) in [
        (SyntaxReply::Pending, "not_found", "the call of `submit_grade` waits for approval"),
        (
            SyntaxReply::Stopped("insufficient_credits"),
            "no_credit",
            "the agent's run ended with `insufficient_credits`",
        ),
        (SyntaxReply::Stopped("cancelled"), "server", "the agent's run ended with `cancelled`"),
        (
            SyntaxReply::Failed("llm_authentication"),
            "unauthorized",
            "the Letta server failed (llm_authentication): The model failed.",
        ),
        (SyntaxReply::Broken, "connection", ""),
        (
            SyntaxReply::Status(404, json!({"detail": "gone"})),
            "not_found",
            "the Letta server answered 404: gone",
        ),
        (
            SyntaxReply::Status(422, json!({"detail": [{"msg": "no"}]})),
            "bad_request",
            "the Letta server answered 422: no",
        ),
        (
            SyntaxReply::Status(
                409,
                json!({"detail": {"code": "PENDING_APPROVAL", "message": "Approve."}}),
            ),
            "server",
            "the Letta server answered 409: Approve.",
        ),
    ] {
        let shown = format!("{says:?}");
        let server = LettaServer::new(move |_, _| says.clone());
        let space = space("", &["4"]);
        let ran = run(&space, &server);
        assert_eq!(ran.code(), 3, "{shown}: {}", ran.shown());
        assert_eq!(grades(&space), [kind], "{shown}");
        assert!(error(&space).starts_with(message), "{shown}: {}", error(&space));
        assert_eq!(server.agents(), [1, 0], "{shown}");
    }
}

#[test]
fn a_run_of_many_messages_is_read_to_its_end() {
    let verdict = json!({"score": 0.5, "rationale": "so"}).to_string();
    let server = LettaServer::new(move |_, _| SyntaxReply::GradedTimes(verdict.clone(), 230));
    let space = space("", &["4"]);
    let ran = run(&space, &server);
    assert_eq!((ran.code(), grades(&space)), (0, vec!["0.5".to_owned()]), "{}", ran.shown());
    let pages = server.asked().into_iter().filter(|asked| asked.starts_with("messages")).count();
    assert_eq!(pages, 3);
}

#[test]
fn what_is_late_is_cancelled_and_deleted() {
    let server = LettaServer::new(|_, _| SyntaxReply::Nothing);
    let space = space(", timeout: 0.5", &["4"]);
    let ran = run(&space, &server);
    assert_eq!((ran.code(), grades(&space)), (3, vec!["timeout".to_owned()]), "{}", ran.shown());
    assert_eq!(server.asked()[2..], ["message agent-0", "cancel agent-0", "delete agent-0"]);
}

#[test]
fn a_real_server_is_left_without_agents_too_where_it_is_late() {
    let Ok(url) = std::env::var("EVALRS_LETTA_URL") else { return };
    let space = space(", timeout: 8", &["[[judge-slow:20]]"]);
    let ran = run_at(&space, &url);
    assert_eq!((ran.code(), grades(&space)), (3, vec!["timeout".to_owned()]), "{}", ran.shown());
    assert_eq!(agents_at(&url, &space), 0);
}

#[cfg(unix)]
#[test]
fn what_is_interrupted_is_cancelled_and_deleted() {
    let server = LettaServer::new(|_, _| SyntaxReply::Nothing);
    let space = space("", &["4"]);
    let running = start(&space, &server);
    server.wait_asked("message");
    running.interrupt();
    let ran = running.finish();
    assert_eq!(ran.code(), 130, "{}", ran.shown());
    assert_eq!(server.asked()[2..], ["message agent-0", "cancel agent-0", "delete agent-0"]);
    assert_eq!(server.agents(), [1, 0]);
}

#[cfg(unix)]
#[test]
fn an_agent_that_is_being_made_is_deleted_too() {
    let server = LettaServer::new(|_, _| SyntaxReply::Nothing);
    server.hold_imports();
    let space = space("", &["4"]);
    let running = start(&space, &server);
    server.wait_asked("import");
    running.interrupt();
    server.let_imports_go();
    assert_eq!(running.finish().code(), 130);
    assert_eq!(server.agents(), [1, 0]);
}

#[test]
fn agents_stay_where_somebody_wants_them_to() {
    let server = LettaServer::by_marks();
    let space = space(", keep_agents: true", &["4"]);
    assert_eq!(run(&space, &server).code(), 0);
    assert_eq!(server.agents(), [1, 1]);
}

#[test]
fn a_server_with_a_key_is_given_one() {
    let server = LettaServer::secured("sk-a-secret-of-the-server");
    let space = space("", &["4"]);
    let ran = run(&space, &server);
    assert_eq!((ran.code(), grades(&space)), (3, vec!["unauthorized".to_owned()]));
    assert_eq!(
        error(&space),
        "the Letta server answered 401: Unauthorized; `LETTA_API_KEY` holds its key"
    );
    let mut command = space.command(&["run", "suite.yaml"]);
    command.env("LETTA_BASE_URL", server.url()).env("LETTA_API_KEY", "sk-a-secret-of-the-server");
    let ran = Ran(command.output().unwrap());
    assert_eq!((ran.code(), server.agents()), (0, [1, 0]), "{}", ran.shown());
    assert!(!space.stored_lines().concat().contains("sk-a-secret"), "no key is kept");
}

#[test]
fn a_tool_that_the_server_has_replaced_is_noticed() {
    let server = LettaServer::by_marks();
    server.know_tool(
        json!({"name": "submit_grade", "source_code": "def submit_grade(grade: int): ..."}),
    );
    let space = space("", &["4"]);
    let ran = run(&space, &server);
    assert_eq!((ran.code(), grades(&space)), (3, vec!["not_found".to_owned()]), "{}", ran.shown());
    assert!(
        error(&space).starts_with("the server has another tool named `submit_grade`"),
        "{}",
        error(&space)
    );
    assert!(server.told().is_empty(), "nothing was asked of it");
    assert_eq!(server.agents(), [1, 0]);
}

#[test]
fn agents_that_nobody_asked_for_are_deleted_too() {
    let server = LettaServer::by_marks();
    let space = space("", &["4"]);
    let mut file = judge_file();
    file["agents"][0]["name"] = json!("twins");
    space.write("judge.af", file.to_string());
    let ran = run(&space, &server);
    assert_eq!((ran.code(), grades(&space)), (3, vec!["server".to_owned()]), "{}", ran.shown());
    assert!(error(&space).ends_with("an import of 2 agents"), "{}", error(&space));
    assert_eq!(server.agents(), [2, 0]);
}

#[test]
fn an_agent_may_be_given_another_model() {
    let server = LettaServer::by_marks();
    let one = space(", model: openai/other", &["4"]);
    assert_eq!(run(&one, &server).code(), 0);
    assert_eq!(server.asked()[..3], ["import", "model agent-0", "read agent-0"]);
    let server = LettaServer::by_marks();
    let other = space(", model: openai/no-such", &["4"]);
    assert_eq!((run(&other, &server).code(), grades(&other)), (3, vec!["not_found".to_owned()]));
    assert!(error(&other).contains("Handle openai/no-such not found"), "{}", error(&other));
    assert_eq!(server.agents(), [1, 0]);
}

#[test]
fn an_agent_without_messages_is_given_its_system_message() {
    everywhere(|url, server| {
        let space = space("", &["4"]);
        let mut file = judge_file();
        file["agents"][0]["messages"] = json!([]);
        file["agents"][0]["in_context_message_ids"] = json!([]);
        space.write("judge.af", file.to_string());
        let ran = run_at(&space, url);
        assert_eq!(
            (ran.code(), grades(&space)),
            (0, vec!["1.0".to_owned()]),
            "{server}: {}",
            ran.shown()
        );
    });
}

#[test]
fn an_edit_of_the_agents_file_grades_again() {
    let server = LettaServer::by_marks();
    let space = space("", &["4"]);
    assert_eq!(run(&space, &server).code(), 0);
    let mut file = judge_file();
    file["agents"][0]["system"] = json!("You grade answers kindly.");
    space.write("judge.af", file.to_string());
    let plan = space.run(&["plan", "suite.yaml"]);
    assert!(plan.stdout().contains("settings changed"), "{}", plan.shown());
    assert_eq!(run(&space, &server).code(), 0);
    assert_eq!((server.agents(), space.actions("quality")), ([2, 0], [1, 0, 0, 0]));
    let explained = space.run(&["explain", "suite.yaml", "0", "quality"]);
    assert!(explained.stdout().contains("agent_file"), "{}", explained.shown());
}

#[test]
fn a_file_that_is_no_judge_is_refused_before_anything_is_asked() {
    let space = space("", &["4"]);
    let mut file = judge_file();
    file["agents"] = json!([file["agents"][0], file["agents"][0]]);
    space.write("judge.af", file.to_string());
    let server = LettaServer::by_marks();
    let ran = run(&space, &server);
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    assert!(ran.stderr().contains("a judge is one agent, and this file has 2"), "{}", ran.shown());
    assert!(ran.stderr().contains("judge.af:1:11"), "{}", ran.shown());
    assert!(server.asked().is_empty());
}

#[test]
fn an_agent_and_a_model_judge_together() {
    let server = LettaServer::by_marks();
    let judge = Judge::new(|_, _| Answer::score(0.5));
    let suite = format!(
        "name: s\ndataset: data.jsonl\ngraders:\n  quality:\n    kind: letta_judge\n    prompt: x\n    combine: mean\n    panel:\n    - {{agent_file: judge.af, base_url: '{}'}}\n    - {{model: judge-1, base_url: '{}'}}\n",
        server.url(),
        judge.url()
    );
    let file = judge_file().to_string();
    let row = "{\"id\": 0, \"input\": \"Q\", \"output\": \"4\"}\n";
    let space = Space::new(&[("suite.yaml", &suite), ("judge.af", &file), ("data.jsonl", row)]);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!((ran.code(), grades(&space)), (0, vec!["0.75".to_owned()]), "{}", ran.shown());
    assert_eq!((server.agents(), judge.count()), ([1, 0], 1));
}

/// The names of the members of each event but for pings, which come as often as a clock says.
fn event_shapes(text: &str) -> Vec<String> {
    let shape = |line: &str| {
        let Some(data) = line.strip_prefix("data: ") else { return line.to_owned() };
        let Ok(Value::Object(event)) = serde_json::from_str(data) else { return data.to_owned() };
        let names: BTreeSet<String> = event.keys().cloned().collect();
        format!("{} {names:?}", event.get("message_type").unwrap_or(&Value::Null))
    };
    let lines = text.lines().filter(|line| !line.is_empty()).map(shape);
    lines.filter(|line| !line.starts_with("\"ping\"")).collect()
}

#[test]
fn the_scripted_server_streams_what_a_real_one_was_recorded_to() {
    let graded = json!({"score": 1.0, "rationale": "The answer is right."}).to_string();
    for (name, said) in [
        ("0.16.8/message-stream-steps.sse", SyntaxReply::Graded(graded)),
        ("0.16.8/judge-no-tool-call-stream.sse", SyntaxReply::Text("No.".to_owned())),
        ("0.16.8/approval-stream.sse", SyntaxReply::Pending),
        ("0.16.8/target-stream-provider-429.sse", SyntaxReply::Failed("llm_rate_limit")),
        ("0.16.8/target-stream-cancelled.sse", SyntaxReply::Stopped("cancelled")),
        ("0.14.0/stream-provider-429.sse", SyntaxReply::FailedBefore("llm_rate_limit")),
    ] {
        let Some(recorded) = test_data::text("../letta-protocol", name) else { return };
        let scripted = StreamedAnswer::new(&said, "run-0", "q").events.concat();
        assert_eq!(event_shapes(&scripted), event_shapes(&recorded), "{name}");
    }
}

#[test]
fn the_scripted_server_answers_what_a_real_one_was_recorded_to() {
    let server = LettaServer::by_marks();
    let url = server.url();
    let space = space(", keep_agents: true", &["4"]);
    assert_eq!(run(&space, &server).code(), 0);
    for (name, method, path) in [
        ("0.16.8/health.json", "GET", "/v1/health/"),
        ("0.16.8/run-messages.json", "GET", "/v1/runs/run-0/messages"),
        ("0.16.8/agent-patch-model-unknown.json", "PATCH", "/v1/agents/agent-0"),
        ("0.16.8/cancel-nothing.json", "POST", "/v1/agents/agent-0/messages/cancel"),
        ("0.16.8/agent-delete.json", "DELETE", "/v1/agents/agent-0"),
        ("0.16.8/agent-get-deleted.json", "GET", "/v1/agents/agent-0"),
        ("0.16.8/message-unknown-agent.json", "POST", "/v1/agents/agent-0/messages/stream"),
        ("0.16.8/import-not-json.json", "POST", "/v1/agents/import"),
    ] {
        let Some(recorded) = test_data::text("../letta-protocol", name) else { return };
        let recorded: Value = serde_json::from_str(&recorded).unwrap();
        let body = recorded["request"]["body"].to_string();
        let (status, body) = ask(&url, method, path, &body);
        assert_eq!(json!(status), recorded["response"]["status"], "{name}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(names(&body), names(&recorded["response"]["body"]), "{name}");
    }
}

/// The names of the members of a value, and of each item of a list.
fn names(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(names).collect::<Vec<_>>().join("\n"),
        Value::Object(members) => format!("{:?}", members.keys().collect::<BTreeSet<_>>()),
        _ => String::new(),
    }
}
