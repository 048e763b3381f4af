//! A deployed agent as the target: what it is sent, what is found in its replies, and what goes wrong.

use serde_json::{Value, json};

use crate::judge::{Answer, Asked, Judge};
use crate::space::Space;

const ROW: &str = "{\"id\":\"a \\\"b\\\"\",\"input\":\"say \\\"hi\\\", {id}\",\"ground_truth\":\"hi\",\"metadata\":{\"tone\":\"kind\",\"tags\":[1,2]}}\n";
const TURNS: &str = "{\"id\":\"a\",\"input\":[\"one\",\"two\"],\"ground_truth\":[\"hi\",\"hi\"]}\n";

fn space(judge: &Judge, target: &str, data: &str) -> Space {
    let suite = format!(
        "name: bot\ndataset: data.jsonl\ntarget:\n  kind: http\n  url: {}/chat\n{target}graders:\n  ok: {{kind: tool, function: contains, extractor: last_assistant}}\n\
         gate: {{metric_key: ok, op: gte, value: 1.0}}\n",
        judge.root()
    );
    Space::new(&[("suite.yaml", &suite), ("data.jsonl", data)])
}

fn replies(body: &Value) -> impl Fn(usize, &Asked) -> Answer + use<> {
    let body = body.to_string();
    move |_, _| Answer::Http(200, Vec::new(), body.clone())
}

/// Runs the suite, which must pass, and replays it with the server gone.
fn passes(space: &Space, judge: Judge) -> Vec<Asked> {
    let ran = space.run(&["run", "suite.yaml"]);
    assert_eq!(ran.code(), 0, "{}", ran.shown());
    let asked = judge.asked();
    drop(judge);
    let replayed = space.run(&["run", "suite.yaml", "--offline"]);
    assert_eq!(replayed.code(), 0, "{}", replayed.shown());
    asked
}

/// The row of the only conversation that is stored.
fn row(space: &Space) -> Value {
    let lines = space.stored_lines();
    let entry: Value = serde_json::from_str(&lines[0]).unwrap();
    serde_json::from_str(entry["v"]["outcome"]["reply"]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn a_server_is_sent_what_a_command_is_handed_and_gives_what_a_row_may_hold() {
    for reply in [
        json!({"output": "hi", "usage": {"input_tokens": 3, "output_tokens": 4}}),
        json!("hi"),
        json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "hi"}]),
    ] {
        let judge = Judge::new(replies(&reply));
        let space = space(&judge, "", ROW);
        let asked = passes(&space, judge);
        assert_eq!(
            asked[0].body,
            json!({
                "id": "a \"b\"", "input": "say \"hi\", {id}", "turns": ["say \"hi\", {id}"], "trial": 0,
                "metadata": {"tone": "kind", "tags": [1, 2]},
            })
        );
    }
    let judge = Judge::new(|_, _| Answer::Http(200, Vec::new(), "plainly hi\n".to_owned()));
    let space = space(&judge, "", ROW);
    passes(&space, judge);
    assert_eq!(row(&space)["output"], "plainly hi");
}

#[test]
fn placeholders_stand_in_texts_and_never_break_out_of_them() {
    let judge = Judge::new(replies(
        &json!({"a": {"b": ["hi", "ho"]}, "log": [{"role": "assistant", "content": "hi"}]}),
    ));
    let target = "  headers: {x-sample: '{id}'}\n  body:\n    question: '{input}'\n    both: 'in {metadata.tone}: {input}'\n    tags: '{metadata.tags}'\n    none: '{metadata.other}'\n    list: ['{trial}', 1]\n  answer: $.a.b[0]\n  messages: $.log\n";
    let suite_space = space(&judge, target, ROW);
    let url = format!("{}/chat", judge.root());
    let text =
        suite_space.read("suite.yaml").replace(&url, &format!("{url}/{{id}}?q={{metadata.tone}}"));
    suite_space.write("suite.yaml", text);
    let asked = passes(&suite_space, judge);
    assert_eq!(asked[0].path, "/chat/a%20%22b%22?q=kind");
    assert_eq!(asked[0].header("x-sample"), Some("a \"b\""));
    assert_eq!(
        asked[0].body,
        json!({
            "question": "say \"hi\", {id}", "both": "in kind: say \"hi\", {id}", "tags": [1, 2],
            "none": null, "list": [0, 1],
        })
    );
    assert_eq!(row(&suite_space)["messages"][0]["content"], "hi");
}

