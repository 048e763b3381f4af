//! Result files and directories of all releases, as rows with trajectories and scores.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::suite::without_nulls;
use crate::graders::{answered, recorded_score};
use crate::imported::{ImportError, ImportedSource, ONLY_SUITE, SourcePlace};
use crate::reading::{self, GivenNames, as_text, ends_in, first, items_in, put, text_in};
use crate::source::ImportSource;
use evalrs_base::file_path::folder_of;
use evalrs_eval::grade;
use evalrs_trajectory::letta_dir::{LettaProblem, LettaResult, LettaResultRecord, read_records};

/// The grader of a suite that has one without a name.
const ONLY_GRADER: &str = "default";

/// A file of results, and which run of several it is.
pub(super) struct ResultFile {
    path: String,
    run: Option<u64>,
}

/// The result files of a folder; none if it is not a result directory.
pub(super) fn files_of(source: &ImportSource<'_>) -> Option<Vec<ResultFile>> {
    let names = source.list(&source.path)?;
    let has = |name: &str| names.iter().any(|listed| listed == name);
    let file = |name: &str, run| ResultFile { path: source.beside(name), run };
    if has("results.jsonl") && (has("header.json") || has("summary.json")) {
        return Some(vec![file("results.jsonl", None)]);
    }
    let mut files: Vec<ResultFile> = Vec::new();
    for name in &names {
        if has("suite.json") {
            if ends_in(name, "jsonl") {
                files.push(file(name, None));
            }
            for inner in source.list(&source.beside(name)).unwrap_or_default() {
                let run = inner.strip_suffix(".jsonl").and_then(run_number);
                files.extend(run.map(|run| file(&format!("{name}/{inner}"), Some(run))));
            }
        } else if let Some(run) = run_number(name) {
            let file = file(&format!("{name}/results.jsonl"), Some(run));
            files.extend(source.bytes(&file.path).is_ok().then_some(file));
        }
    }
    files.sort_by_key(|file| file.run);
    (!files.is_empty()).then_some(files)
}

/// The number of `run_N`, from 0.
fn run_number(name: &str) -> Option<u64> {
    name.strip_prefix("run_")?.parse::<u64>().ok()?.checked_sub(1)
}

pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let files = match files_of(source) {
        Some(files) => files,
        None => vec![ResultFile { path: source.path.clone(), run: None }],
    };
    let is_only = files.len() == 1;
    let mut rows = ResultRows::default();
    rows.about = About::read(source, &files, &mut rows.imported);
    for file in &files {
        let text = reading::text(source, &file.path)?;
        rows.about.look_in(&text);
        match results_of(&text) {
            Ok(results) => {
                for (result, record) in results {
                    rows.add(result, &record.value, file);
                }
            }
            Err(problem) if is_only => {
                return Err(ImportError::unread(&file.path, problem, HINT));
            }
            Err(problem) => {
                let place = SourcePlace::new(&file.path, problem.line);
                rows.imported.leave_out("files", place, "a file of results", problem.message);
            }
        }
    }
    if rows.rows.is_empty() {
        let message = format!("no result in `{}`", source.path);
        return Err(ImportError::unreadable(message, HINT));
    }
    Ok(rows.finish(source))
}

/// What to do about a source that holds no results.
const HINT: &str = "name results of Letta Evals, or their directory";

/// Each result of a text, beside its record.
fn results_of(text: &str) -> Result<Vec<(LettaResult, LettaResultRecord)>, LettaProblem> {
    let records = read_records(text)?.into_iter().enumerate();
    records.map(|(ordinal, record)| Ok((LettaResult::of(&record, ordinal)?, record))).collect()
}

/// The file beside the results: the suite that was run.
#[derive(Default)]
struct About {
    name: Option<String>,
    config: Value,
    /// The samples of releases that keep them apart, by id.
    samples: BTreeMap<String, Value>,
}

