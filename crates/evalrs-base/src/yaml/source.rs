//! The texts a suite was read from, and the places in them.
//!
//! A suite may extend other files, so a [`SourceSpan`] names its file too. Diagnostics show source lines, and a
//! source line may hold a secret that was pasted in: the texts kept here are masked, byte for byte, before
//! any diagnostic can quote them. The masking errs on the side of hiding too much.

use std::ops::Range;

use crate::diagnostic::{Place, suggest};

/// A range of bytes in one of the files a suite was read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceSpan {
    pub file: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl SourceSpan {
    pub fn new(file: u32, range: Range<usize>) -> Self {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { file, start: narrow(range.start), end: narrow(range.end.max(range.start)) }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The files a suite was read from, secrets masked.
#[derive(Debug, Default)]
pub struct Sources {
    files: Vec<(String, String)>,
}

impl Sources {
    /// Adds a file and returns its index.
    pub fn add(&mut self, path: &str, text: &str) -> u32 {
        let index = self.files.len();
        self.files.push((path.to_owned(), mask_lines(text)));
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// Hides the text at `span` from every place made after this.
    pub fn hide(&mut self, span: SourceSpan) {
        let Some((_, text)) = self.files.get_mut(span.file as usize) else { return };
        if let Some(secret) = text.get(span.range()) {
            let masked = mask(secret);
            text.replace_range(span.range(), &masked);
        }
    }

    /// The place of `span`. Of a span over several lines, the first is marked.
    pub fn place(&self, span: SourceSpan) -> Place {
        let Some((path, text)) = self.files.get(span.file as usize) else {
            return Place::file("");
        };
        let Range { start, end } = span.range();
        let line_end = text.get(start..).and_then(|rest| rest.find('\n')).map(|at| start + at);
        let end = end.min(line_end.unwrap_or(text.len())).max(start);
        Place::in_text(path, text, start..end)
    }

    /// The first place inside `span` that reads `text`, or else all of `span`.
    pub fn find(&self, span: SourceSpan, text: &str) -> SourceSpan {
        self.inside(span, text, 0..text.len())
    }

    /// The bytes `range` of the scalar `text` that is written at `span`, or all of `span` where it is not written as it
    /// reads: over several lines, with escapes.
    pub fn inside(&self, span: SourceSpan, text: &str, range: Range<usize>) -> SourceSpan {
        let written = self.text(span.file).and_then(|file| file.get(span.range()));
        let at = written.and_then(|written| written.find(text));
        at.filter(|_| range.end <= text.len()).map_or(span, |at| {
            let start = span.start as usize + at;
            SourceSpan::new(span.file, start + range.start..start + range.end)
        })
    }

    /// `path` as written in `file`, from the folder of the suite, which is the first file.
    pub fn relative_to_suite(&self, file: u32, path: &str) -> String {
        let joined = self.join(file, path);
        let suite = self.path(0);
        let folder = suite.rfind(['/', '\\']).map_or("", |slash| &suite[..=slash]);
        joined.strip_prefix(folder).map(str::to_owned).unwrap_or(joined)
    }

    /// The index of the file at `path`; files that were never read come last.
    pub fn index(&self, path: &str) -> usize {
        self.files.iter().position(|(known, _)| known == path).unwrap_or(self.files.len())
    }

    /// What the file says, secrets masked.
    pub fn text(&self, file: u32) -> Option<&str> {
        self.files.get(file as usize).map(|(_, text)| text.as_str())
    }

    pub fn path(&self, file: u32) -> &str {
        self.files.get(file as usize).map_or("", |(path, _)| path)
    }

    /// `path` as written in `file`, joined to that file's folder.
    pub fn join(&self, file: u32, path: &str) -> String {
        join(self.path(file), path)
    }
}

/// `path` as written in the file `from`, joined to that file's folder by text alone.
///
/// An absolute path stays as it is, a leading `./` is dropped, `..` and `~` are left to the system.
pub fn join(from: &str, path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    match from.rfind(['/', '\\']) {
        Some(slash) if !is_absolute(path) => format!("{}{path}", &from[..=slash]),
        _ => path.to_owned(),
    }
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':')
}

/// `path` without `.` and `x/..`, to compare paths by text.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether the value of a field of this name is a secret: `api_key`, `apiKey`, `Authorization`, …
pub fn is_secret(key: &str) -> bool {
    const SECRETS: [&str; 7] = [
        "apikey",
        "authorization",
        "accesstoken",
        "bearertoken",
        "password",
        "secret",
        "secretkey",
    ];
    let bare: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    let bare = bare.to_ascii_lowercase();
    SECRETS.contains(&bare.as_str()) || bare.ends_with("apikey")
}

/// Whether the name of a field may be a misspelt name of a secret.
pub fn may_be_secret(key: &str) -> bool {
    is_secret(key) || suggest(key, ["api_key", "apikey", "authorization"]).is_some()
}

/// Whether a header of this name, or one that says `value`, holds a secret.
///
/// Names are those that APIs take keys in; values are judged by their looks, and rather once too often.
pub fn is_secret_header(name: &str, value: &str) -> bool {
    const NAMES: [&str; 3] = ["cookie", "proxyauthorization", "subscriptionkey"];
    const PARTS: [&str; 3] = ["token", "secret", "password"];
    const SCHEMES: [&str; 3] = ["bearer ", "basic ", "token "];
    let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let bare = bare.to_ascii_lowercase();
    let named = is_secret(name)
        || NAMES.iter().any(|end| bare.ends_with(end))
        || PARTS.iter().any(|part| bare.contains(part));
    let value = value.to_ascii_lowercase();
    named
        || SCHEMES.iter().any(|scheme| value.starts_with(scheme))
        || value.split_ascii_whitespace().any(looks_random)
}

/// Whether a word begins like a key or a token of a known kind, or is long and has no shape.
fn looks_random(word: &str) -> bool {
    const BEGINNINGS: [&str; 8] = ["sk-", "aiza", "ghp_", "gsk_", "hf_", "xai-", "xox", "eyj"];
    let begins = BEGINNINGS.iter().any(|beginning| word.starts_with(beginning));
    let shapeless =
        word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_".contains(&byte));
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    begins && word.len() >= 16 || shapeless && word.len() >= 40 && digits >= 4
}

/// The same number of bytes, none of them the secret's; line breaks stay.
fn mask(secret: &str) -> String {
    let star = |byte: u8| if byte == b'\n' || byte == b'\r' { char::from(byte) } else { '*' };
    secret.bytes().map(star).collect()
}

/// Masks what follows `api_key:` on its line, and every word that looks like a key.
///
/// This works on text that is not YAML too, because syntax errors quote their line as well.
pub fn mask_lines(text: &str) -> String {
    text.split_inclusive('\n').map(mask_line).collect()
}

fn mask_line(line: &str) -> String {
    let mut masked = String::with_capacity(line.len());
    let mut secret = false;
    for word in line.split_inclusive([' ', '\t', ',', '{', '}', '"', '\'', '=', ':']) {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if secret && !bare.is_empty() || bare.starts_with("sk-") && bare.len() >= 16 {
            masked.push_str(&mask_word(word));
        } else {
            masked.push_str(word);
        }
        secret = match word.chars().last() {
            _ if is_secret(bare) && word.ends_with([':', '=', '"', '\'', ' ']) => true,
            Some(',' | '}') => false,
            _ => secret,
        };
    }
    masked
}

/// Masks a word but for the separator that ends it.
fn mask_word(word: &str) -> String {
    let end = word.trim_end_matches([' ', '\t', ',', '{', '}', '"', '\'', '=', ':', '\r', '\n']);
    mask(end) + &word[end.len()..]
}

#[cfg(test)]
mod tests {
    use super::{is_secret_header, join, mask_lines};

    #[test]
    fn secrets_are_masked_whatever_stands_around_them() {
        for (line, expected) in [
            ("api_key: abc", "api_key: ***"),
            ("  \"api_key\" : \"abc\"", "  \"api_key\" : \"***\""),
            ("target: {api_key: a-b, kind: agent}", "target: {api_key: ***, kind: agent}"),
            ("OPENAI_API_KEY = é1", "OPENAI_API_KEY = ***"),
            ("api_kye: sk-0123456789abcdef", "api_kye: *******************"),
            ("api_key_env: OPENAI_API_KEY", "api_key_env: OPENAI_API_KEY"),
            ("max_tokens: 5\nname: a\n", "max_tokens: 5\nname: a\n"),
            ("task: sk-short", "task: sk-short"),
            ("Authorization: Bearer abc # x", "Authorization: ****** *** # *"),
        ] {
            let masked = mask_lines(line);
            assert_eq!(masked, expected);
            assert_eq!(masked.len(), line.len());
        }
    }

    #[test]
    fn headers_with_secrets_are_told_by_name_and_by_looks() {
        for (name, value) in [
            ("Authorization", "x"),
            ("api-key", "x"),
            ("X-Api-Key", "x"),
            ("x-goog-api-key", "x"),
            ("Cookie", "x"),
            ("proxy-authorization", "x"),
            ("Ocp-Apim-Subscription-Key", "x"),
            ("X-Auth-Token", "x"),
            ("Helicone-Auth", "Bearer x"),
            ("X-A", "sk-0123456789abcdef"),
            ("X-A", "team eyJhbGciOiJIUzI1NiJ9.e30"),
            ("X-A", "0123456789abcdef0123456789abcdef01234567"),
        ] {
            assert!(is_secret_header(name, value), "{name}: {value}");
        }
        for (name, value) in [
            ("anthropic-beta", "prompt-caching-2024-07-31"),
            ("OpenAI-Project", "proj_0123456789abcdef"),
            ("X-Request-Source", "123e4567-e89b-12d3-a456-426614174000"),
            ("HTTP-Referer", "https://example.com/a/long/path/of/a/page/that/is/no/key"),
            ("X-A", "sk-short"),
        ] {
            assert!(!is_secret_header(name, value), "{name}: {value}");
        }
    }

    #[test]
    fn paths_join_to_the_folder_of_the_file_that_wrote_them() {
        for (from, path, expected) in [
            ("suite.yaml", "data.jsonl", "data.jsonl"),
            ("a/b/suite.yaml", "data.jsonl", "a/b/data.jsonl"),
            ("a/suite.yaml", "../data.jsonl", "a/../data.jsonl"),
            ("a/suite.yaml", "./data.jsonl", "a/data.jsonl"),
            ("a/suite.yaml", "/data.jsonl", "/data.jsonl"),
            ("a/suite.yaml", "~/data.jsonl", "a/~/data.jsonl"),
            ("a\\suite.yaml", "data.jsonl", "a\\data.jsonl"),
            ("a/suite.yaml", "C:\\data.jsonl", "C:\\data.jsonl"),
        ] {
            assert_eq!(join(from, path), expected);
        }
    }
}
