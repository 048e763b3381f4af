//! The registry of `openai/evals` (YAML), its samples, and the logs that it writes as JSON Lines.

use serde_json::{Map, Value, json};

use crate::folder::ONLY_SUITE;
use crate::imported::{ImportError, ImportedSource, ImportedSuite, SourcePlace};
use crate::reading::{self, Record, as_text, first, has_keys, head, line_of, text_at};
use crate::source::ImportSource;
use evalrs_base::file_path::folder_of;
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

/// Reads it.
pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let text = reading::text(source, &source.path)?;
    if is_log(&text) { log(source, &text) } else { registry(source, &text) }
}

/// Reads a log: what was sampled, and what was said of it.
fn log(source: &ImportSource<'_>, text: &str) -> Result<ImportedSource, ImportError> {
    let mut imported = ImportedSource::default();
    let mut reader = EventReader::default();
    for Record { value, line } in reading::records(&source.path, text)? {
        reader.event(&value, &SourcePlace::new(&source.path, line), &mut imported);
    }
    if reader.rows.is_empty() {
        let message = format!("the log `{}` has no samples", source.path);
        return Err(ImportError::unreadable(
            message,
            "name a log that `oaieval` wrote with `--record_path`",
        ));
    }
    let mut graders = Map::new();
    for kind in ["correct", "score"] {
        if reader.rows.values().any(|row| row.get(kind).is_some()) {
            let config = json!({"path": kind});
            graders.insert(format!("{kind}_recorded"), json!({"kind": "tool", "function": "recorded_score", "config": config, "only": format!("has(row.{kind})")}));
        }
    }
    if graders.is_empty() {
        graders.insert(
            "answered".to_owned(),
            json!({"kind": "tool", "function": "length", "config": {"min": 1}}),
        );
        imported.note("The log has no matches: the suite only asks whether there is an answer.");
    }
    let suite = json!({"name": reader.name.unwrap_or_else(|| "openai-evals".to_owned()), "graders": graders});
    let rows = reader.rows.into_iter().map(|(_, row)| row).collect();
    imported.suites.push(ImportedSuite {
        file: ONLY_SUITE.to_owned(),
        suite,
        rows,
        ..ImportedSuite::default()
    });
    Ok(imported)
}

/// Gathers the events of each sample.
#[derive(Default)]
struct EventReader {
    name: Option<String>,
    rows: Map<String, Value>,
}

impl EventReader {
    fn event(&mut self, event: &Value, place: &SourcePlace, imported: &mut ImportedSource) {
        if let Some(spec) = event.get("spec") {
            self.name = text_at(spec, &["/eval_name", "/base_eval", "/run_config/eval_spec/key"])
                .map(str::to_owned);
            return;
        }
        if let Some(report) = event.get("final_report") {
            imported.note(format!("The log says of all samples: {report}."));
            return;
        }
        let Some(id) = text_at(event, &["/sample_id"]) else {
            let what = reading::beginning(&event.to_string(), 60);
            imported.leave_out("events", place.clone(), what, "it is of no sample");
            return;
        };
        let data = event.get("data").unwrap_or(&Value::Null);
        let row =
            self.rows.entry(id).or_insert_with(|| json!({"id": id, "input": "", "output": null}));
        imported.count("events");
        match text_at(event, &["/type"]).unwrap_or_default() {
            "sampling" => sampling(row, data),
            "match" => {
                put(row, "correct", first(data, &["/correct"]));
                put(row, "picked", first(data, &["/picked"]));
                put(row, "ground_truth", first(data, &["/expected"]));
            }
            "metrics" => {
                put(row, "metrics", Some(data));
                let score = first(data, &["/score", "/accuracy", "/f1"]);
                put(
                    row,
                    "score",
                    score.filter(|score| {
                        score.as_f64().is_some_and(|score| (0.0..=1.0).contains(&score))
                    }),
                );
            }
            "raw_sample" => {
                put(row, "ground_truth", first(data, &["/ideal"]));
                put(row, "sample", Some(data));
            }
            other => {
                *imported.mapped.entry("events").or_default() -= 1;
                imported.leave_out(
                    "events",
                    place.clone(),
                    format!("an event `{other}`"),
                    "evalrs has no counterpart",
                );
            }
        }
    }
}

fn put(row: &mut Value, name: &str, value: Option<&Value>) {
    if let Some(value) = value {
        row[name] = value.clone();
    }
}

/// What was asked and answered; of several requests the last.
fn sampling(row: &mut Value, data: &Value) {
    let prompt = data.get("prompt").unwrap_or(&Value::Null);
    row["input"] = Value::from(asked(prompt));
    let sampled = match data.get("sampled") {
        Some(Value::Array(list)) => list.first().map(as_text),
        Some(text) => Some(as_text(text)),
        None => None,
    };
    row["output"] = sampled.map_or(Value::Null, Value::from);
}

