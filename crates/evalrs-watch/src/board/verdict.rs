//! What displays show of single verdicts: which one, its line in a list, everything behind it, and which are listed.

use evalrs_metrics::metric::label_change::AgreementMove;
use evalrs_model::delta::{CaseId, Cell, Movement};
use evalrs_model::spec::Label;

/// One verdict of the board: a case, and the ordinal of a grader in the order of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VerdictId {
    /// The case.
    pub case: CaseId,
    /// The grader.
    pub grader: usize,
}

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
    /// The human label.
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
    /// Whether a judge call is in flight.
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

/// The parts of a verdict's texts that a line of the list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowText {
    /// The beginning of the submission in one line; where there is none, that of the input.
    pub beginning: String,
    /// Whether it is that of the input.
    pub is_input: bool,
    /// The characters of the submission.
    pub length: Option<usize>,
}
