//! Results of promptfoo, as `promptfoo eval -o` and `promptfoo export` write them: JSON, and JSON Lines.
//!
//! Each result becomes a row with what was answered and what promptfoo said: of the whole under `promptfoo`, of each assertion
//! under `promptfoo.GRADER`, to be compared with what graders say now.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::case::{AssertionCounter, AssertionSpec, TestCase};
use super::files::ConfigFiles;
use super::suite::{BuiltSuite, RowGraders, SuiteBuilder, name_of};
use crate::graders::recorded_score;
use crate::imported::{ImportError, ImportedSource, ONLY_SUITE, SourcePlace};
use crate::reading::{PlacedValue, has_keys, items_in, put, text_at, text_in};
use crate::source::ImportSource;
use evalrs_base::file_path::folder_of;

/// The grader that repeats promptfoo's own verdict.
const RECORDED: &str = "promptfoo";

/// Whether a text begins as results do.
pub(super) fn recognizes(head: &str) -> bool {
    let head = head.trim_start();
    head.starts_with('{')
        && (has_keys(head, &["evalId", "results"])
            || has_keys(head, &["results", "stats", "vars"])
            || has_keys(head, &["testCase", "gradingResult"])
            || has_keys(head, &["promptIdx", "testIdx"])
            || has_keys(head, &["results", "version", "prompts"]))
}

/// Reads a file of results.
pub(super) fn import(
    path: &str,
    text: &str,
    source: &ImportSource<'_>,
) -> Result<ImportedSource, ImportError> {
    let evaluation = read(path, text).map_err(|why| {
        ImportError::unread(path, why, "write results again: `promptfoo eval -o results.json`")
    })?;
    let files = ConfigFiles::new(source, folder_of(path));
    let name = name_of(path, evaluation.description.as_deref());
    Ok(suite_of(&evaluation, ONLY_SUITE, &name, &files, ImportedSource::default()))
}

/// The result of one evaluation of promptfoo.
pub(super) struct PromptfooEvaluation {
    pub results: Vec<PlacedValue>,
    pub description: Option<String>,
}

/// Adds the suite of an evaluation, in `file`, to what was imported.
pub(super) fn suite_of(
    evaluation: &PromptfooEvaluation,
    file: &str,
    name: &str,
    files: &ConfigFiles<'_>,
    imported: ImportedSource,
) -> ImportedSource {
    let mut builder = SuiteBuilder::new(files, imported);
    let mut importer = ResultImporter::default();
    importer.number_prompts(&evaluation.results);
    for result in &evaluation.results {
        importer.add(result, &mut builder);
    }
    let config = json!({"path": "promptfoo.pass", "rationale": "promptfoo.reason"});
    builder.add(RECORDED, recorded_score(&config), false);
    let BuiltSuite { suite, rows, mut imported } =
        builder.finish(name, evaluation.description.as_deref());
    let mut names = suite["graders"].as_object().into_iter().flat_map(Map::keys);
    if let Some(grader) = names.find(|name| *name != RECORDED) {
        imported.note(format!("The results of promptfoo for each assertion are in the rows: `evalrs agree {file}.yaml {grader} row.promptfoo.{grader}.score`."));
    }
    imported.add_suite(file, suite, rows);
    imported
}

fn read(path: &str, text: &str) -> Result<PromptfooEvaluation, String> {
    if let Ok(whole) = serde_json::from_str::<Value>(text) {
        let lists = [whole.pointer("/results/results"), whole.get("results")];
        let results = match lists.into_iter().flatten().find_map(Value::as_array) {
            Some(list) => list.clone(),
            None if whole.get("testCase").is_some() || whole.get("vars").is_some() => {
                vec![whole.clone()]
            }
            None => return Err("it has no list `results`".to_owned()),
        };
        let description = text_in(&whole["config"], "description").map(str::to_owned);
        let place = SourcePlace::new(path, 0);
        let results = results.into_iter().map(|value| PlacedValue { value, place: place.clone() });
        return Ok(PromptfooEvaluation { results: results.collect(), description });
    }
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let results = lines.map(|(line, number)| {
        let value =
            serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))?;
        Ok(PlacedValue { value, place: SourcePlace::new(path, number) })
    });
    let results = results.collect::<Result<_, String>>()?;
    Ok(PromptfooEvaluation { results, description: None })
}

/// What is known of the results so far.
#[derive(Default)]
struct ResultImporter {
    counter: AssertionCounter,
    /// Prompts by their identity.
    prompts: Vec<String>,
    /// Tests by their variables, where results do not number them.
    tests: Vec<Value>,
    /// How often a row was answered.
    trials: BTreeMap<String, usize>,
    /// The numbers of assertions that were met before, by test and place in it.
    ids: BTreeMap<String, usize>,
}

impl ResultImporter {
    fn add(&mut self, result: &PlacedValue, builder: &mut SuiteBuilder<'_>) {
        let PlacedValue { value, place } = result;
        if !value.is_object() {
            builder.imported.leave_out("results", place.clone(), "a result", "it is not an object");
            return;
        }
        let case = &value["testCase"];
        let mut test = TestCase::read(case, place.clone());
        let vars = value.get("vars").or_else(|| case.get("vars")).and_then(Value::as_object);
        test.vars = vars.cloned().unwrap_or_default();
        let at = self.test_number(value, &test.vars);
        test.asserts = self.asserts(case, at, place);
        // What was answered is what came after all transforms of provider and test.
        for name in ["transform", "postprocess"] {
            test.options.shift_remove(name);
        }
        let graders = builder.graders(&test, &test.vars, None);
        let row = self.row(value, &test, &graders, at);
        builder.imported.count("results");
        builder.rows.push(row);
    }