/// The last message of a prompt, or its text.
fn asked(prompt: &Value) -> String {
    match prompt {
        Value::Array(messages) => {
            let of_user =
                messages.iter().rev().find(|message| text_at(message, &["/role"]) == Some("user"));
            of_user
                .or(messages.last())
                .and_then(|message| message.get("content"))
                .map(as_text)
                .unwrap_or_default()
        }
        text => as_text(text),
    }
}

/// An eval of the registry.
struct RegistryEval {
    name: String,
    class: String,
    args: Value,
}

/// Reads entries of the registry with their samples, each as a suite.
fn registry(source: &ImportSource<'_>, text: &str) -> Result<ImportedSource, ImportError> {
    let entries: Value = serde_saphyr::from_str(text).map_err(|error| {
        ImportError::unreadable(
            format!("cannot read `{}`: {error}", source.path),
            "name a file of the registry of openai/evals",
        )
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
        let place = SourcePlace::new(&source.path, line_of(text, &format!("{}:", eval.name)));
        let file = if is_only { ONLY_SUITE.to_owned() } else { names.give(&eval.name) };
        match suite_of(eval, source, file, &mut imported) {
            Ok(suite) => {
                imported.suites.push(suite);
                imported.count("evals");
            }
            Err(why) => {
                imported.leave_out(
                    "evals",
                    place,
                    format!("`{}` ({})", eval.name, eval.class),
                    why,
                );
            }
        }
    }
    if imported.suites.is_empty() {
        let why = imported.not_mapped.first().map(|part| format!("{}: {}", part.what, part.reason));
        let message = format!("no eval in `{}` maps", source.path);
        return Err(ImportError::unreadable(
            message,
            why.unwrap_or_else(|| "it has no entry with a `class`".to_owned()),
        ));
    }
    imported.note("The registry says what is asked and expected, not what a model answered: run a target (docs/targets.md), or import a log of `oaieval`.");
    Ok(imported)
}

fn suite_of(
    eval: &RegistryEval,
    source: &ImportSource<'_>,
    file: String,
    imported: &mut ImportedSource,
) -> Result<ImportedSuite, String> {
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
    for Record { value, line } in records {
        if !value.is_object() {
            imported.leave_out(
                "samples",
                SourcePlace::new(&path, line),
                "a sample",
                "it is not an object",
            );
            continue;
        }
        imported.count("samples");
        let mut row = json!({"id": format!("{}.{}", eval.name, rows.len()), "input": asked(value.get("input").unwrap_or(&Value::Null)), "output": null});
        if let Some(Value::Array(_)) = value.get("input") {
            row["prompt_messages"] = value["input"].clone();
        }
        put(&mut row, "ground_truth", ideal(&value, &grader).as_ref());
        rows.push(row);
    }
    let name = eval.name.split('.').next().unwrap_or(&eval.name);
    let suite = json!({"name": name, "graders": {reading::plain_name(name): grader}});
    Ok(ImportedSuite { file, suite, rows, ..ImportedSuite::default() })
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

/// Reads the samples of an eval where they may lie.
fn samples(source: &ImportSource<'_>, path: &str) -> Result<SampleFile, String> {
    let mut unread = None;
    for at in sample_paths(&source.path, path) {
        match source.text(&at) {
            Ok(text) => return Ok(SampleFile { path: at, text }),
            Err(why) if why == MISSING => {}
            Err(why) => unread = Some(format!("its samples `{at}` are not read: {why}")),
        }
    }
    Err(unread.unwrap_or_else(|| {
        format!("its samples `{path}` are not there; they are kept with Git LFS: `git lfs pull`")
    }))
}

/// A file that was found.
struct SampleFile {
    path: String,
    text: String,
}

/// Where samples may lie: as named, or in the registry's folder of data.
fn sample_paths(registry: &str, path: &str) -> Vec<String> {
    let folder = folder_of(registry);
    let beside = |folder: &str| evalrs_base::file_path::join(folder, path);
    let data = evalrs_base::file_path::join(folder_of(folder), "data");
    vec![beside(folder), evalrs_base::file_path::join(&data, path)]
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
        "FuzzyMatch" => return Err("it normalizes texts in a way of its own and compares both ways: `contains`, or `f1`, come near".to_owned()),
        "ModelBasedClassify" => return Err("its rubric is a file of the registry's own: write a rubric grader, docs/suite.md#rubric-graders".to_owned()),
        _ => return Err("it is a class of its own".to_owned()),
    })
}
