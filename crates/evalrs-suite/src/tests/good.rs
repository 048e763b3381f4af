//! Suites that are right, in every dialect, and what they mean.

mod rubrics;

use serde_json::json;

use super::*;
use evalrs_model::spec::{
    Aggregation, CachingChoice, Combine, Condition, DatasetFormat, ExtractorSpec, FieldMap, Gate,
    GraderKind, GraderSpec, JudgeSpec, Logic, Op, PassRule, Patience, RecordingJoin, ReplyFormat,
    ReplyLimit, RubricSpec, TargetSpec, TierChoice,
};
use evalrs_test_data::letta_agent::judge_file;
use evalrs_trajectory::FORMATS;

/// A suite with these sections after its dataset.
fn with(sections: &str) -> Suite {
    suite(&format!("name: s\ndataset: d.jsonl\n{sections}"))
}

/// A suite with one tool grader `a` and these sections.
fn graded(sections: &str) -> Suite {
    with(&format!("graders: {{a: {{kind: tool, function: contains}}}}\n{sections}"))
}

/// The rubric of a suite whose one grader has these fields.
fn rubric(fields: &str) -> RubricSpec {
    let suite = with(&format!("graders:\n  q:\n    kind: rubric\n    prompt: Judge.\n{fields}"));
    first_rubric(Some(suite))
}

fn first_rubric(suite: Option<Suite>) -> RubricSpec {
    let graders = suite.map(|suite| suite.graders).unwrap_or_default();
    match graders.into_iter().next().map(|grader| grader.kind) {
        Some(GraderKind::Rubric(rubric)) => *rubric,
        other => panic!("no rubric: {other:?}"),
    }
}

fn simple(metric_key: &str, aggregation: Aggregation, op: Op, value: f64) -> Condition {
    Condition { metric_key: metric_key.to_owned(), aggregation, op, value, pass: None }
}

fn extractor(name: &str, config: &str) -> ExtractorSpec {
    ExtractorSpec {
        name: name.to_owned(),
        config: config.to_owned(),
        include_subagents: false,
        program: None,
    }
}

#[test]
fn everything_has_its_default() {
    let suite = graded("");
    assert_eq!(suite.name, "s");
    assert_eq!(suite.dataset.path, "d.jsonl");
    assert_eq!(suite.dataset.format, Some(DatasetFormat::Jsonl));
    assert_eq!(suite.dataset.fields, FieldMap::default());
    assert_eq!(
        suite.target,
        TargetSpec::Recorded { path: None, format: None, join: RecordingJoin::default() }
    );
    assert_eq!((suite.max_samples, suite.num_runs, suite.max_concurrent), (None, 1, None));
    assert!(suite.sample_tags.is_empty() && suite.gate.is_none() && suite.description.is_none());
    let grader = GraderSpec {
        name: "a".to_owned(),
        display_name: None,
        extractor: extractor("last_assistant", "{}"),
        pass_threshold: 1.0,
        ground_truth_pattern: None,
        ground_truth: None,
        negated: false,
        only: None,
        kind: GraderKind::Tool(ToolSpec { function: "contains".to_owned(), config: Map::new() }),
    };
    assert_eq!(suite.graders, [grader]);
    let judge = JudgeSpec {
        model: "gpt-4o-mini".to_owned(),
        provider: "openai".to_owned(),
        base_url: None,
        endpoint: None,
        api_key_env: None,
        headers: Vec::new(),
        temperature: Some(0.0),
        seed: None,
        max_tokens: ReplyLimit::Usual,
        top_p: None,
        extra_body: Map::new(),
        response_format: ReplyFormat::Auto,
        prompt_caching: CachingChoice::Auto,
        service_tier: TierChoice::Default,
        batch: None,
        patience: Patience {
            max_retries: 5,
            timeout: 120.0,
            deadline: 900.0,
            ..Patience::default()
        },
        agent: None,
        program: None,
    };
    let expected = RubricSpec {
        prompt: "Judge.".to_owned(),
        judges: vec![judge],
        scale: None,
        rubric_vars: Vec::new(),
        votes: 1,
        combine: Combine::Median,
        confirm_fails: 0,
        compare_to: None,
        fence: true,
        unfenced: Vec::new(),
        allow: Vec::new(),
        criterion: None,
        embedding: None,
    };
    assert_eq!(rubric(""), expected);
}

