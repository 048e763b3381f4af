//! `${VAR}` in the values of a suite.
//!
//! It knows trees and asks for variables through [`Files`]. Only values are interpolated, never keys, and never
//! files a suite names. A scalar that is nothing but one unquoted variable becomes what its text would be in
//! YAML: with `TEMP=0.5`, `temperature: ${TEMP}` is a number, `temperature: "${TEMP}"` and
//! `x${TEMP}` are text. No message about a wrong value shows what a variable says, since it may be a secret; only paths are shown.

use crate::files::Files;
use crate::findings::Findings;
use evalrs_base::yaml::scalar::{self, Scalar};
use evalrs_base::yaml::source::SourceSpan;
use evalrs_base::yaml::tree::{Style, Yaml, YamlNode};

/// Replaces the variables in every text at or below `node`.
pub(crate) fn interpolate(node: &mut YamlNode, files: &dyn Files, findings: &Findings) {
    match &mut node.value {
        Yaml::Seq(items) => {
            for item in items {
                interpolate(item, files, findings);
            }
        }
        Yaml::Map(entries) => {
            for entry in entries {
                interpolate(&mut entry.value, files, findings);
            }
        }
        Yaml::Str(text) if text.contains("${") => {
            let Some(replaced) = replace(text, node.span, files, findings) else { return };
            if let Some(value) = replaced.variable.filter(|_| node.style == Style::Plain) {
                node.value = typed(value);
            } else {
                *text = replaced.text;
            }
            if replaced.changed {
                node.style = Style::Interpolated;
            }
        }
        _ => {}
    }
}

/// Escapes `text`, so that interpolation gives it back.
pub(crate) fn escape(text: &str) -> String {
    text.replace("${", "$${")
}

fn typed(value: String) -> Yaml {
    match scalar::resolve(&value) {
        Scalar::Null => Yaml::Null,
        Scalar::Bool(value) => Yaml::Bool(value),
        Scalar::Int(value) => Yaml::Int(value),
        Scalar::Float(value) if value.is_finite() => Yaml::Float(value),
        Scalar::Float(_) | Scalar::Text => Yaml::Str(value),
    }
}

struct Replacement {
    text: String,
    /// The text of the variable, if the scalar is nothing else.
    variable: Option<String>,
    /// Whether any text came from outside the file.
    changed: bool,
}

fn replace(
    text: &str,
    span: SourceSpan,
    files: &dyn Files,
    findings: &Findings,
) -> Option<Replacement> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut variable = None;
    let mut changed = false;
    let mut failed = false;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(kept) = before.strip_suffix('$') {
            out.push_str(kept);
            out.push_str("${");
            rest = &from[2..];
            continue;
        }
        out.push_str(before);
        let (value, after) = reference(from, span, files, findings);
        changed = true;
        match value {
            Some(value) => {
                variable = (from.len() == text.len() && after.is_empty()).then(|| value.clone());
                out.push_str(&value);
            }
            None => failed = true,
        }
        rest = after;
    }
    out.push_str(rest);
    (!failed).then_some(Replacement { text: out, variable, changed })
}

/// The value of the `${…}` that `text` begins with, and what follows it.
fn reference<'t>(
    text: &'t str,
    span: SourceSpan,
    files: &dyn Files,
    findings: &Findings,
) -> (Option<String>, &'t str) {
    let Some((inside, after)) = text[2..].split_once('}') else {
        let span = findings.sources().find(span, "${");
        findings.error(span, "this `${` is never closed", ESCAPE);
        return (None, "");
    };
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let span = findings.sources().find(span, &text[..text.len() - after.len()]);
    if !is_name(name) {
        let hint = format!("write `${{NAME}}` or `${{NAME:-default}}`; {ESCAPE}");
        findings.error(span, &format!("`${{{inside}}}` does not name a variable"), &hint);
        return (None, after);
    }
    let value = files.env(name).filter(|value| default.is_none() || !value.is_empty());
    let value = value.or_else(|| default.map(str::to_owned));
    if value.is_none() {
        let hint = format!("set it, or give a default: `${{{name}:-default}}`; {ESCAPE}");
        findings.error(span, &format!("the environment variable `{name}` is not set"), &hint);
    }
    (value, after)
}

const ESCAPE: &str = "`$${` stands for a literal `${`";

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
