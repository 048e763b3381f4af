//! The parts of a case, or of one turn of it, that a grader gets: the input, the reference answer, the
//! rubric.

use std::borrow::Cow;

use serde_json::Value;

use super::case::{Case, RubricFiles, input_text, unreadable};
use super::ready::ReadyGrader;
use super::submission::Submission;
use crate::dataset::row::OpenedRow;
use crate::dataset::{GroundTruth, Input};
use crate::grade::{Grade, NO_GROUND_TRUTH};
use crate::judge::Judge;
use evalrs_base::file_text::FileText;
use evalrs_trajectory::Trajectory;

/// A case, or one turn of it. Of its row only what the grader needs is read.
pub(super) struct CasePart<'a> {
    pub case: &'a Case<'a>,
    pub row: &'a OpenedRow<'a>,
    pub turn: Option<usize>,
    /// That of the turn.
    pub submission: &'a Submission,
}

/// A trajectory, or one turn of it.
pub(super) fn part_of(trajectory: Trajectory, turn: Option<usize>) -> Trajectory {
    match turn {
        Some(turn) => trajectory.turn(turn),
        None => trajectory,
    }
}

impl CasePart<'_> {
    pub(super) fn input(&self) -> Result<String, Grade> {
        Ok(match (self.row.input().map_err(unreadable)?, self.turn) {
            (Some(Input::Turns(turns)), Some(turn)) => turns.get(turn).cloned().unwrap_or_default(),
            (input, _) => input.as_ref().map(input_text).unwrap_or_default(),
        })
    }

    /// The reference answer, or why there is none to be had.
    pub(super) fn ground_truth(&self, grader: &ReadyGrader) -> Result<Option<String>, Grade> {
        let whole = self.row_truth(grader)?.and_then(|truth| truth.text(self.turn));
        let (Some(pattern), Some(text)) = (&grader.reference, &whole) else { return Ok(whole) };
        match pattern.pick(text) {
            Ok(Some(picked)) => Ok(Some(picked.to_owned())),
            Ok(None) => Err(Grade::failed(
                NO_GROUND_TRUTH,
                "`ground_truth_pattern` does not match the ground truth",
            )),
            Err(problem) => Err(Grade::failed("ground_truth", problem.to_string())),
        }
    }

    /// The reference answer in the shape that the row has it in; where a pattern picks it, the text that was picked.
    pub(super) fn whole_truth(&self, grader: &ReadyGrader) -> Result<Option<Value>, Grade> {
        if grader.reference.is_some() {
            return Ok(self.ground_truth(grader)?.map(Value::from));
        }
        match &grader.ground_truth {
            Some(path) => Ok(self.row.row().get(path)),
            None => self.row.whole_truth(self.turn).map_err(unreadable),
        }
    }

    /// What the row says of the reference answer, where the grader looks for it.
    fn row_truth(&self, grader: &ReadyGrader) -> Result<Option<GroundTruth>, Grade> {
        let Some(path) = &grader.ground_truth else {
            return self.row.ground_truth().map_err(unreadable);
        };
        Ok(match self.row.row().get(path) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(GroundTruth::Text(text)),
            Some(other) => Some(GroundTruth::Text(other.to_string())),
        })
    }

    /// The rubric of this row: its own, a file of its own, else the grader's. None if the file is not read yet. No rubric of a row
    /// takes the place of a criterion.
    pub(super) fn template<'j>(
        &self,
        judge: &'j Judge,
        files: RubricFiles<'_>,
    ) -> Result<Option<Cow<'j, str>>, Grade> {
        if judge.rubric.criterion.is_some() {
            return Ok(Some(Cow::Borrowed(&judge.rubric.prompt)));
        }
        if let Some(rubric) = self.row.rubric().map_err(unreadable)? {
            return Ok(Some(rubric.into()));
        }
        let Some(path) = self.row.rubric_path().map_err(unreadable)? else {
            return Ok(Some(Cow::Borrowed(&judge.rubric.prompt)));
        };
        let why = match files(&path) {
            FileText::Text(text) => return Ok(Some(text.to_string().into())),
            FileText::Unread => return Ok(None),
            FileText::Missing => "no such file".to_owned(),
            FileText::Unreadable(reason) => reason,
            FileText::NoText(problem) => problem.message,
        };
        Err(Grade::failed("rubric", format!("cannot read the rubric `{path}`: {why}")))
    }
}
