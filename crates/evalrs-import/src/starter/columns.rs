//! Which column of a table is which field of a row.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_json::value::RawValue;

use super::StarterCheck;
use crate::imported::ImportError;
use crate::source::ImportSource;
use evalrs_base::diagnostic::{Diagnostic, Place, clipped, suggest};
use evalrs_base::text::enumerated;
use evalrs_eval::dataset::cells::column_names;
use evalrs_eval::dataset::fields::{FIELDS, RawObject, aliases, json_text};
use evalrs_eval::dataset::split::{decode, split};
use evalrs_model::spec::DatasetFormat;

/// How many rows are looked at, except for gaps and ids that repeat.
const LOOKED_AT: usize = 1_000;

/// Names that other tools and people give to fields, beside ours and our aliases, the best first. They are in lower case and
/// without signs. A column `answer` is the reference answer of a dataset, but beside no other answers it is the recorded one.
const OTHER_NAMES: [(&str, &str); 4] = [
    ("id", "sampleid taskid questionid"),
    ("input", "instruction query userinput usermessage"),
    (
        "output",
        "response completion prediction predicted generation reply actualoutput modeloutput \
         modelanswer modelresponse answer",
    ),
    (
        "ground_truth",
        "expectedoutput expectedanswer referenceanswer correctanswer goldanswer gold reference",
    ),
];

/// A table, its rows as JSON, and which column each field is.
#[derive(Debug, Default)]
pub(super) struct TableReading {
    path: String,
    /// The first line; none of JSON, which may be one line.
    first: Option<String>,
    columns: Vec<String>,
    records: Vec<String>,
    /// Our name, and the column's.
    found: Vec<(&'static str, String)>,
    /// Whether there are labels that are not verdicts.
    odd_label: bool,
}

impl TableReading {
    /// Fields are the columns that the user named, and others by their names.
    pub(super) fn new(
        source: &ImportSource<'_>,
        path: &str,
        given: &[(String, String)],
    ) -> Result<Self, ImportError> {
        let bytes = source.bytes(path);
        let bytes =
            bytes.map_err(|why| ImportError::unread(path, why, "name a file of answers"))?;
        let wrong = ImportError::Diagnostics;
        let text = decode(path, &bytes).map_err(|problem| wrong(vec![problem]))?;
        let format = DatasetFormat::of_name(path).unwrap_or(DatasetFormat::Jsonl);
        let records = split(path, text, format).map_err(wrong)?;
        let first = text.lines().find(|line| !line.trim().is_empty());
        let mut table = Self {
            path: path.to_owned(),
            first: first.filter(|_| format != DatasetFormat::Json).map(str::to_owned),
            records: records.into_iter().map(|record| record.text.into_owned()).collect(),
            ..Self::default()
        };
        table.columns =
            if format.has_cells() { column_names(text, format) } else { table.names_in_rows() };
        table.take_given(given)?;
        for (ours, _) in OTHER_NAMES {
            if table.column(ours).is_none()
                && let Some(column) = table.best(ours)
            {
                table.found.push((ours, column));
            }
        }
        table.settle_label();
        if table.column("output").is_none() {
            return Err(table.no_answers());
        }
        table.found.sort_by_key(|(ours, _)| FIELDS.iter().position(|(name, _)| name == ours));
        Ok(table)
    }

    fn names_in_rows(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        for record in self.records.iter().take(LOOKED_AT) {
            let row = serde_json::from_str::<RawObject<'_>>(record);
            seen.extend(row.iter().flat_map(RawObject::names).map(str::to_owned));
        }
        seen.into_iter().collect()
    }

    /// The JSON at a path of each row. A row that is wrong is reported where the dataset is read.
    fn cells<'t>(&'t self, path: &'t str) -> impl Iterator<Item = Option<&'t str>> {
        self.records.iter().map(move |record| {
            let row = serde_json::from_str::<RawObject<'_>>(record).ok()?;
            row.at_path(path).map(RawValue::get).filter(|json| *json != "null")
        })
    }

