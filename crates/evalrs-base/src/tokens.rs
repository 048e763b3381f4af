//! How many tokens a text has, without asking anybody.
//!
//! The tokenizer is `o200k_base`, that of OpenAI's models since gpt-4o. Others have tokenizers of their own, which
//! differ: for them this is an approximation. It is an estimate for OpenAI's too, since the tokens that a provider
//! puts around messages, schemas and tools are not in the text. Knows no model, no price and no request.

use tiktoken_rs::o200k_base_singleton;

/// How many prompts an [`Estimator`] tokenizes; the rest it only measures.
pub(crate) const SAMPLED: usize = 200;

/// How many bytes an [`Estimator`] tokenizes at most, whatever the number of prompts.
pub(crate) const SAMPLED_BYTES: usize = 4 << 20;

/// The longest piece of text that is tokenized at once, in bytes. The splitting pattern looks ahead and may step
/// back over all of what it was given, so that pieces bound the time and the steps it takes.
const PIECE: usize = 8 << 10;

/// The number of tokens in the text. Takes time in proportion to its length, whatever stands in it.
///
/// Longer texts are tokenized in pieces, cut at spaces where there are any; a cut adds a token at most here and
/// there.
pub fn estimate(text: &str) -> u64 {
    let tokenizer = o200k_base_singleton();
    pieces(text).map(|piece| tokenizer.count_ordinary(piece) as u64).sum()
}

/// The text in pieces of at most [`PIECE`] bytes. A space goes with the word after it, as it does in a token.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let most = text.floor_char_boundary(PIECE);
        let at_space = || text[..most].rfind(' ').filter(|&at| at > 0).unwrap_or(most);
        let at = if most == text.len() { most } else { at_space() };
        let (piece, rest) = text.split_at(at);
        text = rest;
        Some(piece)
    })
}

/// Estimates the tokens of many prompts: the first `SAMPLED` are tokenized, and the rest are taken to have as
/// many tokens a byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimator {
    prompts: u64,
    bytes: u64,
    sampled: usize,
    sampled_bytes: u64,
    sampled_tokens: u64,
}

impl Estimator {
    /// Adds one prompt.
    pub fn add(&mut self, prompt: &str) {
        self.prompts = self.prompts.saturating_add(1);
        self.bytes = self.bytes.saturating_add(prompt.len() as u64);
        let room = SAMPLED_BYTES.saturating_sub(self.sampled_bytes as usize);
        let part = &prompt[..prompt.floor_char_boundary(room)];
        // Empty prompts say nothing of the others.
        if part.is_empty() || self.sampled >= SAMPLED {
            return;
        }
        self.sampled += 1;
        self.sampled_bytes += part.len() as u64;
        self.sampled_tokens += estimate(part);
    }

    /// How many prompts were added.
    pub fn prompts(&self) -> u64 {
        self.prompts
    }

    /// The estimated tokens of all prompts together.
    pub fn tokens(&self) -> u64 {
        let sampled = u128::from(self.sampled_bytes);
        if sampled == 0 {
            return 0;
        }
        // Rounded half up, and exact where every prompt was tokenized.
        let whole = u128::from(self.sampled_tokens) * u128::from(self.bytes);
        u64::try_from((whole + sampled / 2) / sampled).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};

    use super::{Estimator, PIECE, SAMPLED, SAMPLED_BYTES, estimate, pieces};

    #[test]
    fn tokens_are_those_of_the_tokenizer() {
        // tiktoken, o200k_base.
        let cases = [
            ("", 0),
            ("hello world", 2),
            ("Is the answer right?", 5),
            ("<|endoftext|>", 7),
            (" ", 1),
            ("\n\n", 1),
            ("1234567", 3),
            ("\0", 1),
        ];
        for (text, expected) in cases {
            assert_eq!(estimate(text), expected, "{text:?}");
        }
    }

    #[test]
    fn hostile_text_is_only_text() {
        let mega = 1 << 20;
        let some = 1 << 16;
        let cases = [
            ("a".repeat(mega), "letters"),
            ("\0".repeat(mega), "NUL"),
            (" ".repeat(mega), "spaces"),
            ("😀".repeat(mega / 4), "emoji"),
            ("A".repeat(some), "capitals"),
            ("\n \t".repeat(some), "blank lines"),
            (" \u{a0}".repeat(some), "odd spaces"),
            ("e\u{301}".repeat(some), "accents"),
            ("漢".repeat(some), "ideographs"),
            ("!".repeat(some), "marks"),
            ("a ".repeat(some), "short words"),
            (format!(" {}", "a".repeat(some)), "one long word"),
            ("'s".repeat(some), "endings"),
            ("0".repeat(some), "digits"),
            ("\u{10ffff}".repeat(some), "no characters"),
        ];
        for (text, what) in &cases {
            let tokens = estimate(text);
            let bytes = text.len() as u64;
            assert!(tokens > 0 && tokens <= bytes, "{what}: {tokens} of {bytes} bytes");
        }
    }

    #[test]
    fn a_long_text_has_about_the_tokens_of_its_parts() {
        let sentence = "The quick brown fox jumps over 13 lazy dogs. ";
        let few = estimate(&sentence.repeat(10));
        let many = estimate(&sentence.repeat(10_000));
        assert!((few * 1000).abs_diff(many) < many / 100, "{few} and {many}");
    }

    #[test]
    fn few_prompts_are_counted_exactly() {
        let mut estimator = Estimator::default();
        assert_eq!((estimator.tokens(), estimator.prompts()), (0, 0));
        for prompt in ["", "hello world", "Is the answer right?"] {
            estimator.add(prompt);
        }
        assert_eq!((estimator.tokens(), estimator.prompts()), (7, 3));
    }

    #[test]
    fn the_rest_is_taken_to_be_alike() {
        let mut estimator = Estimator::default();
        for _ in 0..100_000 {
            estimator.add("");
            estimator.add("hello world");
        }
        assert_eq!((estimator.tokens(), estimator.prompts()), (200_000, 200_000));
        assert_eq!(estimator.sampled, SAMPLED);
        // Rounds half up: 200 prompts of a token in two bytes, and one byte more.
        let mut estimator = Estimator::default();
        for _ in 0..SAMPLED {
            estimator.add("hi");
        }
        estimator.add("x");
        assert_eq!(estimator.tokens(), 201);
    }

    #[test]
    fn a_huge_prompt_is_sampled_at_its_beginning() {
        let mut estimator = Estimator::default();
        estimator.add(&"é ".repeat(SAMPLED_BYTES));
        estimator.add("hello");
        let read = estimator.sampled_bytes as usize;
        assert!(read <= SAMPLED_BYTES && read > SAMPLED_BYTES - 3, "{read}");
        assert!(estimator.tokens() > estimator.sampled_tokens);
    }

    proptest! {
        #[test]
        fn pieces_make_the_text(
            text in proptest::string::string_regex("([a é漢\\n]|😀){0,40}").unwrap(),
            times in 1usize..2000,
        ) {
            let text = text.repeat(times);
            let pieces: Vec<&str> = pieces(&text).collect();
            prop_assert_eq!(pieces.concat(), text.as_str());
            for piece in pieces {
                prop_assert_eq!((piece.is_empty(), piece.len() > PIECE), (false, false));
            }
        }
    }
}
