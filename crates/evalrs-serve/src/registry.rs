//! What suites can name, under the ids and in the form of the contract.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::answer::{
    AddressNames, ApiAnswer, ApiError, Data, Envelope, ErrorEnvelope, ListPage, Params,
};
use super::held_suites::SuiteNow;
use super::served::{ServedWorkspace, beside};
use crate::suites::kind_of;
use evalrs_suite::registry;
use evalrs_suite::registry::RegistryEntry;

/// Something a suite can name.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct EntryView {
    /// What addresses and suites call it.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// The JSON Schema of its options.
    #[schema(value_type = Object)]
    pub config_schema: Value,
}

/// The same with all that is known.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct EntryDetails {
    /// What lists show of it.
    #[serde(flatten)]
    entry: EntryView,
    /// What its scores mean: score → meaning. Of graders alone.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    scoring_guide: Map<String, Value>,
}

/// The grader of the contract that this API follows: its text is fixed.
fn string_match() -> EntryView {
    EntryView {
        id: "string-match".to_owned(),
        name: "String Match Grader".to_owned(),
        description: "Exact or fuzzy string matching with case and whitespace options".to_owned(),
        kind: "string-match".to_owned(),
        config_schema: json!({
            "type": "object",
            "properties": {
                "case_sensitive": {
                    "type": "boolean",
                    "description": "Whether to perform case-sensitive matching",
                    "default": false
                },
                "normalize_whitespace": {
                    "type": "boolean",
                    "description": "Whether to normalize whitespace before matching",
                    "default": true
                }
            }
        }),
    }
}

fn entry(described: RegistryEntry) -> EntryDetails {
    let mut scoring_guide = Map::new();
    if !described.scoring.is_empty() {
        scoring_guide.insert("0.0-1.0".to_owned(), Value::from(described.scoring));
    }
    EntryDetails {
        entry: EntryView {
            id: described.id.to_owned(),
            name: described.name.to_owned(),
            description: described.description.to_owned(),
            kind: described.kind.to_owned(),
            config_schema: described.options,
        },
        scoring_guide,
    }
}

/// All graders: that of the contract first, then the registry, then those of served suites.
fn graders(served: &ServedWorkspace) -> Vec<EntryDetails> {
    let mut first = string_match();
    first.config_schema["required"] = json!([]);
    let guide = json!({
        "1.0": "Response exactly matches expected output (within configured options)",
        "0.0": "Response does not match expected output"
    });
    let scoring_guide = guide.as_object().cloned().unwrap_or_default();
    let first = EntryDetails { entry: first, scoring_guide };
    let known = registry::graders().into_iter().map(entry);
    let own = suite_graders(served)
        .into_iter()
        .map(|entry| EntryDetails { entry, scoring_guide: Map::new() });
    std::iter::once(first).chain(known).chain(own).collect()
}

/// Graders.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct GraderList {
    graders: Vec<EntryView>,
    /// How many are here.
    count: usize,
    /// How many there are.
    total: usize,
}

/// Lists the graders.
#[utoipa::path(get, path = "/api/graders", tag = "registry", params(ListPage), responses(
    (status = 200, body = Envelope<GraderList>),
    (status = 400, body = ErrorEnvelope),
))]
pub(super) async fn list_graders(
    State(served): State<Arc<ServedWorkspace>>,
    Params(page): Params<ListPage>,
) -> ApiAnswer<GraderList> {
    let all = beside(move || Ok(graders(&served))).await?;
    let total = all.len();
    let entries = all.into_iter().map(|grader| match grader.entry {
        // As the contract shows it: what is required stands in the details.
        entry if entry.id == "string-match" => string_match(),
        entry => entry,
    });
    let graders = page.of(entries)?;
    Ok(Data(GraderList { count: graders.len(), graders, total }))
}

