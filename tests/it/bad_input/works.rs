//! Odd files that are right, asserted on the results they give.

use evalrs_base::diagnostic::Diagnostic;
use evalrs_graph::results;
use evalrs_metrics::results::ResultLine;
use serde_json::{Value, json};

use super::case::{Case, DATA, SUITE, case};
use crate::space::Space;

/// What a case gives: id, input, ground truth, submission and score of each result.
fn results(case: &Case) -> Value {
    lines(case)
        .iter()
        .map(|line| {
            let submission = &line.submission;
            let (_, grade) = &line.grades.0[0];
            json!([line.sample_id, line.input, line.ground_truth, submission, grade.score])
        })
        .collect()
}

fn lines(case: &Case) -> Vec<ResultLine> {
    let (session, diagnostics) = case.load();
    let said: Vec<String> = diagnostics.iter().map(|said| said.render(false)).collect();
    assert!(!diagnostics.iter().any(Diagnostic::is_error), "{}: {said:?}", case.name);
    let session = session.unwrap();
    results::lines(&session.db, session.root).collect()
}

#[track_caller]
fn check(case: &Case, expected: &Value) {
    assert_eq!(&results(case), expected, "{}", case.name);
}

/// The results of [`DATA`].
fn plain() -> Value {
    json!([["a", "one", "1", "1", 1.0], ["b", "two", "2", "2", 1.0]])
}

#[test]
fn numbers_that_python_writes_and_json_does_not_have_are_null() {
    let rows = r#"{"id": "a", "input": "NaN", "ground_truth": "1", "output": "1", "n": NaN}
{"id": "b", "input": NaN, "ground_truth": "2", "output": "2", "n": [Infinity, -Infinity]}"#;
    let expected = json!([["a", "NaN", "1", "1", 1.0], ["b", null, "2", "2", 1.0]]);
    let array = format!("[{}]", rows.replace('\n', ",\n"));
    for (path, text) in [("data.jsonl", rows), ("data.json", &array)] {
        check(&case("numbers that are none").data(path, text), &expected);
    }
    let suite = SUITE.replace("dataset: data.jsonl", "dataset: {path: data.json, records: rows}");
    let inside = format!("{{\"loss\": NaN, \"rows\": {array}}}");
    check(&case("inside a file").data("data.json", &inside).suite(&suite), &expected);
}

#[test]
fn marks_line_breaks_and_blank_lines_mean_nothing() {
    let json = format!("[{}]", DATA.trim_end().replace('\n', ","));
    let csv = "id,input,ground_truth,output\na,one,1,1\nb,two,2,2\n";
    for (path, text) in [("data.jsonl", DATA), ("data.json", &json), ("data.csv", csv)] {
        let variants = [
            ("as it is", text.to_owned()),
            ("with a byte order mark", format!("\u{feff}{text}")),
            ("with CRLF", text.replace('\n', "\r\n")),
            ("without a last line break", text.trim_end().to_owned()),
            ("with blank lines", format!("\n\n{}\n\n\n", text.replace('\n', "\n\n"))),
            (
                "with all of it",
                format!("\u{feff}\r\n{}", text.trim_end().replace('\n', "\r\n\r\n")),
            ),
        ];
        for (name, text) in variants {
            check(&case(name).data(path, text), &plain());
        }
    }
}

#[test]
fn suites_and_settings_may_have_marks_and_crlf() {
    let odd = |text: &str| format!("\u{feff}{}", text.trim_end().replace('\n', "\r\n"));
    let case = case("odd suite")
        .suite(odd(SUITE))
        .file("evalrs.toml", odd("[run]\nmax_concurrent = 2\n"))
        .file(".env", odd("A=1\n\n# note\nB=\"two words\"\n"));
    check(&case, &plain());
}

#[test]
fn a_record_of_20_mb_is_read() {
    let long = "x".repeat(20 << 20);
    let rows = format!(
        "{DATA}{{\"id\": \"c\", \"input\": \"i\", \"ground_truth\": \"y\", \"output\": \"{long}\"}}\n"
    );
    let lines = lines(&case("20 MB").file("data.jsonl", rows));
    assert_eq!(lines.len(), 3);
    assert!(lines[2].submission == long);
}

#[test]
fn nesting_of_128_is_read() {
    // The row, its trajectory's message and 126 lists.
    let deep = format!("{}{}", "[".repeat(125), "]".repeat(125));
    let row = format!(
        "{{\"id\": \"a\", \"input\": \"i\", \"ground_truth\": \"y\", \"output\": \"y\", \"note\": [{deep}, {deep}]}}"
    );
    check(&case("deep").file("data.jsonl", row), &json!([["a", "i", "y", "y", 1.0]]));
}

