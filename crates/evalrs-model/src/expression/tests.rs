//! Tables of expressions: their values, how these are told, and what is refused.

use proptest::prelude::*;

use super::parse::MAX_BYTES;
use super::{Expression, Operand, RowCondition};

/// `quality` 0.8, `policy` 1, `zero` 0, `half` 0.5, `tone of voice` 0.25, `lost` no number, `absent` not applicable.
fn score(name: &str) -> Option<f64> {
    Some(match name {
        "absent" => return None,
        "quality" => 0.8,
        "policy" => 1.0,
        "half" => 0.5,
        "tone of voice" => 0.25,
        "lost" => f64::NAN,
        _ => 0.0,
    })
}

#[test]
fn values_are_those_of_python() {
    for (text, expected) in [
        ("0.5", 0.5),
        (" quality\n", 0.8),
        ("0.7*quality + 0.3*policy", 0.86),
        ("0.7*quality + 0.3*policy if policy > 0 else 0", 0.86),
        ("0.7*quality + 0.3*policy if zero > 0 else 0", 0.0),
        ("quality if zero else half if half else policy", 0.5),
        ("(quality if zero else half) * half", 0.25),
        ("1 - half - half/2", 0.25),
        ("2*3/4/3", 0.5),
        ("1 - 2 * half", 0.0),
        ("-half + 1", 0.5),
        ("--half", 0.5),
        ("+half - -half", 1.0),
        ("-half * -1", 0.5),
        ("0 < half < quality <= 0.8", 1.0),
        ("0 < half > quality", 0.0),
        ("half == 0.5", 1.0),
        ("half != 0.5", 0.0),
        ("policy >= 1 and quality", 0.8),
        ("zero and 1/zero", 0.0),
        ("half or 1/zero", 0.5),
        ("zero or quality and half", 0.5),
        ("not zero and half", 0.5),
        ("not not quality", 1.0),
        ("not half > 1", 1.0),
        ("0.7*quality + 0.3*quality >= 0.8", 1.0),
        ("0.1 + 0.2 > 0.3", 0.0),
        ("0.1 + 0.2 == 0.3", 1.0),
        ("0.1 + 0.2 != 0.3", 0.0),
        ("lost >= 0 or lost <= 0 or lost == lost", 0.0),
        ("mean(0.6, quality, policy) == 0.8", 1.0),
        ("half if zero == 0 else 1/zero", 0.5),
        ("0 < zero < 1/zero", 0.0),
        ("min(quality, half, policy)", 0.5),
        ("max(quality, half)", 0.8),
        ("mean(half, policy)", 0.75),
        ("abs(half - policy)", 0.5),
        ("clamp(quality + policy, 0, 1)", 1.0),
        ("clamp(-1, 0, 1)", 0.0),
        ("`tone of voice` * 2", 0.5),
        ("'tone of voice' + \"tone of voice\"", 0.5),
        ("min", 0.0),
        ("1e-1 + .5 + 1.e0*0", 0.6),
        ("0.1+0.2+0.3+0.4", 1.0),
        ("0 * -1", 0.0),
        ("0.9 if lost > 0 else 0.1", 0.1),
        ("mean(half, absent)", 0.5),
        ("min(absent, quality)", 0.8),
        ("absent if applies(absent) else half", 0.5),
        ("applies(half)", 1.0),
        ("half or absent", 0.5),
    ] {
        let expression = Expression::parse(text).unwrap_or_else(|problem| panic!("{problem}"));
        let value = expression.value(&score).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        let value = value.unwrap_or_else(|| panic!("{text}: not applicable"));
        assert!((value - expected).abs() < 1e-12, "{text}: {value}");
        assert!(value.is_sign_positive(), "{text}: {value}");
    }
}

