//! What a suite says of the agent that is evaluated: recorded, or run by evalrs.

use std::ops::Not;

use serde::{Serialize, Serializer};
use serde_json::Value;
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::judge::by_name;
use super::{FieldMap, HeaderSpec, JudgeSpec, ProgramSpec};
use evalrs_trajectory::TrajectoryFormat;

/// What is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetSpec {
    /// Trajectories already recorded: in the rows, or in `path`.
    Recorded {
        /// A file of trajectories or a Letta result directory, joined to the suite's folder.
        path: Option<String>,
        /// Its format; detected row by row if absent.
        format: Option<&'static TrajectoryFormat>,
        /// How the records of `path` read, and which rows they belong to.
        join: RecordingJoin,
    },
    /// An agent that is run.
    Live(Box<LiveTarget>),
    /// A kind of target that is known but cannot be run by this version: only `--cached DIR` can stand in.
    NotRunnable {
        /// The kind as the suite wrote it.
        kind: String,
        /// Why, where other targets of the kind can be.
        why: Option<String>,
    },
}

impl TargetSpec {
    /// The agent, if it is run.
    pub fn live(&self) -> Option<&LiveTarget> {
        match self {
            Self::Live(target) => Some(target),
            Self::Recorded { .. } | Self::NotRunnable { .. } => None,
        }
    }
}

/// How the records of a file read that are joined to rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordingJoin {
    /// Under which dotted paths our fields stand in them.
    pub fields: FieldMap,
    /// Which row each belongs to.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub by: JoinBy,
}

/// Which row a record of another file belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinBy {
    /// The one with its id.
    #[default]
    Id,
    /// The one at the same position.
    Line,
    /// The one that says the same at this dotted path.
    #[serde(untagged)]
    Field(String),
}

/// An agent that is run: once for each sample, model and trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveTarget {
    /// How it is reached.
    #[serde(skip)]
    pub kind: AgentKind,
    /// Its program, or that which answers its tool calls; of an agent that has neither the path is empty. Holds what is
    /// said of every target: inputs, variables, the time limit of a conversation and whether answers are kept.
    #[serde(skip)]
    pub program: ProgramSpec,
    /// The models that it is run with, one result each; empty is the agent's own, one result.
    #[serde(skip)]
    pub models: Vec<TargetModel>,
    /// What its files cannot say: any text, part of the key.
    pub version: Option<String>,
    /// The path of the answer in the output of a command or a function: an RFC 9535 path.
    pub answer: Option<String>,
    /// Further attempts after a failure that may pass.
    pub retries: u32,
    /// A fresh folder for every conversation.
    pub workspace: Option<WorkspaceSpec>,
    /// Commands around conversations.
    #[serde(flatten)]
    pub hooks: TargetHooks,
    /// The model that simulates a person.
    #[serde(skip)]
    pub user: Option<SimulatedUser>,
    /// Conversations under way at once.
    #[serde(skip)]
    pub max_concurrent: Option<usize>,
}

impl LiveTarget {
    /// Every program that it names: its own, and that which prepares its server.
    pub fn programs(&self) -> impl Iterator<Item = &ProgramSpec> {
        std::iter::once(&self.program).chain(&self.hooks.script)
    }
}

/// A model that a target is run with.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TargetModel {
    /// Its name, as the target gets it and reports show it.
    pub name: String,
    /// The provider of its API, where that is not the target's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// How an agent is reached.
#[derive(Clone, Debug, PartialEq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum AgentKind {
    /// A process for each conversation: JSON on its standard input, the answer on its standard output.
    Command,
    /// A function of a Python file or of a module, in a worker.
    Function,
    /// The command line of an agent, read by an adapter.
    Headless(AdapterSource),
    /// A deployed agent.
    Http(Box<HttpTarget>),
    /// A model with a system prompt and tools.
    Chat(Box<ChatTarget>),
    /// An agent on a Letta server.
    LettaAgent(Box<LettaTarget>),
    /// The coding agent of Letta.
    LettaCode(Box<LettaCodeTarget>),
}

impl AgentKind {
    /// Its name in suites and keys.
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

/// Requests to a deployed agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HttpTarget {
    /// Where they go; may hold placeholders.
    pub url: String,
    /// `POST` where the suite does not say.
    pub method: String,
    /// Further headers.
    #[serde(serialize_with = "by_name")]
    pub headers: Vec<HeaderSpec>,
    /// The JSON body, with placeholders of rubrics in its texts; none sends the input of a command.
    pub body: Option<Value>,
    /// The path of the answer in a reply: an RFC 9535 path.
    pub answer: Option<String>,
    /// Where messages stand in a reply.
    pub messages: Option<String>,
    /// The path of the conversation's session in a reply; then each turn is a request.
    pub session: Option<String>,
    /// Whether the reply is a stream of server-sent events.
    #[serde(rename = "stream", serialize_with = "as_kind_of_stream")]
    pub is_stream: bool,
    /// Replaces the address in the key, if the suite sets it.
    pub endpoint: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn as_kind_of_stream<S: Serializer>(is_stream: &bool, to: S) -> Result<S::Ok, S::Error> {
    is_stream.then_some("sse").serialize(to)
}

/// How the command line of an agent is driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterSource {
    /// Its name or its file, as the suite wrote it.
    pub name: String,
    /// The text of the adapter.
    pub text: String,
}

