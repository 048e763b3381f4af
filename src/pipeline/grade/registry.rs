//! Every deterministic grader: its name, what it does, what its score means, its options.
//!
//! The only list of them. Command line, REST API, documentation and suite reader all read it here.

use serde_json::{Map, Value};

use super::json::{JsonMatch, JsonSchemaGrader, JsonSchemaOptions};
use super::number::Numeric;
use super::options::{NoOptions, none, read, schema};
use super::recorded::RecordedScore;
use super::text::{Levenshtein, OneOf, StringMatch};
use super::tool_called::ToolCalled;
use super::{Grade, OptionProblem, Subject, ToolSpec, calls, recorded, text};
use crate::base::diagnostic::suggest;

/// One deterministic grader.
#[derive(Debug)]
pub(crate) struct GraderInfo {
    /// What a suite calls it.
    pub id: &'static str,
    /// What else a suite may call it.
    pub aliases: &'static [&'static str],
    /// Its name for people.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub description: &'static str,
    /// Whether it cannot grade without a ground truth, whatever its options.
    pub needs_ground_truth: bool,
    /// Whether a ground truth that is a list means more to it than the list's JSON text.
    pub takes_lists: bool,
    /// Whether it looks at the trajectory, and not at the submission.
    pub reads_trajectory: bool,
    /// Whether it may look at the row.
    pub reads_row: bool,
    /// What its scores mean.
    pub scoring: &'static str,
    /// The JSON Schema of its options.
    pub options: fn() -> Value,
    /// Reads its options.
    compile: fn(&Map<String, Value>) -> Compiled,
}

type Compiled = Result<ToolGrader, Vec<OptionProblem>>;

const PASS_OR_FAIL: &str = "1.0 if it holds, 0.0 otherwise";

/// A grader without anything special, to be completed.
const PLAIN: GraderInfo = GraderInfo {
    id: "",
    aliases: &[],
    name: "",
    description: "",
    needs_ground_truth: false,
    takes_lists: false,
    reads_trajectory: false,
    reads_row: false,
    scoring: PASS_OR_FAIL,
    options: schema::<NoOptions>,
    compile: |_| Err(Vec::new()),
};

/// All graders, in the order they are listed.
pub(crate) static GRADERS: &[GraderInfo] = &[
    GraderInfo {
        id: "exact_match",
        aliases: &["exact-match"],
        name: "Exact match",
        description: "The submission equals the ground truth but for white space at the ends.",
        needs_ground_truth: true,
        compile: |config| none(config).map(|()| ToolGrader::ExactMatch),
        ..PLAIN
    },
    GraderInfo {
        id: "contains",
        name: "Contains",
        description: "The ground truth stands somewhere in the submission, whatever the case.",
        needs_ground_truth: true,
        compile: |config| none(config).map(|()| ToolGrader::Contains),
        ..PLAIN
    },
    GraderInfo {
        id: "regex_match",
        aliases: &["regex-match"],
        name: "Regex match",
        description: "The ground truth, a Python pattern, matches somewhere in the submission.",
        needs_ground_truth: true,
        compile: |config| none(config).map(|()| ToolGrader::RegexMatch),
        ..PLAIN
    },
    GraderInfo {
        id: "ascii_printable_only",
        aliases: &["ascii-printable-only"],
        name: "Printable ASCII only",
        description: "The submission has nothing but printable ASCII characters and line ends.",
        compile: |config| none(config).map(|()| ToolGrader::AsciiPrintableOnly),
        ..PLAIN
    },
    GraderInfo {
        id: "string_match",
        aliases: &["string-match"],
        name: "String match",
        description: "The submission equals the ground truth, by default without regard to case and white space.",
        needs_ground_truth: true,
        options: schema::<StringMatch>,
        compile: |config| read(config).map(ToolGrader::StringMatch),
        ..PLAIN
    },
    GraderInfo {
        id: "levenshtein",
        name: "Edit distance",
        description: "How alike submission and ground truth are, by Levenshtein distance in code points.",
        needs_ground_truth: true,
        scoring: "1.0 minus the distance as a share of the longer text",
        options: schema::<Levenshtein>,
        compile: |config| read(config).map(ToolGrader::Levenshtein),
        ..PLAIN
    },
    GraderInfo {
        id: "one_of",
        aliases: &["one-of"],
        name: "One of",
        description: "The submission equals one of several accepted answers.",
        takes_lists: true,
        options: schema::<OneOf>,
        compile: |config| read(config).map(ToolGrader::OneOf),
        ..PLAIN
    },
    GraderInfo {
        id: "numeric",
        name: "Numeric match",
        description: "Submission and ground truth are the same number within a tolerance, however written.",
        needs_ground_truth: true,
        options: schema::<Numeric>,
        compile: |config| read(config).map(ToolGrader::Numeric),
        ..PLAIN
    },
    GraderInfo {
        id: "json_match",
        aliases: &["json-match"],
        name: "JSON match",
        description: "Submission and ground truth are the same JSON value.",
        needs_ground_truth: true,
        takes_lists: true,
        options: schema::<JsonMatch>,
        compile: |config| read(config).map(ToolGrader::JsonMatch),
        ..PLAIN
    },
    GraderInfo {
        id: "json_schema",
        aliases: &["json-schema"],
        name: "JSON Schema",
        description: "The submission is JSON that satisfies a JSON Schema, an option or the ground truth.",
        options: schema::<JsonSchemaOptions>,
        compile: |config| JsonSchemaGrader::compile(config).map(ToolGrader::JsonSchema),
        ..PLAIN
    },
    GraderInfo {
        id: "tool_called",
        aliases: &["tool-called"],
        name: "Tool called",
        description: "The target called a tool, or each of several, as often as wanted.",
        reads_trajectory: true,
        options: schema::<ToolCalled>,
        compile: |config| ToolCalled::compile(config).map(ToolGrader::ToolCalled),
        ..PLAIN
    },
    GraderInfo {
        id: "tool_calls_match",
        aliases: &["tool-calls-match"],
        name: "Tool calls match",
        description: "The target made the expected tool calls, in order or not, with their arguments or not.",
        reads_trajectory: true,
        takes_lists: true,
        reads_row: true,
        options: schema::<calls::ToolCallsMatch>,
        compile: |config| {
            calls::ToolCallsMatch::compile(config).map(Box::new).map(ToolGrader::ToolCallsMatch)
        },
        ..PLAIN
    },
    GraderInfo {
        id: "max_tool_calls",
        aliases: &["max-tool-calls"],
        name: "Most tool calls",
        description: "The target made no more tool calls than allowed.",
        reads_trajectory: true,
        options: schema::<calls::MaxToolCalls>,
        compile: |config| read(config).map(ToolGrader::MaxToolCalls),
        ..PLAIN
    },
    GraderInfo {
        id: "no_tool_errors",
        aliases: &["no-tool-errors"],
        name: "No tool errors",
        description: "No tool answered the target with an error.",
        reads_trajectory: true,
        compile: |config| none(config).map(|()| ToolGrader::NoToolErrors),
        ..PLAIN
    },
    GraderInfo {
        id: recorded::ID,
        aliases: &["recorded-score"],
        name: "Recorded score",
        description: "Takes over a score that the row already carries.",
        reads_row: true,
        scoring: "the recorded score, mapped to 0.0 to 1.0 if it has a scale",
        options: schema::<RecordedScore>,
        compile: |config| RecordedScore::compile(config).map(ToolGrader::RecordedScore),
        ..PLAIN
    },
];

