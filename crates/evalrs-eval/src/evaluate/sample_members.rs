//! The parts of a sample that a program gets because its suite lists them (`sees`).
//!
//! All of it is in the key of the call: where `sees` is empty a row's other keys, its model and its trial change no key.
//! Ids and trials are in no other key; a program that asks for them is called once for each.

use serde_json::{Map, Value};

use super::case_part::part_of;
use crate::dataset::fields::RowProblem;
use crate::dataset::row::OpenedRow;
use evalrs_model::spec::SampleMember;

/// The sample of a call, as far as it is known there.
pub(super) struct SampleSource<'a> {
    /// Its row.
    pub row: &'a OpenedRow<'a>,
    /// Which turn of it, where turns are graded by themselves.
    pub turn: Option<usize>,
    /// What is graded; none of a program that extracts it.
    pub submission: Option<&'a str>,
    /// The reference answer as text.
    pub hint: Option<&'a str>,
    /// The reference answer as the row has it.
    pub ground_truth: Option<Value>,
    /// Whether steps of sub-agents are seen.
    pub include_subagents: bool,
}

impl SampleSource<'_> {
    /// The members that a program `sees`; what there is none of is null.
    pub(super) fn members(&self, sees: &[SampleMember]) -> Result<Map<String, Value>, RowProblem> {
        let mut members = Map::new();
        for member in sees {
            members.insert(member.name().to_owned(), self.member(*member)?);
        }
        Ok(members)
    }

    fn member(&self, member: SampleMember) -> Result<Value, RowProblem> {
        Ok(match member {
            SampleMember::Row => self.row.row().value(),
            SampleMember::Id => self.row.identity()?.id.into(),
            SampleMember::Model => self.row.identity()?.model.into(),
            SampleMember::Trial => self.row.identity()?.trial.into(),
            SampleMember::Tags => self.row.identity()?.tags.into(),
            SampleMember::Submission | SampleMember::Output => self.submission.into(),
            SampleMember::GroundTruth => self.ground_truth.clone().unwrap_or_default(),
            SampleMember::Hint => self.hint.into(),
            SampleMember::Trajectory => part_of(self.row.recorded()?.trajectory, self.turn)
                .to_steps(self.include_subagents)
                .into(),
        })
    }
}