    /// The text at a path of the first rows, in lower case.
    fn texts<'t>(&'t self, path: &'t str) -> impl Iterator<Item = Option<String>> {
        self.cells(path).take(LOOKED_AT).map(|json| {
            let value: Value = serde_json::from_str(json?).ok()?;
            Some(json_text(&value).trim().to_lowercase())
        })
    }

    /// Whether two rows are one trial of one sample.
    pub(super) fn repeats_ids(&self) -> bool {
        let Some(id) = self.column("id") else { return false };
        let mut seen = BTreeSet::new();
        let rows = self.cells(id).zip(self.cells("model")).zip(self.cells("trial"));
        !rows.filter(|((id, _), _)| id.is_some()).all(|row| seen.insert(row))
    }

    /// Whether a row lacks a field.
    pub(super) fn lacks(&self, ours: &str) -> bool {
        self.column(ours).is_some_and(|column| self.cells(column).any(|json| json.is_none()))
    }

    fn take_given(&mut self, given: &[(String, String)]) -> Result<(), ImportError> {
        for (name, column) in given {
            let ours = FIELDS.iter().find(|(ours, _)| ours == name);
            let (ours, _) = ours.ok_or_else(|| unknown_field(name))?;
            if !self.columns.contains(column) && self.texts(column).flatten().next().is_none() {
                return Err(self.unknown_column(column));
            }
            self.found.retain(|(found, _)| found != ours);
            self.found.push((ours, column.clone()));
        }
        Ok(())
    }

    /// The column of one of our fields.
    pub(super) fn column(&self, ours: &str) -> Option<&str> {
        self.found.iter().find(|(name, _)| *name == ours).map(|(_, column)| column.as_str())
    }

    fn is_found(&self, column: &str) -> bool {
        self.found.iter().any(|(_, found)| found == column)
    }

    /// The free column that is called most like one of our fields.
    fn best(&self, ours: &str) -> Option<String> {
        let others = OTHER_NAMES.iter().filter(|(name, _)| *name == ours);
        let others = others.flat_map(|(_, names)| names.split(' ')).map(str::to_owned);
        let own = std::iter::once(ours).chain(aliases(ours).iter().copied()).map(plain);
        let names: Vec<String> = own.chain(others).collect();
        let rank = |column: &String| names.iter().position(|name| *name == plain(column));
        let free = self.columns.iter().filter(|column| !self.is_found(column));
        free.filter_map(|it| Some((rank(it)?, it))).min_by_key(|it| it.0).map(|it| it.1.clone())
    }

    /// A column `label` is the verdict of a person. Where it has answers instead, it is the right one.
    fn settle_label(&mut self) {
        let label = self.columns.iter().find(|column| plain(column) == "label").cloned();
        let Some(label) = label.filter(|label| !self.is_found(label)) else { return };
        let labels: BTreeSet<String> = self.texts(&label).flatten().collect();
        let answers = self.column("output").map(|column| self.texts(column).flatten().collect());
        let answers: BTreeSet<String> = answers.unwrap_or_default();
        if labels.is_empty() {
            return;
        }
        if labels.iter().all(|label| is_verdict(label)) {
            self.found.push(("label", label));
        } else if self.column("ground_truth").is_none() && !labels.is_disjoint(&answers) {
            self.found.push(("ground_truth", label));
        } else {
            self.odd_label = true;
        }
    }

    /// The grader that compares answers with a column, by what most answers look like.
    pub(super) fn comparison(&self, expected: &str) -> StarterCheck {
        let answers = self.column("output").unwrap_or_default();
        let rows = self.texts(answers).zip(self.texts(expected));
        let rows = rows.filter_map(|(answer, wanted)| Some((answer.unwrap_or_default(), wanted?)));
        let rows: Vec<(String, String)> = rows.collect();
        let equal = rows.iter().filter(|(answer, wanted)| answer == wanted).count();
        let within = rows.iter().filter(|(answer, wanted)| answer.contains(wanted)).count();
        let column = clipped(expected);
        let passes = |how: &str| format!("A row passes if its answer {how} `{column}`");
        let (function, comment) =
            if self.cells(expected).flatten().any(|json| json.starts_with('[')) {
                ("one_of", passes("is one of") + ".")
            } else if equal > 0 && equal == within {
                ("string_match", passes("is") + ", in upper or lower case.")
            } else if within > 0 {
                ("contains", passes("contains") + ", in upper or lower case.")
            } else {
                let comment = "so the score is the share of words in common.";
                ("f1", format!("No answer contains `{column}`, {comment}"))
            };
        let only = if self.lacks("ground_truth") { ", only: has(ground_truth)" } else { "" };
        let spec = format!("{{kind: tool, function: {function}{only}}}");
        StarterCheck { name: "correct", comment, spec }
    }

