//! Broken rubric graders, and secrets in any of them.

use super::*;

#[test]
fn rubrics_are_checked() {
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n"), @r###"
    error: a rubric grader needs `prompt` or `prompt_path`
     --> suite.yaml:4:3
      |
    4 |   q:
      |   ^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    prompt_path: rubric.txt\n"), @r###"
    error: a rubric grader has `prompt` or `prompt_path`, not both
     --> suite.yaml:7:5
      |
    7 |     prompt_path: rubric.txt
      |     ^^^^^^^^^^^
      |
      = help: keep one
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt_path: missing.txt\n"), @r###"
    error: the file `missing.txt` does not exist
     --> suite.yaml:6:18
      |
    6 |     prompt_path: missing.txt
      |                  ^^^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt_path: locked.txt\n"), @r###"
    error: cannot read `locked.txt`: permission denied
     --> suite.yaml:6:18
      |
    6 |     prompt_path: locked.txt
      |                  ^^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt_path: blank.txt\n"), @r###"
    error: the rubric is empty
     --> suite.yaml:6:18
      |
    6 |     prompt_path: blank.txt
      |                  ^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: \"  \"\n"), @r###"
    error: the rubric is empty
     --> suite.yaml:6:13
      |
    6 |     prompt: "  "
      |             ^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    temperature: 3\n    top_p: 1.5\n    max_tokens: 0\n    timeout: 0\n    max_retries: -1\n    seed: x\n    votes: 0\n    scale: {min: 5, max: 1}\n    provider: opnai\n    modle: y\n    base_url: localhost\n    model: 4\n"), @r###"
    error: `temperature` must be between 0 and 2, or null
     --> suite.yaml:7:18
      |
    7 |     temperature: 3
      |                  ^

    error: `top_p` must be between 0 and 1
     --> suite.yaml:8:12
      |
    8 |     top_p: 1.5
      |            ^^^

    error: `max_tokens` must be a whole number of at least 1
     --> suite.yaml:9:17
      |
    9 |     max_tokens: 0
      |                 ^

    error: `timeout` must be more than 0 seconds
      --> suite.yaml:10:14
       |
    10 |     timeout: 0
       |              ^

    error: `max_retries` must be between 0 and 1000
      --> suite.yaml:11:18
       |
    11 |     max_retries: -1
       |                  ^^

    error: `seed` must be a whole number, not text
      --> suite.yaml:12:11
       |
    12 |     seed: x
       |           ^

    error: `votes` must be a whole number between 1 and 1000
      --> suite.yaml:13:12
       |
    13 |     votes: 0
       |            ^

    error: `scale` must have a `min` below its `max`
      --> suite.yaml:14:12
       |
    14 |     scale: {min: 5, max: 1}
       |            ^^^^^^^^^^^^^^^^

    error: unknown provider `opnai`
      --> suite.yaml:15:15
       |
    15 |     provider: opnai
       |               ^^^^^ expected `openai`, `anthropic` or `letta`
       |
       = help: did you mean `openai`?

    error: a rubric grader has no field `modle`
      --> suite.yaml:16:5
       |
    16 |     modle: y
       |     ^^^^^
       |
       = help: did you mean `model`?

    error: `base_url` must begin with `https://` or `http://`
      --> suite.yaml:17:15
       |
    17 |     base_url: localhost
       |               ^^^^^^^^^

    error: `model` must be text, not a number
      --> suite.yaml:18:12
       |
    18 |     model: 4
       |            ^
       |
       = help: put the value in quotes
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    votes: {count: 3, combine: avg}\n    scale: [1, 5]\n    extra_body: 3\n    rubric_vars: 7\n    temperature: hot\n"), @r###"
    error: `votes` has no `n`
     --> suite.yaml:7:5
      |
    7 |     votes: {count: 3, combine: avg}
      |     ^^^^^

    error: `votes` has no field `count`
     --> suite.yaml:7:13
      |
    7 |     votes: {count: 3, combine: avg}
      |             ^^^^^
      |
      = help: known fields: `n`, `combine`

    error: unknown combine `avg`
     --> suite.yaml:7:32
      |
    7 |     votes: {count: 3, combine: avg}
      |                                ^^^ expected `median`, `mean` or `majority`

    error: `scale` must be a mapping, not a list
     --> suite.yaml:8:12
      |
    8 |     scale: [1, 5]
      |            ^^^^^^
      |
      = help: write `scale: {min: 1, max: 5}`

    error: `extra_body` must be a mapping, not a number
     --> suite.yaml:9:17
      |
    9 |     extra_body: 3
      |                 ^

    error: `rubric_vars` must be a list of texts, not a number
      --> suite.yaml:10:18
       |
    10 |     rubric_vars: 7
       |                  ^

    error: `temperature` must be a number, not text
      --> suite.yaml:11:18
       |
    11 |     temperature: hot
       |                  ^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    judge_tool_name: a\n"), @r###"
    error: `judge_tool_name` is a setting of judges that are agents
     --> suite.yaml:7:5
      |
    7 |     judge_tool_name: a
      |     ^^^^^^^^^^^^^^^
      |
      = help: an agent that judges has an `agent_file`
    "###);
}

