//! What a search for text means: words, or between slashes a regular expression; with `-` before it, what does not have it.

use regex::{Regex, RegexBuilder};

/// The most bytes that a pattern may take once it is compiled.
const MOST_BYTES: usize = 1 << 20;

/// What is looked for.
#[derive(Debug)]
pub(crate) struct TextSearch {
    wanted: WantedText,
    /// Whether what has it is left out.
    is_negated: bool,
}

#[derive(Debug)]
enum WantedText {
    /// In small letters.
    Words(String),
    Pattern(Regex),
}

impl TextSearch {
    /// Reads a search; says what is wrong with its pattern.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (is_negated, text) = match text.strip_prefix('-') {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, text),
        };
        let pattern = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        let wanted = match pattern.filter(|pattern| !pattern.is_empty()) {
            None => WantedText::Words(text.to_lowercase()),
            Some(pattern) => {
                let mut builder = RegexBuilder::new(pattern);
                builder.case_insensitive(true).multi_line(true).size_limit(MOST_BYTES);
                WantedText::Pattern(builder.build().map_err(|error| error.to_string())?)
            }
        };
        Ok(Self { wanted, is_negated })
    }

    /// Whether something with these texts is wanted.
    pub(crate) fn wants<'a>(&self, mut texts: impl Iterator<Item = &'a str>) -> bool {
        let has = match &self.wanted {
            WantedText::Words(words) => texts.any(|text| text.to_lowercase().contains(words)),
            WantedText::Pattern(pattern) => texts.any(|text| pattern.is_match(text)),
        };
        has != self.is_negated
    }
}

#[cfg(test)]
mod tests {
    use super::TextSearch;

    #[test]
    fn words_patterns_and_what_has_neither() {
        let texts = ["Order A-17", "two\nlines"];
        for (search, is_wanted) in [
            ("order", true),
            ("orders", false),
            ("-orders", true),
            ("-a-17", false),
            ("-", true),
            ("/a-\\d+$/", true),
            ("/^lines$/", true),
            ("/a-\\d{3}/", false),
            ("-/a-\\d{3}/", true),
            ("/", false),
            ("//", false),
        ] {
            let found = TextSearch::parse(search).unwrap().wants(texts.into_iter());
            assert_eq!(found, is_wanted, "{search}");
        }
        assert!(TextSearch::parse("/(/").unwrap_err().contains("unclosed group"));
        assert!(TextSearch::parse("/a{1000}{1000}{1000}/").unwrap_err().contains("size limit"));
    }
}