    /// The fields that a dataset does not find by its own names, or finds twice.
    pub(super) fn renamed(&self) -> impl Iterator<Item = &(&'static str, String)> {
        self.found.iter().filter(|(ours, column)| {
            let is_name = |it: &&String| *ours == **it || aliases(ours).contains(&it.as_str());
            !is_name(&column) || self.columns.iter().filter(is_name).count() > 1
        })
    }

    /// What a person has to know.
    pub(super) fn notes(&self) -> Vec<String> {
        let named = |(ours, column): &(&str, String)| {
            let renamed = if ours == column { String::new() } else { format!(" as `{ours}`") };
            format!("`{}`{renamed}", clipped(column))
        };
        let found: Vec<String> = self.found.iter().map(named).collect();
        let is_field = |column: &str| FIELDS.iter().any(|(ours, _)| *ours == column);
        let others = self.columns.iter().filter(|it| !self.is_found(it) && !is_field(it));
        let others: Vec<&str> = others.map(String::as_str).collect();
        let mut notes = vec![format!("columns: {}", found.join(", "))];
        if !others.is_empty() {
            notes
                .push(format!("not used: {}; a rubric reads one as {{row.NAME}}", quoted(&others)));
        }
        let label = match self.column("label") {
            Some(_) => "`label` is a human label: runs compare each grader with it",
            None => "`label` is not used: a human label is `pass`, `fail` or a number from 0 to 1",
        };
        notes.extend((self.odd_label || self.column("label").is_some()).then(|| label.to_owned()));
        notes
    }

    fn no_answers(&self) -> ImportError {
        let path = self.path.as_str();
        let place = match self.first.as_deref() {
            Some(first) => Place::in_line(path, 1, first, 0..first.len()),
            None => Place::file(path),
        };
        let columns = self.columns_in_words();
        let problem = Diagnostic::error(place, "no column has the answers, such as `output`, `response`, `completion` or `answer`")
            .hint(format!("the columns are {columns}: name the one with the answers, `evalrs init DIR --from {path} --field output=COLUMN`. Questions alone need an agent that answers them: docs/targets.md"));
        ImportError::Diagnostics(vec![problem])
    }

    fn unknown_column(&self, column: &str) -> ImportError {
        let near = near(column, self.columns.iter().map(String::as_str));
        let message = format!("`{}` has no column `{}`", self.path, clipped(column));
        ImportError::unreadable(
            message,
            format!("{near}the columns are {}", self.columns_in_words()),
        )
    }

    fn columns_in_words(&self) -> String {
        quoted(&self.columns.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// Names in words, the first thirty.
fn quoted(names: &[&str]) -> String {
    let some: Vec<String> =
        names.iter().take(30).map(|name| format!("`{}`", clipped(name))).collect();
    let more = if names.len() > some.len() { " and others" } else { "" };
    enumerated(&some, "and") + more
}

fn near<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    suggest(name, known).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default()
}

/// A name in lower case, without signs.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// Whether a label is a verdict, or a score from 0 to 1.
fn is_verdict(label: &str) -> bool {
    ["pass", "passed", "fail", "failed", "true", "false"].contains(&label)
        || label.parse().is_ok_and(|score: f64| (0.0..=1.0).contains(&score))
}

fn unknown_field(name: &str) -> ImportError {
    let names: Vec<&str> = FIELDS.iter().map(|(ours, _)| *ours).collect();
    let message = format!("`--field {name}=…` does not name a field of a row");
    let near = near(name, names.iter().copied());
    ImportError::unreadable(message, format!("{near}the fields are {}", quoted(&names)))
}
