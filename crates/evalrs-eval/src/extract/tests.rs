//! Tables: what each extractor picks, what is wrong with options, and what the registry says.

use serde_json::{Map, Value, json};

use super::{EXTRACTORS, ExtractError, ExtractFrom, Extractor, check_options};
use evalrs_base::path::Row;
use evalrs_model::spec::{ExtractorSpec, OptionProblem};
use evalrs_trajectory::{Trajectory, read};

const ROW: &str = r#"{"id": 1, "metadata": {"reward": 0.5, "names": ["a", "b"], "none": null}, "text": "as it is"}"#;

fn spec(name: &str, config: &Value) -> ExtractorSpec {
    ExtractorSpec {
        name: name.to_owned(),
        config: config.to_string(),
        include_subagents: false,
        program: None,
    }
}

/// Two turns with parallel calls, a failed return, an unfinished call and a sub-agent.
fn sample() -> Trajectory {
    let said = |text: &str| json!({"message_type": "assistant_message", "content": text});
    let value = json!([
        [
            {"message_type": "user_message", "content": "q"},
            said("id: 1, id: 22 MARK no"),
            {"message_type": "tool_call_message", "tool_calls": [
                {"name": "look", "arguments": "{\"at\": \"a\" }", "tool_call_id": "c1"},
                {"name": "read", "arguments": "{}", "tool_call_id": "c2"}]},
            {"message_type": "approval_request_message", "tool_call": {"name": "buy", "arguments": "{\"n\": 1}", "tool_call_id": "c0"}},
            {"message_type": "tool_return_message", "tool_call_id": "c2", "tool_return": "second", "status": "success"},
            {"message_type": "tool_return_message", "tool_call_id": "c1", "tool_return": "first", "status": "error"},
            {"message_type": "tool_call_message", "tool_call": {"name": "look", "arguments": "{\"at\": \"b\"}", "tool_call_id": "c3"}},
        ],
        [
            {"message_type": "user_message", "content": "r"},
            said("[x=1][y=2] MARK \u{1c} yes MARK \n"),
            said("the end"),
        ]
    ]);
    let mut trajectory = read(&value, None).expect("readable");
    trajectory.agent_state = Some(json!({"memory": {"blocks": [
        {"label": "other", "value": "o"}, {"label": "fruit", "value": "apple"}, {"label": "fruit", "value": "pear"}]}}));
    trajectory
}

fn from(trajectory: &Trajectory) -> ExtractFrom<'_> {
    ExtractFrom { trajectory, output: None, row: Row::new(ROW) }
}

fn extract(spec: &ExtractorSpec, from: &ExtractFrom<'_>) -> Result<String, ExtractError> {
    Extractor::new(spec)?.extract(from)
}

#[test]
fn extractors_pick_what_they_say() {
    let trajectory = sample();
    for (name, config, expected) in [
        ("last_assistant", json!({}), "the end"),
        ("first_assistant", json!({}), "id: 1, id: 22 MARK no"),
        (
            "all_assistant",
            json!({"separator": "|"}),
            "id: 1, id: 22 MARK no|[x=1][y=2] MARK \u{1c} yes MARK \n|the end",
        ),
        ("last_turn", json!({}), "[x=1][y=2] MARK \u{1c} yes MARK \n\nthe end"),
        ("tool_arguments", json!({"tool_name": "look"}), "{\"at\": \"a\" }"),
        ("tool_arguments", json!({"tool_name": "read"}), "{}"),
        ("tool_arguments", json!({"tool_name": "buy"}), "{}"),
        ("tool_output", json!({"tool_name": "look"}), "first"),
        ("tool_output", json!({"tool_name": "read"}), "second"),
        ("tool_output", json!({"tool_name": "buy"}), ""),
        ("after_marker", json!({"marker": "MARK"}), "yes MARK"),
        ("after_marker", json!({"marker": "MARK", "include_marker": true}), "MARK \u{1c} yes MARK"),
        ("after_marker", json!({"marker": "id:"}), "1, id: 22 MARK no"),
        ("after_marker", json!({"marker": "absent"}), ""),
        ("memory_block", json!({"block_label": "fruit"}), "apple"),
        ("memory_block", json!({"block_label": "absent"}), ""),
        ("final_output", json!({}), "the end"),
    ] {
        let found = extract(&spec(name, &config), &from(&trajectory));
        assert_eq!(found.as_deref(), Ok(expected), "{name} {config}");
    }
}

