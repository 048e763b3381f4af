//! What a judge is shown of one submission, and the actions that ask it.
//!
//! A submission may get many ballots; its row is read once for all of them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::case::{Case, RubricFiles, unreadable};
use super::case_part::CasePart;
use super::planned::{BallotId, GradePlan};
use super::ready::{Method, ReadyGrader};
use super::submission::Submission;
use super::{pairwise, programs};
use crate::action::Action;
use crate::dataset::GroundTruth;
use crate::dataset::row::OpenedRow;
use crate::grade::Grade;
use crate::judge::batch::BatchedQuestions;
use crate::judge::question::{Order, Question};
use crate::judge::template::Placeholders;
use crate::judge::{AskedBallot, Judge, JudgeAction};
use evalrs_base::path::Row;
use evalrs_model::key::KeyVersion;
use evalrs_model::spec::EmbeddingSpec;

/// Everything the judges of a grader are shown of one submission.
struct JudgeInput<'a> {
    judge: &'a Judge,
    submission: &'a str,
    row: Row<'a>,
    template: Cow<'a, str>,
    /// The questions, where the request has several.
    several: Option<Question>,
    input: String,
    other: Option<String>,
    ground_truth: Option<String>,
    vars: Map<String, Value>,
}

impl<'a> JudgeInput<'a> {
    /// None if a file must be read first; a grade if the judges cannot be called.
    fn new(
        part: &CasePart<'a>,
        judge: &'a Judge,
        grader: &ReadyGrader,
        files: RubricFiles<'_>,
        submission: &'a str,
    ) -> Result<Option<Self>, Grade> {
        if let Some(embedding) = &judge.rubric.embedding {
            return Self::embedded(part, judge, grader, embedding, submission).map(Some);
        }
        let ground_truth = part.ground_truth(grader)?;
        let (template, several) = match judge.batched_questions(part.row) {
            Some(BatchedQuestions { template, question }) => (Cow::Owned(template), Some(question)),
            None => match part.template(judge, files)? {
                Some(template) => (template, None),
                None => return Ok(None),
            },
        };
        let compare_to = judge.rubric.compare_to.as_ref();
        Ok(Some(Self {
            judge,
            submission,
            row: part.row.row(),
            template,
            several,
            input: part.input()?,
            other: compare_to
                .map(|compare_to| pairwise::other_text(part, compare_to))
                .transpose()?,
            ground_truth,
            vars: part.row.rubric_vars().map_err(unreadable)?,
        }))
    }

    /// The same where the submission is embedded, and the reference beside it.
    fn embedded(
        part: &CasePart<'a>,
        judge: &'a Judge,
        grader: &ReadyGrader,
        embedding: &EmbeddingSpec,
        submission: &'a str,
    ) -> Result<Self, Grade> {
        let reference = match &embedding.value {
            Some(value) => Some(value.clone()),
            None => part.ground_truth(grader)?.filter(|text| !text.is_empty()),
        };
        if reference.is_none() {
            return Err(Grade::without_ground_truth("No ground_truth answer provided"));
        }
        Ok(Self {
            judge,
            submission,
            row: part.row.row(),
            template: Cow::Borrowed(""),
            several: None,
            input: String::new(),
            other: None,
            ground_truth: reference,
            vars: Map::new(),
        })
    }

    /// The text that a ballot embeds: the submission, then the reference.
    fn embedded_text(&self, ballot: u32) -> &str {
        match self.judge.ballot(ballot).order {
            Order::Forward => self.submission,
            Order::Reversed => self.ground_truth.as_deref().unwrap_or_default(),
        }
    }

