//! Graders of the tools of a target: whether they were called as often as wanted with the wanted arguments, and whether
//! they answered with errors.

use std::collections::{BTreeMap, HashSet};

use python_re::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::calls::arguments;
use super::grader::{GradeResult, GraderInfo, Subject, ToolGrader};
use super::json::JsonMatch;
use super::rationale::{explained, regex_failure, shorten};
use super::verdict::Grade;
use crate::options::{self, problem};
use evalrs_base::json_syntax::as_text;
use evalrs_model::spec::OptionProblem;
use evalrs_trajectory::{MessageBody, ToolCall};

/// How many names of tools a rationale lists.
const SHOWN_NAMES: usize = 5;

pub(super) const TOOL_CALLED: GraderInfo = GraderInfo {
    id: "tool_called",
    name: "Tool called",
    description: "The target called a tool, or each of several, within a number of calls.",
    reads_trajectory: true,
    ..GraderInfo::new::<ToolCalled>(|config| {
        let wanted = WantedCalls::new(options::read(config)?)?;
        Ok(ToolGrader::new(wanted, WantedCalls::grade))
    })
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
    /// Arguments that a call must have to count; it may have more.
    args: Map<String, Value>,
    /// Argument → a Python pattern that must match somewhere in it for a call to count.
    patterns: BTreeMap<String, String>,
    /// The least number of calls; 1, or 0 if `max` is 0.
    min: Option<usize>,
    /// The greatest number of calls.
    max: Option<usize>,
}

impl ToolCalled {
    fn problems(&self) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        match (&self.name, &self.names) {
            (None, None) => problems.push(problem(&[], "the option `name` is missing")),
            (Some(_), Some(_)) => {
                problems.push(problem(&["names"], "`name` and `names` exclude each other"));
            }
            _ => {}
        }
        if self.max.is_some_and(|max| max < self.least()) {
            problems.push(problem(&["max"], "`max` must not be less than `min`"));
        }
        problems
    }

    fn least(&self) -> usize {
        self.min.unwrap_or(usize::from(self.max != Some(0)))
    }
}

/// The options of `tool_called`, their patterns read.
struct WantedCalls {
    options: ToolCalled,
    patterns: Vec<ArgumentPattern>,
}

/// A pattern for the text of an argument.
struct ArgumentPattern {
    argument: String,
    written: String,
    pattern: Regex,
}

impl WantedCalls {
    fn new(options: ToolCalled) -> Result<Self, Vec<OptionProblem>> {
        let mut problems = options.problems();
        let mut patterns = Vec::new();
        for (argument, written) in &options.patterns {
            match Regex::new(written) {
                Ok(pattern) => patterns.push(ArgumentPattern {
                    argument: argument.clone(),
                    written: written.clone(),
                    pattern,
                }),
                Err(why) => {
                    let message = format!("`{argument}` is not a valid pattern: {why}");
                    problems.push(problem(&["patterns", argument], message));
                }
            }
        }
        if problems.is_empty() { Ok(Self { options, patterns }) } else { Err(problems) }
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let calls: Vec<&ToolCall> =
            subject.trajectory.tool_calls(subject.include_subagents).collect();
        let ToolCalled { name, names, .. } = &self.options;
        let names = || name.iter().chain(names.iter().flatten());
        let wrong = names().filter_map(|name| self.wrong(name, &calls).transpose());
        let wrong: Vec<String> = wrong.collect::<Result<_, Grade>>()?;
        let mut wrong = (!wrong.is_empty()).then(|| wrong.join("; "));
        // The name may be misspelt.
        if let Some(wrong) = &mut wrong
            && self.options.least() > 0
            && !calls.is_empty()
            && names().any(|name| calls.iter().all(|call| call.name != *name))
        {
            wrong.push_str("; called were ");
            wrong.push_str(&names_of(&calls));
        }
        Ok(explained("Tool called", wrong))
    }

