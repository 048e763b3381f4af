//! Templates of promptfoo, which are Nunjucks: what only substitutes is rendered, everything else is an error by name.

use serde_json::{Map, Value};

use super::files::as_text;
use evalrs_base::path::lookup;

/// The key of a variable whose value is not known, so that nothing is rendered with it.
pub(super) const UNKNOWN: &str = "\0unknown";

/// Renders a template with variables; an error says what it does beyond substitution.
pub(super) fn render(text: &str, vars: &Map<String, Value>) -> Result<String, String> {
    let mut rendered = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        rendered.push_str(before);
        rest = match from.as_bytes().get(1) {
            Some(b'{') => {
                let (expression, after) = enclosed(from, "}}")?;
                rendered.push_str(&value_of(expression, vars)?);
                after
            }
            Some(b'#') => enclosed(from, "#}")?.1,
            Some(b'%') => {
                let (tag, after) = enclosed(from, "%}")?;
                if tag.trim() != "raw" {
                    let name = tag.split_whitespace().next().unwrap_or_default();
                    return Err(format!("the tag `{{% {name} %}}` in a template"));
                }
                let end = after.find("{% endraw %}").ok_or("an open `{% raw %}` in a template")?;
                rendered.push_str(&after[..end]);
                &after[end + "{% endraw %}".len()..]
            }
            _ => {
                rendered.push('{');
                &from[1..]
            }
        };
    }
    rendered.push_str(rest);
    Ok(rendered)
}

/// The text between two characters and `end`, and the rest.
fn enclosed<'t>(text: &'t str, end: &str) -> Result<(&'t str, &'t str), String> {
    let inner = &text[2..];
    let at = inner.find(end).ok_or_else(|| "a template that is not closed".to_owned())?;
    Ok((&inner[..at], &inner[at + end.len()..]))
}

/// Whether some line opens a tag that the line does not close. promptfoo takes such a prompt as it is written.
pub(super) fn is_partial(text: &str) -> bool {
    let opens = |line: &str, open: &str, close: char| {
        line.match_indices(open).any(|(at, _)| !line[at + 2..].contains(close))
    };
    text.lines()
        .any(|line| opens(line, "{{", '}') || opens(line, "{%", '%') || opens(line, "{#", '#'))
}

/// Whether a text is a template at all.
pub(super) fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%") || text.contains("{#")
}

fn value_of(expression: &str, vars: &Map<String, Value>) -> Result<String, String> {
    let mut parts = expression.trim().split('|').map(str::trim);
    let name = parts.next().unwrap_or_default();
    let mut value = named(name, vars)?;
    for filter in parts {
        value = match filter {
            "safe" | "string" => Value::from(as_text(&value)),
            "trim" => Value::from(as_text(&value).trim()),
            "upper" => Value::from(as_text(&value).to_uppercase()),
            "lower" => Value::from(as_text(&value).to_lowercase()),
            "dump" => Value::from(value.to_string()),
            _ => return Err(format!("the filter `{filter}` in a template")),
        };
    }
    Ok(as_text(&value))
}

/// The value of a variable or of a path into one; what there is none of is empty.
fn named(name: &str, vars: &Map<String, Value>) -> Result<Value, String> {
    let quoted = |quote: char| name.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    if let Some(text) = quoted('"').or_else(|| quoted('\'')) {
        return Ok(Value::from(text));
    }
    let path = name.replace("['", ".").replace("[\"", ".").replace("']", "").replace("\"]", "");
    let path = path.replace('[', ".").replace(']', "");
    let is_path = path.split('.').all(|part| {
        !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
    });
    if !is_path {
        return Err(format!("the expression `{name}` in a template"));
    }
    let root = path.split('.').next().unwrap_or_default();
    match (vars.get(root), root) {
        (None, "env") => Err(format!("the variable of the environment `{name}`")),
        (None, _) if root.starts_with('_') => {
            Err(format!("`{name}`, which promptfoo makes while it runs"))
        }
        (None, _) => Ok(Value::Null),
        (Some(Value::Object(value)), _) if value.contains_key(UNKNOWN) => {
            Err(format!("the variable `{root}`, which is not known"))
        }
        (Some(value), _) if root.len() == path.len() => Ok(value.clone()),
        (Some(value), _) => Ok(lookup(value, &path[root.len() + 1..]).cloned().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_partial, render};

    #[test]
    fn what_only_substitutes_is_rendered() {
        let vars = json!({"name": "Bob", "n": 2.0, "list": ["a", "b"], "user": {"city": "Paris", "tags": ["x"]}, "on": true});
        let vars = vars.as_object().unwrap();
        for (text, expected) in [
            ("Hello {{name}}, {{ name }}!", Ok("Hello Bob, Bob!")),
            ("{{user.city}} {{user['city']}} {{user.tags[0]}}", Ok("Paris Paris x")),
            ("{{n}} {{list}} {{on}} {{user}}", Ok("2 a,b true [object Object]")),
            ("{{missing}}{{missing.deep}}.", Ok(".")),
            ("{{ name | upper }}{{ list | dump }}", Ok("BOB[\"a\",\"b\"]")),
            ("{# gone #}{\"a\": {}}", Ok("{\"a\": {}}")),
            ("{% raw %}{{name}}{% endraw %}", Ok("{{name}}")),
            ("{% for a in list %}x{% endfor %}", Err("the tag `{% for %}` in a template")),
            ("{{ list | join(', ') }}", Err("the filter `join(', ')` in a template")),
            ("{{ a + b }}", Err("the expression `a + b` in a template")),
            ("{{ env.KEY }}", Err("the variable of the environment `env.KEY`")),
            ("{{name", Err("a template that is not closed")),
            ("{{}}", Err("the expression `` in a template")),
            ("{", Ok("{")),
        ] {
            let rendered = render(text, vars);
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(rendered, expected, "{text}");
        }
        assert!(is_partial("a {{ b\n}}") && !is_partial("a {{b}}"));
    }
}
