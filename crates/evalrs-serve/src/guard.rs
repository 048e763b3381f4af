//! Who may ask: the Host and the Origin of a request, the token, and the headers that keep pages from loading anything
//! from elsewhere.
//!
//! A page of anybody's may send requests to this machine. Without a look at Host, a name that is made to point at this
//! machine (DNS rebinding) could read answers; without one at Origin, a form could start evaluations.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use subtle::ConstantTimeEq;

use super::answer::ApiError;
use super::bodies::{MOST_BODY, refused};

/// Where the server only says that it answers, to anybody.
pub(super) const HEALTH: &str = "/healthz";

/// Nothing from elsewhere, and no script or style but those of the server.
const CONTENT_SECURITY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(Debug)]
pub(super) struct RequestGuard {
    pub address: IpAddr,
    pub port: u16,
    /// The token, where one is needed.
    pub token: Option<String>,
}

impl RequestGuard {
    /// Whether the request for `path` may be answered.
    fn check(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = text(headers, &header::HOST).unwrap_or_default();
        if !self.is_own(host) {
            return Err(ApiError::forbidden("the Host of the request is not this server"));
        }
        let origin = text(headers, &header::ORIGIN);
        let is_own = |origin: &str| {
            let name = origin.strip_prefix("http://");
            // With a token any name may be the server's, and behind a proxy its pages may be encrypted: it is the one that
            // was asked.
            let behind_proxy = || origin.strip_prefix("https://").filter(|_| self.token.is_some());
            name.or_else(behind_proxy)
                .is_some_and(|name| self.is_own(name) && (self.token.is_none() || name == host))
        };
        // What only looks may come from anywhere, for the answer cannot be read there.
        if !method.is_safe() && origin.is_some_and(|origin| !is_own(origin)) {
            return Err(ApiError::forbidden("the Origin of the request is not this server"));
        }
        let length = text(headers, &header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
        if length.is_some_and(|length: u64| length > MOST_BODY as u64) {
            return Err(ApiError::too_large());
        }
        match &self.token {
            // Who looks whether the server is well has no token, and learns nothing else.
            _ if path == HEALTH => Ok(()),
            Some(token) if !has_token(token, headers) => {
                Err(ApiError::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong"))
            }
            _ => Ok(()),
        }
    }

    /// Whether `host` is how this server is reached. Behind an address that anybody may reach the token decides.
    fn is_own(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        if self.token.is_some() {
            return !host.is_empty();
        }
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let is_here = name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|address| {
                address == self.address || address.is_loopback() && self.address.is_loopback()
            });
        is_here && port == Some(self.port)
    }
}

fn has_token(token: &str, headers: &HeaderMap) -> bool {
    let Some(sent) = text(headers, &header::AUTHORIZATION) else { return false };
    let is_it = |sent: &str| bool::from(sent.as_bytes().ct_eq(token.as_bytes()));
    if let Some(sent) = sent.strip_prefix("Bearer ") {
        return is_it(sent.trim());
    }
    // Browsers ask for a name and a password; the token is the password.
    let basic = sent.strip_prefix("Basic ").and_then(|sent| decode_base64(sent.trim()));
    let password = basic.as_deref().and_then(|basic| Some(basic.split_once(':')?.1));
    password.is_some_and(is_it)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Text from base64 as browsers write it; none if it is none.
fn decode_base64(text: &str) -> Option<String> {
    String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok()
}

/// Answers what may be answered, with the headers of every answer.
pub(super) async fn guard(
    State(guard): State<Arc<RequestGuard>>,
    request: Request,
    next: Next,
) -> Response {
    let checked = guard.check(request.method(), request.uri().path(), request.headers());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(error) => {
            let mut response = error.into_response();
            if response.status() == StatusCode::UNAUTHORIZED {
                let ask = HeaderValue::from_static("Basic realm=\"evalrs\", charset=\"UTF-8\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, ask);
            }
            refused(response, request.into_body()).await
        }
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};

    use super::{RequestGuard, decode_base64};

    fn answer(
        token: Option<&str>,
        method: &Method,
        path: &str,
        headers: &[(&str, &str)],
    ) -> String {
        let guard = RequestGuard {
            address: [127, 0, 0, 1].into(),
            port: 7357,
            token: token.map(str::to_owned),
        };
        let headers = headers.iter().map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        });
        match guard.check(method, path, &headers.collect::<HeaderMap>()) {
            Ok(()) => "yes".to_owned(),
            Err(error) => error.code().to_owned(),
        }
    }

