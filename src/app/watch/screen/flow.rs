//! Breaks text of the screen into lines.

use crate::base::text::sanitize;

/// The columns that a tab becomes.
const TAB: &str = "    ";

/// Text of several lines, each of them harmless.
pub(super) fn harmless(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| sanitize(&line.strip_suffix('\r').unwrap_or(line).replace('\t', TAB)))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::Config as ProptestConfig;
    use proptest::{prop_assert, proptest};
    use ratatui::style::{Modifier, Style};

    use super::harmless;
    use crate::app::watch::screen::paint::width_of;
    use crate::base::text::columns;
    use crate::base::text::flow::flow;

    fn lines(text: &str, width: usize) -> Vec<String> {
        let runs = flow(&[(harmless(text), Style::new())], width);
        runs.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect()).collect()
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
        let found = flow(&[("a ".into(), plain), ("b c".into(), bold)], 3);
        assert_eq!(
            found,
            [vec![("a ".into(), plain), ("b".into(), bold)], vec![("c".into(), bold)]]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn lines_fit(text in "(\\PC|[a-c ]|\\n|\\t|\u{1b}|\u{301}|\u{fe0f}){0,60}", width in 2usize..30) {
            for line in flow(&[(harmless(&text), Style::new())], width) {
                prop_assert!(width_of(&line) <= width);
                prop_assert!(line.iter().all(|(text, _)| columns(text) <= width));
                prop_assert!(!line.iter().any(|(text, _)| text.chars().any(char::is_control)));
            }
        }
    }
}
