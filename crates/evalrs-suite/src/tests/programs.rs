//! Programs and rewards of suites, and what they read as.

use super::{Memory, REGISTRY, read, read_suite, rendered, suite};
use crate::Registry;
use evalrs_eval::program::UncallablePart;
use evalrs_model::spec::{
    Gate, GraderKind, GraderSpec, Language, ProgramSpec, Repeat, RewardSpec, Role, Sandbox,
    SandboxKind, Suite, Variable,
};

/// A suite with the graders and sections `rest`.
fn with(rest: &str) -> Suite {
    suite(&format!("name: s\ndataset: d.jsonl\n{rest}"))
}

/// The program of a grader that has these fields.
fn program(fields: &str) -> ProgramSpec {
    program_of(&with(&format!("graders:\n  g: {{{fields}}}\n")).graders[0])
}

fn program_of(grader: &GraderSpec) -> ProgramSpec {
    match &grader.kind {
        GraderKind::Program(spec) | GraderKind::Reward(RewardSpec::Program(spec)) => {
            spec.as_ref().clone()
        }
        other => panic!("no program: {other:?}"),
    }
}

fn expression_of(grader: &GraderSpec) -> &str {
    match &grader.kind {
        GraderKind::Reward(RewardSpec::Expression(expression)) => &expression.text,
        other => panic!("no expression: {other:?}"),
    }
}

#[test]
fn a_file_is_run_by_the_ending_of_its_name() {
    use Language::{Executable, JavaScript, Python};
    for (fields, path, language, function) in [
        ("kind: program, path: ./g/p.py", "g/p.py", Executable, ""),
        ("kind: program, path: /opt/grade", "/opt/grade", Executable, ""),
        ("kind: program, path: p.ts", "p.ts", JavaScript, "grade"),
        ("kind: program, path: p.cjs", "p.cjs", JavaScript, "grade"),
        ("kind: program, path: 'g/p.py:f_1'", "g/p.py", Python, "f_1"),
        ("kind: tool, function: 'p.py:é'", "p.py", Python, "é"),
        ("kind: tool, function: 'odd:name.py:f'", "odd:name.py", Python, "f"),
    ] {
        let spec = program(fields);
        assert_eq!(spec, ProgramSpec::new(path.to_owned(), language, function, Role::Grade));
    }
}

