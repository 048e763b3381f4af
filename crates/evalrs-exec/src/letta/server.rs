//! Single requests to a Letta server, and what its answers mean.
//!
//! It is asked as nobody but evalrs: answers depend on the name of the client, so what is needed of an agent is always
//! named in the request. Nothing is sent where the server points to.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::RequestHeader;
use crate::launch::TargetAccess;
use crate::secret::{without, without_parameters};
use crate::transport::client::Clients;
use crate::transport::route::Route;
use crate::transport::{read_body, retry};
use evalrs_eval::judge::request_url::url;
use evalrs_eval::judge::without_secrets;
use evalrs_letta::{errors, requests};
use evalrs_model::outcome::{Failure, FailureKind};

/// The largest answer that is read, in bytes. Agents hold all that stands in their files.
const ANSWER_LIMIT: usize = 32 << 20;
/// How long a request may take that cleans up.
const CLEANING: Duration = Duration::from_secs(10);
/// The variable that holds the key of a server.
const KEY_VARIABLE: &str = "LETTA_API_KEY";

/// A Letta server as one user reaches it.
#[derive(Clone, Debug)]
pub(crate) struct LettaServer {
    http: reqwest::Client,
    access: Arc<TargetAccess>,
    route: Arc<Route>,
}

impl LettaServer {
    /// The server at an address, or why none can be called.
    pub(crate) fn new(access: TargetAccess, clients: &Clients) -> Result<Self, Failure> {
        let client = clients.client(&access.base_url)?;
        let route = Route {
            url: without_secrets(&access.base_url),
            proxy: clients.proxy(&access.base_url),
            trust: client.trust,
        };
        Ok(Self { http: client.http.clone(), access: Arc::new(access), route: Arc::new(route) })
    }

    pub(crate) fn url(&self) -> &str {
        &self.route.url
    }

    /// Makes an agent of the file `text`, with another `model` than its own if there is one, and gives its id.
    pub(crate) async fn import(&self, text: &str, model: Option<&str>) -> Result<String, Failure> {
        let body = requests::import(text, model);
        let request = self.request(Method::POST, requests::IMPORT);
        let request = request.header("content-type", body.content_type).body(body.bytes);
        let answer = self.json(request).await?;
        let ids = answer["agent_ids"].as_array().map(Vec::as_slice).unwrap_or_default();
        match ids {
            [Value::String(id)] if requests::is_id(id) => Ok(id.clone()),
            [_] => Err(self.unexpected("an import without the id of an agent")),
            ids => {
                // A file that holds one agent makes one: nobody else knows of these.
                for id in ids.iter().filter_map(Value::as_str).filter(|id| requests::is_id(id)) {
                    let _ = self.delete(id).await;
                }
                Err(self.unexpected(&format!("an import of {} agents", ids.len())))
            }
        }
    }

    /// Gives an agent another model: what an import says of one, older servers pass over in silence.
    pub(crate) async fn set_model(&self, id: &str, model: &str) -> Result<(), Failure> {
        self.change(id, &json!({"model": model})).await
    }

    /// Gives an agent a model that is configured so.
    pub(crate) async fn set_config(&self, id: &str, config: &Value) -> Result<(), Failure> {
        self.change(id, &json!({"llm_config": config})).await
    }

    async fn change(&self, id: &str, members: &Value) -> Result<(), Failure> {
        let request = self.request(Method::PATCH, &requests::agent(id));
        self.json(request.json(members)).await.map(drop)
    }

    /// What the server says of an agent, its tools and memory blocks among it.
    pub(crate) async fn agent(&self, id: &str) -> Result<Value, Failure> {
        self.json(self.request(Method::GET, &requests::agent_with_relations(id))).await
    }

    /// Sends a message to an agent, which is answered by a stream.
    pub(crate) async fn stream(&self, id: &str, message: &Value) -> Result<Response, Failure> {
        let request = self.request(Method::POST, &requests::stream(id));
        self.send(request.header("accept", "text/event-stream").json(message)).await
    }

    /// The messages of a run, all pages of them.
    pub(crate) async fn run_messages(&self, run: &str) -> Result<Vec<Value>, Failure> {
        if !requests::is_id(run) {
            return Err(self.unexpected("a run without a valid id"));
        }
        let mut messages = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..requests::MAX_PAGES {
            let path = requests::run_messages(run, after.as_deref());
            let Value::Array(page) = self.json(self.request(Method::GET, &path)).await? else {
                return Err(self.unexpected("messages that are not a list"));
            };
            let next = requests::next_page(&page, after.as_deref());
            messages.extend(page);
            match next {
                Some(last) => after = Some(last),
                None => return Ok(messages),
            }
        }
        Err(self.unexpected("endless messages"))
    }

