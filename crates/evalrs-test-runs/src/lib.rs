//! Made-up runs for the tests of the formats: one whose every text attacks its reader, one empty, one large.

#![expect(clippy::unwrap_used, reason = "only tests use it")]

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use evalrs_base::ordered_map::OrderedMap;
use evalrs_base::price::Cost;
use evalrs_eval::grade::GradeError;
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_metrics::metric::trials::TrialFindings;
use evalrs_metrics::metric::{Metric, Observation};
use evalrs_metrics::results::report::{Report, Results};
use evalrs_metrics::results::trials::{NamedResult, TrialsSummary};
use evalrs_metrics::results::usage::{GraderUsage, ModelUsage};
use evalrs_metrics::results::{GradeLine, ReportHeader, ResultLine, Summary};
use evalrs_model::record_format::{FORMAT, LINE_FORMAT};
use evalrs_model::spec::Op;

/// A whole run in memory.
pub struct Run {
    pub header: ReportHeader,
    pub summary: Summary,
    pub results: Vec<ResultLine>,
}

impl Run {
    /// What `write` makes of the run.
    pub fn written(
        &self,
        write: impl FnOnce(&Report<'_>, &mut dyn Write) -> io::Result<()>,
    ) -> String {
        let results = || -> Results<'_> { Box::new(self.results.iter().cloned()) };
        let report = Report {
            header: &self.header,
            summary: &self.summary,
            results: &results,
            briefs: None,
        };
        let mut out = Vec::new();
        write(&report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The same with aggregates computed from the results.
    #[must_use]
    pub fn summed(mut self) -> Self {
        let mut graders: Vec<String> = Vec::new();
        for (grader, _) in self.results.iter().flat_map(|result| &result.grades.0) {
            if !graders.contains(grader) {
                graders.push(grader.clone());
            }
        }
        let metric = |grader: &String| (grader.clone(), Metric::of(&self.observations(grader)));
        self.summary.metrics = OrderedMap(graders.iter().map(metric).collect());
        let name = |at: usize| {
            let ResultLine { sample_id, model, trial, .. } = self.results.get(at)?.clone();
            Some(NamedResult { sample_id, model, trial })
        };
        let trials = |grader: &String| {
            let findings = TrialFindings::of(&self.observations(grader))?;
            Some((grader.clone(), TrialsSummary::new(&findings, None, &name)))
        };
        self.summary.trials = OrderedMap(graders.iter().filter_map(trials).collect());
        self.summary.results = self.results.len();
        self
    }

    fn observations(&self, grader: &str) -> Vec<Observation> {
        let mut ids = BTreeMap::new();
        let mut models = BTreeMap::new();
        let mut observations = Vec::new();
        for (at, result) in (0..).zip(&self.results) {
            let ordinal = u32::try_from(ids.len()).unwrap();
            let sample = *ids.entry(&result.sample_id).or_insert(ordinal);
            let ordinal = u32::try_from(models.len()).unwrap();
            let model = *models.entry(&result.model).or_insert(ordinal);
            let Some(grade) = result.grades.get(grader) else { continue };
            observations.push(Observation {
                result: at,
                sample,
                model,
                score: grade.score,
                pass: grade.pass,
                errored: grade.error.is_some(),
            });
        }
        observations
    }
}

/// A run of nothing, without a gate.
pub fn empty() -> Run {
    let header = ReportHeader {
        format: FORMAT,
        suite: "support-bot".to_owned(),
        description: None,
        evalrs: "0.1.0".to_owned(),
        inputs: OrderedMap(vec![("dataset.jsonl".to_owned(), "00ff".to_owned())]),
        settings: Map::new(),
    };
    let summary = Summary {
        declared: OrderedMap::default(),
        format: FORMAT,
        suite: "support-bot".to_owned(),
        samples: 0,
        results: 0,
        metrics: OrderedMap::default(),
        labels: OrderedMap::default(),
        by_model: None,
        by_tag: None,
        gate: GateReport::default(),
        trials: OrderedMap::default(),
        agreement: OrderedMap::default(),
        label_agreement: OrderedMap::default(),
        held_out: OrderedMap::default(),
        calibration: OrderedMap::default(),
        annotators: OrderedMap::default(),
        disputed: OrderedMap::default(),
        people: OrderedMap::default(),
        usage: OrderedMap::default(),
        cost: None,
        all_usage: ModelUsage::default(),
    };
    Run { header, summary, results: Vec::new() }
}

/// Two samples of two trials, every text of them hostile; the gate is undecided.
pub fn hostile() -> Run {
    let attack =
        "</testcase> ]]>\u{0}\u{1b}[31m|\n::error::@team `code` <img src=x>\u{202e}##[error]%0A";
    let lines = [
        ("s1", 0, grade(1.0, true, "fine"), grade(0.25, false, attack)),
        (
            "s1",
            1,
            grade(0.0, false, "expected `a`\nfound `b`"),
            failed("timeout", "no answer\n::warning::"),
        ),
        ("<s|2>", 0, grade(1.0, true, ""), grade(1.0, true, "fine")),
        ("<s|2>", 1, grade(0.0, false, "@everyone"), failed("timeout", "no answer\n::warning::")),
    ];
    let results = lines
        .into_iter()
        .map(|(id, trial, accuracy, quality)| ResultLine {
            trial,
            model: Some("m:1,x".to_owned()),
            grades: OrderedMap(vec![
                ("accuracy".to_owned(), accuracy),
                ("quality|x".to_owned(), quality),
            ]),
            ..result(id)
        })
        .collect();
    let mut run = Run { results, ..empty() }.summed();
    run.summary.samples = 2;
    run.summary.gate = GateReport {
        status: Some(GateStatus::Undecided),
        value: Some(0.3125),
        op: Some(Op::Gte),
        threshold: Some(0.8),
        lowest: Some(0.3125),
        highest: Some(0.8125),
        rule: Some("quality|x avg_score >= 0.8".to_owned()),
        ..GateReport::default()
    };
    let cost = Cost::from_dollars(0.0123);
    let all_usage =
        ModelUsage { judgments: 4, input_tokens: 1234, output_tokens: 56, cost, unpriced: 0 };
    let usage = GraderUsage::of([("judge-1", all_usage)].into_iter());
    run.summary.usage = OrderedMap(vec![("quality|x".to_owned(), usage)]);
    run.summary.all_usage = all_usage;
    run.summary.cost = Cost::from_dollars(0.0123);
    run
}

/// A thousand samples of two models and three graders, half of the grades failures, with more tags than a screen has lines.
pub fn large() -> Run {
    let results: Vec<ResultLine> = (0..1000)
        .flat_map(|at| [(at, "gpt"), (at, "claude")])
        .flat_map(|(at, model)| [(at, model, 0), (at, model, 1)])
        .map(|(at, model, trial)| ResultLine {
            model: Some(model.to_owned()),
            trial,
            grades: OrderedMap(
                ["accuracy", "quality", "policy"]
                    .into_iter()
                    .map(|grader| {
                        let pass = (at + usize::from(model == "gpt")) % 2 == 0;
                        let long = "because ".repeat(40);
                        let verdict = match at % 97 {
                            0 => failed("timeout", &format!("no answer within {at} s")),
                            _ => grade(f64::from(u8::from(pass)), pass, &long),
                        };
                        (grader.to_owned(), verdict)
                    })
                    .collect(),
            ),
            ..result(&format!("sample-with-a-rather-long-name-{at}"))
        })
        .collect();
    let mut run = Run { results, ..empty() }.summed();
    run.summary.samples = 1000;
    let metrics = run.summary.metrics.clone();
    let named = |name: String| (name, metrics.clone());
    run.summary.by_tag =
        Some(OrderedMap((0..40).map(|at| named(format!("tag-{at:02}"))).collect()));
    run.summary.by_model =
        Some(OrderedMap(["gpt", "claude"].map(|name| named(name.to_owned())).into()));
    run
}

/// The result of sample `s{at}` with one grade; it passes at 1.0.
pub fn graded(at: usize, score: f64) -> ResultLine {
    with(at, grade(score, score >= 1.0, "because"))
}

/// The result of sample `s{at}` with one grade that could not be made.
pub fn errored(at: usize, kind: &str, message: &str) -> ResultLine {
    with(at, failed(kind, message))
}

fn with(at: usize, grade: GradeLine) -> ResultLine {
    ResultLine {
        grades: OrderedMap(vec![("accuracy".to_owned(), grade)]),
        ..result(&format!("s{at}"))
    }
}

fn result(sample_id: &str) -> ResultLine {
    ResultLine {
        format: LINE_FORMAT,
        sample_id: sample_id.to_owned(),
        input: json!("question"),
        ground_truth: Value::Null,
        model: None,
        trial: 0,
        conversation: None,
        submission: String::new(),
        submissions: OrderedMap::default(),
        grades: OrderedMap::default(),
        not_applicable: OrderedMap::default(),
    }
}

fn grade(score: f64, pass: bool, rationale: &str) -> GradeLine {
    GradeLine {
        score,
        pass,
        rationale: rationale.to_owned(),
        error: None,
        key: None,
        metadata: Map::new(),
        per_turn: None,
    }
}

fn failed(kind: &str, message: &str) -> GradeLine {
    let error = GradeError { kind: kind.to_owned(), message: message.to_owned() };
    let rationale = format!("Error during grading: {message}");
    GradeLine { error: Some(error), ..grade(0.0, false, &rationale) }
}
