//! How the process of a program is started: its file, what runs it, its folder, its variables.

use super::secret::{Secret, without};
use evalrs_model::spec::{ProgramSpec, is_secret};

/// How a program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The suite's setting.
    pub spec: ProgramSpec,
    /// Its file, absolute.
    pub path: String,
    /// What runs it; none for what runs by itself.
    pub runtime: Option<Runtime>,
    /// The folder it runs in, absolute.
    pub cwd: String,
    /// The folder in which its loaded files are tracked, absolute.
    pub workspace: String,
    /// The files that it declares to read, absolute.
    pub inputs: Vec<String>,
    /// The files that its words name and that it may turn out to write, absolute.
    pub may_write: Vec<String>,
    /// The variables that it sees beside those that everything needs (`PATH`, `HOME`, `LANG` and the like).
    pub env: Vec<(String, Secret)>,
}

impl Start {
    /// The secrets that are passed on to the program.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let is_secret = |name: &String| {
            let named = self.spec.env.iter().find(|variable| variable.name == *name);
            named.map_or_else(|| is_secret(name), |variable| variable.is_secret)
        };
        let secrets = self.env.iter().filter(move |(name, _)| is_secret(name));
        secrets.map(|(_, secret)| secret)
    }

    /// `text` without any secret that is passed on to the program, by the name of its variable. Always before a text is
    /// cut: a part of a secret is not found any more.
    pub fn without_secrets(&self, text: &str) -> String {
        without(self.secrets(), text)
    }
}

/// What runs programs of a language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Which one it is: `python`, `node`, `bun`, `deno`.
    pub name: String,
    /// Its file, absolute.
    pub path: String,
    /// Its version, as far as it is known: `3.11.7`.
    pub version: String,
}
