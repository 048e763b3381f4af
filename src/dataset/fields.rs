//! Takes a row apart into fields, under whatever names it has them.
//!
//! One level at a time, into borrowed raw values, so that only what is asked for is parsed. Names are resolved
//! in one place: the `fields` mapping, then our name, then its aliases.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::split::{offset_of, plain_message, too_deep};
use crate::path;
use crate::suite::{DatasetFormat, DatasetSpec, FieldMap};
use crate::trajectory::TrajectoryFormat;

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
];

/// How the records of a dataset are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSpec {
    /// Whether values are CSV cells: text, in which JSON may stand.
    pub cells: bool,
    /// The `fields` mapping.
    pub fields: FieldMap,
    /// The format of recorded trajectories; detected if absent.
    pub format: Option<TrajectoryFormat>,
}

impl RowSpec {
    /// How the rows of `dataset` are read.
    pub fn new(dataset: &DatasetSpec, format: Option<TrajectoryFormat>) -> Self {
        Self { cells: dataset.format == DatasetFormat::Csv, fields: dataset.fields.clone(), format }
    }

    /// The results one row gives: one for each of `fields.outputs`, else one.
    pub fn cases(&self) -> usize {
        self.fields.outputs.len().max(1)
    }
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

impl RowProblem {
    /// A problem of the row as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        Self { span: None, message: message.into(), label: None, hint: None, recorded: false }
    }

    pub(super) fn of_recording(self) -> Self {
        Self { recorded: true, ..self }
    }

    pub(super) fn at(self, row: &str, raw: &RawValue) -> Self {
        Self { span: span_in(row, raw.get()), ..self }
    }

    pub(super) fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Where `part` stands inside `row`, if it was borrowed from it.
fn span_in(row: &str, part: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(row.as_ptr().addr())?;
    (start + part.len() <= row.len()).then_some(start..start + part.len())
}

/// The members of a JSON object in order, unread.
#[derive(Debug, Default)]
pub struct RawObject<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> RawObject<'a> {
    /// The member `name`; the last one, as everywhere in JSON, if it appears twice.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// The names of its members.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.as_ref())
    }

    /// What stands at a dotted path; at each level the longest matching key wins.
    fn at_path(&self, path: &str) -> Option<&'a RawValue> {
        let found = |end: usize| raw_at(self.get(path.get(..end)?)?, path.get(end..)?);
        path::key_ends(path).filter_map(found).last()
    }

    pub(super) fn twice(&self) -> Option<(&str, &'a RawValue)> {
        self.0.iter().enumerate().find_map(|(at, (key, value))| {
            self.0[..at].iter().any(|(earlier, _)| earlier == key).then_some((key.as_ref(), *value))
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Members).map(RawObject)
    }
}

struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);
        Borrowed::deserialize(deserializer).map(|key| Self(key.0))
    }
}

/// A row taken apart.
#[derive(Debug)]
pub struct Fields<'a> {
    pub(super) row: &'a str,
    pub(super) members: RawObject<'a>,
    pub(super) spec: &'a RowSpec,
}

impl<'a> Fields<'a> {
    /// Takes `row` apart; every member is still unread.
    pub fn new(row: &'a str, spec: &'a RowSpec) -> Result<Self, RowProblem> {
        let members = serde_json::from_str(row).map_err(|error| syntax_problem(row, &error))?;
        Ok(Self { row, members, spec })
    }

    /// The raw value of our field `name`: mapped, under its own name, or under one alias. Null is absent.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let found = match self.spec.fields.paths.iter().find(|(ours, _)| ours == name) {
            Some((_, path)) => self.at_path(path),
            None => self
                .members
                .get(name)
                .or_else(|| aliases(name).iter().find_map(|alias| self.members.get(alias))),
        };
        found.filter(|raw| raw.get() != "null")
    }

    /// What stands at a dotted path of the row.
    pub fn at_path(&self, path: &str) -> Option<&'a RawValue> {
        self.members.at_path(path)
    }

    pub(super) fn value(&self, name: &str) -> Result<Option<Value>, RowProblem> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        let parsed = serde_json::from_str(raw.get()).map_err(|error| {
            RowProblem::new(format!("bad JSON in `{name}`: {}", plain_message(&error)))
                .at(self.row, raw)
        })?;
        match parsed {
            Value::String(cell) if self.spec.cells => {
                Ok(Some(cell_value(name, cell).map_err(|problem| problem.at(self.row, raw))?))
            }
            value => Ok(Some(value)),
        }
    }

    pub(super) fn wrong(&self, name: &str, expected: &str, found: &Value) -> RowProblem {
        let problem = RowProblem::new(format!("`{name}` is {}", kind_of(found)))
            .label(format!("expected {expected}"));
        match self.raw(name) {
            Some(raw) => problem.at(self.row, raw),
            None => problem,
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>, RowProblem> {
        match self.value(name)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a string", &other)),
        }
    }

    pub(super) fn object(&self, name: &str) -> Result<Map<String, Value>, RowProblem> {
        match self.value(name)? {
            None => Ok(Map::new()),
            Some(Value::Object(map)) => Ok(map),
            Some(other) => Err(self.wrong(name, "an object", &other)),
        }
    }
}

/// [`crate::path::lookup`] over values that are not read.
fn raw_at<'a>(raw: &'a RawValue, path: &str) -> Option<&'a RawValue> {
    let path = path.strip_prefix('.').unwrap_or(path);
    if path.is_empty() {
        return Some(raw);
    }
    if let Ok(object) = serde_json::from_str::<RawObject<'a>>(raw.get()) {
        return object.at_path(path);
    }
    let items: Vec<&'a RawValue> = serde_json::from_str(raw.get()).ok()?;
    let (index, rest) = path::index(path)?;
    raw_at(items.get(index)?, rest)
}

/// A CSV row as the JSON row it stands for: our names, and what stands in cells parsed.
pub fn parsed_cells(row: &str, spec: &RowSpec) -> Result<String, RowProblem> {
    let fields = Fields::new(row, spec)?;
    let mut parsed = Map::new();
    for (name, _) in FIELDS {
        if let Some(value) = fields.value(name)? {
            parsed.insert((*name).to_owned(), value);
        }
    }
    Ok(Value::Object(parsed).to_string())
}

/// The other names of our field `name`.
pub fn aliases(name: &str) -> &'static [&'static str] {
    FIELDS.iter().find(|(ours, _)| *ours == name).map_or(&[], |(_, aliases)| aliases)
}

fn syntax_problem(row: &str, error: &serde_json::Error) -> RowProblem {
    if let Some(at) = too_deep(row) {
        return deep_problem(at);
    }
    let at = offset_of(row, error.line(), error.column());
    let message = plain_message(error);
    let problem = if error.is_data() {
        RowProblem::new("the row is no JSON object")
            .label("expected `{`")
            .hint("write one object a row: {\"input\": \"…\", \"output\": \"…\"}")
    } else {
        RowProblem::new(format!("bad JSON: {message}"))
    };
    RowProblem { span: Some(at..(at + 1).min(row.len())), ..problem }
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
            RowProblem::new(format!("`{name}` holds bad JSON: {error}"))
                .label(format!("expected {what}"))
        })
    };
    match name {
        "input" | "ground_truth" | "tags" if bracketed('[', ']') => {
            parse("a JSON array").or_else(|problem| {
                if name == "input" { Err(problem) } else { Ok(Value::String(cell.clone())) }
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

/// What a JSON value is, in words.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Strings as they are, anything else as its JSON text.
pub fn json_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
