//! Result files and directories of all releases, as rows with trajectories and scores.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::suite::without_nulls;
use crate::folder::ONLY_SUITE;
use crate::imported::{ImportError, ImportedSource, ImportedSuite, SourcePlace};
use crate::reading::{self, GivenNames, as_text, ends_in, first};
use crate::source::ImportSource;
use evalrs_eval::grade;
use evalrs_trajectory::letta_dir::{LettaProblem, LettaResult, LettaResultRecord, read_records};

/// The grader of a suite that has one without a name.
const ONLY_GRADER: &str = "default";

/// A file of results, and which run of several it is.
pub(super) struct ResultFile {
    path: String,
    run: Option<u64>,
}

/// The result files of a folder; none if it is no result directory.
pub(super) fn files_of(source: &ImportSource<'_>) -> Option<Vec<ResultFile>> {
    let names = source.list(&source.path)?;
    let has = |name: &str| names.iter().any(|listed| listed == name);
    let beside = |name: &str| source.beside(name);
    if has("results.jsonl") && (has("header.json") || has("summary.json")) {
        return Some(vec![ResultFile { path: beside("results.jsonl"), run: None }]);
    }
    let mut files: Vec<ResultFile> = Vec::new();
    if has("suite.json") {
        for name in &names {
            if ends_in(name, "jsonl") {
                files.push(ResultFile { path: beside(name), run: None });
            }
            let runs = source.list(&beside(name)).unwrap_or_default();
            let of_run = |file: &String| {
                Some(ResultFile {
                    path: beside(&format!("{name}/{file}")),
                    run: run_number(file.strip_suffix(".jsonl")?),
                })
            };
            files.extend(runs.iter().filter_map(of_run).filter(|file| file.run.is_some()));
        }
    } else {
        let of_run = |name: &String| {
            Some(ResultFile {
                path: beside(&format!("{name}/results.jsonl")),
                run: Some(run_number(name)?),
            })
        };
        let is_there = |file: &ResultFile| source.bytes(&file.path).is_ok();
        files.extend(names.iter().filter_map(of_run).filter(is_there));
    }
    files.sort_by_key(|file| file.run);
    (!files.is_empty()).then_some(files)
}

/// The number of `run_N`, from 0.
fn run_number(name: &str) -> Option<u64> {
    name.strip_prefix("run_")?.parse::<u64>().ok()?.checked_sub(1)
}

/// Reads them.
pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let files = match files_of(source) {
        Some(files) => files,
        None => vec![ResultFile { path: source.path.clone(), run: None }],
    };
    let is_only = files.len() == 1;
    let mut imported = ImportedSource::default();
    let mut rows = ResultRows::default();
    let mut about = About::read(source, &files, &mut imported);
    for file in &files {
        let text = reading::text(source, &file.path)?;
        about.look_in(&text);
        match results_of(&text) {
            Ok(results) => {
                for (result, record) in results {
                    rows.add(result, &record.value, file, &about, &mut imported);
                }
            }
            Err(problem) if is_only => {
                return Err(ImportError::unreadable(
                    format!("cannot read `{}`: {problem}", file.path),
                    "name results of Letta Evals, or their directory",
                ));
            }
            Err(problem) => imported.leave_out(
                "files",
                SourcePlace::new(&file.path, problem.line),
                "a file of results",
                problem.message,
            ),
        }
    }
    if rows.rows.is_empty() {
        return Err(ImportError::unreadable(
            format!("there is no result in `{}`", source.path),
            "name results of Letta Evals, or their directory",
        ));
    }
    rows.finish(&about, source, &mut imported);
    Ok(imported)
}

/// Each result of a text, beside its record.
fn results_of(text: &str) -> Result<Vec<(LettaResult, LettaResultRecord)>, LettaProblem> {
    let records = read_records(text)?.into_iter().enumerate();
    records.map(|(ordinal, record)| Ok((LettaResult::of(&record, ordinal)?, record))).collect()
}

/// What stands beside the results: the suite that was run.
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
        let first_folder = files
            .first()
            .and_then(|file| file.path.rsplit_once('/'))
            .map_or("", |(folder, _)| folder);
        let paths = [
            source.beside("header.json"),
            source.beside("suite.json"),
            format!("{first_folder}/header.json"),
        ];
        for path in paths {
            let value =
                source.text(&path).ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
            if let Some(value) = value {
                about.take(&value);
            }
        }
        let summary = source.text(&source.beside("summary.json")).ok();
        if let Some(summary) = summary.and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
            summary_note(&summary, imported);
        }
        about
    }

    /// The header that old files begin with; the oldest are one object, which says the same.
    fn look_in(&mut self, text: &str) {
        let head = text.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
        let head = head.or_else(|| serde_json::from_str(text).ok());
        let says = |head: &Value| {
            head.get("type").and_then(Value::as_str) == Some("header")
                || head.get("results").is_some_and(Value::is_array)
        };
        if let Some(head) = head.filter(says) {
            self.take(&head);
        }
    }

    fn take(&mut self, value: &Value) {
        if self.name.is_none() {
            self.name = value.get("suite").and_then(Value::as_str).map(str::to_owned);
        }
        if let Some(config) =
            value.get("config").filter(|config| config.is_object() && self.config.is_null())
        {
            self.config = config.clone();
        }
        let samples = value.get("samples").and_then(Value::as_array).into_iter().flatten();
        self.samples.extend(
            samples.filter_map(|sample| Some((as_text(sample.get("id")?), sample.clone()))),
        );
    }
}

