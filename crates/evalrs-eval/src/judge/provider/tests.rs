//! What each provider writes, and what it reads in what comes back.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Answer, Complaint, PROVIDERS, PromptMark, ReplyEnding, ReplyShape, caching,
    effective_temperature, find, unsupported,
};
use crate::judge::question::Question;
use crate::judge::{JudgeAction, test_data};
use evalrs_base::price::Cost;
use evalrs_model::outcome::{FailureKind, RejectedReply, ServiceTier, Usage};
use evalrs_model::spec::{CachingChoice, JudgeSpec};

fn action(model: &str) -> JudgeAction {
    test_data::action(model, "Is it kind?")
}

fn body(provider: &str, action: &JudgeAction, shape: ReplyShape) -> Value {
    Value::Object(find(provider).unwrap().request(action, shape, &[]).body)
}

/// The same request with what it says of the provider's cache, where the first two words are shared.
fn marked(provider: &str, model: &str, mark: PromptMark, extra_body: &str) -> Value {
    let provider = find(provider).unwrap();
    let extra_body = extra_body.to_owned();
    let action = JudgeAction { shared: "Is it".len(), extra_body, ..action(model) };
    let mut request = provider.request(&action, ReplyShape::Words, &[]);
    provider.mark(&mut request, &action, mark);
    Value::Object(request.body)
}

#[test]
fn requests_say_what_is_to_be_cached() {
    let parts = |mark: &str, said: Value| {
        json!([
            {"type": "text", "text": "Is it", mark: said},
            {"type": "text", "text": " kind?"},
        ])
    };
    let explicit = json!({"mode": "explicit"});
    let asked = marked("openai", "gpt-5.6-sol", PromptMark::Nothing, "");
    assert_eq!(asked["prompt_cache_options"], explicit);
    assert_eq!(
        (&asked["messages"][1]["content"], asked.get("prompt_cache_key")),
        (&json!("Is it kind?"), None)
    );
    let asked = marked("openai", "gpt-5.6-sol", PromptMark::Prefix, "");
    assert_eq!(asked["prompt_cache_options"], explicit);
    let expected = parts("prompt_cache_breakpoint", explicit.clone());
    assert_eq!(asked["messages"][1]["content"], expected);
    let key = asked["prompt_cache_key"].as_str().unwrap();
    assert_eq!(key.len(), 32);
    let other = marked("openai", "gpt-5.6", PromptMark::Prefix, "");
    assert_eq!(other["prompt_cache_key"], key, "it is that of the prompt");
    let said = r#"{"prompt_cache_options":{"mode":"implicit"}}"#;
    let asked = marked("openai", "gpt-5.6", PromptMark::Prefix, said);
    assert_eq!(asked["prompt_cache_options"], json!({"mode": "implicit"}), "the suite decides");
    assert_eq!(asked["messages"][1]["content"], "Is it kind?");
    let asked = marked("anthropic", "claude-sonnet-5", PromptMark::Prefix, "");
    let expected = parts("cache_control", json!({"type": "ephemeral"}));
    assert_eq!(asked["messages"][0]["content"], expected);
    let asked = marked("openai", "anthropic/claude-sonnet-5", PromptMark::Prefix, "");
    assert_eq!(asked["messages"][1]["content"], expected, "a gateway passes it on");
    for (provider, model, mark) in [
        ("openai", "gpt-4o", PromptMark::Prefix),
        ("openai", "llama", PromptMark::Prefix),
        ("anthropic", "claude-sonnet-5", PromptMark::Nothing),
        ("google", "gemini-2.5-pro", PromptMark::Prefix),
    ] {
        let plain = body(provider, &action(model), ReplyShape::Words);
        assert_eq!(marked(provider, model, mark, ""), plain, "{model}");
    }
}

