//! Assertions on what an agent did: which tools it called, in which order, with which arguments.

use serde_json::{Value, json};

use super::case::AssertionSpec;
use super::code;
use super::mapped_assertion::MappedAssertion;
use crate::reading::{put, text_in};

/// The grader of a `trajectory:` assertion.
pub(super) fn grader(spec: &AssertionSpec, value: &Value) -> Result<MappedAssertion, String> {
    let (function, config) = match spec.kind.as_str() {
        "trajectory:tool-used" => ("tool_called", tool_used(value)?),
        "trajectory:tool-sequence" if text_in(value, "mode") == Some("exact") => {
            ("tool_calls_match", tool_sequence(value)?)
        }
        "trajectory:tool-sequence" => return in_order(spec, value),
        "trajectory:tool-args-match" => ("tool_called", tool_arguments(value)?),
        "trajectory:step-count" => {
            let why =
                "promptfoo counts spans of a trace; `max_tool_calls` and `max_turns` are close";
            return Err(why.to_owned());
        }
        "trajectory:goal-success" => return goal(spec, value),
        kind => return Err(format!("this version does not know `{kind}`")),
    };
    let mut settings = json!({"kind": "tool", "function": function, "config": config});
    if spec.negated {
        settings["not"] = json!(true);
    }
    let note =
        "`trajectory:` assertions read the recorded trajectory here, and traces in promptfoo.";
    Ok(MappedAssertion { note: Some(note), ..MappedAssertion::new(settings, None) })
}

fn tool_used(value: &Value) -> Result<Value, String> {
    match value {
        Value::String(name) => plain(name).map(|name| json!({"name": name})),
        Value::Array(names) => {
            let names = names.iter().map(|name| plain(name.as_str().unwrap_or_default()));
            Ok(json!({"names": names.collect::<Result<Vec<_>, _>>()?}))
        }
        value => {
            let name = text_in(value, "name").ok_or("it names tools by a pattern")?;
            let mut config = json!({"name": plain(name)?});
            for bound in ["min", "max"] {
                put(&mut config, bound, value.get(bound).and_then(Value::as_u64));
            }
            Ok(config)
        }
    }
}

/// A name without wildcards.
fn plain(name: &str) -> Result<&str, String> {
    if name.is_empty() || name.contains(['*', '?']) {
        return Err(format!("it names tools by the pattern `{name}`"));
    }
    Ok(name)
}

fn tool_sequence(value: &Value) -> Result<Value, String> {
    let expected = steps(value)?.into_iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
    Ok(json!({"expected": expected, "mode": "strict", "arguments": "ignore"}))
}

/// The names of a sequence.
fn steps(value: &Value) -> Result<Vec<String>, String> {
    let steps = value.get("steps").unwrap_or(value).as_array().ok_or("it has no list of steps")?;
    let named = steps.iter().map(|step| {
        let name = step.as_str().or_else(|| step.get("name")?.as_str()).unwrap_or_default();
        plain(name).map(str::to_owned)
    });
    named.collect()
}

/// Tools in an order, with others between them.
fn in_order(spec: &AssertionSpec, value: &Value) -> Result<MappedAssertion, String> {
    let wanted = Some(json!(steps(value)?));
    Ok(code::compared(spec, code::ScriptCondition { code: IN_ORDER.to_owned(), wanted }, &[]))
}

const IN_ORDER: &str = "(() => {
  let at = 0;
  for (const step of trajectory ?? []) {
    if (step.type === 'tool_call' && step.name === wanted[at]) at++;
  }
  return at >= wanted.length;
})()";

fn tool_arguments(value: &Value) -> Result<Value, String> {
    let name = text_in(value, "name").ok_or("it names a tool by a pattern")?;
    let arguments =
        value.get("args").or_else(|| value.get("arguments")).ok_or("it has no `args`")?;
    if text_in(value, "mode") == Some("exact") {
        let why = "no grader requires exact arguments of one call among others";
        return Err(why.to_owned());
    }
    Ok(json!({"name": plain(name)?, "args": arguments}))
}

fn goal(spec: &AssertionSpec, value: &Value) -> Result<MappedAssertion, String> {
    let goal = value.as_str().or_else(|| value.get("goal")?.as_str()).ok_or("it names no goal")?;
    let prompt = "Did the agent reach the goal? Here is everything that it did.\n\nGoal:\n{row.assert.@grader@}\n\nTask:\n{input}\n\nWhat it did:\n{submission}\n\nScore 1 if it reached the goal and 0 if it did not.";
    let least = spec.threshold.unwrap_or(1.0);
    let settings = json!({"kind": "rubric", "prompt": prompt, "extractor": "trajectory", "pass_threshold": least});
    if spec.negated {
        return Err("a goal that must not be reached has no rubric".to_owned());
    }
    Ok(MappedAssertion::new(settings, Value::from(goal)))
}
