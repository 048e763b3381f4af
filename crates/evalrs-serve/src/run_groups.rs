//! The results of a run in groups, and two numbers of them against each other.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::answer::{AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, Params};
use super::samples::RunCaseList;
use super::served::{ServedWorkspace, beside};
use crate::view::columns::CaseColumn;
use crate::view::groups::{GroupKey, GroupView};
use crate::view::query::RowQuery;
use crate::view::scatter::{Axes, ScatterView};

/// Groups of results.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct GroupList {
    /// The largest first, at most 200.
    groups: Vec<GroupView>,
    /// How many there are.
    total: usize,
}

/// What groups are made by.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct GroupQuery {
    /// `model`, `tags` or `metadata.KEY`.
    #[param(value_type = String, pattern = r"^(model|tags|metadata\.[^,:]+)$")]
    by: GroupKey,
}

/// Groups the results of a run, filtered as their list, with the mean, failures and agreement of each grader.
#[utoipa::path(get, path = "/api/runs/{id}/groups", tag = "runs",
    params(("id" = String, Path), GroupQuery, RowQuery), responses(
    (status = 200, body = Envelope<GroupList>),
    (status = 400, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn list_groups(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(id): AddressNames<String>,
    Params(GroupQuery { by }): Params<GroupQuery>,
    Params(query): Params<RowQuery>,
) -> ApiAnswer<GroupList> {
    beside(move || {
        let column = match &by {
            GroupKey::Model => None,
            GroupKey::Column(column) => Some(column.clone()),
        };
        let list = RunCaseList::with_columns(&served, &id, &query, column.as_slice())?;
        let found = list.columns.groups(&list.select(&query)?, &by, &list.labels);
        Ok(Data(GroupList { groups: found.groups, total: found.total }))
    })
    .await
}

/// Which two numbers.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ScatterQuery {
    /// A grader, or a column of numbers: `tokens`, `cost`, `latency`, `tool_calls`, `metadata.KEY`.
    x: String,
    /// Another one.
    y: String,
}

/// Tells two numbers of the results of a run, filtered as their list.
#[utoipa::path(get, path = "/api/runs/{id}/scatter", tag = "runs",
    params(("id" = String, Path), ScatterQuery, RowQuery), responses(
    (status = 200, body = Envelope<ScatterView>),
    (status = 400, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn scatter(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(id): AddressNames<String>,
    Params(axes): Params<ScatterQuery>,
    Params(query): Params<RowQuery>,
) -> ApiAnswer<ScatterView> {
    beside(move || {
        let names = [&axes.x, &axes.y];
        let columns: Vec<CaseColumn> =
            names.into_iter().filter_map(|name| CaseColumn::named(name).ok()).collect();
        let list = RunCaseList::with_columns(&served, &id, &query, &columns)?;
        let axis = |name: &str| {
            let unknown =
                || ApiError::not_found(format!("the run has no grader or number `{name}`"));
            list.columns.axis(name).ok_or_else(unknown)
        };
        let axes = Axes { x: axis(&axes.x)?, y: axis(&axes.y)? };
        Ok(Data(list.columns.scatter(&list.select(&query)?, &axes)))
    })
    .await
}
