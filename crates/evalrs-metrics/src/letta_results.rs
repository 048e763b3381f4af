//! The result files of Letta Evals, as its releases up to 0.16 write and read them: a line for each result, and their
//! aggregates.
//!
//! Knows neither graph nor files. A result that could not be graded at all has the form that those releases give to it;
//! a grade that could not be made is 0.0 with the reason beside it, and counts as such.

use serde_json::{Map, Value, json};

use crate::gate::{GateStatus, decide};
use crate::metric::Observation;
use crate::results::{GradeLine, ResultLine};
use evalrs_base::exact;
use evalrs_model::outcome::Usage;
use evalrs_model::spec::Gate;

/// What those files say of a message that nobody has dated.
const NO_DATE: &str = "1970-01-01T00:00:00Z";
/// How much of an error is shown instead of a grade, in characters.
const SHOWN: usize = 200;

/// What such a file says of a result beyond our own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LettaCase {
    /// The row of the dataset, from 0: what samples are called there.
    pub row: usize,
    /// What the agent was made of.
    pub agent_args: Option<Map<String, Value>>,
    /// Values for placeholders of rubrics.
    pub rubric_vars: Option<Map<String, Value>>,
    /// Whatever else the row brings.
    pub extra_vars: Option<Map<String, Value>>,
    /// The turns, as lists of messages in Letta's form.
    pub turns: Value,
    /// The agent at its server.
    pub agent_id: Option<String>,
    /// The state that the agent was left in.
    pub agent_state: Option<Value>,
    /// What the conversation used.
    pub usage: Option<Usage>,
}

/// A line of `results.jsonl`.
pub fn result(line: &ResultLine, case: &LettaCase) -> Value {
    let grades: Map<String, Value> =
        line.grades.0.iter().map(|(name, graded)| (name.clone(), grade(graded))).collect();
    let submissions: Map<String, Value> = line
        .graders()
        .map(|name| (name.to_owned(), Value::from(line.submission_of(name))))
        .collect();
    let mut result = json!({
        "sample": {
            "id": case.row,
            "input": line.input,
            "ground_truth": line.ground_truth,
            "agent_args": case.agent_args,
            "rubric_vars": case.rubric_vars,
            "extra_vars": case.extra_vars,
        },
        "submission": submissions.values().next().cloned().unwrap_or_else(|| json!("")),
        "submissions": submissions,
        "trajectory": with_names(&case.turns),
        "agent_id": case.agent_id,
        "grade": grades.values().next(),
        "grades": grades,
        "model_name": line.model,
        "agent_usage": case.usage.map(|used| json!([usage(used)])),
        "agent_state": case.agent_state,
    });
    if has_failed(line, case) {
        let error = line.grades.0.first().and_then(|(_, grade)| grade.error.as_ref());
        let words: String =
            error.map_or("", |error| error.message.as_str()).chars().take(SHOWN).collect();
        let grade = json!({"score": 0.0, "rationale": format!("Error: {words}"), "metadata": {}});
        let failed = json!({
            "submission": "", "submissions": null, "trajectory": [], "agent_id": null,
            "grade": grade, "grades": null, "agent_usage": null,
        });
        extend(&mut result, failed);
    }
    json!({"type": "result", "result": result})
}

/// Whether the target gave nothing, so that there was nothing to grade.
fn has_failed(line: &ResultLine, case: &LettaCase) -> bool {
    is_empty(&case.turns) && line.grades.0.iter().all(|(_, grade)| grade.error.is_some())
}

fn is_empty(turns: &Value) -> bool {
    let mut turns = turns.as_array().into_iter().flatten();
    turns.all(|turn| turn.as_array().is_none_or(Vec::is_empty))
}

fn grade(line: &GradeLine) -> Value {
    let mut grade =
        json!({"score": line.score, "rationale": line.rationale, "metadata": line.metadata});
    if let Some(turns) = &line.per_turn {
        grade["per_turn_grades"] = json!(turns);
    }
    grade
}

