//! The HTTP clients of a process, each built when the first request needs it.
//!
//! What stands in the way of HTTP on a machine, such as having no certificates of authorities, costs nobody who asks no
//! judge. Trusted are the authorities that the system knows, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`. Where that
//! comes to none, as in base images of containers, those that Mozilla's browsers trust and that are built in here.
//!
//! What listens on this machine is asked without a proxy, which would look for it on its own.

use std::cell::{OnceCell, RefCell};
use std::net::IpAddr;

use hyper_util::client::proxy::matcher::Matcher;

use super::route::{Trust, causes};
use evalrs_model::outcome::{Failure, FailureKind};

#[derive(Debug)]
pub(crate) struct Clients {
    /// Connections of each server that are kept for the next request.
    idle: usize,
    /// For what listens on this machine.
    local: OnceCell<Result<Client, String>>,
    /// For everything else, by the proxies that the environment names.
    remote: OnceCell<Result<Client, String>>,
    proxies: OnceCell<Matcher>,
    /// The address of the last request, and whether it is of this machine: mostly the next one has the same.
    last: RefCell<(String, bool)>,
}

/// A client, and whom it trusts.
#[derive(Debug)]
pub(crate) struct Client {
    pub http: reqwest::Client,
    pub(crate) trust: Trust,
}

impl Clients {
    /// No clients yet, each of which will keep up to `idle` connections to a server.
    pub(crate) fn new(idle: usize) -> Self {
        Self {
            idle,
            local: OnceCell::new(),
            remote: OnceCell::new(),
            proxies: OnceCell::new(),
            last: RefCell::default(),
        }
    }

    /// The client for requests to `url`, or why there is none.
    pub(crate) fn client(&self, url: &str) -> Result<&Client, Failure> {
        let is_local = self.is_local(url);
        let cell = if is_local { &self.local } else { &self.remote };
        let client = cell.get_or_init(|| Client::new(self.idle, is_local)).as_ref();
        client.map_err(|error| {
            Failure::new(FailureKind::Connection, format!("cannot set up HTTP: {error}"))
        })
    }

    fn is_local(&self, url: &str) -> bool {
        let mut last = self.last.borrow_mut();
        if last.0 != url {
            *last = (url.to_owned(), is_local(url));
        }
        last.1
    }

    /// The proxy for `url`, without its credentials; none if there is none.
    pub(crate) fn proxy(&self, url: &str) -> Option<String> {
        let url = url.parse().ok().filter(|_| !is_local(url))?;
        let proxy = self.proxies.get_or_init(Matcher::from_system).intercept(&url)?;
        Some(proxy.uri().to_string().trim_end_matches('/').to_owned())
    }
}

impl Client {
    fn new(idle: usize, is_local: bool) -> Result<Self, String> {
        // Another part of the process may have installed it already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            let builder = reqwest::Client::builder()
                .http1_only()
                // A prompt goes where the suite says, and nowhere a server points to.
                .redirect(reqwest::redirect::Policy::none())
                .pool_max_idle_per_host(idle)
                .user_agent(concat!("evalrs/", env!("CARGO_PKG_VERSION")));
            if is_local { builder.no_proxy() } else { builder }
        };
        if let Ok(http) = builder().build() {
            return Ok(Self { http, trust: Trust::System });
        }
        let built_in = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
        let built_in = built_in.filter_map(|der| reqwest::Certificate::from_der(der).ok());
        match builder().tls_certs_only(built_in).build() {
            Ok(http) => Ok(Self { http, trust: Trust::BuiltIn }),
            Err(error) => Err(causes(&error).join(": ")),
        }
    }
}

/// Whether `url` is of this machine: `localhost`, 127.0.0.0/8 or `::1`.
fn is_local(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host.trim_end_matches('.').eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::Clients;

    #[test]
    fn only_what_listens_on_this_machine_is_local() {
        let clients = Clients::new(1);
        for (url, expected) in [
            ("http://localhost:8080/v1", true),
            ("https://LOCALHOST/v1", true),
            ("http://localhost./v1", true),
            ("http://127.0.0.1/v1", true),
            ("http://127.9.8.7:1/v1?x=y", true),
            ("http://127.1/v1", true),
            ("http://user:secret@[::1]:8080", true),
            ("http://localhost.example.com/v1", false),
            ("http://example.com/localhost", false),
            ("http://128.0.0.1", false),
            ("http://[::2]", false),
            ("http://10.0.0.1", false),
            ("no url", false),
            ("", false),
        ] {
            for look in ["first", "again"] {
                assert_eq!(clients.is_local(url), expected, "{url}, {look}");
            }
        }
    }
}
