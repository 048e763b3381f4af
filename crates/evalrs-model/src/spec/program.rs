//! What a suite says of a program of the user: which it is, what it reads, and what it is kept from.

use serde::{Deserialize, Serialize};
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr, VariantNames};

/// A program as a suite names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramSpec {
    /// Its file, joined to the suite's folder; empty where there is none.
    pub path: String,
    /// Its text, where the suite itself holds it: an expression or the body of a function.
    pub inline: Option<String>,
    /// How it is run.
    pub language: Language,
    /// What is called in the file; empty for an executable.
    pub function: String,
    /// What it is called for.
    pub role: Role,
    /// The words after its name, where it has any.
    pub arguments: Vec<String>,
    /// What runs it, where that is not to be found out: `python3.12`, `bun`, a path.
    pub runtime: Option<String>,
    /// Files, folders and glob patterns that it reads, from the suite's folder as written, sorted.
    pub inputs: Vec<String>,
    /// The folder among them that it gets a copy of, where it gets one: with what files may be used for, and empty folders.
    pub template: Option<String>,
    /// Files, folders and patterns that it writes, from the suite's folder as written, sorted: no key holds them.
    pub outputs: Vec<String>,
    /// Further variables of the environment that it sees, sorted.
    pub env: Vec<Variable>,
    /// The folder it runs in, joined to the suite's; none is the suite's own.
    pub cwd: Option<String>,
    pub sandbox: Sandbox,
    /// How often it is run for the same.
    pub repeat: Repeat,
    /// The further parts of the sample that it gets, sorted.
    pub sees: Vec<SampleMember>,
    /// Milliseconds one call may take.
    pub timeout_ms: u64,
}

impl ProgramSpec {
    /// The program in the file at `path`, by the ending of its name: `.ts .js .mjs .cjs` are modules that export `grade`,
    /// everything else is executed.
    pub fn of_file(path: String) -> Self {
        let language = Language::of_file(&path);
        let function = if language == Language::JavaScript { "grade" } else { "" };
        Self::new(path, language, function, Role::Grade)
    }

    /// The grader whose text the suite holds. It sees of the sample what it names.
    pub fn of_javascript(text: String) -> Self {
        let is_named = |member: &SampleMember| {
            let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            text.split(|c: char| !is_of_name(c)).any(|word| word == member.name())
        };
        let sees = SampleMember::iter().filter(is_named).collect();
        let spec = Self::new(String::new(), Language::JavaScript, INLINE_FUNCTION, Role::Grade);
        Self { inline: Some(text), sees, ..spec }
    }

    /// Whether there is a text of it: a command that is installed has none here.
    pub fn has_text(&self) -> bool {
        self.inline.is_some() || !self.path.is_empty()
    }

    /// How it is named in one word: `file.py:name`, or its file.
    pub fn shown(&self) -> String {
        if let Some(text) = &self.inline {
            let line = text.trim().lines().next().unwrap_or_default();
            let beginning: String = line.chars().take(SHOWN_CHARACTERS).collect();
            let more = if beginning.len() < text.trim().len() { "…" } else { "" };
            return format!("JavaScript {beginning}{more}");
        }
        if self.path.is_empty() {
            let words = self.runtime.iter().chain(&self.arguments);
            return words.map(String::as_str).collect::<Vec<_>>().join(" ");
        }
        let file = self.path.rsplit('/').next().unwrap_or(&self.path);
        match self.language {
            Language::Python => format!("{file}:{}", self.function),
            Language::Executable | Language::JavaScript => file.to_owned(),
        }
    }

    /// The file that runs it, if the suite says which.
    pub fn runtime_path(&self) -> Option<&String> {
        self.runtime.as_ref().filter(|runtime| runtime.contains('/'))
    }

    /// The program `function` of the file at `path`, with no other settings.
    pub fn new(path: String, language: Language, function: &str, role: Role) -> Self {
        Self {
            path,
            inline: None,
            language,
            function: function.to_owned(),
            role,
            arguments: Vec::new(),
            runtime: None,
            inputs: Vec::new(),
            template: None,
            outputs: Vec::new(),
            env: Vec::new(),
            cwd: None,
            sandbox: Sandbox::default(),
            repeat: Repeat::Never,
            sees: Vec::new(),
            timeout_ms: TIMEOUT_MS,
        }
    }
}

/// How much of the text of a suite names it.
const SHOWN_CHARACTERS: usize = 40;

/// What keys call the function that is made of the text of a suite.
const INLINE_FUNCTION: &str = "inline";

/// Milliseconds a call may take where the suite does not say.
const TIMEOUT_MS: u64 = 60_000;

/// How a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Language {
    /// As a process for each call, JSON on its standard input and output.
    Executable,
    /// As a module in a worker.
    JavaScript,
    /// As a function in a worker.
    Python,
}

