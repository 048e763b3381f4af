//! Which rows a grader has something to say of: those that its `only` holds of, and that name it where they name graders.

use std::borrow::Cow;

use crate::dataset::fields::RowSpec;
use crate::dataset::row::{OpenedRow, RowRecord, may_name_graders};
use evalrs_model::expression::RowCondition;
use evalrs_model::spec::{GraderSpec, rubric_of};

/// A grader, and the rows that it is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraderScope {
    /// Its key in the suite, by which rows name it.
    pub name: String,
    /// What holds of its rows; none of a grader that is for all.
    pub only: Option<RowCondition>,
}

impl GraderScope {
    /// That of a grader of a suite.
    pub fn of(grader: &GraderSpec) -> Self {
        Self { name: grader.name.clone(), only: grader.only.clone() }
    }

    /// Why the grader has nothing to say of the row of a record, if so; a row is opened only where that may be.
    pub fn leaves_out_record(
        &self,
        record: RowRecord<'_>,
        spec: &RowSpec,
    ) -> Option<Cow<'static, str>> {
        if self.only.is_none() && !may_name_graders(record.row, spec) {
            return None;
        }
        self.leaves_out(&OpenedRow::new(record, spec).ok()?)
    }

    /// Why the grader has nothing to say of the row, if so.
    pub(crate) fn leaves_out(&self, row: &OpenedRow<'_>) -> Option<Cow<'static, str>> {
        let rubric = rubric_of(&self.name).map_or("", |(rubric, _)| rubric);
        let is_named = |named: &String| *named == self.name || named == rubric;
        if row.named_graders().is_some_and(|named| !named.iter().any(is_named)) {
            return Some("the row names other graders".into());
        }
        let condition = self.only.as_ref().filter(|condition| !row.holds(condition))?;
        Some(format!("not `{}`", condition.text()).into())
    }
}
