//! Which rows of a run are wanted, and in which order.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::columns::{CaseColumn, RowColumns, compared, shown};
use super::labels::RunLabels;
use super::queue::LabelQueue;
use super::rows::{CellVerdict, IndexedRow, RunRows, VerdictState};

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
    /// Only rows whose judges used at least so many tokens.
    pub tokens_min: Option<f64>,
    /// Only rows whose judges used at most so many.
    pub tokens_max: Option<f64>,
    /// Only rows whose judges cost at least so many US dollars.
    pub cost_min: Option<f64>,
    /// Only rows whose judges cost at most so many.
    pub cost_max: Option<f64>,
    /// Only rows whose answer took at least so many seconds.
    pub latency_min: Option<f64>,
    /// Only rows whose answer took at most so many.
    pub latency_max: Option<f64>,
    /// Only rows with at least so many calls of tools.
    pub tool_calls_min: Option<f64>,
    /// Only rows with at most so many.
    pub tool_calls_max: Option<f64>,
    /// Only rows with this value in their metadata: `metadata.KEY:VALUE`.
    #[serde(rename = "where")]
    #[param(rename = "where", value_type = Option<String>, pattern = r"^metadata\.[^,:]+:")]
    pub condition: Option<MetadataValue>,
    /// The columns that rows have beside grades, with commas between: `tokens`, `cost`, `latency`, `tool_calls`, `tags`, `input`,
    /// `ground_truth`, `metadata.KEY`.
    #[param(
        value_type = Option<String>,
        pattern = r"^((tokens|cost|latency|tool_calls|tags|input|ground_truth|metadata\.[^,:]+)(,(tokens|cost|latency|tool_calls|tags|input|ground_truth|metadata\.[^,:]+))*)?$"
    )]
    pub columns: ColumnList,
    /// What rows are sorted by: `line`, `id`, `score`, `queue` (what to label next) or a column. What has no value in it comes last.
    #[param(
        value_type = Option<String>,
        pattern = r"^(line|id|score|queue|tokens|cost|latency|tool_calls|tags|input|ground_truth|metadata\.[^,:]+)?$"
    )]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
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
    /// What they have in a column.
    Column(CaseColumn),
}

impl TryFrom<String> for RowSort {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Ok(match name.as_str() {
            "" | "line" => Self::Line,
            "id" => Self::Id,
            "score" => Self::Score,
            "queue" => Self::Queue,
            column => Self::Column(CaseColumn::named(column)?),
        })
    }
}

/// Columns, with commas between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ColumnList(pub Vec<CaseColumn>);

impl TryFrom<String> for ColumnList {
    type Error = String;

    fn try_from(names: String) -> Result<Self, String> {
        let names = names.split(',').filter(|name| !name.is_empty());
        Ok(Self(names.map(CaseColumn::named).collect::<Result<_, _>>()?))
    }
}

/// A value of a key of metadata.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct MetadataValue {
    /// That of the key.
    column: CaseColumn,
    value: String,
}

impl TryFrom<String> for MetadataValue {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = text.split_once(':').and_then(|(name, value)| {
            let column = CaseColumn::named(name)
                .ok()
                .filter(|column| matches!(column, CaseColumn::Metadata(_)))?;
            Some(Self { column, value: value.to_owned() })
        });
        read.ok_or_else(|| "`where` is not of the form `metadata.KEY:VALUE`".to_owned())
    }
}

/// The values of a column that are wanted.
struct ColumnRange {
    column: CaseColumn,
    min: Option<f64>,
    max: Option<f64>,
}

impl ColumnRange {
    /// What has no number lies in no range.
    fn has(&self, value: &Value) -> bool {
        let is_in = |number: f64| {
            self.min.is_none_or(|min| number >= min) && self.max.is_none_or(|max| number <= max)
        };
        value.as_f64().is_some_and(is_in)
    }
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
    /// Whether filters or order are about what only the suite says.
    pub(crate) fn needs_suite(&self) -> bool {
        let sorts = matches!(&self.sort, RowSort::Column(column) if column.is_of_suite());
        sorts || self.condition.is_some() || self.ranges().any(|range| range.column.is_of_suite())
    }

