//! Live keys in imported files: found by their form and by the names of fields, reported with file and line, and never
//! written.
//!
//! They are looked for in texts as they are written, and with their escapes undone. A value that only stands for a key
//! (`${NAME}`, `{{env.NAME}}`, `your-key-here`) is none.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;
use serde::Serialize;
use serde_json::Value;

use super::escapes::UnescapedText;
use super::imported::SourcePlace;

/// A key that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundSecret {
    #[serde(flatten)]
    pub place: SourcePlace,
    /// What it is, never the key itself: `apiKey`, `a key that begins with sk-`.
    pub what: String,
}

/// The keys that were found in a source, and their values, which only serve to take them out.
///
/// A source may have a key of its own in each row: whatever is looked for here is found in one pass over a text.
#[derive(Default)]
pub struct SecretFindings {
    found: Vec<FoundSecret>,
    /// Where they were found.
    told_at: BTreeSet<SourcePlace>,
    /// What is taken out: keys, and parts of them.
    values: HashSet<String>,
    /// The words of those keys, between the characters that part them: a key that shares one is known.
    words: HashSet<String>,
    /// Finds all values; made when it is needed after the last value was added.
    finder: OnceCell<Option<AhoCorasick>>,
}

/// The shortest value that is taken out of every text. A shorter one is left out where it stands.
const SHORTEST: usize = 8;

/// The shortest part of a key, between its lines, points and slashes, that is taken out alone.
const SHORTEST_PART: usize = 16;

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
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s,:-]*?-----END [A-Z ]*PRIVATE KEY-----",
        ),
        ("a bearer token", r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})"),
        ("a password in an address", r"://[^/\s:@'\x22]+:([^/\s:@'\x22]{8,})@"),
    ];
    forms
        .into_iter()
        .filter_map(|(what, pattern)| Some((what, Regex::new(pattern).ok()?)))
        .collect()
});

/// A field whose name announces a key, and its value on the same line.
static FIELD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r"[\w.-]*(?:api[_-]?key|authorization|access[_-]?key|access[_-]?token|auth[_-]?token|bearer[_-]?token|secret[_-]?key|client[_-]?secret|private[_-]?key)";
    Regex::new(&format!(r#"(?i)["']?({name})["']?\s*[:=]\s*["']?([^\s"',}}#]+)"#)).ok()
});

