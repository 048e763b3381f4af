//! Live keys in what is imported: found by their form and by the names of fields, told with file and line, and never written.
//!
//! A value that only stands for a key (`${NAME}`, `{{env.NAME}}`, `your-key-here`) is none.

use std::sync::LazyLock;

use regex::Regex;

use super::imported::SourcePlace;

/// A key that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundSecret {
    pub place: SourcePlace,
    /// What it is, never the key itself: `apiKey`, `a key that begins with sk-`.
    pub what: String,
}

/// The keys that were found in a source, and their values, which only serve to take them out.
#[derive(Default)]
pub(crate) struct SecretFindings {
    found: Vec<FoundSecret>,
    values: Vec<String>,
}

/// The shortest value that is taken out of every text. A shorter one is left out where it stands.
const SHORTEST: usize = 8;

/// Forms of keys: what they are called, and their pattern.
static FORMS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    let forms = [
        ("a key that begins with sk-", r"\bsk-[A-Za-z0-9_-]{16,}"),
        ("a key of Stripe", r"\b[sr]k_live_[A-Za-z0-9]{16,}"),
        ("a token of GitHub", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
        ("a token of GitLab", r"\bglpat-[A-Za-z0-9_-]{18,}"),
        ("a key of AWS", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
        ("a key of Google", r"\bAIza[A-Za-z0-9_-]{30,}"),
        ("a token of Slack", r"\bxox[abeprs]-[A-Za-z0-9-]{10,}"),
        (
            "a key of a model provider",
            r"\b(?:hf|gsk|r8|tvly|pk-lf|sk-lf|lsv2_pt|lsv2_sk|nvapi|pplx|xai)[_-][A-Za-z0-9_-]{20,}",
        ),
        ("a JSON web token", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
        (
            "a private key",
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s\\n]*-----END [A-Z ]*PRIVATE KEY-----",
        ),
        ("a bearer token", r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})"),
        ("a password in an address", r"://[^/\s:@'\x22]+:([^/\s:@'\x22]{8,})@"),
    ];
    forms
        .into_iter()
        .filter_map(|(what, pattern)| Some((what, Regex::new(pattern).ok()?)))
        .collect()
});

/// A field whose name says that a key stands in it, and its value on the same line.
static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r"[\w.-]*(?:api[_-]?key|authorization|access[_-]?key|access[_-]?token|auth[_-]?token|bearer[_-]?token|secret[_-]?key|client[_-]?secret|private[_-]?key)";
    Regex::new(&format!(r#"(?i)["']?({name})["']?\s*[:=]\s*["']?([^\s"',}}#]+)"#)).ok()
});

/// Whether a field of this name holds a key: `apiKey`, `Authorization`, `x-api-key`, `OPENAI_API_KEY`.
pub(crate) fn is_secret_name(name: &str) -> bool {
    const ENDS: [&str; 13] = [
        "apikey",
        "authorization",
        "accesskey",
        "accesstoken",
        "authtoken",
        "bearertoken",
        "secret",
        "secretkey",
        "password",
        "passwd",
        "privatekey",
        "token",
        "cookie",
    ];
    let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let bare = bare.to_ascii_lowercase();
    ENDS.iter().any(|end| bare.ends_with(end))
}

/// Whether a value names a variable of the environment in place of a key.
pub(crate) fn is_reference(value: &str) -> bool {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    value.is_empty()
        || value.contains("${")
        || value.contains("{{")
        || value.starts_with('$')
        || value.starts_with('%')
        || ["process.env", "os.environ", "os.getenv", "env.", "file://", "secrets."]
            .iter()
            .any(|beginning| lower.contains(beginning))
}

