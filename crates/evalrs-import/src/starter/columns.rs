//! Which column of a table is which field of a row.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::StarterGrader;
use crate::imported::ImportError;
use crate::source::ImportSource;
use evalrs_base::diagnostic::{Diagnostic, Place, clipped, suggest};
use evalrs_base::path::lookup;
use evalrs_base::text::enumerated;
use evalrs_eval::dataset::cells::column_names;
use evalrs_eval::dataset::fields::{FIELDS, RawObject, aliases, json_text};
use evalrs_eval::dataset::split::{decode, split};
use evalrs_model::spec::DatasetFormat;

/// How many rows are looked at, beyond their ids.
const LOOKED_AT: usize = 1_000;

/// Names that other tools and people give to fields, beside ours and our aliases, in lower case and without signs.
const OTHER_NAMES: [(&str, &[&str]); 4] = [
    ("id", &["id", "sampleid"]),
    ("input", &["instruction", "query", "userinput", "usermessage"]),
    (
        "output",
        &[
            "response",
            "completion",
            "prediction",
            "predicted",
            "generation",
            "reply",
            "actualoutput",
            "modeloutput",
            "modelanswer",
            "modelresponse",
        ],
    ),
    (
        "ground_truth",
        &[
            "expectedoutput",
            "expectedanswer",
            "referenceanswer",
            "correctanswer",
            "gold",
            "goldanswer",
            "reference",
        ],
    ),
];

/// A table and its rows, as JSON.
#[derive(Debug)]
pub(super) struct TableReading {
    path: String,
    /// The line of the header; none of JSON.
    header: Option<String>,
    columns: Vec<String>,
    records: Vec<String>,
}

/// Which column each field is, and what is no field.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ColumnRoles {
    /// Our name, and the column's.
    found: Vec<(&'static str, String)>,
    columns: Vec<String>,
    others: Vec<String>,
    /// Whether people labelled rows.
    has_labels: bool,
}

impl TableReading {
    pub(super) fn new(source: &ImportSource<'_>, path: &str) -> Result<Self, ImportError> {
        let bytes = source
            .bytes(path)
            .map_err(|why| ImportError::unread(path, why, "name a file of answers"))?;
        let wrong = ImportError::Diagnostics;
        let text = decode(path, &bytes).map_err(|problem| wrong(vec![problem]))?;
        let format = DatasetFormat::of_name(path).unwrap_or(DatasetFormat::Jsonl);
        let records = split(path, text, format).map_err(wrong)?;
        let records = records.into_iter().map(|record| record.text.into_owned()).collect();
        let header = text.lines().find(|line| !line.trim().is_empty());
        let mut table = Self {
            path: path.to_owned(),
            header: header.filter(|_| format.has_cells()).map(str::to_owned),
            columns: Vec::new(),
            records,
        };
        table.columns =
            if format.has_cells() { column_names(text, format) } else { table.names_in_rows() };
        Ok(table)
    }

