//! Requests to a deployed agent, and what is found in its replies.
//!
//! Pure. Placeholders stand in the texts of a JSON body, so that nothing a sample says can break out of it; in a URL they
//! are escaped. What came from a sample is never scanned again.

use serde_json::{Map, Value};
use serde_json_path::JsonPath;

pub use super::placeholders::{PLACEHOLDERS, has_plain_body, unknown_in, unknown_placeholders};

use super::action::TargetAction;
use super::placeholders::handed_at;
use crate::judge::request_url::percent_encoded;
use crate::judge::template::{bare, pieces};

/// What one request says.
#[derive(Debug)]
pub struct RequestValues<'a> {
    action: &'a TargetAction,
    handed: Map<String, Value>,
    /// What the user says now, where every turn is a request.
    turn: Option<&'a str>,
    /// The session, empty in the first request.
    session: &'a str,
}

impl<'a> RequestValues<'a> {
    /// Those of a conversation that is one request.
    pub fn whole(action: &'a TargetAction) -> Self {
        Self::new(action, None, "")
    }

    /// Those of one turn.
    pub fn of_turn(action: &'a TargetAction, turn: &'a str, session: &'a str) -> Self {
        Self::new(action, Some(turn), session)
    }

    fn new(action: &'a TargetAction, turn: Option<&'a str>, session: &'a str) -> Self {
        let handed = serde_json::from_str(&action.handed).unwrap_or_default();
        Self { action, handed, turn, session }
    }

    /// The value of a placeholder; nothing if the sample has none.
    fn get(&self, name: &str) -> Value {
        let TargetAction { sample, model, trial, .. } = self.action;
        match name {
            "input" => match self.turn {
                Some(turn) => Value::from(turn),
                None => self.handed.get("input").cloned().unwrap_or_default(),
            },
            "session" => Value::from(self.session),
            "id" => Value::from(sample.as_str()),
            "model" => model.as_ref().map_or(Value::Null, |model| Value::from(model.name.as_str())),
            "trial" => Value::from(*trial),
            _ => handed_at(&self.handed, name).cloned().unwrap_or_default(),
        }
    }

    /// A text with its placeholders filled in, each changed by `escape`.
    fn text(&self, template: &str, escape: fn(&str) -> String) -> String {
        let mut filled = String::with_capacity(template.len());
        for (before, placeholder) in pieces(template) {
            filled.push_str(before);
            if let Some(placeholder) = placeholder {
                filled.push_str(&escape(&as_text(&self.get(bare(placeholder)))));
            }
        }
        filled
    }

    /// The URL: what a sample says is one segment or one value of it.
    pub fn url(&self, template: &str) -> String {
        self.text(template, percent_encoded)
    }

    /// A header, which is one line.
    pub fn header(&self, template: &str) -> String {
        self.text(template, |value| value.replace(|c: char| c.is_control(), " "))
    }

    /// A body. A text that is nothing but one placeholder becomes the value itself, which may be a list.
    pub fn body(&self, template: &Value) -> Value {
        match template {
            Value::String(text) => {
                let mut all = pieces(text);
                match (all.next(), all.next()) {
                    (Some(("", Some(placeholder))), None) => self.get(bare(placeholder)),
                    _ => Value::from(self.text(text, str::to_owned)),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.body(item)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), self.body(value)))
                .collect::<Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }

    /// The body where the suite names none: the input of a command, one turn at a time where there are sessions.
    pub fn plain_body(&self) -> Value {
        let mut body: Value = serde_json::from_str(&self.action.input(None)).unwrap_or_default();
        if let (Some(turn), Some(members)) = (self.turn, body.as_object_mut()) {
            members.remove("turns");
            members.insert("input".to_owned(), Value::from(turn));
            if !self.session.is_empty() {
                members.insert("session".to_owned(), Value::from(self.session));
            }
        }
        body
    }
}

/// A value as it is written within a text.
fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The value at a path in a reply, if any: one value as it is, several as a list.
pub fn at(path: &JsonPath, reply: &Value) -> Option<Value> {
    match path.query(reply).all().as_slice() {
        [] | [Value::Null] => None,
        [one] => Some((*one).clone()),
        several => Some(several.iter().map(|value| (*value).clone()).collect()),
    }
}

/// A value as the text of an answer.
pub fn answer_text(value: &Value) -> String {
    as_text(value)
}

/// The content of a stream of server-sent events.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StreamEvents {
    /// The data of its events, in order.
    pub data: Vec<String>,
    /// Whether it says that it is done.
    pub is_done: bool,
}

/// The events of a stream until it says that it is done. An error is one that the stream tells of.
pub fn events(stream: &str) -> Result<StreamEvents, String> {
    let mut events = Vec::new();
    let mut data: Option<String> = None;
    let mut is_error = false;
    // The last event may lack the empty line after it.
    for line in stream.lines().chain([""]) {
        let line = line.trim_start_matches('\u{feff}');
        if line.is_empty() {
            let ended = data.take();
            match ended {
                Some(text) if is_error => return Err(text),
                Some(text) if text.trim() == "[DONE]" => {
                    return Ok(StreamEvents { data: events, is_done: true });
                }
                Some(text) => events.push(text),
                None if is_error => return Err("it says no more".to_owned()),
                None => {}
            }
            is_error = false;
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => is_error = value == "error",
            "data" => match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            },
            _ => {}
        }
    }
    Ok(StreamEvents { data: events, is_done: false })
}

/// Whether a stream without an end marker breaks off: the pieces of a model end with the finish reason. Of other events
/// nothing says how they end.
pub fn breaks_off(events: &[Value]) -> bool {
    let choices = || events.iter().filter_map(|event| event["choices"].as_array()).flatten();
    let is_of_model = choices().any(|choice| choice["delta"].is_object());
    is_of_model && choices().all(|choice| choice["finish_reason"].is_null())
}

/// The words of an error that a reply holds, if it does.
pub fn error_in(reply: &Value) -> Option<String> {
    let error = reply.get("error").filter(|error| !error.is_null() && **error != false)?;
    Some(as_text(error.get("message").unwrap_or(error)))
}
