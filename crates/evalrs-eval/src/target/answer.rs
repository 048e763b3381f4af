//! What a target answered: what it gives, and what is kept of it.
//!
//! What is kept is a JSON object that reads as a recorded row (`output`, `messages`, `trajectory`, `agent_state`), with
//! what only a run knows beside it: when it began, how long it took, the lines of its output with their times, its exit.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_json_path::JsonPath;

use super::exchange::{answer_text, at};
use evalrs_base::price::Cost;
use evalrs_base::text::cut;
use evalrs_model::outcome::{Outcome, Reply, Usage};
use evalrs_trajectory as trajectory;

/// The members of a row that say what was answered.
const ANSWERS: [&str; 3] = ["output", "messages", "trajectory"];

/// What a target gives that says nothing of what it answered.
const NO_ANSWER: &str = "it has neither `output` nor `messages` nor `trajectory`";

/// The characters that are shown of an invalid answer.
const SHOWN: usize = 200;

/// The most names that are shown of its other members.
const MOST_NAMES: usize = 5;

/// What a target answered in one conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetAnswer {
    /// The answer in the form of a recorded row, and its other members.
    #[serde(flatten)]
    pub row: Map<String, Value>,
    /// When the conversation began, in milliseconds since 1970 (UTC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// How its last process ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<AgentExit>,
    /// What it wrote to its standard output: turn by turn the lines of each, with the milliseconds since the conversation
    /// began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Vec<TimedLine>>,
    /// The workspace, where it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The agent's changes to its workspace, from git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_diff: Option<String>,
    /// What it used, in the words of the row.
    #[serde(skip)]
    pub usage: Option<Usage>,
}

/// A line of standard output: milliseconds since the conversation began, text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedLine(pub u64, pub String);

/// How the process of an agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentExit {
    /// Its exit code, 128 and the signal if one ended it; none if it was still running.
    pub code: Option<i32>,
    /// Whether its time was up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// The error that a target reports instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// It says so itself: its words.
    Error(String),
    /// It cannot be read: why.
    Unreadable(String),
}

impl TargetAnswer {
    /// An answer that is nothing but text.
    pub fn text(output: impl Into<String>) -> Self {
        let row = Map::from_iter([("output".to_owned(), Value::from(output.into()))]);
        Self { row, ..Self::default() }
    }

    /// What a function or a server gave: an object in the form of a recorded row, a list of messages, or a value that is
    /// the output.
    pub fn given(value: Value) -> Result<Self, NoAnswer> {
        let mut row = match value {
            Value::Object(row) => row,
            Value::String(text) => return Ok(Self::text(text)),
            Value::Number(_) | Value::Bool(_) => return Ok(Self::text(value.to_string())),
            Value::Array(_) => Map::from_iter([("messages".to_owned(), value)]),
            Value::Null => return Err(NoAnswer::Unreadable("it gave nothing".to_owned())),
        };
        if let Some(error) = row.get("error").filter(|error| !error.is_null()) {
            let words = error.get("message").unwrap_or(error);
            let words = words.as_str().map_or_else(|| words.to_string(), str::to_owned);
            return Err(NoAnswer::Error(words));
        }
        row.remove("error");
        // An absent member may be written as null, but for the output, which then is empty.
        row.retain(|_, value| !value.is_null());
        let usage = usage_in(&row);
        for own in OWN {
            row.remove(own);
        }
        let answer = Self { row, usage, ..Self::default() };
        answer.problem().map_or(Ok(answer), |problem| Err(NoAnswer::Unreadable(problem)))
    }

    /// The result of a function whose answer is at `path`, if the suite sets it.
    pub fn given_at(mut value: Value, path: Option<&JsonPath>) -> Result<Self, NoAnswer> {
        if let Some(answer) = path.and_then(|path| at(path, &value)) {
            if !value.is_object() {
                value = json!({});
            }
            value["output"] = Value::from(answer_text(&answer));
        } else if path.is_some() && value.get("error").is_none_or(Value::is_null) {
            return Err(nothing_at(&value));
        }
        Self::given(value)
    }