    fn asked(&self, ballot: u32, version: KeyVersion) -> Result<AskedBallot<'_>, Grade> {
        let asked = match version {
            _ if self.judge.rubric.embedding.is_some() => {
                self.judge.embedded(self.embedded_text(ballot))
            }
            KeyVersion::Current => {
                let several = self.several.as_ref();
                self.judge.asked(&self.template, several, &self.placeholders(), ballot)
            }
            KeyVersion::Superseded => {
                self.judge.asked_before(&self.template, &self.placeholders(), ballot)
            }
        };
        asked.ok_or_else(|| Grade::failed("grader", "there is no such judge"))
    }

    fn placeholders(&self) -> Placeholders<'_> {
        Placeholders {
            input: &self.input,
            submission: self.submission,
            other: self.other.as_deref(),
            ground_truth: self.ground_truth.as_deref(),
            vars: &self.vars,
            row: self.row,
        }
    }
}

pub(super) fn plan(
    part: &CasePart<'_>,
    judge: &Judge,
    grader: &ReadyGrader,
    files: RubricFiles<'_>,
    text: &str,
) -> Result<GradePlan, Grade> {
    let Some(shown) = JudgeInput::new(part, judge, grader, files, text)? else {
        return Ok(GradePlan::Blocked);
    };
    let key = |ballot| shown.asked(ballot, KeyVersion::Current).map(|asked| asked.key());
    let first = judge.first_ballots();
    let confirming = judge.confirming_ballots();
    if (first, confirming) == (1, 0) {
        return Ok(GradePlan::Ask(key(0)?));
    }
    let keys = (0..first + confirming).map(key).collect::<Result<_, Grade>>()?;
    Ok(if confirming == 0 { GradePlan::Votes(keys) } else { GradePlan::Confirmed { first, keys } })
}

/// The judge calls of a case once its submission is there: every ballot, with an empty submission.
pub fn following(
    case: &Case<'_>,
    grader: &ReadyGrader,
    files: RubricFiles<'_>,
) -> Vec<(BallotId, JudgeAction)> {
    let Method::Judge(judge) = &grader.method else { return Vec::new() };
    if grader.scope.leaves_out_record(case.record, case.spec).is_some() {
        return Vec::new();
    }
    let turns = turns(case);
    let nothing = Submission::Text("".into());
    let submission = match turns {
        None => nothing,
        Some(turns) => Submission::Turns(vec![nothing; turns].into()),
    };
    let case = Case { submission: &submission, ..*case };
    let mut asked = Vec::new();
    for turn in 0..turns.unwrap_or(1) {
        for ballot in 0..judge.first_ballots() + judge.confirming_ballots() {
            let ballot = BallotId { turn, ballot };
            if let Some(Action::Judge(action)) =
                action(&case, grader, files, ballot, KeyVersion::Current)
            {
                asked.push((ballot, action));
            }
        }
    }
    asked
}

/// How many turns of a case are graded one by one; none where it is graded as a whole.
fn turns(case: &Case<'_>) -> Option<usize> {
    let opened = OpenedRow::new(case.record, case.spec).ok()?;
    match opened.ground_truth().ok()? {
        Some(GroundTruth::Turns(turns)) if opened.may_be_per_turn() => Some(turns.len()),
        _ => None,
    }
}

/// Renders one action of a case again, as it is in a version of keys: plans keep keys, not prompts.
pub fn action(
    case: &Case<'_>,
    grader: &ReadyGrader,
    files: RubricFiles<'_>,
    ballot: BallotId,
    version: KeyVersion,
) -> Option<Action> {
    let opened = OpenedRow::new(case.record, case.spec).ok()?;
    let (turn, submission) = match case.submission {
        Submission::Turns(turns) => (Some(ballot.turn), turns.get(ballot.turn)?),
        submission => (None, submission),
    };
    let part = CasePart { case, row: &opened, turn, submission };
    let Submission::Text(text) = submission else { return None };
    match &grader.method {
        Method::Judge(judge) => {
            let shown = JudgeInput::new(&part, judge, grader, files, text).ok()??;
            let asked = shown.asked(ballot.ballot, version);
            asked.ok().map(|asked| Action::Judge(asked.action()))
        }
        Method::Program(identity) => {
            programs::grading(&part, identity, grader, text).ok().map(Action::Program)
        }
        Method::Tool(_) | Method::Reward(_) | Method::Unread | Method::Broken(_) => None,
    }
}