#[test]
fn values_that_are_no_scores_are_refused_and_shown() {
    for (text, expected) in [
        (
            "0.7*quality + policy",
            "0.7*quality + policy = 0.7*0.8 + 1 = 1.56, and a score is between 0.0 and 1.0",
        ),
        ("-half", "-half = -0.5, and a score is between 0.0 and 1.0"),
        ("2", "2, and a score is between 0.0 and 1.0"),
        (
            "policy + 0.0000001",
            "policy + 0.0000001 = 1 + 0.0000001 = 1.0000001, and a score is between 0.0 and 1.0",
        ),
        ("quality / zero", "quality / zero = 0.8 / 0: division by zero"),
        ("1e308*10", "1e308*10 = inf, and a score is between 0.0 and 1.0"),
        ("lost", "lost = NaN, and that is not a number"),
        ("min(lost, half)", "min(lost, half) = min(NaN, 0.5) = NaN, and that is not a number"),
        (
            "clamp(half, policy, zero)",
            "clamp(half, policy, zero) = clamp(0.5, 1, 0): `clamp` between 1 and 0: the first is greater",
        ),
    ] {
        let expression = Expression::parse(text).unwrap_or_else(|problem| panic!("{problem}"));
        let told = expression.value(&score).expect_err(text);
        assert_eq!(told, expected, "{text}");
    }
}

#[test]
fn what_rests_on_a_grader_that_does_not_apply_does_not_apply() {
    for (text, told) in [
        ("absent", "absent = n/a"),
        ("0.5*half + 0.5*absent", "0.5*half + 0.5*absent = 0.5*0.5 + 0.5*n/a"),
        ("half if absent > 0 else 0", "half if absent > 0 else 0 = 0.5 if n/a > 0 else 0"),
        ("not absent", "not absent = not n/a"),
        ("mean(absent, absent)", "mean(absent, absent) = mean(n/a, n/a)"),
    ] {
        let expression = Expression::parse(text).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(expression.value(&score), Ok(None), "{text}");
        assert_eq!(expression.told(&score), told);
    }
}

/// What a row holds: `{"n": 3, "cell": "3.5", "flag": true, "no": "False", "text": "Refund now", …}`.
fn held(name: &str) -> Operand {
    let row = serde_json::json!({
        "n": 3, "cell": "3.5", "flag": true, "no": "False", "text": "Refund now", "empty": "",
        "tags": ["refund", "eu"], "null": null, "object": {"a": 1}, "model": "gpt-4o",
        "a.b[0]": 7, "a.b-c": 8, "odd name": 9, "big": 9_007_199_254_740_993_u64, "digits": "9007199254740993",
        "debt": -9_007_199_254_740_993_i64, "padded": " 9007199254740993",
    });
    Operand::from(row[name].clone())
}

#[test]
fn conditions_hold_or_do_not() {
    for (text, expected) in [
        ("n == 3", true),
        ("n > 3", false),
        ("cell > 3 and cell < 4", true),
        ("cell == 3.5", true),
        ("cell == '3.5'", true),
        ("cell == '3.50'", false),
        ("cell >= '10'", false),
        ("flag", true),
        ("flag == true", true),
        ("not no", true),
        ("no == false", true),
        ("not absent", true),
        ("absent > 0", false),
        ("absent < 0", false),
        ("absent == null", true),
        ("absent != 'x'", true),
        ("n != null", true),
        ("empty", false),
        ("text == \"Refund now\"", true),
        ("'fund' in text", true),
        ("'refund' in tags", true),
        ("'refun' in tags", false),
        ("'us' not in tags", true),
        ("not 'us' in tags", true),
        ("model in ['gpt-4o', 'x']", true),
        ("n in [1, 2]", false),
        ("model not in []", true),
        ("'x' in absent", false),
        ("text < 'Z'", true),
        ("text > 5", false),
        ("a.b[0] == 7", true),
        ("a.b-c == 8", true),
        ("`odd name` == 9", true),
        ("len(tags) == 2", true),
        ("len(text) > 9", true),
        ("len(absent) > 0", false),
        ("lower(text) == 'refund now'", true),
        ("has(flag) and not has(absent)", true),
        ("has(null)", false),
        ("matches(text, '^Ref.nd\\b')", true),
        ("matches(n, '3')", true),
        ("matches(absent, '.*')", false),
        ("object", true),
        ("n / 0 == 1", false),
        ("n - 1 == 2 if flag else false", true),
        ("text * 2 > 0", false),
        ("max(n, absent, cell) == 3.5", true),
        ("min == null", true),
        ("big == 9007199254740993", true),
        ("big == 9007199254740992", false),
        ("big > 9007199254740992", true),
        ("big != 9007199254740994 and big < 9007199254740994", true),
        ("digits == big and digits > 9007199254740992", true),
        ("big == -9007199254740993", false),
        ("big > n and big > 1.5 and big + 1 > 1e15", true),
        ("big in [1, 9007199254740992]", false),
        ("big in [1, 9007199254740993]", true),
        ("debt == -9007199254740993 and debt != -9007199254740992", true),
        ("padded == 9007199254740993", true),
        ("len(big) == null", true),
    ] {
        let condition =
            RowCondition::parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        assert_eq!(condition.holds(&held), expected, "{text}");
    }
}

