//! The warnings that suites can silence, by name.

use serde::{Serialize, Serializer};

/// Something about a rubric, a threshold or a target that is probably not meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lint {
    /// A range of scores in the text is not the scale of the grader.
    RangeNotScale,
    /// A placeholder stands for nothing.
    UnknownPlaceholder,
    /// A placeholder stands in two pairs of braces, or in braces with spaces.
    DoubledBraces,
    /// The text speaks of a reference answer that the judge is not shown.
    ReferenceNotShown,
    /// The judge is sent the same thing more than once.
    SentTwice,
    /// No score reaches a threshold.
    ThresholdOutOfReach,
    /// Every score reaches a threshold.
    ThresholdAlwaysMet,
    /// The judge is of the same family as what it judges.
    SameFamily,
    /// Texts are put into the rubric without fences.
    Unfenced,
    /// Samples with different ids share a conversation with a target that is told the ids.
    SharedConversation,
}

impl Lint {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::RangeNotScale,
        Self::UnknownPlaceholder,
        Self::DoubledBraces,
        Self::ReferenceNotShown,
        Self::SentTwice,
        Self::ThresholdOutOfReach,
        Self::ThresholdAlwaysMet,
        Self::SameFamily,
        Self::Unfenced,
        Self::SharedConversation,
    ];

    /// Its name in messages and suites.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RangeNotScale => "range-not-scale",
            Self::UnknownPlaceholder => "unknown-placeholder",
            Self::DoubledBraces => "doubled-braces",
            Self::ReferenceNotShown => "reference-not-shown",
            Self::SentTwice => "sent-twice",
            Self::ThresholdOutOfReach => "threshold-out-of-reach",
            Self::ThresholdAlwaysMet => "threshold-always-met",
            Self::SameFamily => "same-family",
            Self::Unfenced => "unfenced",
            Self::SharedConversation => "shared-conversation",
        }
    }
}

impl Serialize for Lint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}
