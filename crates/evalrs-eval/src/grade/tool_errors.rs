//! The grader that looks for tools that answered with an error.

use python_re::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::grader::{GradeResult, GraderInfo, ToolGrader};
use super::rationale::{explained, regex_failure};
use super::subject::Subject;
use crate::options::{self, problem, schema};
use evalrs_model::spec::OptionProblem;
use evalrs_trajectory::MessageBody;

/// `no_tool_errors`.
pub(super) const NO_TOOL_ERRORS: GraderInfo = GraderInfo {
    id: "no_tool_errors",
    aliases: &["no-tool-errors"],
    name: "No tool errors",
    description: "No tool answered the target with an error.",
    reads_trajectory: true,
    options: schema::<NoToolErrors>,
    compile: |config| Ok(ToolGrader::new(ErrorFinder::compile(config)?, ErrorFinder::grade)),
    ..GraderInfo::PLAIN
};

/// Options of `no_tool_errors`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoToolErrors {
    /// A Python pattern: an answer in which it matches somewhere is an error too, whatever the recording says of the call.
    #[serde(default)]
    pattern: Option<String>,
}

/// Finds answers of tools that are errors.
struct ErrorFinder {
    pattern: Option<Regex>,
}

impl ErrorFinder {
    fn compile(config: &Map<String, Value>) -> Result<Self, Vec<OptionProblem>> {
        let NoToolErrors { pattern } = options::read(config)?;
        let pattern = pattern.as_deref().map(Regex::new).transpose();
        let wrong = |why| {
            let message = format!("`pattern` is not a valid pattern: {why}");
            vec![problem(vec!["pattern".to_owned()], message)]
        };
        Ok(Self { pattern: pattern.map_err(wrong)? })
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let mut failed = 0;
        for message in subject.trajectory.messages(subject.include_subagents) {
            let MessageBody::ToolReturn(answer) = &message.body else { continue };
            let says_so = match &self.pattern {
                Some(pattern) if !answer.failed => {
                    pattern.is_match(&answer.output).map_err(|problem| regex_failure(&problem))?
                }
                _ => false,
            };
            failed += usize::from(answer.failed || says_so);
        }
        let wrong = (failed > 0).then(|| format!("{failed} failed"));
        Ok(explained("No tool errors", wrong))
    }
}