    /// The first rows. What is no object is told where the dataset is read.
    fn rows(&self) -> impl Iterator<Item = Map<String, Value>> + '_ {
        self.records.iter().take(LOOKED_AT).filter_map(|record| serde_json::from_str(record).ok())
    }

    fn names_in_rows(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let names = self.rows().flat_map(|row| row.into_iter().map(|(name, _)| name));
        names.filter(|name| seen.insert(name.clone())).collect()
    }

    /// Whether each row has something in a column.
    fn has_all(&self, column: &str) -> bool {
        self.records.iter().all(|record| {
            let row = serde_json::from_str::<RawObject<'_>>(record).ok();
            row.as_ref()
                .and_then(|row| row.at_path(column))
                .is_some_and(|value| value.get() != "null")
        })
    }

    /// Whether two rows are one trial of one sample.
    pub(super) fn repeats(&self, id: &str) -> bool {
        let mut seen = BTreeSet::new();
        !self.records.iter().all(|record| {
            let Ok(row) = serde_json::from_str::<RawObject<'_>>(record) else { return true };
            let one = [id, "model", "trial"]
                .map(|name| row.get(name).map_or("", |it| it.get()).to_owned());
            one[0].is_empty() || seen.insert(one)
        })
    }

    /// Whether a row lacks the answer, and that is not an empty one.
    pub(super) fn lacks_answers(&self, roles: &ColumnRoles) -> bool {
        roles.column("output").is_some_and(|column| !self.has_all(column))
    }

    /// The columns of the fields: those that the user named, else by their names.
    pub(super) fn roles(&self, given: &[(String, String)]) -> Result<ColumnRoles, ImportError> {
        let mut roles = ColumnRoles { columns: self.columns.clone(), ..ColumnRoles::default() };
        for (name, column) in given {
            let ours =
                FIELDS.iter().find(|(ours, _)| ours == name).ok_or_else(|| unknown_field(name))?;
            if !self.columns.contains(column) && !self.rows().any(|row| at(&row, column).is_some())
            {
                return Err(self.unknown_column(column));
            }
            roles.found.retain(|(found, _)| *found != ours.0);
            roles.found.push((ours.0, column.clone()));
        }
        for ours in ["id", "input", "output", "ground_truth"] {
            let free = self.columns.iter().filter(|column| !roles.has(column));
            if let Some(column) = best(ours, free).filter(|_| roles.column(ours).is_none()) {
                roles.found.push((ours, column.clone()));
            }
        }
        self.settle_answer(&mut roles);
        self.settle_label(&mut roles);
        if roles.column("output").is_none() {
            return Err(self.no_answers());
        }
        roles.found.sort_by_key(|(ours, _)| FIELDS.iter().position(|(name, _)| name == ours));
        let is_field = |column: &&String| FIELDS.iter().any(|(ours, _)| ours == column);
        let others = self.columns.iter().filter(|column| !roles.has(column) && !is_field(column));
        roles.others = others.cloned().collect();
        Ok(roles)
    }

    /// A column `answer` is a reference answer to a dataset. Beside another reference answer it is what was answered.
    fn settle_answer(&self, roles: &mut ColumnRoles) {
        let answer = self.columns.iter().find(|column| plain(column) == "answer");
        let Some(answer) = answer.filter(|_| roles.column("output").is_none()) else { return };
        let others = self.columns.iter().filter(|column| *column != answer && !roles.has(column));
        let expected = match roles.column("ground_truth") {
            Some(column) if column != answer => Some(column.to_owned()),
            _ => best("ground_truth", others).cloned(),
        };
        if let Some(expected) = expected {
            roles.found.retain(|(ours, _)| *ours != "ground_truth");
            roles.found.extend([("output", answer.clone()), ("ground_truth", expected)]);
        }
    }

    /// A column `label` is what a person said of an answer. Where it is neither that nor a score, it is the right answer.
    fn settle_label(&self, roles: &mut ColumnRoles) {
        let Some(label) = self.columns.iter().find(|column| plain(column) == "label") else {
            return;
        };
        let labels: Vec<Value> = self.rows().filter_map(|mut row| row.remove(label)).collect();
        if !labels.is_empty() && labels.iter().all(is_label) {
            roles.has_labels = true;
            if !roles.has(label) {
                roles.found.push(("label", label.clone()));
            }
        } else if roles.column("ground_truth").is_none() && !labels.is_empty() {
            roles.found.push(("ground_truth", label.clone()));
        }
    }

    /// The grader that compares answers with a column, by what most answers look like.
    pub(super) fn comparison(&self, roles: &ColumnRoles, expected: &str) -> StarterGrader {
        let output = roles.column("output").unwrap_or_default();
        let mut counts = [0; 2];
        let mut has_lists = false;
        for row in self.rows() {
            let Some(wanted) = at(&row, expected) else { continue };
            has_lists |= wanted.is_array();
            let text = |value: &Value| json_text(value).trim().to_lowercase();
            let answer = at(&row, output).map(text).unwrap_or_default();
            let wanted = text(wanted);
            counts[0] += usize::from(answer == wanted);
            counts[1] += usize::from(answer.contains(&wanted));
        }
        let column = clipped(expected);
        let (function, comment) = match counts {
            _ if has_lists => {
                ("one_of", format!("A row passes if its answer is one of `{column}`."))
            }
            [equal, within] if equal > 0 && equal == within => (
                "string_match",
                format!("A row passes if its answer is `{column}`, in upper or lower case."),
            ),
            [_, within] if within > 0 => (
                "contains",
                format!("A row passes if its answer contains `{column}`, in upper or lower case."),
            ),
            _ => (
                "f1",
                format!(
                    "No answer contains `{column}`, so the score is the share of words in common."
                ),
            ),
        };
        let only = if self.has_all(expected) { "" } else { ", only: has(ground_truth)" };
        StarterGrader::new(
            "correct",
            comment,
            format!("{{kind: tool, function: {function}{only}}}"),
        )
    }

    fn columns_in_words(&self) -> String {
        let names: Vec<String> =
            self.columns.iter().take(30).map(|column| format!("`{}`", clipped(column))).collect();
        enumerated(&names, "and")
    }

    fn no_answers(&self) -> ImportError {
        let path = self.path.as_str();
        let place = self.header.as_deref().map_or_else(
            || Place::file(path),
            |header| Place::in_line(path, 1, header, 0..header.len()),
        );
        let problem = Diagnostic::error(place, "no column has the answers")
            .label("expected `output`, `response`, `completion` or `prediction`")
            .hint(format!(
                "the columns are {}: name the one with the answers, `--field output=COLUMN`. Questions alone need an agent that answers them: docs/targets.md",
                self.columns_in_words()
            ));
        ImportError::Diagnostics(vec![problem])
    }

    fn unknown_column(&self, column: &str) -> ImportError {
        let near = suggest(column, self.columns.iter().map(String::as_str));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        ImportError::unreadable(
            format!("`{}` has no column `{}`", self.path, clipped(column)),
            format!("{near}its columns are {}", self.columns_in_words()),
        )
    }
}

