//! What displays show of saves: a row for each, and what each changed in the text of rubrics.

use std::sync::Arc;

use super::overview::{ActionCounts, MetricRow};
use evalrs_metrics::gate::GateStatus;
use evalrs_model::outcome::Usage;

/// One save in the list of saves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SaveRow {
    /// Its number; 0 is the first evaluation.
    pub save: u32,
    /// The time of day, as `14:05`.
    pub time: String,
    /// The files that were saved.
    pub files: Vec<String>,
    /// One for each grader that it had, without a history. Agreement is with the labels of now where its verdicts are kept.
    pub metrics: Vec<MetricRow>,
    /// What the gate said; none without a gate.
    pub gate: Option<GateStatus>,
    /// What became of its judgments.
    pub actions: ActionCounts,
    /// What it had spent when the next one came.
    pub spent: Usage,
    /// Whether its verdicts are kept, so that they can be listed.
    pub has_verdicts: bool,
}

/// What a save changed in the text of a rubric; where it changed none, in a file of the suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubricChange {
    /// The graders it is the rubric of, or the path that rows name it by; else the file.
    pub rubrics: Vec<String>,
    /// Whether it is a file as it was written, and no rubric.
    pub is_file: bool,
    /// The text before; none where there was none.
    pub before: Option<Arc<str>>,
    /// The text now; none where there is none any more.
    pub now: Option<Arc<str>>,
}
