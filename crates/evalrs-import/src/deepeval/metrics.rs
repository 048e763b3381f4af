//! Metrics of a run as graders: their recorded scores, and rubrics of those whose criteria the run
//! contains.

use serde_json::{Map, Value, json};

use super::rows::MetricColumn;
use super::shared::field;
use super::test_run::TestRun;
use crate::graders::{JudgeModel, recorded_score, unknown_provider};
use crate::imported::ImportedSource;
use crate::reading::beginning;

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
        let recorded = recorded(run, column, imported);
        if column.is_flagged("flaky") {
            imported.note(format!(
                "`{name}` is marked as flaky, so DeepEval does not let it decide a test case; `{key}_recorded` repeats its verdicts anyway."
            ));
        }
        let somewhere = |mut grader: Value| {
            if rows.len() != column.measured.len() {
                grader["only"] = json!(format!("has(row.deepeval.metrics.{key})"));
            }
            grader
        };
        graders.plain.insert(format!("{key}_recorded"), somewhere(recorded));
        match mapped(rows, column) {
            Ok(MappedMetric::Grader(grader)) => {
                graders.plain.insert(key.clone(), somewhere(grader));
            }
            Ok(MappedMetric::Judge { rubric, notes }) => {
                graders.judged.insert(key.clone(), somewhere(rubric));
                for note in notes {
                    imported.note(note);
                }
            }
            Err(why) => {
                let what = format!("the metric `{name}`");
                imported.leave_out("metrics", run.place_of(name), what, why);
                continue;
            }
        }
        imported.count("metrics");
    }
    graders
}

impl MetricColumn {
    /// Whether a measurement has a flag.
    fn is_flagged(&self, flag: &str) -> bool {
        self.measured.iter().any(|data| data.get(flag) == Some(&Value::Bool(true)))
    }

    /// The first text that measurements have under this name.
    fn text(&self, name: &str) -> Option<&str> {
        self.measured.iter().find_map(|data| data.get(name)?.as_str())
    }
}

/// A grader that repeats the result of a metric: score, verdict and reason. Where it failed to measure there is no score, and
/// the grade is an error.
fn recorded(run: &TestRun, column: &MetricColumn, imported: &mut ImportedSource) -> Value {
    let MetricColumn { name, key, measured } = column;
    let path = |field: &str| format!("deepeval.metrics.{key}.{field}");
    let numbers = || measured.iter().filter_map(|data| field(data, &["score"])?.as_f64());
    if numbers().any(|score| !(0.0..=1.0).contains(&score)) {
        let least = numbers().fold(f64::INFINITY, f64::min);
        let most = numbers().fold(f64::NEG_INFINITY, f64::max);
        let why = format!(
            "they are between {least} and {most}, and the run does not record their range: `{key}_recorded` repeats the verdicts; set its `path: {}` with a `scale: {{min, max}}` for the scores",
            path("score")
        );
        imported.leave_out("scores", run.place_of(name), format!("the scores of `{name}`"), why);
        return recorded_score(&json!({"path": path("success"), "rationale": path("reason")}));
    }
    let mut grader = recorded_score(
        &json!({"path": path("score"), "pass": path("success"), "rationale": path("reason")}),
    );
    match MetricThreshold::of(measured) {
        MetricThreshold::Reached(threshold) => grader["pass_threshold"] = json!(threshold),
        MetricThreshold::None => {
            grader["pass_threshold"] = json!(0);
            imported.note(format!("`{name}` has no threshold, so DeepEval gives no verdict; `{key}_recorded` passes every score."));
        }
        MetricThreshold::Other => imported.note(format!("`{name}` does not have one lower threshold for passing (lower is better, or the thresholds differ), so `{key}_recorded` repeats its verdicts and has no `pass_threshold`.")),
    }
    grader
}

/// What a metric takes for a pass.
enum MetricThreshold {
    /// A score that reaches this.
    Reached(f64),
    /// The metric has no result.
    None,
    /// Anything else.
    Other,
}

