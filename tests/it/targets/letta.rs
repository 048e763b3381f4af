//! Agents on a Letta server as targets: one imported for each conversation, and deleted after it.

use serde_json::{Value, json};

use crate::letta::judge_file;
use crate::letta_server::{LettaServer, SyntaxReply};
use crate::space::{Ran, Space, jsonl};

const SUITE: &str = "
name: letta
dataset: data.jsonl
target: {kind: agent, agent_file: bot.af, timeout: 20}
graders:
  said: {kind: tool, function: contains, extractor: last_assistant}
";

fn space(suite: &str, inputs: &[Value]) -> Space {
    let rows = inputs.iter().enumerate();
    let rows = rows.map(|(at, input)| json!({"id": at, "input": input, "ground_truth": "hello"}));
    let file = judge_file().to_string();
    Space::new(&[("suite.yaml", suite), ("data.jsonl", &jsonl(rows)), ("bot.af", &file)])
}

fn run(space: &Space, server: &LettaServer, args: &[&str]) -> Ran {
    let mut command = space.command(&[&["run", "suite.yaml", "--quiet"], args].concat());
    command.env("LETTA_BASE_URL", server.url());
    Ran(command.output().unwrap())
}

/// What each message gets: words that begin with what was said.
fn echo() -> LettaServer {
    LettaServer::new(|_, text| match text {
        "fail" => SyntaxReply::Failed("llm_rate_limit"),
        "stall" => SyntaxReply::Nothing,
        _ => SyntaxReply::Text(format!("{text}: hello")),
    })
}

#[test]
fn an_agent_is_imported_for_each_conversation_and_deleted_after_it() {
    let server = echo();
    let inputs = [json!("one"), json!(["two", "three"])];
    let space = space(SUITE, &inputs);
    let ran = run(&space, &server, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(super::conversations(&space), [2, 0, 2, 0]);
    let [made, left] = server.agents();
    assert_eq!([made, left], [2, 0]);
    let submissions: Vec<String> = space
        .record("results.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["submission"].to_string())
        .collect();
    assert_eq!(submissions, ["\"one: hello\"", "\"three: hello\""]);
    let asked = server.asked().len();
    let ran = run(&space, &server, &["--offline"]);
    assert_eq!((ran.code(), server.asked().len()), (0, asked), "{}", ran.shown());
    // The agent file decides what an agent does.
    let mut file = judge_file();
    file["agents"][0]["system"] = json!("You are kind.");
    space.write("bot.af", file.to_string());
    run(&space, &server, &[]);
    assert_eq!(super::conversations(&space), [2, 0, 2, 0]);
    assert_eq!(server.agents()[1], 0);
}

#[test]
fn failures_on_the_server_are_errors_and_leave_no_agent_behind() {
    let server = echo();
    let suite = SUITE.replace("timeout: 20", "timeout: 1.5, max_retries: 1");
    let space = space(&suite, &[json!("fail"), json!("stall"), json!("fine")]);
    let ran = run(&space, &server, &[]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    let kinds: Vec<Value> = space
        .record("results.jsonl")
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["grades"]["said"]["error"]["kind"].clone()
        })
        .collect();
    assert_eq!(kinds, [json!("rate_limited"), json!("timeout"), Value::Null]);
    assert_eq!(server.agents()[1], 0);
    assert!(server.asked().iter().any(|asked| asked.starts_with("cancel")), "{:?}", server.asked());
}

#[test]
fn suites_of_letta_run_once_for_each_model_handle() {
    let server = echo();
    let suite = SUITE.replace("timeout: 20", "model_handles: [openai/one, openai/two]");
    let space = space(&suite, &[json!("hi")]);
    let ran = run(&space, &server, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let summary: Value = serde_json::from_str(&space.record("summary.json")).unwrap();
    assert_eq!(summary["by_model"]["openai/two"]["said"]["n"], 1, "{summary}");
}

#[test]
fn a_judge_that_is_an_agent_is_asked_where_the_target_is() {
    let server = LettaServer::new(|_, text| match text {
        "one" => SyntaxReply::Text("one: hello".to_owned()),
        _ => SyntaxReply::score(1.0),
    });
    let other = LettaServer::new(|_, _| SyntaxReply::score(0.0));
    let suite = |target: &str, judge: &str| {
        format!(
            "name: letta\ndataset: data.jsonl\ntarget: {{kind: letta_agent, agent_file: bot.af{target}}}\n\
             graders:\n  quality: {{kind: rubric, agent_file: bot.af, prompt: 'Is {{submission}} right?'{judge}}}\n"
        )
    };
    let at_server = format!(", base_url: '{}', api_key_env: OWN_KEY, project_id: p1", server.url());
    let at_other = format!(", base_url: '{}'", other.url());
    let space = space(&suite(&at_server, ""), &[json!("one")]);
    let graded = |environment: &[(&str, &str)]| {
        let mut command = space.command(&["run", "suite.yaml"]);
        command.env_remove("LETTA_BASE_URL").envs(environment.iter().copied());
        let ran = Ran(command.output().unwrap());
        assert_eq!(ran.code(), 0, "{}", ran.shown());
        let line: Value = serde_json::from_str(space.record("results.jsonl").trim()).unwrap();
        let grade = &line["grades"]["quality"];
        (grade["score"].clone(), grade["key"].clone())
    };
    let own = [("OWN_KEY", "k-own")];
    let first = graded(&own);
    assert_eq!(first.0, json!(1.0));
    for (name, value) in [("authorization", "Bearer k-own"), ("x-project-id", "p1")] {
        let said = server.header(name);
        assert!(said.iter().all(|said| said.as_deref() == Some(value)), "{name}: {said:?}");
    }
    // The target says more than the environment, and the judge itself more than the target.
    assert_eq!(graded(&[own[0], ("LETTA_BASE_URL", &other.url())]), first);
    assert_eq!(other.asked(), [""; 0]);
    space.write("suite.yaml", suite(&at_server, &at_other));
    let elsewhere = graded(&own);
    assert_eq!(elsewhere.0, json!(0.0));
    assert_ne!(elsewhere.1, first.1, "the address is in the key");
}
