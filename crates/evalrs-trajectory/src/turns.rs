//! Messages into turns: what the readers of all formats have in common.
//!
//! Lists of turns are kept as they are given, flat lists are cut at user messages. Whatever comes before the
//! first user message (instructions, a greeting) belongs to the first turn, so that turn `i` always answers
//! input `i`.

use std::sync::Arc;

use serde_json::Value;

use super::node::RecordedNode;
use super::step_facts::StepFacts;
use super::{Message, MessageBody, ReadResult, Trajectory, TrajectoryTotals, Turn};

/// Reads a list of messages or of turns with `read_list`, which is given the list or each of the turns. The list may
/// stand under `messages` of an object, beside an `agent_state`.
pub(super) fn conversation(
    root: RecordedNode<'_, '_>,
    read_list: impl Fn(RecordedNode<'_, '_>, &mut Turns) -> ReadResult,
) -> ReadResult<Trajectory> {
    let is_object = root.value().is_object();
    let list = if is_object { root.get("messages") } else { root };
    let mut turns = Turns::default();
    if list.value().as_array().is_some_and(|items| items.iter().any(Value::is_array)) {
        for turn in list.items("a list of turns")? {
            turns.given();
            read_list(turn, &mut turns)?;
        }
    } else {
        read_list(list, &mut turns)?;
    }
    let state = root.get("agent_state");
    let has_state = is_object && !state.is_nothing();
    let agent_state = has_state.then(|| state.value().clone());
    Ok(Trajectory { agent_state, ..turns.into_trajectory() })
}

/// Reads a conversation message by message.
pub(super) fn by_message(
    root: RecordedNode<'_, '_>,
    read_message: fn(RecordedNode<'_, '_>, &mut Turns) -> ReadResult,
) -> ReadResult<Trajectory> {
    conversation(root, |list, turns| {
        list.items("a list of messages")?.try_for_each(|message| {
            turns.at_step(StepFacts::of(message.value()));
            read_message(message, turns)
        })
    })
}

/// The turns read so far.
#[derive(Debug, Default)]
pub(super) struct Turns {
    done: Vec<Turn>,
    state: TurnState,
    calls: usize,
    totals: TrajectoryTotals,
    has_totals: bool,
    /// The call that started the sub-agent whose messages are read.
    started_by: Option<Arc<str>>,
    /// What is recorded of the step whose messages are read.
    step: Option<Arc<StepFacts>>,
}

/// The agent whose messages are read, while those of a sub-agent come between.
#[derive(Debug)]
pub(super) struct AgentAtWork {
    started_by: Option<Arc<str>>,
    step: Option<Arc<StepFacts>>,
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
    pub(crate) fn given(&mut self) {
        self.done.push(Turn::default());
        self.state = TurnState::Given;
    }

    /// Says that a message of the user follows, which starts a turn.
    pub(crate) fn start(&mut self) {
        match self.state {
            TurnState::Given => {}
            TurnState::Opening => self.state = TurnState::Running,
            TurnState::Running | TurnState::Over => {
                self.done.push(Turn::default());
                self.state = TurnState::Running;
            }
        }
    }

    /// Adds a message of the user, which starts a turn.
    pub(super) fn ask(&mut self, text: String) {
        self.start();
        self.push(MessageBody::User(text));
    }

    /// Says that the last turn is over.
    pub(crate) fn end(&mut self) {
        if self.state != TurnState::Given && !self.done.is_empty() {
            self.state = TurnState::Over;
        }
    }

    /// Takes over what a recording says at the end of turns. What they cost is known where it says so once: whether a
    /// later number counts the earlier ones depends on how the session was kept.
    pub(super) fn add_totals(&mut self, of_turns: TrajectoryTotals) {
        let TrajectoryTotals { duration_ms, .. } = self.totals;
        let with_time = duration_ms.zip(of_turns.duration_ms).map(|(before, now)| before + now);
        self.totals = if std::mem::replace(&mut self.has_totals, true) {
            TrajectoryTotals { duration_ms: with_time, cost_usd: None }
        } else {
            of_turns
        };
    }

    /// Adds a message of the target itself or of its user.
    pub(crate) fn push(&mut self, body: MessageBody) {
        self.push_of(body, false);
    }

    /// Says which call started the sub-agent whose messages follow.
    pub(super) fn started_by(&mut self, call: Option<&str>) {
        self.started_by = call.map(Arc::from);
    }

    /// Says that what follows is of the sub-agent that `call` started. Returns what is to be gone on with after it.
    pub(super) fn begin_subagent(&mut self, call: Option<&str>) -> AgentAtWork {
        let step = self.step.take();
        AgentAtWork {
            step,
            started_by: std::mem::replace(&mut self.started_by, call.map(Arc::from)),
        }
    }

    /// Goes on with the agent before.
    pub(super) fn end_subagent(&mut self, before: AgentAtWork) {
        self.started_by = before.started_by;
        self.step = before.step;
    }

    /// Says what is recorded of the step whose messages follow.
    pub(super) fn at_step(&mut self, facts: Option<StepFacts>) {
        self.step = facts.map(Arc::new);
    }

    /// Adds a message, perhaps of a sub-agent.
    pub(super) fn push_of(&mut self, body: MessageBody, subagent: bool) {
        if self.state == TurnState::Over {
            self.start();
        }
        self.calls += usize::from(matches!(body, MessageBody::ToolCall(_)));
        let started_by = self.started_by.clone().filter(|_| subagent);
        let step = self.step.clone();
        self.step = step.as_ref().and_then(|step| step.time_alone()).map(Arc::new);
        let message = Message { body, subagent, started_by, step };
        match self.done.last_mut() {
            Some(turn) => turn.messages.push(message),
            None => self.done.push(Turn { messages: vec![message] }),
        }
    }

    /// All that was read.
    pub(super) fn into_trajectory(self) -> Trajectory {
        Trajectory { turns: self.done, agent_state: None, totals: self.totals }
    }

    /// The last turn.
    pub(crate) fn last(&self) -> &[Message] {
        self.done.last().map_or(&[], |turn| &turn.messages)
    }

    /// How many calls of tools have been read.
    pub(super) fn call_count(&self) -> usize {
        self.calls
    }
}
