//! The form of an adapter: a JSON file that says how the command line of an agent is started and read.
//!
//! It is the form that agent-eval-harness reads ("headless schema"). Members beyond that form are marked as extensions; a file
//! without them means what it means there.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::path::EventPath;

/// How the command line of an agent is started and read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Adapter {
    pub version: Version,
    /// The name of the agent.
    pub name: String,
    /// The program and its first arguments.
    pub command: Vec<String>,
    pub(super) session_mode: SessionMode,
    /// Milliseconds for a turn.
    pub timeout: Option<f64>,
    pub prompt: PromptArgument,
    pub output: OutputArgument,
    pub(super) auto_approve: Option<Vec<String>>,
    pub resume: Option<ResumeArgument>,
    pub(super) cwd_flag: Option<String>,
    /// Extension: the flag for the name of the model.
    pub model_flag: Option<String>,
    pub(super) output_mode: Option<OutputMode>,
    pub(super) output_events: Option<Vec<EventMapping>>,
    pub(super) passthrough_type_map: Option<PassthroughTypes>,
    pub result: ResultMatch,
    pub(super) history_template: Option<HistoryTemplate>,
    /// Extension: what a turn used, in an event of its output.
    pub usage: Option<UsagePaths>,
}

/// The one version of the form. Anything else is refused while it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Version;

impl TryFrom<f64> for Version {
    type Error = String;

    #[expect(clippy::float_cmp, reason = "JSON knows one kind of number, and 1 is exact in it")]
    fn try_from(version: f64) -> Result<Self, String> {
        if version == 1.0 {
            Ok(Self)
        } else {
            Err(format!("version {version} is not known; expected 1"))
        }
    }
}

/// How several turns become one conversation. Every turn is a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum SessionMode {
    /// The agent keeps the conversation and gets the id of the one to resume.
    Stream,
    /// The agent gets the whole conversation each time.
    Iterative,
}

/// Where the text of a turn goes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PromptArgument {
    /// The flag in front of it; without one it is an argument of its own.
    pub flag: Option<String>,
    /// It is written to standard input instead.
    #[serde(default)]
    pub stdin: bool,
}

/// The flags that make the agent write events.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OutputArgument {
    /// Empty: no flag is needed.
    pub flag: String,
    pub value: String,
}

/// How a conversation is resumed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumeArgument {
    pub flag: String,
    pub(super) session_id_path: EventPath,
}

/// How events are distinguished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OutputMode {
    /// By the mappings.
    #[default]
    Jsonpath,
    /// By a type that the events carry themselves.
    Passthrough,
}

/// Which events are updates, and of what kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventMapping {
    #[serde(rename = "match")]
    pub matches: EventMatch,
    pub(super) emit_as: UpdateKind,
    #[serde(default)]
    pub extract: ExtractPaths,
}

/// Which events a mapping takes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct EventMatch {
    pub path: EventPath,
    /// `*` for any.
    pub value: String,
    /// Extension: what must hold of the event as a whole too.
    #[serde(default)]
    pub when: Vec<EventCondition>,
}

/// A place in an event and the text that must stand there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct EventCondition {
    pub path: EventPath,
    pub value: String,
}

/// The kind of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateKind {
    /// What the agent thought.
    Thought,
    /// A message of the agent.
    Message,
    /// A tool was called, or answered.
    ToolCall,
    /// What the agent means to do.
    Plan,
}

/// Where the parts of an update stand.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExtractPaths {
    pub content: Option<EventPath>,
    pub title: Option<EventPath>,
    pub status: Option<EventPath>,
    /// Extension: what pairs a call with its answer.
    pub id: Option<EventPath>,
    /// Extension: the arguments of a call.
    pub input: Option<EventPath>,
    /// Extension: what a call answered.
    pub output: Option<EventPath>,
    /// Extension: the call failed if `true` is there.
    pub failed: Option<EventPath>,
    /// Extension: this continues the last update of the kind if `true` is there.
    pub delta: Option<EventPath>,
    /// Extension: the entries of a plan.
    pub entries: Option<EventPath>,
}

/// How events that carry their own type are read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PassthroughTypes {
    #[serde(default = "type_field")]
    pub(super) type_field: String,
    #[serde(default)]
    pub(super) type_values: std::collections::BTreeMap<String, UpdateKind>,
}

fn type_field() -> String {
    "type".to_owned()
}

/// The event that ends a turn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultMatch {
    pub(super) match_path: EventPath,
    /// `*` for any.
    pub(super) match_value: String,
    pub(super) content_path: EventPath,
    /// Extension: the turn failed if `true` or a text that begins with `error` is at one of them.
    #[serde(default, deserialize_with = "one_or_several")]
    pub(super) failed_path: Vec<EventPath>,
}

fn one_or_several<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<EventPath>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum FailedPaths {
        One(EventPath),
        Several(Vec<EventPath>),
    }
    Ok(match FailedPaths::deserialize(from)? {
        FailedPaths::One(path) => vec![path],
        FailedPaths::Several(paths) => paths,
    })
}

/// How a conversation is written down for an agent that keeps none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum HistoryTemplate {
    Turn(String),
    #[serde(rename_all = "camelCase")]
    Whole {
        system: Option<String>,
        turn_format: String,
    },
}

/// Where events tell what a turn used.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsagePaths {
    pub input_tokens: Vec<EventPath>,
    pub output_tokens: Vec<EventPath>,
    pub cost: Option<EventPath>,
}

impl Adapter {
    /// Reads an adapter. The message of an error names the line and the column.
    pub fn read(text: &str) -> Result<Self, String> {
        let adapter: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let prompt = &adapter.prompt;
        if prompt.stdin && prompt.flag.as_deref().is_some_and(|flag| !flag.is_empty()) {
            return Err("`prompt` has a `flag` and `stdin: true`: choose one".to_owned());
        }
        Ok(adapter)
    }

    /// How long a turn may take, where it says so.
    pub fn turn_limit(&self) -> Option<Duration> {
        let limit = Duration::try_from_secs_f64(self.timeout? / 1000.0).ok();
        limit.filter(|limit| !limit.is_zero())
    }

    /// The program that is started; none where the command is empty.
    pub fn program(&self) -> Option<&str> {
        self.command.first().map(String::as_str)
    }

    /// Whether a conversation can be gone on with.
    pub fn can_resume(&self) -> bool {
        self.resume.is_some()
    }

    /// The first arguments of the program.
    pub fn arguments(&self) -> &[String] {
        self.command.get(1..).unwrap_or_default()
    }
}
