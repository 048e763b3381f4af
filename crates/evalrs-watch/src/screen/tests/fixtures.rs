//! Boards for the tests of displays.

use std::cell::Cell as Counter;
use std::sync::Arc;

use crate::board::{
    ActionCounts, Activity, Board, DeclaredMetricRow, IngredientRow, ListFacts, MetricRow,
    Overview, RowText, RubricChange, SaveRow, Spending, VerdictDetail, VerdictFilter, VerdictId,
    VerdictRow,
};
use crate::list_query::ListQuery;
use evalrs_base::price::Cost;
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_metrics::metric::label_change::{AgreementChange, AgreementMove};
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_model::delta::{Cell, CellState, Movement, MovementCounts};
use evalrs_model::outcome::Usage;
use evalrs_model::spec::Op;
use evalrs_model::spec::{Label, LabelPick};
use evalrs_statistics::interval::{ConfidenceInterval, IntervalMethod};

/// A board that is what a test says.
pub(crate) struct WatchFixture {
    pub(crate) overview: Overview,
    pub(crate) details: Vec<VerdictDetail>,
    /// How many verdicts there are: the details over and over.
    pub(crate) rows: u128,
    /// What there is to choose from.
    pub(crate) facts: Arc<ListFacts>,
    /// How many single rows were asked for.
    pub(crate) asked: Counter<usize>,
}

impl WatchFixture {
    /// The third save of a rubric: one verdict is broken, one is fixed, one an error.
    pub(crate) fn small() -> Self {
        let details = details();
        let mut counts = MovementCounts { unchanged: 994, ..MovementCounts::default() };
        for detail in &details {
            counts.add(detail.row.movement);
        }
        let rows = details.len() as u128;
        let facts = Arc::default();
        Self { overview: overview(counts), details, rows, facts, asked: Counter::new(0) }
    }

    /// The same where people said what they think of half of the samples.
    pub(crate) fn labelled() -> Self {
        let mut board = Self::small();
        let labels =
            [Some(Label::Pass(true)), Some(Label::Score(0.75)), None, Some(Label::Pass(false))];
        for (detail, label) in board.details.iter_mut().zip(labels.into_iter().cycle()) {
            let row = &mut detail.row;
            row.label = label;
            let passes = row.now.state == CellState::Passed;
            row.disagrees =
                row.now.is_verdict() && label.is_some_and(|label| label.passes(0.5) != passes);
            row.agreement =
                label.and_then(|label| AgreementMove::of(row.before, row.now, label, 0.5));
        }
        let metric = &mut board.overview.metrics[0];
        let labels = LabelAgreement {
            n: 600,
            without_verdict: 6,
            both_pass: 412,
            false_pass: 18,
            false_fail: 22,
            both_fail: 148,
            accuracy: Some(0.9333),
            kappa: Some(0.83),
            kappa_interval: Some((0.78, 0.88)),
            ..LabelAgreement::default()
        };
        metric.labels = Some(labels);
        let change = |before: LabelAgreement| AgreementChange {
            n: 600,
            before,
            now: labels,
            now_agrees: 8,
            no_longer_agrees: 20,
        };
        let before = LabelAgreement {
            both_pass: 408,
            false_pass: 2,
            false_fail: 26,
            both_fail: 164,
            accuracy: Some(0.9533),
            kappa: Some(0.89),
            kappa_interval: Some((0.85, 0.93)),
            ..labels
        };
        metric.labels_since_last = Some(change(before));
        let at_start = LabelAgreement { false_pass: 20, false_fail: 30, ..before };
        let at_start = LabelAgreement { accuracy: Some(0.9167), kappa: Some(0.8), ..at_start };
        metric.labels_since_start = Some(change(at_start));
        board
    }

    /// The same with a hundred thousand verdicts.
    pub(crate) fn large() -> Self {
        Self { rows: 100_000, ..Self::small() }
    }

    /// The row of a save: each judged better than the one before.
    fn save(&self, save: u32) -> SaveRow {
        let overview = &self.overview;
        let mut metrics = overview.metrics.clone();
        let earlier = f64::from(overview.newest - save);
        for metric in &mut metrics {
            metric.mean = metric.mean.map(|mean| mean - earlier * 0.05);
            metric.since_last = (save > 0).then_some(0.05);
            if let Some(labels) = &mut metric.labels {
                labels.accuracy = labels.accuracy.map(|share| share + earlier * 0.02);
            }
        }
        SaveRow {
            save,
            time: format!("14:0{save}"),
            files: if save == 0 { Vec::new() } else { overview.files.clone() },
            metrics,
            gate: overview.gate.status,
            actions: overview.actions,
            spent: overview.spent.save,
            has_verdicts: save > 0,
        }
    }

    fn at(&self, id: VerdictId) -> Option<&VerdictDetail> {
        let at = usize::try_from(id.case % self.details.len() as u128).unwrap();
        (id.case < self.rows).then(|| &self.details[at])
    }
}

