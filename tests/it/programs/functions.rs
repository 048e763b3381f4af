//! Functions of Python: graders, extractors and rewards, as suites of Letta Evals have them.

use super::run;
use crate::space::{Space, has};

const ROWS: &str = r#"{"id":"a","input":"q","ground_truth":"four","trajectory":[[{"message_type":"user_message","content":"q"},{"message_type":"tool_call_message","tool_call":{"name":"add","arguments":"{\"x\":2}","tool_call_id":"1"}},{"message_type":"assistant_message","content":"It is four."}]]}
{"id":"b","input":"q","ground_truth":"five","trajectory":[[{"message_type":"user_message","content":"q"},{"message_type":"assistant_message","content":"It is four."}]]}
"#;

const GRADERS: &str = r#"
from __future__ import annotations

import asyncio

from letta_client import LettaMessageUnion, ToolCallMessage
from letta_evals.decorators import extractor, grader
from letta_evals.models import GradeResult, Sample


@grader
def contains(sample: Sample, submission: str) -> GradeResult:
    print("looking", submission)
    found = sample.ground_truth in submission
    return GradeResult(score=float(found), rationale=f"{sample.id}: {found}")


@grader(name="slow")
async def later(sample: Sample, submission: str) -> GradeResult:
    await asyncio.sleep(0)
    return GradeResult(score=0.5, rationale="later", metadata={"length": len(submission)})


def plain(sample, submission):
    return len(submission) > 5


@extractor
def first_call(trajectory: list[list[LettaMessageUnion]], config: dict) -> str:
    for turn in trajectory:
        for message in turn:
            if isinstance(message, ToolCallMessage):
                return f"{message.tool_call.name}{config['mark']}{message.tool_call.arguments}"
    return ""
"#;

fn space(graders: &str) -> Space {
    let suite = format!("name: s\ndataset: rows.jsonl\ngraders:\n{graders}");
    Space::new(&[("suite.yaml", &suite), ("rows.jsonl", ROWS), ("graders.py", GRADERS)])
}

#[test]
fn what_graders_share_is_kept_once_under_its_whole_key() {
    if !has("python3") {
        return;
    }
    let extractor = "extractor: 'lazy.py:part'";
    let space = space(&format!(
        "
  one: {{kind: tool, function: ascii_printable_only, {extractor}}}
  two: {{kind: tool, function: contains, {extractor}}}
"
    ));
    let extractor = "def part(trajectory, config):\n    import late\n    return late.MARK + trajectory[0][-1].content\n";
    space.write("lazy.py", extractor);
    space.write("late.py", "MARK = '!'\n");
    run(&space, &[], 0);
    let mut keys: Vec<(String, u64)> = space
        .stored_lines()
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|entry| (entry["k"].as_str().unwrap().to_owned(), entry["g"].as_u64().unwrap_or(0)))
        .collect();
    keys.sort();
    let all = keys.len();
    keys.dedup();
    // What is extracted of each row is kept under the key it was called by and under the whole one, and what the
    // extractor loads is listed twice: before it was called, and after.
    assert_eq!((all, keys.len()), (6, 6));
    run(&space, &[], 0);
    assert_eq!(["one", "two"].map(|grader| space.actions(grader)[0]), [0, 0]);
}