#[test]
fn csv_cells_may_hold_anything() {
    let text = "id,input,ground_truth,output,tags,rubric_vars,trial\n\
        1,\"two\nlines, \"\"quoted\"\"\",\"two\r\nlines\",\"two\r\nlines\",\"a, b\",\"{\"\"x\"\": [1]}\",0\n\
        2, 5\" pipe ,007,007,\"[\"\"a\"\"]\",,1\n\
        \n\
        ü,\"[\"\"q1\"\", \"\"q2\"\"]\",\"[\"\"r1\"\", \"\"r2\"\"]\",x,,,\n";
    let found = results(&case("cells").data("data.csv", text));
    assert_eq!(
        found[0],
        json!(["1", "two\nlines, \"quoted\"", "two\r\nlines", "two\r\nlines", 1.0])
    );
    assert_eq!(found[1], json!(["2", " 5\" pipe ", "007", "007", 1.0]));
    assert_eq!(
        found[2].as_array().unwrap()[..3],
        [json!("ü"), json!(["q1", "q2"]), json!(["r1", "r2"])]
    );
}

#[test]
fn csv_trajectories_are_json_in_a_cell() {
    let text = "id,question,answer,messages\n\
        1,q,hello,\"[{\"\"role\"\": \"\"user\"\", \"\"content\"\": \"\"q\"\"}, {\"\"role\"\": \"\"assistant\"\", \"\"content\"\": \"\"hello\"\"}]\"\n";
    check(
        &case("trajectories").data("data.csv", text),
        &json!([["1", "q", "hello", "hello", 1.0]]),
    );
}

#[test]
fn ids_are_integers_or_any_text() {
    let ids = [
        ("7", "7"),
        ("-3", "-3"),
        ("\"日本語 🦀\"", "日本語 🦀"),
        ("\"../../etc/passwd\"", "../../etc/passwd"),
        ("\"/\"", "/"),
        ("\"a\\u0000b\"", "a\0b"),
        ("\" \"", " "),
        ("18446744073709551615", "18446744073709551615"),
    ];
    let rows = ids
        .map(|(id, _)| format!("{{\"id\": {id}, \"input\": \"i\", \"output\": \"o\"}}\n"))
        .concat();
    let found = lines(&case("ids").file("data.jsonl", rows));
    let found: Vec<&str> = found.iter().map(|line| line.sample_id.as_str()).collect();
    assert_eq!(found, ids.map(|(_, id)| id));
}

#[test]
fn ground_truth_may_be_a_number_or_a_truth_value() {
    let rows: String =
        ["5", "5.0", "1e3", "-0", "true", "false", "null", "\"5\"", "12345678901234567890123"]
            .map(|value| {
                format!("{{\"input\": \"i\", \"ground_truth\": {value}, \"output\": {value}}}\n")
            })
            .concat()
            .replace("\"output\": null", "\"output\": \"\"");
    let found = results(&case("scalars").file("data.jsonl", rows));
    let truths: Vec<&Value> = found.as_array().unwrap().iter().map(|result| &result[2]).collect();
    let expected =
        json!(["5", "5.0", "1e3", "-0", "true", "false", null, "5", "12345678901234567890123"]);
    assert_eq!(json!(truths), expected);
}

#[test]
fn a_list_of_inputs_with_a_list_of_truths_is_graded_turn_by_turn() {
    let row = json!({
        "id": "a",
        "input": ["q1", "q2"],
        "ground_truth": ["r1", 2],
        "messages": [
            {"role": "user", "content": "q1"}, {"role": "assistant", "content": "r1"},
            {"role": "user", "content": "q2"}, {"role": "assistant", "content": "3"},
        ],
    });
    let lines = lines(&case("turns").file("data.jsonl", row.to_string()));
    let grade = &lines[0].grades.0[0].1;
    let turns: Vec<f64> = grade.per_turn.as_ref().unwrap().iter().map(|turn| turn.score).collect();
    assert_eq!((turns, grade.score), (vec![1.0, 0.0], 0.5));
    assert_eq!(lines[0].submission, "[Turn 0] r1 | [Turn 1] 3");
}

