//! What agents of a Letta server have in common with models that are asked by one request. A judgment by one is a
//! conversation: [`evalrs_letta`] knows what is said in it.

use super::api::{Auth, ProviderInfo};

/// Its name in suites and keys.
pub(super) const ID: &str = "letta";

const OF_AGENT: &str = "the agent's file says it";

pub(super) static INFO: ProviderInfo = ProviderInfo {
    id: ID,
    name: "Letta",
    description: "An agent of a Letta server, made of the judge's `agent_file` for each judgment and deleted after it.",
    base_url: "http://localhost:8283",
    base_url_variable: "LETTA_BASE_URL",
    key_variables: &["LETTA_API_KEY"],
    headers_variable: "LETTA_CUSTOM_HEADERS",
    auth: Auth::Bearer,
    needs_key: false,
    version: "/v1",
    headers: &[],
    max_tokens: None,
    unsupported: &[
        ("temperature", OF_AGENT),
        ("seed", OF_AGENT),
        ("max_tokens", OF_AGENT),
        ("top_p", OF_AGENT),
        ("response_format", "its verdict is a call of a tool"),
    ],
    model_namespace: "",
    model_prefixes: &[],
    rate_limit_headers: &[],
    overflow_phrases: &[],
    shape_phrases: &[],
    error_statuses: &[],
};