/// A model with a system prompt and tools.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatTarget {
    /// The model, its endpoint and its settings. `models` of the suite take the place of its name.
    pub model: JudgeSpec,
    /// The system prompt.
    pub system: Option<String>,
    /// The tools as JSON objects with `name`, `description` and `parameters`, a JSON Schema.
    pub tools: Vec<Value>,
    /// Requests to the model in one conversation, at most.
    pub max_turns: u32,
}

impl ChatTarget {
    /// The model of one run, and its endpoint. A model with a provider of its own is asked where that is asked: what
    /// the target says of its own provider (`base_url`, `endpoint`, `api_key_env`, `headers`, `extra_body`) is not for it.
    pub fn model_of(&self, run: Option<&TargetModel>) -> JudgeSpec {
        let spec = self.model.clone();
        let Some(run) = run else { return spec };
        let model = run.name.clone();
        match &run.provider {
            Some(provider) if *provider != spec.provider => JudgeSpec {
                model,
                provider: provider.clone(),
                temperature: spec.temperature,
                seed: spec.seed,
                max_tokens: spec.max_tokens,
                top_p: spec.top_p,
                patience: spec.patience,
                ..JudgeSpec::default()
            },
            _ => JudgeSpec { model, ..spec },
        }
    }
}

/// An agent on a Letta server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LettaTarget {
    /// The server.
    pub base_url: Option<String>,
    /// Where the agent comes from.
    #[serde(skip)]
    pub agent: LettaAgentSource,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// The project that agents are imported into.
    pub project_id: Option<String>,
    /// Whether agents stay on the server after their conversation.
    #[serde(skip_serializing_if = "Not::not")]
    pub keep_agents: bool,
    /// What models are configured as, for those that no handle names.
    pub model_configs: Vec<LettaModelConfig>,
}

impl LettaTarget {
    /// What the model is configured as, unless a handle names it.
    pub fn config_of(&self, model: &str) -> Option<&LettaModelConfig> {
        self.model_configs.iter().find(|config| config.model == model)
    }
}

/// A model as a file describes it to a Letta server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LettaModelConfig {
    /// The file, joined to the suite's folder.
    pub path: String,
    /// The name of the model, as results have it.
    #[serde(skip)]
    pub model: String,
    /// The text of the file, compact and sorted.
    #[serde(skip)]
    pub text: String,
}

/// Where an agent on a Letta server comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LettaAgentSource {
    /// One that is there: all samples talk with it, one after another.
    Id(String),
    /// An agent file: imported for every conversation.
    File {
        /// Where it is, joined to the suite's folder.
        path: String,
        /// Its text.
        text: String,
    },
    /// A function that makes one, which is the program of the target.
    Script,
}

/// The coding agent of Letta.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LettaCodeTarget {
    /// The server.
    pub base_url: Option<String>,
    /// The folder that it works in, joined to the suite's: in one of its own for each model.
    pub working_dir: Option<String>,
    /// The tools that it may use; none allows all.
    pub allowed_tools: Option<Vec<String>>,
    /// Those that it may not.
    pub disallowed_tools: Option<Vec<String>>,
    /// Its permissions without confirmation, by a name of its own; none: everything.
    pub permission_mode: Option<String>,
    /// Further arguments.
    pub flags: Vec<String>,
    /// How it is started and read, with all of that.
    #[serde(skip)]
    pub adapter: AdapterSource,
}

/// A fresh folder for every conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct WorkspaceSpec {
    /// The folder that it is a copy of, joined to the suite's; none is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Whether it is a git repository, and what the agent changed in it is part of its answer.
    #[serde(rename = "git")]
    pub is_git: bool,
    /// Whose folders stay.
    pub keep: KeepWorkspace,
}

/// Whose workspaces stay after their conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum KeepWorkspace {
    /// None.
    Never,
    /// Those of conversations that failed.
    #[default]
    Failed,
    /// All.
    Always,
}

/// Commands around conversations, each a list of words that is run without a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct TargetHooks {
    /// A function that prepares a server before the first conversation.
    #[serde(skip)]
    pub script: Option<ProgramSpec>,
    /// Before the first conversation.
    pub setup: Vec<String>,
    /// After the last one, also after a failure or Ctrl-C.
    pub teardown: Vec<String>,
    /// In the workspace, before each conversation.
    pub setup_each: Vec<String>,
    /// In the workspace, after each conversation, also one that failed.
    pub teardown_each: Vec<String>,
}

/// A model that simulates a person.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedUser {
    /// The model, its endpoint and its settings.
    pub model: JudgeSpec,
    /// Who it is and what it wants.
    pub persona: String,
    /// Messages of the user, at most, the input among them.
    pub max_turns: u32,
    /// The conversation ends with the message of the user that holds this text.
    pub stop_when: Option<String>,
}