#[test]
fn truth_values_follow_yaml_1_1() {
    for (text, expected) in [
        ("yes", true),
        ("No", false),
        ("on", true),
        ("OFF", false),
        ("true", true),
        ("\"false\"", false),
        ("1", true),
        ("0", false),
    ] {
        let suite = with(&format!(
            "graders: {{a: {{kind: tool, function: contains, include_subagents: {text}}}}}\n"
        ));
        assert_eq!(suite.graders[0].extractor.include_subagents, expected, "{text}");
    }
}

#[test]
fn datasets_are_a_path_or_a_mapping() {
    for (text, path, format) in [
        ("a/b.jsonl", "a/b.jsonl", DatasetFormat::Jsonl),
        ("./b.NDJSON", "b.NDJSON", DatasetFormat::Jsonl),
        ("b.json", "b.json", DatasetFormat::Json),
        ("B.CSV", "B.CSV", DatasetFormat::Csv),
        ("{path: rows.txt, format: csv}", "rows.txt", DatasetFormat::Csv),
        ("{path: rows.csv, format: ndjson}", "rows.csv", DatasetFormat::Jsonl),
    ] {
        let suite = suite(&format!(
            "name: s\ndataset: {text}\ngraders: {{a: {{kind: tool, function: contains}}}}\n"
        ));
        assert_eq!((suite.dataset.path.as_str(), suite.dataset.format), (path, Some(format)));
    }
    let suite = suite(
        "name: s\ndataset:\n  path: d.jsonl\n  fields:\n    messages: traj\n    id: task_id\n    \
         outputs: {z: outputs.0, b: outputs.1}\ngraders: {a: {kind: tool, function: contains}}\n",
    );
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    assert_eq!(suite.dataset.fields.paths, pairs(&[("id", "task_id"), ("messages", "traj")]));
    assert_eq!(suite.dataset.fields.outputs, pairs(&[("z", "outputs.0"), ("b", "outputs.1")]));
}

#[test]
fn targets_are_recorded_or_need_an_agent() {
    let recorded = |path: Option<&str>, format| TargetSpec::Recorded {
        path: path.map(str::to_owned),
        format,
        join: RecordingJoin::default(),
    };
    let claude_code =
        FORMATS.iter().find(|(name, _)| *name == "claude_code").map(|(_, format)| *format);
    for (text, expected) in [
        ("target: {kind: recorded}", recorded(None, None)),
        ("target: null", recorded(None, None)),
        (
            "target: {kind: recorded, path: t.jsonl, format: claude_code}",
            recorded(Some("t.jsonl"), claude_code),
        ),
        (
            "target: {kind: letta_code, working_dir: w, skills_dir: s, timeout: 5}",
            TargetSpec::NotRunnable {
                kind: "letta_code".to_owned(),
                why: Some("`skills_dir` is not available for `letta_code`".to_owned()),
            },
        ),
        (
            "target: {kind: agent, agent_file: a.af, base_url: http://x, api_key: null, model_handles: [m]}",
            TargetSpec::NotRunnable {
                kind: "agent".to_owned(),
                why: Some("the file `a.af` does not exist".to_owned()),
            },
        ),
    ] {
        assert_eq!(graded(&format!("{text}\n")).target, expected, "{text}");
    }
}

