use super::*;
#[test]
fn show() {
    const G: &str = "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\n";
    let with = |t: &str| format!("{G}{t}");
    let two = |t: &str| format!("{G}  b: {{kind: tool, function: exact_match}}\n{t}");
    let rub = |t: &str| format!("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n{t}");
    for t in [
        "".to_owned(), "name: s\n".into(), "- a\n".into(), "name: 5\ndataset: [x]\ngraders: {}\n".into(),
        with("taget: {}\nmax_sample: 4\n"), with("target: {kind: recorder}\n"), with("target: {path: x}\n"), with("target: {kind: recorded, format: lettta, paht: t}\n"),
        with("target: {kind: agent, base_ulr: x}\n"), with("max_samples: 0\nnum_runs: -1\nmax_concurrent: two\n"), with("max_samples: 3.5\nsample_tags: [1, a]\n"),
        "name: s\ndataset: d.parquet\ngraders: {a: {kind: tool, function: contians}}\n".into(),
        "name: s\ndataset: {path: d.jsonl, format: jsnl, fields: {idd: x, input: 5}}\ngraders: {a: {kind: toool, function: contains}}\n".into(),
        "name: s\ndataset: d.jsonl\ngraders: {a: {function: contains}, b: {kind: tool}, c: 5, d: {kind: tool, function: grade.py:f}, e: {kind: tool, function: contains, extractor: ext.py:f}, f: {kind: letta_judge}, g: {kind: tool, function: contains, extractor: last_asistant}}\n".into(),
        "name: s\ndataset: d.jsonl\ngraders:\n  a:\n    kind: tool\n    function: numeric\n    config: {tolerence: 1}\n    extractor: tool_arguments\n    pass_threshold: 2\n    ground_truth_pattern: '((a'\n    include_subagents: perhaps\n  b: {kind: tool, function: json_schema, extractor_config: [1]}\n".into(),
        rub(""), rub("    prompt: x\n    prompt_path: rubric.txt\n"), rub("    prompt_path: missing.txt\n"), rub("    prompt: \"  \"\n"),
        rub("    prompt: x\n    temperature: 3\n    top_p: 1.5\n    max_tokens: 0\n    timeout: 0\n    max_retries: -1\n    seed: x\n    votes: 0\n    scale: {min: 5, max: 1}\n    provider: opnai\n    modle: y\n    base_url: localhost\n    model: 4\n"),
        rub("    prompt: x\n    votes: {count: 3, combine: avg}\n    scale: [1, 5]\n    extra_body: 3\n    rubric_vars: 7\n"),
        rub("    prompt: x\n    agent_file: judge.af\n"), rub("    prompt: x\n    command: [a]\n"), rub("    prompt: x\n    judge_tool_name: a\n"),
        rub("    prompt: x\n    api_key: my-very-secret\n    api_key_env: sk-abc-def\n    base_url: https://u:pw@host/v1\n"),
        with("gate: {metric_key: b, op: gte, value: 1}\n"), with("gate: {op: \">=\", value: x}\n"), with("gate: {metric: acuracy}\n"), with("gate: {metric: accuracy, aggregation: min, op: gte, value: 0.5}\n"),
        with("gate: {metric: accuracy, op: gte, value: 90}\n"), with("gate: {metric: accuracy, op: gte, value: 900, pass_op: gt}\n"), with("gate: {op: gte, value: 5, pass_value: 3}\n"),
        two("gate: {op: gte, value: 0.5}\n"), with("gate: {kind: wieghted_average}\n"), with("gate: {weights: {a: 1}, op: gte, value: 0.5}\n"), with("gate: {kind: weighted_average, weights: {a: -1, c: 2}, op: gte, value: 0.5}\n"), with("gate: {kind: weighted_average, weights: {a: 0}, op: gte, value: 0.5}\n"), with("gate: {kind: weighted_average, weights: {}, op: gte, value: 0.5}\n"),
        with("gate: {kind: logical, operator: xor, conditions: []}\n"), with("gate:\n  kind: logical\n  operator: and\n  conditions:\n    - {metric_key: a, op: gte, value: 0.5}\n    - {kind: weighted_average, weights: {a: 1}, op: gte, value: 0.5}\n    - {metric_key: z, opp: gte}\n"),
        with("gate: 3\nreward: {kind: metric, metric_key: z}\n"), with("reward: {kind: custom, function: a.py:f}\nsetup_script: a.py:f\n"), with("grader: {kind: tool, function: contains}\n"),
        "extends: suite.yaml\n".into(), "extends: nowhere.yaml\n".into(), "extends: [a]\n".into(),
        with("description: ${NOPE} ${OPEN ${bad name} ${A:-x} $${ok}\n"), with("description: x\ndescription: y\nname: z\n"), with("\tx: 1\n"),
        "# yaml-language-server: $schema=x\nname: s\ndataset: d.csv\ngraders: {a: {kind: tool, function: contains}}\ntarget: {kind: letta_agent, api_key: abcdef}\n".into(),
        with("api_kye: abc-def-ghi\n"),
    ] {
        let files = Memory::new(&[("suite.yaml", &t), ("rubric.txt", "x")]);
        let r = read(&files);
        println!("=== {t}--- {} {}\n{}\n", r.suite.is_some(), r.dialect, rendered(&r));
    }
}
