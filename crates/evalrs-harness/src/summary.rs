//! What results come to, record by record: what `evalrs summarize` writes.

use std::fmt::Write;

use serde_json::{Value, json};

use super::json::{number, to_json};
use super::lines::JsonRecord;
use super::words::{has_tool_errors, joined_input, shortened, shown, text_of};

/// The characters of a thought or a message that are shown.
const WORDS: usize = 100;
/// The characters of a plan that are shown.
const PLAN: usize = 80;
/// The characters of an output that are shown.
const OUTPUT: usize = 200;
/// A file of this many characters is shown whole.
const FILE: usize = 500;
/// This many lines of a longer file are shown whole.
const LINES: usize = 12;
/// Of more lines, this many from the beginning and the end are shown.
const HEAD: usize = 8;
const TAIL: usize = 4;

fn steps(record: &JsonRecord) -> &[Value] {
    record.get("trajectory").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Milliseconds from start to end.
fn duration(record: &JsonRecord) -> Option<f64> {
    let timing = record.get("timing")?;
    Some(timing.get("end")?.as_f64()? - timing.get("start")?.as_f64()?)
}

/// The record in one line. An error says what it lacks.
pub(crate) fn summary(record: &JsonRecord) -> Result<String, String> {
    let duration = duration(record).ok_or("`timing.start` and `timing.end` must be numbers")?;
    let calls = steps(record).iter().filter(|step| step["type"] == "tool_call");
    Ok(to_json(&json!({
        "id": text_of(record, "id"),
        "input": joined_input(record.get("input"), "\n"),
        "output": text_of(record, "output"),
        "toolCalls": calls.map(|call| call["name"].clone()).collect::<Value>(),
        "duration": duration,
    })))
}

pub(crate) fn markdown(record: &JsonRecord) -> String {
    let id = text_of(record, "id");
    let input = joined_input(record.get("input"), "\n");
    let mut text = format!("## Evaluation Record: {id}\n\n**Input:** {input}\n\n**Trajectory:**\n");
    for (step, ordinal) in steps(record).iter().zip(1..) {
        write_step(&mut text, step, ordinal, id);
    }
    let metadata = record.get("metadata").and_then(Value::as_object);
    let metadata: Vec<String> = metadata
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={}", shown(value)))
        .collect();
    let tool_errors = has_tool_errors(record);
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "\n**Output:** {}\n\n**Metadata:** {}\n**Tool Errors:** {tool_errors}\n**Duration:** {}ms\n",
        shortened(text_of(record, "output"), OUTPUT),
        metadata.join(", "),
        number(duration(record).unwrap_or(0.0))
    );
    if let Some(Value::Object(score)) = record.get("score") {
        let word = if score.get("pass") == Some(&Value::Bool(true)) { "PASS" } else { "FAIL" };
        let points = score.get("score").and_then(Value::as_f64).unwrap_or(0.0);
        let _ = writeln!(text, "**Score:** {word} ({})", number(points));
        let reasoning = text_of(score, "reasoning");
        if !reasoning.is_empty() {
            let _ = writeln!(text, "**Reasoning:** {reasoning}");
        }
    }
    text + "\n---\n"
}

fn write_step(to: &mut String, step: &Value, ordinal: usize, id: &str) {
    let Value::Object(step) = step else { return };
    let told = match text_of(step, "type") {
        "thought" => format!("[THOUGHT] {}", shortened(text_of(step, "content"), WORDS)),
        "message" => format!("[MESSAGE] {}", shortened(text_of(step, "content"), WORDS)),
        "plan" => format!("[PLAN] {}", shortened(&plan(step), PLAN)),
        _ => call(step),
    };
    let _ = writeln!(to, "{ordinal}. {told} [→{id}-step-{ordinal}]");
    if let Some(Value::Object(input)) = step.get("input") {
        write_file(to, input);
    }
}

fn plan(step: &JsonRecord) -> String {
    let entries = step.get("entries").and_then(Value::as_array).into_iter().flatten();
    let entry =
        |entry: &Value| format!("{}: {}", shown(&entry["content"]), shown(&entry["status"]));
    entries.map(entry).collect::<Vec<_>>().join(", ")
}

