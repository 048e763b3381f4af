//! The ingredients that all conversations of a target have in common.
//!
//! Not among them: time limits, retries, concurrency, where a workspace lies, commands around conversations, and what is
//! a secret.

use serde_json::Value;

use super::identity::TargetIdentity;
use crate::judge::{JudgeEndpoint, ModelNames, open_headers, without_secrets};
use evalrs_model::key::{Ingredients, hashed};
use evalrs_model::spec::{
    AgentKind, ChatTarget, HttpTarget, LettaAgentSource, LettaTarget, Repeat, TargetModel,
};

/// What the model of the agent is called in keys.
const OF_AGENT: ModelNames = [
    "provider",
    "endpoint",
    "model_name",
    "temperature",
    "seed",
    "max_tokens",
    "top_p",
    "extra_body",
    "headers",
];
/// What the model is called that answers for its user.
const OF_USER: ModelNames = [
    "user_provider",
    "user_endpoint",
    "user_model_name",
    "user_temperature",
    "user_seed",
    "user_max_tokens",
    "user_top_p",
    "user_extra_body",
    "user_headers",
];

/// Visits them, each once, in a fixed order.
pub(super) fn settings(
    identity: &TargetIdentity,
    model: Option<&TargetModel>,
    to: &mut dyn Ingredients,
) {
    let TargetIdentity { spec, program, .. } = identity;
    to.text("target", spec.kind.name());
    match &spec.kind {
        AgentKind::Command | AgentKind::Function => {
            // Keys of those without it are older than it.
            if let Some(answer) = &spec.answer {
                to.text("answer", answer);
            }
        }
        AgentKind::Headless(_) => to.text("adapter", &identity.adapter),
        AgentKind::Http(http) => self::http(http, to),
        AgentKind::Chat(chat) => self::chat(chat, identity.model_of(model), to),
        AgentKind::LettaAgent(letta) => letta_agent(letta, model, identity, to),
        // Its arguments stand in the adapter.
        AgentKind::LettaCode(_) => {
            base_url(identity, to);
            to.text("adapter", &identity.adapter);
        }
    }
    to.text_or_absent("version", spec.version.as_deref());
    program.walk_files(to);
    let is_repeated = program.spec.repeat == Repeat::Always;
    to.text("repeat", if is_repeated { "always" } else { "never" });
    if let Some(setup) = &identity.setup {
        to.text("setup_script", &hashed(|files| setup.walk_files(files)).to_string());
    }
    let workspace = spec.workspace.as_ref().map(|_| match &spec.program.template {
        // The files in it are among the inputs.
        Some(template) => format!("a copy of {template}"),
        None => "empty".to_owned(),
    });
    to.text_or_absent("workspace", workspace.as_deref());
    to.text_or_absent("git", spec.workspace.as_ref().filter(|space| space.is_git).map(|_| "true"));
    let Some(user) = &spec.user else { return };
    to.text("user_persona", &user.persona);
    to.number("user_max_turns", f64::from(user.max_turns));
    to.text_or_absent("user_stop_when", user.stop_when.as_deref());
    if let Some(endpoint) = &identity.user {
        endpoint.walk_model(&OF_USER, to);
    }
}

fn http(http: &HttpTarget, to: &mut dyn Ingredients) {
    let url = without_secrets(&http.url);
    to.text("endpoint", http.endpoint.as_deref().unwrap_or(&url));
    to.text("method", &http.method);
    to.text("headers", &open_headers(&http.headers));
    to.text_or_absent("body", http.body.as_ref().map(sorted).as_deref());
    to.text_or_absent("answer", http.answer.as_deref());
    to.text_or_absent("messages", http.messages.as_deref());
    to.text_or_absent("session", http.session.as_deref());
    to.text("stream", if http.is_stream { "sse" } else { "none" });
}

fn sorted(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}

fn chat(chat: &ChatTarget, endpoint: Option<&JudgeEndpoint>, to: &mut dyn Ingredients) {
    if let Some(endpoint) = endpoint {
        endpoint.walk_model(&OF_AGENT, to);
    }
    to.text_or_absent("system", chat.system.as_deref());
    to.text("tools", &sorted(&Value::from(chat.tools.clone())));
    to.number("max_turns", f64::from(chat.max_turns));
}

/// Visits where the Letta server is.
fn base_url(identity: &TargetIdentity, to: &mut dyn Ingredients) {
    let url = identity.letta_server.as_deref().map(without_secrets);
    to.text_or_absent("base_url", url.as_deref().map(|url| url.trim_end_matches('/')));
}

fn letta_agent(
    letta: &LettaTarget,
    model: Option<&TargetModel>,
    identity: &TargetIdentity,
    to: &mut dyn Ingredients,
) {
    base_url(identity, to);
    let (source, text) = match &letta.agent {
        LettaAgentSource::Id(id) => ("id", id.as_str()),
        LettaAgentSource::File { text, .. } => ("file", text.as_str()),
        LettaAgentSource::Script => ("script", ""),
    };
    to.text("agent_source", source);
    to.text("agent", text);
    if let Some(config) = model.and_then(|model| letta.config_of(&model.name)) {
        to.text("model_config", &config.text);
    }
}
