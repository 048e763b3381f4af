//! Takes a row apart into fields, under whatever names it has them.
//!
//! One level at a time, into borrowed raw values, so that only what is asked for is parsed. Names are resolved
//! in one place: the `fields` mapping, then our name, then its aliases.

use std::ops::Range;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use super::raw_object::RawObject;

use super::raw_object::raw_at;
use super::raw_record::too_deep;
use evalrs_base::diagnostic::{Diagnostic, Place, clipped, suggest};
use evalrs_base::json_syntax::{kind_of, slip};
use evalrs_base::path;
use evalrs_model::spec::{DatasetSpec, FieldMap, MissingAnswer, TargetModel, TrialNumbers};
use evalrs_trajectory::TrajectoryFormat;

/// Our names of a row's fields, each with the other names it is known by.
pub const FIELDS: &[(&str, &[&str])] = &[
    ("id", &["sample_id"]),
    ("input", &["prompt", "question"]),
    ("ground_truth", &["expected", "target", "ideal", "hint", "answer"]),
    ("metadata", &[]),
    ("tags", &[]),
    ("rubric_vars", &[]),
    ("extra_vars", &[]),
    ("agent_args", &[]),
    ("rubric", &[]),
    ("rubric_path", &[]),
    ("output", &[]),
    ("trajectory", &[]),
    ("messages", &[]),
    ("trial", &[]),
    ("model", &[]),
    ("agent_state", &[]),
    ("reference", &[]),
    ("label", &[]),
];

/// Whether a row has one of our fields under this name.
pub(super) fn is_field(name: &str) -> bool {
    FIELDS.iter().any(|(ours, aliases)| *ours == name || aliases.contains(&name))
}

/// How the records of a dataset are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSpec {
    /// Whether values are CSV cells: text, in which JSON may stand.
    pub cells: bool,
    /// The `fields` mapping.
    pub fields: FieldMap,
    /// The format of recorded trajectories; detected if absent.
    pub format: Option<&'static TrajectoryFormat>,
    /// What a row is that records no answer.
    pub missing: MissingAnswer,
    /// The models and trials that a live target is run with; none where it is recorded.
    pub live: Option<Box<LiveCases>>,
}

/// The models and trials that a live target is run with: the cases of a row, model by model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveCases {
    /// The models; empty is the target's own.
    pub models: Vec<TargetModel>,
    /// The trials, at least 1.
    pub trials: u32,
}

/// One run of a live target on a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveCase<'a> {
    /// The model; none is the target's own.
    pub model: Option<&'a TargetModel>,
    /// The trial, from 0.
    pub trial: u32,
}

impl LiveCases {
    fn count(&self) -> usize {
        self.models.len().max(1) * self.trials.max(1) as usize
    }

    /// The case with this ordinal among those of its row.
    pub fn case(&self, case: usize) -> LiveCase<'_> {
        let trials = self.trials.max(1) as usize;
        let trial = u32::try_from(case % trials).unwrap_or_default();
        LiveCase { model: self.models.get(case / trials), trial }
    }
}

impl RowSpec {
    /// How the rows of `dataset` are read.
    pub fn new(dataset: &DatasetSpec, format: Option<&'static TrajectoryFormat>) -> Self {
        let cells = dataset.has_cells();
        let missing = dataset.missing;
        let mut fields = dataset.fields.clone();
        if dataset.trials == TrialNumbers::ByOrder {
            fields.paths.retain(|(ours, _)| ours != "trial");
            fields.paths.push(("trial".to_owned(), NUMBERED.to_owned()));
        }
        Self { cells, fields, format, missing, live: None }
    }

    /// How the rows of `dataset` are read before their trials are numbered.
    pub fn unnumbered(dataset: &DatasetSpec) -> Self {
        Self { fields: dataset.fields.clone(), ..Self::new(dataset, None) }
    }

    /// How the rows of `dataset` are read that a live target is run on.
    pub fn live(dataset: &DatasetSpec, live: LiveCases) -> Self {
        Self { live: Some(Box::new(live)), ..Self::new(dataset, None) }
    }

    /// The results one row gives: one for each model and trial of a live target, or for each of `fields.outputs`, else
    /// one.
    pub fn cases(&self) -> usize {
        match &self.live {
            Some(live) => live.count(),
            None => self.fields.outputs.len().max(1),
        }
    }
}

/// What is wrong with a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowProblem {
    /// The bytes of the row it is about; none speaks of the row as a whole.
    pub span: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// What was expected there.
    pub label: Option<String>,
    /// The likely fix.
    pub hint: Option<String>,
    /// It is about the joined recording, not about the row.
    pub recorded: bool,
    /// It is that no answer was recorded where others are: an error of the result, not of the dataset.
    pub unanswered: bool,
}

impl RowProblem {
    /// A problem of the row as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The problem at a place, for people.
    pub fn diagnostic(self, place: Place) -> Diagnostic {
        let Self { message, label, hint, .. } = self;
        Diagnostic { label, hint, ..Diagnostic::error(place, message) }
    }

