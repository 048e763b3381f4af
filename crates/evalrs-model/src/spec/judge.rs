//! What a suite says of a rubric grader: what is judged, by whom, and how often.
//!
//! A rubric grader has one judge or a panel of them. What is asked is of the grader; who is asked, and with which
//! settings, is of each judge.

use std::ops::Not;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::criterion::{JudgedCriterion, YesNo};
use super::scale::Scale;
use super::{Lint, ProgramSpec};

/// A rubric and who judges by it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RubricSpec {
    /// The text of the rubric, a template.
    pub prompt: String,
    /// The judges, at least one; more than one is a panel.
    #[serde(skip)]
    pub judges: Vec<JudgeSpec>,
    /// The range the judges score in; mapped to 0..=1. None is 0..=1 itself.
    pub scale: Option<Scale>,
    /// Names of sample variables the rubric must find.
    pub rubric_vars: Vec<String>,
    /// Independent judgments of one submission by each judge, at least 1.
    pub votes: u32,
    /// How votes become one score.
    pub combine: Combine,
    /// Further votes of each judge on a submission whose first votes are below the pass threshold.
    pub confirm_fails: u32,
    /// The other submission, where the judge decides which of two is better.
    pub compare_to: Option<CompareTo>,
    /// Whether texts that are put into it stand between fences.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub fence: bool,
    /// The placeholders whose texts stand without fences all the same.
    pub unfenced: Vec<String>,
    /// The warnings about it that are not wanted; in no key.
    pub allow: Vec<Lint>,
    /// Set where it is one of several criteria.
    #[serde(skip)]
    pub criterion: Option<Box<JudgedCriterion>>,
    /// Set where nothing is judged, and a model embeds the submission and a reference.
    #[serde(skip)]
    pub embedding: Option<EmbeddingSpec>,
}

impl RubricSpec {
    /// The text of the rubric; of a criterion that shares requests, that of all in them.
    pub fn whole_prompt(&self) -> String {
        let batch = self.criterion.as_ref().and_then(|criterion| criterion.batch.as_ref());
        let Some(batch) = batch else { return self.prompt.clone() };
        let questions = batch.criteria.iter().map(|one| one.question.text.as_str());
        let before = Some(batch.preamble.as_str()).filter(|text| !text.is_empty());
        before.into_iter().chain(questions).collect::<Vec<_>>().join("\n\n")
    }

    /// What the answers mean, where the question is one for yes or no.
    pub fn yes_no(&self) -> Option<YesNo> {
        self.criterion.as_ref()?.question.yes_no
    }
}

/// How near a submission is to a reference, by what a model makes of both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbeddingSpec {
    /// The length of the vectors, where it is not the model's own.
    pub dimensions: Option<u32>,
    /// The reference, where it is not that of the row.
    pub value: Option<String>,
}

/// One judge: a model, its endpoint, and its settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeSpec {
    /// The model; of an agent the one it is run by, as far as its file shows.
    pub model: String,
    /// The protocol; `openai` is any OpenAI-compatible endpoint.
    pub provider: String,
    /// Its base URL, if not that of the environment. In the key only if there is no `endpoint`.
    pub base_url: Option<String>,
    /// Replaces the base URL in the key.
    pub endpoint: Option<String>,
    /// The environment variable that holds the key of the API.
    pub api_key_env: Option<String>,
    /// Further headers of its requests, in the order of the file.
    #[serde(serialize_with = "by_name")]
    pub headers: Vec<HeaderSpec>,
    /// The sampling temperature, 0..=2; none leaves it out of the request.
    pub temperature: Option<f64>,
    pub seed: Option<i64>,
    /// The most tokens of a reply.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub max_tokens: ReplyLimit,
    /// Nucleus sampling, 0..=1.
    pub top_p: Option<f64>,
    /// Further members of the request body, an object.
    pub extra_body: Map<String, Value>,
    /// How the shape of the reply is requested.
    pub response_format: ReplyFormat,
    /// Whether requests say what the provider is to cache; in no key.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub prompt_caching: CachingChoice,
    /// How fast it answers, and at what price; in no key.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub service_tier: TierChoice,
    /// Whether its requests may be part of a batch; none where that is so at its provider's own address. In no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<bool>,
    /// The time limits and retries of its calls; in no key.
    #[serde(flatten)]
    pub patience: Patience,
    /// The agent that judges, where it is one.
    #[serde(skip)]
    pub agent: Option<AgentSpec>,
    /// The command that judges, where it is one.
    #[serde(skip)]
    pub program: Option<Box<JudgeProgramSpec>>,
}

/// A command that judges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeProgramSpec {
    /// Its words and what it rests on.
    pub program: ProgramSpec,
    /// What its files cannot say: any text, part of the key.
    pub version: Option<String>,
}

