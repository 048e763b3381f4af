//! Reads the options of a grader or an extractor.
//!
//! The JSON Schema derived from the option struct is the only description of the options: it is what the
//! registry shows, and problems are found by validating against it, so that all of them are found at once
//! and none can be accepted that the schema forbids.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use evalrs_base::diagnostic::suggest;
use evalrs_model::spec::OptionProblem;

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
    let problems = match jsonschema::validator_for(&schema) {
        Ok(validator) => {
            validator.iter_errors(&config).flat_map(|error| describe(&error, &schema)).collect()
        }
        Err(error) => vec![problem(Vec::new(), error.to_string())],
    };
    if !problems.is_empty() {
        return Err(problems);
    }
    serde_json::from_value(config).map_err(|error| vec![problem(Vec::new(), error.to_string())])
}

/// Nothing, or what is wrong because there are options of `owner`, which has none. Not through the schema, because the
/// validator has no name for a member that could not be right.
pub(super) fn none(config: &Map<String, Value>, owner: &str) -> Result<(), Vec<OptionProblem>> {
    let problems = config.keys().map(|name| OptionProblem {
        at: vec![name.clone()],
        message: format!("unknown option `{name}`"),
        hint: Some(format!("this {owner} has no options")),
    });
    let problems: Vec<OptionProblem> = problems.collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// A problem without a hint.
pub(super) fn problem(at: Vec<String>, message: impl Into<String>) -> OptionProblem {
    OptionProblem { at, message: message.into(), hint: None }
}

/// Our words for what the validator found; several unknown options are several problems.
fn describe(error: &ValidationError<'_>, schema: &Value) -> Vec<OptionProblem> {
    let at = keys(error.instance_path().as_str());
    let what = at.last().map_or("the options".to_owned(), |key| format!("`{key}`"));
    let message = match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let known = known_options(schema, error.schema_path().as_str());
            return unexpected.iter().map(|name| unknown(name, &at, &known)).collect();
        }
        ValidationErrorKind::Required { property } => {
            format!("the option `{}` is missing", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::Type { kind } => format!("{what} must be {}", type_names(kind)),
        ValidationErrorKind::Minimum { limit } => format!("{what} must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("{what} must be at most {limit}"),
        ValidationErrorKind::MinItems { limit } => {
            format!("{what} must have at least {limit} item{}", if *limit == 1 { "" } else { "s" })
        }
        ValidationErrorKind::MinLength { .. } => format!("{what} must not be empty"),
        ValidationErrorKind::OneOfNotValid { .. } => {
            return vec![not_one_of(error, schema, at, &what)];
        }
        // An optional mapping or choice: either it or null, and null was not meant.
        ValidationErrorKind::AnyOf { context } if !context.is_empty() => {
            let meant = context.iter().take(1).flatten();
            return meant.flat_map(|error| describe(error, schema)).collect();
        }
        _ => error.to_string(),
    };
    vec![problem(at, message)]
}

fn unknown(name: &str, at: &[String], known: &[&str]) -> OptionProblem {
    let mut at = at.to_vec();
    at.push(name.to_owned());
    let hint = match suggest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the options are `{}`", known.join("`, `")),
    };
    OptionProblem { at, message: format!("unknown option `{name}`"), hint: Some(hint) }
}

/// The options beside the keyword at the JSON pointer `keyword`.
fn known_options<'s>(schema: &'s Value, keyword: &str) -> Vec<&'s str> {
    let object = keyword.rsplit_once('/').and_then(|(object, _)| schema.pointer(object));
    let members = object.and_then(|object| object.get("properties")?.as_object());
    members.map(|members| members.keys().map(String::as_str).collect()).unwrap_or_default()
}

fn not_one_of(
    error: &ValidationError<'_>,
    schema: &Value,
    at: Vec<String>,
    what: &str,
) -> OptionProblem {
    let choices = schema.pointer(error.schema_path().as_str()).and_then(Value::as_array);
    let names: Vec<&str> =
        choices.into_iter().flatten().filter_map(|choice| choice.get("const")?.as_str()).collect();
    let message = format!("{what} must be one of `{}`", names.join("`, `"));
    let given = error.instance().as_str();
    let meant = given.and_then(|given| suggest(given, names.iter().copied()));
    let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
    OptionProblem { at, message, hint }
}

fn type_names(kind: &TypeKind) -> String {
    let names: Vec<String> = match kind {
        TypeKind::Single(one) => vec![one.to_string()],
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
    };
    let names = names.iter().filter(|name| *name != "null").map(|name| match name.as_str() {
        "boolean" => "true or false".to_owned(),
        "integer" => "a whole number".to_owned(),
        "string" => "text".to_owned(),
        "array" => "a list".to_owned(),
        "object" => "a mapping".to_owned(),
        other => format!("a {other}"),
    });
    names.collect::<Vec<_>>().join(" or ")
}

/// The keys of a JSON pointer.
fn keys(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect()
}