    #[test]
    fn only_this_server_is_asked_and_only_its_pages_change_anything() {
        let own = ("host", "127.0.0.1:7357");
        for (method, headers, expected) in [
            (Method::GET, &[own][..], "yes"),
            (Method::GET, &[("host", "localhost:7357")], "yes"),
            (Method::GET, &[("host", "[::1]:7357")], "yes"),
            (Method::GET, &[("host", "127.0.0.1:80")], "FORBIDDEN"),
            (Method::GET, &[("host", "127.0.0.1")], "FORBIDDEN"),
            (Method::GET, &[("host", "evil.example:7357")], "FORBIDDEN"),
            (Method::GET, &[("host", "127.0.0.1.evil.example:7357")], "FORBIDDEN"),
            (Method::GET, &[], "FORBIDDEN"),
            (Method::GET, &[own, ("origin", "http://evil.example")], "yes"),
            (Method::POST, &[own], "yes"),
            (Method::POST, &[own, ("origin", "http://localhost:7357")], "yes"),
            (Method::POST, &[own, ("origin", "http://evil.example")], "FORBIDDEN"),
            (Method::POST, &[own, ("origin", "https://127.0.0.1:7357")], "FORBIDDEN"),
            (Method::POST, &[own, ("content-length", "2097152")], "yes"),
            (Method::POST, &[own, ("content-length", "2097153")], "TOO_LARGE"),
            (Method::POST, &[own, ("content-length", "99999999999999")], "TOO_LARGE"),
            (Method::PUT, &[own, ("origin", "null")], "FORBIDDEN"),
            (Method::DELETE, &[own, ("origin", "http://127.0.0.1:9999")], "FORBIDDEN"),
        ] {
            assert_eq!(answer(None, &method, "/", headers), expected, "{method} {headers:?}");
        }
    }

    #[test]
    fn a_token_is_a_bearer_or_a_password() {
        let host = ("host", "evals.example");
        for (sent, expected) in [
            (None, "UNAUTHORIZED"),
            (Some("Bearer sesame-sesame-sesame"), "yes"),
            (Some("Bearer sesame-sesame-sesam"), "UNAUTHORIZED"),
            (Some("Bearer "), "UNAUTHORIZED"),
            (Some("Basic YW55OnNlc2FtZS1zZXNhbWUtc2VzYW1l"), "yes"),
            (Some("Basic YW55Om5v"), "UNAUTHORIZED"),
            (Some("Basic !"), "UNAUTHORIZED"),
        ] {
            let headers: Vec<_> =
                std::iter::once(host).chain(sent.map(|sent| ("authorization", sent))).collect();
            let token = Some("sesame-sesame-sesame");
            assert_eq!(answer(token, &Method::GET, "/", &headers), expected, "{sent:?}");
            assert_eq!(answer(token, &Method::GET, "/healthz", &headers), "yes", "{sent:?}");
        }
        let authorized = ("authorization", "Bearer sesame-sesame-sesame");
        for (origin, expected) in [
            ("https://evals.example", "yes"),
            ("http://evals.example", "yes"),
            ("https://other.example", "FORBIDDEN"),
        ] {
            let headers = [host, authorized, ("origin", origin)];
            let token = Some("sesame-sesame-sesame");
            assert_eq!(answer(token, &Method::POST, "/", &headers), expected, "{origin}");
        }
        assert_eq!(decode_base64("w6k=").as_deref(), Some("é"));
    }
}
