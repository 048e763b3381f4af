//! A target that is a model with a system prompt and tools.

use serde_json::{Map, Value};

use super::model::TalkingModel;
use super::talk::Talk;
use super::tools;
use super::user::{UserTurns, usage_of_both};
use evalrs_eval::judge::provider::ReplyEnding;
use evalrs_eval::judge::provider::chat::{ChatMessage, transcript};
use evalrs_eval::target::answer::TargetAnswer;
use evalrs_model::outcome::{Failure, FailureKind, Usage};
use evalrs_model::spec::{ChatTarget, ReplyLimit};

/// Holds one conversation.
pub(super) async fn converse(talk: Talk<'_>, chat: &ChatTarget) -> Result<TargetAnswer, Failure> {
    let action = &talk.launch.action;
    let endpoint = action.identity.model_of(action.model.as_ref());
    let Some((endpoint, access)) = endpoint.zip(talk.launch.access.as_ref()) else {
        return Err(Failure::new(FailureKind::Unloadable, "it has no model"));
    };
    let goes_on =
        !chat.tools.is_empty() || action.identity.user.is_some() || action.turns().len() > 1;
    let model = TalkingModel::new(endpoint, access, action.trial, "the model")?.going_on(goes_on);
    let mut conversation = Conversation {
        talk,
        chat,
        model,
        messages: Vec::new(),
        requests: 0,
        usage: Usage::default(),
        stopped: None,
    };
    let mut turns = UserTurns::new(&talk)?;
    match conversation.hold(&mut turns).await {
        Ok(()) => Ok(conversation.answer(&turns)),
        Err(failure) => {
            let of_agent = conversation.usage + failure.usage.unwrap_or_default();
            let usage = usage_of_both(&talk, of_agent, turns.usage());
            Err(Failure { usage, ..failure })
        }
    }
}

struct Conversation<'a> {
    talk: Talk<'a>,
    chat: &'a ChatTarget,
    model: TalkingModel<'a>,
    messages: Vec<ChatMessage>,
    requests: u32,
    usage: Usage,
    /// Why it ended early, if it did.
    stopped: Option<&'static str>,
}

impl Conversation<'_> {
    /// Turn after turn, until nobody has anything to say, or the limit is reached.
    async fn hold(&mut self, turns: &mut UserTurns<'_>) -> Result<(), Failure> {
        while self.stopped.is_none()
            && let Some(text) = turns.next(&self.talk, &self.last_text()).await?
        {
            self.messages.push(ChatMessage::User(text));
            self.go_on().await?;
        }
        Ok(())
    }

    /// Has the model go on until it calls no more tools.
    async fn go_on(&mut self) -> Result<(), Failure> {
        let begin = self.messages.len();
        loop {
            if self.requests == self.chat.max_turns {
                self.stopped = Some("max_turns");
                return Ok(());
            }
            self.requests += 1;
            let ChatTarget { system, tools, .. } = self.chat;
            let asked = self.model.ask(&self.talk, system.as_deref(), tools, &self.messages);
            let reply = asked.await?;
            self.usage = self.usage + reply.answer.usage;
            if reply.answer.ending == ReplyEnding::Truncated {
                // Who wants short replies says so; who says nothing would be graded on half of one.
                let is_wanted = matches!(self.chat.model.max_tokens, ReplyLimit::Tokens(_));
                if !is_wanted || reply.message.text.is_none() || !reply.message.calls.is_empty() {
                    return Err(self.model.truncated(&reply));
                }
                self.stopped = Some("max_tokens");
            }
            let calls = reply.message.calls.clone();
            let is_first = self.messages.len() == begin;
            // After tools a model may have nothing to add.
            if is_first
                && calls.is_empty()
                && reply.message.text.as_deref().unwrap_or("").trim().is_empty()
            {
                let message = "the model replied nothing";
                return Err(Failure::new(FailureKind::TargetFailed, message));
            }
            self.messages.push(ChatMessage::Assistant(reply.message));
            if calls.is_empty() || self.stopped.is_some() {
                return Ok(());
            }
            if self.requests == self.chat.max_turns {
                self.stopped = Some("max_turns");
                return Ok(());
            }
            let mut results = Vec::new();
            for call in calls {
                (self.talk.steps)(format!("tool {}", call.name));
                results.push(tools::answer(&self.talk, tools, call).await?);
            }
            self.messages.push(ChatMessage::Results(results));
        }
    }

    fn last_text(&self) -> String {
        let said = self.messages.iter().rev().find_map(|message| match message {
            ChatMessage::Assistant(message) => message.text.clone(),
            ChatMessage::User(_) | ChatMessage::Results(_) => None,
        });
        said.unwrap_or_default()
    }

    fn answer(&self, turns: &UserTurns<'_>) -> TargetAnswer {
        let mut row = Map::new();
        row.insert("output".to_owned(), Value::from(self.last_text()));
        row.insert("messages".to_owned(), Value::Array(transcript(&self.messages)));
        if let Some(stopped) = self.stopped {
            row.insert("stopped".to_owned(), Value::from(stopped));
        }
        turns.end(&mut row);
        let usage = usage_of_both(&self.talk, self.usage, turns.usage());
        TargetAnswer { row, usage, ..TargetAnswer::default() }
    }
}
