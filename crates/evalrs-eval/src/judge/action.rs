//! The action that calls a judge: everything that its answer depends on.

use std::ops::Range;
use std::sync::Arc;

use super::question::Question;
use super::reply::{self, Verdict};
use crate::program::ProgramIdentity;
use evalrs_model::key::Ingredients;
use evalrs_model::spec::{AgentSpec, JudgeProgramSpec, ReplyFormat};

/// Everything a judge's answer depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeAction {
    /// The protocol.
    pub provider: String,
    /// Who serves the model: `endpoint` of the suite, else the base URL.
    pub endpoint: String,
    /// The model.
    pub model: String,
    /// The system message.
    pub system: String,
    /// The user message, rendered.
    pub user: String,
    /// Where in the user message texts stand whose verdicts the judge may quote; in no key.
    pub quotable: Vec<Range<usize>>,
    /// How many bytes of the user message other requests about the same sample begin with; in no key.
    pub shared: usize,
    /// The sampling temperature, if one is sent.
    pub temperature: Option<f64>,
    /// The sampling seed.
    pub seed: Option<i64>,
    /// The most tokens of a reply.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Further members of the request, compact JSON with sorted keys; empty for none.
    pub extra_body: String,
    /// Further headers that are not secret, sorted, one `name: value` a line; empty for none.
    pub headers: String,
    /// How the shape of the reply is requested.
    pub response_format: ReplyFormat,
    /// The question.
    pub question: Question,
    /// Which of the independent judgments it is, from 0.
    pub vote: u32,
    /// The agent that is called, if it is one.
    pub agent: Option<Box<JudgeAgent>>,
    /// The command that is called, if it is one.
    pub program: Option<Box<JudgeProgram>>,
}

impl JudgeAction {
    /// The verdict in a reply to it, or what is wrong with the reply. A verdict that the judge quotes from a text it was
    /// shown is none.
    pub fn verdict(&self, reply: &str) -> Result<Verdict, String> {
        let quotable = self.quotable.iter().filter_map(|range| self.user.get(range.clone()));
        reply::read_beside(reply, &self.question, &quotable.collect::<Vec<_>>())
    }

    /// Visits every ingredient of the key, each once, in a fixed order.
    pub fn walk(&self, to: &mut dyn Ingredients) {
        to.text("provider", &self.provider);
        to.text("endpoint", &self.endpoint);
        to.text("model", &self.model);
        to.text("system", &self.system);
        to.text("user", &self.user);
        to.number_or_absent("temperature", self.temperature);
        to.text_or_absent("seed", self.seed.map(|seed| seed.to_string()).as_deref());
        to.number_or_absent("max_tokens", self.max_tokens.map(f64::from));
        to.number_or_absent("top_p", self.top_p);
        to.text("extra_body", &self.extra_body);
        to.text("headers", &self.headers);
        to.text("response_format", self.response_format.name());
        // The schema says the range of the score too.
        to.text("response_schema", &self.question.schema().to_string());
        to.number("vote", f64::from(self.vote));
        if let Some(agent) = &self.agent {
            agent.walk(to);
        }
        if let Some(program) = &self.program {
            program.walk(to);
        }
    }
}

/// What of an agent its answer depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeAgent {
    /// The digest of its file.
    pub file: String,
    /// The tool that it calls with its verdict.
    pub tool: String,
    /// The model that it gets instead of its own.
    pub model: Option<String>,
}

impl JudgeAgent {
    pub fn new(spec: &AgentSpec) -> Self {
        Self {
            file: blake3::hash(spec.text.as_bytes()).to_hex().to_string(),
            tool: spec.tool.clone(),
            model: spec.model.clone(),
        }
    }

    /// Visits what only the keys of agents have.
    fn walk(&self, to: &mut dyn Ingredients) {
        to.text("agent_file", &self.file);
        to.text("judge_tool_name", &self.tool);
        to.text_or_absent("agent_model", self.model.as_deref());
    }
}

/// What of a command its answer depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeProgram {
    /// Its words, its files and what it sees.
    pub identity: Arc<ProgramIdentity>,
    /// What its files cannot say.
    pub version: Option<String>,
}

impl JudgeProgram {
    /// The command of `spec`, as it is in `read`, or else as the suite alone describes it.
    pub fn new(spec: &JudgeProgramSpec, read: &[Arc<ProgramIdentity>]) -> Self {
        let known = read.iter().find(|identity| identity.spec == spec.program);
        let as_written = || Arc::new(ProgramIdentity::as_written(spec.program.clone()));
        let identity = known.cloned().unwrap_or_else(as_written);
        Self { identity, version: spec.version.clone() }
    }

    /// Visits what only the keys of commands have.
    fn walk(&self, to: &mut dyn Ingredients) {
        self.identity.walk(false, to);
        to.text_or_absent("version", self.version.as_deref());
    }
}
