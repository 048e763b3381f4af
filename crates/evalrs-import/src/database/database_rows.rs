//! What a query of a database finds, whatever reads it.

use serde_json::{Map, Value};

/// What a query finds.
#[derive(Debug, Default)]
pub struct DatabaseRows {
    /// Each by the names of its columns.
    pub rows: Vec<Map<String, Value>>,
    /// What they take, roughly.
    pub bytes: usize,
}
