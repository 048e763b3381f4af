//! Graders of the target's calls, not of its messages.
//!
//! Calls are compared as data: the text of the arguments is parsed, because the order of keys and the
//! spacing mean nothing. Arguments that are not JSON are equal to nothing.

use std::collections::BTreeMap;

use python_re::{Regex, RegexProblem};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::expected_calls::{ExpectedCall, expected_calls, list};
use super::given::reference;
use super::grader::{GradeResult, GraderInfo, GraderOptions, Subject, ToolGrader};
use super::json::JsonMatch;
use super::number;
use super::rationale::{explained, regex_failure, unusable_reference, verdict};
use super::verdict::Grade;
use super::written_calls::{CallSyntax, WrittenCall, calls_by_pattern};
use crate::options::{self, problem};
use evalrs_base::json_syntax::as_text;
use evalrs_base::python::lower;
use evalrs_model::spec::OptionProblem;
use evalrs_trajectory::ToolCall;

/// Most calls that are paired with one another where order does not count.
const MAX_PAIRED: usize = 1000;
/// How many calls that are missing or too many a rationale names.
const SHOWN_CALLS: usize = 5;
/// How far apart two numbers may be that a comparator takes for equal.
const NUMERIC_TOLERANCE: f64 = 1e-9;

/// The arguments of a call; without text there are none.
pub(super) fn arguments(call: &ToolCall) -> Option<Value> {
    if call.arguments.trim().is_empty() {
        return Some(Value::Object(Map::new()));
    }
    serde_json::from_str(&call.arguments).ok()
}

pub(super) const MAX_TOOL_CALLS: GraderInfo = GraderInfo {
    id: "max_tool_calls",
    name: "Most tool calls",
    description: "The target made no more tool calls than allowed.",
    reads_trajectory: true,
    ..GraderInfo::of::<MaxToolCalls>()
};

/// Options of `max_tool_calls`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MaxToolCalls {
    /// The greatest number of calls.
    max: usize,
}

impl GraderOptions for MaxToolCalls {
    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let count = subject.trajectory.tool_calls(subject.include_subagents).count();
        Ok(verdict(&format!("Tool calls: {count} of at most {}", self.max), count <= self.max))
    }
}

pub(super) const TOOL_CALLS_MATCH: GraderInfo = GraderInfo {
    id: "tool_calls_match",
    name: "Tool calls match",
    description: "The target made the expected tool calls, in order or not, with their arguments or not.",
    scoring: "1.0 if they match; with `score`, the F1, precision or recall of the calls",
    reads_trajectory: true,
    reads_text_if: &["written", "pattern"],
    takes_lists: true,
    reads_row: true,
    ..GraderInfo::new::<ToolCallsMatch>(|config| {
        Ok(ToolGrader::new(CallsMatcher::compile(config)?, CallsMatcher::grade))
    })
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
    /// They are ignored.
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
    /// As numbers, in any notation.
    Numeric,
    /// The expected text is a pattern that matches somewhere.
    Regex,
    /// Not at all; it may also be missing.
    Ignore,
}

/// What is the score, where it is more than whether the calls match.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum CallScore {
    /// The harmonic mean of precision and recall.
    F1,
    /// The share of the calls that were expected.
    Precision,
    /// The share of the expected calls that were made.
    Recall,
}

/// Options of `tool_calls_match`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ToolCallsMatch {
    /// The expected calls: a list of `{name, arguments}`, each perhaps with `one_of` and `optional`.
    expected: Option<Vec<Value>>,
    /// The dotted path of the expected calls in the row.
    #[schemars(length(min = 1))]
    path: Option<String>,
    /// How the calls as a whole compare; `strict` if absent.
    mode: Option<Mode>,
    /// Scores by F1, precision or recall over calls, paired with the expected ones in any order; if absent, 1.0 or 0.0.
    score: Option<CallScore>,
    /// The notation of calls in the submission; then the submission is read instead of the trajectory.
    written: Option<CallSyntax>,
    /// A Python pattern that finds calls in the submission, which is then read instead of the trajectory: its groups
    /// `name` and `arguments`, else its first two.
    #[schemars(length(min = 1))]
    pattern: Option<String>,
    /// How the arguments of two calls compare.
    arguments: Arguments,
    /// Tool (`*` for any) → argument → how it compares.
    comparators: BTreeMap<String, BTreeMap<String, Comparator>>,
    /// Tools whose calls are ignored on both sides.
    ignore_tools: Vec<String>,
}

/// `tool_calls_match`, with its pattern compiled.
struct CallsMatcher {
    options: ToolCallsMatch,
    pattern: Option<Regex>,
}

