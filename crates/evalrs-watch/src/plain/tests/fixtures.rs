//! Made-up boards for the tests of what is told in lines.

use std::sync::Arc;

use crate::board::{
    ActionCounts, Activity, Board, DeclaredMetricRow, ListFacts, MetricRow, Overview, RowText,
    RubricChange, SaveRow, Spending, VerdictDetail, VerdictFilter, VerdictId, VerdictRow,
};
use crate::list_query::ListQuery;
use evalrs_base::diagnostic::{Diagnostic, Place};
use evalrs_base::price::Cost;
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_metrics::metric::label_change::AgreementChange;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_model::delta::{Cell, CellState, Movement, MovementCounts};
use evalrs_model::outcome::Usage;
use evalrs_model::spec::Op;
use evalrs_model::spec::{Label, LabelPick};
use evalrs_statistics::interval::{ConfidenceInterval, IntervalMethod};

/// A board in memory: what it shows, and its verdicts in the order of every list.
#[derive(Clone, Default)]
pub(crate) struct BoardFixture {
    pub(crate) overview: Overview,
    pub(crate) details: Vec<VerdictDetail>,
    pub(crate) saves: Vec<SaveRow>,
}

impl Board for BoardFixture {
    fn overview(&self) -> &Overview {
        &self.overview
    }

    fn rows(&self, query: &ListQuery) -> Vec<VerdictId> {
        let is_listed = |row: &VerdictRow| match query.filter {
            VerdictFilter::Moved => row.movement.is_move(),
            VerdictFilter::Failing => row.now.state != CellState::Passed,
            VerdictFilter::Disagreeing => row.disagrees,
            VerdictFilter::FalsePass => row.disagrees && row.now.passes(),
            VerdictFilter::FalseFail => row.disagrees && !row.now.passes(),
            VerdictFilter::Errors => row.now.state == CellState::Errored,
            VerdictFilter::Disputed => !row.dispute.is_empty(),
            VerdictFilter::ToLabel => row.label.is_none() && row.now.is_verdict(),
            VerdictFilter::All => true,
        };
        let rows = self.details.iter().map(|detail| &detail.row);
        rows.filter(|row| is_listed(row)).map(|row| row.id).collect()
    }

    fn facts(&self) -> Arc<ListFacts> {
        Arc::default()
    }

    fn graders(&self) -> Vec<String> {
        self.overview.metrics.iter().map(|metric| metric.grader.clone()).collect()
    }

    fn to_label(&self, id: VerdictId) -> Option<LabelPick> {
        let row = self.row(id).filter(|row| row.label.is_none())?;
        Some(if row.now.passes() { LabelPick::Random } else { LabelPick::Threshold })
    }

    fn text(&self, _: VerdictId) -> Option<RowText> {
        None
    }

    fn row(&self, id: VerdictId) -> Option<VerdictRow> {
        self.detail(id).map(|detail| detail.row)
    }

    fn sent(&self, _: VerdictId) -> Option<&str> {
        None
    }

    fn detail(&self, id: VerdictId) -> Option<VerdictDetail> {
        self.details.iter().find(|detail| detail.row.id == id).cloned()
    }

    fn saves(&self) -> Vec<SaveRow> {
        self.saves.clone()
    }

    fn rubric_changes(&self, _save: u32) -> Vec<RubricChange> {
        Vec::new()
    }

    fn files_to_take_back(&self, _save: u32) -> Vec<String> {
        Vec::new()
    }
}

impl BoardFixture {
    /// The same board with one more verdict; a negative score is an error.
    pub(crate) fn with(
        mut self,
        (sample_id, grader): (&str, usize),
        (before, now): (f64, f64),
        rationales: [&str; 2],
    ) -> Self {
        let cell = |score: f64| match score {
            ..0.0 => Cell { score: 0.0, state: CellState::Errored },
            0.8.. => Cell { score, state: CellState::Passed },
            _ => Cell { score, state: CellState::Failed },
        };
        let movement = Movement::of(Some(cell(before)), cell(now));
        let row = VerdictRow {
            id: VerdictId { case: self.details.len() as u128, grader },
            sample_id: sample_id.to_owned(),
            model: None,
            trial: 0,
            grader: self.overview.metrics[grader].label.clone(),
            before: Some(cell(before)),
            now: cell(now),
            movement,
            label: None,
            dispute: Vec::new(),
            hidden_label: None,
            disagrees: false,
            agreement: None,
            pinned: false,
            under_way: false,
        };
        self.overview.counts.add(movement);
        self.details.push(VerdictDetail {
            row,
            input: "question".to_owned(),
            ground_truth: None,
            submission: "answer".to_owned(),
            rationale: Some(rationales[1].to_owned()),
            rationale_before: Some(rationales[0].to_owned()),
            key: None,
            ingredients: Vec::new(),
        });
        self
    }

