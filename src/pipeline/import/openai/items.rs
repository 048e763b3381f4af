//! Items of hosted evals as rows: what a run answered, what its graders said, and data without answers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::pipeline::import::imported::{Imported, SourcePlace};
use crate::pipeline::import::reading::{GivenNames, as_text, first, text_at};

/// Gathers rows.
#[derive(Default)]
pub(super) struct ItemReader {
    pub(super) rows: Vec<Value>,
    /// Graders that take over what runs said, by the name of the grader that said it.
    pub(super) results: Map<String, Value>,
    /// The names in rows of graders of runs.
    keys: BTreeMap<String, String>,
    names: GivenNames,
    /// How often an item was answered by a model.
    trials: BTreeMap<String, u64>,
}

impl ItemReader {
    /// An item of a run with its answer and its results.
    pub(super) fn output_item(
        &mut self,
        value: &Value,
        place: &SourcePlace,
        imported: &mut Imported,
    ) {
        let item = value.get("datasource_item").cloned().unwrap_or_default();
        // Runs over responses wrap it again.
        let item = item.get("item").filter(|inner| inner.is_object()).cloned().unwrap_or(item);
        let sample = value.get("sample").cloned().unwrap_or_default();
        let id = first(value, &["/datasource_item_id", "/id"]).map(as_text);
        let mut row = self.row(item, &sample, id);
        let mut results = Map::new();
        for result in value.get("results").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = text_at(result, &["/name"]) else {
                imported.leave_out("results", place.clone(), "a result", "it has no name");
                continue;
            };
            imported.count("results");
            let key = self.key(name);
            let score = first(result, &["/score"]).filter(|score| score.is_number());
            let kept = json!({"passed": result.get("passed"), "score": score});
            self.result(&key, score);
            results.insert(key, kept);
        }
        if let Some(error) = first(&sample, &["/error/message", "/error/code"]) {
            row.insert("error".to_owned(), Value::from(as_text(error)));
        }
        row.insert("results".to_owned(), Value::Object(results));
        imported.count("items");
        self.rows.push(Value::Object(row));
    }

    /// The data of a run, where it holds them itself.
    pub(super) fn run(&mut self, value: &Value, place: &SourcePlace, imported: &mut Imported) {
        let content = first(value, &["/data_source/source/content"]).and_then(Value::as_array);
        let Some(content) = content else {
            let what = text_at(value, &["/data_source/source/id", "/id"]).unwrap_or("a run");
            imported.leave_out(
                "runs",
                place.clone(),
                what,
                "its data are in a file of OpenAI's: list the output items of the run",
            );
            return;
        };
        let model = text_at(value, &["/data_source/model", "/model"]);
        for record in content {
            self.data(record, model, place, imported);
        }
    }

    /// A row of data: an `item`, perhaps with a `sample`.
    pub(super) fn data(
        &mut self,
        value: &Value,
        model: Option<&str>,
        _place: &SourcePlace,
        imported: &mut Imported,
    ) {
        let item = value.get("item").cloned().unwrap_or_default();
        let sample = value.get("sample").cloned().unwrap_or_default();
        let id = first(&item, &["/id"]).map(as_text);
        let mut row = self.row(item, &sample, id);
        if let Some(model) = model.filter(|_| !row.contains_key("model")) {
            row.insert("model".to_owned(), Value::from(model));
        }
        imported.count("items");
        self.rows.push(Value::Object(row));
    }

    fn row(&mut self, item: Value, sample: &Value, id: Option<String>) -> Map<String, Value> {
        let mut row = Map::new();
        let id = id.unwrap_or_else(|| format!("item-{}", self.rows.len() + 1));
        let model = text_at(sample, &["/model"]);
        let answered =
            self.trials.entry(format!("{id}\n{}", model.unwrap_or_default())).or_default();
        let trial = *answered;
        *answered += 1;
        row.insert("id".to_owned(), Value::from(id));
        if trial > 0 {
            row.insert("trial".to_owned(), Value::from(trial));
        }
        if let Some(model) = model {
            row.insert("model".to_owned(), Value::from(model));
        }
        let messages = messages(sample, "input");
        let asked =
            messages.iter().rev().find(|message| text_at(message, &["/role"]) == Some("user"));
        let input = asked.and_then(|message| message.get("content")).map(content);
        let input = input
            .or_else(|| text_at(&item, &["/input", "/question", "/prompt"]).map(str::to_owned));
        row.insert("input".to_owned(), Value::from(input.unwrap_or_else(|| item.to_string())));
        let outputs = messages_of(sample);
        let answer = text_at(sample, &["/output_text"]).map(str::to_owned).or_else(|| {
            outputs.iter().rev().find_map(|message| message.get("content")).map(content)
        });
        row.insert("output".to_owned(), answer.map_or(Value::Null, Value::from));
        let all: Vec<Value> = messages.into_iter().chain(outputs).collect();
        let has_calls = all
            .iter()
            .any(|message| message.get("tool_calls").is_some_and(|calls| !calls.is_null()));
        if has_calls {
            row.insert("messages".to_owned(), Value::Array(all));
        }
        row.insert("item".to_owned(), item);
        row
    }

    fn key(&mut self, name: &str) -> String {
        // The service puts a number of its own behind the name: `NAME-5f3a…`.
        let plain = name.rsplit_once('-').filter(|(_, id)| {
            id.len() >= 32 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
        });
        let uuid =
            name.len().checked_sub(37).and_then(|at| Some((name.get(..at)?, name.get(at..)?)));
        let uuid = uuid.filter(|(_, id)| {
            id.starts_with('-')
                && id.chars().filter(|c| *c == '-').count() == 5
                && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
        });
        let plain = uuid.or(plain).map_or(name, |(plain, _)| plain).to_owned();
        if let Some(key) = self.keys.get(&plain) {
            return key.clone();
        }
        let key = self.names.give(&plain);
        self.keys.insert(plain, key.clone());
        key
    }

    /// Notes a grader of the run: its score where all are from 0 to 1, else whether it passed.
    fn result(&mut self, key: &str, score: Option<&Value>) {
        let in_range =
            score.and_then(Value::as_f64).is_some_and(|score| (0.0..=1.0).contains(&score));
        let field = if in_range { "score" } else { "passed" };
        let grader = |field: &str| {
            json!({
                "kind": "tool",
                "function": "recorded_score",
                "config": {"path": format!("results.{key}.{field}")},
                "only": format!("has(row.results.{key}.{field})"),
            })
        };
        let is_passed = |known: &Value| {
            known["config"]["path"].as_str().is_some_and(|path| path.ends_with(".passed"))
        };
        match self.results.get(key) {
            Some(known) if is_passed(known) || field == "score" => {}
            _ => _ = self.results.insert(key.to_owned(), grader(field)),
        }
    }
}

/// The messages of a sample's `input` or `output`: a list, a text, or JSON text of a list.
fn messages(sample: &Value, field: &str) -> Vec<Value> {
    let role = if field == "input" { "user" } else { "assistant" };
    match sample.get(field) {
        Some(Value::Array(list)) => {
            list.iter().filter(|message| message.get("role").is_some()).cloned().collect()
        }
        Some(Value::String(text)) => match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(list)) if list.iter().all(|message| message.get("role").is_some()) => {
                list
            }
            _ => vec![json!({"role": role, "content": text})],
        },
        _ => Vec::new(),
    }
}

/// What the model answered, as messages.
fn messages_of(sample: &Value) -> Vec<Value> {
    let of_choices = sample.get("choices").and_then(Value::as_array);
    let of_choices = of_choices.and_then(|choices| choices.first()?.get("message")).cloned();
    let outputs = messages(sample, "output");
    if outputs.is_empty() { of_choices.into_iter().collect() } else { outputs }
}

/// The text of a content.
fn content(content: &Value) -> String {
    match content {
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").unwrap_or(part).as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => as_text(other),
    }
}
