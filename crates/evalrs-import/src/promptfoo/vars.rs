//! The variables of a test: combinations of lists, files, and variables in variables.

use serde_json::{Map, Value, json};

use super::files::{ConfigFiles, ending, is_javascript};
use super::template::{UNKNOWN, is_partial, render};

/// The most combinations of one test.
const MAX_COMBINATIONS: usize = 10_000;

/// Every combination of the values of lists, in the order of promptfoo: the last variable changes first.
pub(super) fn combinations(
    vars: &Map<String, Value>,
    files: &ConfigFiles<'_>,
) -> Result<Vec<Map<String, Value>>, String> {
    let mut combinations = vec![Map::new()];
    for (name, value) in vars {
        let values = values(name, value, files)?;
        if combinations.len().saturating_mul(values.len()) > MAX_COMBINATIONS {
            return Err(format!("its variables have more than {MAX_COMBINATIONS} combinations"));
        }
        let mut longer = Vec::new();
        for combination in &combinations {
            for value in &values {
                let mut combination: Map<String, Value> = combination.clone();
                combination.insert(name.clone(), value.clone());
                longer.push(combination);
            }
        }
        combinations = longer;
    }
    Ok(combinations)
}

/// The values that a variable takes one after the other.
fn values(name: &str, value: &Value, files: &ConfigFiles<'_>) -> Result<Vec<Value>, String> {
    match value {
        Value::String(text) if text.starts_with("file://") => {
            let found = files.matching(text);
            if found.is_empty() {
                return Err(format!(
                    "the variable `{name}` is a file that does not exist: \
                                    `{text}`"
                ));
            }
            Ok(found.into_iter().map(|path| Value::from(format!("file://{path}"))).collect())
        }
        // Lists of anything else than texts are one value.
        Value::Array(items) if items.first().is_some_and(Value::is_string) => Ok(items.clone()),
        value => Ok(vec![value.clone()]),
    }
}

/// The variables as prompts and assertions see them, and why some are not known.
pub(super) struct LoadedVars {
    /// Files read, and variables in them replaced.
    pub vars: Map<String, Value>,
    pub unknown: Vec<String>,
}

/// Loads variables.
pub(super) fn loaded(mut vars: Map<String, Value>, files: &ConfigFiles<'_>) -> LoadedVars {
    let mut unknown = Vec::new();
    for (name, value) in &mut vars {
        let Value::String(text) = value else { continue };
        if text.starts_with("file://") {
            match file(text, files) {
                Ok(read) => *text = read,
                Err(why) => {
                    unknown.push(format!("the variable `{name}`: {why}"));
                    *value = json!({ UNKNOWN: true });
                    continue;
                }
            }
        }
        if let Some(shorter) = text.strip_suffix('\n') {
            *text = shorter.to_owned();
        }
    }
    resolve(&mut vars);
    LoadedVars { vars, unknown }
}

/// The variables that are known, for a row.
pub(super) fn known(vars: &Map<String, Value>) -> Map<String, Value> {
    vars.iter()
        .filter(|(_, value)| value.get(UNKNOWN).is_none())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn file(reference: &str, files: &ConfigFiles<'_>) -> Result<String, String> {
    const MEDIA: [&str; 17] = [
        "pdf", "png", "jpg", "jpeg", "gif", "bmp", "webp", "svg", "mp4", "webm", "ogg", "mov",
        "mp3", "wav", "m4a", "avi", "flac",
    ];
    let ending = ending(reference);
    if is_javascript(reference) || ending == "py" {
        return Err(format!("the program `{reference}` makes it"));
    }
    if MEDIA.contains(&ending.as_str()) {
        return Err(format!("`{reference}` is not text"));
    }
    let read = match ending.as_str() {
        "yaml" | "yml" => files.tree(reference).map(|tree| tree.to_json().to_string()),
        _ => files.text(reference).map(|text| text.trim().to_owned()),
    };
    read.map_err(|why| format!("cannot read `{reference}`: {why}"))
}

/// Replaces variables in variables, the first of each in turn, five times at most.
fn resolve(vars: &mut Map<String, Value>) {
    for _ in 0..5 {
        let mut has_changed = false;
        let names: Vec<String> = vars.keys().cloned().collect();
        for name in names {
            let Some(Value::String(text)) = vars.get(&name) else { continue };
            let Some((placeholder, inner)) = first_placeholder(text) else { continue };
            let Some(value) = vars.get(inner) else { continue };
            let replaced = text.replacen(placeholder, &super::files::as_text(value), 1);
            if replaced.len() > 1 << 20 {
                return;
            }
            vars.insert(name, Value::from(replaced));
            has_changed = true;
        }
        if !has_changed {
            return;
        }
    }
}

/// The first `{{ name }}` of a text, and the name.
fn first_placeholder(text: &str) -> Option<(&str, &str)> {
    for (at, _) in text.match_indices("{{") {
        let end = at + text[at..].find("}}")? + 2;
        let name = text[at + 2..end - 2].trim();
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_name {
            return Some((&text[at..end], name));
        }
    }
    None
}

/// A prompt with its variables.
pub(super) fn prompt(raw: &str, vars: &Map<String, Value>) -> Result<String, String> {
    if let Ok(mut parsed) = serde_json::from_str::<Value>(raw) {
        render_inside(&mut parsed, vars)?;
        return serde_json::to_string_pretty(&parsed).map_err(|error| error.to_string());
    }
    let mut rendered = vars.clone();
    for value in rendered.values_mut() {
        if let Value::String(text) = value
            && !is_partial(text)
        {
            *text = render(text, vars)?;
        }
    }
    if is_partial(raw) {
        return Ok(raw.to_owned());
    }
    render(raw, &rendered)
}

/// Renders every text inside a value.
pub(super) fn render_inside(value: &mut Value, vars: &Map<String, Value>) -> Result<(), String> {
    match value {
        Value::String(text) => *text = render(text, vars)?,
        Value::Array(items) => items.iter_mut().try_for_each(|item| render_inside(item, vars))?,
        Value::Object(members) => {
            members.values_mut().try_for_each(|member| render_inside(member, vars))?;
        }
        _ => {}
    }
    Ok(())
}
