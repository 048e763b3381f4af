//! Broken settings of judges, panels of them, and what their votes become.

use super::*;

/// What is said of a rubric grader with these fields, each on a line of its own from line 7 on.
fn of_grader(fields: &[&str]) -> String {
    let fields = fields.join("\n    ");
    check(&format!(
        "name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    prompt: Judge.\n    {fields}\n"
    ))
}

#[test]
fn settings_of_judges_are_checked() {
    insta::assert_snapshot!(of_grader(&["response_format: jsonschema", "deadline: 0", "timeout: 86401", "max_requests_per_minute: 0", "max_tokens_per_minute: 1.5", "confirm_fails: 101"]), @r###"
    error: unknown response_format `jsonschema`
     --> suite.yaml:7:22
      |
    7 |     response_format: jsonschema
      |                      ^^^^^^^^^^ expected `auto`, `json_schema`, `json_object` or `text`
      |
      = help: did you mean `json_schema`?

    error: `deadline` must be more than 0 seconds
     --> suite.yaml:8:15
      |
    8 |     deadline: 0
      |               ^

    error: `timeout` must be more than 0 and at most 86400 seconds
     --> suite.yaml:9:14
      |
    9 |     timeout: 86401
      |              ^^^^^

    error: `max_requests_per_minute` must be a whole number of at least 1
      --> suite.yaml:10:30
       |
    10 |     max_requests_per_minute: 0
       |                              ^

    error: `max_tokens_per_minute` must be a whole number of at least 1
      --> suite.yaml:11:28
       |
    11 |     max_tokens_per_minute: 1.5
       |                            ^^^

    error: `confirm_fails` must be between 0 and 100
      --> suite.yaml:12:20
       |
    12 |     confirm_fails: 101
       |                    ^^^
    "###);
    insta::assert_snapshot!(of_grader(&["provider: anthropic", "response_format: text"]), @r###"
    error: judges of the provider `anthropic` take no `response_format`: its API has one way
     --> suite.yaml:8:5
      |
    8 |     response_format: text
      |     ^^^^^^^^^^^^^^^
    "###);
    insta::assert_snapshot!(of_grader(&["votes: {n: 3, combine: mean}", "combine: median"]), @r###"
    error: `combine` is set twice: here and in `votes`
     --> suite.yaml:8:5
      |
    8 |     combine: median
      |     ^^^^^^^
      |
      = help: keep one
    "###);
    insta::assert_snapshot!(of_grader(&["combine: average"]), @r###"
    error: unknown combine `average`
     --> suite.yaml:7:14
      |
    7 |     combine: average
      |              ^^^^^^^ expected `median`, `mean` or `majority`
    "###);
}

#[test]
fn headers_are_checked() {
    insta::assert_snapshot!(of_grader(&["headers: [a]"]), @r###"
    error: `headers` must be a mapping of names, not a list
     --> suite.yaml:7:14
      |
    7 |     headers: [a]
      |              ^^^
      |
      = help: write `headers: {X-Team: evals}`
    "###);
    insta::assert_snapshot!(of_grader(&["headers:", "  X Team: a", "  Content-Type: text/plain", "  X-Team: é", "  x-team: b", "  X-Number: 5", "  X-Env: {evn: NAME}", "  X-Variable: {env: 1-NAME}"]), @r###"
    error: this is not the name of an HTTP header
     --> suite.yaml:8:7
      |
    8 |       X Team: a
      |       ^^^^^^
      |
      = help: names have letters, digits and dashes

    error: `Content-Type` is set by the request itself
     --> suite.yaml:9:7
      |
    9 |       Content-Type: text/plain
      |       ^^^^^^^^^^^^

    error: the header `X-Team` can have printable ASCII only
      --> suite.yaml:10:15
       |
    10 |       X-Team: é
       |               ^

    error: `x-team` is written twice: header names are case-insensitive
      --> suite.yaml:11:7
       |
    11 |       x-team: b
       |       ^^^^^^
       |
       = help: keep one

    error: `X-Number` must be text, not a number
      --> suite.yaml:12:17
       |
    12 |       X-Number: 5
       |                 ^
       |
       = help: put the value in quotes

    error: the header `X-Env` has no `env`
      --> suite.yaml:13:7
       |
    13 |       X-Env: {evn: NAME}
       |       ^^^^^
       |
       = help: name the environment variable with its value: `X-Env: {env: NAME}`

    error: a header has no field `evn`
      --> suite.yaml:13:15
       |
    13 |       X-Env: {evn: NAME}
       |               ^^^
       |
       = help: did you mean `env`?

    error: `env` is not the name of an environment variable
      --> suite.yaml:14:25
       |
    14 |       X-Variable: {env: ******}
       |                         ^^^^^^
       |
       = help: name the environment variable with its value: `X-Variable: {env: NAME}`
    "###);
}

#[test]
fn secrets_in_headers_and_panels_are_hidden() {
    insta::assert_snapshot!(of_grader(&["headers: {Cookie: my-very-secret, authorization: my-very-secret}"]), @r###"
    error: the header `Cookie` would put a secret into the suite
     --> suite.yaml:7:23
      |
    7 |     headers: {Cookie: **************, authorization: **************}
      |                       ^^^^^^^^^^^^^^
      |
      = help: name the environment variable with its value: `Cookie: {env: NAME}`

    error: the header `authorization` would put a secret into the suite
     --> suite.yaml:7:54
      |
    7 |     headers: {Cookie: **************, authorization: **************}
      |                                                      ^^^^^^^^^^^^^^
      |
      = help: name the environment variable with its value: `authorization: {env: NAME}`
    "###);
    insta::assert_snapshot!(of_grader(&["headers: {X-Team: Bearer my-very-secret}"]), @r###"
    error: the header `X-Team` would put a secret into the suite
     --> suite.yaml:7:23
      |
    7 |     headers: {X-Team: *********************}
      |                       ^^^^^^^^^^^^^^^^^^^^^
      |
      = help: name the environment variable with its value: `X-Team: {env: NAME}`
    "###);
    insta::assert_snapshot!(of_grader(&["headers: {X-Team: \"Basic ${SECRET}\"}"]), @r###"
    error: the header `X-Team` would put a secret into the suite
     --> suite.yaml:7:23
      |
    7 |     headers: {X-Team: *****************}
      |                       ^^^^^^^^^^^^^^^^^
      |
      = help: name the environment variable with its value: `X-Team: {env: NAME}`
    "###);
    insta::assert_snapshot!(of_grader(&["headers: {X-Auth-Token: {env: my-very-secret}}"]), @r###"
    error: `env` is not the name of an environment variable
     --> suite.yaml:7:35
      |
    7 |     headers: {X-Auth-Token: {env: **************}}
      |                                   ^^^^^^^^^^^^^^
      |
      = help: name the environment variable with its value: `X-Auth-Token: {env: NAME}`
    "###);
    insta::assert_snapshot!(of_grader(&["panel:", "  - {model: a, apiKey: my-very-secret}", "  - {model: b, api_key: {env: KEY}}"]), @r###"
    error: `apiKey` would put a key into the suite
     --> suite.yaml:8:20
      |
    8 |       - {model: a, apiKey: **************}
      |                    ^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`

    error: `api_key` would put a key into the suite
     --> suite.yaml:9:20
      |
    9 |       - {model: b, api_key: **********}
      |                    ^^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`
    "###);
    insta::assert_snapshot!(of_grader(&["extra_body: {api_key: my-very-secret}"]), @r###"
    warning: `api_key` is ignored: never put a key into a suite
     --> suite.yaml:7:18
      |
    7 |     extra_body: {api_key: **************}
      |                  ^^^^^^^
      |
      = help: keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`
    "###);
}

#[test]
fn streams_are_refused() {
    insta::assert_snapshot!(of_grader(&[
        "extra_body: {stream: false, options: {stream: true}}",
        "panel: [{model: a}, {model: b, extra_body: {stream: true}}]",
    ]), @r###"
    error: `stream: true` never works: replies are read whole
     --> suite.yaml:8:49
      |
    8 |     panel: [{model: a}, {model: b, extra_body: {stream: true}}]
      |                                                 ^^^^^^
      |
      = help: remove `stream`; `timeout` limits the time of a reply
    "###);
    let inherited = of_grader(&["extra_body: {stream: true}", "panel: [{model: a}, {model: b}]"]);
    assert_eq!(inherited.matches("error: ").count(), 1, "{inherited}");
}

#[test]
fn panels_are_checked() {
    insta::assert_snapshot!(of_grader(&["panel: {model: a}"]), @r###"
    error: `panel` must be a list of judges, not a mapping
     --> suite.yaml:7:12
      |
    7 |     panel: {model: a}
      |            ^^^^^^^^^^
      |
      = help: write `panel: [{model: a}, {model: b}]`
    "###);
    insta::assert_snapshot!(of_grader(&["panel: []"]), @r###"
    error: `panel` has no judges
     --> suite.yaml:7:12
      |
    7 |     panel: []
      |            ^^
      |
      = help: write `panel: [{model: a}, {model: b}]`
    "###);
    insta::assert_snapshot!(of_grader(&["panel: [gpt-4o, {modle: a}, {model: b, votes: 3}]"]), @r###"
    error: a judge of `panel` must be a mapping, not text
     --> suite.yaml:7:13
      |
    7 |     panel: [gpt-4o, {modle: a}, {model: b, votes: 3}]
      |             ^^^^^^
      |
      = help: write `{model: NAME}`

    error: this judge of the panel has no `model`
     --> suite.yaml:7:21
      |
    7 |     panel: [gpt-4o, {modle: a}, {model: b, votes: 3}]
      |                     ^^^^^^^^^^

    error: a judge of `panel` has no field `modle`
     --> suite.yaml:7:22
      |
    7 |     panel: [gpt-4o, {modle: a}, {model: b, votes: 3}]
      |                      ^^^^^
      |
      = help: did you mean `model`?

    error: a judge of `panel` has no field `votes`
     --> suite.yaml:7:44
      |
    7 |     panel: [gpt-4o, {modle: a}, {model: b, votes: 3}]
      |                                            ^^^^^
      |
      = help: known fields: `provider`, `model`, `base_url`, `endpoint`, `api_key_env`, `headers`, `temperature`, `seed`, `max_tokens`, `top_p`, `extra_body`, `response_format`, `prompt_caching`, `service_tier`, `batch`, `max_retries`, `timeout`, `deadline`, `max_requests_per_minute`, `max_tokens_per_minute`, `agent_file`, `judge_tool_name`, `keep_agents`, `command`, `version`, `inputs`, `env`, `sandbox`, `retries`
    "###);
    insta::assert_snapshot!(of_grader(&["temperature: 3", "response_format: text", "panel:", "  - {model: a}", "  - {model: b, provider: anthropic, top_p: 2}"]), @r###"
    error: `temperature` must be between 0 and 2, or null
     --> suite.yaml:7:18
      |
    7 |     temperature: 3
      |                  ^

    error: judges of the provider `anthropic` take no `response_format`: its API has one way
     --> suite.yaml:8:5
      |
    8 |     response_format: text
      |     ^^^^^^^^^^^^^^^

    error: `top_p` must be between 0 and 1
      --> suite.yaml:11:48
       |
    11 |       - {model: b, provider: anthropic, top_p: 2}
       |                                                ^
    "###);
    insta::assert_snapshot!(of_grader(&["model: m", "extra_body: {a: 1, b: 2}", "panel:", "  - {temperature: 0}", "  - {model: n}", "  - {extra_body: {b: 2, a: 1}, api_key_env: OTHER, timeout: 5}"]), @r###"
    error: this judge is in the panel already: one judgment would count twice
      --> suite.yaml:12:9
       |
    12 |       - {extra_body: {b: 2, a: 1}, api_key_env: OTHER, timeout: 5}
       |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: the first is on line 10, column 9; for more judgments by each judge write `votes: 2`
    "###);
    insta::assert_snapshot!(of_grader(&["api_key_env: TEAM_KEY", "panel:", "  - {model: a}", "  - {model: b, provider: anthropic}", "  - {model: c, provider: anthropic, api_key_env: null}"]), @r###"
    warning: this judge of another provider inherits `api_key_env` of the grader
      --> suite.yaml:10:30
       |
    10 |       - {model: b, provider: anthropic}
       |                              ^^^^^^^^^
       |
       = help: set `api_key_env` for this judge too; `api_key_env: null` is its provider's default
    "###);
    let many: Vec<String> = (0..101).map(|at| format!("{{model: m{at}}}")).collect();
    assert!(of_grader(&[&format!("panel: [{}]", many.join(", "))]).contains("at most 100 judges"));
}

#[test]
fn comparisons_are_checked() {
    insta::assert_snapshot!(of_grader(&["compare_to: {}"]), @r###"
    error: `compare_to` has either `field` or `run`
     --> suite.yaml:7:5
      |
    7 |     compare_to: {}
      |     ^^^^^^^^^^
      |
      = help: write `compare_to: {field: PATH}` or `{run: FILE}`
    "###);
    insta::assert_snapshot!(of_grader(&["compare_to: {field: a, run: b, row: c}"]), @r###"
    error: `compare_to` has either `field` or `run`
     --> suite.yaml:7:5
      |
    7 |     compare_to: {field: a, run: b, row: c}
      |     ^^^^^^^^^^
      |
      = help: write `compare_to: {field: PATH}` or `{run: FILE}`

    error: `compare_to` has no field `row`
     --> suite.yaml:7:36
      |
    7 |     compare_to: {field: a, run: b, row: c}
      |                                    ^^^
      |
      = help: known fields: `field`, `run`
    "###);
    insta::assert_snapshot!(of_grader(&["compare_to: [a]", "scale: {min: 1, max: 5}"]), @r###"
    error: `compare_to` must be text, not a list
     --> suite.yaml:7:17
      |
    7 |     compare_to: [a]
      |                 ^^^
    "###);
    insta::assert_snapshot!(of_grader(&["compare_to: a", "scale: {min: 1, max: 5}"]), @r###"
    error: a grader with `compare_to` has no `scale`
     --> suite.yaml:8:5
      |
    8 |     scale: {min: 1, max: 5}
      |     ^^^^^
      |
      = help: a win is 1, a tie 0.5, a loss 0
    "###);
    for (rubric, named, lacks) in [
        (
            "Is {submission} better?",
            "{submission}",
            "neither `{submission_a}` nor `{submission_b}`",
        ),
        ("Is {submission_a} better?", "{submission_a}", "not `{submission_b}`"),
        ("{submission_b} or {submission}?", "{submission_b}", "not `{submission_a}`"),
    ] {
        let said = check(&format!(
            "name: s\ndataset: d.jsonl\ngraders:\n  q:\n    kind: rubric\n    compare_to: a\n    prompt: \"{rubric}\"\n"
        ));
        let message = format!("error: this rubric compares, and names `{named}` but {lacks}\n");
        assert!(said.starts_with(&message), "{said}");
        let column = "    prompt: \"".len() + rubric.find(named).unwrap() + 1;
        assert!(said.contains(&format!("suite.yaml:7:{column}\n")), "{said}");
    }
}
