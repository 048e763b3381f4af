//! What went wrong between here and a server, in words.
//!
//! HTTP libraries wrap the cause of an error in several others, each of which says less than the next.

use std::error::Error;
use std::io;

use evalrs_model::outcome::{Failure, FailureKind};

/// The way that a request took.
#[derive(Debug)]
pub(crate) struct Route {
    /// The base URL, without secrets.
    pub url: String,
    /// The proxy used for it.
    pub proxy: Option<String>,
    pub(crate) trust: Trust,
}

/// A request that came to nothing.
#[derive(Debug)]
pub(crate) struct BrokenRequest {
    pub failure: Failure,
    /// Whether the same may end otherwise in a moment.
    pub(crate) may_pass: bool,
}

impl Route {
    /// What `error` means. Where its words hold secrets, so does the message.
    pub(crate) fn failed(&self, error: &reqwest::Error) -> BrokenRequest {
        let Self { url, proxy, trust } = self;
        let said = causes(error);
        let certificate = said.iter().find(|cause| cause.starts_with("invalid peer certificate"));
        let through =
            proxy.as_ref().map_or_else(String::new, |proxy| format!(", through the proxy {proxy}"));
        let all = said.join(": ");
        let message = if let Some(certificate) = certificate {
            format!(
                "{url} has a certificate that is not trusted{through}: {certificate}; {}",
                trust.words()
            )
        } else if is_refused(error) {
            match proxy {
                None => format!("nothing listens at {url}: is a server running there?"),
                Some(proxy) => format!(
                    "nothing listens at the proxy {proxy} that the environment names for {url}: \
                     list servers to reach directly in `NO_PROXY`"
                ),
            }
        } else if error.is_builder() {
            format!("no request can be sent to {url}: {all}")
        } else if error.is_connect() {
            format!("no connection to {url}{through}: {all}")
        } else {
            format!("the connection to {url} broke{through}: {all}")
        };
        // A key or header that no request can hold is mended outside of the suite: it must not be kept.
        let kind =
            if error.is_builder() { FailureKind::Unauthorized } else { FailureKind::Connection };
        BrokenRequest { failure: Failure::new(kind, message), may_pass: certificate.is_none() }
    }
}

/// What the libraries say of errors that wrap others.
const WRAPPERS: [&str; 5] = [
    "builder error",
    "error sending request",
    "error decoding response body",
    "request or response body error",
    "client error (Connect)",
];

/// The words of an error and of everything that led to it, without those that repeat others.
pub(crate) fn causes(error: &reqwest::Error) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for cause in chain(error) {
        let words = cause.to_string();
        // The outermost error repeats the whole URL.
        let words = words.split(" for url (").next().unwrap_or_default().to_owned();
        if said.iter().all(|outer| !outer.contains(&words)) {
            said.push(words);
        }
    }
    // What the libraries wrap says nothing that is not known.
    let telling = |words: &&String| !WRAPPERS.contains(&words.as_str());
    let telling: Vec<String> = said.iter().filter(telling).cloned().collect();
    if telling.is_empty() { said } else { telling }
}

fn is_refused(error: &reqwest::Error) -> bool {
    chain(error).iter().any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// An error and what led to it. Errors of input and output that wrap others leave those out of their own chain.
fn chain(error: &reqwest::Error) -> Vec<&(dyn Error + 'static)> {
    let mut chain: Vec<&(dyn Error + 'static)> = Vec::new();
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = next {
        chain.push(cause);
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| cause.source());
    }
    chain
}

/// The variables that name the authorities that are trusted.
const CERTIFICATE_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those of the authorities that the system or the environment names.
    System,
    /// Those of the authorities that are built in: the system and the environment name none.
    BuiltIn,
}

impl Trust {
    /// The authorities it trusts, in words for the error of an untrusted certificate.
    #[expect(
        clippy::disallowed_methods,
        reason = "reports which variables the TLS library has \
                                                   read"
    )]
    fn words(self) -> String {
        let named = CERTIFICATE_VARIABLES.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some(format!("`{name}` ({})", value.to_string_lossy()))
        });
        let named = named.collect::<Vec<_>>().join(" and ");
        match (self, named.is_empty()) {
            (Self::System, true) => {
                "the system's certificate authorities are trusted; `SSL_CERT_FILE` names others"
                    .to_owned()
            }
            (Self::System, false) => format!("the certificate authorities of {named} are trusted"),
            (Self::BuiltIn, true) => {
                "the system has no certificate authorities, so the built-in ones are trusted; \
                 `SSL_CERT_FILE` names others"
                    .to_owned()
            }
            (Self::BuiltIn, false) => {
                format!(
                    "no certificate could be read from {named}, so the built-in certificate authorities are trusted"
                )
            }
        }
    }
}
