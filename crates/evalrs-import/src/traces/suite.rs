//! Traces as a suite: a row each, and graders that take over the scores beside them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::graders::{answered, is_score, recorded_score};
use crate::imported::{ImportError, ImportedSource, ONLY_SUITE, SourcePlace};
use crate::reading::{GivenNames, put};
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
#[derive(Default)]
pub(super) struct TraceSuite {
    pub imported: ImportedSource,
    pub rows: Vec<Value>,
    names: GivenNames,
    /// The names of scores in rows.
    keys: BTreeMap<String, String>,
    /// Of each score, whether all its values can be taken over, by its name in rows.
    scores: BTreeMap<String, bool>,
    trials: BTreeMap<String, u64>,
}

impl TraceSuite {
    /// Adds a trace. What was asked and answered is read off the trajectory where the trace does not say it.
    pub(super) fn add(&mut self, trace: Trace, place: &SourcePlace) {
        let read = trace.trajectory.as_ref().map(|value| trajectory::read(value, None)).transpose();
        let trajectory = match read {
            Ok(trajectory) => trajectory,
            Err(problem) => {
                let what = format!("trace `{}`", trace.id);
                self.imported.leave_out("traces", place.clone(), what, problem.to_string());
                return;
            }
        };
        let read = trajectory.as_ref();
        let input = trace.input.or_else(|| Some(read?.first_question()?.to_owned()));
        let output = trace.output.or_else(|| Some(read?.final_output()?.to_owned()));
        let mut row = json!({"id": trace.id});
        let run = format!("{}\n{}", trace.id, trace.model.as_deref().unwrap_or_default());
        let trial = self.trials.entry(run).or_default();
        put(&mut row, "trial", Some(*trial).filter(|trial| *trial > 0));
        *trial += 1;
        put(&mut row, "model", trace.model);
        row["input"] = json!(input.unwrap_or_default());
        put(&mut row, "ground_truth", trace.ground_truth);
        if output.is_some() || trajectory.is_none() {
            row["output"] = json!(output);
        }
        if let Some(trajectory) = trajectory.filter(|trajectory| !trajectory.is_empty()) {
            self.imported.count_all("messages", trajectory.messages(true).count());
            put(&mut row, "trajectory", trace.trajectory);
        }
        if !trace.scores.is_empty() {
            row["scores"] = self.scores_of(trace.scores);
        }
        for (name, value) in trace.more {
            row[name] = value;
        }
        self.imported.count("traces");
        self.rows.push(row);
    }

    fn scores_of(&mut self, scores: BTreeMap<String, Value>) -> Value {
        let mut kept = json!({});
        for (name, value) in scores {
            let key = self.keys.entry(name).or_insert_with_key(|name| self.names.give(name));
            *self.scores.entry(key.clone()).or_insert(true) &= is_score(&value);
            self.imported.count("scores");
            kept[key.as_str()] = value;
        }
        kept
    }

    /// The suite `name`, unless there is no trace.
    pub(super) fn finish(self, name: &str, source: &str) -> Result<ImportedSource, ImportError> {
        let Self { mut imported, rows, scores, .. } = self;
        if rows.is_empty() {
            let message = format!("no trace in `{source}`");
            return Err(imported.nothing_mapped(message, "name an export that has traces"));
        }
        let mut graders = Map::new();
        for (key, can_be_taken) in &scores {
            if *can_be_taken {
                let mut grader = recorded_score(&json!({"path": format!("scores.{key}")}));
                grader["only"] = json!(format!("has(row.scores.{key})"));
                graders.insert(format!("{key}_recorded"), grader);
            } else {
                let place = SourcePlace::new(source, 0);
                let reason = format!(
                    "some of its values are not numbers from 0 to 1: add `recorded_score` with `path: scores.{key}` and a `scale` or a `map`"
                );
                imported.leave_out("scorers", place, format!("the scores `{key}`"), reason);
            }
        }
        if graders.is_empty() {
            imported.note("The source has no scores, so the suite only checks that there is an answer, and whether a tool failed: add graders (docs/suite/graders.md).");
            graders.insert("answered".to_owned(), answered("final_output"));
            if rows.iter().any(|row| row.get("trajectory").is_some()) {
                let failed = json!({"kind": "tool", "function": "no_tool_errors"});
                graders.insert("no_tool_errors".to_owned(), failed);
            }
        }
        imported.add_suite(ONLY_SUITE, json!({"name": name, "graders": graders}), rows);
        Ok(imported)
    }
}