#[test]
fn caches_are_known_at_the_provider_and_where_the_suite_says_so() {
    let own = "https://api.openai.com/v1";
    for (model, url, choice, expected) in [
        ("gpt-5.6", own, CachingChoice::Auto, true),
        ("gpt-5.6", "https://api.openai.com/v1/", CachingChoice::Auto, true),
        // Nothing is marked there, and nothing written either.
        ("gpt-5.6", own, CachingChoice::Off, true),
        ("gpt-5.6", "http://gateway/v1", CachingChoice::Auto, false),
        ("gpt-5.6", "http://gateway/v1", CachingChoice::On, true),
        ("gpt-5.6", "http://gateway/v1", CachingChoice::Off, false),
        ("llama", own, CachingChoice::On, false),
    ] {
        let spec =
            JudgeSpec { model: model.to_owned(), prompt_caching: choice, ..JudgeSpec::default() };
        assert_eq!(caching(&spec, url).is_some(), expected, "{model} {url} {choice:?}");
    }
    let model = "claude-sonnet-5".to_owned();
    let spec = JudgeSpec { model, provider: "anthropic".to_owned(), ..JudgeSpec::default() };
    for url in ["https://api.anthropic.com", "https://api.anthropic.com/v1"] {
        assert!(caching(&spec, url).is_some(), "{url}");
    }
}

#[test]
fn anthropic_is_asked_as_its_api_wants() {
    let provider = find("anthropic").unwrap();
    let settings =
        JudgeAction { max_tokens: Some(64), top_p: Some(0.75), ..action("claude-haiku-4-5") };
    let rejected = RejectedReply { text: "9".to_owned(), fault: "too much".to_owned() };
    let told = settings.question.correction(&rejected.fault);
    let request = provider.request(&settings, ReplyShape::Schema, &[rejected]);
    assert_eq!(request.path, "/v1/messages");
    let schema = json!({
        "type": "object",
        "properties": {"rationale": {"type": "string"}, "score": {"type": "number"}},
        "required": ["rationale", "score"],
        "additionalProperties": false,
    });
    let expected = json!({
        "model": "claude-haiku-4-5",
        "max_tokens": 64,
        "system": "You judge.",
        "messages": [
            {"role": "user", "content": "Is it kind?"},
            {"role": "assistant", "content": "9"},
            {"role": "user", "content": told},
        ],
        "temperature": 0.5,
        "top_p": 0.75,
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    });
    assert_eq!(Value::Object(request.body), expected);
    let in_words = body("anthropic", &action("m"), ReplyShape::Words);
    assert_eq!((&in_words["max_tokens"], in_words.get("output_config")), (&json!(4096), None));
    let compare = JudgeAction { question: Question::Compare, ..action("m") };
    let schema =
        &body("anthropic", &compare, ReplyShape::Schema)["output_config"]["format"]["schema"];
    assert_eq!(*schema, Question::Compare.schema());
}

#[test]
fn google_is_asked_as_its_api_wants() {
    let provider = find("google").unwrap();
    let settings = JudgeAction {
        max_tokens: Some(64),
        top_p: Some(0.75),
        seed: Some(7),
        ..action("gemini-2.5-flash")
    };
    let rejected = RejectedReply { text: "9".to_owned(), fault: "too much".to_owned() };
    let told = settings.question.correction(&rejected.fault);
    let request = provider.request(&settings, ReplyShape::Schema, &[rejected]);
    assert_eq!(request.path, "/v1beta/models/gemini-2.5-flash:generateContent");
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "You judge."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Is it kind?"}]},
            {"role": "model", "parts": [{"text": "9"}]},
            {"role": "user", "parts": [{"text": told}]},
        ],
        "generationConfig": {
            "temperature": 0.5,
            "seed": 7,
            "maxOutputTokens": 64,
            "topP": 0.75,
            "responseMimeType": "application/json",
            "responseJsonSchema": settings.question.schema(),
        },
    });
    assert_eq!(Value::Object(request.body), expected);
    let config = |shape| body("google", &action("m"), shape)["generationConfig"].clone();
    let expected = json!({"temperature": 0.5, "responseMimeType": "application/json"});
    assert_eq!(config(ReplyShape::Object), expected);
    assert_eq!(config(ReplyShape::Words), json!({"temperature": 0.5}));
    let nothing = JudgeAction { temperature: None, ..action("m") };
    assert_eq!(body("google", &nothing, ReplyShape::Words).get("generationConfig"), None);
}

#[test]
fn the_name_of_a_model_stays_one_segment_of_the_path() {
    for (model, expected) in [
        ("models/gemini-2.5-pro", "models/gemini-2.5-pro"),
        ("tunedModels/mine", "tunedModels/mine"),
        ("team/gemini", "models/team%2Fgemini"),
        ("models/../x?key=1#é", "models/..%2Fx%3Fkey%3D1%23%C3%A9"),
    ] {
        let request = find("google").unwrap().request(&action(model), ReplyShape::Words, &[]);
        assert_eq!(request.path, format!("/v1beta/{expected}:generateContent"));
    }
}

