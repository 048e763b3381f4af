//! Several criteria in one request: which of them a row is sent, and how they are written.

use std::fmt::Write;
use std::sync::Arc;

use super::question::{NamedQuestion, Question};
use crate::dataset::row::OpenedRow;
use evalrs_model::spec::{BatchedCriterion, CriteriaBatch, RubricSpec};

/// The questions that one row is sent.
pub(crate) struct BatchedQuestions {
    /// Their text, which takes the place of a rubric.
    pub template: String,
    pub question: Question,
}

impl BatchedQuestions {
    /// Those of the criteria that are for `row`.
    pub(crate) fn of(batch: &CriteriaBatch, row: &OpenedRow<'_>) -> Self {
        let is_for = |one: &&BatchedCriterion| one.only.as_ref().is_none_or(|only| row.holds(only));
        let mut template = batch.preamble.clone();
        if !template.is_empty() {
            template.push_str("\n\n");
        }
        let mut all: Vec<NamedQuestion> = Vec::new();
        for one in batch.criteria.iter().filter(is_for) {
            let named = NamedQuestion::of_criterion(&one.question);
            // The same question twice is one: both criteria read its answer.
            if all.iter().any(|known| known.name == named.name) {
                continue;
            }
            let between = if all.is_empty() { "" } else { "\n" };
            let text = one.question.text.trim_end();
            let _ = write!(template, "{between}{}: {text}", named.name);
            all.push(named);
        }
        Self { template, question: Question::Several(Arc::from(all)) }
    }
}

/// How a judge finds its answer in a reply to several questions.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchedAnswer {
    pub own: NamedQuestion,
    /// All questions that a request may have.
    pub all: Vec<NamedQuestion>,
}

impl BatchedAnswer {
    pub(super) fn of(rubric: &RubricSpec) -> Option<Self> {
        let criterion = rubric.criterion.as_ref()?;
        let all = criterion.batch.as_ref()?.criteria.iter();
        Some(Self {
            own: NamedQuestion::of_criterion(&criterion.question),
            all: all.map(|one| NamedQuestion::of_criterion(&one.question)).collect(),
        })
    }
}
