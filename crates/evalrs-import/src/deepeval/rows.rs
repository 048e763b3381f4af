//! Test cases of a run as rows, and which metrics they were measured by.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::shared::{field, put, row_with_id, text_in};
use super::test_run::TestRun;
use super::turns::{self, CaseConversation, CaseMessages};
use crate::imported::ImportedSource;
use crate::reading::{self, GivenNames, items_in};

pub(super) struct CaseRows {
    pub rows: Vec<Value>,
    /// In the order in which they were met.
    pub columns: Vec<MetricColumn>,
    /// How many test cases say whether they passed.
    pub verdicts: usize,
}

/// The measurements of one metric.
pub(super) struct MetricColumn {
    /// As the run calls it, and as rows do.
    pub name: String,
    pub key: String,
    pub measured: Vec<Value>,
}

/// Fields of measurements, and what rows call them.
const MEASURED: [[&str; 2]; 10] = [
    ["score", "score"],
    ["threshold", "threshold"],
    ["success", "success"],
    ["reason", "reason"],
    ["error", "error"],
    ["strictMode", "strict_mode"],
    ["evaluationModel", "evaluation_model"],
    ["evaluationCost", "evaluation_cost"],
    ["inputTokenCount", "input_token_count"],
    ["outputTokenCount", "output_token_count"],
];

/// Reads the test cases of a run.
pub(super) fn read(run: &TestRun, imported: &mut ImportedSource) -> CaseRows {
    let mut reader = CaseReader {
        run,
        imported,
        ids: BTreeMap::new(),
        given: BTreeSet::new(),
        names: GivenNames::default(),
        columns: Vec::new(),
        verdicts: 0,
    };
    let mut rows = Vec::new();
    for key in ["testCases", "conversationalTestCases"] {
        for case in items_in(&run.value, key) {
            if !case.is_object() {
                let place = run.place_of(key);
                reader.imported.leave_out(
                    "test cases",
                    place,
                    "a test case",
                    "it is not an object",
                );
                continue;
            }
            let row = if key == "testCases" { reader.single(case) } else { reader.several(case) };
            if let Some(row) = row {
                reader.imported.count("test cases");
                rows.push(row);
            }
        }
    }
    CaseRows { rows, columns: reader.columns, verdicts: reader.verdicts }
}

/// An input under its name: the same again is another trial of it.
struct KnownQuestion {
    input: Value,
    id: String,
    trials: u64,
}

struct CaseReader<'a> {
    run: &'a TestRun,
    imported: &'a mut ImportedSource,
    /// The questions by the names of their test cases.
    ids: BTreeMap<String, Vec<KnownQuestion>>,
    given: BTreeSet<String>,
    names: GivenNames,
    columns: Vec<MetricColumn>,
    verdicts: usize,
}

