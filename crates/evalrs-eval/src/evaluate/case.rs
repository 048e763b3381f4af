//! One case as its graders see it.

use serde_json::json;

use super::baseline::RecordedSubmission;
use super::submission::Submission;
use crate::dataset::Input;
use crate::dataset::fields::{RowProblem, RowSpec};
use crate::dataset::row::RowRecord;
use crate::grade::{ConversationCost, Grade};
use crate::votes::GivenVotes;
use evalrs_base::file_text::FileText;

/// One case as its graders see it.
#[derive(Debug)]
pub struct Case<'a> {
    /// The record.
    pub record: RowRecord<'a>,
    /// How records are read.
    pub spec: &'a RowSpec,
    /// What the extractor picked.
    pub submission: &'a Submission,
    /// What the recorded run that the grader compares with submitted for it, if it did.
    pub baseline: Option<&'a RecordedSubmission>,
    /// What a file of votes has on it, if the grader reads one.
    pub votes: Option<&'a GivenVotes>,
    /// What its conversation cost, if the grader reads that and its target is run.
    pub cost: Option<&'a ConversationCost>,
}

/// Where a plan finds the text of a row's own rubric file.
pub(crate) type RubricFiles<'a> = &'a dyn Fn(&str) -> FileText;

/// The grade of a row that cannot be read: suites with such rows do not run, this keeps plans total.
pub(super) fn unreadable(problem: RowProblem) -> Grade {
    Grade::failed("data", problem.message)
}

/// The text of an input: as it is, or as JSON text if it is a list.
pub(super) fn input_text(input: &Input) -> String {
    match input {
        Input::Text(text) => text.clone(),
        Input::Turns(turns) => json!(turns).to_string(),
        Input::Messages(messages) => messages.to_string(),
    }
}