/// Whether a field of this name holds a key: `apiKey`, `Authorization`, `x-api-key`, `OPENAI_API_KEY`.
pub(crate) fn is_secret_name(name: &str) -> bool {
    const ENDS: [&str; 10] = [
        "apikey",
        "authorization",
        "accesskey",
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

/// Whether a value names a variable of the environment instead of a key.
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

/// Whether words are there instead of a key.
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
    // By chance any word may stand in a long one.
    let is_placeholder = value.len() < 200 && is_placeholder(value);
    !is_reference(value) && digits >= 2 && letters >= 2 && !is_placeholder
}

/// A text without the keys in it: the cut part of a text is not recognized as a key.
pub(super) fn without_keys(text: &str) -> String {
    let mut findings = SecretFindings::default();
    findings.search("", text);
    findings.take_out(text.to_owned())
}

impl SecretFindings {
    /// Looks for keys in the text of a file.
    pub fn search(&mut self, file: &str, text: &str) {
        let lines = LineEnds::new(file, text);
        self.search_at(text, true, &|at| lines.place(at));
    }

    /// Looks for live keys in a part of a file that has no lines, such as a database.
    pub(crate) fn search_part(&mut self, file: &str, part: &str) {
        self.search_at(part, true, &|_| SourcePlace::new(file, 0));
    }

    /// Looks for keys in the text of a file before it is written: keys already found in the source are not reported again.
    pub(crate) fn search_copy(&mut self, file: &str, text: &str) {
        let lines = LineEnds::new(file, text);
        self.search_at(text, false, &|at| lines.place(at));
    }

    /// Looks for keys in the texts of a value that is to be written, in a line of a file.
    pub(crate) fn search_value(&mut self, place: &SourcePlace, value: &Value) {
        match value {
            Value::String(text) => self.search_at(text, false, &|_| place.clone()),
            Value::Array(items) => items.iter().for_each(|item| self.search_value(place, item)),
            Value::Object(members) => {
                for (name, member) in members {
                    self.search_at(name, false, &|_| place.clone());
                    self.search_value(place, member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn search_at(&mut self, text: &str, is_source: bool, place: &dyn Fn(usize) -> SourcePlace) {
        if text.len() < SHORTEST {
            return;
        }
        self.search_plain(text, is_source, place);
        if let Some(unescaped) = UnescapedText::of(text) {
            let place = |at| place(unescaped.origin(at));
            self.search_plain(&unescaped.text, is_source, &place);
        }
    }

    fn search_plain(&mut self, text: &str, is_source: bool, place: &dyn Fn(usize) -> SourcePlace) {
        for (what, form) in FORMS.iter() {
            for found in form.captures_iter(text) {
                let Some(value) = found.get(1).or_else(|| found.get(0)) else { continue };
                if is_live(value.as_str()) {
                    let what = (*what).to_owned();
                    let secret = FoundSecret { place: place(value.start()), what };
                    self.note(secret, value.as_str(), is_source);
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
                let secret = FoundSecret { place: place(value.start()), what };
                self.note(secret, value.as_str(), is_source);
            }
        }
    }

    /// Adds a key; several at the same place are reported once.
    pub fn add(&mut self, secret: FoundSecret, value: &str) {
        self.note(secret, value, true);
    }

    fn note(&mut self, secret: FoundSecret, value: &str, is_source: bool) {
        let text = value.trim();
        let is_split = |c: char| !c.is_ascii_alphanumeric();
        let words = || text.split(is_split).filter(|word| word.len() >= SHORTEST);
        let is_known = self.values.contains(text) || words().any(|word| self.words.contains(word));
        let is_told = is_known && (!is_source || self.told_at.contains(&secret.place));
        if !is_told {
            self.told_at.insert(secret.place.clone());
            self.found.push(secret);
        }
        self.words.extend(words().map(str::to_owned));
        self.keep(text);
        // A part of a key is one wherever it stands: of a broken table each line is a row, and of a path its end is a name.
        let is_code = |part: &&str| {
            let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte);
            part.len() >= SHORTEST_PART && part.bytes().all(is_one)
        };
        text.split_whitespace().filter(is_code).for_each(|line| self.keep(line));
        let parts = text.split(['/', '.']).filter(is_code);
        parts.filter(|part| is_live(part)).for_each(|part| self.keep(part));
    }

    /// Keeps a value that is to be taken out.
    fn keep(&mut self, text: &str) {
        if text.len() >= SHORTEST && self.values.insert(text.to_owned()) {
            self.finder.take();
        }
    }

    /// Whether `text` contains one of the keys.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        !self.parts(text).is_empty()
    }

    /// `text` without the keys: they are removed without a replacement.
    pub(crate) fn take_out(&self, text: String) -> String {
        let mut parts = self.parts(&text);
        if parts.is_empty() {
            return text;
        }
        parts.sort_by_key(|part| part.start);
        let mut rest = String::with_capacity(text.len());
        let mut end = 0;
        for part in parts {
            rest.push_str(text.get(end..part.start).unwrap_or_default());
            end = end.max(part.end);
        }
        rest.push_str(text.get(end..).unwrap_or_default());
        rest
    }

    /// A value without the keys in its texts.
    pub(crate) fn take_out_of(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.take_out(std::mem::take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.take_out_of(item)),
            Value::Object(members) => {
                if members.keys().any(|name| self.is_in(name)) {
                    let named = std::mem::take(members).into_iter();
                    *members = named.map(|(name, member)| (self.take_out(name), member)).collect();
                }
                members.values_mut().for_each(|member| self.take_out_of(member));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Where keys stand in `text`, also where they are escaped.
    fn parts(&self, text: &str) -> Vec<Range<usize>> {
        if self.values.is_empty() || text.len() < SHORTEST {
            return Vec::new();
        }
        // It fails over two gigabytes of keys, more than an import reads.
        let finder = self.finder.get_or_init(|| AhoCorasick::new(&self.values).ok());
        let Some(finder) = finder else { return Vec::new() };
        let mut parts: Vec<Range<usize>> =
            finder.find_overlapping_iter(text).map(|found| found.range()).collect();
        if let Some(unescaped) = UnescapedText::of(text) {
            let found = finder.find_overlapping_iter(&unescaped.text);
            parts.extend(found.map(|found| unescaped.origins(&found.range())));
        }
        parts
    }

    /// What was found, in the order of files and lines.
    pub fn found(&self) -> Vec<FoundSecret> {
        let mut found = self.found.clone();
        found.sort_by(|one, other| one.place.cmp(&other.place));
        found
    }
}

/// Where the lines of a file end, which is looked up once for all keys in it.
struct LineEnds<'a> {
    file: &'a str,
    text: &'a str,
    ends: OnceCell<Vec<usize>>,
}

impl<'a> LineEnds<'a> {
    fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, text, ends: OnceCell::new() }
    }

    /// The line of a byte.
    fn place(&self, at: usize) -> SourcePlace {
        let ends = || memchr::memchr_iter(b'\n', self.text.as_bytes()).collect();
        let before = self.ends.get_or_init(ends).partition_point(|end| *end < at);
        SourcePlace::new(self.file, before + 1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{SecretFindings, is_secret_name};
    use crate::imported::SourcePlace;

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
    fn keys_are_found_and_taken_out_however_they_are_escaped() {
        let private = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234567890abcdefghij\nklmnopqrstuvwxyz0123456789ABCDEFGHIJ\n-----END RSA PRIVATE KEY-----";
        for (text, place, rest) in [
            (r#"{"a": "sk\u002dproj-4fJ29aQ0x8LmZt73vbN1"}"#.to_owned(), "f:1", r#"{"a": ""}"#),
            (
                r#"{"a": "b\nsk-proj-4fJ29aQ0x8LmZt73vbN1\n"}"#.to_owned(),
                "f:1",
                r#"{"a": "b\n\n"}"#,
            ),
            (
                r#"{"a": "{\"b\": \"sk\\u002dproj-4fJ29aQ0x8LmZt73vbN1\"}"}"#.to_owned(),
                "f:1",
                r#"{"a": "{\"b\": \"\"}"}"#,
            ),
            ("a: 1\nx: \"\\x73k-proj-4fJ29aQ0x8LmZt73vbN1\"".to_owned(), "f:2", "a: 1\nx: \"\""),
            ("x: \"sk-proj-4fJ29a\\\n   Q0x8LmZt73vbN1\"".to_owned(), "f:1", "x: \"\""),
            (r#""Bearer abcdefgh12345678\/ijklmnop12345""#.to_owned(), "f:1", r#""Bearer ""#),
            (
                r#"{"api\u005fkey": "0f1e2d3c\u0034b5a6978"}"#.to_owned(),
                "f:1",
                r#"{"api\u005fkey": ""}"#,
            ),
            (format!("x: |\n  {}\ny: 1", private.replace('\n', "\n  ")), "f:2", "x: |\n  \ny: 1"),
            (serde_json::Value::from(private).to_string(), "f:1", "\"\""),
        ] {
            let mut findings = SecretFindings::default();
            findings.search("f", &text);
            let told: Vec<String> =
                findings.found().iter().map(|found| found.place.to_string()).collect();
            assert_eq!(told, [place], "{text}");
            assert_eq!(findings.take_out(text.clone()), rest, "{text}");
        }
    }

    #[test]
    fn keys_in_values_are_told_once_and_taken_out_of_names_too() {
        let mut findings = SecretFindings::default();
        findings.search(
            "c.yaml",
            "x: |\n  -----BEGIN PRIVATE KEY-----\n  MIIEowIBAAKC1234\n  -----END PRIVATE KEY-----",
        );
        let mut value = json!({"x": "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKC1234\n-----END PRIVATE KEY-----\n", "sk-proj-4fJ29aQ0x8LmZt73vbN1": [1, "Bearer sk-proj-4fJ29aQ0x8LmZt73vbN1"]});
        findings.search_value(&SourcePlace::new("dataset.jsonl", 3), &value);
        findings.take_out_of(&mut value);
        assert_eq!(value, json!({"x": "\n", "": [1, "Bearer "]}));
        let told: Vec<String> =
            findings.found().iter().map(|found| found.place.to_string()).collect();
        assert_eq!(told, ["c.yaml:2", "dataset.jsonl:3"]);
    }

    #[test]
    fn each_of_many_keys_is_told_with_its_line_and_taken_out() {
        // Two passes over all of them a key would take minutes.
        const KEYS: usize = 20_000;
        let line = |at: usize| format!("{{\"a\": \"Bearer {at:08}abcdefgh{at:08}\"}}\n");
        let text: String = (0..KEYS).map(line).collect();
        let mut findings = SecretFindings::default();
        findings.search("f", &text);
        let found = findings.found();
        assert_eq!((found.len(), found[KEYS - 1].place.line), (KEYS, KEYS));
        assert_eq!(findings.take_out(text), "{\"a\": \"Bearer \"}\n".repeat(KEYS));
    }

    #[test]
    fn words_in_a_key_are_no_keys() {
        let mut findings = SecretFindings::default();
        findings.search("f", "api_key: vault/customer_support_answers/k3y9zz81");
        let text = "ask customer_support_answers".to_owned();
        assert_eq!(findings.take_out(text.clone()), text);
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
