//! Patterns of Python's `re`, compiled for Rust.
//!
//! Python's syntax and Rust's look alike and mean different things: `$` before a last line feed, what a word is, `\Z`,
//! `(?P=name)`, which escapes are refused. Here a pattern is read by Python's own rules and then written anew for an
//! engine: the [`regex`] crate, whose time is linear in the text, and only for what that cannot say (look-around,
//! back-references, atomic groups, conditionals) [`fancy_regex`], which counts its steps and gives up. So neither a
//! pattern nor a text that is not trusted can take more than a bounded time.
//!
//! ```
//! use python_re::Regex;
//!
//! let answer = Regex::new(r"(?P<name>\w+) (?=\d)(\d+)$")?;
//! let found = answer.captures_at("total 12\n", 0)?.expect("it matches before the last line feed");
//! assert_eq!(found.groups, [Some(0..8), Some(0..5), Some(6..8)]);
//! assert_eq!(answer.group_index("name"), Some(1));
//! # Ok::<(), python_re::RegexProblem>(())
//! ```
//!
//! What Python refuses is refused, at the same place:
//!
//! ```
//! # use python_re::Regex;
//! let problem = Regex::new("a(b").expect_err("the group is open");
//! assert_eq!(problem.to_string(), "the group is not closed at position 1");
//! ```
//!
//! Known to differ from Python: Unicode is newer than that of Python 3.11, and a group inside a repetition that matches
//! the empty text may report another repetition's match.

mod emit;
mod parse;
mod problem;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod tree;

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use emit::{Linear, Needs};
use problem::MAX_STEPS;
pub use problem::RegexProblem;

/// The longest pattern, in bytes.
const MAX_PATTERN: usize = 1 << 16;

/// Where the groups of one match lie in the text, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captures {
    /// Group 0 is the whole match and always there; a group that took no part is none.
    pub groups: Vec<Option<Range<usize>>>,
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Regex {
    names: Vec<(String, usize)>,
    group_count: usize,
    linear: Option<(regex::Regex, Linear)>,
    backtracking_source: String,
    backtracking: OnceLock<Result<fancy_regex::Regex, RegexProblem>>,
}

impl Regex {
    /// Compiles a pattern as `re.compile(pattern)` would.
    ///
    /// ```
    /// use python_re::{Regex, RegexProblem};
    ///
    /// assert!(Regex::new(r"(?i)straße").is_ok());
    /// assert!(matches!(Regex::new("a**"), Err(RegexProblem::Syntax { position: 2, .. })));
    /// assert_eq!(Regex::new("(?:a{1000}){1000}").err(), Some(RegexProblem::TooLarge));
    /// ```
    pub fn new(pattern: &str) -> Result<Self, RegexProblem> {
        if pattern.len() > MAX_PATTERN {
            return Err(RegexProblem::TooLarge);
        }
        let tree = parse::parse(pattern)?;
        let linear = match emit::linear(&tree) {
            Some(linear) => Some((compile_linear(&linear.source)?, linear)),
            None => None,
        };
        let regex = Self {
            linear,
            backtracking_source: emit::backtracking(&tree),
            names: tree.names,
            group_count: tree.group_count,
            backtracking: OnceLock::new(),
        };
        if regex.linear.is_none() {
            regex.backtracking().map_err(Clone::clone)?;
        }
        Ok(regex)
    }

    /// The first match at or after byte `start` of `text`, which it sees whole: `^` is the start of `text`.
    ///
    /// There is none where `start` is inside a character.
    ///
    /// ```
    /// # use python_re::Regex;
    /// let digits = Regex::new(r"(?<=-)\d+")?;
    /// let second = digits.captures_at("1-2-3", 3)?.map(|found| found.groups);
    /// assert_eq!(second, Some(vec![Some(4..5)]));
    /// # Ok::<(), python_re::RegexProblem>(())
    /// ```
    pub fn captures_at(&self, text: &str, start: usize) -> Result<Option<Captures>, RegexProblem> {
        if !text.is_char_boundary(start) {
            return Ok(None);
        }
        match &self.linear {
            Some((regex, linear)) if suits(linear.needs, text) => {
                let found = regex.captures_at(text, start);
                Ok(found.map(|found| linear_captures(&found, linear, self.group_count)))
            }
            _ => {
                let regex = self.backtracking().map_err(Clone::clone)?;
                let found =
                    regex.captures_from_pos(text, start).map_err(|error| problem(&error))?;
                Ok(found.map(|found| self.backtracking_captures(&found)))
            }
        }
    }

