//! Records of agent-eval-harness: captures, graded records, trials, and prompts, one object a line.
//!
//! Rows are the records as they are, and trials a row each, since those of a prompt stand in one record. What a grader said is
//! taken over: its score, its verdict, which it gives apart from the score, and its reasoning.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::graders::{answered, recorded_score};
use super::imported::{ImportError, ImportedSource, ONLY_SUITE, SourcePlace};
use super::reading::{self, PlacedValue, text_in};
use super::source::ImportSource;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordKind {
    /// An answer, graded or not.
    Captured,
    /// All answers to a prompt.
    Trials,
    /// What an agent wrote, before an answer was found in it.
    Raw,
    /// A question.
    Prompt,
}

impl RecordKind {
    /// The kind of a record, by fields that others do not have.
    fn of(record: &Value) -> Option<Self> {
        let fields = record.as_object()?;
        let has = |name: &str| fields.contains_key(name);
        let of_prompts = ["id", "input", "hint", "reference", "metadata", "timeout"];
        if !has("id") || !has("input") {
            None
        } else if has("rawLines") {
            Some(Self::Raw)
        } else if has("k") && record.get("trials").is_some_and(Value::is_array) {
            Some(Self::Trials)
        } else if has("output") && has("trajectory") && has("toolErrors") {
            Some(Self::Captured)
        } else if (has("hint") || has("timeout"))
            && fields.keys().all(|name| of_prompts.contains(&name.as_str()))
        {
            Some(Self::Prompt)
        } else {
            None
        }
    }
}

/// Whether the first line of a source is a record.
pub(super) fn recognizes(source: &ImportSource<'_>) -> bool {
    if source.is_folder() {
        return false;
    }
    let bytes = source.bytes(&source.path).unwrap_or_default();
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let first = lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let first = first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(first);
    serde_json::from_slice(first).is_ok_and(|record: Value| RecordKind::of(&record).is_some())
}

pub(super) fn import(source: &ImportSource<'_>) -> Result<ImportedSource, ImportError> {
    let text = reading::text(source, &source.path)?;
    let records = reading::records(&source.path, &text)?;
    let mut reader = RecordRows::default();
    for PlacedValue { value, place } in records {
        reader.add(value, &place);
    }
    let RecordRows { mut imported, rows, scores, has_tool_errors, has_answers, .. } = reader;
    if rows.is_empty() {
        let message = format!("no record in `{}`", source.path);
        let hint = "name a file that `capture`, `trials`, `extract` or `grade` wrote";
        return Err(imported.nothing_mapped(message, hint));
    }
    let mut graders = json!({});
    if !scores.is_empty() {
        graders["recorded"] = recorded(&scores, source, &mut imported);
        if scores.len() < rows.len() {
            graders["recorded"]["only"] = json!("has(row.score)");
        }
    }
    if has_tool_errors {
        let mut grader = recorded_score(&json!({"path": "toolErrors"}));
        grader["not"] = json!(true);
        grader["only"] = json!("has(row.toolErrors)");
        graders["no_tool_errors_recorded"] = grader;
    }
    if scores.is_empty() {
        graders["answered"] = answered("final_output");
        imported.note("The records have no scores: add graders, such as the program that graded before, `kind: program` with its `path` (docs/graders.md).");
    }
    if !has_answers {
        imported.note(
            "Prompts have no answers: get them with `evalrs capture` or a target \
             (docs/targets.md).",
        );
    }
    let mut suite = json!({"name": reading::stem(&source.path), "graders": graders});
    if rows.iter().any(|row| row.get("trajectory").is_some()) {
        suite["target"] = json!({"kind": "recorded", "format": "steps"});
    }
    imported.add_suite(ONLY_SUITE, suite, rows);
    Ok(imported)
}

/// A grader that repeats what the records say.
fn recorded(scores: &[Value], source: &ImportSource<'_>, imported: &mut ImportedSource) -> Value {
    let number = |score: &Value| score.get("score").and_then(Value::as_f64);
    let in_range = |score: &Value| number(score).is_some_and(|score| (0.0..=1.0).contains(&score));
    let has_verdict = |score: &Value| score.get("pass").is_some_and(Value::is_boolean);
    if scores.iter().all(in_range) || !scores.iter().all(has_verdict) {
        let config =
            json!({"path": "score.score", "pass": "score.pass", "rationale": "score.reasoning"});
        return recorded_score(&config);
    }
    let place = SourcePlace::new(&source.path, 0);
    let why = "some are missing or not from 0 to 1: `recorded` repeats the verdicts; set its `path: score.score` with a `scale` for the scores";
    imported.leave_out("scores", place, "the scores", why);
    recorded_score(&json!({"path": "score.pass", "rationale": "score.reasoning"}))
}