#[test]
fn gates_of_every_dialect_are_read() {
    use Aggregation::{Accuracy, AvgScore, Max, Median, P95};
    let with_pass = |condition: Condition, op, value| {
        Gate::Simple(Condition { pass: Some(PassRule { op, value }), ..condition })
    };
    let a = |aggregation, op, value| simple("a", aggregation, op, value);
    for (text, expected) in [
        ("{op: gte, value: 0.75}", Gate::Simple(a(AvgScore, Op::Gte, 0.75))),
        (
            "{metric_key: a, metric: avg_score, op: gt, value: 0}",
            Gate::Simple(a(AvgScore, Op::Gt, 0.0)),
        ),
        (
            "{kind: simple, metric_key: a, aggregation: p50, op: lt, value: .5}",
            Gate::Simple(a(Median, Op::Lt, 0.5)),
        ),
        (
            "{kind: simple, metric_key: a, aggregation: p95, op: lt, value: .5}",
            Gate::Simple(a(P95, Op::Lt, 0.5)),
        ),
        ("{metric: accuracy, op: gte, value: 0.9}", Gate::Simple(a(Accuracy, Op::Gte, 0.9))),
        ("{kind: simple, metric: max, op: eq, value: 1}", Gate::Simple(a(Max, Op::Eq, 1.0))),
        (
            "{metric: accuracy, op: gt, value: 0.5, pass_op: lte, pass_value: 0.2}",
            with_pass(a(Accuracy, Op::Gt, 0.5), Op::Lte, 0.2),
        ),
        (
            "{metric: accuracy, op: gt, value: 0.5, pass_value: 0.2}",
            with_pass(a(Accuracy, Op::Gt, 0.5), Op::Gt, 0.2),
        ),
        (
            "{kind: simple, aggregation: accuracy, op: lte, value: 0.5, pass_threshold: 0.8}",
            with_pass(a(Accuracy, Op::Lte, 0.5), Op::Gte, 0.8),
        ),
        (
            "{kind: weighted_average, aggregation: avg_score, weights: {a: 2}, op: gte, value: 0.75}",
            Gate::WeightedAverage {
                aggregation: AvgScore,
                weights: vec![("a".to_owned(), 2.0)],
                op: Op::Gte,
                value: 0.75,
            },
        ),
        (
            "{kind: logical, operator: and, conditions: [{metric_key: a, aggregation: avg_score, op: gte, value: 0.6}, \
             {kind: logical, operator: or, conditions: [{kind: simple, metric_key: a, aggregation: accuracy, op: gte, value: 0.6}]}]}",
            Gate::Logical {
                operator: Logic::And,
                conditions: vec![
                    Gate::Simple(a(AvgScore, Op::Gte, 0.6)),
                    Gate::Logical {
                        operator: Logic::Or,
                        conditions: vec![Gate::Simple(a(Accuracy, Op::Gte, 0.6))],
                    },
                ],
            },
        ),
    ] {
        assert_eq!(graded(&format!("gate: {text}\n")).gate, Some(expected), "{text}");
    }
    assert_eq!(graded("reward: {kind: metric, metric_key: a}\n").gate, None);
}

#[test]
fn percentages_are_read_as_fractions_with_a_warning() {
    let text = "name: s\ndataset: d.jsonl\ngraders: {a: {kind: tool, function: contains}}\n\
                gate: {metric: accuracy, op: gte, value: 90}\n";
    let reading = read(&Memory::new(&[("suite.yaml", text)]));
    let gate = Gate::Simple(simple("a", Aggregation::Accuracy, Op::Gte, 0.9));
    assert_eq!(reading.suite.and_then(|suite| suite.gate), Some(gate));
    assert!(reading.diagnostics.iter().all(|diagnostic| !diagnostic.is_error()));
    assert_eq!(reading.diagnostics.len(), 1);
}

