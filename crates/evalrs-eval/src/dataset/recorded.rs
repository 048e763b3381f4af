//! What was recorded of a target for a row: by the row itself, or by a recording that was joined to it.
//!
//! A row may have a key `messages` or `trajectory` that is something else. Where it says what the target answered, such
//! a key stops nothing: it is a trajectory only if it reads as one, if the suite maps it, or if a grader needs one.
//!
//! An `output` is the answer: it ends the trajectory that stands beside it, whichever way both were recorded.

use serde_json::Value;
use serde_json::value::RawValue;

use super::fields::{RowFields, RowProblem, RowSpec, deepest, json_text};
use super::row_record::{NOT_RECORDED, RowRecord};
use super::sample::RecordedAnswer;
use evalrs_base::path::in_braces;
use evalrs_model::spec::{FieldMap, MissingAnswer};
use evalrs_trajectory as trajectory;
use evalrs_trajectory::{CallMarks, Trajectory, TrajectoryProblem};

const NOTHING_RECORDED: &str =
    "nothing was recorded for this row: it has no `output`, `trajectory` or `messages`";

/// Reads what was recorded of the target for a case.
pub(super) fn recorded(
    fields: &RowFields<'_>,
    record: RowRecord<'_>,
) -> Result<RecordedAnswer, RowProblem> {
    if fields.spec.live.is_none()
        && let Some((name, path)) = fields.spec.fields.outputs.get(record.case)
    {
        return output_at(fields, name, path);
    }
    if record.recorded.is_empty() {
        // Of rows whose graders read no answer this is what they are: no help is looked for.
        return recorded_of(fields)?.ok_or_else(|| RowProblem::unanswered(NOTHING_RECORDED));
    }
    if record.recorded == NOT_RECORDED {
        let what = if fields.spec.live.is_some() {
            "the target was not run yet"
        } else {
            "no trajectory was recorded for this sample"
        };
        return Err(RowProblem::new(what));
    }
    let joined_spec = joined_spec(fields.spec);
    let nothing = |fields: &RowFields<'_>| {
        RowProblem::new("the recording has no `output`, `trajectory` or `messages`")
            .hint(format!("it has {}", fields.some_names()))
    };
    let read = |fields: RowFields<'_>| recorded_of(&fields)?.ok_or_else(|| nothing(&fields));
    RowFields::new(record.recorded, &joined_spec).and_then(read).map_err(RowProblem::of_recording)
}

/// How the recording of a case marks failed calls.
pub(super) fn call_marks(fields: &RowFields<'_>, record: RowRecord<'_>) -> CallMarks {
    let of_fields = |fields: &RowFields<'_>| {
        let values = ["trajectory", "messages", "output"].into_iter();
        let mut values = values.filter_map(|name| fields.value(name).ok().flatten());
        let value = values.find(|value| value.is_array() || value.is_object());
        value.map_or_else(CallMarks::default, |value| {
            trajectory::call_marks(&value, fields.spec.format)
        })
    };
    match record.recorded {
        "" => of_fields(fields),
        NOT_RECORDED => CallMarks::default(),
        recorded => {
            let spec = joined_spec(fields.spec);
            RowFields::new(recorded, &spec)
                .map_or_else(|_| CallMarks::default(), |own| of_fields(&own))
        }
    }
}