impl CaseReader<'_> {
    fn single(&mut self, case: &Value) -> Option<Value> {
        let input = field(case, &["input"]).cloned().unwrap_or_else(|| Value::from(""));
        let name = name_of(case);
        let Some(asked) = input.as_str() else {
            self.leave_out(&name, "the test case", "its input is not a text");
            return None;
        };
        let mut row = self.identified(&name, &input);
        row.insert("input".to_owned(), input.clone());
        let output = field(case, &["actualOutput"]).cloned().unwrap_or_default();
        put(&mut row, "ground_truth", field(case, &["expectedOutput"]));
        row.insert("output".to_owned(), output.clone());
        let called = turns::calls(field(case, &["toolsCalled"]));
        if !called.is_empty() {
            let mut messages = CaseMessages::default();
            messages.say("user", asked);
            match messages.call(called) {
                Ok(()) => {
                    if let Some(answer) = output.as_str() {
                        messages.say("assistant", answer);
                    }
                    row.insert("messages".to_owned(), Value::Array(messages.into_list()));
                }
                Err(why) => {
                    let what = format!("the calls of tools of `{name}` as messages");
                    self.imported.leave_out("test cases", self.run.place_of(&name), what, why);
                }
            }
            put(&mut row, "tools_called", field(case, &["toolsCalled"]));
        }
        for [key, name] in [
            ["retrievalContext", "retrieval_context"],
            ["tokenCost", "token_cost"],
            ["inputTokenCount", "input_token_count"],
            ["outputTokenCount", "output_token_count"],
            ["completionTime", "completion_time"],
        ] {
            put(&mut row, name, field(case, &[key]));
        }
        self.common(case, &name, &mut row);
        Some(Value::Object(row))
    }

    fn several(&mut self, case: &Value) -> Option<Value> {
        let name = name_of(case);
        let listed = field(case, &["turns"]).and_then(Value::as_array);
        let read = listed.ok_or("it has no turns").and_then(|turns| turns::conversation(turns));
        let CaseConversation { input, messages } = match read {
            Ok(conversation) => conversation,
            Err(why) => {
                self.leave_out(&name, "the conversation", why);
                return None;
            }
        };
        let mut row = self.identified(&name, &input);
        put(&mut row, "input", Some(&input));
        put(&mut row, "ground_truth", field(case, &["expectedOutcome"]));
        if messages.is_empty() {
            row.insert("output".to_owned(), Value::Null);
        }
        put(&mut row, "messages", Some(&Value::Array(messages)));
        put(&mut row, "scenario", field(case, &["scenario"]));
        put(&mut row, "user_description", field(case, &["userDescription"]));
        let more =
            field(case, &["turns"]).filter(|_| listed.is_some_and(|turns| turns::say_more(turns)));
        put(&mut row, "turns", more);
        self.common(case, &name, &mut row);
        Some(Value::Object(row))
    }

    /// What test cases of both kinds say.
    fn common(&mut self, case: &Value, name: &str, row: &mut Map<String, Value>) {
        put(row, "context", field(case, &["context"]));
        put(row, "comments", field(case, &["comments"]));
        let tags = field(case, &["tags"])
            .filter(|tags| tags.as_array().is_some_and(|tags| tags.iter().all(Value::is_string)));
        put(row, "tags", tags);
        put(row, "metadata", field(case, &["metadata", "additionalMetadata"]));
        let expected = turns::expected(turns::calls(field(case, &["expectedTools"])));
        put(row, "expected_tools", expected.as_ref());
        let mut said = Map::new();
        if let Some(success) = field(case, &["success"]).filter(|success| success.is_boolean()) {
            self.verdicts += 1;
            said.insert("success".to_owned(), success.clone());
        }
        put(&mut said, "evaluation_cost", field(case, &["evaluationCost"]));
        let metrics = self.metrics(case);
        put(&mut said, "metrics", Some(&Value::Object(metrics)));
        put(row, "deepeval", Some(&Value::Object(said)));
        for [key, what, why] in [
            ["trace", "the trace", "spans of DeepEval, and metrics of spans, are not read"],
            ["imagesMapping", "the images", "images are not read"],
            ["expectationsData", "the verdicts on expectations", "they are not a metric"],
        ] {
            if field(case, &[key]).is_some() {
                let what = format!("{what} of `{name}`");
                self.imported.leave_out("test cases", self.run.place_of(key), what, why);
            }
        }
    }

    /// Names the test case `name` as one that is left out.
    fn leave_out(&mut self, name: &str, what: &str, why: &str) {
        let what = format!("{what} `{name}`");
        self.imported.leave_out("test cases", self.run.place_of(name), what, why);
    }

    /// A row with an id, and a trial where there are several.
    fn identified(&mut self, name: &str, input: &Value) -> Map<String, Value> {
        let known = self.ids.entry(name.to_owned()).or_default();
        if let Some(question) = known.iter_mut().find(|known| known.input == *input) {
            let mut row = row_with_id(&question.id);
            row.insert("trial".to_owned(), Value::from(question.trials));
            question.trials += 1;
            return row;
        }
        let mut id = name.to_owned();
        let mut number = known.len() + 1;
        while !self.given.insert(id.clone()) {
            number += usize::from(id != name);
            id = format!("{name}-{number}");
        }
        let row = row_with_id(&id);
        known.push(KnownQuestion { input: input.clone(), id, trials: 1 });
        row
    }

    /// The results of the metrics, by their names in rows.
    fn metrics(&mut self, case: &Value) -> Map<String, Value> {
        let mut said = Map::new();
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for data in items_in(case, "metricsData") {
            let Some(name) = reading::text_in(data, "name") else {
                let place = self.run.place_of("metricsData");
                self.imported.leave_out("scores", place, "a score", "it has no name");
                continue;
            };
            let time = times.entry(name).or_default();
            let at = self.column(name, *time);
            *time += 1;
            let mut kept = json!({"name": name});
            // A metric that failed to measure has no verdict either, whatever it says.
            let has_failed = field(data, &["error"]).is_some()
                && field(data, &["score"]).and_then(Value::as_f64).is_none();
            for [key, name] in MEASURED {
                let is_said = !(has_failed && name == "success");
                if let Some(value) = field(data, &[key]).filter(|_| is_said) {
                    kept[name] = value.clone();
                }
            }
            self.imported.count("scores");
            let Some(column) = self.columns.get_mut(at) else { continue };
            column.measured.push(data.clone());
            said.insert(column.key.clone(), kept);
        }
        said
    }

    /// The place of the column of a metric; one that measured a test case twice has two.
    fn column(&mut self, name: &str, time: usize) -> usize {
        let mut known = self.columns.iter().enumerate().filter(|(_, column)| column.name == name);
        if let Some((at, _)) = known.nth(time) {
            return at;
        }
        let key = self.names.give(&key_of(name));
        self.columns.push(MetricColumn { name: name.to_owned(), key, measured: Vec::new() });
        self.columns.len() - 1
    }
}

/// The name of a test case.
fn name_of(case: &Value) -> String {
    text_in(case, "name").unwrap_or("test_case").to_owned()
}

/// A metric's name in rows and suites: what conditions can name without quotes.
fn key_of(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' };
    let spaced: String = name.chars().take(200).map(plain).collect();
    let key = spaced.split_whitespace().collect::<Vec<_>>().join("_");
    let key: String = key.chars().take(50).collect();
    match key.chars().next() {
        None => "metric".to_owned(),
        Some(c) if c.is_ascii_digit() => format!("metric_{key}"),
        Some(_) => key,
    }
}
