//! 164 programs that a model wrote, with the tests that were written for them: graded by an executable with declared
//! inputs and by a function that is seen to load its helper.

use super::{executable, results, run};
use crate::space::{Space, has};
use evalrs_test_data as test_data;

/// Runs one program against its tests.
const HARNESS: &str = r#"
import signal


def late(signum, frame):
    raise TimeoutError("the program does not end")


def passes(metadata, prompt, solution):
    source = prompt + solution + "\n" + metadata["test"]
    space = {"__name__": "program"}
    signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    try:
        exec(compile(source, "program", "exec"), space)
        space["check"](space[metadata["entry_point"]])
        return True
    except BaseException:
        return False
    finally:
        signal.alarm(0)
"#;

const PROGRAM: &str = r#"#!/usr/bin/env python3
import json
import sys

from harness import passes

given = json.load(sys.stdin)
solved = passes(given["metadata"], given["input"], given["output"])
print(json.dumps({"pass": solved, "score": 1.0 if solved else 0.0, "reasoning": given["metadata"]["task_id"]}))
"#;

const FUNCTION: &str = r#"
from letta_evals.decorators import grader
from letta_evals.models import GradeResult, Sample


@grader
def solves(sample: Sample, submission: str) -> GradeResult:
    from harness import passes

    solved = passes(sample.metadata, sample.input, submission)
    return GradeResult(score=1.0 if solved else 0.0, rationale=sample.metadata["entry_point"])
"#;

fn space(graders: &str) -> Option<Space> {
    let data = test_data::path("gsm8k-humaneval-outputs", "humaneval-gpt-4.jsonl")?;
    let suite = format!(
        "\
name: humaneval
dataset: {{path: {}, fields: {{input: prompt, output: solution}}}}
sandbox: auto
graders:
{graders}gate: {{metric_key: solved, metric: accuracy, op: gte, value: 0.8}}
",
        data.display()
    );
    let space = Space::new(&[
        ("suite.yaml", &suite),
        ("harness.py", HARNESS),
        ("solved.py", PROGRAM),
        ("graders.py", FUNCTION),
        ("notes.py", "# nobody loads this\n"),
    ]);
    executable(&space, "solved.py");
    Some(space)
}

fn check(space: &Space) {
    run(space, &[], 0);
    // The model gave 30 of them up: nothing is handed on where there is nothing.
    assert_eq!(space.actions("solved"), [134, 0, 0, 0]);
    let data = test_data::text("gsm8k-humaneval-outputs", "humaneval-gpt-4.jsonl").unwrap();
    let results = results(space);
    assert_eq!(results.len(), 164);
    for (line, row) in results.iter().zip(data.lines()) {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        assert_eq!(line["grades"]["solved"]["pass"], row["is_solved"], "{}", row["task_id"]);
    }
    let passed = results.iter().filter(|line| line["grades"]["solved"]["score"] == 1.0).count();
    assert_eq!(passed, 134);
    run(space, &[], 0);
    assert_eq!(space.actions("solved"), [0, 134, 0, 0], "nothing changed");
    space.write("notes.py", "# and nobody will\n");
    run(space, &[], 0);
    assert_eq!(space.actions("solved"), [0, 134, 0, 0], "what is not loaded changed");
    space.write("harness.py", format!("{HARNESS}\n# edited\n"));
    run(space, &[], 0);
    assert_eq!(space.actions("solved"), [134, 0, 0, 0], "its helper changed");
    run(space, &[], 0);
    assert_eq!(space.actions("solved"), [0, 134, 0, 0], "nothing changed since");
    space.write("harness.py", HARNESS);
    run(space, &[], 0);
    assert_eq!(space.actions("solved"), [0, 134, 0, 0], "it is what it was");
}

#[test]
fn an_executable_with_declared_inputs_agrees_with_every_recorded_flag() {
    let graders = "  solved: {kind: program, path: solved.py, inputs: [harness.py]}\n";
    let (true, Some(space)) = (has("python3"), space(graders)) else { return };
    check(&space);
}

#[test]
fn a_function_that_loads_its_helper_when_it_is_called_agrees_too() {
    let graders = "  solved: {kind: tool, function: 'graders.py:solves'}\n";
    let (true, Some(space)) = (has("python3"), space(graders)) else { return };
    check(&space);
}