impl About {
    fn read(
        source: &ImportSource<'_>,
        files: &[ResultFile],
        imported: &mut ImportedSource,
    ) -> Self {
        let mut about = Self::default();
        if !source.is_folder() {
            return about;
        }
        let folder = files.first().map_or("", |file| folder_of(&file.path));
        let json =
            |path: &str| -> Option<Value> { serde_json::from_str(&source.text(path).ok()?).ok() };
        for path in [
            source.beside("header.json"),
            source.beside("suite.json"),
            format!("{folder}/header.json"),
        ] {
            if let Some(value) = json(&path) {
                about.take(&value);
            }
        }
        if let Some(summary) = json(&source.beside("summary.json")) {
            summary_note(&summary, imported);
        }
        about
    }

    /// The header that old files begin with; the oldest are one object, which says the same.
    fn look_in(&mut self, text: &str) {
        let head = text.lines().next().and_then(|line| serde_json::from_str(line).ok());
        let head: Value = head.or_else(|| serde_json::from_str(text).ok()).unwrap_or_default();
        if text_in(&head, "type") == Some("header") || head["results"].is_array() {
            self.take(&head);
        }
    }

    fn take(&mut self, value: &Value) {
        if self.name.is_none() {
            self.name = text_in(value, "suite").map(str::to_owned);
        }
        if value["config"].is_object() && self.config.is_null() {
            self.config = value["config"].clone();
        }
        let samples = items_in(value, "samples");
        self.samples.extend(
            samples.filter_map(|sample| Some((as_text(sample.get("id")?), sample.clone()))),
        );
    }
}

/// What Letta Evals computed of all.
fn summary_note(summary: &Value, imported: &mut ImportedSource) {
    let by_metric = first(summary, &["/metrics/by_metric"]).and_then(Value::as_object);
    let told = by_metric.into_iter().flatten().filter_map(|(name, metric)| {
        Some(format!("`{name}` {}", as_text(metric.get("avg_score_attempted")?)))
    });
    let told = told.collect::<Vec<_>>().join(", ");
    if !told.is_empty() {
        imported.note(format!("The summary reports averages over the attempted samples: {told}."));
    }
    if let Some(passed) = first(summary, &["/gates_passed"]).and_then(Value::as_bool) {
        let came = if passed { "passed" } else { "failed" };
        imported.note(format!("In the summary, the gate {came}."));
    }
}

/// The rows of all results.
#[derive(Default)]
struct ResultRows {
    imported: ImportedSource,
    about: About,
    rows: Vec<Value>,
    /// The place of the row of a sample, model and run.
    places: BTreeMap<String, usize>,
    names: GivenNames,
    /// The names of graders in rows, by their own.
    keys: BTreeMap<String, String>,
    order: Vec<String>,
}

impl ResultRows {
    fn add(&mut self, result: LettaResult, raw: &Value, file: &ResultFile) {
        let place = SourcePlace::new(&file.path, result.line);
        let key = format!("{}\n{:?}\n{:?}", result.sample_id, result.model, file.run);
        let own = raw.get("sample").filter(|sample| sample.is_object());
        let sample = own.or_else(|| self.about.samples.get(&result.sample_id));
        let sample = sample.unwrap_or(&Value::Null);
        let mut row = json!({"id": result.sample_id});
        put(&mut row, "trial", file.run);
        put(&mut row, "model", result.model);
        let input = Some(&result.input).filter(|input| !input.is_null());
        put(&mut row, "input", input.or_else(|| first(sample, &["/input"])).cloned());
        for name in ["ground_truth", "rubric_vars", "extra_vars", "agent_args", "rubric"] {
            put(&mut row, name, sample.get(name).filter(|value| !value.is_null()).cloned());
        }
        let is_empty = result.trajectory.as_array().is_none_or(|turns| {
            turns.iter().all(|turn| turn.as_array().is_some_and(Vec::is_empty))
        });
        if is_empty {
            row["output"] = Value::Null;
        } else {
            row["trajectory"] = result.trajectory;
        }
        put(&mut row, "agent_state", result.agent_state);
        let grades = grades_of(result.grades, raw, is_empty);
        let failure = grades.is_empty().then(|| first(raw, &["/grade/rationale"])).flatten();
        let error = first(raw, &["/error/message", "/error"]).or(failure);
        put(&mut row, "error", error.map(as_text));
        put(&mut row, "total_time", first(raw, &["/total_time", "/timing/total"]).cloned());
        put(&mut row, "cost", first(raw, &["/cost", "/usage/cost"]).cloned());
        let scores = self.scores(&grades);
        put(&mut row, "scores", (!scores.is_empty()).then_some(scores));
        self.imported.count("results");
        match self.places.get(&key).and_then(|at| self.rows.get_mut(*at)) {
            Some(earlier) => {
                // Letta Evals appends to a file that is there, and its last line counts.
                *earlier = row;
                let what = format!("an earlier result of the sample `{}`", result.sample_id);
                let why = "the file has it twice; the last is used";
                self.imported.leave_out("results", place, what, why);
            }
            None => {
                self.places.insert(key, self.rows.len());
                self.rows.push(row);
            }
        }
    }