    /// The ranges that are set.
    fn ranges(&self) -> impl Iterator<Item = ColumnRange> {
        let range = |column: CaseColumn, min: Option<f64>, max: Option<f64>| ColumnRange {
            column,
            min,
            max,
        };
        let all = [
            range(CaseColumn::Tokens, self.tokens_min, self.tokens_max),
            range(CaseColumn::Cost, self.cost_min, self.cost_max),
            range(CaseColumn::Latency, self.latency_min, self.latency_max),
            range(CaseColumn::ToolCalls, self.tool_calls_min, self.tool_calls_max),
        ];
        all.into_iter().filter(|range| range.min.is_some() || range.max.is_some())
    }

    /// The ordinals of the rows that are wanted, in their order. `lines` are the numbers of those that have the text, and the
    /// tag: rows do not know that. `queue` is that of [`Self::queue`].
    pub(crate) fn select(
        &self,
        columns: &RowColumns,
        labels: &RunLabels,
        lines: &[Option<BTreeSet<u32>>],
        queue: Option<&LabelQueue>,
    ) -> Vec<usize> {
        let rows = &*columns.rows;
        let grader = self.grader.as_deref().and_then(|name| rows.grader(name));
        let model = self.model.as_deref();
        let ranges: Vec<ColumnRange> = self.ranges().collect();
        let is_wanted = |row: &IndexedRow| {
            model.is_none_or(|model| rows.model_of(row) == Some(model))
                && self.has_score(row, grader)
                && self.has_category(row, grader, rows, labels)
                && ranges.iter().all(|range| range.has(&columns.value(row, &range.column)))
                && self.condition.as_ref().is_none_or(|wanted| {
                    let value = columns.value(row, &wanted.column);
                    !value.is_null() && shown(&value) == wanted.value
                })
                && self.state.is_none_or(|state| is_of_state(state, row, grader, rows, labels))
                && lines.iter().flatten().all(|lines| lines.contains(&row.at))
        };
        let all = rows.rows.iter().enumerate();
        let mut wanted: Vec<usize> =
            all.filter(|(_, row)| is_wanted(row)).map(|(at, _)| at).collect();
        match &self.sort {
            RowSort::Line => {}
            RowSort::Id => {
                wanted.sort_by(|a, b| rows.rows[*a].sample_id.cmp(&rows.rows[*b].sample_id));
            }
            RowSort::Queue => queue.into_iter().for_each(|queue| queue.sort(&mut wanted)),
            RowSort::Score => wanted.sort_by(|a, b| {
                score(&rows.rows[*a], grader).total_cmp(&score(&rows.rows[*b], grader))
            }),
            RowSort::Column(column) => return self.by_column(wanted, columns, column),
        }
        if self.order == SortOrder::Desc {
            wanted.reverse();
        }
        wanted
    }

    /// What to label next, where rows are sorted by that.
    pub(crate) fn queue(&self, rows: &RunRows) -> Option<LabelQueue> {
        if self.sort != RowSort::Queue || rows.graders.is_empty() {
            return None;
        }
        let grader = self.grader.as_deref().and_then(|name| rows.grader(name)).unwrap_or(0);
        Some(LabelQueue::of(rows, grader))
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

    /// Rows in the order of a column; those without a value last, whichever end comes first.
    fn by_column(&self, rows: Vec<usize>, columns: &RowColumns, column: &CaseColumn) -> Vec<usize> {
        let value = |at: &usize| columns.value(&columns.rows.rows[*at], column);
        let all = rows.into_iter().map(|at| (value(&at), at));
        let mut known: Vec<(Value, usize)> = all.collect();
        known.sort_by(|(one, _), (other, _)| {
            let order = match self.order {
                SortOrder::Asc => compared(one, other),
                SortOrder::Desc => compared(other, one),
            };
            one.is_null().cmp(&other.is_null()).then(order)
        });
        known.into_iter().map(|(_, at)| at).collect()
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
        // What is held out has a label, too, though nobody sees it.
        WantedState::Unlabelled => {
            labels.lines(&rows.answer(row, *verdict), &rows.graders[at]).is_empty()
        }
    })
}

/// What a row is sorted by; what has no verdict comes before all that have one.
fn score(row: &IndexedRow, grader: Option<usize>) -> f64 {
    let scores = verdicts(row, grader)
        .map(|(_, verdict)| verdict.state.passed().map_or(-1.0, |_| verdict.score));
    scores.fold(f64::INFINITY, f64::min)
}
