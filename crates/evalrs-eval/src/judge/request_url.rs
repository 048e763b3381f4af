//! URLs of judges: where a request is sent, and what of an address is secret, and so in no key and in no message.

use std::fmt::Write as _;

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

/// The names of parameters that are secrets.
const SECRET_PARAMETERS: [&str; 10] = [
    "key",
    "apikey",
    "sig",
    "auth",
    "authorization",
    "code",
    "pass",
    "passwd",
    "subscription_key",
    "access_key",
];
/// The same, also if something and a `_` are before them.
const SECRET_ENDINGS: [&str; 7] =
    ["api_key", "token", "secret", "password", "credential", "credentials", "signature"];

/// Whether the name of a parameter says beyond doubt that it holds a secret: what is taken for one is in no key.
fn is_secret_parameter(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_PARAMETERS.contains(&name.as_str())
        || SECRET_ENDINGS
            .iter()
            .filter_map(|ending| name.strip_suffix(ending))
            .any(|before| before.is_empty() || before.ends_with('_'))
}

/// The parameters of a URL whose names say that they hold a secret: name, value.
pub fn secret_parameters(url: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let parameters =
        query.split('&').map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")));
    parameters.filter(|(name, _)| is_secret_parameter(name))
}

/// What a value in a URL means: `%2B` is a plus. What is no such sign stays as it is.
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let digits = behind.get(..2).filter(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(b'%');
                rest = behind;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A URL without its secrets, for keys are written to disk: the name and password before its host, and parameters that
/// hold a secret by their names.
pub fn without_secrets(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host_start = rest[..host_end].rfind('@').map_or(0, |at| at + 1);
    let rest = &rest[host_start..];
    let secrets: Vec<&str> = secret_parameters(rest).map(|(name, _)| name).collect();
    let Some((path, query)) = rest.split_once('?').filter(|_| !secrets.is_empty()) else {
        return format!("{scheme}://{rest}");
    };
    let is_open =
        |parameter: &&str| !secrets.contains(&parameter.split('=').next().unwrap_or_default());
    let open: Vec<&str> = query.split('&').filter(is_open).collect();
    let mark = if open.is_empty() { "" } else { "?" };
    format!("{scheme}://{path}{mark}{}", open.join("&"))
}

/// A text within a URL: every character but the unreserved ones of RFC 3986, section 2.3, is escaped.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::{percent_decoded, url, without_secrets};

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

    #[test]
    fn values_are_decoded_as_far_as_they_are_encoded() {
        for (text, expected) in
            [("a%2Bb%3d", "a+b="), ("100%", "100%"), ("%+1%é%zz", "%+1%é%zz"), ("%C3%A9", "é")]
        {
            assert_eq!(percent_decoded(text), expected);
        }
    }

    #[test]
    fn parameters_are_secret_by_an_unmistakable_name() {
        for (query, expected) in [
            ("?decoder=a", "?decoder=a"),
            ("?design=a&monkey=b&keyboard=c&passage=d&author=e&encode=f", ""),
            ("?key=a", "-"),
            ("?KEY=a&x=1", "?x=1"),
            ("?api-key=a&api-version=2", "?api-version=2"),
            ("?sv=1&sig=a", "?sv=1"),
            ("?access_token=a&X-Amz-Signature=b&X-Amz-Credential=c&code=d&subscription-key=e", "-"),
        ] {
            let expected = match expected {
                "" => query,
                "-" => "",
                expected => expected,
            };
            let url = |query: &str| format!("https://judge.example/v1{query}");
            assert_eq!(without_secrets(&url(query)), url(expected), "{query}");
        }
    }
}
