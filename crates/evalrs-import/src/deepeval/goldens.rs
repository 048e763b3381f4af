//! Datasets of goldens, as `save_as` writes them: JSON, JSON Lines and CSV, of questions and of conversations.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::shared::{field, no_cases, put, row_with_id, stem, text_in};
use super::turns::{self, CaseConversation, CaseMessages};
use crate::graders::answered;
use crate::imported::{ImportError, ImportedSource, ONLY_SUITE, SourcePlace};
use crate::reading::{self, PlacedValue, ends_in, has_keys};

/// The separators of a list in a cell.
const DELIMITER: char = '|';

/// Whether a text begins as a dataset does.
pub(super) fn is_dataset(head: &str) -> bool {
    let columns = ["input,actual_output,expected_output", "scenario,turns,expected_outcome"];
    let head = head.trim_start_matches('\u{feff}');
    columns.iter().any(|first| head.starts_with(first))
        || has_keys(head, &["input", "actual_output", "expected_output", "expected_tools"])
        || has_keys(head, &["scenario", "turns", "expected_outcome", "user_description"])
}

pub(super) struct Goldens {
    path: String,
    records: Vec<PlacedValue>,
}

pub(super) fn read(path: &str, text: &str) -> Result<Goldens, ImportError> {
    let is_table = ends_in(path, "csv") || !text.trim_start().starts_with(['[', '{']);
    let records = if is_table { table(path, text)? } else { reading::records(path, text)? };
    Ok(Goldens { path: path.to_owned(), records })
}

/// The rows of a table as objects; cells that hold lists or mappings are read as JSON.
fn table(path: &str, text: &str) -> Result<Vec<PlacedValue>, ImportError> {
    const JSON: [&str; 6] = [
        "turns",
        "tools_called",
        "expected_tools",
        "additional_metadata",
        "custom_column_key_values",
        "expectations",
    ];
    let unreadable =
        |error: csv::Error| ImportError::unread(path, error, "name a dataset that `save_as` wrote");
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
        let place = SourcePlace::new(path, line);
        records.push(PlacedValue { value: Value::Object(value), place });
    }
    Ok(records)
}

impl Goldens {
    /// Adds the suite of the dataset.
    pub(super) fn add(self, file: &str, imported: &mut ImportedSource) -> Result<(), ImportError> {
        let mut rows = Vec::new();
        let mut ids = BTreeSet::new();
        for PlacedValue { value, place } in self.records {
            if !value.is_object() {
                imported.leave_out("goldens", place, "a golden", "it is not an object");
                continue;
            }
            let number = rows.len() + 1;
            let named = text_in(&value, "name");
            let mut id = named.map_or_else(|| format!("golden-{number}"), str::to_owned);
            while !ids.insert(id.clone()) {
                id = format!("{id}-{number}");
            }
            match golden_row(&id, &value) {
                Ok(row) => {
                    imported.count("goldens");
                    rows.push(row);
                }
                Err(why) => imported.leave_out("goldens", place, format!("the golden `{id}`"), why),
            }
        }
        if rows.is_empty() {
            return Err(no_cases(&self.path));
        }
        imported.note("A dataset has no scores, so the suite only checks that there is an answer: add graders (docs/suite/graders.md), and a target (docs/targets.md) for rows whose output is null.");
        let name = if file == ONLY_SUITE { stem(&self.path) } else { file };
        let suite = json!({"name": name, "graders": {"answered": answered("final_output")}});
        imported.add_suite(file, suite, rows);
        Ok(())
    }
}

fn golden_row(id: &str, golden: &Value) -> Result<Value, &'static str> {
    let mut row = row_with_id(id);
    if golden.get("scenario").is_some() {
        conversation(&mut row, golden)?;
    } else {
        question(&mut row, golden)?;
    }
    for name in ["context", "retrieval_context"] {
        put(&mut row, name, field(golden, &[name]).map(list).as_ref());
    }
    put(&mut row, "metadata", field(golden, &["additional_metadata", "additionalMetadata"]));
    let expected =
        turns::expected(turns::calls(field(golden, &["expected_tools", "expectedTools"])));
    put(&mut row, "expected_tools", expected.as_ref());
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
        put(&mut row, name, field(golden, &[name]));
    }
    Ok(Value::Object(row))
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
            let turns = listed.as_array().ok_or("its turns are not a list")?;
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