/// Suites as releases of Letta Evals took them, each with its dialect by the release that reads it.
#[test]
fn every_dialect_is_read() {
    let agent = "target: {kind: agent, agent_file: agent.af, base_url: http://localhost:8283}\n";
    let letta = "target: {kind: letta_agent, agent_file: agent.af, model_handles: [openai/m]}\n";
    for (dialect, sections) in [
        ("mission", "graders: {q: {kind: rubric, prompt_path: rubric.txt}}\ngate: {metric_key: q, metric: avg_score, op: gte, value: 0.8}\n".to_owned()),
        ("D1", format!("{agent}graders: {{a: {{kind: tool, function: contains, extractor: last_assistant}}}}\ngate: {{metric: avg_score, op: gte, value: 0.75}}\n")),
        ("D1", format!("{agent}graders: {{q: {{kind: rubric, prompt_path: rubric.txt, model: gpt-5-mini, temperature: 0.0}}}}\nmax_samples: 3\ngate: {{metric_key: q, op: gte, value: 0.6, pass_op: gte, pass_value: 0.5}}\n")),
        ("D2", format!("{agent}graders: {{q: {{kind: model_judge, prompt_path: rubric.txt, provider: anthropic, rubric_vars: [reference_ascii]}}}}\ngate: {{metric_key: q, metric: avg_score, op: gte, value: 0.6}}\n")),
        ("D3", format!("{letta}graders: {{a: {{kind: tool, function: contains, extractor: tool_output, extractor_config: {{tool_name: fetch_webpage}}}}}}\nnum_runs: 2\ngate: {{metric_key: a, op: gte, value: 0.33}}\n")),
        ("D3", format!("{letta}grader: {{kind: tool, function: contains}}\nmax_samples: 100\ngate: {{op: gte, value: 0.5}}\n")),
        ("D4", format!("{letta}graders: {{q: {{kind: model_judge, prompt_path: rubric.txt}}, a: {{kind: tool, function: ascii_printable_only}}}}\ngate: {{kind: weighted_average, aggregation: avg_score, weights: {{q: 0.7, a: 0.3}}, op: gte, value: 0.75}}\n")),
        ("D4", format!("{letta}graders: {{q: {{kind: model_judge, prompt_path: rubric.txt}}, a: {{kind: tool, function: ascii_printable_only}}}}\ngate:\n  kind: logical\n  operator: and\n  conditions:\n    - {{metric_key: q, aggregation: avg_score, op: gte, value: 0.6}}\n    - {{metric_key: a, aggregation: accuracy, op: gte, value: 0.6}}\n")),
        ("D7", "target: {kind: letta_code, flags: [], permission_mode: ask}\ngraders: {a: {kind: tool, function: contains}}\nreward: {kind: metric, metric_key: a}\n".to_owned()),
    ] {
        let text = format!("name: s\ndataset: data.csv\n{sections}");
        let reading = read(&Memory::new(&[("suite.yaml", &text), ("rubric.txt", "Judge it.")]));
        assert_eq!(rendered(&reading), "", "{dialect}: {text}");
        assert!(reading.suite.is_some(), "{text}");
    }
}