/// Where nobody compares with one text, a list is what it is: accepted answers, JSON, or for judges and programs its text.
#[test]
fn graders_of_lists_are_given_lists() {
    let row =
        "{\"id\": \"a\", \"input\": \"q\", \"ground_truth\": [\"r\", \"s\"], \"output\": \"s\"}";
    let with = |graders: &str| {
        let suite = format!("name: lists\ndataset: data.jsonl\ngraders:\n{graders}\n");
        case("lists").suite(suite).file("data.jsonl", row)
    };
    let expected = |score: f64| json!([["a", "q", "[\"r\",\"s\"]", "s", score]]);
    check(&with("  any: {kind: tool, function: one_of}"), &expected(1.0));
    check(&with("  same: {kind: tool, function: json_match}"), &expected(0.0));
    let beside = "  any: {kind: tool, function: one_of}\n  plain: {kind: tool, function: ascii_printable_only}";
    check(&with(beside), &expected(1.0));
    let judge = "  good: {kind: rubric, prompt: \"{submission} of {ground_truth}?\", model: m}";
    let (session, diagnostics) = with(judge).load();
    assert!(session.is_some() && diagnostics.is_empty(), "{diagnostics:?}");
    // Only the graders that are left read anything.
    let both = "  any: {kind: tool, function: one_of}\n  same: {kind: tool, function: contains}";
    check(&with(both).grader("any"), &expected(1.0));
}

#[test]
fn rows_need_no_input_where_nobody_reads_one() {
    let scored = "name: scored\ndataset: data.jsonl\ngraders:\n  score: {kind: tool, function: recorded_score, config: {path: score}}\n";
    let rows = "{\"id\": \"a\", \"output\": \"o\", \"score\": 1}\n{\"id\": \"b\", \"input\": 5.0, \"output\": \"o\", \"score\": 0}\n{\"id\": \"c\", \"input\": true, \"output\": \"o\", \"score\": 0}\n";
    check(
        &case("scored").suite(scored).file("data.jsonl", rows),
        &json!([
            ["a", null, null, "o", 1.0],
            ["b", "5.0", null, "o", 0.0],
            ["c", "true", null, "o", 0.0]
        ]),
    );
    let arranged = "name: judged\ndataset: data.jsonl\ngraders:\n  q: {kind: rubric, prompt: \"{submission}?\", model: m}\n";
    let (session, diagnostics) = case("judged").suite(arranged).file("data.jsonl", rows).load();
    assert!(session.is_some() && diagnostics.is_empty(), "{diagnostics:?}");
}

/// Whatever else a row has: if it says what the target answered, nothing of it has to be a trajectory.
#[test]
fn keys_that_are_only_called_like_trajectories_stop_nothing() {
    let others = [
        "\"messages\": {\"count\": 3}",
        "\"messages\": 7",
        "\"messages\": [{\"who\": \"user\"}]",
        "\"messages\": [{\"role\": \"assistant\", \"content\": {\"text\": \"x\"}}]",
        "\"messages\": null",
        "\"trajectory\": \"runs/1.json\"",
        "\"trajectory\": [[[1]]], \"messages\": true",
    ];
    for other in others {
        let row = format!(
            "{{\"id\": \"a\", \"input\": \"q\", \"ground_truth\": \"r\", \"output\": \"r\", {other}}}"
        );
        let expected = json!([["a", "q", "r", "r", 1.0]]);
        check(&case("others").file("data.jsonl", &row), &expected);
        let mapped = row.replace("\"output\"", "\"final\"");
        let suite = SUITE.replace("data.jsonl", "{path: data.jsonl, fields: {output: final}}");
        check(&case("mapped").suite(suite).file("data.jsonl", mapped), &expected);
    }
    // What the suite maps is meant, and what is not mapped is not looked at.
    let row = "{\"id\": \"a\", \"input\": \"q\", \"ground_truth\": \"r\", \"trajectory\": 7, \"log\": [{\"role\": \"assistant\", \"content\": \"r\"}]}";
    let suite = SUITE.replace("data.jsonl", "{path: data.jsonl, fields: {messages: log}}");
    check(&case("log").suite(suite).file("data.jsonl", row), &json!([["a", "q", "r", "r", 1.0]]));
}

#[test]
fn graders_of_tool_calls_over_rows_without_any_are_doubted() {
    let suite =
        SUITE.replace("function: exact_match", "function: max_tool_calls, config: {max: 0}");
    let said = |case: &Case| {
        let (_, diagnostics) = case.load();
        diagnostics.into_iter().map(|said| said.message).collect::<Vec<_>>()
    };
    let doubt = "no row has a trajectory: `same` (max_tool_calls) will find no tool calls";
    assert_eq!(said(&case("no calls").suite(&suite)), [doubt]);
    let row = "{\"id\": \"c\", \"input\": \"q\", \"messages\": []}\n";
    assert!(
        said(&case("one row").suite(&suite).file("data.jsonl", format!("{DATA}{row}"))).is_empty()
    );
}

