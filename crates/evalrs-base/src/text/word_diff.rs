//! What changed between two texts, word by word, for people at a terminal.
//!
//! Two steps: [`word_diff`] finds the pieces, [`render`] makes them lines. Knows texts, not what they are. The texts
//! are untrusted and may be large, so the work is bounded: what stands alike at both ends is set aside first, and of
//! the rest at most `MAX_WORDS` words are compared. Beyond that, lines are compared, and words only within lines
//! that differ, as long as the number lasts; what is left is shown as removed and added whole. No clock bounds it, or
//! the same texts would not always have the same pieces.

use std::ops::Range;

use anstyle::{AnsiColor, Style};
use similar::{Algorithm, DiffTag, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation;

use super::flow::{MAY_BREAK, flow};
use super::sanitize;

/// How many words of both texts together are compared; spaces and marks count as words.
pub(crate) const MAX_WORDS: usize = 100_000;

/// How many lines of both texts together are compared where there are too many words.
pub(crate) const MAX_LINES: usize = 100_000;

/// A common piece is absorbed by the changes around it if both are this many times as long.
const TINY: usize = 4;

/// The bytes that a word of context may take on average; longer ones are cut.
const CONTEXT_WORD: usize = 32;

const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

/// A piece of two texts. No piece is empty, no two neighbours are of one kind, and of a replacement what was
/// removed comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// In both texts.
    Same(String),
    /// In the old text only.
    Removed(String),
    /// In the new text only.
    Added(String),
}

/// The pieces that turn `old` into `new`, white space included: same and removed ones together are `old`, same and
/// added ones are `new`.
///
/// Replaced phrases stay together: what little they have in common is part of both.
pub fn word_diff(old: &str, new: &str) -> Vec<Piece> {
    let mut comparison = WordComparison { old, new, words_left: MAX_WORDS };
    let middle = comparison.without_common_ends();
    let mut changes = comparison.by_words(&middle).unwrap_or_else(|| comparison.by_lines(&middle));
    // Marks first: a phrase is as long as it is only when its words have come together.
    changes.dedup_by(|after, before| {
        let between = &old[before.old.end..after.old.start];
        let is_mark = between.len() <= 3 && !between.chars().any(char::is_alphanumeric);
        is_mark && before.absorb(after)
    });
    changes.dedup_by(|after, before| {
        let between = after.old.start - before.old.end;
        let is_little = between.saturating_mul(TINY) <= before.len().min(after.len());
        is_little && before.absorb(after)
    });
    let mut pieces = Vec::new();
    let mut at = 0;
    for change in changes {
        pieces.push(Piece::Same(old[at..change.old.start].to_owned()));
        at = change.old.end;
        pieces.push(Piece::Removed(old[change.old].to_owned()));
        pieces.push(Piece::Added(new[change.new].to_owned()));
    }
    pieces.push(Piece::Same(old[at..].to_owned()));
    pieces.retain(|piece| !piece.text().is_empty());
    pieces
}

/// Bytes of the old text, and their replacement in the new one; either may be empty.
#[derive(Clone, Debug)]
struct ChangedRange {
    old: Range<usize>,
    new: Range<usize>,
}

impl ChangedRange {
    fn len(&self) -> usize {
        self.old.len().max(self.new.len())
    }

    fn is_replacement(&self) -> bool {
        !self.old.is_empty() && !self.new.is_empty()
    }

    /// Takes in a later change and the text between, if both replace something. Returns whether it did.
    fn absorb(&mut self, after: &Self) -> bool {
        let joins = self.is_replacement() && after.is_replacement();
        if joins {
            self.old.end = after.old.end;
            self.new.end = after.new.end;
        }
        joins
    }
}

struct WordComparison<'t> {
    old: &'t str,
    new: &'t str,
    /// How many more words may be compared.
    words_left: usize,
}

