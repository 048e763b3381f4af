//! Which rows of a run are wanted, and in which order.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::labels::RunLabels;
use super::queue::LabelQueue;
use super::rows::{CellVerdict, IndexedRow, RunRows, VerdictState};
use evalrs_model::spec::LabelPick;

/// A query of a list of rows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default)]
pub(crate) struct RowQuery {
    /// The grader that `state` and `sort` are about; else any of them.
    pub grader: Option<String>,
    /// Only rows that a grader, or the one named, says this of.
    #[param(inline)]
    pub state: Option<WantedState>,
    /// Only samples with this tag.
    pub tag: Option<String>,
    /// Only this model.
    pub model: Option<String>,
    /// Only rows whose id, input or submission has this text, whatever the case. `/…/` is a regular expression, and `-` before
    /// either leaves out what has it.
    pub q: Option<String>,
    /// Only rows with a score of at least this, by the grader or any.
    pub min: Option<f64>,
    /// Only rows with a score of at most this.
    pub max: Option<f64>,
    /// Only rows for which a person named this category beside a label.
    pub category: Option<String>,
    /// What rows are sorted by.
    #[param(inline)]
    pub sort: RowSort,
    /// Whether the largest comes first.
    #[param(inline)]
    pub order: SortOrder,
}

/// What rows may be wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(utoipa::ToSchema)]
pub(crate) enum WantedState {
    /// A verdict that passes.
    Passed,
    /// A verdict that does not.
    Failed,
    /// No verdict, for an error.
    Errored,
    /// No verdict yet.
    Pending,
    /// The grader has nothing to say of it.
    NotApplicable,
    /// The verdict and the label of a person differ.
    Disagrees,
    /// The verdict passes what a person fails.
    FalsePass,
    /// The verdict fails what a person passes.
    FalseFail,
    /// There is a human label.
    Labelled,
    /// Nobody has.
    Unlabelled,
    /// Some people say that it passes, others that it does not.
    Disputed,
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(utoipa::ToSchema)]
pub(crate) enum RowSort {
    /// Their places in the dataset.
    #[default]
    Line,
    /// The ids of their samples.
    Id,
    /// The score of the grader, else the lowest of all.
    Score,
    /// What to label next, for the grader, else the first: random answers and doubtful ones in turn.
    Queue,
}

/// Which end comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(utoipa::ToSchema)]
pub(crate) enum SortOrder {
    /// The smallest.
    #[default]
    Asc,
    /// The largest.
    Desc,
}

impl RowQuery {
    /// The ordinals of the rows that are wanted, in their order. `lines` are the numbers of those that have the text, and the
    /// tag: rows do not know that.
    pub(crate) fn select(
        &self,
        rows: &RunRows,
        labels: &RunLabels,
        lines: &[Option<BTreeSet<u32>>],
    ) -> Vec<usize> {
        let grader = self.grader.as_deref().and_then(|name| rows.grader(name));
        let model = self.model.as_deref();
        let is_wanted = |row: &IndexedRow| {
            model.is_none_or(|model| rows.model_of(row) == Some(model))
                && self.has_score(row, grader)
                && self.has_category(row, grader, rows, labels)
                && self.state.is_none_or(|state| is_of_state(state, row, grader, rows, labels))
                && lines.iter().flatten().all(|lines| lines.contains(&row.at))
        };
        let all = rows.rows.iter().enumerate();
        let mut wanted: Vec<usize> =
            all.filter(|(_, row)| is_wanted(row)).map(|(at, _)| at).collect();
        match self.sort {
            RowSort::Line => {}
            RowSort::Id => {
                wanted.sort_by(|a, b| rows.rows[*a].sample_id.cmp(&rows.rows[*b].sample_id));
            }
            RowSort::Queue if rows.graders.is_empty() => {}
            RowSort::Queue => LabelQueue::of(rows, grader.unwrap_or(0)).sort(&mut wanted),
            RowSort::Score => wanted.sort_by(|a, b| {
                score(&rows.rows[*a], grader).total_cmp(&score(&rows.rows[*b], grader))
            }),
        }
        if self.order == SortOrder::Desc {
            wanted.reverse();
        }
        wanted
    }

