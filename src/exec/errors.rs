//! What a server says in place of an answer: the class of the failure, and its words. Pure.
//!
//! Gateways send errors of the servers behind them with status 200 too. An error is an error whatever its status.

use serde_json::Value;

use super::retry;
use crate::judge::provider::{Complaint, Provider};
use crate::outcome::FailureKind;

/// The most characters of a server's words that are kept.
const MOST_WORDS: usize = 300;

/// The failure that a reply with this status is; none if it is a success.
pub(super) fn complaint(
    status: u16,
    body: Option<&Value>,
    provider: &dyn Provider,
) -> Option<(FailureKind, Complaint)> {
    let error = body.and_then(error_in);
    let (status, kind) = match (retry::classify(status), error) {
        (Some(kind), _) => (status, kind),
        (None, None) => return None,
        (None, Some(error)) => match inner_status(error) {
            Some((status, kind)) => (status, kind),
            None => (status, FailureKind::Server),
        },
    };
    let complaint = error.map(|error| provider.complaint(status, error)).unwrap_or_default();
    Some((complaint.kind.unwrap_or(kind), complaint))
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

/// The status that an error says it has, and its class.
fn inner_status(error: &Value) -> Option<(u16, FailureKind)> {
    let status = match error.get("code").or_else(|| error.get("status"))? {
        Value::Number(number) => u16::try_from(number.as_u64()?).ok()?,
        Value::String(text) => text.parse().ok()?,
        _ => return None,
    };
    let kind = (400..600).contains(&status).then(|| retry::classify(status))??;
    Some((status, kind))
}

/// The words of an error, or the beginning of what came; `clean` takes the secrets out, before anything is cut.
pub(super) fn words(bytes: &[u8], body: Option<&Value>, clean: impl Fn(&str) -> String) -> String {
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

    use super::{complaint, words};
    use crate::judge::provider;
    use crate::outcome::FailureKind;

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
            let kind = complaint(status, Some(&body), openai).map(|(kind, _)| kind);
            assert_eq!(kind, expected, "{status} {body}");
        }
        let kind = |status| complaint(status, None, openai).map(|(kind, _)| kind);
        assert_eq!((kind(200), kind(503)), (None, Some(FailureKind::Server)));
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
