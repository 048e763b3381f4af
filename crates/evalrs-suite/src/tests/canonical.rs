//! The canonical text of a suite reads back as the same suite.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::canonical::canonical;
use evalrs_model::spec::{GraderKind, RubricSpec, Scale};
use evalrs_test_data::letta_agent::judge_file;

const SUITES: [&str; 23] = [
    "name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    model: m\n    preamble: \"Of a shop.\\n\"\n    only: input == 'a'\n    pass_threshold: 0.5\n    display_name: Q\n    votes: {n: 3, combine: mean}\n    confirm_fails: 1\n    fence: false\n    combine: min(a, b)\n    criteria:\n      b: {question: 'B {x}?', weight: 2.5, expect: no, required: true, only: input == 'b', may_not_apply: true, unsure: skip}\n      a: A?\n      c: {question: C?, scale: {min: 1, max: 5}, pass_threshold: 0.75}\ngate: {metric_key: q.a, op: gte, value: 0.5}\n",
    "name: s\ndataset: d.jsonl\ngraders:\n  q: {kind: rubric, panel: [{model: a}, {model: b}], criteria: {a: A?}}\n  r: {kind: combine, combine: \"q * 'q.a'\"}\n",
    "name: s\ndataset: d.jsonl\ntarget: {kind: command, command: [python3, a.py, --log, a.log], inputs: [b], outputs: ['*.log', a.db]}\ngraders: {a: {kind: tool, function: contains}}\n",
    "name: s\ndataset: d.jsonl\ngraders: {a: {kind: tool, function: contains}}\nlabels: {path: l.json, at: [ann, bob.said], map: {x: pass}}\n",
    "name: s\ndataset: d.jsonl\ngraders: {a: {kind: tool, function: contains}}\nlabels: {path: l.csv, for: a, at: 'votes[0]', fields: {id: n}, map: {x: pass, 3: 0.5}}\n",
    "name: s\ndataset: {path: d.jsonl, fields: {output: o}}\ngraders: {a: {kind: tool, function: contains}}\nlabels: {at: human.score, map: {x: fail}}\n",
    "name: s\ndataset: d.jsonl\ngraders: {a: {kind: tool, function: contains}}\nlabels: {holdout: 0.4}\n",
    "name: s\ndataset: d.jsonl\nsandbox: auto\ngraders:\n  a: {kind: program, path: g/p.py, timeout: 0.25, inputs: [b.json, 'a/*.json', b.json], env: [B, A], cwd: work, runtime: python3.12, cache: no}\n  b: {kind: program, path: g.ts, deterministic: check, sandbox: {kind: bubblewrap, memory: 1.5GB, cpu: 7}}\n  c: {kind: program, path: 'p.py:f', runtime: ../bin/python, sandbox: none}\n",
    "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: 'p.py:f', extractor: 'e.py:g', extractor_config: {x: [1]}, extractor_options: {timeout: 3, inputs: data}, inputs: x}\n  reward: {kind: combine, combine: a if a > 0.5 else 0}\n",
    "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n  t: {kind: combine, combine: '`a`*0.5', pass_threshold: 0.5, display_name: Total}\nreward: {kind: custom, function: 'r.py:f', env: K, pass_threshold: 0.1}\ngate: {metric_key: reward, op: gt, value: 0.5}\n",
    "name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    headers: {X-A: 'yes', X-B: '$${no}', Authorization: {env: K}}\n    response_format: json_object\n    deadline: 0.5\n    max_requests_per_minute: 1\n    max_tokens_per_minute: 4000000000\n    combine: majority\n    confirm_fails: 2\n",
    "name: s\ndataset: d.jsonl\ngraders:\n  q: {kind: rubric, prompt: x, temperature: null, endpoint: e, panel: [{model: a}, {model: b, temperature: 0.5, headers: {x: y}}, {model: c, endpoint: null}], votes: 2}\n  r: {kind: rubric, prompt: x, panel: [{model: alone}]}\n",
    "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: rubric, prompt: x, compare_to: row.row.b}\n  b: {kind: rubric, prompt: x, compare_to: {field: a/b}}\n  c: {kind: rubric, prompt: x, compare_to: {run: old}}\n",
    "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: rubric, prompt: x, command: [claude, -p, '{prompt}'], version: 3rd, inputs: [b, a/*], env: [B, {A: secret}], timeout: 7.5, retries: 0, deadline: 9, max_requests_per_minute: 3}\n  b: {kind: rubric, prompt: x, temperature: 1, panel: [{model: m}, {command: ./judge.sh, sandbox: auto}]}\n",
    "name: s\ndataset: d.jsonl\ngraders: {a: {kind: tool, function: contains}}\n",
    "name: s\ndataset: x/d.csv\ndescription: 'null'\ngraders: {a: {kind: tool, function: contains}}\nmax_samples: 5\nsample_tags: ['1', 'yes']\nnum_runs: 3\nmax_concurrent: 4\n",
    "name: 'on'\ndataset: {path: rows.txt, format: json, fields: {id: a.b, outputs: {z: o.0, a: o.1}}}\ntarget: {kind: recorded, path: t.jsonl, format: openai_chat}\ngraders: {'~': {kind: tool, function: contains}, '1': {kind: tool, function: contains}}\n",
    "name: s\ndataset: d.jsonl\ntarget: {kind: command, command: [./a, b], sees: id, inputs: [x], workspace: {template: ./shop/, git: true}}\ngraders: {a: {kind: tool, function: contains}}\n",
    "name: s\ndataset: d.jsonl\ntarget: {kind: letta_code, timeout: 3}\ngrader: {kind: tool, function: numeric, config: {tolerance: 1e-6}, pass_threshold: 0.1, display_name: \"# x: y\", ground_truth_pattern: '^(\\d+)$', include_subagents: yes}\n",
    "name: s\ndataset: d.jsonl\ngraders: {a: {kind: tool, function: json_schema, config: {schema: {type: object, n: [1, -2, 2.5, null, true, '1_000', '$${x}', '007', '.5', '0x1f']}}, extractor: tool_arguments, extractor_config: {tool_name: s}}}\ngate: {metric: accuracy, op: lt, value: 0.333, pass_value: 0.25}\n",
    "name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: model_judge\n    prompt: |2\n\n        Indented, then $${not} a variable.\n\n      trailing:   \n    temperature: null\n    votes: {n: 3, combine: mean}\n    scale: {min: 1, max: 10}\n    seed: -4\n    max_tokens: 10\n    top_p: 0.9\n    base_url: http://localhost\n    endpoint: e\n    api_key_env: K\n    extra_body: {a: {b: [1]}}\n    rubric_vars: [v]\n    timeout: 1e-7\n    max_retries: 0\n",
    "name: s\ndataset: d.jsonl\ngraders: {a: {kind: rubric, prompt_path: rubric.txt}, b: {kind: tool, function: contains}}\ngate: {kind: weighted_average, metric: p99, weights: {b: 1, a: 0.25}, op: gt, value: 0.1}\n",
    "name: s\ndataset: d.jsonl\ngraders: {a: {kind: rubric, prompt_path: rubric.txt}, b: {kind: tool, function: contains}}\ngate: {kind: logical, operator: or, conditions: [{metric_key: b, op: eq, value: 1}, {kind: logical, operator: and, conditions: [{metric_key: a, metric: median, op: gte, value: 0.5, pass_threshold: 1}]}]}\n",
];

