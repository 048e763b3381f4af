//! Graders that a suite gives their reference, and those that need none.

use super::options::check_problems;
use super::*;

/// Grader, options, submission, score, the beginning of the rationale. The row has a ground truth that is none of this.
fn check_given(cases: &[(&str, Value, &str, f64, &str)]) {
    for (function, config, submission, score, rationale) in cases {
        let grade = grade(function, config, submission, Some("elsewhere"));
        let context = format!("{function} {config} {submission:?}: {grade:?}");
        assert!((grade.score - score).abs() < 1e-9, "{context}");
        assert!(grade.rationale.starts_with(rationale) && grade.error.is_none(), "{context}");
    }
}

#[test]
fn a_suite_gives_what_is_expected() {
    let schwarz = json!({"value": "Schwarz"});
    check_given(&[
        ("exact_match", json!({"value": "Paris"}), " Paris\n", 1.0, "Exact match: True"),
        ("exact_match", json!({"value": 42}), "42", 1.0, "Exact match: True"),
        ("exact_match", json!({"value": true}), "True", 0.0, "Exact match: False"),
        ("contains", json!({"value": "REFUND"}), "a refund", 1.0, "Contains `REFUND`: True"),
        ("contains", json!({"value": "refund"}), "elsewhere", 0.0, "Contains `refund`: False"),
        ("regex_match", json!({"pattern": "^B-\\d+$"}), "B-1001", 1.0, "Regex match: True"),
        ("regex_match", json!({"pattern": "(?<=x)y"}), "ay", 0.0, "Regex match: False"),
        ("string_match", json!({"value": "a B"}), "A  b", 1.0, "String match: True"),
        ("levenshtein", json!({"value": "abcd"}), "abxd", 0.75, "Edit distance: 1 of 4"),
        ("numeric", json!({"value": 1234.5}), "$1,234.50", 1.0, "Numeric match: True"),
        ("starts_with", schwarz.clone(), "  Schwarzwald", 1.0, "Starts with: True"),
        ("starts_with", schwarz.clone(), "schwarz", 0.0, "Starts with: False (`Schwarz` expected)"),
        (
            "ends_with",
            json!({"value": "WALD", "case_sensitive": false}),
            "Wald\n",
            1.0,
            "Ends with: True",
        ),
    ]);
}

