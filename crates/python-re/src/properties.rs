//! What holds of every pattern and text: nothing panics, matches lie where they can, and both engines agree.

use proptest::prelude::*;

use super::{Regex, RegexProblem, emit, linear_captures, parse, suits};

/// Characters on which the two languages or the two engines could differ.
fn texts() -> impl Strategy<Value = String> {
    "[ab1_ \n\u{1c}\u{e9}\u{301}\u{130}\u{2160}]{0,8}"
}

/// Patterns that Python takes, without anything that only one engine can say.
fn patterns() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("a"),
        Just("b"),
        Just("."),
        Just(r"\d"),
        Just(r"\w"),
        Just(r"\S"),
        Just("[^a_]"),
        Just("[a-é]"),
        Just("(?i:B)"),
        Just("^"),
        Just("$"),
        Just(r"\b"),
        Just(r"\Z"),
    ];
    leaf.prop_map(str::to_owned).prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.join("|")),
            inner.clone().prop_map(|part| format!("({part})")),
            inner.clone().prop_map(|part| format!("(?:{part})?")),
            inner.prop_map(|part| format!("(?:{part}){{1,2}}")),
        ]
    })
}

/// The text as a pattern that matches it and nothing else: `re.escape`.
fn escape(text: &str) -> String {
    let escaped = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => c.to_string(),
        _ => format!("\\{c}"),
    };
    text.chars().map(escaped).collect()
}

proptest! {
    #[test]
    fn no_text_is_a_pattern_that_panics(pattern in any::<String>(), text in any::<String>()) {
        if let Ok(regex) = Regex::new(&pattern) {
            let _ = regex.captures_at(&text, 0);
        }
    }

    #[test]
    fn nothing_made_of_syntax_panics(pattern in r"[()\[\]{}?*+|^$\\.:=!<>PaibwdNxu0-9,-]{0,24}", text in texts()) {
        if let Ok(regex) = Regex::new(&pattern) {
            let _ = regex.captures_at(&text, 0);
        }
    }

    #[test]
    fn a_match_lies_in_the_text_and_its_groups_too(
        pattern in patterns(),
        text in texts(),
        start in 0..8_usize,
    ) {
        let regex = Regex::new(&pattern).unwrap();
        let Some(found) = regex.captures_at(&text, start).unwrap() else { return Ok(()) };
        prop_assert_eq!(found.groups.len(), regex.group_count() + 1);
        let whole = found.groups[0].clone().unwrap();
        prop_assert!(start <= whole.start);
        for range in found.groups.into_iter().flatten() {
            prop_assert!(text.get(range).is_some());
        }
    }

    #[test]
    fn an_escaped_text_finds_itself(text in any::<String>(), before in texts(), after in texts()) {
        let regex = Regex::new(&escape(&text)).unwrap();
        let whole = format!("{before}{text}{after}");
        let found = regex.captures_at(&whole, 0).unwrap().unwrap();
        prop_assert_eq!(found.groups[0].clone().map(|range| range.start), whole.find(&text));
    }

    /// The text decides which engine runs; results must not show which one it was.
    #[test]
    fn both_engines_find_the_same(pattern in patterns(), text in texts()) {
        let tree = parse::parse(&pattern).unwrap();
        let linear = emit::linear(&tree).unwrap();
        prop_assume!(suits(linear.needs, &text));
        let fast = regex::Regex::new(&linear.source).unwrap();
        let fast = fast.captures(&text).map(|found| linear_captures(&found, &linear, 0));
        let slow = fancy_regex::Regex::new(&emit::backtracking(&tree)).unwrap();
        let slow = slow.captures(&text).unwrap().map(|found| found.get(0).map(|all| all.range()));
        prop_assert_eq!(fast.map(|found| found.groups[0].clone()), slow);
    }
}

#[test]
fn a_problem_is_an_error() {
    let problem: Box<dyn std::error::Error> = Box::new(RegexProblem::TooLarge);
    assert_eq!(problem.to_string(), "the pattern is too large");
}
