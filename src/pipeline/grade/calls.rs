//! Graders of what the target called, not of what it said.
//!
//! Calls are compared as data: the text of the arguments is parsed, because the order of keys and the
//! spacing mean nothing. Arguments that are not JSON are equal to nothing.

use std::collections::BTreeMap;

use python_re::{Regex, RegexProblem};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::grader::{GradeResult, GraderInfo, ToolGrader, with_options, without_options};
use super::json::JsonMatch;
use super::number;
use super::text::{explained, reference, regex_failure, unusable_reference, verdict};
use super::{Grade, Subject};
use crate::base::python::lower;
use crate::pipeline::options::{self, problem, schema};
use crate::pipeline::spec::OptionProblem;
use crate::pipeline::trajectory::{MessageBody, ToolCall};

/// Most calls that are paired with one another where order does not count.
const MAX_PAIRED: usize = 1000;
/// How far apart two numbers may be that a comparator takes for equal.
const NUMERIC_TOLERANCE: f64 = 1e-9;

/// The arguments of a call; without text there are none.
pub(super) fn arguments(call: &ToolCall) -> Option<Value> {
    if call.arguments.trim().is_empty() {
        return Some(Value::Object(Map::new()));
    }
    serde_json::from_str(&call.arguments).ok()
}

/// `max_tool_calls`.
pub(super) const MAX_TOOL_CALLS: GraderInfo = GraderInfo {
    id: "max_tool_calls",
    aliases: &["max-tool-calls"],
    name: "Most tool calls",
    description: "The target made no more tool calls than allowed.",
    reads_trajectory: true,
    options: schema::<MaxToolCalls>,
    compile: |config| {
        with_options::<MaxToolCalls>(config, |options, subject| Ok(options.grade(subject)))
    },
    ..GraderInfo::PLAIN
};

/// Options of `max_tool_calls`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MaxToolCalls {
    /// The greatest number of calls.
    max: usize,
}

impl MaxToolCalls {
    pub(super) fn grade(&self, subject: &Subject<'_>) -> Grade {
        let count = subject.trajectory.tool_calls(subject.include_subagents).count();
        let holds = count <= self.max;
        verdict(&format!("Tool calls: {count} of at most {}", self.max), holds)
    }
}

/// `no_tool_errors`.
pub(super) const NO_TOOL_ERRORS: GraderInfo = GraderInfo {
    id: "no_tool_errors",
    aliases: &["no-tool-errors"],
    name: "No tool errors",
    description: "No tool answered the target with an error.",
    reads_trajectory: true,
    compile: |config| without_options(config, |subject| Ok(no_tool_errors(subject))),
    ..GraderInfo::PLAIN
};

/// No tool answered with an error.
pub(super) fn no_tool_errors(subject: &Subject<'_>) -> Grade {
    let messages = subject.trajectory.messages(subject.include_subagents);
    let failed = messages
        .filter(|message| matches!(&message.body, MessageBody::ToolReturn(answer) if answer.failed))
        .count();
    let wrong = (failed > 0).then(|| format!("{failed} failed"));
    explained("No tool errors", wrong)
}

/// `tool_calls_match`.
pub(super) const TOOL_CALLS_MATCH: GraderInfo = GraderInfo {
    id: "tool_calls_match",
    aliases: &["tool-calls-match"],
    name: "Tool calls match",
    description: "The target made the expected tool calls, in order or not, with their arguments or not.",
    reads_trajectory: true,
    takes_lists: true,
    reads_row: true,
    options: schema::<ToolCallsMatch>,
    compile: |config| Ok(ToolGrader::new(ToolCallsMatch::compile(config)?, ToolCallsMatch::grade)),
    ..GraderInfo::PLAIN
};

/// How the calls as a whole compare.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Mode {
    /// The same calls in the same order.
    #[default]
    Strict,
    /// The same calls in any order.
    Unordered,
    /// Every call was expected; some expected ones may be missing.
    Subset,
    /// Every expected call was made; there may be others.
    Superset,
}

/// How the arguments of two calls compare.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Arguments {
    /// All of them are equal.
    #[default]
    Exact,
    /// The expected ones are there and equal; there may be others.
    Subset,
    /// They do not matter.
    Ignore,
}

/// How one argument compares.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Comparator {
    /// As JSON.
    Exact,
    /// As text, without regard to case.
    IgnoreCase,
    /// As numbers, however they are written.
    Numeric,
    /// The expected text is a pattern that matches somewhere.
    Regex,
    /// Not at all; it may also be missing.
    Ignore,
}

/// Options of `tool_calls_match`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ToolCallsMatch {
    /// The expected calls: a list of `{name, arguments}`.
    expected: Option<Vec<Value>>,
    /// Where the expected calls stand in the row: a dotted path.
    #[schemars(length(min = 1))]
    path: Option<String>,
    /// How the calls as a whole compare.
    mode: Mode,
    /// How the arguments of two calls compare.
    arguments: Arguments,
    /// Tool (`*` for any) → argument → how it compares.
    comparators: BTreeMap<String, BTreeMap<String, Comparator>>,
    /// Tools whose calls do not count, on either side.
    ignore_tools: Vec<String>,
}

