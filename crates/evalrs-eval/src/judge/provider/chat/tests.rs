//! The same conversation in the words of each provider, and what each says in its own.

use serde_json::{Value, json};

use super::{AssistantMessage, ChatMessage, ChatRequest, ToolResult, transcript};
use crate::judge::provider::{ChatReply, ReplyEnding, find};
use crate::judge::{JudgeAction, test_data};

/// A reply of each provider that says something and calls two tools, the second without arguments.
fn replies() -> [(&'static str, Value); 3] {
    [
        (
            "openai",
            json!({
                "model": "m",
                "choices": [{"finish_reason": "tool_calls", "message": {
                    "role": "assistant", "content": "Looking.", "refusal": null, "reasoning_details": [1],
                    "tool_calls": [
                        {"id": "a", "type": "function", "function": {"name": "find", "arguments": "{\"q\":1}"}},
                        {"function": {"name": "now", "arguments": {}}},
                    ],
                }}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 2},
            }),
        ),
        (
            "anthropic",
            json!({
                "model": "m", "stop_reason": "tool_use",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "a", "name": "find", "input": {"q": 1}},
                    {"type": "tool_use", "id": "b", "name": "now", "input": {}},
                ],
                "usage": {"input_tokens": 3, "output_tokens": 2},
            }),
        ),
        (
            "google",
            json!({
                "modelVersion": "m",
                "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
                    {"text": "Looking."},
                    {"functionCall": {"id": "a", "name": "find", "args": {"q": 1}}, "thoughtSignature": "s"},
                    {"functionCall": {"name": "now"}},
                ]}}],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
            }),
        ),
    ]
}

fn read(provider: &str, body: &Value) -> ChatReply {
    ChatReply::read(find(provider).unwrap(), body, 1).unwrap()
}

/// The conversation until the results of both calls, which the model is told next.
fn conversation(provider: &str, body: &Value) -> Vec<ChatMessage> {
    let reply = read(provider, body);
    let result = |at: usize, text: &str, has_failed| ToolResult {
        call: reply.message.calls[at].clone(),
        text: text.to_owned(),
        has_failed,
    };
    let results = vec![result(0, "found", false), result(1, "Error: no clock", true)];
    vec![
        ChatMessage::User("Find it.".to_owned()),
        ChatMessage::Assistant(reply.message.clone()),
        ChatMessage::Results(results),
    ]
}

fn request(provider: &str, messages: &[ChatMessage]) -> Value {
    let settings = JudgeAction { seed: Some(7), ..test_data::action("m", "unused") };
    let tools = [
        json!({"name": "find", "description": "Finds.", "parameters": {"type": "object"}}),
        json!({"name": "now", "description": "", "parameters": {"type": "object"}}),
    ];
    let system = Some("Be brief.");
    let chat = ChatRequest { settings: &settings, system, tools: &tools, messages, shape: None };
    let request = find(provider).unwrap().chat_request(&chat);
    json!({"path": request.path, "body": request.body})
}

#[test]
fn replies_are_read_alike_whatever_the_api() {
    for (provider, body) in replies() {
        let reply = read(provider, &body);
        let calls: Vec<(&str, Value)> =
            reply.message.calls.iter().map(|call| (call.name.as_str(), call.arguments())).collect();
        assert_eq!(calls, [("find", json!({"q": 1})), ("now", json!({}))], "{provider}");
        assert_eq!(reply.message.text.as_deref(), Some("Looking."), "{provider}");
        assert_eq!(reply.answer.ending, ReplyEnding::Complete, "{provider}");
        assert_eq!((reply.answer.usage.input, reply.answer.usage.output), (3, 2), "{provider}");
        assert_eq!(reply.message.calls[0].id, "a");
        let second = if provider == "anthropic" { "b" } else { "call_1_1" };
        assert_eq!(reply.message.calls[1].id, second, "{provider}");
        let kept = transcript(&conversation(provider, &body));
        assert_eq!(
            Value::from(kept),
            json!([
                {"role": "user", "content": "Find it."},
                {"role": "assistant", "content": "Looking.", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "find", "arguments": "{\"q\":1}"}},
                    {"id": second, "type": "function", "function": {"name": "now", "arguments": if provider == "google" { "" } else { "{}" }}},
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "found"},
                {"role": "tool", "tool_call_id": second, "content": "Error: no clock", "is_error": true},
            ]),
            "{provider}"
        );
    }
}