#[test]
fn further_members_are_merged_over_ours() {
    let with = |provider: &str, extra: &Value| {
        let extra_body = extra.to_string();
        body(provider, &JudgeAction { extra_body, ..action("m") }, ReplyShape::Schema)
    };
    let google = with(
        "google",
        &json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}, "temperature": 1}}),
    );
    let config = &google["generationConfig"];
    assert_eq!(config["thinkingConfig"], json!({"thinkingBudget": 0}));
    assert_eq!((&config["temperature"], config["responseMimeType"].is_string()), (&json!(1), true));
    let anthropic = with("anthropic", &json!({"output_config": {"effort": "low"}, "metadata": {}}));
    assert_eq!(anthropic["output_config"]["effort"], "low");
    assert_eq!(anthropic["output_config"]["format"]["type"], "json_schema");
    assert_eq!(anthropic["metadata"], json!({}));
    let openai = with("openai", &json!({"response_format": {"type": "text"}, "messages": []}));
    assert_eq!(openai["response_format"], json!({"type": "text"}), "another type replaces ours");
    assert_eq!(openai["messages"], json!([]));
}

fn answer(text: Option<&str>, ending: ReplyEnding) -> Answer {
    let text = text.map(str::to_owned);
    Answer { text, ending, model: None, usage: Usage::default() }
}

fn check_answers(provider: &str, cases: &[(Value, Result<Answer, &str>)]) {
    for (body, expected) in cases {
        let answer = find(provider).unwrap().answer(body);
        assert_eq!(
            answer.as_ref().map_err(String::as_str),
            expected.as_ref().map_err(|said| *said),
            "{body}"
        );
    }
}

#[test]
fn openai_answers_are_read() {
    let of = |message: Value, finish: &str| json!({"choices": [{"message": message, "finish_reason": finish}]});
    let parts = json!([{"type": "reasoning", "text": "Hm."}, {"type": "thinking", "thinking": []},
        {"type": "text", "text": "a"}, {"text": "b"}, {"type": "image_url"}]);
    let refused = json!([{"type": "refusal", "refusal": "I will not"}]);
    let azure = json!({"choices": [{
        "message": {"content": "half"},
        "finish_reason": "content_filter",
        "content_filter_results": {
            "hate": {"filtered": false, "severity": "safe"},
            "violence": {"filtered": true, "severity": "high"},
            "error": null,
        },
    }]});
    let full = json!({
        "model": "m-1",
        "choices": [{"message": {"content": "a", "reasoning_content": "b"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "cost": 0.00025,
            "prompt_tokens_details": {"cached_tokens": 2}},
        "service_tier": "flex",
    });
    let odd = json!({
        "choices": [{"message": {"content": 7, "refusal": null}}],
        "usage": {"prompt_tokens": u64::MAX, "completion_tokens": -1, "cost": -1},
    });
    let seven = answer(Some("7"), ReplyEnding::Complete);
    check_answers(
        "openai",
        &[
            (of(json!({"content": parts}), "stop"), Ok(answer(Some("ab"), ReplyEnding::Complete))),
            (of(json!({"content": []}), "stop"), Ok(answer(None, ReplyEnding::Complete))),
            (of(json!({"content": "{"}), "length"), Ok(answer(Some("{"), ReplyEnding::Truncated))),
            (
                of(json!({"content": null, "refusal": "no"}), "stop"),
                Ok(answer(None, ReplyEnding::Refused("no".to_owned()))),
            ),
            (
                of(json!({"content": refused}), "stop"),
                Ok(answer(None, ReplyEnding::Refused("I will not".to_owned()))),
            ),
            (azure, Ok(answer(Some("half"), ReplyEnding::Filtered("violence".to_owned())))),
            (
                full,
                Ok(Answer {
                    model: Some("m-1".to_owned()),
                    usage: Usage {
                        cache_read: 2,
                        tier: Some(ServiceTier::Flex),
                        ..Usage::of_tokens(3, 4).told(Cost::from_dollars(0.000_25))
                    },
                    ..answer(Some("a"), ReplyEnding::Complete)
                }),
            ),
            (odd, Ok(Answer { usage: Usage::of_tokens(1 << 40, 0), ..seven })),
            (of(json!({"content": "{"}), "error"), Err("a choice that ended with an error")),
            (json!({"choices": []}), Err("no choices")),
            (json!({"choices": [{"text": "a"}]}), Err("a choice without a message")),
            (json!([]), Err("no choices")),
        ],
    );
}

#[test]
fn anthropic_answers_are_read() {
    let of = |stop: &str| json!({"content": [{"type": "text", "text": "a"}], "stop_reason": stop});
    let full = json!({
        "model": "claude-1",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "x"},
            {"type": "text", "text": "a"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "b"},
        ],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 300, "output_tokens": 4, "service_tier": "standard"},
    });
    let refused = json!({"content": [], "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": "no"}});
    check_answers(
        "anthropic",
        &[
            (of("end_turn"), Ok(answer(Some("a"), ReplyEnding::Complete))),
            (of("max_tokens"), Ok(answer(Some("a"), ReplyEnding::Truncated))),
            (of("model_context_window_exceeded"), Ok(answer(Some("a"), ReplyEnding::Truncated))),
            (of("refusal"), Ok(answer(Some("a"), ReplyEnding::Refused(String::new())))),
            (refused, Ok(answer(None, ReplyEnding::Refused("no".to_owned())))),
            (
                full,
                Ok(Answer {
                    model: Some("claude-1".to_owned()),
                    usage: Usage {
                        cache_read: 300,
                        cache_write: 20,
                        tier: Some(ServiceTier::Standard),
                        ..Usage::of_tokens(321, 4)
                    },
                    ..answer(Some("ab"), ReplyEnding::Complete)
                }),
            ),
            (json!({"content": "a"}), Err("no content")),
            (json!({"choices": []}), Err("no content")),
        ],
    );
}

