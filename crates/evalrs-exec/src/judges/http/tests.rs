//! What needs no server: the meaning of complaints and endings, and which shape is asked for.

use super::{HttpExecutor, verdict_text};
use crate::judges::test_data;
use crate::{JudgeEndpointId, JudgeLaunch};
use evalrs_eval::judge::JudgeAction;
use evalrs_eval::judge::provider::{Answer, ReplyEnding, ReplyShape, find, is_about_shape};
use evalrs_model::outcome::{Failure, FailureKind, Usage};
use evalrs_model::spec::{Patience, ReplyFormat};

#[test]
fn complaints_about_shapes_are_told_from_others() {
    for (message, expected) in [
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported", true),
        ("output_config.format: Extra inputs are not permitted", true),
        ("'claude-3-haiku' does not support output format", true),
        ("JSON mode is not enabled for models/gemini-pro", true),
        ("Unknown name \"responseJsonSchema\" at 'generation_config'", true),
        ("it has a mimeType parameter with value application/json", true),
        ("Structured outputs are not available", true),
        ("`temperature` is deprecated for this model.", false),
        ("the model does not exist", false),
        ("", false),
    ] {
        assert_eq!(is_about_shape(message), expected, "{message}");
    }
}

#[test]
fn every_ending_but_a_complete_text_is_a_failure_of_its_own() {
    use FailureKind::{EmptyReply, Filtered, Refused, Truncated};
    let reason = || "why".to_owned();
    for (text, ending, expected) in [
        (Some("{}"), ReplyEnding::Complete, Ok("{}")),
        (Some(" \n"), ReplyEnding::Complete, Err((EmptyReply, "the judge replied nothing"))),
        (None, ReplyEnding::Complete, Err((EmptyReply, "the judge replied nothing"))),
        (
            Some("{\"sc"),
            ReplyEnding::Truncated,
            Err((
                Truncated,
                "the reply ended at its token limit; raise `max_tokens`, which asks every row of this judge again",
            )),
        ),
        (
            None,
            ReplyEnding::Broken(reason()),
            Err((FailureKind::Server, "the model stopped without a reply: why")),
        ),
        (None, ReplyEnding::Refused(reason()), Err((Refused, "the judge refused: why"))),
        (None, ReplyEnding::Refused(String::new()), Err((Refused, "the judge refused"))),
        (
            Some("half"),
            ReplyEnding::Filtered(reason()),
            Err((Filtered, "a content filter stopped the reply: why")),
        ),
    ] {
        let text = text.map(str::to_owned);
        let answer = Answer { text, ending, model: None, usage: Usage::default() };
        let said = verdict_text(&answer);
        let seen = said
            .as_ref()
            .map(|text| *text)
            .map_err(|failure| (failure.kind, failure.message.as_str()));
        assert_eq!(seen, expected);
        if let Err(failure) = said {
            assert_eq!(failure.reply, answer.text, "what was paid for is kept");
        }
    }
}

fn launch(provider: &str, response_format: ReplyFormat) -> JudgeLaunch {
    let action = JudgeAction {
        provider: provider.to_owned(),
        response_format,
        ..test_data::action("judge-1", "")
    };
    JudgeLaunch {
        action,
        endpoint: JudgeEndpointId::default(),
        what_for: String::new(),
        base_url: "http://localhost".to_owned(),
        caching: None,
        mark: None,
        is_flex: false,
        is_wider: false,
        api_key: None,
        headers: Vec::new(),
        patience: Patience::default(),
        agent: None,
        start: None,
    }
}

/// What is asked for after each of these shapes was refused, and at last.
fn asked_for(launch: &JudgeLaunch, refused: &[ReplyShape]) -> (Vec<bool>, ReplyShape) {
    let executor = HttpExecutor::new(1);
    let failure = Failure::new(FailureKind::BadRequest, "no `response_format` here".to_owned());
    let gave_way = refused.iter().map(|shape| executor.gives_way(launch, *shape, &failure));
    let gave_way = gave_way.collect();
    (gave_way, executor.shape(launch, find(&launch.action.provider).unwrap()))
}

#[test]
fn a_refused_shape_gives_way_unless_the_suite_asks_for_it() {
    use ReplyFormat::{Auto, JsonObject, JsonSchema, Text};
    use ReplyShape::{Object, Schema, Words};
    for (provider, format, refused, gave_way, expected) in [
        ("openai", Auto, &[][..], &[][..], Schema),
        ("openai", Auto, &[Schema], &[true], Object),
        ("openai", Auto, &[Schema, Object], &[true, true], Words),
        // A second request was under way when the first one was refused.
        ("openai", Auto, &[Schema, Object, Schema], &[true, true, true], Words),
        ("openai", Auto, &[Words], &[false], Schema),
        ("anthropic", Auto, &[Schema], &[true], Words),
        ("google", Auto, &[Schema], &[true], Object),
        ("openai", JsonSchema, &[Schema], &[false], Schema),
        ("openai", JsonObject, &[Object], &[false], Object),
        ("openai", Text, &[], &[], Words),
        ("anthropic", JsonObject, &[], &[], Words),
    ] {
        let seen = asked_for(&launch(provider, format), refused);
        assert_eq!(seen, (gave_way.to_vec(), expected), "{provider} {format:?} {refused:?}");
    }
}

#[test]
fn only_a_bad_request_gives_way() {
    let executor = HttpExecutor::new(1);
    let launch = launch("openai", ReplyFormat::Auto);
    for (kind, message) in [
        (FailureKind::Server, "no `response_format` here"),
        (FailureKind::BadRequest, "no such model"),
    ] {
        let failure = Failure::new(kind, message);
        assert!(!executor.gives_way(&launch, ReplyShape::Schema, &failure), "{message}");
    }
}