impl Board for WatchFixture {
    fn overview(&self) -> &Overview {
        &self.overview
    }

    fn rows(&self, query: &ListQuery) -> Vec<VerdictId> {
        let id = |case| {
            let detail = self.at(VerdictId { case, grader: 0 })?;
            let row = &detail.row;
            let is_listed = match query.filter {
                VerdictFilter::Moved => row.movement.is_move(),
                VerdictFilter::Failing => {
                    matches!(row.now.state, CellState::Failed | CellState::Errored)
                }
                VerdictFilter::Disagreeing => row.disagrees,
                VerdictFilter::FalsePass => row.disagrees && row.now.passes(),
                VerdictFilter::FalseFail => row.disagrees && !row.now.passes(),
                VerdictFilter::Errors => row.now.state == CellState::Errored,
                VerdictFilter::Disputed => !row.dispute.is_empty(),
                VerdictFilter::ToLabel => row.label.is_none() && row.now.is_verdict(),
                VerdictFilter::All => true,
            };
            let is_of = query.grader.as_ref().is_none_or(|of| *of == self.graders()[row.id.grader]);
            (is_listed && is_of && row.sample_id.contains(&query.search))
                .then_some(VerdictId { case, grader: row.id.grader })
        };
        let mut rows: Vec<VerdictId> = (0..self.rows).filter_map(id).collect();
        if query.is_reversed {
            rows.reverse();
        }
        rows
    }

    fn facts(&self) -> Arc<ListFacts> {
        Arc::clone(&self.facts)
    }

    fn graders(&self) -> Vec<String> {
        self.overview.metrics.iter().map(|metric| metric.grader.clone()).collect()
    }

    fn to_label(&self, id: VerdictId) -> Option<LabelPick> {
        let row = self.row(id).filter(|row| row.label.is_none())?;
        Some(if row.now.passes() { LabelPick::Random } else { LabelPick::Threshold })
    }

    fn text(&self, id: VerdictId) -> Option<RowText> {
        let submission = &self.at(id)?.submission;
        let length = Some(submission.chars().count());
        Some(RowText { beginning: submission.clone(), is_input: false, length })
    }

    fn row(&self, id: VerdictId) -> Option<VerdictRow> {
        self.asked.set(self.asked.get() + 1);
        self.at(id).map(|detail| VerdictRow { id, ..detail.row.clone() })
    }

    fn sent(&self, id: VerdictId) -> Option<&str> {
        let text =
            "\n\u{1b}[1mhelpful\u{1b}[0m: vote 0 of judge-1\n  \u{1b}[2mkey     \u{1b}[0m3f2a\n";
        self.at(id).map(|_| text)
    }

    fn detail(&self, id: VerdictId) -> Option<VerdictDetail> {
        let detail = self.at(id)?;
        Some(VerdictDetail { row: VerdictRow { id, ..detail.row.clone() }, ..detail.clone() })
    }

    fn saves(&self) -> Vec<SaveRow> {
        (0..=self.overview.newest).map(|save| self.save(save)).collect()
    }

    fn rubric_changes(&self, save: u32) -> Vec<RubricChange> {
        let text =
            |save: u32| format!("Is the answer helpful?\n\n{}", RULES[..save as usize].concat());
        // The last but one changed data alone.
        let change = |before: Option<u32>| RubricChange {
            rubrics: vec!["helpful".to_owned()],
            is_file: false,
            before: before.map(|save| text(save).into()),
            now: Some(text(save).into()),
        };
        if save == 2 { Vec::new() } else { vec![change(save.checked_sub(1))] }
    }

    fn files_to_take_back(&self, save: u32) -> Vec<String> {
        if save == self.overview.newest {
            Vec::new()
        } else {
            vec!["rubrics/helpful.md".to_owned()]
        }
    }
}

/// What each save added to the rubric.
const RULES: [&str; 3] =
    ["- It names a number.\n", "- It is polite.\n", "- Nothing is promised.\n"];

fn cost(dollars: f64) -> Option<Cost> {
    Cost::from_dollars(dollars)
}

fn used(dollars: f64) -> Usage {
    Usage { cost: cost(dollars), ..Usage::of_tokens(12_000, 900) }
}