    /// The grades of a result; one that could not be made has no score.
    fn scores(&mut self, grades: &Map<String, Value>) -> Map<String, Value> {
        let mut scores = Map::new();
        for (name, grade) in grades {
            let key = self.key(name);
            let failure = first(grade, &["/metadata/error"]);
            let mut kept = match (grade.get("score"), failure) {
                (_, Some(failure)) => json!({"error": as_text(failure)}),
                (Some(score), None) => json!({"score": score}),
                (None, None) => continue,
            };
            put(&mut kept, "rationale", first(grade, &["/rationale"]).cloned());
            if failure.is_some() {
                self.imported.note("Grades that could not be made are errors here, and 0 in the summary of Letta Evals.");
            }
            self.imported.count("scores");
            scores.insert(key, kept);
        }
        scores
    }

    /// The name of a grader in rows and suites: conditions name it without quotes.
    fn key(&mut self, name: &str) -> String {
        let key = self.keys.entry(name.to_owned()).or_insert_with(|| {
            self.order.push(name.to_owned());
            self.names.give(&name.replace('-', "_"))
        });
        key.clone()
    }

    fn finish(mut self, source: &ImportSource<'_>) -> ImportedSource {
        let mut imported = std::mem::take(&mut self.imported);
        let about = std::mem::take(&mut self.about);
        let mut graders = Map::new();
        let mut judged = Map::new();
        let mut specs =
            about.config.get("graders").and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(spec) = about.config.get("grader").filter(|spec| spec.is_object()) {
            specs.insert(ONLY_GRADER.to_owned(), spec.clone());
        }
        for name in std::mem::take(&mut self.order) {
            let key = self.key(&name);
            let repeats = self.names.give(&format!("{key}_recorded"));
            graders.insert(repeats, self.recorded(&key));
            match specs.get(&name).map(mapped) {
                Some(Ok(LettaGrader::Tool(grader))) => _ = graders.insert(key, grader),
                Some(Ok(LettaGrader::Judge(grader))) => {
                    imported.note(format!("`{name}` uses a judge, so it is in the suite `judged`, with the prompt of the results."));
                    judged.insert(key, grader);
                }
                said => {
                    let why = said.and_then(Result::err);
                    let why = why.as_deref().unwrap_or("the results do not describe it");
                    let why = format!("{why}; its scores are imported");
                    let place = SourcePlace::new(&source.path, 0);
                    imported.leave_out("graders", place, format!("the grader `{name}`"), why);
                    continue;
                }
            }
            imported.count("graders");
        }
        if graders.is_empty() {
            imported.note("The results have no grade, so the suite only checks that there is an answer: add graders (docs/suite/graders.md).");
            graders.insert("answered".to_owned(), answered("last_assistant"));
        }
        leave_out_rules(&about, source, &mut imported);
        let name = about.name.as_deref().unwrap_or("letta-evals");
        let mut suite = json!({"name": name});
        if self.rows.iter().any(|row| row.get("trajectory").is_some()) {
            suite["target"] = json!({"kind": "recorded", "format": "letta"});
        }
        suite["graders"] = Value::Object(graders);
        imported.add_suite(ONLY_SUITE, suite, self.rows);
        imported.add_judged(ONLY_SUITE, name, &judged);
        imported
    }