/// Others, too, write `message_type` into their messages: these are OpenAI's, and hold a call.
#[test]
fn messages_of_others_with_a_message_type_are_read_as_what_they_are() {
    let suite =
        SUITE.replace("function: exact_match", "function: max_tool_calls, config: {max: 0}");
    let row = json!({"id": "a", "input": "q", "messages": [
        {"role": "user", "message_type": "observation", "content": "go"},
        {"role": "assistant", "message_type": "action", "content": "I open it.", "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "open", "arguments": "{}"}}]},
        {"role": "tool", "message_type": "observation", "tool_call_ids": ["1"], "content": "opened"},
    ]});
    check(
        &case("others").suite(&suite).file("data.jsonl", row.to_string()),
        &json!([["a", "q", null, "I open it.", 0.0]]),
    );
}

/// A trajectory that cannot be read would be one without any calls.
#[test]
fn graders_of_tool_calls_take_no_broken_trajectory_for_none() {
    let suite =
        SUITE.replace("function: exact_match", "function: max_tool_calls, config: {max: 0}");
    let row =
        "{\"id\": \"c\", \"input\": \"q\", \"output\": \"o\", \"messages\": {\"count\": 3}}\n";
    let (_, diagnostics) = case("broken").suite(&suite).file("data.jsonl", row).load();
    let messages: Vec<_> = diagnostics.iter().map(|said| said.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`messages` is not a trajectory: expected messages, turns, events, steps or text, found an object; the grader `same` reads trajectories"
        ]
    );
}

#[test]
fn rows_without_ids_get_one_from_their_content() {
    let same = "{\"input\": \"i\", \"output\": \"o\"}\n";
    let other = "{\"input\": \"j\", \"output\": \"o\"}\n";
    let found = lines(&case("no ids").file("data.jsonl", format!("{same}{other}{same}{same}")));
    let ids: Vec<&str> = found.iter().map(|line| line.sample_id.as_str()).collect();
    assert!(ids[0].len() == 12 && ids[0] != ids[1], "{ids:?}");
    assert_eq!(ids[2..], [format!("{}-2", ids[0]), format!("{}-3", ids[0])]);
    let moved = lines(&case("moved").file("data.jsonl", format!("{other}{same}")));
    assert_eq!([moved[0].sample_id.as_str(), moved[1].sample_id.as_str()], [ids[1], ids[0]]);
}

/// The id of the one row.
fn id_of(row: &Value) -> String {
    let row = case("one row").file("data.jsonl", row.to_string());
    lines(&row)[0].sample_id.clone()
}

#[test]
fn a_row_without_an_id_is_the_same_sample_whatever_was_recorded_for_it() {
    let row =
        json!({"input": "q", "ground_truth": "r", "metadata": {"a": 1, "b": 2}, "output": "o"});
    let with = |name: &str, value: Value| {
        let mut row = row.clone();
        row[name] = value;
        id_of(&row)
    };
    let id = id_of(&row);
    for (name, value) in [
        ("output", json!("p")),
        ("trial", json!(3)),
        ("model", json!("m")),
        ("messages", json!([{"role": "assistant", "content": "r"}])),
        ("score", json!(0.5)),
        ("tags", json!(["t"])),
        ("label", json!("pass")),
        ("rubric", json!("Is it good?")),
        ("metadata", json!({"b": 2, "a": 1})),
    ] {
        assert_eq!(with(name, value), id, "{name}");
    }
    for (name, value) in [
        ("input", json!("z")),
        ("ground_truth", json!("z")),
        ("metadata", json!({"a": 1})),
        ("rubric_vars", json!({"tone": "dry"})),
        ("extra_vars", json!({"x": 1})),
    ] {
        assert_ne!(with(name, value), id, "{name}");
    }
    // The names that fields go by, and the format of the file, mean nothing.
    let renamed =
        json!({"question": "q", "answer": "r", "metadata": {"a": 1, "b": 2}, "output": ""});
    assert_eq!(id_of(&renamed), id);
    let csv = "input,ground_truth,metadata,output\nq,r,\"{\"\"a\"\": 1, \"\"b\"\": 2}\",x\n";
    assert_eq!(lines(&case("csv").data("data.csv", csv))[0].sample_id, id);
}

