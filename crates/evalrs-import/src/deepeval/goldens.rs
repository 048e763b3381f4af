//! Datasets of goldens, as `save_as` writes them: JSON, JSON Lines and CSV, of questions and of conversations.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::shared::{answered, field, no_cases, put, stem};
use super::turns::{self, CaseConversation, CaseMessages};
use crate::folder::ONLY_SUITE;
use crate::imported::{ImportError, ImportedSource, ImportedSuite, SourcePlace};
use crate::reading::{self, Record, ends_in, has_keys};

/// What stands between the parts of a list in a cell.
const DELIMITER: char = '|';

/// Whether a text begins as a dataset does.
pub(super) fn is_dataset(head: &str) -> bool {
    let columns = ["input,actual_output,expected_output", "scenario,turns,expected_outcome"];
    let head = head.trim_start_matches('\u{feff}');
    columns.iter().any(|first| head.starts_with(first))
        || has_keys(head, &["input", "actual_output", "expected_output", "expected_tools"])
        || has_keys(head, &["scenario", "turns", "expected_outcome", "user_description"])
}

/// A dataset.
pub(super) struct Goldens {
    path: String,
    records: Vec<Record>,
}

/// Reads a dataset.
pub(super) fn read(path: &str, text: &str) -> Result<Goldens, ImportError> {
    let is_table = ends_in(path, "csv") || !text.trim_start().starts_with(['[', '{']);
    let records = if is_table { table(path, text)? } else { reading::records(path, text)? };
    Ok(Goldens { path: path.to_owned(), records })
}

/// The rows of a table as objects; cells that hold lists or mappings are read as JSON.
fn table(path: &str, text: &str) -> Result<Vec<Record>, ImportError> {
    const JSON: [&str; 6] = [
        "turns",
        "tools_called",
        "expected_tools",
        "additional_metadata",
        "custom_column_key_values",
        "expectations",
    ];
    let unreadable = |error: csv::Error| {
        ImportError::unreadable(
            format!("cannot read `{path}`: {error}"),
            "name a dataset that `save_as` wrote",
        )
    };
    let mut table = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = table.headers().map_err(unreadable)?.clone();
    let mut records = Vec::new();
    for record in table.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map_or(0, |at| usize::try_from(at.line()).unwrap_or(0));
        let mut value = Map::new();
        for (name, cell) in headers.iter().zip(record.iter()).filter(|(_, cell)| !cell.is_empty()) {
            let parsed = JSON.contains(&name).then(|| serde_json::from_str(cell).ok()).flatten();
            value.insert(name.to_owned(), parsed.unwrap_or_else(|| Value::from(cell)));
        }
        records.push(Record { value: Value::Object(value), line });
    }
    Ok(records)
}

impl Goldens {
    /// Adds the suite of the dataset.
    pub(super) fn add(self, file: &str, imported: &mut ImportedSource) -> Result<(), ImportError> {
        let mut rows = Vec::new();
        let mut ids = BTreeSet::new();
        for Record { value, line } in &self.records {
            let place = SourcePlace::new(&self.path, *line);
            if !value.is_object() {
                imported.leave_out("goldens", place, "a golden", "it is not an object");
                continue;
            }
            let number = rows.len() + 1;
            let named =
                field(value, &["name"]).and_then(Value::as_str).filter(|name| !name.is_empty());
            let mut id = named.map_or_else(|| format!("golden-{number}"), str::to_owned);
            while !ids.insert(id.clone()) {
                id = format!("{id}-{number}");
            }
            let mut row = Map::new();
            row.insert("id".to_owned(), Value::from(id.as_str()));
            match fill(&mut row, value) {
                Ok(()) => {
                    imported.count("goldens");
                    rows.push(Value::Object(row));
                }
                Err(why) => imported.leave_out("goldens", place, format!("the golden `{id}`"), why),
            }
        }
        if rows.is_empty() {
            return Err(no_cases(&self.path));
        }
        imported.note("A dataset says no score, so the suite only asks whether there is an answer: add graders (docs/suite.md#graders), and a target (docs/targets.md) for rows whose output is null.");
        let name = if file == ONLY_SUITE { stem(&self.path) } else { file.to_owned() };
        imported.suites.push(ImportedSuite {
            file: file.to_owned(),
            suite: json!({"name": name, "graders": {"answered": answered()}}),
            rows,
            ..ImportedSuite::default()
        });
        Ok(())
    }
}

/// Fills a row with what a golden says.
fn fill(row: &mut Map<String, Value>, golden: &Value) -> Result<(), &'static str> {
    if golden.get("scenario").is_some() {
        conversation(row, golden)?;
    } else {
        question(row, golden)?;
    }
    for name in ["context", "retrieval_context"] {
        put(row, name, field(golden, &[name]).map(list).as_ref());
    }
    put(row, "metadata", field(golden, &["additional_metadata", "additionalMetadata"]));
    let expected =
        turns::expected(turns::calls(field(golden, &["expected_tools", "expectedTools"])));
    put(row, "expected_tools", expected.as_ref());
    for name in [
        "comments",
        "source_file",
        "token_cost",
        "custom_column_key_values",
        "expectations",
        "persona",
        "user_description",
        "scenario",
    ] {
        put(row, name, field(golden, &[name]));
    }
    Ok(())
}

fn question(row: &mut Map<String, Value>, golden: &Value) -> Result<(), &'static str> {
    let input =
        field(golden, &["input"]).and_then(Value::as_str).ok_or("its input is not a text")?;
    row.insert("input".to_owned(), Value::from(input));
    put(row, "ground_truth", field(golden, &["expected_output", "expectedOutput"]));
    let output = field(golden, &["actual_output", "actualOutput"]);
    row.insert("output".to_owned(), output.cloned().unwrap_or_default());
    let called = turns::calls(field(golden, &["tools_called", "toolsCalled"]));
    if !called.is_empty() {
        put(row, "tools_called", Some(&Value::from(called)));
    }
    // Without an answer the calls are those of an earlier one.
    if let Some(answer) = output.and_then(Value::as_str).filter(|_| !called.is_empty()) {
        let mut messages = CaseMessages::default();
        messages.say("user", input);
        messages.call(called)?;
        messages.say("assistant", answer);
        row.insert("messages".to_owned(), Value::Array(messages.into_list()));
    }
    Ok(())
}

fn conversation(row: &mut Map<String, Value>, golden: &Value) -> Result<(), &'static str> {
    put(row, "ground_truth", field(golden, &["expected_outcome", "expectedOutcome"]));
    match field(golden, &["turns"]) {
        None => _ = row.insert("output".to_owned(), Value::Null),
        Some(listed) => {
            let turns = listed.as_array().ok_or("its turns are no list")?;
            let CaseConversation { input, messages } = turns::conversation(turns)?;
            put(row, "input", Some(&input));
            if messages.is_empty() {
                row.insert("output".to_owned(), Value::Null);
            }
            put(row, "messages", Some(&Value::Array(messages)));
            put(row, "turns", Some(listed).filter(|_| turns::say_more(turns)));
        }
    }
    Ok(())
}

/// A list, which lines and cells hold as a text: `DeepEval` reads it back at the same delimiter.
fn list(value: &Value) -> Value {
    match value {
        Value::String(text) => text.split(DELIMITER).collect(),
        other => other.clone(),
    }
}
