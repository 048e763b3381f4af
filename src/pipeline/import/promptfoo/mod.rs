//! Configurations and results of promptfoo.

use super::imported::{ImportError, Imported};
use super::source::ImportSource;

/// The names of its configurations that are read.
const CONFIGS: [&str; 3] = ["promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json"];

/// Whether a source is promptfoo's.
pub(super) fn recognizes(source: &ImportSource<'_>) -> bool {
    let names = source.list(&source.path).unwrap_or_default();
    names.iter().any(|name| CONFIGS.contains(&name.as_str()))
        || CONFIGS.iter().any(|name| source.path.ends_with(name))
}

/// Reads it.
pub(super) fn import(source: &ImportSource<'_>) -> Result<Imported, ImportError> {
    Err(ImportError::unreadable(
        format!("`{}` cannot be imported yet", source.path),
        "this importer is not finished",
    ))
}
