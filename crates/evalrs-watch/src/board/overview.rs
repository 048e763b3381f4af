//! What a display shows at once: the state of the session, its numbers, and what each grader and metric came to; and the
//! row of each save.

use std::sync::Arc;

use serde::Serialize;

use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::price::Cost;
use evalrs_base::text::count;
use evalrs_metrics::gate::{GateReport, GateStatus};
use evalrs_metrics::metric::holdout::HeldOutAgreement;
use evalrs_metrics::metric::label_change::AgreementChange;
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_metrics::metric::people::PeopleEstimate;
use evalrs_model::delta::MovementCounts;
use evalrs_model::outcome::Usage;
use evalrs_statistics::interval::ConfidenceInterval;

/// Everything that is shown at once.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// The suite's name.
    pub suite: String,
    /// The number of the evaluation that is shown: 0 is the first, each save that means something is one more.
    pub save: u32,
    /// The number of the newest evaluation. Differs from `save` while an earlier one is looked at.
    pub newest: u32,
    /// The files whose change led to it, as the user named them; empty for the first.
    pub files: Vec<String>,
    /// What is going on.
    pub state: Activity,
    /// The status of the gate; its status is none without a gate.
    pub gate: GateReport,
    /// Its previous status.
    pub gate_before: GateReport,
    /// What became of this evaluation's judgments.
    pub actions: ActionCounts,
    /// What was spent.
    pub spent: Spending,
    /// One for each grader, in the order of the suite.
    pub metrics: Vec<MetricRow>,
    /// One for each metric that the suite declares, in its order.
    pub declared: Vec<DeclaredMetricRow>,
    /// How many verdicts moved since the evaluation before.
    pub counts: MovementCounts,
    /// What is wrong with the files as they are saved; what else is shown is of the last ones that were right.
    pub problems: Vec<Diagnostic>,
    /// What endpoints wait for, a sentence each: a rate limit until some time.
    pub waiting: Vec<String>,
    /// What else there is to say about this evaluation, a sentence each.
    pub notes: Vec<String>,
    /// The command that compares the start of the session with its end; empty until it ends.
    pub diff_command: String,
    /// Whether its verdicts are not kept any more, so that none can be listed.
    pub has_no_verdicts: bool,
}

pub(crate) fn save_name(save: u32) -> String {
    if save == 0 { "start".to_owned() } else { format!("save {save}") }
}

impl Overview {
    /// The grader whose agreement leads: the `wanted` one if it has labels, else the first that has some.
    pub fn labelled(&self, wanted: Option<usize>) -> Option<&MetricRow> {
        let own = wanted.and_then(|at| self.metrics.get(at));
        own.into_iter().chain(&self.metrics).find(|metric| metric.labels.is_some())
    }

    /// Whether any grader has labels.
    pub fn has_labels(&self) -> bool {
        self.labelled(None).is_some() || self.has_disputes()
    }

    pub(crate) fn has_disputes(&self) -> bool {
        self.metrics.iter().any(|metric| metric.disputed > 0)
    }

    /// Verdicts that agree with a person now and did not before, and those that do not any more.
    pub(crate) fn agreement_moves(&self) -> AgreementMoves {
        let mut all = AgreementMoves::default();
        for change in self.metrics.iter().filter_map(|metric| metric.labels_since_last) {
            all.now_agree += change.now_agrees;
            all.no_longer_agree += change.no_longer_agrees;
        }
        all
    }

    /// How many paused judgments a key makes, if there are more than that.
    pub(crate) fn next_held(&self) -> Option<NextHeld> {
        let Activity::Paused { waiting, expected } = self.state else { return None };
        let expected = expected.map(|cost| {
            let nanos = u128::from(cost.nanos()) * u128::from(NEXT_JUDGMENTS);
            let share = nanos.checked_div(u128::from(waiting)).unwrap_or_default();
            Cost::from_nanos(u64::try_from(share).unwrap_or(u64::MAX))
        });
        (waiting > NEXT_JUDGMENTS).then_some(NextHeld { expected })
    }

    /// How many judgments wait for the user, and what they will probably cost.
    pub fn held(&self) -> (u64, Option<Cost>) {
        match self.state {
            Activity::Paused { waiting, expected } => (waiting, expected),
            _ => (self.actions.waiting, None),
        }
    }
}

/// The paused judgments that a key makes.
pub(crate) const NEXT_JUDGMENTS: u64 = 200;

/// The next [`NEXT_JUDGMENTS`] of those that wait for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextHeld {
    /// What they will probably cost, where prices are known.
    pub expected: Option<Cost>,
}

/// How many verdicts moved towards labels, and how many away from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgreementMoves {
    pub now_agree: usize,
    pub no_longer_agree: usize,
}

/// What is going on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// Files are read, or plans are made.
    #[default]
    Planning,
    /// Judges are called.
    Asking,
    /// The first judgments of this save are there; the rest waits for a word of the user.
    Paused {
        /// Judgments that wait.
        waiting: u64,
        /// What they will probably cost, where prices are known.
        expected: Option<Cost>,
    },
    /// There is nothing left to do until the next save.
    Idle,
    /// No further calls are made in this session, and why: the budget is used up, the store cannot be
    /// written.
    Stopped(String),
}

/// What became of one evaluation's judgments, each key once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ActionCounts {
    /// Judgments the grades rest on.
    pub total: u64,
    /// Found in the store.
    pub cached: u64,
    /// Sent to a judge since the save.
    pub asked: u64,
    /// Of those, under way.
    #[serde(rename = "in_flight")]
    pub under_way: u64,
    /// Answered without a judgment.
    pub failed: u64,
    /// Not made yet.
    pub waiting: u64,
    /// Sent before the save and not wanted any more: they finish and are kept.
    pub superseded: u64,
    /// Out in a batch.
    #[serde(skip_serializing_if = "evalrs_model::is_default")]
    pub out: u64,
}

