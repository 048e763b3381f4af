//! Weaves what spans say, in the order of time, into one conversation.
//!
//! What a span says at its end (the answer of a tool, the last word of an agent) waits until a span comes that is not below
//! it, so that what happened within stands before.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::messages::ModelMessages;
use super::span::{Span, SpanKind, SpanTree};
use crate::turns::Turns;
use crate::{MessageBody, ToolCall, ToolReturn, Trajectory};

/// How many open calls of one tool are compared by their arguments.
const COMPARED_CALLS: usize = 64;

/// Which agent's conversation something belongs to: the span of a sub-agent, none for the target itself.
type AgentId = Option<usize>;

/// Puts the messages of spans together.
pub(super) struct Weaver<'a> {
    spans: &'a SpanTree,
    messages: Vec<ModelMessages>,
    /// Of each span, whether there are messages in a request below it.
    is_told_below: Vec<bool>,
    /// For each agent, whether it calls models itself.
    asks: Vec<bool>,
    agents: BTreeMap<AgentId, AgentConversation>,
    entries: Vec<WovenMessage>,
    pending: Vec<PendingSpan>,
}

/// A message of one of the agents.
struct WovenMessage {
    agent: AgentId,
    body: MessageBody,
}

/// What a span says when it ends.
struct PendingSpan {
    span: usize,
    agent: AgentId,
    last: LastWord,
}

enum LastWord {
    Said(Vec<MessageBody>),
    /// What a tool answered.
    Answered(ToolReturn),
}

/// The texts in the conversation of one agent so far, as places among all entries.
#[derive(Default)]
struct AgentConversation {
    texts: BTreeMap<TextKey, Vec<usize>>,
    calls: BTreeMap<CallKey, Vec<usize>>,
    returns: BTreeMap<Option<String>, Vec<usize>>,
    /// Calls that no span of a tool was found for: by what they are, and by the name of the tool.
    open: BTreeMap<CallKey, VecDeque<usize>>,
    open_by_name: BTreeMap<String, VecDeque<usize>>,
}

/// The role of a text, and the text without white space at its ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TextKey {
    role: &'static str,
    text: String,
}

/// A call by its id, or by what it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum CallKey {
    Id(String),
    Text(String),
}

impl CallKey {
    fn of(call: &ToolCall) -> Self {
        match &call.id {
            Some(id) => Self::Id(id.clone()),
            None => Self::Text(format!("{}\n{}", call.name, call.arguments)),
        }
    }
}

impl TextKey {
    fn of(body: &MessageBody) -> Option<Self> {
        let (role, text) = match body {
            MessageBody::System(text) => ("system", text.trim().to_owned()),
            MessageBody::User(text) => ("user", text.trim().to_owned()),
            MessageBody::Assistant(text) => ("assistant", text.trim().to_owned()),
            MessageBody::Reasoning(text) => ("reasoning", text.trim().to_owned()),
            MessageBody::Other(value) => ("other", value.to_string()),
            MessageBody::ToolCall(_) | MessageBody::ToolReturn(_) => return None,
        };
        Some(Self { role, text })
    }
}

/// How far a request that repeats a conversation has been followed.
#[derive(Default)]
struct FollowedRequest {
    /// The entry that texts are looked for from.
    from: usize,
    calls: BTreeMap<CallKey, usize>,
    returns: BTreeMap<Option<String>, usize>,
}

impl<'a> Weaver<'a> {
    pub(super) fn new(spans: &'a SpanTree) -> Self {
        let messages: Vec<ModelMessages> = spans.list.iter().map(ModelMessages::of).collect();
        let count = messages.len();
        let mut is_told_below = vec![false; count];
        let mut asks = is_told_below.clone();
        for (place, span) in spans.list.iter().enumerate() {
            if span.kind != SpanKind::Model || messages[place].is_empty() {
                continue;
            }
            spans.above(place).for_each(|above| is_told_below[above] = true);
            if let Some(agent) =
                nearest(spans, place).filter(|place| is(spans, *place, SpanKind::Agent))
            {
                asks[agent] = true;
            }
        }
        let agents = BTreeMap::new();
        let entries = Vec::new();
        Self { spans, messages, is_told_below, asks, agents, entries, pending: Vec::new() }
    }

