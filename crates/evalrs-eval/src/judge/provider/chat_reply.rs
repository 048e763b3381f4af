//! What a model said to a conversation, read from a response.

use serde_json::Value;

use super::api::{Answer, Provider, ReplyEnding};
use super::chat::{AssistantMessage, NativeMessage};

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatReply {
    /// What was said.
    pub message: AssistantMessage,
    /// How it ended, who answered and what it used.
    pub answer: Answer,
}

impl ChatReply {
    /// Reads a successful response; `messages` is how many parts the conversation had before.
    ///
    /// # Errors
    /// It is none of this API: why.
    pub fn read(provider: &dyn Provider, body: &Value, messages: usize) -> Result<Self, String> {
        let answer = provider.answer(body)?;
        let NativeMessage { calls, native } = provider.said(body, messages);
        let text = answer.text.clone().filter(|text| !text.is_empty());
        let ending = match answer.ending {
            // A reason to stop that no text follows, where tools are called.
            ReplyEnding::Broken(_) if !calls.is_empty() => ReplyEnding::Complete,
            ending => ending,
        };
        let message = AssistantMessage { text, calls, native };
        Ok(Self { message, answer: Answer { ending, ..answer } })
    }
}