fn usage(used: Usage) -> Value {
    json!({
        "message_type": "usage_statistics",
        "completion_tokens": used.output,
        "prompt_tokens": used.input,
        "total_tokens": used.input + used.output,
        "step_count": 0,
        "steps_messages": null,
        "run_ids": null,
    })
}

/// The turns with what every message must have there: an id and a date.
fn with_names(turns: &Value) -> Value {
    let mut turns = turns.clone();
    let mut count = 0;
    for turn in turns.as_array_mut().into_iter().flatten() {
        for message in turn.as_array_mut().into_iter().flatten() {
            let Some(message) = message.as_object_mut() else { continue };
            message.entry("id").or_insert_with(|| json!(format!("message-{count}")));
            message.entry("date").or_insert_with(|| json!(NO_DATE));
            count += 1;
        }
    }
    turns
}

/// What the aggregates are made of.
#[derive(Debug, Default)]
pub struct LettaTotals {
    names: Vec<String>,
    rows: Vec<LettaScores>,
}

#[derive(Debug)]
struct LettaScores {
    model: Option<String>,
    is_attempted: bool,
    has_failed: bool,
    /// Grader by its place among the names → its grade; none where the target failed.
    grades: Vec<(usize, Observation)>,
}

impl LettaScores {
    fn grade(&self, at: usize) -> Option<Observation> {
        self.grades.iter().find(|(grader, _)| *grader == at).map(|(_, grade)| *grade)
    }
}

impl LettaTotals {
    /// Takes a result in.
    pub fn add(&mut self, line: &ResultLine, case: &LettaCase) {
        let sample = u32::try_from(case.row).unwrap_or(u32::MAX);
        let has_failed = has_failed(line, case);
        let mut grades = Vec::new();
        for (name, grade) in &line.grades.0 {
            let at = self.place_of(name);
            if !has_failed {
                let observation = Observation {
                    result: sample,
                    sample,
                    model: 0,
                    score: grade.score,
                    pass: grade.pass,
                    errored: grade.error.is_some(),
                };
                grades.push((at, observation));
            }
        }
        let is_attempted = case.agent_id.is_some() && !is_empty(&case.turns);
        let model = line.model.clone();
        self.rows.push(LettaScores { model, is_attempted, has_failed, grades });
    }

