//! Graders of tool calls, and of scores that were recorded.

use super::options::check_problems;
use super::*;

fn call(name: &str, arguments: &str) -> Message {
    let call = ToolCall { id: None, name: name.to_owned(), arguments: arguments.to_owned() };
    Message::new(MessageBody::ToolCall(call))
}

fn answer(failed: bool) -> Message {
    let answer = ToolReturn { call_id: None, output: "x".to_owned(), says_error: false, failed };
    Message::new(MessageBody::ToolReturn(answer))
}

fn of_subagent(message: Message) -> Message {
    Message { subagent: true, ..message }
}

fn trajectory(messages: Vec<Message>) -> Trajectory {
    Trajectory { turns: vec![Turn { messages }], ..Trajectory::default() }
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
        row: Row::new(
            r#"{"info": {"task": {"actions": [{"name": "b", "kwargs": {"y": [1]}}]}}, "n": 1}"#,
        ),
        output: None,
        include_subagents: config.get("max") == Some(&json!(99)),
        votes: None,
        cost: None,
    };
    compiled(function, config).unwrap().grade(&subject)
}

fn made_calls() -> Trajectory {
    trajectory(vec![
        call("search", r#"{"q": "x", "limit": 5}"#),
        answer(false),
        call("search", r#"{"q": "y"}"#),
        answer(true),
        call("book", ""),
        call("odd", "no json"),
        of_subagent(call("secret", "{}")),
        of_subagent(answer(true)),
    ])
}

#[test]
fn calls_are_counted() {
    let made = made_calls();
    for (function, config, expected) in [
        ("tool_called", json!({"name": "search"}), "Tool called: True"),
        (
            "tool_called",
            json!({"name": "none"}),
            "Tool called: False (`none` called 0 times, at least 1 expected; called were `search`, `book`, `odd`)",
        ),
        ("tool_called", json!({"names": ["search", "book"]}), "Tool called: True"),
        (
            "tool_called",
            json!({"names": ["search", "no", "nor"]}),
            "Tool called: False (`no` called 0 times, at least 1 expected; `nor` called 0 times, at least 1 expected; called were `search`, `book`, `odd`)",
        ),
        ("tool_called", json!({"name": "search", "args": {"q": "x"}}), "Tool called: True"),
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
        ("tool_called", json!({"name": "book", "args": {}}), "Tool called: True"),
        (
            "tool_called",
            json!({"name": "secret"}),
            "Tool called: False (`secret` called 0 times, at least 1 expected; called were `search`, `book`, `odd`)",
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

#[test]
fn calls_are_counted_by_patterns_of_their_arguments() {
    let made = made_calls();
    for (config, expected) in [
        (
            json!({"name": "search", "patterns": {"q": "^[xz]$"}, "max": 0}),
            "False (`search` called once, with q `x`, at most 0 expected)",
        ),
        (
            json!({"name": "search", "patterns": {"q": "x|y"}, "max": 1}),
            "False (`search` called 2 times, the last time with q `y`, at most 1 expected)",
        ),
        (json!({"name": "search", "patterns": {"q": "z"}, "max": 0}), "True"),
        (json!({"name": "search", "args": {"q": "x"}, "patterns": {"limit": "^5$"}}), "True"),
        (
            json!({"name": "search", "patterns": {"q": "z"}}),
            "False (`search` called 2 times, none of them with the expected arguments, at least 1 expected; the last other: q `y`, which does not match `z`)",
        ),
        (
            json!({"name": "book", "patterns": {"title": "z"}}),
            "False (`book` called once, with other arguments: title is missing, expected a match of `z`)",
        ),
    ] {
        let grade = grade_calls("tool_called", &config, &made, None);
        assert_eq!(grade.rationale, format!("Tool called: {expected}"), "{config}");
    }
}

#[test]
fn answers_that_look_like_errors_are_some_where_the_suite_says_so() {
    let said = |output: &str| {
        let answer = ToolReturn {
            call_id: None,
            output: output.to_owned(),
            says_error: false,
            failed: false,
        };
        let answer = Message::new(MessageBody::ToolReturn(answer));
        trajectory(vec![call("a", "{}"), answer])
    };
    for (output, pattern, expected) in [
        ("Error: booking is not refundable", "^Error", "No tool errors: False (1 failed)"),
        ("no Error", "^Error", "No tool errors: True"),
        ("it FAILED", "(?i)failed", "No tool errors: False (1 failed)"),
    ] {
        let config = json!({"pattern": pattern});
        assert_eq!(grade_calls("no_tool_errors", &config, &said(output), None).rationale, expected);
    }
    assert!(compiled("no_tool_errors", &json!({"pattern": "("})).is_err());
}

#[test]
fn other_arguments_than_expected_are_named() {
    for (config, expected) in [
        (
            json!({"name": "search", "args": {"q": "x"}, "min": 2}),
            "Tool called: False (`search` called 2 times, 1 of them with the expected arguments, at least 2 expected; the last other: q `y`, expected `x`)",
        ),
        (
            json!({"name": "search", "args": {"q": "z"}}),
            "Tool called: False (`search` called 2 times, none of them with the expected arguments, at least 1 expected; the last other: q `y`, expected `z`)",
        ),
        (
            json!({"name": "book", "args": {"city": {"name": "Paris"}}}),
            "Tool called: False (`book` called once, with other arguments: city is missing, expected `{\"name\":\"Paris\"}`)",
        ),
        (
            json!({"name": "odd", "args": {"a": 1}}),
            "Tool called: False (`odd` called once, with other arguments: they are not JSON)",
        ),
    ] {
        let grade = grade_calls("tool_called", &config, &made_calls(), None);
        assert_eq!(grade.rationale, expected, "{config}");
        assert!(!grade.passes(1.0), "{config}");
    }
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
        "none": null, "nan": "nan", "list": [1], "five": 5, "cell": " True", "other": "FALSE"}, "a.b": 1}"#;
    let scale = json!({"min": 1, "max": 5});
    for (config, expected) in [
        (json!({"path": "metadata.reward"}), Ok(0.25)),
        (json!({"path": "metadata.text"}), Ok(0.5)),
        (json!({"path": "metadata.ok"}), Ok(1.0)),
        (json!({"path": "metadata.not", "scale": scale}), Ok(0.0)),
        (json!({"path": "metadata.stars", "scale": scale}), Ok(0.75)),
        (json!({"path": "metadata.cell"}), Ok(1.0)),
        (json!({"path": "metadata.other", "scale": scale}), Ok(0.0)),
        (json!({"path": "metadata.list[0]"}), Ok(1.0)),
        (json!({"path": "a.b"}), Ok(1.0)),
        (json!({"path": "metadata.five"}), Err("`metadata.five` is 5, not within 0 to 1")),
        (
            json!({"path": "metadata.reward", "scale": scale}),
            Err("`metadata.reward` is 0.25, not within 1 to 5"),
        ),
        (json!({"path": "metadata.none"}), Err("the row has no `metadata.none`")),
        (json!({"path": "reward"}), Err("the row has no `reward`")),
        (json!({"path": "metadata.nan"}), Err("`metadata.nan` is not a number")),
        (json!({"path": "metadata.list"}), Err("`metadata.list` is not a number")),
    ] {
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
        let grade = compiled("recorded_score", &config).unwrap().grade(&subject);
        let found =
            grade.error.as_ref().map_or(Ok(grade.score), |error| Err(error.message.as_str()));
        assert_eq!(found, expected, "{config}");
        assert_eq!(kind(&grade), if expected.is_ok() { "" } else { "invalid_score" });
    }
}

#[test]
fn recorded_verdicts_and_reasons_come_with_the_score() {
    let row = r#"{"s": 0.75, "yes": true, "no": false, "cell": "False", "none": null, "why": "too long", "empty": "", "odd": 7}"#;
    for (config, pass, rationale) in [
        (json!({"pass": "no", "rationale": "why"}), Some(false), "too long"),
        (json!({"pass": "yes"}), Some(true), "Recorded score: 0.75"),
        (json!({"pass": "cell", "rationale": "empty"}), Some(false), "Recorded score: 0.75"),
        (json!({"pass": "none", "rationale": "none"}), None, "Recorded score: 0.75"),
        (json!({"pass": "gone", "rationale": "odd"}), None, "Recorded score: 0.75"),
        (json!({"pass": "odd"}), None, "`odd` is not true or false"),
        (json!({"pass": "no", "path": "gone"}), None, "the row has no `gone`"),
    ] {
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
        let mut options = config.clone();
        if options.get("path").is_none() {
            options["path"] = json!("s");
        }
        let grade = compiled("recorded_score", &options).unwrap().grade(&subject);
        let told = grade.error.as_ref().map_or(&*grade.rationale, |error| error.message.as_str());
        assert_eq!((grade.pass, told), (pass, rationale), "{config}");
    }
}

#[test]
fn recorded_values_are_mapped_to_scores() {
    let letters = json!({"C": 1, "I": 0, "P": 0.5});
    let stars = json!({"min": 1, "max": 5});
    for (map, scale, value, expected) in [
        (&letters, None, json!("C"), Ok(1.0)),
        (&letters, None, json!(" P\n"), Ok(0.5)),
        (
            &letters,
            None,
            json!("c"),
            Err("`x` is `c`, which `map` does not have: it has `C`, `I`, `P`"),
        ),
        (
            &letters,
            None,
            json!(1),
            Err("`x` is `1`, which `map` does not have: it has `C`, `I`, `P`"),
        ),
        (
            &letters,
            None,
            json!(["C"]),
            Err("`x` is `[\"C\"]`, which `map` does not have: it has `C`, `I`, `P`"),
        ),
        (&letters, None, json!(null), Err("the row has no `x`")),
        (&json!({"good": 4, "bad": 1}), Some(&stars), json!("good"), Ok(0.75)),
        (&json!({"-1": 0, "1": 1, "0": 0.5}), None, json!(-1), Ok(0.0)),
        (&json!({"true": 0, "false": 1}), None, json!(true), Ok(0.0)),
        (&json!({"true": 0, "false": 1}), None, json!("False"), Ok(1.0)),
        (
            &json!({"True": 0}),
            None,
            json!(false),
            Err("`x` is `false`, which `map` does not have: it has `True`"),
        ),
    ] {
        let mut config = json!({"path": "x", "map": map});
        if let Some(scale) = scale {
            config["scale"] = scale.clone();
        }
        let row = json!({"x": value}).to_string();
        let subject = Subject {
            submission: "",
            ground_truth: None,
            trajectory: &Trajectory::default(),
            row: Row::new(&row),
            output: None,
            include_subagents: false,
            votes: None,
            cost: None,
        };
        let grade = compiled("recorded_score", &config).unwrap().grade(&subject);
        let found =
            grade.error.as_ref().map_or(Ok(grade.score), |error| Err(error.message.as_str()));
        assert_eq!(found, expected, "{config} {row}");
    }
}

#[test]
fn arguments_may_have_alternatives_and_be_missing() {
    let a = |one_of: Value, optional: Value| json!({"name": "a", "arguments": {"x": 1}, "one_of": one_of, "optional": optional});
    let a_alone = |call: Value| json!({"expected": [call], "ignore_tools": ["think", "b"]});
    let cities = json!({"name": ["Bob", "Ann"], "at": ["$5.00"]});
    let other = "call 1: `a` has other arguments than expected";
    check_calls(&[
        (a_alone(a(cities.clone(), json!(null))), ""),
        (a_alone(a(json!({"name": ["Bob", "ann"], "at": ["$5.00"]}), json!(null))), other),
        (a_alone(a(json!({"name": ["Ann"]}), json!([]))), other),
        (a_alone(a(json!({"name": ["Ann"], "at": ["$5.00"], "z": [1]}), json!(["z"]))), ""),
        (a_alone(a(json!({"name": ["Ann"], "at": ["$5.00"], "z": [1]}), json!([]))), other),
        (
            json!({"expected": [{"name": "a", "one_of": {"name": ["ANN"], "at": ["5"]}, "args": {"x": 1}}],
                "ignore_tools": ["think", "b"],
                "comparators": {"a": {"name": "ignore_case", "at": "numeric"}}}),
            "",
        ),
        // A literal argument that looks like alternatives is none.
        (
            a_alone(
                json!({"name": "a", "args": {"x": {"one_of": [1]}, "name": "Ann", "at": "$5.00"}}),
            ),
            other,
        ),
    ]);
    for (call, message) in [
        (
            json!({"name": "a", "one_of": {"x": []}}),
            "`one_of` must be an object of lists with at least one value each",
        ),
        (json!({"name": "a", "optional": "x"}), "`optional` must be a list of names of arguments"),
        (
            json!({"name": "a", "optional": ["x"]}),
            "`optional` names an argument that is neither in `arguments` nor in `one_of`",
        ),
        (
            json!({"name": "a", "args": {"x": 1}, "one_of": {"x": [1]}}),
            "an argument stands both in `arguments` and in `one_of`",
        ),
    ] {
        let problems = compiled("tool_calls_match", &json!({"expected": [call]})).unwrap_err();
        assert_eq!(problems[0].message, message, "{call}");
    }
}

#[test]
fn calls_are_scored_by_the_best_pairing() {
    let a = json!({"name": "a", "arguments": {"x": 1}});
    let b = json!({"name": "b", "arguments": {"y": [1]}});
    for (score, expected, number, rationale) in [
        (
            "f1",
            json!([b, a]),
            0.8,
            "Tool calls: 2 of 2 expected, 3 made (`think` is not expected so)",
        ),
        ("precision", json!([b, a]), 2.0 / 3.0, "Tool calls: 2 of 2 expected, 3 made"),
        ("recall", json!([b, a]), 1.0, "Tool calls: 2 of 2 expected, 3 made"),
        (
            "recall",
            json!([b, b, "c"]),
            1.0 / 3.0,
            "Tool calls: 1 of 3 expected, 3 made (`b` is missing; `c` is missing; `think`",
        ),
        // The first `a` would leave the second alone if it took the only call.
        (
            "recall",
            json!(["a", a, "think", b]),
            0.75,
            "Tool calls: 3 of 4 expected, 3 made (`a` is missing)",
        ),
        ("precision", json!([]), 0.0, "Tool calls: 0 of 0 expected, 3 made"),
        ("f1", json!(["z"]), 0.0, "Tool calls: 0 of 1 expected, 3 made"),
    ] {
        let config = json!({"expected": expected, "score": score, "arguments": "subset"});
        let grade = grade_calls("tool_calls_match", &config, &three_calls(), None);
        assert!((grade.score - number).abs() < 1e-12, "{config}: {grade:?}");
        assert!(grade.rationale.starts_with(rationale), "{config}: {grade:?}");
    }
    let none = json!({"expected": [], "score": "f1"});
    assert!(grade_calls("tool_calls_match", &none, &trajectory(Vec::new()), None).passes(1.0));
    check_problems(&[
        (
            "tool_calls_match",
            json!({"score": "f1", "mode": "subset"}),
            vec!["mode `score` and `mode` exclude each other ()"],
        ),
        (
            "tool_calls_match",
            json!({"written": "json", "pattern": "(a)"}),
            vec!["pattern `written` and `pattern` exclude each other ()"],
        ),
        (
            "tool_calls_match",
            json!({"pattern": "a"}),
            vec![
                "pattern `pattern` needs groups: `(?P<name>…)` and `(?P<arguments>…)`, or the first two ()",
            ],
        ),
    ]);
}

#[test]
fn calls_are_read_from_the_submission_where_options_say_so() {
    let expected = json!([{"name": "weather", "one_of": {"city": ["NYC", "New York"]}}]);
    for (options, submission) in [
        (json!({"written": "python"}), "[weather(city='New York')]"),
        (json!({"written": "json"}), r#"{"name": "weather", "arguments": {"city": "NYC"}}"#),
        (json!({"pattern": r"<(\w+)>(.*?)</"}), r#"<weather>{"city": "NYC"}</weather>"#),
    ] {
        let mut config = options.clone();
        config["expected"] = expected.clone();
        let graded = grade("tool_calls_match", &config, submission, None);
        assert_eq!(graded.rationale, CALLS_MATCH, "{config}");
        let wrong = grade("tool_calls_match", &config, "weather in NYC", None);
        assert_eq!(wrong.rationale, "Tool calls match: False (call 1: `weather` is missing)");
        let config = config.as_object().cloned().unwrap();
        let spec = ToolSpec { function: "tool_calls_match".to_owned(), config };
        let reads = (crate::grade::reads_trajectory(&spec), crate::grade::reads_row(&spec));
        assert_eq!(reads, (false, false), "{options}");
    }
}
