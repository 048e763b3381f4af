//! The results of a run: pages of rows, and single cases with all that is known of them.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::answer::{
    AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, ListPage, Params,
};
use super::case_contexts::{case_context, suite_facts, tagged};
use super::served::{ServedWorkspace, beside};
use crate::view::case::{CaseContext, CasePlaceView, CaseView, ListPlaceView, case};
use crate::view::columns::{CaseColumn, RowColumns};
use crate::view::labels::RunLabels;
use crate::view::lines::{each_result, parsed};
use crate::view::query::{RowQuery, RowSort};
use crate::view::queue::LabelQueue;
use crate::view::rows::{IndexedRow, RowView, RunRows};
use crate::view::suite_facts::SuiteFacts;
use crate::view::text_search::TextSearch;
use evalrs_base::ordered_map::OrderedMap;
use evalrs_metrics::diff::CaseName;
use evalrs_store::record::read::PastRun;
use evalrs_system::os::OsSystem;

/// Rows of a run.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SampleList {
    samples: Vec<RowView>,
    /// How many are here.
    count: usize,
    /// How many there are.
    total: usize,
}

/// Lists the results of a run, filtered and sorted.
#[utoipa::path(get, path = "/api/runs/{id}/samples", tag = "runs",
    params(("id" = String, Path), RowQuery, ListPage), responses(
    (status = 200, body = Envelope<SampleList>),
    (status = 400, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn list_samples(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(id): AddressNames<String>,
    Params(query): Params<RowQuery>,
    Params(page): Params<ListPage>,
) -> ApiAnswer<SampleList> {
    beside(move || {
        let page = page.checked()?;
        let list = RunCaseList::open(&served, &id, &query)?;
        let selected = list.select(&query)?;
        let shown = page.of(&selected)?;
        let samples: Vec<RowView> = shown.into_iter().map(|at| list.view(*at, &query)).collect();
        Ok(Data(SampleList { count: samples.len(), samples, total: selected.len() }))
    })
    .await
}

/// The cases of a run that a query wants.
pub(super) fn selected_cases(
    served: &ServedWorkspace,
    run: &PastRun,
    query: &RowQuery,
) -> Result<HashSet<CaseName>, ApiError> {
    let list = RunCaseList::open(served, &run.id, query)?;
    let rows = &list.columns.rows;
    let name = |at: usize| {
        let row = &rows.rows[at];
        CaseName {
            sample_id: row.sample_id.to_string(),
            model: rows.model_of(row).map(str::to_owned),
            trial: row.trial,
        }
    };
    Ok(list.select(query)?.into_iter().map(name).collect())
}

/// The rows of a run, with what is known of them now.
pub(super) struct RunCaseList<'a> {
    served: &'a ServedWorkspace,
    pub run: PastRun,
    pub columns: RowColumns,
    pub labels: RunLabels,
    /// What to label next, where a query sorts by that.
    queue: Option<LabelQueue>,
}

impl<'a> RunCaseList<'a> {
    /// Those of the run with an id, with the columns that a query needs.
    fn open(served: &'a ServedWorkspace, id: &str, query: &RowQuery) -> Result<Self, ApiError> {
        Self::with_columns(served, id, query, &[])
    }

    /// The same, with further columns. Of those that a query only shows, nothing is said where the suite is not served.
    pub(crate) fn with_columns(
        served: &'a ServedWorkspace,
        id: &str,
        query: &RowQuery,
        others: &[CaseColumn],
    ) -> Result<Self, ApiError> {
        let run = served.run(id)?;
        let is_needed = query.needs_suite() || others.iter().any(CaseColumn::is_of_suite);
        let is_shown = query.columns.0.iter().any(CaseColumn::is_of_suite);
        let facts = match facts_of(served, &run, is_needed || is_shown) {
            Err(_) if !is_needed => None,
            facts => facts?,
        };
        let rows = served.rows(&run);
        let labels = served.labels(&run, &rows);
        let queue = query.queue(&rows);
        Ok(Self { served, run, columns: RowColumns { rows, facts }, labels, queue })
    }

    /// A row as lists show it, with the columns that a query names.
    fn view(&self, at: usize, query: &RowQuery) -> RowView {
        let row = &self.columns.rows.rows[at];
        let chosen = query.columns.0.iter();
        let columns = chosen.map(|column| (column.name(), self.columns.value(row, column)));
        let mut view = self.columns.rows.view(row, &self.labels);
        view.columns = OrderedMap(columns.collect());
        view
    }

    /// The ordinals of the rows that a query wants.
    pub(crate) fn select(&self, query: &RowQuery) -> Result<Vec<usize>, ApiError> {
        let Self { served, run, columns, labels, queue } = self;
        let rows = &columns.rows;
        if let Some(name) = query.grader.as_ref().filter(|name| rows.grader(name).is_none()) {
            return Err(ApiError::not_found(format!("the run has no grader `{name}`")));
        }
        let text = query.q.as_deref().filter(|text| !text.is_empty());
        let search = text.map(TextSearch::parse).transpose();
        let search = search.map_err(|wrong| ApiError::bad_request(format!("`q`: {wrong}")))?;
        let with_text = search.map(|search| lines_with(run, &search));
        let ids = query.tag.as_deref().map(|tag| tagged(served, run, tag)).transpose()?;
        let with_tag = ids.map(|ids| {
            let own = rows.rows.iter().filter(|row| ids.contains(row.sample_id.as_ref()));
            own.map(|row| row.at).collect()
        });
        Ok(query.select(columns, labels, &[with_text, with_tag], queue.as_ref()))
    }
}

/// What the suite of a run says of its cases, if that is wanted.
pub(super) fn facts_of(
    served: &ServedWorkspace,
    run: &PastRun,
    is_wanted: bool,
) -> Result<Option<Arc<SuiteFacts>>, ApiError> {
    is_wanted.then(|| suite_facts(served, run)).transpose()
}

/// What of a line is looked through.
#[derive(Deserialize)]
struct SearchedLine {
    sample_id: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    submission: String,
    #[serde(default)]
    submissions: Map<String, Value>,
}

/// The numbers of the lines whose id, input or submissions a search wants.
fn lines_with(run: &PastRun, search: &TextSearch) -> BTreeSet<u32> {
    let found = parsed(&OsSystem, run, &|at, bytes| {
        let line = serde_json::from_slice::<SearchedLine>(bytes).ok()?;
        let input = match line.input {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let submissions = line.submissions.values().filter_map(Value::as_str);
        let once = [line.sample_id.as_str(), input.as_str(), line.submission.as_str()];
        search.wants(once.into_iter().chain(submissions)).then_some(at)
    });
    found.into_iter().flatten().collect()
}

/// Which result of a sample.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(super) struct CaseQuery {
    /// The repetition, from 0; else the first.
    trial: Option<u32>,
    /// Whether only what the record says is shown: without conversation, tags and judgments, for which the row is read again.
    brief: bool,
}

/// Shows a result with all that is known of it. With the query of a list, `previous` and `next` are those of that list.
#[utoipa::path(get, path = "/api/runs/{id}/samples/{sample}", tag = "runs",
    params(("id" = String, Path), ("sample" = String, Path), CaseQuery, RowQuery), responses(
    (status = 200, body = Envelope<CaseView>),
    (status = 400, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn get_sample(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(place): AddressNames<SamplePlace>,
    Params(which): Params<CaseQuery>,
    Params(query): Params<RowQuery>,
) -> ApiAnswer<CaseView> {
    beside(move || {
        // A model in the address says which result, and not that others are left out.
        let query_of_list = RowQuery { model: None, ..query.clone() };
        let list = RunCaseList::open(&served, &place.id, &query_of_list)?;
        let RunCaseList { run, labels, columns: RowColumns { rows, .. }, .. } = &list;
        let mut of_sample = rows.of_sample(&place.sample, query.model.as_deref(), which.trial);
        let unknown = || ApiError::not_found("no such sample in the run");
        let row = of_sample.next().ok_or_else(unknown)?;
        let line = recorded_line(run, row.at).ok_or_else(unknown)?;
        let context = if which.brief {
            CaseContext::default()
        } else {
            case_context(&served, run, rows, row, &line)
        };
        let mut view = case(rows, row, &line, labels, context);
        let selected = list.select(&query_of_list)?;
        if let Some(at) = selected.iter().position(|at| rows.rows[*at].at == row.at) {
            let place = |at: &usize| place_of(rows, &rows.rows[*at]);
            view.previous = at.checked_sub(1).and_then(|at| selected.get(at)).map(place);
            view.next = selected.get(at + 1).map(place);
            let queued = list.queue.as_ref().and_then(|queue| queue.place(selected[at]));
            let picked = queued.map(|place| place.picked.name());
            view.list = Some(ListPlaceView { at, total: selected.len(), picked });
        } else {
            // It has left the list, as a label does; the one that took its place comes next.
            let after = match query.sort {
                RowSort::Queue => selected.first(),
                _ => selected.iter().find(|at| rows.rows[**at].at > row.at),
            };
            view.next = after.map(|at| place_of(rows, &rows.rows[*at]));
        }
        Ok(Data(view))
    })
    .await
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct SamplePlace {
    pub id: String,
    pub sample: String,
}

fn place_of(rows: &RunRows, row: &IndexedRow) -> CasePlaceView {
    CasePlaceView {
        sample_id: row.sample_id.to_string(),
        model: rows.model_of(row).map(str::to_owned),
        trial: row.trial,
    }
}

/// A line of the results of a run.
fn recorded_line(run: &PastRun, wanted: u32) -> Option<Map<String, Value>> {
    let mut found = None;
    each_result(&OsSystem, run, &mut |at, bytes| {
        if at == wanted {
            found = serde_json::from_slice(bytes).ok();
        }
    });
    found
}
