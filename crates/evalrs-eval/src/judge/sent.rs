//! What a judge was sent: every request of a judgment as it was written, from the action and what is kept of the exchange.
//!
//! Nothing of a request is kept, because all of it follows: the same functions that write requests write them again here.
//! Credentials are none of it, since they are added where requests are sent.

use serde_json::{Value, json};

use super::JudgeAction;
use super::command;
use super::provider::refused::leave_out;
use super::provider::{self, PromptMark, ReplyShape, Request};
use super::template;
use evalrs_model::outcome::{JudgeExchange, RejectedReply};

/// A request without what is secret.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenRequest {
    /// The part after the base URL; none for other calls than HTTP.
    pub path: Option<String>,
    /// The body; of a command its words and its standard input, of an agent its messages.
    pub body: Value,
}

/// Every request of a judgment, in order: one for each reply that was rejected, and the last.
pub fn requests(action: &JudgeAction, exchange: Option<&JudgeExchange>) -> Vec<OpenRequest> {
    let wider = exchange.and_then(|exchange| exchange.max_tokens);
    let wider = wider.map(|most| JudgeAction { max_tokens: Some(most), ..action.clone() });
    let action = wider.as_ref().unwrap_or(action);
    let rejected = exchange.map(|exchange| &exchange.rejected[..]).unwrap_or_default();
    let name = exchange.and_then(|exchange| exchange.shape.as_deref());
    let shapes = [ReplyShape::Schema, ReplyShape::Object, ReplyShape::Words];
    let shape = shapes.into_iter().find(|shape| name == Some(shape.name()));
    let mark = exchange.and_then(|exchange| PromptMark::named(exchange.caching.as_deref()?));
    let requests = (0..=rejected.len()).map(|count| {
        let rejected = &rejected[..count];
        request(action, shape, rejected, mark)
    });
    let is_flex = exchange.is_some_and(|exchange| exchange.tier.is_some());
    let dropped = exchange.map(|exchange| &exchange.dropped[..]).unwrap_or_default();
    let left = |request: OpenRequest| match (request.path, request.body) {
        (Some(path), Value::Object(body)) => {
            let mut request = Request { path, body };
            if let Some(provider) = provider::find(&action.provider).filter(|_| is_flex) {
                provider.flex(&mut request);
            }
            for setting in dropped {
                leave_out(&mut request, setting);
            }
            OpenRequest { path: Some(request.path), body: Value::Object(request.body) }
        }
        (path, body) => OpenRequest { path, body },
    };
    requests.map(left).collect()
}

/// The headers of a request that are not secret, a line each.
pub fn open_headers(action: &JudgeAction) -> Vec<String> {
    let fixed = provider::info(&action.provider).map(|info| info.headers).unwrap_or_default();
    let fixed = fixed.iter().map(|(name, value)| format!("{name}: {value}"));
    fixed.chain(action.headers.lines().map(str::to_owned)).collect()
}

fn request(
    action: &JudgeAction,
    shape: Option<ReplyShape>,
    rejected: &[RejectedReply],
    mark: Option<PromptMark>,
) -> OpenRequest {
    let body = if let Some(program) = &action.program {
        let prompt = command::prompt(action, rejected);
        match command::input(&program.identity.spec.arguments, prompt) {
            Ok(input) => json!({"arguments": input.arguments, "standard_input": input.stdin}),
            Err(why) => json!({"error": why}),
        }
    } else if let Some(agent) = &action.agent {
        json!({"message": match rejected.last() {
            None => action.user.clone(),
            Some(last) => template::agent_correction(&last.fault, &agent.tool, &action.question),
        }})
    } else if let Some(provider) = provider::find(&action.provider) {
        let shape = shape.unwrap_or_else(|| provider.first_shape(action.response_format));
        let mut request = provider.request(action, shape, rejected);
        if let Some(mark) = mark {
            provider.mark(&mut request, action, mark);
        }
        return OpenRequest { path: Some(request.path), body: Value::Object(request.body) };
    } else {
        json!({"user": action.user})
    };
    OpenRequest { path: None, body }
}

#[cfg(test)]
mod tests {
    use super::requests;
    use crate::judge::test_data::action;
    use evalrs_model::outcome::{JudgeExchange, RejectedReply};

    #[test]
    fn each_rejected_reply_was_told_its_fault_in_the_next_request() {
        let rejected =
            |text: &str| RejectedReply { text: text.to_owned(), fault: format!("{text} is bad") };
        let exchange = JudgeExchange {
            shape: Some("json_object".to_owned()),
            rejected: vec![rejected("one"), rejected("two")],
            ..JudgeExchange::default()
        };
        let sent = requests(&action("judge-1", "Is it kind?"), Some(&exchange));
        let counts: Vec<usize> =
            sent.iter().map(|sent| sent.body["messages"].as_array().unwrap().len()).collect();
        assert_eq!(counts, [2, 4, 6]);
        assert_eq!(sent[2].body["messages"][4]["content"], "two");
        assert_eq!(sent[2].body["response_format"]["type"], "json_object");
        let cached = JudgeExchange { caching: Some("none".to_owned()), ..JudgeExchange::default() };
        let marked = requests(&action("gpt-5.6", "Is it kind?"), Some(&cached));
        assert_eq!(marked[0].body["prompt_cache_options"]["mode"], "explicit");
        let first = requests(&action("judge-1", "Is it kind?"), None);
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].body["response_format"]["type"], "json_schema");
    }
}