#[test]
fn a_session_is_a_request_for_each_turn_and_one_without_gets_the_whole_list() {
    let judge = Judge::new(|at, _| {
        let reply = json!({"text": format!("hi {at}"), "session_id": 40 + at, "usage": {"input_tokens": 2}});
        Answer::Http(200, Vec::new(), reply.to_string())
    });
    let target =
        "  answer: $.text\n  session: $.session_id\n  body: {say: '{input}', in: '{session}'}\n";
    let talking = space(&judge, target, TURNS);
    let asked = passes(&talking, judge);
    let bodies: Vec<&Value> = asked.iter().map(|asked| &asked.body).collect();
    assert_eq!(bodies, [&json!({"say": "one", "in": ""}), &json!({"say": "two", "in": "40"})]);
    let said: Vec<Value> = row(&talking)["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].clone())
        .collect();
    assert_eq!(said, ["one", "hi 0", "two", "hi 1"]);

    let turns = json!([
        {"role": "user", "content": "one"}, {"role": "assistant", "content": "hi"},
        {"role": "user", "content": "two"}, {"role": "assistant", "content": "hi"},
    ]);
    let judge = Judge::new(replies(&json!({ "messages": turns })));
    let space = space(&judge, "  body: {all: '{input}'}\n", TURNS);
    let asked = passes(&space, judge);
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].body, json!({"all": ["one", "two"]}));
}

#[test]
fn the_texts_of_a_stream_are_joined_until_it_is_done() {
    let stream = ": hello\nevent: delta\ndata: {\"d\":\"h\"}\n\ndata: {\"other\":1}\n\ndata: {\"d\":\ndata: \"i\"}\n\ndata: [DONE]\n\ndata: {\"d\":\"!\"}\n\n";
    for stream in [stream.to_owned(), stream.replace('\n', "\r\n")] {
        let judge = Judge::new(move |_, _| Answer::Http(200, Vec::new(), stream.clone()));
        let space = space(&judge, "  stream: sse\n  answer: $.d\n", ROW);
        passes(&space, judge);
        assert_eq!(row(&space)["output"], "hi");
    }
}

type Reply = fn() -> Answer;

fn page(status: u16, body: &str) -> Answer {
    Answer::Http(status, Vec::new(), body.to_owned())
}

/// What the server does, the fields of the target, what is said of it, how many requests it takes, and whether it is kept.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn broken_replies_are_errors_of_the_sample_and_never_scores() {
    const PLAIN: &str = "  retries: 0\n  answer: $.output\n";
    const STREAM: &str = "  retries: 0\n  answer: $.d\n  stream: sse\n";
    const SESSION: &str = "  retries: 0\n  session: $.s\n";
    let cases: [(Reply, &str, &str, usize, bool); 19] = [
        (|| page(200, "<html>"), PLAIN, "it is not JSON: <html>", 1, false),
        (|| page(200, ""), "  retries: 0\n", "it is empty", 1, false),
        (
            || page(200, "{\"a\":1}"),
            PLAIN,
            "nothing at `answer` ($.output): {\\\"a\\\":1}",
            1,
            false,
        ),
        (
            || page(200, "{\"a\":1}"),
            "  retries: 0\n",
            "it has neither `output` nor `messages` nor `trajectory`",
            1,
            false,
        ),
        (
            || page(200, "{\"error\":{\"message\":\"no stock\"}}"),
            "  retries: 0\n",
            "the target reported an error: no stock",
            1,
            false,
        ),
        (
            || page(200, "{\"messages\":[7]}"),
            "  retries: 0\n",
            "`messages` cannot be read",
            1,
            false,
        ),
        (
            || page(200, "{\"x\":1}"),
            "  retries: 0\n  messages: $.log\n",
            "nothing at `messages` ($.log)",
            1,
            false,
        ),
        (|| page(500, "<h1>Oops</h1>"), PLAIN, "the target answered 500: <h1>Oops</h1>", 1, false),
        (|| page(503, "{}"), "  retries: 1\n", "the target answered 503", 2, false),
        (
            || page(422, "{\"detail\":\"no such field\"}"),
            PLAIN,
            "the target answered 422: no such field",
            1,
            true,
        ),
        (|| page(404, "{\"message\":\"gone\"}"), PLAIN, "the target answered 404: gone", 1, false),
        (
            || {
                Answer::Http(
                    307,
                    vec![("location", "https://other.example/".to_owned())],
                    String::new(),
                )
            },
            PLAIN,
            "points to https://other.example/: redirects are not followed",
            1,
            false,
        ),
        (|| Answer::HangUp, PLAIN, "the connection to", 1, false),
        (
            || Answer::Silence,
            "  timeout: 0.5\n  retries: 0\n",
            "the target did not answer within 0.5 s",
            1,
            false,
        ),
        (
            || page(200, "data: {\"d\":\"h\"}\n\nevent: error\ndata: too busy\n\n"),
            STREAM,
            "the target reported an error: too busy",
            1,
            false,
        ),
        (|| page(200, "{\"d\":\"h\"}"), STREAM, "it is not an event stream", 1, false),
        (|| page(200, "data: {oops\n\n"), STREAM, "an event is not JSON: {oops", 1, false),
        (
            || page(200, "data: {\"d\":\"h\",\"choices\":[{\"delta\":{\"content\":\"h\"}}]}\n\n"),
            STREAM,
            "the stream ends before `finish_reason` and `[DONE]`",
            1,
            false,
        ),
        (|| page(200, "{\"output\":\"hi\"}"), SESSION, "nothing at `session` ($.s)", 1, false),
    ];
    for (answer, target, expected, requests, is_kept) in cases {
        let judge = Judge::new(move |_, _| answer());
        let data = if target == SESSION { TURNS } else { ROW };
        let space = space(&judge, target, data);
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), 3, "{expected}: {}", ran.shown());
        let results = space.record("results.jsonl");
        assert!(results.contains(expected), "{expected}: {results}");
        assert_eq!(judge.asked().len(), requests, "{expected}");
        assert_eq!(space.stored_lines().len(), usize::from(is_kept), "{expected}");
    }
}