    /// Numbers prompts in the order of the columns that they stand in, each of which is of a provider too: results are written
    /// as they come in, so the first one may be of the last prompt.
    fn number_prompts(&mut self, results: &[PlacedValue]) {
        let mut ordered: Vec<&PlacedValue> = results.iter().collect();
        ordered.sort_by_key(|result| result.value["promptIdx"].as_u64());
        for result in ordered {
            let label = prompt_label(&result.value);
            if !self.prompts.iter().any(|known| known == label) {
                self.prompts.push(label.to_owned());
            }
        }
    }

    fn test_number(&mut self, value: &Value, vars: &Map<String, Value>) -> usize {
        if let Some(at) = value.get("testIdx").and_then(Value::as_u64) {
            return usize::try_from(at).unwrap_or(usize::MAX).saturating_add(1);
        }
        let vars = json!(vars);
        let known = self.tests.iter().position(|known| *known == vars);
        known.unwrap_or_else(|| {
            self.tests.push(vars);
            self.tests.len() - 1
        }) + 1
    }

    /// The assertions of a test, numbered alike in all its results.
    fn asserts(&mut self, case: &Value, test: usize, place: &SourcePlace) -> Vec<AssertionSpec> {
        let list = items_in(case, "assert");
        let mut asserts: Vec<AssertionSpec> =
            list.map(|value| AssertionSpec::read(value, place, &self.counter)).collect();
        for (at, spec) in asserts.iter_mut().enumerate() {
            self.number(spec, &format!("{test} {at}"));
        }
        asserts
    }

    fn number(&mut self, spec: &mut AssertionSpec, key: &str) {
        spec.id = *self.ids.entry(key.to_owned()).or_insert(spec.id);
        for (at, member) in spec.set.iter_mut().enumerate() {
            self.number(member, &format!("{key} {at}"));
        }
    }

    fn row(&mut self, value: &Value, test: &TestCase, graders: &RowGraders, at: usize) -> Value {
        let prompt = &value["prompt"];
        let asked = prompt.get("raw").unwrap_or(prompt).as_str();
        let label = prompt_label(value);
        let number = self.prompts.iter().position(|known| known == label).unwrap_or_default();
        let id = match number {
            0 => format!("test-{at}"),
            _ => format!("test-{at}.prompt-{}", number + 1),
        };
        let provider = &value["provider"];
        let model = text_in(provider, "label").filter(|label| !label.is_empty());
        let model = model.or_else(|| provider.get("id").unwrap_or(provider).as_str());
        let times = self.trials.entry(format!("{id} {model:?}")).or_default();
        let mut row = json!({"id": id, "input": asked, "model": model});
        put(&mut row, "trial", Some(*times).filter(|times| *times > 0));
        *times += 1;
        put(&mut row, "description", test.description.as_deref());
        row["vars"] = json!(test.vars);
        row["assert"] = json!(graders.wanted);
        let names: Vec<&str> = graders.names.iter().map(String::as_str).chain([RECORDED]).collect();
        row["graders"] = json!(names);
        if !test.metadata.is_empty() {
            row["metadata"] = json!(test.metadata);
        }
        let response = &value["response"];
        row["output"] = response.get("output").unwrap_or(&value["output"]).clone();
        let cost = value.get("cost").unwrap_or(&response["cost"]);
        for (name, given) in [("latency_ms", &value["latencyMs"]), ("cost", cost)] {
            put(&mut row, name, Some(given).filter(|given| given.is_number()).cloned());
        }
        row["promptfoo"] = verdicts(value, graders);
        row
    }
}

/// The identity of the prompt of a result.
fn prompt_label(result: &Value) -> &str {
    let places = ["/promptId", "/prompt/label", "/prompt/display"];
    // An id that is not known is written as an empty one.
    places.iter().find_map(|place| text_at(result, &[place])).unwrap_or_default()
}

/// The recorded result of promptfoo and of each assertion that mapped.
fn verdicts(value: &Value, graders: &RowGraders) -> Value {
    let grading = &value["gradingResult"];
    let pass = value.get("success").unwrap_or(&grading["pass"]);
    let score = value.get("score").unwrap_or(&grading["score"]);
    let mut verdicts = json!({"pass": pass, "score": score});
    put(&mut verdicts, "reason", text_in(value, "error"));
    let components = items_in(grading, "componentResults");
    if components.len() != graders.in_order.len() {
        return verdicts;
    }
    for (component, name) in components.zip(&graders.in_order) {
        let Some(name) = name else { continue };
        let mut verdict = json!({
            "pass": component.get("pass"),
            "score": component.get("score"),
            "reason": component.get("reason"),
        });
        put(&mut verdict, "weight", component.pointer("/assertion/weight").cloned());
        verdicts[name] = verdict;
    }
    verdicts
}