fn round_trip(before: &Suite) {
    let text = canonical(before, "suite.yaml");
    assert_eq!(&suite(&text), before, "{text}");
    assert_eq!(canonical(&suite(&text), "suite.yaml"), text);
}

#[test]
fn agents_as_judges_read_back_equal() {
    let file = judge_file().to_string();
    for lines in [
        "kind: letta_judge, agent_file: judge.af",
        "kind: rubric, agent_file: judge.af, model: openai/m, keep_agents: true, base_url: http://a, endpoint: e",
        "kind: rubric, panel: [{agent_file: judge.af, timeout: 7}, {model: m, temperature: null}]",
    ] {
        let target = "target: {kind: letta_agent, agent_id: a, base_url: 'http://b', api_key_env: K, project_id: p}";
        let text = format!(
            "name: s\ndataset: d.jsonl\n{target}\ngraders: {{q: {{prompt: x, {lines}}}}}\n"
        );
        let suite = |text: &str| {
            let reading = read(&Memory::new(&[("suite.yaml", text), ("judge.af", &file)]));
            assert_eq!(reading.diagnostics, [], "{text}");
            reading.suite.unwrap()
        };
        let before = suite(&text);
        let written = canonical(&before, "suite.yaml");
        assert_eq!(suite(&written), before, "{written}");
    }
}

