//! What judges reply, through the binary and in the words of every API: verdicts however they are wrapped, every way to
//! fail with a kind of its own, and how the shape of a reply is asked for.

use serde_json::{Value, json};

use crate::judge::{Answer, Asked, Judge};
use crate::space::{Ran, Space, jsonl};

/// One sample and one rubric grader with further `settings`.
fn space(settings: &str) -> Space {
    let suite = format!(
        "name: s\ndataset: data.jsonl\nmax_concurrent: 1\ngraders:\n  quality: {{kind: rubric, prompt: 'Is {{submission}} polite?', model: judge-1, endpoint: test, max_retries: 0{settings}}}\ngate: {{metric_key: quality, op: gte, value: 0.1}}\n",
    );
    Space::new(&[("suite.yaml", suite.as_str()), ("data.jsonl", &rows(1))])
}

fn rows(count: usize) -> String {
    jsonl((0..count).map(|at| json!({"id": at, "input": "Hi", "output": format!("Hello {at}")})))
}

/// The first grade of the last run.
fn grade(space: &Space) -> Value {
    let results = space.record("results.jsonl");
    let line: Value = serde_json::from_str(results.lines().next().unwrap()).unwrap();
    line["grades"]["quality"].clone()
}

fn run(space: &Space, judge: &Judge) -> Ran {
    space.run_with(judge, &["run", "suite.yaml"])
}

/// A judge that says each of these once and then the last for ever.
fn saying(texts: &[&str]) -> Judge {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    Judge::new(move |number, _| Answer::text(&texts[number.min(texts.len() - 1)]))
}

