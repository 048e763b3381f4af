//! What the user of a display wants, by a key or in a line.

use super::verdict::VerdictId;
use evalrs_model::spec::LabelPick;

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserCommand {
    /// Ends the session; finished work is kept.
    Quit,
    /// Ends it as Ctrl-C does.
    Interrupt,
    /// Asks what was held back.
    RunRest,
    /// Asks so many of the judgments that were held back, and waits again.
    RunNext(u64),
    /// Looks at the evaluation before, or back at the newest.
    Undo,
    /// Looks at the evaluation of the save with this number.
    LookAt(u32),
    /// Writes the suite's files as they were in the save with this number.
    TakeBack(u32),
    /// Opens the rubric of this verdict, or of the first grader that has one, in an editor.
    Edit(Option<VerdictId>),
    /// Asks the judgments of this verdict anew.
    Refresh(VerdictId),
    /// Lists the sample of this verdict first and asks it early; again, no more.
    Pin(VerdictId),
    /// The user looks at this verdict: it is asked early.
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

/// What a person says of a submission by a key or in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelInput {
    /// Whether it passes.
    Pass(bool),
    /// The score of a key, a digit or `!`, on the scale of the grader.
    Score(char),
    /// Takes back what the same person said.
    Nothing,
}
