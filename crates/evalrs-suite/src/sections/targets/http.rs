//! Targets that are deployed agents, called over HTTP.

use crate::fields::FieldSet;
use crate::section::FieldShape::{Anything, Choice, Text};
use crate::section::{Section, fields};
use crate::sections::headers::{HEADERS, headers};
use crate::sections::targets::around::{COMMON, TOLD_ID, WITH_USER};
use evalrs_base::json_path;
use evalrs_eval::target::exchange;
use evalrs_model::spec::{AgentKind, HeaderSpec, HeaderValue, HttpTarget};

pub(crate) static HTTP_TARGET: Section = Section::new(
    "an HTTP target",
    &[
        fields![
            "kind": Choice(&["http"]), required => "a deployed agent";
            "url": Text, needed "an HTTP target needs a `url`", "for example `url: https://agent.example.com/chat`" => "the URL of requests; may have placeholders";
            "method": Choice(&["POST", "GET", "PUT"]), or "\"POST\"" => "the HTTP method";
            "headers": HEADERS => "more request headers: `Name: text`, or `Name: {env: VARIABLE}` for a secret";
            "body": Anything => "JSON whose texts may have placeholders such as `{input}`; if absent, the JSON that a command gets";
            "answer": Text => "the path of the answer in the reply, such as `$.output`";
            "messages": Text => "the path of all messages in the reply";
            "session": Text => "the path of the conversation's name in the reply: then every turn is a request, and `{session}` is that name";
            "stream": Choice(&["sse"]) => "`sse`: the reply is a stream of server-sent events, and the texts at `answer` are joined";
            "endpoint": Text => "replaces the URL in the key";
        ],
        COMMON,
        TOLD_ID,
        WITH_USER,
    ],
);

pub(crate) fn http(fields: &mut FieldSet<'_>) -> Option<AgentKind> {
    let headers = headers(fields);
    let url = fields.text("url");
    if let (Some(url), Some(field)) = (&url, fields.take("url"))
        && !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme))
    {
        field.error("`url` must begin with `http://` or `https://`", "");
    }
    check_exchange(fields, &headers);
    Some(AgentKind::Http(Box::new(HttpTarget {
        method: fields.text("method").unwrap_or_else(|| "POST".to_owned()),
        headers,
        body: fields.take("body").map(|field| field.value.to_json()),
        answer: fields.text("answer"),
        messages: fields.text("messages"),
        session: fields.text("session"),
        is_stream: fields.choice("stream", &[("sse", true)]).unwrap_or(false),
        endpoint: fields.text("endpoint"),
        url: url?,
    })))
}

/// Reports paths that are none, and placeholders that stand for nothing.
pub(crate) fn check_exchange(fields: &FieldSet<'_>, headers: &[HeaderSpec]) {
    for name in ["answer", "messages", "session"] {
        if let Some(field) = fields.take(name)
            && let Some(text) = field.value.text()
            && let Err(error) = json_path::parse(text)
        {
            let message = format!("`{name}` is not a JSONPath: {error}");
            field.error(&message, "for example `$.output` or `$.messages[-1].content`");
        }
    }
    let mut unknown = Vec::new();
    if let Some(field) = fields.take("url")
        && let Some(text) = field.value.text()
    {
        unknown.extend(exchange::unknown_placeholders(text).into_iter().map(|name| (field, name)));
    }
    if let Some(field) = fields.take("body") {
        let of_body = exchange::unknown_in(&field.value.to_json());
        unknown.extend(of_body.into_iter().map(|name| (field, name)));
    }
    if let Some(field) = fields.take("headers") {
        let of_headers = headers.iter().filter_map(|header| match &header.value {
            HeaderValue::Text(text) => Some(exchange::unknown_placeholders(text)),
            HeaderValue::Variable(_) => None,
        });
        unknown.extend(of_headers.flatten().map(|name| (field, name)));
    }
    for (field, name) in unknown {
        let known = exchange::PLACEHOLDERS.map(|name| format!("{{{name}}}")).join(", ");
        let message = format!("`{{{name}}}` is not a placeholder");
        let hint = format!(
            "placeholders are {known}; the last three also with a member, such as {{metadata.tone}}"
        );
        field.error(&message, &hint);
    }
    if let Some(field) = fields.take("stream")
        && fields.take("answer").is_none()
    {
        let hint = "set the path of the text in each event, for example `answer: $.delta`";
        field.error_at_key("`stream` needs an `answer`", hint);
    }
    if let Some(field) = fields.take("user")
        && fields.take("session").is_none()
    {
        let hint = "set the path of the conversation's name in a reply, for example `session: $.session_id`";
        field.error_at_key("`user` needs a `session`", hint);
    }
}
