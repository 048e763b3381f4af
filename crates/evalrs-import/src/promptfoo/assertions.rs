//! Assertions of promptfoo as graders: which grader each type is, with which settings, and what each row says for it.
//!
//! A type maps to a grader of evalrs where both say the same of every text; else to a line of JavaScript, which is
//! what promptfoo runs too; else not at all.

use serde_json::{Value, json};

use super::case::AssertionSpec;
use super::code::{self, ScriptCondition};
use super::files::{ConfigFiles, as_text, ending};
use super::judged;
use super::kinds::{MAPPED, NOT_MAPPED};
use super::mapped_assertion::{AssertionContext, MappedAssertion, SLOT};
use super::regex::python_pattern;
use super::template::{is_template, render};
use super::trajectory;

/// The grader of an assertion, or why there is none.
pub(super) fn mapped(
    spec: &AssertionSpec,
    context: &AssertionContext<'_>,
) -> Result<MappedAssertion, String> {
    let kind = spec.kind.as_str();
    if kind.is_empty() {
        return Err("it has no `type`".to_owned());
    }
    if let Some((_, why)) = NOT_MAPPED.iter().find(|(name, _)| *name == kind) {
        return Err((*why).to_owned());
    }
    if kind.starts_with("promptfoo:redteam:") {
        return Err("promptfoo's own service judges attacks".to_owned());
    }
    let value = rendered(&spec.value, kind, context)?;
    if context.files.holds_secret(&value.to_string()) {
        return Err("it compares with what looks like a live key, which is left out".to_owned());
    }
    let transforms = transforms(spec, context)?;
    match kind {
        "javascript" | "python" => code::program(spec, &value, &transforms, context),
        _ if !transforms.is_empty() => {
            let condition = condition(spec, &value)
                .ok_or("a `transform` of text that a model judges needs an extractor in Python")?;
            Ok(code::compared(spec, condition, &transforms))
        }
        "similar"
        | "llm-rubric"
        | "factuality"
        | "model-graded-factuality"
        | "model-graded-closedqa"
        | "g-eval"
        | "answer-relevance"
        | "context-faithfulness"
        | "context-recall"
        | "context-relevance" => judged::grader(spec, &value, context),
        _ if kind.starts_with("similar:") => judged::grader(spec, &value, context),
        _ if kind.starts_with("trajectory:") => trajectory::grader(spec, &value),
        _ => deterministic(spec, &value, context.files),
    }
}

/// The value with variables and files in it.
fn rendered(value: &Value, kind: &str, context: &AssertionContext<'_>) -> Result<Value, String> {
    let is_code = matches!(kind, "javascript" | "python");
    let one = |text: &str| -> Result<Value, String> {
        if text.starts_with("file://") && !is_code {
            return file(text, context.files);
        }
        if is_code && !is_template(text) {
            return Ok(Value::from(text));
        }
        render(text, context.vars).map(Value::from)
    };
    match value {
        Value::String(text) => one(text),
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().map_or_else(|| Ok(item.clone()), one)).collect()
        }
        value => Ok(value.clone()),
    }
}

fn file(reference: &str, files: &ConfigFiles<'_>) -> Result<Value, String> {
    let read = match ending(reference).as_str() {
        "json" | "yaml" | "yml" => files.tree(reference).map(|tree| tree.to_json()),
        "txt" | "md" => files.text(reference).map(|text| Value::from(text.trim())),
        _ => return Err(format!("the program `{reference}` makes its value")),
    };
    read.map_err(|why| format!("cannot read `{reference}`: {why}"))
}

/// What is done to the answer before this assertion sees it, the provider's first.
fn transforms(spec: &AssertionSpec, context: &AssertionContext<'_>) -> Result<Vec<String>, String> {
    let of_test = context.options.get("transform").or_else(|| context.options.get("postprocess"));
    let all = [context.provider_transform, of_test, spec.transform.as_ref()];
    let read = |transform: &Value| match transform {
        Value::String(code) if code.starts_with("file://") => Err(format!(
            "the file `{code}` transforms the answer first; an `extractor` in Python does that"
        )),
        Value::String(code) => Ok(code.clone()),
        _ => Err("its `transform` is not text".to_owned()),
    };
    all.into_iter().flatten().filter(|transform| !transform.is_null()).map(read).collect()
}

/// A grader of evalrs that says the same of every text, or a comparison in JavaScript.
fn deterministic(
    spec: &AssertionSpec,
    value: &Value,
    files: &ConfigFiles<'_>,
) -> Result<MappedAssertion, String> {
    let row = |function: &str, config: Value, wanted: Value| {
        let mut settings = tool(spec, function, config);
        settings["ground_truth"] = json!(format!("row.assert.{SLOT}"));
        Ok(MappedAssertion::new(settings, wanted))
    };
    let whole = |function: &str, config: Value| {
        Ok(MappedAssertion::new(tool(spec, function, config), None))
    };
    let kind = spec.kind.as_str();
    let case = json!({"case_sensitive": !kind.starts_with('i')});
    match kind {
        "equals" if value.is_object() || value.is_array() => {
            row("json_match", json!({"whole": true}), value.clone())
        }
        "equals" => {
            let config = json!({"case_sensitive": true, "normalize_whitespace": false});
            row("string_match", config, json!(as_text(value)))
        }
        "contains" | "icontains" => row("contains_any", case, json!([single(value)?])),
        "contains-any" | "icontains-any" => row("contains_any", case, json!(several(value)?)),
        "contains-all" | "icontains-all" => row("contains_all", case, json!(several(value)?)),
        "starts-with" => row("starts_with", case, json!(single(value)?)),
        "regex" => match python_pattern(&single(value)?) {
            Some(pattern) => row("regex_match", json!({}), json!(pattern)),
            None => compared(spec, value),
        },
        "is-json" => is_json(spec, value, files),
        "word-count" => whole("length", word_count(value)?),
        "latency" | "cost" => {
            let most = spec.threshold.ok_or("it has no `threshold`")?;
            match kind {
                "cost" => whole("max_cost", json!({"max_usd": most})),
                _ => whole("max_latency", json!({"max_ms": most})),
            }
        }
        "levenshtein" | "contains-json" => compared(spec, value),
        kind if !MAPPED.contains(&kind) => Err("promptfoo has no such type either".to_owned()),
        _ => Err("it has no counterpart".to_owned()),
    }
}

