//! The error of a server instead of an answer: the class of the failure, and its words. Pure.
//!
//! Gateways send errors of the servers behind them with status 200 too. An error is an error whatever its status.

use std::time::Duration;

use serde_json::Value;

use crate::transport::retry;
use evalrs_eval::judge::provider::{self, Complaint, Provider};
use evalrs_eval::judge::request_url::is_versioned;
use evalrs_eval::judge::without_secrets;
use evalrs_model::outcome::{Failure, FailureKind};

/// The most characters of a server's words that are kept.
const MOST_WORDS: usize = 300;

#[derive(Debug)]
pub(crate) struct ErrorReply {
    /// Its status: where that is the one of a success, the one that the error says it has, if it says any.
    pub status: Option<u16>,
    pub kind: FailureKind,
    /// How long the server requests to wait.
    pub delay: Option<Duration>,
}

/// The error that a reply with this status is; none if it is a success.
pub(crate) fn complaint(
    status: u16,
    body: Option<&Value>,
    provider: &dyn Provider,
) -> Option<ErrorReply> {
    let error = body.and_then(error_in);
    let (meant, kind) = match (retry::classify(status), error) {
        (Some(kind), _) => (Some(status), kind),
        (None, None) => return None,
        (None, Some(error)) => match inner_status(error) {
            Some((status, kind)) => (Some(status), kind),
            None => (None, FailureKind::Server),
        },
    };
    let Complaint { kind: known, delay } =
        error.map(|error| provider.complaint(meant.unwrap_or(status), error)).unwrap_or_default();
    Some(ErrorReply { status: meant, kind: known.unwrap_or(kind), delay })
}

/// Whether a provider has no room for a request that is answered when it has.
pub(crate) fn has_no_room(failure: &Failure) -> bool {
    let message = failure.message.to_ascii_lowercase();
    failure.kind == FailureKind::RateLimited && message.contains("unavailable")
}

/// The error that a body holds: its own, that of its first choice, or that of the first of a list.
fn error_in(body: &Value) -> Option<&Value> {
    let places = ["/error", "/choices/0/error", "/0/error"];
    places.iter().filter_map(|place| body.pointer(place)).find(|error| match error {
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => false,
    })
}

/// The status that an error says it has, in a number or in a word, and its class.
fn inner_status(error: &Value) -> Option<(u16, FailureKind)> {
    let statuses =
        ["code", "status", "type"].into_iter().filter_map(|name| match error.get(name)? {
            Value::Number(number) => u16::try_from(number.as_u64()?).ok(),
            Value::String(text) => provider::status_of_word(text).or_else(|| text.parse().ok()),
            _ => None,
        });
    let status = statuses.into_iter().find(|status| (400..600).contains(status))?;
    Some((status, retry::classify(status)?))
}

/// The words of an error, or the beginning of what came; `clean` takes the secrets out, before anything is cut.
pub(crate) fn words(bytes: &[u8], body: Option<&Value>, clean: impl Fn(&str) -> String) -> String {
    let error = body.and_then(|body| {
        let others = ["message", "detail", "error"];
        error_in(body).or_else(|| others.iter().find_map(|name| body.get(name)))
    });
    let text = match error {
        Some(Value::String(text)) => text.clone(),
        Some(error) => of_object(error),
        None => String::from_utf8_lossy(bytes).into_owned(),
    };
    let text: String = clean(&text).trim().chars().take(MOST_WORDS).collect();
    if text.is_empty() { "(no message)".to_owned() } else { text }
}

/// The message for a reply of `who` with this status, a failure of this kind in these words.
pub(crate) fn refusal(who: &str, status: u16, kind: FailureKind, words: &str, url: &str) -> String {
    let with = if (200..300).contains(&status) { " with an error" } else { "" };
    let is_missing = kind == FailureKind::NotFound;
    let where_to = if is_missing { wrong_address(url, words) } else { String::new() };
    format!("{who} answered {status}{with}: {words}{where_to}")
}