#[test]
fn every_setting_is_read() {
    let all = "inputs: [z.json, 'a/*', z.json], timeout: '2.5', runtime: bun, env: [B, A], cwd: work, sandbox: {kind: auto, memory: 512MB, cpu: 30}, deterministic: check";
    let settings = ProgramSpec {
        runtime: Some("bun".to_owned()),
        inputs: vec!["a/*".to_owned(), "z.json".to_owned()],
        env: vec![Variable::named("A"), Variable::named("B")],
        cwd: Some("work".to_owned()),
        sandbox: Sandbox {
            kind: SandboxKind::Auto,
            memory: Some(512_000_000),
            cpu_seconds: Some(30),
        },
        repeat: Repeat::Sometimes,
        timeout_ms: 2500,
        ..ProgramSpec::of_file("p.ts".to_owned())
    };
    assert_eq!(program(&format!("kind: program, path: p.ts, {all}")), settings);
    let python = ProgramSpec { path: "p.py".into(), language: Language::Python, ..settings };
    let python = |function: &str, role| ProgramSpec {
        function: function.to_owned(),
        role,
        ..python.clone()
    };
    assert_eq!(
        program(&format!("kind: tool, function: 'p.py:f', {all}")),
        python("f", Role::Grade)
    );
    let suite = with(&format!(
        "graders:\n  g: {{kind: tool, function: contains, extractor: 'p.py:e', extractor_config: {{any: [1]}}, extractor_options: {{{all}}}, include_subagents: true}}\nreward: {{kind: custom, function: 'p.py:r', {all}}}\n"
    ));
    let extractor = &suite.graders[0].extractor;
    assert_eq!(extractor.program.as_deref(), Some(&python("e", Role::Extract)));
    assert_eq!(
        (extractor.name.as_str(), extractor.config.as_str(), extractor.include_subagents),
        ("p.py:e", r#"{"any":[1]}"#, true)
    );
    assert_eq!(program_of(&suite.graders[1]), python("r", Role::Reward));
}

#[test]
fn settings_may_be_written_in_several_ways() {
    let default = || ProgramSpec::of_file("p".to_owned());
    let sandbox = |kind, memory| Sandbox { kind, memory, cpu_seconds: None };
    let of = |fields: &str| program(&format!("kind: program, path: p, {fields}"));
    assert_eq!(default().timeout_ms, 60_000);
    for fields in
        ["cache: true", "deterministic: true", "sandbox: none", "timeout: null", "env: []"]
    {
        assert_eq!(of(fields), default(), "{fields}");
    }
    assert_eq!(of("cache: off").repeat, Repeat::Always);
    assert_eq!(of("cache: true, deterministic: check").repeat, Repeat::Sometimes);
    assert_eq!(of("inputs: data").inputs, ["data"]);
    assert_eq!(of("env: TOKEN").env, [Variable::named("TOKEN")]);
    assert_eq!(of("timeout: 0.0001").timeout_ms, 1);
    assert_eq!(of("runtime: .venv/bin/python").runtime.as_deref(), Some(".venv/bin/python"));
    for (text, bytes) in [
        ("1000000", 1_000_000),
        ("2 GB", 2_000_000_000),
        ("1.5g", 1_500_000_000),
        ("64MiB", 67_108_864),
        ("1_000kb", 1_000_000),
    ] {
        let spec = of(&format!("sandbox: {{kind: bubblewrap, memory: {text}}}"));
        assert_eq!(spec.sandbox, sandbox(SandboxKind::Bubblewrap, Some(bytes)), "{text}");
    }
}

#[test]
fn what_is_a_secret_is_said_by_its_name_or_by_its_entry() {
    let of = |env: &str| {
        let env = program(&format!("kind: program, path: p, env: {env}")).env;
        let told = |variable: &Variable| {
            format!("{} {}", variable.name, if variable.is_secret { "secret" } else { "plain" })
        };
        env.iter().map(told).collect::<Vec<_>>().join(", ")
    };
    for (env, expected) in [
        ("[MODEL, TOKEN_LIMIT]", "MODEL plain, TOKEN_LIMIT plain"),
        ("[OPENAI_API_KEY, MY_TOKEN]", "MY_TOKEN secret, OPENAI_API_KEY secret"),
        ("[MODEL, {SALT: secret}, {MY_TOKEN: plain}]", "MODEL plain, MY_TOKEN plain, SALT secret"),
        ("[{OPENAI_API_KEY: plain}]", "OPENAI_API_KEY plain"),
        ("[{A: secret, B: plain}]", "A secret, B plain"),
        ("[{MY_TOKEN: secret}, MY_TOKEN]", "MY_TOKEN secret"),
    ] {
        assert_eq!(of(env), expected, "{env}");
    }
}

#[test]
fn the_nearest_sandbox_wins() {
    use SandboxKind::{Auto, Bubblewrap, None};
    let text = "name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: program, path: p}\n  b: {kind: program, path: p, sandbox: none}\n  c: {kind: tool, function: contains, extractor: 'e.py:f'}\n";
    let kinds = |text: &str, sandbox| {
        let files = Memory::new(&[("suite.yaml", text)]);
        let reading = read_suite("suite.yaml", &files, &Registry { sandbox, ..REGISTRY });
        let suite = reading.suite.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
        let programs = suite.graders.iter().flat_map(GraderSpec::programs);
        programs.map(|program| program.sandbox.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(text, None), [None, None, None]);
    assert_eq!(kinds(text, Auto), [Auto, None, Auto]);
    let with_own = format!("{text}sandbox: {{kind: bubblewrap, cpu: 3}}\n");
    assert_eq!(kinds(&with_own, Auto), [Bubblewrap, None, Bubblewrap]);
}

#[test]
fn paths_start_from_the_file_that_wrote_them_and_inputs_from_the_suite() {
    let files = Memory::new(&[
        (
            "suites/suite.yaml",
            "extends: ../base/base.yaml\ngraders:\n  a: {kind: program, path: p, inputs: [./x, ../y], cwd: ., runtime: bin/py}\n",
        ),
        (
            "suites/../base/base.yaml",
            "name: s\ndataset: d.jsonl\ngraders:\n  b: {kind: program, path: p, inputs: x/*}\n  c: {kind: tool, function: contains, extractor: 'e.py:f'}\n",
        ),
    ]);
    let reading = read_suite("suites/suite.yaml", &files, &REGISTRY);
    assert_eq!(rendered(&reading), "");
    let suite = reading.suite.expect("a suite");
    let [b, c, a] = &suite.graders[..] else { panic!("three graders") };
    let a = program_of(a);
    let b = program_of(b);
    assert_eq!(a.path, "suites/p");
    assert_eq!(a.inputs, ["../y", "x"]);
    assert_eq!(a.runtime.as_deref(), Some("suites/bin/py"));
    assert_eq!(b.path, "suites/../base/p");
    assert_eq!(b.inputs, ["../base/x/*"]);
    assert_eq!(c.extractor.name, "../base/e.py:f");
    let path = c.extractor.program.as_ref().map(|program| program.path.as_str());
    assert_eq!(path, Some("suites/../base/e.py"));
}

#[test]
fn rewards_are_graders_after_the_others() {
    const GRADERS: &str = "graders:\n  quality: {kind: tool, function: contains}\n  tone-of-voice: {kind: tool, function: contains}\n  total: {kind: combine, combine: quality / 2, pass_threshold: 0.25, display_name: Total}\n";
    let names =
        |suite: &Suite| suite.graders.iter().map(|grader| grader.name.clone()).collect::<Vec<_>>();
    let plain = with(GRADERS);
    assert_eq!(names(&plain), ["quality", "tone-of-voice", "total"]);
    assert_eq!(expression_of(&plain.graders[2]), "quality / 2");
    assert_eq!(plain.graders[2].display_name.as_deref(), Some("Total"));
    assert_eq!(plain.graders[2].extractor.name, "last_assistant");
    for (section, expected, threshold) in [
        ("reward: quality\n", "quality", 1.0),
        ("reward: {combine: quality*quality}\n", "quality*quality", 1.0),
        (
            "reward:\n  kind: combine\n  pass_threshold: 0.5\n  combine: >\n    quality\n    * `tone-of-voice`\n",
            "quality * `tone-of-voice`",
            0.5,
        ),
    ] {
        let suite = with(&format!("{GRADERS}{section}"));
        let reward = suite.graders.last().expect("graders");
        assert_eq!((reward.name.as_str(), expression_of(reward)), ("reward", expected));
        assert!((reward.pass_threshold - threshold).abs() < f64::EPSILON);
    }
    let metric = with(&format!("{GRADERS}reward: {{kind: metric, metric_key: total}}\n"));
    assert_eq!(names(&metric), names(&plain));
    let own = with(
        "graders:\n  q: {kind: tool, function: contains}\n  reward: {kind: combine, combine: q}\nreward: {kind: metric, metric_key: q}\n",
    );
    assert_eq!(names(&own), ["q", "reward"]);
}

#[test]
fn a_gate_may_stand_beside_a_reward_and_name_it() {
    let suite = with(
        "graders:\n  q: {kind: tool, function: contains}\nreward: {kind: custom, function: 'r.py:f'}\ngate: {metric_key: reward, op: gte, value: 0.5}\n",
    );
    let Some(Gate::Simple(condition)) = &suite.gate else { panic!("a simple gate") };
    assert_eq!(condition.metric_key, "reward");
}

#[test]
fn an_expression_of_the_environment_is_never_shown() {
    for value in ["my-very-secret )", "my_very_secret"] {
        let files = Memory::new(&[("suite.yaml", "name: s\ndataset: d.jsonl\ngraders:\n  q: {kind: tool, function: contains}\nreward: ${SECRET}\n")])
            .env("SECRET", value);
        let reading = read(&files);
        assert!(reading.suite.is_none(), "{value}");
        assert!(!rendered(&reading).contains("very"), "{}", rendered(&reading));
    }
}

#[test]
fn it_is_known_where_a_suite_says_what_of_a_program() {
    let base = "graders:\n  g:\n    kind: program\n    path: g.sh\n    inputs: [b.json, 'a/*']\n  h: {kind: tool, function: 'h.py:h', cwd: work}\nreward: {kind: custom, function: 'r.py:r', runtime: python3}\n";
    let over = "name: s\ndataset: d.jsonl\nextends: shared/base.yaml\ngraders:\n  g: {runtime: bash}\n  t: {kind: tool, function: contains, extractor: 'e.py:e', extractor_options: {inputs: p.txt}}\n";
    let told = |over: &str| {
        let reading = read(&Memory::new(&[("suite.yaml", over), ("shared/base.yaml", base)]));
        assert_eq!(rendered(&reading), "");
        let mut told = Vec::new();
        for (spec, places) in &reading.program_places {
            let inputs =
                spec.inputs.iter().map(|input| UncallablePart::Inputs(Some(input.clone())));
            let parts = [UncallablePart::File, UncallablePart::Runtime, UncallablePart::Cwd]
                .into_iter()
                .chain(inputs);
            let places: Vec<String> =
                parts.map(|part| format!("{part:?} {}", places.of(&part))).collect();
            told.push(format!("{}: {}", spec.path, places.join(", ")));
        }
        (reading.suite, told)
    };
    let (suite, places) = told(over);
    insta::assert_snapshot!(places.join("\n"), @r#"
    shared/g.sh: File shared/base.yaml:4:11, Runtime suite.yaml:5:16, Cwd shared/base.yaml:4:11, Inputs(Some("shared/a/*")) shared/base.yaml:5:22, Inputs(Some("shared/b.json")) shared/base.yaml:5:14
    shared/h.py: File shared/base.yaml:6:29, Runtime shared/base.yaml:6:29, Cwd shared/base.yaml:6:44
    e.py: File suite.yaml:6:50, Runtime suite.yaml:6:50, Cwd suite.yaml:6:50, Inputs(Some("p.txt")) suite.yaml:6:88
    shared/r.py: File shared/base.yaml:7:34, Runtime shared/base.yaml:7:53, Cwd shared/base.yaml:7:34
    "#);
    let (shifted, moved) = told(&format!("# a line more\n{over}"));
    assert_eq!(suite, shifted, "where it stands is no part of it");
    assert_ne!(places, moved);
}
