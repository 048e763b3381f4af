//! Queries of addresses of the API: a member that the address does not know is refused, for it may be a slip of one that it knows.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};

use super::answer::ApiError;
use evalrs_base::diagnostic::{clipped, suggest};

/// What queries the addresses of a server have.
#[derive(Debug)]
pub(super) struct KnownQueries(Vec<KnownQuery>);

#[derive(Debug)]
struct KnownQuery {
    /// The parts of the address; those in braces are any.
    address: Vec<String>,
    members: BTreeSet<String>,
}

impl KnownQuery {
    fn is_of(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let mut pairs = self.address.iter().zip(&parts);
        parts.len() == self.address.len()
            && pairs.all(|(own, part)| own.starts_with('{') || own == part)
    }
}

impl KnownQueries {
    pub(crate) fn of(document: &Value) -> Self {
        let addresses = document["paths"].as_object().into_iter().flatten();
        let known = addresses.map(|(path, operations)| {
            let operations = operations.as_object().into_iter().flat_map(Map::values);
            let all = operations.filter_map(|operation| operation["parameters"].as_array());
            let named = all.flatten().filter(|parameter| parameter["in"] == "query");
            let names = named.filter_map(|parameter| parameter["name"].as_str());
            let address = path.split('/').map(str::to_owned).collect();
            KnownQuery { address, members: names.map(str::to_owned).collect() }
        });
        Self(known.collect())
    }

    /// Says what is wrong with a query of an address.
    fn check(&self, path: &str, query: &str) -> Result<(), ApiError> {
        let Some(known) = self.0.iter().find(|known| known.is_of(path)) else { return Ok(()) };
        let known = &known.members;
        let names = query.split('&').filter_map(|member| member.split('=').next());
        let unknown = names.filter(|name| !name.is_empty()).find(|name| !known.contains(*name));
        let Some(name) = unknown else { return Ok(()) };
        let meant = suggest(name, known.iter().map(String::as_str));
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        let name = clipped(name);
        Err(ApiError::bad_request(format!("the query has no member `{name}` here{meant}")))
    }
}

/// Refuses queries with members that their address does not know.
pub(super) async fn only_known_query(
    State(known): State<Arc<KnownQueries>>,
    request: Request,
    next: Next,
) -> Response {
    let query = request.uri().query().unwrap_or_default();
    match known.check(request.uri().path(), query) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::KnownQueries;

    #[test]
    fn members_that_an_address_does_not_know_are_refused() {
        let parameters = json!([{"in": "query", "name": "limit"}, {"in": "path", "name": "id"}]);
        let paths = json!({
            "/api/runs": {"get": {"parameters": parameters}, "post": {}},
            "/api/runs/{id}": {"get": {}},
        });
        let known = KnownQueries::of(&json!({"paths": paths}));
        for (path, query, expected) in [
            ("/api/runs", "", true),
            ("/api/runs", "limit=3&limit=4&", true),
            ("/api/runs", "limt=3", false),
            ("/api/runs", "limit=3&bogus", false),
            ("/api/runs", "id=3", false),
            ("/api/runs/limit", "limit=3", false),
            ("/healthz", "bogus=1", true),
            ("/runs/x", "bogus=1", true),
        ] {
            assert_eq!(known.check(path, query).is_ok(), expected, "{path}?{query}");
        }
    }
}
