//! One request to a server, and its reply, for all kinds of calls: its address, its headers, its body within a
//! limit.
#![expect(clippy::disallowed_methods, reason = "Retry-After dates are compared with the clock")]

use std::time::{SystemTime, UNIX_EPOCH};

use super::pause::{Pause, pause};
use crate::{RequestHeader, Secret};
use evalrs_eval::judge::provider::{Auth, ProviderInfo};

/// A request with everything that goes before its body.
pub(crate) fn prepared(
    mut sending: reqwest::RequestBuilder,
    info: &ProviderInfo,
    api_key: Option<&Secret>,
    headers: &[RequestHeader],
) -> reqwest::RequestBuilder {
    let is_said = |name: &str| headers.iter().any(|said| said.name.eq_ignore_ascii_case(name));
    for (name, value) in info.headers.iter().filter(|(name, _)| !is_said(name)) {
        sending = sending.header(*name, *value);
    }
    if let Some(key) = api_key {
        sending = match info.auth {
            Auth::Bearer => sending.bearer_auth(key.reveal()),
            Auth::Header(name) => sending.header(name, key.reveal()),
        };
    }
    for RequestHeader { name, value, .. } in headers {
        sending = sending.header(name, value.reveal());
    }
    sending
}

/// How the body is compressed, if it is. Servers are told of nothing that they may use.
pub(crate) fn encoding(response: &reqwest::Response) -> Option<String> {
    let said = response.headers().get("content-encoding")?.to_str().ok()?.trim();
    let is_plain = said.is_empty() || said.eq_ignore_ascii_case("identity");
    (!is_plain).then(|| said.chars().take(40).collect())
}

pub(crate) fn read_pause(response: &reqwest::Response) -> Pause {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
    pause(&header, now.as_secs_f64())
}
