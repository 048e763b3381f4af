//! Items of hosted evals as rows: answers of a run, results of its graders, and data without answers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::graders::ScoreRange;
use crate::graders::recorded_score;
use crate::imported::{ImportedSource, SourcePlace};
use crate::reading::{
    GivenNames, as_text, content_text, first, items_in, last_of_user, put, text_at,
};

/// A grader of runs, and the scores that it gave.
struct RecordedGrader {
    name: String,
    /// Its name in rows.
    key: String,
    /// Whether each result has a score.
    is_scored: bool,
    scores: ScoreRange,
}

#[derive(Default)]
pub(super) struct ItemReader {
    pub rows: Vec<Value>,
    /// The graders of runs.
    recorded: Vec<RecordedGrader>,
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
        imported: &mut ImportedSource,
    ) {
        let item = value.get("datasource_item").cloned().unwrap_or_default();
        // Runs over responses wrap it again.
        let item = item.get("item").filter(|inner| inner.is_object()).cloned().unwrap_or(item);
        let sample = value.get("sample").cloned().unwrap_or_default();
        let id = first(value, &["/datasource_item_id", "/id"]).map(as_text);
        let mut row = self.row(item, &sample, id);
        let mut results = json!({});
        for result in items_in(value, "results") {
            let Some(name) = text_at(result, &["/name"]) else {
                imported.leave_out("results", place.clone(), "a result", "it has no name");
                continue;
            };
            imported.count("results");
            let score = first(result, &["/score"]).filter(|score| score.is_number());
            let grader = self.recorded(name);
            grader.note(score.and_then(Value::as_f64));
            results[&grader.key] = json!({"passed": result.get("passed"), "score": score});
        }
        put(&mut row, "error", first(&sample, &["/error/message", "/error/code"]).map(as_text));
        row["results"] = results;
        imported.count("items");
        self.rows.push(row);
    }

    /// The data of a run, where it holds them itself.
    pub(super) fn run(
        &mut self,
        value: &Value,
        place: &SourcePlace,
        imported: &mut ImportedSource,
    ) {
        let content = first(value, &["/data_source/source/content"]).and_then(Value::as_array);
        let Some(content) = content else {
            let what = text_at(value, &["/data_source/source/id", "/id"]).unwrap_or("a run");
            let why = "its data are in a file of OpenAI's: list the output items of the run";
            imported.leave_out("runs", place.clone(), what, why);
            return;
        };
        let model = text_at(value, &["/data_source/model", "/model"]);
        for record in content {
            self.data(record, model, imported);
        }
    }

    /// A row of data: an `item`, perhaps with a `sample`.
    pub(super) fn data(
        &mut self,
        value: &Value,
        model: Option<&str>,
        imported: &mut ImportedSource,
    ) {
        let item = value.get("item").cloned().unwrap_or_default();
        let sample = value.get("sample").cloned().unwrap_or_default();
        let id = first(&item, &["/id"]).map(as_text);
        let mut row = self.row(item, &sample, id);
        if row.get("model").is_none() {
            put(&mut row, "model", model);
        }
        imported.count("items");
        self.rows.push(row);
    }

    fn row(&mut self, item: Value, sample: &Value, id: Option<String>) -> Value {
        let id = id.unwrap_or_else(|| format!("item-{}", self.rows.len() + 1));
        let model = text_at(sample, &["/model"]);
        let trial = self.trials.entry(format!("{id}\n{}", model.unwrap_or_default())).or_default();
        let mut row = json!({"id": id});
        put(&mut row, "trial", Some(*trial).filter(|trial| *trial > 0));
        *trial += 1;
        put(&mut row, "model", model);
        let messages = messages(sample, "input");
        let asked = last_of_user(&messages).and_then(|message| message.get("content"));
        let asked = asked.map(|asked| content_text(asked, "\n"));
        let said = || text_at(&item, &["/input", "/question", "/prompt"]).map(str::to_owned);
        row["input"] = json!(asked.or_else(said).unwrap_or_else(|| item.to_string()));
        let outputs = messages_of(sample);
        let answer = text_at(sample, &["/output_text"]).map(str::to_owned).or_else(|| {
            let answer = outputs.iter().rev().find_map(|message| message.get("content"));
            answer.map(|answer| content_text(answer, "\n"))
        });
        row["output"] = json!(answer);
        let all: Vec<Value> = messages.into_iter().chain(outputs).collect();
        if all.iter().any(|message| !message["tool_calls"].is_null()) {
            row["messages"] = Value::Array(all);
        }
        row["item"] = item;
        row
    }

    fn recorded(&mut self, name: &str) -> &mut RecordedGrader {
        let name = without_id(name);
        let known = self.recorded.iter().position(|grader| grader.name == name);
        let at = known.unwrap_or_else(|| {
            let key = self.names.give(name);
            let scores = ScoreRange { min: f64::INFINITY, max: f64::NEG_INFINITY };
            let name = name.to_owned();
            self.recorded.push(RecordedGrader { name, key, is_scored: true, scores });
            self.recorded.len() - 1
        });
        &mut self.recorded[at]
    }

    /// Graders that import the results of runs, by their names; `range_of` gives the scale of a grader.
    pub(super) fn recorded_graders(
        &self,
        range_of: impl Fn(&str) -> Option<ScoreRange>,
        imported: &mut ImportedSource,
    ) -> Map<String, Value> {
        let graders = self.recorded.iter().map(|grader| {
            let range = range_of(&grader.name);
            if grader.is_scored && grader.scale(range).is_none() {
                imported.note(grader.without_scale());
            }
            (format!("{}_recorded", grader.key), grader.tool(range))
        });
        graders.collect()
    }
}

