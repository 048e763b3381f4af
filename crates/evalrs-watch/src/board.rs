//! What a display of `evalrs watch` shows, as plain data, and the commands of its user.
//!
//! A display draws from a [`Board`] and knows neither database nor engine; the loop fills the board and carries the
//! commands out. Single rows and details are asked for when they are seen: a board may have a hundred thousand.

mod save_row;
mod spending;
pub mod user_command;

use std::sync::Arc;

use serde::Serialize;

use super::list_query::ListQuery;
use evalrs_base::diagnostic::Diagnostic;
use evalrs_base::price::Cost;
use evalrs_metrics::gate::GateReport;
use evalrs_metrics::metric::holdout::HeldOutAgreement;
use evalrs_metrics::metric::label_change::{AgreementChange, AgreementMove};
use evalrs_metrics::metric::labels::LabelAgreement;
use evalrs_metrics::metric::people::PeopleEstimate;
use evalrs_model::delta::{Cell, Movement, MovementCounts};
use evalrs_model::spec::{Label, LabelPick};
use evalrs_statistics::interval::ConfidenceInterval;

pub use self::save_row::{RubricChange, SaveRow};
pub use self::spending::Spending;
pub use self::user_command::{LabelInput, UserCommand};
pub use evalrs_model::delta::CaseId;

/// One verdict of the board: a case, and the ordinal of a grader in the order of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VerdictId {
    /// The case.
    pub case: CaseId,
    /// The grader.
    pub grader: usize,
}

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
    /// What the gate says; its status is none without a gate.
    pub gate: GateReport,
    /// What it said before.
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

/// The number of an evaluation, in words.
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

    /// Whether people differ on any case.
    pub(super) fn has_disputes(&self) -> bool {
        self.metrics.iter().any(|metric| metric.disputed > 0)
    }

    /// Verdicts that agree with a person now and did not before, and those that do not any more.
    pub(super) fn agreement_moves(&self) -> AgreementMoves {
        let mut all = AgreementMoves::default();
        for change in self.metrics.iter().filter_map(|metric| metric.labels_since_last) {
            all.now_agree += change.now_agrees;
            all.no_longer_agree += change.no_longer_agrees;
        }
        all
    }

    /// What a key asks of the judgments that wait for the user, if there are more than that.
    pub(super) fn next_held(&self) -> Option<NextHeld> {
        let Activity::Paused { waiting, expected } = self.state else { return None };
        let share = |cost: Cost| {
            let nanos = u128::from(cost.nanos()) * u128::from(NEXT_JUDGMENTS);
            Cost::from_nanos(u64::try_from(nanos / u128::from(waiting)).unwrap_or(u64::MAX))
        };
        (waiting > NEXT_JUDGMENTS).then(|| NextHeld { expected: expected.map(share) })
    }

    /// How many judgments wait for the user, and what they will probably cost.
    pub fn held(&self) -> (u64, Option<Cost>) {
        match self.state {
            Activity::Paused { waiting, expected } => (waiting, expected),
            _ => (self.actions.waiting, None),
        }
    }
}

/// The judgments that a key asks of those that wait for the user.
pub(super) const NEXT_JUDGMENTS: u64 = 200;

/// The next [`NEXT_JUDGMENTS`] of those that wait for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NextHeld {
    /// What they will probably cost, where prices are known.
    pub expected: Option<Cost>,
}

/// How many verdicts moved towards labels, and how many away from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AgreementMoves {
    /// They agree now.
    pub now_agree: usize,
    /// They do not any more.
    pub no_longer_agree: usize,
}

/// What is going on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// Files are read, or plans are made.
    #[default]
    Planning,
    /// Judges are asked.
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
    /// Nothing more is asked in this session, and why: the budget is used up, the store cannot be written.
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
    /// Still to be asked.
    pub waiting: u64,
    /// Sent before the save and not wanted any more: they finish and are kept.
    pub superseded: u64,
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
    /// How far it agrees with the labels of people; none where no row has one.
    pub labels: Option<LabelAgreement>,
    /// Cases on which people differ.
    pub disputed: usize,
    /// How that changed since the evaluation before.
    pub labels_since_last: Option<AgreementChange>,
    /// How it changed since the session began.
    pub labels_since_start: Option<AgreementChange>,
    /// What people would have said of everything; none without labels, or where everything has one.
    #[serde(skip)]
    pub people: Option<PeopleEstimate>,
    /// What is told of labels that are held out, once the evaluation is finished; none where none are.
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
    pub(super) fn change_from(&self, earlier: &[Self]) -> Option<f64> {
        let own = |row: &&Self| row.name == self.name && row.definition == self.definition;
        Some(self.value? - earlier.iter().find(own)?.value?)
    }
}

/// The most means that a metric remembers.
pub const MAX_HISTORY: usize = 64;

/// One verdict in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictRow {
    /// Which one.
    pub id: VerdictId,
    /// The sample.
    pub sample_id: String,
    /// The model that was run.
    pub model: Option<String>,
    /// The repetition of the target, from 0.
    pub trial: u32,
    /// The grader's name for people.
    pub grader: String,
    /// The grade in the evaluation before.
    pub before: Option<Cell>,
    /// The grade now.
    pub now: Cell,
    /// How they differ.
    pub movement: Movement,
    /// What a person says.
    pub label: Option<Label>,
    /// What each person says, where some say that it passes and others that it does not.
    pub dispute: Vec<(String, Label)>,
    /// Why a label that people gave is not shown; none where they gave none, or it is shown.
    pub hidden_label: Option<HiddenLabel>,
    /// Whether that is something else than the verdict.
    pub disagrees: bool,
    /// Whether the verdict came to agree with it, or ceased to, since the evaluation before.
    pub agreement: Option<AgreementMove>,
    /// Whether the user pinned it.
    pub pinned: bool,
    /// Whether a judge is being asked.
    pub under_way: bool,
}