#[test]
fn google_answers_are_read() {
    let of = |finish: &str| json!({"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": finish}]});
    let full = json!({
        "modelVersion": "gemini-1",
        "candidates": [{
            "content": {"role": "model", "parts": [
                {"text": "Hm.", "thought": true}, {"text": "a"}, {"inlineData": {}}, {"text": "b"},
            ]},
            "finishReason": "STOP",
        }],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4,
            "thoughtsTokenCount": 50, "totalTokenCount": 57, "cachedContentTokenCount": 1},
    });
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let filtered = |reason: &str| ReplyEnding::Filtered(reason.to_owned());
    let mut cases = vec![
        (of("STOP"), Ok(answer(Some("a"), ReplyEnding::Complete))),
        (of("MAX_TOKENS"), Ok(answer(Some("a"), ReplyEnding::Truncated))),
        (blocked, Ok(answer(None, filtered("the prompt is blocked, SAFETY")))),
        (
            json!({"candidates": [{"finishReason": "MAX_TOKENS"}]}),
            Ok(answer(None, ReplyEnding::Truncated)),
        ),
        (
            full,
            Ok(Answer {
                model: Some("gemini-1".to_owned()),
                usage: Usage { cache_read: 1, ..Usage::of_tokens(3, 54) },
                ..answer(Some("ab"), ReplyEnding::Complete)
            }),
        ),
        (json!({"candidates": []}), Err("no candidates")),
        (json!("text"), Err("no candidates")),
    ];
    for reason in ["OTHER", "LANGUAGE", "MALFORMED_FUNCTION_CALL", "SOMETHING_NEW"] {
        cases.push((of(reason), Ok(answer(Some("a"), ReplyEnding::Complete))));
        let without = json!({"candidates": [{"finishReason": reason}]});
        cases.push((without, Ok(answer(None, ReplyEnding::Broken(reason.to_owned())))));
    }
    for reason in ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"]
    {
        cases.push((of(reason), Ok(answer(Some("a"), filtered(reason)))));
    }
    check_answers("google", &cases);
}

