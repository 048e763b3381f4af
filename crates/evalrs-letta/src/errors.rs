//! What a Letta server says when something is wrong: in a status and a body, in an event, or by how a run ended.
//!
//! Errors of the model behind the server come inside of streams that have the status of a success. Where they pass by
//! themselves they are told apart from those that do not: only the former are tried again.

use serde_json::Value;

use evalrs_model::outcome::{Failure, FailureKind};

/// The most characters of a server's words that are kept.
const MOST_WORDS: usize = 300;

/// The words of a body that holds an error: `detail` as text or as an object, or `error` with a message and a detail.
pub fn words(body: &[u8]) -> String {
    let text = match serde_json::from_slice(body) {
        Ok(value) => of_body(&value),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    clipped(&text)
}

fn of_body(body: &Value) -> String {
    let error = ["error", "detail", "message"].iter().find_map(|name| body.get(name));
    match error {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(problems)) => {
            problems.iter().map(of_object).collect::<Vec<_>>().join("; ")
        }
        Some(error) => of_object(error),
        None => body.to_string(),
    }
}

/// The message of an error, and what it adds to it.
fn of_object(error: &Value) -> String {
    let text = |name: &str| error.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("message").or_else(|| text("msg")), text("detail")) {
        (Some(message), Some(detail)) if !detail.contains(message) => format!("{message} {detail}"),
        (_, Some(detail)) => detail.to_owned(),
        (Some(message), None) => message.to_owned(),
        (None, None) => error.to_string(),
    }
}

fn clipped(text: &str) -> String {
    let text: String = text.trim().chars().take(MOST_WORDS).collect();
    if text.is_empty() { "(no message)".to_owned() } else { text }
}

/// The failure that an error inside of a stream is: `error_type` and what it says, or the same under `error`.
pub(crate) fn of_event(event: &Value) -> Failure {
    let error = event.get("error").unwrap_or(event);
    let kind = error.get("error_type").or_else(|| error.get("type"));
    let kind = kind.and_then(Value::as_str).unwrap_or_default();
    let said = clipped(&of_object(error));
    let message = match kind {
        "" => format!("the Letta server failed: {said}"),
        kind => format!("the Letta server failed ({kind}): {said}"),
    };
    Failure::new(kind_of_error(kind), message)
}

/// The class of an error by its type.
fn kind_of_error(kind: &str) -> FailureKind {
    match kind {
        "llm_rate_limit" => FailureKind::RateLimited,
        "llm_timeout" => FailureKind::Timeout,
        "llm_authentication" | "llm_permission_denied" => FailureKind::Unauthorized,
        "llm_insufficient_credits" => FailureKind::NoCredit,
        "llm_not_found" => FailureKind::NotFound,
        // Whether the model's provider refused this request or any is not said, so it is not kept.
        _ => FailureKind::Server,
    }
}

/// How a run ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The agent had nothing more to say.
    EndTurn,
    /// The agent had taken as many steps as it may.
    MaxSteps,
    /// A tool was called that ends the turn.
    ToolRule,
    /// A tool waits for somebody to approve its call.
    RequiresApproval,
}

/// How a run ended by its stop reason, or the failure that it is.
pub(crate) fn end_of_run(stop_reason: &str) -> Result<RunEnd, Failure> {
    let kind = match stop_reason {
        "end_turn" => return Ok(RunEnd::EndTurn),
        "max_steps" => return Ok(RunEnd::MaxSteps),
        "tool_rule" => return Ok(RunEnd::ToolRule),
        "requires_approval" => return Ok(RunEnd::RequiresApproval),
        "max_tokens_exceeded" => FailureKind::Truncated,
        "context_window_overflow_in_system_prompt" => FailureKind::BadRequest,
        "insufficient_credits" => FailureKind::NoCredit,
        _ => FailureKind::Server,
    };
    let reason = clipped(stop_reason);
    Err(Failure::new(kind, format!("the agent's run ended with `{reason}`")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{RunEnd, end_of_run, of_event, words};
    use evalrs_model::outcome::FailureKind;

    #[test]
    fn the_words_of_an_error_are_found_in_every_shape() {
        for (body, expected) in [
            (json!({"detail": "Unauthorized"}), "Unauthorized"),
            (
                json!({"detail": {"code": "PENDING_APPROVAL", "message": "Approve it."}}),
                "Approve it.",
            ),
            (
                json!({"detail": [{"msg": "Field required"}, {"msg": "Too long"}]}),
                "Field required; Too long",
            ),
            (
                json!({"error": {"type": "llm_rate_limit", "message": "Wait.", "detail": "429"}}),
                "Wait. 429",
            ),
            (
                json!({"error": {"message": "No messages", "detail": "No messages at all"}}),
                "No messages at all",
            ),
            (json!({"error": {"code": 5}}), "{\"code\":5}"),
            (json!({"error": "down"}), "down"),
            (json!({"message": " m "}), "m"),
            (json!({"detail": ""}), "(no message)"),
            (json!({"other": 1}), "{\"other\":1}"),
        ] {
            assert_eq!(words(body.to_string().as_bytes()), expected, "{body}");
        }
        assert_eq!(words(b"Bad gateway"), "Bad gateway");
        assert_eq!(words(b""), "(no message)");
        assert_eq!(words("é".repeat(400).as_bytes()).chars().count(), 300);
    }

    #[test]
    fn an_error_in_a_stream_is_the_failure_that_its_type_says() {
        for (kind, expected) in [
            ("llm_rate_limit", FailureKind::RateLimited),
            ("llm_timeout", FailureKind::Timeout),
            ("llm_authentication", FailureKind::Unauthorized),
            ("llm_insufficient_credits", FailureKind::NoCredit),
            ("llm_error", FailureKind::Server),
            ("internal_error", FailureKind::Server),
            ("of a later server", FailureKind::Server),
        ] {
            let newer = of_event(
                &json!({"message_type": "error_message", "error_type": kind, "message": "m"}),
            );
            let older = of_event(&json!({"error": {"type": kind, "message": "m"}}));
            assert_eq!(newer, older);
            assert_eq!(newer.kind, expected, "{kind}");
            assert_eq!(newer.message, format!("the Letta server failed ({kind}): m"));
        }
        assert_eq!(of_event(&json!({"error": {}})).message, "the Letta server failed: {}");
    }

    #[test]
    fn a_stop_reason_is_an_end_or_a_failure() {
        for (reason, expected) in [
            ("end_turn", Ok(RunEnd::EndTurn)),
            ("max_steps", Ok(RunEnd::MaxSteps)),
            ("tool_rule", Ok(RunEnd::ToolRule)),
            ("requires_approval", Ok(RunEnd::RequiresApproval)),
            ("max_tokens_exceeded", Err(FailureKind::Truncated)),
            ("context_window_overflow_in_system_prompt", Err(FailureKind::BadRequest)),
            ("insufficient_credits", Err(FailureKind::NoCredit)),
            ("cancelled", Err(FailureKind::Server)),
            ("error", Err(FailureKind::Server)),
            ("llm_api_error", Err(FailureKind::Server)),
            ("invalid_llm_response", Err(FailureKind::Server)),
            ("of a later server", Err(FailureKind::Server)),
        ] {
            assert_eq!(end_of_run(reason).map_err(|failure| failure.kind), expected, "{reason}");
        }
    }
}
