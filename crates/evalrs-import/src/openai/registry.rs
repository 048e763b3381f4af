//! The registry of `openai/evals` (YAML), its samples, and the logs that it writes as JSON Lines.

use serde_json::{Map, Value, json};

use crate::graders::recorded_score;
use crate::imported::{ImportError, ImportedSource, ONLY_SUITE, SourcePlace};
use crate::reading::{
    self, PlacedValue, as_text, first, has_keys, head, last_of_user, line_of, put, text_at,
};
use crate::source::ImportSource;
use evalrs_base::file_path::{folder_of, join};
use evalrs_system::MISSING;

/// Whether a source is an entry of the registry, or a log.
pub(super) fn recognizes(source: &ImportSource<'_>) -> bool {
    let head = head(source);
    is_registry(&head) || is_log(&head)
}

fn is_registry(head: &str) -> bool {
    head.lines().any(|line| line.trim_start().starts_with("class: evals."))
}

fn is_log(head: &str) -> bool {
    let first = head.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    first.starts_with('{')
        && ((has_keys(first, &["spec"]) && has_keys(first, &["run_id"]))
            || has_keys(first, &["run_id", "event_id", "sample_id"]))
}

pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let text = reading::text(source, &source.path)?;
    if is_log(&text) { log(source, &text) } else { registry(source, &text) }
}

/// Reads a log: the samples, and their results.
fn log(source: &ImportSource<'_>, text: &str) -> Result<ImportedSource, ImportError> {
    let mut reader = EventReader::default();
    for PlacedValue { value, place } in reading::records(&source.path, text)? {
        reader.event(&value, place);
    }
    if reader.rows.is_empty() {
        return Err(ImportError::unreadable(
            format!("the log `{}` has no samples", source.path),
            "name a log that `oaieval` wrote with `--record_path`",
        ));
    }
    let EventReader { mut imported, name, rows } = reader;
    let mut graders = Map::new();
    for kind in ["correct", "score"] {
        if rows.values().any(|row| row.get(kind).is_some()) {
            let mut grader = recorded_score(&json!({"path": kind}));
            grader["only"] = json!(format!("has(row.{kind})"));
            graders.insert(format!("{kind}_recorded"), grader);
        }
    }
    if graders.is_empty() {
        let answered = json!({"kind": "tool", "function": "length", "config": {"min": 1}});
        graders.insert("answered".to_owned(), answered);
        imported.note("The log has no matches: the suite only checks that there is an answer.");
    }
    let name = name.as_deref().unwrap_or("openai-evals");
    let suite = json!({"name": name, "graders": graders});
    imported.add_suite(ONLY_SUITE, suite, rows.into_iter().map(|(_, row)| row).collect());
    Ok(imported)
}

/// Gathers the events of each sample.
#[derive(Default)]
struct EventReader {
    imported: ImportedSource,
    name: Option<String>,
    rows: Map<String, Value>,
}

impl EventReader {
    fn event(&mut self, event: &Value, place: SourcePlace) {
        if let Some(spec) = event.get("spec") {
            self.name = text_at(spec, &["/eval_name", "/base_eval", "/run_config/eval_spec/key"])
                .map(str::to_owned);
            return;
        }
        if let Some(report) = event.get("final_report") {
            self.imported.note(format!("The log reports for all samples: {report}."));
            return;
        }
        let Some(id) = text_at(event, &["/sample_id"]) else {
            let what = reading::beginning(&event.to_string(), 60);
            self.imported.leave_out("events", place, what, "it does not belong to a sample");
            return;
        };
        let data = &event["data"];
        let row =
            self.rows.entry(id).or_insert_with(|| json!({"id": id, "input": "", "output": null}));
        match text_at(event, &["/type"]).unwrap_or_default() {
            "sampling" => sampling(row, data),
            "match" => {
                put(row, "correct", first(data, &["/correct"]).cloned());
                put(row, "picked", first(data, &["/picked"]).cloned());
                put(row, "ground_truth", first(data, &["/expected"]).cloned());
            }
            "metrics" => {
                row["metrics"] = data.clone();
                let score = first(data, &["/score", "/accuracy", "/f1"]);
                let in_range = |score: &f64| (0.0..=1.0).contains(score);
                let score = score.filter(|score| score.as_f64().as_ref().is_some_and(in_range));
                put(row, "score", score.cloned());
            }
            "raw_sample" => {
                put(row, "ground_truth", first(data, &["/ideal"]).cloned());
                row["sample"] = data.clone();
            }
            other => {
                // So that events are listed, be none of them mapped.
                self.imported.count_all("events", 0);
                let what = format!("an event `{other}`");
                self.imported.leave_out("events", place, what, "evalrs has no counterpart");
                return;
            }
        }
        self.imported.count("events");
    }
}

/// The input and the answer; of several requests the last.
fn sampling(row: &mut Value, data: &Value) {
    row["input"] = json!(asked(&data["prompt"]));
    row["output"] = match data.get("sampled") {
        Some(Value::Array(list)) => json!(list.first().map(as_text)),
        sampled => json!(sampled.map(as_text)),
    };
}

/// The last message of a prompt, or its text.
fn asked(prompt: &Value) -> String {
    match prompt {
        Value::Array(messages) => {
            let asked = last_of_user(messages).or(messages.last());
            asked.map(|message| as_text(&message["content"])).unwrap_or_default()
        }
        text => as_text(text),
    }
}

struct RegistryEval {
    name: String,
    class: String,
    args: Value,
}

