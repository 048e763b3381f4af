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

/// An API, and the judge that speaks it.
struct Api {
    provider: &'static str,
    base_url: fn(&Judge) -> (&'static str, String),
}

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
    let message = "the reply is compressed (gzip), which was not requested";
    assert_eq!(grade(&space)["error"]["message"], message);
    assert!(space.stored_lines().is_empty());
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
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("judge-1"), &json!(1000)));
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
fn a_setting_that_a_model_refuses_is_left_out_once_and_named() {
    let judge = Judge::new(|_, asked| match asked.body.get("seed") {
        Some(_) => Answer::error(400, "Unsupported parameter: 'seed' is not supported here."),
        None => Answer::text(VERDICT),
    });
    let space = space(", seed: 7, votes: 2");
    space.write("data.jsonl", rows(3));
    assert_eq!(run(&space, &judge).code(), 0);
    let refused = judge.asked().iter().filter(|asked| asked.body.get("seed").is_some()).count();
    assert_eq!((judge.count(), refused), (7, 1), "six verdicts, and the model is known");
    for line in space.stored_lines() {
        assert!(
            line.contains(r#"\"dropped\":[\"seed\"]"#) || line.contains(r#""dropped":["seed"]"#),
            "{line}"
        );
    }
    // The key has what the suite says, and what was sent is shown.
    assert_eq!((run(&space, &judge).code(), judge.count()), (0, 7));
    let shown = space.run(&["explain", "suite.yaml", "0", "quality", "--prompt"]).stdout();
    assert!(shown.contains("temperature") && !shown.contains("\"seed\""), "{shown}");
    // Another error that names it is one.
    let judge = Judge::new(|_, _| Answer::error(400, "the seed must be odd"));
    let space = self::space(", seed: 8");
    assert_eq!((run(&space, &judge).code(), judge.count()), (3, 1));
}

#[test]
fn a_reply_has_a_limit_unless_the_suite_wants_none() {
    let criteria = "criteria: {a: Is it kind?, b: Is it short?}\n    batching: together";
    let prompt = "prompt: '{submission}?'";
    for (model, settings, expected) in [
        ("m", prompt.to_owned(), [json!(1_000), Value::Null]),
        ("gpt-5.6", prompt.to_owned(), [Value::Null, json!(8_000)]),
        ("m", format!("max_tokens: 70\n    {prompt}"), [json!(70), Value::Null]),
        ("m", format!("max_tokens: null\n    {prompt}"), [Value::Null, Value::Null]),
        ("m", criteria.to_owned(), [json!(1_200), Value::Null]),
        (
            "m",
            format!("extra_body: {{max_completion_tokens: 9}}\n    {prompt}"),
            [Value::Null, json!(9)],
        ),
    ] {
        let judge = Judge::new(|_, _| Answer::text(r#"{"rationale": "so", "score": 1}"#));
        let rubric = format!("kind: rubric\n    model: {model}\n    endpoint: e\n    {settings}");
        let suite = format!("name: s\ndataset: d.jsonl\ngraders:\n  good:\n    {rubric}\n");
        let row = "{\"id\": \"a\", \"input\": \"i\", \"output\": \"o\"}\n";
        let space = Space::new(&[("suite.yaml", suite.as_str()), ("d.jsonl", row)]);
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        let asked = judge.asked();
        let body = &asked.first().unwrap_or_else(|| panic!("{}", ran.shown())).body;
        let sent = [body["max_tokens"].clone(), body["max_completion_tokens"].clone()];
        assert_eq!(sent, expected, "{model} {settings}");
    }
}

#[test]
fn a_prompt_with_no_room_for_the_longest_reply_is_sent_without_a_limit() {
    for refusal in [
        "This model's maximum context length is 4096 tokens. However, you requested 4500 tokens (3500 in the messages, \
         1000 in the completion). Please reduce the length of the messages or completion.",
        "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is 4096 \
         tokens and your request has 3500 input tokens",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ] {
        let judge = Judge::new(move |_, asked| match asked.body.get("max_tokens") {
            Some(_) => Answer::error(400, refusal),
            None => Answer::text(r#"{"rationale": "so", "score": 1}"#),
        });
        let rubric = "kind: rubric\n    model: m\n    endpoint: e\n    prompt: '{submission}?'";
        let suite = format!("name: s\ndataset: d.jsonl\ngraders:\n  good:\n    {rubric}\n");
        let row = "{\"id\": \"a\", \"input\": \"i\", \"output\": \"o\"}\n";
        let space = Space::new(&[("suite.yaml", suite.as_str()), ("d.jsonl", row)]);
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!((ran.code(), judge.count()), (0, 2), "{}", ran.shown());
        let shown = space.run(&["explain", "suite.yaml", "a", "--prompt"]).stdout();
        assert!(!shown.contains("max_tokens"), "{shown}");
    }
}

#[test]
fn a_long_prompt_takes_the_limit_from_no_other() {
    let rows = ["a", "long", "b"]
        .map(|id| serde_json::json!({"id": id, "input": "i", "output": id.repeat(9)}).to_string());
    let rubric = "kind: rubric\n    model: m\n    endpoint: e\n    max_tokens: 70\n    prompt: '{submission}?'";
    let suite =
        format!("name: s\ndataset: d.jsonl\nmax_concurrent: 1\ngraders:\n  good:\n    {rubric}\n");
    let space =
        Space::new(&[("suite.yaml", suite.as_str()), ("d.jsonl", &(rows.join("\n") + "\n"))]);
    // The second has no room; the replies to all others are cut, and 140 is more than the model writes.
    let judge = Judge::new(|_, asked| {
        let most = asked.body.get("max_tokens").and_then(Value::as_u64);
        match (asked.prompt().contains("longlong"), most) {
            (true, Some(_)) => Answer::error(
                400,
                "you requested 4500 tokens (4430 in the messages, 70 in the completion)",
            ),
            (false, Some(70)) => {
                Answer::completion(json!({"role": "assistant", "content": "{"}), "length")
            }
            (false, Some(_)) => {
                Answer::error(400, "max_tokens is too large: 140. This model supports at most 100.")
            }
            (_, None) => Answer::text(r#"{"rationale": "so", "score": 1}"#),
        }
    });
    let ran = space.run_with(&judge, &["run", "suite.yaml"]);
    assert_eq!(ran.code(), 3, "{}", ran.shown());
    let sent: Vec<Option<u64>> = judge
        .asked()
        .iter()
        .map(|asked| asked.body.get("max_tokens").and_then(Value::as_u64))
        .collect();
    assert_eq!(sent, [Some(70), Some(140), Some(70), None, Some(70), Some(140)], "{}", ran.shown());
    assert!(ran.stdout().contains("3 results, 2 errors"), "{}", ran.shown());
}

#[test]
fn a_reply_that_was_cut_is_retried_once_with_twice_as_many_tokens() {
    for (needed, code, requests, most) in [(50, 0, 1, 60), (100, 0, 2, 120), (500, 3, 2, 120)] {
        let judge = Judge::new(move |_, asked| {
            let most = asked.body["max_tokens"].as_u64().unwrap();
            let finish = if most < needed { "length" } else { "stop" };
            let text = json!({"rationale": "so", "score": 1}).to_string();
            let text = if finish == "stop" { text } else { text[..9].to_owned() };
            Answer::completion(json!({"role": "assistant", "content": text}), finish)
        });
        let rubric = "kind: rubric\n    model: m\n    endpoint: e\n    max_tokens: 60\n    prompt: '{submission}?'";
        let suite = format!("name: s\ndataset: d.jsonl\ngraders:\n  good:\n    {rubric}\n");
        let row = "{\"id\": \"a\", \"input\": \"i\", \"output\": \"o\"}\n";
        let space = Space::new(&[("suite.yaml", suite.as_str()), ("d.jsonl", row)]);
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        assert_eq!((ran.code(), judge.count()), (code, requests), "{}", ran.shown());
        assert_eq!(judge.asked().pop().unwrap().body["max_tokens"], most);
        let facts: Value = serde_json::from_str(&space.record("run.json")).unwrap();
        assert_eq!(facts["spent"]["input"], 10 * requests, "both are paid");
        assert_eq!(ran.stderr().contains("raise `max_tokens`"), code == 3, "{}", ran.shown());
        // It is kept under the key of what the suite says.
        assert_eq!(space.run(&["run", "suite.yaml", "--frozen"]).code(), code);
        let shown = space.run(&["explain", "suite.yaml", "a", "--prompt"]).stdout();
        assert!(shown.contains(&format!("\"max_tokens\": {most}")), "{shown}");
    }
}
