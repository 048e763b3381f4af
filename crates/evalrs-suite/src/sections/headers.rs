//! The further headers of a judge's requests.
//!
//! What a header says is in the key, and keys are written to disk: a header that looks like a secret is refused and
//! hidden, and has to be named by its environment variable.

use crate::fields::{FieldSet, Findings};
use crate::section::FieldShape::{AnyOf, MapOf, Mapping, OrNull, Text};
use crate::section::{FieldShape, Section, section};
use crate::sections::environment::is_variable;
use evalrs_base::yaml::source;
use evalrs_base::yaml::tree::{Yaml, YamlEntry};
use evalrs_model::spec::{HeaderSpec, HeaderValue};

pub(crate) const HEADERS: FieldShape = MapOf(&OrNull(&AnyOf(&[Text, Mapping(&HEADER)])));

pub(crate) static HEADER: Section = section!["a header",
    "env": Text, required => "the environment variable that holds it";
];

/// Headers that belong to the request itself.
const OURS: [&str; 5] =
    ["connection", "content-length", "content-type", "host", "transfer-encoding"];

/// Reads `headers: {Name: text}` and `headers: {Name: {env: VARIABLE}}`.
pub(crate) fn headers(fields: &FieldSet<'_>, findings: &mut Findings) -> Vec<HeaderSpec> {
    let Some(field) = fields.take("headers") else { return Vec::new() };
    let Yaml::Map(entries) = &field.value.value else {
        findings.wrong_type(field, "a mapping of names").hint =
            Some("write `headers: {X-Team: evals}`".to_owned());
        return Vec::new();
    };
    let mut headers: Vec<HeaderSpec> = Vec::new();
    for entry in entries {
        check_name(entry, &headers, findings);
        let value = match &entry.value.value {
            Yaml::Null => None,
            Yaml::Map(inner) => variable(entry, inner, findings),
            _ => text(entry, findings),
        };
        headers.extend(value.map(|value| HeaderSpec { name: entry.key.clone(), value }));
    }
    headers
}

fn check_name(entry: &YamlEntry, before: &[HeaderSpec], findings: &mut Findings) {
    let name = entry.key.as_str();
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(is_token) {
        findings.error(entry.key_span, "this is not the name of an HTTP header").hint =
            Some("names have letters, digits and dashes".to_owned());
    } else if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
        findings.error(entry.key_span, format!("`{name}` is set by the request itself"));
    } else if before.iter().any(|header| name.eq_ignore_ascii_case(&header.name)) {
        let message = format!("`{name}` is written twice: names of headers know no case");
        findings.error(entry.key_span, message).hint = Some("keep one".to_owned());
    }
}

/// The name of a variable; a secret written here by mistake is hidden.
fn variable(
    entry: &YamlEntry,
    inner: &[YamlEntry],
    findings: &mut Findings,
) -> Option<HeaderValue> {
    let fields = FieldSet::new(inner, &HEADER);
    let field = fields.take("env");
    if field.is_none() {
        findings.error(entry.key_span, format!("the header `{}` has no `env`", entry.key)).hint =
            Some(by_variable(&entry.key));
    }
    fields.finish(findings);
    let field = field?;
    let name = findings.text(field)?;
    if !is_variable(&name) {
        findings.sources.hide(field.value.span);
        findings.error(field.value.span, "`env` is not the name of an environment variable").hint =
            Some(by_variable(&entry.key));
    }
    Some(HeaderValue::Variable(name))
}

fn text(entry: &YamlEntry, findings: &mut Findings) -> Option<HeaderValue> {
    let text = findings.text(entry)?;
    if source::is_secret_header(&entry.key, &text) {
        findings.sources.hide(entry.value.span);
        let message = format!("the header `{}` would put a secret into the suite", entry.key);
        findings.error(entry.value.span, message).hint = Some(by_variable(&entry.key));
    } else if !text.chars().all(|c| matches!(c, ' '..='~' | '\t')) {
        let message = format!("the header `{}` can hold printable ASCII only", entry.key);
        findings.error(entry.value.span, message);
    }
    Some(HeaderValue::Text(text.trim().to_owned()))
}

fn by_variable(name: &str) -> String {
    format!("name the environment variable that holds it: `{name}: {{env: NAME}}`")
}