/// The words of a server as the end of a sentence, if there are any.
pub(crate) fn because(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

/// The failure of a server whose successful response, which is `text`, is none of its API: `what` says why. A page of the
/// web is there again the next time.
pub(crate) fn no_answer(
    who: &str,
    what: &str,
    text: &str,
    url: &str,
    provider: &dyn Provider,
) -> Failure {
    let beginning: String = text.chars().take(120).collect();
    let name = provider.info().name;
    let message = format!("{who} did not return a valid {name} response ({what}): {beginning}");
    if text.trim_start().starts_with('<') {
        let message = message + &wrong_address(url, "");
        return Failure::new(FailureKind::NotFound, message);
    }
    Failure::new(FailureKind::Server, message)
}

/// Where nothing was found: the address, and what may be wrong with it unless the server's words speak of the model.
pub(crate) fn wrong_address(url: &str, words: &str) -> String {
    let url = without_secrets(url);
    let url = url.split('?').next().unwrap_or_default();
    let hint = match words.to_lowercase().contains("model") {
        true => "",
        false if is_versioned(url) => "; is `base_url` right?",
        false => "; is `base_url` right, or does it lack `/v1`?",
    };
    format!(" (at {url}{hint})")
}

/// The message of an error. Where a router says no more than that there was one, it passes on the words of the server
/// behind it.
fn of_object(error: &Value) -> String {
    let Some(message) = error.get("message").and_then(Value::as_str) else {
        return error.to_string();
    };
    match error.pointer("/metadata/raw") {
        Some(Value::String(raw)) => format!("{message}: {raw}"),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{complaint, no_answer, words, wrong_address};
    use evalrs_eval::judge::provider;
    use evalrs_model::outcome::FailureKind;

    fn said(body: &Value) -> String {
        words(body.to_string().as_bytes(), Some(body), |text| text.replace("sk-1", "[secret]"))
    }

    #[test]
    fn an_error_is_classified_by_its_status_wherever_that_stands() {
        let openai = provider::find("openai").unwrap();
        for (status, body, expected) in [
            (200, json!({"choices": []}), None),
            (200, json!({"error": null, "choices": []}), None),
            (200, json!({"error": {}}), None),
            (200, json!({"error": ""}), None),
            (200, json!({"error": {"code": 429}}), Some(FailureKind::RateLimited)),
            (200, json!({"error": {"code": "400"}}), Some(FailureKind::BadRequest)),
            (200, json!({"error": {"code": 402}}), Some(FailureKind::NoCredit)),
            (200, json!({"error": {"code": 200}}), Some(FailureKind::Server)),
            (200, json!({"error": {"code": -1}}), Some(FailureKind::Server)),
            (200, json!({"error": {"code": 70000}}), Some(FailureKind::Server)),
            (200, json!({"error": {"code": []}}), Some(FailureKind::Server)),
            (200, json!({"error": "down"}), Some(FailureKind::Server)),
            (200, json!([{"error": {"code": 503}}]), Some(FailureKind::Server)),
            (
                200,
                json!({"choices": [{"finish_reason": "error", "error": {"code": 502}}]}),
                Some(FailureKind::Server),
            ),
            (400, json!({"error": {"code": 500}}), Some(FailureKind::BadRequest)),
            (429, json!({"error": {"code": "insufficient_quota"}}), Some(FailureKind::NoCredit)),
            (400, json!("no object"), Some(FailureKind::BadRequest)),
        ] {
            let kind = complaint(status, Some(&body), openai).map(|said| said.kind);
            assert_eq!(kind, expected, "{status} {body}");
        }
        let kind = |status| complaint(status, None, openai).map(|said| said.kind);
        assert_eq!((kind(200), kind(503)), (None, Some(FailureKind::Server)));
    }

    #[test]
    fn an_error_has_a_status_of_its_own_where_the_reply_has_that_of_a_success() {
        let anthropic = provider::find("anthropic").unwrap();
        for (status, body, expected) in [
            (503, json!({"error": {"code": 429}}), Some(503)),
            (200, json!({"error": {"code": 429}}), Some(429)),
            (200, json!({"error": {"code": "503"}}), Some(503)),
            (200, json!({"choices": [{"error": {"code": 529}}]}), Some(529)),
            (200, json!({"error": {"type": "overloaded_error"}}), Some(529)),
            (200, json!({"error": {"code": "model_overloaded"}}), Some(529)),
            (200, json!({"error": {"code": 500, "status": "INTERNAL"}}), Some(500)),
            (200, json!({"error": {"code": null, "status": 503}}), Some(503)),
            (200, json!({"error": {"code": 200}}), None),
            (200, json!({"error": {"type": "api_error"}}), None),
            (200, json!({"error": "overloaded"}), None),
        ] {
            let said = complaint(status, Some(&body), anthropic).expect("an error");
            assert_eq!(said.status, expected, "{status} {body}");
        }
    }

    #[test]
    fn what_was_not_found_is_named_with_what_may_be_wrong_with_it() {
        for (url, words, expected) in [
            (
                "http://me:pw@a/chat/completions?api-version=1",
                "<html>",
                " (at http://a/chat/completions; is `base_url` right, or does it lack `/v1`?)",
            ),
            (
                "http://a/v1/chat/completions",
                "gone",
                " (at http://a/v1/chat/completions; is `base_url` right?)",
            ),
            (
                "http://a/chat/completions",
                "The Model `m` is gone",
                " (at http://a/chat/completions)",
            ),
        ] {
            assert_eq!(wrong_address(url, words), expected);
        }
    }

    #[test]
    fn a_page_is_no_failure_that_passes() {
        let openai = provider::find("openai").unwrap();
        for (text, expected) in [
            (" <!doctype html>", FailureKind::NotFound),
            ("{\"choices\": [", FailureKind::Server),
            ("", FailureKind::Server),
        ] {
            let failure = no_answer("it", "why", text, "http://a/x", openai);
            assert_eq!(failure.kind, expected, "{text}");
        }
    }

    #[test]
    fn the_words_of_an_error_are_found_wherever_they_stand() {
        for (body, expected) in [
            (json!({"error": {"message": " no such model "}}), "no such model"),
            (json!({"error": "no such model"}), "no such model"),
            (json!({"message": "wrong key sk-1"}), "wrong key [secret]"),
            (json!({"detail": "Not Found"}), "Not Found"),
            (json!([{"error": {"message": "of a list"}}]), "of a list"),
            (json!({"error": {"code": 5}}), r#"{"code":5}"#),
            (json!({"error": {"message": "failed", "metadata": {"raw": "why"}}}), "failed: why"),
            (json!({"error": {"message": ""}}), "(no message)"),
            (json!({"other": 1}), r#"{"other":1}"#),
        ] {
            assert_eq!(said(&body), expected, "{body}");
        }
        assert_eq!(words(b"<html>", None, str::to_owned), "<html>");
        assert_eq!(words(b"", None, str::to_owned), "(no message)");
        let long = "é".repeat(298) + "sk-1";
        assert!(said(&json!({"error": long})).ends_with("é[s"), "cleaned before it is cut");
    }
}
