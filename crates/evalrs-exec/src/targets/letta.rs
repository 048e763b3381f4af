//! A target that is an agent on a Letta server: imported for each conversation, or one that is there.

use serde_json::{Map, Value};

use super::scripts::make_agent;
use super::talk::Talk;
use crate::letta::agent::{AgentPlan, AgentTurn, LettaAgent};
use crate::letta::server::LettaServer;
use evalrs_eval::target::answer::TargetAnswer;
use evalrs_letta::agent_state::{kept, model_of};
use evalrs_letta::requests;
use evalrs_letta::stream::used;
use evalrs_model::outcome::{Failure, FailureKind, Usage};
use evalrs_model::spec::{LettaAgentSource, LettaTarget};

/// Holds one conversation.
pub(super) async fn converse(
    talk: Talk<'_>,
    target: &LettaTarget,
) -> Result<TargetAnswer, Failure> {
    // An agent that is dropped is cancelled and deleted.
    let answered = tokio::time::timeout(talk.left(), converse_in_time(talk, target)).await;
    answered.unwrap_or_else(|_| Err(talk.late()))
}

async fn converse_in_time(talk: Talk<'_>, target: &LettaTarget) -> Result<TargetAnswer, Failure> {
    let action = &talk.launch.action;
    let server = server(&talk)?;
    let mut agent = agent(&talk, target, &server).await?;
    let mut turns = Vec::new();
    let mut usage = Usage::default();
    for (at, text) in action.turns().into_iter().enumerate() {
        (talk.steps)(format!("turn {}", at + 1));
        let told = agent.tell(&requests::message(&text, &Map::new())).await;
        let AgentTurn { run, messages } = told.map_err(|failure| {
            let sum = usage + failure.usage.unwrap_or_default();
            Failure { usage: (sum != Usage::default()).then_some(sum), ..failure }
        })?;
        usage = run.usage.iter().map(used).fold(usage, |sum, more| sum + more);
        turns.push(Value::Array(messages));
    }
    let state = agent.state().await?;
    let mut row = Map::new();
    row.insert("trajectory".to_owned(), Value::Array(turns));
    row.insert("agent_id".to_owned(), Value::from(agent.id()));
    row.insert("agent_state".to_owned(), kept(&state));
    row.extend(model_of(&state).map(|model| ("model_name".to_owned(), Value::from(model))));
    let usage = (usage != Usage::default()).then_some(usage);
    Ok(TargetAnswer { row, usage, ..TargetAnswer::default() })
}

fn server(talk: &Talk<'_>) -> Result<LettaServer, Failure> {
    let Some(access) = &talk.launch.access else {
        return Err(Failure::new(FailureKind::Unloadable, "no server is named"));
    };
    LettaServer::new(access.clone(), &talk.web.clients)
}

/// The agent that is talked with, with the model of this run. One that was made for it is deleted afterwards, unless it is
/// to stay.
async fn agent(
    talk: &Talk<'_>,
    target: &LettaTarget,
    server: &LettaServer,
) -> Result<LettaAgent, Failure> {
    let model = talk.launch.action.model.as_ref().map(|model| model.name.as_str());
    let config = model.and_then(|model| target.config_of(model));
    let handle = model.filter(|_| config.is_none());
    let made = &talk.web.agents;
    let agent = match &target.agent {
        LettaAgentSource::File { text, .. } => {
            let file = text.as_str().into();
            let plan =
                AgentPlan { file, model: handle.map(str::to_owned), keep: target.keep_agents };
            LettaAgent::new(server, plan, made).await?
        }
        LettaAgentSource::Id(id) => LettaAgent::existing(server, id, made),
        LettaAgentSource::Script => {
            let id = make_agent(talk).await?;
            LettaAgent::handed_over(server, id, target.keep_agents, made)
        }
    };
    // From here on it is deleted, whatever comes of it.
    let is_set = matches!(target.agent, LettaAgentSource::File { .. });
    if let Some(handle) = handle.filter(|_| !is_set) {
        server.set_model(agent.id(), handle).await?;
    }
    if let Some(config) = config {
        let config: Value = serde_json::from_str(&config.text).unwrap_or_default();
        server.set_config(agent.id(), &config).await?;
    }
    Ok(agent)
}