    /// Takes in a request to a model. What is asked within another request is the same one, told again.
    pub(super) fn model(&mut self, place: usize, span: &Span) {
        self.settle(place);
        let is_outer = |above: usize| {
            is(self.spans, above, SpanKind::Model) && !self.messages[above].is_empty()
        };
        if self.spans.above(place).any(is_outer) {
            return;
        }
        let agent = self.agent_of(place);
        let messages = std::mem::take(&mut self.messages[place]);
        if messages.is_empty() {
            return self.root(place, span);
        }
        self.follow(agent, messages.input);
        for body in messages.output {
            self.push(agent, body);
        }
        // Others look whether it has messages.
        self.messages[place].output.push(MessageBody::Other(Value::Null));
    }

    /// Takes in a call of a tool: the one that a message reports, or one that nothing else reports.
    pub(super) fn tool(&mut self, place: usize, span: &Span) {
        self.settle(place);
        let agent = self.agent_of(place);
        let call = called(span);
        let told = self.agents.entry(agent).or_default().claim(&call, &self.entries);
        let id = match told.and_then(|told| self.entries.get(told)) {
            Some(WovenMessage { body: MessageBody::ToolCall(told), .. }) => told.id.clone(),
            _ => {
                let id = call.id.clone().unwrap_or_else(|| format!("span {place}"));
                let call = ToolCall { id: Some(id.clone()), ..call };
                self.push(agent, MessageBody::ToolCall(call.clone()));
                self.agents.entry(agent).or_default().claim(&call, &self.entries);
                Some(id)
            }
        };
        let last = LastWord::Answered(answered(span, id));
        self.pending.push(PendingSpan { span: place, agent, last });
    }

    /// Takes in an agent, which may say what its requests do not.
    pub(super) fn agent(&mut self, place: usize, span: &Span) {
        self.settle(place);
        let messages = std::mem::take(&mut self.messages[place]);
        if self.is_told_below[place] {
            return;
        }
        if messages.is_empty() {
            return self.root(place, span);
        }
        let agent = if self.is_subagent(place) { Some(place) } else { self.agent_of(place) };
        self.follow(agent, messages.input);
        self.pending.push(PendingSpan {
            span: place,
            agent,
            last: LastWord::Said(messages.output),
        });
    }

    /// Takes in a span without parents: what went in and came out, where nothing below says more.
    pub(super) fn root(&mut self, place: usize, span: &Span) {
        self.settle(place);
        if span.parent.is_some() || self.is_told_below[place] {
            return;
        }
        let input = ["input.value", "traceloop.entity.input"];
        let output = ["output.value", "traceloop.entity.output"];
        let said = span.attributes.first_text(&input).map(MessageBody::User);
        self.follow(None, said.into_iter().collect());
        let answer = span.attributes.first_text(&output).map(MessageBody::Assistant);
        let last = LastWord::Said(answer.into_iter().collect());
        self.pending.push(PendingSpan { span: place, agent: None, last });
    }

    /// All of it as turns.
    pub(super) fn finish(mut self) -> Trajectory {
        self.settle(usize::MAX);
        let mut turns = Turns::default();
        for WovenMessage { agent, body } in self.entries {
            if agent.is_none() && matches!(body, MessageBody::User(_)) {
                turns.start();
            }
            turns.push_of(body, agent.is_some());
        }
        turns.into_trajectory()
    }

    /// Says the last words of spans that the span at `next` is not below.
    fn settle(&mut self, next: usize) {
        while let Some(pending) = self.pending.last() {
            if self.spans.above(next).any(|above| above == pending.span) {
                return;
            }
            let Some(PendingSpan { agent, last, .. }) = self.pending.pop() else { return };
            match last {
                LastWord::Answered(answer) => self.answer(agent, answer),
                LastWord::Said(bodies) => {
                    let from = self.entries.len();
                    let mut followed = FollowedRequest { from, ..FollowedRequest::default() };
                    for body in bodies {
                        self.follow_one(agent, body, &mut followed);
                    }
                }
            }
        }
    }

