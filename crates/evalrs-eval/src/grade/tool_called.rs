//! The grader `tool_called`: whether tools were called as often as wanted, with the wanted arguments.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::calls::arguments;
use super::grader::{GraderInfo, ToolGrader};
use super::json::JsonMatch;
use super::rationale::{explained, shorten, text};
use super::subject::Subject;
use super::verdict::Grade;
use crate::options::{self, problem, schema};
use evalrs_model::spec::OptionProblem;
use evalrs_trajectory::ToolCall;

/// How many names of tools a rationale lists.
const SHOWN_NAMES: usize = 5;

/// `tool_called`.
pub(super) const TOOL_CALLED: GraderInfo = GraderInfo {
    id: "tool_called",
    aliases: &["tool-called"],
    name: "Tool called",
    description: "The target called a tool, or each of several, as often as wanted.",
    reads_trajectory: true,
    options: schema::<ToolCalled>,
    compile: |config| {
        let options = ToolCalled::compile(config)?;
        Ok(ToolGrader::new(options, |options, subject| Ok(options.grade(subject))))
    },
    ..GraderInfo::PLAIN
};

/// Options of `tool_called`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ToolCalled {
    /// The tool.
    #[schemars(length(min = 1))]
    name: Option<String>,
    /// Several tools: each must have been called.
    #[schemars(length(min = 1))]
    names: Option<Vec<String>>,
    /// Arguments a call must have to count; it may have more.
    args: Map<String, Value>,
    /// The least number of calls; 1, or 0 if `max` is 0.
    min: Option<usize>,
    /// The greatest number of calls.
    max: Option<usize>,
}

impl ToolCalled {
    pub(crate) fn compile(config: &Map<String, Value>) -> Result<Self, Vec<OptionProblem>> {
        let options: Self = options::read(config)?;
        let mut problems = Vec::new();
        match (&options.name, &options.names) {
            (None, None) => problems.push(problem(Vec::new(), "the option `name` is missing")),
            (Some(_), Some(_)) => {
                let message = "`name` and `names` exclude each other";
                problems.push(problem(vec!["names".to_owned()], message));
            }
            _ => {}
        }
        if options.max.is_some_and(|max| max < options.least()) {
            let message = "`max` must not be less than `min`";
            problems.push(problem(vec!["max".to_owned()], message));
        }
        if problems.is_empty() { Ok(options) } else { Err(problems) }
    }

    fn least(&self) -> usize {
        self.min.unwrap_or(usize::from(self.max != Some(0)))
    }

    pub(crate) fn grade(&self, subject: &Subject<'_>) -> Grade {
        let calls: Vec<&ToolCall> =
            subject.trajectory.tool_calls(subject.include_subagents).collect();
        let names = || self.name.iter().chain(self.names.iter().flatten());
        let wrong = names().filter_map(|name| self.wrong(name, &calls));
        let mut wrong = wrong.reduce(|all, next| format!("{all}; {next}"));
        let is_unknown = |name: &String| calls.iter().all(|call| call.name != *name);
        // The name may be misspelt.
        if let Some(wrong) = &mut wrong
            && self.least() > 0
            && !calls.is_empty()
            && names().any(is_unknown)
        {
            wrong.push_str("; called were ");
            wrong.push_str(&names_of(&calls));
        }
        explained("Tool called", wrong)
    }

    /// What is wrong with the calls of one tool among `calls`.
    fn wrong(&self, name: &str, calls: &[&ToolCall]) -> Option<String> {
        let own: Vec<&ToolCall> = calls.iter().copied().filter(|call| call.name == name).collect();
        let differences: Vec<Option<String>> =
            own.iter().map(|call| self.difference(call)).collect();
        let count = differences.iter().filter(|difference| difference.is_none()).count();
        let few = (count < self.least()).then(|| format!("at least {}", self.least()));
        let many = self.max.filter(|max| count > *max).map(|max| format!("at most {max}"));
        let is_few = few.is_some();
        let limit = few.or(many)?;
        let last_difference = differences.iter().rev().flatten().next();
        Some(match last_difference.filter(|_| is_few) {
            Some(difference) if count == 0 && own.len() == 1 => {
                format!("`{name}` called once, with other arguments: {difference}")
            }
            Some(difference) => format!(
                "`{name}` called {}, {} of them with the expected arguments, {limit} expected; the last other: {difference}",
                times(own.len()),
                if count == 0 { "none".to_owned() } else { count.to_string() },
            ),
            None => format!("`{name}` called {}, {limit} expected", times(count)),
        })
    }

    /// The first expected argument that a call does not have, and what it has: city `Rome`, expected `Paris`.
    fn difference(&self, call: &ToolCall) -> Option<String> {
        if self.args.is_empty() {
            return None;
        }
        let Some(found) = arguments(call) else { return Some("they are not JSON".to_owned()) };
        let how = JsonMatch { subset: true, ..JsonMatch::default() };
        self.args.iter().find_map(|(key, expected)| {
            let shown = |value: &Value| shorten(&text(value));
            match found.get(key) {
                None => Some(format!("{key} is missing, expected `{}`", shown(expected))),
                Some(found) => how
                    .difference(expected, found)
                    .map(|_| format!("{key} `{}`, expected `{}`", shown(found), shown(expected))),
            }
        })
    }
}

/// The tools that were called, each once, in the order of their first calls.
fn names_of(calls: &[&ToolCall]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for call in calls {
        if !names.contains(&call.name.as_str()) {
            names.push(&call.name);
        }
    }
    let shown: Vec<String> =
        names.iter().take(SHOWN_NAMES).map(|name| format!("`{}`", shorten(name))).collect();
    let more = match names.len().saturating_sub(SHOWN_NAMES) {
        0 => String::new(),
        more => format!(" (+{more} more)"),
    };
    format!("{}{more}", shown.join(", "))
}

fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
