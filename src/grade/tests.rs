//! Every grader through the registry, as a suite reaches it: options, subject, grade.

use serde_json::{Map, Value, json};

use super::registry::{GRADERS, ToolGrader, compile, find};
use super::{Grade, OptionProblem, Subject, ToolSpec};
use crate::path::Row;
use crate::trajectory::{Body, Message, ToolCall, ToolReturn, Trajectory, Turn};

fn compiled(function: &str, config: &Value) -> Result<ToolGrader, Vec<OptionProblem>> {
    let config = config.as_object().cloned().unwrap_or_default();
    compile(&ToolSpec { function: function.to_owned(), config })
}

fn grade(function: &str, config: &Value, submission: &str, ground_truth: Option<&str>) -> Grade {
    let subject = Subject {
        submission,
        ground_truth,
        trajectory: &Trajectory::default(),
        row: Row { text: "{}" },
        include_subagents: false,
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
        assert_eq!(grade.error, None, "{context}");
    }
}

fn kind(grade: &Grade) -> &str {
    grade.error.as_ref().map_or("", |error| error.kind.as_str())
}

#[test]
fn exact_match_is_that_of_letta() {
    let (yes, no) = ("Exact match: True", "Exact match: False");
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
    assert_eq!(without, Grade::new(0.0, "No ground_truth answer provided"));
}

