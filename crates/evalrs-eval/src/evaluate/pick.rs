//! Picks what is graded of a case out of what was recorded of it.

use super::submission::{Submission, no_submission};
use crate::dataset::fields::{RowProblem, RowSpec};
use crate::dataset::row::{OpenedRow, RowRecord};
use crate::dataset::{GroundTruth, RecordedAnswer};
use crate::extract::{ExtractError, ExtractFrom, Extractor};
use evalrs_base::path::Row;
use evalrs_trajectory::Trajectory;

/// An extractor made ready, or why it cannot be.
pub(crate) type Picker = Result<Extractor, ExtractError>;

/// Picks the submission of a case.
pub fn submission(record: RowRecord<'_>, spec: &RowSpec, extractor: &Picker) -> Submission {
    match submission_or_problem(record, spec, extractor) {
        Ok(submission) => submission,
        Err(problem) => no_submission(problem),
    }
}

fn submission_or_problem(
    record: RowRecord<'_>,
    spec: &RowSpec,
    extractor: &Picker,
) -> Result<Submission, RowProblem> {
    let opened = OpenedRow::new(record, spec)?;
    let recorded = match (opened.recorded(), extractor) {
        (Err(problem), Ok(extractor)) if problem.unanswered && extractor.reads_row() => {
            let trajectory = Trajectory::from_output("");
            return Ok(pick(
                &RecordedAnswer { trajectory, output: None },
                opened.row(),
                Ok(extractor),
            ));
        }
        (recorded, _) => recorded?,
    };
    let extractor = extractor.as_ref();
    if opened.may_be_per_turn()
        && let Some(GroundTruth::Turns(turns)) = opened.ground_truth()?
    {
        let pick_turn = |turn: usize| {
            let one = RecordedAnswer { trajectory: recorded.trajectory.turn(turn), output: None };
            pick(&one, opened.row(), extractor)
        };
        return Ok(Submission::Turns((0..turns.len()).map(pick_turn).collect()));
    }
    Ok(pick(&recorded, opened.row(), extractor))
}

fn pick(
    recorded: &RecordedAnswer,
    row: Row<'_>,
    extractor: Result<&Extractor, &ExtractError>,
) -> Submission {
    if recorded.trajectory.is_empty() {
        return Submission::NoMessages;
    }
    let from =
        ExtractFrom { trajectory: &recorded.trajectory, output: recorded.output.as_deref(), row };
    match extractor.map(|extractor| extractor.extract(&from)) {
        Ok(Ok(text)) => Submission::Text(text.into()),
        Ok(Err(error)) => Submission::Failed(error.to_string().into()),
        Err(error) => Submission::Failed(error.to_string().into()),
    }
}