#[test]
fn each_provider_is_told_of_results_in_its_own_words_and_sees_its_own_again() {
    let [(_, openai), (_, anthropic), (_, google)] = replies();
    assert_eq!(
        request("openai", &conversation("openai", &openai)),
        json!({"path": "/chat/completions", "body": {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Find it."},
                {"role": "assistant", "content": "Looking.", "reasoning_details": [1], "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "find", "arguments": "{\"q\":1}"}},
                    {"id": "call_1_1", "type": "function", "function": {"name": "now", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "found"},
                {"role": "tool", "tool_call_id": "call_1_1", "content": "Error: no clock"},
            ],
            "tools": [
                {"type": "function", "function": {"name": "find", "description": "Finds.", "parameters": {"type": "object"}}},
                {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
            ],
            "temperature": 0.5, "seed": 7,
        }})
    );
    assert_eq!(
        request("anthropic", &conversation("anthropic", &anthropic)),
        json!({"path": "/v1/messages", "body": {
            "model": "m", "max_tokens": 4096, "system": "Be brief.",
            "messages": [
                {"role": "user", "content": "Find it."},
                {"role": "assistant", "content": anthropic["content"]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "found"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "Error: no clock", "is_error": true},
                ]},
            ],
            "tools": [
                {"name": "find", "description": "Finds.", "input_schema": {"type": "object"}},
                {"name": "now", "input_schema": {"type": "object"}},
            ],
            "temperature": 0.5,
        }})
    );
    assert_eq!(
        request("google", &conversation("google", &google)),
        json!({"path": "/v1beta/models/m:generateContent", "body": {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Find it."}]},
                google["candidates"][0]["content"],
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "a", "name": "find", "response": {"output": "found"}}},
                    {"functionResponse": {"name": "now", "response": {"error": "Error: no clock"}}},
                ]},
            ],
            "tools": [{"functionDeclarations": [
                {"name": "find", "description": "Finds.", "parametersJsonSchema": {"type": "object"}},
                {"name": "now", "parametersJsonSchema": {"type": "object"}},
            ]}],
            "generationConfig": {"temperature": 0.5, "seed": 7},
        }})
    );
}

/// A model may answer a tool with nothing; then the user goes on, and no API may be sent a message without content.
#[test]
fn what_says_nothing_is_not_sent_again_where_apis_refuse_it() {
    for (provider, body, at, expected) in [
        (
            "anthropic",
            json!({"content": [], "stop_reason": "end_turn"}),
            "messages",
            json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]),
        ),
        (
            "google",
            json!({"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}),
            "contents",
            json!([{"role": "user", "parts": [{"text": "a"}]}, {"role": "user", "parts": [{"text": "b"}]}]),
        ),
    ] {
        let reply = read(provider, &body);
        assert_eq!((reply.message.text.as_ref(), reply.message.calls.len()), (None, 0));
        let messages = [
            ChatMessage::User("a".to_owned()),
            ChatMessage::Assistant(reply.message),
            ChatMessage::User("b".to_owned()),
        ];
        assert_eq!(request(provider, &messages)["body"][at], expected, "{provider}");
    }
}

#[test]
fn what_no_api_said_is_sent_as_its_text() {
    let text = Some("Mine.".to_owned());
    let own = [ChatMessage::Assistant(AssistantMessage { text, ..AssistantMessage::default() })];
    for (provider, at, expected) in [
        ("openai", "/body/messages/1", json!({"role": "assistant", "content": "Mine."})),
        ("anthropic", "/body/messages/0", json!({"role": "assistant", "content": "Mine."})),
        ("google", "/body/contents/0", json!({"role": "model", "parts": [{"text": "Mine."}]})),
    ] {
        assert_eq!(request(provider, &own).pointer(at), Some(&expected), "{provider}");
    }
}

#[test]
fn what_is_no_reply_of_the_api_is_none_and_damaged_calls_are_read_as_far_as_they_go() {
    for provider in ["openai", "anthropic", "google"] {
        for body in [json!({}), json!([]), json!({"choices": [{}]}), json!({"content": 1})] {
            assert!(
                ChatReply::read(find(provider).unwrap(), &body, 0).is_err(),
                "{provider} {body}"
            );
        }
    }
    let message = json!({"tool_calls": [{"id": 5}, {"id": "x", "function": {"name": "f", "arguments": "{oops"}}, 7]});
    let body = json!({"choices": [{"message": message}]});
    let reply = read("openai", &body);
    let calls = reply.message.calls.iter().map(|call| (call.name.as_str(), call.arguments()));
    let expected = [("", json!({})), ("f", json!("{oops")), ("", json!({}))];
    assert_eq!(calls.collect::<Vec<_>>(), expected);
}
