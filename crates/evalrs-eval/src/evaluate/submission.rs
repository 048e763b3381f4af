//! What graders are given of a case: the text that an extractor picked, or why there is none.

use std::sync::Arc;

use super::conversation::UnansweredCase;
use crate::dataset::chunk::Records;
use crate::dataset::fields::RowProblem;
use crate::dataset::record_text::{HeldText, RecordText};
use evalrs_model::key::ActionKey;

/// What a grader is given of one case, and the same as queries keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submission<T = RecordText> {
    /// What the extractor picked.
    Text(T),
    /// The target produced no message.
    NoMessages,
    /// The extractor failed: why.
    Failed(Box<str>),
    /// No answer was recorded: why.
    Unrecorded(Box<str>),
    /// One for each turn, where input and ground truth are lists.
    Turns(Box<[Submission<T>]>),
    /// A program extracts it: by this action, once it is known which.
    Pending(Option<ActionKey>),
    /// The target has not answered.
    Unanswered(UnansweredCase),
}

/// What a grader is given of one case, as queries keep it: texts that stand in its record are places in that.
pub type HeldSubmission = Submission<HeldText>;

impl<T> Submission<T> {
    fn map<U, F: Fn(&T) -> U>(&self, change: &F) -> Submission<U> {
        match self {
            Self::Text(text) => Submission::Text(change(text)),
            Self::Turns(turns) => {
                Submission::Turns(turns.iter().map(|turn| turn.map(change)).collect())
            }
            Self::NoMessages => Submission::NoMessages,
            Self::Failed(why) => Submission::Failed(why.clone()),
            Self::Unrecorded(why) => Submission::Unrecorded(why.clone()),
            Self::Pending(key) => Submission::Pending(*key),
            Self::Unanswered(case) => Submission::Unanswered(case.clone()),
        }
    }
}

impl HeldSubmission {
    /// The text it refers to, where `records` has its record as number `at`.
    #[must_use]
    pub fn within(&self, records: &Arc<Records>, at: usize) -> Submission {
        self.map(&|text: &HeldText| text.within(records, at))
    }
}

impl Submission {
    /// The same, to be kept: texts that stand in record `at` as places there.
    #[must_use]
    pub fn held(&self, records: &Records, at: usize) -> HeldSubmission {
        self.map(&|text: &RecordText| HeldText::of(text, records, at))
    }

    /// The same, to be kept with texts of its own.
    #[must_use]
    pub fn held_alone(&self) -> HeldSubmission {
        self.map(&HeldText::own)
    }

    /// Whether there is a text to be graded.
    pub fn has_text(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            Self::Turns(_) => true,
            _ => false,
        }
    }

    /// Its text in a report.
    pub fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::Turns(turns) => {
                let turns = turns.iter().enumerate();
                let shown = turns.map(|(at, turn)| format!("[Turn {at}] {}", turn.shown()));
                shown.collect::<Vec<_>>().join(" | ")
            }
            _ => String::new(),
        }
    }
}

/// What is graded of a case of which nothing can be extracted.
pub(super) fn no_submission(problem: RowProblem) -> Submission {
    let RowProblem { message, unanswered, .. } = problem;
    if unanswered {
        Submission::Unrecorded(message.into())
    } else {
        Submission::Failed(message.into())
    }
}