impl CallsMatcher {
    fn compile(config: &Map<String, Value>) -> Result<Self, Vec<OptionProblem>> {
        let options: ToolCallsMatch = options::read(config)?;
        let exclusive = [
            ("written", options.written.is_some(), "pattern", options.pattern.is_some()),
            ("score", options.score.is_some(), "mode", options.mode.is_some()),
            ("expected", options.expected.is_some(), "path", options.path.is_some()),
        ];
        for (one, has_one, other, has_other) in exclusive {
            if has_one && has_other {
                let message = format!("`{one}` and `{other}` exclude each other");
                return Err(vec![problem(&[other], message)]);
            }
        }
        if let Some(Err((index, why))) = options.expected.as_deref().map(expected_calls) {
            return Err(vec![problem(&["expected", &index.to_string()], why)]);
        }
        let pattern = options.pattern.as_deref().map(options::pattern).transpose()?;
        if pattern.as_ref().is_some_and(|regex| regex.group_count() == 0) {
            let message =
                "`pattern` needs groups: `(?P<name>…)` and `(?P<arguments>…)`, or the first two";
            return Err(vec![problem(&["pattern"], message)]);
        }
        Ok(Self { options, pattern })
    }

    fn grade(&self, subject: &Subject<'_>) -> GradeResult {
        let made = match (&self.pattern, self.options.written) {
            (Some(pattern), _) => calls_by_pattern(pattern, subject.submission)
                .map_err(|problem| regex_failure(&problem))?,
            (None, Some(syntax)) => syntax.calls(subject.submission),
            (None, None) => {
                let calls = subject.trajectory.tool_calls(subject.include_subagents);
                calls
                    .map(|call| WrittenCall { name: call.name.clone(), arguments: arguments(call) })
                    .collect()
            }
        };
        self.options.grade(subject, made)
    }
}

impl ToolCallsMatch {
    fn grade(&self, subject: &Subject<'_>, mut made: Vec<WrittenCall>) -> GradeResult {
        let mut expected = self.expected(subject)?;
        expected.retain(|call| !self.ignore_tools.contains(&call.name));
        made.retain(|call| !self.ignore_tools.contains(&call.name));
        if let Some(score) = self.score {
            return self.scored(score, &expected, &made);
        }
        let wrong = match self.mode.unwrap_or_default() {
            Mode::Strict => self.first_difference(&expected, &made)?,
            mode => self.unpaired(mode, &expected, &made)?,
        };
        Ok(explained("Tool calls match", wrong))
    }

    /// The score of as many pairs of an expected call and one that was made as there can be. Where there is nothing to be
    /// shared, the share is 1 if nothing is there on the other side either, else 0.
    fn scored(
        &self,
        score: CallScore,
        expected: &[ExpectedCall],
        made: &[WrittenCall],
    ) -> GradeResult {
        let partners = self.partners(expected, made)?;
        let matched = partners.iter().flatten().count();
        let share = |of: usize| match of {
            0 => f64::from(u8::from(expected.len() == made.len())),
            of => matched as f64 / of as f64,
        };
        let precision = share(made.len());
        let recall = share(expected.len());
        let f1 = if precision + recall > 0.0 {
            2.0 * precision * recall / (precision + recall)
        } else {
            0.0
        };
        let number = match score {
            CallScore::F1 => f1,
            CallScore::Precision => precision,
            CallScore::Recall => recall,
        };
        let missing =
            missing(expected, &partners).map(|call| format!("`{}` is missing", call.name));
        let further =
            further(made, &partners).map(|call| format!("`{}` is not expected so", call.name));
        let wrong: Vec<String> = missing.chain(further).take(SHOWN_CALLS).collect();
        let wrong =
            if wrong.is_empty() { String::new() } else { format!(" ({})", wrong.join("; ")) };
        let counts = format!("{matched} of {} expected, {} made", expected.len(), made.len());
        let metadata = [("precision", precision), ("recall", recall), ("f1", f1)];
        let metadata = metadata.map(|(name, value)| (name.to_owned(), Value::from(value)));
        Ok(Grade::new(number, format!("Tool calls: {counts}{wrong}"))
            .with_metadata(Map::from_iter(metadata)))
    }