impl MetricThreshold {
    fn of(measured: &[Value]) -> Self {
        let thresholds: Vec<Option<f64>> =
            measured.iter().map(|data| data.get("threshold")?.as_f64()).collect();
        let has_verdicts = measured.iter().any(|data| field(data, &["success"]).is_some());
        if thresholds.iter().all(Option::is_none) && !has_verdicts {
            return Self::None;
        }
        let Some(threshold) = thresholds.first().copied().flatten() else { return Self::Other };
        let agrees = |data: &Value| {
            let score = data.get("score").and_then(Value::as_f64);
            let success = data.get("success").and_then(Value::as_bool);
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
    /// A rubric, and what a person has to know of it.
    Judge {
        rubric: Value,
        notes: Vec<String>,
    },
}

/// A metric as a grader, or what it was and why there is none.
fn mapped(rows: &[Value], column: &MetricColumn) -> Result<MappedMetric, String> {
    let name = column.name.as_str();
    let of_row = |row: &&Value| row.pointer(&format!("/deepeval/metrics/{}", column.key)).is_some();
    let measured = || rows.iter().filter(of_row);
    if name == "Exact Match" {
        return if measured().all(|row| row.get("ground_truth").is_some()) {
            Ok(MappedMetric::Grader(
                json!({"kind": "tool", "function": "exact_match", "extractor": "final_output"}),
            ))
        } else {
            Err("some test cases have no expected output, which it compares with".to_owned())
        };
    }
    let logs = column.measured.iter().filter_map(|data| data.get("verboseLogs")?.as_str());
    let mut criteria: Vec<Criteria> = logs.filter_map(Criteria::read).collect();
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
        return Ok(one.judge(column, has_reference));
    }
    let why = match name {
        "Pattern Match" => {
            "the run does not record whether case matters: `regex_match` has a `pattern`"
        }
        "Tool Correctness" | "Argument Correctness" => {
            "the run does not record how it compares calls: `tool_calls_match` with `path: expected_tools` has modes for that"
        }
        "Json Correctness" => "the run does not contain its schema: `json_schema` takes one",
        _ => match column.text("evaluationModel") {
            Some(model) => &format!(
                "it calls `{model}` with prompts of DeepEval that the run does not contain: write a rubric"
            ),
            None => {
                "it is a program that the run does not contain: `file.py:name` makes a grader \
                 from one"
            }
        },
    };
    Err(format!("{why}; its recorded scores are imported"))
}

/// The criteria of a judge, from the logs of its metric.
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
        let is_same = all.iter().all(|other| other.steps == self.steps);
        let steps = if is_same { self.steps.clone() } else { Vec::new() };
        let common = Self { steps, ..self.clone() };
        let is_anything = common.text.is_some() || !common.steps.is_empty();
        let why = if common.names_fields() {
            "contain placeholders of rubrics:"
        } else if same && is_anything {
            return Ok(common);
        } else {
            "differ between test cases, such as"
        };
        let short = self.short();
        Err(format!("its criteria {why} `{short}`; its recorded scores are imported"))
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
    fn judge(&self, column: &MetricColumn, has_reference: bool) -> MappedMetric {
        let MetricColumn { name, key, measured } = column;
        let is_strict = column.is_flagged("strictMode");
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
        let (expected, shown) = if has_reference {
            ("Expected answer:\n{ground_truth}\n\n", "question, expected answer and answer")
        } else {
            ("", "question and answer")
        };
        prompt.extend(["\nQuestion:\n{input}\n\n", expected, "Answer:\n{submission}\n"]);
        let mut rubric = json!({"kind": "rubric", "prompt": prompt, "extractor": "final_output"});
        if !is_strict {
            rubric["scale"] = json!({"min": 0, "max": 10});
        }
        let mut notes = vec![format!(
            "`{name}` uses a judge, so it is in the suite `judged`, with the criteria and steps of the run. The run does not record which fields DeepEval showed its judge: the rubric shows {shown}. `evalrs agree judged.yaml {key} row.deepeval.metrics.{key}.score` compares both."
        )];
        if let Some(told) = column.text("evaluationModel") {
            let model = judge_model(told);
            model.put_into(&mut rubric);
            notes.extend(model.is_elsewhere.then(|| unknown_provider(told, name)));
        }
        if let MetricThreshold::Reached(threshold) = MetricThreshold::of(measured) {
            rubric["pass_threshold"] = json!(threshold);
        }
        MappedMetric::Judge { rubric, notes }
    }
}

/// The model of a judge. `DeepEval` says the provider behind the name, but of OpenAI.
fn judge_model(told: &str) -> JudgeModel {
    let named = told.strip_suffix(')').and_then(|told| told.split_once(" ("));
    let Some((name, provider)) = named else { return JudgeModel::of(told) };
    let provider = match provider {
        "Anthropic" => Some("anthropic"),
        "Gemini" => Some("google"),
        _ => None,
    };
    JudgeModel { model: name.to_owned(), provider, is_elsewhere: provider.is_none() }
}
