//! A model with tools as the target: its conversations, over three APIs, and what goes wrong in them.

use serde_json::{Value, json};

use crate::judge::{Answer, Asked, Judge};
use crate::space::{Space, has};

const TOOLS: &str = r#"[
  {"name": "find", "description": "Finds an order.", "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}}},
  {"name": "refund", "description": "Refunds it.", "parameters": {"type": "object"}}
]"#;

const PROGRAM: &str = "
import json

def answer(name, arguments, call):
    if name == 'refund':
        raise ValueError('no such order')
    return {'order': arguments['id'], 'for': call['sample'], 'of': call['model']}
";

fn suite(target: &str) -> String {
    format!(
        "name: shop\ndataset: data.jsonl\ntarget:\n  kind: chat\n{target}graders:\n  ok: {{kind: tool, function: contains, extractor: last_assistant}}\n\
         gate: {{metric_key: ok, op: gte, value: 1.0}}\n"
    )
}

fn with_tools(extra: &str) -> String {
    suite(&format!(
        "  model: scripted-1\n  system: Be brief.\n  tools: tools.json\n  tool_program: tools.py:answer\n{extra}"
    ))
}

fn space(suite: &str, data: &str) -> Space {
    let files =
        [("suite.yaml", suite), ("data.jsonl", data), ("tools.json", TOOLS), ("tools.py", PROGRAM)];
    Space::new(&files)
}

const ORDER: &str = "{\"id\":\"a\",\"input\":\"Where is order 7?\",\"ground_truth\":\"7\"}\n";

/// The first request is answered by calls of both tools, the next one by what they said.
fn calls_both(provider: &'static str) -> impl Fn(usize, &Asked) -> Answer {
    move |at, asked| {
        if at > 0 {
            let said = asked.body.to_string();
            let is_told = said.contains("order\\\":7") && said.contains("no such order");
            let text = if is_told { "Order 7 is on its way." } else { "I know nothing." };
            return match provider {
                "anthropic" => Answer::message(text, "end_turn"),
                "google" => Answer::candidate(text, "STOP"),
                _ => Answer::text(text),
            };
        }
        let body = match provider {
            "anthropic" => json!({
                "model": "scripted-1", "stop_reason": "tool_use",
                "content": [
                    {"type": "tool_use", "id": "a", "name": "find", "input": {"id": 7}},
                    {"type": "tool_use", "id": "b", "name": "refund", "input": {}},
                ],
                "usage": {"input_tokens": 10, "output_tokens": 2},
            }),
            "google" => json!({
                "modelVersion": "scripted-1",
                "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
                    {"functionCall": {"name": "find", "args": {"id": 7}}},
                    {"functionCall": {"name": "refund", "args": {}}},
                ]}}],
                "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2},
            }),
            _ => return calls(&[("find", "{\"id\": 7}"), ("refund", "{}")]),
        };
        Answer::Http(200, Vec::new(), body.to_string())
    }
}

fn calls(all: &[(&str, &str)]) -> Answer {
    let calls = all.iter().enumerate().map(|(at, (name, arguments))| {
        json!({"id": format!("c{at}"), "type": "function", "function": {"name": name, "arguments": arguments}})
    });
    let message =
        json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Value>()});
    Answer::completion(message, "tool_calls")
}

/// The only conversation that is stored.
fn kept(space: &Space) -> Value {
    let lines = space.stored_lines();
    let entry = lines.iter().find(|line| line.contains("\\\"output\\\"")).expect("a conversation");
    let entry: Value = serde_json::from_str(entry).unwrap();
    let reply = &entry["v"]["outcome"]["reply"];
    let mut row: Value = serde_json::from_str(reply["text"].as_str().unwrap()).unwrap();
    let row_members = row.as_object_mut().unwrap();
    row_members.remove("started_at");
    row_members.remove("duration_ms");
    json!({"row": row, "usage": reply["usage"]})
}