/// Whether words stand in place of a key.
pub(crate) fn is_placeholder(value: &str) -> bool {
    const WORDS: [&str; 9] =
        ["your", "example", "placeholder", "xxxx", "changeme", "dummy", "redacted", "****", "...."];
    let lower = value.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

/// Whether a value may be a key that works: not a reference, and not words that stand for one.
fn is_live(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    !is_reference(value) && digits >= 2 && letters >= 2 && !is_placeholder(value)
}

impl SecretFindings {
    /// Looks for keys in the text of a file.
    pub(crate) fn search(&mut self, file: &str, text: &str) {
        self.search_at(text, &|at| {
            let before = text.as_bytes().get(..at).unwrap_or_default();
            SourcePlace::new(file, memchr::memchr_iter(b'\n', before).count() + 1)
        });
    }

    /// Looks for live keys in a part of a file that has no lines, such as a database.
    pub(crate) fn search_part(&mut self, file: &str, part: &str) {
        self.search_at(part, &|_| SourcePlace::new(file, 0));
    }

    fn search_at(&mut self, text: &str, place: &dyn Fn(usize) -> SourcePlace) {
        for (what, form) in FORMS.iter() {
            for found in form.captures_iter(text) {
                let Some(value) = found.get(1).or_else(|| found.get(0)) else { continue };
                if is_live(value.as_str()) {
                    let what = (*what).to_owned();
                    self.add(FoundSecret { place: place(value.start()), what }, value.as_str());
                }
            }
        }
        for found in FIELD.iter().flat_map(|field| field.captures_iter(text)) {
            let (Some(name), Some(value)) = (found.get(1), found.get(2)) else { continue };
            let is_word = value
                .as_str()
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.:~".contains(&byte));
            if is_word && value.len() >= 12 && is_live(value.as_str()) {
                let what = format!("`{}`", name.as_str());
                self.add(FoundSecret { place: place(value.start()), what }, value.as_str());
            }
        }
    }

    /// Adds a key; one that was found at the same place already is told once.
    pub(crate) fn add(&mut self, secret: FoundSecret, value: &str) {
        let value = value.trim();
        let is_known =
            self.values.iter().any(|known| known.contains(value) || value.contains(known.as_str()));
        let is_told = is_known && self.found.iter().any(|found| found.place == secret.place);
        if !is_told {
            self.found.push(secret);
        }
        if value.len() >= SHORTEST && !self.values.iter().any(|known| known == value) {
            self.values.push(value.to_owned());
            // The longest first, or a key that another one holds would leave a rest.
            self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        }
    }

    /// Whether one of the keys stands in `text`.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.values.iter().any(|value| text.contains(value.as_str()))
    }

    /// `text` without the keys: nothing stands in their place.
    pub(crate) fn take_out(&self, text: String) -> String {
        let mut text = text;
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), "");
            }
        }
        text
    }

    /// What was found, in the order of files and lines.
    pub(crate) fn found(&self) -> Vec<FoundSecret> {
        let mut found = self.found.clone();
        found.sort_by(|one, other| one.place.cmp(&other.place));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::{SecretFindings, is_secret_name};

    #[test]
    fn keys_are_found_by_form_and_by_name_and_nothing_else_is() {
        for (text, expected) in [
            ("apiKey: sk-proj-4fJ29aQ0x8LmZt73vbN1", "f:1 a key that begins with sk-"),
            ("a: 1\nheaders: {authorization: 'Bearer 9f8e7d6c5b4a39281706'}", "f:2 a bearer token"),
            ("\"api_key\": \"0f1e2d3c4b5a6978\"", "f:1 `api_key`"),
            ("OPENAI_API_KEY=a1b2c3d4e5f60718", "f:1 `OPENAI_API_KEY`"),
            ("url: postgres://bot:s3cr3tpass99@db/x", "f:1 a password in an address"),
            ("t: ghp_0123456789abcdefghijABCDEFGHIJ012345", "f:1 a token of GitHub"),
            ("apiKey: ${OPENAI_API_KEY}", ""),
            ("apiKey: '{{env.OPENAI_API_KEY_2024}}'", ""),
            ("apiKey: sk-your-api-key-goes-here-12", ""),
            ("const apiKey = process.env.OPENAI_API_KEY_2", ""),
            ("apiKeyEnvar: MY_KEY", ""),
            ("task: sk-short", ""),
            ("authorization: Bearer {{token}}", ""),
            ("api_key: null", ""),
        ] {
            let mut findings = SecretFindings::default();
            findings.search("f", text);
            let found = findings.found();
            let told: Vec<String> =
                found.iter().map(|found| format!("{} {}", found.place, found.what)).collect();
            assert_eq!(told.join(", "), expected, "{text}");
        }
    }

    #[test]
    fn keys_are_taken_out_of_every_text() {
        let mut findings = SecretFindings::default();
        findings.search("f", "apiKey: sk-proj-4fJ29aQ0x8LmZt73vbN1");
        let text =
            "say sk-proj-4fJ29aQ0x8LmZt73vbN1 twice: sk-proj-4fJ29aQ0x8LmZt73vbN1".to_owned();
        assert!(findings.is_in(&text));
        assert_eq!(findings.take_out(text), "say  twice: ");
    }

    #[test]
    fn names_of_fields_that_hold_keys() {
        for name in
            ["apiKey", "x-api-key", "Authorization", "OPENAI_API_KEY", "password", "authToken"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["max_tokens", "apiKeyEnvar", "model", "tokens"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