/// The rows of a file of records.
#[derive(Default)]
struct RecordRows {
    imported: ImportedSource,
    rows: Vec<Value>,
    scores: Vec<Value>,
    has_tool_errors: bool,
    has_answers: bool,
    /// The inputs under an id, each with its count.
    known: BTreeMap<String, Vec<AskedQuestion>>,
    /// The ids of rows.
    ids: BTreeSet<String>,
}

/// A question, and how often it was answered.
struct AskedQuestion {
    input: Value,
    times: u64,
    /// What its rows are called, each question by a name of its own.
    id: String,
}

impl RecordRows {
    fn add(&mut self, record: Value, place: &SourcePlace) {
        let mut leave_out = |why: &str| {
            self.imported.leave_out("records", place.clone(), "a record", why);
        };
        let Some(kind) = RecordKind::of(&record) else {
            return leave_out(
                "it is not a record of a capture, of trials or of a grading, nor a \
                              prompt",
            );
        };
        let Value::Object(mut fields) = record else { return };
        let is_input = |input: &Value| {
            input.is_string()
                || input.as_array().is_some_and(|all| all.iter().all(Value::is_string))
        };
        if !fields.get("input").is_some_and(is_input) {
            return leave_out("its `input` is neither a text nor a list of texts");
        }
        match kind {
            RecordKind::Raw => {
                leave_out("its lines were not searched for an answer yet: run `evalrs extract`");
            }
            RecordKind::Prompt => {
                fields.insert("output".to_owned(), Value::Null);
                self.imported.count("prompts");
                self.push(fields);
            }
            RecordKind::Captured => {
                if !fields.get("output").is_some_and(Value::is_string) {
                    return leave_out("its `output` is not a text");
                }
                self.imported.count("records");
                self.has_answers = true;
                self.push(fields);
            }
            RecordKind::Trials => self.add_trials(fields, place),
        }
    }

