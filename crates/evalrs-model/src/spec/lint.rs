//! The warnings that suites can silence, by name.

use serde::Serialize;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// Something about a rubric, a threshold or a target that is probably not meant. In the order of the documentation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Lint {
    /// A range of scores in the text is not the scale of the grader.
    RangeNotScale,
    /// A placeholder has no value.
    UnknownPlaceholder,
    /// A placeholder has two pairs of braces, or spaces in its braces.
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
    /// Samples with different ids share a conversation with a target that gets the ids.
    SharedConversation,
}

impl Lint {
    /// Its name in messages and suites.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
