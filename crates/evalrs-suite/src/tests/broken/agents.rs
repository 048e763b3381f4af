//! Judges that are agents, and what is wrong with their files.

use super::*;
use evalrs_test_data::letta_agent::judge_file;

/// What is said of a suite whose grader has these further lines, beside the agent file `file`.
fn said(lines: &str, file: &str) -> Vec<String> {
    let text = format!(
        "name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n{lines}"
    );
    let files = Memory::new(&[("suite.yaml", &text), ("judge.af", file)]);
    let reading = read(&files);
    let shown = reading.diagnostics.iter().map(|problem| {
        let place = problem.place.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{place} {}", problem.message)
    });
    shown.collect()
}

#[test]
fn what_is_said_of_an_agent_is_checked() {
    let file = judge_file().to_string();
    for (lines, expected) in [
        ("    agent_file: judge.af\n", &[][..]),
        ("    agent_file: judge.af\n    provider: letta\n    model: openai/m\n", &[]),
        ("    agent_file: no.af\n", &["suite.yaml:7:17 the file `no.af` does not exist"]),
        ("    agent_file: 4\n", &["suite.yaml:7:17 `agent_file` must be text, not a number"]),
        (
            "    agent_file: judge.af\n    judge_tool_name: grade\n",
            &["judge.af:1:12 the judge has no tool `grade`"],
        ),
        (
            "    agent_file: judge.af\n    provider: openai\n",
            &["suite.yaml:8:5 a judge with an `agent_file` has the provider `letta`"],
        ),
        (
            "    provider: letta\n",
            &[
                "suite.yaml:7:5 judges of the provider `letta` are agents, and this one has no `agent_file`",
            ],
        ),
        (
            "    agent_file: judge.af\n    temperature: 0\n",
            &[
                "suite.yaml:8:5 judges of the provider `letta` take no `temperature`: the agent's file says it",
            ],
        ),
        (
            "    agent_file: judge.af\n    compare_to: reference\n",
            &["suite.yaml:8:5 a judge that is an agent cannot compare: its tool takes a score"],
        ),
        (
            "    keep_agents: true\n",
            &["suite.yaml:7:5 `keep_agents` is a setting of judges that are agents"],
        ),
        (
            "    panel: [{agent_file: judge.af}, {agent_file: judge.af}]\n",
            &["suite.yaml:7:37 this judge is in the panel already: one judgment would count twice"],
        ),
        (
            "    base_url: http://a/v1\n    panel: [{agent_file: judge.af}, {model: m}]\n",
            &["suite.yaml:8:26 this judge of another provider inherits `base_url` of the grader"],
        ),
    ] {
        assert_eq!(said(lines, &file), expected, "{lines}");
    }
}

#[test]
fn what_is_wrong_with_an_agents_file_stands_at_its_place_in_it() {
    let lines = "    agent_file: judge.af\n";
    for (file, expected) in [
        ("", "suite.yaml:7:17 the agent file `judge.af` is empty"),
        (
            "{\n  \"agents\": [}",
            "judge.af:2:14 this agent file is not JSON: a value is expected here",
        ),
        ("[]", "judge.af:1:1 an agent file is a JSON object"),
        ("{}", "judge.af:1:1 this is not a current agent file: it has no list `agents`"),
    ] {
        assert_eq!(said(lines, file), [expected], "{file}");
    }
}
