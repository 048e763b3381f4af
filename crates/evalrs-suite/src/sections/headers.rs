//! The further headers of a judge's requests.
//!
//! What a header says is in the key, and keys are written to disk: a header that looks like a secret is refused and
//! hidden, and has to be named by its environment variable.

use crate::fields::{Field, FieldSet};
use crate::section::FieldShape::{AnyOf, MapOf, Mapping, OrNull, Text};
use crate::section::{FieldShape, Section, section};
use crate::sections::environment::is_variable;
use evalrs_base::yaml::source;
use evalrs_base::yaml::tree::Yaml;
use evalrs_model::spec::{HeaderSpec, HeaderValue};

pub(crate) const HEADERS: FieldShape = MapOf(&OrNull(&AnyOf(&[Text, Mapping(&HEADER)])));

pub(crate) static HEADER: Section = section!["a header",
    "env": Text, required => "the environment variable with the value";
];

/// Headers that belong to the request itself.
const OURS: [&str; 5] =
    ["connection", "content-length", "content-type", "host", "transfer-encoding"];

/// Reads `headers: {Name: text}` and `headers: {Name: {env: VARIABLE}}`.
pub(crate) fn headers(fields: &FieldSet<'_>) -> Vec<HeaderSpec> {
    let Some(field) = fields.take("headers") else { return Vec::new() };
    if !field.is_mapping() {
        let hint = "write `headers: {X-Team: evals}`";
        return field.wrong_type("a mapping of names", hint).unwrap_or_default();
    }
    let mut headers: Vec<HeaderSpec> = Vec::new();
    for entry in field.entries().unwrap_or_default() {
        check_name(entry, &headers);
        let value = match &entry.value.value {
            Yaml::Null => None,
            Yaml::Map(_) => variable(entry),
            _ => text(entry),
        };
        headers.extend(value.map(|value| HeaderSpec { name: entry.key.clone(), value }));
    }
    headers
}

fn check_name(entry: Field<'_>, before: &[HeaderSpec]) {
    let name = entry.key.as_str();
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(is_token) {
        let hint = "names have letters, digits and dashes";
        entry.error_at_key("this is not the name of an HTTP header", hint);
    } else if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
        entry.error_at_key(&format!("`{name}` is set by the request itself"), "");
    } else if before.iter().any(|header| name.eq_ignore_ascii_case(&header.name)) {
        let message = format!("`{name}` is written twice: header names are case-insensitive");
        entry.error_at_key(&message, "keep one");
    }
}

/// The name of a variable; a secret written here by mistake is hidden.
fn variable(entry: Field<'_>) -> Option<HeaderValue> {
    let fields = FieldSet::new(entry.value.entries(), &HEADER, entry.findings);
    let field = fields.take("env");
    if field.is_none() {
        let message = format!("the header `{}` has no `env`", entry.key);
        entry.error_at_key(&message, &by_variable(&entry.key));
    }
    fields.finish();
    let field = field?;
    let name = field.text()?;
    if !is_variable(&name) {
        field.hide();
        field.error("`env` is not the name of an environment variable", &by_variable(&entry.key));
    }
    Some(HeaderValue::Variable(name))
}

fn text(entry: Field<'_>) -> Option<HeaderValue> {
    let text = entry.text()?;
    if source::is_secret_header(&entry.key, &text) {
        entry.hide();
        let message = format!("the header `{}` would put a secret into the suite", entry.key);
        entry.error(&message, &by_variable(&entry.key));
    } else if !text.chars().all(|c| matches!(c, ' '..='~' | '\t')) {
        entry.error(&format!("the header `{}` can have printable ASCII only", entry.key), "");
    }
    Some(HeaderValue::Text(text.trim().to_owned()))
}

fn by_variable(name: &str) -> String {
    format!("name the environment variable with its value: `{name}: {{env: NAME}}`")
}