    /// A grader that repeats the scores of one.
    fn recorded(&self, key: &str) -> Value {
        let config = json!({"path": format!("scores.{key}.score"), "rationale": format!("scores.{key}.rationale")});
        let mut grader = recorded_score(&config);
        let lacks = |row: &Value| row.pointer(&format!("/scores/{key}")).is_none();
        if self.rows.iter().any(|row| lacks(row) && row.get("error").is_none()) {
            grader["only"] = Value::from(format!("has(row.scores.{key}) or has(row.error)"));
        }
        grader
    }
}

/// Names the rules that a suite had over its graders.
fn leave_out_rules(about: &About, source: &ImportSource<'_>, imported: &mut ImportedSource) {
    for part in ["gate", "reward"] {
        if let Some(rule) = about.config.get(part).filter(|rule| !rule.is_null()) {
            let rule = match rule {
                Value::Object(fields) => &Value::Object(without_nulls(fields)),
                rule => rule,
            };
            let place = SourcePlace::new(&source.path, 0);
            let why =
                format!("write it over repeated (`NAME_recorded`) or new grades: it was `{rule}`");
            imported.leave_out("gates", place, format!("the {part}"), why);
        }
    }
}

/// The grades of a result by grader. Old releases have one, without a name; late ones a reward beside the grades.
fn grades_of(mut grades: Map<String, Value>, raw: &Value, is_empty: bool) -> Map<String, Value> {
    let is_old = raw.get("grades").is_none() && !is_empty;
    if let Some(grade) = first(raw, &["/grade"]).filter(|grade| is_old && grade.is_object()) {
        grades.insert(ONLY_GRADER.to_owned(), grade.clone());
    }
    if let Some(reward) = first(raw, &["/reward"]).filter(|reward| reward.get("score").is_some()) {
        grades.entry("reward").or_insert_with(|| reward.clone());
    }
    grades
}

/// A grader that evalrs has too.
enum LettaGrader {
    Tool(Value),
    Judge(Value),
}

/// A grader of the results as one of a suite, or why not.
fn mapped(spec: &Value) -> Result<LettaGrader, String> {
    let grader = spec.as_object().map(without_nulls);
    let mut grader = grader.ok_or("the results do not describe it")?;
    let text = |name: &str| grader.get(name).and_then(Value::as_str);
    let is_file = |name: &str| text(name).is_some_and(|value| value.contains(".py:"));
    if is_file("function") || is_file("extractor") {
        let why = "its program is not among the results: name it in a suite, with `--cached` and this directory";
        return Err(why.to_owned());
    }
    match text("kind") {
        Some("tool") => {
            let function = text("function").unwrap_or_default();
            if grade::find(function).is_none() {
                return Err(format!("evalrs has no `{function}`"));
            }
            // Old releases wrote the fields of judges into all graders.
            let of_tools = [
                "kind",
                "function",
                "display_name",
                "extractor",
                "extractor_config",
                "config",
                "pass_threshold",
            ];
            grader.retain(|name, _| of_tools.contains(&name.as_str()));
            Ok(LettaGrader::Tool(Value::Object(grader)))
        }
        Some("model_judge" | "rubric") if grader.get("agent_file").is_none() => {
            if text("prompt").is_none() {
                return Err("the results do not contain its prompt".to_owned());
            }
            grader.shift_remove("prompt_path");
            Ok(LettaGrader::Judge(Value::Object(grader)))
        }
        _ => Err("its judge is an agent, whose file is not among the results".to_owned()),
    }
}
