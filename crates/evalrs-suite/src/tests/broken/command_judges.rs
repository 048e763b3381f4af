//! Judges that are commands: what they take, and what is said of what they do not.

use super::*;
use evalrs_model::spec::{GraderKind, JudgeSpec};

/// What is read of a suite whose grader has these further lines.
fn reading(lines: &str) -> SuiteReading {
    let text = format!(
        "name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt_path: rubric.txt\n{lines}"
    );
    let rubric = "---\nscale: {min: 1, max: 5}\n---\nIs {submission} kind?\n";
    let named = "---\nmodel: m\n---\nx\n";
    read(&Memory::new(&[("suite.yaml", &text), ("rubric.txt", rubric), ("named.txt", named)]))
}

/// What is said of them.
fn said(lines: &str) -> Vec<String> {
    let reading = reading(lines);
    let shown = reading.diagnostics.iter().map(|problem| {
        let place = problem.place.as_ref().map(ToString::to_string).unwrap_or_default();
        let hint = problem.hint.as_deref().unwrap_or("-");
        format!("{place} {} ({hint})", problem.message)
    });
    shown.collect()
}

fn judges(lines: &str) -> Vec<JudgeSpec> {
    let reading = reading(lines);
    assert_eq!(reading.diagnostics, [], "{lines}");
    let suite = reading.suite.unwrap();
    match &suite.graders[0].kind {
        GraderKind::Rubric(rubric) => rubric.judges.clone(),
        kind => panic!("{kind:?}"),
    }
}

#[test]
fn what_is_said_of_a_command_is_checked() {
    const BY_WORDS: &str = "put settings among the words of the command";
    for (lines, expected) in [
        ("    command: [claude, -p]\n", &[][..]),
        (
            "    command: ./judge.sh\n    timeout: 9\n    deadline: 9\n    retries: 0\n    max_requests_per_minute: 3\n",
            &[],
        ),
        (
            "    command: claude -p\n",
            &[
                "suite.yaml:7:14 `command` is a list of words, not a line for a shell (write `command: [claude, -p]`)",
            ],
        ),
        (
            "    command: []\n",
            &["suite.yaml:7:14 `command` is empty (for example `[python3, agent.py]`)"],
        ),
        (
            "    command: [claude, -p, {prompt}]\n",
            &[
                "suite.yaml:7:27 an item of `command` must be text, not a mapping (put the value in quotes)",
            ],
        ),
        (
            "    command: [claude, 4]\n",
            &[
                "suite.yaml:7:23 an item of `command` must be text, not a number (put the value in quotes)",
            ],
        ),
        (
            "    command: {a: b}\n",
            &["suite.yaml:7:14 `command` must be a list of texts, not a mapping (-)"],
        ),
        (
            "    command: [claude]\n    model: opus\n",
            &[
                "suite.yaml:8:5 a judge has a `command` or a `model`, not both (keep one; name the model among the words of the command, for example `[claude, -p, --model, haiku]`)",
            ],
        ),
        (
            "    command: [claude]\n    agent_file: judge.af\n",
            &["suite.yaml:8:5 a judge has a `command` or an `agent_file`, not both (keep one)"],
        ),
        (
            "    command: [claude]\n    temperature: 0\n",
            &[&*format!(
                "suite.yaml:8:5 a judge with a `command` takes no `temperature` ({BY_WORDS})"
            )],
        ),
        (
            "    command: [claude]\n    max_retries: 2\n",
            &["suite.yaml:8:5 a judge with a `command` takes no `max_retries` (write `retries`)"],
        ),
        (
            "    command: [claude]\n    provider: command\n",
            &[&*format!(
                "suite.yaml:8:5 a judge with a `command` takes no `provider` ({BY_WORDS})"
            )],
        ),
        ("    provider: command\n", &["suite.yaml:7:15 unknown provider `command` (-)"]),
        (
            "    version: '2'\n    retries: 3\n",
            &[
                "suite.yaml:7:5 `version` is a setting of judges that are commands (name a command that judges with `command: [PROGRAM, ARGUMENT]`)",
                "suite.yaml:8:5 `retries` is a setting of judges that are commands (name a command that judges with `command: [PROGRAM, ARGUMENT]`)",
            ],
        ),
        (
            "    command: [claude]\n    retries: 101\n",
            &["suite.yaml:8:14 `retries` must be between 0 and 100 (-)"],
        ),
        (
            "    command: [claude]\n    inputs: 4\n",
            &["suite.yaml:8:13 `inputs` must be a list of texts, not a number (-)"],
        ),
        (
            "    panel: [{command: [a, b]}, {command: [a, b], timeout: 9}]\n",
            &[
                "suite.yaml:7:32 this judge is in the panel already: one judgment would count twice (the first is on line 7, column 13; for more judgments by each judge write `votes: 2`)",
            ],
        ),
        (
            "    panel: [{command: [./x/a]}, {command: [./y/a]}, {command: [./y/a], version: '2'}]\n",
            &[],
        ),
        (
            "    panel: [{command: [a], model: b}]\n",
            &[
                "suite.yaml:7:28 a judge has a `command` or a `model`, not both (keep one; name the model among the words of the command, for example `[claude, -p, --model, haiku]`)",
            ],
        ),
    ] {
        assert_eq!(said(lines), expected, "{lines}");
    }
}

