//! Every grader through the registry, as a suite reaches it: options, subject, grade.

use serde_json::{Map, Value, json};

use super::{GRADERS, Grade, Subject, ToolGrader, compile, find};
use evalrs_base::path::Row;
use evalrs_model::spec::{OptionProblem, ToolSpec};
use evalrs_trajectory::{Message, MessageBody, ToolCall, ToolReturn, Trajectory, Turn};

mod calls;
mod given;
mod options;
mod rows;

fn compiled(function: &str, config: &Value) -> Result<ToolGrader, Vec<OptionProblem>> {
    let config = config.as_object().cloned().unwrap_or_default();
    compile(&ToolSpec { function: function.to_owned(), config })
}

fn grade(function: &str, config: &Value, submission: &str, ground_truth: Option<&str>) -> Grade {
    let subject = Subject {
        submission,
        ground_truth,
        trajectory: &Trajectory::default(),
        row: Row::new("{}"),
        output: None,
        include_subagents: false,
        votes: None,
        cost: None,
    };
    compiled(function, config).unwrap().grade(&subject)
}

/// Options, submission, ground truth, score, rationale.
type Case<'a> = (Value, &'a str, &'a str, f64, &'a str);

#[expect(clippy::float_cmp, reason = "scores here are exact")]
fn check(function: &str, cases: &[Case<'_>]) {
    for (config, submission, ground_truth, score, rationale) in cases {
        let grade = grade(function, config, submission, Some(ground_truth));
        let context = format!("{function} {config} {submission:?} {ground_truth:?}");
        assert_eq!(grade.rationale, *rationale, "{context}");
        assert_eq!(grade.score, *score, "{context}");
        let has_none = rationale.starts_with("No ground_truth");
        assert_eq!(kind(&grade), if has_none { "no_ground_truth" } else { "" }, "{context}");
    }
}

fn kind(grade: &Grade) -> &str {
    grade.error.as_ref().map_or("", |error| error.kind.as_str())
}

#[test]
fn exact_match_is_that_of_letta() {
    let yes = "Exact match: True";
    let no = "Exact match: False";
    check(
        "exact_match",
        &[
            (json!({}), "Paris", "Paris", 1.0, yes),
            (json!({}), "paris", "Paris", 0.0, no),
            (json!({}), "\u{1c} Paris\n", "\tParis\u{3000}", 1.0, yes),
            (json!({}), "\u{200b}Paris", "Paris", 0.0, no),
            (json!({}), "", "  ", 1.0, yes),
            (json!({}), "Pa ris", "Pa  ris", 0.0, no),
            (json!({}), "anything", "", 0.0, "No ground_truth answer provided"),
        ],
    );
    let without = grade("exact_match", &json!({}), "x", None);
    assert_eq!(without, grade("exact_match", &json!({}), "x", Some("")));
    assert!(!without.passes(0.0));
    assert_eq!(without.metadata.unwrap()["error"], "No ground_truth answer provided");
}

#[test]
fn contains_is_that_of_letta() {
    let yes = "Contains ground_truth: True";
    let no = "Contains ground_truth: False";
    check(
        "contains",
        &[
            (json!({}), "The capital is PARIS.", "paris", 1.0, yes),
            (json!({}), "London", "paris", 0.0, no),
            (json!({}), "is Paris", "Paris ", 0.0, no),
            (json!({}), "a b", " ", 1.0, yes),
            (json!({}), "ab", " ", 0.0, no),
            (json!({}), "ΟΔΟΣ", "οδος", 1.0, yes),
            (json!({}), "ΟΔΟΣ", "οδοσ", 0.0, no),
            (json!({}), "İ", "i\u{307}", 1.0, yes),
            (json!({}), "", "x", 0.0, no),
            (json!({}), "x", "", 0.0, "No ground_truth answer provided"),
        ],
    );
}

#[test]
fn regex_match_is_that_of_letta() {
    let yes = "Regex match: True";
    let no = "Regex match: False";
    let uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
    check(
        "regex_match",
        &[
            (json!({}), "id 123e4567-e89b-12d3-a456-426614174000.", uuid, 1.0, yes),
            (json!({}), "id 123e4567", uuid, 0.0, no),
            (json!({}), "", ".*", 1.0, yes),
            (json!({}), "yes\n", "^yes$", 1.0, yes),
            (json!({}), "Yes", "yes", 0.0, no),
            (json!({}), "Yes", "(?i)yes", 1.0, yes),
            (json!({}), "a b", r"(?<=a)\s(?=b)", 1.0, yes),
            (
                json!({}),
                "x",
                "a(",
                0.0,
                "Invalid regex pattern: the group is not closed at position 1",
            ),
            (
                json!({}),
                "x",
                r"\p{L}",
                0.0,
                r"Invalid regex pattern: unknown escape `\p` at position 0",
            ),
            (json!({}), "x", "", 0.0, "No ground_truth regex pattern provided"),
        ],
    );
    let slow = grade("regex_match", &json!({}), &"a".repeat(100), Some(r"(?=(a+))(?:a|a)*b\1"));
    assert_eq!(kind(&slow), "regex_limit");
    let large = grade("regex_match", &json!({}), "a", Some("(a{1000}){1000}"));
    assert_eq!(kind(&large), "regex_limit");
}

#[test]
fn ascii_printable_only_is_that_of_letta() {
    let yes = "All characters printable ASCII (ignoring newlines)";
    let no = |found: &str| format!("Found non-printable ASCII characters: {found}");
    let more = no(r"'\x00', '\t', '\x7f', 'é', '\u200b' (+2 more)");
    check(
        "ascii_printable_only",
        &[
            (json!({}), "a ~\r\n", "", 1.0, yes),
            (json!({}), "", "x", 1.0, yes),
            (json!({}), "a\tb\tc", "", 0.0, &no(r"'\t'")),
            (json!({}), "é\té", "", 0.0, &no(r"'\t', 'é'")),
            (json!({}), "😀\u{200b}é\u{7f}\t\0\u{2028}", "", 0.0, &more),
        ],
    );
    assert!(grade("ascii_printable_only", &json!({}), "a", None).passes(1.0));
}

#[test]
fn text_is_compared_as_loosely_as_wanted() {
    let yes = "String match: True";
    let no = "String match: False";
    check(
        "string-match",
        &[
            (json!({}), " new\n york ", "New York", 1.0, yes),
            (json!({"case_sensitive": true}), "new york", "New York", 0.0, no),
            (json!({"normalize_whitespace": false}), "new  york", "New York", 0.0, no),
            (json!({"normalize_whitespace": false}), "new york", "New York", 1.0, yes),
        ],
    );
    check(
        "levenshtein",
        &[
            (json!({}), "kitten", "sitting", 1.0 - 3.0 / 7.0, "Edit distance: 3 of 7 characters"),
            (json!({}), " café\n", "cafe", 0.75, "Edit distance: 1 of 4 characters"),
            (json!({}), "ABC", "abc", 0.0, "Edit distance: 3 of 3 characters"),
            (
                json!({"case_sensitive": false}),
                "ABC",
                "abc",
                1.0,
                "Edit distance: 0 of 3 characters",
            ),
            (json!({}), "", "abcd", 0.0, "Edit distance: 4 of 4 characters"),
            (json!({}), "", " ", 1.0, "Edit distance: 0 of 0 characters"),
            (json!({}), "abab", "ab", 0.5, "Edit distance: 2 of 4 characters"),
        ],
    );
    let long = ("a".repeat(20_000), "b".repeat(20_000));
    assert_eq!(kind(&grade("levenshtein", &json!({}), &long.0, Some(&long.1))), "too_large");
    let alike = grade("levenshtein", &json!({}), &long.0, Some(&long.0[1..]));
    assert_eq!(alike.rationale, "Edit distance: 1 of 20000 characters");
    let yes = "One of 2 accepted answers: True";
    let no = "One of 2 accepted answers: False";
    let listed = "One of 2 accepted values: True";
    let unlisted = |found: &str| {
        format!("One of 2 accepted values: False (expected `[\"A\",\"B\"]`, found `{found}`)")
    };
    check(
        "one_of",
        &[
            (json!({"values": ["A", "B"]}), " B\n", "", 1.0, listed),
            (json!({"values": ["A", "B"]}), "b", "", 0.0, &unlisted("b")),
            (json!({"values": ["A", "B"], "case_sensitive": false}), "b", "", 1.0, listed),
            (json!({"values": [1, true]}), "true", "", 1.0, listed),
            (json!({}), "null", r#"["yes", null, "y"]"#, 0.0, no),
            (json!({}), "yes", r#"["yes", "y"]"#, 1.0, yes),
            (json!({}), "no", r#"["yes", "y"]"#, 0.0, no),
            (json!({}), "yes", "yes", 1.0, "One of 1 accepted answers: True"),
            (json!({}), "yes", "", 0.0, "No ground_truth answer provided"),
        ],
    );
}

#[test]
fn whole_numbers_compare_exactly_however_long() {
    let nines = |count: usize| "9".repeat(count);
    let eight = |count: usize| format!("{}8", nines(count - 1));
    let power = |zeros: usize| format!("1{}", "0".repeat(zeros));
    for (config, submission, ground_truth, same) in [
        (json!({}), nines(44), eight(44), false),
        (json!({}), nines(44), format!("0{}", nines(44)), true),
        (json!({}), nines(400), nines(400), true),
        (json!({}), nines(400), eight(400), false),
        (json!({}), nines(400), format!("-{}", nines(400)), false),
        (json!({"tolerance": 1}), nines(44), power(44), true),
        (json!({"tolerance": 1}), format!("-{}", eight(44)), format!("-{}", power(44)), false),
        (json!({"relative_tolerance": 0.5}), nines(400), eight(400), false),
        (json!({}), "-0".to_owned(), "0".to_owned(), true),
        (json!({}), "-007".to_owned(), "-7".to_owned(), true),
        (json!({"tolerance": 2}), "-1".to_owned(), "1".to_owned(), true),
    ] {
        let grade = grade("numeric", &config, &submission, Some(&ground_truth));
        assert_eq!(grade.error, None, "{submission:?}");
        assert_eq!(grade.passes(1.0), same, "{config} {submission:?} {ground_truth:?}");
    }
}

#[test]
fn numbers_are_compared_however_written() {
    for (config, submission, ground_truth, same) in [
        (json!({}), "1.0", "1", true),
        (json!({}), " $1,234.50 ", "1234.5", true),
        (json!({}), "-$5", "$-5", true),
        (json!({}), "−3", "-3.00", true),
        (json!({}), "5 €", "5", true),
        (json!({}), "50%", "50", true),
        (json!({}), "1e3", "1000", true),
        (json!({}), "1.5E-3", ".0015", true),
        (json!({}), "12,34,567", "1234567", true),
        (json!({}), "18.", "18", true),
        (json!({}), "+7", "7", true),
        (json!({}), "0.3", "0.30000000001", true),
        (json!({}), "0.3", "0.31", false),
        (json!({}), "9007199254740993", "9007199254740992", false),
        (json!({}), "1,23", "123", false),
        (json!({}), "1.2.3", "1.2", false),
        (json!({}), "18 eggs", "18", false),
        (json!({}), "--5", "5", false),
        (json!({}), "inf", "1", false),
        (json!({}), "1e999", "1", false),
        (json!({}), "٣", "3", false),
        (json!({}), "", "3", false),
        (json!({"tolerance": 0.5}), "1.4", "1", true),
        (json!({"tolerance": 0.5}), "1.6", "1", false),
        (json!({"relative_tolerance": 0.01}), "1009", "1000", true),
        (json!({"relative_tolerance": 0.01}), "-1011", "-1000", false),
        (json!({"tolerance": 0}), "0.30000000000000004", "0.3", false),
        (json!({"find": "last"}), "16 - 3 is 13, so $26.", "26", true),
        (json!({"find": "first"}), "16 - 3 is 13", "16", true),
        (json!({"find": "last"}), "about -4", "-4", true),
        (json!({"find": "last"}), "7-8", "8", true),
        (json!({"find": "last"}), "from gpt-4", "4", true),
        (json!({"find": "last"}), "it is 5, from gpt4", "5", true),
        (json!({"find": "last"}), "v1.2.3", "3", false),
        (json!({"find": "first"}), "1,234 and 5", "1234", true),
        (json!({"find": "first"}), "1,2,3", "1", true),
        (json!({"find": "last"}), "none", "3", false),
        (json!({"find": "last"}), "3", "so 2 + 1 = 3", true),
    ] {
        let grade = grade("numeric", &config, submission, Some(ground_truth));
        assert_eq!(grade.error, None, "{submission:?}");
        assert_eq!(grade.passes(1.0), same, "{config} {submission:?} {ground_truth:?}");
    }
    check(
        "numeric",
        &[
            (json!({}), "26", "18", 0.0, "Numeric match: False (18 expected, 26 found)"),
            (json!({}), "x", "1", 0.0, "Numeric match: False (the submission is no number)"),
            (json!({}), "1", "1.0", 1.0, "Numeric match: True"),
            (json!({}), "1", "", 0.0, "No ground_truth answer provided"),
        ],
    );
    assert_eq!(kind(&grade("numeric", &json!({}), "1", Some("one"))), "invalid_ground_truth");
}

#[test]
fn json_is_compared_as_json() {
    let yes = "JSON match: True";
    let no = |why: &str| format!("JSON match: False ({why})");
    let object = r#"{"a": 1, "b": [1.0, {"c": "x"}]}"#;
    check(
        "json_match",
        &[
            (json!({}), r#"{"b":[1,{"c":"x"}],"a":1.0}"#, object, 1.0, yes),
            (json!({}), "```json\n{\"a\": 1}\n```", r#"{"a":1}"#, 1.0, yes),
            (json!({}), "Here:\n```\n[1]\n```\nand ```[2]``` done", "[2]", 1.0, yes),
            (json!({}), "{}", r#"{"a":1}"#, 0.0, &no("`/a` is missing")),
            (json!({}), r#"{"a":1,"z":2}"#, r#"{"a":1}"#, 0.0, &no("`/z` is not expected")),
            (json!({"subset": true}), r#"{"a":1,"z":2}"#, r#"{"a":1}"#, 1.0, yes),
            (json!({"subset": true}), r#"[{"a":1,"z":2}]"#, r#"[{"a":1}]"#, 1.0, yes),
            (json!({"subset": true}), "[1,2]", "[1]", 0.0, &no("`/1` is not expected")),
            (json!({"ignore_keys": ["id"]}), r#"{"x":{"id":1}}"#, r#"{"x":{"id":2}}"#, 1.0, yes),
            (json!({"numeric_tolerance": 0.1}), "[1.05]", "[1]", 1.0, yes),
            (json!({}), "[1.05]", "[1]", 0.0, &no("`/0`: 1 expected, 1.05 found")),
            (
                json!({}),
                r#"{"a/b":[true]}"#,
                r#"{"a/b":[1]}"#,
                0.0,
                &no("`/a~1b/0`: 1 expected, true found"),
            ),
            (json!({}), "\"1\"", "1", 0.0, &no("the whole: 1 expected, \"1\" found")),
            (
                json!({}),
                "9007199254740993",
                "9007199254740992",
                0.0,
                &no("the whole: 9007199254740992 expected, 9007199254740993 found"),
            ),
            (json!({}), "so {", "1", 0.0, &no("the submission is no JSON")),
            (json!({}), "1", "", 0.0, "No ground_truth answer provided"),
        ],
    );
    assert_eq!(kind(&grade("json_match", &json!({}), "1", Some("{"))), "invalid_ground_truth");
    let deep = "[".repeat(100_000);
    assert_eq!(
        grade("json_match", &json!({}), &deep, Some("1")).rationale,
        no("the submission is no JSON")
    );
}

#[test]
fn json_is_checked_against_a_schema() {
    let schema = json!({"schema": {
        "type": "object", "required": ["name"], "properties": {"age": {"type": "integer", "minimum": 0}}
    }});
    let yes = "JSON schema: True";
    let no = |why: &str| format!("JSON schema: False ({why})");
    let many = no(
        "`/0`: value is not of type \"string\"; `/1`: value is not of type \"string\"; `/2`: value is not of type \"string\"; `/3`: value is not of type \"string\"; `/4`: value is not of type \"string\"; +2 more",
    );
    check(
        "json_schema",
        &[
            (schema.clone(), r#"{"name": "x", "age": 3}"#, "", 1.0, yes),
            (schema.clone(), "```json\n{\"name\": \"x\"}\n```", "", 1.0, yes),
            (
                schema.clone(),
                r#"{"name": "x", "age": -1}"#,
                "",
                0.0,
                &no("`/age`: value is less than the minimum of 0"),
            ),
            (schema.clone(), "{}", "", 0.0, &no("the whole: \"name\" is a required property")),
            (schema, "{", "", 0.0, &no("the submission is no JSON")),
            (json!({}), "1", r#"{"type": "integer"}"#, 1.0, yes),
            (json!({}), "[1,2,3,4,5,6,7]", r#"{"items": {"type": "string"}}"#, 0.0, &many),
            (json!({}), "1", "", 0.0, "No ground_truth answer provided"),
        ],
    );
    for bad in ["{", r#"{"type": "strin"}"#, r#"{"$ref": "http://localhost/x"}"#, "3"] {
        let grade = grade("json_schema", &json!({}), "1", Some(bad));
        assert_eq!(kind(&grade), "invalid_ground_truth", "{bad}");
    }
    // A schema that refers to nothing but itself must end.
    let endless = grade("json_schema", &json!({}), "1", Some(r##"{"$ref": "#"}"##));
    assert!(endless.score <= 1.0);
}

/// The recorded answers of four models to 1,319 problems, and whether people judged them correct.
#[test]
fn gsm8k_answers_are_judged_as_published() {
    let Some(text) =
        evalrs_test_data::text("gsm8k-humaneval-outputs", "gsm8k-example_model_solutions.jsonl")
    else {
        return;
    };
    let answer = super::reference::ReferencePattern::new("A: (.*)").unwrap();
    let mut correct = Map::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let truth = answer.pick(row["ground_truth"].as_str().unwrap()).unwrap();
        for model in ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"] {
            let solution = row[model]["solution"].as_str().unwrap();
            let submission = answer.pick(solution).unwrap().unwrap_or_default();
            let grade = grade("numeric", &json!({}), submission, truth);
            assert_eq!(grade.error, None, "{line}");
            assert_eq!(json!(grade.passes(1.0)), row[model]["is_correct"], "{model}: {line}");
            let count = correct.entry(model).or_insert(json!(0));
            *count = json!(count.as_u64().unwrap() + u64::from(grade.passes(1.0)));
        }
    }
    let expected = evalrs_test_data::text("gsm8k-humaneval-outputs", "expected.json").unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    assert_eq!(Value::Object(correct), expected["gsm8k"]["correct"]);
}