impl Language {
    /// The language of a grader's file, by the ending of its name. Python files are executed: a function of one is named
    /// `file.py:name`.
    pub fn of_file(path: &str) -> Self {
        let is_module = [".ts", ".js", ".mjs", ".cjs"].iter().any(|ending| path.ends_with(ending));
        if is_module { Self::JavaScript } else { Self::Executable }
    }

    /// Its name in keys.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether a worker runs it, which says what other files it loads.
    pub fn has_worker(self) -> bool {
        self != Self::Executable
    }
}

/// What a program is called for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    Grade,
    Extract,
    /// One score of many grades.
    Reward,
    /// Ranks of the runs of a prompt.
    Compare,
    /// The answer of the agent that is evaluated.
    Target,
    /// What a tool answers that such an agent calls.
    Tool,
    /// The id of an agent that it makes on a server.
    AgentFactory,
    /// Nothing: it prepares a server for the agents of a suite.
    SuiteSetup,
    /// The reply of a judge.
    Judge,
}

impl Role {
    /// Whether it is called for a target, and not for what grades it.
    pub fn is_of_target(self) -> bool {
        matches!(self, Self::Target | Self::Tool | Self::AgentFactory | Self::SuiteSetup)
    }

    /// Its name in keys and for workers.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What a program is kept from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Sandbox {
    /// Whether there is one.
    pub kind: SandboxKind,
    /// The most memory of a process, in bytes.
    pub memory: Option<u64>,
    /// The most processor time of a process, in seconds.
    #[serde(rename = "cpu")]
    pub cpu_seconds: Option<u64>,
}

/// Whether a program is kept from the network and from writing.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SandboxKind {
    /// It is not.
    #[default]
    None,
    /// It is where bubblewrap is installed.
    Auto,
    /// It is, or does not run.
    Bubblewrap,
}

impl SandboxKind {
    /// Its name in suites and keys.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How often a program is run for the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// Once: what it gave is kept.
    #[default]
    Never,
    /// In every evaluation: it reads the world (`cache: false`).
    Always,
    /// Twice for some samples, to see whether it gives the same (`deterministic: check`).
    Sometimes,
}

/// The parts of a sample that a program may get if the suite lists them (`sees`), in this order. All of it is part of
/// the keys of its calls.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, IntoStaticStr, VariantNames,
)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum SampleMember {
    /// The row of the dataset, whole and as written.
    Row,
    /// The id as the row says it.
    Id,
    /// The model that was run.
    Model,
    /// Which repetition of the sample it is, from 0.
    Trial,
    /// The tags of the row.
    Tags,
    /// What is graded.
    Submission,
    /// The same, as inline graders call it.
    Output,
    /// The reference answer in the shape that the row has it in: a text, a list, an object.
    GroundTruth,
    /// The reference answer as text, as inline graders call it.
    Hint,
    /// What the agent did, as steps.
    Trajectory,
}

impl SampleMember {
    /// Its name in suites and for programs.
    pub const fn name(self) -> &'static str {
        self.into_str()
    }
}

/// A variable that a suite names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable {
    pub name: String,
    /// Whether its value is a secret: then it is in no key, and taken out of whatever a program says.
    pub is_secret: bool,
}

impl Variable {
    /// The variable of this name, a secret if its name says so.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), is_secret: is_secret(name) }
    }

    /// Whether the name alone says what it is.
    pub fn is_plainly_named(&self) -> bool {
        self.is_secret == is_secret(&self.name)
    }
}

/// Whether a variable holds a secret by its name, which must not leave a doubt: a value that decides what a program gives
/// and is in no key makes results stale.
pub fn is_secret(name: &str) -> bool {
    const NAMES: [&str; 7] =
        ["API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS"];
    let name = name.to_ascii_uppercase();
    let ends = |end: &&str| {
        name.strip_suffix(*end).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
    };
    NAMES.iter().any(ends)
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn secrets_are_known_by_names_that_leave_no_doubt() {
        for (name, expected) in [
            ("OPENAI_API_KEY", true),
            ("API_KEY", true),
            ("github_token", true),
            ("TOKEN", true),
            ("DB_PASSWORD", true),
            ("CLIENT_SECRET", true),
            ("GOOGLE_CREDENTIALS", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("DEPLOY_PRIVATE_KEY", true),
            ("TOKEN_LIMIT", false),
            ("MYTOKEN", false),
            ("KEY_COLUMN", false),
            ("SORT_KEY", false),
            ("AUTH_MODE", false),
            ("COOKIE_POLICY", false),
            ("DB_PASS", false),
            ("AUTHOR", false),
            ("MODE", false),
            ("LANG", false),
            ("", false),
        ] {
            assert_eq!(is_secret(name), expected, "{name}");
        }
    }
}
