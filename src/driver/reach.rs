//! How a judge is reached: its key and its headers, from the suite and the environment.
//!
//! Secrets are read here, where a request is about to be made, and nowhere before.

use std::collections::BTreeMap;

use crate::exec::Secret;
use crate::judge::provider::{self, Provider, ProviderInfo};
use crate::suite::{HeaderValue, JudgeSpec};

/// How one judge is reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach<'a> {
    /// What the suite says.
    pub(super) spec: &'a JudgeSpec,
    /// Where requests go.
    pub(super) base_url: &'a str,
    /// The environment.
    pub(super) environment: &'a BTreeMap<String, String>,
}

impl Reach<'_> {
    /// The key of the API, if there is one.
    pub(super) fn api_key(&self) -> Option<Secret> {
        key_variables(self.spec).into_iter().find_map(|name| self.variable(name))
    }

    /// The further headers: those of the environment, then those of the suite, which win.
    pub(super) fn headers(&self) -> Vec<(String, Secret)> {
        let mut headers = Vec::new();
        let from_environment = info(self.spec).and_then(|info| {
            let lines = self.environment.get(info.headers_variable)?.lines();
            Some(lines.filter_map(|line| line.split_once(':')))
        });
        for (name, value) in from_environment.into_iter().flatten() {
            put(&mut headers, name, Secret::new(value.trim().to_owned()));
        }
        for header in &self.spec.headers {
            let value = match &header.value {
                HeaderValue::Text(text) => Some(Secret::new(text.clone())),
                HeaderValue::Variable(name) => self.variable(name),
            };
            if let Some(value) = value {
                put(&mut headers, &header.name, value);
            }
        }
        headers
    }

    /// Whether nothing can be asked because the key is missing. Servers of one's own often take none; the makers' own
    /// always do.
    pub(super) fn needs_key(&self) -> bool {
        let is_first_party = info(self.spec).is_some_and(|info| info.base_url == self.base_url);
        is_first_party && self.api_key().is_none()
    }

    fn variable(&self, name: &str) -> Option<Secret> {
        let value = self.environment.get(name)?.trim();
        (!value.is_empty()).then(|| Secret::new(value.to_owned()))
    }
}

/// The environment variables that may hold the key of a judge.
pub(super) fn key_variables(spec: &JudgeSpec) -> Vec<&str> {
    match &spec.api_key_env {
        Some(name) => vec![name],
        None => info(spec).map(|info| info.key_variables.to_vec()).unwrap_or_default(),
    }
}

fn info(spec: &JudgeSpec) -> Option<&'static ProviderInfo> {
    provider::find(&spec.provider).map(Provider::info)
}

/// Names of headers know no case.
fn put(headers: &mut Vec<(String, Secret)>, name: &str, value: Secret) {
    let name = name.trim();
    headers.retain(|(held, _)| !held.eq_ignore_ascii_case(name));
    headers.push((name.to_owned(), value));
}