#[test]
fn tools_are_called_in_order_over_every_api_and_one_that_fails_is_told() {
    if !has("python3") {
        return;
    }
    for provider in ["openai", "anthropic", "google"] {
        let judge = Judge::new(calls_both(provider));
        let url = if provider == "openai" { judge.url() } else { judge.root() };
        let extra = format!("  provider: {provider}\n  base_url: {url}\n");
        let space = space(&with_tools(&extra), ORDER);
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), 0, "{provider}: {}", ran.shown());
        assert_eq!(judge.asked().len(), 2, "{provider}");
        let kept = kept(&space);
        let texts: Vec<&str> = kept["row"]["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["content"].as_str().unwrap_or("-"))
            .collect();
        let expected = [
            "Where is order 7?",
            "-",
            "{\"order\":7,\"for\":\"a\",\"of\":\"scripted-1\"}",
            "Error: ValueError: no such order (tools.py:6)",
            "Order 7 is on its way.",
        ];
        assert_eq!(texts, expected, "{provider}");
        assert_eq!(kept["row"]["output"], "Order 7 is on its way.");
        assert_eq!((&kept["usage"]["input"], &kept["usage"]["output"]), (&json!(20), &json!(4)));
        drop(judge);
        let replayed = space.run(&["run", "suite.yaml", "--offline"]);
        assert_eq!(replayed.code(), 0, "{provider}: {}", replayed.shown());
    }
}

fn plain(judge: &Judge, extra: &str) -> String {
    suite(&format!("  model: scripted-1\n  base_url: {}\n{extra}", judge.url()))
}

/// What the last message of each request says.
fn prompts(judge: &Judge) -> Vec<String> {
    judge.asked().iter().map(|asked| asked.prompt().to_owned()).collect()
}

#[test]
fn a_list_of_turns_is_one_conversation_and_a_refused_request_is_sent_again() {
    let judge = Judge::new(|at, asked| match at {
        0 => Answer::Http(429, vec![("retry-after-ms", "1".to_owned())], "{}".to_owned()),
        _ => Answer::text(&format!("To {}: 7", asked.prompt())),
    });
    let data = "{\"id\":\"a\",\"input\":[\"one\",\"two\"],\"ground_truth\":[\"one\",\"two\"]}\n";
    let space = space(&plain(&judge, "  seed: 5\n  temperature: 0.5\n"), data);
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    assert_eq!(prompts(&judge), ["one", "one", "two"]);
    let last = &judge.asked()[2].body;
    assert_eq!(last["messages"][1]["content"], "To one: 7");
    assert_eq!((&last["seed"], &last["temperature"]), (&json!(5), &json!(0.5)));
}

#[test]
fn an_edited_grader_asks_no_model_again_and_trials_differ_by_their_seed() {
    let judge = Judge::new(|_, _| Answer::text("It is 7."));
    let text = plain(&judge, "  seed: 5\n") + "num_runs: 2\n";
    let space = space(&text, ORDER);
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0);
    let seeds: Vec<Value> = judge.asked().iter().map(|asked| asked.body["seed"].clone()).collect();
    let is_each = |seed: i64| seeds.contains(&json!(seed));
    assert!(seeds.len() == 2 && is_each(5) && is_each(6), "{seeds:?}");
    space.write("suite.yaml", text.replace("function: contains", "function: exact_match"));
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 1);
    assert_eq!(judge.asked().len(), 2, "only the grade is new");
    space.write("suite.yaml", text.replace("seed: 5", "seed: 6"));
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 0);
    assert_eq!(judge.asked().len(), 4, "another seed is another conversation");
}

#[test]
fn a_model_that_calls_tools_for_ever_is_stopped_and_one_that_makes_tools_up_is_told() {
    if !has("python3") {
        return;
    }
    let judge = Judge::new(|_, _| calls(&[("fly", "{}")]));
    let extra = format!("  base_url: {}\n  max_turns: 3\n", judge.url());
    let space = space(&with_tools(&extra), ORDER);
    assert_eq!(space.run(&["run", "suite.yaml"]).code(), 1);
    assert_eq!(judge.asked().len(), 3);
    let row = kept(&space)["row"].clone();
    assert_eq!((&row["stopped"], &row["output"]), (&json!("max_turns"), &json!("")));
    let told = &row["messages"][2]["content"];
    assert_eq!(*told, "Error: there is no tool `fly`, only: find, refund");
}

