//! Templates of hosted evals: text with `{{ item.… }}` and `{{ sample.… }}`.

use serde_json::Value;

use crate::reading::as_text;

/// A template in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplatePart {
    Text(String),
    /// The path behind `item.`.
    Item(String),
    /// What the model answered.
    Output,
    /// Anything else between the braces.
    Other(String),
}

pub(super) fn parts(template: &str) -> Vec<TemplatePart> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((inner, behind)) = after.split_once("}}") else { break };
        if !before.is_empty() {
            parts.push(TemplatePart::Text(before.to_owned()));
        }
        let inner = inner.trim();
        parts.push(match inner.strip_prefix("item.") {
            Some(path) if is_path(path) => TemplatePart::Item(path.to_owned()),
            _ if inner == "sample.output_text" => TemplatePart::Output,
            _ => TemplatePart::Other(inner.to_owned()),
        });
        rest = behind;
    }
    if !rest.is_empty() {
        parts.push(TemplatePart::Text(rest.to_owned()));
    }
    parts
}

fn is_path(path: &str) -> bool {
    path.chars().all(|c| c.is_alphanumeric() || "_-.[]".contains(c))
}

/// What a template says of an item, if it takes nothing from elsewhere.
pub(super) fn render(parts: &[TemplatePart], item: &Value) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            TemplatePart::Text(plain) => text.push_str(plain),
            TemplatePart::Item(path) => text.push_str(&as_text(&value_at(item, path)?)),
            TemplatePart::Output | TemplatePart::Other(_) => return None,
        }
    }
    Some(text)
}

/// The value at a path of an item.
fn value_at(item: &Value, path: &str) -> Option<Value> {
    if let Some(value) = item.get(path) {
        return Some(value.clone());
    }
    let mut value = item;
    for part in path.split(['.', '[']).map(|part| part.trim_end_matches(']')) {
        value = match value {
            Value::Object(members) => members.get(part)?,
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value.clone())
}

/// A template as a rubric, or what of it rubrics cannot say.
pub(super) fn rubric(parts: &[TemplatePart]) -> Result<String, String> {
    let mut text = String::new();
    for part in parts {
        match part {
            TemplatePart::Text(plain) => text.push_str(plain),
            TemplatePart::Item(path) => text.extend(["{row.item.", path, "}"]),
            TemplatePart::Output => text.push_str("{submission}"),
            TemplatePart::Other(other) => {
                return Err(format!("it names `{{{{ {other} }}}}`, which rows do not have"));
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{parts, render, rubric};

    #[test]
    fn templates_take_from_items_and_answers() {
        let item = json!({"a": "x", "b": {"c": [1, 2]}, "d e": 1});
        for (template, text, prompt) in [
            ("plain", Some("plain"), Ok("plain")),
            ("{{item.a}}", Some("x"), Ok("{row.item.a}")),
            ("<{{ item.b.c[1] }}>", Some("<2>"), Ok("<{row.item.b.c[1]}>")),
            ("{{item.b.c}}", Some("[1,2]"), Ok("{row.item.b.c}")),
            ("{{item.none}}", None, Ok("{row.item.none}")),
            ("{{sample.output_text}}!", None, Ok("{submission}!")),
            (
                "{{sample.output_json.x}}",
                None,
                Err("it names `{{ sample.output_json.x }}`, which rows do not have"),
            ),
            ("{{open", Some("{{open"), Ok("{{open")),
            ("", Some(""), Ok("")),
        ] {
            let parts = parts(template);
            assert_eq!(render(&parts, &item).as_deref(), text, "{template}");
            assert_eq!(rubric(&parts).as_deref().map_err(String::as_str), prompt, "{template}");
        }
    }
}