/// The expected texts are what Python's `re` gives for the messages of [`sample`].
#[test]
fn patterns_take_the_newest_message_that_matches() {
    let trajectory = sample();
    for (config, expected) in [
        (json!({"pattern": r"id: (\d+)"}), "id: 1"),
        (json!({"pattern": r"id: (\d+)", "group": 1}), "1"),
        (json!({"pattern": r"id: (?P<n>\d+)", "group": "n"}), "1"),
        (json!({"pattern": r"id: \d+", "search_all": true}), "id: 1 id: 22"),
        (json!({"pattern": r"id: (\d+)", "search_all": true, "group": 7}), "1 22"),
        (json!({"pattern": r"\[(\w)=(\d)\]", "search_all": true}), "x y"),
        (json!({"pattern": r"\[(\w)=(\d)\]", "search_all": true, "group": 1}), "1 2"),
        (json!({"pattern": r"\[(\w)=(\d)\]", "search_all": true, "group": -2}), "x y"),
        (json!({"pattern": r"\[(\w)=(\d)\]", "group": 2}), "1"),
        (json!({"pattern": r"(absent)|the", "group": 1}), ""),
        (json!({"pattern": r"absent"}), ""),
        (json!({"pattern": r"\w*", "search_all": true}), "the  end "),
        (json!({"pattern": r"MARK (no|yes)"}), "MARK no"),
    ] {
        let found = extract(&spec("pattern", &config), &from(&trajectory));
        assert_eq!(found.as_deref(), Ok(expected), "{config}");
    }
}

