//! Settings of a request that some models refuse: which one an error names, and the request without it.

use super::api::Request;

/// The settings that a request may do without: as suites name them, then as providers do.
const OPTIONAL: [[&str; 3]; 4] = [
    ["temperature", "temperature", "temperature"],
    ["seed", "seed", "seed"],
    ["top_p", "top_p", "topP"],
    LIMITS,
];

/// The limit of a reply.
pub const LIMIT: &str = "max_tokens";
const LIMITS: [&str; 3] = [LIMIT, "max_completion_tokens", "maxOutputTokens"];

/// How errors say that a model does not take what they name.
const REFUSALS: [&str; 8] = [
    "unsupported",
    "not supported",
    "does not support",
    "doesn't support",
    "unrecognized",
    "deprecated",
    "not permitted",
    "not allowed",
];

/// Whether the message of an error says that the prompt and the longest reply are longer than the model reads, or that the limit is
/// more than it writes. The next request may have room.
pub fn lacks_room(request: &Request, message: &str) -> bool {
    let lower = message.to_lowercase();
    let is_too_large = lower.contains("too large") && lower.contains("max_");
    has(request, &LIMITS) && (is_too_large || lower.contains("in the completion"))
}

/// The setting in a request of which the message of an error says that the model does not take it, if the request may do without.
pub fn refused_setting(request: &Request, message: &str) -> Option<&'static str> {
    let lower = message.to_lowercase();
    if !REFUSALS.iter().any(|words| lower.contains(words)) {
        return None;
    }
    let mut words = message.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let named = words.find_map(|word| OPTIONAL.iter().find(|names| names.contains(&word)))?;
    has(request, named).then_some(named[0])
}

/// Leaves a setting out of a request.
pub fn leave_out(request: &mut Request, setting: &str) {
    let Some(names) = OPTIONAL.iter().find(|names| names[0] == setting) else { return };
    let config = request.body.get_mut("generationConfig").and_then(|config| config.as_object_mut());
    if let Some(config) = config {
        config.retain(|name, _| !names.contains(&name.as_str()));
    }
    request.body.retain(|name, _| !names.contains(&name.as_str()));
}

fn has(request: &Request, names: &[&str; 3]) -> bool {
    // Anthropic's API needs a limit.
    if names.contains(&LIMIT) && request.path.ends_with("/messages") {
        return false;
    }
    let config = request.body.get("generationConfig");
    let is_in = |name: &&str| {
        request.body.contains_key(*name) || config.is_some_and(|it| it.get(*name).is_some())
    };
    names.iter().any(is_in)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{lacks_room, leave_out, refused_setting};
    use crate::judge::provider::Request;

    fn request(body: &Value) -> Request {
        let body = body.as_object().cloned().unwrap_or_default();
        Request { path: String::new(), body }
    }

    #[test]
    fn a_refused_setting_is_found_and_left_out() {
        let sent = request(&json!({"model": "m", "temperature": 0, "seed": 7, "max_tokens": 9}));
        for (message, expected) in [
            ("Unsupported parameter: 'seed' is not supported with this model.", Some("seed")),
            (
                "Unsupported value: 'temperature' does not support 0.0 with this model.",
                Some("temperature"),
            ),
            ("`temperature` is deprecated for this model", Some("temperature")),
            ("seed: Extra inputs are not permitted", Some("seed")),
            // It was not sent.
            ("Unsupported parameter: 'top_p'", None),
            ("Unsupported parameter: 'max_tokens'", Some("max_tokens")),
            // The value is refused, not the setting.
            ("max_tokens is too large: 9. It can be at most 4.", None),
            ("temperature is too large: maximum is 1", None),
            // Another word, or no refusal.
            ("Unsupported parameter: 'seeds'", None),
            ("the seed must be a number", None),
            ("", None),
        ] {
            assert_eq!(refused_setting(&sent, message), expected, "{message}");
        }
        let mut left = sent;
        leave_out(&mut left, "seed");
        leave_out(&mut left, "model");
        assert_eq!(left, request(&json!({"model": "m", "temperature": 0, "max_tokens": 9})));
        for (message, expected) in [
            ("max_tokens is too large: 9. It can be at most 4.", true),
            ("you requested 12 tokens (3 in the messages, 9 in the completion)", true),
            ("temperature is too large: maximum is 1", false),
            ("the prompt is too large", false),
        ] {
            assert_eq!(lacks_room(&left, message), expected, "{message}");
        }
        let anthropic = Request { path: "/v1/messages".to_owned(), ..left };
        assert_eq!(refused_setting(&anthropic, "max_tokens: 9 is too large"), None);
        let mut google = request(&json!({"generationConfig": {"topP": 0.5, "seed": 7}}));
        assert_eq!(refused_setting(&google, "topP is not supported"), Some("top_p"));
        leave_out(&mut google, "top_p");
        assert_eq!(google, request(&json!({"generationConfig": {"seed": 7}})));
    }
}
