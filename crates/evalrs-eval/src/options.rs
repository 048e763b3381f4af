//! Reads the options of a grader or an extractor.
//!
//! The JSON Schema derived from the option struct is the only description of the options: it is what the
//! registry shows, and problems are found by validating against it, so that all of them are found at once
//! and none can be accepted that the schema forbids.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use evalrs_base::diagnostic::suggest;
use evalrs_model::spec::OptionProblem;
use python_re::Regex;

/// The JSON Schema of the options `T`.
pub(super) fn schema<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    if let Some(members) = schema.as_object_mut() {
        members.remove("$schema");
        members.remove("title");
    }
    schema
}

/// The options in `config`, or everything that is wrong with them.
pub(super) fn read<T: JsonSchema + DeserializeOwned>(
    config: &Map<String, Value>,
) -> Result<T, Vec<OptionProblem>> {
    let schema = schema::<T>();
    let config = Value::Object(config.clone());
    let problems = check(&schema, &config, &[]);
    if !problems.is_empty() {
        return Err(problems);
    }
    serde_json::from_value(config).map_err(|error| vec![problem(&[], error.to_string())])
}

/// Nothing, or what is wrong because there are options of `owner`, which has none. Not through the schema, because the
/// validator has no name for a member that could not be right.
pub(super) fn none(config: &Map<String, Value>, owner: &str) -> Result<(), Vec<OptionProblem>> {
    let problems: Vec<OptionProblem> = config
        .keys()
        .map(|name| OptionProblem {
            at: vec![name.clone()],
            message: format!("unknown option `{name}`"),
            hint: Some(format!("this {owner} has no options")),
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// A problem without a hint.
pub(super) fn problem(at: &[&str], message: impl Into<String>) -> OptionProblem {
    let at = at.iter().map(|key| (*key).to_owned()).collect();
    OptionProblem { at, message: message.into(), hint: None }
}

/// The Python pattern that the option `pattern` is.
pub(super) fn pattern(written: &str) -> Result<Regex, Vec<OptionProblem>> {
    Regex::new(written).map_err(|why| {
        vec![problem(&["pattern"], format!("`pattern` is not a valid pattern: {why}"))]
    })
}

/// The keywords of schemas of options, in the order in which problems are reported. Members are looked at
/// under `additionalProperties`, which every type of options refuses.
const KEYWORDS: [&str; 11] = [
    "type",
    "const",
    "minimum",
    "maximum",
    "minLength",
    "minItems",
    "additionalProperties",
    "required",
    "items",
    "anyOf",
    "oneOf",
];

/// Everything that is wrong with a value by a schema of options. Those say no more than what is looked at here; a validator of
/// any schema would be a fifth of the build.
fn check(schema: &Value, value: &Value, at: &[String]) -> Vec<OptionProblem> {
    let keywords = KEYWORDS.iter().filter(|keyword| schema.get(*keyword).is_some());
    keywords.flat_map(|keyword| broken(keyword, schema, value, at)).collect()
}

/// What is wrong with a value by one keyword of a schema.
fn broken(keyword: &str, schema: &Value, value: &Value, at: &[String]) -> Vec<OptionProblem> {
    let rule = &schema[keyword];
    let what = at.last().map_or("the options".to_owned(), |key| format!("`{key}`"));
    let wrong = |message| vec![OptionProblem { at: at.to_vec(), message, hint: None }];
    match (keyword, value) {
        ("additionalProperties", Value::Object(members)) => check_members(schema, members, at),
        ("required", Value::Object(members)) => {
            let names = rule.as_array().into_iter().flatten().filter_map(Value::as_str);
            let missing = names.filter(|name| !members.contains_key(*name));
            missing.flat_map(|name| wrong(format!("the option `{name}` is missing"))).collect()
        }
        ("items", Value::Array(items)) => {
            let numbered = items.iter().enumerate();
            numbered.flat_map(|(n, item)| check(rule, item, &below(at, &n.to_string()))).collect()
        }
        ("type", value) if !is_of_type(value, rule) => {
            wrong(format!("{what} must be {}", type_names(rule)))
        }
        ("minimum", Value::Number(number)) if number.as_f64() < rule.as_f64() => {
            wrong(format!("{what} must be at least {rule}"))
        }
        ("maximum", Value::Number(number)) if number.as_f64() > rule.as_f64() => {
            wrong(format!("{what} must be at most {rule}"))
        }
        // The least length is 1 wherever there is one.
        ("minItems", Value::Array(items)) if items.is_empty() => {
            wrong(format!("{what} must have at least 1 item"))
        }
        ("minLength", Value::String(text)) if text.is_empty() => {
            wrong(format!("{what} must not be empty"))
        }
        ("const", value) if value != rule => wrong(format!("{what} must be {rule}")),
        ("oneOf", value) if !fits_any(rule, value) => vec![not_one_of(rule, value, at, &what)],
        // An optional mapping or choice: either it or null, and null was not meant.
        ("anyOf", value) if !fits_any(rule, value) => {
            rule.get(0).map(|meant| check(meant, value, at)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// What is wrong with the members of an object, in their order, and then those that should not be there.
fn check_members(
    schema: &Value,
    members: &Map<String, Value>,
    at: &[String],
) -> Vec<OptionProblem> {
    let none = Map::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let mut problems = Vec::new();
    let mut unexpected = Vec::new();
    for (name, member) in members {
        match (known.get(name), &schema["additionalProperties"]) {
            (None, Value::Bool(false)) => unexpected.push(unknown(name, at, known)),
            (own, others) => {
                problems.extend(check(own.unwrap_or(others), member, &below(at, name)));
            }
        }
    }
    problems.extend(unexpected);
    problems
}

/// Whether a value is right by one of several schemas.
fn fits_any(schemas: &Value, value: &Value) -> bool {
    schemas.as_array().into_iter().flatten().any(|schema| check(schema, value, &[]).is_empty())
}

/// The place of a member or an item.
fn below(at: &[String], name: &str) -> Vec<String> {
    at.iter().cloned().chain([name.to_owned()]).collect()
}

/// The types that a schema names, one or several.
fn types(rule: &Value) -> impl Iterator<Item = &str> {
    rule.as_array()
        .map_or(std::slice::from_ref(rule), Vec::as_slice)
        .iter()
        .filter_map(Value::as_str)
}

fn is_of_type(value: &Value, rule: &Value) -> bool {
    types(rule).any(|name| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => value.is_number(),
    })
}

fn unknown(name: &str, at: &[String], known: &Map<String, Value>) -> OptionProblem {
    let known: Vec<&str> = known.keys().map(String::as_str).collect();
    let hint = match suggest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the options are `{}`", known.join("`, `")),
    };
    let message = format!("unknown option `{name}`");
    OptionProblem { at: below(at, name), message, hint: Some(hint) }
}

fn not_one_of(choices: &Value, value: &Value, at: &[String], what: &str) -> OptionProblem {
    let choices = choices.as_array().into_iter().flatten();
    let names: Vec<&str> = choices.filter_map(|choice| choice.get("const")?.as_str()).collect();
    let message = format!("{what} must be one of `{}`", names.join("`, `"));
    let meant = value.as_str().and_then(|given| suggest(given, names.iter().copied()));
    let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
    OptionProblem { at: at.to_vec(), message, hint }
}

/// The types of JSON but null in words, in the order in which messages name them.
const TYPES: [(&str, &str); 6] = [
    ("boolean", "true or false"),
    ("integer", "a whole number"),
    ("number", "a number"),
    ("string", "text"),
    ("array", "a list"),
    ("object", "a mapping"),
];

fn type_names(rule: &Value) -> String {
    let named = TYPES.iter().filter(|(name, _)| types(rule).any(|wanted| wanted == *name));
    named.map(|(_, words)| *words).collect::<Vec<_>>().join(" or ")
}
