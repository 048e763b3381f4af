//! Functions of Python files around agents on a Letta server: graders, extractors and rewards, as suites of Letta Evals
//! have them.

use serde_json::{Value, json};

use crate::letta::judge_file;
use crate::letta_server::{LettaServer, SyntaxReply};
use crate::space::{Ran, Space, has, jsonl};

const SUITE: &str = "
name: letta
dataset: data.jsonl
target: {kind: letta_agent, agent_file: bot.af, model_handles: [openai/one], timeout: 20}
graders:
  told: {kind: tool, function: own.py:told, extractor: own.py:answers, extractor_config: {mark: '!'}}
  knows: {kind: tool, function: contains, extractor: own.py:memory}
  newer: {kind: tool, function: own.py:later, extractor: own.py:newer}
reward: {kind: custom, function: own.py:all_of_it}
";

const OWN: &str = r#"
from typing import List
from letta_client import AgentState, AssistantMessage, LettaMessageUnion
from letta_evals import RewardOutput, reward_composer
from letta_evals.decorators import extractor, grader
from letta_evals.models import GradeResult, Sample

@extractor
def answers(trajectory: List[List[LettaMessageUnion]], config: dict) -> str:
    said = [message for turn in trajectory for message in turn if isinstance(message, AssistantMessage)]
    return " / ".join(message.content for message in said) + config["mark"]

@extractor
def memory(trajectory: List[List[LettaMessageUnion]], config: dict, agent_state: AgentState) -> str:
    return agent_state.memory.blocks[0].value

@extractor
def newer(trajectory, config, agent_state) -> str:
    return "%s by %s" % (agent_state.blocks[0].label, agent_state.llm_config.model)

@grader
def told(sample: Sample, submission: str) -> GradeResult:
    return GradeResult(score=1.0 if submission.endswith("!") else 0.0, rationale=submission)

@grader
async def later(sample: Sample, submission: str) -> GradeResult:
    return GradeResult(score=0.5, rationale="%s for %s" % (submission, sample.agent_args["who"]))

@reward_composer
def all_of_it(ctx) -> RewardOutput:
    turns = len(ctx.trajectory)
    return RewardOutput(score=ctx.grades["newer"].score, metadata={"turns": turns, "model": ctx.model_handle})
"#;

fn space(suite: &str, rows: &[Value]) -> Space {
    let mut file = judge_file();
    file["blocks"] =
        json!([{"id": "block-0", "label": "human", "value": "says hello", "limit": 100}]);
    Space::new(&[
        ("suite.yaml", suite),
        ("data.jsonl", &jsonl(rows.iter().cloned())),
        ("bot.af", &file.to_string()),
        ("own.py", OWN),
    ])
}

fn run(space: &Space, server: &LettaServer, args: &[&str]) -> Ran {
    let mut command = space.command(&[&["run", "suite.yaml", "--quiet"], args].concat());
    command.env("LETTA_BASE_URL", server.url());
    Ran(command.output().unwrap())
}

