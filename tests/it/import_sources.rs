//! What other tools wrote, as suites: `evalrs import`, through the binary.
#![expect(clippy::too_many_lines, reason = "snapshots are as long as what they show")]

use serde_json::Value;

use crate::space::{Space, has};

const CONFIG: &str = "\
description: greetings
prompts: ['Say {{word}} to {{name}}']
providers:
  - echo
defaultTest:
  assert:
    - {type: contains, value: '{{name}}'}
tests:
  - vars: {word: hello, name: Ann}
    assert:
      - {type: not-icontains, value: BYE}
      - {type: is-refusal}
  - vars: {word: bye, name: Bob}
    assert: [{type: equals, value: Say bye to Bob}]
";

#[test]
fn a_configuration_is_imported_and_runs_at_once() {
    let space = Space::new(&[("p/promptfooconfig.yaml", CONFIG)]);
    insta::assert_snapshot!(space.run(&["import", "p", "-o", "out"]).shown(), @r#"
    exit: 0
    --- stdout
    imported p (promptfoo) into out
      suite.yaml: 2 rows, 3 graders
      assertions: 3 mapped, 1 not mapped
      prompts: 1 mapped, 0 not mapped
      providers: 1 mapped, 0 not mapped
      tests: 2 mapped, 0 not mapped
    not mapped, with reasons: out/IMPORT.md

    next:
      cd out
      evalrs validate suite.yaml
      evalrs plan suite.yaml
      evalrs run suite.yaml
    --- stderr
    "#);
    insta::assert_snapshot!(space.read("out/suite.yaml"), @r#"
    name: greetings
    dataset: dataset.jsonl
    graders:
      contains:
        kind: tool
        function: contains_any
        config:
          case_sensitive: true
        ground_truth: row.assert.contains
      not-icontains:
        kind: tool
        function: contains_any
        config:
          case_sensitive: false
        not: true
        ground_truth: row.assert.not-icontains
      equals:
        kind: tool
        function: string_match
        config:
          case_sensitive: true
          normalize_whitespace: false
        ground_truth: row.assert.equals
    gate:
      kind: logical
      operator: and
      conditions:
      - metric_key: contains
        metric: accuracy
        op: gte
        value: 1
      - metric_key: not-icontains
        metric: accuracy
        op: gte
        value: 1
      - metric_key: equals
        metric: accuracy
        op: gte
        value: 1
    "#);
    insta::assert_snapshot!(space.read("out/dataset.jsonl"), @r#"
    {"id":"test-1","input":"Say hello to Ann","vars":{"word":"hello","name":"Ann"},"assert":{"contains":["Ann"],"not-icontains":["BYE"]},"graders":["contains","not-icontains"],"latency_ms":0,"cost":0,"output":"Say hello to Ann"}
    {"id":"test-2","input":"Say bye to Bob","vars":{"word":"bye","name":"Bob"},"assert":{"contains":["Bob"],"equals":"Say bye to Bob"},"graders":["contains","equals"],"latency_ms":0,"cost":0,"output":"Say bye to Bob"}
    "#);
    insta::assert_snapshot!(space.read("out/IMPORT.md"), @r#"
    # Imported from promptfoo

    Source: `p`

    | suite | rows | recorded outputs | labels | graders |
    |---|--:|--:|--:|--:|
    | `suite.yaml` | 2 | 0 | 0 | 3 |

    | part | mapped | not mapped |
    |---|--:|--:|
    | assertions | 3 | 1 |
    | prompts | 1 | 0 |
    | providers | 1 | 0 |
    | tests | 2 | 0 |

    ## Not mapped

    | where | what | why |
    |---|---|---|
    | `p/promptfooconfig.yaml:12` | `is-refusal` | promptfoo compares with a list of phrases of its own |

    ## Next

    ```sh
    cd out
    evalrs validate suite.yaml
    evalrs plan suite.yaml
    evalrs run suite.yaml
    ```
    "#);
    assert_eq!(space.run(&["validate", "out/suite.yaml"]).code(), 0);
    let ran = space.run(&["run", "out/suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    // The same source gives the same folder.
    let again =
        space.run(&["import", "p/promptfooconfig.yaml", "-o", "again", "--from", "promptfoo"]);
    assert_eq!(again.code(), 0, "{}", again.shown());
    assert_eq!(space.read("again/dataset.jsonl"), space.read("out/dataset.jsonl"));
}

#[test]
fn what_cannot_be_imported_is_said_and_nothing_is_written() {
    let files = [
        ("c.yaml", CONFIG),
        ("broken.yaml", "prompts: [a\nproviders: [echo]\ntests: []\n"),
        ("other.txt", "nothing"),
        ("promptfooconfig.js", "module.exports = {};"),
        ("full/file", "x"),
        ("red/promptfooconfig.yaml", "redteam: {purpose: p}\nproviders: [echo]\n"),
    ];
    let space = Space::new(&files);
    let mut shown = Vec::new();
    for words in [
        "import gone.yaml -o out",
        "import other.txt -o out",
        "import c.yaml -o out --from nonsense",
        "import c.yaml -o full",
        "import broken.yaml -o out --from promptfoo",
        "import promptfooconfig.js -o out",
        "import c.yaml",
    ] {
        let ran = space.run(&words.split(' ').collect::<Vec<_>>());
        shown.push(format!("$ evalrs {words}\n{}", ran.shown()));
        assert_eq!(ran.code(), 2);
    }
    assert_eq!(space.names("out"), Vec::<String>::new());
    insta::assert_snapshot!(shown.join("\n"), @"
    $ evalrs import gone.yaml -o out
    exit: 2
    --- stdout
    --- stderr
    error: cannot read `gone.yaml`: no such file
      help: name a file or folder that is there

    $ evalrs import other.txt -o out
    exit: 2
    --- stdout
    --- stderr
    error: cannot recognize `other.txt`
      help: name its kind with `--from KIND`; kinds are `inspect` (a log of Inspect, or a folder of logs), `agent-eval-harness` (captures, trials, graded records or prompts of agent-eval-harness), `deepeval` (test runs or datasets of DeepEval, or a folder of them), `letta-evals` (a suite with a target of Letta Evals, or a directory of results), `atif` (trajectories of Harbor, or a folder of its jobs), `otlp` (spans of OpenTelemetry), `openai-evals` (graders, runs and output items of OpenAI, or the registry and logs of openai/evals), `langsmith` (runs or examples of LangSmith), `langfuse` (traces, observations, scores or dataset items of Langfuse), `rewardkit` (judges of Harbor's Reward Kit: `judge.toml`, or a folder of them), `promptfoo` (a configuration of promptfoo, its results or its database), `claude-code` (a session of Claude Code, or a folder of them), `openai-messages` (chat messages of the OpenAI API, in a file or a folder of them), `answers` (answers in CSV, TSV, JSON or JSON Lines, one per row)

    $ evalrs import c.yaml -o out --from nonsense
    exit: 2
    --- stdout
    --- stderr
    error: unknown kind of source `nonsense`
      help: kinds are `inspect` (a log of Inspect, or a folder of logs), `agent-eval-harness` (captures, trials, graded records or prompts of agent-eval-harness), `deepeval` (test runs or datasets of DeepEval, or a folder of them), `letta-evals` (a suite with a target of Letta Evals, or a directory of results), `atif` (trajectories of Harbor, or a folder of its jobs), `otlp` (spans of OpenTelemetry), `openai-evals` (graders, runs and output items of OpenAI, or the registry and logs of openai/evals), `langsmith` (runs or examples of LangSmith), `langfuse` (traces, observations, scores or dataset items of Langfuse), `rewardkit` (judges of Harbor's Reward Kit: `judge.toml`, or a folder of them), `promptfoo` (a configuration of promptfoo, its results or its database), `claude-code` (a session of Claude Code, or a folder of them), `openai-messages` (chat messages of the OpenAI API, in a file or a folder of them), `answers` (answers in CSV, TSV, JSON or JSON Lines, one per row)

    $ evalrs import c.yaml -o full
    exit: 2
    --- stdout
    --- stderr
    error: the folder `full` already has files; nothing was written
      help: name another folder, or write over it with `--force`

    $ evalrs import broken.yaml -o out --from promptfoo
    exit: 2
    --- stdout
    --- stderr
    error: this `[` is never closed
     --> broken.yaml:1:10
      |
    1 | prompts: [a
      |          ^
      |
      = help: a `]` is missing before line 2

    $ evalrs import promptfooconfig.js -o out
    exit: 2
    --- stdout
    --- stderr
    error: `promptfooconfig.js` is a program, which is not run
      help: write it as YAML, or import its results: `promptfoo eval -o results.json`

    $ evalrs import c.yaml
    exit: 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      --output <DIR>

    Usage: evalrs import --output <DIR> <SOURCE>

    For more information, try '--help'.
    ");
    // Where nothing can be run, the report says why.
    let ran = space.run(&["import", "red", "-o", "red/out"]);
    assert_eq!(
        (ran.code(), space.names("red/out")),
        (2, vec!["IMPORT.md".to_owned()]),
        "{}",
        ran.shown()
    );
    let ran = space.run(&["import", "red", "-o", "red/json", "--json"]);
    let expected = "error: no suite was made: no part of it can run; see red/json/IMPORT.md\n";
    assert_eq!((ran.code(), ran.stderr().as_str()), (2, expected));
    assert_eq!(space.run(&["import", "c.yaml", "-o", "full", "--force"]).code(), 0);
    assert_eq!(space.read("full/file"), "x");
}

#[test]
fn no_live_key_is_written_anywhere() {
    let key = "sk-proj-4fJ29aQ0x8LmZt73vbN1";
    let config = format!(
        "prompts: ['Use {key} for {{{{q}}}}', 'file://p.txt']\nproviders:\n  - id: openai:gpt-4o\n    config:\n      apiKey: {key}\n      temperature: 0\n  - id: https://x.example/chat\n    config: {{headers: {{Authorization: 'Bearer abcdef0123456789abcdef'}}, body: {{q: '{{{{prompt}}}}'}}, transformResponse: json.a}}\nenv: {{OTHER_API_KEY: a1b2c3d4e5f6a7b8}}\ntests:\n  - vars: {{q: '{key}'}}\n    assert:\n      - {{type: not-contains, value: {key}}}\n      - {{type: javascript, value: \"output !== '{key}'\"}}\n      - {{type: llm-rubric, value: 'Does not say {key}'}}\n"
    );
    let space = Space::new(&[
        ("c.yaml", &config),
        ("p.txt", "token ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ]);
    let ran = space.run(&["import", "c.yaml", "-o", "out", "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let mut written = ran.shown();
    for name in space.names("out") {
        written += &space.read(&format!("out/{name}"));
    }
    for secret in [key, "abcdef0123456789abcdef", "a1b2c3d4e5f6a7b8", "ghp_0123456789"] {
        assert!(!written.contains(secret), "{secret}: {written}");
    }
    let report: Value = serde_json::from_str(&ran.stdout()).unwrap();
    let found: Vec<String> = report["secrets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|secret| {
            format!(
                "{}:{} {}",
                secret["file"].as_str().unwrap(),
                secret["line"],
                secret["what"].as_str().unwrap()
            )
        })
        .collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    c.yaml:1 a key that begins with sk-
    c.yaml:3 `apiKey` of a provider
    c.yaml:5 a key that begins with sk-
    c.yaml:7 `Authorization` of a provider
    c.yaml:8 a bearer token
    c.yaml:9 `OTHER_API_KEY`
    c.yaml:11 a key that begins with sk-
    c.yaml:13 a key that begins with sk-
    c.yaml:14 a key that begins with sk-
    c.yaml:15 a key that begins with sk-
    p.txt:1 a token of GitHub
    "#);
    let schema: Value =
        serde_json::from_str(&space.run(&["schemas", "ImportReport"]).stdout()).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    assert!(schema.is_valid(&report), "{:?}", schema.iter_errors(&report).next());
}

#[test]
fn files_outside_of_the_root_are_named_and_not_read() {
    let config = "prompts: ['{{a}}']\nproviders: [echo]\ntests:\n  - vars: {a: 'file://../secret.txt'}\n  - file:///etc/passwd\n";
    let space = Space::new(&[("in/c.yaml", config), ("secret.txt", "hidden words")]);
    let ran = space.run(&["import", "in/c.yaml", "-o", "out", "--json"]);
    let written = ran.stdout() + &space.read("out/IMPORT.md");
    assert_eq!(space.names("out"), ["IMPORT.md"]);
    assert!(!written.contains("hidden words") && !written.contains("root:"), "{written}");
    let ran = space.run(&["import", "in/c.yaml", "-o", "wide", "--root", "."]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert!(space.read("wide/dataset.jsonl").contains("hidden words"));
}

#[cfg(not(feature = "sqlite"))]
#[test]
fn builds_that_do_not_read_the_database_of_promptfoo_say_what_does() {
    let space = Space::new(&[("home/promptfoo.db", "SQLite format 3\0")]);
    insta::assert_snapshot!(space.run(&["import", "home", "-o", "out"]).shown(), @"
    exit: 2
    --- stdout
    --- stderr
    error: cannot read `home/promptfoo.db`: this build of evalrs does not read SQLite: `cargo install` it with `--features sqlite`
      help: have promptfoo write an evaluation as JSON: `promptfoo export eval ID -o results.json`
    ");
}

#[test]
fn results_of_promptfoo_are_repeated_by_a_grader() {
    let result = |prompt: u32, pass: bool| {
        serde_json::json!({
            "testIdx": 0, "promptIdx": prompt, "success": pass, "score": 0.5, "error": if pass { None } else { Some("no ho") },
            "provider": {"id": "openai:gpt-5-mini"}, "prompt": {"raw": "Say hi", "label": format!("prompt {prompt}")}, "response": {"output": "hi"},
            "testCase": {"vars": {}, "assert": [{"type": "contains", "value": "hi"}]},
            "gradingResult": {"pass": pass, "score": 0.5, "componentResults": [{"pass": true, "score": 1}]},
        })
    };
    // The second prompt was answered first.
    let results = serde_json::json!({"evalId": "e", "results": {"results": [result(1, false), result(0, true)]}});
    let space = Space::new(&[("results.json", &results.to_string())]);
    assert_eq!(space.run(&["import", "results.json", "-o", "out"]).code(), 0);
    let ran = space.run(&["run", "out/suite.yaml", "--format", "jsonl"]);
    let told = ran
        .stdout()
        .lines()
        .map(|line| {
            let result: Value = serde_json::from_str(line).unwrap();
            let [id, pass, why, error] = [
                "/sample_id",
                "/grades/promptfoo/pass",
                "/grades/promptfoo/rationale",
                "/grades/promptfoo/error",
            ]
            .map(|at| result.pointer(at).cloned().unwrap_or_default());
            format!("{id} {pass} {why} {error}")
        })
        .collect::<Vec<_>>();
    insta::assert_snapshot!(told.join("\n"), @r#"
    "test-1.prompt-2" false "no ho" null
    "test-1" true "Recorded score: 1" null
    "#);
}

#[test]
fn programs_are_called_as_promptfoo_calls_them() {
    if !has("node") || !has("python3") {
        return;
    }
    let config = "\
prompts: ['{{word}}']
providers: [echo]
tests:
  - vars: {word: hello, least: 3}
    assert:
      - {type: javascript, value: 'output.length > context.vars.least'}
      - {type: javascript, value: 'output.length / 10', threshold: 0.4}
      - {type: not-javascript, value: 'output === \"x\"'}
      - {type: javascript, value: 'file://checks/js.js:named', config: {least: 2}}
      - {type: javascript, value: 'file://checks/module.mjs'}
      - {type: python, value: 'len(output) == 5 and context[\"vars\"][\"least\"] == 3'}
      - type: python
        value: |
          if 'h' in output:
            return {'pass': True, 'score': 0.75, 'reason': 'has an h'}
          return 0
      - {type: python, value: 'file://checks/py.py', config: {word: hello}}
      - {type: contains, value: HELLO, transform: output.toUpperCase()}
      - {type: levenshtein, value: hallo, threshold: 1}
      - {type: regex, value: '(?<=hel)lo$'}
      - {type: javascript, value: 'nonsense('}
";
    let space = Space::new(&[
        ("c.yaml", config),
        (
            "checks/js.js",
            "const { long } = require('./more.js');\nmodule.exports = { named: (output, context) => ({ pass: long(output, context.config.least), score: 0.5, reason: 'r' }) };\n",
        ),
        ("checks/more.js", "exports.long = (text, least) => text.length > least;\n"),
        ("checks/module.mjs", "export default (output) => output === 'hello';\n"),
        (
            "checks/py.py",
            "import other\n\ndef get_assert(output, context):\n    return other.same(output, context['config']['word'])\n",
        ),
        ("checks/other.py", "def same(one, two):\n    return one == two\n"),
    ]);
    let ran = space.run(&["import", "c.yaml", "-o", "out"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let mut run = space.command(&["run", "out/suite.yaml", "--format", "jsonl"]);
    run.envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
    let out = String::from_utf8(run.output().unwrap().stdout).unwrap();
    let result: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    let grades = result["grades"].as_object().unwrap();
    let told: Vec<String> = grades
        .iter()
        .map(|(name, grade)| {
            format!("{name} {} {} {}", grade["pass"], grade["score"], grade["error"])
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    javascript true 1.0 null
    javascript-2 true 0.5 null
    not-javascript true 1.0 null
    javascript-3 true 0.5 null
    javascript-4 true 1.0 null
    python true 1.0 null
    python-2 true 0.75 null
    python-3 true 1.0 null
    contains true 1.0 null
    levenshtein true 1.0 null
    regex true 1.0 null
    javascript-5 false 0.0 null
    "#);
}
