//! Shared by runs and datasets: fields of objects, names of files, and the message for files without a case.

use serde_json::{Map, Value};

use crate::imported::ImportError;
use crate::reading;

/// That a file holds nothing to be graded.
pub(super) fn no_cases(path: &str) -> ImportError {
    ImportError::unreadable(
        format!("`{path}` has no test case and no golden"),
        "name a run, such as `.deepeval/.latest_run_full.json` or a file of `DEEPEVAL_RESULTS_FOLDER`, or a dataset that `save_as` wrote",
    )
}

/// The name of a file without folder and ending.
pub(super) fn stem(path: &str) -> &str {
    reading::stem(path).trim_start_matches('.')
}

/// The text of a field that has one.
pub(super) fn text_in<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    reading::text_in(value, name).filter(|text| !text.is_empty())
}

pub(super) fn row_with_id(id: &str) -> Map<String, Value> {
    Map::from_iter([("id".to_owned(), Value::from(id))])
}

/// Puts a value into a row, unless it says nothing.
pub(super) fn put(row: &mut Map<String, Value>, name: &str, value: Option<&Value>) {
    let says = |value: &&Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    if let Some(value) = value.filter(says) {
        row.insert(name.to_owned(), value.clone());
    }
}

/// The first of several fields of an object that is there and not null.
pub(super) fn field<'v>(value: &'v Value, names: &[&str]) -> Option<&'v Value> {
    names.iter().find_map(|name| value.get(name).filter(|found| !found.is_null()))
}