#[test]
fn a_reply_without_end_is_not_read_to_it() {
    let judge = Judge::new(|_, _| page(200, &"x".repeat((64 << 20) + 1)));
    let space = space(&judge, "  retries: 0\n", ROW);
    let ran = space.run(&["run", "suite.yaml"]);
    assert!(ran.stdout().contains("the reply is larger than 64 MiB"), "{}", ran.shown());
}

#[test]
fn too_many_requests_are_sent_again_and_secrets_of_headers_are_nowhere() {
    let judge = Judge::new(|at, asked| {
        let token = asked.header("x-token").unwrap_or_default().to_owned();
        match at {
            0 => Answer::Http(429, vec![("retry-after-ms", "1".to_owned())], String::new()),
            _ => page(200, &json!({"output": format!("hi {token}")}).to_string()),
        }
    });
    let space = space(&judge, "  headers: {x-token: {env: BOT_TOKEN}}\n", ROW);
    let mut command = space.command(&["run", "suite.yaml"]);
    assert!(command.env("BOT_TOKEN", "very-secret-token-1").status().unwrap().success());
    assert_eq!(judge.asked()[1].header("x-token"), Some("very-secret-token-1"));
    assert_eq!(row(&space)["output"], "hi [secret]");
}

#[test]
fn secrets_in_the_query_of_a_url_are_nowhere() {
    const KEY: &str = "very%2Dsecret-key-1";
    let judge = Judge::new(|_, asked| {
        let said = json!({"output": format!("hi {} very-secret-key-1", asked.path)});
        page(200, &said.to_string())
    });
    let space = space(&judge, "", ROW);
    let url = format!("{}/chat?api_key={KEY}&n=1", judge.root());
    let suite = space.read("suite.yaml");
    let line = suite.lines().find(|line| line.trim_start().starts_with("url:")).unwrap();
    space.write("suite.yaml", suite.replace(line, "  url: ${AGENT_URL}"));
    let mut command = space.command(&["run", "suite.yaml"]);
    assert!(command.env("AGENT_URL", url).status().unwrap().success());
    assert!(judge.asked()[0].path.contains(KEY), "{}", judge.asked()[0].path);
    let output = row(&space)["output"].as_str().unwrap().to_owned();
    assert_eq!(output, "hi /chat?api_key=[secret]&n=1 [secret]");
}

#[test]
fn what_a_target_says_wrongly_is_found_before_anything_is_sent() {
    for (target, expected) in [
        ("  answer: output\n", "`answer` is not a JSONPath"),
        ("  body: {a: ['{inputs}']}\n", "`{inputs}` is not a placeholder"),
        ("  headers: {x-a: '{row.a}'}\n", "`{row.a}` is not a placeholder"),
        ("  stream: sse\n", "`stream` needs an `answer`"),
        ("  user: {model: m, persona: p}\n", "`user` needs a `session`"),
    ] {
        let judge = Judge::new(|_, _| Answer::HangUp);
        let space = space(&judge, target, ROW);
        let ran = space.run(&["run", "suite.yaml"]);
        assert_eq!(ran.code(), 2, "{expected}: {}", ran.shown());
        assert!(ran.stderr().contains(expected), "{expected}: {}", ran.stderr());
        assert_eq!(judge.asked().len(), 0);
    }
}

#[test]
fn a_simulated_user_talks_with_a_session() {
    let judge = Judge::new(|at, asked| {
        if asked.path != "/chat" {
            let is_late = asked.body["messages"].as_array().unwrap().len() > 4;
            return Answer::text(if is_late { "[done]" } else { "and then?" });
        }
        let reply = json!({"text": format!("hi {at}"), "s": "x", "usage": {"input_tokens": 1}});
        Answer::Http(200, Vec::new(), reply.to_string())
    });
    let user = format!(
        "  answer: $.text\n  session: $.s\n  body: {{say: '{{input}}', in: '{{session}}'}}\n  user: {{model: p, base_url: '{}', persona: Asks., stop_when: '[done]'}}\n",
        judge.url()
    );
    let space = space(&judge, &user, ROW);
    let asked = passes(&space, judge);
    let sent = asked.iter().filter(|asked| asked.path == "/chat");
    let sent: Vec<&Value> = sent.map(|asked| &asked.body).collect();
    let first = json!({"say": "say \"hi\", {id}", "in": ""});
    assert_eq!(sent, [&first, &json!({"say": "and then?", "in": "x"})]);
    assert_eq!(row(&space)["stopped"], "user");
    let entry: Value = serde_json::from_str(&space.stored_lines()[0]).unwrap();
    let used = &entry["v"]["outcome"]["reply"]["usage"]["input"];
    assert_eq!(*used, json!(1 + 1 + 10 + 10), "of both");
}