    /// Adds the answer of a tool, unless a message had it already: then only whether it failed.
    fn answer(&mut self, agent: AgentId, answer: ToolReturn) {
        let conversation = self.agents.entry(agent).or_default();
        let calls =
            answer.call_id.clone().map(CallKey::Id).and_then(|key| conversation.calls.get(&key));
        let made = calls.map_or(0, Vec::len);
        let told = conversation.returns.get(&answer.call_id);
        match told.filter(|told| answer.call_id.is_some() && told.len() >= made.max(1)) {
            Some(told) => {
                let last = told.last().copied();
                if let Some(WovenMessage { body: MessageBody::ToolReturn(told), .. }) =
                    last.and_then(|place| self.entries.get_mut(place))
                {
                    told.failed |= answer.failed;
                }
            }
            None => self.push(agent, MessageBody::ToolReturn(answer)),
        }
    }

    /// Adds what is new in messages that may repeat the conversation.
    fn follow(&mut self, agent: AgentId, bodies: Vec<MessageBody>) {
        let mut followed = FollowedRequest::default();
        for body in bodies {
            self.follow_one(agent, body, &mut followed);
        }
    }

    fn follow_one(&mut self, agent: AgentId, body: MessageBody, followed: &mut FollowedRequest) {
        let conversation = self.agents.entry(agent).or_default();
        let known = match &body {
            MessageBody::ToolCall(call) => {
                let key = CallKey::of(call);
                let seen = followed.calls.entry(key.clone()).or_default();
                *seen += 1;
                conversation.calls.get(&key).and_then(|places| places.get(*seen - 1)).copied()
            }
            MessageBody::ToolReturn(answer) => {
                let seen = followed.returns.entry(answer.call_id.clone()).or_default();
                *seen += 1;
                let places = conversation.returns.get(&answer.call_id);
                places.and_then(|places| places.get(*seen - 1)).copied()
            }
            text => {
                let places = TextKey::of(text).and_then(|key| conversation.texts.get(&key));
                places.and_then(|places| {
                    places.get(places.partition_point(|place| *place < followed.from)).copied()
                })
            }
        };
        let Some(place) = known else {
            self.push(agent, body);
            followed.from = self.entries.len();
            return;
        };
        followed.from = followed.from.max(place + 1);
        // The model was told this text, whatever the span of the tool says.
        if let (
            MessageBody::ToolReturn(now),
            Some(WovenMessage { body: MessageBody::ToolReturn(before), .. }),
        ) = (body, self.entries.get_mut(place))
            && !now.output.is_empty()
        {
            before.output = now.output;
        }
    }

    fn push(&mut self, agent: AgentId, body: MessageBody) {
        let place = self.entries.len();
        let conversation = self.agents.entry(agent).or_default();
        match &body {
            MessageBody::ToolCall(call) => {
                conversation.calls.entry(CallKey::of(call)).or_default().push(place);
                conversation.open.entry(CallKey::of(call)).or_default().push_back(place);
                let by_name = &mut conversation.open_by_name;
                by_name.entry(call.name.clone()).or_default().push_back(place);
            }
            MessageBody::ToolReturn(answer) => {
                conversation.returns.entry(answer.call_id.clone()).or_default().push(place);
            }
            text => {
                if let Some(key) = TextKey::of(text) {
                    conversation.texts.entry(key).or_default().push(place);
                }
            }
        }
        self.entries.push(WovenMessage { agent, body });
    }

    /// Whose conversation a request or a call below other spans belongs to.
    fn agent_of(&self, place: usize) -> AgentId {
        let owner = nearest(self.spans, place)?;
        let is_tool = is(self.spans, owner, SpanKind::Tool);
        (is_tool || self.is_subagent(owner)).then_some(owner)
    }

