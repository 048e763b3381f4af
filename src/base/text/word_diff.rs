//! What changed between two texts, word by word, for people at a terminal.
//!
//! Two steps: [`word_diff`] finds the pieces, [`render`] makes them lines. Knows texts, not what they are. The texts
//! are untrusted and may be large, so the work is bounded: what stands alike at both ends is set aside first, and of
//! the rest at most [`MOST_WORDS`] words are compared. Beyond that, lines are compared, and words only within lines
//! that differ, as long as the number lasts; what is left is shown as removed and added whole.

use std::ops::Range;

use anstyle::{AnsiColor, Style};
use similar::{Algorithm, DiffTag, capture_diff_slices};
use unicode_width::UnicodeWidthChar;

use super::flow::Flow;
use super::sanitize;

/// How many words of both texts together are compared; spaces and marks count as words.
pub(crate) const MOST_WORDS: usize = 100_000;

/// How many lines of both texts together are compared where there are too many words.
pub(crate) const MOST_LINES: usize = 100_000;

/// A common piece is absorbed by the changes around it if both are so many times as long.
const TINY: usize = 4;

/// The bytes that a word of context may take on average; longer ones are cut.
const CONTEXT_WORD: usize = 32;

const REMOVED: Style = AnsiColor::Red.on_default();
const ADDED: Style = AnsiColor::Green.on_default();

/// A piece of two texts. No piece is empty, no two neighbours are of one kind, and of a replacement what was
/// removed comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
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
pub(crate) fn word_diff(old: &str, new: &str) -> Vec<Piece> {
    let (start, end) = common_ends(old, new);
    let middle = |text: &str| start..text.len() - end;
    let old_middle = &old[middle(old)];
    let new_middle = &new[middle(new)];
    let mut changes = Changes::default();
    changes.same(&old[..start]);
    let mut room = MOST_WORDS;
    if !changes.compare_words(old_middle, new_middle, &mut room) {
        changes.compare_lines(old_middle, new_middle, &mut room);
    }
    changes.same(&old[old.len() - end..]);
    changes.pieces()
}

/// The bytes of whole words that both texts begin with, and those that the rest of both ends with.
fn common_ends(old: &str, new: &str) -> (usize, usize) {
    let old: Vec<&str> = words(old).collect();
    let new: Vec<&str> = words(new).collect();
    let alike = |(old, new): &(&&str, &&str)| old == new;
    let starts: Vec<usize> =
        old.iter().zip(&new).take_while(alike).map(|(word, _)| word.len()).collect();
    let old = &old[starts.len()..];
    let new = &new[starts.len()..];
    let end = old.iter().rev().zip(new.iter().rev()).take_while(alike);
    (starts.iter().sum(), end.map(|(word, _)| word.len()).sum())
}

/// What a character is to the cutting of words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// White space, which runs together.
    Space,
    /// Letters and digits, which run together.
    Word,
    /// A word of its own: a mark, or a character of two columns, whose scripts have no spaces.
    Single,
}

fn class(char: char) -> Class {
    if char.is_whitespace() {
        Class::Space
    } else if char.width() == Some(2) || (char.is_ascii_punctuation() && char != '_') {
        Class::Single
    } else {
        Class::Word
    }
}

/// The text in words, white space and marks being words too; together they are the text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut chars = rest.char_indices();
        let (_, first) = chars.next()?;
        let mut joined = false;
        let end = chars.find(|(_, char)| {
            // Accents, and what a joiner joins, belong to the character before.
            let belongs = joined || (char.width() == Some(0) && !char.is_whitespace());
            joined = *char == '\u{200d}';
            !belongs && (class(first) == Class::Single || class(*char) != class(first))
        });
        let (word, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        rest = after;
        Some(word)
    })
}

/// What both texts have, then what only one of them has.
#[derive(Debug, Default)]
struct Block {
    same: String,
    removed: String,
    added: String,
}

impl Block {
    fn is_replacement(&self) -> bool {
        !self.removed.is_empty() && !self.added.is_empty()
    }

    fn changed(&self) -> usize {
        self.removed.len().max(self.added.len())
    }
}

#[derive(Debug, Default)]
struct Changes {
    blocks: Vec<Block>,
}

impl Changes {
    fn same(&mut self, text: &str) {
        match self.blocks.last_mut() {
            Some(block) if block.changed() == 0 => block.same.push_str(text),
            _ if text.is_empty() => {}
            _ => self.blocks.push(Block { same: text.to_owned(), ..Block::default() }),
        }
    }

    fn changed(&mut self, removed: &str, added: &str) {
        if self.blocks.is_empty() {
            self.blocks.push(Block::default());
        }
        if let Some(block) = self.blocks.last_mut() {
            block.removed.push_str(removed);
            block.added.push_str(added);
        }
    }

    /// Compares word by word if there is room for so many, which is then taken.
    fn compare_words(&mut self, old: &str, new: &str, room: &mut usize) -> bool {
        let most = room.saturating_add(1);
        let old: Vec<&str> = words(old).take(most).collect();
        let new: Vec<&str> = words(new).take(most).collect();
        let Some(left) = room.checked_sub(old.len() + new.len()) else { return false };
        *room = left;
        compare(&old, &new, |tag, old, new| match tag {
            DiffTag::Equal => self.same(&old.concat()),
            _ => self.changed(&old.concat(), &new.concat()),
        });
        true
    }

