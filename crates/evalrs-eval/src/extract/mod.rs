//! Extractors: the part of a trajectory that is graded.
//!
//! An extractor is a pure function from what was recorded to text. Finding nothing is not an error: it gives
//! the text its description names, mostly the empty one, and what that means is the grader's business.
//! Each is described beside its code, and is one line in [`EXTRACTORS`]. Extractors written in Python are not here: they
//! need an action.

mod extractor;
mod json_path;
mod messages;
mod pattern;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value};

pub use self::extractor::{ExtractError, ExtractView};

use self::extractor::{ExtractorInfo, PickFn};
use evalrs_base::path::Row;
use evalrs_model::spec::{ExtractorSpec, OptionProblem};
use evalrs_trajectory::Trajectory;

/// The built-in extractors, sorted by id.
pub static EXTRACTORS: &[ExtractorInfo] = &[
    messages::AFTER_MARKER,
    messages::ALL_ASSISTANT,
    messages::FINAL_OUTPUT,
    messages::FIRST_ASSISTANT,
    json_path::JSON_PATH,
    messages::LAST_ASSISTANT,
    messages::LAST_TURN,
    messages::MEMORY_BLOCK,
    pattern::PATTERN,
    messages::TOOL_ARGUMENTS,
    messages::TOOL_OUTPUT,
    messages::TRAJECTORY,
];

/// What is wrong with the options of the extractor `name`; nothing if it is not one of [`EXTRACTORS`].
pub fn check_options(name: &str, config: &Map<String, Value>) -> Vec<OptionProblem> {
    find(name).and_then(|info| (info.compile)(config).err()).unwrap_or_default()
}

fn find(name: &str) -> Option<&'static ExtractorInfo> {
    EXTRACTORS.iter().find(|info| info.id == name)
}

/// What was recorded of one sample.
#[derive(Clone, Copy, Debug)]
pub struct ExtractFrom<'a> {
    /// Everything the target did. Of a row with an `output` alone, [`Trajectory::from_output`] of it.
    pub trajectory: &'a Trajectory,
    /// The `output` of the row, where it has one.
    pub output: Option<&'a str>,
    /// The row as written.
    pub row: Row<'a>,
}

/// An extractor with its options read and its pattern compiled, for many samples.
#[derive(Clone)]
pub struct Extractor {
    pick: Arc<PickFn>,
    include_subagents: bool,
    reads_row: bool,
}

/// Whether the extractor that `spec` names looks at the row alone, and not at what the target answered.
pub(crate) fn reads_row(spec: &ExtractorSpec) -> bool {
    spec.name == json_path::JSON_PATH.id && json_path::asks_row(&spec.options())
}

impl Extractor {
    /// Reads the options of `spec`.
    pub fn new(spec: &ExtractorSpec) -> Result<Self, ExtractError> {
        let info = find(&spec.name).ok_or_else(|| ExtractError::Unknown(spec.name.clone()))?;
        let pick = (info.compile)(&spec.options()).map_err(|problems| {
            let first = problems.into_iter().next().map(|problem| problem.message);
            ExtractError::Options(first.unwrap_or_default())
        })?;
        Ok(Self { pick, include_subagents: spec.include_subagents, reads_row: reads_row(spec) })
    }

    /// Whether it looks at the row alone, and not at what the target answered.
    pub fn reads_row(&self) -> bool {
        self.reads_row
    }

    /// The text it picks.
    pub fn extract(&self, from: &ExtractFrom<'_>) -> Result<String, ExtractError> {
        let ExtractFrom { trajectory, output, row } = *from;
        let include_subagents = self.include_subagents;
        (self.pick)(&ExtractView { trajectory, output, row, include_subagents })
    }
}
