//! Texts of others on the screen, and what changed from one to another, word by word.

use ratatui::style::Style;

use super::theme::Theme;
use evalrs_base::text::word_diff::{Piece, visible, word_diff};
use evalrs_base::text::{count, sanitize};

/// The most bytes that are shown of one text.
const MAX_TEXT: usize = 64 << 10;

const TAB: &str = "    ";

/// The lines around a change that are shown of a long text.
const CONTEXT: usize = 2;

/// A part of two texts.
struct TextRun {
    text: String,
    style: Style,
    /// Whether it is in one of them only.
    is_change: bool,
}

/// The new text with the words that changed.
pub(super) fn difference(before: &str, now: &str, theme: Theme) -> Vec<(String, Style)> {
    runs(before, now, theme).into_iter().map(|run| (run.text, run.style)).collect()
}

/// The lines of the new text in which words changed, and those around them.
pub(super) fn changed_lines(before: &str, now: &str, theme: Theme) -> Vec<(String, Style)> {
    let mut lines = vec![ChangedLine::default()];
    for run in runs(before, now, theme) {
        for (at, text) in run.text.split('\n').enumerate() {
            if at > 0 {
                lines.push(ChangedLine::default());
            }
            if let Some(line) = lines.last_mut().filter(|_| !text.is_empty()) {
                line.is_change |= run.is_change;
                line.parts.push((text.to_owned(), run.style));
            }
        }
    }
    // What ends the last line begins no other.
    lines.pop_if(|last| last.parts.is_empty());
    let changed: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| line.is_change).map(|(at, _)| at).collect();
    let is_near = |at: usize| changed.iter().any(|changed| changed.abs_diff(at) <= CONTEXT);
    // A line that says what is left out takes as much room as the one line would.
    let is_alone =
        |at: usize| (at == 0 || is_near(at - 1)) && (at + 1 == lines.len() || is_near(at + 1));
    let shows: Vec<bool> = (0..lines.len()).map(|at| is_near(at) || is_alone(at)).collect();
    let mut shown: Vec<(String, Style)> = Vec::new();
    let mut left_out = 0;
    for (line, is_shown) in lines.into_iter().zip(shows) {
        if !is_shown {
            left_out += 1;
            continue;
        }
        shown.extend(unchanged(std::mem::take(&mut left_out), theme));
        shown.extend(line.parts);
        shown.push(("\n".to_owned(), Style::new()));
    }
    shown.extend(unchanged(left_out, theme));
    // What ends a line ends no text.
    if let Some((text, _)) = shown.last_mut() {
        text.truncate(text.trim_end_matches('\n').len());
    }
    shown
}

/// A line of the new text, with what was removed from it.
#[derive(Default)]
struct ChangedLine {
    parts: Vec<(String, Style)>,
    is_change: bool,
}

fn unchanged(lines: usize, theme: Theme) -> Option<(String, Style)> {
    (lines > 0).then(|| (format!("⋯ {} unchanged\n", count(lines, "line")), theme.faint()))
}

fn runs(before: &str, now: &str, theme: Theme) -> Vec<TextRun> {
    let before = beginning(before).0;
    let now = beginning(now).0;
    let pieces = word_diff(before, now);
    let mut runs: Vec<TextRun> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let previous = at.checked_sub(1).and_then(|at| pieces.get(at));
        let (mut text, style, [start, end]) = match piece {
            Piece::Same(text) => (harmless(text), Style::new(), ["", ""]),
            Piece::Removed(text) => {
                (changed(text, pieces.get(at + 1)), theme.removed(), ["[-", "-]"])
            }
            Piece::Added(text) => (changed(text, previous), theme.added(), ["{+", "+}"]),
        };
        if !theme.has_color() {
            // They stand on the lines of the words.
            let words = text.trim_end_matches('\n');
            text = format!("{start}{words}{end}{}", &text[words.len()..]);
        }
        runs.push(TextRun { text, style, is_change: !start.is_empty() });
        // Removed and added words that touch would read as one.
        let touches = matches!(piece, Piece::Removed(text) if !text.ends_with(char::is_whitespace))
            && matches!(pieces.get(at + 1), Some(Piece::Added(_)));
        if touches && theme.has_color() {
            runs.push(TextRun { text: " ".to_owned(), style: Style::new(), is_change: false });
        }
    }
    runs
}