fn tool(spec: &AssertionSpec, function: &str, config: Value) -> Value {
    let mut settings = json!({"kind": "tool", "function": function});
    if config.as_object().is_some_and(|config| !config.is_empty()) {
        settings["config"] = config;
    }
    if spec.negated {
        settings["not"] = json!(true);
    }
    settings
}

fn compared(spec: &AssertionSpec, value: &Value) -> Result<MappedAssertion, String> {
    let condition = condition(spec, value).ok_or("promptfoo does not accept its `value`")?;
    Ok(code::compared(spec, condition, &[]))
}

fn is_json(
    spec: &AssertionSpec,
    value: &Value,
    files: &ConfigFiles<'_>,
) -> Result<MappedAssertion, String> {
    let schema = match value {
        Value::Null | Value::Bool(false) => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => {
            let schema = files.parsed("schema", text);
            Some(schema.map_err(|_| "its schema is text that is not YAML")?.to_json())
        }
        value => Some(value.clone()),
    };
    let settings = match schema {
        None => tool(spec, "is_json", json!({"whole": true})),
        Some(schema) if schema.is_object() => {
            tool(spec, "json_schema", json!({"schema": schema, "whole": true}))
        }
        Some(_) => return Err("its schema is not a mapping".to_owned()),
    };
    Ok(MappedAssertion::new(settings, None))
}

/// The bounds of a count of words.
fn word_count(value: &Value) -> Result<Value, String> {
    let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    let [min, max] = match value {
        Value::Object(bounds) => ["min", "max"].map(|name| bounds.get(name).and_then(number)),
        value => [Some(number(value).ok_or("its `value` is not a number")?); 2],
    };
    let mut config = json!({"unit": "words"});
    for (name, bound) in [("min", min), ("max", max)] {
        if let Some(bound) = bound {
            let is_whole = bound >= 0.0 && bound.fract() == 0.0 && bound < 1e15;
            config[name] =
                json!(is_whole.then_some(bound as u64).ok_or("its bounds are not whole numbers")?);
        }
    }
    Ok(config)
}

/// The one text that is looked for.
fn single(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) if !text.is_empty() => Ok(text.clone()),
        Value::Number(_) => Ok(as_text(value)),
        _ => Err("its `value` is not a text".to_owned()),
    }
}

/// The texts that are looked for: a list, or a text with commas between them.
fn several(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(items) if !items.is_empty() => Ok(items.iter().map(as_text).collect()),
        Value::String(text) if text.contains('"') => {
            Err("its `value` has quotes; write a list".to_owned())
        }
        Value::String(text) if !text.trim().is_empty() => {
            Ok(text.split(',').map(|part| part.trim().to_owned()).collect())
        }
        _ => Err("its `value` is not a list of texts".to_owned()),
    }
}

/// A condition in JavaScript over `text`, the answer, and `wanted`, what the row says; and that.
fn condition(spec: &AssertionSpec, value: &Value) -> Option<ScriptCondition> {
    let texts = || several(value).ok().map(|texts| json!(texts));
    let text = || single(value).ok().map(Value::from);
    let (code, wanted) = match spec.kind.as_str() {
        "equals" if !value.is_object() && !value.is_array() => {
            ("text === wanted", json!(as_text(value)))
        }
        "contains" => ("text.includes(wanted)", text()?),
        "icontains" => ("text.toLowerCase().includes(wanted.toLowerCase())", text()?),
        "contains-any" => ("wanted.some((part) => text.includes(part))", texts()?),
        "contains-all" => ("wanted.every((part) => text.includes(part))", texts()?),
        "icontains-any" => {
            ("wanted.some((part) => text.toLowerCase().includes(part.toLowerCase()))", texts()?)
        }
        "icontains-all" => {
            ("wanted.every((part) => text.toLowerCase().includes(part.toLowerCase()))", texts()?)
        }
        "starts-with" => ("text.startsWith(wanted)", text()?),
        "regex" => ("new RegExp(wanted).test(text)", text()?),
        "is-json" if value.is_null() => return Some(ScriptCondition::plain(code::IS_JSON)),
        "contains-json" if value.is_null() && !spec.negated => {
            return Some(ScriptCondition::plain(code::CONTAINS_JSON));
        }
        "levenshtein" => {
            let most = spec.threshold.unwrap_or(5.0);
            let code = code::LEVENSHTEIN.replace("MOST", &most.to_string());
            return Some(ScriptCondition { code, wanted: Some(text()?) });
        }
        _ => return None,
    };
    Some(ScriptCondition { code: code.to_owned(), wanted: Some(wanted) })
}