/// Reads entries of the registry with their samples, each as a suite.
fn registry(source: &ImportSource<'_>, text: &str) -> Result<ImportedSource, ImportError> {
    let entries: Value = serde_saphyr::from_str(text).map_err(|error| {
        ImportError::unread(&source.path, error, "name a file of the registry of openai/evals")
    })?;
    let mut imported = ImportedSource::default();
    let evals = entries.as_object().into_iter().flatten().filter_map(|(name, entry)| {
        let class = text_at(entry, &["/class"])?.to_owned();
        let args = entry.get("args").cloned().unwrap_or_default();
        Some(RegistryEval { name: name.clone(), class, args })
    });
    let evals: Vec<RegistryEval> = evals.collect();
    let is_only = evals.len() == 1;
    let mut names = reading::GivenNames::default();
    for eval in &evals {
        let file = if is_only { ONLY_SUITE.to_owned() } else { names.give(&eval.name) };
        match add_suite(eval, source, &file, &mut imported) {
            Ok(()) => imported.count("evals"),
            Err(why) => {
                let line = line_of(text, &format!("{}:", eval.name));
                let place = SourcePlace::new(&source.path, line);
                let what = format!("`{}` ({})", eval.name, eval.class);
                imported.leave_out("evals", place, what, why);
            }
        }
    }
    if imported.suites.is_empty() {
        let message = format!("no eval in `{}` maps", source.path);
        return Err(imported.nothing_mapped(message, "it has no entry with a `class`"));
    }
    imported.note("The registry has inputs and expected answers, not the answers of a model: run a target (docs/targets.md), or import a log of `oaieval`.");
    Ok(imported)
}

fn add_suite(
    eval: &RegistryEval,
    source: &ImportSource<'_>,
    file: &str,
    imported: &mut ImportedSource,
) -> Result<(), String> {
    let grader = grader(eval)?;
    let path = text_at(&eval.args, &["/samples_jsonl"]).ok_or("it names no `samples_jsonl`")?;
    let SampleFile { path, text } = samples(source, path)?;
    if text.starts_with("version https://git-lfs") {
        return Err(format!(
            "its samples `{path}` are a pointer of Git LFS: `git lfs pull` fetches them"
        ));
    }
    let records = reading::records(&path, &text)
        .map_err(|_| format!("its samples `{path}` are not JSON Lines"))?;
    let mut rows = Vec::new();
    for PlacedValue { value, place } in records {
        if !value.is_object() {
            imported.leave_out("samples", place, "a sample", "it is not an object");
            continue;
        }
        imported.count("samples");
        let input = &value["input"];
        let id = format!("{}.{}", eval.name, rows.len());
        let mut row = json!({"id": id, "input": asked(input), "output": null});
        put(&mut row, "prompt_messages", Some(input).filter(|input| input.is_array()).cloned());
        put(&mut row, "ground_truth", ideal(&value, &grader));
        rows.push(row);
    }
    let name = eval.name.split('.').next().unwrap_or(&eval.name);
    let suite = json!({"name": name, "graders": {reading::plain_name(name): grader}});
    imported.add_suite(file, suite, rows);
    Ok(())
}

/// The answers that are accepted: one, or a list of several, as the grader takes them.
fn ideal(sample: &Value, grader: &Value) -> Option<Value> {
    let ideals = match sample.get("ideal")? {
        Value::Null => return None,
        Value::Array(ideals) => ideals.clone(),
        ideal => vec![ideal.clone()],
    };
    let is_list = ideals.len() != 1 || grader.pointer("/config/alternatives").is_some();
    if is_list { Some(Value::Array(ideals)) } else { ideals.into_iter().next() }
}

/// Reads the samples of an eval where they may lie: as named, or in the registry's folder of data.
fn samples(source: &ImportSource<'_>, path: &str) -> Result<SampleFile, String> {
    let folder = folder_of(&source.path);
    let data = join(folder_of(folder), "data");
    let mut unread = None;
    for at in [join(folder, path), join(&data, path)] {
        match source.text(&at) {
            Ok(text) => return Ok(SampleFile { path: at, text }),
            Err(why) if why == MISSING => {}
            Err(why) => unread = Some(format!("its samples `{at}` are not read: {why}")),
        }
    }
    Err(unread.unwrap_or_else(|| {
        format!("its samples `{path}` do not exist; they are in Git LFS: `git lfs pull`")
    }))
}

struct SampleFile {
    path: String,
    text: String,
}

/// The grader of a class.
fn grader(eval: &RegistryEval) -> Result<Value, String> {
    let class = eval.class.rsplit(':').next().unwrap_or_default();
    Ok(match class {
        "Match" => json!({"kind": "tool", "function": "starts_with", "config": {"case_sensitive": true}}),
        "Includes" => {
            let ignores_case = eval.args.get("ignore_case") == Some(&Value::Bool(true));
            json!({"kind": "tool", "function": "contains_any", "config": {"case_sensitive": !ignores_case}})
        }
        "JsonMatch" => json!({"kind": "tool", "function": "json_match", "config": {"whole": true, "alternatives": true}}),
        "JsonValidator" => json!({"kind": "tool", "function": "is_json", "config": {"whole": true}}),
        "FuzzyMatch" => return Err("it normalizes texts in its own way and compares both ways: `contains` or `f1` are close".to_owned()),
        "ModelBasedClassify" => return Err("its rubric is a file of the registry's own: write a rubric grader, docs/suite/judges.md".to_owned()),
        _ => return Err("it is a class of its own".to_owned()),
    })
}
