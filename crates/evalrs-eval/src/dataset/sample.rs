//! What a row says, once it is read: a sample, and what was recorded of the target for it.

use serde_json::{Map, Value};

use evalrs_trajectory::Trajectory;

/// One row: a sample, or one trial or model of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The id as text, if the row has one.
    pub id: Option<String>,
    /// What the target was given, if that is known.
    pub input: Option<Input>,
    /// The reference answer.
    pub ground_truth: Option<GroundTruth>,
    /// Values for the placeholders of rubrics.
    pub rubric_vars: Map<String, Value>,
    /// The tags of the row.
    pub tags: Vec<String>,
    /// A rubric of its own.
    pub rubric: Option<String>,
    /// A file that holds a rubric of its own, relative to the suite's folder.
    pub rubric_path: Option<String>,
    /// The repetition of the target, from 0.
    pub trial: u32,
    /// The model that was run.
    pub model: Option<String>,
}

/// What the target was given.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// One message.
    Text(String),
    /// One message a turn.
    Turns(Vec<String>),
    /// Chat messages, as they were written.
    Messages(Value),
}

/// The reference answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroundTruth {
    /// One for the whole trajectory.
    Text(String),
    /// One for each turn.
    Turns(Vec<String>),
}

impl GroundTruth {
    /// The answer as text, or what it says of one turn.
    pub(crate) fn text(self, turn: Option<usize>) -> Option<String> {
        match (self, turn) {
            (Self::Text(text), _) => Some(text),
            (Self::Turns(turns), Some(turn)) => turns.into_iter().nth(turn),
            (Self::Turns(turns), None) => Some(Value::from(turns).to_string()),
        }
    }
}

/// What was recorded of a target for one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedAnswer {
    /// The whole trajectory.
    pub trajectory: Trajectory,
    /// The `output` of the row, where it has one.
    pub output: Option<String>,
}

impl RecordedAnswer {
    /// An answer of which nothing but its text is known.
    pub(super) fn of_output(output: String) -> Self {
        Self { trajectory: Trajectory::from_output(&output), output: Some(output) }
    }
}
