//! Calls a judge that is an agent of a Letta server: one new agent for every judgment.
//!
//! A conversation counts as one request against the limits of its endpoint. It is had again, with a new agent, where a
//! failure may pass; a verdict that is none is asked for again in the same conversation, with its fault named.

use serde_json::{Map, Value};

use super::asking::AskedAction;
use super::endpoints::RequestSlot;
use super::pause::Pause;
use crate::launch::TargetAccess;
use crate::letta::agent::{AgentPlan, LettaAgent, MadeAgents};
use crate::letta::server::LettaServer;
use crate::transport::client::Clients;
use evalrs_eval::judge::provider::RE_ASKS;
use evalrs_eval::judge::template;
use evalrs_letta::agent_state::{model_of, unable};
use evalrs_letta::requests;
use evalrs_letta::stream::used;
use evalrs_letta::verdict::{NoVerdict, verdict};
use evalrs_model::outcome::{Failure, FailureKind, JudgeExchange, RejectedReply, Reply, Usage};
use evalrs_model::spec::AgentSpec;

/// What conversations with agents need of the world.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgentWorld<'a> {
    pub clients: &'a Clients,
    pub made: &'a MadeAgents,
}

/// Calls an agent until there is a verdict or a permanent failure.
pub(super) async fn ask(
    world: AgentWorld<'_>,
    agent: &AgentSpec,
    asking: &AskedAction<'_>,
) -> Result<Reply, Failure> {
    let launch = asking.launch;
    let access = TargetAccess {
        base_url: launch.base_url.clone(),
        api_key: launch.api_key.clone(),
        headers: launch.headers.clone(),
        price: None,
        caching: None,
    };
    let server = LettaServer::new(access, world.clients)?;
    let had = asking.with_retries("a verdict", async |slot| {
        let patience = asking.patience();
        let judging = judge(&server, world.made, agent, asking);
        let judged = tokio::time::timeout(patience, judging).await;
        let judged = judged.unwrap_or_else(|_| Err(asking.timed_out(patience)));
        land(slot, &judged);
        judged
    });
    had.await
}

/// Reports to the endpoint how a conversation landed. What the model behind a server refused is that server's to
/// bear.
fn land(slot: RequestSlot<'_>, judged: &Result<Reply, Failure>) {
    let (status, usage) = match judged {
        Ok(reply) => (Some(200), reply.usage),
        Err(failure) => match failure.kind {
            FailureKind::Timeout | FailureKind::Deadline => {
                return slot.timed_out(&format!("gave {}", failure.message));
            }
            FailureKind::RateLimited => (Some(429), failure.usage),
            FailureKind::Connection => (None, failure.usage),
            FailureKind::Server => (Some(500), failure.usage),
            // The server answered, whatever it said.
            _ => (Some(200), failure.usage),
        },
    };
    let tokens = usage.map(|usage| usage.input + usage.output);
    slot.landed(status, &Pause::default(), tokens.filter(|tokens| *tokens > 0));
}

/// One conversation.
async fn judge(
    server: &LettaServer,
    made: &MadeAgents,
    spec: &AgentSpec,
    asking: &AskedAction<'_>,
) -> Result<Reply, Failure> {
    let action = &asking.launch.action;
    let plan = AgentPlan { file: spec.text.clone(), model: spec.model.clone(), keep: spec.keep };
    let mut agent = LettaAgent::new(server, plan, made).await?;
    let state = agent.state().await?;
    if let Some(why) = unable(&state, &spec.tool) {
        // That is mended at the server.
        return Err(Failure::new(FailureKind::NotFound, why));
    }
    let extra: Map<String, Value> = serde_json::from_str(&action.extra_body).unwrap_or_default();
    let mut usage = Usage::default();
    let mut text = action.user.clone();
    let mut asked = 0;
    let mut rejected: Vec<RejectedReply> = Vec::new();
    loop {
        let told = agent.tell(&requests::message(&text, &extra)).await;
        let turn =
            told.map_err(|failure| Failure { usage: spent(usage, failure.usage), ..failure })?;
        usage = turn.run.usage.iter().map(used).fold(usage, |sum, more| sum + more);
        asked += 1;
        let none = match read(&turn.messages, spec, asking) {
            Ok(text) => {
                let text = server.clean(&text);
                let exchange = JudgeExchange { rejected, ..JudgeExchange::default() }.kept();
                let usage = spent(usage, None);
                return Ok(Reply { text, model: model_of(&state), usage, exchange });
            }
            Err(none) => none,
        };
        if none.is_pending || asked > RE_ASKS {
            let failure = no_verdict(none, asked);
            let reply = failure.reply.map(|reply| server.clean(&reply));
            let exchange = JudgeExchange { rejected, ..JudgeExchange::default() }.kept();
            return Err(Failure { reply, usage: spent(usage, None), exchange, ..failure });
        }
        let said = none.said.as_deref().map(|said| server.clean(said)).unwrap_or_default();
        rejected.push(RejectedReply { text: said, fault: none.fault.clone() });
        text = template::agent_correction(&none.fault, &spec.tool, &action.question);
    }
}

/// The verdict in the messages of a run, which can be read as one.
fn read(
    messages: &[Value],
    spec: &AgentSpec,
    asking: &AskedAction<'_>,
) -> Result<String, NoVerdict> {
    let text = verdict(messages, &spec.tool)?;
    match asking.launch.action.verdict(&text) {
        Ok(_) => Ok(text),
        Err(fault) => Err(NoVerdict { fault, said: Some(text), is_pending: false }),
    }
}

fn no_verdict(none: NoVerdict, asked: usize) -> Failure {
    let NoVerdict { fault, said, is_pending } = none;
    let (kind, message) = if is_pending {
        let hint = "at the server, switch off that this tool requires it";
        (FailureKind::NotFound, format!("{fault}: {hint}"))
    } else {
        (FailureKind::InvalidReply, format!("invalid reply, asked {asked} times: {fault}"))
    };
    Failure { reply: said, ..Failure::new(kind, message) }
}

fn spent(usage: Usage, more: Option<Usage>) -> Option<Usage> {
    let sum = usage + more.unwrap_or_default();
    (sum != Usage::default()).then_some(sum)
}