impl ColumnRoles {
    /// The column of one of our fields.
    pub(super) fn column(&self, ours: &str) -> Option<&str> {
        self.found.iter().find(|(name, _)| *name == ours).map(|(_, column)| column.as_str())
    }

    fn has(&self, column: &str) -> bool {
        self.found.iter().any(|(_, found)| found == column)
    }

    /// What a dataset has to be told: its own names it knows.
    pub(super) fn renamed(&self) -> Vec<(String, String)> {
        let is_name = |ours: &str, column: &str| ours == column || aliases(ours).contains(&column);
        // Of two names of one field a dataset has to be told which is meant.
        let is_known = |ours: &str, column: &str| {
            is_name(ours, column) && self.columns.iter().filter(|it| is_name(ours, it)).count() == 1
        };
        let renamed = self.found.iter().filter(|(ours, column)| !is_known(ours, column));
        renamed.map(|(ours, column)| ((*ours).to_owned(), column.clone())).collect()
    }

    /// What a person has to know.
    pub(super) fn notes(&self) -> Vec<String> {
        let roles = self.found.iter().map(|(ours, column)| match *ours == column {
            true => format!("`{column}`"),
            false => format!("`{}` as `{ours}`", clipped(column)),
        });
        let mut notes = vec![format!("columns: {}", roles.collect::<Vec<_>>().join(", "))];
        let others: Vec<String> =
            self.others.iter().take(30).map(|column| format!("`{}`", clipped(column))).collect();
        if !others.is_empty() {
            notes.push(format!(
                "not used: {}; a rubric reads one as {{row.NAME}}",
                others.join(", ")
            ));
        }
        if self.has_labels {
            notes.push("`label` is a human label: runs compare each grader with it".to_owned());
        }
        notes
    }
}

/// What stands at a path of a row.
fn at<'r>(row: &'r Map<String, Value>, path: &str) -> Option<&'r Value> {
    row.get(path).or_else(|| {
        let (first, rest) = path.split_once('.')?;
        lookup(row.get(first)?, rest)
    })
}

/// A name in lower case, without signs.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// The column that is called most like one of our fields.
fn best<'c>(ours: &str, columns: impl Iterator<Item = &'c String>) -> Option<&'c String> {
    let others = OTHER_NAMES.iter().find(|(name, _)| *name == ours).map_or(&[][..], |it| it.1);
    let names = std::iter::once(ours).chain(aliases(ours).iter().copied()).map(plain);
    let names: Vec<String> = names.chain(others.iter().map(|name| (*name).to_owned())).collect();
    let rank = |column: &&String| names.iter().position(|name| *name == plain(column));
    columns.filter(|column| rank(column).is_some()).min_by_key(|column| rank(column))
}

/// Whether a value says that an answer passes or fails, or is a score from 0 to 1.
fn is_label(value: &Value) -> bool {
    let is_score = |number: f64| (0.0..=1.0).contains(&number);
    match value {
        Value::Bool(_) => true,
        Value::Number(number) => number.as_f64().is_some_and(is_score),
        Value::String(text) => {
            let text = text.trim().to_ascii_lowercase();
            ["pass", "passed", "fail", "failed", "true", "false"].contains(&text.as_str())
                || text.parse().is_ok_and(is_score)
        }
        _ => false,
    }
}

fn unknown_field(name: &str) -> ImportError {
    let names = FIELDS.iter().map(|(ours, _)| *ours);
    let near = suggest(name, names.clone());
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    ImportError::unreadable(
        format!("`--field {name}=…` names no field of a row"),
        format!("{near}the fields are {}", enumerated(&names, "and")),
    )
}
