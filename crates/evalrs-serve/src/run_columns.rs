//! Which columns the list of a run's cases can have.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::{AddressNames, ApiAnswer, Data, Envelope, ErrorEnvelope};
use super::samples::facts_of;
use super::served::{ServedWorkspace, beside};
use crate::view::columns::{KnownColumn, RowColumns};

/// The columns that the list of a run's cases can have.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ColumnsView {
    /// Those of which some result has something, and of metadata those of the first 30 keys.
    columns: Vec<KnownColumn>,
    /// Why there are none of what the suite says, where it is not served.
    note: Option<String>,
}

/// Lists the columns that the list of a run's cases can have: what is recorded, and what the suite says of its rows.
#[utoipa::path(get, path = "/api/runs/{id}/columns", tag = "runs",
    params(("id" = String, Path)), responses(
    (status = 200, body = Envelope<ColumnsView>),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn list_columns(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(id): AddressNames<String>,
) -> ApiAnswer<ColumnsView> {
    beside(move || {
        let run = served.run(&id)?;
        let facts = facts_of(&served, &run, true);
        let note = facts.as_ref().err().map(|why| why.message().to_owned());
        let facts = facts.unwrap_or_default();
        let rows = served.rows(&run);
        Ok(Data(ColumnsView { columns: RowColumns { rows, facts }.known(), note }))
    })
    .await
}