    /// Compares line by line, and the words of lines that differ while there is room for them.
    fn compare_lines(&mut self, old: &str, new: &str, room: &mut usize) {
        let old_lines: Vec<&str> = old.split_inclusive('\n').take(MOST_LINES + 1).collect();
        let new_lines: Vec<&str> = new.split_inclusive('\n').take(MOST_LINES + 1).collect();
        if old_lines.len() + new_lines.len() > MOST_LINES {
            self.changed(old, new);
            return;
        }
        compare(&old_lines, &new_lines, |tag, old, new| {
            let old = old.concat();
            let new = new.concat();
            match tag {
                DiffTag::Equal => self.same(&old),
                _ if self.compare_words(&old, &new, room) => {}
                _ => self.changed(&old, &new),
            }
        });
    }

    fn pieces(self) -> Vec<Piece> {
        // Marks first: a phrase is as long as it is only when its words have come together.
        let blocks = absorbed(absorbed(self.blocks, is_mark), is_little);
        let pieces = blocks.into_iter().flat_map(|block| {
            [Piece::Same(block.same), Piece::Removed(block.removed), Piece::Added(block.added)]
        });
        pieces.filter(|piece| !piece.text().is_empty()).collect()
    }
}

/// The blocks, those joined between whose replacements stands what `is_tiny`.
fn absorbed(blocks: Vec<Block>, is_tiny: fn(&Block, &Block) -> bool) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::new();
    for block in blocks {
        match joined.last_mut() {
            Some(last)
                if last.is_replacement() && block.is_replacement() && is_tiny(last, &block) =>
            {
                last.removed.extend([&*block.same, &*block.removed]);
                last.added.extend([&*block.same, &*block.added]);
            }
            _ => joined.push(block),
        }
    }
    joined
}

/// Whether what stands before a change is a space or a mark.
fn is_mark(_: &Block, after: &Block) -> bool {
    const MOST: usize = 3;
    after.same.len() <= MOST && !after.same.chars().any(char::is_alphanumeric)
}

/// Whether what stands between two changes is little beside both.
fn is_little(before: &Block, after: &Block) -> bool {
    after.same.len().saturating_mul(TINY) <= before.changed().min(after.changed())
}

fn compare<'t>(
    old: &[&'t str],
    new: &[&'t str],
    mut found: impl FnMut(DiffTag, &[&'t str], &[&'t str]),
) {
    for operation in capture_diff_slices(Algorithm::Myers, old, new) {
        let (tag, in_old, in_new): (DiffTag, Range<usize>, Range<usize>) = operation.as_tag_tuple();
        found(tag, &old[in_old], &new[in_new]);
    }
}

impl Piece {
    /// The text of the piece.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Same(text) | Self::Removed(text) | Self::Added(text) => text,
        }
    }
}

/// The pieces as lines of at most `width` columns, at least 2: `[-removed-]` in red and `{+added+}` in green, with
/// `context_words` words of what stayed the same on either side and `…` for the rest of it.
///
/// None where nothing changed. Texts are made harmless; where a change would not be seen, being one of white space
/// or of characters that are not visible, it is written with escapes. Styles are always written: the caller's stream strips them.
pub(crate) fn render(pieces: &[Piece], width: usize, context_words: usize) -> Vec<String> {
    if pieces.iter().all(|piece| matches!(piece, Piece::Same(_))) {
        return Vec::new();
    }
    let mut lines = Flow::going_on(width);
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Same(text) => {
                let before = if at == 0 { 0 } else { context_words };
                let after = if at + 1 == pieces.len() { 0 } else { context_words };
                lines.push(&context(text, before, after), Style::new());
            }
            Piece::Removed(text) => {
                let text = visible(text, pieces.get(at + 1));
                lines.push(&format!("[-{text}-]"), REMOVED);
            }
            Piece::Added(text) => {
                let before = at.checked_sub(1).and_then(|before| pieces.get(before));
                if let Some(Piece::Removed(_)) = before {
                    lines.may_break();
                }
                lines.push(&format!("{{+{}+}}", visible(text, before)), ADDED);
            }
        }
    }
    lines.finish().iter().map(|line| styled(line)).collect()
}

/// The text, harmless, or its escapes where one would see nothing, or no difference to its neighbour.
pub(crate) fn visible(text: &str, neighbour: Option<&Piece>) -> String {
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
    let mut ends = text[..most].char_indices().zip(text[..most].chars().skip(1));
    let is_end =
        |((_, char), next): &((usize, char), char)| !char.is_whitespace() && next.is_whitespace();
    let end = count.checked_sub(1).and_then(|at| ends.by_ref().filter(is_end).nth(at));
    end.map_or(most, |((at, char), _)| at + char.len_utf8())
}

/// Where the last `count` words of the text begin.
fn last_words(text: &str, count: usize) -> usize {
    let least = text.len().saturating_sub(count.saturating_mul(CONTEXT_WORD));
    let least = text.ceil_char_boundary(least);
    let tail = &text[least..];
    let mut starts = tail.char_indices().rev().zip(tail.chars().rev().skip(1));
    let is_start = |((_, char), previous): &((usize, char), char)| {
        !char.is_whitespace() && previous.is_whitespace()
    };
    let start = count.checked_sub(1).and_then(|at| starts.by_ref().filter(is_start).nth(at));
    start.map_or(least, |((at, _), _)| least + at)
}

/// A line with its styles.
fn styled(line: &[(String, Style)]) -> String {
    let pieces: Vec<String> =
        line.iter().map(|(text, style)| format!("{style}{text}{style:#}")).collect();
    pieces.concat()
}

#[cfg(test)]
mod tests;