#[test]
fn conditions_that_are_refused_are_shown_where_they_are_wrong() {
    for (text, at, message, hint) in [
        (
            "",
            "",
            "the expression is empty",
            "write one over fields of the rows, for example `not improper and 'refund' in tags`",
        ),
        ("a in", "", "the expression ends too early", ""),
        ("a not b", "not", "`not` is not expected here", ""),
        ("a in [1, 2", "[", "this `[` is never closed", ""),
        ("matches(a, b)", "b", "`b` is not expected here", "the pattern is a text in quotes"),
        ("matches(a, '(')", "'('", "the group is not closed at position 0", ""),
        ("matches(a)", ")", "`)` is not expected here", "write `matches(FIELD, 'PATTERN')`"),
        (
            "length(a)",
            "length",
            "unknown function `length`",
            "the functions are `min`, `max`, `mean`, `abs`, `clamp`, `has`, `len`, `lower`, `matches`",
        ),
        ("lowr(a)", "lowr", "unknown function `lowr`", "did you mean `lower`?"),
        ("a == b && c", "&&", "`&&` has no meaning here", "write `and`"),
        ("a..b", ".", "`.` has no meaning here", ""),
        ("`` == 1", "``", "the name between these quotes is empty", ""),
    ] {
        let problem = RowCondition::parse(text).expect_err(text);
        assert_eq!(problem.message, message, "{text}");
        assert_eq!(problem.hint.as_deref().unwrap_or_default(), hint, "{text}");
        assert_eq!(&text[problem.at.clone()], at, "{text}");
    }
}

#[test]
fn a_value_is_told_step_by_step() {
    for (text, expected) in [
        ("0.7*quality + 0.3*policy", "0.7*quality + 0.3*policy = 0.7*0.8 + 0.3*1 = 0.86"),
        ("quality", "quality = 0.8"),
        ("0.5", "0.5"),
        ("mean(quality,\n  half)", "mean(quality, half) = mean(0.8, 0.5) = 0.65"),
        ("'tone of voice'/3", "'tone of voice'/3 = 0.25/3 = 0.083333"),
        ("1/zero", "1/zero = 1/0"),
    ] {
        let expression = Expression::parse(text).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(expression.told(&score), expected);
    }
}

#[test]
fn names_come_in_the_order_of_their_first_places() {
    let text = " b if `a-1` > 0 else min(b, 'c d', a)";
    let expression = Expression::parse(text).expect("an expression");
    assert_eq!(expression.names, ["b", "a-1", "c d", "a"]);
    assert_eq!(expression.text, text.trim());
    let place = |name| expression.place_of(name).map(|at| &expression.text[at]);
    assert_eq!(place("b"), Some("b"));
    assert_eq!(place("a-1"), Some("`a-1`"));
    assert_eq!(place("min"), None);
}

