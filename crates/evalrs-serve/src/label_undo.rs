//! Takes back the last label that a person gave on a page, as long as its line is still there.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::answer::{AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, JsonBody};
use super::labels::who;
use super::locks::locked;
use super::served::{ServedWorkspace, beside};
use crate::view::case::CasePlaceView;
use crate::view::labels::LabelFile;
use evalrs_store::record::label_writer::{check_writable, undo_label};
use evalrs_system::os::OsSystem;

/// Whose label is taken back.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WantedUndo {
    /// Another name than that of the person who runs the server is taken with `--labellers` alone.
    #[schema(min_length = 1, max_length = 100)]
    who: Option<String>,
}

/// The label that was taken back.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UndoneLabel {
    /// What it was of.
    #[serde(flatten)]
    place: CasePlaceView,
    /// The grader that it was for; null of all.
    grader: Option<String>,
}

/// Takes back the last label that a person gave through this server: what they said before stands again.
#[utoipa::path(post, path = "/api/suites/{name}/labels/undo", tag = "suites",
    params(("name" = String, Path)), request_body = WantedUndo, responses(
    (status = 200, body = Envelope<UndoneLabel>),
    (status = 403, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
    (status = 409, body = ErrorEnvelope),
    (status = 422, body = ErrorEnvelope),
))]
pub(super) async fn undo_last_label(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(name): AddressNames<String>,
    JsonBody(wanted): JsonBody<WantedUndo>,
) -> ApiAnswer<UndoneLabel> {
    served.check_writable()?;
    beside(move || {
        let suite = served.known_suite(&name)?;
        let who = who(&served, suite, wanted.who.as_deref())?;
        let LabelFile { path, layout, .. } = served.labels_file(suite);
        check_writable(&path, &layout)?;
        let _writing = locked(&served.writing);
        let last = served.undo.take(&suite.name, who.as_deref());
        let last = last.ok_or_else(|| ApiError::not_found("there is nothing to take back"))?;
        undo_label(&OsSystem, &served.home, &path, &last.change)?;
        Ok(Data(UndoneLabel { place: last.place, grader: last.grader }))
    })
    .await
}
