//! One turn of a conversation: what its lines say.

use serde_json::Value;

use super::events::Update;
use super::form::{Adapter, UpdateKind};
use evalrs_model::outcome::Usage;

/// Reads the lines of a turn as they come.
#[derive(Debug)]
pub struct TurnReader<'a> {
    adapter: &'a Adapter,
    output: TurnOutput,
    result: Option<String>,
}

/// The result of a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnOutput {
    /// The updates of the agent, each with its milliseconds since the conversation began.
    pub updates: Vec<(Update, u64)>,
    /// The agent's own name for the conversation.
    pub session_id: Option<String>,
    /// What the agent answered.
    pub answer: String,
    /// The usage of the turn, if the agent reports it.
    pub usage: Option<Usage>,
    /// Whether it came to a result.
    pub has_result: bool,
    /// Whether the result says that the turn failed.
    pub has_failed: bool,
}

impl<'a> TurnReader<'a> {
    /// Nothing is read yet.
    pub fn new(adapter: &'a Adapter) -> Self {
        Self { adapter, output: TurnOutput::default(), result: None }
    }

    /// Reads a line that came after this many milliseconds. True if it ends the turn: lines after it are not looked
    /// at.
    pub fn line(&mut self, line: &str, at: u64) -> bool {
        // What is not JSON is for people.
        let Ok(event) = serde_json::from_str::<Value>(line) else { return false };
        self.output
            .updates
            .extend(self.adapter.updates(&event).into_iter().map(|update| (update, at)));
        if self.output.session_id.is_none() {
            self.output.session_id = self.adapter.session_id(&event);
        }
        self.output.usage = self.adapter.usage(&event).or(self.output.usage.take());
        self.result = self.adapter.result(&event).or(self.result.take());
        self.output.has_result = self.result.is_some();
        self.output.has_failed = self.result.is_some() && self.adapter.says_failed(&event);
        self.output.has_result
    }

    /// The updates so far.
    pub fn told(&self) -> &[(Update, u64)] {
        &self.output.updates
    }

    /// The answer of the turn. Without a result it answered what it said on the way.
    pub fn finish(self) -> TurnOutput {
        let answer = self.result.filter(|result| !result.is_empty());
        let answer = answer.unwrap_or_else(|| said(&self.output.updates));
        TurnOutput { answer, ..self.output }
    }
}

/// The messages, a line each; one that continues the message before it is on the same line.
pub fn said(updates: &[(Update, u64)]) -> String {
    let mut said = String::new();
    let mut before = None;
    for (update, _) in updates {
        let goes_on = update.is_delta && before == Some(UpdateKind::Message);
        before = Some(update.kind);
        let content = update.content.as_deref().unwrap_or_default();
        if update.kind != UpdateKind::Message || content.is_empty() {
            continue;
        }
        if !said.is_empty() && !goes_on {
            said.push('\n');
        }
        said.push_str(content);
    }
    said
}