/// One grader's aggregates.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MetricRow {
    /// The grader's key in the suite.
    #[serde(skip)]
    pub grader: String,
    /// Its name for people.
    pub label: String,
    /// Mean score over `judged` (0.0..=1.0); none if there is none.
    pub mean: Option<f64>,
    /// Where the mean of all samples like these lies.
    pub interval: Option<ConfidenceInterval>,
    /// Share of passes among `judged` (0.0..=1.0).
    pub pass_rate: Option<f64>,
    /// Where the share of passes of all samples like these lies.
    pub pass_rate_interval: Option<ConfidenceInterval>,
    /// Grades that are verdicts.
    pub judged: usize,
    /// Grades that are errors.
    pub errors: usize,
    /// All grades, those that are not known yet included.
    pub total: usize,
    /// Results that the grader has nothing to say of.
    pub not_applicable: usize,
    /// How far the mean moved since the evaluation before, over the cases that have a verdict in both.
    pub since_last: Option<f64>,
    /// How far the mean moved since the session began, counted alike.
    pub since_start: Option<f64>,
    /// The means of the finished evaluations so far, the oldest first, at most [`MAX_HISTORY`].
    #[serde(skip)]
    pub history: Vec<f64>,
    /// How far it agrees with the human labels; none where no row has one.
    pub labels: Option<LabelAgreement>,
    /// Cases on which people differ.
    pub disputed: usize,
    /// How that changed since the evaluation before.
    pub labels_since_last: Option<AgreementChange>,
    /// How it changed since the session began.
    pub labels_since_start: Option<AgreementChange>,
    /// The estimated human verdict on everything; none without labels, or where everything has one.
    #[serde(skip)]
    pub people: Option<PeopleEstimate>,
    /// The reported agreement with held-out labels, once the evaluation is finished; none without any.
    pub held_out: Option<HeldOutAgreement>,
}

/// A metric that the suite declares.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeclaredMetricRow {
    /// Its name in the suite.
    #[serde(skip)]
    pub name: String,
    /// Digest of what the suite says of it.
    #[serde(skip)]
    pub definition: String,
    /// Its kind in words.
    pub kind: String,
    /// The number; none if there is none.
    pub value: Option<f64>,
    /// Where the true number lies.
    pub interval: Option<ConfidenceInterval>,
    /// What it is over.
    pub n: usize,
    /// Results that could not be graded, or lack what the metric reads.
    pub errors: usize,
    /// Why there is no number.
    pub problem: Option<String>,
    /// How far it moved since the evaluation before; none where the suite says something else of it now.
    pub since_last: Option<f64>,
    /// How far it moved since the session began.
    pub since_start: Option<f64>,
    /// The numbers of the finished evaluations so far, the oldest first, at most [`MAX_HISTORY`].
    #[serde(skip)]
    pub history: Vec<f64>,
}

impl DeclaredMetricRow {
    /// How far the number is from what it was in `earlier`.
    pub(crate) fn change_from(&self, earlier: &[Self]) -> Option<f64> {
        let own = |row: &&Self| row.name == self.name && row.definition == self.definition;
        Some(self.value? - earlier.iter().find(own)?.value?)
    }
}

/// The most means that a metric remembers.
pub const MAX_HISTORY: usize = 64;

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Since the last save.
    pub save: Usage,
    /// Since the session began.
    pub session: Usage,
    /// Judgments sent since the session began.
    pub calls: u64,
    /// The usage of the cached judgments when they were made.
    pub saved: Usage,
    /// What the session may spend.
    pub budget: Option<Cost>,
    /// How many judgments it may send.
    pub max_calls: Option<u64>,
}

impl Spending {
    /// The rest of the session's limits if it is less than this many judgments with this expected cost take, in words: `$0.0004`
    /// or `3 judgments`.
    pub fn left(&self, waiting: u64, expected: Option<Cost>) -> Option<String> {
        let spent = self.session.cost.unwrap_or(Cost::ZERO).nanos();
        let money = self.budget.map(|most| Cost::from_nanos(most.nanos().saturating_sub(spent)));
        let money = money.filter(|left| expected.is_some_and(|cost| cost > *left));
        let calls = self.max_calls.map(|most| most.saturating_sub(self.calls));
        let calls = calls.filter(|left| waiting > *left).map(|left| count(left, "judgment"));
        let left: Vec<String> =
            money.map(|cost| cost.to_string()).into_iter().chain(calls).collect();
        (!left.is_empty()).then(|| left.join(" and "))
    }
}

/// One save in the list of saves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SaveRow {
    /// Its number; 0 is the first evaluation.
    pub save: u32,
    /// The time of day, as `14:05`.
    pub time: String,
    /// The files that were saved.
    pub files: Vec<String>,
    /// One for each grader that it had, without a history. Agreement is with the labels of now where its verdicts are kept.
    pub metrics: Vec<MetricRow>,
    /// The status of the gate; none without a gate.
    pub gate: Option<GateStatus>,
    /// What became of its judgments.
    pub actions: ActionCounts,
    /// What it had spent when the next one came.
    pub spent: Usage,
    /// Whether its verdicts are kept, so that they can be listed.
    pub has_verdicts: bool,
}

/// What a save changed in the text of a rubric; where it changed none, in a file of the suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubricChange {
    /// The graders it is the rubric of, or the path that rows name it by; else the file.
    pub rubrics: Vec<String>,
    /// Whether it is a file as it was written, and no rubric.
    pub is_file: bool,
    /// The text before; none where there was none.
    pub before: Option<Arc<str>>,
    /// The text now; none where there is none any more.
    pub now: Option<Arc<str>>,
}