    /// All matches in `text`, one after another: `re.finditer`. After an empty match the search goes on one character
    /// further; after an error it ends.
    ///
    /// ```
    /// # use python_re::{Regex, RegexProblem};
    /// let marks = Regex::new("b*")?;
    /// let found: Result<Vec<_>, _> = marks.find_all("äbb").collect();
    /// let places: Vec<_> = found?.iter().map(|it| it.groups[0].clone().unwrap()).collect();
    /// assert_eq!(places, [0..0, 2..4, 4..4]);
    /// # Ok::<(), RegexProblem>(())
    /// ```
    pub fn find_all(&self, text: &str) -> impl Iterator<Item = Result<Captures, RegexProblem>> {
        let mut start = 0;
        std::iter::from_fn(move || {
            let found = self.captures_at(text, start).transpose()?;
            let whole = found.as_ref().ok().and_then(|found| found.groups.first()?.clone());
            // Behind the end of the text, where nothing is found any more.
            start = whole.map_or(text.len() + 1, |whole| match text[whole.end..].chars().next() {
                Some(next) if whole.is_empty() => whole.end + next.len_utf8(),
                None if whole.is_empty() => text.len() + 1,
                _ => whole.end,
            });
            Some(found)
        })
    }

    /// Whether it matches anywhere in `text`: `re.search`.
    ///
    /// ```
    /// # use python_re::{Regex, RegexProblem};
    /// assert!(Regex::new(r"(\w)\1")?.is_match("letter")?);
    /// let slow = Regex::new(r"(?=(a+))(?:a|a)*b\1")?;
    /// assert_eq!(slow.is_match(&"a".repeat(100)), Err(RegexProblem::TooManySteps));
    /// # Ok::<(), RegexProblem>(())
    /// ```
    pub fn is_match(&self, text: &str) -> Result<bool, RegexProblem> {
        match &self.linear {
            Some((regex, linear)) if suits(linear.needs, text) => Ok(regex.is_match(text)),
            _ => {
                let regex = self.backtracking().map_err(Clone::clone)?;
                regex.is_match(text).map_err(|error| problem(&error))
            }
        }
    }

    /// The number of the group `name`.
    pub fn group_index(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, index)| *index)
    }

    /// The number of groups, group 0 not counted.
    pub fn group_count(&self) -> usize {
        self.group_count
    }

    /// The backtracking engine is compiled on first use: most patterns never need it.
    fn backtracking(&self) -> Result<&fancy_regex::Regex, &RegexProblem> {
        let compiled = self.backtracking.get_or_init(|| {
            fancy_regex::RegexBuilder::new(&self.backtracking_source)
                .backtrack_limit(MAX_STEPS)
                .build()
                .map_err(|error| problem(&error))
        });
        compiled.as_ref()
    }

    fn backtracking_captures(&self, found: &fancy_regex::Captures<'_, str>) -> Captures {
        let groups = (0..=self.group_count).map(|group| found.get(group).map(|m| m.range()));
        Captures { groups: groups.collect() }
    }
}

fn compile_linear(source: &str) -> Result<regex::Regex, RegexProblem> {
    regex::RegexBuilder::new(source).nest_limit(1000).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => RegexProblem::TooLarge,
        other => RegexProblem::Unsupported(last_line(&other.to_string())),
    })
}

/// Whether the linear engine agrees with Python on `text`.
fn suits(needs: Needs, text: &str) -> bool {
    /// Characters that are word characters to one of them only.
    static DISPUTED: LazyLock<Option<regex::Regex>> =
        LazyLock::new(|| regex::Regex::new(r"[\w~~[\p{L}\p{N}_]]").ok());
    if (needs.no_last_line_feed && text.ends_with('\n')) || (needs.not_empty && text.is_empty()) {
        return false;
    }
    if !(needs.ascii || needs.plain_words) || text.is_ascii() {
        return true;
    }
    !needs.ascii && DISPUTED.as_ref().is_some_and(|disputed| !disputed.is_match(text))
}

fn linear_captures(found: &regex::Captures<'_>, linear: &Linear, count: usize) -> Captures {
    let marked = linear.markers.iter().find_map(|marker| found.get(*marker));
    let end = marked.map_or(usize::MAX, |line_feed| line_feed.start());
    let groups = (0..=count).map(|group| {
        let found = found.get(*linear.groups.get(group)?)?;
        Some(found.start().min(end)..found.end().min(end))
    });
    Captures { groups: groups.collect() }
}

fn problem(error: &fancy_regex::Error) -> RegexProblem {
    match error {
        fancy_regex::Error::RuntimeError(_) => RegexProblem::TooManySteps,
        fancy_regex::Error::ParseError(_, fancy_regex::ParseError::RecursionExceeded) => {
            RegexProblem::TooLarge
        }
        fancy_regex::Error::CompileError(inner) => match &**inner {
            fancy_regex::CompileError::InnerError(inner) if inner.size_limit().is_some() => {
                RegexProblem::TooLarge
            }
            fancy_regex::CompileError::PatternTooComplex => RegexProblem::TooLarge,
            other => RegexProblem::Unsupported(last_line(&other.to_string())),
        },
        other => RegexProblem::Unsupported(last_line(&other.to_string())),
    }
}

/// Parsers of patterns draw the pattern; only their last line says what is wrong.
fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned()
}