/// A call as the suite or the dataset expects it.
#[derive(Clone, Debug, PartialEq)]
struct Expected {
    name: String,
    /// None if the arguments do not matter.
    arguments: Option<Value>,
}

/// A call as it was made.
struct Made<'a> {
    name: &'a str,
    arguments: Option<Value>,
}

impl ToolCallsMatch {
    pub(super) fn compile(config: &Map<String, Value>) -> Result<Self, Vec<OptionProblem>> {
        let options: Self = options::read(config)?;
        if options.expected.is_some() && options.path.is_some() {
            let message = "`expected` and `path` exclude each other";
            return Err(vec![problem(vec!["path".to_owned()], message)]);
        }
        let calls = options.expected.as_ref().map(|calls| expected_calls(calls));
        if let Some(Err((index, why))) = calls {
            return Err(vec![problem(vec!["expected".to_owned(), index.to_string()], why)]);
        }
        Ok(options)
    }

    pub(super) fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let counts = |name: &str| !self.ignore_tools.iter().any(|ignored| ignored == name);
        let mut expected = self.expected(subject)?;
        expected.retain(|call| counts(&call.name));
        let calls = subject.trajectory.tool_calls(subject.include_subagents);
        let made: Vec<Made<'_>> = calls
            .filter(|call| counts(&call.name))
            .map(|call| Made { name: &call.name, arguments: arguments(call) })
            .collect();
        let wrong = if self.mode == Mode::Strict {
            self.first_difference(&expected, &made)?
        } else {
            self.unpaired(&expected, &made)?
        };
        Ok(explained("Tool calls match", wrong))
    }

    fn expected(&self, subject: &Subject<'_>) -> Result<Vec<Expected>, Grade> {
        let calls = match (&self.expected, &self.path) {
            (Some(calls), _) => calls.clone(),
            (None, Some(path)) => match subject.row.get(path) {
                Some(Value::Array(calls)) => calls,
                Some(Value::String(text)) => list(&text)?,
                _ => return Err(unusable_reference(format!("no list of calls at `{path}`"))),
            },
            (None, None) => list(reference(subject)?)?,
        };
        expected_calls(&calls)
            .map_err(|(index, why)| unusable_reference(format!("call {}: {why}", index + 1)))
    }

    fn first_difference(
        &self,
        expected: &[Expected],
        made: &[Made<'_>],
    ) -> Result<Option<String>, Grade> {
        for index in 0..expected.len().max(made.len()) {
            let number = index + 1;
            match (expected.get(index), made.get(index)) {
                (Some(expected), Some(made)) if expected.name != made.name => {
                    let expected = &expected.name;
                    let made = made.name;
                    return Ok(Some(format!(
                        "call {number}: `{expected}` expected, `{made}` made"
                    )));
                }
                (Some(expected), Some(made)) => {
                    if !self.same(expected, made)? {
                        let name = made.name;
                        return Ok(Some(format!(
                            "call {number}: `{name}` has other arguments than expected"
                        )));
                    }
                }
                (Some(expected), None) => {
                    return Ok(Some(format!("call {number}: `{}` is missing", expected.name)));
                }
                (None, made) => {
                    let name = made.map_or("", |made| made.name);
                    return Ok(Some(format!("call {number}: `{name}` is not expected")));
                }
            }
        }
        Ok(None)
    }

    /// The first call without a counterpart on the other side, in the modes where order does not count.
    fn unpaired(&self, expected: &[Expected], made: &[Made<'_>]) -> Result<Option<String>, Grade> {
        if expected.len().max(made.len()) > MAX_PAIRED {
            let message = format!("more than {MAX_PAIRED} tool calls cannot be paired");
            return Err(Grade::failed("too_large", message));
        }
        let mut fits = Vec::with_capacity(expected.len());
        for expected in expected {
            let row: Result<Vec<bool>, Grade> =
                made.iter().map(|made| self.same(expected, made)).collect();
            fits.push(row?);
        }
        let partners = pair(&fits, made.len());
        let missing = (0..expected.len()).find(|index| !partners.contains(&Some(*index)));
        let further = partners.iter().position(Option::is_none);
        if let (Mode::Unordered | Mode::Superset, Some(call)) =
            (self.mode, missing.and_then(|index| expected.get(index)))
        {
            return Ok(Some(format!("`{}` is missing, or has other arguments", call.name)));
        }
        if let (Mode::Unordered | Mode::Subset, Some(call)) =
            (self.mode, further.and_then(|index| made.get(index)))
        {
            return Ok(Some(format!("`{}` is not expected, or not so", call.name)));
        }
        Ok(None)
    }

    fn same(&self, expected: &Expected, made: &Made<'_>) -> Result<bool, Grade> {
        if expected.name != made.name {
            return Ok(false);
        }
        let (Some(left), false) = (&expected.arguments, self.arguments == Arguments::Ignore) else {
            return Ok(true);
        };
        let Some(right) = &made.arguments else { return Ok(false) };
        let (Value::Object(left), Value::Object(right)) = (left, right) else {
            return Ok(self.as_json(left, right));
        };
        for (key, left) in left {
            let fits = match (self.comparator(made.name, key), right.get(key)) {
                (Comparator::Ignore, _) => true,
                (_, None) => false,
                (comparator, Some(right)) => self.compare(comparator, left, right)?,
            };
            if !fits {
                return Ok(false);
            }
        }
        let mut further = right.keys().filter(|key| !left.contains_key(*key));
        Ok(self.arguments == Arguments::Subset
            || further.all(|key| self.comparator(made.name, key) == Comparator::Ignore))
    }

    fn comparator(&self, tool: &str, argument: &str) -> Comparator {
        let of = |tool: &str| self.comparators.get(tool)?.get(argument).copied();
        of(tool).or_else(|| of("*")).unwrap_or(Comparator::Exact)
    }

    fn compare(
        &self,
        comparator: Comparator,
        expected: &Value,
        made: &Value,
    ) -> Result<bool, Grade> {
        Ok(match comparator {
            Comparator::Ignore => true,
            Comparator::Exact => self.as_json(expected, made),
            Comparator::IgnoreCase => lower(&text(expected)) == lower(&text(made)),
            Comparator::Numeric => {
                let numbers = (number::parse(&text(expected)), number::parse(&text(made)));
                matches!(numbers, (Some(left), Some(right)) if left.distance(&right) <= NUMERIC_TOLERANCE)
            }
            Comparator::Regex => {
                let found =
                    Regex::new(&text(expected)).and_then(|regex| regex.is_match(&text(made)));
                found.map_err(|problem| match problem {
                    RegexProblem::Syntax { .. } => unusable_reference(problem),
                    other => regex_failure(&other),
                })?
            }
        })
    }

    fn as_json(&self, expected: &Value, made: &Value) -> bool {
        let subset = self.arguments == Arguments::Subset;
        JsonMatch { subset, ..JsonMatch::default() }.difference(expected, made).is_none()
    }
}

/// A string as it is, anything else as its JSON text.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn list(text: &str) -> Result<Vec<Value>, Grade> {
    serde_json::from_str(text).map_err(|_| unusable_reference("it is not a JSON list of calls"))
}