    fn place_of(&mut self, name: &str) -> usize {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// Whether `gate` passes; without one everything does.
    pub fn passes(&self, gate: Option<&Gate>) -> bool {
        let Some(gate) = gate else { return true };
        let all: Vec<Vec<Observation>> = (0..self.names.len())
            .map(|at| self.rows.iter().filter_map(|row| row.grade(at)).collect())
            .collect();
        let grades = |name: &str| {
            let at = self.names.iter().position(|known| known == name)?;
            all.get(at).map(Vec::as_slice)
        };
        decide(gate, &grades).status == Some(GateStatus::Passed)
    }

    /// The `metrics` of `summary.json`.
    pub fn metrics(&self) -> Value {
        let mut models: Vec<&str> = Vec::new();
        for model in self.rows.iter().filter_map(|row| row.model.as_deref()) {
            if !models.contains(&model) {
                models.push(model);
            }
        }
        let per_model = models.iter().map(|model| {
            let rows = self.rows.iter().filter(|row| row.model.as_deref() == Some(model));
            let mut metrics = json!({"model_name": model});
            extend(&mut metrics, self.of_rows(&rows.collect::<Vec<_>>()));
            metrics.as_object_mut().map(|metrics| metrics.remove("by_metric"));
            metrics
        });
        let per_model: Vec<Value> = per_model.collect();
        let mut all = self.of_rows(&self.rows.iter().collect::<Vec<_>>());
        all["per_model"] = if per_model.is_empty() { Value::Null } else { per_model.into() };
        all
    }

    fn of_rows(&self, rows: &[&LettaScores]) -> Value {
        let averages = |at: usize| {
            let scores: Vec<f64> =
                rows.iter().filter_map(|row| Some(row.grade(at)?.score)).collect();
            let total = rows.iter().filter(|row| row.has_failed || row.grade(at).is_some()).count();
            [exact::mean(&scores), exact::mean_of(&scores, total)].map(Option::unwrap_or_default)
        };
        let mut by_metric = Map::new();
        let mut rates = Map::new();
        for (at, name) in self.names.iter().enumerate() {
            let [attempted, total] = averages(at);
            let rate = 100.0 * attempted;
            let metric = json!({
                "avg_score_attempted": attempted,
                "avg_score_total": total,
                "pass_rate": rate,
            });
            by_metric.insert(name.clone(), metric);
            rates.insert(name.clone(), json!(rate));
        }
        let [attempted, total] = averages(0);
        json!({
            "total": rows.len(),
            "total_attempted": rows.iter().filter(|row| row.is_attempted).count(),
            "avg_score_attempted": attempted,
            "avg_score_total": total,
            "by_metric": by_metric,
            "metrics": rates,
        })
    }
}

fn extend(base: &mut Value, more: Value) {
    if let (Some(members), Value::Object(more)) = (base.as_object_mut(), more) {
        members.extend(more);
    }
}

/// `header.json` of a suite; `config` is what it says of its target, its gate and its graders.
pub fn header(suite: &str, config: &Value) -> Value {
    json!({"type": "header", "suite": suite, "config": config})
}

/// `summary.json`.
pub fn summary(metrics: &Value, has_passed: bool) -> Value {
    json!({"type": "summary", "metrics": metrics, "gates_passed": has_passed})
}

/// `aggregate_stats.json` of several runs: the metrics of each, and how many passed.
pub fn aggregate(runs: &[Value], runs_passed: usize) -> Value {
    let over = |path: &str| {
        let values: Vec<f64> = runs.iter().filter_map(|run| run.pointer(path)?.as_f64()).collect();
        let mean = exact::mean(&values).unwrap_or(0.0);
        let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
        let others = values.len().saturating_sub(1);
        let variance = exact::mean_of(&squares, others.max(1)).unwrap_or(0.0);
        [mean, if others == 0 { 0.0 } else { variance.sqrt() }]
    };
    let [mean_attempted, std_attempted] = over("/avg_score_attempted");
    let [mean_total, std_total] = over("/avg_score_total");
    let mut mean_scores = Map::new();
    let mut std_scores = Map::new();
    let names = runs.first().and_then(|run| run["by_metric"].as_object());
    for name in names.into_iter().flat_map(Map::keys) {
        let key = name.replace('~', "~0").replace('/', "~1");
        let [mean, std] = over(&format!("/by_metric/{key}/avg_score_attempted"));
        mean_scores.insert(name.clone(), json!(mean));
        std_scores.insert(name.clone(), json!(std));
    }
    json!({
        "num_runs": runs.len(),
        "runs_passed": runs_passed,
        "mean_avg_score_attempted": mean_attempted,
        "std_avg_score_attempted": std_attempted,
        "mean_avg_score_total": mean_total,
        "std_avg_score_total": std_total,
        "mean_scores": mean_scores,
        "std_scores": std_scores,
        "individual_run_metrics": runs,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{LettaCase, LettaTotals, aggregate, result};
    use crate::results::{GradeLine, ResultLine};
    use evalrs_base::ordered_map::OrderedMap;
    use evalrs_eval::grade::GradeError;
    use evalrs_model::record_format::LINE_FORMAT;

    fn line(score: f64, error: Option<&str>, model: Option<&str>) -> ResultLine {
        let error =
            error.map(|message| GradeError { kind: "timeout".into(), message: message.to_owned() });
        let grade = GradeLine {
            score,
            pass: score >= 1.0,
            rationale: "r".to_owned(),
            error,
            key: None,
            metadata: Map::new(),
            per_turn: None,
        };
        ResultLine {
            format: LINE_FORMAT,
            sample_id: "a".to_owned(),
            input: json!("q"),
            ground_truth: json!("t"),
            model: model.map(str::to_owned),
            trial: 0,
            conversation: None,
            submission: "A".to_owned(),
            submissions: OrderedMap::default(),
            grades: OrderedMap(vec![("acc".to_owned(), grade)]),
            not_applicable: OrderedMap::default(),
        }
    }

    fn case(turns: Value) -> LettaCase {
        let agent_id = Some("agent-1".to_owned());
        LettaCase { row: 3, turns, agent_id, ..LettaCase::default() }
    }

    fn said() -> Value {
        json!([[{"message_type": "assistant_message", "content": "A", "id": "m"}, {"message_type": "x"}]])
    }

    #[test]
    fn a_result_has_the_form_that_letta_gives_to_it() {
        let found = result(&line(1.0, None, Some("m")), &case(said()));
        let expected = json!({"type": "result", "result": {
            "sample": {
                "id": 3, "input": "q", "ground_truth": "t", "agent_args": null, "rubric_vars": null,
                "extra_vars": null,
            },
            "submission": "A",
            "submissions": {"acc": "A"},
            "trajectory": [[
                {
                    "message_type": "assistant_message", "content": "A", "id": "m",
                    "date": "1970-01-01T00:00:00Z",
                },
                {"message_type": "x", "id": "message-1", "date": "1970-01-01T00:00:00Z"},
            ]],
            "agent_id": "agent-1",
            "grade": {"score": 1.0, "rationale": "r", "metadata": {}},
            "grades": {"acc": {"score": 1.0, "rationale": "r", "metadata": {}}},
            "model_name": "m",
            "agent_usage": null,
            "agent_state": null,
        }});
        assert_eq!(found, expected);
    }

    #[test]
    fn a_target_that_failed_leaves_an_error_and_no_grades() {
        let failed = result(&line(0.0, Some("it took too long"), None), &case(json!([])));
        let failed = &failed["result"];
        assert_eq!(failed["grade"]["rationale"], "Error: it took too long");
        for name in ["grades", "submissions", "agent_id", "agent_usage"] {
            assert_eq!(failed[name], Value::Null, "{name}");
        }
        assert_eq!(failed["trajectory"], json!([]));
        // A judge that failed leaves what the target did.
        let judged = result(&line(0.0, Some("no answer"), None), &case(said()));
        assert_eq!(judged["result"]["grades"]["acc"]["score"], 0.0);
    }

    #[test]
    fn aggregates_count_what_was_attempted() {
        let mut totals = LettaTotals::default();
        for (score, error, model, turns) in [
            (1.0, None, "a", said()),
            (0.5, None, "b", said()),
            (0.0, Some("late"), "b", json!([])),
        ] {
            totals.add(&line(score, error, Some(model)), &case(turns));
        }
        let metrics = totals.metrics();
        let expected = json!({
            "total": 3, "total_attempted": 2, "avg_score_attempted": 0.75, "avg_score_total": 0.5,
            "by_metric": {"acc": {"avg_score_attempted": 0.75, "avg_score_total": 0.5, "pass_rate": 75.0}},
            "metrics": {"acc": 75.0},
            "per_model": [
                {"model_name": "a", "total": 1, "total_attempted": 1, "avg_score_attempted": 1.0, "avg_score_total": 1.0, "metrics": {"acc": 100.0}},
                {"model_name": "b", "total": 2, "total_attempted": 1, "avg_score_attempted": 0.5, "avg_score_total": 0.25, "metrics": {"acc": 50.0}},
            ],
        });
        assert_eq!(metrics, expected);
        assert_eq!(LettaTotals::default().metrics()["total"], 0);
    }

    #[test]
    fn runs_are_told_by_mean_and_sample_deviation() {
        let run = |score: f64| {
            json!({
                "avg_score_attempted": score, "avg_score_total": score,
                "by_metric": {"a/b": {"avg_score_attempted": score}},
            })
        };
        let found = aggregate(&[run(0.195), run(0.218), run(0.193)], 1);
        assert_eq!(found["mean_scores"]["a/b"], 0.202);
        let deviation = found["std_avg_score_total"].as_f64().unwrap();
        assert!((deviation - 0.013_892_443_989_449_8).abs() < 1e-12, "{deviation}");
        assert_eq!(aggregate(&[run(0.5)], 1)["std_scores"]["a/b"], 0.0);
    }
}
