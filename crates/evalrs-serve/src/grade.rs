//! Grades one submission: with a function of the registry in a suite of one sample, which is never on disk, or with a
//! grader of a suite that is served (`grade_in_suite`).

use std::sync::Arc;

use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::answer::{ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, JsonBody};
use super::grade_in_suite::{GradeView, graded_in_suite, load, row_graded};
use super::served::{ServedWorkspace, beside};
use evalrs_engine::session::Session;
use evalrs_graph::Database;
use evalrs_graph::inputs::Overrides;
use evalrs_suite::registry;
use evalrs_system::memory::MemorySystem;

/// What is to be graded.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(example = json!({"grader": "string-match", "config": {"case_sensitive": true}, "submission": "Paris", "ground_truth": "Paris"}))]
#[serde(deny_unknown_fields)]
pub(super) struct ToGrade {
    /// The id of a grader of `/api/graders`: a function, or a grader of a suite that is served as `SUITE:NAME`.
    grader: String,
    /// The options of a function; those of a suite's grader are in the suite.
    #[serde(default)]
    #[schema(value_type = Object)]
    config: Map<String, Value>,
    /// What is graded.
    submission: String,
    /// The reference answer.
    ground_truth: Option<String>,
    /// What the target was given.
    input: Option<Value>,
    /// Further members of the row.
    #[serde(default)]
    #[schema(value_type = Object)]
    row: Map<String, Value>,
}

/// Grades a submission.
#[utoipa::path(post, path = "/api/grade", tag = "registry", request_body = ToGrade, responses(
    (status = 200, body = Envelope<GradeView>),
    (status = 400, body = ErrorEnvelope),
    (status = 403, body = ErrorEnvelope),
    (status = 404, body = ErrorEnvelope),
    (status = 422, body = ErrorEnvelope),
))]
pub(super) async fn grade(
    State(served): State<Arc<ServedWorkspace>>,
    JsonBody(wanted): JsonBody<ToGrade>,
) -> ApiAnswer<GradeView> {
    if served.grader_of_suite(&wanted.grader).is_none() {
        return beside(move || by_function(&wanted).map(Data)).await;
    }
    if served.read_only {
        return Err(ApiError::forbidden(
            "this server is read-only and does not call graders of \
                                        suites",
        ));
    }
    // Judges may take minutes: they leave threads to those who only read.
    let place = Arc::clone(&served.grading).acquire_owned().await;
    let place = place.map_err(|_| ApiError::internal("the server ends"))?;
    beside(move || {
        let _place = place;
        by_suite(&served, &wanted).map(Data)
    })
    .await
}

fn by_suite(served: &ServedWorkspace, wanted: &ToGrade) -> Result<GradeView, ApiError> {
    if !wanted.config.is_empty() {
        let message = "`config`: options of a suite's grader are set in the suite";
        return Err(ApiError::unprocessable(message));
    }
    let Some((suite, name)) = served.grader_of_suite(&wanted.grader) else {
        return Err(ApiError::not_found("Grader not found"));
    };
    graded_in_suite(served, suite, name, row_of(wanted))
}

fn by_function(wanted: &ToGrade) -> Result<GradeView, ApiError> {
    let function = if wanted.grader == "string-match" { "string_match" } else { &wanted.grader };
    let known = registry::graders().into_iter().find(|known| known.id == function);
    let known = known.ok_or_else(|| ApiError::not_found("Grader not found"))?;
    if known.kind != "tool" {
        return Err(ApiError::unprocessable(
            "`grader`: name judges and programs of a served suite as `SUITE:NAME`",
        ));
    }
    let suite = json!({
        "name": "grade",
        "dataset": "row.jsonl",
        "graders": {"grade": {"kind": "tool", "function": function, "extractor": "last_assistant", "config": wanted.config}},
    });
    let row = Value::Object(row_of(wanted)).to_string();
    let system = MemorySystem::with(&[("suite.yaml", &suite.to_string()), ("row.jsonl", &row)]);
    let environment = std::collections::BTreeMap::new();
    let mut session =
        Session::new(Database::default(), "suite.yaml", environment, Overrides::default());
    load(&mut session, &system)?;
    row_graded(&session)
}

/// The row of the dataset that holds what is graded.
fn row_of(wanted: &ToGrade) -> Map<String, Value> {
    let mut row = wanted.row.clone();
    row.insert("id".to_owned(), Value::from("1"));
    row.insert("output".to_owned(), Value::from(wanted.submission.as_str()));
    row.insert("input".to_owned(), wanted.input.clone().unwrap_or_else(|| Value::from("-")));
    if let Some(truth) = &wanted.ground_truth {
        row.insert("ground_truth".to_owned(), Value::from(truth.as_str()));
    }
    row
}
