//! What there is to say of an extractor: what it is called, what it does, and which options it takes.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::view::{ExtractError, ExtractView};
use crate::options::{none, read, schema};
use evalrs_model::spec::OptionProblem;

/// One extractor as a suite can name it.
pub struct ExtractorInfo {
    /// What a suite calls it.
    pub id: &'static str,
    /// What a person reads.
    pub name: &'static str,
    /// What it picks.
    pub description: &'static str,
    /// The JSON Schema of its options.
    pub options: fn() -> Value,
    /// Reads its options.
    pub compile: fn(&Map<String, Value>) -> CompiledPick,
}

/// What picks, or everything that is wrong with the options.
pub(super) type CompiledPick = Result<Arc<PickFn>, Vec<OptionProblem>>;

/// A function that picks, with its options read.
pub(super) type PickFn = dyn Fn(&ExtractView<'_>) -> Result<String, ExtractError> + Send + Sync;

/// The JSON Schema of the options of an extractor that has none.
pub(super) fn no_options() -> Value {
    json!({"type": "object", "additionalProperties": false})
}

/// The options in `config`, where null is nothing.
pub(super) fn options<T: JsonSchema + DeserializeOwned>(
    config: &Map<String, Value>,
) -> Result<T, Vec<OptionProblem>> {
    let schema = schema::<T>();
    let mut config = config.clone();
    config.retain(|name, value| !value.is_null() || schema["properties"].get(name).is_none());
    read(&config)
}

/// An extractor whose options are all there is to read.
pub(super) fn with_options<T: JsonSchema + DeserializeOwned + Send + Sync + 'static>(
    config: &Map<String, Value>,
    pick: fn(&T, &ExtractView<'_>) -> String,
) -> CompiledPick {
    let options: T = options(config)?;
    Ok(Arc::new(move |from| Ok(pick(&options, from))))
}

/// An extractor that has no options.
pub(super) fn without_options(
    config: &Map<String, Value>,
    pick: fn(&ExtractView<'_>) -> String,
) -> CompiledPick {
    none(config, "extractor")?;
    Ok(Arc::new(move |from| Ok(pick(from))))
}
