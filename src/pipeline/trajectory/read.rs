//! From a recorded value to a [`Trajectory`]: what the formats have in common.
//!
//! Lists of turns are kept as they are given, flat lists are cut at user messages. Whatever comes before the
//! first user message (instructions, a greeting) belongs to the first turn, so that turn `i` always answers
//! input `i`.

use serde_json::Value;

use super::node::RecordedNode;
use super::{
    Message, MessageBody, Trajectory, TrajectoryFormat, TrajectoryProblem, Turn, anthropic,
    claude_code, detect, letta, openai, steps,
};

/// Reads a recorded trajectory: of `format`, or of whichever format it looks like.
///
/// The value is a list of messages, turns, events or steps, an object with such a list under `messages`
/// (and perhaps `agent_state`), text of JSON Lines events, or the plain text of the target's last answer.
pub(crate) fn read(
    value: &Value,
    format: Option<TrajectoryFormat>,
) -> Result<Trajectory, TrajectoryProblem> {
    let root = RecordedNode::root(value);
    if let (None | Some(TrajectoryFormat::ClaudeCode), Value::String(text)) = (format, value) {
        return match claude_code::events(text) {
            Some(events) => read_list(RecordedNode::root(&events), TrajectoryFormat::ClaudeCode),
            None if format.is_none() => Ok(Trajectory::from_output(text)),
            None => Err(root.problem("lines of Claude Code events")),
        };
    }
    let Some(format) = format.or_else(|| detect(value)) else {
        return Err(root.problem("messages, turns, events, steps or text"));
    };
    let trajectory = match (format, value) {
        (TrajectoryFormat::Text, _) => return root.text("text").map(Trajectory::from_output),
        (_, Value::Object(_)) => {
            let mut trajectory = read_list(root.get("messages"), format)?;
            trajectory.agent_state = Some(root.get("agent_state"))
                .filter(|state| !state.is_nothing())
                .map(|state| state.value().clone());
            trajectory
        }
        _ => read_list(root, format)?,
    };
    if is_foreign(&trajectory) && !is_of_kinds(detect(value)) {
        return Err(root.problem("at least one message of a known kind"));
    }
    Ok(trajectory)
}

/// Whether there are messages, and none of them was understood.
fn is_foreign(trajectory: &Trajectory) -> bool {
    let mut messages = trajectory.messages(true).peekable();
    messages.peek().is_some()
        && messages.all(|message| matches!(message.body, MessageBody::Other(_)))
}

/// Whether a format was told by a kind of message that it alone has; chat messages are told by having a role.
fn is_of_kinds(format: Option<TrajectoryFormat>) -> bool {
    use TrajectoryFormat::{ClaudeCode, Letta, Steps};
    matches!(format, Some(ClaudeCode | Letta | Steps))
}

fn read_list(
    list: RecordedNode<'_, '_>,
    format: TrajectoryFormat,
) -> Result<Trajectory, TrajectoryProblem> {
    let mut turns = Turns::default();
    if list.value().as_array().is_some_and(|items| items.iter().any(Value::is_array)) {
        for turn in list.items("a list of turns")? {
            turns.given();
            read_messages(turn, format, &mut turns)?;
        }
    } else {
        read_messages(list, format, &mut turns)?;
    }
    Ok(Trajectory { turns: turns.done, agent_state: None })
}

fn read_messages(
    list: RecordedNode<'_, '_>,
    format: TrajectoryFormat,
    turns: &mut Turns,
) -> Result<(), TrajectoryProblem> {
    if format == TrajectoryFormat::ClaudeCode {
        return claude_code::read(list, turns);
    }
    for message in list.items("a list of messages")? {
        match format {
            TrajectoryFormat::Letta => letta::read(message, turns)?,
            TrajectoryFormat::Anthropic => anthropic::read(message, turns)?,
            TrajectoryFormat::Steps => steps::read(message, turns)?,
            _ => openai::read(message, turns)?,
        }
    }
    Ok(())
}

/// The turns read so far.
#[derive(Debug, Default)]
pub(super) struct Turns {
    done: Vec<Turn>,
    state: TurnState,
    calls: usize,
}

/// How far the last turn is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TurnState {
    /// No user message has been seen yet: the next one belongs to this turn.
    #[default]
    Opening,
    /// The next user message starts another turn.
    Running,
    /// Whatever comes next starts another turn.
    Over,
    /// Turns are given as lists, and never cut.
    Given,
}

impl Turns {
    /// Begins a turn that is given as a list.
    pub(super) fn given(&mut self) {
        self.done.push(Turn::default());
        self.state = TurnState::Given;
    }

    /// Says that a message of the user follows, which starts a turn.
    pub(super) fn start(&mut self) {
        match self.state {
            TurnState::Given => {}
            TurnState::Opening => self.state = TurnState::Running,
            TurnState::Running | TurnState::Over => {
                self.done.push(Turn::default());
                self.state = TurnState::Running;
            }
        }
    }

    /// Says that the last turn is over.
    pub(super) fn end(&mut self) {
        if self.state != TurnState::Given && !self.done.is_empty() {
            self.state = TurnState::Over;
        }
    }

    /// Adds a message of the target itself or of its user.
    pub(super) fn push(&mut self, body: MessageBody) {
        self.push_of(body, false);
    }

    /// Adds a message, perhaps of a sub-agent.
    pub(super) fn push_of(&mut self, body: MessageBody, subagent: bool) {
        if self.state == TurnState::Over {
            self.start();
        }
        self.calls += usize::from(matches!(body, MessageBody::ToolCall(_)));
        let message = Message { body, subagent };
        match self.done.last_mut() {
            Some(turn) => turn.messages.push(message),
            None => self.done.push(Turn { messages: vec![message] }),
        }
    }

    /// The last turn.
    pub(super) fn last(&self) -> &[Message] {
        self.done.last().map_or(&[], |turn| &turn.messages)
    }

    /// How many calls of tools have been read.
    pub(super) fn call_count(&self) -> usize {
        self.calls
    }
}

/// The text of a message content: a string as it is, of a list the `text` of its parts joined with one
/// space. Parts without text (images) say nothing.
pub(super) fn flatten(content: RecordedNode<'_, '_>) -> Result<String, TrajectoryProblem> {
    match content.value() {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(_) => {
            let mut texts = Vec::new();
            for part in content.items("a list of content parts")? {
                texts.extend(part_text(part)?);
            }
            Ok(texts.join(" "))
        }
        _ => Err(content.problem("a string or a list of content parts")),
    }
}

/// The text of one part of a content, if it has any.
pub(super) fn part_text<'v>(
    part: RecordedNode<'_, 'v>,
) -> Result<Option<&'v str>, TrajectoryProblem> {
    if let Some(text) = part.as_str() {
        return Ok(Some(text));
    }
    let fields = part.object("a content part")?;
    let has = |key: &&str| fields.get(*key).is_some_and(|value| !value.is_null());
    match ["text", "refusal"].into_iter().find(has) {
        None => Ok(None),
        Some(key) => part.get(key).text("a string").map(Some),
    }
}