fn overview(counts: MovementCounts) -> Overview {
    Overview {
        suite: "support-quality".to_owned(),
        save: 3,
        newest: 3,
        files: vec!["rubrics/helpful.md".to_owned()],
        state: Activity::Idle,
        gate: gate(GateStatus::Passed, 0.842),
        gate_before: gate(GateStatus::Failed, 0.792),
        actions: ActionCounts {
            total: 1000,
            cached: 960,
            asked: 40,
            failed: 1,
            ..ActionCounts::default()
        },
        spent: Spending {
            save: used(0.012),
            session: used(0.31),
            calls: 1060,
            saved: used(1.2),
            budget: cost(1.0),
            max_calls: None,
        },
        metrics: vec![
            MetricRow {
                grader: "helpful".to_owned(),
                label: "helpful".to_owned(),
                mean: Some(0.842),
                interval: Some(interval(0.821, 0.861)),
                pass_rate: Some(0.84),
                judged: 998,
                errors: 2,
                total: 1000,
                since_last: Some(0.05),
                since_start: Some(0.11),
                history: vec![0.732, 0.75, 0.792, 0.842],
                ..MetricRow::default()
            },
            MetricRow {
                grader: "grounded".to_owned(),
                label: "grounded in sources".to_owned(),
                mean: Some(0.913),
                pass_rate: Some(0.95),
                judged: 1000,
                total: 1000,
                since_last: Some(0.0),
                since_start: Some(-0.02),
                history: vec![0.933, 0.92, 0.913, 0.913],
                ..MetricRow::default()
            },
        ],
        declared: vec![DeclaredMetricRow {
            name: "by_subject".to_owned(),
            kind: "macro mean".to_owned(),
            value: Some(0.8),
            interval: Some(interval(0.7, 0.9)),
            n: 1000,
            since_last: Some(-0.01),
            history: vec![0.81, 0.8],
            ..DeclaredMetricRow::default()
        }],
        counts,
        ..Overview::default()
    }
}

fn interval(low: f64, high: f64) -> ConfidenceInterval {
    let method = IntervalMethod::StudentT;
    ConfidenceInterval { low, high, level: 0.95, method }
}

fn gate(status: GateStatus, value: f64) -> GateReport {
    GateReport {
        status: Some(status),
        value: Some(value),
        op: Some(Op::Gte),
        threshold: Some(0.8),
        rule: Some("helpful avg_score >= 0.8".to_owned()),
        ..GateReport::default()
    }
}

fn cell(score: f64, state: CellState) -> Cell {
    Cell { score, state }
}

fn details() -> Vec<VerdictDetail> {
    use CellState::{Errored, Failed, Passed, Pending};
    let table = [
        (0, "refund-policy-0042", Some(cell(0.9, Passed)), cell(0.4, Failed)),
        (0, "greeting-in-german", Some(cell(0.3, Failed)), cell(0.85, Passed)),
        (0, "a-sample-whose-id-is-far-too-long-for-the-column-0007", None, cell(0.0, Errored)),
        (0, "注文の状況を確認する", Some(cell(0.7, Passed)), cell(0.8, Passed)),
        (1, "refund-policy-0042", Some(cell(0.95, Passed)), cell(0.95, Passed)),
        (1, "shipping-abroad", Some(cell(0.6, Passed)), cell(0.0, Pending)),
        (1, "cancel\u{1b}[31m\torder", Some(cell(0.5, Passed)), cell(0.25, Failed)),
    ];
    let detail =
        |(case, (grader, sample, before, now))| detail(case, grader, sample, (before, now));
    (0u128..).zip(table).map(detail).collect()
}

fn detail(
    case: u128,
    grader: usize,
    sample: &str,
    (before, now): (Option<Cell>, Cell),
) -> VerdictDetail {
    let is_error = now.state == CellState::Errored;
    let row = VerdictRow {
        id: VerdictId { case, grader },
        sample_id: sample.to_owned(),
        model: None,
        trial: 0,
        grader: ["helpful", "grounded in sources"][grader].to_owned(),
        before,
        now,
        movement: if is_error { Movement::Errored } else { Movement::of(before, now) },
        label: None,
        dispute: Vec::new(),
        hidden_label: None,
        disagrees: false,
        agreement: None,
        pinned: false,
        under_way: now.state == CellState::Pending,
    };
    let rationale = if is_error {
        "the judge's reply holds no verdict: `I cannot say.`"
    } else {
        "The answer names the refund window of 30 days, but does not say who pays for the return. \
         A customer would have to ask again."
    };
    VerdictDetail {
        row,
        input:
            "Hi,\n\nI bought a lamp three weeks ago and it flickers.\n\tCan I still send it back?\n"
                .to_owned(),
        ground_truth: Some("Yes, within 30 days; we pay for the return.".to_owned()),
        submission: "Yes! You can return it within 30 days of purchase.".to_owned(),
        rationale: (now.state != CellState::Pending).then(|| rationale.to_owned()),
        rationale_before: before.map(|_| {
            "The answer names the return window of 30 days and is friendly. A customer would be \
             content."
                .to_owned()
        }),
        key: Some("3f2a9c0d1e4b5a69788796a5b4c3d2e1".to_owned()),
        ingredients: [
            ("model", "gpt-4o-mini", false),
            ("system", "You judge answers of a support desk. Be strict about", true),
            ("temperature", "0", false),
        ]
        .map(|(name, preview, is_new)| IngredientRow {
            name: name.to_owned(),
            preview: preview.to_owned(),
            is_new,
        })
        .to_vec(),
    }
}
