//! Which words count as changed, and the lines that show them.

use anstream::adapter::strip_str;
use proptest::{prop_assert, prop_assert_eq, proptest};
use unicode_segmentation::UnicodeSegmentation;

use super::{MAX_LINES, MAX_WORDS, Piece, render, word_diff};
use crate::text::columns;

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
        ("it isn't 1.5", "it isn't 2.5", "it isn't [-1.5-]{+2.5+}"),
        ("line\nnext\n", "line\nlast\n", "line\n[-next-]{+last+}\n"),
    ];
    for (old, new, expected) in cases {
        assert_eq!(shown(old, new), expected, "{old:?} to {new:?}");
    }
}

#[test]
fn far_apart_changes_of_a_large_text_are_found() {
    let text = |first: &str, second: &str| {
        let filler = numbered(MAX_WORDS / 4, " of many lines");
        format!("start {first}\n{filler}{second} end")
    };
    let filler = text("", "");
    let filler = filler.strip_prefix("start ").unwrap().strip_suffix(" end").unwrap();
    assert!(filler.split_word_bounds().count() > MAX_WORDS);
    let old = text("one", "two");
    let new = text("eins", "zwei");
    let expected = format!("start [-one-]{{+eins+}}{filler}[-two-]{{+zwei+}} end");
    assert!(shown(&old, &new) == expected);
}

#[test]
fn too_many_words_without_lines_are_replaced_whole() {
    let middle = "m ".repeat(MAX_WORDS);
    let pieces = word_diff(&format!("a 1 {middle}2 z"), &format!("a 3 {middle}4 z"));
    let expected = [
        Piece::Same("a ".to_owned()),
        Piece::Removed(format!("1 {middle}2")),
        Piece::Added(format!("3 {middle}4")),
        Piece::Same(" z".to_owned()),
    ];
    assert!(pieces == expected);
    let lines = "\n".repeat(MAX_LINES);
    let old = numbered(MAX_LINES, " old");
    check(&word_diff(&old, &lines), &old, &lines);
    let pieces = word_diff(&format!("1 {old}2"), &format!("3 {old}4"));
    assert_eq!(pieces.len(), 2);
}

#[test]
fn hostile_texts_take_their_time_and_no_more() {
    let mega = 1 << 17;
    let texts =
        [
            "a".repeat(mega),
            "a ".repeat(mega / 2),
            "\n".repeat(mega),
            "😀".repeat(mega / 4),
            "\u{301}".repeat(mega / 2),
            "\u{1b}[31m".repeat(mega / 5),
            // Few distinct words in no order: the worst for an algorithm that looks for what is alike.
            (0..MAX_WORDS as u64 / 10)
                .map(|at| {
                    if at.wrapping_mul(at).wrapping_mul(0x9E37_79B9) % 11 < 5 { "x " } else { "y " }
                })
                .collect(),
            (0..MAX_WORDS as u64 / 10)
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
        ("a\u{1b}[31mb", "a c", "a[-b-]{+ c+}"),
        ("a\nb", "a b", "a[-\\n-]{+ +}b"),
        ("a b", "a\u{200b} b", "a{+\\u{200b}+} b"),
        ("a b", "a \u{200b}b", "a {+\\u{200b}+}b"),
        ("é\n'b", "é\n\u{202e}'b", "é {+\\u{202e}+}'b"),
        ("a!b", "a!\0 b", "a!{+\\0 +}b"),
        ("a\tb", "a\t\tb", "a {+\\t+}b"),
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
