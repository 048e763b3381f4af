//! The placeholders of requests to a deployed agent: which there are, and what of a sample they name.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::judge::template::placeholder_names;
use evalrs_base::path::lookup;
use evalrs_model::spec::{HeaderValue, HttpTarget};

/// What the placeholders of a request stand for, by their first part; `metadata.tone` is a member of the third last.
pub const PLACEHOLDERS: [&str; 8] =
    ["input", "session", "id", "model", "trial", "metadata", "agent_args", "extra_vars"];

/// The placeholders of `template` that stand for nothing.
pub fn unknown_placeholders(template: &str) -> Vec<String> {
    let is_known = |name: &str| {
        let first = name.split(['.', '[']).next().unwrap_or_default();
        let has_members = matches!(first, "metadata" | "agent_args" | "extra_vars");
        PLACEHOLDERS.contains(&first) && (has_members || first == name)
    };
    placeholder_names(template).filter(|name| !is_known(name)).map(str::to_owned).collect()
}

/// All placeholders of the texts of a body that stand for nothing.
pub fn unknown_in(body: &Value) -> Vec<String> {
    texts(body).into_iter().flat_map(unknown_placeholders).collect()
}

/// The names of the placeholders in a request.
pub(crate) fn names(http: &HttpTarget) -> BTreeSet<&str> {
    let headers = http.headers.iter().filter_map(|header| match &header.value {
        HeaderValue::Text(text) => Some(text.as_str()),
        HeaderValue::Variable(_) => None,
    });
    let body = http.body.iter().flat_map(texts);
    std::iter::once(http.url.as_str())
        .chain(headers)
        .chain(body)
        .flat_map(placeholder_names)
        .collect()
}

/// Whether requests contain the input of a command.
pub fn has_plain_body(http: &HttpTarget) -> bool {
    http.body.is_none() && http.method != "GET"
}

/// The texts of a body in which placeholders may stand.
fn texts(body: &Value) -> Vec<&str> {
    match body {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The member that a path leads into.
pub(super) fn member_of(path: &str) -> &str {
    &path[..path.find(['.', '[']).unwrap_or(path.len())]
}

/// The value at a path of the passed parts: under the path itself, or else within its member.
pub(super) fn handed_at<'a>(handed: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let member = member_of(path);
    handed.get(path).or_else(|| lookup(handed.get(member)?, &path[member.len()..]))
}
