//! What a suite says of a program of the user: which it is, what it reads, and what it is kept from.

use serde::{Deserialize, Serialize};

use super::Variable;

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
    /// What it is handed of the sample besides what every program is, sorted.
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
        let sees = SampleMember::ALL.into_iter().filter(is_named).collect();
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

    /// The program `function` of the file at `path`, with nothing else said.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
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
        match self {
            Self::Executable => "executable",
            Self::JavaScript => "javascript",
            Self::Python => "python",
        }
    }

    /// Whether a worker runs it, which says what other files it loads.
    pub fn has_worker(self) -> bool {
        self != Self::Executable
    }
}

/// What a program is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    #[serde(rename = "agent_factory")]
    AgentFactory,
    /// Nothing: it prepares a server for the agents of a suite.
    #[serde(rename = "suite_setup")]
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
        match self {
            Self::Grade => "grade",
            Self::Extract => "extract",
            Self::Reward => "reward",
            Self::Compare => "compare",
            Self::Target => "target",
            Self::Tool => "tool",
            Self::AgentFactory => "agent_factory",
            Self::SuiteSetup => "suite_setup",
            Self::Judge => "judge",
        }
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
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
        match self {
            Self::None => "none",
            Self::Auto => "auto",
            Self::Bubblewrap => "bubblewrap",
        }
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

/// What a program may be handed of a sample where the suite says so (`sees`). All of it is part of the keys of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// All of them, in the order in which they are handed over.
    pub const ALL: [Self; 10] = [
        Self::Row,
        Self::Id,
        Self::Model,
        Self::Trial,
        Self::Tags,
        Self::Submission,
        Self::Output,
        Self::GroundTruth,
        Self::Hint,
        Self::Trajectory,
    ];

    /// Its name in suites and for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Id => "id",
            Self::Model => "model",
            Self::Trial => "trial",
            Self::Tags => "tags",
            Self::Submission => "submission",
            Self::Output => "output",
            Self::GroundTruth => "ground_truth",
            Self::Hint => "hint",
            Self::Trajectory => "trajectory",
        }
    }
}