    /// What a process wrote to its standard output: one JSON value, lines of JSON, or text, which is the output. Where the
    /// suite says by a `path` where the answer stands, it is the last JSON value that has it.
    pub fn printed(text: &str, path: Option<&JsonPath>) -> Result<Self, NoAnswer> {
        let text = text.trim();
        if text.is_empty() {
            return Err(NoAnswer::Unreadable("it printed nothing".to_owned()));
        }
        if text.starts_with(['{', '['])
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            return Self::given_at(value, path);
        }
        match (lines_of_json(text), path) {
            (Some(lines), path) => Self::of_lines(lines, path),
            (None, None) => Self::of_steps_and_text(text),
            (None, Some(_)) => {
                let beginning: String = text.chars().take(SHOWN).collect();
                let why = format!("it is not JSON, in which `answer` would be: {beginning}");
                Err(NoAnswer::Unreadable(why))
            }
        }
    }

    /// Text; or steps, a line each, and text after them.
    fn of_steps_and_text(text: &str) -> Result<Self, NoAnswer> {
        let mut steps = Vec::new();
        let mut rest = text;
        while let Some((line, behind)) = rest.split_once('\n') {
            match step(line) {
                Some(step) => steps.push(step),
                None if line.trim().is_empty() => {}
                None => break,
            }
            rest = behind;
        }
        let steps = Value::Array(steps);
        if steps == json!([]) || trajectory::read(&steps, None).is_err() {
            return Ok(Self::text(text));
        }
        Self::given(json!({"output": rest.trim(), "trajectory": steps}))
    }

    /// Lines of JSON: steps or messages while it worked, and perhaps an answer after them.
    fn of_lines(
        mut lines: Vec<Map<String, Value>>,
        path: Option<&JsonPath>,
    ) -> Result<Self, NoAnswer> {
        let told = path.map(|path| take_answer(&mut lines, path)).transpose()?;
        let mut steps = Vec::new();
        let mut last = None;
        for mut line in lines {
            let is_step = is_step(&line);
            let is_event = line.remove("event").is_some();
            let is_answer = ANSWERS.iter().any(|name| line.contains_key(*name));
            let is_error = line.contains_key("error") && !line.contains_key("type");
            if told.is_some() {
                steps.extend(is_step.then_some(Value::Object(line)));
            } else if !is_event && (is_answer || is_error) && !line.contains_key("role") {
                last = Some(line);
            } else {
                steps.push(Value::Object(line));
            }
        }
        let mut row = told.or(last).unwrap_or_default();
        let has_trajectory = row.contains_key("messages") || row.contains_key("trajectory");
        if !steps.is_empty() && !has_trajectory {
            row.insert("trajectory".to_owned(), Value::Array(steps));
        }
        Self::given(Value::Object(row))
    }

    /// What keeps it from being read, if anything does.
    fn problem(&self) -> Option<String> {
        if !ANSWERS.iter().any(|name| self.row.contains_key(*name)) {
            return Some(format!("{NO_ANSWER}{}", self.named()));
        }
        let read = |name: &str| {
            let value = self.row.get(name)?;
            trajectory::read(value, None).err().map(|why| format!("`{name}` cannot be read: {why}"))
        };
        read("messages").or_else(|| read("trajectory"))
    }

    /// The members that it has instead of an answer, after a comma.
    fn named(&self) -> String {
        let names = self.row.keys().take(MOST_NAMES).map(|name| format!("`{}`", cut(name, 40)));
        let names: Vec<String> = names.collect();
        let Some(first) = self.row.keys().next() else { return String::new() };
        let place = cut(first, 40);
        let names = names.join(", ");
        format!(", only {names}: name the answer `output`, or set its path (`answer: $.{place}`)")
    }

    /// What is kept of it.
    pub fn into_outcome(mut self) -> Outcome {
        let usage = self.usage.take();
        // Graders see what stands in the answer. What follows from a list of prices does not: prices change.
        if let Some(cost) = usage.filter(|usage| usage.told).and_then(|usage| usage.cost)
            && !self.row.contains_key("cost")
        {
            self.row.insert("cost".to_owned(), json!(cost.dollars()));
        }
        let text = serde_json::to_string(&self).unwrap_or_default();
        Outcome::Reply(Reply { usage, ..Reply::new(text) })
    }

    /// The answer in what was kept.
    pub fn read(text: &str) -> Result<Self, String> {
        let answer: Self = serde_json::from_str(text)
            .map_err(|error| format!("what was kept of the conversation is damaged: {error}"))?;
        answer.problem().map_or(Ok(answer), Err)
    }
}

/// The members of an answer that evalrs writes, whatever a target calls so.
const OWN: [&str; 7] =
    ["started_at", "duration_ms", "exit", "lines", "workspace", "workspace_diff", "trial"];

/// Says what is wrong with what was kept, if anything.
pub fn check(text: &str) -> Result<(), String> {
    TargetAnswer::read(text).map(drop)
}

/// Takes the last line that has the answer at `path` out of `lines`, else the last one that says what went wrong.
fn take_answer(
    lines: &mut Vec<Map<String, Value>>,
    path: &JsonPath,
) -> Result<Map<String, Value>, NoAnswer> {
    let answer = |line: &Map<String, Value>| at(path, &Value::Object(line.clone()));
    let found = (0..lines.len()).rev().find_map(|number| Some((number, answer(&lines[number])?)));
    if let Some((number, answer)) = found {
        let mut line = lines.remove(number);
        line.remove("event");
        line.insert("output".to_owned(), Value::from(answer_text(&answer)));
        return Ok(line);
    }
    let is_error = |line: &Map<String, Value>| line.contains_key("error") && !is_step(line);
    match (lines.iter().rposition(is_error), lines.last()) {
        (Some(number), _) => Ok(lines.remove(number)),
        (None, last) => Err(nothing_at(&Value::Object(last.cloned().unwrap_or_default()))),
    }
}

fn nothing_at(value: &Value) -> NoAnswer {
    let beginning: String = value.to_string().chars().take(SHOWN).collect();
    NoAnswer::Unreadable(format!("nothing at `answer`: {beginning}"))
}

