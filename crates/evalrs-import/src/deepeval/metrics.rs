//! Metrics of a run as graders: what they said, and rubrics of those whose criteria the run holds.

use serde_json::{Map, Value, json};

use super::rows::MetricColumn;
use super::shared::field;
use super::test_run::TestRun;
use crate::imported::ImportedSource;
use crate::reading::{JudgeModel, beginning};

/// The graders of a suite.
#[derive(Default)]
pub(super) struct MetricGraders {
    pub plain: Map<String, Value>,
    /// Those that ask a model.
    pub judged: Map<String, Value>,
}

/// The graders of the metrics of a run.
pub(super) fn graders(
    run: &TestRun,
    rows: &[Value],
    columns: &[MetricColumn],
    imported: &mut ImportedSource,
) -> MetricGraders {
    let mut graders = MetricGraders::default();
    for column in columns {
        let MetricColumn { name, key, .. } = column;
        let is_everywhere = rows.len() == column.measured.len();
        let only = || Value::from(format!("has(row.deepeval.metrics.{key})"));
        let mut grader = recorded(run, column, imported);
        if column.measured.iter().any(|data| field(data, &["flaky"]) == Some(&Value::Bool(true))) {
            imported.note(format!(
                "`{name}` is marked as flaky, so DeepEval lets it decide of no test case; `{key}_recorded` repeats its verdicts all the same."
            ));
        }
        if !is_everywhere {
            grader["only"] = only();
        }
        graders.plain.insert(format!("{key}_recorded"), grader);
        match mapped(rows, column) {
            Ok(MappedMetric::Grader(mut grader)) => {
                if !is_everywhere {
                    grader["only"] = only();
                }
                graders.plain.insert(key.clone(), grader);
            }
            Ok(MappedMetric::Judge(judge)) => {
                let CriteriaJudge { mut rubric, notes } = *judge;
                if !is_everywhere {
                    rubric["only"] = only();
                }
                graders.judged.insert(key.clone(), rubric);
                for note in notes {
                    imported.note(note);
                }
            }
            Err(why) => {
                imported.leave_out(
                    "metrics",
                    run.place_of(name),
                    format!("the metric `{name}`"),
                    why,
                );
                continue;
            }
        }
        imported.count("metrics");
    }
    graders
}

/// A grader that repeats what a metric said: score, verdict and reason. Where it failed to measure there is no score, and the
/// grade is an error.
fn recorded(run: &TestRun, column: &MetricColumn, imported: &mut ImportedSource) -> Value {
    let MetricColumn { name, key, measured } = column;
    let path = |field: &str| format!("deepeval.metrics.{key}.{field}");
    let numbers = || measured.iter().filter_map(|data| field(data, &["score"])?.as_f64());
    if numbers().any(|score| !(0.0..=1.0).contains(&score)) {
        let least = numbers().fold(f64::INFINITY, f64::min);
        let most = numbers().fold(f64::NEG_INFINITY, f64::max);
        let why = format!(
            "they lie between {least} and {most}, and the run does not say their range: `{key}_recorded` repeats the verdicts; set its `path: {}` with a `scale: {{min, max}}` for the scores",
            path("score")
        );
        imported.leave_out("scores", run.place_of(name), format!("the scores of `{name}`"), why);
        let config = json!({"path": path("success"), "rationale": path("reason")});
        return json!({"kind": "tool", "function": "recorded_score", "config": config});
    }
    let config =
        json!({"path": path("score"), "pass": path("success"), "rationale": path("reason")});
    let mut grader = json!({"kind": "tool", "function": "recorded_score", "config": config});
    match MetricThreshold::of(measured) {
        MetricThreshold::Reached(threshold) => grader["pass_threshold"] = json!(threshold),
        MetricThreshold::None => {
            grader["pass_threshold"] = json!(0);
            imported.note(format!("`{name}` has no threshold, so DeepEval gives no verdict; `{key}_recorded` passes every score."));
        }
        MetricThreshold::Other => imported.note(format!("`{name}` does not pass from one threshold on (lower is better, or the thresholds differ), so `{key}_recorded` repeats its verdicts and has no `pass_threshold`.")),
    }
    grader
}

/// What a metric takes for a pass.
enum MetricThreshold {
    /// A score that reaches this.
    Reached(f64),
    /// Nothing is said.
    None,
    /// Anything else.
    Other,
}

