//! Functions of Python files around agents on a Letta server: graders, extractors and rewards, as suites of Letta Evals
//! have them.

use serde_json::{Value, json};

use crate::letta::judge_file;
use crate::letta_server::{LettaServer, Said};
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
    let server = LettaServer::new(|_, text| Said::Text(format!("heard {text}")));
    let rows = [json!({
        "id": "a", "input": ["one", "two"], "ground_truth": "hello", "agent_args": {"who": "Ada"},
    })];
    let space = space(SUITE, &rows);
    let ran = run(&space, &server, &[]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let result: Value = serde_json::from_str(&space.record("results.jsonl")).unwrap();
    let grade = |name: &str| {
        let grade = &result["grades"][name];
        (
            grade["score"].as_f64().unwrap(),
            grade["rationale"].as_str().unwrap_or_default().to_owned(),
        )
    };
    assert_eq!(grade("told"), (1.0, "heard one / heard two!".to_owned()), "{result}");
    assert_eq!(grade("knows").0, 1.0, "{result}");
    assert_eq!(grade("newer"), (0.5, "human by openai/one for Ada".to_owned()), "{result}");
    assert_eq!(grade("reward").0, 0.5, "{result}");
    assert_eq!(result["grades"]["reward"]["metadata"], json!({"turns": 2, "model": "openai/one"}));
    let asked = server.asked().len();
    let ran = run(&space, &server, &["--offline"]);
    assert_eq!((ran.code(), server.asked().len()), (0, asked), "{}", ran.shown());
}
