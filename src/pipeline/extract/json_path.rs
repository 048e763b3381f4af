//! The `json_path` extractor: an RFC 9535 query of the row, the output or the trajectory.
//!
//! An output that is no JSON is an answer like any other and gives nothing; models like to fence their
//! JSON, so one fence is looked through.

use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use super::{ExtractError, ExtractFrom, final_output};

/// A query and what it asks.
#[derive(Clone)]
pub(super) struct Query {
    path: JsonPath,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Row,
    Output,
    Trajectory,
}

impl Query {
    /// Reads the query.
    pub(super) fn new(options: &Map<String, Value>) -> Result<Self, ExtractError> {
        let path = options.get("path").and_then(Value::as_str).unwrap_or_default();
        let path =
            JsonPath::parse(path).map_err(|error| ExtractError::Options(error.to_string()))?;
        let source = match options.get("source").and_then(Value::as_str) {
            Some("output") => Source::Output,
            Some("trajectory") => Source::Trajectory,
            _ => Source::Row,
        };
        Ok(Self { path, source })
    }

    /// One text as it is; anything else as compact JSON; nothing found, or null, as nothing.
    pub(super) fn extract(&self, from: &ExtractFrom<'_>, include_subagents: bool) -> String {
        let asked = match self.source {
            Source::Row => Some(from.row.value()),
            Source::Output => json_in(final_output(from)),
            Source::Trajectory => Some(from.trajectory.to_json(include_subagents)),
        };
        let Some(asked) = asked else { return String::new() };
        match self.path.query(&asked).all().as_slice() {
            [] | [Value::Null] => String::new(),
            [Value::String(text)] => text.clone(),
            [one] => one.to_string(),
            several => several.iter().map(|value| (*value).clone()).collect::<Value>().to_string(),
        }
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
