//! Functions of Python: graders, extractors and rewards, as suites of Letta Evals have them.

use super::{all_verdicts, results, run};
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
fn a_function_needs_no_input() {
    if !has("python3") {
        return;
    }
    let suite = "name: s
dataset: {path: rows.jsonl, fields: {id: task_id, output: completion}}
graders:
  g: {kind: program, path: 'g.py:g'}
";
    let program =
        "def g(sample, submission):\n    return sample.input is None and submission == 'x'\n";
    let row = "{\"task_id\": \"t\", \"completion\": \"x\"}\n";
    let space = Space::new(&[("suite.yaml", suite), ("rows.jsonl", row), ("g.py", program)]);
    let ran = space.run(&["run", "suite.yaml", "--quiet"]);
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    assert!(space.record("results.jsonl").contains("\"score\":1.0"));
}

#[test]
fn functions_of_every_kind_grade_in_workers() {
    if !has("python3") {
        return;
    }
    let space = space(
        "
  decorated: {kind: tool, function: 'graders.py:contains'}
  later: {kind: tool, function: 'graders.py:later', pass_threshold: 0.5}
  plain: {kind: program, path: 'graders.py:plain'}
",
    );
    run(&space, &[], 0);
    insta::assert_snapshot!(all_verdicts(&space, &["decorated", "later", "plain"]), @r"
    decorated: 1.0 true a: True
    decorated: 0.0 false b: False
    later: 0.5 true later
    later: 0.5 true later
    plain: 1.0 true
    plain: 1.0 true
    ");
    assert_eq!(results(&space)[0]["grades"]["later"]["metadata"]["length"], 11);
    run(&space, &[], 0);
    assert_eq!(space.actions("decorated"), [0, 2, 0, 0]);
}

#[test]
fn what_a_function_extracts_is_graded_and_extracted_once() {
    if !has("python3") {
        return;
    }
    let extractor = "extractor: 'graders.py:first_call', extractor_config: {mark: '!'}";
    let space = space(&format!(
        "
  called: {{kind: tool, function: ascii_printable_only, {extractor}}}
  long: {{kind: tool, function: 'graders.py:plain', {extractor}}}
"
    ));
    run(&space, &[], 0);
    let submissions: Vec<_> =
        results(&space).iter().map(|line| line["submission"].clone()).collect();
    assert_eq!(submissions, [r#"add!{"x":2}"#, ""]);
    insta::assert_snapshot!(all_verdicts(&space, &["called", "long"]), @r"
    called: 1.0 true All characters printable ASCII (ignoring newlines)
    called: 0.0 false Empty submission - extractor found no content
    long: 1.0 true
    long: 0.0 false Empty submission - extractor found no content
    ");
    // Two extractions, which the graders share, and one call of the grader: what is empty is not handed on.
    let asked = ["called", "long"].map(|grader| space.actions(grader)[0]);
    assert_eq!(asked, [2, 1]);
    run(&space, &[], 0);
    assert_eq!(["called", "long"].map(|grader| space.actions(grader)[0]), [0, 0]);
    let other = GRADERS.replace("config['mark']", "config['mark'] + ''");
    space.write("graders.py", other);
    run(&space, &[], 0);
    assert_eq!(space.actions("called")[0], 2, "extracted again");
}

#[test]
fn rewards_are_made_of_grades() {
    if !has("python3") {
        return;
    }
    let space = space(
        "
  found: {kind: tool, function: contains}
  later: {kind: tool, function: 'graders.py:later'}
  both: {kind: combine, combine: 0.5*found + 0.5*later if found > 0 else 0}
reward: {kind: custom, function: 'rewards.py:compose', pass_threshold: 0.5}
gate: {metric_key: reward, metric: avg_score, op: gte, value: 0.5}
",
    );
    space.write(
        "rewards.py",
        r#"
from letta_evals import RewardOutput, reward_composer


@reward_composer
def compose(ctx) -> RewardOutput:
    scores = [grade.score for grade in ctx.grades.values()]
    return RewardOutput(score=max(scores), metadata={"of": sorted(ctx.grades)})
"#,
    );
    run(&space, &[], 0);
    insta::assert_snapshot!(all_verdicts(&space, &["both", "reward"]), @r"
    both: 0.75 false 0.5*found + 0.5*later if found > 0 else 0 = 0.5*1 + 0.5*0.5 if 1 > 0 else 0 = 0.75
    both: 0.0 false 0.5*found + 0.5*later if found > 0 else 0 = 0.5*0 + 0.5*0.5 if 0 > 0 else 0 = 0
    reward: 1.0 true
    reward: 0.5 true
    ");
    assert_eq!(
        results(&space)[0]["grades"]["reward"]["metadata"],
        serde_json::json!({"of": ["found", "later"]})
    );
    run(&space, &[], 0);
    assert_eq!(space.actions("reward"), [0, 2, 0, 0]);
}

#[test]
fn a_function_that_fails_costs_its_grade_and_nothing_else() {
    if !has("python3") {
        return;
    }
    let space = space(
        "
  raising: {kind: tool, function: 'bad.py:raising'}
  wrong: {kind: tool, function: 'bad.py:wrong'}
  dying: {kind: tool, function: 'bad.py:dying'}
  hanging: {kind: tool, function: 'bad.py:hanging', timeout: 0.5}
  good: {kind: tool, function: 'graders.py:plain'}
",
    );
    space.write(
        "bad.py",
        "\
import os


def raising(sample, submission):
    if sample.id == 'a':
        raise ValueError('no such thing')
    return 1


def wrong(sample, submission):
    return 2 if sample.id == 'a' else 1


def dying(sample, submission):
    if sample.id == 'a':
        os._exit(7)
    return 1


def hanging(sample, submission):
    while sample.id == 'a':
        pass
    return 1
",
    );
    run(&space, &[], 3);
    let names = ["raising", "wrong", "dying", "hanging", "good"];
    insta::assert_snapshot!(all_verdicts(&space, &names), @r"
    raising: exception: ValueError: no such thing (bad.py:6)
    raising: 1.0 true
    wrong: invalid_reply: Invalid grader result: `score` must be between 0.0 and 1.0, found 2
    wrong: 1.0 true
    dying: killed: Grader exited with code 7
    dying: 1.0 true
    hanging: timeout: no result within 0.5 s
    hanging: 1.0 true
    good: 1.0 true
    good: 1.0 true
    ");
    // What would come again is kept; what may have been the machine's is called again.
    run(&space, &[], 3);
    assert_eq!(names.map(|grader| space.actions(grader)[0]), [0, 0, 1, 1, 0]);
}

#[test]
fn equal_files_that_load_others_are_kept_apart() {
    if !has("python3") {
        return;
    }
    let space = space(
        "
  strict: {kind: tool, function: 'strict/g.py:grade'}
  lenient: {kind: tool, function: 'lenient/g.py:grade'}
",
    );
    for (folder, score) in [("strict", "0"), ("lenient", "1")] {
        let program = "import rules\n\n\ndef grade(sample, submission):\n    return rules.SCORE\n";
        space.write(&format!("{folder}/g.py"), program);
        space.write(&format!("{folder}/rules.py"), format!("SCORE = {score}\n"));
    }
    for asked in [2, 0] {
        run(&space, &[], 0);
        let scores = |grader| {
            results(&space)
                .iter()
                .map(|line| line["grades"][grader]["score"].as_f64())
                .collect::<Vec<_>>()
        };
        assert_eq!(scores("strict"), [Some(0.0); 2]);
        assert_eq!(scores("lenient"), [Some(1.0); 2]);
        assert_eq!(["strict", "lenient"].map(|grader| space.actions(grader)[0]), [asked; 2]);
    }
}

#[test]
fn what_is_loaded_only_when_called_makes_nothing_run_again() {
    if !has("python3") {
        return;
    }
    let grader = "\n  lazy: {kind: tool, function: 'lazy.py:grade'}\nreward: {kind: custom, function: 'lazy.py:compose'}\n";
    let space = space(grader);
    let row = |at| serde_json::json!({"id": at, "input": "q", "output": format!("a{at}")});
    let rows = crate::space::jsonl((0..200).map(row));
    space.write("rows.jsonl", &rows);
    space.write(
        "lazy.py",
        "\
def grade(sample, submission):
    import rules
    return rules.SCORE


def compose(ctx):
    import more
    return more.SCORE
",
    );
    space.write("rules.py", "SCORE = 0.5\n");
    space.write("more.py", "SCORE = 0.25\n");
    for asked in [200, 0] {
        run(&space, &[], 0);
        assert_eq!(["lazy", "reward"].map(|grader| space.actions(grader)[0]), [asked; 2]);
    }
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

#[test]
fn an_extractor_is_not_called_for_rows_that_its_grader_leaves_out() {
    if !has("python3") {
        return;
    }
    let extractor = "extractor: 'graders.py:first_call', extractor_config: {mark: '!'}";
    let space = space(&format!(
        "\n  long: {{kind: tool, function: 'graders.py:plain', only: has(row.nothing), {extractor}}}\n"
    ));
    run(&space, &[], 0);
    assert_eq!(space.actions("long"), [0, 0, 0, 0]);
}

#[test]
fn an_extractor_that_reads_the_world_grades_nothing_again() {
    if !has("python3") {
        return;
    }
    let extractor = "extractor: 'graders.py:first_call', extractor_config: {mark: '!'}";
    let grader = format!(
        "\n  long: {{kind: tool, function: 'graders.py:plain', {extractor}, extractor_options: {{cache: false}}}}\n"
    );
    let space = space(&grader);
    run(&space, &[], 0);
    assert_eq!(space.actions("long")[0], 3, "two are extracted, of which one is empty");
    run(&space, &[], 0);
    assert_eq!(space.actions("long")[0], 2, "two are extracted");
}
