//! A target as far as the keys of its conversations know it.

use std::sync::Arc;

use super::handed::{IdUse, KnownOfSample};
use crate::adapter;
use crate::judge::{BaseUrls, JudgeEndpoint, provider};
use crate::program::ProgramIdentity;
use evalrs_model::spec::{AgentKind, JudgeSpec, LiveTarget, TargetModel};

/// The part of a target that its keys contain, whatever its input.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetIdentity {
    /// The suite's setting.
    pub spec: LiveTarget,
    /// What the files of its program are. Of a target without one: what it is said to read.
    pub program: Arc<ProgramIdentity>,
    /// The endpoints of the models of a chat: that of each run, in the order of the suite, or the chat's own where it
    /// names none. Other kinds have none.
    pub models: Vec<JudgeEndpoint>,
    /// The endpoint of the model that simulates the user.
    pub user: Option<JudgeEndpoint>,
    /// What the files of the function are that prepares its server.
    pub setup: Option<Arc<ProgramIdentity>>,
    /// The Letta server that it is on. Of a command line that nobody tells of one: none.
    pub letta_server: Option<String>,
    /// The adapter as keys have it; empty where there is none.
    pub adapter: String,
    /// What it knows of a sample.
    pub known_of_sample: KnownOfSample,
}

impl TargetIdentity {
    /// The target of a suite in an environment that names these base URLs.
    pub fn new(
        spec: LiveTarget,
        program: Arc<ProgramIdentity>,
        setup: Option<Arc<ProgramIdentity>>,
        environment: BaseUrls<'_>,
    ) -> Self {
        let endpoint = |model: &JudgeSpec| JudgeEndpoint::of_model(model, environment);
        let models = match &spec.kind {
            AgentKind::Chat(chat) if spec.models.is_empty() => vec![endpoint(&chat.model)],
            AgentKind::Chat(chat) => {
                let of_run = |run: &TargetModel| endpoint(&chat.model_of(Some(run)));
                spec.models.iter().map(of_run).collect()
            }
            _ => Vec::new(),
        };
        let user = spec.user.as_ref().map(|user| endpoint(&user.model));
        let letta_server = letta_server(&spec.kind, environment);
        let adapter = match &spec.kind {
            AgentKind::Headless(source) => adapter::in_keys(&source.text),
            AgentKind::LettaCode(letta) => adapter::in_keys(&letta.adapter.text),
            _ => String::new(),
        };
        let known_of_sample = KnownOfSample::of(&spec);
        Self { spec, program, models, user, setup, letta_server, adapter, known_of_sample }
    }

    /// Whether the id of a sample is in the keys of its conversations.
    pub fn has_ids_in_keys(&self) -> bool {
        self.known_of_sample.id == IdUse::InKeys
    }

    /// The endpoint of the model of a chat in the run with `run`.
    pub fn model_of(&self, run: Option<&TargetModel>) -> Option<&JudgeEndpoint> {
        let at = run.and_then(|run| self.spec.models.iter().position(|model| model == run));
        self.models.get(at.unwrap_or(0))
    }
}

/// The Letta server that agents of this kind are on.
fn letta_server(kind: &AgentKind, environment: BaseUrls<'_>) -> Option<String> {
    let said = |base_url: &Option<String>| base_url.clone().or_else(|| environment(LETTA));
    match kind {
        AgentKind::LettaAgent(letta) => said(&letta.base_url)
            .or_else(|| provider::info(LETTA).map(|info| info.base_url.to_owned())),
        AgentKind::LettaCode(letta) => said(&letta.base_url),
        _ => None,
    }
}

/// Whose base URL agents on Letta servers have.
const LETTA: &str = "letta";