#[test]
fn contains_is_that_of_letta() {
    let (yes, no) = ("Contains ground_truth: True", "Contains ground_truth: False");
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
    let (yes, no) = ("Regex match: True", "Regex match: False");
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
    let (yes, no) = ("String match: True", "String match: False");
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
    let (yes, no) = ("One of 2 accepted answers: True", "One of 2 accepted answers: False");
    check(
        "one_of",
        &[
            (json!({"values": ["A", "B"]}), " B\n", "", 1.0, yes),
            (json!({"values": ["A", "B"]}), "b", "", 0.0, no),
            (json!({"values": ["A", "B"], "case_sensitive": false}), "b", "", 1.0, yes),
            (json!({"values": [1, true]}), "true", "", 1.0, yes),
            (json!({}), "yes", r#"["yes", "y"]"#, 1.0, yes),
            (json!({}), "no", r#"["yes", "y"]"#, 0.0, no),
            (json!({}), "yes", "yes", 1.0, "One of 1 accepted answers: True"),
            (json!({}), "yes", "", 0.0, "No ground_truth answer provided"),
        ],
    );
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
    let (yes, no) = ("JSON match: True", |why: &str| format!("JSON match: False ({why})"));
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
    let (yes, no) = ("JSON schema: True", |why: &str| format!("JSON schema: False ({why})"));
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

fn call(name: &str, arguments: &str) -> Message {
    let call = ToolCall { id: None, name: name.to_owned(), arguments: arguments.to_owned() };
    Message { body: Body::ToolCall(call), subagent: false }
}

fn answer(failed: bool) -> Message {
    let answer = ToolReturn { call_id: None, output: "x".to_owned(), failed };
    Message { body: Body::ToolReturn(answer), subagent: false }
}

fn of_subagent(message: Message) -> Message {
    Message { subagent: true, ..message }
}

fn trajectory(messages: Vec<Message>) -> Trajectory {
    Trajectory { turns: vec![Turn { messages }], agent_state: None }
}

fn grade_calls(
    function: &str,
    config: &Value,
    trajectory: &Trajectory,
    ground_truth: Option<&str>,
) -> Grade {
    let subject = Subject {
        submission: "",
        ground_truth,
        trajectory,
        row: Row {
            text: r#"{"info": {"task": {"actions": [{"name": "b", "kwargs": {"y": [1]}}]}}, "n": 1}"#,
        },
        include_subagents: config.get("max") == Some(&json!(99)),
    };
    compiled(function, config).unwrap().grade(&subject)
}

#[test]
fn calls_are_counted() {
    let made = trajectory(vec![
        call("search", r#"{"q": "x", "limit": 5}"#),
        answer(false),
        call("search", r#"{"q": "y"}"#),
        answer(true),
        call("book", ""),
        call("odd", "no json"),
        of_subagent(call("secret", "{}")),
        of_subagent(answer(true)),
    ]);
    for (function, config, expected) in [
        ("tool_called", json!({"name": "search"}), "Tool called: True"),
        (
            "tool_called",
            json!({"name": "none"}),
            "Tool called: False (`none` called 0 times, at least 1 expected)",
        ),
        ("tool_called", json!({"names": ["search", "book"]}), "Tool called: True"),
        (
            "tool_called",
            json!({"names": ["search", "no", "nor"]}),
            "Tool called: False (`no` called 0 times, at least 1 expected; `nor` called 0 times, at least 1 expected)",
        ),
        ("tool_called", json!({"name": "search", "args": {"q": "x"}}), "Tool called: True"),
        (
            "tool_called",
            json!({"name": "search", "args": {"q": "x"}, "min": 2}),
            "Tool called: False (`search` called once, at least 2 expected)",
        ),
        ("tool_called", json!({"name": "search", "args": {"limit": 5.0}}), "Tool called: True"),
        (
            "tool_called",
            json!({"name": "search", "max": 1}),
            "Tool called: False (`search` called 2 times, at most 1 expected)",
        ),
        (
            "tool_called",
            json!({"name": "search", "max": 0}),
            "Tool called: False (`search` called 2 times, at most 0 expected)",
        ),
        ("tool_called", json!({"name": "refund", "max": 0}), "Tool called: True"),
        (
            "tool_called",
            json!({"name": "odd", "args": {"a": 1}}),
            "Tool called: False (`odd` called 0 times, at least 1 expected)",
        ),
        ("tool_called", json!({"name": "book", "args": {}}), "Tool called: True"),
        (
            "tool_called",
            json!({"name": "secret"}),
            "Tool called: False (`secret` called 0 times, at least 1 expected)",
        ),
        ("tool_called", json!({"name": "secret", "max": 99}), "Tool called: True"),
        ("max_tool_calls", json!({"max": 4}), "Tool calls: 4 of at most 4: True"),
        ("max_tool_calls", json!({"max": 3}), "Tool calls: 4 of at most 3: False"),
        ("max_tool_calls", json!({"max": 99}), "Tool calls: 5 of at most 99: True"),
        ("no_tool_errors", json!({}), "No tool errors: False (1 failed)"),
    ] {
        let grade = grade_calls(function, &config, &made, None);
        assert_eq!(grade.rationale, expected, "{function} {config}");
        assert_eq!(grade.passes(1.0), expected.ends_with("True"), "{function} {config}");
    }
    let fine = trajectory(vec![call("a", "{}"), answer(false)]);
    assert_eq!(
        grade_calls("no_tool_errors", &json!({}), &fine, None).rationale,
        "No tool errors: True"
    );
}

fn three_calls() -> Trajectory {
    trajectory(vec![
        call("think", "{}"),
        call("a", r#"{"x": 1, "name": "Ann", "at": "$5.00"}"#),
        call("b", r#"{"y": [1]}"#),
    ])
}

const CALLS_MATCH: &str = "Tool calls match: True";

/// Options of `tool_calls_match`, and why three calls do not match; nothing if they do.
fn check_calls(cases: &[(Value, &str)]) {
    for (config, wrong) in cases {
        let grade = grade_calls("tool_calls_match", config, &three_calls(), None);
        let expected = match *wrong {
            "" => CALLS_MATCH.to_owned(),
            wrong => format!("Tool calls match: False ({wrong})"),
        };
        assert_eq!(grade.rationale, expected, "{config}");
        assert_eq!(grade.passes(1.0), wrong.is_empty(), "{config}");
    }
}

#[test]
fn calls_match_as_strictly_as_wanted() {
    let a = json!({"name": "a", "arguments": {"x": 1.0, "name": "Ann", "at": "$5.00"}});
    let b = json!({"name": "b", "args": {"y": [1]}});
    check_calls(&[
        (json!({"expected": ["think", a, b]}), ""),
        (json!({"expected": [a, b], "ignore_tools": ["think"]}), ""),
        (json!({"expected": ["think", b, a]}), "call 2: `b` expected, `a` made"),
        (json!({"expected": ["think", a]}), "call 3: `b` is not expected"),
        (json!({"expected": ["think", a, b, b]}), "call 4: `b` is missing"),
        (
            json!({"expected": ["think", {"name": "a", "input": {"x": 1}}, b]}),
            "call 2: `a` has other arguments than expected",
        ),
        (
            json!({"expected": ["think", {"name": "a", "input": {"x": 1}}, b], "arguments": "subset"}),
            "",
        ),
        (
            json!({"expected": ["think", {"name": "a", "input": {"x": 2}}, b], "arguments": "subset"}),
            "call 2: `a` has other arguments than expected",
        ),
        (
            json!({"expected": ["think", {"name": "a", "input": {"x": 2}}, b], "arguments": "ignore"}),
            "",
        ),
        (json!({"expected": [b, a, "think"], "mode": "unordered"}), ""),
        (json!({"expected": [b, a], "mode": "unordered"}), "`think` is not expected, or not so"),
        (
            json!({"expected": [b, a, "think", "think"], "mode": "unordered"}),
            "`think` is missing, or has other arguments",
        ),
        (json!({"expected": [b], "mode": "superset"}), ""),
        (json!({"expected": [b, b], "mode": "superset"}), "`b` is missing, or has other arguments"),
        (json!({"expected": [b, a, "think", "more"], "mode": "subset"}), ""),
        (json!({"expected": [b, a], "mode": "subset"}), "`think` is not expected, or not so"),
        (json!({"expected": [], "mode": "superset"}), ""),
        (
            json!({"expected": [{"function": {"name": "b", "arguments": "{\"y\":[1]}"}}], "mode": "superset"}),
            "",
        ),
        (json!({"path": "info.task.actions", "mode": "superset"}), ""),
        (json!({"path": "info.task.actions"}), "call 1: `b` expected, `think` made"),
    ]);
}

#[test]
fn arguments_match_as_loosely_as_wanted() {
    let loose =
        json!({"a": {"at": "numeric"}, "*": {"name": "ignore_case", "x": "ignore", "y": "regex"}});
    check_calls(&[
        (
            json!({"expected": [{"name": "a", "kwargs": {"name": "ANN", "at": "5"}}], "mode": "superset", "comparators": loose}),
            "",
        ),
        (
            json!({"expected": [{"name": "a", "kwargs": {"name": "ANN", "at": "6"}}], "mode": "superset", "comparators": loose}),
            "`a` is missing, or has other arguments",
        ),
        (
            json!({"expected": [{"name": "b", "kwargs": {"y": r"^\[\d\]$"}}], "mode": "superset", "comparators": loose}),
            "",
        ),
    ]);
}

#[test]
fn expected_calls_may_stand_in_the_ground_truth() {
    let grade =
        |config: Value, truth| grade_calls("tool_calls_match", &config, &three_calls(), truth);
    let superset = || json!({"mode": "superset"});
    assert_eq!(grade(superset(), Some(r#"[{"name": "b"}]"#)).rationale, CALLS_MATCH);
    assert_eq!(grade(superset(), None).rationale, "No ground_truth answer provided");
    assert_eq!(kind(&grade(superset(), Some("{}"))), "invalid_ground_truth");
    assert_eq!(kind(&grade(superset(), Some("[{}]"))), "invalid_ground_truth");
    assert_eq!(kind(&grade(json!({"path": "n"}), None)), "invalid_ground_truth");
    let bad_pattern = json!({"mode": "superset", "comparators": {"*": {"y": "regex"}}});
    let truth = r#"[{"name": "b", "args": {"y": "("}}]"#;
    assert_eq!(kind(&grade(bad_pattern, Some(truth))), "invalid_ground_truth");
}

#[test]
fn no_pairing_is_missed() {
    // Each expected call fits several: a first-come pairing of `any` with the first would lose `one`.
    let made = trajectory(vec![call("t", r#"{"a": 1, "b": 1}"#), call("t", r#"{"a": 1}"#)]);
    let config = json!({
        "expected": [{"name": "t", "args": {"a": 1}}, {"name": "t", "args": {"b": 1}}],
        "mode": "unordered", "arguments": "subset"
    });
    assert!(grade_calls("tool_calls_match", &config, &made, None).passes(1.0));
    let many = trajectory((0..1001).map(|_| call("t", "{}")).collect());
    assert_eq!(kind(&grade_calls("tool_calls_match", &config, &many, None)), "too_large");
}

#[test]
fn recorded_scores_are_taken_over() {
    let row = r#"{"metadata": {"reward": 0.25, "text": " 0.5 ", "ok": true, "not": false, "stars": 4,
        "none": null, "nan": "nan", "list": [1], "five": 5}, "a.b": 1}"#;
    let scale = json!({"min": 1, "max": 5});
    for (config, expected) in [
        (json!({"path": "metadata.reward"}), Ok(0.25)),
        (json!({"path": "metadata.text"}), Ok(0.5)),
        (json!({"path": "metadata.ok"}), Ok(1.0)),
        (json!({"path": "metadata.not", "scale": scale}), Ok(0.0)),
        (json!({"path": "metadata.stars", "scale": scale}), Ok(0.75)),
        (json!({"path": "metadata.list[0]"}), Ok(1.0)),
        (json!({"path": "a.b"}), Ok(1.0)),
        (json!({"path": "metadata.five"}), Err("`metadata.five` is 5, not within 0 to 1")),
        (
            json!({"path": "metadata.reward", "scale": scale}),
            Err("`metadata.reward` is 0.25, not within 1 to 5"),
        ),
        (json!({"path": "metadata.none"}), Err("the row has no `metadata.none`")),
        (json!({"path": "reward"}), Err("the row has no `reward`")),
        (json!({"path": "metadata.nan"}), Err("`metadata.nan` is no number")),
        (json!({"path": "metadata.list"}), Err("`metadata.list` is no number")),
    ] {
        let subject = Subject {
            submission: "",
            ground_truth: None,
            trajectory: &Trajectory::default(),
            row: Row { text: row },
            include_subagents: false,
        };
        let grade = compiled("recorded_score", &config).unwrap().grade(&subject);
        let found =
            grade.error.as_ref().map_or(Ok(grade.score), |error| Err(error.message.as_str()));
        assert_eq!(found, expected, "{config}");
        assert_eq!(kind(&grade), if expected.is_ok() { "" } else { "invalid_score" });
    }
}

/// Grader, options, and for each problem its path, message and hint.
fn check_problems(cases: &[(&str, Value, Vec<&str>)]) {
    for (function, config, expected) in cases {
        let problems = compiled(function, config).err().unwrap_or_default();
        let show = |problem: &OptionProblem| {
            let hint = problem.hint.as_deref().unwrap_or_default();
            format!("{} {} ({hint})", problem.at.join("."), problem.message)
        };
        let mut found: Vec<String> = problems.iter().map(show).collect();
        found.sort();
        assert_eq!(found, *expected, "{function} {config}");
    }
}

#[test]
fn problems_with_options_are_all_found() {
    check_problems(&[
        (
            "exact_matc",
            json!({}),
            vec![" there is no grader `exact_matc` (did you mean `exact_match`?)"],
        ),
        ("exact_match", json!({"x": 1}), vec!["x unknown option `x` (this grader has no options)"]),
        (
            "numeric",
            json!({"tolerence": 1, "relative_tolerance": "1", "find": "lst", "zzzzzzzzzzzz": 0}),
            vec![
                "find `find` must be one of `first`, `last` (did you mean `last`?)",
                "relative_tolerance `relative_tolerance` must be a number ()",
                "tolerence unknown option `tolerence` (did you mean `tolerance`?)",
                "zzzzzzzzzzzz unknown option `zzzzzzzzzzzz` (the options are `tolerance`, `relative_tolerance`, `find`)",
            ],
        ),
        ("numeric", json!({"tolerance": -1}), vec!["tolerance `tolerance` must be at least 0 ()"]),
        (
            "string_match",
            json!({"case_sensitive": 1}),
            vec!["case_sensitive `case_sensitive` must be true or false ()"],
        ),
        ("one_of", json!({"values": []}), vec!["values `values` must have at least 1 item ()"]),
        ("one_of", json!({"values": "a"}), vec!["values `values` must be a list ()"]),
        ("recorded_score", json!({}), vec![" the option `path` is missing ()"]),
        (
            "recorded_score",
            json!({"path": "a", "scale": {"min": 1}}),
            vec!["scale the option `max` is missing ()"],
        ),
        (
            "recorded_score",
            json!({"path": "a", "scale": {"min": 1, "mox": 2, "max": 3}}),
            vec!["scale.mox unknown option `mox` (did you mean `max`?)"],
        ),
        (
            "recorded_score",
            json!({"path": "a", "scale": {"min": 1, "max": 1}}),
            vec!["scale.max `max` must be greater than `min` ()"],
        ),
    ]);
}

#[test]
fn problems_with_options_of_call_graders_are_all_found() {
    check_problems(&[
        ("max_tool_calls", json!({"max": -1}), vec!["max `max` must be at least 0 ()"]),
        ("max_tool_calls", json!({"max": 1.5}), vec!["max `max` must be a whole number ()"]),
        ("tool_called", json!({}), vec![" the option `name` is missing ()"]),
        (
            "tool_called",
            json!({"name": "a", "names": ["b"], "min": 2, "max": 1}),
            vec![
                "max `max` must not be less than `min` ()",
                "names `name` and `names` exclude each other ()",
            ],
        ),
        (
            "tool_calls_match",
            json!({"expected": ["a", {"nam": 1}]}),
            vec!["expected.1 a call needs a `name` ()"],
        ),
        (
            "tool_calls_match",
            json!({"expected": [], "path": "a"}),
            vec!["path `expected` and `path` exclude each other ()"],
        ),
        (
            "tool_calls_match",
            json!({"mode": "stric"}),
            vec![
                "mode `mode` must be one of `strict`, `unordered`, `subset`, `superset` (did you mean `strict`?)",
            ],
        ),
        (
            "tool_calls_match",
            json!({"comparators": {"a": {"b": "exat"}}}),
            vec![
                "comparators.a.b `b` must be one of `exact`, `ignore_case`, `numeric`, `regex`, `ignore` (did you mean `exact`?)",
            ],
        ),
        (
            "json_schema",
            json!({"schema": {"type": 3}}),
            vec![
                "schema it is no JSON Schema, at `/type`: value is not valid under any of the schemas listed in the 'anyOf' keyword ()",
            ],
        ),
        ("json_schema", json!({"schema": "x"}), vec!["schema `schema` must be a mapping ()"]),
    ]);
}

#[test]
fn the_registry_is_complete() {
    let mut names: Vec<&str> =
        GRADERS.iter().flat_map(|info| info.aliases.iter().chain([&info.id])).copied().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name is used twice");
    for info in GRADERS {
        assert!(std::ptr::eq(find(info.id).unwrap(), info));
        let schema = (info.options)();
        assert_eq!(schema["additionalProperties"], json!(false), "{}", info.id);
        let members = schema["properties"].as_object().cloned().unwrap_or_default();
        for (name, member) in members {
            assert!(member["description"].is_string(), "{} {name}", info.id);
        }
        assert!(!info.description.is_empty() && !info.name.is_empty());
    }
    assert_eq!(find("string-match").map(|info| info.id), Some("string_match"));
}

/// The recorded answers of four models to 1,319 problems, and whether people judged them correct.
#[test]
fn gsm8k_answers_are_judged_as_published() {
    let Some(text) =
        crate::test_data::text("gsm8k-humaneval-outputs", "gsm8k-example_model_solutions.jsonl")
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
    let expected = crate::test_data::text("gsm8k-humaneval-outputs", "expected.json").unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    assert_eq!(Value::Object(correct), expected["gsm8k"]["correct"]);
}