impl WordComparison<'_> {
    /// Both texts without the words that they begin and end with alike.
    fn without_common_ends(&self) -> ChangedRange {
        let starts = self.old.split_word_bounds().zip(self.new.split_word_bounds());
        let start = alike(starts);
        let old = &self.old[start..];
        let new = &self.new[start..];
        let end = alike(old.split_word_bounds().rev().zip(new.split_word_bounds().rev()));
        ChangedRange { old: start..self.old.len() - end, new: start..self.new.len() - end }
    }

    /// What changed of a part, word by word; none where that would be more words than are left.
    fn by_words(&mut self, part: &ChangedRange) -> Option<Vec<ChangedRange>> {
        let most = self.words_left + 1;
        let old: Vec<&str> = self.old[part.old.clone()].split_word_bounds().take(most).collect();
        let new: Vec<&str> = self.new[part.new.clone()].split_word_bounds().take(most).collect();
        self.words_left = self.words_left.checked_sub(old.len() + new.len())?;
        Some(changes(&old, &new, part))
    }

    /// What changed of a part, line by line; within lines that differ by words, while any are left.
    fn by_lines(&mut self, part: &ChangedRange) -> Vec<ChangedRange> {
        let most = MAX_LINES + 1;
        let old: Vec<&str> = self.old[part.old.clone()].split_inclusive('\n').take(most).collect();
        let new: Vec<&str> = self.new[part.new.clone()].split_inclusive('\n').take(most).collect();
        if old.len() + new.len() > MAX_LINES {
            return vec![part.clone()];
        }
        let lines = changes(&old, &new, part).into_iter();
        lines.flat_map(|lines| self.by_words(&lines).unwrap_or_else(|| vec![lines])).collect()
    }
}

/// The bytes of the first pairs whose halves are alike.
fn alike<'t>(pairs: impl Iterator<Item = (&'t str, &'t str)>) -> usize {
    pairs.take_while(|(old, new)| old == new).map(|(word, _)| word.len()).sum()
}

/// Where the tokens of a part differ.
fn changes(old: &[&str], new: &[&str], part: &ChangedRange) -> Vec<ChangedRange> {
    let bytes = |tokens: &[&str]| tokens.iter().map(|token| token.len()).sum::<usize>();
    let mut changes: Vec<ChangedRange> = Vec::new();
    let mut at_old = part.old.start;
    let mut at_new = part.new.start;
    for operation in capture_diff_slices(Algorithm::Myers, old, new) {
        let (tag, in_old, in_new) = operation.as_tag_tuple();
        let from_old = at_old;
        let from_new = at_new;
        at_old += bytes(&old[in_old]);
        at_new += bytes(&new[in_new]);
        match changes.last_mut() {
            _ if tag == DiffTag::Equal => {}
            // What is removed and added at one place is one change.
            Some(last) if last.old.end == from_old && last.new.end == from_new => {
                last.old.end = at_old;
                last.new.end = at_new;
            }
            _ => changes.push(ChangedRange { old: from_old..at_old, new: from_new..at_new }),
        }
    }
    changes
}

impl Piece {
    /// The text of the piece.
    pub fn text(&self) -> &str {
        match self {
            Self::Same(text) | Self::Removed(text) | Self::Added(text) => text,
        }
    }
}

/// The pieces as lines of at most `width` columns, at least 2, what was removed in red and what was added in green: see
/// [`marked`]. Styles are always written: the caller's stream strips them.
pub fn render(pieces: &[Piece], width: usize, context_words: usize) -> Vec<String> {
    let marked = marked(pieces, context_words);
    if marked.is_empty() {
        return Vec::new();
    }
    let text = marked.iter().enumerate().map(|(at, piece)| match piece {
        Piece::Same(text) => (text.clone(), Style::new()),
        Piece::Removed(text) => {
            let joint =
                if matches!(marked.get(at + 1), Some(Piece::Added(_))) { MAY_BREAK } else { "" };
            (format!("{text}{joint}"), REMOVED)
        }
        Piece::Added(text) => (text.clone(), ADDED),
    });
    flow(&text.collect::<Vec<_>>(), width).iter().map(|line| styled(line)).collect()
}

