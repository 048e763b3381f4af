//! The `OpenAPI` document: what the code declares, and beside it what holds for every address.

use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

/// The errors that any request may return instead of data.
const REFUSALS: &[(&str, &str)] = &[
    ("400", "The request cannot be read"),
    ("401", "The token is missing or wrong"),
    ("403", "Another Host or Origin, or the server only reads"),
    ("500", "The server could not do it"),
];

/// The type of answers that are events.
const EVENTS: &str = "text/event-stream";

/// What it means, where an operation says nothing else.
fn meaning(status: &str) -> &'static str {
    match status {
        "200" => "The requested resource",
        "202" => "It has begun",
        "404" => "Nothing has that name",
        "409" => "Something else is running, or conflicts",
        "412" => "It was changed since it was read",
        "413" => "The body is too large",
        "422" => "The body is JSON, and a member of it is wrong: the message names it",
        other => REFUSALS.iter().find(|(status, _)| *status == other).map_or("", |(_, text)| text),
    }
}

/// The document of a server, which may need a token.
pub(super) fn document(api: &OpenApi, needs_token: bool) -> Value {
    let mut document = json!(api);
    let items = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    for operation in items.filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        complete(operation);
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        for (name, schema) in schemas {
            match name.as_str() {
                "ErrorEnvelope" => make_envelope(schema, false),
                name if name.starts_with("Envelope_") => make_envelope(schema, true),
                _ => {}
            }
        }
    }
    if needs_token {
        document["components"]["securitySchemes"] = json!({
            "bearer": {"type": "http", "scheme": "bearer", "description": "The token."},
            "password": {"type": "http", "scheme": "basic", "description": "Any name; the token is the password."},
        });
        document["security"] = json!([{"bearer": []}, {"password": []}]);
    }
    document
}

/// Adds what every operation may answer, and reports what each answer means.
fn complete(operation: &mut Value) {
    let has_body = operation.get("requestBody").is_some();
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else {
        return;
    };
    let refusals = REFUSALS.iter().map(|(status, _)| *status).chain(has_body.then_some("413"));
    for status in refusals {
        responses.entry(status).or_insert_with(|| {
            let schema = json!({"$ref": "#/components/schemas/ErrorEnvelope"});
            json!({"content": {"application/json": {"schema": schema}}})
        });
    }
    for (status, response) in responses.iter_mut() {
        if let Some(response) = response.as_object_mut() {
            if let Some(event) = response.get_mut("content").and_then(|all| all.get_mut(EVENTS)) {
                let text = json!({"type": "string"});
                event["schema"] = json!({"type": "object", "description": "An event; `data` is JSON.",
                    "properties": {"id": text, "event": text, "data": text}});
            }
            let is_said = |text: &Value| text.as_str().is_some_and(|text| !text.is_empty());
            if !response.get("description").is_some_and(is_said) {
                response.insert("description".to_owned(), Value::from(meaning(status)));
            }
        }
    }
    responses.sort_keys();
}

/// The members that are the same in every answer.
fn make_envelope(schema: &mut Value, success: bool) {
    schema["properties"]["success"]["const"] = Value::from(success);
    let empty = if success { "error" } else { "data" };
    schema["properties"][empty] = json!({"type": "null", "description": "Always null."});
    schema["required"] = json!(["success", "data", "error"]);
}