#[test]
fn the_graders_of_the_mission_are_read() {
    let tool = |name: &str, function: &str| {
        format!(
            "  {name}:\n    kind: tool  # Deterministic grading\n    function: {function}\n    extractor: last_assistant  # Use final agent response\n"
        )
    };
    let tool_arguments = "  tool_usage:\n    kind: tool\n    function: exact_match\n    extractor: tool_arguments  # Extract tool call args\n    extractor_config:\n      tool_name: search  # Which tool to check\n";
    let quality = "  quality:\n    kind: rubric  # LLM-as-judge\n    prompt_path: quality_rubric.txt  # Evaluation criteria\n    model: gpt-4o-mini  # Judge model\n    temperature: 0.0  # Deterministic\n    extractor: last_assistant  # What to evaluate\n";
    let inline = "  quality:\n    kind: rubric  # LLM-as-judge\n    prompt: |  # Inline prompt instead of file\n      Evaluate the creativity and originality of the response.\n      Score 1.0 for highly creative, 0.0 for generic or unoriginal.\n    model: gpt-4o-mini  # Judge model\n    extractor: last_assistant  # What to evaluate\n";
    let configured = "  quality:\n    kind: rubric\n    prompt_path: rubric.txt  # Evaluation criteria\n    model: gpt-4o-mini  # Judge model\n    temperature: 0.0  # Deterministic (0.0-2.0)\n    provider: openai  # LLM provider (default: openai)\n    max_retries: 5  # API retry attempts\n    timeout: 120.0  # Request timeout in seconds\n";
    let completeness = "  completeness:  # Rubric grader for thoroughness\n    kind: rubric\n    prompt_path: completeness_rubric.txt\n    model: gpt-4o-mini\n    extractor: last_assistant\n";
    let multi = format!("{}\n{completeness}\n{tool_arguments}", tool("accuracy", "contains"));
    for (graders, names) in [
        (tool("accuracy", "exact_match").as_str(), vec!["accuracy"]),
        (&tool("contains_answer", "contains"), vec!["contains_answer"]),
        (&tool("pattern", "regex_match"), vec!["pattern"]),
        (&tool("ascii_check", "ascii_printable_only"), vec!["ascii_check"]),
        (quality, vec!["quality"]),
        (inline, vec!["quality"]),
        (configured, vec!["quality"]),
        (&multi, vec!["accuracy", "completeness", "tool_usage"]),
    ] {
        let suite = with(&format!("graders:\n{graders}"));
        let read: Vec<&str> = suite.graders.iter().map(|grader| grader.name.as_str()).collect();
        assert_eq!(read, names);
    }
    let suite = with(&format!("graders:\n{tool_arguments}"));
    assert_eq!(
        suite.graders[0].extractor,
        extractor("tool_arguments", r#"{"tool_name":"search"}"#)
    );
    let suite = with(&format!("graders:\n{inline}"));
    let GraderKind::Rubric(rubric) = &suite.graders[0].kind else { panic!("{suite:?}") };
    assert_eq!(
        rubric.prompt,
        "Evaluate the creativity and originality of the response.\nScore 1.0 for highly creative, 0.0 for generic or unoriginal.\n"
    );
}

#[test]
fn an_agent_judges_as_its_file_says() {
    let text = "name: s\ndataset: d.csv\ngraders:\n  agent_judge:\n    kind: rubric  # Still \"rubric\" kind\n    agent_file: judge.af\n    prompt_path: rubric.txt\n    extractor: last_assistant\n";
    let file = judge_file().to_string();
    let reading =
        read(&Memory::new(&[("suite.yaml", text), ("rubric.txt", "x"), ("judge.af", &file)]));
    assert_eq!(reading.diagnostics, []);
    assert!(reading.files.contains(&"judge.af".to_owned()), "an edit of it is noticed");
    let suite = reading.suite.unwrap();
    let GraderKind::Rubric(rubric) = &suite.graders[0].kind else { panic!("{suite:?}") };
    let [judge] = &rubric.judges[..] else { panic!("{rubric:?}") };
    assert_eq!((judge.provider.as_str(), judge.model.as_str()), ("letta", "gpt-4.1-mini"));
    assert_eq!((judge.temperature, judge.patience.timeout), (None, 300.0));
    let agent = judge.agent.as_ref().unwrap();
    assert_eq!((&*agent.text, agent.tool.as_str(), agent.keep), (&*file, "submit_grade", false));
}

#[test]
fn a_suite_extends_others_and_values_keep_their_file() {
    let files = Memory::new(&[
        (
            "suites/suite.yaml",
            "extends: ../shared/base.yaml\nname: child\nsample_tags: [b]\ngraders:\n  a: {pass_threshold: 0.5}\n  q: {kind: rubric, prompt_path: mine.txt}\nmax_samples: null\n",
        ),
        (
            "suites/../shared/base.yaml",
            "extends: root.yaml\ndataset: base.jsonl\nsample_tags: [x, y]\nmax_samples: 3\n",
        ),
        (
            "suites/../shared/root.yaml",
            "name: root\ndataset: root.jsonl\ngraders:\n  a: {kind: tool, function: contains, extractor: tool_output}\n  r: {kind: rubric, prompt_path: theirs.txt}\n",
        ),
        ("suites/mine.txt", "\u{feff}mine"),
        ("suites/../shared/theirs.txt", "theirs\n"),
    ]);
    let reading = read_suite("suites/suite.yaml", &files, &REGISTRY);
    assert_eq!(rendered(&reading), "");
    assert_eq!(
        reading.files,
        [
            "suites/suite.yaml",
            "suites/../shared/base.yaml",
            "suites/../shared/root.yaml",
            "suites/../shared/theirs.txt",
            "suites/mine.txt",
        ]
    );
    let place = reading.dataset_place.map(|place| place.to_string());
    assert_eq!(place.as_deref(), Some("suites/../shared/base.yaml:2:10"));
    let suite = reading.suite.unwrap();
    assert_eq!(suite.name, "child");
    assert_eq!(suite.dataset.path, "suites/../shared/base.jsonl");
    assert_eq!(suite.sample_tags, ["b"]);
    assert_eq!(suite.max_samples, None);
    let names: Vec<&str> = suite.graders.iter().map(|grader| grader.name.as_str()).collect();
    assert_eq!(names, ["a", "r", "q"]);
    assert!((suite.graders[0].pass_threshold - 0.5).abs() < f64::EPSILON);
    assert_eq!(suite.graders[0].extractor.name, "tool_output");
    let prompts: Vec<&str> = suite
        .graders
        .iter()
        .filter_map(|grader| match &grader.kind {
            GraderKind::Rubric(rubric) => Some(rubric.prompt.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(prompts, ["theirs\n", "mine"]);
}

#[test]
fn files_that_nobody_has_read_are_asked_for() {
    let text = "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: rubric, prompt_path: a.txt}\n  b: {kind: rubric, prompt_path: b.txt}\n  c: {kind: rubric, prompt_path: a.txt}\n";
    let unread = Memory::default().file("suite.yaml", FileText::Unread);
    let reading = read(&unread);
    assert_eq!((reading.suite, reading.unread), (None, vec!["suite.yaml".to_owned()]));
    assert_eq!(reading.diagnostics, []);
    let some = Memory::new(&[("suite.yaml", text)])
        .file("a.txt", FileText::Unread)
        .file("b.txt", FileText::Unread);
    let reading = read(&some);
    assert_eq!((reading.suite, reading.diagnostics), (None, vec![]));
    assert_eq!(reading.unread, ["a.txt", "b.txt"]);
    assert_eq!(reading.files, ["suite.yaml", "a.txt", "b.txt"]);
    let extending =
        Memory::new(&[("suite.yaml", "extends: base.yaml\n")]).file("base.yaml", FileText::Unread);
    let reading = read(&extending);
    assert_eq!((reading.suite, reading.diagnostics), (None, vec![]));
    assert_eq!(reading.unread, ["base.yaml"]);
    let missing = read(&Memory::default());
    assert_eq!(missing.diagnostics[0].message, "the file `suite.yaml` does not exist");
}

#[test]
fn variables_are_replaced_and_typed_only_alone_and_unquoted() {
    for (text, expected) in [
        ("${TEXT}", Ok("hello")),
        ("say ${TEXT}, ${TEXT}", Ok("say hello, hello")),
        ("\"${NUMBER}\"", Ok("5")),
        ("x${NUMBER}", Ok("x5")),
        ("${NONE:-fallback}", Ok("fallback")),
        ("${EMPTY:-fallback}", Ok("fallback")),
        ("a${EMPTY}b${NONE:-}c", Ok("abc")),
        ("$${TEXT}", Ok("${TEXT}")),
        ("$$${TEXT}", Ok("$${TEXT}")),
        ("$TEXT and $5 {TEXT}", Ok("$TEXT and $5 {TEXT}")),
        ("${NESTED}", Ok("${TEXT}")),
        ("${NUMBER}", Err("`description` must be text, not a number")),
        ("${TRUE}", Err("`description` must be text, not true or false")),
        ("${EMPTY}", Ok("")),
    ] {
        let text = format!(
            "name: s\ndataset: d.jsonl\ngraders: {{a: {{kind: tool, function: contains}}}}\ndescription: {text}\n"
        );
        let files = Memory::new(&[("suite.yaml", &text)])
            .env("TEXT", "hello")
            .env("NUMBER", "5")
            .env("TRUE", "true")
            .env("EMPTY", "")
            .env("NESTED", "${TEXT}");
        let reading = read(&files);
        let description = reading.suite.map(|suite| suite.description.unwrap_or_default());
        let said = reading.diagnostics.first().map(|problem| problem.message.as_str());
        let read = description.as_deref().ok_or_else(|| said.unwrap_or_default());
        assert_eq!(read, expected, "{text}");
    }
}

#[test]
fn variables_reach_numbers_and_whole_suites() {
    let text = "name: s\ndataset: ${DATA}.jsonl\nmax_samples: ${LIMIT}\ngraders:\n  q:\n    kind: rubric\n    prompt: \"{input} costs $5\"\n    temperature: ${TEMP:-0.25}\n    base_url: ${URL}/v1\n    seed: \"${LIMIT}\"\n";
    let files = Memory::new(&[("suite.yaml", text)])
        .env("DATA", "rows")
        .env("LIMIT", "12")
        .env("URL", "https://judge.example");
    let reading = read(&files);
    assert_eq!(rendered(&reading), "");
    let suite = reading.suite.unwrap();
    assert_eq!((suite.dataset.path.as_str(), suite.max_samples), ("rows.jsonl", Some(12)));
    let GraderKind::Rubric(rubric) = &suite.graders[0].kind else { panic!("{suite:?}") };
    assert_eq!((rubric.judges[0].temperature, rubric.judges[0].seed), (Some(0.25), Some(12)));
    assert_eq!(rubric.judges[0].base_url.as_deref(), Some("https://judge.example/v1"));
    assert_eq!(rubric.prompt, "{input} costs $5");
}

#[test]
fn a_key_in_a_suite_is_taken_out_and_never_kept() {
    let text = "name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    extra_body: {api-key: my-very-secret, user: u}\n";
    let reading = read(&Memory::new(&[("suite.yaml", text)]));
    assert_eq!(reading.diagnostics.len(), 1);
    let debug = format!("{reading:?}");
    assert!(!debug.contains("my-very-secret"), "{debug}");
    let suite = reading.suite.unwrap();
    let GraderKind::Rubric(rubric) = &suite.graders[0].kind else { panic!("{suite:?}") };
    assert_eq!(Value::Object(rubric.judges[0].extra_body.clone()), json!({"user": "u"}));
    for fields in [
        "api_key: &k my-very-secret, extra_body: {a: *k}",
        "headers: {X-Api-Key: my-very-secret}",
        "panel: [{model: a, headers: {Cookie: my-very-secret}}]",
    ] {
        let text = format!(
            "name: s\ndataset: d.jsonl\ngraders: {{q: {{kind: rubric, prompt: x, {fields}}}}}\n"
        );
        let reading = read(&Memory::new(&[("suite.yaml", &text)]));
        let debug = format!("{reading:?}");
        assert!(reading.suite.is_none() && !debug.contains("my-very-secret"), "{debug}");
    }
}

#[test]
fn a_slip_repeated_thousands_of_times_is_shown_some_times() {
    let graders: Vec<String> = (0..5000)
        .map(|index| format!("  g{index}: {{kind: tool, function: contians}}\n"))
        .collect();
    let text = format!("name: s\ndataset: d.jsonl\ngraders:\n{}", graders.concat());
    let reading = read(&Memory::new(&[("suite.yaml", &text)]));
    assert_eq!((reading.suite, reading.diagnostics.len()), (None, 201));
    assert_eq!(reading.diagnostics[200].message, "4800 further problems are not shown");
}