#[test]
fn errors_say_more_than_their_status() {
    let kind = |kind: FailureKind| Complaint::from(kind);
    let key = json!({"code": 400, "details": [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]});
    let busy = json!({"code": 429, "details": [{"@type": "a"}, {"retryDelay": "1.5s"}]});
    let odd =
        json!({"details": [{"retryDelay": "-1s"}, {"retryDelay": 5}, {"retryDelay": "NaNs"}, 7]});
    let azure =
        json!({"code": "content_filter", "innererror": {"code": "ResponsibleAIPolicyViolation"}});
    let litellm = json!({"code": "400", "provider_specific_fields":
        {"innererror": {"code": "ResponsibleAIPolicyViolation"}}});
    let no_database =
        json!({"message": "No connected db.", "type": "no_db_connection", "code": "400"});
    let too_long = json!({"code": "context_length_exceeded", "type": "invalid_request_error"});
    let broke =
        json!({"type": "invalid_request_error", "message": "Your credit balance is too low"});
    for (provider, error, expected) in [
        (
            "google",
            json!({"code": 400, "status": "FAILED_PRECONDITION", "message": "not in your country"}),
            kind(FailureKind::Unauthorized),
        ),
        ("google", json!({"code": 400, "status": "INVALID_ARGUMENT"}), Complaint::default()),
        ("openai", azure, kind(FailureKind::Filtered)),
        ("openai", litellm, kind(FailureKind::Filtered)),
        ("openai", json!({"metadata": {"reasons": ["hate"]}}), kind(FailureKind::Filtered)),
        ("openai", json!({"type": "insufficient_quota"}), kind(FailureKind::NoCredit)),
        ("openai", json!({"code": "billing_not_active"}), kind(FailureKind::NoCredit)),
        ("openai", no_database, kind(FailureKind::Unauthorized)),
        ("openai", too_long, Complaint::default()),
        ("openai", json!("text"), Complaint::default()),
        ("anthropic", broke, kind(FailureKind::NoCredit)),
        (
            "anthropic",
            json!({"message": "Output blocked by content filtering policy"}),
            kind(FailureKind::Filtered),
        ),
        ("anthropic", json!({"type": "overloaded_error"}), Complaint::default()),
        ("google", key, kind(FailureKind::Unauthorized)),
        ("google", busy, Complaint { delay: Some(Duration::from_millis(1500)), kind: None }),
        ("google", odd, Complaint::default()),
    ] {
        assert_eq!(find(provider).unwrap().complaint(400, &error), expected, "{provider} {error}");
    }
}

#[test]
fn what_a_provider_cannot_take_has_a_reason() {
    assert!(unsupported("anthropic", "seed").is_some_and(|why| why.contains("no seed")));
    for (provider, field) in [("openai", "seed"), ("anthropic", "top_p"), ("nobody", "seed")] {
        assert_eq!(unsupported(provider, field), None, "{provider} {field}");
    }
}

#[test]
fn every_provider_can_be_asked_in_words_and_at_a_tidy_url() {
    for provider in PROVIDERS {
        let info = provider.info();
        let shapes = provider.shapes();
        assert_eq!(shapes.last(), Some(&ReplyShape::Words), "{}", info.id);
        assert!(shapes.is_sorted(), "{}: the strictest first", info.id);
        assert!(!info.base_url.ends_with('/'), "{}", info.id);
        assert!(!info.key_variables.is_empty(), "{}", info.id);
    }
}

#[test]
fn models_that_take_one_temperature_get_it() {
    for (model, expected) in [
        ("gpt-4o", 0.25),
        ("o3-mini", 1.0),
        ("openai/gpt-5-nano", 1.0),
        ("claude-3-5-haiku-20241022", 0.25),
        ("claude-3-opus-latest", 0.25),
        ("claude-sonnet-4-20250514", 0.25),
        ("claude-opus-4-6", 0.25),
        ("claude-haiku-4-5-20251001", 0.25),
        ("claude-opus-4-7", 1.0),
        ("anthropic/claude-opus-4.8", 1.0),
        ("us.anthropic.claude-sonnet-5-v1:0", 1.0),
        ("claude-opus-5-20260801", 1.0),
        ("claude-", 0.25),
        ("claude-next", 0.25),
        ("my-claude", 0.25),
    ] {
        let spec = JudgeSpec { model: model.to_owned(), ..JudgeSpec::default() };
        let with = |temperature| JudgeSpec { temperature, ..spec.clone() };
        assert_eq!(effective_temperature(&with(Some(0.25))), Some(expected), "{model}");
        assert_eq!(effective_temperature(&with(None)), None, "{model}");
    }
}