    /// The same board with a label on its last verdict, which says something else.
    pub(crate) fn labelled(mut self, label: Label) -> Self {
        let row = &mut self.details.last_mut().unwrap().row;
        row.label = Some(label);
        row.disagrees = true;
        self
    }
}

pub(crate) fn gate(status: GateStatus, value: f64) -> GateReport {
    GateReport {
        status: Some(status),
        value: Some(value),
        op: Some(Op::Gte),
        threshold: Some(0.8),
        lowest: Some(value),
        highest: Some(value),
        rule: Some("quality avg_score >= 0.8".to_owned()),
        ..GateReport::default()
    }
}

pub(crate) fn usage(tokens: u64, dollars: f64) -> Usage {
    Usage { cost: Cost::from_dollars(dollars), ..Usage::of_tokens(tokens, tokens / 10) }
}

fn interval(low: f64, high: f64) -> ConfidenceInterval {
    let method = IntervalMethod::StudentT;
    ConfidenceInterval { low, high, level: 0.95, method }
}

fn declared() -> Vec<DeclaredMetricRow> {
    vec![DeclaredMetricRow {
        name: "by_subject".to_owned(),
        kind: "macro mean".to_owned(),
        value: Some(0.8),
        interval: Some(interval(0.7, 0.9)),
        n: 98,
        errors: 2,
        since_last: Some(-0.01),
        ..DeclaredMetricRow::default()
    }]
}

fn metrics() -> Vec<MetricRow> {
    let quality = MetricRow {
        grader: "quality".to_owned(),
        label: "Is good".to_owned(),
        mean: Some(0.79),
        interval: Some(interval(0.75, 0.83)),
        pass_rate: Some(0.7),
        pass_rate_interval: Some(interval(0.6, 0.78)),
        judged: 100,
        total: 100,
        ..MetricRow::default()
    };
    let tone = MetricRow {
        grader: "tone".to_owned(),
        label: "tone".to_owned(),
        mean: Some(0.95),
        pass_rate: Some(1.0),
        judged: 98,
        errors: 2,
        total: 100,
        not_applicable: 3,
        ..MetricRow::default()
    };
    vec![quality, tone]
}

/// The first evaluation.
pub(crate) fn start() -> BoardFixture {
    let overview = Overview {
        suite: "support-bot".to_owned(),
        state: Activity::Idle,
        gate: gate(GateStatus::Failed, 0.79),
        actions: ActionCounts {
            total: 200,
            cached: 198,
            asked: 2,
            failed: 2,
            ..ActionCounts::default()
        },
        spent: Spending {
            save: usage(1000, 0.0012),
            session: usage(1000, 0.0012),
            calls: 2,
            saved: usage(99_000, 0.12),
            ..Spending::default()
        },
        metrics: metrics(),
        declared: declared(),
        counts: MovementCounts { new: 200, ..MovementCounts::default() },
        ..Overview::default()
    };
    BoardFixture { overview, ..BoardFixture::default() }
}

/// The third save, after which nothing moved.
pub(crate) fn unmoved() -> BoardFixture {
    let mut made = start();
    let overview = &mut made.overview;
    overview.save = 3;
    overview.newest = 3;
    overview.files = vec!["suite.yaml".to_owned()];
    overview.gate = gate(GateStatus::Passed, 0.83);
    overview.gate_before = gate(GateStatus::Passed, 0.83);
    overview.actions = ActionCounts { total: 200, cached: 200, ..ActionCounts::default() };
    overview.spent.save = Usage::default();
    overview.metrics[0].since_last = Some(0.0);
    overview.metrics[0].since_start = Some(0.04);
    overview.counts = MovementCounts { unchanged: 200, ..MovementCounts::default() };
    made
}