/// A grader with its options read.
#[derive(Debug)]
pub enum ToolGrader {
    /// `exact_match`.
    ExactMatch,
    /// `contains`.
    Contains,
    /// `regex_match`.
    RegexMatch,
    /// `ascii_printable_only`.
    AsciiPrintableOnly,
    /// `string_match`.
    StringMatch(StringMatch),
    /// `levenshtein`.
    Levenshtein(Levenshtein),
    /// `one_of`.
    OneOf(OneOf),
    /// `numeric`.
    Numeric(Numeric),
    /// `json_match`.
    JsonMatch(JsonMatch),
    /// `json_schema`.
    JsonSchema(JsonSchemaGrader),
    /// `tool_called`.
    ToolCalled(ToolCalled),
    /// `tool_calls_match`.
    ToolCallsMatch(Box<calls::ToolCallsMatch>),
    /// `max_tool_calls`.
    MaxToolCalls(calls::MaxToolCalls),
    /// `no_tool_errors`.
    NoToolErrors,
    /// `recorded_score`.
    RecordedScore(RecordedScore),
}

impl ToolGrader {
    /// Grades one sample.
    pub fn grade(&self, subject: &Subject<'_>) -> Grade {
        let graded = match self {
            Self::ExactMatch => text::exact_match(subject),
            Self::Contains => text::contains(subject),
            Self::RegexMatch => text::regex_match(subject),
            Self::AsciiPrintableOnly => Ok(text::ascii_printable_only(subject)),
            Self::StringMatch(options) => options.grade(subject),
            Self::Levenshtein(options) => options.grade(subject),
            Self::OneOf(options) => options.grade(subject),
            Self::Numeric(options) => options.grade(subject),
            Self::JsonMatch(options) => options.grade(subject),
            Self::JsonSchema(grader) => grader.grade(subject),
            Self::ToolCalled(options) => Ok(options.grade(subject)),
            Self::ToolCallsMatch(options) => options.grade(subject),
            Self::MaxToolCalls(options) => Ok(options.grade(subject)),
            Self::NoToolErrors => Ok(calls::no_tool_errors(subject)),
            Self::RecordedScore(options) => options.grade(subject),
        };
        graded.unwrap_or_else(|early| early)
    }
}

/// The grader that a suite calls `name`.
pub(crate) fn find(name: &str) -> Option<&'static GraderInfo> {
    GRADERS.iter().find(|info| info.id == name || info.aliases.contains(&name))
}

/// Reads the options of the grader that `spec` names, or says everything that is wrong with them.
pub(crate) fn compile(spec: &ToolSpec) -> Result<ToolGrader, Vec<OptionProblem>> {
    let Some(info) = find(&spec.function) else {
        let meant = suggest(&spec.function, GRADERS.iter().map(|info| info.id));
        return Err(vec![OptionProblem {
            at: Vec::new(),
            message: format!("there is no grader `{}`", spec.function),
            hint: meant.map(|meant| format!("did you mean `{meant}`?")),
        }]);
    };
    (info.compile)(&spec.config)
}
