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
use super::case_contexts::{case_context, tagged};
use super::served::{ServedWorkspace, beside};
use crate::view::case::{CaseContext, CasePlaceView, CaseView, ListPlaceView, case};
use crate::view::labels::RunLabels;
use crate::view::lines::{each_result, parsed};
use crate::view::query::{RowQuery, RowSort};
use crate::view::rows::{IndexedRow, RowView, RunRows};
use crate::view::text_search::TextSearch;
use evalrs_metrics::diff::CaseName;
use evalrs_model::spec::LabelPick;
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
        let run = served.run(&id)?;
        let rows = served.rows(&run);
        let labels = served.labels(&run, &rows);
        let selected = select(&query, &served, &run, &rows, &labels)?;
        let shown = page.of(&selected)?;
        let samples: Vec<RowView> =
            shown.into_iter().map(|at| rows.view(&rows.rows[*at], &labels)).collect();
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
    let rows = served.rows(run);
    let labels = served.labels(run, &rows);
    let selected = select(query, served, run, &rows, &labels)?;
    let name = |at: usize| {
        let row = &rows.rows[at];
        CaseName {
            sample_id: row.sample_id.to_string(),
            model: rows.model_of(row).map(str::to_owned),
            trial: row.trial,
        }
    };
    Ok(selected.into_iter().map(name).collect())
}

/// The ordinals of the rows that a query wants.
fn select(
    query: &RowQuery,
    served: &ServedWorkspace,
    run: &PastRun,
    rows: &RunRows,
    labels: &RunLabels,
) -> Result<Vec<usize>, ApiError> {
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
    Ok(query.select(rows, labels, &[with_text, with_tag]))
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
        let run = served.run(&place.id)?;
        let rows = served.rows(&run);
        let mut of_sample = rows.of_sample(&place.sample, query.model.as_deref(), which.trial);
        let unknown = || ApiError::not_found("no such sample in the run");
        let row = of_sample.next().ok_or_else(unknown)?;
        let line = recorded_line(&run, row.at).ok_or_else(unknown)?;
        let labels = served.labels(&run, &rows);
        let context = if which.brief {
            CaseContext::default()
        } else {
            case_context(&served, &run, &rows, row, &line)
        };
        let mut view = case(&rows, row, &line, &labels, context);
        // A model in the address says which result, and not that others are left out.
        let list = RowQuery { model: None, ..query.clone() };
        let selected = select(&list, &served, &run, &rows, &labels)?;
        if let Some(at) = selected.iter().position(|at| rows.rows[*at].at == row.at) {
            let place = |at: &usize| place_of(&rows, &rows.rows[*at]);
            view.previous = at.checked_sub(1).and_then(|at| selected.get(at)).map(place);
            view.next = selected.get(at + 1).map(place);
            let picked = query.picked(&rows, selected[at]).map(LabelPick::name);
            view.list = Some(ListPlaceView { at, total: selected.len(), picked });
        } else {
            // It has left the list, as a label does; the one that took its place comes next.
            let after = match query.sort {
                RowSort::Queue => selected.first(),
                _ => selected.iter().find(|at| rows.rows[**at].at > row.at),
            };
            view.next = after.map(|at| place_of(&rows, &rows.rows[*at]));
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