impl MetricThreshold {
    fn of(measured: &[Value]) -> Self {
        let thresholds: Vec<Option<f64>> =
            measured.iter().map(|data| field(data, &["threshold"])?.as_f64()).collect();
        if thresholds.iter().all(Option::is_none)
            && measured.iter().all(|data| field(data, &["success"]).is_none())
        {
            return Self::None;
        }
        let Some(threshold) = thresholds.first().copied().flatten() else { return Self::Other };
        let agrees = |data: &Value| {
            let score = field(data, &["score"]).and_then(Value::as_f64);
            let success = field(data, &["success"]).and_then(Value::as_bool);
            score.zip(success).is_none_or(|(score, success)| (score >= threshold) == success)
        };
        let is_one = thresholds.iter().all(|other| *other == Some(threshold));
        if is_one && (0.0..=1.0).contains(&threshold) && measured.iter().all(agrees) {
            Self::Reached(threshold)
        } else {
            Self::Other
        }
    }
}

/// What became of a metric that evalrs can do itself.
enum MappedMetric {
    Grader(Value),
    Judge(Box<CriteriaJudge>),
}

/// A rubric, and what a person has to know of it.
struct CriteriaJudge {
    rubric: Value,
    notes: Vec<String>,
}

/// A metric as a grader, or what it was and why there is none.
fn mapped(rows: &[Value], column: &MetricColumn) -> Result<MappedMetric, String> {
    let name = column.name.as_str();
    let of_row = |row: &&Value| row.pointer(&format!("/deepeval/metrics/{}", column.key)).is_some();
    let measured = || rows.iter().filter(of_row);
    if name == "Exact Match" {
        return if measured().all(|row| row.get("ground_truth").is_some()) {
            let grader =
                json!({"kind": "tool", "function": "exact_match", "extractor": "final_output"});
            Ok(MappedMetric::Grader(grader))
        } else {
            Err("some test cases have no expected output, which it compares with".to_owned())
        };
    }
    let logs: Vec<&str> =
        column.measured.iter().filter_map(|data| field(data, &["verboseLogs"])?.as_str()).collect();
    let mut criteria: Vec<Criteria> = logs.iter().filter_map(|log| Criteria::read(log)).collect();
    criteria.dedup();
    if let Some(first) = criteria.first() {
        if measured().any(|row| row.get("messages").is_some() && row.get("tools_called").is_none())
        {
            return Err(format!(
                "it judges a whole conversation, by the criteria `{}`: write a rubric with `extractor: trajectory`",
                first.short()
            ));
        }
        let one = first.in_common(&criteria)?;
        let has_reference = measured().all(|row| row.get("ground_truth").is_some());
        return Ok(MappedMetric::Judge(Box::new(one.judge(column, has_reference))));
    }
    let model = column.measured.iter().find_map(|data| field(data, &["evaluationModel"])?.as_str());
    let told = "; what it said is taken over";
    let why = match name {
        "Pattern Match" => "the run does not say whether it minds case: `regex_match` has a `pattern`".to_owned(),
        "Tool Correctness" | "Argument Correctness" => {
            "the run does not say how it compares calls: `tool_calls_match` with `path: expected_tools` has modes for that".to_owned()
        }
        "Json Correctness" => "the run does not hold its schema: `json_schema` takes one".to_owned(),
        _ => match model {
            Some(model) => format!("it asks `{model}` in prompts of DeepEval that the run does not hold: write a rubric"),
            None => "it is a program that the run does not hold: `file.py:name` makes a grader of one".to_owned(),
        },
    };
    Err(format!("{why}{told}"))
}

/// What a judge goes by, as it stands in the logs of its metric.
#[derive(Clone, PartialEq)]
struct Criteria {
    text: Option<String>,
    steps: Vec<String>,
    ranges: Option<String>,
}

impl Criteria {
    /// Reads a log of `GEval`; any other log is none.
    fn read(log: &str) -> Option<Self> {
        let (criteria, rest) =
            log.strip_prefix("Criteria:\n")?.split_once(" \n \nEvaluation Steps:\n")?;
        let (steps, rest) = rest.split_once(" \n \nRubric:\n")?;
        let ranges = rest.split(" \n \nScore: ").next().unwrap_or(rest);
        let is_said = |text: &str| text != "None" && !text.trim().is_empty();
        // The steps are in quotes, without escapes.
        let steps =
            match steps.strip_prefix("[\n    \"").and_then(|steps| steps.strip_suffix("\"\n]")) {
                Some(steps) => steps.split("\",\n    \"").map(str::to_owned).collect(),
                None => Vec::new(),
            };
        let read = Self {
            text: is_said(criteria).then(|| criteria.to_owned()),
            steps,
            ranges: is_said(ranges).then(|| ranges.to_owned()),
        };
        (read.text.is_some() || !read.steps.is_empty()).then_some(read)
    }

