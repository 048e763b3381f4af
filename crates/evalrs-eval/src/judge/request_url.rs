//! The URL that a request to a judge is sent to.

/// The URL of a request. What stands after a `?` of the base URL stays at the end: some servers want a version there.
/// The version at the beginning of `path` is left out where the base URL has one.
pub fn url(base_url: &str, path: &str) -> String {
    let (base, query) = match base_url.split_once('?') {
        Some((base, query)) => (base, format!("?{query}")),
        None => (base_url, String::new()),
    };
    let base = base.trim_end_matches('/');
    let mut segments = base.rsplit('/');
    let last = segments.next();
    let before = segments.next();
    // Vertex AI has its models under the publisher, behind the version.
    let has_version = last.is_some_and(is_version) || before == Some("publishers");
    let (version, _) = path[1..].split_once('/').unwrap_or_default();
    let path = if has_version && is_version(version) { &path[version.len() + 1..] } else { path };
    format!("{base}{path}{query}")
}

/// Whether a URL has a version in its path.
pub fn is_versioned(url: &str) -> bool {
    url.split('/').skip(3).any(is_version)
}

/// Whether a segment of a path is a version: `v1`, `v1beta`.
fn is_version(segment: &str) -> bool {
    let number = segment.strip_prefix('v').unwrap_or_default();
    number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::url;

    #[test]
    fn a_path_joins_a_base_url_whatever_that_ends_with() {
        const CHAT: &str = "/chat/completions";
        const CLAUDE: &str = "/v1/messages";
        const GEMINI: &str = "/v1beta/models/g:generateContent";
        for (base_url, path, expected) in [
            ("https://a/v1", CHAT, "https://a/v1/chat/completions"),
            (
                "https://a/openai/d/gpt?api-version=1",
                CHAT,
                "https://a/openai/d/gpt/chat/completions?api-version=1",
            ),
            ("https://a/v1/?x=/", CHAT, "https://a/v1/chat/completions?x=/"),
            ("https://a", CLAUDE, "https://a/v1/messages"),
            ("https://a/v1", CLAUDE, "https://a/v1/messages"),
            ("https://a/v1?beta=true", CLAUDE, "https://a/v1/messages?beta=true"),
            ("https://a/v1/team/anthropic", CLAUDE, "https://a/v1/team/anthropic/v1/messages"),
            ("https://a/vertex", CLAUDE, "https://a/vertex/v1/messages"),
            ("https://a", GEMINI, "https://a/v1beta/models/g:generateContent"),
            ("https://a/v1beta", GEMINI, "https://a/v1beta/models/g:generateContent"),
            ("https://a/v1", GEMINI, "https://a/v1/models/g:generateContent"),
            (
                "https://a/v1/publishers/google",
                GEMINI,
                "https://a/v1/publishers/google/models/g:generateContent",
            ),
        ] {
            assert_eq!(url(base_url, path), expected);
        }
    }
}