    /// Cancels what an agent is doing. That there is nothing to cancel is as good.
    pub(crate) async fn cancel(&self, id: &str) -> Result<(), Failure> {
        let request = self.request(Method::POST, &requests::cancel(id));
        self.done(request.json(&json!({})), 409).await
    }

    /// Deletes an agent. That there is none is as good.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), Failure> {
        self.done(self.request(Method::DELETE, &requests::agent(id)), 404).await
    }

    pub(crate) fn broken(&self, error: &reqwest::Error) -> Failure {
        let failure = self.route.failed(error).failure;
        Failure { message: self.clean(&failure.message), ..failure }
    }

    /// `text` without any secret of the access.
    pub(crate) fn clean(&self, text: &str) -> String {
        let text = without(self.access.secrets(), text);
        without_parameters(&self.access.base_url, text)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut request = self.http.request(method, join(&self.access.base_url, path));
        if let Some(key) = &self.access.api_key {
            request = request.bearer_auth(key.reveal());
        }
        for RequestHeader { name, value, .. } in &self.access.headers {
            request = request.header(name, value.reveal());
        }
        request
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        self.successful(request, None).await
    }

    /// The answer to a request, if it is that of a success, or has the status `idle`.
    async fn successful(
        &self,
        request: RequestBuilder,
        idle: Option<u16>,
    ) -> Result<Response, Failure> {
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        let status = response.status().as_u16();
        let Some(kind) = retry::classify(status).filter(|_| idle != Some(status)) else {
            return Ok(response);
        };
        let body = read_body(response, ANSWER_LIMIT).await.unwrap_or_default();
        let words = self.clean(&errors::words(&body));
        let hint = match (kind, &self.access.api_key) {
            (FailureKind::Unauthorized, None) => format!("; `{KEY_VARIABLE}` holds its key"),
            _ => String::new(),
        };
        Err(Failure::new(kind, format!("the Letta server answered {status}: {words}{hint}")))
    }

    async fn json(&self, request: RequestBuilder) -> Result<Value, Failure> {
        let response = self.send(request).await?;
        let body = match read_body(response, ANSWER_LIMIT).await {
            Ok(body) => body,
            Err(Some(error)) => return Err(self.broken(&error)),
            Err(None) => return Err(self.unexpected("a reply of more than 32 MB")),
        };
        serde_json::from_slice(&body).map_err(|_| {
            let beginning = self.clean(&String::from_utf8_lossy(&body));
            let beginning: String = beginning.chars().take(80).collect();
            self.unexpected(&format!("no JSON: {beginning}"))
        })
    }

    /// Whether a request that cleans up succeeded, or had nothing to do, as the status `idle` says.
    async fn done(&self, request: RequestBuilder, idle: u16) -> Result<(), Failure> {
        self.successful(request.timeout(CLEANING), Some(idle)).await.map(drop)
    }

    /// The failure of a server that answers otherwise than a Letta server does.
    fn unexpected(&self, what: &str) -> Failure {
        let message = format!("{} does not answer like a Letta server: {what}", self.route.url);
        Failure::new(FailureKind::Server, message)
    }
}

/// The URL of a path, which may have a query of its own.
fn join(base_url: &str, path: &str) -> String {
    match path.split_once('?') {
        None => url(base_url, path),
        Some((path, query)) => {
            let url = url(base_url, path);
            let mark = if url.contains('?') { '&' } else { '?' };
            format!("{url}{mark}{query}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn a_path_with_a_query_joins_any_base_url() {
        for (base_url, path, expected) in [
            ("http://a:8283", "/v1/health/", "http://a:8283/v1/health/"),
            ("http://a:8283/v1/", "/v1/agents/import", "http://a:8283/v1/agents/import"),
            (
                "http://a",
                "/v1/agents/b?include=agent.tools",
                "http://a/v1/agents/b?include=agent.tools",
            ),
            ("http://a?key=k", "/v1/agents/b?include=c", "http://a/v1/agents/b?key=k&include=c"),
        ] {
            assert_eq!(join(base_url, path), expected);
        }
    }
}
