//! Texts that are never shown, and the headers of requests that may hold one.

/// A header of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// Its name.
    pub name: String,
    /// What it says.
    pub value: Secret,
    /// Whether that must not be shown.
    pub is_secret: bool,
}

/// The letters that make no word any more. `none` and `anything` stand for keys where none is needed: what servers say
/// with such a word in it stays as it is.
const LONGEST_WORD: usize = 16;
/// The shortest text with other signs than letters that is looked for, in bytes.
const SHORTEST: usize = 12;

/// Text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for the request.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// `text` without the secret: servers repeat keys in their error messages. What is short or a number may stand there for
    /// something else, and what is kept must not depend on it.
    pub fn remove_from(&self, text: &str) -> String {
        if self.0.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.to_owned();
        }
        let is_word = self.0.bytes().all(|byte| byte.is_ascii_alphabetic());
        let least = if is_word { LONGEST_WORD } else { SHORTEST };
        if self.0.len() < least { text.to_owned() } else { text.replace(&self.0, "[secret]") }
    }
}

/// `text` without any of these secrets. Always before a text is cut: a part of a secret is not found any more.
pub(crate) fn without<'a>(secrets: impl Iterator<Item = &'a Secret>, text: &str) -> String {
    secrets.fold(text.to_owned(), |text, secret| secret.remove_from(&text))
}

/// `text` without the secrets that stand in the query of a URL.
pub(crate) fn without_parameters(url: &str, text: String) -> String {
    let parameters = evalrs_eval::judge::secret_parameters(url);
    parameters.fold(text, |text, (_, value)| Secret::new(value.to_owned()).remove_from(&text))
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}
