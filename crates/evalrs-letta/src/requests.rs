//! The requests to a Letta server: paths, bodies, and which page of a run's messages comes next.
//!
//! Collections end with a slash and items do not: the server redirects what is spelt otherwise, and nothing is sent
//! where a server points to.

use serde_json::{Map, Value, json};

/// The most messages of a page.
pub(crate) const PAGE: usize = 100;
/// The most pages of a run that are read.
pub const MAX_PAGES: usize = 1_000;

/// Says which project of a server is meant.
pub const PROJECT_HEADER: &str = "X-Project-Id";

/// Takes agent files.
pub const IMPORT: &str = "/v1/agents/import";

/// An agent.
pub fn agent(id: &str) -> String {
    format!("/v1/agents/{id}")
}

/// An agent with its memory and its tools. Clients of some names are told of neither unless they ask.
pub fn agent_with_relations(id: &str) -> String {
    format!("/v1/agents/{id}?include=agent.blocks&include=agent.tools")
}

/// Takes messages for an agent, and answers with a stream. This path does so for clients of any name.
pub fn stream(id: &str) -> String {
    format!("/v1/agents/{id}/messages/stream")
}

/// Cancels what an agent is doing.
pub fn cancel(id: &str) -> String {
    format!("/v1/agents/{id}/messages/cancel")
}

/// The messages of a run that follow the message `after`, the first ones first.
pub fn run_messages(run: &str, after: Option<&str>) -> String {
    let after = after.map_or_else(String::new, |after| format!("&after={after}"));
    format!("/v1/runs/{run}/messages?limit={PAGE}&order=asc{after}")
}

/// Whether an id of a server can stand in a path: nothing in it leads anywhere else.
pub fn is_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !id.is_empty() && id.len() <= 200 && id.bytes().all(is_plain)
}

/// After which message the next page begins; none if `page` was the last. What the server keeps as one message may be
/// several here or none, so a page that is half full may not be the last.
pub fn next_page(page: &[Value], after: Option<&str>) -> Option<String> {
    if page.len() < PAGE / 2 {
        return None;
    }
    let last = page.last()?.get("id")?.as_str()?;
    (is_id(last) && after != Some(last)).then(|| last.to_owned())
}

/// The body of a message to an agent; `extra` are further members, which win over ours.
pub fn message(text: &str, extra: &Map<String, Value>) -> Value {
    let mut body = Map::new();
    body.insert("messages".to_owned(), json!([{"role": "user", "content": text}]));
    body.insert("stream_tokens".to_owned(), json!(false));
    body.extend(extra.clone());
    Value::Object(body)
}

/// A body in several parts, and the type that says where they are cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultipartBody {
    pub content_type: String,
    pub bytes: Vec<u8>,
}

/// The request that makes an agent of the file `text`, with another `model` than its own if there is one. A tool of the
/// server that has the same name stays as it is.
pub fn import(text: &str, model: Option<&str>) -> MultipartBody {
    let mut fields = vec![("append_copy_suffix", "false"), ("override_existing_tools", "false")];
    fields.extend(model.map(|model| ("model", model)));
    let boundary = boundary([text, model.unwrap_or_default()]);
    let mut body = String::new();
    for (name, value) in fields {
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"");
        body.extend([&head, "\r\n\r\n", value, "\r\n"]);
    }
    let named = "Content-Disposition: form-data; name=\"file\"; filename=\"agent.af\"";
    let kind = "Content-Type: application/octet-stream";
    let part = format!("--{boundary}\r\n{named}\r\n{kind}\r\n\r\n{text}\r\n--{boundary}--\r\n");
    body.push_str(&part);
    let content_type = format!("multipart/form-data; boundary={boundary}");
    MultipartBody { content_type, bytes: body.into_bytes() }
}

/// A line that is in none of the parts.
fn boundary(parts: [&str; 2]) -> String {
    let names = (0..).map(|at: u32| format!("evalrs-part-{at}"));
    let mut free = names.filter(|name| !parts.iter().any(|part| part.contains(name)));
    free.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{import, is_id, message, next_page, run_messages};

    #[test]
    fn a_page_is_followed_until_one_is_less_than_half_full() {
        let page = |count: usize| {
            (0..count).map(|at| json!({"id": format!("message-{at}")})).collect::<Vec<Value>>()
        };
        for (count, after, expected) in [
            (0, None, None),
            (49, None, None),
            (50, None, Some("message-49")),
            (100, None, Some("message-99")),
            (130, Some("message-0"), Some("message-129")),
            (100, Some("message-99"), None),
        ] {
            assert_eq!(next_page(&page(count), after).as_deref(), expected, "{count} {after:?}");
        }
        let odd = vec![json!({"id": "../agents"}); 100];
        assert_eq!(next_page(&odd, None), None);
        assert_eq!(next_page(&vec![json!({}); 100], None), None);
        assert_eq!(run_messages("run-1", None), "/v1/runs/run-1/messages?limit=100&order=asc");
        assert!(run_messages("run-1", Some("message-1")).ends_with("&after=message-1"));
    }

    #[test]
    fn an_id_leads_nowhere_else() {
        let long = "a".repeat(201);
        for (id, expected) in [
            ("agent-0f1e", true),
            ("run_1", true),
            ("", false),
            ("../v1", false),
            ("a?b=c", false),
            ("a b", false),
            ("é", false),
            (&long, false),
        ] {
            assert_eq!(is_id(id), expected, "{id}");
        }
    }

    #[test]
    fn an_import_is_cut_where_no_part_is() {
        let import = |text: &str, model| {
            let body = import(text, model);
            (body.content_type, String::from_utf8(body.bytes).unwrap())
        };
        let (content_type, body) = import("{}", None);
        assert_eq!(content_type, "multipart/form-data; boundary=evalrs-part-0");
        let expected = [
            "--evalrs-part-0",
            "Content-Disposition: form-data; name=\"append_copy_suffix\"",
            "",
            "false",
            "--evalrs-part-0",
            "Content-Disposition: form-data; name=\"override_existing_tools\"",
            "",
            "false",
            "--evalrs-part-0",
            "Content-Disposition: form-data; name=\"file\"; filename=\"agent.af\"",
            "Content-Type: application/octet-stream",
            "",
            "{}",
            "--evalrs-part-0--",
            "",
        ];
        assert_eq!(body, expected.join("\r\n"));
        let (content_type, body) = import("\"--evalrs-part-0\"", Some("openai/m"));
        assert!(content_type.ends_with("evalrs-part-1"));
        assert!(body.contains("name=\"model\"\r\n\r\nopenai/m\r\n"));
    }

    #[test]
    fn further_members_of_a_message_win() {
        let extra = json!({"max_steps": 5, "stream_tokens": true});
        let expected = json!({
            "messages": [{"role": "user", "content": "q"}], "stream_tokens": true, "max_steps": 5,
        });
        assert_eq!(message("q", extra.as_object().unwrap()), expected);
        assert_eq!(message("q", &Map::new())["stream_tokens"], false);
    }
}