#[test]
fn without_an_input_a_sample_is_what_was_said_before_the_first_answer() {
    let chat = |system: &str, user: &str, answer: &str| {
        let message = |role: &str, content: &str| json!({"role": role, "content": content});
        let again = [message("user", "more"), message("assistant", answer)];
        let first =
            [message("system", system), message("user", user), message("assistant", answer)];
        let messages: Vec<Value> = first.into_iter().chain(again).collect();
        id_of(&json!({"messages": messages}))
    };
    let id = chat("s", "u", "a");
    assert_eq!(chat("s", "u", "b"), id);
    assert_ne!(chat("s", "v", "a"), id);
    assert_ne!(chat("t", "u", "a"), id);
}

#[test]
fn trials_and_models_of_rows_without_ids_are_of_one_sample() {
    let rows = "{\"input\": \"q\", \"output\": \"a\", \"trial\": 0}\n{\"input\": \"q\", \"output\": \"b\", \"trial\": 1}\n{\"input\": \"q\", \"output\": \"b\", \"model\": \"m\"}\n{\"input\": \"q\", \"output\": \"c\"}\n";
    let found = lines(&case("trials").file("data.jsonl", rows));
    let id = found[0].sample_id.clone();
    let found: Vec<_> = found
        .iter()
        .map(|line| (line.sample_id.replace(&id, "q"), line.trial, line.model.as_deref()))
        .collect();
    let q = || "q".to_owned();
    assert_eq!(
        found,
        [(q(), 0, None), (q(), 1, None), (q(), 0, Some("m")), ("q-2".to_owned(), 0, None)]
    );
}

#[test]
fn every_alias_of_a_field_is_read() {
    for input in ["input", "prompt", "question"] {
        for truth in ["ground_truth", "expected", "target", "ideal", "hint", "answer"] {
            for id in ["id", "sample_id"] {
                let row = json!({id: "a", input: "q", truth: "r", "output": "r"}).to_string();
                check(
                    &case("aliases").file("data.jsonl", row),
                    &json!([["a", "q", "r", "r", 1.0]]),
                );
            }
        }
    }
    let both = json!({"question": "no", "input": "q", "answer": "no", "ground_truth": "r", "output": "r", "id": "a", "sample_id": "no"});
    let both = case("the canonical name wins").file("data.jsonl", both.to_string());
    check(&both, &json!([["a", "q", "r", "r", 1.0]]));
}

#[test]
fn rows_of_one_id_are_trials_and_models() {
    let rows = "{\"id\": 1, \"input\": \"q\", \"output\": \"o\", \"trial\": 0}\n\
        {\"id\": 1, \"input\": \"q\", \"output\": \"o\", \"trial\": 1}\n\
        {\"id\": 1, \"input\": \"q\", \"output\": \"o\", \"model\": \"m\"}\n";
    let found = lines(&case("trials").file("data.jsonl", rows));
    let found: Vec<_> = found
        .iter()
        .map(|line| (line.sample_id.as_str(), line.trial, line.model.as_deref()))
        .collect();
    assert_eq!(found, [("1", 0, None), ("1", 1, None), ("1", 0, Some("m"))]);
}

/// Ids are data: they name no file, and move no cursor.
#[test]
fn ids_that_look_like_paths_write_nothing_elsewhere() {
    let rows = ["../../escaped", "/tmp/evalrs-escaped", "..", "a/b", "c\\u0000d", "\\u001b[2J\\u001b[31mred\\u0007"]
        .map(|id| format!("{{\"id\": \"{id}\", \"input\": \"i\", \"ground_truth\": \"x\", \"output\": \"y\\u001b[0m\"}}\n"))
        .concat();
    let space = Space::new(&[("w/x/suite.yaml", SUITE), ("w/x/data.jsonl", &rows)]);
    let formats = ["json", "jsonl", "junit", "markdown"].map(|format| ["--format", format]);
    for format in formats.iter().map(<[&str; 2]>::as_slice).chain([[].as_slice()]) {
        let ran = space.run(&[&["run", "w/x/suite.yaml", "--color", "always"], format].concat());
        assert_eq!(ran.code(), 1, "{}", ran.shown());
        let said = ran.stdout() + &ran.stderr();
        assert!(!said.contains("\u{1b}[2J") && !said.contains('\u{7}'), "{format:?}: {said:?}");
    }
    let mut found = Vec::new();
    files(&space.path(""), &mut found);
    found.retain(|path| !path.contains("/.evalrs/"));
    found.sort();
    assert_eq!(found, ["w/x/data.jsonl", "w/x/suite.yaml"]);
}

/// The files under a folder, relative to it.
#[expect(clippy::disallowed_methods, reason = "looks at what the binary wrote")]
fn files(root: &std::path::Path, found: &mut Vec<String>) {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
}
