//! How one criterion of a rubric is judged: its question, what the answers mean, and the criteria that share its requests.

use std::sync::Arc;

use serde::Serialize;
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::scale::Scale;
use crate::expression::RowCondition;

/// How the criterion that a grader is gets judged.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCriterion {
    pub question: CriterionQuestion,
    /// Where it shares a request with others.
    pub batch: Option<Arc<CriteriaBatch>>,
}

/// Criteria in one request, as far as they are for a row.
#[derive(Clone, Debug, PartialEq)]
pub struct CriteriaBatch {
    /// What the judge reads before the questions; may be empty.
    pub preamble: String,
    /// In the order of the suite.
    pub criteria: Vec<BatchedCriterion>,
}

/// One of the criteria in a request.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchedCriterion {
    pub question: CriterionQuestion,
    /// What holds of the rows that it is for; none of one that is for all of the rubric.
    pub only: Option<RowCondition>,
}

/// The question of a criterion, and the answers to it.
#[derive(Clone, Debug, PartialEq)]
pub struct CriterionQuestion {
    /// A template.
    pub text: String,
    /// Set where it is one for yes or no; else it is scored.
    pub yes_no: Option<YesNo>,
    /// The range of its scores; none is 0..=1.
    pub scale: Option<Scale>,
}

/// A criterion that is a question for yes or no: what the answers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct YesNo {
    /// The answer that meets it: whether that is yes.
    pub expect: bool,
    /// Whether the judge may say that it does not apply.
    pub may_not_apply: bool,
    pub unsure: Unsure,
}

/// What it means that a judge cannot tell.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, EnumString, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Unsure {
    /// The criterion is not met.
    #[default]
    NotMet,
    /// It could not be judged.
    Error,
    /// It does not count.
    Skip,
}
