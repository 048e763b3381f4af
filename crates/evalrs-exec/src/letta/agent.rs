//! Agents of a Letta server, each from its making to its end.
//!
//! It is made by a task of its own: one that is not waited for any more is made to the end all the same, for only then is
//! it known which one to delete.
//!
//! One is deleted when it is dropped, however that comes about: after its answer, after a failure, or because what asked it
//! was dropped in the middle. That takes requests, so a task of the runtime does it, and whoever ends the runtime waits for
//! those tasks first. Every agent and every task holds a sender; when the last of them is gone, so is all they had to do.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout_at};

use super::server::LettaServer;
use evalrs_letta::stream::{EndedRun, StreamReading};
use evalrs_model::outcome::{Failure, FailureKind};

#[derive(Clone, Debug)]
pub(crate) struct AgentPlan {
    pub file: std::sync::Arc<str>,
    /// The model it gets instead of its own.
    pub model: Option<String>,
    /// Whether it stays at the server.
    pub keep: bool,
}

/// An agent. Dropped, it is deleted: what it still does is cancelled before.
#[derive(Debug)]
pub(crate) struct LettaAgent {
    server: LettaServer,
    id: String,
    keep: bool,
    /// Whether it works on a message whose end was not seen.
    is_running: bool,
    held: UnboundedSender<AgentLeft>,
}

/// What an agent answered to one message.
#[derive(Clone, Debug)]
pub(crate) struct AgentTurn {
    pub run: EndedRun,
    /// Every message of the run, from the one that was sent on, as the server writes them.
    pub messages: Vec<Value>,
}

impl LettaAgent {
    pub(crate) async fn new(
        server: &LettaServer,
        plan: AgentPlan,
        made: &MadeAgents,
    ) -> Result<Self, Failure> {
        let server = server.clone();
        let held = made.hold();
        let making = tokio::spawn(async move {
            let model = plan.model.as_deref();
            let id = server.import(&plan.file, model).await?;
            let agent = Self { server, id, keep: plan.keep, is_running: false, held };
            if let Some(model) = model {
                agent.server.set_model(&agent.id, model).await?;
            }
            Ok(agent)
        });
        let stopped = "not called: the making of an agent was stopped";
        making.await.unwrap_or_else(|_| Err(Failure::new(FailureKind::NotAsked, stopped)))
    }

    /// One that is there, and stays.
    pub(crate) fn existing(server: &LettaServer, id: &str, made: &MadeAgents) -> Self {
        Self::handed_over(server, id.to_owned(), true, made)
    }

    /// One that somebody has made for this conversation: it goes with it, unless it is to stay.
    pub(crate) fn handed_over(
        server: &LettaServer,
        id: String,
        keep: bool,
        made: &MadeAgents,
    ) -> Self {
        Self { server: server.clone(), id, keep, is_running: false, held: made.hold() }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// What the server says of it: its tools, its memory blocks, its model.
    pub(crate) async fn state(&self) -> Result<Value, Failure> {
        self.server.agent(&self.id).await
    }

    /// Sends it a message, and reads all that it does until it has answered.
    pub(crate) async fn tell(&mut self, message: &Value) -> Result<AgentTurn, Failure> {
        // From here on, for a message may have arrived whose answer never does.
        self.is_running = true;
        let mut response = match self.server.stream(&self.id, message).await {
            Ok(response) => response,
            Err(failure) => {
                self.is_running = failure.kind == FailureKind::Connection;
                return Err(failure);
            }
        };
        let mut reading = StreamReading::default();
        while !reading.is_done() {
            match response.chunk().await {
                Ok(Some(piece)) => reading.push(&piece)?,
                Ok(None) => break,
                Err(error) => return Err(self.server.broken(&error)),
            }
        }
        let ended = reading.finish();
        // A stream that broke off says nothing of what goes on behind it.
        self.is_running =
            ended.as_ref().is_err_and(|failure| failure.kind == FailureKind::Connection);
        let run = ended.map_err(|failure| Failure {
            message: self.server.clean(&failure.message),
            ..failure
        })?;
        let messages = self.server.run_messages(&run.id).await?;
        Ok(AgentTurn { run, messages })
    }
}

impl Drop for LettaAgent {
    fn drop(&mut self) {
        if self.keep && !self.is_running {
            return;
        }
        let id = std::mem::take(&mut self.id);
        let held = self.held.clone();
        let Ok(runtime) = Handle::try_current() else {
            let _ = held.send(left(&self.server, &id, "the program was ending"));
            return;
        };
        let server = self.server.clone();
        let keep = self.keep;
        let is_running = self.is_running;
        runtime.spawn(async move {
            if is_running {
                // Deleting it matters more than why it cannot be cancelled.
                let _ = server.cancel(&id).await;
            }
            if keep {
                return;
            }
            if let Err(failure) = server.delete(&id).await {
                let _ = held.send(left(&server, &id, &failure.message));
            }
        });
    }
}

fn left(server: &LettaServer, id: &str, why: &str) -> AgentLeft {
    format!("the agent `{id}` remains at {}: {why}", server.url())
}

/// How long a command waits for agents to be deleted before it ends.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// What is left of an agent that could not be deleted, in a sentence.
pub(crate) type AgentLeft = String;

/// The agents that are not deleted yet.
#[derive(Debug)]
pub(crate) struct MadeAgents {
    channel: RefCell<Channel>,
}

#[derive(Debug)]
struct Channel {
    sender: UnboundedSender<AgentLeft>,
    receiver: UnboundedReceiver<AgentLeft>,
}

impl Channel {
    fn new() -> Self {
        let (sender, receiver) = unbounded_channel();
        Self { sender, receiver }
    }
}

impl Default for MadeAgents {
    fn default() -> Self {
        Self { channel: RefCell::new(Channel::new()) }
    }
}

impl MadeAgents {
    /// What an agent holds as long as it is there.
    pub(crate) fn hold(&self) -> UnboundedSender<AgentLeft> {
        self.channel.borrow().sender.clone()
    }

    /// Waits until every agent is deleted, but no longer than a moment, and reports which ones are
    /// left.
    pub(crate) async fn deleted(&self) -> Vec<AgentLeft> {
        let Channel { sender, mut receiver } = self.channel.replace(Channel::new());
        drop(sender);
        let until = Instant::now() + MAX_WAIT;
        let mut left = Vec::new();
        loop {
            match timeout_at(until, receiver.recv()).await {
                Ok(Some(agent)) => left.push(agent),
                Ok(None) => return left,
                Err(_) => {
                    let late = "agents remain on the Letta server: deleting them took too long";
                    left.push(late.to_owned());
                    return left;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MadeAgents;

    #[tokio::test(start_paused = true)]
    async fn whoever_ends_waits_for_every_agent_and_no_longer_than_a_moment() {
        let agents = MadeAgents::default();
        assert_eq!(agents.deleted().await, Vec::<String>::new());
        let held = agents.hold();
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            let _ = held.send("one is left".to_owned());
        });
        assert_eq!(agents.deleted().await, ["one is left"]);
        let held = agents.hold();
        assert!(agents.deleted().await[0].contains("took too long"));
        drop(held);
        assert_eq!(agents.deleted().await, Vec::<String>::new());
    }
}