/// An agent that judges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentSpec {
    /// The model that it gets instead of its own.
    pub model: Option<String>,
    /// Its file, joined to the suite's folder.
    #[serde(rename = "agent_file")]
    pub path: String,
    /// What is sent to the server for the file.
    #[serde(skip)]
    pub text: Arc<str>,
    /// The tool that it calls with its verdict.
    #[serde(rename = "judge_tool_name")]
    pub tool: String,
    /// Whether it stays at the server when it has judged; in no key.
    #[serde(rename = "keep_agents", skip_serializing_if = "Not::not")]
    pub keep: bool,
}

pub(super) fn by_name<S: Serializer>(headers: &[HeaderSpec], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(headers.iter().map(|header| (&header.name, &header.value)))
}

/// The time limits and retries of a judge. Nothing of it is in a key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Patience {
    /// Retries of one request after transport failures.
    pub max_retries: u32,
    /// Seconds one request may take.
    pub timeout: f64,
    /// Seconds one judgment may take, retries and waits between them included.
    pub deadline: f64,
    /// The most requests that are sent to the endpoint in a minute.
    pub max_requests_per_minute: Option<u32>,
    /// The most tokens, sent and received, that are used at the endpoint in a minute.
    pub max_tokens_per_minute: Option<u64>,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            max_retries: 5,
            timeout: 120.0,
            deadline: 900.0,
            max_requests_per_minute: None,
            max_tokens_per_minute: None,
        }
    }
}

/// A header of a judge's requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderSpec {
    pub name: String,
    pub value: HeaderValue,
}

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum HeaderValue {
    /// What the environment variable of this name holds: a secret, in no key.
    #[serde(rename = "env")]
    Variable(String),
    /// The text itself, which is in the key: it may change what is answered.
    #[serde(untagged)]
    Text(String),
}

/// How the shape of a reply is requested.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReplyFormat {
    /// By a JSON schema where the endpoint offers that, else as JSON, else in words alone.
    #[default]
    Auto,
    JsonSchema,
    JsonObject,
    Text,
}

impl ReplyFormat {
    /// Its name in suites and keys.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What submissions are compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CompareTo {
    /// A field of the row, a dotted path.
    Field(String),
    /// The record of a run, joined to the suite's folder: its submission of the same sample.
    Run(String),
}

/// How votes become one score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Combine {
    /// The middle one; of an even number, the mean of the middle two.
    #[default]
    Median,
    Mean,
    /// The score that most votes gave; of several such, their mean.
    Majority,
}

impl Default for JudgeSpec {
    fn default() -> Self {
        Self {
            model: "gpt-4o-mini".to_owned(),
            provider: "openai".to_owned(),
            base_url: None,
            endpoint: None,
            api_key_env: None,
            headers: Vec::new(),
            temperature: Some(0.0),
            seed: None,
            max_tokens: ReplyLimit::Usual,
            top_p: None,
            extra_body: Map::new(),
            response_format: ReplyFormat::Auto,
            prompt_caching: CachingChoice::Auto,
            service_tier: TierChoice::Default,
            batch: None,
            patience: Patience::default(),
            agent: None,
            program: None,
        }
    }
}

/// The most tokens of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum ReplyLimit {
    /// As many as a verdict takes.
    #[default]
    Usual,
    /// As many as the provider gives.
    Unlimited,
    /// So many.
    Tokens(u32),
}

/// Whether requests say what the provider is to cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum CachingChoice {
    /// At the provider's own address.
    #[default]
    Auto,
    /// Wherever the model is served: a gateway passes it on.
    On,
    /// The same, and for an hour where the provider offers that.
    Hour,
    /// Never.
    Off,
}

/// How fast a provider answers, and at what price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, EnumString, VariantNames)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum TierChoice {
    /// At once.
    #[default]
    Default,
    /// When it has room, at half the price.
    Flex,
}

impl RubricSpec {
    /// The rubric `prompt`, by which `judge` judges each submission once.
    pub fn new(prompt: impl Into<String>, judge: JudgeSpec) -> Self {
        Self {
            prompt: prompt.into(),
            judges: vec![judge],
            votes: 1,
            fence: true,
            ..Self::default()
        }
    }

    /// Whether the value of the placeholder `name` is fenced. `submission` means both of two submissions too, and `row`
    /// every field of the row and every variable.
    pub fn is_fenced(&self, name: &str) -> bool {
        let group = match name {
            "input" | "submission" | "ground_truth" => name,
            "submission_a" | "submission_b" => "submission",
            _ => "row",
        };
        self.fence && !self.unfenced.iter().any(|taken| taken == name || taken == group)
    }

    /// The commands among its judges.
    pub fn programs(&self) -> impl Iterator<Item = &ProgramSpec> {
        let programs = self.judges.iter().filter_map(|judge| judge.program.as_ref());
        programs.map(|judge| &judge.program)
    }
}
