//! Executes actions. Knows no graph: an action in, an outcome out.

pub mod breaker;
#[cfg(feature = "judge")]
mod errors;
#[cfg(feature = "judge")]
pub mod http;
pub mod limit;
pub mod pause;
#[cfg(feature = "judge")]
pub mod retry;
pub mod window;

use std::future::Future;
use std::pin::Pin;

use crate::judge::JudgeAction;
use crate::outcome::Outcome;
use crate::suite::Patience;

/// A judge's action and everything that decides how it is asked but not what it answers.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The action.
    pub action: JudgeAction,
    /// Where the request goes.
    pub base_url: String,
    /// The key of the API; none sends no authorization.
    pub api_key: Option<Secret>,
    /// Further headers: name, value.
    pub headers: Vec<(String, Secret)>,
    /// How long and how often it is asked.
    pub patience: Patience,
}

impl Launch {
    /// `text` without any secret of the request. Always before a text is cut: a part of a secret is not found any more.
    pub fn without_secrets(&self, text: &str) -> String {
        let secrets = self.api_key.iter().chain(self.headers.iter().map(|(_, value)| value));
        secrets.fold(text.to_owned(), |text, secret| secret.remove_from(&text))
    }
}

/// Text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The secret itself, for the request.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// `text` without the secret: servers repeat keys in their error messages.
    pub fn remove_from(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[secret]") }
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secret]")
    }
}

/// A future that runs on the driver's thread.
pub type Executing<'a> = Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// What executes actions.
pub trait Executor {
    /// Executes one action, retries included. Never fails: a failure is an outcome.
    fn execute(&self, launch: Launch) -> Executing<'_>;
}
