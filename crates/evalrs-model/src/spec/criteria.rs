//! What a suite says of a rubric that is taken apart: its criteria, and how their verdicts become one score.
//!
//! Each criterion is a grader of its own, `rubric.criterion`, with an action of its own. So nothing that is here is in a key:
//! names, weights and the combination only decide what is made of verdicts.

use std::sync::Arc;

use super::criterion::{BatchedCriterion, CriteriaBatch, CriterionQuestion};
use crate::expression::{Expression, RowCondition};

/// What the criteria of a rubric say together.
#[derive(Clone, Debug, PartialEq)]
pub struct CriteriaSpec {
    /// What every judge is told before the question; may be empty.
    pub preamble: String,
    /// In the order of the suite, at least one.
    pub criteria: Vec<CriterionSpec>,
    pub combine: CombinedCriteria,
    pub batching: CriteriaPerRequest,
}

/// How many criteria one request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CriteriaPerRequest {
    /// At most this many, at least 1.
    AtMost(usize),
    /// All that are for the row.
    Together,
}

impl CriteriaPerRequest {
    /// One criterion a request.
    pub const EACH: Self = Self::AtMost(1);
}

impl std::fmt::Display for CriteriaPerRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::EACH => f.write_str("each"),
            Self::AtMost(most) => write!(f, "{most}"),
            Self::Together => f.write_str("together"),
        }
    }
}

impl CriteriaSpec {
    /// Criterion by criterion the ones that it shares requests with, where `questions` are those of all.
    pub fn batches(&self, questions: &[CriterionQuestion]) -> Vec<Option<Arc<CriteriaBatch>>> {
        let most = match self.batching {
            CriteriaPerRequest::EACH => return vec![None; questions.len()],
            CriteriaPerRequest::AtMost(most) => most.max(1),
            CriteriaPerRequest::Together => questions.len().max(1),
        };
        let conditions = self.criteria.iter().map(|criterion| criterion.only.clone());
        let criteria = questions.iter().cloned().zip(conditions);
        let criteria: Vec<BatchedCriterion> =
            criteria.map(|(question, only)| BatchedCriterion { question, only }).collect();
        let of_some = |some: &[BatchedCriterion]| {
            let preamble = self.preamble.trim_end().to_owned();
            let batch = Arc::new(CriteriaBatch { preamble, criteria: some.to_vec() });
            vec![Some(batch); some.len()]
        };
        criteria.chunks(most).flat_map(of_some).collect()
    }

    /// The names of the graders that they are, in the rubric `rubric`.
    pub fn graders(&self, rubric: &str) -> impl Iterator<Item = String> {
        self.criteria.iter().map(move |criterion| grader_of(rubric, &criterion.name))
    }
}

/// The name of the grader that a criterion of `rubric` is.
pub fn grader_of(rubric: &str, criterion: &str) -> String {
    format!("{rubric}.{criterion}")
}

/// The rubric and the criterion in the name of a grader, if it is one of a criterion.
pub fn rubric_of(grader: &str) -> Option<(&str, &str)> {
    grader.rsplit_once('.')
}

/// What one criterion counts for.
#[derive(Clone, Debug, PartialEq)]
pub struct CriterionSpec {
    /// Its name in its rubric.
    pub name: String,
    /// The question for the judge.
    pub question: String,
    /// What holds of the rows that it is for; none of one that is for all of the rubric.
    pub only: Option<RowCondition>,
    /// Greater than 0.
    pub weight: f64,
    /// Whether a submission that does not meet it has the score 0.
    pub is_required: bool,
    /// The least score that meets it, 0..=1.
    pub pass_threshold: f64,
}

/// How the scores of criteria become one, 0..=1.
#[derive(Clone, Debug, PartialEq)]
pub enum CombinedCriteria {
    /// Their mean by weight.
    Weighted,
    /// Their mean, each as much.
    Mean,
    /// 1 if each is met, else 0.
    All,
    /// 1 if one is met, else 0.
    Any,
    /// An expression over their scores.
    Expression(Expression),
}

impl CombinedCriteria {
    /// As it is written in a suite.
    pub fn text(&self) -> &str {
        match self {
            Self::Weighted => "weighted",
            Self::Mean => "mean",
            Self::All => "all",
            Self::Any => "any",
            Self::Expression(expression) => &expression.text,
        }
    }
}