/// The calls of a list, or the index of the first invalid one and why.
fn expected_calls(calls: &[Value]) -> Result<Vec<Expected>, (usize, String)> {
    let read = |(index, call)| expected_call(call).map_err(|why| (index, why.to_owned()));
    calls.iter().enumerate().map(read).collect()
}

fn expected_call(call: &Value) -> Result<Expected, &'static str> {
    if let Value::String(name) = call {
        return Ok(Expected { name: name.clone(), arguments: None });
    }
    // OpenAI puts name and arguments one level deeper.
    let call = call.get("function").filter(|function| function.is_object()).unwrap_or(call);
    let name = call.get("name").and_then(Value::as_str).ok_or("a call needs a `name`")?;
    let keys = ["arguments", "args", "kwargs", "input"];
    let arguments = match keys.iter().find_map(|key| call.get(*key)) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if text.trim().is_empty() => Some(Value::Object(Map::new())),
        Some(Value::String(text)) => {
            Some(serde_json::from_str(text).map_err(|_| "the arguments of a call are not JSON")?)
        }
        Some(value) => Some(value.clone()),
    };
    Ok(Expected { name: name.to_owned(), arguments })
}

/// Pairs as many rows with columns as possible, each with one at most that fits: for each column its row.
///
/// Augmenting paths (Kuhn 1955): a first-come pairing could leave a call alone that another order pairs.
fn pair(fits: &[Vec<bool>], columns: usize) -> Vec<Option<usize>> {
    let mut partners = vec![None; columns];
    for row in 0..fits.len() {
        let mut seen = vec![false; columns];
        augment(row, fits, &mut seen, &mut partners);
    }
    partners
}

fn augment(
    row: usize,
    fits: &[Vec<bool>],
    seen: &mut [bool],
    partners: &mut [Option<usize>],
) -> bool {
    for column in 0..partners.len() {
        let fit = fits.get(row).and_then(|row| row.get(column)).copied().unwrap_or(false);
        if !fit || std::mem::replace(&mut seen[column], true) {
            continue;
        }
        if partners[column].is_none_or(|other| augment(other, fits, seen, partners)) {
            partners[column] = Some(row);
            return true;
        }
    }
    false
}
