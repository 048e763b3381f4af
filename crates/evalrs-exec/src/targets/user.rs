//! The messages of the user: the turns of the input, and then, where the suite has one, those of a model that simulates a
//! person.
//!
//! To that model the conversation is turned round: it is the assistant, and what the agent says comes from its user.

use std::vec::IntoIter;

use serde_json::{Map, Value};

use super::model::TalkingModel;
use super::talk::Talk;
use crate::launch::TargetAccess;
use evalrs_eval::judge::provider::ReplyEnding;
use evalrs_eval::judge::provider::chat::{AssistantMessage, ChatMessage};
use evalrs_model::outcome::{Failure, FailureKind, Usage};
use evalrs_model::spec::SimulatedUser;

/// The placeholder before the first message, which APIs require from their user.
const OPENING: &str = "Hello, how can I help you?";
/// The placeholder for a missing answer of the agent.
const SILENCE: &str = "(no answer)";

pub(super) struct UserTurns<'a> {
    given: IntoIter<String>,
    simulated: Option<UserModel<'a>>,
    count: u32,
    usage: Usage,
    /// Why it says nothing more, and its parting words.
    parting: Option<UserParting>,
}

/// How a simulated user ended a conversation.
struct UserParting {
    /// Why: `user` where it had what it wanted, `user_max_turns` at its limit.
    why: &'static str,
    /// The text beside the marker, which is not answered.
    words: Option<String>,
}

struct UserModel<'a> {
    user: &'a SimulatedUser,
    model: TalkingModel<'a>,
    system: String,
    /// The conversation as it sees it.
    messages: Vec<ChatMessage>,
}

impl<'a> UserTurns<'a> {
    pub(super) fn new(talk: &Talk<'a>) -> Result<Self, Failure> {
        let action = &talk.launch.action;
        let user = action.identity.spec.user.as_ref();
        let reached = action.identity.user.as_ref().zip(talk.launch.user.as_ref());
        let simulated = match user.zip(reached) {
            None => None,
            Some((user, (endpoint, access))) => {
                let who = "the simulated user";
                let model = TalkingModel::new(endpoint, access, action.trial, who)?
                    .going_on(user.max_turns > 1);
                let messages = vec![ChatMessage::User(OPENING.to_owned())];
                Some(UserModel { user, model, system: system(user), messages })
            }
        };
        let given = action.turns().into_iter();
        Ok(Self { given, simulated, count: 0, usage: Usage::default(), parting: None })
    }

    /// What the user says to an answer of the agent, which before the first one is of no interest; none ends the
    /// conversation.
    pub(super) async fn next(
        &mut self,
        talk: &Talk<'_>,
        answer: &str,
    ) -> Result<Option<String>, Failure> {
        let is_first = self.count == 0;
        if let Some(simulated) = self.simulated.as_mut().filter(|_| !is_first) {
            let answer = if answer.trim().is_empty() { SILENCE } else { answer };
            simulated.messages.push(ChatMessage::User(answer.to_owned()));
        }
        let says = match (self.given.next(), &mut self.simulated) {
            (Some(turn), _) => Some(turn),
            (None, None) => None,
            (None, Some(_)) if is_first => None,
            (None, Some(simulated)) if self.count >= simulated.user.max_turns => {
                self.parting = Some(UserParting { why: "user_max_turns", words: None });
                None
            }
            (None, Some(simulated)) => {
                (talk.steps)("the user answers".to_owned());
                let said = simulated.ask(talk, &mut self.usage).await?;
                let said = simulated.goes_on(&said);
                said.map_err(|parting| self.parting = Some(parting)).ok()
            }
        };
        if let (Some(text), Some(simulated)) = (&says, &mut self.simulated) {
            let said = AssistantMessage { text: Some(text.clone()), ..AssistantMessage::default() };
            simulated.messages.push(ChatMessage::Assistant(said));
        }
        self.count += u32::from(says.is_some());
        if self.count > 1 && says.is_some() {
            (talk.steps)(format!("turn {}", self.count));
        }
        Ok(says)
    }

    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// Notes in the row how the user ended the conversation, if it did.
    pub(super) fn end(&self, row: &mut Map<String, Value>) {
        let Some(parting) = &self.parting else { return };
        row.entry("stopped").or_insert_with(|| Value::from(parting.why));
        if let Some(words) = &parting.words {
            row.insert("parting_words".to_owned(), Value::from(words.as_str()));
        }
    }
}

impl UserModel<'_> {
    async fn ask(&mut self, talk: &Talk<'_>, usage: &mut Usage) -> Result<String, Failure> {
        let asked = self.model.ask(talk, Some(&self.system), &[], &self.messages).await;
        let reply = asked.map_err(not_of_agent)?;
        *usage = *usage + reply.answer.usage;
        if reply.answer.ending == ReplyEnding::Truncated {
            return Err(not_of_agent(self.model.truncated(&reply)));
        }
        Ok(reply.message.text.unwrap_or_default())
    }

    /// The message, unless it ends the conversation.
    fn goes_on(&self, said: &str) -> Result<String, UserParting> {
        let said = said.trim();
        let marker = self.user.stop_when.as_deref().filter(|marker| !marker.is_empty());
        let marker = marker.filter(|marker| said.contains(marker));
        if marker.is_none() && !said.is_empty() {
            return Ok(said.to_owned());
        }
        let words = marker.map(|marker| said.replace(marker, "").trim().to_owned());
        Err(UserParting { why: "user", words: words.filter(|words| !words.is_empty()) })
    }
}

/// A failure of the simulated user, which says nothing of the agent: it is not kept.
fn not_of_agent(failure: Failure) -> Failure {
    let is_kept = failure.kind.policy().stored;
    let kind = if is_kept { FailureKind::TargetFailed } else { failure.kind };
    Failure { kind, ..failure }
}

/// The role in the prompt of the model.
fn system(user: &SimulatedUser) -> String {
    let ending = match user.stop_when.as_deref().filter(|marker| !marker.is_empty()) {
        Some(marker) => format!(
            " Once you have what you came for, or it is clear that you will not get it, write {marker} and nothing else."
        ),
        None => String::new(),
    };
    format!(
        "You play a person who talks with an assistant. Everything that you are sent comes from that assistant; you are \
         its user, and never assist it. Write only the next message of this person, in their words and as short as \
         people write, without quotes, names or remarks about it. Tell the assistant what it asks for as far as the \
         person knows it, and make nothing else up.{ending}\n\nThe person:\n\n{}",
        user.persona.trim()
    )
}

/// What the agent and its user used, each at its own price where both prices are known.
pub(super) fn usage_of_both(talk: &Talk<'_>, agent: Usage, user: Usage) -> Option<Usage> {
    let nothing = Usage::default();
    let launch = talk.launch;
    let cost = |usage: Usage, access: Option<&TargetAccess>| {
        usage.cost.or_else(|| access?.price.map(|price| usage.billed_at(price)))
    };
    let priced = Usage { cost: cost(user, launch.user.as_ref()), ..user };
    match (agent == nothing, user == nothing) {
        (true, true) => None,
        (false, true) => Some(agent),
        (true, false) => Some(priced),
        (false, false) => {
            let costs = cost(agent, launch.access.as_ref()).zip(priced.cost);
            Some(Usage {
                cost: costs.map(|(agent, user)| agent + user),
                told: agent.told && user.told,
                ..agent + user
            })
        }
    }
}