#[test]
fn the_model_of_a_rubric_file_is_for_no_command() {
    let lines = "    command: [claude]\n";
    let text = format!(
        "name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt_path: named.txt\n{lines}"
    );
    let files = Memory::new(&[("suite.yaml", &text), ("named.txt", "---\nmodel: m\n---\nx\n")]);
    let reading = read(&files);
    let [problem] = &reading.diagnostics[..] else { panic!("{:?}", reading.diagnostics) };
    assert_eq!(problem.message, "a judge has a `command` or a `model`, not both");
    assert_eq!(problem.place.as_ref().unwrap().to_string(), "named.txt:2:1");
}

#[test]
fn a_command_is_a_judge_with_the_settings_of_a_program() {
    let lines = "    command: [tools/judge.sh, --strict]\n    version: '2'\n    inputs: [b, a]\n    env: [MODE, {TOKEN: secret}]\n    timeout: 9\n";
    let [judge] = &judges(lines)[..] else { panic!("one judge") };
    assert_eq!((judge.model.as_str(), judge.provider.as_str()), ("judge.sh --strict", "command"));
    assert_eq!((judge.temperature, judge.patience.timeout), (None, 9.0));
    assert_eq!(judge.patience.max_retries, 1);
    let of_command = judge.program.as_ref().unwrap();
    assert_eq!(of_command.version.as_deref(), Some("2"));
    let program = &of_command.program;
    assert_eq!((program.path.as_str(), &program.runtime), ("tools/judge.sh", &None));
    assert_eq!(
        (&program.arguments[..], &program.inputs[..]),
        (&["--strict".to_owned()][..], &["a".to_owned(), "b".to_owned()][..])
    );
    let env: Vec<(&str, bool)> =
        program.env.iter().map(|variable| (variable.name.as_str(), variable.is_secret)).collect();
    assert_eq!(env, [("MODE", false), ("TOKEN", true)]);
}

#[test]
fn judges_of_a_panel_inherit_what_is_for_their_kind() {
    let lines = "    model: m\n    temperature: 1\n    timeout: 9\n    panel: [{}, {command: [a]}, {provider: anthropic}]\n";
    let shown = |lines: &str| {
        let of = |judge: JudgeSpec| (judge.model, judge.temperature, judge.patience.timeout);
        judges(lines).into_iter().map(of).collect::<Vec<_>>()
    };
    let model = ("m".to_owned(), Some(1.0), 9.0);
    let command = ("a".to_owned(), None, 9.0);
    assert_eq!(shown(lines), [model.clone(), command.clone(), model.clone()]);
    let lines = "    command: [a]\n    version: '2'\n    timeout: 9\n    panel: [{}, {version: '3'}, {model: m, temperature: 1}]\n";
    assert_eq!(shown(lines), [command.clone(), command, model]);
    let versions: Vec<Option<String>> =
        judges(lines).into_iter().map(|judge| judge.program?.version).collect();
    assert_eq!(versions, [Some("2".to_owned()), Some("3".to_owned()), None]);
}