#[test]
fn what_is_refused_is_shown_where_it_stands() {
    for (text, at, message, hint) in [
        (
            "",
            "",
            "the expression is empty",
            "write one over the names of graders, for example `0.7*quality + 0.3*policy`",
        ),
        ("a +", "", "the expression ends too early", ""),
        (
            "a b",
            "b",
            "`b` is not expected here",
            "put a name with spaces in quotes; put `+`, `*` or the like between two values",
        ),
        ("(a + b", "(", "this `(` is never closed", ""),
        ("min(a, b", "(", "this `(` is never closed", ""),
        ("a)", ")", "`)` is not expected here", ""),
        ("()", ")", "`)` is not expected here", ""),
        ("a, b", ",", "`,` is not expected here", ""),
        ("a if b", "", "the expression ends too early", "a conditional is `A if CONDITION else B`"),
        ("if a", "if", "`if` is not expected here", ""),
        ("a = b", "=", "`=` has no meaning here", "write `==` to compare"),
        ("a && b", "&&", "`&&` has no meaning here", "write `and`"),
        ("a ** 2", "**", "`**` has no meaning here", "powers are not supported: write `x*x`"),
        ("!a", "!", "`!` has no meaning here", "write `not`"),
        ("70% * a", "%", "`%` has no meaning here", "write a fraction: `0.7`, not `70%`"),
        ("a.score", ".", "`.` has no meaning here", "write the name of a grader for its score"),
        ("a; b", ";", "`;` has no meaning here", ""),
        ("'a", "'a", "this quote is never closed", ""),
        ("'' + 1", "''", "the name between these quotes is empty", ""),
        (
            "2quality",
            "2quality",
            "`2quality` is not a number",
            "write `*` to multiply; put a name that begins with a digit in quotes",
        ),
        ("1if a else 2", "1if", "`1if` is not a number", "write a space after the number"),
        ("1e999", "1e999", "this number is too large", ""),
        (
            "avg(a)",
            "avg",
            "unknown function `avg`",
            "the functions are `min`, `max`, `mean`, `abs`, `clamp`, `applies`",
        ),
        ("maen(a)", "maen", "unknown function `maen`", "did you mean `mean`?"),
        ("min()", "min", "`min` needs at least one value", ""),
        ("abs(a, b)", "abs", "`abs` takes one value", ""),
        ("clamp(a)", "clamp", "`clamp` takes 3 values", "write `clamp(x, lowest, highest)`"),
        ("min(a,)", ")", "`)` is not expected here", ""),
    ] {
        for text in [text.to_owned(), format!("  {text} ")] {
            let problem = Expression::parse(&text).expect_err(&text);
            assert_eq!(problem.message, message, "{text}");
            assert_eq!(problem.hint.as_deref().unwrap_or_default(), hint, "{text}");
            assert_eq!(&text[problem.at.clone()], at, "{text}");
        }
    }
}

#[test]
fn long_and_deep_texts_are_refused_and_long_chains_are_read() {
    let of = |left: &str, middle: &str, right: &str, count| {
        let text = format!("{}{middle}{}", left.repeat(count), right.repeat(count));
        Expression::parse(&text).map(|expression| expression.value(&score))
    };
    for (left, middle, right) in [
        ("(", "a", ")"),
        ("-", "a", ""),
        ("not ", "a", ""),
        ("a if b else ", "a", ""),
        ("min(", "a", ")"),
    ] {
        assert!(of(left, middle, right, 60).is_ok(), "{left}");
        let problem = of(left, middle, right, 300).expect_err(left);
        assert_eq!(problem.message, "the expression is nested more than 64 deep");
    }
    for chain in ["a+", "1*", "a<", "a or ", "a and "] {
        assert!(of(chain, "a", "", 500).is_ok(), "{chain}");
    }
    assert!(Expression::parse(&"a".repeat(MAX_BYTES)).is_ok());
    assert!(Expression::parse(&"a".repeat(MAX_BYTES + 1)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}|([-+*/<>=!(),.'` \"\u{e9}]|if |else |and |or |not |min\\(|clamp\\(|mean|a|b|1|0\\.5|e9){0,40}") {
        match Expression::parse(&text) {
            Ok(expression) => {
                let value = expression.value(&score);
                prop_assert!(value.is_err() || value.is_ok_and(|value| value.is_none_or(|value| (0.0..=1.0).contains(&value))));
                prop_assert!(!expression.told(&score).is_empty());
                for name in &expression.names {
                    let at = expression.place_of(name).expect("a place");
                    prop_assert!(expression.text[at].contains(name.as_str()));
                }
                // Reading what was read gives the same.
                prop_assert_eq!(Expression::parse(&expression.text), Ok(expression));
            }
            Err(problem) => prop_assert!(text.get(problem.at).is_some()),
        }
    }

    #[test]
    fn any_condition_is_read_or_refused(text in "([-+*/<>=!(),.\\[\\]'` \"]|if |else |and |or |not | in |has\\(|len\\(|matches\\(|a|a.b|n|tags|text|null|1|0\\.5){0,40}") {
        match RowCondition::parse(&text) {
            Ok(condition) => {
                condition.holds(&held);
                prop_assert!(condition.names().iter().all(|name| !name.is_empty()));
                prop_assert_eq!(RowCondition::parse(condition.text()), Ok(condition));
            }
            Err(problem) => prop_assert!(text.get(problem.at).is_some()),
        }
    }
}