/// What Letta Evals computed of all.
fn summary_note(summary: &Value, imported: &mut ImportedSource) {
    let by_metric = first(summary, &["/metrics/by_metric"]).and_then(Value::as_object);
    let told: Vec<String> = by_metric
        .into_iter()
        .flatten()
        .filter_map(|(name, metric)| {
            Some(format!("`{name}` {}", as_text(metric.get("avg_score_attempted")?)))
        })
        .collect();
    if !told.is_empty() {
        imported.note(format!(
            "The summary says of the samples that were attempted, on average: {}.",
            told.join(", ")
        ));
    }
    if let Some(passed) = first(summary, &["/gates_passed"]).and_then(Value::as_bool) {
        imported.note(format!(
            "The summary says that the gate {}.",
            if passed { "passed" } else { "failed" }
        ));
    }
}

/// The rows of all results.
#[derive(Default)]
struct ResultRows {
    rows: Vec<Value>,
    /// Where the row of a sample, model and run stands.
    places: BTreeMap<String, usize>,
    names: GivenNames,
    /// The names of graders in rows, by their own.
    keys: BTreeMap<String, String>,
    order: Vec<String>,
}

impl ResultRows {
    fn add(
        &mut self,
        result: LettaResult,
        raw: &Value,
        file: &ResultFile,
        about: &About,
        imported: &mut ImportedSource,
    ) {
        let place = SourcePlace::new(&file.path, result.line);
        let key = format!("{}\n{:?}\n{:?}", result.sample_id, result.model, file.run);
        let sample = raw
            .get("sample")
            .filter(|sample| sample.is_object())
            .or_else(|| about.samples.get(&result.sample_id));
        let sample = sample.cloned().unwrap_or_default();
        let mut row = Map::new();
        row.insert("id".to_owned(), Value::from(result.sample_id.as_str()));
        row.extend(file.run.map(|run| ("trial".to_owned(), Value::from(run))));
        row.extend(result.model.map(|model| ("model".to_owned(), Value::from(model))));
        let mut put = |name: &str, value: Option<&Value>| {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                row.insert(name.to_owned(), value.clone());
            }
        };
        put(
            "input",
            Some(&result.input).filter(|input| !input.is_null()).or_else(|| sample.get("input")),
        );
        for name in ["ground_truth", "rubric_vars", "extra_vars", "agent_args", "rubric"] {
            put(name, sample.get(name));
        }
        let is_empty = result.trajectory.as_array().is_none_or(|turns| {
            turns.iter().all(|turn| turn.as_array().is_some_and(Vec::is_empty))
        });
        if is_empty {
            row.insert("output".to_owned(), Value::Null);
        } else {
            row.insert("trajectory".to_owned(), result.trajectory);
        }
        row.extend(result.agent_state.map(|state| ("agent_state".to_owned(), state)));
        let grades = grades_of(result.grades, raw, is_empty);
        let failure = grades.is_empty().then(|| first(raw, &["/grade/rationale"])).flatten();
        let error = first(raw, &["/error/message", "/error"]).or(failure);
        row.extend(error.map(|error| ("error".to_owned(), Value::from(as_text(error)))));
        row.extend(
            first(raw, &["/total_time", "/timing/total"])
                .map(|time| ("total_time".to_owned(), time.clone())),
        );
        row.extend(
            first(raw, &["/cost", "/usage/cost"]).map(|cost| ("cost".to_owned(), cost.clone())),
        );
        let scores = self.scores(&grades, imported);
        if !scores.is_empty() {
            row.insert("scores".to_owned(), Value::Object(scores));
        }
        imported.count("results");
        match self.places.get(&key).and_then(|at| self.rows.get_mut(*at)) {
            Some(earlier) => {
                // Letta Evals appends to a file that is there, and its last line counts.
                *earlier = Value::Object(row);
                let what = format!("an earlier result of the sample `{}`", result.sample_id);
                imported.leave_out(
                    "results",
                    place,
                    what,
                    "the file has it twice, and the last counts",
                );
            }
            None => {
                self.places.insert(key, self.rows.len());
                self.rows.push(Value::Object(row));
            }
        }
    }

    /// The grades of a result; one that could not be made has no score.
    fn scores(
        &mut self,
        grades: &Map<String, Value>,
        imported: &mut ImportedSource,
    ) -> Map<String, Value> {
        let mut scores = Map::new();
        for (name, grade) in grades {
            let key = self.key(name);
            let mut kept = Map::new();
            let failure = first(grade, &["/metadata/error"]);
            match (grade.get("score"), failure) {
                (_, Some(failure)) => {
                    _ = kept.insert("error".to_owned(), Value::from(as_text(failure)));
                }
                (Some(score), None) => _ = kept.insert("score".to_owned(), score.clone()),
                (None, None) => continue,
            }
            kept.extend(
                first(grade, &["/rationale"]).map(|why| ("rationale".to_owned(), why.clone())),
            );
            if failure.is_some() {
                imported.note("Grades that could not be made are errors here, and 0 in the summary of Letta Evals.");
            }
            imported.count("scores");
            scores.insert(key, Value::Object(kept));
        }
        scores
    }

    /// The name of a grader in rows and suites: conditions name it without quotes.
    fn key(&mut self, name: &str) -> String {
        if let Some(key) = self.keys.get(name) {
            return key.clone();
        }
        let key = self.names.give(&name.replace('-', "_"));
        self.keys.insert(name.to_owned(), key.clone());
        self.order.push(name.to_owned());
        key
    }

    fn finish(mut self, about: &About, source: &ImportSource<'_>, imported: &mut ImportedSource) {
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
                    imported.note(format!("`{name}` asks a judge, so it stands in the suite `judged`, with the prompt of the results."));
                    judged.insert(key, grader);
                }
                said => {
                    let unsaid = "the results do not say what it is; its scores are taken over";
                    let why = said.and_then(Result::err).unwrap_or_else(|| unsaid.to_owned());
                    let place = SourcePlace::new(&source.path, 0);
                    imported.leave_out("graders", place, format!("the grader `{name}`"), why);
                    continue;
                }
            }
            imported.count("graders");
        }
        if graders.is_empty() {
            imported.note("The results hold no grade, so the suite only asks whether there is an answer: add graders (docs/suite.md#graders).");
            graders.insert("answered".to_owned(), json!({"kind": "tool", "function": "length", "config": {"min": 1}, "extractor": "last_assistant"}));
        }
        let name = about.name.as_deref().unwrap_or("letta-evals");
        let mut suite = json!({"name": name, "target": {"kind": "recorded", "format": "letta"}, "graders": graders});
        leave_out_rules(about, source, imported);
        if self.rows.iter().all(|row| row.get("trajectory").is_none()) {
            suite.as_object_mut().map(|suite| suite.shift_remove("target"));
        }
        let rows = std::mem::take(&mut self.rows);
        imported.suites.push(ImportedSuite {
            file: ONLY_SUITE.to_owned(),
            suite,
            rows,
            ..ImportedSuite::default()
        });
        if !judged.is_empty() {
            let suite = json!({"extends": "suite.yaml", "name": format!("{name}, judged anew"), "graders": judged});
            imported.suites.push(ImportedSuite {
                file: "judged".to_owned(),
                suite,
                ..ImportedSuite::default()
            });
        }
    }

    /// A grader that repeats the scores of one.
    fn recorded(&self, key: &str) -> Value {
        let config = json!({"path": format!("scores.{key}.score"), "rationale": format!("scores.{key}.rationale")});
        let mut grader = json!({"kind": "tool", "function": "recorded_score", "config": config});
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
            let rule = rule
                .as_object()
                .map_or_else(|| rule.clone(), |rule| Value::Object(without_nulls(rule)));
            let why = format!(
                "write it over what is repeated (`NAME_recorded`) or graded anew: it was `{rule}`"
            );
            imported.leave_out(
                "gates",
                SourcePlace::new(&source.path, 0),
                format!("the {part}"),
                why,
            );
        }
    }
}

