//! The text of an expression into tokens.

use std::ops::Range;

use super::problem::{ParseResult, problem};
use super::vocabulary::Vocabulary;
use evalrs_base::exact::is_beyond_floats;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    /// A whole number that is none as a float, in a condition on rows.
    Whole(i128),
    /// A name without quotes, which may be a word of the language.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    /// A text in quotes.
    Text(String),
    Sign(&'static str),
}

/// Signs of other languages, and what to write instead.
const FOREIGN: [(&str, &str); 11] = [
    ("&&", "write `and`"),
    ("||", "write `or`"),
    ("**", "powers are not supported: write `x*x`"),
    ("//", "write `/`"),
    ("=>", "write `>=`"),
    ("=<", "write `<=`"),
    ("<>", "write `!=`"),
    ("=", "write `==` to compare"),
    ("!", "write `not`"),
    ("?", "write `A if CONDITION else B`"),
    ("%", "write a fraction: `0.7`, not `70%`"),
];

/// Reads tokens one by one.
pub(super) struct Lexer<'t> {
    pub text: &'t str,
    pub at: usize,
    pub vocabulary: Vocabulary,
}

impl<'t> Lexer<'t> {
    pub(super) fn all(mut self) -> ParseResult<Vec<(Token, Range<usize>)>> {
        let mut tokens = Vec::new();
        loop {
            let rest = &self.text[self.at..];
            self.at += rest.len() - rest.trim_start().len();
            if self.at == self.text.len() {
                return Ok(tokens);
            }
            let from = self.at;
            let token = self.token()?;
            tokens.push((token, from..self.at));
        }
    }

    fn token(&mut self) -> ParseResult<Token> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next().unwrap_or_default();
        let digit_follows =
            rest[first.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
        if first.is_ascii_digit() || first == '.' && digit_follows {
            return self.number();
        }
        if is_start(first) {
            return Ok(Token::Word(self.word()));
        }
        if let '`' | '\'' | '"' = first {
            return self.quoted(first);
        }
        if let Some((sign, hint)) = self.foreign() {
            let at = self.at..self.at + sign.len();
            return Err(problem(at, format!("`{sign}` has no meaning here")).hint(hint));
        }
        if let Some(sign) = self.vocabulary.signs().iter().find(|sign| rest.starts_with(**sign)) {
            self.at += sign.len();
            return Ok(Token::Sign(sign));
        }
        let at = self.at..self.at + first.len_utf8();
        let shown: String = first.escape_debug().collect();
        let unknown = problem(at, format!("`{shown}` has no meaning here"));
        let after_name = self.text[..self.at].ends_with(is_inside);
        let is_of_scores = self.vocabulary == Vocabulary::Scores;
        Err(if matches!(first, '.' | '[') && after_name && is_of_scores {
            unknown.hint("write the name of a grader for its score")
        } else {
            unknown
        })
    }

    /// A sign of another language. `==` and `!=` begin like one and are none.
    fn foreign(&self) -> Option<(&'static str, &'static str)> {
        let rest = &self.text[self.at..];
        let is_ours = rest.starts_with("==") || rest.starts_with("!=");
        FOREIGN.into_iter().find(|(sign, _)| rest.starts_with(sign)).filter(|_| !is_ours)
    }

    /// A name or a word of the language; of rows, with the dotted path that follows it.
    fn word(&mut self) -> String {
        let mut word = self.take_while(is_inside).to_owned();
        if self.vocabulary == Vocabulary::Scores {
            return word;
        }
        while let Some(step) = path_step(&self.text[self.at..]) {
            self.at += step.len();
            word.push_str(step);
        }
        word
    }

    fn take_while(&mut self, is_part: fn(char) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        let length = rest.find(|char: char| !is_part(char)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn number(&mut self) -> ParseResult<Token> {
        let from = self.at;
        self.take_while(|char| char.is_ascii_digit());
        if self.text[self.at..].starts_with('.') {
            self.at += 1;
            self.take_while(|char| char.is_ascii_digit());
        }
        let digits = self.at;
        if self.text[self.at..].starts_with(['e', 'E']) {
            self.at += 1;
            if self.text[self.at..].starts_with(['+', '-']) {
                self.at += 1;
            }
            if self.take_while(|char| char.is_ascii_digit()).is_empty() {
                self.at = digits;
            }
        }
        let end = self.at;
        if !self.take_while(is_inside).is_empty() {
            let message = format!("`{}` is not a number", &self.text[from..self.at]);
            let wrong = problem(from..self.at, message);
            let mut words = self.vocabulary.words().iter();
            return Err(if words.any(|word| self.text[end..].starts_with(word)) {
                wrong.hint("write a space after the number")
            } else {
                wrong.hint("write `*` to multiply; put a name that begins with a digit in quotes")
            });
        }
        // What rows hold is compared with it to the last digit.
        let whole = self.text[from..end].parse().ok().filter(|whole| is_beyond_floats(*whole));
        if let Some(whole) = whole.filter(|_| self.vocabulary == Vocabulary::Rows) {
            return Ok(Token::Whole(whole));
        }
        let value: f64 = self.text[from..end].parse().unwrap_or(f64::INFINITY);
        if value.is_finite() {
            return Ok(Token::Number(value));
        }
        Err(problem(from..end, "this number is too large"))
    }

    fn quoted(&mut self, quote: char) -> ParseResult<Token> {
        let from = self.at;
        let rest = &self.text[from + 1..];
        let Some(length) = rest.find(quote) else {
            return Err(problem(from..self.text.len(), "this quote is never closed"));
        };
        self.at = from + 1 + length + 1;
        if self.vocabulary == Vocabulary::Rows && quote != '`' {
            return Ok(Token::Text(rest[..length].to_owned()));
        }
        if length == 0 {
            return Err(problem(from..self.at, "the name between these quotes is empty"));
        }
        Ok(Token::Quoted(rest[..length].to_owned()))
    }
}

fn is_start(char: char) -> bool {
    char.is_alphabetic() || char == '_'
}

fn is_inside(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// A `.name`, `.0` or `[0]` that goes on with a path.
fn path_step(text: &str) -> Option<&str> {
    let mut characters = text.char_indices();
    let (_, first) = characters.next()?;
    let end = match first {
        '.' => characters
            .find(|(_, next)| !is_inside(*next) && *next != '-')
            .map_or(text.len(), |(at, _)| at),
        '[' => {
            characters.find(|(_, next)| !next.is_ascii_digit()).filter(|(_, next)| *next == ']')?.0
                + 1
        }
        _ => return None,
    };
    (end > 1 && &text[..end] != "[]").then(|| &text[..end])
}
