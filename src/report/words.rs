//! What changed between two texts, word by word, for people at a terminal.
//!
//! Two steps: [`word_diff`] finds the pieces, [`render`] makes them lines. Knows texts, not what they are. The texts
//! are untrusted and may be large, so the work is bounded: what stands alike at both ends is set aside first, and of
//! the rest at most [`MOST_WORDS`] words are compared. Beyond that, lines are compared, and words only within lines
//! that differ, as long as the number lasts; what is left is shown as removed and added whole.

use std::fmt::Write as _;
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use similar::{Algorithm, DiffTag, capture_diff_slices};
use unicode_width::UnicodeWidthChar;

use super::text::sanitize;

/// How many words of both texts together are compared; spaces and marks count as words.
pub const MOST_WORDS: usize = 100_000;

/// How many lines of both texts together are compared where there are too many words.
pub const MOST_LINES: usize = 100_000;

/// A common piece is absorbed by the changes around it if both are so many times as long.
const TINY: usize = 4;

/// The bytes that a word of context may take on average; longer ones are cut.
const CONTEXT_WORD: usize = 32;

/// The most characters of a line for each of its columns; marks on letters take no column of their own.
const CHARS_PER_COLUMN: usize = 4;

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
    let (start, end) = common_ends(old, new);
    let middle = |text: &str| start..text.len() - end;
    let (old_middle, new_middle) = (&old[middle(old)], &new[middle(new)]);
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
    let (old, new): (Vec<&str>, Vec<&str>) = (words(old).collect(), words(new).collect());
    let alike = |(old, new): &(&&str, &&str)| old == new;
    let starts: Vec<usize> =
        old.iter().zip(&new).take_while(alike).map(|(word, _)| word.len()).collect();
    let (old, new) = (&old[starts.len()..], &new[starts.len()..]);
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
            let (old, new) = (old.concat(), new.concat());
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
    pub fn text(&self) -> &str {
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
pub fn render(pieces: &[Piece], width: usize, context_words: usize) -> Vec<String> {
    if pieces.iter().all(|piece| matches!(piece, Piece::Same(_))) {
        return Vec::new();
    }
    let mut lines = Lines::new(width.max(2));
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
    lines.finish()
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
    let (head, tail) = (sanitize(&text[..start]), sanitize(&text[end..]));
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

/// Styled text broken into lines, at spaces where there are any.
struct Lines {
    width: usize,
    done: Vec<String>,
    line: Vec<(char, Style)>,
    columns: usize,
    /// Where the line may be broken.
    place: Option<usize>,
}

impl Lines {
    fn new(width: usize) -> Self {
        Self { width, done: Vec::new(), line: Vec::new(), columns: 0, place: None }
    }

    fn push(&mut self, text: &str, style: Style) {
        for char in text.chars() {
            while !self.line.is_empty() && !self.has_room(char) {
                self.wrap(char == ' ');
            }
            if char == ' ' && self.line.is_empty() {
                continue;
            }
            self.columns += columns(char);
            self.line.push((char, style));
            if char == ' ' {
                self.may_break();
            }
        }
    }

    /// Allows a break here, once something stands in the line.
    fn may_break(&mut self) {
        if !self.line.is_empty() {
            self.place = Some(self.line.len());
        }
    }

    fn has_room(&self, char: char) -> bool {
        self.columns + columns(char) <= self.width
            && self.line.len() < self.width * CHARS_PER_COLUMN
    }

    /// Ends the line where it may be broken, or here.
    fn wrap(&mut self, here: bool) {
        let at = self.place.take().filter(|_| !here).unwrap_or(self.line.len());
        let rest = self.line.split_off(at);
        self.done.push(styled(&self.line));
        self.columns = rest.iter().map(|(char, _)| columns(*char)).sum();
        self.line = rest;
    }

    fn finish(mut self) -> Vec<String> {
        if !self.line.is_empty() {
            self.done.push(styled(&self.line));
        }
        self.done
    }
}

/// The columns a character takes at most. A variation selector may widen the one before it.
fn columns(char: char) -> usize {
    if char == '\u{fe0f}' { 1 } else { char.width().unwrap_or(0) }
}

/// The line with its styles, without spaces at its end.
fn styled(line: &[(char, Style)]) -> String {
    let end = line.iter().rposition(|(char, _)| *char != ' ').map_or(0, |last| last + 1);
    let mut text = String::new();
    for run in line[..end].chunk_by(|(_, one), (_, other)| one == other) {
        let style = run[0].1;
        let _ = write!(text, "{style}");
        text.extend(run.iter().map(|(char, _)| char));
        let _ = write!(text, "{style:#}");
    }
    text
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::{MOST_LINES, MOST_WORDS, Piece, render, word_diff, words};
    use crate::report::text::columns;

    /// The pieces on one line, nothing left out.
    fn shown(old: &str, new: &str) -> String {
        let pieces = word_diff(old, new);
        check(&pieces, old, new);
        let shown = |piece: &Piece| match piece {
            Piece::Same(text) => text.clone(),
            Piece::Removed(text) => format!("[-{text}-]"),
            Piece::Added(text) => format!("{{+{text}+}}"),
        };
        pieces.iter().map(shown).collect()
    }

    /// Holds for the pieces of any two texts.
    fn check(pieces: &[Piece], old: &str, new: &str) {
        let without = |is: fn(&Piece) -> bool| -> String {
            pieces.iter().filter(|piece| !is(piece)).map(Piece::text).collect()
        };
        assert!(without(|piece| matches!(piece, Piece::Added(_))) == old, "the old text");
        assert!(without(|piece| matches!(piece, Piece::Removed(_))) == new, "the new text");
        assert!(pieces.iter().all(|piece| !piece.text().is_empty()), "no piece is empty");
        for pair in pieces.windows(2) {
            let ordered = matches!(
                pair,
                [Piece::Same(_), Piece::Removed(_) | Piece::Added(_)]
                    | [Piece::Removed(_), Piece::Added(_) | Piece::Same(_)]
                    | [Piece::Added(_), Piece::Same(_)]
            );
            assert!(ordered, "neighbours differ in kind, and what was removed comes first");
        }
    }

    fn numbered(count: usize, rest: &str) -> String {
        let lines: Vec<String> = (0..count).map(|at| format!("{at}{rest}\n")).collect();
        lines.concat()
    }

    /// The lines without their styles.
    fn lines(old: &str, new: &str, width: usize, context: usize) -> Vec<String> {
        let lines = render(&word_diff(old, new), width, context);
        lines.iter().map(|line| strip_str(line).to_string()).collect()
    }

    #[test]
    fn texts_are_cut_into_words() {
        let cases: [(&str, &[&str]); 7] = [
            ("", &[]),
            ("a  b_1\n\n", &["a", "  ", "b_1", "\n\n"]),
            ("{\"a\":-1.5}", &["{", "\"", "a", "\"", ":", "-", "1", ".", "5", "}"]),
            ("漢字 kana", &["漢", "字", " ", "kana"]),
            ("cafe\u{301}s", &["cafe\u{301}s"]),
            ("👩\u{200d}🚀👍\u{fe0f}x", &["👩\u{200d}🚀", "👍\u{fe0f}", "x"]),
            ("\u{301}!\u{301}\0\0", &["\u{301}", "!\u{301}", "\0\0"]),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }

    #[test]
    fn changes_read_as_phrases() {
        let cases = [
            ("", "", ""),
            ("same text", "same text", "same text"),
            ("", "new", "{+new+}"),
            ("old", "", "[-old-]"),
            ("old", "new", "[-old-]{+new+}"),
            ("the cat sat", "the dog sat", "the [-cat-]{+dog+} sat"),
            ("a b c d", "a x y d", "a [-b c-]{+x y+} d"),
            ("is good, short", "is bad; long", "is [-good, short-]{+bad; long+}"),
            ("one two three", "one three", "one [-two -]three"),
            ("one three", "one two three", "one {+two +}three"),
            ("a b", "a  b", "a[- -]{+  +}b"),
            ("{\"score\":1}", "{\"score\":2}", "{\"score\":[-1-]{+2+}}"),
            ("score 1.", "score 2!", "score [-1.-]{+2!+}"),
            // A word in common between short changes stays; between long ones it does not help.
            ("good the bad", "fine the poor", "[-good-]{+fine+} the [-bad-]{+poor+}"),
            (
                "completely and utterly wrong a without any redeeming quality",
                "entirely correct throughout a thorough work throughout",
                "[-completely and utterly wrong a without any redeeming quality-]{+entirely correct throughout a thorough work throughout+}",
            ),
            ("漢字仮名", "漢語仮名", "漢[-字-]{+語+}仮名"),
            ("line\nnext\n", "line\nlast\n", "line\n[-next-]{+last+}\n"),
        ];
        for (old, new, expected) in cases {
            assert_eq!(shown(old, new), expected, "{old:?} to {new:?}");
        }
    }

    #[test]
    fn far_apart_changes_of_a_large_text_are_found() {
        let text = |first: &str, second: &str| {
            let filler = numbered(MOST_WORDS / 4, " of many lines");
            format!("start {first}\n{filler}{second} end")
        };
        let filler = text("", "");
        let filler = filler.strip_prefix("start ").unwrap().strip_suffix(" end").unwrap();
        assert!(words(filler).count() > MOST_WORDS);
        let (old, new) = (text("one", "two"), text("eins", "zwei"));
        let expected = format!("start [-one-]{{+eins+}}{filler}[-two-]{{+zwei+}} end");
        assert!(shown(&old, &new) == expected);
    }

    #[test]
    fn too_many_words_without_lines_are_replaced_whole() {
        let middle = "m ".repeat(MOST_WORDS);
        let pieces = word_diff(&format!("a 1 {middle}2 z"), &format!("a 3 {middle}4 z"));
        let expected = [
            Piece::Same("a ".to_owned()),
            Piece::Removed(format!("1 {middle}2")),
            Piece::Added(format!("3 {middle}4")),
            Piece::Same(" z".to_owned()),
        ];
        assert!(pieces == expected);
        let lines = "\n".repeat(MOST_LINES);
        let old = numbered(MOST_LINES, " old");
        check(&word_diff(&old, &lines), &old, &lines);
        let pieces = word_diff(&format!("1 {old}2"), &format!("3 {old}4"));
        assert_eq!(pieces.len(), 2);
    }

    #[test]
    fn hostile_texts_take_their_time_and_no_more() {
        let mega = 1 << 17;
        let texts = [
            "a".repeat(mega),
            "a ".repeat(mega / 2),
            "\n".repeat(mega),
            "😀".repeat(mega / 4),
            "\u{301}".repeat(mega / 2),
            "\u{1b}[31m".repeat(mega / 5),
            // Few distinct words in no order: the worst for an algorithm that looks for what is alike.
            (0..MOST_WORDS as u64 / 10)
                .map(|at| {
                    if at.wrapping_mul(at).wrapping_mul(0x9E37_79B9) % 11 < 5 { "x " } else { "y " }
                })
                .collect(),
            (0..MOST_WORDS as u64 / 10)
                .map(|at| {
                    if at.wrapping_mul(at).wrapping_mul(0x85EB_CA6B) % 13 < 6 { "x " } else { "y " }
                })
                .collect(),
        ];
        for (at, old) in texts.iter().enumerate() {
            let new = &texts[(at + 1) % texts.len()];
            let pieces = word_diff(old, new);
            check(&pieces, old, new);
            assert!(!render(&pieces, 80, 3).is_empty());
        }
    }

    #[test]
    fn unchanged_stretches_are_shortened() {
        let long = "one two three four five six seven eight nine ten";
        let cases: &[(String, String, &[&str])] = &[
            ("same".into(), "same".into(), &[]),
            (
                format!("{long} old {long}"),
                format!("{long} new {long}"),
                &["… nine ten [-old-]{+new+} one two …"],
            ),
            (
                format!("a {long} b"),
                format!("c {long} d"),
                &["[-a-]{+c+} one two … nine ten [-b-]{+d+}"],
            ),
            // An ellipsis for one word would save nothing.
            (
                "a one two three four five b".into(),
                "c one two three four five d".into(),
                &["[-a-]{+c+} one two three four five [-b-]{+d+}"],
            ),
            (
                "a one two three four b".into(),
                "c one two three four d".into(),
                &["[-a-]{+c+} one two three four [-b-]{+d+}"],
            ),
            (
                format!("{} old", "x".repeat(1000)),
                format!("{} new", "x".repeat(1000)),
                &[&format!("… {} [-old-]{{+new+}}", "x".repeat(63))],
            ),
        ];
        for (old, new, expected) in cases {
            assert_eq!(lines(old, new, 120, 2), *expected, "{old} to {new}");
        }
        assert_eq!(
            lines(&format!("a {long} b"), &format!("c {long} d"), 80, 0),
            ["[-a-]{+c+} … [-b-]{+d+}"]
        );
    }

    #[test]
    fn lines_are_wrapped_at_spaces() {
        let cases: [(&str, &str, usize, &[&str]); 6] = [
            ("a b", "a c", 80, &["a [-b-]{+c+}"]),
            (
                "keep these old words here",
                "keep these new words here",
                16,
                &["keep these", "[-old-]{+new+}", "words here"],
            ),
            (
                "",
                "a phrase that is longer than a line",
                12,
                &["{+a phrase", "that is", "longer than", "a line+}"],
            ),
            ("", "unbreakableword", 6, &["{+unbr", "eakabl", "eword+", "}"]),
            ("", "漢字漢字", 4, &["{+漢", "字漢", "字+}"]),
            ("x", "y", 0, &["[-", "x-", "]", "{+", "y+", "}"]),
        ];
        for (old, new, width, expected) in cases {
            assert_eq!(lines(old, new, width, 5), expected, "{old} to {new} in {width}");
        }
    }

    #[test]
    fn colours_end_with_their_line() {
        let lines = render(&word_diff("is old", "is very new"), 10, 5);
        insta::assert_snapshot!(format!("{lines:#?}"), @r#"
        [
            "is \u{1b}[31m[-old-]\u{1b}[0m",
            "\u{1b}[32m{+very\u{1b}[0m",
            "\u{1b}[32mnew+}\u{1b}[0m",
        ]
        "#);
    }

    #[test]
    fn text_is_harmless_and_what_is_unseen_is_shown() {
        let cases = [
            ("a\u{1b}[31mb", "a c", "[-ab-]{+a c+}"),
            ("a\nb", "a b", "a[-\\n-]{+ +}b"),
            ("a b", "a\u{200b} b", "[-a-]{+a\\u{200b}+} b"),
            ("a b", "a \u{200b}b", "a[- -]{+ \\u{200b}+}b"),
            ("é\n'b", "é\n\u{202e}'b", "é[-\\n-]{+\\n\\u{202e}+}'b"),
            ("a!b", "a!\0 b", "a!{+\\0 +}b"),
            ("a\tb", "a\t\tb", "a[-\\t-]{+\\t\\t+}b"),
        ];
        for (old, new, expected) in cases {
            assert_eq!(lines(old, new, 80, 5), [expected], "{old:?} to {new:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_hold_together(
            old in "(a|b|c| |\\n|,|漢|\u{301}|word ){0,30}",
            new in "(a|b|c| |\\n|,|漢|\u{301}|word ){0,30}",
        ) {
            check(&word_diff(&old, &new), &old, &new);
        }

        #[test]
        fn lines_fit_and_are_harmless(
            old in "(\\PC|\u{1b}|[a-c ]|\\n){0,40}",
            new in "(\\PC|\u{1b}|[a-c ]|\\n){0,40}",
            width in 2usize..40,
            context in 0usize..4,
        ) {
            let found = lines(&old, &new, width, context);
            prop_assert_eq!(found.is_empty(), old == new);
            for line in found {
                prop_assert!(columns(&line) <= width, "{:?} in {}", line, width);
                prop_assert!(!line.chars().any(char::is_control));
                prop_assert!(!line.ends_with(' '));
            }
        }
    }
}