    pub fn unanswered(message: impl Into<String>) -> Self {
        Self { unanswered: true, ..Self::new(message) }
    }

    pub(super) fn of_recording(self) -> Self {
        Self { recorded: true, ..self }
    }

    #[must_use]
    pub fn at(self, row: &str, raw: &RawValue) -> Self {
        Self { span: span_in(row, raw.get()), ..self }
    }

    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// The problem with its likely fix.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// The place of `part` inside `row`, if it was borrowed from it.
fn span_in(row: &str, part: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(row.as_ptr().addr())?;
    (start + part.len() <= row.len()).then_some(start..start + part.len())
}

/// A row taken apart.
#[derive(Debug)]
pub struct RowFields<'a> {
    pub row: &'a str,
    pub members: RawObject<'a>,
    pub spec: &'a RowSpec,
}

impl<'a> RowFields<'a> {
    /// Takes `row` apart; every member is still unread.
    pub fn new(row: &'a str, spec: &'a RowSpec) -> Result<Self, RowProblem> {
        let members = serde_json::from_str(row).map_err(|error| syntax_problem(row, &error))?;
        Ok(Self { row, members, spec })
    }

    /// The raw value of our field `name`: mapped, under its own name, or under one alias. Null is absent.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let found = match self.mapped(name) {
            Some(path) => self.at_path(path),
            None => self
                .members
                .get(name)
                .or_else(|| aliases(name).iter().find_map(|alias| self.members.get(alias))),
        };
        found.filter(|raw| raw.get() != "null")
    }

    /// The problem at our field `name`, where the row has that.
    pub(super) fn at(&self, name: &str, problem: RowProblem) -> RowProblem {
        match self.raw(name) {
            Some(raw) => problem.at(self.row, raw),
            None => problem,
        }
    }

    /// The path that the suite's `fields` gives our field `name`.
    pub fn mapped(&self, name: &str) -> Option<&'a str> {
        let found = self.spec.fields.paths.iter().find(|(ours, _)| ours == name);
        found.map(|(_, path)| path.as_str())
    }

    /// The first names of the row: enough to look for a misspelt one.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.names().take(1_000)
    }

    /// Why our field `name`, which a row needs, is not there: what the suite or the row says instead.
    pub(super) fn instead_of(&self, name: &'static str) -> Option<String> {
        if let Some(path) = self.mapped(name) {
            let names = self.some_names();
            return Some(format!("`fields` reads `{name}` from `{path}`; the row has {names}"));
        }
        let ours = || std::iter::once(&name).chain(aliases(name)).copied();
        if let Some(null) = ours().find(|ours| self.members.get(ours).is_some()) {
            return Some(format!("`{null}` is null; write \"\" if it is empty"));
        }
        let near = ours().find_map(|ours| suggest(ours, self.names()))?;
        Some(format!(
            "rename `{near}`, or set `fields: {{{name}: {}}}` in the suite",
            path::in_braces(near)
        ))
    }

    /// The first names of the row, for messages.
    pub fn some_names(&self) -> String {
        let names = some_of(self.members.names().map(|name| format!("`{}`", clipped(name))), 12);
        if names.is_empty() { "no fields".to_owned() } else { names }
    }

    /// The members that are none of our fields, neither by name nor by the suite's `fields`.
    pub fn unmapped(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        let FieldMap { paths, outputs, labels } = &self.spec.fields;
        self.members.members().filter(move |(name, _)| {
            let is_ours = is_field(name);
            !is_ours
                && !paths.iter().chain(outputs).chain(labels).any(|(_, path)| {
                    path.strip_prefix(*name)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                })
        })
    }

    /// The value at a dotted path of the row.
    pub fn at_path(&self, path: &str) -> Option<&'a RawValue> {
        self.members.at_path(path)
    }

    pub fn value(&self, name: &str) -> Result<Option<Value>, RowProblem> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        let parsed = serde_json::from_str(raw.get()).map_err(|error| {
            let slip = slip(raw.get(), &error);
            let problem = RowProblem::new(format!("bad JSON in `{name}`: {}", slip.message));
            let RowProblem { span, .. } = problem.clone().at(self.row, raw);
            let span = span.map(|at| at.start + slip.span.start..at.start + slip.span.end);
            RowProblem { span, hint: slip.hint.map(str::to_owned), ..problem }
        })?;
        match parsed {
            Value::String(cell) if self.spec.cells => {
                Ok(Some(cell_value(name, cell).map_err(|problem| problem.at(self.row, raw))?))
            }
            value => Ok(Some(value)),
        }
    }

    pub(super) fn wrong(&self, name: &str, expected: &str, found: &Value) -> RowProblem {
        let problem = RowProblem::new(format!("`{name}` is {}", kind_of(found)));
        self.at(name, problem.label(format!("expected {expected}")))
    }

    /// The number of the trial, if the row says one.
    pub(super) fn trial(&self) -> Result<Option<u32>, RowProblem> {
        let Some(value) = self.value("trial")? else { return Ok(None) };
        let trial = value.as_u64().and_then(|trial| u32::try_from(trial).ok());
        trial.map(Some).ok_or_else(|| self.wrong("trial", "a whole number from 0", &value))
    }

    pub fn text(&self, name: &str) -> Result<Option<String>, RowProblem> {
        match self.value(name)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a string", &other)),
        }
    }

    pub fn object(&self, name: &str) -> Result<Map<String, Value>, RowProblem> {
        match self.value(name)? {
            None => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(other) => Err(self.wrong(name, "an object", &other)),
        }
    }
}

