//! Evals of OpenAI: hosted ones (graders, runs and their output items as JSON), and the registry and logs of `openai/evals`.
//!
//! Graders become graders under their own names; what a run said of an item is taken over beside them. A file may hold any of
//! these, and a folder all of them: graders of one file then grade the items of another.

mod graders;
mod items;
mod registry;
mod templates;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::imported::{ImportError, ImportedSource, ONLY_SUITE, SourcePlace};
use super::reading::{self, PlacedValue, has_keys, head, line_of, text_at};
use super::source::ImportSource;
use graders::{GraderReader, ScoreRange};
use items::ItemReader;

/// Whether a source is of hosted evals.
pub(super) fn recognizes(source: &ImportSource<'_>) -> bool {
    match source.list(&source.path) {
        Some(names) => {
            names.iter().any(|name| is_data(name) && source.begins(&source.beside(name), is_hosted))
        }
        None => is_hosted(&head(source)) || registry::recognizes(source),
    }
}

fn is_data(name: &str) -> bool {
    reading::ends_in(name, "json") || reading::ends_in(name, "jsonl")
}

/// Whether a text holds what hosted evals are made of.
fn is_hosted(head: &str) -> bool {
    head.trim_start().starts_with(['{', '['])
        && (has_keys(head, &["testing_criteria"])
            || is_one_of(head, &["eval.run.output_item", "eval.run"])
            || has_keys(head, &["datasource_item", "results"])
            || is_grader_text(head))
}

/// Whether a text begins as one of the graders of hosted evals.
fn is_grader_text(head: &str) -> bool {
    is_one_of(head, &["string_check", "text_similarity", "score_model", "label_model"])
        && has_keys(head, &["type", "input"])
        || is_one_of(head, &["python"])
            && has_keys(head, &["type", "source"])
            && head.contains("def grade")
        || is_one_of(head, &["multi"]) && has_keys(head, &["graders"])
}

fn is_one_of(head: &str, kinds: &[&str]) -> bool {
    kinds.iter().any(|kind| head.contains(&format!("\"{kind}\"")))
}

pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    if registry::recognizes(source) {
        return registry::import(source);
    }
    let paths = match source.list(&source.path) {
        None => vec![source.path.clone()],
        Some(names) => {
            names.iter().filter(|name| is_data(name)).map(|name| source.beside(name)).collect()
        }
    };
    let mut gathered = HostedEvals::default();
    for path in &paths {
        let text = reading::text(source, path)?;
        for record in reading::records(path, &text)? {
            gathered.add(path, &text, record);
        }
    }
    gathered.into_imported(&source.path)
}

#[derive(Default)]
struct HostedEvals {
    imported: ImportedSource,
    name: Option<String>,
    graders: Vec<PlacedValue>,
    items: ItemReader,
}

impl HostedEvals {
    fn add(&mut self, path: &str, text: &str, record: PlacedValue) {
        let PlacedValue { value, place } = record;
        let kind = text_at(&value, &["/object"]).unwrap_or_default();
        let list = |name: &str| value.get(name).and_then(Value::as_array).cloned();
        if kind == "list" || (kind.is_empty() && value.get("data").is_some_and(Value::is_array)) {
            for value in list("data").unwrap_or_default() {
                let id = text_at(&value, &["/id"]);
                let line = id.map_or(place.line, |id| line_of(text, id));
                self.add(path, text, PlacedValue { value, place: SourcePlace::new(path, line) });
            }
        } else if let Some(criteria) = list("testing_criteria") {
            self.name = self.name.take().or_else(|| text_at(&value, &["/name"]).map(str::to_owned));
            for grader in criteria {
                self.grader(path, text, grader);
            }
        } else if kind == "eval.run" || value.get("data_source").is_some() {
            self.items.run(&value, &place, &mut self.imported);
        } else if value.get("datasource_item").is_some() {
            self.items.output_item(&value, &place, &mut self.imported);
        } else if value.get("item").is_some_and(Value::is_object) {
            self.items.data(&value, None, &mut self.imported);
        } else if let Some(grader) = value.get("grader").filter(|grader| grader.is_object()) {
            self.grader(path, text, grader.clone());
        } else if graders::is_grader(&value) {
            self.grader(path, text, value);
        } else {
            let what = reading::beginning(&value.to_string(), 60);
            let why =
                "it is neither a grader nor an eval, a run, an output item or a row with an `item`";
            self.imported.leave_out("records", place, what, why);
        }
    }

    fn grader(&mut self, path: &str, text: &str, grader: Value) {
        let name = text_at(&grader, &["/name", "/type"]).unwrap_or_default();
        let place = SourcePlace::new(path, line_of(text, &Value::from(name).to_string()));
        self.graders.push(PlacedValue { value: grader, place });
    }

    fn into_imported(self, path: &str) -> Result<ImportedSource, ImportError> {
        let Self { mut imported, name, graders: placed, mut items } = self;
        let mut rows = std::mem::take(&mut items.rows);
        let mut reader = GraderReader::new(&mut rows);
        for PlacedValue { value, place } in &placed {
            reader.add(value, place, &mut imported);
        }
        let GraderReader { mut graders, files, .. } = reader;
        let range_of = |name: &str| {
            let mut named = placed.iter().filter(|it| text_at(&it.value, &["/name"]) == Some(name));
            named.find_map(|it| ScoreRange::of(&it.value)).filter(|range| range.min < range.max)
        };
        graders.extend(items.recorded_graders(range_of, &mut imported));
        if graders.is_empty() {
            let reasons = imported.not_mapped.iter().take(3);
            let reasons = reasons.map(|part| format!("{}: {}", part.what, part.reason));
            let hint = reasons.collect::<Vec<_>>().join("; ");
            let unsaid = "name an eval, its graders or output items of a run";
            return Err(ImportError::unreadable(
                format!("no grader in `{path}` maps"),
                if hint.is_empty() { unsaid } else { &hint },
            ));
        }
        let name = name.as_deref().unwrap_or("openai-evals");
        let mut suite = json!({"name": name, "graders": graders});
        if rows.is_empty() {
            imported.note("No rows were imported: write them as `dataset.jsonl`, each with an `id`, an `item` and an `output`, or import graders and output items of a run together, as files of one folder.");
            suite["dataset"] = Value::from("dataset.jsonl");
        }
        imported.files.extend(files);
        imported.add_suite(ONLY_SUITE, suite, rows);
        Ok(imported)
    }
}