    fn add_trials(&mut self, mut fields: Map<String, Value>, place: &SourcePlace) {
        let trials = fields.shift_remove("trials");
        for name in ["k", "passRate", "passAtK", "passExpK"] {
            if fields.shift_remove(name).is_some() && name == "passAtK" {
                self.imported.note("`passAtK` and `passExpK` of the records are powers of the pass rate; `pass_at` and `pass_hat` in summary.json are unbiased estimates, so they differ.");
            }
        }
        for trial in trials.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let Some(trial) = trial.as_object().filter(|_| text_in(trial, "output").is_some())
            else {
                let why = "its `output` is not a text";
                self.imported.leave_out("records", place.clone(), "a trial", why);
                continue;
            };
            let mut row = fields.clone();
            let mut score = Map::new();
            for (name, value) in trial {
                match name.as_str() {
                    "trialNum" => {}
                    "pass" | "score" | "reasoning" => _ = score.insert(name.clone(), value.clone()),
                    "duration" => _ = row.insert("duration_ms".to_owned(), value.clone()),
                    _ => _ = row.insert(name.clone(), value.clone()),
                }
            }
            if !score.is_empty() {
                row.insert("score".to_owned(), Value::Object(score));
            }
            self.imported.count("trials");
            self.has_answers = true;
            self.push(row);
        }
    }

    fn push(&mut self, mut row: Map<String, Value>) {
        // An empty trajectory would stand in the place of the output, and score 0.
        if row.get("trajectory").is_some_and(|steps| steps.as_array().is_none_or(Vec::is_empty)) {
            row.shift_remove("trajectory");
        }
        let id = row.get("id").map(reading::as_text).unwrap_or_default();
        let input = row.get("input").cloned().unwrap_or_default();
        let known = self.known.entry(id.clone()).or_default();
        let at = known.iter().position(|known| known.input == input).unwrap_or_else(|| {
            let numbered = (2..).map(|number: usize| format!("{id}-{number}"));
            let mut names = std::iter::once(id.clone()).chain(numbered);
            let free = names.find(|name| !self.ids.contains(name)).unwrap_or_default();
            self.ids.insert(free.clone());
            known.push(AskedQuestion { input, times: 0, id: free });
            known.len() - 1
        });
        let Some(question) = known.get_mut(at) else { return };
        if question.id != id {
            row.insert("id".to_owned(), Value::from(question.id.clone()));
        }
        if question.times > 0 {
            row.insert("trial".to_owned(), Value::from(question.times));
        }
        question.times += 1;
        if let Some(score) = row.get("score").filter(|score| score.is_object()) {
            self.scores.push(score.clone());
        }
        self.has_tool_errors |= row.get("toolErrors").is_some_and(Value::is_boolean);
        self.rows.push(Value::Object(row));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::import;
    use crate::imported::{ImportError, ImportedSource};
    use crate::recognized;
    use crate::source::ImportSource;
    use evalrs_system::memory::MemorySystem;

    fn captured(id: &str, score: &Value) -> Value {
        let mut record = json!({"id": id, "input": "q", "output": "o", "hint": "h", "trajectory": [{"type": "message", "content": "o", "timestamp": 1}],
            "metadata": {"agent": "a"}, "timing": {"start": 1, "end": 2, "sessionCreation": 0, "total": 1}, "toolErrors": false});
        if !score.is_null() {
            record["score"] = score.clone();
        }
        record
    }

    fn imported(records: &[Value]) -> Result<ImportedSource, String> {
        let lines: Vec<String> = records.iter().map(Value::to_string).collect();
        let system = MemorySystem::with(&[("r.jsonl", lines.join("\n").as_str())]);
        import(&ImportSource::new("r.jsonl", &system)).map_err(|error| match error {
            ImportError::Unreadable { message, hint } => format!("{message}; {hint}"),
            ImportError::Diagnostics(all) => all[0].message.clone(),
        })
    }

    #[test]
    fn records_stay_as_they_are_and_scores_are_taken_over() {
        let good = json!({"pass": false, "score": 0.9, "reasoning": "r"});
        let mut other = captured("a", &good);
        other["input"] = json!(["one", "two"]);
        other["trajectory"] = json!([]);
        let read = imported(&[captured("a", &good), captured("a", &Value::Null), other]).unwrap();
        let suite = &read.suites[0];
        assert_eq!(suite.rows[0], captured("a", &good));
        assert_eq!(suite.rows[1]["trial"], 1);
        assert_eq!((&suite.rows[2]["id"], suite.rows[2].get("trajectory")), (&json!("a-2"), None));
        let config =
            json!({"path": "score.score", "pass": "score.pass", "rationale": "score.reasoning"});
        assert_eq!(
            suite.suite["graders"],
            json!({"recorded": {"kind": "tool", "function": "recorded_score", "config": config, "only": "has(row.score)"},
                "no_tool_errors_recorded": {"kind": "tool", "function": "recorded_score", "config": {"path": "toolErrors"}, "not": true, "only": "has(row.toolErrors)"}})
        );
        assert_eq!(suite.suite["target"], json!({"kind": "recorded", "format": "steps"}));
        // A score that is not from 0 to 1 cannot be taken over, and its verdict is.
        let odd = imported(&[captured("a", &json!({"pass": true, "score": 7}))]).unwrap();
        assert_eq!(odd.suites[0].suite["graders"]["recorded"]["config"]["path"], "score.pass");
        assert_eq!(odd.not_mapped.len(), 1);
    }

    #[test]
    fn no_id_that_is_made_up_is_that_of_another_record() {
        let asked = |id: &str, input: &str| {
            let mut record = captured(id, &Value::Null);
            record["input"] = json!(input);
            record
        };
        let read = imported(&[
            asked("a", "p"),
            asked("a-2", "r"),
            asked("a", "q"),
            asked("a-3", "s"),
            asked("a", "q"),
        ])
        .unwrap();
        let ids: Vec<String> = read.suites[0]
            .rows
            .iter()
            .map(|row| format!("{} {}", row["id"], row["trial"]))
            .collect();
        assert_eq!(
            ids,
            ["\"a\" null", "\"a-2\" null", "\"a-3\" null", "\"a-3-2\" null", "\"a-3\" 1"]
        );
    }

    #[test]
    fn trials_are_a_row_each() {
        let record = json!({"id": "p", "input": "q", "k": 2, "metadata": {"m": 1}, "passRate": 0.5, "passAtK": 0.75, "passExpK": 0.25,
            "trials": [{"trialNum": 1, "output": "a", "trajectory": [], "duration": 5, "pass": true, "score": 1, "reasoning": "r"},
                {"trialNum": 2, "output": "b", "trajectory": [{"type": "thought", "content": "t", "timestamp": 0}], "duration": 6, "pass": false, "score": 0}, 7]});
        let read = imported(&[record]).unwrap();
        assert_eq!(
            read.suites[0].rows,
            [
                json!({"id": "p", "input": "q", "metadata": {"m": 1}, "output": "a", "duration_ms": 5, "score": {"pass": true, "score": 1, "reasoning": "r"}}),
                json!({"id": "p", "input": "q", "metadata": {"m": 1}, "output": "b", "trajectory": [{"type": "thought", "content": "t", "timestamp": 0}],
                    "duration_ms": 6, "score": {"pass": false, "score": 0}, "trial": 1})
            ]
        );
        assert_eq!((read.mapped["trials"], read.not_mapped.len(), read.notes.len()), (2, 1, 1));
    }

    #[test]
    fn prompts_have_no_answer_and_raw_records_are_refused() {
        let read =
            imported(&[json!({"id": "a", "input": "q", "hint": "h", "timeout": 5})]).unwrap();
        assert_eq!(
            read.suites[0].rows,
            [json!({"id": "a", "input": "q", "hint": "h", "timeout": 5, "output": null})]
        );
        let raw = imported(&[json!({"id": "a", "input": "q", "rawLines": ["{}"]})]).unwrap_err();
        assert!(raw.contains("run `evalrs extract`"), "{raw}");
    }

    #[test]
    fn broken_records_are_told() {
        let text = "x".repeat(1_000_000) + "\u{0}";
        for wrong in [json!(null), json!(7), json!(text), json!([1, [[]]]), json!({"a": {}})] {
            for key in [
                "id",
                "input",
                "output",
                "hint",
                "trajectory",
                "metadata",
                "timing",
                "toolErrors",
                "score",
                "errors",
                "outcome",
            ] {
                let mut broken = captured("a", &json!({"pass": true, "score": 1}));
                broken[key] = wrong.clone();
                assert!(imported(&[broken, captured("b", &Value::Null)]).is_ok(), "{key}: {wrong}");
            }
            let trials = json!({"id": "a", "input": "q", "k": wrong, "trials": [{"output": "o", "pass": wrong, "score": wrong, "duration": wrong}, wrong]});
            assert_eq!(imported(&[trials]).unwrap().suites[0].rows.len(), 1);
        }
        for text in ["", "{\"id\": \"a\", \"inp", &("[".repeat(5000) + &"]".repeat(5000)), "\u{0}"]
        {
            let system = MemorySystem::with(&[("r.jsonl", text)]);
            let source = ImportSource::new("r.jsonl", &system);
            assert!(import(&source).is_err() && recognized(&source).is_none(), "{text:.20}");
        }
    }

    #[test]
    fn records_are_recognized() {
        let prompt = json!({"id": "a", "input": "q", "hint": "h"}).to_string();
        let files = [
            ("capture.jsonl", captured("a", &Value::Null).to_string(), true),
            (
                "trials.jsonl",
                json!({"id": "a", "input": "q", "k": 1, "trials": []}).to_string(),
                true,
            ),
            ("prompts.jsonl", format!("\n{prompt}\n"), true),
            (
                "other.jsonl",
                json!({"id": "a", "input": "q", "ground_truth": "h"}).to_string(),
                false,
            ),
            (
                "rows.jsonl",
                json!({"id": "a", "input": "q", "output": "o", "hint": "h"}).to_string(),
                false,
            ),
        ];
        for (path, text, expected) in files {
            let system = MemorySystem::with(&[(path, text.as_str())]);
            let kind = recognized(&ImportSource::new(path, &system)).map(|importer| importer.kind);
            assert_eq!(kind == Some("agent-eval-harness"), expected, "{path}: {kind:?}");
        }
    }
}
