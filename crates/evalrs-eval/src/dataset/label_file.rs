//! Reads a file of labels: JSON Lines, a JSON array or CSV, a label a line.
//!
//! A line is of all models and trials of its sample, and for all graders, unless it names one. Of several lines for one
//! verdict the one that says more about it counts: one that names the grader first, then the trial, then the model. What
//! several people say of one verdict is one label, and each of them has the line of theirs that says more about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::cells::column_names;
use super::fields::{self, RowFields, RowProblem, RowSpec, deep_problem};

use super::label_value::{LabelNotation, LabelValue, Scales, beside_map};
use super::labels::LabelExtents;
use super::people::{GivenLabels, LabelOf, OnePerson, person};
pub use super::people::{LabelLine, LabelNote};
use super::split::{self, RawRecord, too_deep};
use evalrs_base::diagnostic::{Diagnostic, Place, clipped};
use evalrs_base::json_syntax::kind_of;
use evalrs_model::spec::{DatasetFormat, FieldMap, LabelPick, LabelsSpec, MissingAnswer};

/// The file of labels that is read of the suite at `suite` where no other is named: `bot.labels.jsonl` beside `bot.yaml`.
pub fn beside(suite: &str) -> String {
    format!("{}.labels.jsonl", without_ending(suite))
}

pub(super) fn without_ending(path: &str) -> &str {
    let start = path.rfind('/').map_or(0, |slash| slash + 1);
    path[start..].rfind('.').map_or(path, |dot| &path[..start + dot])
}

/// The digest of a submission as a number; 0 of what is none.
pub fn digest_number(digest: &str) -> u64 {
    u64::from_str_radix(digest, 16).unwrap_or_default()
}

/// The labels of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelTable {
    /// Sample → what people say of it, one by one, what says more first.
    pub samples: BTreeMap<String, Vec<LabelLine>>,
    /// What they have in common.
    pub extents: LabelExtents,
}

/// A file of labels, and everything that is wrong with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelReading {
    /// What could be read.
    pub table: Arc<LabelTable>,
    /// What is wrong.
    pub problems: Vec<Diagnostic>,
}

const HINT: &str = "a line of labels is {\"id\": …, \"label\": 0.5} or {\"id\": …, \"label\": \"pass\"}; `model`, `trial` and `grader` narrow it, `who` names the reviewer";

/// Reads the text of the file at `path`, for graders with these scales. `layout` says how its lines are written.
pub fn read(path: &str, text: &str, scales: &Scales, layout: &LabelsSpec) -> LabelReading {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Whoever takes back the last label leaves an empty file.
    if text.trim().is_empty() {
        return LabelReading::default();
    }
    let format = DatasetFormat::of_name(path).unwrap_or_else(|| format_of_text(text));
    let rows = match split::split(path, text, format) {
        Ok(rows) => rows,
        Err(problems) => {
            return LabelReading { problems: said_of_labels(problems), ..LabelReading::default() };
        }
    };
    if format.has_cells()
        && let Some(column) = missing_column(&column_names(text, format), layout)
    {
        let problem = Diagnostic::error(
            Place::in_line(path, 1, text.lines().next().unwrap_or_default(), 0..usize::MAX),
            format!("the file of labels has no column `{}`", clipped(&column)),
        );
        let problems = vec![problem.hint(
            "its header is `id,label`, and `model`, `trial`, `grader`, `who` if needed; for other names, set `labels: {path: …, fields: {label: NAME}}` in the suite",
        )];
        return LabelReading { problems, ..LabelReading::default() };
    }
    let spec = RowSpec {
        cells: format.has_cells(),
        fields: FieldMap { paths: layout.fields.clone(), ..FieldMap::default() },
        format: None,
        missing: MissingAnswer::default(),
        live: None,
    };
    let mut reading = LabelReader {
        scales,
        layout,
        given: GivenLabels::default(),
        foreign: Foreign::default(),
        has_label: false,
    };
    let mut problems = Vec::new();
    for row in &rows {
        if let Err(problem) = reading.row(row, &spec) {
            let span = problem.span.clone().filter(|_| !spec.cells);
            let place = split::record_place(path, text, row.start, span);
            problems.push(problem.diagnostic(place));
        }
    }
    problems.extend(reading.without_label(path));
    problems.extend(reading.foreign.diagnostic(path));
    problems.extend(reading.given.ties(path));
    LabelReading { table: Arc::new(table(&reading.given, scales)), problems }
}

/// What was given, sample by sample.
fn table(given: &GivenLabels, scales: &Scales) -> LabelTable {
    let mut table = LabelTable::default();
    for (id, line) in given.lines() {
        table.extents.add(line.grader.as_deref(), &line.said, scales);
        table.samples.entry(id.to_owned()).or_default().push(line);
    }
    for lines in table.samples.values_mut() {
        lines.sort_by_key(LabelLine::rank);
    }
    table
}