#[test]
fn each_model_is_asked_by_its_name_at_its_provider() {
    let judge = Judge::new(|_, asked| {
        let is_anthropic = asked.path == "/v1/messages";
        if is_anthropic { Answer::message("7", "end_turn") } else { Answer::text("7") }
    });
    let text = suite("") + "models: [one-1, {name: claude-two, provider: anthropic}]\n";
    let space = space(&text, ORDER);
    let mut command = space.command(&["run", "suite.yaml"]);
    command.env("OPENAI_BASE_URL", judge.url()).env("ANTHROPIC_BASE_URL", judge.root());
    assert!(command.status().unwrap().success());
    let mut asked: Vec<String> = judge
        .asked()
        .iter()
        .map(|asked| format!("{} {}", asked.path, asked.body["model"].as_str().unwrap()))
        .collect();
    asked.sort();
    assert_eq!(asked, ["/v1/chat/completions one-1", "/v1/messages claude-two"]);
}

#[test]
fn nothing_begins_without_the_key_of_the_model() {
    let space = space(&suite("  model: gpt-5-mini\n"), ORDER);
    let ran = space.run(&["run", "suite.yaml"]);
    let stderr = ran.stderr();
    assert_eq!(ran.code(), 2, "{}", ran.shown());
    let expected = "`OPENAI_API_KEY` is not set, and the target has 1 conversation to run";
    assert!(stderr.contains(expected), "{stderr}");
}

type Reply = fn() -> Answer;

/// What goes wrong, what is said of it, how many requests it takes, and whether it is kept.
#[test]
fn what_goes_wrong_is_an_error_of_the_sample_and_only_what_would_come_again_is_kept() {
    let cases: [(Reply, &str, usize, bool); 6] = [
        (
            || Answer::error(400, "maximum context length is 10 tokens"),
            "the model answered 400: maximum context length is 10 tokens",
            1,
            true,
        ),
        (|| Answer::error(401, "wrong key"), "the model answered 401: wrong key", 1, false),
        (
            || Answer::completion(json!({"content": null, "refusal": "No."}), "stop"),
            "the model refused: No.",
            1,
            true,
        ),
        (
            || Answer::completion(json!({"content": "Half of"}), "length"),
            "what the model said ended at its token limit; raise `max_tokens`",
            1,
            true,
        ),
        (
            || Answer::Http(429, vec![("retry-after", "100000".to_owned())], "{}".to_owned()),
            "the model answered 429",
            1,
            false,
        ),
        (
            || Answer::Http(404, Vec::new(), "<html>".to_owned()),
            "the model answered 404: <html>",
            1,
            false,
        ),
    ];
    for (answer, expected, requests, is_kept) in cases {
        let judge = Judge::new(move |_, _| answer());
        let text = plain(&judge, "  timeout: 20\n  retries: 0\n");
        let space = space(&text, ORDER);
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), 3, "{expected}: {}", ran.shown());
        let results = space.record("results.jsonl");
        assert!(results.contains(expected), "{expected}: {results}");
        assert_eq!(judge.asked().len(), requests, "{expected}");
        assert_eq!(space.stored_lines().len(), usize::from(is_kept), "{expected}");
    }
}

