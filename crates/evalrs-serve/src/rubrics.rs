//! The rubrics of served suites: read, written where they stand, and tried without a change of any file.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::answer::{AddressNames, ApiError, Data, Envelope, ErrorEnvelope, JsonBody};
use super::locks::locked;
use super::served::{ServedSuite, ServedWorkspace, beside};
use evalrs_suite::{Files, RubricInFile, RubricProblem, with_rubrics, written_rubric};
use evalrs_system::os::OsSystem;
use evalrs_system::{FileBytes, System};
use evalrs_use_cases::suite_parts::SuiteFiles;

/// Rubrics that no file has.
#[derive(Clone, Debug, Default)]
pub(super) struct TriedRubrics {
    /// Their graders.
    pub graders: Vec<String>,
    /// The files with them in: path → text.
    pub files: BTreeMap<String, String>,
}

/// A rubric as it is written.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct RubricView {
    /// The suite.
    suite: String,
    /// The grader, or the criterion as `grader.criterion`.
    grader: String,
    /// The file that it is written in.
    path: String,
    /// Its text, without the front matter of a file and without what that includes.
    text: String,
    /// Whether it is a value of a YAML file.
    inline: bool,
    /// Whether it is the question of a criterion.
    criterion: bool,
    /// The state of the file, which is its `ETag`: `PUT` takes it as `If-Match`.
    version: String,
}

/// Another text of a rubric.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewRubric)]
pub(super) struct GivenRubric {
    /// The text.
    text: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct RubricPlace {
    name: String,
    grader: String,
}

impl From<RubricProblem> for ApiError {
    fn from(problem: RubricProblem) -> Self {
        match problem {
            RubricProblem::Unknown(why) => Self::not_found(why),
            RubricProblem::Fixed(why) => Self::conflict(why),
            RubricProblem::Text(why) => Self::unprocessable(why),
        }
    }
}

/// Shows the rubric of a grader as it is written.
#[utoipa::path(get, path = "/api/suites/{name}/graders/{grader}/rubric", tag = "suites",
    params(("name" = String, Path), ("grader" = String, Path)), responses(
    (status = 200, body = Envelope<RubricView>, headers(("ETag" = String))),
    (status = 404, body = ErrorEnvelope),
    (status = 409, body = ErrorEnvelope),
))]
pub(super) async fn get_rubric(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(place): AddressNames<RubricPlace>,
) -> Result<Response, ApiError> {
    let view = beside(move || {
        let suite = served.known_suite(&place.name)?;
        view(&served, suite, &place.grader)
    });
    Ok(tagged(view.await?))
}

/// Writes the rubric of a grader where it stands: comments, order and everything else of the file stay.
///
/// Without `If-Match` nothing is written; `*` writes over whatever is there.
#[utoipa::path(put, path = "/api/suites/{name}/graders/{grader}/rubric", tag = "suites",
    params(("name" = String, Path), ("grader" = String, Path),
        ("If-Match" = String, Header, description = "The `ETag` of the text that was edited, or `*`")),
    request_body = GivenRubric, responses(
    (status = 200, body = Envelope<RubricView>, headers(("ETag" = String))),
    (status = 404, body = ErrorEnvelope),
    (status = 409, body = ErrorEnvelope),
    (status = 412, body = ErrorEnvelope),
    (status = 422, body = ErrorEnvelope),
))]
pub(super) async fn put_rubric(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(place): AddressNames<RubricPlace>,
    headers: HeaderMap,
    JsonBody(given): JsonBody<GivenRubric>,
) -> Result<Response, ApiError> {
    served.check_writable()?;
    let expected = headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok());
    let expected = expected.map(str::to_owned).ok_or_else(|| {
        ApiError::bad_request("`If-Match` has to name the text that was edited: its `ETag`, or `*`")
    })?;
    Ok(tagged(beside(move || put(&served, &place, &expected, &given)).await?))
}

fn put(
    served: &ServedWorkspace,
    place: &RubricPlace,
    expected: &str,
    given: &GivenRubric,
) -> Result<RubricView, ApiError> {
    let suite = served.known_suite(&place.name)?;
    // Two pages at once: each reads what the other has written.
    let writing = locked(&served.writing);
    let now = view(served, suite, &place.grader)?;
    let is_same = expected.split(',').map(str::trim).any(|tag| tag == "*" || tag == tag_of(&now));
    if !is_same {
        let message = format!("`{}` was changed since it was read", now.path);
        return Err(ApiError::outdated(message));
    }
    let wanted = BTreeMap::from([(place.grader.clone(), given.text.clone())]);
    for (path, text) in tried_files(served, suite, &wanted)? {
        let contents = text.as_bytes();
        let written = OsSystem.write(&path, &mut |file| file.write_all(contents));
        written.map_err(|error| ApiError::internal(format!("cannot write `{path}`: {error}")))?;
    }
    drop(writing);
    view(served, suite, &place.grader)
}

/// The files of a suite with other rubrics in, grader → text; none where there are none.
pub(super) fn tried_files(
    served: &ServedWorkspace,
    suite: &ServedSuite,
    rubrics: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, ApiError> {
    if rubrics.is_empty() {
        return Ok(BTreeMap::new());
    }
    let surroundings = served.context(&suite.path)?;
    let files = SuiteFiles { surroundings: &surroundings, system: &OsSystem };
    let rubrics = rubrics.iter().map(|(grader, text)| (grader.as_str(), text.as_str()));
    Ok(with_rubrics(&suite.path, rubrics, &files)?)
}

fn view(
    served: &ServedWorkspace,
    suite: &ServedSuite,
    grader: &str,
) -> Result<RubricView, ApiError> {
    let surroundings = served.context(&suite.path)?;
    let files = SuiteFiles { surroundings: &surroundings, system: &OsSystem };
    let written = written_rubric(&suite.path, grader, &files as &dyn Files)?;
    let RubricInFile { path, text, is_inline, is_criterion, .. } = written;
    let FileBytes::Bytes(bytes) = OsSystem.read(&path) else {
        return Err(ApiError::conflict(format!("`{path}` cannot be read")));
    };
    let version = blake3::hash(&bytes).to_hex()[..16].to_owned();
    Ok(RubricView {
        suite: suite.name.clone(),
        grader: grader.to_owned(),
        path,
        text,
        inline: is_inline,
        criterion: is_criterion,
        version,
    })
}

fn tag_of(view: &RubricView) -> String {
    format!("\"{}\"", view.version)
}

fn tagged(view: RubricView) -> Response {
    let tag = HeaderValue::from_str(&tag_of(&view));
    let mut response = Data(view).into_response();
    if let Ok(tag) = tag {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
