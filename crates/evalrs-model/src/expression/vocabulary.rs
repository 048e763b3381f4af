//! Which words, signs and functions an expression may have: one over scores has fewer than one over rows.

use super::tree::{Function, OF_ROWS, OF_SCORES};

/// What the names of an expression stand for, and which words it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vocabulary {
    /// The scores of graders.
    Scores,
    /// What rows hold.
    Rows,
}

impl Vocabulary {
    /// The words that are not names.
    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Scores => &["if", "else", "and", "or", "not"],
            Self::Rows => &["if", "else", "and", "or", "not", "in"],
        }
    }

    pub(super) fn signs(self) -> &'static [&'static str] {
        const SIGNS: [&str; 15] =
            ["<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/", "(", ")", ",", "[", "]"];
        match self {
            // Lists are of rows alone.
            Self::Scores => &SIGNS[..13],
            Self::Rows => &SIGNS,
        }
    }

    pub(super) fn functions(self) -> &'static [(&'static str, Function, usize, usize)] {
        match self {
            Self::Scores => OF_SCORES,
            Self::Rows => OF_ROWS,
        }
    }

    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Scores => {
                "write one over the names of graders, for example `0.7*quality + 0.3*policy`"
            }
            Self::Rows => {
                "write one over fields of the rows, for example `not improper and 'refund' in tags`"
            }
        }
    }

    pub(super) fn is_word(self, word: &str) -> bool {
        self.words().contains(&word)
    }
}
