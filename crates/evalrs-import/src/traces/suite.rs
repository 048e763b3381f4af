//! Traces as a suite: a row each, and graders that take over the scores beside them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::folder::ONLY_SUITE;
use crate::imported::{ImportError, ImportedSource, ImportedSuite, SourcePlace};
use crate::reading::GivenNames;
use evalrs_trajectory as trajectory;

/// A trace to be written as a row.
#[derive(Default)]
pub(super) struct Trace {
    pub id: String,
    pub model: Option<String>,
    pub input: Option<String>,
    pub output: Option<String>,
    pub ground_truth: Option<Value>,
    pub trajectory: Option<Value>,
    pub scores: BTreeMap<String, Value>,
    /// Further fields of the row.
    pub more: Map<String, Value>,
}

/// Makes a suite of traces.
pub(super) struct TraceSuite {
    name: String,
    pub rows: Vec<Value>,
    names: GivenNames,
    /// The names of scores in rows.
    keys: BTreeMap<String, String>,
    /// Of each score, whether all its values can be taken over, by its name in rows.
    scores: BTreeMap<String, bool>,
    trials: BTreeMap<String, u64>,
}

impl TraceSuite {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rows: Vec::new(),
            names: GivenNames::default(),
            keys: BTreeMap::new(),
            scores: BTreeMap::new(),
            trials: BTreeMap::new(),
        }
    }

    /// Adds a trace. What was asked and answered is read off the trajectory where the trace does not say it.
    pub(super) fn add(&mut self, trace: Trace, place: &SourcePlace, imported: &mut ImportedSource) {
        let read = trace.trajectory.as_ref().map(|value| trajectory::read(value, None));
        let trajectory = match read {
            Some(Ok(trajectory)) => Some(trajectory),
            Some(Err(problem)) => {
                imported.leave_out(
                    "traces",
                    place.clone(),
                    format!("trace `{}`", trace.id),
                    problem.to_string(),
                );
                return;
            }
            None => None,
        };
        let asked = || trajectory.as_ref().and_then(|all| all.first_question().map(str::to_owned));
        let answered = || trajectory.as_ref().and_then(|all| all.final_output().map(str::to_owned));
        let output = trace.output.or_else(answered);
        let mut row = Map::new();
        row.insert("id".to_owned(), Value::from(trace.id.as_str()));
        let run = format!("{}\n{}", trace.id, trace.model.as_deref().unwrap_or_default());
        let trial = self.trials.entry(run).or_default();
        if *trial > 0 {
            row.insert("trial".to_owned(), Value::from(*trial));
        }
        *trial += 1;
        row.extend(trace.model.map(|model| ("model".to_owned(), Value::from(model))));
        row.insert("input".to_owned(), Value::from(trace.input.or_else(asked).unwrap_or_default()));
        row.extend(trace.ground_truth.map(|truth| ("ground_truth".to_owned(), truth)));
        let has_output = output.is_some() || trajectory.is_none();
        if has_output {
            row.insert("output".to_owned(), output.map_or(Value::Null, Value::from));
        }
        if let Some(trajectory) = trajectory.filter(|trajectory| !trajectory.is_empty()) {
            *imported.mapped.entry("messages").or_default() += trajectory.messages(true).count();
            row.extend(trace.trajectory.map(|value| ("trajectory".to_owned(), value)));
        }
        if !trace.scores.is_empty() {
            row.insert("scores".to_owned(), self.scores_of(trace.scores, imported));
        }
        row.extend(trace.more);
        imported.count("traces");
        self.rows.push(Value::Object(row));
    }

    fn scores_of(
        &mut self,
        scores: BTreeMap<String, Value>,
        imported: &mut ImportedSource,
    ) -> Value {
        let mut kept = Map::new();
        for (name, value) in scores {
            let key = match self.keys.get(&name) {
                Some(key) => key.clone(),
                None => {
                    let key = self.names.give(&name);
                    self.keys.insert(name, key.clone());
                    key
                }
            };
            let in_range = value.is_boolean()
                || value.as_f64().is_some_and(|score| (0.0..=1.0).contains(&score));
            *self.scores.entry(key.clone()).or_insert(true) &= in_range;
            imported.count("scores");
            kept.insert(key, value);
        }
        Value::Object(kept)
    }

    /// The suite, unless there is no trace.
    pub(super) fn finish(
        self,
        source: &str,
        imported: &mut ImportedSource,
    ) -> Result<(), ImportError> {
        if self.rows.is_empty() {
            let message = format!("there is no trace in `{source}`");
            let why =
                imported.not_mapped.first().map(|part| format!("{}: {}", part.what, part.reason));
            return Err(ImportError::unreadable(
                message,
                why.unwrap_or_else(|| "name an export that holds some".to_owned()),
            ));
        }
        let mut graders = Map::new();
        for (key, can_be_taken) in &self.scores {
            if *can_be_taken {
                let grader = json!({"kind": "tool", "function": "recorded_score", "config": {"path": format!("scores.{key}")}, "only": format!("has(row.scores.{key})")});
                graders.insert(format!("{key}_recorded"), grader);
            } else {
                let reason = format!(
                    "some of its values are not numbers from 0 to 1: add `recorded_score` with `path: scores.{key}` and a `scale` or a `map`"
                );
                imported.leave_out(
                    "scorers",
                    SourcePlace::new(source, 0),
                    format!("the scores `{key}`"),
                    reason,
                );
            }
        }
        if graders.is_empty() {
            imported.note("The source says no score, so the suite only asks whether there is an answer, and whether a tool failed: add graders (docs/suite.md#graders).");
            graders.insert("answered".to_owned(), json!({"kind": "tool", "function": "length", "config": {"min": 1}, "extractor": "final_output"}));
            if self.rows.iter().any(|row| row.get("trajectory").is_some()) {
                graders.insert(
                    "no_tool_errors".to_owned(),
                    json!({"kind": "tool", "function": "no_tool_errors"}),
                );
            }
        }
        let suite = json!({"name": self.name, "graders": graders});
        imported.suites.push(ImportedSuite {
            file: ONLY_SUITE.to_owned(),
            suite,
            rows: self.rows,
            ..ImportedSuite::default()
        });
        Ok(())
    }
}