/// Shows a grader.
#[utoipa::path(get, path = "/api/graders/{id}", tag = "registry", params(("id" = String, Path)), responses(
    (status = 200, body = Envelope<EntryDetails>),
    (status = 404, body = ErrorEnvelope),
))]
pub(super) async fn get_grader(
    State(served): State<Arc<ServedWorkspace>>,
    AddressNames(id): AddressNames<String>,
) -> ApiAnswer<EntryDetails> {
    let all = beside(move || Ok(graders(&served))).await?;
    let found = all.into_iter().find(|grader| grader.entry.id == id);
    found.map(Data).ok_or_else(|| ApiError::not_found("Grader not found"))
}

/// The graders of all suites, as `SUITE:NAME`.
fn suite_graders(served: &ServedWorkspace) -> Vec<EntryView> {
    let known = registry::graders();
    let mut entries = Vec::new();
    for suite in &served.suites {
        let read = |now: SuiteNow<'_>| now.session.suite().map(|read| read.graders.clone());
        let graders = served.with_suite(suite, &[], read).ok().flatten().unwrap_or_default();
        for grader in &graders {
            let kind = kind_of(grader);
            let options = known.iter().find(|known| known.kind == kind);
            entries.push(EntryView {
                id: format!("{}:{}", suite.name, grader.name),
                name: grader.display_name.clone().unwrap_or_else(|| grader.name.clone()),
                description: format!("The grader `{}` of the suite `{}`", grader.name, suite.name),
                kind: kind.to_owned(),
                config_schema: options
                    .filter(|_| kind != "tool")
                    .map_or_else(|| json!({"type": "object"}), |known| known.options.clone()),
            });
        }
    }
    entries
}

/// Declares the list and the details of a kind of thing.
macro_rules! registry_routes {
    ($list:ident, $get:ident, $list_type:ident, $field:ident, $path:literal, $one:literal, $all:path, $unknown:literal) => {
        /// Things of one kind.
        #[derive(Debug, Serialize, ToSchema)]
        pub(super) struct $list_type {
            $field: Vec<EntryView>,
            /// How many are here.
            count: usize,
            /// How many there are.
            total: usize,
        }

        #[doc = concat!("Lists the ", stringify!($field), ".")]
        #[utoipa::path(get, path = $path, tag = "registry", params(ListPage), responses(
                                                    (status = 200, body = Envelope<$list_type>),
                                                    (status = 400, body = ErrorEnvelope),
                                                ))]
        pub(super) async fn $list(Params(page): Params<ListPage>) -> ApiAnswer<$list_type> {
            let all = $all();
            let total = all.len();
            let found = page.of(all.into_iter().map(|described| entry(described).entry))?;
            Ok(Data($list_type { count: found.len(), $field: found, total }))
        }

        #[doc = concat!("Shows one of the ", stringify!($field), ".")]
        #[utoipa::path(get, path = $one, tag = "registry", params(("id" = String, Path)), responses(
                                                    (status = 200, body = Envelope<EntryDetails>),
                                                    (status = 404, body = ErrorEnvelope),
                                                ))]
        pub(super) async fn $get(AddressNames(id): AddressNames<String>) -> ApiAnswer<EntryDetails> {
            let found = $all().into_iter().find(|described| described.id == id);
            found.map(|found| Data(entry(found))).ok_or_else(|| ApiError::not_found($unknown))
        }
    };
}

registry_routes!(
    list_extractors,
    get_extractor,
    ExtractorList,
    extractors,
    "/api/extractors",
    "/api/extractors/{id}",
    registry::extractors,
    "Extractor not found"
);
registry_routes!(
    list_targets,
    get_target,
    TargetList,
    targets,
    "/api/targets",
    "/api/targets/{id}",
    registry::targets,
    "Target not found"
);
registry_routes!(
    list_providers,
    get_provider,
    ProviderList,
    providers,
    "/api/providers",
    "/api/providers/{id}",
    registry::providers,
    "Provider not found"
);