    /// Whether an agent works for a tool, or for an agent that calls models itself.
    fn is_subagent(&self, agent: usize) -> bool {
        self.spans
            .above(agent)
            .any(|above| is(self.spans, above, SpanKind::Tool) || self.asks[above])
    }
}

/// The nearest tool or agent above a span.
fn nearest(spans: &SpanTree, place: usize) -> Option<usize> {
    let is_either =
        |place: &usize| is(spans, *place, SpanKind::Tool) || is(spans, *place, SpanKind::Agent);
    spans.above(place).find(is_either)
}

fn is(spans: &SpanTree, place: usize, kind: SpanKind) -> bool {
    spans.list.get(place).is_some_and(|span| span.kind == kind)
}

/// The call that a span of a tool represents.
fn called(span: &Span) -> ToolCall {
    let id = ["gen_ai.tool.call.id", "tool_call.id", "tool.id"];
    let names =
        ["gen_ai.tool.name", "tool.name", "tool_call.function.name", "traceloop.entity.name"];
    let arguments =
        ["gen_ai.tool.call.arguments", "input.value", "tool.parameters", "traceloop.entity.input"];
    let name = span.attributes.first_text(&names).unwrap_or_else(|| {
        span.name.strip_prefix("execute_tool ").unwrap_or(&span.name).to_owned()
    });
    let arguments = span.attributes.first_text(&arguments).unwrap_or_default();
    ToolCall { id: span.attributes.first_text(&id), name, arguments }
}

/// What a span of a tool says came of the call.
fn answered(span: &Span, call_id: Option<String>) -> ToolReturn {
    let output = ["gen_ai.tool.call.result", "output.value", "traceloop.entity.output"];
    let exception = || {
        let events = span.events.iter().filter(|event| event.name == "exception");
        let mut messages = events.filter_map(|event| event.attributes.text("exception.message"));
        let message = messages.next().filter(|_| span.failed)?;
        Some(message.to_owned())
    };
    let output = span.attributes.first_text(&output).or_else(exception).unwrap_or_default();
    ToolReturn::new(call_id, output, span.failed)
}

impl AgentConversation {
    /// The call that a span of a tool is of: the one with its id, else the first open one of its name, if need be with
    /// other arguments. No other span will be of it.
    fn claim(&mut self, call: &ToolCall, entries: &[WovenMessage]) -> Option<usize> {
        if call.id.is_some()
            && let Some(place) = self.open.get_mut(&CallKey::of(call)).and_then(VecDeque::pop_front)
        {
            return Some(place);
        }
        let told = |place: usize| match entries.get(place).map(|entry| &entry.body) {
            Some(MessageBody::ToolCall(told)) => Some(told),
            _ => None,
        };
        let open = self.open_by_name.get_mut(&call.name)?;
        let waits = |place: &usize| {
            let same = told(*place).and_then(|told| self.open.get(&CallKey::of(told)));
            same.is_some_and(|all| all.binary_search(place).is_ok())
        };
        while open.front().is_some_and(|place| !waits(place)) {
            open.pop_front();
        }
        // One of the two has no id: calls with different ids are different calls.
        let may_be =
            |place: &usize| told(*place).is_some_and(|told| told.id.is_none() || call.id.is_none());
        let alike = |place: &usize| {
            told(*place).is_some_and(|told| same_arguments(&told.arguments, &call.arguments))
        };
        let nearby = || open.iter().take(COMPARED_CALLS);
        let fits = |place: &usize| waits(place) && may_be(place);
        let at = nearby().position(|place| fits(place) && alike(place));
        let at = at.or_else(|| nearby().position(fits))?;
        let place = open.remove(at)?;
        let waiting = told(place).and_then(|told| self.open.get_mut(&CallKey::of(told)))?;
        if let Ok(at) = waiting.binary_search(&place) {
            waiting.remove(at);
        }
        Some(place)
    }
}

/// Whether two arguments are the same JSON, or the same text.
fn same_arguments(one: &str, other: &str) -> bool {
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    one == other || json(one).is_some_and(|value| Some(value) == json(other))
}