/// The pieces as people are shown them: `[-removed-]` and `{+added+}`, with `context_words` words of what stayed the same on
/// either side and `…` for the rest of it.
///
/// None where nothing changed. Texts are made harmless; where a change would not be seen, being one of white space
/// or of characters that are not visible, it is written with escapes.
pub fn marked(pieces: &[Piece], context_words: usize) -> Vec<Piece> {
    if pieces.iter().all(|piece| matches!(piece, Piece::Same(_))) {
        return Vec::new();
    }
    let marked = pieces.iter().enumerate().map(|(at, piece)| {
        let previous = at.checked_sub(1).and_then(|at| pieces.get(at));
        let next = pieces.get(at + 1);
        match piece {
            Piece::Same(text) => {
                let before = if at == 0 { 0 } else { context_words };
                let after = if next.is_none() { 0 } else { context_words };
                let text = context(text, before, after);
                // The lines begin with no space and end in none.
                let text = if at == 0 { text.trim_start() } else { &text };
                Piece::Same(if next.is_none() { text.trim_end() } else { text }.to_owned())
            }
            Piece::Removed(text) => Piece::Removed(format!("[-{}-]", visible(text, next))),
            Piece::Added(text) => Piece::Added(format!("{{+{}+}}", visible(text, previous))),
        }
    });
    marked.collect()
}

/// The text, harmless, or its escapes where one would see nothing, or no difference to its neighbour.
pub fn visible(text: &str, neighbour: Option<&Piece>) -> String {
    let clean = sanitize(text);
    let alike = match neighbour {
        Some(Piece::Removed(other) | Piece::Added(other)) => sanitize(other) == clean,
        _ => false,
    };
    let escaped = alike || clean.trim().is_empty();
    if escaped { sanitize(&text.escape_debug().to_string()) } else { clean }
}

/// The first `before` and the last `after` words of the text, harmless, and an ellipsis between them unless it
/// would stand for no more than a word.
fn context(text: &str, before: usize, after: usize) -> String {
    let start = first_words(text, before);
    let end = last_words(text, after);
    let Some(between) = text.get(start..end) else { return sanitize(text) };
    if between.len() <= CONTEXT_WORD && between.split_whitespace().nth(1).is_none() {
        return sanitize(text);
    }
    let head = sanitize(&text[..start]);
    let tail = sanitize(&text[end..]);
    format!("{} … {}", head.trim_end(), tail.trim_start())
}

/// Where the first `count` words of the text end.
fn first_words(text: &str, count: usize) -> usize {
    let most = text.floor_char_boundary(count.saturating_mul(CONTEXT_WORD));
    let spaces = text[..most].match_indices(char::is_whitespace).map(|(at, _)| at);
    let mut ends = spaces.filter(|at| text[..*at].ends_with(|char: char| !char.is_whitespace()));
    ends.nth(count.saturating_sub(1)).unwrap_or(most)
}

/// Where the last `count` words of the text begin.
fn last_words(text: &str, count: usize) -> usize {
    let least = text.len().saturating_sub(count.saturating_mul(CONTEXT_WORD));
    let least = text.ceil_char_boundary(least);
    let spaces = text[least..].rmatch_indices(char::is_whitespace);
    let afters = spaces.map(|(at, space)| least + at + space.len());
    let mut starts =
        afters.filter(|at| text[*at..].starts_with(|char: char| !char.is_whitespace()));
    starts.nth(count.saturating_sub(1)).unwrap_or(least)
}

/// A line with its styles.
fn styled(line: &[(String, Style)]) -> String {
    let pieces = line.iter().map(|(text, style)| format!("{style}{text}{style:#}"));
    pieces.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests;