/// The third save, after which much moved.
pub(crate) fn moved() -> BoardFixture {
    let mut made = unmoved();
    let overview = &mut made.overview;
    overview.files = vec!["rubric.txt".to_owned(), "house-rules.txt".to_owned()];
    overview.gate_before = gate(GateStatus::Failed, 0.79);
    overview.actions = ActionCounts {
        total: 200,
        cached: 100,
        asked: 100,
        superseded: 4,
        ..ActionCounts::default()
    };
    overview.spent.save = usage(50_000, 0.06);
    overview.spent.session = usage(51_000, 0.0612);
    overview.spent.budget = Cost::from_dollars(1.0);
    overview.spent.max_calls = Some(500);
    overview.spent.calls = 102;
    overview.metrics[0].since_last = Some(0.05);
    overview.metrics[1].since_last = Some(-0.0126);
    overview.metrics[1].since_start = Some(-0.000_4);
    overview.counts = MovementCounts { unchanged: 194, ..MovementCounts::default() };
    made.with(
        ("gift-card", 0),
        (1.0, 0.5),
        [
            "It answers the question, is polite and says where to go. Nothing is missing.",
            "It answers the question, but never says where to go. Nothing is missing.",
        ],
    )
    .with(("refund", 1), (0.9, -1.0), ["Friendly.", "no answer in time\n(30 s)"])
    .with(
        ("late\u{1b}[31m order", 0),
        (0.25, 0.9),
        [
            "The bot does not apologise for the delay and sends the customer away to a form that nobody reads.",
            "An apology comes first, then a date, then a way to complain; the customer knows what will happen next and when.",
        ],
    )
    .with(("a", 0), (-1.0, 0.4), ["no answer", "Too short."])
    .with(("b", 0), (0.5, 0.4), ["The same.", "The same."])
    .with(("c", 1), (0.85, 0.9), ["Good, if stiff.", "Good."])
}

/// [`moved`], with labels of people.
pub(crate) fn labelled() -> BoardFixture {
    let mut made = moved()
        .with(("d", 0), (0.9, 0.9), ["Fine.", "It says all that is asked for, in good order, and in the words of the one who asks."])
        .labelled(Label::Pass(false))
        .with(("e", 1), (0.1, 0.1), ["Rude.", "Rude."])
        .labelled(Label::Score(0.9));
    let metrics = &mut made.overview.metrics;
    let labels = LabelAgreement {
        n: 40,
        without_verdict: 1,
        both_pass: 23,
        false_pass: 1,
        false_fail: 0,
        both_fail: 16,
        accuracy: Some(0.975),
        kappa: Some(0.9482),
        kappa_interval: Some((0.8478, 1.0)),
        ..LabelAgreement::default()
    };
    let change = |accuracy, kappa, false_fail| AgreementChange {
        n: 40,
        before: LabelAgreement { accuracy: Some(accuracy), kappa, false_fail, ..labels },
        now: labels,
        now_agrees: 1,
        no_longer_agrees: 0,
    };
    metrics[0].labels = Some(labels);
    metrics[0].labels_since_last = Some(change(0.95, Some(0.8961), 1));
    metrics[0].labels_since_start = Some(change(1.0, None, 0));
    metrics[1].labels = Some(LabelAgreement {
        n: 1,
        false_fail: 1,
        accuracy: Some(0.0),
        mean_distance: Some(0.8),
        ..LabelAgreement::default()
    });
    made
}

/// [`start`], after a mistake was saved.
pub(crate) fn broken() -> BoardFixture {
    let mut made = unmoved();
    let place = Place::in_text("suite.yaml", "name: support-bot\ngatee: 1\n", 18..23);
    let problem = Diagnostic::error(place, "unknown key `gatee`").hint("did you mean `gate`?");
    let missing = Diagnostic::error(Place::file("rubric.txt"), "cannot read the rubric");
    made.overview.problems = vec![problem, missing];
    made
}

/// The first save, of which 20 judgments were asked and 980 wait.
pub(crate) fn held() -> BoardFixture {
    let mut made = start();
    let overview = &mut made.overview;
    overview.save = 1;
    overview.newest = 1;
    overview.files = vec!["rubric.txt".to_owned()];
    overview.state = Activity::Paused { waiting: 980, expected: Cost::from_dollars(0.12) };
    overview.actions =
        ActionCounts { total: 1000, asked: 20, waiting: 980, ..ActionCounts::default() };
    overview.gate = gate(GateStatus::Undecided, 0.1);
    overview.metrics.truncate(1);
    overview.metrics[0].since_last = Some(-0.04);
    (overview.metrics[0].judged, overview.metrics[0].total) = (20, 1000);
    overview.counts = MovementCounts { unchanged: 19, pending: 980, ..MovementCounts::default() };
    made.with(("gift-card", 0), (0.9, 0.1), ["Right.", "Wrong."])
}

/// A session of three saves that ends, with labels.
pub(crate) fn ended() -> BoardFixture {
    let mut made = labelled();
    let start = start().overview;
    let row = |save: u32| SaveRow {
        save,
        metrics: start.metrics.clone(),
        gate: start.gate.status,
        actions: start.actions,
        ..SaveRow::default()
    };
    made.saves = (0..4).map(row).collect();
    made.overview.metrics[0].mean = Some(0.83);
    made.overview.diff_command = "evalrs diff latest@start latest".to_owned();
    made
}
