//! A line of a file of labels: what one person says of one sample.

use super::label_value::LabelValue;
use evalrs_model::spec::LabelPick;

/// What one person says of one sample.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelLine {
    /// Of this model alone.
    pub model: Option<String>,
    /// Of this trial alone, from 0.
    pub trial: Option<u32>,
    /// For this grader alone.
    pub grader: Option<String>,
    /// The digest of the submission that it is of; none if it is of any.
    pub submission: Option<String>,
    /// The person; none where that is not known.
    pub who: Option<Box<str>>,
    /// The label; never one for each of some graders.
    pub said: LabelValue,
    /// How the answer came to be labelled, if that is said.
    pub picked: Option<LabelPick>,
}

impl LabelLine {
    /// Whether it is of this model and trial.
    pub fn is_of(&self, model: Option<&str>, trial: u32) -> bool {
        self.model.as_deref().is_none_or(|named| Some(named) == model)
            && self.trial.is_none_or(|named| named == trial)
    }

    /// Lines that say more come first.
    pub fn rank(&self) -> [bool; 4] {
        let is_of_any = self.submission.is_none();
        [self.grader.is_none(), self.trial.is_none(), self.model.is_none(), is_of_any]
    }
}