/// What the fields record; none if they hold nothing recorded.
fn recorded_of(fields: &RowFields<'_>) -> Result<Option<RecordedAnswer>, RowProblem> {
    let TrajectoryAttempt { trajectory, problem } = attempt(fields)?;
    let is_alone = trajectory.is_none() && problem.is_none();
    let value = fields.value("output")?;
    let (trajectory, output) = match (trajectory, value) {
        (Some(trajectory), Some(value)) => {
            let output = json_text(&value);
            let path = fields.mapped("output").unwrap_or("output");
            // Of a response of an API, the trajectory has the answer.
            let is_answer = is_text(&value) || is_structured(&value, path);
            (if is_answer { trajectory.ended_by(&output) } else { trajectory }, Some(output))
        }
        (Some(trajectory), None) => (trajectory, None),
        (None, Some(value @ (Value::Array(_) | Value::Object(_)))) if is_alone => {
            let path = fields.mapped("output").unwrap_or("output");
            match structured(fields, &value, path) {
                Some(output) => (Trajectory::from_output(&output), Some(output)),
                None => {
                    let raw = fields.raw("output");
                    let read = trajectory::read(&value, fields.spec.format);
                    let wrong = |problem| match answer_in(&value, path) {
                        Some(hint) if value.is_object() => response(fields, hint),
                        _ => not_a_trajectory(fields, "output", raw, &problem),
                    };
                    (read.map_err(wrong)?, None)
                }
            }
        }
        (None, Some(value)) => {
            let output = json_text(&value);
            (Trajectory::from_output(&output), Some(output))
        }
        (None, None) => {
            return match (unanswered(fields, problem.is_some()), problem) {
                (Some(what), _) => no_answer(fields, &what).map(Some),
                (None, Some(problem)) => Err(problem),
                (None, None) => Ok(None),
            };
        }
    };
    let agent_state = trajectory.agent_state.or(fields.value("agent_state")?);
    Ok(Some(RecordedAnswer { trajectory: Trajectory { agent_state, ..trajectory }, output }))
}

/// What the keys hold that trajectories are recorded under.
struct TrajectoryAttempt {
    trajectory: Option<Trajectory>,
    /// Why the first of them is none.
    problem: Option<RowProblem>,
}

/// Reads the trajectory of a row. What the suite maps goes before what is only called so, and must be one.
fn attempt(fields: &RowFields<'_>) -> Result<TrajectoryAttempt, RowProblem> {
    let mut found = TrajectoryAttempt { trajectory: None, problem: None };
    let mut names = ["trajectory", "messages"];
    names.sort_by_key(|name| fields.mapped(name).is_none());
    for name in names {
        let Some(raw) = fields.raw(name) else { continue };
        let value = fields.value(name)?.unwrap_or_default();
        let is_meant = fields.mapped(name).is_some() || fields.spec.format.is_some();
        let read = trajectory::read(&value, fields.spec.format);
        let is_answer = value.is_string() && !is_meant && fields.raw("output").is_some();
        match read {
            // Text without events is an answer, and `output` is the better one.
            Ok(read) if !(is_answer && read.is_one_answer()) => {
                return Ok(TrajectoryAttempt { trajectory: Some(read), ..found });
            }
            Ok(_) => {}
            Err(problem) => {
                let problem = not_a_trajectory(fields, name, Some(raw), &problem);
                if is_meant {
                    return Err(problem);
                }
                found.problem = found.problem.or(Some(problem));
            }
        }
    }
    Ok(found)
}

/// Why a key of the row that is called like a trajectory is not read as one, where that stops nothing.
pub(super) fn ignored(fields: &RowFields<'_>, record: RowRecord<'_>) -> Option<RowProblem> {
    let has_own = record.recorded.is_empty() && fields.spec.fields.outputs.is_empty();
    // Without an answer beside it, a row that records no trajectory is wrong anyway.
    if !has_own || fields.raw("output").is_none() {
        return None;
    }
    let TrajectoryAttempt { trajectory, problem } = attempt(fields).ok()?;
    problem.filter(|_| trajectory.is_none())
}

fn not_a_trajectory(
    fields: &RowFields<'_>,
    name: &str,
    raw: Option<&RawValue>,
    problem: &TrajectoryProblem,
) -> RowProblem {
    let wrong = RowProblem::new(format!("`{name}` is not a trajectory: {problem}"));
    let wrong = match raw {
        Some(raw) => wrong.at(fields.row, deepest(raw, &problem.pointer)),
        None => wrong,
    };
    match (fields.spec.format, problem.pointer.as_str()) {
        (Some(_), _) => wrong.hint("`target.format` sets the format of trajectories; without it, evalrs detects the format of each row"),
        (None, "") => {
            let path = fields.mapped(name).unwrap_or(name);
            let value = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
            let answer = value.and_then(|value| answer_in(&value, path));
            wrong.hint(answer.unwrap_or_else(|| {
                "a message has `role` and `content` (OpenAI, Anthropic), `message_type` (Letta) or `type` (Claude Code, steps)".to_owned()
            }))
        }
        (None, _) => wrong,
    }
}