    /// What is wrong with the calls of one tool among `calls`.
    fn wrong(&self, name: &str, calls: &[&ToolCall]) -> Result<Option<String>, Grade> {
        let own: Vec<&ToolCall> = calls.iter().copied().filter(|call| call.name == name).collect();
        let differences: Vec<Option<String>> =
            own.iter().map(|call| self.difference(call)).collect::<Result<_, Grade>>()?;
        let count = differences.iter().filter(|difference| difference.is_none()).count();
        let least = self.options.least();
        let is_few = count < least;
        let limit = match self.options.max {
            _ if is_few => format!("at least {least}"),
            Some(max) if count > max => format!("at most {max}"),
            _ => return Ok(None),
        };
        let last_difference = differences.iter().rev().flatten().next();
        Ok(Some(match last_difference.filter(|_| is_few) {
            Some(difference) if count == 0 && own.len() == 1 => {
                format!("`{name}` called once, with other arguments: {difference}")
            }
            Some(difference) => format!(
                "`{name}` called {}, {} of them with the expected arguments, {limit} expected; the last other: {difference}",
                times(own.len()),
                if count == 0 { "none".to_owned() } else { count.to_string() },
            ),
            None => {
                let mut pairs = own.iter().zip(&differences).rev();
                let last = pairs.find(|(_, difference)| difference.is_none());
                let shown = last.and_then(|(call, _)| self.matched(call));
                let when = if count == 1 { "" } else { "the last time " };
                let shown = shown.map(|text| format!(", {when}with {text}"));
                format!(
                    "`{name}` called {}{}, {limit} expected",
                    times(count),
                    shown.unwrap_or_default()
                )
            }
        }))
    }

    /// The first argument of a call that a pattern looks at: command `ls -l`.
    fn matched(&self, call: &ToolCall) -> Option<String> {
        let ArgumentPattern { argument, .. } = self.patterns.first()?;
        let text = as_text(arguments(call)?.get(argument)?);
        Some(format!("{argument} `{}`", shorten(&text)))
    }

    /// The first expected argument that a call does not have, and what it has: city `Rome`, expected `Paris`.
    fn difference(&self, call: &ToolCall) -> Result<Option<String>, Grade> {
        if self.options.args.is_empty() && self.patterns.is_empty() {
            return Ok(None);
        }
        let Some(found) = arguments(call) else { return Ok(Some("they are not JSON".to_owned())) };
        let how = JsonMatch { subset: true, ..JsonMatch::default() };
        let shown = |value: &Value| shorten(&as_text(value));
        for (key, expected) in &self.options.args {
            match found.get(key) {
                None => {
                    return Ok(Some(format!("{key} is missing, expected `{}`", shown(expected))));
                }
                Some(found) if how.difference(expected, found).is_some() => {
                    let texts = format!("{key} `{}`, expected `{}`", shown(found), shown(expected));
                    return Ok(Some(texts));
                }
                Some(_) => {}
            }
        }
        for ArgumentPattern { argument, written, pattern } in &self.patterns {
            let written = shorten(written);
            let Some(found) = found.get(argument) else {
                let text = format!("{argument} is missing, expected a match of `{written}`");
                return Ok(Some(text));
            };
            if !pattern.is_match(&as_text(found)).map_err(|problem| regex_failure(&problem))? {
                let text =
                    format!("{argument} `{}`, which does not match `{written}`", shown(found));
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

/// The tools that were called, each once, in the order of their first calls.
fn names_of(calls: &[&ToolCall]) -> String {
    let mut seen = HashSet::new();
    let names: Vec<&str> =
        calls.iter().map(|call| call.name.as_str()).filter(|name| seen.insert(*name)).collect();
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

pub(super) const NO_TOOL_ERRORS: GraderInfo = GraderInfo {
    id: "no_tool_errors",
    name: "No tool errors",
    description: "No tool answered the target with an error.",
    reads_trajectory: true,
    ..GraderInfo::new::<NoToolErrors>(|config| {
        let NoToolErrors { pattern } = options::read(config)?;
        let pattern = pattern.as_deref().map(options::pattern).transpose()?;
        Ok(ToolGrader::new(pattern, |pattern: &Option<Regex>, subject| {
            no_tool_errors(pattern.as_ref(), subject)
        }))
    })
};

/// Options of `no_tool_errors`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoToolErrors {
    /// A Python pattern: an answer of a tool that it matches somewhere is an error too, even if the record marks none.
    #[serde(default)]
    pattern: Option<String>,
}

fn no_tool_errors(pattern: Option<&Regex>, subject: &Subject<'_>) -> GradeResult {
    let mut failed = 0;
    for message in subject.trajectory.messages(subject.include_subagents) {
        let MessageBody::ToolReturn(answer) = &message.body else { continue };
        let says_so = match pattern {
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
