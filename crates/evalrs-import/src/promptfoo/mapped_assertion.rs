//! What an assertion becomes: the settings of a grader, and what rows say for it.

use serde_json::{Map, Value};

use super::files::ConfigFiles;
use crate::imported::ImportedFile;

/// Replaces the name of the grader in its settings, which is known only when all are.
pub(super) const SLOT: &str = "@grader@";

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MappedAssertion {
    pub settings: Value,
    /// What the row says for it, under `assert.NAME`.
    pub wanted: Option<Value>,
    pub files: Vec<ImportedFile>,
    pub note: Option<&'static str>,
    /// A judge that the assertion names and that cannot be called here.
    pub other_judge: Option<String>,
}

impl MappedAssertion {
    pub(super) fn new(settings: Value, wanted: impl Into<Option<Value>>) -> Self {
        Self { settings, wanted: wanted.into(), ..Self::default() }
    }
}

/// What an assertion is mapped in.
pub(super) struct AssertionContext<'a> {
    pub files: &'a ConfigFiles<'a>,
    pub vars: &'a Map<String, Value>,
    pub options: &'a Map<String, Value>,
    /// What the provider does to its answer before anybody sees it.
    pub provider_transform: Option<&'a Value>,
}