    /// What all test cases were judged by: steps that a model made may differ between them, and then the criteria remain.
    fn in_common(&self, all: &[Self]) -> Result<Self, String> {
        let same = all.iter().all(|other| other.text == self.text && other.ranges == self.ranges);
        let steps = if all.iter().all(|other| other.steps == self.steps) {
            self.steps.clone()
        } else {
            Vec::new()
        };
        let common = Self { steps, ..self.clone() };
        let is_anything = common.text.is_some() || !common.steps.is_empty();
        if common.names_fields() {
            Err(format!(
                "its criteria hold placeholders of rubrics: `{}`; what it said is taken over",
                self.short()
            ))
        } else if same && is_anything {
            Ok(common)
        } else {
            Err(format!(
                "its criteria differ between test cases, such as `{}`; what it said is taken over",
                self.short()
            ))
        }
    }

    /// Whether a rubric with these words would show more than they say.
    fn names_fields(&self) -> bool {
        let texts = self.text.iter().chain(&self.steps).chain(&self.ranges);
        let names = ["{input}", "{submission}", "{ground_truth}", "{row."];
        texts.into_iter().any(|text| names.iter().any(|name| text.contains(name)))
    }

    fn short(&self) -> String {
        let text = self.text.clone().unwrap_or_else(|| self.steps.join(" "));
        beginning(&text, 200)
    }

    /// A rubric with these words.
    fn judge(&self, column: &MetricColumn, has_reference: bool) -> CriteriaJudge {
        let MetricColumn { name, key, measured } = column;
        let is_strict =
            measured.iter().any(|data| field(data, &["strictMode"]) == Some(&Value::Bool(true)));
        let mut prompt = "Rate the answer.\n".to_owned();
        if let Some(criteria) = &self.text {
            prompt.extend(["\nCriteria:\n", criteria, "\n"]);
        }
        if !self.steps.is_empty() {
            prompt += "\nSteps:\n";
            for (at, step) in self.steps.iter().enumerate() {
                prompt.extend([(at + 1).to_string().as_str(), ". ", step, "\n"]);
            }
        }
        if let Some(ranges) = &self.ranges {
            prompt.extend(["\nWhat scores mean:\n", ranges, "\n"]);
        }
        if is_strict {
            prompt += "\nScore 1 if it meets all of this, else 0.\n";
        }
        prompt += "\nQuestion:\n{input}\n";
        if has_reference {
            prompt += "\nExpected answer:\n{ground_truth}\n";
        }
        prompt += "\nAnswer:\n{submission}\n";
        let mut rubric = json!({"kind": "rubric", "prompt": prompt, "extractor": "final_output"});
        if !is_strict {
            rubric["scale"] = json!({"min": 0, "max": 10});
        }
        let shown = if has_reference {
            "question, expected answer and answer"
        } else {
            "question and answer"
        };
        let mut notes = vec![format!(
            "`{name}` asks a judge, so it stands in the suite `judged`, with the criteria and steps of the run. The run does not say which fields the judge of DeepEval was shown: the rubric shows {shown}. `evalrs agree judged.yaml {key} row.deepeval.metrics.{key}.score` compares both."
        )];
        let model = measured.iter().find_map(|data| field(data, &["evaluationModel"])?.as_str());
        notes.extend(model.and_then(|model| set_model(&mut rubric, model, name)));
        if let MetricThreshold::Reached(threshold) = MetricThreshold::of(measured) {
            rubric["pass_threshold"] = json!(threshold);
        }
        CriteriaJudge { rubric, notes }
    }
}

/// Sets the model of a rubric; a note where whoever runs it must say more.
fn set_model(rubric: &mut Value, told: &str, metric: &str) -> Option<String> {
    // DeepEval says the provider behind the name, but of OpenAI.
    let (name, provider) = match told.strip_suffix(')').and_then(|told| told.split_once(" (")) {
        Some((name, "Anthropic")) => (name, Some("anthropic")),
        Some((name, "Gemini")) => (name, Some("google")),
        Some((name, _)) => (name, None),
        None => {
            let JudgeModel { model, provider, is_elsewhere } = JudgeModel::of(told);
            rubric["model"] = Value::from(model.as_str());
            if let Some(provider) = provider {
                rubric["provider"] = Value::from(provider);
            }
            return is_elsewhere.then(|| elsewhere(told, metric));
        }
    };
    rubric["model"] = Value::from(name);
    match provider {
        Some(provider) => {
            rubric["provider"] = Value::from(provider);
            None
        }
        None => Some(elsewhere(told, metric)),
    }
}

fn elsewhere(model: &str, metric: &str) -> String {
    format!(
        "The judge `{model}` of `{metric}` is at no provider that evalrs knows by that name: say `base_url`, or another `model`."
    )
}