fn format_of_text(text: &str) -> DatasetFormat {
    match text.trim_start().chars().next() {
        Some('[') => DatasetFormat::Json,
        Some('{') | None => DatasetFormat::Jsonl,
        Some(_) => DatasetFormat::Csv,
    }
}

/// A column that a file needs and does not have.
fn missing_column(columns: &[String], layout: &LabelsSpec) -> Option<String> {
    let has = |name: &str| {
        columns.iter().any(|column| {
            let rest = name.strip_prefix(column.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    };
    let named = |name: &str| layout.fields.iter().find(|(ours, _)| ours == name);
    let lacks = |names: &[&str]| match named(names[0]) {
        Some((_, path)) => (!has(path)).then(|| path.clone()),
        None => (!names.iter().any(|name| has(name))).then(|| names[0].to_owned()),
    };
    lacks(&["id", "sample_id"]).or_else(|| match layout.columns.as_slice() {
        [] => lacks(&["label"]),
        columns => columns.iter().find(|column| !has(column)).cloned(),
    })
}

/// A wrong shape of a file, reported for labels.
fn said_of_labels(mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for problem in &mut problems {
        problem.message = problem.message.replace("the dataset", "the file of labels");
        let is_of_datasets = |hint: &String| hint.contains("dataset") || hint.contains("input");
        if problem.hint.as_ref().is_some_and(is_of_datasets) {
            problem.hint = Some(format!("{HINT}; an array of them is named .json, a table .csv"));
        }
    }
    problems
}

/// What was read so far.
struct LabelReader<'a> {
    scales: &'a Scales,
    layout: &'a LabelsSpec,
    given: GivenLabels,
    foreign: Foreign,
    /// Whether a line has something where labels stand.
    has_label: bool,
}

impl LabelReader<'_> {
    fn row(&mut self, row: &RawRecord<'_>, spec: &RowSpec) -> Result<(), RowProblem> {
        if let Some(at) = too_deep(&row.text) {
            return Err(deep_problem(at));
        }
        let fields = RowFields::new(&row.text, spec)?;
        if let Some((name, raw)) = fields.members.twice() {
            let message = format!("the key `{}` appears twice in the line", clipped(name));
            return Err(RowProblem::new(message).at(&row.text, raw));
        }
        let id = id_of(&fields)?;
        let model = text_of(&fields, "model")?;
        let trial = fields.trial()?;
        let who = fields.value("who")?.as_ref().and_then(person);
        let line = row.start.line;
        let at =
            fields.value("at")?.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        let grader = text_of(&fields, "grader")?;
        let submission = text_of(&fields, "submission_digest")?;
        // Another word may be another tool's.
        let words = |name: &str| text_of(&fields, name).ok().flatten().map(Box::from);
        let picked: Option<Box<str>> = words("picked");
        let picked = picked.and_then(|name| LabelPick::of_name(&name));
        let note = LabelNote { comment: words("comment"), category: words("category") };
        let of = LabelOf { id, model, trial, grader, submission };
        if self.layout.columns.is_empty() {
            let said = self.said(&fields, fields.mapped("label"), of.grader.as_deref())?;
            let by = OnePerson { who, line, at, picked, note };
            return said.map_or(Ok(()), |said| self.add(&of, said, &by));
        }
        for column in &self.layout.columns {
            if let Some(said) = self.said(&fields, Some(column), of.grader.as_deref())? {
                let who = Some(column.clone());
                let by = OnePerson { who, line, at: at.clone(), picked, note: note.clone() };
                self.add(&of, said, &by)?;
            }
        }
        Ok(())
    }

    /// Adds what one person says, for each grader that it is for.
    fn add(&mut self, of: &LabelOf, said: LabelValue, by: &OnePerson) -> Result<(), RowProblem> {
        let named = match (said, &of.grader) {
            (LabelValue::Each(each), _) => {
                each.into_iter().map(|(grader, said)| (Some(grader), said)).collect()
            }
            (said, None) if !self.layout.graders.is_empty() => {
                let names = self.layout.graders.iter();
                names.map(|name| (Some(name.clone()), said.clone())).collect()
            }
            (said, grader) => vec![(grader.clone(), said)],
        };
        named.into_iter().try_for_each(|(grader, said)| {
            if let Some(name) = grader.as_deref().filter(|name| !self.knows(name)) {
                self.foreign.add(name);
                return Ok(());
            }
            self.given.add(LabelOf { grader, ..of.clone() }, said, by.clone())
        })
    }

    fn knows(&self, name: &str) -> bool {
        self.scales.iter().any(|(grader, _)| grader == name)
    }

    /// The label of a line at a path of its own, if it says one; for its `grader`, if it names one.
    fn said(
        &mut self,
        fields: &RowFields<'_>,
        mapped: Option<&str>,
        grader: Option<&str>,
    ) -> Result<Option<LabelValue>, RowProblem> {
        let found = match mapped {
            Some(path) => fields.at_path(path),
            None => fields.members.get("label"),
        };
        let Some(raw) = found else {
            // An empty cell is a sample without a label yet, and so may be one of somebody else's file.
            let may_lack = fields.spec.cells || mapped.is_some();
            return if may_lack { Ok(None) } else { Err(no_label(fields)) };
        };
        self.has_label = true;
        let value: Value = serde_json::from_str(raw.get()).unwrap_or_default();
        let notation =
            LabelNotation { cells: fields.spec.cells, map: &self.layout.map, outputs: &[] };
        let Some(mut said) = LabelValue::of(&value, &notation) else { return Ok(None) };
        let meant = |name: &str| match grader {
            Some(grader) => name == grader,
            None => {
                self.layout.graders.is_empty() || self.layout.graders.iter().any(|of| of == name)
            }
        };
        let own: Vec<_> = self.scales.iter().filter(|(name, _)| meant(name)).cloned().collect();
        if own.is_empty() {
            // Its grader is another suite's.
            return Ok(Some(said));
        }
        if grader.is_some() && matches!(said, LabelValue::Each(_)) {
            said = LabelValue::Strange;
        }
        match said.problem(&own) {
            Some(problem) => {
                let named = mapped.map_or_else(|| "`label`".to_owned(), |path| format!("`{path}`"));
                let message = problem.message.replacen("`label`", &named, 1);
                let problem = RowProblem { message, ..problem };
                Err(beside_map(problem, &self.layout.map).at(fields.row, raw))
            }
            None => Ok(Some(said)),
        }
    }

    /// Says that no line has what the suite calls the label.
    fn without_label(&self, path: &str) -> Option<Diagnostic> {
        let mapped = self.layout.fields.iter().find(|(ours, _)| ours == "label");
        let label = mapped.map(|(_, path)| path).or_else(|| self.layout.columns.first())?;
        let message = format!("no line of the file of labels has `{}`", clipped(label));
        let problem = Diagnostic::error(Place::file(path), message);
        (!self.has_label)
            .then(|| problem.hint("`fields` and `at` of `labels` name paths in its lines"))
    }
}

fn no_label(fields: &RowFields<'_>) -> RowProblem {
    RowProblem::new(format!("the line has no `label`, only {}", fields.some_names())).hint(HINT)
}

fn id_of(fields: &RowFields<'_>) -> Result<String, RowProblem> {
    match fields.value("id")? {
        Some(Value::String(id)) if !id.is_empty() => Ok(id),
        Some(Value::Number(id)) if !id.is_f64() => Ok(id.to_string()),
        Some(other) => Err(fields.wrong("id", "a string or an integer", &other)),
        None => {
            let message = format!("the line has no `id`, only {}", fields.some_names());
            Err(RowProblem::new(message).hint(HINT))
        }
    }
}

fn text_of(fields: &RowFields<'_>, name: &str) -> Result<Option<String>, RowProblem> {
    let Some(raw) = fields.raw(name) else { return Ok(None) };
    match serde_json::from_str(raw.get()).unwrap_or_default() {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        other => {
            let message = format!("`{name}` is {}", kind_of(&other));
            Err(RowProblem::new(message).label("expected a string").at(fields.row, raw))
        }
    }
}

#[derive(Default)]
struct Foreign {
    labels: usize,
    graders: Vec<String>,
}

impl Foreign {
    fn add(&mut self, grader: &str) {
        self.labels += 1;
        if self.graders.len() <= SOME && !self.graders.iter().any(|known| known == grader) {
            self.graders.push(grader.to_owned());
        }
    }

    fn diagnostic(&self, path: &str) -> Option<Diagnostic> {
        let are = if self.labels == 1 { "label is" } else { "labels are" };
        let message = format!(
            "{} {are} for graders that the suite does not have: {}",
            self.labels,
            some_of(&self.graders)
        );
        (self.labels > 0).then(|| Diagnostic::warning(Place::file(path), message))
    }
}

/// Names that a message lists.
const SOME: usize = 3;

/// The first few names, quoted.
pub fn some_of(names: &[String]) -> String {
    fields::some_of(names.iter().map(|name| format!("`{}`", clipped(name))), SOME)
}

#[cfg(test)]
mod tests;
