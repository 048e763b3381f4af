//! Several criteria in one request: which of them a row is sent, and how they are written.

use std::fmt::Write;
use std::sync::Arc;

use super::question::{NamedQuestion, Question};
use crate::dataset::row::OpenedRow;
use evalrs_model::spec::{CriteriaBatch, RubricSpec};

/// The questions that one row is sent.
pub(crate) struct BatchedQuestions {
    /// Their text, which takes the place of a rubric.
    pub template: String,
    pub question: Question,
}

impl BatchedQuestions {
    /// Those of the criteria that are for `row`. `named` are the questions of all.
    pub(super) fn of(batch: &CriteriaBatch, named: &[NamedQuestion], row: &OpenedRow<'_>) -> Self {
        let mut template = batch.preamble.clone();
        if !template.is_empty() {
            template.push_str("\n\n");
        }
        let mut sent: Vec<NamedQuestion> = Vec::new();
        for (criterion, named) in batch.criteria.iter().zip(named) {
            let is_for_row = criterion.only.as_ref().is_none_or(|only| row.holds(only));
            // The same question twice is one: both criteria read its answer.
            if !is_for_row || sent.contains(named) {
                continue;
            }
            let between = if sent.is_empty() { "" } else { "\n" };
            let text = criterion.question.text.trim_end();
            let _ = write!(template, "{between}{}: {text}", named.name);
            sent.push(named.clone());
        }
        Self { template, question: Question::Several(Arc::from(sent)) }
    }
}

/// How a judge finds its answer in a reply to several questions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BatchedAnswers {
    pub own: NamedQuestion,
    /// Those of all criteria that a request may have, in their order.
    pub all: Vec<NamedQuestion>,
}

impl BatchedAnswers {
    pub(super) fn of(rubric: &RubricSpec) -> Option<Self> {
        let criterion = rubric.criterion.as_ref()?;
        let all = criterion.batch.as_ref()?.criteria.iter();
        Some(Self {
            own: NamedQuestion::of_criterion(&criterion.question),
            all: all.map(|one| NamedQuestion::of_criterion(&one.question)).collect(),
        })
    }
}
