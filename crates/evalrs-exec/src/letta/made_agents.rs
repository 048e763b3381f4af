//! The agents that this process has made and has to delete.
//!
//! An agent is deleted when it is dropped, however that comes about: after its answer, after a failure, or because what
//! asked it was dropped in the middle. That takes requests, so a task of the runtime does it, and whoever ends the runtime
//! waits here for those tasks first. Every agent and every task holds a sender; when the last of them is gone, so is all
//! they had to do.

use std::cell::RefCell;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout_at};

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

    /// Waits until every agent is deleted, but no longer than a moment, and says which ones are left.
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
                    left.push(
                        "agents are left at the Letta server: deleting them took too long"
                            .to_owned(),
                    );
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
