//! Options: what is wrong with them, and that the registry describes every grader.

use super::super::grader::GraderInfo;
use super::*;

/// Grader, options, and for each problem its path, message and hint.
pub(super) fn check_problems(cases: &[(&str, Value, Vec<&str>)]) {
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
fn problems_come_in_the_order_of_the_options_and_unknown_ones_after_them() {
    let config = json!({"x": 1, "ignore_tools": [1, 2.0], "y": null, "path": "", "mode": []});
    let problems = compiled("tool_calls_match", &config).err().unwrap_or_default();
    let places: Vec<String> = problems.iter().map(|problem| problem.at.join(".")).collect();
    assert_eq!(places, ["ignore_tools.0", "ignore_tools.1", "path", "mode", "x", "y"]);
}

#[test]
fn problems_with_options_are_all_found() {
    check_problems(&[
        (
            "exact_matc",
            json!({}),
            vec![" unknown grader `exact_matc` (did you mean `exact_match`?)"],
        ),
        ("exact_match", json!({"x": 1}), vec!["x unknown option `x` (the options are `value`)"]),
        (
            "numeric",
            json!({"tolerence": 1, "relative_tolerance": "1", "find": "lst", "zzzzzzzzzzzz": 0}),
            vec![
                "find `find` must be one of `first`, `last` (did you mean `last`?)",
                "relative_tolerance `relative_tolerance` must be a number ()",
                "tolerence unknown option `tolerence` (did you mean `tolerance`?)",
                "zzzzzzzzzzzz unknown option `zzzzzzzzzzzz` (the options are `value`, `tolerance`, `relative_tolerance`, `find`)",
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
        ("recorded_votes", json!({"votes": 3}), vec!["votes `votes` must be text or a list ()"]),
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
        (
            "recorded_score",
            json!({"path": "a", "scale": {"min": -1e308, "max": 1e308}}),
            vec!["scale.max the scale is too wide ()"],
        ),
        (
            "recorded_score",
            json!({"path": "a", "map": {}}),
            vec!["map `map` must have at least 1 value ()"],
        ),
        (
            "recorded_score",
            json!({"path": "a", "map": {"C": "one"}}),
            vec!["map.C `C` must be a number ()"],
        ),
        (
            "recorded_score",
            json!({"path": "a", "map": {"C": 1, "I": 2}}),
            vec!["map.I the score is not within 0 to 1 ()"],
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
            "tool_called",
            json!({"name": "a", "patterns": {"b": "(", "c": 1}}),
            vec!["patterns.c `c` must be text ()"],
        ),
        (
            "tool_called",
            json!({"patterns": {"b": "("}}),
            vec![
                " the option `name` is missing ()",
                "patterns.b `b` is not a valid pattern: the group is not closed at position 0 ()",
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
                "schema it is not a JSON Schema, at `/type`: value is not valid under any of the schemas listed in the 'anyOf' keyword ()",
            ],
        ),
        ("json_schema", json!({"schema": "x"}), vec!["schema `schema` must be a mapping ()"]),
    ]);
}

#[test]
fn the_registry_is_complete() {
    let mut names: Vec<String> = GRADERS.iter().flat_map(GraderInfo::names).collect();
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