/// The step of a line, if it is one.
fn step(line: &str) -> Option<Value> {
    let mut line: Map<String, Value> = serde_json::from_str(line).ok()?;
    let is_step = is_step(&line);
    line.remove("event");
    is_step.then_some(Value::Object(line))
}

fn is_step(line: &Map<String, Value>) -> bool {
    ["event", "role", "type"].iter().any(|name| line.contains_key(*name))
}

/// The lines, if all of them are objects and there are at least two.
fn lines_of_json(text: &str) -> Option<Vec<Map<String, Value>>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Option<Vec<_>> = lines.map(|line| serde_json::from_str(line).ok()).collect();
    lines.filter(|lines| lines.len() > 1)
}

/// What a target says that it used: `usage: {input_tokens, output_tokens}` (or the words of OpenAI) and `cost`, in US
/// dollars.
pub fn usage_in(row: &Map<String, Value>) -> Option<Usage> {
    let usage = row.get("usage");
    let tokens = |names: [&str; 2]| {
        names.iter().find_map(|name| usage?.get(*name)?.as_u64()).unwrap_or_default()
    };
    let cost = row.get("cost").or_else(|| usage?.get("cost")).and_then(Value::as_f64);
    let cost = cost.filter(|cost| *cost >= 0.0).and_then(Cost::from_dollars);
    let input = tokens(["input_tokens", "prompt_tokens"]);
    let output = tokens(["output_tokens", "completion_tokens"]);
    let is_told = usage.is_some_and(Value::is_object) || cost.is_some();
    is_told.then(|| Usage::of_tokens(input, output).told(cost))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use serde_json_path::JsonPath;

    use super::{NoAnswer, TargetAnswer};

    #[test]
    fn steps_before_a_text_are_the_trajectory_and_the_text_is_the_answer() {
        let step = r#"{"event": "step", "role": "assistant", "content": "Let me see."}"#;
        let steps = json!([{"role": "assistant", "content": "Let me see."}]);
        for (printed, output, trajectory) in [
            (format!("{step}\n\nIt is 4.\nSure."), "It is 4.\nSure.", steps.clone()),
            (format!("It is 4.\n{step}"), &format!("It is 4.\n{step}"), Value::Null),
            ("{\"a\": 1}\nis JSON".to_owned(), "{\"a\": 1}\nis JSON", Value::Null),
            ("{\"type\": 7}\nis JSON".to_owned(), "{\"type\": 7}\nis JSON", Value::Null),
            (format!("{step}\n{{\"output\": \"4\"}}"), "4", steps),
        ] {
            let row = TargetAnswer::printed(&printed, None).unwrap().row;
            let told = row.get("trajectory").cloned().unwrap_or_default();
            assert_eq!((&row["output"], told), (&json!(output), trajectory), "{printed}");
        }
    }

    #[test]
    fn an_answer_is_found_where_the_suite_says_that_it_stands() {
        let path = JsonPath::parse("$.reply.text").unwrap();
        let step = r#"{"event": "step", "role": "assistant", "content": "Let me see."}"#;
        for (printed, expected) in [
            (r#"{"reply": {"text": "Paris"}, "cost": 0.5}"#.to_owned(), Ok("Paris")),
            (format!("{step}\n{{\"reply\": {{\"text\": 4}}}}"), Ok("4")),
            ("{\"reply\": {\"text\": \"Paris\"}}\n{\"usage\": {\"a\": 1}}".to_owned(), Ok("Paris")),
            (format!("{step}\n{{\"a\": 1}}"), Err("nothing at `answer`: {\"a\"")),
            (format!("{step}\n{{\"error\": \"no\"}}"), Err("no")),
            (r#"{"reply": "Paris"}"#.to_owned(), Err("nothing at `answer`: {\"reply\"")),
            ("Paris".to_owned(), Err("it is not JSON, in which `answer` would be: Paris")),
            (r#"{"error": "no"}"#.to_owned(), Err("no")),
        ] {
            let told = TargetAnswer::printed(&printed, Some(&path));
            let told = told.map(|answer| answer.row["output"].as_str().unwrap().to_owned());
            match (told, expected) {
                (Ok(output), Ok(expected)) => assert_eq!(output, expected),
                (Err(NoAnswer::Unreadable(why) | NoAnswer::Error(why)), Err(expected)) => {
                    assert!(why.starts_with(expected), "{why}");
                }
                (told, _) => panic!("{printed}: {told:?}"),
            }
        }
    }

    #[test]
    fn an_answer_of_other_names_is_told_them() {
        for (given, expected) in [
            (json!({}), "`trajectory`"),
            (
                json!({"answer": "Paris"}),
                ", only `answer`: name the answer `output`, or set its path (`answer: $.answer`)",
            ),
            (
                json!({"a": 1, "b": 2}),
                ", only `a`, `b`: name the answer `output`, or set its path (`answer: $.a`)",
            ),
        ] {
            let Err(NoAnswer::Unreadable(why)) = TargetAnswer::given(given) else { panic!() };
            assert!(why.ends_with(expected), "{why}");
        }
    }
}