/// The first `most` names, and whether there are more.
pub(super) fn some_of(mut names: impl Iterator<Item = String>, most: usize) -> String {
    let mut some: Vec<String> = names.by_ref().take(most).collect();
    some.extend(names.next().map(|_| "…".to_owned()));
    some.join(", ")
}

/// A number and its noun, or other words for one and for many.
pub(super) fn counted(count: usize, [one, many]: [&str; 2]) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A CSV row as the equal JSON row: our names, and cells parsed.
pub fn parsed_cells(row: &str, spec: &RowSpec) -> Result<String, RowProblem> {
    let fields = RowFields::new(row, spec)?;
    let mut parsed = Map::new();
    for (name, _) in FIELDS {
        if let Some(value) = fields.value(name)? {
            parsed.insert((*name).to_owned(), value);
        }
    }
    Ok(Value::Object(parsed).to_string())
}

/// The innermost value on the way of a JSON Pointer into `raw` that is there.
pub(super) fn deepest<'a>(raw: &'a RawValue, pointer: &str) -> &'a RawValue {
    let mut found = raw;
    for step in pointer.split('/').skip(1) {
        match raw_at(found, step) {
            Some(inner) => found = inner,
            None => break,
        }
    }
    found
}

/// The other names of our field `name`.
pub fn aliases(name: &str) -> &'static [&'static str] {
    FIELDS.iter().find(|(ours, _)| *ours == name).map_or(&[], |(_, aliases)| aliases)
}

fn syntax_problem(row: &str, error: &serde_json::Error) -> RowProblem {
    if let Some(at) = too_deep(row) {
        return deep_problem(at);
    }
    let slip = slip(row, error);
    if error.is_data() {
        return RowProblem {
            span: Some(0..1.min(row.len())),
            ..RowProblem::new("the row is not a JSON object")
        }
        .label("expected `{`")
        .hint("write one object per row: {\"input\": \"…\", \"output\": \"…\"}");
    }
    let problem = RowProblem::new(format!("bad JSON: {}", slip.message));
    RowProblem { span: Some(slip.span), hint: slip.hint.map(str::to_owned), ..problem }
}

/// What is wrong with a row whose JSON is nested too deep at byte `at`.
pub fn deep_problem(at: usize) -> RowProblem {
    let problem =
        RowProblem::new("the JSON is nested more than 128 deep").label("level 129 opens here");
    RowProblem { span: Some(at..at + 1), ..problem }
}

/// A cell that holds a JSON array or object where one is expected is parsed; any other is text.
fn cell_value(name: &str, cell: String) -> Result<Value, RowProblem> {
    let trimmed = cell.trim();
    let bracketed = |open, close| trimmed.starts_with(open) && trimmed.ends_with(close);
    let parse = |what: &str| {
        serde_json::from_str(trimmed).map_err(|error| {
            let slip = slip(trimmed, &error);
            let character = trimmed[..slip.span.start].chars().count() + 1;
            let problem = RowProblem::new(format!(
                "the cell `{name}` is bad JSON: {} (character {character})",
                slip.message
            ));
            let hint = slip.hint.map(str::to_owned);
            RowProblem { hint, ..problem.label(format!("expected {what}")) }
        })
    };
    match name {
        "input" | "ground_truth" | "tags" if bracketed('[', ']') => {
            parse("a JSON array").or_else(|problem| {
                if name == "ground_truth" { Ok(Value::String(cell.clone())) } else { Err(problem) }
            })
        }
        "metadata" | "rubric_vars" | "extra_vars" | "agent_args" => parse("a JSON object"),
        "trajectory" | "messages" | "agent_state" => {
            if bracketed('[', ']') || bracketed('{', '}') {
                parse("JSON")
            } else {
                Ok(Value::String(cell))
            }
        }
        "trial" => Ok(trimmed.parse::<u32>().map_or(Value::String(cell), Value::from)),
        "tags" => Ok(cell.split(',').map(|tag| Value::from(tag.trim())).collect()),
        _ => Ok(Value::String(cell)),
    }
}

/// Strings as they are, anything else as its JSON text.
pub fn json_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Where a row holds the trial that it was numbered as. No row has a key of this name of its own.
pub(super) const NUMBERED: &str = "trial.by_order";