#[test]
fn secrets_are_never_shown() {
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    api_key: my-very-secret\n    api_key_env: sk-abc-def\n    base_url: https://u:pw@host/v1\n"), @r###"
    error: `api_key` would put a key into the suite
     --> suite.yaml:7:5
      |
    7 |     api_key: **************
      |     ^^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`

    error: `api_key_env` is not the name of an environment variable
     --> suite.yaml:8:18
      |
    8 |     api_key_env: **********
      |                  ^^^^^^^^^^
      |
      = help: write the name, not the key: `api_key_env: OPENAI_API_KEY`

    error: `base_url` has a password
     --> suite.yaml:9:15
      |
    9 |     base_url: ********************
      |               ^^^^^^^^^^^^^^^^^^^^
      |
      = help: pass the key with `api_key_env: NAME`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\napi_kye: my-very-secret\n"), @"
    error: a suite has no field `api_kye`
     --> suite.yaml:5:1
      |
    5 | api_kye: **************
      | ^^^^^^^
      |
      = help: known fields: `name`, `description`, `dataset`, `target`, `models`, `sandbox`, `graders`, `grader`, `reward`, `labels`, `calibration`, `metrics`, `gate`, `max_samples`, `num_runs`, `max_concurrent`, `max_concurrent_targets`, `sample_tags`, `setup_script`, `allow`
    ");
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ntarget: {kind: agent, api_key: my-very-secret, kidn: x}\n"), @r###"
    warning: `api_key` is ignored: never put a key into a suite
     --> suite.yaml:5:23
      |
    5 | target: {kind: agent, api_key: **************, kidn: x}
      |                       ^^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`

    error: a target that runs an agent has no field `kidn`
     --> suite.yaml:5:48
      |
    5 | target: {kind: agent, api_key: **************, kidn: x}
      |                                                ^^^^
      |
      = help: did you mean `kind`?
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\napi_key: my-very-secret: x\n"), @r###"
    error: a `:` is not expected here
     --> suite.yaml:5:24
      |
    5 | api_key: **************: *
      |                        ^
      |
      = help: put text that contains `: ` in quotes, or check the indentation
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\napi_key: my-very-secret\napi_key: my-very-secret\n"), @r###"
    warning: `api_key` is ignored: never put a key into a suite
     --> suite.yaml:5:1
      |
    5 | api_key: **************
      | ^^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`

    error: `api_key` is written twice in this mapping
     --> suite.yaml:6:1
      |
    6 | api_key: **************
      | ^^^^^^^ the second time
      |
      = help: the first is on line 5, column 1
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: x\n    extra_body:\n      authorization: Bearer my-very-secret\n"), @r###"
    warning: `authorization` is ignored: never put a key into a suite
     --> suite.yaml:8:7
      |
    8 |       authorization: *********************
      |       ^^^^^^^^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\nmax_samples: ${SECRET}\n"), @r###"
    error: `max_samples` must be a whole number, not text
     --> suite.yaml:5:14
      |
    5 | max_samples: ${SECRET}
      |              ^^^^^^^^^
    "###);
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  a: {kind: tool, function: contains}\ngate: {metric_key: \"${SECRET}\", op: gte, value: 1}\n"), @r###"
    error: `metric_key` is set to an unknown grader
     --> suite.yaml:5:20
      |
    5 | gate: {metric_key: "${SECRET}", op: gte, value: 1}
      |                    ^^^^^^^^^^^ expected `a`
    "###);
}

#[test]
fn what_is_wrong_with_a_shared_part_is_said_once() {
    let said = check(
        "name: s\ndataset: d.jsonl\ngraders:\n  a: &a {kind: rubric, prompt: x, temperature: 3}\n  b: *a\n",
    );
    assert_eq!(said.matches("error: ").count(), 1, "{said}");
}

fn with_gate(fields: &str, rest: &str) -> String {
    let suite = format!(
        "name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: Judge.\n    model: m\n{fields}{rest}"
    );
    rendered(&read(&Memory::new(&[("suite.yaml", &suite)])))
}

#[test]
fn a_scale_has_a_width_that_is_a_number() {
    let said = of_scale("{min: -1e308, max: 1e308}");
    assert!(said.contains("`scale` is too wide: `max` minus `min` must be finite"), "{said}");
    assert_eq!(of_scale("{min: -1e307, max: 1e307}"), "");
    for scale in ["[1, 5]", "{max: 5}", "5"] {
        let said = of_scale(scale);
        assert!(said.contains("= help: write `scale: {min: 1, max: 5}`"), "{said}");
    }
}

fn of_scale(scale: &str) -> String {
    with_gate(&format!("    scale: {scale}\n"), "")
}

#[test]
fn a_judge_without_a_threshold_is_warned_of_where_its_passes_are_used() {
    let accuracy = "gate: {metric_key: q, metric: accuracy, op: gte, value: 0.8}\n";
    let weighted = "gate: {kind: weighted_average, aggregation: accuracy, weights: {q: 1}, op: gte, value: 0.8}\n";
    let logical = "gate: {kind: logical, operator: and, conditions: [{metric_key: q, aggregation: accuracy, op: gte, value: 0.8}]}\n";
    let with_pass = "gate: {kind: simple, metric_key: q, aggregation: accuracy, op: gte, value: 0.8, pass_threshold: 0.5}\n";
    for (fields, rest, expected) in [
        ("", "", None),
        ("", accuracy, Some("the gate counts passes")),
        ("", weighted, Some("the gate counts passes")),
        ("", logical, Some("the gate counts passes")),
        ("    scale: {min: 1, max: 5}\n", accuracy, Some("the gate counts passes")),
        ("    confirm_fails: 1\n", "", Some("`confirm_fails` judges everything else again")),
        ("", "num_runs: 2\n", Some("the passes of several runs are counted")),
        ("    pass_threshold: 1.0\n", accuracy, None),
        ("    compare_to: old\n", accuracy, None),
        ("", with_pass, None),
        ("", "gate: {metric_key: q, metric: avg_score, op: gte, value: 0.8}\n", None),
    ] {
        let said = with_gate(fields, rest);
        match expected {
            None => assert_eq!(said, "", "{fields}{rest}"),
            Some(used) => {
                let start =
                    "warning: `q` has no `pass_threshold`, so only the full score is a pass, and ";
                assert!(said.starts_with(&format!("{start}{used}")), "{said}");
                assert_eq!(said.matches("warning: ").count(), 1, "{said}");
            }
        }
    }
}

#[test]
fn a_variable_that_is_not_set_is_one_error() {
    for url in ["${JUDGE_URL}", "\"${JUDGE_URL}\"", "${JUDGE_URL}/v1"] {
        let said = with_gate(&format!("    base_url: {url}\n"), "");
        assert_eq!(said.matches("error: ").count(), 1, "{said}");
        assert!(said.contains("the environment variable `JUDGE_URL` is not set"), "{said}");
    }
    let said = with_gate("    base_url: https://judge.example/v1?design=a&decoder=b\n", "");
    assert_eq!(said, "");
    let said = with_gate("    base_url: https://judge.example/v1?api-key=abcdefgh\n", "");
    assert!(said.contains("`base_url` has a key in its parameters"), "{said}");
}

#[test]
fn what_is_taken_out_of_fences_stands_in_the_rubric() {
    insta::assert_snapshot!(check("name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: Is {submission} {tone}?\n    unfenced: [tone, input, tune]\n    fence: maybe\n"), @"
    error: `unfenced` names `tune`, and the rubric has no `{tune}`
     --> suite.yaml:7:15
      |
    7 |     unfenced: [tone, input, tune]
      |               ^^^^^^^^^^^^^^^^^^^
      |
      = help: known: `input`, `submission`, `ground_truth`, `row`, `tone`

    error: `fence` must be `true` or `false`, not text
     --> suite.yaml:8:12
      |
    8 |     fence: maybe
      |            ^^^^^
    ");
}