/// A name without the number that the service puts behind it: `NAME-5f3a…`.
fn without_id(name: &str) -> &str {
    let plain = name
        .rsplit_once('-')
        .filter(|(_, id)| id.len() >= 32 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-'));
    let uuid = name.len().checked_sub(37).and_then(|at| Some((name.get(..at)?, name.get(at..)?)));
    let uuid = uuid.filter(|(_, id)| {
        id.starts_with('-')
            && id.chars().filter(|c| *c == '-').count() == 5
            && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
    });
    uuid.or(plain).map_or(name, |(plain, _)| plain)
}

impl RecordedGrader {
    fn note(&mut self, score: Option<f64>) {
        match score {
            None => self.is_scored = false,
            Some(score) => {
                self.scores.min = self.scores.min.min(score);
                self.scores.max = self.scores.max.max(score);
            }
        }
    }

    /// The scale of the scores, if all lie on the one that is known, or else on that from 0 to 1.
    fn scale(&self, range: Option<ScoreRange>) -> Option<ScoreRange> {
        let range = range.unwrap_or(ScoreRange::UNIT);
        let is_inside = range.min <= self.scores.min && self.scores.max <= range.max;
        is_inside.then_some(range)
    }

    /// Takes the scores over where they have a scale, else whether it passed.
    fn tool(&self, range: Option<ScoreRange>) -> Value {
        let scale = self.scale(range).filter(|_| self.is_scored);
        let path = |field: &str| format!("results.{}.{field}", self.key);
        let field = if scale.is_some() { "score" } else { "passed" };
        let mut config = json!({"path": path(field)});
        if let Some(ScoreRange { min, max }) = scale.filter(|scale| *scale != ScoreRange::UNIT) {
            config["scale"] = json!({"min": min, "max": max});
            config["pass"] = json!(path("passed"));
        }
        let mut grader = recorded_score(&config);
        grader["only"] = json!(format!("has(row.{})", path(field)));
        grader
    }

    /// What a person has to know of scores that were not taken over.
    fn without_scale(&self) -> String {
        let Self { key, scores: ScoreRange { min, max }, .. } = self;
        format!(
            "`{key}_recorded` repeats whether it passed: the scores are between {min} and {max}, and no grader beside them has a range that contains them. They are under `results.{key}.score`; `scale: {{min, max}}` of `recorded_score` imports them."
        )
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
    let of_choices = items_in(sample, "choices").next().and_then(|choice| choice.get("message"));
    let outputs = messages(sample, "output");
    if outputs.is_empty() { of_choices.cloned().into_iter().collect() } else { outputs }
}