#[test]
fn graders_extractors_and_rewards_of_letta_suites_grade_what_a_live_agent_did() {
    if !has("python3") {
        return;
    }
    let server = LettaServer::new(|_, text| SyntaxReply::Text(format!("heard {text}")));
    let rows = [json!({
        "id": "a", "input": ["one", "two"], "ground_truth": "hello", "agent_args": {"who": "Ada"},
    })];
    let space = space(SUITE, &rows);
    let ran = run(&space, &server, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let result: Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
    let grade = |name: &str| {
        let grade = &result["grades"][name];
        (grade["score"].to_string(), grade["rationale"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(grade("told"), ("1.0".to_owned(), "heard one / heard two!".to_owned()), "{result}");
    assert_eq!(grade("knows").0, "1.0", "{result}");
    assert_eq!(
        grade("newer"),
        ("0.5".to_owned(), "human by openai/one for Ada".to_owned()),
        "{result}"
    );
    assert_eq!(grade("reward").0, "0.5", "{result}");
    assert_eq!(result["grades"]["reward"]["metadata"], json!({"turns": 2, "model": "openai/one"}));
    let asked = server.asked().len();
    let ran = run(&space, &server, &["--offline"]);
    assert_eq!((ran.code(), server.asked().len()), (0, asked), "{}", ran.shown());
}

/// A client of a Letta server in a few lines, as far as the scripts of these tests use one.
const CLIENT: &str = r#"
import json, urllib.request

class _Agents:
    def __init__(self, client):
        self.client = client

    def make(self, name, value):
        body = json.dumps({"name": name, "memory_blocks": [{"label": "human", "value": value}]}).encode()
        headers = {"content-type": "application/json", "authorization": "Bearer %s" % self.client.token}
        headers.update(self.client.headers or {})
        request = urllib.request.Request(self.client.base_url + "/v1/agents/", body, headers)
        return json.load(urllib.request.urlopen(request))["id"]

class Letta:
    def __init__(self, *, base_url=None, token=None, headers=None, timeout=None):
        self.base_url, self.token, self.headers, self.timeout = base_url, token, headers, timeout
        self.agents = _Agents(self)

class AsyncLetta(Letta):
    pass
"#;

const SCRIPTS: &str = r#"
from letta_client import AsyncLetta, Letta
from letta_evals.decorators import agent_factory, suite_setup
from letta_evals.models import Sample
from naming import name_of

@suite_setup
async def prepare(client: AsyncLetta, model_name: str) -> None:
    assert isinstance(client, AsyncLetta)
    with open("prepared", "a") as notes:
        notes.write("%s\n" % model_name)

@suite_setup
def once() -> None:
    with open("prepared", "a") as notes:
        notes.write("once\n")

@suite_setup
def broken(client: AsyncLetta):
    raise ValueError("no tools at %s" % client.token)

@agent_factory
async def make(client: AsyncLetta, sample: Sample) -> str:
    return client.agents.make(name_of(sample.id), sample.agent_args["likes"])

def plain(client, sample):
    assert type(client) is Letta
    return client.agents.make("plain", str(sample.input))

def nothing(client, sample):
    return None
"#;

const SCRIPTED: &str = "
name: letta
dataset: data.jsonl
setup_script: 'scripts.py:prepare'
target: {kind: letta_agent, agent_script: 'scripts.py:make', project_id: shop, model_handles: [a/b, c/d], timeout: 20}
graders:
  likes: {kind: tool, function: contains, extractor: memory_block, extractor_config: {block_label: human}}
";

/// A space with scripts that make agents; none where nothing runs them.
fn scripted(suite: &str) -> Option<Space> {
    let row = |id: &str, likes: &str| json!({"id": id, "input": "hi", "ground_truth": likes, "agent_args": {"likes": likes}});
    has("python3").then(|| {
        Space::new(&[
            ("suite.yaml", suite),
            ("data.jsonl", &jsonl([row("a", "figs"), row("b", "plums")])),
            ("scripts.py", SCRIPTS),
            ("naming.py", "def name_of(id):\n    return 'agent of ' + id\n"),
            ("letta_client/__init__.py", CLIENT),
        ])
    })
}

fn prepared(space: &Space) -> String {
    std::fs::read_to_string(space.path("prepared")).unwrap_or_default()
}

#[test]
fn scripts_prepare_the_server_and_make_agents_which_go_with_their_conversations() {
    let Some(space) = scripted(SCRIPTED) else { return };
    let server = LettaServer::new(|_, text| SyntaxReply::Text(text.to_owned()));
    let ran = run(&space, &server, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(super::conversations(&space), [4, 0, 4, 0]);
    assert_eq!(server.agents(), [4, 0]);
    // Each model is prepared for once, before all else.
    assert_eq!(prepared(&space), "a/b\nc/d\n");
    assert_eq!(server.asked().iter().filter(|asked| *asked == "create").count(), 4);
    assert!(server.header("x-project-id").iter().all(|value| value.as_deref() == Some("shop")));
    let asked = server.asked().len();
    assert_eq!(run(&space, &server, &["--offline"]).code(), 0);
    assert_eq!(server.asked().len(), asked);
    // What a script loads decides what the agent is.
    space.write("naming.py", "def name_of(id):\n    return 'new agent of ' + id\n");
    assert_eq!(run(&space, &server, &[]).code(), 0);
    assert_eq!(super::conversations(&space), [4, 0, 4, 0]);
    // And so does what a sample hands over.
    let row = json!({"id": "a", "input": "hi", "ground_truth": "x", "agent_args": {"likes": "x"}});
    space.write("data.jsonl", jsonl([row]));
    assert_eq!(run(&space, &server, &[]).code(), 0);
    assert_eq!(super::conversations(&space), [2, 0, 2, 0]);
    assert_eq!(server.agents()[1], 0);
}

#[test]
fn scripts_may_be_plain_functions_and_an_edit_of_the_setup_runs_the_agents_again() {
    let suite = SCRIPTED.replace(":prepare", ":once").replace(":make", ":plain");
    let Some(space) = scripted(&suite.replace(
        "contains, extractor: memory_block",
        "ascii_printable_only, extractor: memory_block",
    )) else {
        return;
    };
    space.write("setup.py", "def once():\n    open('prepared', 'a').write('once\\n')\n");
    // A client of a later release.
    let newer =
        CLIENT.replace("token=None, headers=None", "api_key=None, project_id=None").replace(
            "= base_url, token, headers,",
            "= base_url, api_key, {'x-project-id': project_id},",
        );
    space.write("letta_client/__init__.py", newer);
    let suite = space.read("suite.yaml").replace("scripts.py:once", "setup.py:once");
    space.write("suite.yaml", suite);
    let server = LettaServer::new(|_, text| SyntaxReply::Text(text.to_owned()));
    let ran = run(&space, &server, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(prepared(&space), "once\n");
    assert!(server.header("x-project-id").iter().all(|value| value.as_deref() == Some("shop")));
    space.write("setup.py", "def once():\n    open('prepared', 'a').write('again\\n')\n");
    let ran = run(&space, &server, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(super::conversations(&space), [4, 0, 4, 0]);
    assert_eq!(prepared(&space), "once\nagain\n");
}

#[test]
fn scripts_that_fail_are_errors_that_say_why_and_tell_no_key() {
    let server = LettaServer::new(|_, text| SyntaxReply::Text(text.to_owned()));
    for (suite, expected) in [
        (
            SCRIPTED.replace(":prepare", ":broken"),
            "`setup_script` failed: ValueError: no tools at [secret] (scripts.py:20)",
        ),
        (
            SCRIPTED.replace(":make", ":nothing"),
            "an agent script returns the id of an agent, not null",
        ),
    ] {
        let Some(space) = scripted(&suite) else { return };
        let mut command = space.command(&["run", "suite.yaml", "--quiet"]);
        command.env("LETTA_BASE_URL", server.url()).env("LETTA_API_KEY", "sk-let-0123456789");
        let ran = Ran(command.output().unwrap());
        assert_eq!(ran.code(), 3, "{}", ran.shown());
        let result = space.record("results.jsonl");
        let first: Value = serde_json::from_str(result.lines().next().unwrap()).unwrap();
        assert_eq!(first["grades"]["likes"]["error"]["message"], expected);
        assert!(!result.contains("sk-let"), "{result}");
    }
    assert_eq!(server.agents()[1], 0);
}

#[test]
fn without_the_client_it_is_said_what_to_install() {
    let Some(space) = scripted(SCRIPTED) else { return };
    std::fs::remove_dir_all(space.path("letta_client")).unwrap();
    let server = LettaServer::new(|_, text| SyntaxReply::Text(text.to_owned()));
    let ran = run(&space, &server, &[]);
    if ran.code() == 0 {
        // This Python has the client.
        return;
    }
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    let stderr = ran.stderr();
    assert!(stderr.contains("the package `letta-client` is not installed"), "{stderr}");
    assert!(
        stderr.contains("-m pip install letta-client`, or name another Python with `runtime`"),
        "{stderr}"
    );
}

#[test]
fn models_are_configured_by_files_beside_the_suite() {
    let suite = SUITE
        .replace("model_handles: [openai/one]", "model_configs: [openai-gpt-4.1]")
        .replace("reward: {kind: custom, function: own.py:all_of_it}\n", "");
    let space = space(
        &suite,
        &[json!({"id": "a", "input": "x", "ground_truth": "hello", "agent_args": {"who": "Ada"}})],
    );
    space.write(
        "llm_model_configs/openai-gpt-4.1.json",
        r#"{"model": "gpt-4.1-2025", "context_window": 9}"#,
    );
    if !has("python3") {
        return;
    }
    let server = LettaServer::new(|_, text| SyntaxReply::Text(text.to_owned()));
    let ran = run(&space, &server, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let result: Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
    assert_eq!(result["model"], "gpt-4.1-2025");
    assert_eq!(result["grades"]["newer"]["rationale"], "human by gpt-4.1-2025 for Ada");
    space.write(
        "llm_model_configs/openai-gpt-4.1.json",
        r#"{"model": "gpt-4.1-2025", "context_window": 8}"#,
    );
    assert_eq!(run(&space, &server, &[]).code(), 0);
    assert_eq!(super::conversations(&space), [1, 0, 1, 0]);
}
