//! What graders are given of a case: the text that an extractor picked, or why there is none.

use std::sync::Arc;

use super::conversation::UnansweredCase;
use crate::pipeline::dataset::chunk::Records;
use crate::pipeline::dataset::record_text::RecordText;
use crate::pipeline::key::ActionKey;

/// What a grader is given of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submission {
    /// What the extractor picked.
    Text(RecordText),
    /// The target produced no message.
    NoMessages,
    /// The extractor failed: why.
    Failed(Box<str>),
    /// No answer was recorded: why.
    Unrecorded(Box<str>),
    /// One for each turn, where input and ground truth are lists.
    Turns(Box<[Submission]>),
    /// A program extracts it: by this action, once it is known which.
    Pending(Option<ActionKey>),
    /// The target has not answered.
    Unanswered(UnansweredCase),
}

impl Submission {
    /// The same, with texts that stand in record `at` of these records as parts of it.
    #[must_use]
    pub(crate) fn within(self, records: &Arc<Records>, at: usize) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.within(records, at)),
            Self::Turns(turns) => {
                Self::Turns(turns.into_iter().map(|turn| turn.within(records, at)).collect())
            }
            other => other,
        }
    }

    /// Whether there is a text to be graded.
    pub(crate) fn has_text(&self) -> bool {
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
            Self::NoMessages
            | Self::Failed(_)
            | Self::Unrecorded(_)
            | Self::Pending(_)
            | Self::Unanswered(_) => String::new(),
            Self::Turns(turns) => {
                let turns = turns
                    .iter()
                    .enumerate()
                    .map(|(at, turn)| format!("[Turn {at}] {}", turn.shown()));
                turns.collect::<Vec<_>>().join(" | ")
            }
        }
    }
}
