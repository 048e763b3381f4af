//! Whose certificates a client trusts, in words for whoever was refused.
#![expect(clippy::disallowed_methods, reason = "says which variables the TLS library has read")]

/// The variables that name the authorities that are trusted.
const CERTIFICATE_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Whose certificates are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those of the authorities that the system or the environment names.
    System,
    /// Those of the authorities that are built in: the system and the environment name none.
    BuiltIn,
}

impl Trust {
    /// Whom it trusts, in words for whoever was refused.
    pub(crate) fn words(self) -> String {
        let named = CERTIFICATE_VARIABLES.iter().filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some(format!("`{name}` ({})", value.to_string_lossy()))
        });
        let named = named.collect::<Vec<_>>().join(" and ");
        match (self, named.is_empty()) {
            (Self::System, true) => {
                "trusted are the authorities that the system knows; `SSL_CERT_FILE` names others"
                    .to_owned()
            }
            (Self::System, false) => format!("trusted are the authorities of {named}"),
            (Self::BuiltIn, true) => {
                "the system has no certificates of authorities, so the built-in ones are trusted; \
                 `SSL_CERT_FILE` names others"
                    .to_owned()
            }
            (Self::BuiltIn, false) => {
                format!(
                    "no certificate could be read from {named}, so the built-in authorities are trusted"
                )
            }
        }
    }
}
