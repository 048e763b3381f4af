//! Options of graders and extractors: any JSON object, checked by what they are for.

use serde_json::{Map, Value};

use crate::fields::Field;
use evalrs_base::yaml::source::SourceSpan;
use evalrs_base::yaml::tree::{Yaml, YamlNode};
use evalrs_model::spec::OptionProblem;

/// Options as JSON; none if they are not a mapping.
pub(crate) fn options(field: Option<Field<'_>>) -> Option<Map<String, Value>> {
    let Some(field) = field else { return Some(Map::new()) };
    field.entries()?;
    match field.value.to_json() {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

/// Reports what is wrong with options where they are written, or else at the name of their owner.
pub(crate) fn report(problems: &[OptionProblem], config: Option<&YamlNode>, owner: Field<'_>) {
    for problem in problems {
        let span = config.and_then(|config| option_span(config, &problem.at));
        let span = span.unwrap_or(owner.value.span);
        let hint = problem.hint.as_deref().unwrap_or_default();
        owner.findings.error(span, &problem.message, hint);
    }
}

/// The entry that the keys lead to, or the deepest one there is.
fn option_span(config: &YamlNode, keys: &[String]) -> Option<SourceSpan> {
    let mut node = config;
    let mut span = None;
    for key in keys {
        match &node.value {
            Yaml::Map(entries) => {
                let Some(entry) = entries.iter().find(|entry| entry.key == *key) else { break };
                let whole = SourceSpan { end: entry.value.span.end, ..entry.key_span };
                let near = entry.value.span.file == whole.file && whole.start <= whole.end;
                span = Some(if near { whole } else { entry.key_span });
                node = &entry.value;
            }
            Yaml::Seq(items) => {
                let item = key.parse().ok().and_then(|index: usize| items.get(index));
                let Some(item) = item else { break };
                span = Some(item.span);
                node = item;
            }
            _ => break,
        }
    }
    span
}