/// The grades of a result by grader. Old releases have one, without a name; late ones a reward beside the grades.
fn grades_of(named: Map<String, Value>, raw: &Value, is_empty: bool) -> Map<String, Value> {
    let mut grades = named;
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
    let told = "; its scores are taken over";
    let Some(fields) = spec.as_object() else {
        return Err(format!("the results do not say what it is{told}"));
    };
    let mut grader = without_nulls(fields);
    let is_file = |name: &str| {
        grader.get(name).and_then(Value::as_str).is_some_and(|value| value.contains(".py:"))
    };
    if is_file("function") || is_file("extractor") {
        return Err(format!(
            "its program is not among the results: name it in a suite, with `--cached` and this directory{told}"
        ));
    }
    match fields.get("kind").and_then(Value::as_str) {
        Some("tool") => {
            let function = fields.get("function").and_then(Value::as_str).unwrap_or_default();
            if grade::find(function).is_none() {
                return Err(format!("evalrs has no `{function}`{told}"));
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
            if !grader.get("prompt").is_some_and(Value::is_string) {
                return Err(format!("the results do not hold its prompt{told}"));
            }
            grader.shift_remove("prompt_path");
            Ok(LettaGrader::Judge(Value::Object(grader)))
        }
        _ => Err(format!("an agent judges, and its file is not among the results{told}")),
    }
}
