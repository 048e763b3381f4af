//! JSON Schemas in words: what a key takes, its default, what it means.

use std::fmt::Write as _;

use serde_json::Value;

/// The table of a section, as a link.
type SectionLink<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The words of a shape. `linked` links to the table of a section.
pub(super) fn takes(schema: &Value, linked: SectionLink<'_>) -> String {
    let mut words = alternatives(schema, linked);
    // One null is a key that is absent; another means something.
    let shapes = schema["anyOf"].as_array().into_iter().flatten();
    if shapes.filter(|shape| shape["type"] == "null").count() > 1 {
        words.push("`null`".to_owned());
    }
    joined(&words, ", ").replace(", or", " or")
}

/// The words once each. A mapping without a table goes where another has one.
fn joined(words: &[String], between: &str) -> String {
    let has_link = words.iter().any(|word| word.starts_with('['));
    let mut once: Vec<String> = Vec::new();
    for word in words.iter().filter(|word| !(has_link && *word == "mapping")) {
        // A list of what may also stand alone.
        let items = word.strip_prefix("list of ");
        let is_known = |item: &str| once.iter().any(|known| known == item.trim_end_matches('s'));
        let is_more = items.is_some_and(|items| items.split(" or ").all(is_known));
        let word = if is_more { "or a list" } else { word };
        if !once.iter().any(|known| known == word) {
            once.push(word.to_owned());
        }
    }
    once.join(between)
}

fn alternatives(schema: &Value, linked: SectionLink<'_>) -> Vec<String> {
    let inner = |shape: &Value, between| joined(&alternatives(shape, linked), between);
    if let Some(shapes) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        return shapes.iter().flat_map(|shape| alternatives(shape, linked)).collect();
    }
    if let Some(value) = schema.get("const") {
        return vec![format!("`{}`", plain(value))];
    }
    if let Some(names) = schema["enum"].as_array() {
        let is_truth = names.contains(&Value::Bool(true));
        let name = |name: &Value| format!("`{}`", plain(name));
        return if is_truth {
            vec!["true or false".to_owned()]
        } else {
            names.iter().map(name).collect()
        };
    }
    if let Some(section) = schema["$ref"].as_str() {
        let name = section.trim_start_matches("#/$defs/");
        return vec![linked(name).unwrap_or_else(|| "mapping".to_owned())];
    }
    let mut types: Vec<&str> = match &schema["type"] {
        // Text that a variable of the environment may replace.
        _ if schema.get("pattern").is_some() => Vec::new(),
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return vec!["anything".to_owned()],
    };
    types.retain(|name| *name != "null");
    types.sort_by_key(|name| *name == "array");
    let word = |name: &str| match name {
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => format!("whole number{}", bounds(schema)),
        "number" => format!("number{}", bounds(schema)),
        "array" => match inner(&schema["items"], " or ").as_str() {
            "text" => "list of texts".to_owned(),
            "anything" => "list".to_owned(),
            items => format!("list of {items}"),
        },
        _ => match &schema["additionalProperties"] {
            values @ Value::Object(_) => format!("name → {}", inner(values, ", ")),
            _ => "mapping".to_owned(),
        },
    };
    types.into_iter().map(word).collect()
}

fn bounds(schema: &Value) -> String {
    let bound = |name: &str| schema[name].as_f64();
    match (bound("minimum"), bound("maximum"), bound("exclusiveMinimum")) {
        (_, Some(most), Some(_)) => format!(" above 0, up to {most}"),
        (Some(least), Some(most), _) => format!(" from {least} to {most}"),
        (Some(least), None, _) => format!(" of at least {least}"),
        _ => String::new(),
    }
}

/// A value as people write it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.replace('\n', "\\n"),
        other => other.to_string().trim_end_matches(".0").to_owned(),
    }
}

/// `required`, or the default.
pub(super) fn default_of(key: &Value) -> String {
    match plain(&key["default"]).as_str() {
        _ if key["is_required"] == true => "required".to_owned(),
        "null" | "[]" | "{}" => String::new(),
        value => format!("`{value}`"),
    }
}

/// The description, and those of its choices that say more than their names.
pub(super) fn meaning(key: &Value) -> String {
    let mut text = key["description"].as_str().unwrap_or_default().replace('\n', " ");
    let inner = || key["anyOf"].as_array()?.first()?["oneOf"].as_array();
    for choice in key["oneOf"].as_array().or_else(inner).into_iter().flatten() {
        let Some((name, of)) = choice["const"].as_str().zip(choice["description"].as_str()) else {
            continue;
        };
        if !of.to_lowercase().trim_start_matches("the ").starts_with(name) {
            let _ = write!(text, " `{name}`: {of}");
        }
    }
    text
}

/// JSON in few lines: a value that fits into a line has one.
pub(super) fn compact(value: &Value, indent: usize) -> String {
    const WIDTH: usize = 150;
    let (open, close, inner): (_, _, Vec<(String, &Value)>) = match value {
        Value::Object(members) => {
            let member =
                |(name, value)| (format!("{}: ", Value::String(String::clone(name))), value);
            ("{", "}", members.iter().map(member).collect())
        }
        Value::Array(items) => ("[", "]", items.iter().map(|item| (String::new(), item)).collect()),
        other => return other.to_string(),
    };
    let joined = |indent: usize, between: &str| {
        let item = |(name, value): &(String, &Value)| name.clone() + &compact(value, indent);
        inner.iter().map(item).collect::<Vec<_>>().join(between)
    };
    let line = format!("{open}{}{close}", joined(0, ", "));
    if !line.contains('\n') && indent + line.chars().count() <= WIDTH {
        return line;
    }
    let pad = format!("\n{}", " ".repeat(indent));
    format!("{open}{pad}  {}{pad}{close}", joined(indent + 2, &format!(",{pad}  ")))
}