/// The place of the answer in common forms of an API's output: a response, its choices, one
/// message.
fn answer_in(value: &Value, path: &str) -> Option<String> {
    let answers = [
        ("/choices/0/message/content", ".choices[0].message.content", "this is an OpenAI response"),
        (
            "/0/message/content",
            "[0].message.content",
            "these are the choices of an OpenAI response",
        ),
        ("/message/content", ".message.content", "this is one choice of an OpenAI response"),
        ("/content", ".content", "this is one message"),
    ];
    let found = answers.into_iter().find(|(pointer, ..)| value.pointer(pointer).is_some());
    found.map(|(_, inside, what)| {
        let answer = in_braces(&format!("{path}{inside}"));
        format!("{what}, not a list of messages: set `fields: {{output: {answer}}}`")
    })
}

/// Explains that an output is the response of an API, and where the answer is in it.
fn response(fields: &RowFields<'_>, hint: String) -> RowProblem {
    let wrong =
        RowProblem::new("`output` is an object").label("expected text, or a list of messages");
    fields.at("output", wrong.hint(hint))
}

/// Structured output, as its JSON text, where that may be no trajectory.
fn structured(fields: &RowFields<'_>, value: &Value, path: &str) -> Option<String> {
    (fields.spec.format.is_none() && is_structured(value, path)).then(|| value.to_string())
}

/// Whether it is structured output, not a trajectory: an object, or a list without objects.
fn is_structured(value: &Value, path: &str) -> bool {
    match value {
        Value::Object(_) => trajectory::detect(value).is_none() && answer_in(value, path).is_none(),
        Value::Array(items) => items.iter().all(is_text),
        _ => false,
    }
}

