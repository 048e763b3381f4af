//! From a recorded value to a [`Trajectory`], in whichever format it is.
//!
//! To find out, each message is looked at until one can only be of one format. Chat messages that carry text alone are
//! both OpenAI's and Anthropic's; they are called OpenAI's, and read the same either way.

use serde_json::Value;

use super::content::is_chat;
use super::node::RecordedNode;
use super::{
    CallMarks, MessageBody, ReadResult, Trajectory, TrajectoryFormat, anthropic, atif, claude_code,
    inspect, letta, openai, otel, steps,
};

/// The recorded formats under the names that a suite calls them by, one file a format.
pub const FORMATS: [(&str, &TrajectoryFormat); 9] = [
    named(&letta::FORMAT),
    named(&inspect::FORMAT),
    named(&openai::FORMAT),
    named(&anthropic::FORMAT),
    named(&claude_code::FORMAT),
    named(&steps::FORMAT),
    named(&atif::FORMAT),
    named(&otel::FORMAT),
    named(&TrajectoryFormat::TEXT),
];

const fn named(format: &'static TrajectoryFormat) -> (&'static str, &'static TrajectoryFormat) {
    (format.name, format)
}

/// Reads a recorded trajectory: of `format`, or of whichever format it looks like.
///
/// The value is a list of messages, turns, events or steps, an object with such a list under `messages`
/// (and perhaps `agent_state`), an object that a format has for the whole, text of JSON Lines events, or the plain text of the target's last answer.
pub fn read(value: &Value, format: Option<&TrajectoryFormat>) -> ReadResult<Trajectory> {
    let root = RecordedNode::root(value);
    let Some(format) = format.or_else(|| detect(value)) else {
        return Err(root.problem("messages, turns, events, steps or text"));
    };
    let trajectory = (format.read)(root)?;
    // Chat messages are told by having a role, whatever else they hold.
    if is_foreign(&trajectory) && !detect(value).is_some_and(|format| format.has_kinds) {
        return Err(root.problem("at least one message of a known kind"));
    }
    Ok(trajectory)
}

/// How a recorded trajectory marks failed calls: nothing for formats that have a sign for them.
pub fn call_marks(value: &Value, format: Option<&'static TrajectoryFormat>) -> CallMarks {
    let is_openai = format.or_else(|| detect(value)) == Some(&openai::FORMAT);
    if is_openai { CallMarks::of(value) } else { CallMarks::default() }
}

/// Whether there are messages, and none of them was understood.
fn is_foreign(trajectory: &Trajectory) -> bool {
    let mut messages = trajectory.messages(true).peekable();
    messages.peek().is_some()
        && messages.all(|message| matches!(message.body, MessageBody::Other(_)))
}

/// The format of a recorded trajectory; none if it looks like no known one.
pub fn detect(value: &Value) -> Option<&'static TrajectoryFormat> {
    let mut formats = FORMATS.iter().map(|(_, format)| *format);
    match value {
        Value::String(lines) => Some(
            formats.find(|format| (format.owns_text)(lines)).unwrap_or(&TrajectoryFormat::TEXT),
        ),
        Value::Object(wrapper) => formats
            .find(|format| (format.owns_object)(wrapper))
            .or_else(|| wrapper.get("messages").filter(|list| list.is_array()).and_then(detect)),
        Value::Array(items) => detect_list(items),
        _ => None,
    }
}

/// The format of a list of messages or of turns. A list without any message is called Letta's, whose saved
/// errors look like that.
fn detect_list(items: &[Value]) -> Option<&'static TrajectoryFormat> {
    let messages = || {
        items.iter().flat_map(|item| match item {
            Value::Array(turn) => turn.as_slice(),
            message => std::slice::from_ref(message),
        })
    };
    if messages().next().is_none() {
        return Some(&letta::FORMAT);
    }
    let owner = |message: &Value| FORMATS.iter().find(|(_, format)| (format.owns)(message));
    let owned = messages().find_map(owner).map(|(_, format)| *format);
    owned.or_else(|| messages().any(is_chat).then_some(&openai::FORMAT))
}
