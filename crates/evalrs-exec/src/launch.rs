//! Actions as executors take them, each with what decides how it is executed but not what comes of it.

use std::sync::Arc;

use super::endpoint::{EndpointId, JudgeEndpointId};
use super::secret::{RequestHeader, Secret};
use super::start::Start;
use super::targets::launch::TargetLaunch;
use evalrs_eval::action::Action;
use evalrs_eval::judge::{JudgeAction, secret_parameters};
use evalrs_eval::program::ProgramAction;
use evalrs_model::spec::{AgentSpec, Patience};

/// An action, and everything that decides how it is executed but not what comes of it.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "made for a moment, and mostly of judges")]
pub enum Launch {
    /// A judge is asked.
    Judge(JudgeLaunch),
    /// A program is called.
    Program(ProgramLaunch),
    /// The target holds a conversation.
    Target(Box<TargetLaunch>),
}

impl Launch {
    /// The action.
    pub fn action(&self) -> Action {
        match self {
            Self::Judge(launch) => Action::Judge(launch.action.clone()),
            Self::Program(launch) => Action::Program(launch.action.clone()),
            Self::Target(launch) => Action::Target(launch.action.clone()),
        }
    }

    /// Whose limits it counts against.
    pub fn endpoint(&self) -> EndpointId {
        match self {
            Self::Judge(launch) => EndpointId::Judge(launch.endpoint),
            Self::Program(_) => EndpointId::Program,
            Self::Target(_) => EndpointId::Target,
        }
    }
}

/// A call of a program, and how that is started.
#[derive(Clone, Debug)]
pub struct ProgramLaunch {
    /// The action.
    pub action: ProgramAction,
    /// How it is started.
    pub start: Arc<Start>,
}

/// A judge's action and everything that decides how it is asked but not what it answers.
#[derive(Clone, Debug)]
pub struct JudgeLaunch {
    /// The action.
    pub action: JudgeAction,
    /// Whose limits it counts against.
    pub endpoint: JudgeEndpointId,
    /// The grader and the sample that it is for, as people read them; empty if nobody says.
    pub what_for: String,
    /// Where the request goes.
    pub base_url: String,
    /// The key of the API; none sends no authorization.
    pub api_key: Option<Secret>,
    /// Further headers.
    pub headers: Vec<RequestHeader>,
    /// How long and how often it is asked.
    pub patience: Patience,
    /// The agent that judges, where it is one.
    pub agent: Option<AgentSpec>,
    /// How the command is started that judges, where it is one.
    pub start: Option<Arc<Start>>,
}

impl JudgeLaunch {
    /// `text` without any secret of the request. Always before a text is cut: a part of a secret is not found any more.
    pub fn without_secrets(&self, text: &str) -> String {
        let hidden = self.headers.iter().filter(|header| header.is_secret);
        let secrets = self.api_key.iter().chain(hidden.map(|header| &header.value));
        let text = secrets.fold(text.to_owned(), |text, secret| secret.remove_from(&text));
        let text = self.start.iter().fold(text, |text, start| start.without_secrets(&text));
        let parameters = secret_parameters(&self.base_url);
        parameters.fold(text, |text, (_, value)| Secret::new(value.to_owned()).remove_from(&text))
    }
}