#[test]
fn json_paths_ask_row_output_or_trajectory() {
    let trajectory = sample();
    let fenced = "Here:\n```json\n{\"a\": [1, {\"b\": \"c\"}]}\n```\nDone.";
    for (config, output, expected) in [
        (json!({"path": "$.text"}), None, "as it is"),
        (json!({"path": "$.metadata.reward"}), None, "0.5"),
        (json!({"path": "$.metadata.none"}), None, ""),
        (json!({"path": "$.metadata.names"}), None, r#"["a","b"]"#),
        (json!({"path": "$.metadata.names[*]", "source": "row"}), None, r#"["a","b"]"#),
        (json!({"path": "$.absent"}), None, ""),
        (json!({"path": "$.a[1].b", "source": "output"}), Some(fenced), "c"),
        (
            json!({"path": "$.a", "source": "output"}),
            Some(r#"{"a": {"z": 1, "b": 2}}"#),
            r#"{"z":1,"b":2}"#,
        ),
        (json!({"path": "$.a", "source": "output"}), Some("no JSON"), ""),
        (json!({"path": "$", "source": "output"}), None, ""),
        (
            json!({"path": "$[0][?@.role == 'tool_return' && @.failed == true].output", "source": "trajectory"}),
            None,
            "first",
        ),
    ] {
        let from = ExtractFrom { output, ..from(&trajectory) };
        let found = extract(&spec("json_path", &config), &from);
        assert_eq!(found.as_deref(), Ok(expected), "{config}");
    }
}

#[test]
fn nothing_found_is_no_error() {
    let nothing = Trajectory::default();
    for (name, config, expected) in [
        ("last_assistant", json!({}), ""),
        ("first_assistant", json!({}), ""),
        ("all_assistant", json!({}), ""),
        ("last_turn", json!({}), ""),
        ("pattern", json!({"pattern": ".*"}), ""),
        ("tool_arguments", json!({"tool_name": "f"}), "{}"),
        ("tool_output", json!({"tool_name": "f"}), ""),
        ("after_marker", json!({"marker": "m"}), ""),
        ("final_output", json!({}), ""),
        ("trajectory", json!({}), "[]"),
    ] {
        let found = extract(&spec(name, &config), &from(&nothing));
        assert_eq!(found.as_deref(), Ok(expected), "{name}");
    }
}

#[test]
fn rows_of_plain_output_have_one_assistant_message() {
    let trajectory = Trajectory::from_output("the answer is 4");
    for (name, config, expected) in [
        ("last_assistant", json!({}), "the answer is 4"),
        ("last_turn", json!({}), "the answer is 4"),
        ("pattern", json!({"pattern": r"\d"}), "4"),
        ("trajectory", json!({}), r#"[[{"role":"assistant","content":"the answer is 4"}]]"#),
    ] {
        let found = extract(&spec(name, &config), &from(&trajectory));
        assert_eq!(found.as_deref(), Ok(expected), "{name}");
    }
    let from = ExtractFrom { output: Some(""), ..from(&trajectory) };
    let found = extract(&spec("final_output", &json!({})), &from);
    assert_eq!(found.as_deref(), Ok(""), "the row's own output wins, though it is empty");
}

#[test]
fn sub_agents_are_seen_only_if_asked_for() {
    let mut trajectory = sample();
    for message in trajectory.turns.iter_mut().flat_map(|turn| turn.messages.iter_mut().skip(2)) {
        message.subagent = true;
    }
    for (name, config, without, with) in [
        ("last_assistant", json!({}), "[x=1][y=2] MARK \u{1c} yes MARK \n", "the end"),
        (
            "last_turn",
            json!({"separator": ""}),
            "[x=1][y=2] MARK \u{1c} yes MARK \n",
            "[x=1][y=2] MARK \u{1c} yes MARK \nthe end",
        ),
        ("tool_arguments", json!({"tool_name": "look"}), "{}", "{\"at\": \"a\" }"),
        ("tool_output", json!({"tool_name": "look"}), "", "first"),
        (
            "json_path",
            json!({"path": "$[0][?@.role == 'tool_call'].name", "source": "trajectory"}),
            "",
            r#"["look","read","look"]"#,
        ),
    ] {
        let mut spec = spec(name, &config);
        assert_eq!(extract(&spec, &from(&trajectory)).as_deref(), Ok(without), "{name}");
        spec.include_subagents = true;
        assert_eq!(extract(&spec, &from(&trajectory)).as_deref(), Ok(with), "{name}");
    }
}

#[test]
fn tool_outputs_without_ids_are_found_in_order() {
    let call = |name: &str| json!({"role": "assistant", "function_call": {"name": name, "arguments": "{}"}});
    let answer = |text: &str| json!({"role": "function", "name": "f", "content": text});
    let value = json!([call("f"), answer("1"), call("g"), answer("2")]);
    let trajectory = read(&value, None).expect("readable");
    for (tool, expected) in [("f", "1"), ("g", "2"), ("h", "")] {
        let found = extract(&spec("tool_output", &json!({"tool_name": tool})), &from(&trajectory));
        assert_eq!(found.as_deref(), Ok(expected), "{tool}");
    }
}

#[test]
fn errors_say_what_is_missing() {
    let trajectory = Trajectory::from_output("x");
    for (name, config, expected) in [
        (
            "memory_block",
            json!({"block_label": "b"}),
            "memory_block extractor requires agent_state, but it was not retrieved",
        ),
        ("memory_block", json!({}), "the option `block_label` is missing"),
        ("pattern", json!({"pattern": "(a)", "group": 2}), "no group 2: the pattern has 1"),
        ("mine.py:pick", json!({}), "unknown extractor `mine.py:pick`"),
    ] {
        let error = extract(&spec(name, &config), &from(&trajectory)).expect_err("an error");
        assert_eq!(error.to_string(), expected, "{name} {config}");
    }
    let mut later = trajectory;
    later.agent_state = Some(json!({"blocks": [{"label": "b", "value": "v"}]}));
    let block = spec("memory_block", &json!({"block_label": "b"}));
    assert_eq!(extract(&block, &from(&later)).as_deref(), Ok("v"), "the shape since 0.8");
    later.agent_state = Some(Value::Null);
    assert_eq!(extract(&block, &from(&later)), Err(ExtractError::NoAgentState));
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

#[test]
fn options_are_checked_before_anything_runs() {
    for (name, config, expected) in [
        (
            "tool_output",
            json!({"tool_name": "f", "tool": 1}),
            "tool: unknown option `tool` (the options are `tool_name`)",
        ),
        (
            "all_assistant",
            json!({"seperator": "x"}),
            "seperator: unknown option `seperator` (did you mean `separator`?)",
        ),
        (
            "last_assistant",
            json!({"x": 1}),
            "x: unknown option `x` (this extractor has no options)",
        ),
        ("tool_output", json!({}), ": the option `tool_name` is missing"),
        ("tool_output", json!({"tool_name": null}), ": the option `tool_name` is missing"),
        ("tool_output", json!({"tool_name": ""}), "tool_name: `tool_name` must not be empty"),
        (
            "pattern",
            json!({"pattern": "a", "search_all": "yes"}),
            "search_all: `search_all` must be true or false",
        ),
        (
            "pattern",
            json!({"pattern": "a", "group": 1.5}),
            "group: `group` must be a whole number or text",
        ),
        (
            "pattern",
            json!({"pattern": "a", "group": "n"}),
            "group: no group \"n\": the pattern has 0",
        ),
        ("pattern", json!({"pattern": "a", "group": -1}), "group: no group -1: the pattern has 0"),
        (
            "pattern",
            json!({"pattern": "(a)(b)", "group": 2, "search_all": true}),
            "group: no capture 2: the pattern has 2, counted from 0 in `search_all`",
        ),
        (
            "json_path",
            json!({"path": "$.a", "source": "rows"}),
            "source: `source` must be one of `row`, `output`, `trajectory` (did you mean `row`?)",
        ),
    ] {
        assert_eq!(problems(name, &config), [expected], "{name} {config}");
    }
}

#[test]
fn invalid_patterns_and_queries_are_found() {
    for (name, config, start) in [
        ("pattern", json!({"pattern": "(a"}), "pattern: `pattern` is not a valid pattern: "),
        ("json_path", json!({"path": "a..["}), "path: `path` is not a valid JSONPath: "),
    ] {
        let problems = problems(name, &config);
        let [problem] = problems.as_slice() else { panic!("one problem, found {problems:?}") };
        assert!(problem.starts_with(start), "{problem}");
    }
}

#[test]
fn right_options_have_no_problem() {
    for (name, config) in [
        ("pattern", json!({"pattern": "(a)(b)", "group": -2, "search_all": true})),
        ("pattern", json!({"pattern": "(?P<n>a)", "group": "n"})),
        ("after_marker", json!({"marker": "m", "include_marker": null})),
        ("mine.py:pick", json!({"anything": 1})),
    ] {
        assert!(problems(name, &config).is_empty(), "{name} {config}");
    }
}

/// Each problem as `place: message (hint)`.
fn problems(name: &str, config: &Value) -> Vec<String> {
    let shown = |problem: OptionProblem| {
        let hint = problem.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}: {}{hint}", problem.at.join("."), problem.message)
    };
    check_options(name, &object(config)).into_iter().map(shown).collect()
}

#[test]
fn the_registry_lists_every_extractor_with_its_schema() {
    let ids: Vec<&str> = EXTRACTORS.iter().map(|info| info.id).collect();
    assert_eq!(
        ids,
        [
            "after_marker",
            "all_assistant",
            "final_output",
            "first_assistant",
            "json_path",
            "last_assistant",
            "last_turn",
            "memory_block",
            "pattern",
            "tool_arguments",
            "tool_output",
            "trajectory",
        ]
    );
    for info in EXTRACTORS {
        let schema = (info.options)();
        let validator = jsonschema::validator_for(&schema).expect("a valid schema");
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let options: Map<String, Value> =
            required.iter().map(|key| ((*key).to_owned(), json!("$"))).collect();
        assert_eq!(check_options(info.id, &options), [], "{}", info.id);
        assert!(validator.is_valid(&Value::from(options)), "{}", info.id);
        assert!(!validator.is_valid(&json!({"nonsense": 1})), "{}", info.id);
    }
}