#[test]
fn a_verdict_is_found_however_it_is_wrapped() {
    for (reply, score, rationale) in [
        (r#"{"score": 0.75, "rationale": "so"}"#, 0.75, "so"),
        (r#"{"rationale": "so", "score": 1, "confidence": "high"}"#, 1.0, "so"),
        ("```json\n{\"score\": 0.5, \"rationale\": \"so\"}\n```", 0.5, "so"),
        ("Here it is: {\"score\": 0.25, \"rationale\": \"{}\"} Bye.", 0.25, "{}"),
        ("<think>{\"score\": 1}?</think>{\"score\": 0.125}", 0.125, ""),
        (r#"{"score": "0.5", "rationale": null}"#, 0.5, ""),
    ] {
        let (judge, space) = (saying(&[reply]), space(""));
        assert_eq!(run(&space, &judge).code(), 0, "{reply}");
        let grade = grade(&space);
        assert_eq!((&grade["score"], &grade["rationale"]), (&json!(score), &json!(rationale)));
        assert_eq!(judge.count(), 1, "{reply}");
    }
}

#[test]
fn a_reply_that_is_no_verdict_is_asked_again_with_its_fault_named() {
    for (bad, fault) in [
        (r#"{"score": 1.5}"#, "`score` is 1.5, outside 0 to 1"),
        (r#"{"score": -0.01}"#, "`score` is -0.01, outside 0 to 1"),
        (r#"{"score": "NaN"}"#, "`score` is \"NaN\", not a number from 0 to 1"),
        (r#"{"score": "Infinity"}"#, "`score` is \"Infinity\", not a number from 0 to 1"),
        (r#"{"score": NaN}"#, "the reply begins with `{` and is not valid JSON"),
        (r#"{"score": 1e999}"#, "the reply begins with `{` and is not valid JSON"),
        (r#"{"score": "high"}"#, "`score` is \"high\", not a number from 0 to 1"),
        (r#"{"score": true}"#, "`score` is true, not a number from 0 to 1"),
        (r#"{"score": [1]}"#, "`score` is [1], not a number from 0 to 1"),
        (r#"{"score": null}"#, "the reply has no `score`"),
        (r#"{"rationale": "so"}"#, "the reply has no `score`"),
        ("0.5", "the reply is JSON but no object"),
        ("Very polite!", "the reply is not a JSON object"),
        (r#"{"score": 1} or {"score": 0}"#, "the reply begins with `{` and is not valid JSON"),
        (r#"Is it {"score": 1} or {"score": 0}?"#, "the reply holds several verdicts"),
        (r#"Score: 0. {"score": 1}"#, "the reply says more than one `score`"),
    ] {
        let (judge, space) = (saying(&[bad, r#"{"score": 0.5}"#]), space(""));
        assert_eq!(run(&space, &judge).code(), 0, "{bad}");
        let asked = judge.asked();
        assert_eq!((asked.len(), &grade(&space)["score"]), (2, &json!(0.5)), "{bad}");
        assert!(asked[1].prompt().contains(fault), "{bad}: {}", asked[1].prompt());
        let messages = asked[1].body["messages"].as_array().unwrap();
        assert_eq!(messages[2], json!({"role": "assistant", "content": bad}));
        let usage = &grade(&space)["metadata"]["usage"];
        assert_eq!(*usage, json!({"input_tokens": 20, "output_tokens": 4}), "both requests count");
    }
}

#[test]
fn three_replies_without_a_verdict_are_an_error_that_keeps_the_reply() {
    let judge = saying(&[r#"{"score": 7}"#, "no", r#"{"score": 8}"#, r#"{"score": 1}"#]);
    let space = space("");
    assert_eq!(run(&space, &judge).code(), 3);
    let failed = grade(&space);
    assert_eq!((judge.count(), &failed["error"]["kind"]), (3, &json!("invalid_reply")));
    assert_eq!(failed["metadata"]["reply"], r#"{"score": 8}"#);
    assert_eq!(
        failed["error"]["message"],
        "invalid reply, asked 3 times: `score` is 8, outside 0 to 1"
    );
    assert_eq!((run(&space, &judge).code(), judge.count()), (3, 3), "the failure is replayed");
    assert_eq!(grade(&space), failed);
    let args = ["run", "suite.yaml", "--retry-errors"];
    assert_eq!((space.run_with(&judge, &args).code(), judge.count()), (0, 4));
    assert_eq!(grade(&space)["score"], 1.0);
}

/// An API, and the judge that speaks it.
struct Api {
    provider: &'static str,
    base_url: fn(&Judge) -> (&'static str, String),
}

const OPENAI: Api = Api { provider: "openai", base_url: |judge| ("OPENAI_BASE_URL", judge.url()) };
const ANTHROPIC: Api =
    Api { provider: "anthropic", base_url: |judge| ("ANTHROPIC_BASE_URL", judge.root()) };
const GOOGLE: Api =
    Api { provider: "google", base_url: |judge| ("GOOGLE_GEMINI_BASE_URL", judge.root()) };

impl Api {
    fn space(&self) -> Space {
        space(&format!(", provider: {}", self.provider))
    }

    fn run(&self, space: &Space, judge: &Judge, environment: &[(&str, &str)]) -> Ran {
        let (variable, url) = (self.base_url)(judge);
        let mut command = space.command(&["run", "suite.yaml"]);
        command.env(variable, url).envs(environment.iter().copied());
        Ran(command.output().unwrap())
    }
}

fn http(status: u16, body: &Value) -> Answer {
    Answer::Http(status, Vec::new(), body.to_string())
}

fn check_failure(api: &Api, answer: fn() -> Answer, (kind, words): (&str, &str)) {
    let (judge, space) = (Judge::new(move |_, _| answer()), api.space());
    let ran = api.run(&space, &judge, &[]);
    let grade = grade(&space);
    let place = format!("{} {kind}: {grade}", api.provider);
    assert_eq!(
        (ran.code(), judge.count(), &grade["error"]["kind"]),
        (3, 1, &json!(kind)),
        "{place}"
    );
    assert!(grade["error"]["message"].as_str().unwrap().contains(words), "{place}");
    assert!(grade["rationale"].as_str().unwrap().starts_with("Error during grading: "), "{place}");
    assert_eq!(
        (&grade["score"], &grade["metadata"]["error"]),
        (&json!(0.0), &grade["error"]["message"])
    );
    let kept = ["bad_request", "refused", "filtered", "truncated", "empty_reply"];
    let is_kept = kept.contains(&kind);
    assert_eq!(space.stored_lines().len(), usize::from(is_kept), "{place}");
}

/// What is answered, the kind of the failure, and a part of its message.
type Failing = (fn() -> Answer, (&'static str, &'static str));

const STREAM: &str =
    "data: {\"choices\": [{\"delta\": {\"content\": \"{\\\"score\\\": 1}\"}}]}\n\ndata: [DONE]\n\n";

const OF_OPENAI: &[Failing] = &[
    (
        || Answer::completion(json!({"content": null, "refusal": "I will not"}), "stop"),
        ("refused", "the judge refused: I will not"),
    ),
    (
        || Answer::completion(json!({"content": "{\"score\": 1}"}), "length"),
        ("truncated", "raise `max_tokens`"),
    ),
    (|| Answer::text(" \n"), ("empty_reply", "the judge replied nothing")),
    (
        || Answer::completion(json!({"content": "{\"score\": 1}"}), "content_filter"),
        ("filtered", "a content filter stopped the reply"),
    ),
    (
        || http(400, &json!({"error": {"code": "content_filter", "message": "policy"}})),
        ("filtered", "the judge answered 400: policy"),
    ),
    (
        || {
            http(
                400,
                &json!({"error": {"code": "context_length_exceeded", "message": "too long by 7"}}),
            )
        },
        ("bad_request", "the judge answered 400: too long by 7"),
    ),
    (
        || Answer::Http(200, Vec::new(), "<html>Welcome</html>".to_owned()),
        ("not_found", "<html>Welcome</html> (asked at http://"),
    ),
    // Nobody asked for a stream.
    (|| Answer::Http(200, Vec::new(), STREAM.to_owned()), ("server", "data: {")),
    (
        || http(200, &json!({"error": {"code": 502, "message": "upstream is down"}})),
        ("server", "the judge answered 200 with an error: upstream is down"),
    ),
    (
        || {
            let error = json!({"code": 429, "message": "Provider returned error", "metadata": {"raw": "slow down"}});
            http(
                200,
                &json!({"choices": [{"error": error, "finish_reason": "error", "message": {"content": ""}}]}),
            )
        },
        ("rate_limited", "Provider returned error: slow down"),
    ),
    (
        || http(429, &json!({"error": {"code": "insufficient_quota", "message": "pay"}})),
        ("no_credit", "the judge answered 429: pay"),
    ),
    (
        || Answer::Http(404, Vec::new(), "<html>Nothing here".to_owned()),
        ("not_found", "/v1/chat/completions; is `base_url` right?)"),
    ),
    (|| Answer::error(404, "no such model"), ("not_found", "/v1/chat/completions)")),
    (|| Answer::error(402, "more credits, please"), ("no_credit", "more credits, please")),
    (|| Answer::error(403, "not you"), ("unauthorized", "not you")),
    (|| Answer::HangUp, ("connection", "")),
];

const OF_ANTHROPIC: &[Failing] = &[
    (|| Answer::message("", "refusal"), ("refused", "the judge refused")),
    (|| Answer::message("{\"sc", "max_tokens"), ("truncated", "token limit")),
    (|| Answer::message("{", "model_context_window_exceeded"), ("truncated", "token limit")),
    (|| Answer::message("", "end_turn"), ("empty_reply", "the judge replied nothing")),
    (|| Answer::score(1.0), ("server", "none of the Anthropic API (no content)")),
    (
        || {
            http(
                400,
                &json!({"type": "error", "error": {"message": "Your credit balance is too low"}}),
            )
        },
        ("no_credit", "credit balance"),
    ),
];

const OF_GOOGLE: &[Failing] = &[
    (|| Answer::candidate("{}", "SAFETY"), ("filtered", "stopped the reply: SAFETY")),
    (|| Answer::candidate("{", "MAX_TOKENS"), ("truncated", "token limit")),
    (
        || http(200, &json!({"promptFeedback": {"blockReason": "OTHER"}})),
        ("filtered", "the prompt is blocked, OTHER"),
    ),
    (|| http(200, &json!({})), ("server", "none of the Google Gemini API (no candidates)")),
    (
        || {
            http(
                400,
                &json!({"error": {"message": "bad key", "details": [{"reason": "API_KEY_INVALID"}]}}),
            )
        },
        ("unauthorized", "the judge answered 400: bad key"),
    ),
];

#[test]
fn every_way_to_fail_has_its_own_kind() {
    for (api, failing) in [(OPENAI, OF_OPENAI), (ANTHROPIC, OF_ANTHROPIC), (GOOGLE, OF_GOOGLE)] {
        for (answer, expected) in failing {
            check_failure(&api, *answer, *expected);
        }
    }
}

#[test]
fn what_was_paid_for_is_read_whatever_its_characters() {
    let body = |content: &str| {
        let message = format!(r#"{{"content": "{content}"}}"#);
        format!(
            r#"{{"model": "m", "choices": [{{"message": {message}, "finish_reason": "stop"}}]}}"#
        )
    };
    let verdict = |rationale: &str| format!(r#"{{\"score\": 1, \"rationale\": \"{rationale}\"}}"#);
    for (body, rationale) in [
        (format!("\u{feff}{}", body(&verdict("so"))), "so"),
        (body(&verdict(r"half \ud800")), "half \u{fffd}"),
        (body(&verdict(r"half \\ud800")), "half \u{fffd}"),
        (body(&verdict(r"\ud83d\ude00")), "\u{1f600}"),
    ] {
        let (answer, space) = (body.clone(), space(""));
        let judge = Judge::new(move |_, _| Answer::Http(200, Vec::new(), answer.clone()));
        let ran = run(&space, &judge);
        assert_eq!((ran.code(), judge.count()), (0, 1), "{body}: {}", ran.shown());
        assert_eq!(grade(&space)["rationale"], rationale, "{body}");
    }
    let space = space("");
    space.write("suite.yaml", space.read("suite.yaml").replace("max_retries: 0", "max_retries: 5"));
    let judge = Judge::new(|_, _| {
        let headers = vec![("content-encoding", "gzip".to_owned())];
        Answer::Http(200, headers, "\u{1f}\u{8b}".to_owned())
    });
    assert_eq!((run(&space, &judge).code(), judge.count()), (3, 1));
    let message = "the reply is compressed (gzip), which nobody asked for";
    assert_eq!(grade(&space)["error"]["message"], message);
    assert!(space.stored_lines().is_empty());
}

#[test]
fn a_key_that_is_short_or_a_number_changes_no_reply() {
    for key in ["1700000000", "17000000001700000000", "sk-local"] {
        let judge = Judge::new(|_, _| {
            let body = json!({
                "created": 17_000_000_001_700_000_000_u64,
                "choices": [{"message": {"content": "{\"score\": 1, \"rationale\": \"the key sk-local\"}"}}],
            });
            http(200, &body)
        });
        let space = space("");
        let mut command = space.command(&["run", "suite.yaml"]);
        command.env("OPENAI_BASE_URL", judge.url()).env("OPENAI_API_KEY", key);
        let ran = Ran(command.output().unwrap());
        assert_eq!((ran.code(), judge.count()), (0, 1), "{key}: {}", ran.shown());
        assert_eq!(grade(&space)["rationale"], "the key sk-local", "{key}");
    }
}

/// How a request asked for the shape of its reply.
fn shape(asked: &Asked) -> String {
    let format = &asked.body["response_format"]["type"];
    format.as_str().unwrap_or("words").to_owned()
}

#[test]
fn a_refused_shape_is_asked_for_once_and_a_weaker_one_from_then_on() {
    let takes: fn(&'static [&'static str]) -> Judge = |taken| {
        Judge::new(move |_, asked| match shape(asked) {
            shape if taken.contains(&shape.as_str()) => Answer::score(1.0),
            shape => Answer::error(400, &format!("`response_format` {shape} is not supported")),
        })
    };
    for (taken, expected) in [
        (&["json_schema", "json_object", "words"][..], vec!["json_schema"; 3]),
        (
            &["json_object", "words"],
            vec!["json_schema", "json_object", "json_object", "json_object"],
        ),
        (&["words"], vec!["json_schema", "json_object", "words", "words", "words"]),
    ] {
        let (judge, space) = (takes(taken), space(""));
        space.write("data.jsonl", rows(3));
        assert_eq!(run(&space, &judge).code(), 0);
        assert_eq!(judge.asked().iter().map(shape).collect::<Vec<_>>(), expected);
        assert_eq!(space.actions("quality"), [3, 0, 0, 0], "{taken:?}");
    }
}

#[test]
fn what_two_models_of_an_endpoint_take_is_known_for_each() {
    let judge =
        Judge::new(|_, asked| match (asked.body["model"].as_str(), shape(asked).as_str()) {
            (Some("old"), "json_schema" | "json_object") => {
                Answer::error(400, "no response_format")
            }
            _ => Answer::score(1.0),
        });
    let suite = "name: s\ndataset: data.jsonl\nmax_concurrent: 1\ngraders:\n  old: {kind: rubric, prompt: '{submission}?', model: old}\n  new: {kind: rubric, prompt: '{submission}?', model: new}\n";
    let space = Space::new(&[("suite.yaml", suite), ("data.jsonl", &rows(2))]);
    assert_eq!(run(&space, &judge).code(), 0);
    let mut asked: Vec<String> = judge
        .asked()
        .iter()
        .map(|asked| format!("{} {}", asked.body["model"].as_str().unwrap(), shape(asked)))
        .collect();
    asked.sort();
    let expected = [
        "new json_schema",
        "new json_schema",
        "old json_object",
        "old json_schema",
        "old words",
        "old words",
    ];
    assert_eq!(asked, expected);
}

/// The requests of a first run; a second one asks nothing and reports the same.
fn asked_once(api: &Api, space: &Space, judge: &Judge, environment: &[(&str, &str)]) -> Vec<Asked> {
    let ran = api.run(space, judge, environment);
    assert_eq!((ran.code(), &grade(space)["score"]), (0, &json!(0.75)), "{}", ran.stderr());
    let (asked, results) = (judge.asked(), space.record("results.jsonl"));
    assert_eq!(api.run(space, judge, &[]).code(), 0);
    assert_eq!((judge.count(), space.record("results.jsonl")), (asked.len(), results));
    let usage = &grade(space)["metadata"]["usage"];
    assert_eq!(*usage, json!({"input_tokens": 10, "output_tokens": 2}));
    assert_eq!(grade(space)["metadata"]["model"], "scripted-1");
    asked
}

const VERDICT: &str = r#"{"rationale": "so", "score": 0.75}"#;

#[test]
fn anthropic_is_asked_and_replayed() {
    let judge = Judge::new(|_, asked| match asked.body.get("output_config") {
        Some(_) => Answer::error(400, "output_config.format: Extra inputs are not permitted"),
        None => Answer::message(VERDICT, "end_turn"),
    });
    let environment =
        [("ANTHROPIC_API_KEY", "sk-ant"), ("ANTHROPIC_CUSTOM_HEADERS", "x-team: a\nx-beta: b")];
    let asked = asked_once(&ANTHROPIC, &ANTHROPIC.space(), &judge, &environment);
    let [strict, words] = asked.as_slice() else { panic!("{asked:?}") };
    for (name, expected) in [
        ("x-api-key", Some("sk-ant")),
        ("anthropic-version", Some("2023-06-01")),
        ("x-team", Some("a")),
        ("x-beta", Some("b")),
        ("authorization", None),
    ] {
        assert_eq!(words.header(name), expected, "{name}");
    }
    assert_eq!(words.path, "/v1/messages");
    assert_eq!(strict.body["output_config"]["format"]["type"], "json_schema");
    let schema = &strict.body["output_config"]["format"]["schema"];
    assert_eq!(schema["properties"]["score"], json!({"type": "number"}));
    let body = words.body.as_object().unwrap();
    let members: Vec<&str> = body.keys().map(String::as_str).collect();
    assert_eq!(members, ["model", "max_tokens", "system", "messages", "temperature"]);
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("judge-1"), &json!(4096)));
    assert!(words.prompt().contains("Is Hello 0 polite?"), "{}", words.prompt());
}

#[test]
fn google_is_asked_and_replayed() {
    let judge = Judge::new(|_, _| Answer::candidate(VERDICT, "STOP"));
    let environment = [("GOOGLE_API_KEY", "g-key"), ("GOOGLE_CUSTOM_HEADERS", "x-team: a")];
    let space = GOOGLE.space();
    let suite =
        space.read("suite.yaml").replace("model: judge-1", "model: models/judge-1, seed: 7");
    space.write("suite.yaml", suite);
    let asked = asked_once(&GOOGLE, &space, &judge, &environment);
    let [asked] = asked.as_slice() else { panic!("{asked:?}") };
    for (name, expected) in
        [("x-goog-api-key", Some("g-key")), ("x-team", Some("a")), ("authorization", None)]
    {
        assert_eq!(asked.header(name), expected, "{name}");
    }
    assert_eq!(asked.path, "/v1beta/models/judge-1:generateContent");
    let config = &asked.body["generationConfig"];
    assert_eq!((&config["temperature"], &config["seed"]), (&json!(0.0), &json!(7)));
    assert_eq!(config["responseMimeType"], "application/json");
    assert_eq!(config["responseJsonSchema"]["properties"]["score"]["maximum"], json!(1.0));
    assert!(asked.prompt().contains("Is Hello 0 polite?"), "{}", asked.prompt());
}

#[test]
fn a_query_of_the_base_url_follows_the_path() {
    let (judge, space) = (saying(&[VERDICT]), space(""));
    let url = format!("{}/openai/deployments/d?api-version=2024-10-21", judge.root());
    let mut command = space.command(&["run", "suite.yaml"]);
    command.env("OPENAI_BASE_URL", url).env("OPENAI_API_KEY", "sk-1");
    command.env("OPENAI_CUSTOM_HEADERS", "api-key: azure-1");
    assert!(command.output().unwrap().status.success());
    let asked = judge.asked();
    assert_eq!(asked[0].path, "/openai/deployments/d/chat/completions?api-version=2024-10-21");
    let keys = (asked[0].header("api-key"), asked[0].header("authorization"));
    assert_eq!(keys, (Some("azure-1"), None), "one key is sent, the one that is meant");
}

#[test]
fn a_missing_key_is_named_before_anything_is_asked() {
    for (provider, variables) in [
        ("openai", "`OPENAI_API_KEY`"),
        ("anthropic", "`ANTHROPIC_API_KEY`"),
        ("google", "`GEMINI_API_KEY` or `GOOGLE_API_KEY`"),
    ] {
        let ran = space(&format!(", provider: {provider}")).run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), 2);
        let expected = format!("{variables} is not set, and `quality` has 1 judgments to ask");
        assert!(ran.stderr().contains(&expected), "{}", ran.stderr());
    }
}

#[test]
fn providers_are_listed_with_all_that_decides_how_they_are_asked() {
    let space = Space::new(&[]);
    insta::assert_snapshot!(space.run(&["list", "providers"]).shown(), @r"
    exit: 0
    --- stdout
    openai     Any endpoint with POST /chat/completions: OpenAI, Azure, OpenRouter, vLLM, llama.cpp,
               Ollama, LiteLLM.
               base_url: https://api.openai.com/v1
               base_url_variable: OPENAI_BASE_URL
               key_variables: OPENAI_API_KEY
               headers_variable: OPENAI_CUSTOM_HEADERS
               response_formats: json_schema, json_object, text
    anthropic  Anthropic's POST /v1/messages, also as gateways serve it.
               base_url: https://api.anthropic.com
               base_url_variable: ANTHROPIC_BASE_URL
               key_variables: ANTHROPIC_API_KEY
               headers_variable: ANTHROPIC_CUSTOM_HEADERS
               response_formats: json_schema, text
               unsupported: seed (the Messages API has no seed; `votes` shows how much verdicts vary)
    google     Google's POST /v1beta/models/{model}:generateContent: the Gemini API, Vertex AI with a
               key, gateways.
               base_url: https://generativelanguage.googleapis.com
               base_url_variable: GOOGLE_GEMINI_BASE_URL
               key_variables: GEMINI_API_KEY, GOOGLE_API_KEY
               headers_variable: GOOGLE_CUSTOM_HEADERS
               response_formats: json_schema, json_object, text
    letta      An agent of a Letta server, made of the judge's `agent_file` for each judgment and
               deleted after it.
               base_url: http://localhost:8283
               base_url_variable: LETTA_BASE_URL
               key_variables: LETTA_API_KEY
               headers_variable: LETTA_CUSTOM_HEADERS
               unsupported: temperature (the agent's file says it), seed (the agent's file says it),
               max_tokens (the agent's file says it), top_p (the agent's file says it), response_format
               (its verdict is a call of a tool)
    --- stderr
    ");
    let listed: Value =
        serde_json::from_str(&space.run(&["list", "providers", "--json"]).stdout()).unwrap();
    insta::assert_snapshot!(format!("{:#}", listed[1]), @r#"
    {
      "id": "anthropic",
      "name": "Anthropic",
      "description": "Anthropic's POST /v1/messages, also as gateways serve it.",
      "type": "provider",
      "options": {
        "type": "object"
      },
      "base_url": "https://api.anthropic.com",
      "base_url_variable": "ANTHROPIC_BASE_URL",
      "key_variables": [
        "ANTHROPIC_API_KEY"
      ],
      "headers_variable": "ANTHROPIC_CUSTOM_HEADERS",
      "response_formats": [
        "json_schema",
        "text"
      ],
      "unsupported": {
        "seed": "the Messages API has no seed; `votes` shows how much verdicts vary"
      }
    }
    "#);
}