fn call(step: &JsonRecord) -> String {
    let duration = step.get("duration").and_then(Value::as_f64).filter(|duration| *duration != 0.0);
    let duration =
        duration.map_or_else(String::new, |duration| format!(" ({}ms)", number(duration)));
    format!("[TOOL:{}] -> {}{duration}", text_of(step, "name"), text_of(step, "status"))
}

/// The file that a call is about, and what it writes there.
fn write_file(to: &mut String, input: &JsonRecord) {
    let named = |names: [&str; 2]| {
        names.into_iter().map(|name| text_of(input, name)).find(|text| !text.is_empty())
    };
    let path = named(["file_path", "path"]);
    let content = named(["content", "new_string"]);
    if let Some(path) = path {
        let size = content.map(|content| format!(" ({} chars)", content.chars().count()));
        let _ = writeln!(to, "   File: {path}{}", size.unwrap_or_default());
    }
    let Some(content) = content else { return };
    let language = path.map_or("typescript", |path| path.rsplit('.').next().unwrap_or(path));
    let _ = writeln!(to, "   ```{language}");
    for line in body(content) {
        let _ = writeln!(to, "{}", format!("   {line}").trim_end());
    }
    let _ = writeln!(to, "   ```");
}

/// The lines of a file: all of a short one, else its beginning and its end.
fn body(content: &str) -> Vec<String> {
    let lines: Vec<String> = content.split('\n').map(str::to_owned).collect();
    if content.chars().count() <= FILE || lines.len() <= LINES {
        return lines;
    }
    let omitted = lines.len() - HEAD - TAIL;
    let note = [String::new(), format!("// ... {omitted} lines omitted ..."), String::new()];
    let tail = lines[lines.len() - TAIL..].iter().cloned();
    lines[..HEAD].iter().cloned().chain(note).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{body, markdown, summary};

    fn record() -> Value {
        json!({
            "id": "a", "input": ["one", "two"], "output": "done",
            "trajectory": [
                {"type": "thought", "content": "x".repeat(101), "timestamp": 0},
                {"type": "tool_call", "name": "Write", "status": "completed", "duration": 12, "timestamp": 1,
                    "input": {"file_path": "src/a.py", "content": "print(1)\n"}},
                {"type": "tool_call", "name": "Read", "status": "failed", "timestamp": 2},
                {"type": "plan", "entries": [{"content": "try", "status": "pending"}], "timestamp": 3},
                {"type": "message", "content": "done", "timestamp": 4},
            ],
            "metadata": {"agent": "fake", "turnCount": 2},
            "timing": {"start": 1000, "end": 1250.5, "total": 300},
            "toolErrors": true,
            "score": {"pass": true, "score": 1.0, "reasoning": "right"},
        })
    }

    #[test]
    fn a_summary_is_one_line() {
        let record = record();
        let expected = r#"{"id":"a","input":"one\ntwo","output":"done","toolCalls":["Write","Read"],"duration":250.5}"#;
        assert_eq!(summary(record.as_object().unwrap()).unwrap(), expected);
        let untimed = json!({"id": "a", "input": "", "output": ""});
        assert!(summary(untimed.as_object().unwrap()).is_err());
    }

    #[test]
    fn people_read_every_step() {
        insta::assert_snapshot!(markdown(record().as_object().unwrap()), @r"
        ## Evaluation Record: a

        **Input:** one
        two

        **Trajectory:**
        1. [THOUGHT] xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx... [→a-step-1]
        2. [TOOL:Write] -> completed (12ms) [→a-step-2]
           File: src/a.py (9 chars)
           ```py
           print(1)

           ```
        3. [TOOL:Read] -> failed [→a-step-3]
        4. [PLAN] try: pending [→a-step-4]
        5. [MESSAGE] done [→a-step-5]

        **Output:** done

        **Metadata:** agent=fake, turnCount=2
        **Tool Errors:** true
        **Duration:** 250.5ms
        **Score:** PASS (1)
        **Reasoning:** right

        ---
        ");
    }

    #[test]
    fn long_files_lose_their_middle() {
        let long: Vec<String> = (0..20).map(|line| format!("{line} {}", "x".repeat(40))).collect();
        let shown = body(&long.join("\n"));
        assert_eq!((shown.len(), shown[9].as_str()), (8 + 3 + 4, "// ... 8 lines omitted ..."));
        assert_eq!(body("a\nb").len(), 2);
        assert_eq!(body(&"y".repeat(1000)).len(), 1);
    }
}