/// Why a label is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenLabel {
    /// It is of another submission than the one there is now, and counts for nothing.
    Stale,
    /// It is held out.
    HeldOut,
}

/// One verdict and everything behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct VerdictDetail {
    /// The verdict.
    pub row: VerdictRow,
    /// What the target was given.
    pub input: String,
    /// The reference answer.
    pub ground_truth: Option<String>,
    /// What was graded.
    pub submission: String,
    /// Why, in the words of the judge; of an error, its message. None while it is not known.
    pub rationale: Option<String>,
    /// The rationale in the evaluation before.
    pub rationale_before: Option<String>,
    /// The action key of the first judgment.
    pub key: Option<String>,
    /// What that key is made of: name, beginning of the text. Those that differ from the evaluation before are marked.
    pub ingredients: Vec<IngredientRow>,
}

/// One ingredient of an action key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngredientRow {
    /// Its name.
    pub name: String,
    /// Its value, or the beginning of it.
    pub preview: String,
    /// Whether it differs from that of the evaluation before.
    pub is_new: bool,
}

/// Which verdicts are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VerdictFilter {
    /// Those that moved since the evaluation before: broken ones first, then by how far.
    #[default]
    Moved,
    /// Those that fail or are errors, the lowest scores first.
    Failing,
    /// Those that say something else than a person, the farthest first.
    Disagreeing,
    /// Those that pass what a person fails, the farthest first.
    FalsePass,
    /// Those that fail what a person passes, the farthest first.
    FalseFail,
    /// Those on which people differ.
    Disputed,
    /// Those whose answers to label next, in that order.
    ToLabel,
    /// Those that could not be made.
    Errors,
    /// All, in dataset order.
    All,
}

/// What a line of the list tells of the texts of a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowText {
    /// The beginning of the submission in one line; where there is none, that of the input.
    pub beginning: String,
    /// Whether it is that of the input.
    pub is_input: bool,
    /// The characters of the submission.
    pub length: Option<usize>,
}

/// What of the dataset a list can be narrowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFacts {
    /// The tags, sorted.
    pub tags: Vec<TagCount>,
    /// Whether samples are of several models.
    pub has_models: bool,
}

/// A tag and how many samples have it, each model and trial counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagCount {
    /// The tag.
    pub tag: String,
    /// How many samples.
    pub samples: usize,
}

/// What displays draw from.
pub trait Board {
    /// What is shown at once.
    fn overview(&self) -> &Overview;

    /// The verdicts that a query lists, those of pinned samples first.
    fn rows(&self, query: &ListQuery) -> Vec<VerdictId>;

    /// What there is to choose from.
    fn facts(&self) -> Arc<ListFacts>;

    /// The keys of the graders in the suite, by the ordinals of [`VerdictId`].
    fn graders(&self) -> Vec<String>;

    /// One of them; none if it is gone.
    fn row(&self, id: VerdictId) -> Option<VerdictRow>;

    /// What its line tells of its texts.
    fn text(&self, id: VerdictId) -> Option<RowText>;

    /// Why a verdict is among those to label next; none where it is not.
    fn to_label(&self, id: VerdictId) -> Option<LabelPick>;

    /// Everything behind it.
    fn detail(&self, id: VerdictId) -> Option<VerdictDetail>;

    /// What judges were sent about it and what they replied, as `evalrs explain --prompt` writes it; of the newest
    /// evaluation. None while it is not loaded: whoever asks has it loaded for the next drawing.
    fn sent(&self, id: VerdictId) -> Option<&str>;

    /// Every save so far, the first evaluation first.
    fn saves(&self) -> Vec<SaveRow>;

    /// What a save changed in the text of rubrics; of the first evaluation all of them.
    fn rubric_changes(&self, save: u32) -> Vec<RubricChange>;

    /// The files that say something else than in a save, and would be written to take it back.
    fn files_to_take_back(&self, save: u32) -> Vec<String>;
}

/// What happened, for displays that tell it in order. What it led to stands on the board.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// Files were saved, and something is evaluated anew.
    Saved,
    /// Files were saved that cannot be evaluated: the board says why.
    Broken,
    /// What was broken is as it was before; nothing is evaluated anew.
    Restored,
    /// It is known what will be asked.
    Planned,
    /// A verdict came in.
    Verdict(VerdictId),
    /// The first judgments are there, the rest waits for the user.
    Paused,
    /// Everything is there that will be.
    Evaluated,
    /// Something is waited for that was not told since the last save, a sentence.
    Waiting(String),
    /// Something else, a sentence.
    Note(String),
    /// The session ends.
    Ended,
}

/// Tells or draws what goes on.
pub trait Display {
    /// Shows what happened.
    fn event(&mut self, event: &WatchEvent, board: &dyn Board) -> std::io::Result<()>;

    /// Shows the board anew after something on it changed; called at most a few dozen times a second.
    fn refresh(&mut self, _board: &dyn Board) -> std::io::Result<()> {
        Ok(())
    }
}
