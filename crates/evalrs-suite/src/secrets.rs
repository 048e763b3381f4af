//! Keys of APIs that stand in a suite by mistake: they are hidden, and taken out before anything else can see them.

use crate::findings::Findings;
use evalrs_base::yaml::source;
use evalrs_base::yaml::tree::{Yaml, YamlNode};

/// The allowed words about a variable, and whether it is a secret then.
pub(crate) const SECRECIES: [(&str, bool); 2] = [("secret", true), ("plain", false)];

/// Where keys belong.
pub(crate) const SECRET_HINT: &str =
    "keep it in the environment or in `.env`, and name the variable with `api_key_env: NAME`";

/// A part of a suite, as far as it matters to secrets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretScope {
    Suite,
    Graders,
    /// A grader, or a judge of its panel.
    Grader,
    Panel,
    Headers,
    Options,
    Env,
    Other,
}

impl SecretScope {
    fn of(self, key: &str) -> Self {
        match (self, key) {
            (Self::Suite, "graders") => Self::Graders,
            (Self::Suite, "grader") | (Self::Graders, _) => Self::Grader,
            (Self::Grader, "panel") => Self::Panel,
            (Self::Grader, "headers") => Self::Headers,
            (Self::Grader, "extractor_options") | (Self::Suite, "reward") => Self::Options,
            (Self::Grader | Self::Options, "env") => Self::Env,
            _ => Self::Other,
        }
    }

    fn item(self) -> Self {
        match self {
            Self::Panel => Self::Grader,
            Self::Env => Self::Env,
            _ => Self::Other,
        }
    }

    /// Whether a secret is taken out here, and not refused by the reader of the part.
    fn ignores_secrets(self) -> bool {
        !matches!(self, Self::Grader | Self::Headers)
    }

    fn hides(self, key: &str, text: &str) -> bool {
        let in_header = self == Self::Headers && source::is_secret_header(key, text);
        in_header || source::may_be_secret(key) && key != "api_key_env"
    }
}

/// Hides every literal secret from diagnostics, and takes those out of the tree that no reader refuses.
pub(crate) fn take_secrets(node: &mut YamlNode, part: SecretScope, findings: &Findings) {
    match &mut node.value {
        Yaml::Seq(items) => {
            for item in items {
                take_secrets(item, part.item(), findings);
            }
        }
        Yaml::Map(entries) => {
            for entry in &mut *entries {
                take_secrets(&mut entry.value, part.of(&entry.key), findings);
            }
            entries.retain(|entry| {
                let Yaml::Str(text) = &entry.value.value else { return true };
                // There, it is only said whether a variable is a secret.
                if part == SecretScope::Env && SECRECIES.iter().any(|(name, _)| name == text) {
                    return true;
                }
                if part.hides(&entry.key, text) {
                    findings.hide(entry.value.span);
                }
                let ignored = part.ignores_secrets() && source::is_secret(&entry.key);
                if ignored {
                    let message =
                        format!("`{}` is ignored: never put a key into a suite", entry.key);
                    findings.warning(entry.key_span, &message, SECRET_HINT);
                }
                !ignored
            });
        }
        _ => {}
    }
}