#[test]
fn agents_on_letta_servers_read_back_equal() {
    for lines in [
        "kind: letta_code, working_dir: box, allowed_tools: [Edit], flags: [--x], max_retries: 1, model_handles: [a/b]",
        "kind: letta_code, workspace: {git: true}, permission_mode: plan, disallowed_tools: [Bash], env: [A]",
        "agent_id: agent-1, max_retries: 2, project_id: p, keep_agents: true, version: v, timeout: 7",
        "agent_script: 'make.py:make', runtime: .venv/bin/python, env: [A], base_url: 'http://a', model_handles: [a/b], sees: [id]",
        "agent_script: 'make.py:make', model_configs: [openai-gpt-4.1, configs/other.json]",
    ] {
        let kind = if lines.starts_with("kind") { "" } else { "kind: letta_agent, " };
        let text = format!(
            "name: s\ndataset: d.jsonl\ntarget: {{{kind}{lines}}}\nsetup_script: 'setup.py:prepare'\n\
             graders: {{a: {{kind: tool, function: contains}}}}\n"
        );
        let suite = |text: &str| {
            let reading = read(&Memory::new(&[
                ("suite.yaml", text),
                ("llm_model_configs/openai-gpt-4.1.json", r#"{"model": "gpt-4.1"}"#),
                ("configs/other.json", r#"{"model": "other", "context_window": 8}"#),
            ]));
            assert_eq!(reading.diagnostics, [], "{text}");
            reading.suite.unwrap()
        };
        let before = suite(&text);
        let live = before.target.live().unwrap();
        assert_eq!(live.hooks.script.as_ref().unwrap().shown(), "setup.py:prepare");
        let written = canonical(&before, "suite.yaml");
        assert_eq!(suite(&written), before, "{written}");
    }
}

#[test]
fn canonical_suites_read_back_equal() {
    for text in SUITES {
        round_trip(&suite(text));
    }
}

#[test]
fn the_canonical_form_is_that_of_the_mission() {
    let read = suite(
        "name: support-bot\ndataset: dataset.jsonl\ngrader: {kind: model_judge, prompt_path: rubric.txt}\ngate: {kind: simple, metric_key: default, op: gte, value: 0.8}\n",
    );
    let text = canonical(&read, "suite.yaml");
    insta::assert_snapshot!(text, @r###"
    name: support-bot
    dataset:
      path: dataset.jsonl
      format: jsonl
    target:
      kind: recorded
    graders:
      default:
        kind: rubric
        prompt: |
          Is {submission} right?
        model: gpt-4o-mini
        provider: openai
        temperature: 0.0
        response_format: auto
        max_retries: 5
        timeout: 120.0
        deadline: 900.0
        votes: 1
        combine: median
        confirm_fails: 0
        extractor: last_assistant
        pass_threshold: 1.0
    gate:
      metric_key: default
      metric: avg_score
      op: gte
      value: 0.8
    num_runs: 1
    "###);
}

fn rubric_of(suite: &mut Suite) -> &mut RubricSpec {
    match &mut suite.graders[0].kind {
        GraderKind::Rubric(rubric) => rubric,
        _ => panic!("no rubric"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_and_number_survives(
        text in r"[ -~\n\té\u{85}\u{2028}🙂]{1,30}|[-+.0-9_eExo]{1,8}|(\$|\{|\}|A|:|-){1,8}|(yes|null|~|true|<<|---|# x|a: b|- a|\? b)",
        number in any::<f64>().prop_filter("finite", |number| number.is_finite()),
        seed in any::<i64>(),
    ) {
        let mut before = suite(
            "name: s\ndataset: d.jsonl\ngrader: {kind: rubric, prompt: x, scale: {min: 2, max: 3}}\n",
        );
        before.name.clone_from(&text);
        before.sample_tags = vec![text.clone(), "b".to_owned()];
        let rubric = rubric_of(&mut before);
        rubric.prompt = format!("x{text}");
        rubric.judges[0].extra_body.insert("v".to_owned(), json!([text, number, seed, {"k": text}]));
        let is_scale = |scale: &Scale| scale.min < scale.max && (scale.max - scale.min).is_finite();
        rubric.scale = Some(Scale { min: number, max: f64::MAX }).filter(is_scale);
        rubric.judges[0].seed = Some(seed);
        rubric.fence = seed % 2 == 0;
        rubric.unfenced = if seed % 3 == 0 { vec!["input".to_owned()] } else { Vec::new() };
        round_trip(&before);
    }
}