#[test]
fn what_a_conversation_cost_is_graded_by_the_prices_in_force() {
    let judge = Judge::new(|_, _| Answer::text("7"));
    let suite = |model: &str, most: &str| {
        let target = format!("  model: {model}\n  base_url: {}\n", judge.url());
        suite(&target).replace("graders:\n", &format!("graders:\n  cheap: {{kind: tool, function: max_cost, config: {{max_usd: {most}}}}}\n"))
    };
    let space = space(&suite("gpt-4o-mini", "0.01"), ORDER);
    let mut told = Vec::new();
    let mut run = |suite: &str, prices: &str| {
        space.write("suite.yaml", suite);
        space.write("evalrs.toml", prices);
        let ran = space.run_with(&judge, &["run", "suite.yaml"]);
        let line: Value = serde_json::from_str(space.record("results.jsonl").trim()).unwrap();
        let grade = &line["grades"]["cheap"];
        let said = if grade["error"].is_null() { &grade["rationale"] } else { &grade["error"] };
        told.push(format!("exit {}, {} asked: {said}", ran.code(), judge.asked().len()));
    };
    run(&suite("gpt-4o-mini", "0.01"), "");
    run(&suite("gpt-4o-mini", "0.0000001"), "");
    run(&suite("scripted-1", "0.01"), "");
    // A price that is said later counts, and nothing is asked anew.
    run(&suite("scripted-1", "0.01"), "[prices.scripted-1]\ninput = 100.0\noutput = 0.0\n");
    insta::assert_snapshot!(told.join("\n"), @r#"
    exit 0, 1 asked: "Cost: 0.0000027 USD of at most 0.01 USD: True"
    exit 0, 1 asked: "Cost: 0.0000027 USD of at most 0.0000001 USD: False"
    exit 0, 2 asked: {"kind":"no_number","message":"the price of `scripted-1` is not known: say it in evalrs.toml, in US dollars a million tokens: `[prices.\"scripted-1\"]` with `input` and `output`"}
    exit 0, 2 asked: "Cost: 0.001 USD of at most 0.01 USD: True"
    "#);
}

const USER: &str =
    "  user: {model: person-1, persona: Wants boots., max_turns: 3, stop_when: '[done]'}\n";

/// The agent repeats what it is told; the person asks for more until it has heard so often.
fn agent_and_person(enough: usize) -> Judge {
    Judge::new(move |_, asked| {
        let is_person = asked.body["model"] == "person-1";
        let count = asked.body["messages"].as_array().unwrap().len();
        if !is_person {
            return Answer::text(&format!("You said {} (7)", asked.prompt()));
        }
        if count >= enough {
            Answer::text(" Thanks! [done] ")
        } else {
            Answer::text(&format!("More {count}"))
        }
    })
}

#[test]
fn a_simulated_user_answers_until_it_has_what_it_wants_or_may_say_no_more() {
    for (enough, stopped, words, said) in [
        (6, "user", json!("Thanks!"), &["Where is order 7?", "More 4"][..]),
        (99, "user_max_turns", Value::Null, &["Where is order 7?", "More 4", "More 6"]),
    ] {
        let judge = agent_and_person(enough);
        let space = space(&plain(&judge, USER), ORDER);
        let mut command = space.command(&["run", "suite.yaml"]);
        let ran = command.env("OPENAI_BASE_URL", judge.url()).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let kept = kept(&space);
        let row = &kept["row"];
        assert_eq!((&row["stopped"], &row["parting_words"]), (&json!(stopped), &words));
        let messages = row["messages"].as_array().unwrap();
        let of_user = messages.iter().filter(|message| message["role"] == "user");
        let of_user: Vec<&str> =
            of_user.map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(of_user, said);
        assert_eq!(kept["usage"]["input"], json!(10 * judge.asked().len()));
        let first =
            judge.asked().into_iter().find(|asked| asked.body["model"] == "person-1").unwrap();
        assert!(first.body["messages"][0]["content"].as_str().unwrap().contains("Wants boots."));
        assert_eq!(
            first.body["messages"][2]["role"], "assistant",
            "it sees itself as the assistant"
        );
        let url = judge.url();
        drop(judge);
        let mut command = space.command(&["run", "suite.yaml", "--offline"]);
        assert!(command.env("OPENAI_BASE_URL", url).status().unwrap().success());
    }
}