/// Text that is in one of both, with its lines where something is to be seen of it.
fn changed(text: &str, neighbour: Option<&Piece>) -> String {
    let shown = visible(text, neighbour);
    if shown == sanitize(text) { harmless(text) } else { shown }
}

/// The beginning of a text, and how many bytes are left out.
pub(super) fn beginning(text: &str) -> (&str, usize) {
    let end = text.floor_char_boundary(MAX_TEXT);
    (&text[..end], text.len() - end)
}

/// Text of several lines, each of them harmless.
pub(super) fn harmless(text: &str) -> String {
    let clean = |line: &str| sanitize(&line.strip_suffix('\r').unwrap_or(line).replace('\t', TAB));
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::Config as ProptestConfig;
    use proptest::{prop_assert, proptest};
    use ratatui::style::{Modifier, Style};
    use ratatui::text::{Line, Span};

    use super::{changed_lines, harmless};
    use crate::screen::paint::flowed;
    use crate::screen::theme::Theme;

    fn lines(text: &str, width: usize) -> Vec<String> {
        let lines = flowed(&[(harmless(text), Style::new())], width);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn text_is_broken_at_spaces_and_where_it_breaks_itself() {
        let cases: [(&str, usize, &[&str]); 9] = [
            ("", 9, &[""]),
            ("a few words", 80, &["a few words"]),
            ("a few words", 6, &["a few", "words"]),
            ("unbreakable", 4, &["unbr", "eaka", "ble"]),
            ("one\r\n\ntwo", 9, &["one", "", "two"]),
            ("if x:\n    y = 1 + 2", 9, &["if x:", "    y = 1", "+ 2"]),
            ("\tx", 9, &["    x"]),
            ("漢字漢字", 5, &["漢字", "漢字"]),
            ("\u{1b}[2Jx\u{202e}y", 9, &["xy"]),
        ];
        for (text, width, expected) in cases {
            assert_eq!(lines(text, width), expected, "{text:?}");
        }
    }

    #[test]
    fn styles_survive_the_break() {
        let plain = Style::new();
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let found = flowed(&[("a ".into(), plain), ("b c".into(), bold)], 3);
        let first = Line::from_iter([Span::styled("a ", plain), Span::styled("b", bold)]);
        assert_eq!(found, [first, Line::from(Span::styled("c", bold))]);
    }

    fn folded(before: &str, now: &str) -> String {
        let runs = changed_lines(before, now, Theme::new(false));
        runs.into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn only_lines_near_a_change_are_shown() {
        let rubric = |nine: &str| {
            let line = |at: usize| if at == 9 { nine.to_owned() } else { format!("{at}\n") };
            (1..=20).map(line).collect::<String>()
        };
        let changed = folded(&rubric("Be polite.\n"), &rubric("Be brief.\n"));
        let expected =
            "⋯ 6 lines unchanged\n7\n8\nBe [-polite-]{+brief+}.\n10\n11\n⋯ 9 lines unchanged";
        assert_eq!(changed, expected);
        let added = folded(&rubric("9\n"), &rubric("9\nAlso:\n- be brief\n"));
        let expected =
            "⋯ 7 lines unchanged\n8\n9\n{+Also:\n- be brief+}\n10\n11\n⋯ 9 lines unchanged";
        assert_eq!(added, expected);
        assert_eq!(folded("one", "two"), "[-one-]{+two+}");
        assert_eq!(folded("", "two\n"), "{+two+}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn lines_fit(text in "(\\PC|[a-c ]|\\n|\\t|\u{1b}|\u{301}|\u{fe0f}){0,60}", width in 2usize..30) {
            for line in flowed(&[(harmless(&text), Style::new())], width) {
                prop_assert!(line.width() <= width);
                prop_assert!(!line.to_string().chars().any(char::is_control));
            }
        }
    }
}
