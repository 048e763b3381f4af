//! The `json_path` extractor: an RFC 9535 query of the row, the output or the trajectory.
//!
//! An output that is not JSON is an answer like any other and gives nothing; models like to fence their
//! JSON, so one fence is looked through.

use serde_json::Value;
use serde_json_path::JsonPath;

use super::options::{ExtractorInfo, Opt, OptionKind, Options, Pick};
use super::{ExtractError, ExtractView};

pub(super) const JSON_PATH: ExtractorInfo = ExtractorInfo {
    id: "json_path",
    name: "JSONPath",
    description: "What a JSONPath query finds: one text as it is, anything else as JSON.",
    options: &[
        Opt { name: "path", kind: OptionKind::JsonPath, description: "An RFC 9535 query." },
        Opt {
            name: "source",
            kind: OptionKind::OneOf(&["row", "output", "trajectory"]),
            description: "What is asked: the dataset row, the final output read as JSON, or the trajectory.",
        },
    ],
    compile: |options| {
        let query = Query::new(options)?;
        Ok(Pick::infallible(move |from| query.extract(from)))
    },
    ..ExtractorInfo::PLAIN
};

/// A query and what it asks.
struct Query {
    path: JsonPath,
    source: QuerySource,
}

enum QuerySource {
    Row,
    Output,
    Trajectory,
}

impl Query {
    /// Reads the query.
    fn new(options: &Options<'_>) -> Result<Self, ExtractError> {
        let path = JsonPath::parse(options.text("path").unwrap_or_default());
        let path = path.map_err(|error| ExtractError::Options(error.to_string()))?;
        let source = match options.text("source") {
            Some("output") => QuerySource::Output,
            Some("trajectory") => QuerySource::Trajectory,
            _ => QuerySource::Row,
        };
        Ok(Self { path, source })
    }

    /// One text as it is; anything else as compact JSON; nothing found, or null, as nothing.
    fn extract(&self, from: &ExtractView<'_>) -> String {
        let asked = match self.source {
            QuerySource::Row => Some(from.row.value()),
            QuerySource::Output => json_in(from.final_output()),
            QuerySource::Trajectory => Some(from.to_json()),
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
