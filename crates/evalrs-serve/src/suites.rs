//! The suites that are served: what they hold and what is wrong with them, read again for each
//! request.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::answer::{
    AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, ListPage, Params,
};
use super::held_suites::SuiteNow;
use super::served::{ServedSuite, ServedWorkspace, beside};
use crate::view::run::RunView;
use evalrs_graph::queries::gate_rule;
use evalrs_metrics::gate::rule;
use evalrs_model::spec::{GraderKind, GraderSpec, RewardSpec};
use evalrs_system::System;
use evalrs_system::os::OsSystem;

/// A suite in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct SuiteView {
    /// Its name.
    name: String,
    /// Its file.
    path: String,
    /// What it says of itself.
    description: Option<String>,
    /// Its graders, in order.
    graders: Vec<SuiteGrader>,
    /// The rule of its gate.
    gate: Option<String>,
    /// How much is wrong with it.
    problems: ProblemCount,
    /// Its newest run.
    last_run: Option<RunView>,
}

/// A grader of a suite.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct SuiteGrader {
    /// Its key in the suite.
    name: String,
    /// `tool`, `rubric`, `program` or `combine`.
    kind: &'static str,
    /// Its name for people, where it has one.
    label: Option<String>,
}

/// How many problems there are.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(super) struct ProblemCount {
    /// What keeps it from being evaluated.
    errors: usize,
    /// What does not.
    warnings: usize,
}

/// A suite on its own page.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct SuiteDetails {
    /// Its name.
    name: String,
    /// Its file.
    path: String,
    /// What it says of itself.
    description: Option<String>,
    /// Its graders, in order.
    graders: Vec<SuiteGrader>,
    /// The rule of its gate.
    gate: Option<String>,
    /// What is wrong with it, as `evalrs validate --json` says.
    #[schema(value_type = Vec<Object>)]
    problems: Value,
    /// Whether people have labelled any of its answers.
    labelled: bool,
    /// Its newest run.
    last_run: Option<RunView>,
}

/// Suites.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SuiteList {
    suites: Vec<SuiteView>,
    /// How many are here.
    count: usize,
    /// How many there are.
    total: usize,
}

pub(super) fn kind_of(grader: &GraderSpec) -> &'static str {
    match &grader.kind {
        GraderKind::Tool(_) => "tool",
        GraderKind::Rubric(rubric) if rubric.embedding.is_some() => "similarity",
        GraderKind::Rubric(_) | GraderKind::Reward(RewardSpec::Criteria(_)) => "rubric",
        GraderKind::Program(_) => "program",
        GraderKind::Reward(RewardSpec::Expression(_) | RewardSpec::Program(_)) => "combine",
    }
}

fn details(
    served: &ServedWorkspace,
    suite: &ServedSuite,
) -> Result<(SuiteDetails, ProblemCount), ApiError> {
    served.with_suite(suite, &[], |SuiteNow { session, problems, .. }| {
        let errors = problems.iter().filter(|problem| problem.is_error()).count();
        let count = ProblemCount { errors, warnings: problems.len() - errors };
        let read = session.suite();
        let graders = read.into_iter().flat_map(|read| &read.graders).map(|grader| SuiteGrader {
            name: grader.name.clone(),
            kind: kind_of(grader),
            label: grader.display_name.clone(),
        });
        let last_run = served.newest_run(&suite.name).map(|run| served.view(&run));
        let labels = OsSystem.stamp(&served.labels_file(suite).path);
        let has_labels = labels.is_some_and(|stamp| stamp.bytes > 0);
        let gate = read.and_then(|read| read.gate.as_ref());
        let gate = gate.filter(|_| gate_rule(&session.db, session.root).is_some()).map(rule);
        let details = SuiteDetails {
            name: suite.name.clone(),
            path: suite.path.clone(),
            description: read.and_then(|read| read.description.clone()),
            graders: graders.collect(),
            gate,
            problems: json!(problems),
            labelled: last_run.as_ref().is_some_and(RunView::is_labelled) || has_labels,
            last_run,
        };
        (details, count)
    })
}

/// Lists the suites that are served.
#[utoipa::path(get, path = "/api/suites", tag = "suites", params(ListPage), responses(
    (status = 200, body = Envelope<SuiteList>),
    (status = 400, body = ErrorEnvelope),
))]
pub(super) async fn list_suites(
    State(served): State<Arc<ServedWorkspace>>,
    Params(page): Params<ListPage>,
) -> ApiAnswer<SuiteList> {
    beside(move || {
        let total = served.suites.len();
        let mut suites = Vec::new();
        for suite in page.of(&served.suites)? {
            let (details, problems) = details(&served, suite)?;
            let SuiteDetails { name, path, description, graders, gate, last_run, .. } = details;
            suites.push(SuiteView { name, path, description, graders, gate, problems, last_run });
        }
        Ok(Data(SuiteList { count: suites.len(), suites, total }))
    })
    .await
}

/// Shows a suite and what is wrong with it.
#[utoipa::path(get, path = "/api/suites/{name}", tag = "suites", params(("name" = String, Path)), responses(
    (status = 200, body = Envelope<SuiteDetails>),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn get_suite(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(name): AddressNames<String>,
) -> ApiAnswer<SuiteDetails> {
    beside(move || {
        let suite = served.suite(&name).ok_or_else(|| ApiError::not_found("no such suite"))?;
        Ok(Data(details(&served, suite)?.0))
    })
    .await
}
