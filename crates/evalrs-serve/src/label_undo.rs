//! Takes back the last label that a person gave on a page, as long as its line is still there.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::answer::{AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, JsonBody};
use super::labels::who;
use super::locks::locked;
use super::served::{ServedWorkspace, beside};
use crate::view::case::CasePlaceView;
use crate::view::labels::LabelFile;
use evalrs_eval::dataset::label_edit::{LabelChange, NewLabel};
use evalrs_store::record::label_writer::{check_writable, undo_label};
use evalrs_system::os::OsSystem;

/// The most labels that can be taken back.
const MOST: usize = 1000;

/// The labels that pages gave since the server began, the newest last.
#[derive(Default)]
pub(super) struct LabelUndo {
    given: Mutex<Vec<UndoableLabel>>,
}

/// A label that can be taken back.
struct UndoableLabel {
    suite: String,
    who: Option<String>,
    grader: Option<String>,
    place: CasePlaceView,
    change: LabelChange,
}

impl LabelUndo {
    /// Notes what a label changed.
    pub(super) fn note(&self, suite: &str, label: &NewLabel, change: LabelChange) {
        let place = CasePlaceView {
            sample_id: label.id.clone(),
            model: label.model.clone(),
            trial: label.trial.unwrap_or(0),
        };
        let mut given = locked(&self.given);
        if given.len() == MOST {
            given.remove(0);
        }
        given.push(UndoableLabel {
            suite: suite.to_owned(),
            who: label.who.clone(),
            grader: label.grader.clone(),
            place,
            change,
        });
    }

    /// Takes the newest of a person out.
    fn take(&self, suite: &str, who: Option<&str>) -> Option<UndoableLabel> {
        let mut given = locked(&self.given);
        let at = given.iter().rposition(|one| one.suite == suite && one.who.as_deref() == who)?;
        Some(given.remove(at))
    }
}

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
