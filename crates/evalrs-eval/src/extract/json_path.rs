//! The `json_path` extractor: an RFC 9535 query of the row, the output or the trajectory.
//!
//! An output that is not JSON is an answer like any other and gives nothing; models like to fence their
//! JSON, so one fence is looked through.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use super::extractor::{ExtractView, ExtractorInfo, options};
use crate::options::{problem, schema};
use evalrs_base::json_path;

pub(super) const JSON_PATH: ExtractorInfo = ExtractorInfo {
    id: "json_path",
    name: "JSONPath",
    description: "The result of a JSONPath query (RFC 9535): one text as it is, anything else as JSON.",
    options: schema::<Query>,
    compile: |config| {
        let Query { path, source } = options(config)?;
        let path = json_path::parse(&path).map_err(|error| {
            let message = format!("`path` is not a valid JSONPath: {error}");
            vec![problem(&["path"], message)]
        })?;
        Ok(Arc::new(move |from| Ok(found(&path, source, from))))
    },
};

/// Options of `json_path`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Query {
    /// An RFC 9535 query.
    path: String,
    /// The subject of the query: the dataset row, the final output read as JSON, or the trajectory.
    #[serde(default)]
    source: QuerySource,
}

/// Whether the row is searched.
pub(super) fn asks_row(config: &Map<String, Value>) -> bool {
    options::<Query>(config).is_ok_and(|query| query.source == QuerySource::Row)
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum QuerySource {
    /// The dataset row.
    #[default]
    Row,
    /// The final output, read as JSON.
    Output,
    /// The trajectory.
    Trajectory,
}

/// One text as it is; anything else as compact JSON; nothing found, or null, as nothing.
fn found(path: &JsonPath, source: QuerySource, from: &ExtractView<'_>) -> String {
    let asked = match source {
        QuerySource::Row => Some(from.row.value()),
        QuerySource::Output => json_in(from.final_output()),
        QuerySource::Trajectory => Some(from.to_json()),
    };
    let Some(asked) = asked else { return String::new() };
    match path.query(&asked).all().as_slice() {
        [] | [Value::Null] => String::new(),
        [Value::String(text)] => text.clone(),
        [one] => one.to_string(),
        several => several.iter().map(|value| (*value).clone()).collect::<Value>().to_string(),
    }
}

/// The JSON that `text` is, or that its first fenced block is.
fn json_in(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| {
        let (_, fenced) = text.split_once("```")?;
        let (language, body) = fenced.split_once('\n')?;
        let (body, _) = body.split_once("```")?;
        matches!(language.trim(), "" | "json" | "JSON").then(|| serde_json::from_str(body).ok())?
    })
}