    fn expected(&self, subject: &Subject<'_>) -> Result<Vec<ExpectedCall>, Grade> {
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
        expected: &[ExpectedCall],
        made: &[WrittenCall],
    ) -> Result<Option<String>, Grade> {
        for index in 0..expected.len().max(made.len()) {
            let wrong = match (expected.get(index), made.get(index)) {
                (Some(expected), Some(made)) if expected.name != made.name => {
                    format!("`{}` expected, `{}` made", expected.name, made.name)
                }
                (Some(expected), Some(made)) if self.same(expected, made)? => continue,
                (Some(_), Some(made)) => {
                    format!("`{}` has other arguments than expected", made.name)
                }
                (Some(expected), None) => format!("`{}` is missing", expected.name),
                (None, Some(made)) => format!("`{}` is not expected", made.name),
                (None, None) => break,
            };
            return Ok(Some(format!("call {}: {wrong}", index + 1)));
        }
        Ok(None)
    }

    /// The first call without a counterpart on the other side, in the modes where order does not count.
    fn unpaired(
        &self,
        mode: Mode,
        expected: &[ExpectedCall],
        made: &[WrittenCall],
    ) -> Result<Option<String>, Grade> {
        let partners = self.partners(expected, made)?;
        let missing = missing(expected, &partners).next().filter(|_| mode != Mode::Subset);
        let further = further(made, &partners).next().filter(|_| mode != Mode::Superset);
        Ok(match (missing, further) {
            (Some(call), _) => Some(format!("`{}` is missing, or has other arguments", call.name)),
            (None, Some(call)) => Some(format!("`{}` is not expected, or not so", call.name)),
            (None, None) => None,
        })
    }

    /// For each call that was made the expected one that it is paired with: as many pairs as there can be.
    fn partners(
        &self,
        expected: &[ExpectedCall],
        made: &[WrittenCall],
    ) -> Result<Vec<Option<usize>>, Grade> {
        if expected.len().max(made.len()) > MAX_PAIRED {
            let message = format!("more than {MAX_PAIRED} tool calls cannot be paired");
            return Err(Grade::failed("too_large", message));
        }
        let fits = expected
            .iter()
            .map(|expected| made.iter().map(|made| self.same(expected, made)).collect())
            .collect::<Result<Vec<Vec<bool>>, Grade>>()?;
        Ok(pair(&fits, made.len()))
    }

    fn same(&self, expected: &ExpectedCall, made: &WrittenCall) -> Result<bool, Grade> {
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
        for (key, left) in left.iter().chain(&expected.one_of) {
            let accepted = match left {
                Value::Array(values) if expected.one_of.contains_key(key) => values.as_slice(),
                value => std::slice::from_ref(value),
            };
            let fits = match (self.comparator(&made.name, key), right.get(key)) {
                (Comparator::Ignore, _) => true,
                (_, None) => expected.optional.contains(key),
                (comparator, Some(right)) => {
                    let mut compared =
                        accepted.iter().map(|left| self.compare(comparator, left, right));
                    compared.find(|fits| *fits != Ok(false)).unwrap_or(Ok(false))?
                }
            };
            if !fits {
                return Ok(false);
            }
        }
        let mut further = right
            .keys()
            .filter(|key| !left.contains_key(*key) && !expected.one_of.contains_key(*key));
        Ok(self.arguments == Arguments::Subset
            || further.all(|key| self.comparator(&made.name, key) == Comparator::Ignore))
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
            Comparator::IgnoreCase => lower(&as_text(expected)) == lower(&as_text(made)),
            Comparator::Numeric => {
                let numbers = number::parse(&as_text(expected)).zip(number::parse(&as_text(made)));
                numbers.is_some_and(|(left, right)| left.distance(&right) <= NUMERIC_TOLERANCE)
            }
            Comparator::Regex => {
                let found =
                    Regex::new(&as_text(expected)).and_then(|regex| regex.is_match(&as_text(made)));
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

/// The expected calls that none of those made is paired with.
fn missing<'a>(
    expected: &'a [ExpectedCall],
    partners: &[Option<usize>],
) -> impl Iterator<Item = &'a ExpectedCall> {
    let calls = expected.iter().enumerate();
    calls.filter(|(at, _)| !partners.contains(&Some(*at))).map(|(_, call)| call)
}

/// The calls made that are paired with none.
fn further<'a>(
    made: &'a [WrittenCall],
    partners: &[Option<usize>],
) -> impl Iterator<Item = &'a WrittenCall> {
    made.iter().zip(partners).filter(|(_, partner)| partner.is_none()).map(|(call, _)| call)
}

/// Pairs as many rows with columns as possible, each with one at most that fits: for each column its row. A maximum bipartite
/// matching by augmenting paths (Kuhn 1955): a first-come pairing could leave a call alone that another order pairs.
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
        if !fits[row][column] || std::mem::replace(&mut seen[column], true) {
            continue;
        }
        if partners[column].is_none_or(|other| augment(other, fits, seen, partners)) {
            partners[column] = Some(row);
            return true;
        }
    }
    false
}