#[test]
fn one_of_several_references_is_enough() {
    let list = r#"["four", "4"]"#;
    let values = r#"["[4]", {"a": 1}, "{}"]"#;
    let alternatives = json!({"alternatives": true});
    check(
        "starts_with",
        &[
            (json!({}), "4 apples", list, 1.0, "Starts with: True"),
            (json!({}), "24", list, 0.0, "Starts with: False (none of 2)"),
            (json!({}), r#"["four", "4"] it is"#, list, 1.0, "Starts with: True"),
            (json!({}), "x", "[]", 0.0, "No ground_truth answer provided"),
        ],
    );
    check("ends_with", &[(json!({}), "it is 4", list, 1.0, "Ends with: True")]);
    check(
        "json_match",
        &[
            (alternatives.clone(), "[4]", values, 1.0, "JSON match: True"),
            (alternatives.clone(), r#"{"a": 1}"#, values, 1.0, "JSON match: True"),
            (alternatives.clone(), "[5]", values, 0.0, "JSON match: False (none of 3)"),
            (
                alternatives.clone(),
                "[5]",
                r#"["[4]"]"#,
                0.0,
                "JSON match: False (`/0`: 4 expected, 5 found)",
            ),
            (alternatives, "[]", "[]", 0.0, "No ground_truth answer provided"),
            (json!({}), r#"["[4]"]"#, r#"["[4]"]"#, 1.0, "JSON match: True"),
        ],
    );
}

#[test]
fn several_texts_are_looked_for() {
    let values = json!({"values": ["cat", "dog", 7]});
    let partial = json!({"values": ["cat", "dog", 7, "eel"], "partial": true});
    check_given(&[
        ("contains_any", values.clone(), "a DOG", 1.0, "Contains any: True"),
        ("contains_any", values.clone(), "a cow", 0.0, "Contains any: False (none of 3)"),
        (
            "contains_any",
            json!({"values": ["A"], "case_sensitive": true}),
            "a",
            0.0,
            "Contains any: False",
        ),
        ("contains_all", values.clone(), "7 cats, 1 dog", 1.0, "Contains all: True"),
        (
            "contains_all",
            values,
            "7 cats",
            0.0,
            "Contains all: False (1 of 3 missing, first `dog`)",
        ),
        (
            "contains_all",
            partial,
            "a cat, 7 eels",
            0.75,
            "Contains all: False (1 of 4 missing, first `dog`)",
        ),
    ]);
    // Without options the row says what, as one text or as a list.
    let truth = Some(r#"["red", null, "green"]"#);
    assert!(grade("contains_all", &json!({}), "green and red", truth).passes(1.0));
    assert!(grade("contains_any", &json!({}), "it is Red", Some("red")).passes(1.0));
    for function in ["contains_any", "contains_all", "f1"] {
        for truth in [None, Some(""), Some("[]"), Some("[null]")] {
            let graded = grade(function, &json!({}), "red", truth);
            assert_eq!(kind(&graded), "no_ground_truth", "{function} {truth:?}");
        }
    }
}

/// Numbers of the evaluation script of `SQuAD` 2.0.
#[test]
fn f1_is_that_of_squad() {
    let of = |answers: Value| json!({"values": answers});
    check_given(&[
        ("f1", of(json!(["Denver Broncos"])), "The Denver Broncos", 1.0, "Token F1: 1.0000"),
        ("f1", of(json!(["gold", "the color gold"])), "a golden color", 0.5, "Token F1: 0.5000"),
        (
            "f1",
            of(json!(["Santa Clara, California"])),
            "Levi's Stadium in Santa Clara",
            0.5,
            "Token F1: 0.5000",
        ),
        ("f1", of(json!(["one two two"])), "two two two", 2.0 / 3.0, "Token F1: 0.6667"),
        ("f1", of(json!(["x"])), "y", 0.0, "Token F1: 0.0000"),
        ("f1", of(json!(["the"])), "an", 1.0, "Token F1: 1.0000"),
    ]);
}

#[test]
fn submissions_rows_and_conversations_are_measured() {
    let max = |max: u64, unit: &str| json!({"max": max, "unit": unit});
    check_given(&[
        ("length", json!({"max": 3}), "äöü", 1.0, "Length 3 characters: True"),
        (
            "length",
            json!({"min": 4}),
            "äöü",
            0.0,
            "Length 3 characters: False (at least 4 expected)",
        ),
        ("length", max(2, "words"), " a b\tc ", 0.0, "Length 3 words: False (at most 2 expected)"),
        ("length", max(2, "lines"), "a\n\n \nb\n", 1.0, "Length 2 lines: True"),
        ("is_json", json!({}), "```json\n{\"a\": 1}\n```", 1.0, "Is JSON: True"),
        ("is_json", json!({}), "{a: 1}", 0.0, "Is JSON: False"),
        ("is_json", json!({"whole": true}), "```json\n{}\n```", 0.0, "Is JSON: False"),
        ("is_json", json!({"whole": true}), " {} ", 1.0, "Is JSON: True"),
        ("max_turns", json!({"max": 0}), "x", 1.0, "Turns: 0 of at most 0: True"),
    ]);
    let row = r#"{"latency": {"ms": 2000}, "cost": "0.5", "name": "x", "none": null}"#;
    for (path, op, value, expected) in [
        ("latency.ms", "lte", 2000.0, "latency.ms 2000 <= 2000: True"),
        ("latency.ms", "lt", 2000.0, "latency.ms 2000 < 2000: False"),
        ("latency.ms", "gt", 1999.5, "latency.ms 2000 > 1999.5: True"),
        ("latency.ms", "gte", 2001.0, "latency.ms 2000 >= 2001: False"),
        ("cost", "eq", 0.5, "cost 0.5 == 0.5: True"),
        ("cost", "ne", 0.5, "cost 0.5 != 0.5: False"),
        ("name", "lt", 1.0, "Error during grading: `name` is no number"),
        ("none", "lt", 1.0, "Error during grading: the row has no `none`"),
    ] {
        let config = json!({"path": path, "op": op, "value": value});
        let subject = Subject {
            submission: "",
            ground_truth: None,
            trajectory: &Trajectory::default(),
            row: Row::new(row),
            output: None,
            include_subagents: false,
            votes: None,
            cost: None,
        };
        let graded = compiled("compare", &config).unwrap().grade(&subject);
        assert_eq!(graded.rationale, expected);
        assert_eq!(graded.error.is_some(), expected.starts_with("Error"));
    }
}

#[test]
fn whole_numbers_are_compared_to_the_last_digit() {
    let row = r#"{"n": 9007199254740993, "cell": " 9007199254740993 ", "f": 9007199254740992.0, "z": -0.0}"#;
    for (path, op, value, expected) in [
        (
            "n",
            "eq",
            json!(9_007_199_254_740_992_u64),
            "9007199254740993 == 9007199254740992: False",
        ),
        ("n", "gt", json!(9_007_199_254_740_992_u64), "9007199254740993 > 9007199254740992: True"),
        (
            "cell",
            "eq",
            json!(9_007_199_254_740_993_u64),
            "9007199254740993 == 9007199254740993: True",
        ),
        ("f", "lt", json!(9_007_199_254_740_993_u64), "9007199254740992 < 9007199254740993: True"),
        ("n", "gt", json!(0.5), "9007199254740993 > 0.5: True"),
        ("z", "eq", json!(0), "-0 == 0: True"),
    ] {
        let config = json!({"path": path, "op": op, "value": value});
        let subject = Subject {
            submission: "",
            ground_truth: None,
            trajectory: &Trajectory::default(),
            row: Row::new(row),
            output: None,
            include_subagents: false,
            votes: None,
            cost: None,
        };
        let graded = compiled("compare", &config).unwrap().grade(&subject);
        assert_eq!(graded.rationale, format!("{path} {expected}"));
    }
}

#[test]
fn the_opposite_of_what_cannot_be_graded_is_no_pass() {
    let opposite = |function: &str, config: &Value, submission: &str, truth: Option<&str>| {
        let subject = Subject {
            submission,
            ground_truth: truth,
            trajectory: &Trajectory::default(),
            row: Row::new("{}"),
            output: None,
            include_subagents: false,
            votes: None,
            cost: None,
        };
        compiled(function, config).unwrap().opposite(&subject)
    };
    let sorry = json!({"value": "sorry"});
    let graded = opposite("contains", &sorry, "I am sorry", None);
    assert_eq!((graded.score, &*graded.rationale), (0.0, "Not: Contains `sorry`: True"));
    assert!(opposite("contains", &sorry, "Gladly", None).passes(1.0));
    assert!(
        (opposite("levenshtein", &json!({"value": "abcd"}), "abxd", None).score - 0.25).abs()
            < 1e-9
    );
    for graded in [
        opposite("contains", &json!({}), "x", None),
        opposite("regex_match", &json!({}), "x", Some("(")),
        opposite("compare", &json!({"path": "a", "op": "lt", "value": 1}), "x", None),
    ] {
        assert!(graded.score == 0.0 && !graded.passes(1.0), "{graded:?}");
    }
}

#[test]
fn what_is_given_is_checked() {
    check_problems(&[
        ("is_json", json!({"x": 1}), vec!["x unknown option `x` (the options are `whole`)"]),
        ("contains", json!({"value": ""}), vec!["value `value` must not be empty ()"]),
        (
            "contains_any",
            json!({"values": []}),
            vec!["values `values` must have at least 1 item ()"],
        ),
        ("length", json!({}), vec![" `length` needs `min` or `max` ()"]),
        ("length", json!({"min": 3, "max": 2}), vec![" `max` must not be less than `min` ()"]),
        (
            "compare",
            json!({"path": "a", "op": "less", "value": 1}),
            vec!["op `op` must be one of `lt`, `lte`, `gt`, `gte`, `eq`, `ne` ()"],
        ),
    ]);
}