fn is_text(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

fn output_at(fields: &RowFields<'_>, name: &str, path: &str) -> Result<RecordedAnswer, RowProblem> {
    let Some(raw) = fields.at_path(path).filter(|raw| raw.get() != "null") else {
        let what = format!("the row has nothing at `{path}`, the output of `{name}`");
        return no_answer(fields, &what);
    };
    let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
    if is_text(&value) {
        return Ok(RecordedAnswer::of_output(json_text(&value)));
    }
    if let Some(output) = structured(fields, &value, path) {
        return Ok(RecordedAnswer::of_output(output));
    }
    let trajectory = trajectory::read(&value, fields.spec.format)
        .map_err(|problem| not_a_trajectory(fields, path, Some(raw), &problem))?;
    Ok(RecordedAnswer { trajectory, output: None })
}

/// Why a row or a recording holds no answer where it says that there may be one: there is nothing where the suite maps
/// one, or null. Where it has a trajectory that cannot be read, only what the suite maps says so.
fn unanswered(fields: &RowFields<'_>, has_other: bool) -> Option<String> {
    let mut names = ["output", "trajectory", "messages"].into_iter();
    let mapped = names.clone().find_map(|name| Some((name, fields.mapped(name)?)));
    if let Some((name, path)) = mapped {
        return Some(format!("the row has nothing at `{path}`, its `{name}`"));
    }
    let null = names.find(|name| fields.members.get(name).is_some_and(|raw| raw.get() == "null"));
    null.filter(|_| !has_other).map(|name| format!("`{name}` is null"))
}

/// What a row records that holds no answer: what the suite says that this is.
fn no_answer(fields: &RowFields<'_>, what: &str) -> Result<RecordedAnswer, RowProblem> {
    match fields.spec.missing {
        MissingAnswer::Error => Err(RowProblem::unanswered(format!("no answer: {what}"))),
        MissingAnswer::Empty => Ok(RecordedAnswer::of_output(String::new())),
    }
}

/// Why a grader cannot read the answer of a row that holds nothing recorded, nor says that it may be missing.
pub(super) fn holds_nothing(fields: &RowFields<'_>, record: RowRecord<'_>) -> Option<RowProblem> {
    let spec = fields.spec;
    let has_own =
        record.recorded.is_empty() && spec.live.is_none() && spec.fields.outputs.is_empty();
    let names = ["output", "trajectory", "messages"];
    let is_held = || names.iter().any(|name| fields.raw(name).is_some());
    let is_nothing = has_own && !is_held() && unanswered(fields, false).is_none();
    is_nothing.then(|| nothing_recorded(fields))
}

fn nothing_recorded(fields: &RowFields<'_>) -> RowProblem {
    let problem = RowProblem::new(NOTHING_RECORDED);
    if let Some(hint) = session_hint(fields) {
        return problem.hint(hint);
    }
    let mut names = ["output", "trajectory", "messages"].into_iter();
    let hint = names.find_map(|name| fields.instead_of(name)).or_else(|| response_hint(fields));
    let hint = hint.unwrap_or_else(|| {
        let names = fields.some_names();
        format!("the row has {names}; map one with `fields: {{output: NAME}}`, or name a file: `target: {{kind: recorded, path: trajectories.jsonl}}`")
    });
    problem.hint(hint)
}

/// The place of the answer in a log of requests and responses.
fn response_hint(fields: &RowFields<'_>) -> Option<String> {
    let found = |path: &&str| fields.at_path(&format!("{path}choices[0].message")).is_some();
    let path = ["", "response.", "body.", "response.body."].into_iter().find(found)?;
    let answer = in_braces(&format!("{path}choices[0].message.content"));
    Some(format!(
        "this is an OpenAI response: set `fields: {{output: {answer}}}`, and map its `input` likewise"
    ))
}

/// How to use a session of Claude Code, instead of as a dataset.
pub(super) fn session_hint(fields: &RowFields<'_>) -> Option<&'static str> {
    let value: Value = serde_json::from_str(fields.row).ok()?;
    trajectory::is_session_line(&value).then_some(
        "this looks like a line of a Claude Code session: keep sessions in a folder, one file each, and set `dataset: {path: sessions, sample: file, fields: {id: file.stem}}`",
    )
}

/// Records of a trajectory file use our own names.
pub(super) fn joined_spec(spec: &RowSpec) -> RowSpec {
    let RowSpec { format, missing, .. } = *spec;
    RowSpec { cells: false, fields: FieldMap::default(), format, missing, live: None }
}

#[cfg(test)]
mod tests {
    use crate::dataset::fields::RowSpec;
    use crate::dataset::join::NOT_RECORDED;
    use crate::dataset::row::{OpenedRow, RowRecord, check, check_recording};
    use evalrs_base::path::in_braces;
    use evalrs_model::spec::{FieldMap, MissingAnswer};
    use evalrs_trajectory::{FORMATS, is_session_line};

    fn spec(paths: &[&str], outputs: &[&str], missing: MissingAnswer) -> RowSpec {
        let at_x = |name: &&str| ((*name).to_owned(), "x.y".to_owned());
        let [paths, outputs] = [paths, outputs].map(|names| names.iter().map(at_x).collect());
        let fields = FieldMap { paths, outputs, ..FieldMap::default() };
        RowSpec { cells: false, fields, format: None, missing, live: None }
    }

    #[test]
    fn paths_are_told_as_yaml_takes_them() {
        for (path, expected) in [
            ("answer", "answer"),
            ("a.b-c_d.e2", "a.b-c_d.e2"),
            ("choices[0].message.content", "\"choices[0].message.content\""),
            ("[0].content", "\"[0].content\""),
            ("the answer", "\"the answer\""),
            ("a: \"b\"", "\"a: \\\"b\\\"\""),
            ("7", "\"7\""),
        ] {
            assert_eq!(in_braces(path), expected);
        }
    }

    #[test]
    fn every_line_of_a_session_is_told_the_same() {
        for line in [
            r#"{"type": "summary", "summary": "s", "leafUuid": "u"}"#,
            r#"{"type": "user", "message": {"role": "user", "content": "q"}, "sessionId": "s"}"#,
            r#"{"type": "assistant", "message": {"content": []}, "uuid": "b"}"#,
            r#"{"type": "file-history-snapshot", "snapshot": {}, "isSnapshotUpdate": false}"#,
            r#"{"type": "queue-operation", "operation": "enqueue", "sessionId": "s"}"#,
            r#"{"type": "system", "subtype": "init", "session_id": "s"}"#,
            r#"{"type": "result", "subtype": "success", "result": "r"}"#,
        ] {
            assert!(is_session_line(&serde_json::from_str(line).unwrap()), "{line}");
        }
        for line in [
            r#"{"type": "faq", "question": "q"}"#,
            r#"{"sessionId": "s", "output": "o"}"#,
            r#"{"type": 3, "sessionId": "s"}"#,
            r#"["type"]"#,
        ] {
            assert!(!is_session_line(&serde_json::from_str(line).unwrap()), "{line}");
        }
    }

    #[test]
    fn an_output_ends_the_trajectory_beside_it() {
        let said = r#"[{"role": "user", "content": "q"}, {"role": "assistant", "content": "I think."}, {"role": "user", "content": "so?"}]"#;
        let openai = FORMATS.iter().find(|(name, _)| *name == "openai").map(|(_, format)| *format);
        for (output, answer) in [
            (r#""It is 4.""#, Some("It is 4.")),
            ("4", Some("4")),
            (r#"{"answer": 4}"#, Some(r#"{"answer":4}"#)),
            (r#"["a", "b"]"#, Some(r#"["a","b"]"#)),
            (r#""I think. ""#, Some("I think. ")),
            // It is what was said at last, or nothing.
            (r#""I think.""#, None),
            (r#""""#, None),
            (r#"" \n""#, None),
            ("null", None),
            // What an API responds is elsewhere too.
            (r#"{"choices": [{"message": {"content": "It is 4."}}]}"#, None),
            (r#"{"content": "It is 4."}"#, None),
            (r#"[{"role": "assistant", "content": "It is 4."}]"#, None),
        ] {
            for format in [None, openai] {
                let spec = RowSpec { format, ..spec(&[], &[], MissingAnswer::Error) };
                let row = format!(r#"{{"messages": {said}, "output": {output}}}"#);
                let record = RowRecord { row: &row, recorded: "", case: 0 };
                let found = OpenedRow::new(record, &spec).unwrap().recorded().unwrap().trajectory;
                let last = found.turns.last().unwrap();
                assert_eq!(found.turns.len(), 2, "{output}");
                assert_eq!(last.messages.len(), 1 + usize::from(answer.is_some()), "{output}");
                assert_eq!(found.final_output(), answer.or(Some("I think.")), "{output}");
            }
        }
    }

    #[test]
    fn an_answer_that_is_missing_is_an_error_of_its_result_or_empty() {
        let nothing = "no answer: the row has nothing at `x.y`, its `output`";
        let nothing_of_m = "no answer: the row has nothing at `x.y`, the output of `m`";
        let null = "no answer: `output` is null";
        for (paths, outputs, row, why) in [
            (&["output"][..], &[][..], r#"{"input": "q", "x": {"y": null}}"#, nothing),
            (&["output"], &[], r#"{"input": "q", "x": null}"#, nothing),
            (&["output"], &[], r#"{"x": {}}"#, nothing),
            (&["output"], &[], r#"{"input": ["q"], "ground_truth": ["a"]}"#, nothing),
            (&["output"], &[], r#"{"input": "q", "messages": [["user", "hi"]]}"#, nothing),
            (
                &["messages"],
                &[],
                r#"{"x": {}}"#,
                "no answer: the row has nothing at `x.y`, its `messages`",
            ),
            (&[], &["m"], r#"{"input": "q", "x": {"y": null}}"#, nothing_of_m),
            (&[], &["m"], r#"{"x": {}}"#, nothing_of_m),
            (&[], &[], r#"{"input": "q", "output": null}"#, null),
            (&[], &[], r#"{"output": null, "trajectory": null}"#, null),
        ] {
            let record = RowRecord { row, recorded: "", case: 0 };
            let error = spec(paths, outputs, MissingAnswer::Error);
            assert_eq!(check(record, &error).map(drop), Ok(()), "{row}");
            let problem = OpenedRow::new(record, &error).unwrap().recorded().unwrap_err();
            assert_eq!((problem.message.as_str(), problem.unanswered), (why, true), "{row}");
            let empty = spec(paths, outputs, MissingAnswer::Empty);
            assert_eq!(check(record, &empty).map(drop), Ok(()), "{row}");
            let recorded = OpenedRow::new(record, &empty).unwrap().recorded().unwrap();
            for spec in [&error, &empty] {
                assert_eq!(OpenedRow::new(record, spec).unwrap().no_input(), None, "{row}");
            }
            assert_eq!(recorded.output.as_deref(), Some(""), "{row}");
        }
    }

    #[test]
    fn a_row_that_cannot_be_read_stays_an_error_of_the_dataset() {
        for (paths, row) in [
            (&[][..], r#"{"input": "q", "output": null, "messages": [["user", "hi"]]}"#),
            (&["output"], r#"{"input": "q", "x": {"y": {"message": {"content": "a"}}}}"#),
            (&["messages"], r#"{"input": "q", "output": "a", "x": {"y": 5}}"#),
        ] {
            for missing in [MissingAnswer::Error, MissingAnswer::Empty] {
                let record = RowRecord { row, recorded: "", case: 0 };
                let problem = check(record, &spec(paths, &[], missing)).unwrap_err();
                assert!(!problem.unanswered, "{row}");
            }
        }
    }

    #[test]
    fn a_row_without_an_answer_says_so_to_whoever_reads_it() {
        for (paths, outputs, row, is_told) in [
            (&[][..], &[][..], r#"{"input": "q"}"#, true),
            (&[], &[], r#"{"input": "q", "answers": null}"#, true),
            (&[], &[], r#"{"output": "a"}"#, false),
            (&[], &[], r#"{"messages": []}"#, false),
            // What says that its answer is missing.
            (&[], &[], r#"{"output": null}"#, false),
            (&["output"], &[], r#"{"input": "q"}"#, false),
            (&[], &["m"], r#"{"input": "q"}"#, false),
        ] {
            let record = RowRecord { row, recorded: "", case: 0 };
            let spec = spec(paths, outputs, MissingAnswer::Error);
            assert_eq!(check(record, &spec).map(drop), Ok(()), "{row}");
            let opened = OpenedRow::new(record, &spec).unwrap();
            assert_eq!(opened.no_answer().is_some(), is_told, "{row}");
            if is_told {
                assert!(opened.recorded().unwrap_err().unanswered, "{row}");
            }
        }
    }

    #[test]
    fn a_recording_may_lack_its_answer_as_a_row_may() {
        let of = |recorded, missing| {
            let spec = spec(&[], &[], missing);
            check_recording(recorded, &spec).map_err(|problem| problem.message).unwrap();
            let record = RowRecord { row: r#"{"id": "a"}"#, recorded, case: 0 };
            let recorded = OpenedRow::new(record, &spec).unwrap().recorded();
            recorded.map(|recorded| recorded.output).map_err(|problem| problem.unanswered)
        };
        let null = r#"{"id": "a", "output": null}"#;
        assert_eq!(of(null, MissingAnswer::Error), Err(true));
        assert_eq!(of(null, MissingAnswer::Empty), Ok(Some(String::new())));
        let spec = spec(&[], &[], MissingAnswer::Empty);
        check_recording(r#"{"id": "a"}"#, &spec).unwrap_err();
        let record = RowRecord { row: r#"{"id": "a"}"#, recorded: NOT_RECORDED, case: 0 };
        assert!(!OpenedRow::new(record, &spec).unwrap().recorded().unwrap_err().unanswered);
    }
}