    /// Why a row of a list in the order `queue` is to be labelled.
    pub(crate) fn picked(&self, rows: &RunRows, ordinal: usize) -> Option<LabelPick> {
        if self.sort != RowSort::Queue || rows.graders.is_empty() {
            return None;
        }
        let grader = self.grader.as_deref().and_then(|name| rows.grader(name)).unwrap_or(0);
        LabelQueue::of(rows, grader).place(ordinal).map(|place| place.picked)
    }

    /// Whether a person named the category that is wanted.
    fn has_category(
        &self,
        row: &IndexedRow,
        grader: Option<usize>,
        rows: &RunRows,
        labels: &RunLabels,
    ) -> bool {
        self.category.as_deref().is_none_or(|wanted| {
            verdicts(row, grader).any(|(at, verdict)| {
                let people = rows.people(row, &rows.graders[at], *verdict, labels).people;
                people.iter().any(|one| one.category() == Some(wanted))
            })
        })
    }

    /// Whether a verdict lies in the range that is wanted. What has no verdict lies in none.
    fn has_score(&self, row: &IndexedRow, grader: Option<usize>) -> bool {
        if self.min.is_none() && self.max.is_none() {
            return true;
        }
        let range = self.min.unwrap_or(f64::NEG_INFINITY)..=self.max.unwrap_or(f64::INFINITY);
        let known = verdicts(row, grader).filter(|(_, verdict)| verdict.state.passed().is_some());
        known.map(|(_, verdict)| verdict.score).any(|score| range.contains(&score))
    }
}

/// The verdicts that a query is about: that of its grader, else all, with their ordinals.
fn verdicts(
    row: &IndexedRow,
    grader: Option<usize>,
) -> impl Iterator<Item = (usize, &CellVerdict)> {
    row.verdicts.iter().enumerate().filter(move |(at, _)| grader.is_none_or(|wanted| wanted == *at))
}

fn is_of_state(
    state: WantedState,
    row: &IndexedRow,
    grader: Option<usize>,
    rows: &RunRows,
    labels: &RunLabels,
) -> bool {
    let said =
        |at: usize, verdict: &CellVerdict| rows.people(row, &rows.graders[at], *verdict, labels);
    let disagrees = |at: usize, verdict: &CellVerdict| {
        said(at, verdict).label.is_some_and(|label| label.agrees == Some(false))
    };
    verdicts(row, grader).any(|(at, verdict)| match state {
        WantedState::Passed => verdict.state == VerdictState::Passed,
        WantedState::Failed => verdict.state == VerdictState::Failed,
        WantedState::Errored => verdict.state == VerdictState::Errored,
        WantedState::Pending => verdict.state == VerdictState::Pending,
        WantedState::NotApplicable => verdict.state == VerdictState::NotApplicable,
        WantedState::Disagrees => disagrees(at, verdict),
        WantedState::FalsePass => verdict.state == VerdictState::Passed && disagrees(at, verdict),
        WantedState::FalseFail => verdict.state == VerdictState::Failed && disagrees(at, verdict),
        WantedState::Disputed => said(at, verdict).disputed,
        WantedState::Labelled => !said(at, verdict).people.is_empty(),
        WantedState::Unlabelled => said(at, verdict).people.is_empty(),
    })
}

/// What a row is sorted by; what has no verdict comes before all that have one.
fn score(row: &IndexedRow, grader: Option<usize>) -> f64 {
    let scores = verdicts(row, grader)
        .map(|(_, verdict)| verdict.state.passed().map_or(-1.0, |_| verdict.score));
    scores.fold(f64::INFINITY, f64::min)
}
