//! What a display of `evalrs watch` shows, as plain data, and the commands of its user.
//!
//! A display draws from a [`Board`] and knows neither database nor engine; the loop fills the board and carries the
//! commands out. Single rows and details are asked for when they are seen: a board may have a hundred thousand.

mod overview;
mod verdict;

use std::sync::Arc;

use super::list_query::ListQuery;
use evalrs_model::spec::LabelPick;

pub use self::overview::{
    ActionCounts, Activity, DeclaredMetricRow, MAX_HISTORY, MetricRow, Overview, RubricChange,
    SaveRow, Spending,
};
pub(crate) use self::overview::{AgreementMoves, NEXT_JUDGMENTS, save_name};
pub use self::verdict::{
    HiddenLabel, IngredientRow, RowText, VerdictDetail, VerdictFilter, VerdictId, VerdictRow,
};
pub use evalrs_model::delta::CaseId;

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

    /// The parts of its texts that its line shows.
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
    /// Files were saved, and something is evaluated again.
    Saved,
    /// Files were saved that cannot be evaluated: the board says why.
    Broken,
    /// What was broken is as it was before; nothing is evaluated again.
    Restored,
    /// The calls of the save are known.
    Planned,
    /// A verdict came in.
    Verdict(VerdictId),
    /// The first judgments are there, the rest waits for the user.
    Paused,
    /// Everything is there that will be.
    Evaluated,
    /// A wait that was not reported since the last save, a sentence.
    Waiting(String),
    /// Something else, a sentence.
    Note(String),
    /// The session ends.
    Ended,
}

/// Reports or renders the progress.
pub trait Display {
    /// Shows what happened.
    fn event(&mut self, event: &WatchEvent, board: &dyn Board) -> std::io::Result<()>;

    /// Shows the board again after something on it changed; called at most a few dozen times a
    /// second.
    fn refresh(&mut self, _board: &dyn Board) -> std::io::Result<()> {
        Ok(())
    }
}

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserCommand {
    /// Ends the session; finished work is kept.
    Quit,
    /// Ends it as Ctrl-C does.
    Interrupt,
    /// Resumes the paused judgments.
    RunRest,
    /// Makes this many of the paused judgments, and pauses again.
    RunNext(u64),
    /// Looks at the evaluation before, or back at the newest.
    Undo,
    /// Looks at the evaluation of the save with this number.
    LookAt(u32),
    /// Writes the suite's files as they were in the save with this number.
    TakeBack(u32),
    /// Opens the rubric of this verdict, or of the first grader that has one, in an editor.
    Edit(Option<VerdictId>),
    /// Repeats the judgments of this verdict.
    Refresh(VerdictId),
    /// Lists the sample of this verdict first and judges it early; again, no more.
    Pin(VerdictId),
    /// The user looks at this verdict: it is judged early.
    Select(VerdictId),
    /// Says what a person thinks of what a verdict is of, and looks at another verdict then.
    Label {
        /// The verdict.
        row: VerdictId,
        /// What the person says.
        label: LabelInput,
        /// How the verdict came to be labelled.
        picked: LabelPick,
        /// The verdict to look at next.
        next: Option<VerdictId>,
    },
}

/// The human label of a submission by a key or in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelInput {
    /// Whether it passes.
    Pass(bool),
    /// The score of a key, a digit or `!`, on the scale of the grader.
    Score(char),
    /// Removes the label of the same person.
    Nothing,
}
