//! A judge on loopback that answers every request with one verdict, after a moment.

use std::time::Duration;

use super::loopback;

/// What it says.
pub(crate) const VERDICT: &str = r#"{"rationale": "The answer is correct and polite but leaves one question open.", "score": 0.8}"#;

/// Answers everything after `latency`; returns its base URL.
pub(crate) fn serve(latency: Duration) -> String {
    let reply = serde_json::json!({
        "model": "judge-1",
        "choices": [{"message": {"role": "assistant", "content": VERDICT}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 412, "completion_tokens": 25},
    });
    let body = reply.to_string();
    loopback::serve("/v1", latency, move |_| body.clone())
}
